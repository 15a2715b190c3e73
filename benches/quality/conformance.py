"""`compaction-conformance-kit`: canaries of five kinds, five rounds, an output limit in characters.

The kit hands the text of each round on as one system message. What turnfold returned is a transcript, so a round that
is given back its own text compacts that transcript: it is a summary already, and stays as it is. The text that is
measured is everything in the compacted request, the application's own instructions and the summary's wrapper included.

    python benches/quality/conformance.py [--seeds 4] [--budgets 0.1,0.2,0.3] [--verbose]
"""

import argparse
import sys

from compacting import Compacted, compact_characters
from compaction_kit.benchmark import budget_benchmark_to_markdown, run_budget_benchmark
from compaction_kit.compacted import CompactedContext
from compaction_kit.semantic import SemanticChecklistCompactor
from compaction_kit.session import Turn

BARS = {0.1: (0.45, 0.0), 0.2: (0.85, 0.5)}
"""By share of the original: survival in the randomized sessions and resolution in the semantic ones, at least."""


class Turnfold:
    """The kit's protocol over `compact_sync`."""

    name = "turnfold"

    def __init__(self) -> None:
        self._last: Compacted | None = None

    def compact(self, turns: list[Turn], round_num: int = 1, budget_chars: int | None = None) -> CompactedContext:
        """Compact `turns` to `budget_chars` characters."""
        if self._last is not None and [turn.text for turn in turns] == [self._last.text]:
            messages = self._last.messages
        else:
            messages = tuple({"role": turn.role, "content": turn.text} for turn in turns)
        limit = budget_chars if budget_chars is not None else sum(len(turn.text) for turn in turns) // 5
        compacted = compact_characters(messages, limit)
        self._last = Compacted(compacted.messages, compacted.applied)
        return CompactedContext(text=compacted.text, compactor_name=self.name, round_num=round_num)


def main() -> int:
    """Print the kit's table; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--budgets", default="0.1,0.2,0.3")
    arguments = parser.parse_args()
    budgets = [float(share) for share in arguments.budgets.split(",")]
    factories = {
        "turnfold": Turnfold,
        "semantic-checklist": SemanticChecklistCompactor,
    }
    payload = run_budget_benchmark(factories, budgets=budgets, seeds=range(1, arguments.seeds + 1))
    print(budget_benchmark_to_markdown(payload))
    missed = 0
    for entry in payload["entries"]:
        bar = BARS.get(entry["budget_fraction"])
        if entry["compactor"] != "turnfold" or bar is None:
            continue
        survival, resolved = entry["randomized"]["overall_final_survival"], entry["semantic"]["resolved_rate"]
        met = entry["budget_compliant"] and survival >= bar[0] and resolved >= bar[1]
        missed += not met
        print(
            f"{'met' if met else 'MISSED'} at {entry['budget_fraction']:.0%}: survival {survival:.1%} of {bar[0]:.0%}, "
            f"resolution {resolved:.1%} of {bar[1]:.0%}, within the limit: {entry['budget_compliant']}"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
