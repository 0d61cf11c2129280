//! Study files: specification to cases to rows.
