"""Meter and compact the transcripts of LLM agents."""
