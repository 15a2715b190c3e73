//! Text of a conversation that imitates one of turnfold's delimiters, made plain.

use memchr::memchr_iter;

use crate::statements::is_space;

const NAME: &[u8] = b"turnfold-";

/// `text` with `&lt;` for the `<` of everything that imitates a delimiter, in any letter case and with blanks in it;
/// `None` where nothing does. Linear.
pub fn neutralise(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut copied = 0;
    for at in memchr_iter(b'<', text.as_bytes()) {
        let rest = text.get(at + 1..).unwrap_or_default();
        if imitates(rest) {
            plain.push_str(text.get(copied..at).unwrap_or_default());
            plain.push_str("&lt;");
            copied = at + 1;
        }
    }
    (copied > 0).then(|| plain + text.get(copied..).unwrap_or_default())
}

fn imitates(rest: &str) -> bool {
    let rest = rest.trim_start_matches(is_space);
    let name = rest
        .strip_prefix('/')
        .map_or(rest, |name| name.trim_start_matches(is_space));
    let start = name.as_bytes().get(..NAME.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(NAME))
}

#[cfg(test)]
mod tests {
    use super::neutralise;

    #[test]
    fn what_imitates_a_delimiter_is_made_plain() {
        for (text, plain) in [
            ("<turnfold-summary>", "&lt;turnfold-summary>"),
            (
                "a <\u{a0}/ \u{1c}TurnFold-x> <b>",
                "a &lt;\u{a0}/ \u{1c}TurnFold-x> <b>",
            ),
            ("<<turnfold-<turnfold-", "<&lt;turnfold-&lt;turnfold-"),
        ] {
            assert_eq!(neutralise(text).as_deref(), Some(plain));
            assert_eq!(neutralise(plain), None);
        }
        for text in [
            "",
            "<",
            "< /",
            "<turnfold",
            "<//turnfold-",
            "turnfold-summary",
            "<td>é</td>",
        ] {
            assert_eq!(neutralise(text), None);
        }
    }
}
