"""`tokenizer.json` of Hugging Face's tokenizers: byte-level BPE, or an error that says what stands in the way.

What is read is what bears on ordinary text: the model, the normalizer and the pre-tokenizer. Added tokens are ordinary
text here, and what a post-processor adds (the start of a text) is not part of any text. Source: the reader and the
components of the crate `tokenizers` 0.23.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

import msgspec

from turnfold.errors import VocabularyError
from turnfold.vocabularies.definition import Cut, Definition, Split, is_id

_BYTE_LEVEL_ONLY: Final = (
    "only byte-level BPE can be counted exactly; register the model's tiktoken file, if it has one"
)
_GPT2: Final = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_SPLITS: Final[Mapping[str, Split]] = {
    "Isolated": "isolated",
    "Removed": "removed",
    "MergedWithPrevious": "merged_with_previous",
    "MergedWithNext": "merged_with_next",
    "Contiguous": "contiguous",
}
_NUMBER: Final = r"[\p{N}\x{11DE0}-\x{11DE9}\x{16FF4}-\x{16FF6}]"
"""What the step Digits takes for a number, by Unicode 17: the engine of the patterns lacks these two ranges."""
_SPECIAL_IN_PATTERNS: Final = frozenset("\\.+*?()|[]{}^$#&-~")


def _byte_characters() -> dict[str, int]:
    """Each byte's character in the tokens of byte-level vocabularies: itself if it prints, else one from U+0100 on."""
    printing = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAC + 1), *range(0xAE, 0xFF + 1)]
    others = [byte for byte in range(256) if byte not in printing]
    return {chr(byte): byte for byte in printing} | {chr(256 + place): byte for place, byte in enumerate(others)}


def read_tokenizer_json(content: bytes) -> Definition:
    """Read the file. Raises a `VocabularyError` with the place of what cannot be counted exactly."""
    try:
        root = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError) as error:
        raise VocabularyError(f"the file is no JSON: {error}") from None
    if not isinstance(root, dict) or not isinstance(root.get("model"), dict):
        raise VocabularyError("the file has no `model`: it is no tokenizer.json")
    model = root["model"]
    kind = model.get("type") or ("BPE" if "merges" in model else "WordPiece or Unigram")
    if kind != "BPE":
        _refuse("model.type", f"{kind} merges no bytes: {_BYTE_LEVEL_ONLY}")
    for field in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(field):
            _refuse(f"model.{field}", f"{model[field]!r} changes what is counted: {_BYTE_LEVEL_ONLY}")
    cuts, space_first = _cuts(root.get("pre_tokenizer"))
    tokens, special_tokens = _tokens(model.get("vocab"), _list(root, "added_tokens"))
    return Definition(
        tokens=tokens,
        merges=_merges(model.get("merges"), model["vocab"]),
        special_tokens=special_tokens,
        cuts=cuts,
        whole_pieces=_flag(model, "ignore_merges", "model"),
        nfc=_is_nfc(root.get("normalizer")),
        space_first=space_first,
    )


def _refuse(place: str, why: str) -> NoReturn:
    raise VocabularyError(f"at `{place}`: {why}")


def _list(component: Mapping[str, Any], name: str, place: str = "") -> Sequence[Any]:
    value = component.get(name)
    if not isinstance(value, list | None):
        _refuse(f"{place}{name}", "a list is needed")
    return value or ()


def _flag(component: Mapping[str, Any], name: str, place: str, *, default: bool = False) -> bool:
    value = component.get(name)
    if not isinstance(value, bool | None):
        _refuse(f"{place}.{name}", f"{value!r} is neither true nor false")
    return default if value is None else value


