//! What a caller's messages were made of when they were read, to tell later whether they still are.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::door::attached;
use crate::plain::{held_still, is_word};

/// What stands for a dict, a list and a tuple, before its length. No object has such an address.
const DICT: usize = 1;
const LIST: usize = 2;
const TUPLE: usize = 3;
/// Messages that are nested deeper are taken for changed.
const DEEPEST: usize = 64;

/// The messages of a transcript as they were: of dicts and lists their kinds and lengths, of text, numbers, names of
/// fields and the like the objects themselves, which nobody can change.
#[pyclass(frozen, module = "turnfold._core")]
#[derive(Default)]
pub(crate) struct SeenObjects {
    words: Vec<usize>,
    /// The objects, so that no other gets the address of one.
    held: Vec<Py<PyAny>>,
    /// Where each message ends in both. One with anything else in it has nothing there.
    ends: Vec<[usize; 2]>,
}

#[pymethods]
impl SeenObjects {
    /// Of no message.
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// How many of these messages, from the first, are as they were.
    fn shared(&self, py: Python<'_>, messages: &Bound<'_, PyTuple>) -> PyResult<usize> {
        attached(py, || {
            let mut at = 0;
            let same = messages.iter().zip(&self.ends).take_while(|(message, [end, _])| {
                let known = self.words.get(at..*end).unwrap_or_default();
                at = *end;
                let mut words = known.iter();
                let is_same = walk(message, DEEPEST, &mut |word, _| words.next() == Some(&word));
                is_same && !known.is_empty() && words.next().is_none()
            });
            Ok(same.count())
        })
    }

    /// Those of the first `kept` of these messages, and of the rest as they are now.
    fn followed_by(&self, py: Python<'_>, kept: usize, messages: &Bound<'_, PyTuple>) -> PyResult<Self> {
        attached(py, || {
            let ends = self.ends.get(..kept).unwrap_or(&self.ends);
            let [words, held] = ends.last().copied().unwrap_or_default();
            let kept = self.held.get(..held).unwrap_or_default();
            let mut seen = Self {
                words: self.words.get(..words).unwrap_or_default().to_vec(),
                held: kept.iter().map(|object| object.clone_ref(py)).collect(),
                ends: ends.to_vec(),
            };
            for message in messages.iter().skip(seen.ends.len()) {
                seen.add(&message);
            }
            Ok(seen)
        })
    }
}

impl SeenObjects {
    fn add(&mut self, message: &Bound<'_, PyAny>) {
        let (words, held) = (self.words.len(), self.held.len());
        let whole = walk(message, DEEPEST, &mut |word, object| {
            self.words.push(word);
            self.held.extend(object.map(|object| object.clone().unbind()));
            true
        });
        if !whole {
            self.words.truncate(words);
            self.held.truncate(held);
        }
        self.ends.push([self.words.len(), self.held.len()]);
    }
}

/// Shows what an object is made of until `see` says no; `false` then, and where there is anything that code of a caller
/// may change unseen. No such code runs.
fn walk(
    value: &Bound<'_, PyAny>,
    depth: usize,
    see: &mut impl FnMut(usize, Option<&Bound<'_, PyAny>>) -> bool,
) -> bool {
    if is_word(value) {
        return see(value.as_ptr().addr(), Some(value));
    }
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    if let Ok(fields) = value.cast_exact::<PyDict>() {
        let fields = held_still(fields);
        return see(DICT, None)
            && see(fields.len(), None)
            && fields.iter().all(|(name, value)| {
                name.is_exact_instance_of::<PyString>()
                    && see(name.as_ptr().addr(), Some(&name))
                    && walk(&value, depth, see)
            });
    }
    if let Ok(items) = value.cast_exact::<PyList>() {
        return see(LIST, None) && see(items.len(), None) && items.iter().all(|item| walk(&item, depth, see));
    }
    if let Ok(items) = value.cast_exact::<PyTuple>() {
        return see(TUPLE, None) && see(items.len(), None) && items.iter().all(|item| walk(&item, depth, see));
    }
    false
}
