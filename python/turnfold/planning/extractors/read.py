"""Files looked at: path, lines, what kind of file, what it exports and how much it imports."""

import re
from pathlib import PurePosixPath
from typing import Final

from turnfold.model.facts import Extracted, Fact, ToolCall

NAMED_EXPORTS: Final = 5
_NUMBERED = re.compile(r"^ *\d+(?:\t|→|\||: ?|  )")
_TYPES: Final = {
    ".c": "C",
    ".cc": "C++",
    ".cpp": "C++",
    ".cs": "C#",
    ".css": "CSS",
    ".go": "Go",
    ".h": "C",
    ".html": "HTML",
    ".java": "Java",
    ".js": "JavaScript",
    ".json": "JSON",
    ".jsx": "JavaScript",
    ".kt": "Kotlin",
    ".md": "Markdown",
    ".mjs": "JavaScript",
    ".php": "PHP",
    ".py": "Python",
    ".pyi": "Python",
    ".rb": "Ruby",
    ".rs": "Rust",
    ".sh": "shell",
    ".sql": "SQL",
    ".swift": "Swift",
    ".toml": "TOML",
    ".ts": "TypeScript",
    ".tsx": "TypeScript",
    ".txt": "text",
    ".yaml": "YAML",
    ".yml": "YAML",
}
_SCRIPT = (
    re.compile(
        r"^export\s+(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?"
        r"(?:function\*?|class|const|let|var|interface|type|enum|namespace)\s+(\w+)"
    ),
    re.compile(r"^(?:import\b|(?:const|let|var)\s.*=\s*require\()"),
)
_PATTERNS: Final = {
    "TypeScript": _SCRIPT,
    "JavaScript": _SCRIPT,
    # Names with an underscore are private by convention.
    "Python": (re.compile(r"^(?:async\s+def|def|class)\s+([^\W_]\w*)"), re.compile(r"^(?:import|from)\s+[\w.]+")),
    "Rust": (
        re.compile(
            r"^pub(?:\([^)]*\))?\s+(?:async\s+|unsafe\s+|const\s+)*"
            r"(?:fn|struct|enum|trait|mod|const|static|type)\s+(\w+)"
        ),
        re.compile(r"^(?:pub\s+)?use\s"),
    ),
    "Go": (
        re.compile(r"^(?:func(?:\s+\([^)]*\))?|type|var|const)\s+([A-Z]\w*)"),
        re.compile(r'^(?:import\s+(?:\w+\s+)?"|\s+(?:[\w.]+\s+)?"[\w./-]+"$)'),
    ),
    "Java": (
        re.compile(r"^public\s+(?:abstract\s+|final\s+|static\s+)*(?:class|interface|enum|record)\s+(\w+)"),
        re.compile(r"^import\s"),
    ),
}


def extract(call: ToolCall) -> Extracted:
    """Read what came back as the file's text; line numbers that tools put in front are passed over."""
    path = call.target or ""
    facts: list[Fact] = [("File", path)]
    if call.failed or call.result is None:
        return Extracted(tuple(facts), {"path": path})
    lines = [_NUMBERED.sub("", line, count=1) for line in call.result.splitlines()]
    suffix = PurePosixPath(path).suffix.lower()
    kind = _TYPES.get(suffix, suffix.removeprefix("."))
    facts.append(("Lines", str(len(lines))))
    if kind:
        facts.append(("Type", kind))
    metadata: dict[str, int | str] = {"path": path, "lines": len(lines), "type": kind}
    if kind in _PATTERNS:
        exported, imported = _PATTERNS[kind]
        names = [found[1] for line in lines if (found := exported.match(line))]
        imports = sum(imported.match(line) is not None for line in lines)
        if names:
            more = f" and {len(names) - NAMED_EXPORTS} more" if len(names) > NAMED_EXPORTS else ""
            facts.append(("Exports", ", ".join(names[:NAMED_EXPORTS]) + more))
        if imports:
            facts.append(("Imports", str(imports)))
        metadata |= {"exports": len(names), "imports": imports}
    return Extracted(tuple(facts), metadata)
