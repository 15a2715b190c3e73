"""Minimal inputs behind public bug reports on compaction, run from a transcript to a result.

The files say what is right; this table says which policy asks the same of this library.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from turnfold import meter
from turnfold.compactor import compact_sync
from turnfold.model.plan import Skip, SkipReason
from turnfold.model.policy import OnRequest, Policy, Summarize, TokensOver, TruncateResults
from turnfold.model.splits import KeepMessages
from turnfold.model.summary import SummaryRequest
from turnfold.planning.apply import CompactionResult
from turnfold.planning.wrapper import WrappedSummary, recognise, wrap
from turnfold.summarizers import Function
from turnfold.transcript import Transcript

CASES = Path(__file__).parents[1] / "vectors" / "cases"

REASONS: dict[str, SkipReason] = {
    "nothing_to_compact": "nothing_to_compact",
    "no_reduction": "no_reduction",
    "floor_above_trigger": "budget_below_floor",
}


def forced(keep: int) -> Policy:
    return Policy(OnRequest(), (Summarize(KeepMessages(keep)), TruncateResults()))


def limited(limit_tokens: int, keep: int = 4) -> Policy:
    return Policy(TokensOver(limit_tokens), (Summarize(KeepMessages(keep)), TruncateResults()))


POLICIES: dict[str, Callable[[dict[str, Any]], Policy]] = {
    "046": lambda case: forced(case["params"]["keep_last"]),
    "047": lambda case: limited(case["params"]["trigger_tokens"]),
    "049": lambda case: forced(len(case["messages"]) - case["params"]["split"]),
    "050": lambda case: limited(case["params"]["hard_limit_tokens"], keep=1),
    "053": lambda case: limited(case["params"]["hard_limit_tokens"]),
    "056": lambda case: forced(case["params"]["keep_last"]),
    "085": lambda case: forced(len(case["messages"]) - case["params"]["split"]),
    "086": lambda case: forced(len(case["messages"]) - case["params"]["split"]),
    "107": lambda case: limited(case["params"]["trigger_tokens"]),
    "109": lambda case: forced(len(case["messages"]) - case["params"]["split"]),
    "113": lambda case: forced(case["params"]["keep_last"]),
}


def load(case_id: str) -> dict[str, Any]:
    (path,) = CASES.glob(f"{case_id}-*.json")
    case: dict[str, Any] = json.loads(path.read_text())
    return case


class Scripted:
    """Replies as the case scripts them, the last one again and again; and what was asked."""

    def __init__(self, script: list[dict[str, Any]]) -> None:
        self.script = script
        self.requests: list[SummaryRequest] = []
        self.summarizer = Function(self.reply, name="scripted")

    async def reply(self, request: SummaryRequest) -> str:
        self.requests.append(request)
        step = self.script[min(len(self.requests), len(self.script)) - 1]
        if "echo_markers" in step:
            seen = json.dumps([[part.text for part in message.parts] for message in request.messages])
            return " ".join(marker for marker in step["echo_markers"] if marker in seen)
        return str(step["return"])


def messages_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = case["input"]["messages"]
    existing = case["input"].get("params", {}).get("existing_summary_index")
    if existing is not None:
        old = messages[existing]
        messages[existing] = {**old, "content": wrap(WrappedSummary(7, None, old["content"]))}
    return messages


@pytest.mark.parametrize("case_id", sorted(POLICIES))
def test_case(case_id: str) -> None:
    case = load(case_id)
    expect = case["expect"]
    policy = POLICIES[case_id](case["input"])
    transcript = Transcript.from_messages(messages_of(case), format="openai.chat")
    scripted = Scripted(case["input"].get("summarizer", [{"return": "[summary]"}]))
    committed = False
    outcome: CompactionResult | Skip | None = None
    for _ in range(expect.get("rounds", 1)):
        for message in expect.get("per_round_append", []):
            transcript = transcript.append(message)
        before = transcript.to_json()
        outcome = compact_sync(transcript, policy, scripted.summarizer)
        assert transcript.to_json() == before
        if isinstance(outcome, CompactionResult):
            committed = True
            transcript = outcome.transcript
    output = transcript.to_json().decode()

    result = expect.get("result", {})
    if "committed" in result:
        assert committed == result["committed"], outcome
    if "summarizer_calls" in result:
        assert result["summarizer_calls"]["min"] <= len(scripted.requests) <= result["summarizer_calls"]["max"]
    allowed = {REASONS.get(r) for r in result.get("reason_in", [result["reason"]] if "reason" in result else [])}
    if allowed:
        assert isinstance(outcome, Skip)
        assert outcome.reason in allowed
    if "tokens_after" in result:
        assert isinstance(outcome, CompactionResult)
        assert outcome.after.hi <= result["tokens_after"]["value"]
    if result.get("used_fallback"):
        assert isinstance(outcome, CompactionResult)
        assert outcome.method == "rules"
        assert outcome.attempts[0].outcome == "longer_than_source"
    for text in expect.get("must_contain_in_output", []):
        assert text in output
    if expect.get("identity"):
        assert isinstance(outcome, Skip)
        assert outcome.reason == "under_trigger"
    if "after_all_rounds" in expect:
        found = [recognise(transcript.blocks(k)[0].text) for k in range(len(transcript))]
        assert sum(one is not None for one in found) == expect["after_all_rounds"]["summary_messages"]
        assert output.count("<turnfold-summary") == expect["after_all_rounds"]["summary_wrapper_occurrences"]
        assert transcript.tokens(1, 2).n <= expect["after_all_rounds"]["summary_tokens"]["value"]


def test_tiny_budgets_keep_the_last_user_message_or_say_so() -> None:
    case = load("106")
    for params in case["input"]["params_list"]:
        transcript = Transcript.from_messages(case["input"]["messages"], format="openai.chat")
        outcome = compact_sync(transcript, limited(params["budget_tokens"]))
        assert isinstance(outcome, Skip)
        assert outcome.reason == "budget_below_floor"


def test_empty_and_tiny_histories_are_left_alone() -> None:
    for messages in load("110")["input"]["messages_list"]:
        scripted = Scripted([{"return": "x"}])
        transcript = Transcript.from_messages(messages, format="openai.chat")
        assert isinstance(compact_sync(transcript, forced(0), scripted.summarizer), Skip)
        assert scripted.requests == []


def test_text_of_a_tool_result_stays_out_of_the_instructions() -> None:
    case = load("088")
    messages = case["input"]["messages"]
    messages[3]["content"] += meter.truncate("So it went on for a while. " * 30, 150)
    transcript = Transcript.from_messages(messages, format="openai.chat")
    scripted = Scripted(case["input"]["summarizer"])
    for summarizer in (scripted.summarizer, None):
        outcome = compact_sync(transcript, forced(1), summarizer)
        assert isinstance(outcome, CompactionResult)
        assert outcome.summary_role == case["expect"]["summary_role"]
        instructions = [m["content"] for m in outcome.messages if m["role"] in {"system", "developer"}]
        assert instructions == ["You are a careful build assistant."]
