"""Meter and compact the transcripts of LLM agents."""

from turnfold._core import __version__
from turnfold.errors import ReadError, TurnfoldError
from turnfold.model.blocks import Block
from turnfold.transcript import Message, Transcript

__all__ = ["Block", "Message", "ReadError", "Transcript", "TurnfoldError", "__version__"]
