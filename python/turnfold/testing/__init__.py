"""Checks and fakes that users may import: field cases, generated transcripts, tiktoken offline as a judge."""
