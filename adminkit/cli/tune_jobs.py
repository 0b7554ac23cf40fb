"""adminkit tune --slurm: the same search as jobs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from adminkit.cli.simulate_scenarios import Opened, Place
from adminkit.render.say import say

if TYPE_CHECKING:
    from adminkit.simulate.answer import Effort

#: Options that a job of Slurm is told in another way, or not at all.
_ELSEWHERE: Final = (
    "file", "slurm", "sbatch", "shard", "since", "until", "as_of", "keep", "evaluations", "budget", "format", "output",
    "picture", "write",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Jobs:
    """How a search becomes jobs of Slurm: tasks of each array, sbatch's options, and the search's evaluations."""

    tasks: int
    options: list[str]
    evaluations: int


def submit(jobs: Jobs, context: typer.Context, effort: Effort, found: Opened, place: Place) -> None:
    """Submit the search. Its jobs are told numbers where a date or a budget was typed, which they would read later."""
    from adminkit.tune.race import rounds_of
    from adminkit.tune.shards import NAME, submitted

    assert effort.keep is not None
    keep, typed = effort.keep.absolute(), context.params
    keep.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Trap: with only -m, the job's folder is where Python looks first, and others may write there.
    words = [sys.executable, "-P", "-m", "adminkit", "tune", str(typed["file"].absolute()), *_again(context)]
    edges = {"--since": found.filter.since, "--until": found.filter.until, "--as-of": place.when.as_of}
    moments = {name: f"@{at}" for name, at in edges.items() if at is not None}
    numbers = {**moments, "--keep": keep, "--evaluations": jobs.evaluations}
    words += [word for name, value in numbers.items() for word in (name, str(value))]
    last = ["--format", typed["format"].value]
    for name in ("output", "picture", "write"):
        last += [] if typed[name] is None else [f"--{name}", str(typed[name].absolute())]
    ids = submitted(words, last, rounds_of(jobs.evaluations), jobs.tasks, Path.cwd(), keep, jobs.options)
    where = typed["output"] or keep / f"slurm-{ids[-1]}.out"
    say(f"submitted {len(ids)} jobs, {ids[0]} to {ids[-1]}; the last one writes the answer to {where}")
    say(f"to stop them: scancel --name={NAME} --me")


def _again(context: typer.Context) -> list[str]:
    """The options that were typed and mean the same in a job."""
    words: list[str] = []
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.name in _ELSEWHERE or value is None or value == parameter.default:
            continue
        name = parameter.opts[-1]
        words += [name] if value is True else [name, str(getattr(value, "value", value))]
    return words
