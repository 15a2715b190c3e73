# The compiled kernel. The floors above give it types and defaults: here every option is explicit.

from typing import Literal, TypeAlias, final

__all__ = [
    "Json",
    "ScanOptions",
    "SeenObjects",
    "Shown",
    "Splits",
    "Statements",
    "Transcript",
    "__version__",
    "bounds",
    "check_pairs",
    "compare_prefix",
    "count",
    "count_many",
    "count_up_to",
    "decode",
    "encode",
    "encoding_for_model",
    "estimate",
    "extract_details",
    "extract_identifiers",
    "find_split",
    "findings",
    "fits",
    "identifiers_around",
    "is_plain",
    "layout",
    "mask_old",
    "masks",
    "neutralise",
    "occurring",
    "register_model",
    "register_vocabulary",
    "repair",
    "rules",
    "scan",
    "share_caches",
    "split_points",
    "surviving",
    "truncate",
    "truncate_middle",
]

_Body: TypeAlias = bytes | bytearray | memoryview
_Texts: TypeAlias = list[str] | tuple[str, ...]
_Kind: TypeAlias = Literal["text", "tool_call", "tool_result", "reasoning", "media", "opaque"]
_Detail: TypeAlias = Literal["command", "error", "quantity"]
_Named: TypeAlias = Literal[
    "url",
    "email",
    "uuid",
    "digest",
    "reference",
    "version",
    "address",
    "path",
    "location",
    "constant",
    "error",
    "symbol",
    "id",
]
_Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool", "other"]
# messages, each with blocks and their other texts
_Edits: TypeAlias = list[tuple[int, tuple[tuple[int, str], ...]]]
_Place: TypeAlias = tuple[str | None, int, int]
_Blocker: TypeAlias = tuple[str, str, str | None, int, int]
_Binding: TypeAlias = Literal["free", "next", "both", "barrier", "sticky", "pointer"]
# order, place, text, label, enclosed, score, replaced, doubtful, after, which of the features
_Statement: TypeAlias = tuple[int, int, str, str, bool, float, bool, bool, int | None, int]
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
    @staticmethod
    def extend_from(previous: Transcript, body: _Body) -> Transcript: ...
    def grown(self, kept: int, rest: bytes) -> Transcript | None: ...
    def append(self, message: _Body) -> Transcript: ...
    def splice(self, parts: list[tuple[int, int] | bytes]) -> Transcript: ...
    def rewrite(self, edits: _Edits) -> list[bytes]: ...
    def edited(self, edits: _Edits) -> Transcript: ...
    def without_blocks(self, message_index: int, block_indexes: list[int]) -> bytes | None: ...
    def text_message(self, role: str, text: str) -> bytes: ...
    def to_json(self) -> bytes: ...
    def message_json(self, message_index: int) -> bytes: ...
    def roles(self) -> list[str]: ...
    def speakers(self) -> list[_Role]: ...
    def identifiers(self, ranges: list[tuple[int, int]]) -> list[str]: ...
    def details(self, start: int, stop: int) -> list[tuple[_Detail, str]]: ...
    def digests(
        self, start: int, stop: int
    ) -> tuple[
        list[int],
        list[Literal["read", "shell", "search", "write", "other"]],
        list[str],
        list[str | None],
        list[str],
        list[str],
        list[bool],
    ]: ...
    def fingerprint(self) -> str: ...
    def blocks(
        self, message_index: int
    ) -> list[tuple[_Kind, str, str | None, str | None, str, bool, bool, _Binding, str | None]]: ...
    def places(self, kind: _Kind, start: int) -> list[tuple[int, int, str | None]]: ...
    def messages_with(self, part: bytes) -> list[int]: ...
    def open_results(
        self, encoding: str, start: int, stop: int, options: ScanOptions
    ) -> list[tuple[int, int, int, str | None]]: ...
    def block_heads(self) -> tuple[list[int], list[_Kind], list[str | None], list[bool], list[bool], list[int]]: ...
    def said(self, messages: list[int]) -> list[str]: ...
    def parts(
        self, start: int, stop: int, said: bool
    ) -> tuple[list[int], list[_Kind], list[str], list[str | None], list[str | None], list[bool]]: ...
    def tokens(
        self, encoding: str | None, model: str | None, span: tuple[int, int] | None
    ) -> tuple[int, int, int, Literal["exact", "estimate"]]: ...
    def edited_tokens(
        self,
        encoding: str | None,
        model: str | None,
        bound: bool,
        edits: _Edits,
    ) -> list[int]: ...
    def each_tokens(self, encoding: str | None, model: str | None, bound: bool) -> list[int]: ...
    def estimated_tokens(
        self, encoding: str | None, model: str | None, span: tuple[int, int] | None
    ) -> tuple[int, int, int]: ...
    def bounded_tokens(
        self, encoding: str | None, model: str | None, span: tuple[int, int] | None
    ) -> tuple[int, int, int, Literal["exact", "bounds", "estimate"]]: ...
    def fits(
        self, limit_tokens: int, encoding: str | None, model: str | None, span: tuple[int, int] | None
    ) -> bool: ...
    def block_tokens(self, encoding: str, message_index: int) -> list[int]: ...
    def __len__(self) -> int: ...
    @property
    def format(self) -> str: ...
    @property
    def format_reason(self) -> str: ...
    @property
    def model(self) -> str | None: ...
    def encoding(self, model: str | None) -> str: ...
    @property
    def leading(self) -> int: ...
    @property
    def folded(self) -> tuple[int, int]: ...
    @property
    def always_alternates(self) -> bool: ...
    @property
    def remote(self) -> bool: ...
    def bound_reasoning(self, model: str | None) -> tuple[bool, tuple[str, str], tuple[str, str]] | None: ...

