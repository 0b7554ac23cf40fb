"""Jobs that become several, one after the other: `after` is the place of the job that has to end first.

A piece is eligible `delay` seconds after that end. The wait of a job is the sum of its pieces' waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from adminkit.simulate.case import Case, Column, Mask, take, with_columns, with_facts

#: The most further pieces of one job, where nobody knows how many it needs.
MOST_PIECES: Final = 100


def again(case: Case, cut: Mask, limit: Column) -> Case:
    """The case with a second run of each job of `cut`, with its `limit`, once its first has ended."""
    import numpy as np

    which = np.flatnonzero(cut)
    if not len(which):
        return case
    second = _followers(case, which, np.full(len(which), 0))
    columns = {"limit": second.column("limit").copy()}
    columns["limit"][case.count :] = limit[which]
    return with_columns(second, **columns)


def split(case: Case, which: Column, runs: Sequence[Sequence[int]], most: int, delay: int) -> Case:
    """The jobs `which` as pieces of at most `most`: `runs` has for each of them what its pieces run.

    A piece is eligible `delay` seconds after the end of the one before.
    """
    import numpy as np

    if not len(which):
        return case
    run, limit = case.column("run").copy(), case.column("limit").copy()
    run[which], limit[which] = [one[0] for one in runs], most
    first = with_columns(case, run=run, limit=limit)
    more = np.array([len(one) - 1 for one in runs], np.int64)
    whole = first
    before = np.array(which)
    for number in range(1, int(more.max(initial=0)) + 1):
        left = np.flatnonzero(more >= number)
        at = whole.count
        whole = _followers(whole, before[left], np.full(len(left), delay))
        run, limit = whole.column("run").copy(), whole.column("limit").copy()
        run[at:], limit[at:] = [runs[job][number] for job in left.tolist()], most
        whole = with_columns(whole, run=run, limit=limit)
        before[left] = np.arange(at, whole.count)
    return whole


def resumed(case: Case, which: Column, lost: int, delay: int) -> Case:
    """The jobs `which` with as many further pieces as they may need: each comes only if the one before was ended at its
    limit, and does again what was done in its last `lost` seconds.

    What a job runs of its need is known in the run only; so this many are enough where no limit is raised, or more are.
    """
    import numpy as np

    if not len(which):
        return case
    run, limit = case.column("run")[which], case.column("limit")[which]
    more = np.minimum(np.ceil(np.maximum(run - limit, 0) / (limit - lost)).astype(np.int64), MOST_PIECES)
    whole, before = case, np.array(which)
    for number in range(1, int(more.max(initial=0)) + 1):
        left = np.flatnonzero(more >= number)
        at = whole.count
        whole = _followers(whole, before[left], np.full(len(left), delay))
        new = np.arange(whole.count) >= at
        whole = with_columns(
            whole,
            if_killed=np.where(new, 1, whole.column("if_killed", 0)),
            resume=np.where(new, lost, whole.column("resume")),
        )
        before[left] = np.arange(at, whole.count)
    return whole


def _followers(case: Case, which: Column, delay: Column) -> Case:
    """The case and, behind it, a copy of each job of `which` that comes after it."""
    import numpy as np

    added = len(which)
    places = np.concatenate([np.arange(case.count), which])
    after, wait = case.column("after"), case.column("delay", 0)
    jobs = {name: column for name, column in case.request.jobs.items() if name not in ("after", "delay")}
    bare = replace(case, request=replace(case.request, jobs=jobs))
    more = take(bare, places)
    ids, piece = more.column("id").copy(), more.facts["piece"].copy()
    ids[case.count :] = int(ids.max(initial=0)) + 1 + np.arange(added)
    piece[case.count :] += 1
    more = with_facts(more, piece=piece)
    return with_columns(more, id=ids, after=np.concatenate([after, which]), delay=np.concatenate([wait, delay]))
