"""What went wrong, in one line for a person: where, what, what to do."""

import sys

import msgspec

from turnfold.errors import ReadError, TurnfoldError

OK = 0
FOUND = 1
UNREADABLE = 2
INTERNAL = 70
INTERRUPTED = 130
BROKEN_PIPE = 141

_ADVICE = {
    "invalid_utf8": "re-encode the input as UTF-8",
    "invalid_json": "repair or drop this transcript",
    "too_deep": "flatten the nested value",
    "too_large": "split the input",
    "not_a_transcript": "give a request body, an array of messages, or name the kind of log with --container",
    "unknown_format": "name the wire format with --format",
    "invalid_message": "repair or drop this message",
    "unknown_container": "name the kind of log with --container",
    "invalid_log": "name the kind that it is with --container",
    "broken_plugin": "mend or remove that distribution",
}
_LIST_ADVICE = "this is a list of transcripts: write each on a line of its own into a .jsonl file"


class UsageError(Exception):
    """The command line asks for something that cannot be done. Nothing has been read or written."""


class Fault(msgspec.Struct, frozen=True):
    """One input that could not be used. `index` is the transcript's index in its file, None for the whole file."""

    path: str
    index: int | None
    code: str
    text: str
    advice: str

    def line(self) -> str:
        """Return the fault as one line."""
        place = self.path if self.index is None else f"{self.path}[{self.index}]"
        return printable(f"turnfold: {place}: {self.text.rstrip('.')}; {self.advice}")


class FaultLog:
    """Prints faults to stderr as they come and remembers that there were some.

    With `tells_all`, also what was passed over without a fault, such as lines of a log that no reader of it takes.
    """

    def __init__(self, *, tells_all: bool = False) -> None:
        self.count = 0
        self.tells_all = tells_all

    def report(self, fault: Fault) -> None:
        """Print one fault."""
        self.count += 1
        complain(fault.line())

    def passed_over(self, path: str, lines: tuple[int, ...]) -> None:
        """Say which lines of a log, counted from 0, are no JSON objects; nothing where all are, or nobody asks."""
        if not self.tells_all or not lines:
            return
        first, more = lines[0] + 1, len(lines) - 1
        others = f", and so {'is one more' if more == 1 else f'are {more} more'}" if more else ""
        text = f"line {first} is no JSON object{others}: passed over here, and kept where the log is written"
        complain(printable(f"turnfold: {path}: {text}; where the file was cut, copy it again"))


def complain(line: str) -> None:
    """Print one line to stderr, whatever it holds and wherever stderr goes."""
    try:
        sys.stderr.write(line.encode("utf-8", "replace").decode("utf-8") + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass
    except UnicodeEncodeError:
        sys.stderr.write(line.encode("ascii", "backslashreplace").decode("ascii") + "\n")


def printable(text: str) -> str:
    """Return the text with everything that could move a terminal's cursor or split the line written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode("ascii") for c in text)


def fault_of_error(path: str, index: int | None, error: TurnfoldError, data: bytes) -> Fault:
    """Return the fault for an error that the library raised on `data`."""
    advice = _ADVICE.get(error.code, "see the message")
    if isinstance(error, ReadError) and is_list_of_transcripts(data):
        advice = _LIST_ADVICE
    if isinstance(error.__cause__, ImportError):
        advice = "install the named package and run the command again"
        # Where in the file that is, is no part of what is wrong.
        return Fault(path, index, error.code, error.text, advice)
    return Fault(path, index, error.code, str(error), advice)


def fault_of_os_error(path: str, index: int | None, error: OSError) -> Fault:
    """Return the fault for a file that the system would not read or write."""
    text = error.strerror or str(error) or type(error).__name__
    return Fault(path, index, "io_error", text, "check the path and its permissions")


def is_list_of_transcripts(data: bytes) -> bool:
    """Whether the bytes are a JSON array whose first item is itself a body or an array."""
    try:
        items = msgspec.json.decode(data, type=list[msgspec.Raw])
        first = bytes(items[0])
        if first.startswith(b"["):
            return True
        return "messages" in msgspec.json.decode(first, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, IndexError, UnicodeDecodeError, RecursionError):
        return False
