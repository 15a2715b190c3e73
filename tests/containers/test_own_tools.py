"""What turnfold writes is loaded by the tools themselves, those of them that are installed.

`python benches/own_tools.py --commands` says how to install the others, and `--python` runs them.
"""

import pytest
from own_tools import SAMPLES, Case, Said, case, chosen, known, verdict, verdicts
from tool_readers import READERS, installed


def cases(kind: str | None = None, preset: str | None = None) -> list[Case]:
    logs = [(path.name, log) for path in sorted(SAMPLES.iterdir()) if (log := known(path.read_bytes())) is not None]
    made = (case(n, log, by) for n, log in logs if kind in {None, log.container} for by in chosen(preset).values())
    return [one for one in made if one is not None]


@pytest.mark.parametrize("kind", READERS)
def test_its_own_tool_loads_what_is_written(kind: str):
    if installed(kind) is None:
        pytest.skip(f"{READERS[kind].distribution} is not installed")
    own = cases(kind, "all")
    said = [(one.name, *told) for one, told in zip(own, verdicts(own, None), strict=True)]
    assert not [told for told in said if told[1] == "failed"]
    assert [told for told in said if told[1] == "loaded"]


def told(*messages: str) -> dict[str, object]:
    return {"tool": "tool 1", "held": [[message] for message in messages]}


CASE = Case(
    "log",
    "aider",
    b"",
    b"",
    (Said(frozenset({"old", "kept"}), frozenset({"kept", "summary"})),),
    gone=frozenset({"old"}),
)


def test_a_case_fails_where_a_text_is_missing_or_a_replaced_one_stands():
    before = told("old", "kept")
    assert verdict(CASE, before, told("summary", "kept"))[0] == "loaded"
    assert verdict(CASE, before, told("kept"))[0] == "failed"
    assert verdict(CASE, before, told("summary"))[0] == "failed"
    assert verdict(CASE, before, told("summary", "old", "kept"))[0] == "failed"
    assert verdict(CASE, told("other"), told("other"))[0] == "not shown"
    assert verdict(CASE, before, {"tool": "tool 1", "refused": "no"})[0] == "failed"
    assert verdict(CASE, {"tool": "tool 1", "refused": "no"}, before)[0] == "refused before"


def test_a_text_that_is_only_quoted_by_what_goes_need_not_be_there():
    quoting = Said(frozenset({"see: hidden", "hidden"}), frozenset({"hidden", "summary"}))
    case = Case("log", "claude_code", b"", b"", (quoting,), gone=frozenset({"see: hidden"}))
    assert verdict(case, told("see: hidden"), told("summary"))[0] == "loaded"
    assert verdict(case, told("see: hidden", "hidden"), told("summary"))[0] == "failed"


def test_the_samples_of_each_kind_with_a_tool_can_be_written():
    assert {one.kind for one in cases()} == set(READERS)


def test_a_masked_text_has_to_be_there_where_the_tool_held_what_it_was():
    mask = "[two old outputs]"
    before, olds = {"/srv/a.py", "/srv/b.py", "see /srv/b.py"}, {"/srv/a.py", "/srv/b.py"}
    masked = Said(frozenset(before), frozenset({mask, "see /srv/b.py"}), {mask: frozenset(olds)})
    case = Case("log", "claude_code", b"", b"", (masked,), gone=frozenset({"/srv/a.py"}))
    assert verdict(case, told("/srv/a.py", "see /srv/b.py"), told("see /srv/b.py"))[0] == "failed"
    assert verdict(case, told("/srv/a.py", "see /srv/b.py"), told(mask, "see /srv/b.py"))[0] == "loaded"
    # Only quoted: the result itself is on a branch that the tool does not show.
    assert verdict(case, told("see /srv/b.py"), told("see /srv/b.py"))[0] == "loaded"


def test_a_summary_need_not_be_there_where_the_tool_showed_nothing_of_what_it_replaces():
    said = Said(frozenset({"first", "second", "third"}), frozenset({"summary", "second", "third"}))
    case = Case("log", "claude_code", b"", b"", (said,), gone=frozenset({"first"}))
    assert verdict(case, told("second", "third"), told("second", "third"))[0] == "loaded"
    assert verdict(case, told("first", "second", "third"), told("second", "third"))[0] == "failed"
