"""Compactions that are left to the provider: the request that asks for one, or why there is none."""

import json
from typing import Any

import msgspec
import pytest

from turnfold import AskProvider, OnRequest, Policy, Skip, Transcript, plan, presets, provider_body
from turnfold.errors import ArgumentError
from turnfold.model.policy import TruncateResults
from turnfold.model.provider import ProviderRule, SetField
from turnfold.model.state import PlanState
from turnfold.testing.generators import BY_FORMAT

NOW = PlanState(requested=True)


def made(body: object) -> Transcript:
    return Transcript.from_json(msgspec.json.encode(body))


def responses(**fields: Any) -> dict[str, Any]:
    said = [{"role": ("user", "assistant")[k % 2], "content": f"Point {k}."} for k in range(5)]
    return {"model": "gpt-5.2", "input": said, **fields}


def messages(**fields: Any) -> dict[str, Any]:
    said = [{"role": ("user", "assistant")[k % 2], "content": f"Point {k}."} for k in range(5)]
    return {"model": "claude-opus-5", "max_tokens": 100, "system": "Be brief.", "messages": said, **fields}


def asked(transcript: Transcript, policy: Policy | None = None, state: PlanState = NOW) -> tuple[Skip, dict[str, Any]]:
    skip = plan(transcript, policy or presets.provider_compaction(), state=state)
    assert isinstance(skip, Skip)
    assert skip.reason == "left_to_provider", skip
    assert skip.request is not None
    assert msgspec.json.decode(msgspec.json.encode(skip), type=Skip) == skip
    return skip, json.loads(provider_body(transcript, skip.request))


def reason(transcript: Transcript, policy: Policy | None = None, state: PlanState = NOW) -> str:
    skip = plan(transcript, policy or presets.provider_compaction(), state=state)
    assert isinstance(skip, Skip)
    assert (skip.request is None) == (skip.reason != "left_to_provider")
    return skip.reason


def test_a_conversation_of_items_goes_to_an_endpoint_of_its_own() -> None:
    body = responses(instructions="Be brief.", tools=[], stream=True, prompt_cache_key="k")
    skip, sent = asked(made(body))
    assert skip.request is not None
    assert skip.request.endpoint == "POST /v1/responses/compact"
    assert set(skip.request.dropped) == {"tools", "stream"}
    assert sent == {name: body[name] for name in ("model", "input", "instructions", "prompt_cache_key")}


def test_messages_are_asked_for_by_a_field_and_a_header() -> None:
    body = messages(context_management={"edits": []})
    skip, sent = asked(made(body))
    assert skip.request is not None
    assert skip.request.headers == (("anthropic-beta", "compact-2026-09-04"),)
    assert sent.pop("compaction") == {"type": "summarize"}
    body.pop("context_management")
    assert sent == body
    assert "anthropic-beta: compact-2026-09-04" in skip.text


def test_values_stay_byte_for_byte() -> None:
    said = b'[ {"role":"user", "content":"\\u00e9 \xc3\xa9"} ]'
    body = b' { "model" : "claude-opus-5", "max_tokens":1.0e2,\n "messages": %b } ' % said
    transcript = Transcript.from_json(body, format="anthropic.messages")
    skip = plan(transcript, presets.provider_compaction(), state=NOW)
    assert isinstance(skip, Skip)
    assert skip.request is not None
    sent = provider_body(transcript, skip.request)
    assert b'"messages":' + said in sent
    assert b'"max_tokens":1.0e2' in sent
    assert provider_body(transcript, skip.request) == sent


def test_a_standing_request_is_made_under_the_limit_too_and_once() -> None:
    policy = presets.provider_compaction(0.5, ask="standing")
    _, sent = asked(made(responses(tools=[])), policy, PlanState())
    assert sent == responses(tools=[], context_management=[{"type": "compaction", "compact_threshold": 136_000}])
    assert reason(made(sent), policy) == "nothing_to_compact"
    other = [{"type": "compaction", "compact_threshold": 5_000}]
    assert asked(made(responses(tools=[], context_management=other)), policy)[1] == sent


def test_what_the_caller_says_of_the_setting_beside_the_limit_stays() -> None:
    edits: list[dict[str, Any]] = [
        {"type": "clear_tool_uses_20250919"},
        {"type": "compact_20260112", "instructions": "Be short.", "trigger": {"type": "input_tokens", "value": 60_000}},
    ]
    policy = presets.provider_compaction(None, 80_000, ask="standing")
    skip, sent = asked(made(messages(context_management={"edits": edits})), policy)
    assert skip.request is not None
    assert skip.request.headers == (("anthropic-beta", "compact-2026-01-12"),)
    edits[1]["trigger"] = {"type": "input_tokens", "value": 80_000}
    assert sent == messages(context_management={"edits": edits})
    assert reason(made(sent), policy) == "nothing_to_compact"


def test_a_limit_that_the_provider_does_not_take() -> None:
    assert reason(made(messages()), presets.provider_compaction(None, 40_000, ask="standing")) == (
        "no_provider_compaction"
    )
    assert reason(made(responses()), presets.provider_compaction(None, 999, ask="standing")) == "no_provider_compaction"


@pytest.mark.parametrize("format", sorted(set(BY_FORMAT) - {"openai.responses", "anthropic.messages"}))
def test_a_provider_that_has_none(format: str) -> None:
    transcript = Transcript.from_json(msgspec.json.encode(BY_FORMAT[format](1, turns=3)), format=format)
    assert reason(transcript) == "no_provider_compaction"


def test_under_the_limit_nobody_is_asked() -> None:
    assert reason(made(messages()), presets.provider_compaction(None, 10**6), PlanState()) == "under_trigger"


def test_a_list_of_messages_is_no_request() -> None:
    transcript = Transcript.from_messages(messages()["messages"], format="anthropic.messages")
    assert reason(transcript) == "no_provider_compaction"
    skip, _ = asked(made(messages()))
    assert skip.request is not None
    with pytest.raises(ArgumentError, match="list of messages"):
        provider_body(transcript, skip.request)


def test_a_request_that_the_provider_would_refuse() -> None:
    body = messages()
    body["messages"].append(
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]}
    )
    assert reason(made(body)) == "invalid_input"


def test_history_that_only_the_server_holds_can_be_compacted_there() -> None:
    _, sent = asked(made(responses(previous_response_id="resp_1")))
    assert sent["previous_response_id"] == "resp_1"


def test_it_is_the_only_step_and_its_data_is_checked() -> None:
    with pytest.raises(ArgumentError, match="only step"):
        Policy(OnRequest(), (TruncateResults(), AskProvider(())))
    with pytest.raises(ArgumentError, match="no JSON"):
        SetField("compaction", "{")
    with pytest.raises(ArgumentError, match="needs a type"):
        SetField("compaction", "{}", into=())
    with pytest.raises(ArgumentError, match="now or standing"):
        presets.provider_compaction(ask="later")  # type: ignore[arg-type]


def test_a_provider_of_ones_own_is_a_rule() -> None:
    rule = ProviderRule("openai.chat", "POST /v1/chat/compact", fields=(SetField("compact", "true"),))
    transcript = made({"model": "house", "messages": messages()["messages"]})
    _, sent = asked(transcript, Policy(OnRequest(), (AskProvider((rule,)),)))
    assert sent["compact"] is True
