"""Where transcripts may stand: files, folders, lines, gzip, stdin; and what is said of those that cannot be read."""

import gzip
import json

import pytest


def lines(*bodies: bytes) -> bytes:
    return b"".join(json.dumps(json.loads(body)).encode() + b"\n" for body in bodies)


def places(ran) -> list[tuple[str, int]]:
    return [(record["path"], record["index"]) for record in ran.records]


def test_a_file(run, tmp_path, clean):
    path = tmp_path / "a.json"
    path.write_bytes(clean)
    ran = run("count", path, "--json")
    assert (ran.status, ran.err) == (0, "")
    assert places(ran) == [(str(path), 0)]


def test_lines_keep_their_number_and_blank_ones_are_skipped(run, tmp_path, clean):
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(clean) + b"\n  \r\n" + lines(clean, clean).rstrip(b"\n"))
    ran = run("count", path, "--json")
    assert ran.status == 0
    assert [index for _, index in places(ran)] == [0, 3, 4]


def test_only_line_feeds_end_a_line(run, tmp_path):
    text = "a\u2028b\u0085c\u2029d\x0c"
    path = tmp_path / "a.jsonl"
    path.write_bytes(json.dumps([{"role": "user", "content": text}], ensure_ascii=False).replace("\\f", " ").encode())
    ran = run("count", path, "--json")
    assert (ran.status, len(ran.records)) == (0, 1)


@pytest.mark.parametrize("name", ["a.json.gz", "a.gz", "a.JSON.GZ"])
def test_gzip(run, tmp_path, clean, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(clean))
    assert places(run("count", path, "--json")) == [(str(path), 0)]


def test_gzip_lines(run, tmp_path, clean):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(lines(clean, clean)))
    assert [index for _, index in places(run("count", path, "--json"))] == [0, 1]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_stdin_takes_json_lines_and_gzip_of_both(run, clean, pack):
    assert places(run("count", "-", "--json", stdin=pack(clean))) == [("-", 0)]
    indented = json.dumps(json.loads(clean), indent=2).encode()
    assert places(run("count", "-", "--json", stdin=pack(indented))) == [("-", 0)]
    assert places(run("count", "-", "--json", stdin=pack(b"\n" + lines(clean, clean)))) == [("-", 1), ("-", 2)]


def test_a_bad_second_line_on_stdin_is_named_and_the_rest_goes_on_as_in_a_file(run, tmp_path, clean):
    data = lines(clean) + b"broken {\n" + lines(clean)
    (tmp_path / "in.jsonl").write_bytes(data)
    piped, named = run("count", "-", "--json", stdin=data), run("count", tmp_path / "in.jsonl", "--json")
    assert piped.status == named.status == 2
    assert [r["index"] for r in piped.records] == [r["index"] for r in named.records]
    assert {("-", 0), ("-", 2)} <= set(places(piped))
    assert "-[1]: " in piped.err


def test_a_torn_first_line_on_stdin_is_still_a_line(run, clean):
    ran = run("count", "-", "--json", stdin=b'[{"role": "user", "content": "to\n' + lines(clean))
    assert ran.status == 2
    assert places(ran) == [("-", 1)]
    assert "-[0]" in ran.err


def test_a_folder_is_walked_in_order_without_hidden_and_other_files(run, tmp_path, clean):
    for name in ["b/2.json", "a.json", "b/1.jsonl", ".hidden/x.json", ".y.json", "notes.txt", "z.json.gz"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(gzip.compress(clean) if name.endswith("gz") else clean)
    ran = run("count", tmp_path, "--json")
    assert ran.status == 0
    names = [path.removeprefix(f"{tmp_path}/") for path, _ in places(ran)]
    assert names == ["a.json", "z.json.gz", "b/1.jsonl", "b/2.json"]


def test_an_empty_folder_is_an_error(run, tmp_path):
    ran = run("count", tmp_path)
    assert (ran.status, ran.out) == (2, "")
    assert "no transcript in this folder" in ran.err


def test_a_bad_file_in_the_middle_stops_nothing(run, tmp_path, clean):
    (tmp_path / "1.json").write_bytes(clean)
    (tmp_path / "2.json").write_bytes(clean[:-9])
    (tmp_path / "3.json").write_bytes(clean)
    ran = run("count", tmp_path, "--json")
    assert ran.status == 2
    assert [path[-6:] for path, _ in places(ran)] == ["1.json", "3.json"]
    assert ran.err.count("\n") == 1
    assert ran.err.startswith(f"turnfold: {tmp_path}/2.json[0]: ")
    assert "at byte " in ran.err


def test_a_torn_last_line(run, tmp_path, clean):
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(clean, clean) + clean[:50])
    ran = run("count", path, "--json")
    assert ran.status == 2
    assert [index for _, index in places(ran)] == [0, 1]
    assert f"{path}[2]: " in ran.err


def test_gzip_that_ends_early_says_so_after_what_could_be_read(run, tmp_path, clean):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(lines(*[clean] * 3))[:-12])
    ran = run("count", path, "--json")
    assert ran.status == 2
    assert "ends early" in ran.err


def test_gzip_that_is_none(run, tmp_path, clean):
    path = tmp_path / "a.json.gz"
    path.write_bytes(clean)
    ran = run("count", path)
    assert (ran.status, ran.out) == (2, "")
    assert "not gzip data" in ran.err


@pytest.mark.parametrize("body", [b'[{"messages": []}]', b'[[{"role": "user", "content": "x"}]]'])
def test_a_list_of_transcripts_is_refused_with_advice(run, tmp_path, body):
    path = tmp_path / "a.json"
    path.write_bytes(body)
    ran = run("count", path)
    assert (ran.status, ran.out) == (2, "")
    assert ".jsonl" in ran.err


@pytest.mark.parametrize("path", ["nowhere.json", "no\0where", "a/\nb"])
def test_a_path_that_is_not_there(run, path):
    ran = run("scan", path)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.count("\n") == 1


def test_a_name_that_is_not_utf8_can_be_printed(run, tmp_path, clean):
    path = tmp_path / b"\xff\x1b[31m.json".decode("utf-8", "surrogateescape")
    path.write_bytes(clean)
    ran = run("count", path)
    assert ran.status == 0
    assert "\x1b" not in ran.out
    assert run("count", path, "--json").status == 0


def test_the_reader_closes_its_end(tmp_path, clean):
    import subprocess
    import sys

    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(*[clean] * 2_000))
    command = [sys.executable, "-m", "turnfold", "count", str(path), "--json", "--by-message"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait() == 141
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_format_that_there_is_not(run, tmp_path, clean):
    path = tmp_path / "a.json"
    path.write_bytes(clean)
    ran = run("count", path, "--format", "nobody.chat")
    assert (ran.status, ran.out) == (2, "")
