//! Whole logs, as mail servers wrote them and in the shapes that logs come in.

mod counted;
mod forms;
mod kept;
mod real;
mod shapes;
mod years;
