//! Calls of tools that no other extractor knows.

use super::call::Call;
use super::{Description, DigestKind, Extractor, TARGET_CHARS, counted, one_line};

/// Arguments that the sentence spells out, and characters of each.
const NAMED_ARGUMENTS: usize = 4;
const ARGUMENT_CHARS: usize = 60;

pub(super) struct Other;

impl Extractor for Other {
    fn kind(&self) -> DigestKind {
        DigestKind::Other
    }

    fn recognises(&self, _call: &Call<'_>) -> bool {
        true
    }

    fn describe(&self, call: &Call<'_>) -> Description {
        let outcome = match &call.outcome {
            None => "no result".to_owned(),
            Some(result) if result.failed() => format!("failed, {}", result.quoted_error()),
            Some(result) if result.lines == 0 => "empty result".to_owned(),
            Some(result) => {
                let start = one_line(&result.head, TARGET_CHARS);
                if start.ends_with('…') {
                    format!("\"{start}\" ({})", counted(result.bytes, "byte", "bytes"))
                } else {
                    format!("\"{start}\"")
                }
            }
        };
        let arguments = arguments(call);
        let tool = if call.tool.is_empty() {
            "a tool without a name"
        } else {
            &*call.tool
        };
        let text = format!("called {}({arguments}): {outcome}", one_line(tool, ARGUMENT_CHARS));
        let target = (!arguments.is_empty()).then_some(arguments);
        Description { target, outcome, text }
    }
}

/// `user_id=mia_li_3668, cabin=economy`: short values first in the order given, the rest left out.
fn arguments(call: &Call<'_>) -> String {
    if let Some(freeform) = &call.freeform {
        return one_line(freeform, ARGUMENT_CHARS);
    }
    let plain: Vec<String> = call
        .arguments
        .iter()
        .filter(|a| !a.text.is_empty() && !a.nested)
        .map(|a| {
            format!(
                "{}={}",
                one_line(&a.name, ARGUMENT_CHARS),
                one_line(&a.text, ARGUMENT_CHARS)
            )
        })
        .collect();
    let left_out = call.arguments.len() - plain.len().min(NAMED_ARGUMENTS);
    let mut text = plain
        .iter()
        .take(NAMED_ARGUMENTS)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    if left_out > 0 {
        text.push_str(if text.is_empty() { "…" } else { ", …" });
    }
    text
}
