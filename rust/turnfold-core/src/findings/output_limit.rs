//! The reply's length is capped outside of what the provider takes.
//!
//! A client that asks for all of the window that is left asks for more than any model writes.

use super::{Category, Check, Scene};

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
    let digits = String::from_utf8_lossy(limit.span.of(head.source.bytes()));
    // Numbers may come as text; what is neither is the provider's to refuse.
    let Ok(tokens) = digits.trim_matches('"').parse::<f64>() else {
        return;
    };
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
