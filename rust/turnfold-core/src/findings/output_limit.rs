//! The reply's length is capped outside of what the provider takes.
//!
//! A client that asks for all of the window that is left asks for more than any model writes.

use super::{Category, Check, Scene};
use crate::transcript::Head;

pub(super) const CHECK: Check = Check {
    code: "output_limit",
    category: Category::Content,
    demands: |rules| rules.output_tokens.map(|limit| limit.demand).into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let head = scene.transcript.head();
    let (Some(wanted), Some(limit)) = (scene.rules.output_tokens, head.output_limit) else {
        return;
    };
    let Some(tokens) = reply_cap(head) else { return };
    let digits = String::from_utf8_lossy(limit.span.of(head.source.bytes()));
    #[expect(clippy::cast_precision_loss, reason = "limits of a few digits")]
    let range = wanted.least as f64..=wanted.most as f64;
    if !range.contains(&tokens) {
        let what = format!(
            "{} is {digits}, and replies are capped at {} to {} tokens",
            limit.path, wanted.least, wanted.most
        );
        scene.report_head(wanted.demand, limit.path, &what);
    }
}

/// The most tokens that the request lets the reply have. Numbers may come as text; what is neither is the provider's to
/// refuse.
pub(super) fn reply_cap(head: &Head) -> Option<f64> {
    let digits = head.output_limit?.span.of(head.source.bytes());
    let digits = std::str::from_utf8(digits).ok()?;
    digits.trim_matches('"').parse().ok()
}
