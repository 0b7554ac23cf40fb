"""Files of months that are not what was written are named and not read; a writer that ends early leaves nothing."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from adminkit import journal
from adminkit.cli.main import main
from adminkit.trace import connect
from adminkit.trace.months import door, duck, manifest, place, write
from tests.bench import sample
from tests.support.builders import MONDAY, job, make_trace
from tests.support.months import DAY, SETTINGS, files_read, keep, rows_of
from tests.support.others import OWNER, gives_files_away

pytest.importorskip("duckdb")

#: Months of the trace of these tests.
MONTHS = ("2025-12", "2026-01", "2026-02")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A trace with files of three months."""
    journal._seen.clear()
    days = (-20, 5, 40)
    runs = [job(number, submit_time=MONDAY + days[number % 3] * DAY, start_time=None, user=f"user{number}", elapsed=60,
                end_time=MONDAY + days[number % 3] * DAY + 60) for number in range(30)]  # fmt: skip
    made = make_trace(tmp_path / "trace.db", runs)
    with closing(sqlite3.connect(made)) as db:
        db.execute("PRAGMA journal_mode = WAL")  # as a trace has that sync writes
    assert [one.rows for one in keep(made)] == [10, 10, 10]
    return made


def file_of(path: Path, month: str = MONTHS[0], cluster: str = "aaic") -> Path:
    return place.folder_of(path).joinpath(*place.file_of(cluster, month, "run"))


def damage(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def swap(file: Path) -> None:
    other = file.parent.parent / f"month={MONTHS[1]}" / file.name
    shutil.copy(other, file)
    os.truncate(file, file.stat().st_size)


def link(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    file.symlink_to("elsewhere")


def link_of_folder(file: Path) -> None:
    file.parent.rename(file.parent.with_name("elsewhere"))
    file.parent.symlink_to("elsewhere")


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (damage, "does not hold what was written"),
        (lambda file: os.truncate(file, file.stat().st_size - 9), "bytes, and"),
        (lambda file: file.write_bytes(b""), "it has 0 bytes"),
        (swap, "written"),
        (link, "a link stands in its place"),
        (link_of_folder, "a link stands in its place"),
        (pipe, "not a plain file"),
        (lambda file: file.unlink(), ""),
        (lambda file: shutil.rmtree(file.parents[2]), ""),
        pytest.param(lambda file: os.chown(file, OWNER, -1), "belongs to uid", marks=gives_files_away),
    ],
)
def test_a_file_that_is_not_what_was_written_is_named_and_sqlite_is_read(
    path: Path, harm: Callable[[Path], object], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    right = rows_of(path, files=False)
    harm(file_of(path))
    assert rows_of(path, files=True) == right
    assert files_read(path) == (0 if not place.folder_of(path).exists() else 2)
    said = capsys.readouterr().err
    assert why in said and ("refused months" in said) == bool(why) and (MONTHS[0] in said) == bool(why)
    assert [one.month.month for one in keep(path) if not one.why][:1] == [MONTHS[0]]
    assert (rows_of(path, files=True), files_read(path)) == (right, 3)


def test_a_copy_with_the_same_bytes_is_read(path: Path) -> None:
    shutil.copytree(place.folder_of(path), copied := path.with_name("copied"))
    shutil.rmtree(place.folder_of(path))
    copied.rename(place.folder_of(path))
    assert files_read(path) == 3


def test_files_of_another_view_are_not_read_and_made_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "shape", lambda: "another")
    assert files_read(path) == 0
    assert [one.rows for one in keep(path)] == [10, 10, 10]
    assert files_read(path) == 3


def test_files_have_the_modes_of_the_trace(path: Path) -> None:
    for place_, folders, files in os.walk(place.folder_of(path)):
        assert {(Path(place_) / one).stat().st_mode & 0o7777 for one in folders} <= {0o2750}
        assert {(Path(place_) / one).stat().st_mode & 0o7777 for one in files} <= {0o640}


@contextmanager
def rewritten(path: Path) -> Iterator[None]:
    """All months are stale; afterwards the next run puts everything right."""
    with connect.writer(path) as db:
        db.execute("UPDATE job SET cpu_time = coalesce(cpu_time, 0) + 1")
    assert files_read(path) == 0
    yield
    assert rows_of(path, files=True) == rows_of(path, files=False)
    assert [one for one in keep(path) if one.why] == []
    assert (rows_of(path, files=True), files_read(path)) == (rows_of(path, files=False), 3)
    assert {one.name for one in place.folder_of(path).rglob("*.parquet")} == {"run.parquet", "step.parquet"}
    assert len([*place.folder_of(path).rglob("*.parquet")]) == 6


def killed_while_writing(path: Path, seconds: float) -> None:
    child = os.fork()
    if not child:
        try:
            keep(path)
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(5, 100))])
def test_a_writer_that_is_killed_leaves_files_that_are_right_or_not_read(path: Path, seed: int) -> None:
    with rewritten(path):
        killed_while_writing(path, random.Random(seed).uniform(0.05, 0.6))


