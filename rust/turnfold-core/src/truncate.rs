//! Shortening one text from the middle, with a line that says how much went.

use turnfold_tokens::{Keep, Tokenizer};

/// A text made to fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortened {
    /// The text to use: the whole one, or its beginning, the notice on a line of its own, and its end.
    pub text: String,
    /// Tokens taken out; 0 when the text fitted and is returned as it was.
    pub removed_tokens: usize,
}

/// Rounds of cutting before only the notice is kept. One is usual, a second absorbs tokens that the joints cost.
const ROUNDS: usize = 4;

/// `[... 8,412 tokens removed ...]`
pub fn notice(removed_tokens: usize) -> String {
    let digits = removed_tokens.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let tokens = if removed_tokens == 1 { "token" } else { "tokens" };
    format!("[... {grouped} {tokens} removed ...]")
}

/// Shortens `text` to at most `max_tokens` tokens, `notice` included, which is given the number of tokens removed.
///
/// The beginning and the end are kept, half each, cut between characters, and between lines or words where an edge of one
/// lies in the inner quarter of what is kept. When there is no room beside the notice, the notice alone is returned; when not
/// even that fits, an empty text: a shortened text always says so, or is empty. Deterministic; linear in the text.
pub fn truncate_middle(
    text: &str,
    max_tokens: usize,
    tokenizer: &Tokenizer,
    notice: &dyn Fn(usize) -> String,
) -> Shortened {
    if tokenizer.count_up_to(text, max_tokens).is_some() {
        return Shortened {
            text: text.to_owned(),
            removed_tokens: 0,
        };
    }
    let total = tokenizer.count(text);
    let alone = notice(total);
    let alone_tokens = tokenizer.count(&alone);
    let mut room = max_tokens.saturating_sub(alone_tokens);
    for _ in 0..ROUNDS {
        if room == 0 {
            break;
        }
        let cut = tokenizer.truncate(text, room, Keep::Both);
        let head = line_head(text.get(..cut.head_bytes).unwrap_or_default());
        let tail = line_tail(text.get(cut.tail_start..).unwrap_or_default());
        if head.is_empty() && tail.is_empty() {
            break;
        }
        let kept = tokenizer.count(head) + tokenizer.count(tail);
        // The joints may make a kept part one token cheaper than it is alone; something was removed all the same.
        let removed = total.saturating_sub(kept).max(1);
        let joined = joined(head, &notice(removed), tail);
        let excess = tokenizer.count(&joined).saturating_sub(max_tokens);
        if excess == 0 {
            return Shortened {
                text: joined,
                removed_tokens: removed,
            };
        }
        room = room.saturating_sub(excess);
    }
    Shortened {
        text: if alone_tokens <= max_tokens {
            alone
        } else {
            String::new()
        },
        removed_tokens: total,
    }
}

fn joined(head: &str, notice: &str, tail: &str) -> String {
    let mut out = String::with_capacity(head.len() + notice.len() + tail.len() + 2);
    out.push_str(head);
    if !head.is_empty() && !head.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(notice);
    if !tail.is_empty() && !tail.starts_with('\n') {
        out.push('\n');
    }
    out.push_str(tail);
    out
}

/// The beginning up to its last line edge, else its last space, if that lies in its last quarter: half a word would
/// read as another one.
fn line_head(head: &str) -> &str {
    let edge = |at: &usize| at + 1 >= head.len() / 4 * 3;
    let line = head.rfind('\n').filter(edge).map(|at| at + 1);
    let end = line.or_else(|| head.rfind(' ').filter(edge));
    end.and_then(|end| head.get(..end)).unwrap_or(head)
}

/// The end from its first line edge, else its first space, if that lies in its first quarter.
fn line_tail(tail: &str) -> &str {
    let edge = |at: &usize| *at < tail.len() / 4;
    let start = tail.find('\n').filter(edge).or_else(|| tail.find(' ').filter(edge));
    start.and_then(|at| tail.get(at + 1..)).unwrap_or(tail)
}
