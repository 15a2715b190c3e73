"""plan and apply: what would be done, as JSON, and done in another process; and every preset offline."""

import json
import subprocess
import sys

import msgspec
import pytest

from turnfold import presets
from turnfold.cli.plan import PlanRecord
from turnfold.model.plan import CompactionPlan, Skip
from turnfold.transcript import Transcript

LIMITED = ["--limit-tokens", "900"]


@pytest.mark.parametrize("preset", sorted(set(presets.BY_NAME) - {"provider_compaction"}))
def test_every_preset_compacts_the_samples_offline(run, samples, tmp_path, preset):
    out = tmp_path / "out"
    settings = {"turn_window": ["--set", "n=2", "--set", "m=1"], "tool_batch": ["--set", "min_groups=1"]}
    chosen = settings.get(preset, ["--limit-tokens", "8000"])
    ran = run("compact", samples / "coding", "-o", out, "--preset", preset, *chosen, "--json")
    assert (ran.status, ran.err) == (0, "")
    assert {record["findings"] for record in ran.records} == {0}
    statuses = [record["status"] for record in ran.records]
    assert statuses.count("compacted") >= (1 if preset in {"turn_window", "evicted_turns"} else 2)
    assert len(list(out.iterdir())) == len(statuses)


def test_a_compaction_that_is_left_to_the_provider_writes_the_request(run, samples, tmp_path):
    out = tmp_path / "out"
    ran = run("compact", samples / "coding", "-o", out, "--preset", "provider_compaction", "--limit-tokens", "9000")
    assert (ran.status, ran.err) == (0, "")
    arguments = ["--preset", "provider_compaction", "--now", "--json"]
    ran = run("compact", samples / "coding/export-feature.json", "-o", tmp_path / "a.json", *arguments)
    (record,) = ran.records
    assert (ran.status, record["status"], record["reason"]) == (0, "requested", "left_to_provider")
    assert "anthropic-beta" in record["text"]
    sent = json.loads((tmp_path / "a.json").read_bytes())
    assert sent.pop("compaction") == {"type": "summarize"}
    assert sent == json.loads((samples / "coding/export-feature.json").read_bytes())


def test_now_compacts_below_the_limit(run, tmp_path, long):
    source = tmp_path / "a.json"
    source.write_bytes(long)
    arguments = ["compact", source, "-o", tmp_path / "b.json", "--limit-tokens", "1000000", "--json"]
    assert run(*arguments).records[0]["reason"] == "under_trigger"
    assert run(*arguments, "--now").records[0]["status"] == "compacted"


def test_a_plan_carried_out_later_is_the_compaction(run, tmp_path, long):
    source, plans = tmp_path / "a.json", tmp_path / "plans.jsonl"
    source.write_bytes(long)
    planned = run("plan", source, *LIMITED)
    assert (planned.status, planned.err) == (0, "")
    (record,) = [msgspec.json.decode(line, type=PlanRecord) for line in planned.out.splitlines()]
    assert isinstance(record.plan, CompactionPlan)
    assert record.source == record.plan.source == Transcript.from_json(long).fingerprint
    plans.write_text(planned.out)
    applied = run("apply", source, "--plan", plans, "-o", tmp_path / "applied.json", "--json")
    assert (applied.status, applied.records[0]["status"]) == (0, "compacted")
    run("compact", source, "-o", tmp_path / "compacted.json", *LIMITED)
    assert (tmp_path / "applied.json").read_bytes() == (tmp_path / "compacted.json").read_bytes()


def test_a_plan_may_come_through_a_pipe(run, tmp_path, long):
    source = tmp_path / "a.json"
    source.write_bytes(long)
    planned = run("plan", source, *LIMITED)
    piped = planned.out.encode()
    applied = run("apply", source, "--plan", "-", "-o", tmp_path / "applied.json", "--json", stdin=piped)
    assert (applied.status, applied.records[0]["status"]) == (0, "compacted")
    refused = run("apply", "-", "--plan", "-", "-o", tmp_path / "none.json", stdin=piped)
    assert (refused.status, refused.out) == (2, "")
    assert "PATH is stdin already" in refused.err
    (tmp_path / "plans.jsonl").write_bytes(piped)
    assert run("plan", "--diff", "-", tmp_path / "plans.jsonl", stdin=piped).status == 0
    assert "only one" in run("plan", "--diff", "-", "-", stdin=piped).err


