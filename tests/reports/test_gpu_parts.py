"""What reports, charges and DataFrames say where runs have parts of GPUs, or GPUs that accounting did not track."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import adminkit
from adminkit.cli.main import main
from adminkit.economy.charges import _counts, _gpus, values
from adminkit.economy.schemes import load_schemes
from adminkit.ingest.files import Import, import_file
from adminkit.slurm.site import Site, SiteNode, SiteQueue
from adminkit.stats.charged_jobs import whole_jobs
from adminkit.stats.replay import submissions
from adminkit.stats.select import Filter
from adminkit.stats.wait import wait
from adminkit.stats.wait_given_limit import wait_given_limit
from adminkit.trace.connect import reader

NOW = 1_700_000_000
HEAD = (
    "JobID|JobIDRaw|Cluster|User|Partition|Submit|Eligible|Start|End|Elapsed|State|Timelimit|NNodes|NCPUS|AllocTRES\n"
)
ROW = "{0}|{0}|oak|fay|{1}|{2}|{2}|{2}|{3}|01:00:00|COMPLETED|02:00:00|1|4|cpu=4,mem=4G,node=1{4}\n"
#: One hour each: 2 + 3/7 + 4/8 + 1/2 GPUs, none, unknown twice.
TEXTS = [
    ",gres/gpu=2", ",gres/gpu:a100_3g.20gb=1", ",gres/shard=4", ",gres/mps=50", "", ",gres/gpu=x",
    ",gres/gpu:2g.48gb=1",
]  # fmt: skip
HOURS = 2 + 3 / 7 + 0.5 + 0.5


@pytest.fixture
def db(tmp_path: Path) -> Path:
    nodes = (SiteNode("g1", 64, 1 << 36, {"a100": 2}, queues=frozenset({"gq"}), gpu_shares={"shard": 16}),)
    return made(tmp_path, Site("oak", (SiteQueue("gq"),), nodes=nodes), TEXTS)


def made(folder: Path, site: Site, texts: list[str]) -> Path:
    rows = [ROW.format(n, "gq", NOW + n * 7200, NOW + n * 7200 + 3600, text) for n, text in enumerate(texts, start=1)]
    (folder / "sacct.txt").write_text(HEAD + "".join(rows))
    import_file(Import(folder / "sacct.txt", folder / "trace.db", cluster="oak", site=site), NOW)
    return folder / "trace.db"


def told(db: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What the command prints, however wide the terminal is."""
    assert main(["report", *words, "--db", str(db)]) == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("report", ["users", "states", "utilization"])
def test_gpu_hours_are_of_equivalents(db: Path, report: str) -> None:
    frame = adminkit.open(db).report(report, totals=True)
    assert frame["gpu_hours"].iloc[-1] == pytest.approx(HOURS)


def test_utilization_keeps_kinds_apart_where_not_all_are_whole(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = "2.0 of whole GPUs, 0.4 of slices, 0.5 of shards, 0.5 of MPS"
    assert f"gpu_hours are in GPU equivalents: {kinds} (docs/gpus.md)" in told(db, capsys, "utilization")
    (tmp_path / "whole").mkdir()
    whole = made(tmp_path / "whole", Site("oak", ()), TEXTS[:1])
    assert "equivalents" not in told(whole, capsys, "utilization")


def test_parallelism_keeps_kinds_apart_and_says_what_is_unknown(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = adminkit.open(db).report("parallelism")
    kinds = frame[frame["part"] == "kind"]
    assert dict(zip(kinds["value"], kinds["jobs"], strict=True)) == {"whole": 1, "slice": 2, "shard": 1, "mps": 1}
    classes = frame[frame["part"] == "class"]
    found = dict(zip(classes["value"], classes["jobs"], strict=True))
    assert found == {"cpu": 1, "single-gpu": 3, "multi-gpu": 1, "multi-node": 0, "unknown": 2}
    text = told(db, capsys, "parallelism")
    assert "unknown for 1 run with parts of a GPU whose size is not known" in text
    assert "unknown for 1 run whose accounting has a GPU entry that cannot be read" in text


def test_a_report_says_that_accounting_did_not_track_gpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = (SiteNode("g1", 64, 1 << 36, {"a100": 2}, queues=frozenset({"gq"})),)
    db = made(tmp_path, Site("oak", (SiteQueue("gq"),), nodes=nodes), [""] * 3)
    text = told(db, capsys, "users")
    why = "that name no GPUs, in queues with GPUs, from before accounting tracked GPUs"
    assert f"unknown for 3 runs {why}" in text


def test_every_report_takes_parts_of_gpus(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("accuracy", "wait", "energy", "efficiency", "waste", "frameworks", "restarts", "arrivals"):
        told(db, capsys, name)
    told(db, capsys, "wait", "--limit", "2h", "--gpus", "1")


def test_a_frame_of_runs_has_parts_of_gpus_and_whole_ones_are_counts(db: Path, tmp_path: Path) -> None:
    jobs = adminkit.open(db).jobs()
    assert str(jobs["size_gpus"].dtype) == "Float64" and str(jobs["gpus"].dtype) == "Int64"
    assert jobs["size_gpus"].sum() == pytest.approx(HOURS)
    (tmp_path / "whole").mkdir()
    whole = made(tmp_path / "whole", Site("oak", ()), TEXTS[:1])
    assert str(adminkit.open(whole).jobs()["size_gpus"].dtype) == "Int64"


def test_charges_count_parts_of_gpus_exactly(db: Path) -> None:
    with reader(db) as trace:
        pieces = [job.last for job in whole_jobs(trace, (), 0)]
    found = [_gpus(piece) for piece in pieces]
    assert found == [2, Fraction(3, 7), Fraction(1, 2), Fraction(1, 2), 0, None, None]
    assert [piece.gpu_parts for piece in pieces][1:3] == ["slice:a100_3g.20gb=1", "shard=4"]
    assert [_counts(piece)[:2] for piece in pieces] == [(0, 0), (1, 0), (0, 4), (0, 0), (0, 0), (None, None), (1, 0)]
    scheme = load_schemes(None).named(None)
    has = [values(piece, scheme)["has_shards"] for piece in pieces]
    assert has == [False, False, True, False, False, None, False]


def test_runs_of_unknown_gpus_are_not_among_those_of_cpus(db: Path) -> None:
    chosen = Filter(checkpoint_code=85)
    with reader(db) as trace:
        counts = {many: wait_given_limit(trace, chosen, 7200, many).queues[0].waits.jobs for many in (None, 0, 1, 2)}
        cells = wait(trace, chosen, NOW).cells
    assert counts == {None: 7, 0: 1, 1: 3, 2: 1}, "the two unknown ones are in the sum only"
    assert {unit: sum(one.waits.jobs for one in found) for unit, found in cells.items()} == {"gpus": 4, "cpus": 1}


def test_replay_knows_the_parts_that_were_asked_for(tmp_path: Path) -> None:
    nodes = (SiteNode("g1", 64, 1 << 36, {"a100": 2}, queues=frozenset({"gq"}), gpu_shares={"shard": 16}),)
    texts = [*TEXTS, ",gres/mps=250", ",gres/gpu:a100_1g.5gb=2,gres/gpu:a100=1", ",gres/shard=5"]
    db = made(tmp_path, Site("oak", (SiteQueue("gq"),), nodes=nodes), texts)
    with reader(db) as trace:
        rows = sorted(submissions(trace, Filter(checkpoint_code=85)), key=lambda row: row[-2] or 0)  # type: ignore[arg-type,return-value]
    assert [row[-4] for row in rows] == [0, 1, 4, 1, 0, None, 1, 3, 2, 5]
