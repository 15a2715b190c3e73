//! `anthropic.messages`.