def _tokens(vocabulary: object, added: Sequence[Any]) -> tuple[list[tuple[bytes, int]], list[tuple[str, int]]]:
    if not isinstance(vocabulary, dict) or not all(is_id(number) for number in vocabulary.values()):
        _refuse("model.vocab", "an object of tokens and their ids is needed")
    characters = _byte_characters()
    tokens, special = [], {}
    for text, number in vocabulary.items():
        try:
            tokens.append((bytes([characters[character] for character in text]), number))
        except KeyError:
            # No text becomes such characters, so nothing but an added token can be spelled so.
            special[number] = text
    taken = {number for _, number in tokens}
    for token in added:
        if isinstance(token, dict) and is_id(token.get("id")) and token["id"] not in taken:
            special[token["id"]] = str(token.get("content"))
    return tokens, [(text, number) for number, text in special.items()]


def _merges(merges: object, vocabulary: Mapping[str, int]) -> list[tuple[int, int]]:
    if not isinstance(merges, list):
        _refuse("model.merges", "a list of pairs of tokens is needed")
    pairs = []
    for index, merge in enumerate(merges):
        parts = merge.split(" ") if isinstance(merge, str) else merge
        try:
            left, right = parts
            pairs.append((vocabulary[left], vocabulary[right]))
        except (KeyError, TypeError, ValueError):
            _refuse(f"model.merges[{index}]", f"{merge!r} is no pair of tokens of the vocabulary")
    return pairs


def _is_nfc(normalizer: object, place: str = "normalizer") -> bool:
    if normalizer is None:
        return False
    kind = normalizer.get("type") if isinstance(normalizer, dict) else None
    if isinstance(normalizer, dict) and kind == "Sequence":
        inner = _list(normalizer, "normalizers", f"{place}.")
        found = [_is_nfc(one, f"{place}.normalizers[{index}]") for index, one in enumerate(inner)]
        return any(found)
    if kind != "NFC":
        _refuse(place, f"the normalizer {kind} is not known here, only NFC is: count the text as it normalizes it")
    return True


def _flat(component: object, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(component, dict) and component.get("type") == "Sequence":
        for index, inner in enumerate(_list(component, "pretokenizers", f"{place}.")):
            yield from _flat(inner, f"{place}.pretokenizers[{index}]")
    elif isinstance(component, dict):
        yield place, component
    elif component is not None:
        _refuse(place, "a pre-tokenizer is an object")


def _cuts(component: object) -> tuple[list[Cut], bool]:
    """The steps, and whether a text gets a space first."""
    steps = list(_flat(component, "pre_tokenizer"))
    if not any(step.get("type") == "ByteLevel" for _, step in steps):
        _refuse("pre_tokenizer", f"no ByteLevel is among its steps: {_BYTE_LEVEL_ONLY}")
    cuts: list[Cut] = []
    space_first = False
    for index, (place, step) in enumerate(steps):
        match step.get("type"):
            case "ByteLevel":
                if index + 1 < len(steps):
                    _refuse(place, "steps behind ByteLevel see bytes instead of text, which is not supported")
                space_first = _flag(step, "add_prefix_space", place, default=True)
                if space_first and index:
                    _refuse(f"{place}.add_prefix_space", "a space before every piece is not supported")
                if _flag(step, "use_regex", place, default=True):
                    cuts.append((_GPT2, "oniguruma", "isolated", False))
            case "Split":
                cuts.append(_split(step, place))
            case "Digits":
                pattern = _NUMBER if _flag(step, "individual_digits", place) else f"{_NUMBER}+"
                cuts.append((pattern, "oniguruma", "isolated", False))
            case kind:
                _refuse(place, f"the pre-tokenizer {kind} is not known here: Split, Digits and ByteLevel are")
    return cuts, space_first


def _split(step: dict[str, Any], place: str) -> Cut:
    behavior = str(step.get("behavior"))
    if behavior not in _SPLITS:
        _refuse(f"{place}.behavior", f"{behavior!r} is none of {', '.join(_SPLITS)}")
    match step.get("pattern"):
        case {"Regex": str() as pattern}:
            pass
        case {"String": str() as literal} if literal:
            pattern = "".join(f"\\{c}" if c in _SPECIAL_IN_PATTERNS else c for c in literal)
        case _:
            _refuse(f"{place}.pattern", "a Regex or a String is needed")
    return pattern, "oniguruma", _SPLITS[behavior], _flag(step, "invert", place)
