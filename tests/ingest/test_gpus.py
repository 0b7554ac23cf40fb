"""GPUs from accounting text to the view `run`: parts of GPUs, old words, and GPUs that accounting does not track."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adminkit.gres import GpuSettings
from adminkit.ingest.files import Import, import_file
from adminkit.ingest.gpus import note_tracked, refresh
from adminkit.slurm.site import Site, SiteNode, SiteQueue
from adminkit.slurm.tracked import lacking

NOW = 1_700_000_000
HEAD = "JobID|JobIDRaw|Submit|Start|End|Elapsed|State|Partition|NNodes"
ROW = "{0}|{0}|{1}|{1}|{2}|01:00:00|COMPLETED|{3}|{4}"


def load(
    folder: Path,
    columns: str,
    rows: list[tuple[int, str, int, str]],
    nodes: list[SiteNode],
    gpus: GpuSettings | None = None,
) -> Path:
    """A trace of runs: a start, a queue, nodes, and the columns' text."""
    lines = [f"{HEAD}|{columns}"]
    for number, (start, queue, many, text) in enumerate(rows, start=1):
        lines.append(f"{ROW.format(number, start, start + 3600, queue, many)}|{text}")
    source = folder / "sacct.txt"
    source.write_text("\n".join(lines) + "\n")
    queues = sorted({queue for node in nodes for queue in node.queues})
    site = Site("oak", tuple(SiteQueue(queue) for queue in queues), nodes=tuple(nodes)) if nodes else None
    db = folder / "trace.db"
    import_file(Import(source, db, cluster="oak", site=site, gpus=gpus or GpuSettings()), NOW)
    return db


def runs(db: Path, columns: str = "size_gpus, class") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(db)) as trace:
        return trace.execute(f"SELECT {columns} FROM run ORDER BY job_id_raw").fetchall()


def node(name: str, gpus: dict[str, int], *queues: str, **shares: int) -> SiteNode:
    return SiteNode(name, 8, 1 << 34, gpus, queues=frozenset(queues), gpu_shares=shares)


@pytest.mark.parametrize(
    ("columns", "text", "nodes", "expected", "why"),
    [
        ("AllocGRES", "gpu:2", 2, (4, None), "GRES are of each node"),
        ("AllocGRES", "PER_NODE:gpu:2", 2, (4, None), "in other words"),
        ("AllocGRES", "PER_JOB:gpu:2", 2, (2, None), "but for these"),
        ("AllocGRES", "PER_TASK:gpu:2", 2, (None, "?"), "sacct does not say how many tasks there were"),
        ("AllocGRES", "PER_TASK:gpu:0", 2, (0, None), "none for each is none"),
        ("AllocGRES", "7696487:2", 2, (4, None), "the plugin's number"),
        ("AllocGRES", "mps:50", 2, (0, "2*mps=50"), "a part of a GPU on each node"),
        ("AllocGRES", "gpu:x:y", 2, (None, "?"), "no word"),
        ("AllocTRES|AllocGRES", "cpu=1|gpu:2", 1, (2, None), "TRES do not track GPUs, GRES are always there"),
        ("AllocTRES|AllocGRES", "cpu=1,gres/gpu=3|gpu:2", 1, (3, None), "TRES count the whole job"),
        ("AllocTRES|AllocGRES", "cpu=1|", 1, (0, None), "neither has any"),
        ("ReqGRES|AllocTRES", "gpu:2|cpu=1", 1, (None, None), "what was asked for is not tracked: unknown"),
        ("ReqGRES|AllocTRES", "|cpu=1", 1, (0, None), "nothing was asked for"),
        ("ReqGRES|AllocTRES", "gpu:2|cpu=1,gres/gpu=2", 1, (2, None), "tracked"),
    ],
)
def test_what_a_run_had(
    tmp_path: Path, columns: str, text: str, nodes: int, expected: tuple[int | None, str | None], why: str
) -> None:
    db = load(tmp_path, columns, [(NOW, "gq", nodes, text)], [])
    assert runs(db, "gpus, gpu_parts") == [expected], why


NODES = [node("g1", {"a100": 2}, "gq", shard=8), node("g2", {"a100": 2}, "gq", shard=8), node("c1", {}, "cq")]
OTHERS = [*NODES, node("g3", {"a100": 4}, "gq", shard=4)]
FULL = "cpu=1,gres/gpu=1"
NONE = "cpu=1"


