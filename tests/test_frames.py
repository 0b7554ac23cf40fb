"""The Python API: frames hold what the command line shows, with dtypes and units, and nothing else."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, get_args

import numpy
import pandas
import pytest

import adminkit
from adminkit.cli.main import main
from adminkit.errors import AdminkitError, UsageError
from adminkit.frames import _COLUMNS, Filters, Options
from adminkit.job import KEY
from adminkit.render.frame import STYLES, Column, frame, frame_of_arrays
from adminkit.render.report import Field, Meta, Report, Style
from adminkit.reports.catalogue import SPECS
from adminkit.reports.spec import FILTERS
from adminkit.stats.jobs import COLUMNS
from adminkit.trace.connect import reader, writer
from tests.support import study
from tests.support.builders import HOUR, MONDAY, add_letters, job, letter, make_trace
from tests.support.extended import some_extended
from tests.support.months import files_read, keep
from tests.support.others import OUTSIDE, READER, as_user, gives_files_away
from tests.support.reports import HOSTILE, QUEUES, some_chains, some_jobs, some_planned, some_waits
from tests.test_docs import blocks
from tools import notebook
from tools.docs import DOCS

pytestmark = pytest.mark.usefixtures("no_settings")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_trace(
        tmp_path / "t.db", [*some_jobs(), job(99, state="PENDING", elapsed=None, start_time=None)], QUEUES
    )


def shown(words: list[str], path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What the command line says as JSON."""
    assert main(["report", *words, "--db", str(path), "--format", "json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def records(made: pandas.DataFrame) -> list[dict[str, Any]]:
    return [
        {name: None if pandas.isna(value) else value for name, value in row.items()}
        for row in made.astype(object).to_dict("records")
    ]


ASKED: list[tuple[str, dict[str, Any], list[str]]] = [
    ("accuracy", {}, []),
    ("accuracy", {"queue": "gq", "states": ["completed", "timeout"]}, ["--queue", "gq"]),
    ("accuracy", {"queue": ("gq", "debug"), "min_elapsed": 600}, ["-p", "gq", "-p", "debug", "--min-elapsed", "10m"]),
    ("accuracy", {"since": MONDAY + HOUR}, ["--since", str(MONDAY + HOUR)]),
    ("accuracy", {"until": date(2026, 1, 6)}, ["--until", "2026-01-06"]),
    ("accuracy", {"since": datetime(2026, 1, 5, 3, tzinfo=UTC)}, ["--since", str(MONDAY + 3 * HOUR)]),
    ("accuracy", {"limit_source": "explicit"}, ["--limit-source", "explicit"]),
    ("accuracy", {"job_class": "single-gpu"}, ["--class", "single-gpu"]),
    ("accuracy", {"points": "1h,70h"}, ["--points", "1h,70h"]),
    ("accuracy", {"by": "point"}, ["--by", "point"]),
    ("parallelism", {"user": "ada", "account": "vision"}, ["--user", "ada", "--account", "vision"]),
    ("parallelism", {"by": "container"}, ["--by", "container"]),
    ("restarts", {}, []),
    ("restarts", {"by": "user"}, ["--by", "user"]),
    ("restarts", {"job": 1}, ["--job", "1"]),
    ("feedback", {"days": 14, "cluster": "aaic"}, ["--days", "14", "--cluster", "aaic"]),
    ("soft-limits", {"by": "user", "queue": "gq"}, ["--by", "user", "--queue", "gq"]),
    ("extensions", {"by": "user"}, ["--by", "user"]),
    ("users", {"job_class": "single-gpu"}, ["--class", "single-gpu"]),
    ("states", {"by": "month", "since": MONDAY}, ["--by", "month", "--since", str(MONDAY)]),
    ("arrivals", {"by": "queue", "since": MONDAY}, ["--by", "queue", "--since", str(MONDAY)]),
    ("utilization", {"by": "hour", "since": MONDAY}, ["--by", "hour", "--since", str(MONDAY)]),
    ("waste", {"queue": "gq", "cluster": "aaic"}, ["--queue", "gq", "--cluster", "aaic"]),
    ("efficiency", {"by": "class"}, ["--by", "class"]),
    ("energy", {"by": "user", "most": 1}, ["--by", "user", "--most", "1"]),
    ("io", {"by": "queue", "most": 1}, ["--by", "queue", "--most", "1"]),
    ("frameworks", {"by": "program"}, ["--by", "program"]),
    ("names", {"most": 1}, ["--most", "1"]),
    ("wait", {"by": "cells"}, ["--by", "cells"]),
    ("wait", {"req_limit": "4h", "gpus": 1}, ["--limit", "4h", "--gpus", "1"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "keywords", "words"), ASKED, ids=[" ".join((one[0], *one[2])) for one in ASKED])
def test_a_frame_holds_the_rows_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, keywords: dict[str, Any], words: list[str]
) -> None:
    some = {"restarts": some_chains, "soft-limits": some_planned, "extensions": some_extended, "wait": some_waits}
    jobs = some.get(name, some_jobs)()
    path = add_letters(make_trace(tmp_path / "t.db", jobs, QUEUES), [letter()])
    said = shown([name, *words], path, capsys)
    made = adminkit.open(path).report(name, totals=True, **keywords)
    times = [column for column, dtype in made.dtypes.items() if str(dtype) == "datetime64[s, UTC]"]
    for column in times:
        made[column] = made[column].astype("int64").where(made[column].notna(), None)  # epochs, as JSON has them
    assert records(made) == said["rows"]
    assert {key: made.attrs[key] for key in ("title", "filters", "jobs", "excluded", "notes", "database")} == {
        key: said["meta"][key] for key in ("title", "filters", "jobs", "excluded", "notes", "database")
    }
    assert len(said["rows"]) >= 2


def test_the_table_asks_every_report() -> None:
    assert {name for name, _, _ in ASKED} == {spec.name for spec in SPECS}


def test_totals_are_no_rows_unless_they_are_asked_for(path: Path) -> None:
    queues = adminkit.open(path).report("accuracy")["queue"].tolist()
    assert queues == ["gq", "gq-short", "debug"]


def test_every_option_of_every_report_is_a_typed_keyword() -> None:
    own = {option.name for spec in SPECS for option in spec.options}
    assert set(Filters.__annotations__) == set(FILTERS)
    assert set(Options.__annotations__) == {*FILTERS, *own, "by"}


@pytest.mark.parametrize("spec", SPECS, ids=[spec.name for spec in SPECS])
def test_dtypes_and_units_are_those_of_the_fields_also_without_rows(tmp_path: Path, spec: Any) -> None:
    path = make_trace(tmp_path / "t.db", [job(1), job(2, elapsed=2 * HOUR)])
    for made in (adminkit.open(path).report(spec.name), Report(Meta.plain("t", ()), spec.fields, []).to_frame()):
        dtypes = {name: str(dtype) for name, dtype in made.dtypes.items()}
        for field in spec.fields:
            dtype, unit = STYLES[field.style]
            assert dtypes[field.name] == dtype, field.name
            assert made.attrs["units"].get(field.name, "") == unit, field.name


def test_every_style_has_a_dtype() -> None:
    assert tuple(STYLES) == get_args(Style)


def test_whole_numbers_and_times_keep_every_digit() -> None:
    columns = [Column("whole", "Int64", "bytes"), Column("time", "datetime64[s, UTC]", "UTC"), Column("text", "string")]
    made = frame(columns, [(2**63 - 1, MONDAY, "a"), (None, None, None), (-(2**63), 10**14, HOSTILE)])
    assert made["whole"].tolist() == [2**63 - 1, pandas.NA, -(2**63)]
    assert made["time"][0] == pandas.Timestamp("2026-01-05", tz="UTC")
    assert (made["time"].isna().tolist(), made["text"].isna().tolist()) == ([False, True, False], [False, True, False])
    assert made["text"][2] == HOSTILE
    assert (made.attrs["units"], str(made["time"].dtype)) == ({"whole": "bytes", "time": "UTC"}, "datetime64[s, UTC]")
    assert made.to_string()


def test_half_a_count_is_refused() -> None:
    with pytest.raises(TypeError):
        Report(Meta.plain("t", ()), [Field("jobs", "count")], [[1.5]]).to_frame()


def test_all_that_is_said_of_a_report_can_be_written_with_its_frame(path: Path) -> None:
    assert json.loads(json.dumps(adminkit.open(path).report("accuracy").attrs))["jobs"] == 43


def test_jobs_are_the_rows_of_the_view_run_with_their_units(path: Path) -> None:
    made = adminkit.open(path).jobs()
    assert list(made.columns) == list(COLUMNS)
    assert len(made) == len(some_jobs()) + 1
    first = made.set_index("job_id_raw").loc[1]
    assert (first["elapsed"], first["req_limit"], first["queue"]) == (600, 72 * HOUR, "gq")
    assert first["end_time"] == pandas.Timestamp(MONDAY + 60 + 600, unit="s", tz="UTC")
    waiting = made.set_index("job_id_raw").loc[99]
    assert pandas.isna(waiting["start_time"]) and pandas.isna(waiting["elapsed"])


def test_jobs_have_every_value_as_the_trace_has_it_from_the_files_of_months_too(tmp_path: Path) -> None:
    """Whole numbers that floats cannot hold beside unknown ones, parts of GPUs, empty columns, and late runs."""
    odd = [
        job(101, mem=2**60 + 1), job(102, mem=None, user=None), job(103, mem=-1, job_name="\u0000x\u202e"),
        job(104, cluster="b/c", gpus=0, gpu_parts="mig:1g.5gb=1"), job(105, cpu_time=0.25), job(106, end_time=None),
    ]  # fmt: skip
    path = make_trace(tmp_path / "t.db", [*some_jobs(), *odd])
    trace = adminkit.open(path)

    def as_rows() -> pandas.DataFrame:
        names = ", ".join(f'"{name}"' for name in COLUMNS)
        with reader(path) as db:
            rows = db.execute(f"SELECT {names} FROM run ORDER BY {', '.join(KEY)}").fetchall()
        return frame([_COLUMNS[name] for name in COLUMNS], rows)

    without = trace.jobs()
    assert str(without["mem"].dtype) == "Int64" and 2**60 + 1 in without["mem"].dropna().tolist()
    pandas.testing.assert_frame_equal(without, as_rows())
    pytest.importorskip("duckdb", reason="not run: no duckdb (pip install -e '.[dev]')")
    assert [one for one in keep(path) if one.why] == [] and files_read(path)
    pandas.testing.assert_frame_equal(trace.jobs(), without)
    with writer(path) as db:
        db.execute("UPDATE job SET elapsed = 7 WHERE job_id_raw = 101")
    pandas.testing.assert_frame_equal(trace.jobs(), as_rows())


def test_a_part_of_a_gpu_makes_sizes_real_numbers(tmp_path: Path) -> None:
    columns = [Column("size_gpus", "Int64"), Column("queue", "string")]
    unknown = numpy.array([False, False, True])
    texts = (numpy.array([0, 1, 0]), ["gq", None])
    for values, dtype in (([1, 2, 9], "Int64"), ([1.0, 2.0, 9.0], "Int64"), ([1.0, 0.5, 9.0], "Float64")):
        made = frame_of_arrays(columns, {"size_gpus": (numpy.array(values), unknown), "queue": texts})
        assert (str(made["size_gpus"].dtype), made["size_gpus"].isna().tolist()) == (dtype, unknown.tolist())
        assert made["queue"].isna().tolist() == [False, True, False]


def test_units_of_jobs_are_those_of_the_trace_page(path: Path) -> None:
    page = (DOCS / "trace.md").read_text()
    units: dict[str, str] = {}
    for heading in ("### job", "## The view `run`"):
        section = page.partition(f"\n{heading}\n")[2].split("\n#")[0]
        for line in section.splitlines():
            if line.startswith("| `"):
                names = [name.strip(" `") for name in line.split("|")[1].split(",")]
                stated = [unit.strip() for unit in line.split("|")[2].split(",")]
                stated = ["0, 1"] if stated == ["0", "1"] else stated
                units |= dict(zip(names, stated * len(names) if len(stated) == 1 else stated, strict=True))
    words = {"epoch": "UTC", "s": "seconds", "count": "count", "bytes": "bytes", "J": "joules"}
    wanted = {name: words[unit] for name, unit in units.items() if unit in words}
    assert adminkit.open(path).jobs().attrs["units"] == wanted


@pytest.mark.parametrize(
    ("keywords", "expected", "why"),
    [
        ({"queue": "debug"}, [41], "a queue"),
        ({"states": "failed"}, [42], "a state, however it is written"),
        ({"states": ("PENDING", "FAILED")}, [42, 99], "several states, of open jobs too"),
        ({"until": MONDAY + 61 + 600, "queue": "gq"}, [1], "a window of ends"),
        ({"job_class": "multi-node"}, [41, 45], "a class"),
        ({"min_elapsed": "71h"}, [], "a duration: nobody ran so long"),
    ],
)
def test_jobs_takes_the_filters_of_reports(path: Path, keywords: Any, expected: list[int], why: str) -> None:
    made = adminkit.open(path).jobs(columns=["job_id_raw"], **keywords)
    assert made["job_id_raw"].tolist() == expected, why


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (lambda t: t.report("acuracy"), "no such report: acuracy", "did you mean accuracy?"),
        (lambda t: t.report("feedback", by="user"), "no such option of feedback: by", "known: "),
        (lambda t: t.report("restarts", by="usr"), "no such part: usr", "did you mean user?"),
        (lambda t: t.report("restarts", job="77"), "no run of job 77 in the trace", "write 123"),
        (lambda t: t.report("feedback", days=3), "days=3", "at least 7"),
        (lambda t: t.report("feedback", days="a"), "days='a'", "a whole number"),
        (lambda t: t.report("accuracy", since="yesterdy"), "no such date: yesterdy", "did you mean yesterday?"),
        (lambda t: t.jobs(queue="gqq"), "no such queue: gqq", "did you mean gq?"),
        (lambda t: t.jobs(quue="gq"), "no such option of jobs: quue", "did you mean queue?"),
        (lambda t: t.jobs(columns=["elapsd"]), "no such column: elapsd", "did you mean elapsed?"),
        (lambda t: t.jobs(columns=['x" FROM job; --']), "no such column: ", "known: "),
    ],
)
def test_what_cannot_be_meant_says_so_with_a_hint(path: Path, call: Any, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        call(adminkit.open(path))
    assert message in str(caught.value)
    assert hint in caught.value.__notes__[0]


def test_a_trace_that_is_not_there_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(AdminkitError, match="no trace database at"):
        adminkit.open(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []


def test_without_a_path_it_is_the_trace_of_the_command_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADMINKIT_DB", str(path))
    assert adminkit.open().path == path


def test_a_trace_of_then_has_no_later_job(path: Path) -> None:
    then = adminkit.open(path, as_of=MONDAY + 40 * 60)
    assert then.jobs()["submit_time"].max() <= pandas.Timestamp(MONDAY + 40 * 60, unit="s", tz="UTC")
    assert then.report("accuracy").attrs["as_of"] == MONDAY + 40 * 60
    with pytest.raises(UsageError, match="has not come yet"):
        adminkit.open(path, as_of="2100-01-01")


def test_nothing_is_written_beside_the_trace(path: Path) -> None:
    before = {one: one.stat().st_mtime_ns for one in path.parent.iterdir()}
    adminkit.open(path).jobs()
    adminkit.open(path).report("accuracy")
    assert {one: one.stat().st_mtime_ns for one in path.parent.iterdir()} == before


@gives_files_away
def test_an_outsider_gets_their_own_jobs_and_no_report_for_operators(open_folder: Path) -> None:
    jobs = [job(1, user="nobody", uid=READER), job(2, user="bob", uid=1002)]
    path = make_trace(open_folder / "t.db", jobs)
    path.chmod(0o644)
    adminkit.open(path).report("feedback")  # loads what another user may not read of this Python

    def look() -> list[Any]:
        trace = adminkit.open(path)
        found: list[Any] = [trace.jobs()["job_id_raw"].tolist(), trace.report("parallelism").attrs["jobs"]]
        for call in (lambda: trace.jobs(user="bob"), lambda: trace.report("feedback")):
            try:
                call()
            except UsageError as error:
                found.append(str(error))
        return found

    everything = look()
    assert everything == [[1, 2], 2]
    seen = as_user(READER, OUTSIDE, look)
    assert seen[0] == [1]
    assert len(seen) == 4 and "only operators may see" in seen[3]


def test_the_notebook_runs_and_its_outputs_are_those_of_the_demo(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shutil.copy(study.made(tmp_path_factory), tmp_path / "demo.db")
    stored = notebook.read()
    made = notebook.run(stored, tmp_path)
    for cell, before in zip(made["cells"], stored["cells"], strict=True):
        assert cell == before, "stale: run `python -m tools.notebook`"
    outputs = [cell["outputs"] for cell in stored["cells"] if cell["cell_type"] == "code"]
    assert len(outputs) >= 5 and all(outputs)


def test_the_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADMINKIT_DB", str(make_trace(tmp_path / "t.db", some_jobs(), QUEUES)))
    examples = list(blocks(DOCS / "python.md", "python"))
    assert examples
    names: dict[str, Any] = {}
    for code in examples:
        exec(code, names)
    assert names["accuracy"]["queue"].tolist() == ["gq-short", "gq"]
    assert names["hours"].sum() > 0
    assert names["per_user"].index.tolist() == ["ada"]
