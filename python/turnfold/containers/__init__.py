"""Logs of agents, and other files that hold transcripts: read into transcripts, written back in their own form."""

from turnfold.containers.document import Document, Record
from turnfold.containers.edits import Edit, apply_edits, edit_items
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.log import Log, read_log
from turnfold.containers.protocol import Change, Container, Hole, LoggedTranscript, Mark, Place, Reading
from turnfold.containers.records import Records
from turnfold.containers.registry import BUILT_IN, available, detect, is_log, marks, named, register
from turnfold.containers.view import ChatView, ViewMessage, view

__all__ = [
    "BUILT_IN",
    "Change",
    "ChatView",
    "Container",
    "Conversation",
    "Document",
    "Edit",
    "Hole",
    "Listed",
    "Log",
    "LoggedTranscript",
    "Mark",
    "Place",
    "Reading",
    "Record",
    "Records",
    "ViewMessage",
    "apply_edits",
    "available",
    "detect",
    "edit_items",
    "is_log",
    "marks",
    "named",
    "read_log",
    "register",
    "view",
]