@pytest.mark.parametrize(
    ("text", "nodes", "gpus", "expected", "why"),
    [
        ("cpu=1,gres/shard=2", NODES, GpuSettings(), (0.5, "single-gpu"), "four shards make a GPU on each node"),
        ("cpu=1,gres/shard=8", NODES, GpuSettings(), (2.0, "multi-gpu"), "and eight two"),
        ("cpu=1,gres/shard=2", OTHERS, GpuSettings(), (None, None), "nodes differ"),
        ("cpu=1,gres/shard=2", OTHERS, GpuSettings(("shard=0.25",)), (0.5, "single-gpu"), "and the config says"),
        ("cpu=1,gres/shard=2", [], GpuSettings(), (None, None), "no node is known"),
        (
            "cpu=1,gres/gpu:a100_3g.20gb=1",
            [],
            GpuSettings(("3g.20gb=0.5",)),
            (0.5, "single-gpu"),
            "a profile of the config's",
        ),
    ],
)
def test_shards_are_parts_of_a_gpu_where_the_site_says_which(
    tmp_path: Path,
    text: str,
    nodes: list[SiteNode],
    gpus: GpuSettings,
    expected: tuple[float | None, str | None],
    why: str,
) -> None:
    db = load(tmp_path, "AllocTRES", [(NOW, "gq", 1, text), (NOW, "gq", 1, FULL)], nodes, gpus)
    assert runs(db)[0] == expected, why


#: (start, queue, nodes, text)
def some(text: str, *starts: int, queue: str = "gq") -> list[tuple[int, str, int, str]]:
    return [(NOW + at, queue, 1, text) for at in starts]


@pytest.mark.parametrize(
    ("rows", "gpus", "expected", "why"),
    [
        (some(NONE, 0), GpuSettings(), [None], "a queue of GPUs, and no run names any"),
        (some(NONE, 0, queue="cq"), GpuSettings(), [0], "its nodes have none"),
        (some(NONE, 0, queue="old"), GpuSettings(), [None], "a queue that no node has now"),
        (some(NONE, 0, queue="cq,gq"), GpuSettings(), [None], "it might have been the one"),
        (some(NONE, 0), GpuSettings(tracked=True), [0], "the config says that accounting has them"),
        (some(NONE, 0) + some(FULL, 1), GpuSettings(), [0, 1], "one run without may be chance"),
        (
            some(NONE, *range(20)) + some(FULL, *range(30, 60)),
            GpuSettings(),
            [None] * 20 + [1] * 30,
            "twenty in a row not",
        ),
        (some(NONE, 0) + some(FULL, 1), GpuSettings(tracked=False), [None, 1], "the config says that it had not"),
        (some(FULL, *range(9)) + some(NONE, 10), GpuSettings(), [1] * 9 + [0], "after the first it is tracked"),
    ],
)
def test_gpus_that_accounting_does_not_track_are_unknown(
    tmp_path: Path, rows: list[tuple[int, str, int, str]], gpus: GpuSettings, expected: list[int | None], why: str
) -> None:
    assert [size for size, _ in runs(load(tmp_path, "AllocTRES", rows, NODES, gpus))] == expected, why


def looked_at(db: Path, *looks: tuple[int, str]) -> list[Any]:
    """The sizes after sync looked at AccountingStorageTRES at these times after NOW."""
    with closing(sqlite3.connect(db)) as trace, trace:
        for at, tres in looks:
            note_tracked(trace, "oak", f"cpu,mem,energy,node,billing,fs/disk,vmem,pages{tres}", NOW + at)
        refresh(trace, GpuSettings())
    return [size for size, _ in runs(db)]


SHARDS = ",gres/shard"


@pytest.mark.parametrize(
    ("rows", "looks", "expected", "why"),
    [
        (some(NONE, 5, 15), [(0, "")], [None, None], "off"),
        (some(NONE, 5, 15), [(0, ""), (10, f",gres/gpu{SHARDS}")], [None, 0], "switched on"),
        (
            some(NONE, 5, 15) + some(FULL, 2),
            [(0, f",gres/gpu{SHARDS}"), (8, f",gres/gpu{SHARDS}"), (10, "")],
            [0, None, 1],
            "switched off",
        ),
        (some(NONE, 15) + some(FULL, 2), [(0, f",gres/gpu:v100{SHARDS}")], [None, 1], "of another type only"),
        (some(NONE, 15) + some(FULL, 2), [(0, f",gres/gpu:a100{SHARDS}")], [0, 1], "of its own type"),
        (some(NONE, 15) + some(FULL, 2), [(0, ",gres/gpu")], [None, 1], "its shards are not tracked"),
        (some(NONE, 15, queue="cq"), [(0, "")], [0], "a queue without GPUs"),
    ],
)
def test_what_slurm_conf_tracks_is_known_since_it_was_looked_at(
    tmp_path: Path,
    rows: list[tuple[int, str, int, str]],
    looks: list[tuple[int, str]],
    expected: list[int | None],
    why: str,
) -> None:
    assert looked_at(load(tmp_path, "AllocTRES", rows, NODES), *looks) == expected, why


