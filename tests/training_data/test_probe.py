"""What a probe measures and foretells: the arithmetic on fixed measures, bounds, and what is kept."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.data import kept, probe
from adminkit.data.forecast import Level, Measured, forecast, verdict
from adminkit.data.probe import Asked, Budget
from tests.training_data.trees import make, some

MB = 1_000_000
SAMPLE = 270_000


def levels(*files_rates: float) -> Sequence[Level]:
    """A level for 1, 4, 16 and 64 readers, of ten seconds."""
    return [
        Level(readers, 10 * rate, int(10 * rate * SAMPLE), 10.0)
        for readers, rate in zip((1, 4, 16, 64), files_rates, strict=False)
    ]


CAP = Measured(levels(48, 62, 62, 61.5), 255 * MB, 1444 * MB)
LATENCY = Measured(levels(61, 240, 910, 930), 245 * MB, 1444 * MB)


@pytest.mark.parametrize(
    ("measured", "sentences"),
    [
        (
            CAP,
            [
                "62 files/s however many readers: feeds 0.4 GPUs of 40 MB/s",
                "packed, it feeds 6.4 GPUs: 15 times as many",
                "a copy on the local disk pays from epoch 1, and then feeds 36 GPUs",
            ],
        ),
        (
            LATENCY,
            [
                "910 files/s, read 16 at a time: feeds 6.1 GPUs of 40 MB/s",
                "do not pack: read 16 at a time, files come at 100% of the rate of a large file",
                "a copy on the local disk pays from epoch 2, and then feeds 36 GPUs",
            ],
        ),
        (
            Measured(levels(48, 62, 62, 61.5), 255 * MB, 10 * MB),
            [
                "62 files/s however many readers: feeds 0.4 GPUs of 40 MB/s",
                "packed, it feeds 6.4 GPUs: 15 times as many",
                "a copy on the local disk does not pay: that disk is not faster",
            ],
        ),
        (
            Measured(levels(48), None, 1444 * MB),
            [
                "48 files/s, read 1 at a time: feeds 0.3 GPUs of 40 MB/s",
                "what packing gives is unknown: name a large file of the same file system with --large",
            ],
        ),
        (
            Measured(levels(48, 62, 62, 61.5), 255 * MB),
            [
                "62 files/s however many readers: feeds 0.4 GPUs of 40 MB/s",
                "packed, it feeds 6.4 GPUs: 15 times as many",
                "what a copy on the local disk gives is unknown: that disk was not measured",
            ],
        ),
    ],
)
def test_the_answer_follows_from_the_measures(measured: Measured, sentences: list[str]) -> None:
    assert verdict(measured) == sentences


@pytest.mark.parametrize(
    ("rates", "capped"),
    [((48, 62, 62, 61), True), ((61, 240, 910, 930), False), ((50, 50), False), ((50,), False), ((9, 9, 9), True)],
)
def test_a_cap_is_where_more_readers_get_no_more(rates: tuple[float, ...], capped: bool) -> None:
    assert Measured(levels(*rates), None).is_capped == capped


def test_an_epoch_with_its_copy_is_slower_than_those_after_it() -> None:
    given = forecast(CAP)
    assert given.staged_over(1) == pytest.approx(1 / (1 / (255 * MB) + 1 / (1444 * MB)))
    first, third = given.staged_over(1), given.staged_over(3)
    assert first is not None and third is not None and first < third < 1444 * MB
    assert forecast(Measured(levels(48), None)).staged_over(3) is None


def test_a_probe_reads_every_file_once_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = make(tmp_path / "in", some())
    (source / "large.bin").write_bytes(bytes(probe.LARGE))
    opened: list[str] = []
    real = os.open

    def noted(path: str, *args: int, **words: int) -> int:
        opened.append(str(path))
        return real(path, *args, **words)

    monkeypatch.setattr(os, "open", noted)
    before = sorted(tmp_path.rglob("*"))
    (tmp_path / "local").mkdir()
    found = probe.probe(Asked(source, source / "large.bin", tmp_path / "local"))
    read = [path for path in opened if path.startswith(str(source)) and not path.endswith("large.bin")]
    assert len(read) == len(set(read))
    assert [level.readers for level in found.measured.levels] == [1, 4, 16, 64]
    assert found.measured.in_order and found.measured.local
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "local"])


def test_a_probe_stops_at_its_bytes(tmp_path: Path) -> None:
    source = make(tmp_path / "in", {f"{number}.bin": bytes(3 << 20) for number in range(40)})
    said: list[str] = []
    found = probe.probe(Asked(source, budget=Budget(60, 10 << 20), tick=said.append))
    assert "1 reader" in said and "1 readers" not in said
    read = sum(level.size for level in found.measured.levels)
    assert read <= 10 << 20
    assert all(0 < level.files < 8 for level in found.measured.levels), "files in part count in part"


@pytest.mark.parametrize(
    ("make_it", "words"),
    [
        ({}, "has no files"),
        ({"a.jpg": b"x"}, ""),
        ({"empty.jpg": b""}, "couldn't read any file"),
    ],
)
def test_a_folder_that_cannot_be_measured_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, make_it: dict[str, bytes],
    words: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    source = make(tmp_path / "in", make_it)
    code = main(["data", "probe", str(source), "--local", str(tmp_path)])
    out, err = capsys.readouterr()
    assert (code, words in err) == (1 if words else 0, True), (out, err)
    assert main(["data", "probe", str(tmp_path / "none")]) == 1
    assert main(["data", "probe", str(source), "--large", str(tmp_path / "none")]) == 1


def test_a_probe_is_kept_by_file_system_and_day(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    source = make(tmp_path / "in", some(6))
    for _ in range(2):
        assert main(["data", "probe", str(source), "--local", str(tmp_path), "-f", "json"]) == 0
    shown = json.loads(capsys.readouterr().out.partition("\n}\n")[0] + "\n}")
    assert shown["forecast"][0]["packed"] is None
    file = tmp_path / "state/adminkit/probes.jsonl"
    assert len(file.read_text().splitlines()) == 1, "the second one of a day replaces the first"
    other = kept.Kept("2026-01-05", "nfs4 filer:/data", "gpu001", "/data", CAP)
    kept.keep(file, other)
    assert [one.measured for one in kept.read(file)][1] == CAP
    assert main(["data", "probe", str(source), "--kept", "-f", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["folder"] for row in rows] == [str(source)], "others are of another file system"


@pytest.mark.parametrize(
    "line",
    ["", "{", "[]", "null", "{}", '{"measured": 1}', '{"measured": {"levels": [{}]}}', "[" * 5000,
     '{"day": "x", "measured": {"levels": [{"readers": 1, "files": 1, "size": 1, "seconds": 0}]}}'],
)  # fmt: skip
def test_a_line_that_is_not_a_probe_is_passed_over(tmp_path: Path, line: str) -> None:
    file = tmp_path / "probes.jsonl"
    kept.keep(file, one := kept.Kept("2026-01-05", "xfs /dev/sda", "gpu001", "/data", CAP))
    file.write_text(f"{line}\n{file.read_text()}")
    assert kept.read(file) == [one]


@pytest.mark.parametrize(
    ("environ", "system", "expected"),
    [
        ({"XDG_STATE_HOME": "{here}/x"}, "{here}", "{here}/x/adminkit/probes.jsonl"),
        ({"HOME": "{here}/home"}, "{here}", "{here}/probes.jsonl"),
        ({"HOME": "{here}/home"}, "{here}/none", "{here}/home/.local/state/adminkit/probes.jsonl"),
    ],
)
def test_where_probes_are_kept(tmp_path: Path, environ: dict[str, str], system: str, expected: str) -> None:
    """In the operators' folder for its owner and root, where it exists."""
    filled = {name: text.format(here=tmp_path) for name, text in environ.items()}
    assert kept.place(filled, Path(system.format(here=tmp_path))) == Path(expected.format(here=tmp_path))
