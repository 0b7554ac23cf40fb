"""A measure answers the same however the rows of alike jobs are put together, and in whichever order they come."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
import pytest

from adminkit.job import Job
from adminkit.stats import taken
from adminkit.stats.taken import Alike, alike, alikes
from adminkit.trace.columns import Texts
from adminkit.trace.connect import reader
from adminkit.trace.months import door
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.months import keep

T = TypeVar("T")
DAY = 24 * HOUR


def random_jobs(random: Random, many: int = 250) -> list[Job]:
    """Jobs many of which are alike, over four months and two clusters; anything that may be unknown is, of some."""

    def some(*values: Any) -> Any:
        return random.choice(values)

    def one(number: int) -> Job:
        elapsed = some(0, 30, 61, 61, HOUR, HOUR, 3 * HOUR + 1, 7 * HOUR, None)
        start = MONDAY + random.randrange(16) * 8 * DAY + some(0, 0, 1, 5 * HOUR)
        submit = start - some(0, 1, 60, DAY) - number  # the key of a run
        ended = elapsed is not None and random.random() < 0.95
        return job(
            number,
            cluster=some("aaic", "aaic", "aaic", "b"),
            queue=some("gq", "gq", "long", "a,b", None),
            user=some("ada", "ada", "bob", "eve", None),
            uid=some(1, 1, 2, None),
            account=some("vision", "speech", None),
            state=some("COMPLETED", "COMPLETED", "TIMEOUT", "FAILED", "CANCELLED", "NODE_FAIL", "NEW", None),
            reason=some(None, None, "None", "Resources", "Priority", "Dependency", "NodeDown"),
            cancelled_by=some(None, 1, 2),
            exit_code=some(0, 0, 1, 2, 85, None),
            exit_signal=some(0, None, 53),
            derived_exit_code=some(0, None, 1),
            submit_time=submit,
            eligible_time=some(submit, submit, submit + 30, None),
            start_time=some(start, start, start, None),
            end_time=start + (elapsed or 0) if ended else None,
            elapsed=elapsed,
            time_limit=some(HOUR, HOUR, 4 * HOUR, 24 * HOUR, None),
            limit_kind=some("finite", "finite", "unlimited", "partition"),
            limit_source=some("explicit", "default", "stated", "unknown"),
            restarts=some(0, 0, 0, 1, None),
            nodes=some(1, 1, 2, None),
            cpus=some(1, 8, 8, 64, 0, None),
            gpus=some(0, 1, 1, 4, None),
            req_mem=some(1 << 30, 3 << 30, None),
            mem=some(1 << 30, 10**10 + 1, None),
            max_rss=some(1 << 28, 12345678, None),
            cpu_time=some(1.25, 3600.5, 7200.0, None),
            energy=some(0, 10**6, 12345, None),
            node_list=some("n1", "n1", "n[1-2]", None),
            job_name=some("train", "train", "é", None),
            framework=some("pytorch", "mpi", None),
            program=some("train.py", None),
            container=some("apptainer", None),
        )  # fmt: skip

    return [one(number) for number in range(1, many + 1)]


def check(
    patch: pytest.MonkeyPatch,
    folder: Path,
    module: ModuleType | Sequence[ModuleType],
    measure: Callable[[sqlite3.Connection], T],
    *,
    jobs: Callable[[Random], list[Job]] = random_jobs,
    queues: Sequence[tuple[str, str, int, int | None, int | None]] = (("aaic", "gq", 0, HOUR, 4 * HOUR),),
    seeds: int = 4,
    files: bool = True,
) -> None:
    """Compare, with ==, what `measure` answers about random traces when alike() or alikes() of `module` have rows put
    together differently, and when files of months answer. Return what is to be compared from it: no array. `files`
    is false for a measure of which SQLite answers a part.
    """
    modules = [module] if isinstance(module, ModuleType) else module
    for seed in range(seeds):
        folder.mkdir(exist_ok=True)
        path = make_trace(folder / f"random-{seed}.db", jobs(Random(seed)), queues)
        with reader(path) as db:
            wanted = measure(db)
            for nth in range(3):
                random = np.random.default_rng(100 * seed + nth)
                used: list[str] = []

                with patch.context() as patched:
                    for one in modules:
                        _patch(patched, one, random, used)
                    assert measure(db) == wanted, f"seed {seed}, grouping {nth}"
                assert used, "the measure has not called alike()"
        _with_files(patch, path, modules, measure, wanted, files=files)


def _with_files(
    patch: pytest.MonkeyPatch,
    path: Path,
    modules: Sequence[ModuleType],
    measure: Callable[[sqlite3.Connection], T],
    wanted: T,
    *,
    files: bool,
) -> None:
    pytest.importorskip("duckdb")
    assert keep(path)
    asked: list[bool] = []

    def reads_files(*args: Any) -> bool:
        asked.append(door.reads_files(*args))
        return asked[-1]

    with patch.context() as patched, reader(path) as db:
        patched.setattr(taken, "reads_files", reads_files)
        assert measure(db) == wanted, "from files"
    assert asked, "the measure has not asked for files"
    assert all(asked) or not files, "a part is read from SQLite"


def _patch(patch: pytest.MonkeyPatch, module: ModuleType, random: np.random.Generator, used: list[str]) -> None:
    def one(*args: Any, **more: Any) -> Alike:
        used.append("")
        return regroup(alike(*args, **more), random)

    def several(*args: Any, **more: Any) -> list[Alike]:
        used.append("")
        return [regroup(rows, random) for rows in alikes(*args, **more)]

    for name, otherwise in (("alike", one), ("alikes", several)):
        if hasattr(module, name):
            patch.setattr(module, name, otherwise)


def regroup(rows: Alike, random: np.random.Generator) -> Alike:
    """The same jobs: equal rows are put together, all or some of them, and shuffled; the types of columns differ."""
    apart = random.integers(0, random.integers(1, 5), len(rows.many))  # rows of different parts stay apart
    keys: dict[tuple[Any, ...], list[int]] = {}
    texts = [[one.names[code] for code in one.codes.tolist()] for one in rows.texts]
    numbers = [[None if value != value else value for value in one.tolist()] for one in rows.numbers]
    for place in random.permutation(len(rows.many)).tolist():
        keys.setdefault((apart[place], *(one[place] for one in (*texts, *numbers))), []).append(place)
    members = list(keys.values())
    first = np.array([one[0] for one in members], np.int64)

    def summed(of: Any) -> Any:
        return np.array([int(of[one].sum()) for one in members], np.int64)

    return Alike(
        [_recoded(Texts(one.codes[first], one.names), random) for one in rows.texts],
        [_widened(one[first], random) for one in rows.numbers],
        summed(rows.many),
        [summed(one) for one in rows.sums],
        [_largest(one, members) for one in rows.most],
        rows.jobs,
        rows.excluded,
    )


def _recoded(texts: Texts, random: np.random.Generator) -> Texts:
    """The same texts with other codes."""
    order = random.permutation(len(texts.names))
    names = [texts.names[place] for place in order.tolist()]
    return Texts(np.argsort(order)[texts.codes].astype(np.int32), names)


def _widened(values: Any, random: np.random.Generator) -> Any:
    """The same numbers in a type that holds them, too."""
    return values.astype(np.float64 if values.dtype.kind == "f" else (np.int64, np.float64)[random.integers(2)])


def _largest(values: Any, members: Sequence[Sequence[int]]) -> Any:
    if values.dtype.kind != "f":
        return np.array([values[one].max() for one in members], np.int64)
    return np.array([np.fmax.reduce(values[one]) for one in members], np.float64)