@final
class Json:
    def __new__(cls, data: _Body) -> Json: ...
    def span(self, path: list[str | int]) -> tuple[int, int] | None: ...
    def items(self, path: list[str | int]) -> list[tuple[int, int]]: ...
    def fields(self, path: list[str | int]) -> list[tuple[str, int, int]]: ...

@final
class Splits:
    def contains(self, index: int) -> bool: ...
    def indices(self) -> list[int]: ...
    def count(self) -> int: ...
    def at_or_before(self, index: int) -> int | None: ...
    def at_or_after(self, index: int) -> int | None: ...
    def why_not(self, transcript: Transcript, index: int) -> list[_Blocker]: ...
    def start_of_tool_groups(self, transcript: Transcript, count: int, start: int) -> int: ...
    def find(
        self, transcript: Transcript, kind: Literal["messages", "turns", "tokens"], amount: int, encoding: str
    ) -> tuple[int, int, int, int, list[_Blocker]] | None: ...

@final
class ScanOptions:
    def __new__(
        cls,
        pending_ids: list[str],
        thinking: bool | None,
        strict_alternation: bool,
        closed: bool,
        signatures: bool | None,
        reasoning_pairs: list[tuple[str, str]],
        window_tokens: int | None,
        severities: list[tuple[str, str]],
    ) -> ScanOptions: ...

@final
class Shown:
    def __new__(cls, conversation: _Texts, speakers: bytes, beside: _Texts, identifiers: _Texts) -> Shown: ...
    def holds(self, text: str) -> bool: ...
    def says(self, text: str) -> bool: ...
    def copied(self, pieces: _Texts) -> int: ...
    def any_of(self, words: _Texts) -> bool: ...
    def occurring(self, identifiers: _Texts) -> list[bool]: ...
    def speakers(self, identifiers: _Texts) -> list[int]: ...

@final
class SeenObjects:
    def __new__(cls) -> SeenObjects: ...
    def shared(self, messages: tuple[object, ...]) -> int: ...
    def followed_by(self, kept: int, messages: tuple[object, ...]) -> SeenObjects: ...

@final
class Statements:
    def __new__(cls, lists: list[tuple[str, str]], back: str, back_glued: list[str]) -> Statements: ...
    def counts(self, text: str) -> list[int]: ...
    def rules(self, text: str) -> list[str]: ...
    def weigh(self, texts: list[tuple[bool, str]]) -> tuple[list[_Statement], list[tuple[str, list[str]]]]: ...
    def summary(
        self,
        texts: list[tuple[bool, str, bool]],
        lines: list[tuple[str, str, float, bool]],
        identifiers: list[str] | tuple[str, ...],
        quotes: str,
        touched: str,
        elsewhere: list[str] | tuple[str, ...],
        layout: tuple[str | None, list[tuple[str, list[str]]]],
        encoding: str,
        max_tokens: int,
    ) -> str: ...

