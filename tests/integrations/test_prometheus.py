"""adminkit metrics: every figure, its labels, and names that are hostile."""

from __future__ import annotations

import json
import re
import stat
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from adminkit.cli import metrics as command
from adminkit.cli.main import main
from adminkit.config import Config
from adminkit.installed import data_file
from adminkit.integrations import prometheus_cluster
from adminkit.integrations.prometheus import exposition
from adminkit.integrations.prometheus_cluster import OTHERS, bounded, cluster_metrics
from adminkit.integrations.prometheus_idle import idle_metrics
from adminkit.job import Job
from adminkit.quote import clean
from adminkit.slurm.gauges import AccountShare, Gauges, Load, Stock
from adminkit.trace import sight
from adminkit.trace.connect import reader, writer
from adminkit.trace.windows import RecordedWindow, record
from adminkit.usage.held import IDLE
from adminkit.usage.steps import steps
from tests.integrations.test_prometheus_idle import FOUND
from tests.support.builders import HOUR, MONDAY, add_letters, job, letter, make_trace

NOW = MONDAY + 24 * HOUR
DAY = 24 * HOUR
HOSTILE = 'a"b\\c\nd{} # x'
#: As it is shown.
SHOWN = clean(HOSTILE)
JOBS = [
    job(1, eligible_time=MONDAY + 60, start_time=MONDAY + 160),  # one of four hours, one GPU, 8 CPUs
    job(2, eligible_time=MONDAY + 300, start_time=MONDAY + 120, elapsed=2 * HOUR),  # a clock was wrong
    job(3, state="FAILED", queue="short"),
    job(4, queue="short", end_time=None, elapsed=None, start_time=None, eligible_time=NOW - 500, state="PENDING",
        seen_open=NOW - 60),
    job(5, queue="short", end_time=None, elapsed=None, start_time=None, eligible_time=NOW - 900, state="PENDING",
        seen_open=NOW - 60),
    job(6, queue="short", end_time=None, elapsed=None, start_time=None, eligible_time=NOW + 900, state="PENDING",
        seen_open=NOW - 60),  # has a begin time to come
    job(7, queue="short", end_time=None, elapsed=None, start_time=None, eligible_time=0, state="PENDING",
        seen_open=0),  # lost long ago
    job(8, queue=None, start_time=MONDAY - 9 * DAY, end_time=MONDAY - 8 * DAY),  # before the window
    job(9, queue=HOSTILE),
]  # fmt: skip

#: What slurmctld says, with a hostile account and an array that was cut short.
CLUSTER = Gauges(
    "aaic", {"idle": 3, "drained": 1}, Stock(8, 24, 8), Stock(1, 2, 3), {"a100": Stock(2, 6, 8)},
    [Load("gq", HOSTILE, "waiting", 800, 3200, None, 1600, 1), Load("gq", "physics", "running", 1, 4, 8, 2)],
    [AccountShare("physics", 0.5, 0.25, 2.0), AccountShare("root", None, None, None)], own_metrics=False,
)  # fmt: skip

Samples = dict[tuple[str, ...], float]


def samples(text: str, name: str) -> Samples:
    """Label values, in the order of their names -> value."""
    return {
        tuple(sample.labels[key] for key in sorted(sample.labels)): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == f"adminkit_{name}"
    }


def written(path: Path, jobs: list[Job]) -> str:
    make_trace(path, jobs)
    add_letters(path, [letter(1), letter(2, state="refused"), letter(3, state="due"), letter(4, state="claimed")])
    with reader(path) as db:
        return exposition(db, Config(), NOW, DAY).decode()


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("metrics") / "t.db", JOBS)


