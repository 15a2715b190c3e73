"""The field cases: those of this version's layers and formats pass, and nothing in a case is passed over."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from turnfold.testing.cases import main, run_case, run_cases

CASES = Path(__file__).parent / "vectors/cases"
SHARED = Path(__file__).parents[2] / "shared/cases"
COVERED = {
    ("meter", "text"),
    ("batch", "text"),
    ("store", "openai-chat"),
    ("summarize", "openai-chat"),
    ("summarize", "openai-responses"),
    *((layer, wire) for layer in ("meter", "prefix") for wire in ("openai-chat", "anthropic")),
    *((layer, wire) for layer in ("pairs", "split", "adapters") for wire in ("openai-chat", "anthropic", "gemini")),
    *((layer, "openai-responses") for layer in ("pairs", "split")),
}


@pytest.mark.parametrize("path", sorted(CASES.glob("*.json")), ids=lambda p: p.stem)
def test_case(path):
    case = json.loads(path.read_bytes())
    outcome = run_case(path)
    if (case["layer"], case["format"]) in COVERED:
        assert outcome.status == "pass", outcome.line()
    else:
        assert outcome.status == "not covered"
        assert case["layer"] in outcome.reason or case["format"] in outcome.reason


@pytest.mark.skipif(not SHARED.is_dir(), reason="the folder of shared cases is not there")
def test_shared_cases():
    outcomes = list(run_cases(SHARED))
    assert [outcome.line() for outcome in outcomes if outcome.status == "fail"] == []
    assert outcomes


def changed(tmp_path: Path, name: str, change) -> str:
    case = json.loads(next(CASES.glob(f"{name}-*.json")).read_bytes())
    change(case)
    path = tmp_path / "case.json"
    path.write_text(json.dumps(case))
    outcome = run_case(path)
    assert outcome.status == "fail", outcome.line()
    return outcome.line()


UNKNOWN = [
    ("001", lambda c: c["expect"].update(made_up=1)),
    ("001", lambda c: c["expect"]["pairs"].update(made_up=1)),
    ("001", lambda c: c["expect"]["snap"][0].update(made_up=1)),
    ("001", lambda c: c["expect"]["outputs"].update(made_up=1)),
    ("001", lambda c: c["expect"]["outputs"]["valid"][0].update(made_up=1)),
    ("001", lambda c: c["expect"]["outputs"]["invalid"][0].update(params={"made_up": 1})),
    ("001", lambda c: c["expect"]["outputs"]["invalid"][0].update(params={"split": 1})),
    ("001", lambda c: c["input"].update(made_up=1)),
    ("001", lambda c: c["input"].update(params={"made_up": 1})),
    ("001", lambda c: c["input"].update(params={"trigger_tokens": 1})),
    ("001", lambda c: c["expect"].update(exact={"o200k_base": {"x": 1}})),
    ("001", lambda c: c["expect"].update(identity=True)),
    ("001", lambda c: c["expect"].update(must_contain_in_output=["api"])),
    ("001", lambda c: c.update(made_up=1)),
    ("001", lambda c: c.update(layer="made_up")),
    ("001", lambda c: c.update(format="made_up")),
    ("001", lambda c: c.pop("expect")),
    ("034", lambda c: c["input"]["params"].update(made_up=1)),
    ("041", lambda c: c["input"]["params"].update(keep_last=1)),
    ("115", lambda c: c["expect"].update(made_up=1)),
    ("115", lambda c: c["input"]["params"].pop("split")),
    ("053", lambda c: c["expect"]["result"].update(made_up=1)),
    ("053", lambda c: c["expect"]["result"]["tokens_after"].update(op="about")),
    ("053", lambda c: c["expect"]["tokens"][0]["right"].update(made_up=1)),
    ("053", lambda c: c["input"]["summarizer"][0].update(made_up=1)),
    ("058", lambda c: c["expect"].update(made_up=1)),
    ("058", lambda c: c["expect"]["tokens"][0].update(made_up=1)),
    ("058", lambda c: c["expect"]["tokens"][0].update(op="about")),
    ("058", lambda c: c["expect"]["time"].update(made_up=1)),
    ("058", lambda c: c["input"].update(params={"made_up": 1})),
    ("058", lambda c: c["input"]["texts"].update(x={"made_up": 1})),
    ("062", lambda c: c["expect"]["estimate_ratio"].update(made_up=1)),
    ("064", lambda c: c["expect"]["environment"].update(made_up=1)),
    ("068", lambda c: c["expect"]["variant_tokens"][0].update(made_up=1)),
    ("071", lambda c: c["expect"]["prefix"].update(made_up=1)),
    ("077", lambda c: c["expect"]["prefix"]["ignoring_cache_markers"].update(made_up=1)),
    ("106", lambda c: c["expect"]["each"].update(one_of=["made up"])),
    ("112", lambda c: c["expect"]["each_cut"].update(made_up=1)),
    ("098", lambda c: c["expect"].update(made_up=1)),
    ("098", lambda c: c["input"]["params"].update(made_up=1)),
    ("098", lambda c: c["input"]["jobs"][0].update(made_up=1)),
    ("089", lambda c: c["expect"].update(made_up=1)),
    ("089", lambda c: c["input"]["events"][0].update(made_up=1)),
    ("089", lambda c: c["input"]["events"].append({"op": "made_up"})),
    ("089", lambda c: c["input"]["events"][3].update(covers=["m2"])),
    ("092", lambda c: c["expect"].update(also_try=["made up"])),
    ("083", lambda c: c["expect"].update(made_up=1)),
    ("083", lambda c: c["expect"]["summarizer_request"].update(made_up=1)),
    ("083", lambda c: c["expect"]["result"].update(made_up=1)),
    ("083", lambda c: c["expect"]["result"].update(reason="made_up")),
    ("083", lambda c: c["input"]["params"].update(made_up=1)),
    ("080", lambda c: c["input"]["summarizer"][0].update(made_up=1)),
    ("086", lambda c: c["expect"]["after_all_rounds"].update(made_up=1)),
]


@pytest.mark.parametrize(("name", "change"), UNKNOWN, ids=[f"{k}-{name}" for k, (name, _) in enumerate(UNKNOWN)])
def test_what_is_not_known_is_a_failure(tmp_path, name, change):
    changed(tmp_path, name, change)


WRONG = [
    ("001", lambda c: (c["expect"]["valid_splits"].append(3), c["expect"]["forbidden_splits"].remove(3))),
    ("001", lambda c: c["expect"]["valid_splits"].remove(7)),
    ("001", lambda c: c["expect"]["snap"][0].update(down=1)),
    ("001", lambda c: c["expect"]["snap"][0].update(up=None)),
    ("001", lambda c: c["expect"]["pairs"].update(paired=2)),
    ("001", lambda c: c["expect"]["pairs"].update(pending=[{"index": 2, "id": "c1"}])),
    ("001", lambda c: c["expect"]["outputs"]["invalid"][0].update(violates=["OC-2"])),
    (
        "001",
        lambda c: c["expect"]["outputs"]["valid"].append(
            c["expect"]["outputs"]["invalid"][0] and {"messages": c["expect"]["outputs"]["invalid"][0]["messages"]}
        ),
    ),
    ("023", lambda c: c["expect"].update(must_contain_in_output=["CONTENT-A", "CONTENT-C"])),
    ("034", lambda c: c["expect"]["outputs"]["valid"][0]["messages"].pop()),
    ("034", lambda c: c["input"]["params"].update(strip_tool_pairs=[])),
    ("037", lambda c: c["expect"]["outputs"]["invalid"][0].update(violates=["AM-6"])),
    ("038", lambda c: c["input"]["params"].update(budget_tokens=1)),
    (
        "041",
        lambda c: c["expect"]["outputs"]["valid"].append(
            {"messages": c["expect"]["outputs"]["invalid"][0]["messages"]}
        ),
    ),
    ("043", lambda c: c["expect"].update(output_prefix_identical=2)),
    ("043", lambda c: c["expect"].update(must_contain_in_output=["RULE-BETA"])),
    ("115", lambda c: c["expect"]["output_order"].reverse()),
    ("115", lambda c: c["expect"].update(last_plain_user_text="It compares")),
    ("007", lambda c: c["expect"].update(must_contain_in_output=["Keep the port at 8081."])),
    ("013", lambda c: c["expect"].update(input_violates=["AM-9"])),
    ("022", lambda c: c["expect"]["pairs"].update(duplicate_call_ids=[])),
    ("022", lambda c: c["expect"]["pairs"].update(pair_indices=[[1, 5], [4, 2]])),
    ("029", lambda c: c["input"].update(params={"thinking": False})),
    ("053", lambda c: c["expect"]["result"].update(committed=False)),
    ("053", lambda c: c["expect"]["result"]["tokens_after"].update(value=10)),
    ("053", lambda c: c["expect"].update(must_contain_in_output=["KEEP-YOU"])),
    ("058", lambda c: c["expect"]["exact"]["o200k_base"].update(us=783)),
    ("058", lambda c: c["expect"]["time"].update(max_ratio=0.000001)),
    ("062", lambda c: c["expect"]["estimate_ratio"].update(max=0.1, min=0)),
    ("089", lambda c: c["expect"]["final"].pop()),
    ("089", lambda c: c["expect"].update(commits={"A": False})),
    ("091", lambda c: c["expect"].update(commits={"A": True, "B": False})),
    ("092", lambda c: c["expect"].update(final=[])),
    ("094", lambda c: c["input"]["events"].reverse()),
    ("095", lambda c: c["input"]["events"].pop()),
    ("097", lambda c: c["input"]["events"].pop(4)),
    ("062", lambda c: c["expect"]["tokens"][0].update(op="lt")),
    ("064", lambda c: c["expect"].update(first_count_under_seconds=0.0)),
    ("067", lambda c: c["expect"]["variant_tokens"][0].update(op="lt")),
    ("070", lambda c: c["expect"]["variant_tokens"][1].update(tolerance=0)),
    ("071", lambda c: c["expect"]["prefix"].update(first_is_prefix_of_second=False)),
    ("074", lambda c: c["expect"]["prefix"].update(first_divergence={"segment": "system", "index": 0})),
    ("076", lambda c: c["expect"]["prefix"].update(first_divergence={"segment": "messages", "index": 1})),
    ("077", lambda c: c["expect"]["prefix"].update(ignoring_cache_markers={"first_is_prefix_of_second": False})),
    ("104", lambda c: c["expect"].update(chosen_split=4)),
    ("104", lambda c: c["expect"]["for_params"][0].update(chosen_split=1)),
    ("106", lambda c: c["expect"]["each"].update(one_of=["reports no_reduction"])),
    ("107", lambda c: c["input"]["params"].update(trigger_tokens=1)),
    ("110", lambda c: c["expect"].update(each_valid_splits=[[0], [0, 1], [0, 1], [1, 2]])),
    ("098", lambda c: c["expect"].update(status=["ok"] * 4)),
    ("098", lambda c: c["input"]["jobs"][2].update(duration=3)),
    ("100", lambda c: c["expect"].update(cancelled_calls_observe_cancellation=["j1"])),
    ("101", lambda c: c["input"]["params"].update(deadline=13)),
    ("103", lambda c: c["input"]["params"].update(limit=3)),
    ("019", lambda c: c["expect"]["pairs"].update(paired=2)),
    ("046", lambda c: c["expect"]["result"].update(reason="no_reduction")),
    ("046", lambda c: c["input"]["params"].update(keep_last=0)),
    ("047", lambda c: c["expect"]["result"].update(reason_in=["no_progress"])),
    ("049", lambda c: c["expect"]["result"].update(committed=True)),
    ("049", lambda c: c["expect"]["tokens"][0].update(op="lt")),
    ("050", lambda c: c["expect"]["result"].update(used_fallback=False)),
    ("050", lambda c: c["expect"]["result"]["tokens_after"].update(value=20)),
    ("052", lambda c: c["input"]["params"].update(summarizer_window_tokens=100)),
    ("055", lambda c: c["expect"]["every_request_tokens"].update(value=400)),
    ("055", lambda c: c["expect"]["result"]["summarizer_calls"].update(max=5)),
    ("056", lambda c: c["expect"].update(must_contain_in_output=["REQ-79"])),
    ("079", lambda c: c["input"]["summarizer"][0].update({"return": "The port is 8080."})),
    ("080", lambda c: c["expect"]["result"].update(reason="no_reduction")),
    ("082", lambda c: c["expect"]["summarizer_request"].update(tools=["run"])),
    ("083", lambda c: c["expect"]["summarizer_request"].update(last_message_role="assistant")),
    ("083", lambda c: c["expect"]["result"].update(committed=False)),
    ("085", lambda c: c["expect"]["result"].update(committed=True)),
    ("086", lambda c: c["expect"]["after_all_rounds"].update(summary_wrapper_occurrences=2)),
    ("086", lambda c: c["expect"]["after_all_rounds"]["summary_tokens"].update(value=20)),
    ("088", lambda c: c["expect"].update(summary_role="assistant")),
    ("088", lambda c: c["expect"].update(must_not_be_system_text=["careful build assistant"])),
    ("113", lambda c: c["expect"].update(must_contain_in_output=["TASK-43"])),
]


@pytest.mark.parametrize(("name", "change"), WRONG, ids=[f"{k}-{name}" for k, (name, _) in enumerate(WRONG)])
def test_what_does_not_hold_is_a_failure(tmp_path, name, change):
    line = changed(tmp_path, name, change)
    assert "expected" in line


def test_exit_statuses(tmp_path, capsys):
    assert main([str(tmp_path / "nowhere")]) == 2
    assert main([str(tmp_path)]) == 2
    good = CASES / "071-append-only.json"
    (tmp_path / "good.json").write_bytes(good.read_bytes())
    later = json.loads((CASES / "089-append-while-compacting.json").read_bytes())
    (tmp_path / "later.json").write_text(json.dumps(later | {"format": "gemini"}))
    assert main([str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "not covered  store" in out
    assert out.endswith("1 pass, 0 fail, 1 not covered\n")
    (tmp_path / "bad.json").write_text("{")
    assert main([str(tmp_path), "--json"]) == 1
    statuses = {json.loads(line)["file"]: json.loads(line)["status"] for line in capsys.readouterr().out.splitlines()}
    assert statuses == {"bad.json": "fail", "good.json": "pass", "later.json": "not covered"}


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_file_name_that_is_not_utf8(tmp_path, capsys, options):
    (tmp_path / os.fsdecode(b"\xff.json")).write_text("{")
    assert main([str(tmp_path), *options]) == 1
    assert "\ufffd.json" in capsys.readouterr().out


def test_the_reader_closes_its_end(tmp_path):
    for number in range(40):
        (tmp_path / f"{number}.json").write_text("{" * 4_000)
    line = f"{shlex.quote(sys.executable)} -m turnfold.testing.cases . | head -n 1 > /dev/null"
    ran = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
