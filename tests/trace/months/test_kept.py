"""Files of months hold what the trace holds: whatever happens to it, answers are those of SQLite."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from adminkit.ingest.files import Import, import_file
from adminkit.trace import connect
from adminkit.trace.months import manifest
from tests.bench import sample
from tests.support.builders import job, make_trace
from tests.support.months import CLUSTERS, DAY, act, files_read, keep, rows_of

pytest.importorskip("duckdb")

_TRIGGERS = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name GLOB 'month_*' ORDER BY name"


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(3, 30))])
def test_whatever_happens_answers_are_those_of_sqlite(tmp_path: Path, seed: int) -> None:
    pick = random.Random(seed)
    path = make_trace(tmp_path / "trace.db", [job(number, cluster=CLUSTERS[number % 7]) for number in range(14)])
    read = []
    for _ in range(8):
        if pick.random() < 0.6:
            assert [one for one in keep(path) if one.why] == []
        with connect.writer(path) as db:
            for _ in range(pick.randrange(1, 4)):
                act(db, pick)
        read.append(files_read(path))
        assert rows_of(path, files=True) == rows_of(path, files=False)
    assert any(read), "files were never read"


def later(line: str, names: list[str], pick: random.Random) -> str:
    """A row that was changed, or a run more of its job, soon after or long after; or a step of it."""
    row = dict(zip(names, line.split("|"), strict=True))
    what = pick.choice(("state", "end", "run", "run", "step"))
    if what == "step":
        return "|".join(
            f"{value}.interactive" if name in ("JobID", "JobIDRaw") else value for name, value in row.items()
        )
    if what == "state":
        row["State"] = pick.choice(("FAILED", "REQUEUED", "PREEMPTED"))
    moved = pick.choice((60, 3600, 3 * DAY, 70 * DAY)) if what == "run" else 0
    for name in ("Submit", "Eligible", "Start", "End"):
        row[name] = str(int(row[name]) + moved)
    if what == "end":
        row["End"] = str(int(row["End"]) + pick.choice((1, 40 * DAY)))
    return "|".join(row.values())


@pytest.mark.parametrize("seed", range(4))
def test_a_load_by_the_helper_makes_the_months_of_its_rows_stale(tmp_path: Path, seed: int) -> None:
    pick = random.Random(seed)
    text, path = sample.write(tmp_path / "sacct.txt", 150, spacing=DAY // 2), tmp_path / "trace.db"
    import_file(Import(text, path), 1)
    header, *lines = text.read_text().splitlines()
    read = []
    for _ in range(4):
        keep(path)
        with connect.reader(path) as db:
            watched = db.execute(_TRIGGERS).fetchall()
        more = [later(pick.choice(lines), header.split("|"), pick) for _ in range(pick.choice((1, 2, 5)))]
        (tmp_path / "more.txt").write_text("\n".join([header, *more]) + "\n")
        import_file(Import(tmp_path / "more.txt", path), 2)
        with connect.reader(path) as db:
            assert len(watched) == len(manifest._TRIGGERS)
            assert watched == db.execute(_TRIGGERS).fetchall()
        read.append(files_read(path))
        assert rows_of(path, files=True) == rows_of(path, files=False)
    assert any(read) and min(read) < max(read), "no file was read, or none became stale"


@pytest.mark.parametrize("helper", [True, False])
def test_a_run_that_continues_one_of_another_month_changes_that_month(tmp_path: Path, helper: bool) -> None:
    """A run ends with its node in the last hour of a month; its job runs again in the next one."""
    text, path = sample.write(tmp_path / "sacct.txt", 100, spacing=DAY), tmp_path / "trace.db"
    header, *lines = text.read_text().splitlines()
    end = manifest.begin_of("2023-12") - 30
    row = dict(zip(header.split("|"), lines[0].split("|"), strict=True)) | {"State": "NODE_FAIL"}
    row |= {
        "Submit": str(end - 90),
        "Eligible": str(end - 90),
        "Start": str(end - 60),
        "End": str(end),
        "ElapsedRaw": "60",
    }
    again = {**row, **{name: str(int(row[name]) + 120) for name in ("Submit", "Eligible", "Start", "End")}}
    text.write_text("\n".join([header, *lines[1:], "|".join(row.values())]) + "\n")
    import_file(Import(text, path), 1)
    keep(path)
    before = files_read(path)
    if helper:
        text.write_text("\n".join([header, "|".join({**again, "State": "COMPLETED"}.values())]) + "\n")
        import_file(Import(text, path), 2)
    else:
        with connect.writer(path) as db:
            db.execute("CREATE TEMP TABLE again AS SELECT * FROM job WHERE end_time = ?", (end,))
            db.execute("UPDATE again SET submit_time = submit_time + 120, end_time = end_time + 120, restarts = NULL")
            db.execute("INSERT INTO job SELECT * FROM again")
    with connect.reader(path) as db:
        assert db.execute("SELECT continued FROM run WHERE end_time = ?", (end,)).fetchone() == (1,)
    assert files_read(path) == before - 2
    assert rows_of(path, files=True) == rows_of(path, files=False)


def test_steps_that_come_again_leave_months_alone_and_a_new_one_does_not(tmp_path: Path) -> None:
    path, file = tmp_path / "trace.db", tmp_path / "sacct.txt"
    names = "Cluster|JobID|JobIDRaw|User|State|Submit|Start|End|ElapsedRaw|TotalCPU"
    begins = [manifest.begin_of(month) + DAY for month in ("2023-11", "2023-12", "2024-01")]

    def rows(step: str, *numbers: int) -> str:
        return "\n".join(
            f"c|{number}{part}|{number}{part}|ada|COMPLETED|{at}|{at}|{at + 600}|600|{cpu}"
            for number, at in enumerate(begins)
            if number in numbers
            for part, cpu in (("", ""), (step, "00:05:00" if step == ".batch" else ""))
        )

    def load(text: str) -> None:
        file.write_text(f"{names}\n{text}\n")
        import_file(Import(file, path), 1)

    load(rows(".batch", 0, 1, 2))
    keep(path)
    load(rows(".batch", 0, 1, 2))
    assert files_read(path) == 3
    load(rows(".interactive", 1))
    assert files_read(path) == 2
    assert rows_of(path, files=True) == rows_of(path, files=False)


def test_a_load_of_more_runs_than_the_trace_has_drops_all_files(tmp_path: Path) -> None:
    small, path = sample.write(tmp_path / "small.txt", 50, spacing=DAY), tmp_path / "trace.db"
    import_file(Import(small, path), 1)
    assert keep(path) and files_read(path) == 3
    import_file(Import(sample.write(tmp_path / "large.txt", 10_001, spacing=300), path), 2)
    assert files_read(path) == 0
    with connect.reader(path) as db:
        assert db.execute(_TRIGGERS).fetchall() == []


def test_a_new_run_leaves_other_months_alone(tmp_path: Path) -> None:
    """Whatever a run that has nothing to do with it would make stale, it would for every sync."""
    text, path = sample.write(tmp_path / "sacct.txt", 100, spacing=DAY), tmp_path / "trace.db"
    import_file(Import(text, path), 1)
    keep(path)
    before = files_read(path)
    header, *lines = text.read_text().splitlines()
    row = dict(zip(header.split("|"), lines[0].split("|"), strict=True))  # a number that is used again
    for name in ("Submit", "Eligible", "Start", "End"):
        row[name] = str(int(row[name]) + 900 * DAY)
    (tmp_path / "more.txt").write_text("\n".join([header, "|".join(row.values())]) + "\n")
    import_file(Import(tmp_path / "more.txt", path), 2)
    assert before > 2 and files_read(path) == before
    with connect.writer(path) as db:
        db.execute("UPDATE job SET state = 'FAILED' WHERE submit_time = (SELECT max(submit_time) FROM job)")
    assert files_read(path) == before
