"""Files written, edited, patched or deleted: which, and what changed."""

from typing import Final

from turnfold.model.facts import Extracted, ToolCall

_OLD: Final = ("old_string", "old_str", "old_text", "oldString", "oldText", "search", "find")
_NEW: Final = ("new_string", "new_str", "new_text", "newString", "newText", "replace", "replacement")
_CONTENT: Final = ("content", "contents", "file_text", "text", "code_edit", "new_source", "insert_text", "body", "data")
_PATCH: Final = ("patch", "input", "diff", "patchText", "command")
_EDITS: Final = ("edits", "replacements", "changes")


def extract(call: ToolCall) -> Extracted:
    """Count the lines that the call itself names: what it takes out and what it puts in."""
    path = call.target or ""
    if call.failed:
        return Extracted((("File", path),), {"path": path})
    changed = _changed(call)
    if changed is None:
        what, metadata = "deleted" if "delete" in call.tool.lower() else "changed", {}
    else:
        removed, added = changed
        what = f"+{added} -{removed} lines" if removed else f"+{added} lines"
        metadata = {"removed": removed, "added": added}
    return Extracted((("File", path), ("Changed", what)), {"path": path, **metadata})


def _changed(call: ToolCall) -> tuple[int, int] | None:
    edits = _first(call.arguments, _EDITS)
    if isinstance(edits, list):
        each = [_of_edit(edit) for edit in edits if isinstance(edit, dict)]
        if each:
            return sum(removed for removed, _ in each), sum(added for _, added in each)
    if _text(call.arguments, _OLD) is not None:
        return _of_edit(call.arguments)
    patch = _text(call.arguments, _PATCH) or call.freeform
    if "*** Begin Patch" in patch or "\n@@" in f"\n{patch}":
        lines = patch.splitlines()
        return _starting(lines, "-"), _starting(lines, "+")
    content = _text(call.arguments, (*_CONTENT, *_NEW))
    return None if content is None else (0, len(content.splitlines()))


def _of_edit(edit: "dict[str, object] | object") -> tuple[int, int]:
    texts = [_text(edit, names) or "" for names in (_OLD, _NEW)]
    removed, added = (len(text.splitlines()) for text in texts)
    return removed, added


def _starting(lines: list[str], sign: str) -> int:
    return sum(line.startswith(sign) and not line.startswith(sign * 3) for line in lines)


def _first(arguments: object, names: tuple[str, ...]) -> object:
    if not hasattr(arguments, "get"):
        return None
    return next((arguments.get(name) for name in names if arguments.get(name) is not None), None)


def _text(arguments: object, names: tuple[str, ...]) -> str | None:
    found = _first(arguments, names)
    return found if isinstance(found, str) else None