MIG = [node("m1", {"a100_3g.20gb": 4, "a100": 1}, "mq"), node("g1", {"a100": 2}, "gq")]
TYPED = "cpu=1,gres/gpu=1,gres/gpu:a100_3g.20gb=1"
TWO = "cpu=1,gres/gpu=2"


@pytest.mark.parametrize(
    ("rows", "looks", "expected", "why"),
    [
        (some(FULL, 0, queue="mq"), [], [(None, "single-gpu")], "a GPU or a slice of one"),
        (some(TWO, 0, queue="mq"), [], [(None, None)], "two GPUs, or less than one"),
        (some(TWO, 0), [], [(2, "multi-gpu")], "a queue without slices"),
        (some(TWO, 0, queue="mq,gq"), [], [(None, None)], "either queue"),
        (some(TWO, 0, queue="mq") + some(TYPED, 1, queue="mq"), [], [(2, "multi-gpu"), (3 / 7, "single-gpu")],
         "types are tracked"),
        (some("cpu=1,gres/gpu=2,gres/gpu:a100=2", 0, queue="mq"), [], [(2, "multi-gpu")], "it names its type"),
        (some(TWO, 5, 15, queue="mq"), [(0, ",gres/gpu"), (10, ",gres/gpu,gres/gpu:a100_3g.20gb")],
         [(None, None), (2, "multi-gpu")], "until the type is tracked"),
        (some(TWO, 5, queue="mq"), [(0, ",gres/gpu,gres/gpu:a100")], [(None, None)], "another type is tracked"),
    ],
)  # fmt: skip
def test_gpus_of_no_type_may_be_slices_where_nodes_have_them(
    tmp_path: Path,
    rows: list[tuple[int, str, int, str]],
    looks: list[tuple[int, str]],
    expected: list[tuple[float | None, str | None]],
    why: str,
) -> None:
    db = load(tmp_path, "AllocTRES", rows, MIG)
    looked_at(db, *looks)
    found = runs(db)
    assert [size for size, _ in found] == pytest.approx([size for size, _ in expected]), why
    assert [name for _, name in found] == [name for _, name in expected], why


@pytest.mark.parametrize(
    ("tres", "expected", "why"),
    [
        ("cpu,gres/gpu", ["gres/gpu:a100_3g.20gb"], "slices look like GPUs"),
        ("cpu,gres/gpu,gres/gpu:a100_3g.20gb", [], "what is whole needs no type"),
        ("cpu,gres/gpu:a100,gres/gpu:a100_3g.20gb", [], "all types"),
        ("cpu", ["gres/gpu", "gres/gpu:a100_3g.20gb"], "nothing"),
    ],
)
def test_the_types_of_slices_are_named_where_accounting_lacks_them(tres: str, expected: list[str], why: str) -> None:
    assert lacking(MIG, tres) == expected, why


def test_runs_of_before_a_node_was_cut_are_of_whole_gpus(tmp_path: Path) -> None:
    db = load(tmp_path, "AllocTRES", some(TWO, 5, 15), [node("g1", {"a100": 2}, "gq")])
    with closing(sqlite3.connect(db)) as trace, trace:
        trace.execute("UPDATE node SET since = ?", (NOW,))
        trace.execute("CREATE TEMP TABLE cut AS SELECT * FROM node")
        trace.execute("UPDATE cut SET since = ?, gpu_types = 'a100_1g.5gb:14', gpus = 14", (NOW + 10,))
        trace.execute("INSERT INTO node SELECT * FROM cut")
        refresh(trace, GpuSettings())
    assert [size for size, _ in runs(db)] == [2, None]


def test_types_that_no_run_names_are_not_tracked(tmp_path: Path) -> None:
    nodes = [node("g1", {"a100": 2}, "aq"), node("g2", {"v100": 2}, "vq"), node("c1", {}, "cq")]
    rows = some("cpu=1,gres/gpu:a100=1", 0, queue="aq") + some(NONE, 1, queue="vq") + some(NONE, 2, queue="aq")
    assert [size for size, _ in runs(load(tmp_path, "AllocTRES", rows, nodes))] == [1, None, 0]


def test_a_row_that_is_read_again_has_the_gpus_of_its_newer_text(tmp_path: Path) -> None:
    for text, expected in (
        ("gres/shard=4", (0, "shard=4")),
        ("gres/gpu=2", (2, None)),
        ("gres/gpu=x", (None, "?")),
        ("", (None, "?")),
        ("gres/gpu=1,gres/gpu:1g.5gb=1", (0, "slice:1g.5gb=1")),
    ):
        assert runs(load(tmp_path, "AllocTRES", [(NOW, "gq", 1, text)], []), "gpus, gpu_parts") == [expected], text
