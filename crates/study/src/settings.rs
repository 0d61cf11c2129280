//! Files of settings that are no study: one TOML text, one struct of parameters.

use crate::document::Document;
use crate::error::SpecError;
use sojourn_core::parameters::{Parameters, Table};

/// Reads `text`, which `source` names in messages, with `overrides` (path and value) laid over it;
/// `complete` adds settings that depend on the machine and that both leave out.
///
/// # Errors
///
/// The one message that says what is wrong, and where.
pub fn read_settings<P: Parameters>(
    text: &str,
    source: &str,
    overrides: &[(String, String)],
    complete: impl FnOnce(&mut Table),
) -> Result<P, SpecError> {
    let mut document = Document::read(text, source, overrides)?;
    complete(&mut document.root);
    P::read_table(&document.root).map_err(|refusal| document.refused(refusal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::parameters::Check;
    use sojourn_core::{Span, nested, parameters};

    parameters! {
        /// A kettle.
        pub struct Kettle: "kettle" {
            /// Until it boils.
            pub boils_in: Span = Span::from_s(90),
            /// Its lid.
            pub lid: Option<Lid>,
            /// Other lids.
            pub spare: Vec<Lid> = Vec::new(),
        }
    }

    parameters! {
        /// A lid.
        pub struct Lid: "lid" {
            /// Its weight.
            pub grams: u32 = 100,
        }
    }

    impl Check for Kettle {}
    impl Check for Lid {}
    nested!(Lid);

    fn read(text: &str, overrides: &[(&str, &str)]) -> Result<Kettle, String> {
        let overrides: Vec<(String, String)> =
            overrides.iter().map(|&(path, value)| (path.into(), value.into())).collect();
        read_settings(text, "kettle.toml", &overrides, |_| {}).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_is_read_with_what_is_laid_over_it() {
        let kettle = read("boils_in = \"2s\"\n[lid]\n", &[("lid.grams", "7")]).unwrap();
        assert_eq!(
            kettle,
            Kettle { boils_in: Span::from_s(2), lid: Some(Lid { grams: 7 }), spare: vec![] }
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let error = read("\n[lid]\ngram = 3\n", &[]).unwrap_err();
        assert_eq!(
            error,
            "kettle.toml:3: unknown key lid.gram, expected grams (did you mean grams?)"
        );
        let spare = "[[spare]]\ngrams = 1\n[[spare]]\ngrams = 'two'\n[[spare]]\ngram = 3\n";
        let error = read(spare, &[]).unwrap_err();
        assert!(error.starts_with("kettle.toml:4: spare.grams = \"two\", expected"), "{error}");
        let error = read(&spare.replace("'two'", "2"), &[]).unwrap_err();
        assert!(error.starts_with("kettle.toml:6: unknown key spare.gram, "), "{error}");
        let error = read("spare = [\n  {},\n  { grams = -1 },\n]", &[]).unwrap_err();
        assert!(error.starts_with("kettle.toml:3: spare.grams = -1, expected"), "{error}");
        let error = read("", &[("boils_in", "soon")]).unwrap_err();
        assert!(error.starts_with("--set boils_in=soon: boils_in = \"soon\", expected"), "{error}");
    }
}
