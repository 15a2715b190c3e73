"""Vocabularies that do not ship: read from files and registered under a name."""

from turnfold.vocabularies.register import RankEncoding, register_vocabulary

__all__ = ["RankEncoding", "register_vocabulary"]
