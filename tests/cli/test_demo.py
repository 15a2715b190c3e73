"""demo: the table over the bundled samples."""

from turnfold.transcript import Transcript


def test_demo_over_the_samples(run, samples, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    ran = run("demo", samples, "-o", tmp_path / "out")
    assert (ran.status, ran.err) == (0, "")
    heading = ran.out.splitlines()[0]
    for title in ("transcript", "format", "messages", "tokens", "findings", "ids kept", "cache kept", "ms"):
        assert title in heading
    assert str(tmp_path / "out") in ran.out
    assert "9 under_trigger" in ran.out
    dirty = next(line for line in ran.out.splitlines() if line.startswith("dirty/unanswered-call.json"))
    assert dirty.split()[2:5] == ["10", "556", "3"]
    assert max(map(len, ran.out.split("\n\n")[0].splitlines())) <= 120
    written = sorted(str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*") if p.is_file())
    assert written == sorted(
        str(p.relative_to(samples)) for p in samples.rglob("*") if p.suffix in (".json", ".jsonl", ".gz")
    )
    assert len(Transcript.from_json((tmp_path / "out/coding/rename-across-files.json").read_bytes())) < 60


def test_demo_without_its_folder(run, tmp_path):
    ran = run("demo", tmp_path / "nowhere")
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
