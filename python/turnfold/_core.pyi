# The compiled kernel. The floors above give it types and defaults: here every option is explicit.

from typing import Literal, TypeAlias, final

__all__ = [
    "Splits",
    "Transcript",
    "__version__",
    "extract_identifiers",
    "occurring",
    "scan",
    "split_points",
    "surviving",
]

_Body: TypeAlias = bytes | bytearray | memoryview
_Kind: TypeAlias = Literal["text", "tool_call", "tool_result", "reasoning", "media", "opaque"]
_Place: TypeAlias = tuple[str | None, int, int]
_Blocker: TypeAlias = tuple[str, str, str | None, int, int]
_Finding: TypeAlias = tuple[
    str,
    str,
    Literal["error", "warning", "hint"],
    Literal["integrity", "order", "content"],
    int | None,
    int | None,
    str | None,
    str,
    str,
]

__version__: str

@final
class Transcript:
    @staticmethod
    def from_json(body: _Body, format: str | None) -> Transcript: ...
    def append(self, message: _Body) -> Transcript: ...
    def text_message(self, role: str, text: str) -> bytes: ...
    def to_json(self) -> bytes: ...
    def message_json(self, message_index: int) -> bytes: ...
    def roles(self) -> list[str]: ...
    def identifiers(self, start: int, stop: int) -> list[tuple[str, str]]: ...
    def blocks(self, message_index: int) -> list[tuple[_Kind, str, str | None, str | None, str, bool]]: ...
    def __len__(self) -> int: ...
    @property
    def format(self) -> str: ...
    @property
    def format_reason(self) -> str: ...
    @property
    def model(self) -> str | None: ...
    @property
    def leading(self) -> int: ...

@final
class Splits:
    def contains(self, index: int) -> bool: ...
    def indices(self) -> list[int]: ...
    def count(self) -> int: ...
    def at_or_before(self, index: int) -> int | None: ...
    def at_or_after(self, index: int) -> int | None: ...
    def why_not(self, index: int) -> list[_Blocker]: ...

def scan(
    transcript: Transcript, pending_ids: list[str], thinking: bool | None, strict_alternation: bool, closed: bool
) -> tuple[
    list[_Finding],
    list[tuple[str | None, int, int, int, int, bool]],
    list[_Place],
    list[_Place],
    list[_Place],
    list[str],
    list[str],
]: ...
def split_points(
    transcript: Transcript, pending_ids: list[str], thinking: bool | None, strict_alternation: bool, closed: bool
) -> Splits: ...
def extract_identifiers(text: str) -> list[tuple[str, str]]: ...
def occurring(identifiers: list[str], text: str) -> list[bool]: ...
def surviving(identifiers: list[str], transcript: Transcript) -> list[bool]: ...
