"""Three months of jobs on a busy pool, and questions about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from adminkit.recommend.menu import Offer
from adminkit.simulate.case import Case, with_columns
from adminkit.simulate.change import Sources
from adminkit.tune.measured import LATE
from adminkit.tune.race import Goal
from adminkit.tune.search import Question, question
from tests.simulate.cases import case
from tests.tune.spaces import Space, space

DAY = 86_400
#: More or fewer processors: what everybody gains by, and what everybody loses by.
#: More processors are used less.
GOAL = Goal(keeps=(LATE, "lost_hours"))
PROCESSORS = space(("nodes.factor", (0.75, 1.5)))


def months(jobs: int = 1500, days: int = 90, seed: int = 1, **parts: Any) -> Case:
    """Jobs of twelve users, in the model easy, as many as keep four processors busy."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, days * DAY, jobs))
    submit[0], submit[-1] = 0, days * DAY
    procs = rng.integers(1, 4, jobs)
    run = (rng.uniform(0.2, 1.8, jobs) * 4 * days * DAY * 0.85 / (jobs * procs.mean())).astype(int)
    users = rng.integers(0, 12, jobs).tolist()
    return case(submit.tolist(), run.tolist(), (run * 2).tolist(), procs.tolist(), users=users, model="easy", **parts)


def asked(found: Case | None = None, levers: Space = PROCESSORS, goal: Goal | None = None, **parts: Any) -> Question:
    """A question about these months."""
    return question(Sources(found or months(), Path(), Offer()), levers, goal or GOAL, **parts)


def later_changed(found: Case, cut: int) -> Case:
    """The same with other runs of every job that was submitted at the cut or later."""
    later = found.column("submit") >= cut
    return with_columns(found, run=np.where(later, found.column("run") * 3, found.column("run")))
