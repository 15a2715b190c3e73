"""The page of rules is the kernel's list of them. `python tests/laws/test_rules_page.py` writes its last column."""

import re
from collections import defaultdict
from pathlib import Path

from turnfold.checks import rules

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"
ROW = re.compile(r"^\| (?P<rule>[A-Za-z][\w-]*) \| (?P<words>[^|]+) \| (?P<found>[^|]+) \|$")

FAMILIES = {"OC": 15, "OR": 13, "AM": 19, "GM": 13, "MC": 13}
"""How many rules each provider has, numbered from 1."""

KNOWN = [f"{family}-{k}" for family, count in FAMILIES.items() for k in range(1, count + 1)] + ["GM-4b"]


def found() -> dict[str, str]:
    """The last column: by rule, each finding code with its severity by format."""
    by_rule: dict[str, dict[str, dict[str, list[str]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for rule in rules():
        by_rule[rule.rule][rule.code][rule.severity].append(rule.format)
    return {name: "; ".join(map(_shown, sorted(codes.items()))) for name, codes in by_rule.items()}


def _shown(code: tuple[str, dict[str, list[str]]]) -> str:
    name, severities = code
    parts = (f"{severity} ({', '.join(sorted(formats))})" for severity, formats in sorted(severities.items()))
    return f"`{name}` {', '.join(parts)}"


def rows() -> dict[str, str]:
    matches = (ROW.match(line) for line in PAGE.read_text(encoding="utf-8").split("\n"))
    return {match["rule"]: match["found"] for match in matches if match and match["rule"] != "rule"}


def test_the_page_has_every_rule_as_the_kernel_has_it() -> None:
    page, kernel = rows(), found()
    assert {rule: text for rule, text in page.items() if not text.startswith("no finding: ")} == kernel


def test_no_rule_is_forgotten() -> None:
    assert set(KNOWN) <= set(rows())


def write() -> None:
    """Bring the last column up to date; rows without a finding keep their reason."""
    kernel = found()
    lines = PAGE.read_text(encoding="utf-8").split("\n")
    for k, line in enumerate(lines):
        match = ROW.match(line)
        if match and match["rule"] in kernel:
            lines[k] = f"| {match['rule']} | {match['words']} | {kernel[match['rule']]} |"
    PAGE.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write()