@pytest.mark.parametrize(
    ("name", "expected", "why"),
    [
        ("window_seconds", {(): DAY}, "a day"),
        ("accuracy_runs", {("aaic", "gq"): 2, ("aaic", SHOWN): 1}, "a failed run and one before the window are none"),
        ("accuracy_ratio", {("aaic", "gq"): 0.375, ("aaic", SHOWN): 0.25}, "a quarter and a half"),
        ("unused_gpu_seconds", {("aaic", "gq"): 5 * HOUR, ("aaic", SHOWN): 3 * HOUR}, "three hours and two"),
        ("backlog_cut_arrays", {("aaic", "short"): 0}, "sync's sacct cuts no list of tasks"),
        ("unused_cpu_seconds", {("aaic", "gq"): 40 * HOUR, ("aaic", SHOWN): 24 * HOUR}, "of eight CPUs"),
        ("wait_runs", {("aaic", "gq"): 2}, "of the others nobody knows when they were eligible"),
        (
            "wait_seconds",
            {("aaic", "50", "gq"): 50, ("aaic", "90", "gq"): 90, ("aaic", "95", "gq"): 95},
            "a hundred seconds and none: a negative wait is none",
        ),
        ("backlog_jobs", {("aaic", "short"): 2}, "neither a begin time to come nor a lost job"),
        ("backlog_oldest_seconds", {("aaic", "short"): 900}, "the oldest"),
        (
            "runs_total",
            {("aaic", "gq", "COMPLETED"): 2, ("aaic", "short", "FAILED"): 1, ("aaic", "", "COMPLETED"): 1,
             ("aaic", SHOWN, "COMPLETED"): 1},
            "every end, whenever it was",
        ),
        ("letters_total", {("aaic", "end", "refused"): 1, ("aaic", "end", "sent"): 1}, "what became of them"),
        ("letters_waiting", {("aaic", "end"): 2}, "due, and on their way"),
    ],
)  # fmt: skip
def test_every_metric(text: str, name: str, expected: Samples, why: str) -> None:
    assert samples(text, name) == expected, why


def test_a_trace_without_anything_has_its_window(tmp_path: Path) -> None:
    text = written(tmp_path / "t.db", [])
    assert samples(text, "window_seconds") == {(): DAY}
    assert samples(text, "runs_total") == {}


def test_the_text_has_help_and_type_and_no_times(text: str) -> None:
    names = set(re.findall(r"^# TYPE (\S+) (?:gauge|counter)$", text, re.MULTILINE))
    assert names == set(re.findall(r"^# HELP (\S+) \S.*\.$", text, re.MULTILINE))
    assert all(name.startswith("adminkit_") for name in names)
    assert not re.search(r"^\w+(?:\{.*\})? \S+ \d+$", text, re.MULTILINE), "a collector of files takes no times"


@pytest.mark.parametrize(
    ("windows", "lag", "ahead", "why"),
    [
        ([(-2 * DAY, -HOUR, -HOUR)], HOUR, 0, "an hour ago"),
        ([(-2 * DAY, -HOUR, -HOUR), (-HOUR, 3 * DAY, 3 * DAY)], HOUR, 3 * DAY, "one run had a clock three days fast"),
        ([(-2 * DAY, 3 * DAY, 3 * DAY)], None, 3 * DAY, "no run has been: unknown"),
    ],
)
def test_the_lag_is_since_the_last_run_that_has_been(
    tmp_path: Path, windows: list[tuple[int, int, int]], lag: int | None, ahead: int, why: str
) -> None:
    path = make_trace(tmp_path / "t.db", [])
    with writer(path) as db:
        for since, until, asked_at in windows:
            record(db, "aaic", "job", RecordedWindow(NOW + since, NOW + until, False, NOW + asked_at))
    with reader(path) as db:
        text = exposition(db, Config(), NOW, DAY).decode()
    assert samples(text, "sync_lag_seconds") == ({} if lag is None else {("aaic", "job"): lag}), why
    assert samples(text, "sync_ahead_seconds") == {("aaic", "job"): ahead}


def test_the_page_has_every_metric(text: str) -> None:
    page = data_file("docs", "metrics.md").read_text()
    for name in re.findall(r"^# TYPE (\S+)", text, re.MULTILINE):
        assert f"`{name}`" in page, name


def slurm_metrics() -> dict[str, set[str]]:
    """What the dashboard takes of slurmctld 26.05.5, with the labels that the page's scrape_configs make of its own."""
    known: dict[str, set[str]] = {}
    for path in (Path(__file__).parents[1] / "data/slurm_metrics").iterdir():
        for family in text_string_to_metric_families(path.read_text()):
            for sample in family.samples:
                queue = {"queue"} if "partition" in sample.labels else set()
                known.setdefault(sample.name, set()).update({"cluster"} | queue)
    return known


