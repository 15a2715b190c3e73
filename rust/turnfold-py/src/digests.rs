//! Digests of calls as Python takes them.

use turnfold_core::digests::Digest;

use crate::door::Rows;

/// Of all digests `message`, `kind`, `tool`, `target`, `outcome`, `text`, `is_error`.
pub(crate) type DigestColumns = (
    Rows<usize>,
    Rows<&'static str>,
    Rows<String>,
    Rows<Option<String>>,
    Rows<String>,
    Rows<String>,
    Rows<bool>,
);

/// One list a field, for no tuple to be made of each.
pub(crate) fn columns(digests: Vec<Digest>) -> DigestColumns {
    let (mut messages, mut kinds, mut tools, mut failed) = (vec![], vec![], vec![], vec![]);
    let (mut targets, mut outcomes, mut texts) = (vec![], vec![], vec![]);
    for one in digests {
        messages.push(one.call.message);
        kinds.push(one.kind.as_str());
        tools.push(one.tool);
        targets.push(one.target);
        outcomes.push(one.outcome);
        texts.push(one.text);
        failed.push(one.is_error);
    }
    (
        Rows(messages),
        Rows(kinds),
        Rows(tools),
        Rows(targets),
        Rows(outcomes),
        Rows(texts),
        Rows(failed),
    )
}
