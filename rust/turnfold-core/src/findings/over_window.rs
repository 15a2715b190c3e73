//! The request does not fit the model's window, alone or with the longest reply that it asks for.
//!
//! Asked only where the caller says how large the window is. Only what the provider counts at least
//! (`TokenCount::lo`) is held against it, so nothing is reported that may still fit.

use turnfold_tokens::Encoding;

use super::output_limit::reply_cap;
use super::{Category, Check, Scene};
use crate::formats::AtWindow;
use crate::meter::models::{ModelLabel, encoding_for_model};

pub(super) const CHECK: Check = Check {
    code: "over_window",
    category: Category::Content,
    demands: |rules| {
        rules.fits_window.map_or_else(Vec::new, |wanted| {
            let known = [wanted.refused, wanted.cut].into_iter().flatten();
            [wanted.request, wanted.with_reply].into_iter().chain(known).collect()
        })
    },
    run,
};

fn run(scene: &mut Scene<'_>) {
    let (Some(wanted), Some(window)) = (scene.rules.fits_window, scene.options.window_tokens) else {
        return;
    };
    let (encoding, label) = match scene.transcript.model() {
        Some(model) => encoding_for_model(&model),
        None => (Encoding::O200kBase, ModelLabel::Assumed),
    };
    let least = scene.transcript.tokens_for(encoding, label, None, None).lo;
    if least > window {
        let what = format!("the request has at least {least} tokens, and the window {window}");
        return scene.report_whole(wanted.request, &what);
    }
    let head = scene.transcript.head();
    let (Some(cap), Some(limit)) = (reply_cap(head), head.output_limit) else {
        return;
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "a bound; counts stay far below what would round"
    )]
    let left = (window - least) as f64;
    if cap > left {
        let what =
            format!("the request has at least {least} tokens, the reply may have {cap}, and the window {window}");
        let model = scene.transcript.model();
        let known = match model.and_then(|model| scene.transcript.format().at_window(&model)) {
            Some(AtWindow::Refused) => wanted.refused,
            Some(AtWindow::Cut) => wanted.cut,
            None => None,
        };
        scene.report_head(known.unwrap_or(wanted.with_reply), limit.path, &what);
    }
}
