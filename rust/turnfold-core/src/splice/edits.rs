//! Changes to the bytes of one value: what is not changed stays byte for byte.

use std::ops::Range;

use crate::json::Value;
use crate::transcript::Span;

/// Replacements of byte ranges, in any order.
#[derive(Debug, Default)]
pub(crate) struct Edits(Vec<(Range<usize>, Vec<u8>)>);

impl Edits {
    /// Puts `bytes` in place of `range`; an empty range inserts.
    pub(crate) fn replace(&mut self, range: Range<usize>, bytes: impl Into<Vec<u8>>) {
        self.0.push((range, bytes.into()));
    }

    /// Takes out those items of a list (or fields of an object, key and value together) that `gone` names, each with
    /// one of its commas. `children` are the spans of all items.
    pub(crate) fn take_out(&mut self, children: &[Range<usize>], gone: impl Fn(usize) -> bool) {
        let first_kept = (0..children.len()).find(|&k| !gone(k));
        let mut before: Option<&Range<usize>> = None;
        for (k, child) in children.iter().enumerate() {
            if gone(k) {
                match (first_kept, before) {
                    // Behind a child that stays: the comma before it goes along.
                    (Some(kept), Some(before)) if k > kept => self.replace(before.end..child.end, []),
                    // In front of all that stay: the comma after it goes along.
                    (Some(_), _) => {
                        let next = children.get(k + 1).map_or(child.end, |next| next.start);
                        self.replace(child.start..next, []);
                    }
                    (None, _) => {
                        let start = before.map_or(child.start, |before| before.end);
                        self.replace(start..child.end, []);
                    }
                }
            }
            before = Some(child);
        }
    }

    /// The bytes after all changes; `None` where two of them meet or one reaches beyond the end.
    pub(crate) fn apply(mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let gone: usize = self.0.iter().map(|(range, _)| range.len()).sum();
        let new: usize = self.0.iter().map(|(_, new)| new.len()).sum();
        let mut out = Vec::with_capacity((bytes.len() + new).saturating_sub(gone));
        let mut at = 0;
        for (range, new) in self.0 {
            out.extend_from_slice(bytes.get(at..range.start)?);
            out.extend_from_slice(&new);
            at = range.end;
        }
        out.extend_from_slice(bytes.get(at..)?);
        Some(out)
    }
}

/// A span as a range of `usize`.
pub(crate) fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

/// The spans of an array's items.
pub(crate) fn items(list: Value<'_>) -> Vec<Range<usize>> {
    list.items().map(|item| range(item.span())).collect()
}

/// The spans of an object's fields, from the key's quote to the value's end.
pub(crate) fn fields(object: Value<'_>) -> Vec<Range<usize>> {
    object
        .fields()
        .map(|(key, value)| key.span().start as usize..value.span().end as usize)
        .collect()
}