def test_a_run_that_changes_while_its_month_is_written_keeps_the_file_out(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = write.put

    def late(*given: object) -> manifest.MonthFile:
        with connect.writer(path) as db:
            db.execute("UPDATE job SET state = 'FAILED' WHERE user = 'user3'")
        return real(*given)  # type: ignore[arg-type]

    with rewritten(path):
        monkeypatch.setattr(write, "put", late)
        assert {one.month.month for one in keep(path) if one.why} == {MONTHS[0]}
        monkeypatch.setattr(write, "put", real)
        assert not file_of(path).exists()


def test_one_process_writes_months_at_a_time(path: Path) -> None:
    with rewritten(path), write.alone(path, 0.0), pytest.raises(Exception, match="another run is at work"):
        keep(path)


def test_a_full_disk_leaves_the_months_to_sqlite(path: Path) -> None:
    with rewritten(path):
        shutil.rmtree(place.folder_of(path))
        (small := place.folder_of(path)).mkdir()
        if subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=12k,mode=2750", "none", small], capture_output=True
        ).returncode:
            small.rmdir()
            pytest.skip("not run: no right to mount")
        try:
            assert all(one.why for one in keep(path))
            assert (rows_of(path, files=True), files_read(path)) == (rows_of(path, files=False), 0)
        finally:
            subprocess.run(["umount", small], check=True)


def in_any_file(path: Path, text: str) -> bool:
    import duckdb

    files = [str(one) for one in place.folder_of(path).rglob("*") if one.is_file()]
    return any(
        duckdb.execute(f"SELECT count(*) FROM read_parquet('{one}') WHERE \"user\" = '{text}'").fetchone()[0]
        for one in files
        if one.endswith("run.parquet")
    ) or any(not one.endswith(".parquet") for one in files)


def test_who_is_forgotten_is_in_no_file(path: Path) -> None:
    assert in_any_file(path, "user3")
    (place.folder_of(path) / place.SCRATCH / "left-run.parquet").write_bytes(file_of(path).read_bytes())
    assert main(["trace", "forget", "user3", "--db", str(path), "--apply"]) == 0
    assert not in_any_file(path, "user3")
    assert not file_of(path).exists() and files_read(path) == 2
    assert rows_of(path, files=True) == rows_of(path, files=False)


def test_runs_that_are_pruned_are_in_no_file(path: Path) -> None:
    assert main(["trace", "prune", "--older-than", "2026-01-01", "--db", str(path), "--apply"]) == 0
    assert not file_of(path).exists() and files_read(path) == 2
    assert rows_of(path, files=True) == rows_of(path, files=False)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/proc/self/environ')",
        "SELECT * FROM read_parquet('{months}/cluster=aaic/month=2026-01/run.parquet')",
        "COPY (SELECT 1) TO '{months}/out.csv'",
        "ATTACH '{trace}' AS trace (TYPE sqlite)",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
    ],
)
def test_duckdb_opens_nothing_else(path: Path, statement: str) -> None:
    import duckdb

    with place.opened(path, [_first(path)]) as (good, _):
        ((_, handle),) = good
        with duck.connected(SETTINGS, None, [f"/proc/self/fd/{handle}"]) as made:
            assert made.execute(f"SELECT count(*) FROM read_parquet('/proc/self/fd/{handle}')").fetchone() == (10,)
            with pytest.raises(duckdb.Error):
                made.execute(statement.format(months=place.folder_of(path), trace=path))


def _first(path: Path) -> manifest.MonthFile:
    with connect.reader(path) as db:
        return manifest.files(db)[0]


def test_an_import_writes_the_months_that_are_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = sample.write(path.with_name("sacct.txt"), 60, spacing=DAY)
    words = ["import", str(text), "--db", str(made := path.with_name("made.db"))]
    assert main(words) == 0
    assert not place.folder_of(made).exists(), "a small trace has none"
    monkeypatch.setenv("ADMINKIT_MONTHS_LEAST", "1")
    assert main(words) == 0
    assert files_read(made) == 3
    monkeypatch.setenv("ADMINKIT_MONTHS_KEEP", "false")
    text.write_text(text.read_text().replace("COMPLETED", "FAILED"))
    assert main(words) == 0
    assert files_read(made) == 0


def test_without_duckdb_sqlite_is_read_and_that_is_said(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(door.duck, "is_there", lambda: False)
    assert (rows_of(path, files=True), files_read(path)) == (rows_of(path, files=False), 0)
    assert "DuckDB is not installed" in capsys.readouterr().err


def test_months_are_shown_written_and_removed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file_of(path).write_bytes(b"")
    assert main(["trace", "months", "--db", str(path)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "aaic 2025-12: it has 0 bytes, and" + shown[0].split("and")[1]
    assert shown[1].startswith("aaic 2026-01: 10 runs, ")
    assert main(["trace", "months", "--write", "--db", str(path)]) == 0
    assert capsys.readouterr().out.startswith("aaic 2025-12: 10 runs, ")
    assert main(["trace", "months", "--remove", "--db", str(path)]) == 0
    assert "removed 6 files" in capsys.readouterr().out
    assert not place.folder_of(path).exists()
    with connect.reader(path) as db:
        assert db.execute("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'month%'").fetchone() == (1,)
