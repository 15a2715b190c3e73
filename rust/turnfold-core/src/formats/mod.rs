//! Wire formats: one file each, one trait. Vendor names live here and in `meter/`.

use std::fmt;

use crate::rules::Rules;
use crate::transcript::Role;

pub mod anthropic_messages;
pub mod openai_chat;

/// What the kernel needs to know of a wire format. (The reading half of the trait is added by the reader's owner.)
pub trait WireFormat: Sync + fmt::Debug {
    /// The public name: `openai.chat`.
    fn name(&self) -> &'static str;

    /// What the provider demands of a transcript, as neutral flags.
    fn rules(&self) -> &'static Rules;

    /// A new message with one text, as JSON bytes in this format. Falls back to the nearest role the format allows.
    fn text_message(&self, role: Role, text: &str) -> Vec<u8>;
}
