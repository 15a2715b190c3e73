"""`compactbench`: the suite `elite_practice` at its hardest level, read by an oracle in place of a model.

The wheel has no suites; they are in its source distribution:

    pip download --no-deps --no-binary :all: compactbench==0.1.0 && tar xf compactbench-0.1.0.tar.gz
    python benches/quality/compactbench_elite.py compactbench-0.1.0/benchmarks/public [--share 0.25] [--seeds 8]

The oracle answers from the summary alone, and as well as the summary lets it:

- asked for something, it names it if the summary holds it, word for word;
- asked something to which a forbidden or dropped thing would be a wrong answer, it keeps off that thing if the
  summary holds a sentence of the conversation that settles the matter: that of the rule, or of the last decision.
  Without one it falls into the trap where the summary still holds the thing, or where the thing is a rule that got
  lost.

A summary that no longer holds what was dropped passes as well. `--strict` takes the kit's check by its letter: a
summary that names the thing at all fails, which rewards losing a rule (`recall` items want it named, `apply` items
unnamed).
"""

import argparse
import re
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from compactbench.contracts import CompactionArtifact, EvaluationItem, EvaluationItemType, GeneratedCase
from compactbench.dsl import DifficultyLevel, load_suite
from compactbench.engine.generation import generate_case
from compactbench.scoring import score_cycle
from compacting import ENCODING, compact_messages

from turnfold import count
from turnfold.testing.oracle import tiktoken_encodings

BARS = (0.90, 0.90)
_CONSTRAINTS = {"locked_decision_retention", "forbidden_behavior_retention"}


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().lower()


def _sentences(text: str) -> list[str]:
    return [plain for sentence in re.split(r"(?<=[.!?])\s+", text) if (plain := _plain(sentence))]


def _settling(case: GeneratedCase, value: str) -> list[str]:
    """The sentences that say what holds about `value`, in the last turn that the template marks and that decides."""
    decided = [_plain(text.removeprefix("approach: ")) for text in case.ground_truth.locked_decisions]
    marked = [turn for turn in case.transcript.turns if turn.tags and "distractor" not in turn.tags]
    spoken = marked or list(case.transcript.turns)
    for turn in reversed(spoken):
        found = [s for s in _sentences(turn.content) if _plain(value) in s or any(d in s for d in decided)]
        if found:
            return found
    return []


def answer(case: GeneratedCase, item: EvaluationItem, summary: str, *, strict: bool) -> str:
    """What the oracle says to `item` with `summary` before it."""
    value, held = str(item.expected["value"]), _plain(summary)
    there = _plain(value) in held
    if item.expected["check"] != "forbidden_absent" or strict:
        return value if there else "I do not know."
    if any(sentence in held for sentence in _settling(case, value)):
        return "No."
    lost_rule = item.item_type is EvaluationItemType.PLANNING_SOUNDNESS
    return value if there or lost_rule else "No."


def main() -> int:
    """Print scores by family; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--suite", default="elite_practice")
    parser.add_argument("--share", type=float, default=0.25)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    scores: dict[str, list[float]] = defaultdict(list)
    constraints: dict[str, list[float]] = defaultdict(list)
    over = 0
    with tempfile.TemporaryDirectory() as folder:
        tiktoken_encodings(Path(folder))  # The kit counts with tiktoken, which would download its vocabulary.
    for template in load_suite(arguments.folder / arguments.suite):
        for seed in range(arguments.seeds):
            case = generate_case(template, seed, DifficultyLevel.ELITE)
            messages = [{"role": turn.role.value, "content": turn.content} for turn in case.transcript.turns]
            limit = int(sum(count(turn.content, ENCODING) for turn in case.transcript.turns) * arguments.share)
            compacted = compact_messages(messages, limit)
            over += not compacted.applied
            artifact = CompactionArtifact.model_validate({"summaryText": compacted.text})
            replies = {i.key: answer(case, i, compacted.text, strict=arguments.strict) for i in case.evaluation_items}
            card = score_cycle(case, artifact, replies)
            for family in (template.family, "all"):
                scores[family].append(card.penalized_cycle_score)
                constraints[family] += [i.score for i in card.item_scores if i.item_type in _CONSTRAINTS]
            missed = [item.item_key for item in card.item_scores if item.score < 1]
            if arguments.verbose and missed:
                print(f"--- {case.case_id} misses {missed}\n{compacted.text}\n")
    for family, values in scores.items():
        held = constraints[family]
        constraint = sum(held) / len(held) if held else 1.0
        print(f"{family}: {sum(values) / len(values):.3f}, constraint {constraint:.3f} ({len(values)} cases)")
    print(f"not compacted: {over}")
    total, constraint = (sum(of["all"]) / len(of["all"]) for of in (scores, constraints))
    return 0 if total >= BARS[0] and constraint >= BARS[1] and not over else 1


if __name__ == "__main__":
    sys.exit(main())
