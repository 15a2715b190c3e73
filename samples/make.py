"""Makes the bundled transcripts: `python samples/make.py [FOLDER]`, by default into this folder.

The sessions are played over the projects in `workshop/`, so tool results are what the tools gave. Made with Python 3.11;
another version words tracebacks and test output differently.
"""

import gzip
import io
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import wire  # noqa: E402
from stories import coding, harbour  # noqa: E402
from stories.one_bug import one_bug  # noqa: E402


def pretty(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def compact(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def packed(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as stream:
        stream.write(data)
    return buffer.getvalue()


def files() -> dict[str, bytes]:
    """Every sample, by name."""
    with one_bug() as played:
        formats = {
            "formats/bedrock-converse.json": wire.bedrock_body(played, "anthropic.claude-sonnet-4-5-20250929-v1:0"),
            "formats/gemini-contents.json": wire.gemini_body(played),
            "formats/mistral-chat.json": wire.mistral_body(played, "mistral-large-latest"),
            "formats/openai-responses.json": wire.responses_body(played, "gpt-5.1"),
        }
    return {
        **{name: pretty(body) for name, body in formats.items()},
        "coding/export-feature.json": pretty(coding.export_feature()),
        "coding/fix-failing-tests.json": pretty(coding.fix_failing_tests()),
        "coding/rename-across-files.json": compact(coding.rename_across_files()),
        "coding/review-restarting-ids.json": compact(coding.review_with_restarting_ids()),
        "harbour/berth-survey.json.gz": packed(compact(harbour.berth_survey())),
        "harbour/night-of-the-gate.jsonl": b"".join(map(compact, harbour.night_of_the_gate())),
        "harbour/notice-board-photos.json": compact(harbour.notice_board()),
        "harbour/office-desk.jsonl": b"".join(map(compact, harbour.office_desk())),
        "harbour/short-question.json": pretty(harbour.short_question()),
        "dirty/unanswered-call.json": pretty(harbour.unanswered_call()),
    }


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    for name, data in files().items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        print(f"{len(data):>9}  {name}")


if __name__ == "__main__":
    main()
