"""The list of rules, names of rules in options, and the receivers' options."""

from pathlib import Path

import msgspec
import pytest

import turnfold
from turnfold.checks import rules
from turnfold.errors import ArgumentError
from turnfold.presets.rules import BY_NAME

TWICE_USER = turnfold.Transcript.from_json(
    b'[{"role":"user","content":"Hello."},{"role":"user","content":"Anyone there?"}]', format="openai.chat"
)


def test_every_code_of_the_kernel_is_listed():
    findings = Path(__file__).parents[2] / "rust/turnfold-core/src/findings"
    assert {rule.code for rule in rules()} == {path.stem for path in findings.glob("*.rs")} - {"mod"}
    assert len(set(rules())) == len(rules())
    assert all(rule.rule for rule in rules())


@pytest.mark.parametrize("wire_format", sorted({rule.format for rule in rules()}))
def test_findings_are_among_the_rules(wire_format):
    listed = {(rule.code, rule.category, rule.rule, rule.severity) for rule in rules() if rule.format == wire_format}
    report = turnfold.scan(turnfold.Transcript.from_json(b"[]", format=wire_format))
    assert report.findings
    assert {(found.code, found.category, found.rule, found.severity) for found in report.findings} <= listed


@pytest.mark.parametrize("name", ["orphan_results", "oc-1", "", "\ud800", "x" * 10_000])
def test_unknown_names_are_refused(name):
    with pytest.raises(ArgumentError) as caught:
        turnfold.scan(TWICE_USER, turnfold.ScanOptions(severities=((name, "off"),)))
    assert "turnfold.checks.rules() lists them all" in str(caught.value)
    assert len(str(caught.value)) < 400


def test_close_names_are_told():
    with pytest.raises(ArgumentError, match=r"close to it: .*orphan_result"):
        turnfold.scan(TWICE_USER, turnfold.ScanOptions(severities=(("orphan_results", "off"),)))


@pytest.mark.parametrize("name", BY_NAME)
def test_options_of_a_receiver_compose(name):
    options = msgspec.structs.replace(BY_NAME[name](), closed=True)
    assert turnfold.scan(TWICE_USER, options).ok is (name != "openai-compatible")


def test_lenient_keeps_pairs():
    orphan = turnfold.Transcript.from_json(
        b'[{"role":"assistant","content":""},{"role":"tool","tool_call_id":"c9","content":"3"},{"role":"user"}]',
        format="openai.chat",
    )
    report = turnfold.scan(orphan, turnfold.presets.rules.lenient())
    assert {found.category for found in report.findings if found.severity != "hint"} == {"integrity"}
    assert {found.severity for found in report.findings if found.category != "integrity"} == {"hint"}
