"""scan --rules and --severity, and the kinds of block that are not known."""

import json

import pytest


@pytest.fixture
def twice(tmp_path):
    path = tmp_path / "twice.json"
    odd = {"type": "hologram", "frames": 3}
    messages = [{"role": "user", "content": "Hello."}, {"role": "user", "content": [odd, odd]}]
    path.write_text(json.dumps({"model": "gpt-4o", "messages": messages}), encoding="utf-8")
    return path


def test_rules_of_a_receiver_change_the_status(run, twice):
    assert run("scan", twice, "--rules", "openai").status == 0
    ran = run("scan", twice, "--rules", "openai-compatible", "--json")
    assert ran.status == 1
    assert [finding["code"] for finding in ran.records[0]["findings"]] == ["repeated_role"]


@pytest.mark.parametrize(("name", "severity", "status"), [("repeated_role", "off", 0), ("OC-8", "hint", 0)])
def test_severity_goes_before_rules(run, twice, name, severity, status):
    arguments = ["scan", twice, "--rules", "openai-compatible", "--severity", f"{name}={severity}"]
    assert run(*arguments).status == status
    assert run(*arguments, "--severity", f"{name}=error").status == 1


@pytest.mark.parametrize("given", ["repeated_role", "repeated_role=loud", "repeated_rule=off", "=off", "OC-8=OFF"])
def test_severity_that_is_none_is_one_line_and_2(run, twice, given):
    ran = run("scan", twice, "--severity", given)
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_rules_of_nobody_are_one_line_and_2(run, twice):
    ran = run("scan", twice, "--rules", "nobody")
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_unknown_kinds_are_counted(run, twice):
    assert run("scan", twice, "--json").records[0]["unknown_kinds"] == [["hologram", 2]]
    assert "kinds of block that are not known: 'hologram' 2" in run("scan", twice).out
