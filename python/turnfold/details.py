"""Details of a transcript, and which of them a compaction kept: commands, errors, quantities, the user's rules.

They are judged when somebody asks: a compaction itself is judged by identifiers (`CompactionResult.identifiers`).
"""

from collections.abc import Iterable

from turnfold import _core
from turnfold.model.detail import Detail, DetailReport
from turnfold.model.plan import SummaryHole
from turnfold.planning.apply import Applied, edited_or_dropped
from turnfold.summarizers.extractive import cues
from turnfold.transcript import Transcript, kernel_of

_RULERS = frozenset({"user", "system", "developer"})


def details_in(text: str, *, rules: bool = False) -> tuple[Detail, ...]:
    """Find the details in a text, each once, in order; with `rules` also those that it states, at the end.

    A detail has at most 400 bytes. Linear in the text; other threads run meanwhile.
    """
    found = [Detail(*fields) for fields in _core.extract_details(text)]
    return (*found, *(_rules([text]) if rules else ()))


def details_of(transcript: Transcript, start: int = 0, stop: int | None = None) -> tuple[Detail, ...]:
    """Find the details of messages `[start, stop)`, each once: those of all texts, the commands of calls, and the rules
    that users and instructions state, which come last. Linear in the bytes; other threads run meanwhile.
    """
    start, stop, _ = slice(start, stop).indices(len(transcript))
    return _details(transcript, [range(start, max(start, stop))])


def detail_report(source: Transcript, result: Applied) -> DetailReport:
    """Compare the details of what a compaction of `source` replaced or shortened with what there is now.

    One is kept where the result holds it letter for letter, on the edges of words. Linear in the bytes of both.
    """
    holes = (tile for tile in result.plan.tiles if isinstance(tile, SummaryHole))
    changed = (
        *(gone for hole in holes for gone in hole.gone),
        *(range(tile.start, tile.stop) for tile in edited_or_dropped(result.plan)),
    )
    found = _details(source, sorted(changed, key=lambda part: part.start))
    kept = result.transcript.surviving([detail.text for detail in found])
    return DetailReport(
        kept=tuple(detail for detail, there in zip(found, kept, strict=True) if there),
        lost=tuple(detail for detail, there in zip(found, kept, strict=True) if not there),
    )


def _details(transcript: Transcript, ranges: Iterable[range]) -> tuple[Detail, ...]:
    kernel, speakers = kernel_of(transcript), transcript.speakers
    found: dict[Detail, None] = {}
    said: list[str] = []
    for part in ranges:
        found.update((Detail(*fields), None) for fields in kernel.details(part.start, part.stop))
        for index, parts in zip(part, transcript.parts(part.start, part.stop), strict=True):
            if speakers[index] in _RULERS:
                said += [one.text for one in parts if one.kind == "text"]
    return (*found, *_rules(said))


def _rules(texts: Iterable[str]) -> tuple[Detail, ...]:
    rules = dict.fromkeys(rule for text in texts for rule in cues.kernel().rules(text))
    return tuple(Detail("rule", rule) for rule in rules)