def test_a_transcript_that_changed_since_is_refused(run, tmp_path, long):
    source, plans = tmp_path / "a.json", tmp_path / "plans.jsonl"
    source.write_bytes(long)
    plans.write_text(run("plan", source, *LIMITED).out)
    source.write_bytes(long.replace(b"List", b"Lost", 1))
    assert source.read_bytes() != long
    applied = run("apply", source, "--plan", plans, "-o", tmp_path / "out.json", "--json")
    assert (applied.status, applied.records[0]["reason"]) == (1, "plan_mismatch")
    assert not (tmp_path / "out.json").exists()


def test_a_reason_instead_of_a_plan_leaves_the_transcript_as_it_is(run, tmp_path, long):
    source, plans = tmp_path / "a.json", tmp_path / "plans.jsonl"
    source.write_bytes(long)
    planned = run("plan", source, "--limit-tokens", "1000000")
    plans.write_text(planned.out)
    assert isinstance(msgspec.json.decode(planned.out, type=PlanRecord).plan, Skip)
    applied = run("apply", source, "--plan", plans, "-o", tmp_path / "out.json", "--json")
    assert (applied.status, applied.records[0]["reason"]) == (0, "under_trigger")
    assert (tmp_path / "out.json").read_bytes() == long


def test_what_is_no_plan_is_refused_before_anything_is_written(run, tmp_path, long):
    source, plans = tmp_path / "a.json", tmp_path / "plans.jsonl"
    source.write_bytes(long)
    plans.write_text(json.dumps({"path": "a.json"}))
    ran = run("apply", source, "--plan", plans, "-o", tmp_path / "out.json")
    assert (ran.status, ran.out) == (2, "")
    assert "not what turnfold plan prints" in ran.err
    assert not (tmp_path / "out.json").exists()


def test_an_unknown_window_is_a_fault_with_advice(run, tmp_path, long):
    source = tmp_path / "a.json"
    source.write_bytes(long)
    ran = run("plan", source, "--model", "house-model-7b")
    assert (ran.status, ran.out) == (2, "")
    assert "--window-tokens" in ran.err


def test_two_plans_are_compared(run, tmp_path, long):
    source, a, b = tmp_path / "a.json", tmp_path / "a.plan", tmp_path / "b.plan"
    source.write_bytes(long)
    a.write_text(run("plan", source, *LIMITED).out)
    b.write_text(run("plan", source, *LIMITED, "--keep-messages", "0").out)
    same = run("plan", "--diff", a, a)
    assert (same.status, json.loads(same.out)["same"]) == (0, True)
    other = run("plan", "--diff", a, b)
    (record,) = [json.loads(line) for line in other.out.splitlines()]
    assert (other.status, other.err, record["same"], record["path"]) == (1, "", False, str(source))
    assert record["difference"]["fates"][0]["first"] == "kept"
    b.write_text("")
    missing = run("plan", "--diff", a, b)
    assert (missing.status, missing.out) == (1, "")
    assert "has no plan for it" in missing.err
    assert "has no plan for it" in run("plan", "--diff", b, a).err


def test_a_comparison_takes_two_files_and_no_path(run, tmp_path, long):
    source = tmp_path / "a.json"
    source.write_bytes(long)
    assert run("plan").status == 2
    ran = run("plan", source, "--diff", source, source)
    assert (ran.status, ran.out) == (2, "")
    ran = run("plan", "--diff", source, source)
    assert (ran.status, ran.out) == (2, "")
    assert "not what turnfold plan prints" in ran.err


def test_a_plan_is_carried_out_by_another_process(samples, tmp_path):
    plans, out = tmp_path / "plans.jsonl", tmp_path / "out"
    source = samples / "coding"
    command = [sys.executable, "-m", "turnfold"]
    planned = subprocess.run(
        [*command, "plan", source, "--limit-tokens", "8000"], capture_output=True, check=True, text=True
    )
    plans.write_text(planned.stdout)
    subprocess.run([*command, "apply", source, "--plan", plans, "-o", out], capture_output=True, check=True)
    again = tmp_path / "again"
    subprocess.run([*command, "apply", source, "--plan", plans, "-o", again], capture_output=True, check=True)
    names = sorted(path.name for path in out.iterdir())
    assert names == sorted(path.name for path in source.iterdir())
    for name in names:
        assert (out / name).read_bytes() == (again / name).read_bytes() != (source / name).read_bytes()
