//! `openai.chat`.