def of_cluster(found: Gauges) -> str:
    with reader(make_trace(Path(tempfile.mkdtemp()) / "t.db", JOBS)) as db:
        return exposition(db, Config(), NOW, DAY, cluster_metrics(found)).decode()


def test_what_the_cluster_has_and_does_is_beside_the_traces_figures() -> None:
    text = of_cluster(CLUSTER)
    assert samples(text, "nodes") == {("aaic", "idle"): 3, ("aaic", "drained"): 1}
    assert samples(text, "cluster_gpus")["aaic", "in_use", "a100"] == 2
    assert samples(text, "jobs") == {(SHOWN, "aaic", "gq", "waiting"): 800, ("physics", "aaic", "gq", "running"): 1}
    assert samples(text, "jobs_memory_bytes") == {("physics", "aaic", "gq", "running"): 8}, "unknown has no sample"
    assert samples(text, "account_level_fs") == {("physics", "aaic"): 2.0}
    assert samples(text, "accuracy_runs"), "the trace's own are there"


def test_nodes_are_left_to_a_slurmctld_with_metrics_of_its_own() -> None:
    assert "adminkit_nodes" not in of_cluster(replace(CLUSTER, own_metrics=True))


def test_accounts_without_samples_of_their_own_are_summed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus_cluster, "MOST", 1)
    some = [Load("gq", f"a{many}", "waiting", many, 2 * many, many if many < 3 else None, 1) for many in (5, 1, 2)]
    assert bounded(some) == [some[0], Load("gq", OTHERS, "waiting", 3, 6, 3, 2)]
    assert bounded([replace(some[0], jobs=6), *some])[1].mem is None, "what is not known of one is not known of all"


def test_the_dashboard_asks_for_metrics_and_labels_that_there_are(text: str) -> None:
    known: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            known.setdefault(sample.name, set()).update(sample.labels)
    known |= {name: {"cluster", "pass"} for name in ("adminkit_sync_lag_seconds",)}
    known |= {"adminkit_rejected_rows": {"source"}}
    for metric in (*cluster_metrics(CLUSTER), *idle_metrics("alpha", FOUND, steps(FOUND, [], IDLE), IDLE)):
        known |= {sample.name: set(sample.labels) for sample in metric.samples}
    known |= slurm_metrics()
    dashboard = json.loads(data_file("etc", "grafana", "adminkit.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(asked) >= len(dashboard["panels"]) > 0
    for expression in asked:
        for name, labels in re.findall(r"((?:adminkit|slurm)_\w+)(?:\{([^}]*)\})?", expression):
            assert name in known, expression
            assert {one.split("=")[0] for one in labels.split(",") if one} <= known[name], expression


def test_the_file_is_readable_to_the_exporter_and_whole(
    no_settings: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db, to = make_trace(tmp_path / "t.db", JOBS), tmp_path / "adminkit.prom"
    words = ["metrics", "--db", str(db), "--as-of", str(NOW)]
    assert main([*words, "--output", str(to)]) == 0
    assert main(words) == 0
    assert to.read_text() == capsys.readouterr().out
    assert stat.S_IMODE(to.stat().st_mode) & 0o444 == 0o444
    assert [path.name for path in tmp_path.glob("*.prom*")] == ["adminkit.prom"]


@pytest.mark.parametrize("window", ["0", "soon"])
def test_a_window_is_a_time(no_settings: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], window: str) -> None:
    db = make_trace(tmp_path / "t.db")
    assert main(["metrics", "--db", str(db), "--window", window]) == 2
    assert "error: " in (said := capsys.readouterr().err) and "hint: " in said


def test_only_operators_may_see_them(
    no_settings: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    db = make_trace(tmp_path / "t.db")
    monkeypatch.setattr(sight, "sees_others", lambda path: False)
    assert main(["metrics", "--db", str(db)]) == 2
    assert command.METRICS[0] in capsys.readouterr().err
