"""`turnfold batch --dry-run`: what a run would save, and what it would cost."""

import argparse
from collections.abc import Iterable, Iterator
from time import perf_counter

from turnfold.batch.remembered import request_key
from turnfold.cli.batch_totals import Totals
from turnfold.cli.display import number
from turnfold.cli.faults import Fault, FaultLog
from turnfold.cli.inputs import InputFile
from turnfold.cli.plan import plans_of
from turnfold.model.plan import Skip
from turnfold.model.policy import Policy
from turnfold.model.price import Price
from turnfold.model.summary import NO_USAGE, SummaryRequest, Usage
from turnfold.summarizers.asked import requests_of
from turnfold.summarizers.limited import most_used


class Cost:
    """What a model would be asked, and what that takes at most, with one try each."""

    def __init__(self) -> None:
        self.summaries = self.equal = 0
        self.usage: Usage = NO_USAGE
        self._asked: set[bytes] = set()

    def lines(self, price: Price | None, *, by_rule: bool) -> Iterator[str]:
        """Say it for people."""
        requests = self.summaries - self.equal
        told = f"{number(self.summaries)} summaries"
        if self.equal:
            told += f", {number(self.equal)} of them equal to another, which is asked once"
        yield f"  {told}" + ("; made by rule, they cost nothing" if by_rule else "")
        if not requests:
            return
        prompt, reply = number(self.usage.prompt_tokens), number(self.usage.completion_tokens)
        asks = "a model would be asked" if by_rule else "the model is asked"
        used = f"{asks} {number(requests)} times: at most {prompt} tokens of prompts and {reply} of replies, a try each"
        cost = "; --price IN,OUT says what that costs" if price is None else f", which cost {price.of(self.usage):,.2f}"
        yield f"  {used}{cost}"

    def add(self, requests: Iterable[SummaryRequest]) -> None:
        """Count the requests of one transcript."""
        for request in requests:
            self.summaries += 1
            key = request_key(request, "")
            if key in self._asked:
                self.equal += 1
                continue
            self._asked.add(key)
            self.usage += most_used(request)


def dry_run(
    options: argparse.Namespace, policy: Policy, files: Iterable[InputFile], missing: Iterable[Fault]
) -> tuple[Totals, Cost]:
    """Plan everything, and say what a run would save and cost. Writes nothing."""
    faults, totals, cost = FaultLog(), Totals(), Cost()
    for fault in missing:
        faults.report(fault)
    begun = perf_counter()
    files = list(files)
    for document, transcript, found in plans_of(files, options, policy, faults):
        if document.id is None or document.index == 0:
            totals.documents += 1
            totals.bytes += len(document.data)
        totals.tokens_before += found.before.n
        if isinstance(found, Skip):
            totals.statuses["skipped"] += 1
            totals.reasons[found.reason] += 1
            totals.tokens_after += found.before.n
        else:
            totals.statuses["compacted"] += 1
            totals.tokens_after += found.tokens_at_most
            cost.add(requests_of(transcript, found))
    totals.seconds = perf_counter() - begun
    totals.failed = faults.count
    totals.statuses["failed"] += faults.count
    totals.files = len(files)
    return totals, cost