def rules() -> list[
    tuple[
        str,
        Literal["integrity", "order", "content"],
        str,
        str,
        Literal["error", "warning", "hint", "off"],
    ]
]: ...
def scan(
    transcript: Transcript, before: Transcript | None, options: ScanOptions, with_pairs: bool
) -> tuple[
    list[_Finding],
    tuple[list[str | None], list[int], list[int], list[int], list[int], list[bool]] | None,
    list[_Place],
    list[_Place],
    list[_Place],
    list[str],
    list[str],
    list[tuple[str, int]],
]: ...
def findings(transcript: Transcript, before: Transcript | None, options: ScanOptions) -> list[_Finding]: ...
def check_pairs(
    transcript: Transcript,
) -> tuple[int, list[_Place], list[_Place], list[_Place], list[_Place], list[_Place]]: ...
def repair(
    transcript: Transcript, options: ScanOptions, unanswered: str
) -> (
    tuple[
        Transcript,
        list[
            tuple[
                str,
                Literal["drop", "move", "synthesize", "rename", "fill"],
                int,
                int | None,
                int | None,
                str | None,
                str,
            ]
        ],
        list[int | None],
    ]
    | None
): ...
def split_points(transcript: Transcript, options: ScanOptions) -> Splits: ...
def find_split(
    transcript: Transcript,
    options: ScanOptions,
    kind: Literal["messages", "turns", "tokens"],
    amount: int,
    encoding: str,
) -> tuple[int, int, int, int, list[_Blocker]] | None: ...
def layout(
    transcript: Transcript, options: ScanOptions
) -> tuple[list[int], tuple[int, int], tuple[int, int], list[tuple[int, int]], tuple[int, int]]: ...
def compare_prefix(
    before: Transcript, after: Transcript, encoding: str | None, model: str | None
) -> tuple[int, int, int, tuple[Literal["tools", "system", "messages"], int | None, str] | None, bool, bool]: ...
def count(text: str, encoding: str) -> int: ...
def estimate(text: str, encoding: str) -> tuple[int, int, int]: ...
def bounds(text: str, encoding: str) -> tuple[int, int]: ...
def fits(text: str, encoding: str, limit_tokens: int) -> bool: ...
def count_up_to(text: str, encoding: str, limit_tokens: int) -> int | None: ...
def neutralise(text: str) -> str | None: ...
def count_many(texts: _Texts, encoding: str) -> list[int]: ...
def share_caches(processes: int) -> None: ...
def encoding_for_model(model: str) -> tuple[str, Literal["exact", "assumed", "estimate"]]: ...
def register_model(name: str, encoding: str, label_name: Literal["exact", "assumed", "estimate"]) -> None: ...
def register_vocabulary(
    name: str,
    tokens: list[tuple[bytes, int]],
    merges: list[tuple[int, int]] | None,
    special_tokens: list[tuple[str, int]],
    cuts: list[
        tuple[
            str,
            Literal["tiktoken", "oniguruma"],
            Literal["isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"],
            bool,
        ]
    ],
    flags: tuple[bool, bool, bool],
) -> None: ...
def masks(
    results: list[tuple[int, int, int, str | None]],
    reasons: list[Literal["Old", "Repeated", "Outdated"]],
    encoding: str,
    min_tokens: int,
) -> tuple[list[int], list[tuple[tuple[int, str], ...]]]: ...
def mask_old(
    transcript: Transcript,
    encoding: str | None,
    model: str | None,
    bound: bool,
    start: int,
    stop: int,
    options: ScanOptions,
    min_tokens: int,
    over_tokens: int | None,
    part_tokens: int,
) -> tuple[list[int], list[tuple[tuple[int, str], ...]], list[int]]: ...
def extract_details(text: str) -> list[tuple[_Detail, str]]: ...
def extract_identifiers(text: str) -> list[tuple[_Named, str]]: ...
def occurring(identifiers: _Texts, text: str) -> list[bool]: ...
def is_plain(messages: tuple[object, ...]) -> bool: ...
def identifiers_around(
    identifiers: _Texts, transcript: Transcript, ranges: list[tuple[int, int]], result: Transcript, tail: int
) -> tuple[list[str], list[bool], list[bool]]: ...
def surviving(identifiers: _Texts, transcript: Transcript) -> list[bool]: ...
def encode(text: str, encoding: str) -> list[int]: ...
def decode(tokens: list[int], encoding: str) -> bytes: ...
def truncate(
    text: str, encoding: str, max_tokens: int, keep: Literal["head", "tail", "both"]
) -> tuple[str, str, bool]: ...
def truncate_middle(text: str, encoding: str, max_tokens: int) -> str | None: ...
