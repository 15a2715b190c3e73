//! Vocabularies that callers register.

use pyo3::prelude::*;
use turnfold_tokens::{Cut, Definition, Dialect, Split};

use crate::door::{Fault, detached};
use crate::input;

type Fields = (String, String, String, bool);

/// Registers a vocabulary, or raises what is wrong with it. `flags`: a piece that is a token is that token; normal form
/// C first; a space first.
#[pyfunction]
pub(crate) fn register_vocabulary(
    py: Python<'_>,
    #[pyo3(from_py_with = input::name)] name: String,
    tokens: Vec<(Vec<u8>, u32)>,
    merges: Option<Vec<(u32, u32)>>,
    special_tokens: Vec<(String, u32)>,
    cuts: Vec<Fields>,
    flags: (bool, bool, bool),
) -> PyResult<()> {
    detached(py, || {
        let cuts = cuts.into_iter().map(cut).collect::<Result<_, Fault>>()?;
        let (whole_pieces, nfc, space_first) = flags;
        let definition = Definition {
            tokens,
            merges,
            whole_pieces,
            special_tokens,
            cuts,
            nfc,
            space_first,
        };
        let registered = turnfold_tokens::register(&name, &definition);
        registered
            .map(|_| ())
            .map_err(|error| Fault::new("vocabulary", error.to_string()))
    })
}

fn cut((pattern, dialect, split, inverted): Fields) -> Result<Cut, Fault> {
    let unknown = |what: &str| Fault::new("argument", format!("no cut is named {what:?}"));
    Ok(Cut {
        dialect: match dialect.as_str() {
            "tiktoken" => Dialect::Tiktoken,
            "oniguruma" => Dialect::Oniguruma,
            _ => return Err(unknown(&dialect)),
        },
        split: match split.as_str() {
            "isolated" => Split::Isolated,
            "removed" => Split::Removed,
            "merged_with_previous" => Split::MergedWithPrevious,
            "merged_with_next" => Split::MergedWithNext,
            "contiguous" => Split::Contiguous,
            _ => return Err(unknown(&split)),
        },
        pattern,
        inverted,
    })
}
