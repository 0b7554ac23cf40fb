"""What the commands of `adminkit recommend` have in common: their options, and the runs that they learn from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from adminkit.cli.own import opened
from adminkit.errors import UsageError
from adminkit.recommend.freed import Held
from adminkit.recommend.menu import LEAST_RISK, MOST_RISK
from adminkit.recommend.predict import Rule
from adminkit.reports.recommend import History
from adminkit.sqlite import sqlite3
from adminkit.stats.runs import Kind
from adminkit.stats.select import Filter, check_words, clusters
from adminkit.stats.sources import by_source
from adminkit.stats.waste_freed import Freed, freed

User = Annotated[str | None, typer.Option("--user", "-u", metavar="NAME", help="Whose job it is.")]
Name = Annotated[str | None, typer.Option("--name", "-J", metavar="NAME", help="The job's name.")]
Queue = Annotated[str | None, typer.Option("--queue", "--partition", "-p", metavar="NAME", help="The job's queue.")]
Cluster = Annotated[str | None, typer.Option("--cluster", "-M", metavar="NAME", help="Only this cluster.")]
Nodes = Annotated[int | None, typer.Option("--nodes", "-N", min=1, help="Nodes that the job asks for.")]
Cpus = Annotated[int | None, typer.Option("--cpus", min=1, help="CPUs that the job asks for, on all nodes.")]
Gpus = Annotated[int | None, typer.Option("--gpus", "-G", min=0, help="GPUs that the job asks for, on all nodes.")]
Limit = Annotated[
    str | None,
    typer.Option(
        "--time", "-t", metavar="TIME", help="The limit that the user would type: seconds, 15m, 1h30m, 02:00:00."
    ),
]
RiskOfLimit = Annotated[
    float | None,
    typer.Option(
        "--risk",
        help="The share of runs that may need more than the safe limit. Default: the risk in policy.toml.",
        min=LEAST_RISK,
        max=MOST_RISK,
        show_default=False,
    ),
]
RiskOfSize = Annotated[
    float,
    typer.Option(
        "--risk", help="The share of runs that may need more than the safe size.", min=LEAST_RISK, max=MOST_RISK
    ),
]
Backtest = Annotated[
    bool,
    typer.Option(
        "--backtest", help="Test recommendations on all runs (of --user, if given), and show how good they are."
    ),
]


@dataclass(frozen=True, slots=True)
class Asked:
    """The job, with the user that is meant (None: everybody's, for a backtest), in the trace to learn from."""

    trace: sqlite3.Connection
    kind: Kind
    database: str

    @property
    def users(self) -> list[str]:
        """Whose runs to read; [] for everybody's."""
        return _listed(self.kind.user)

    @property
    def clusters(self) -> list[str]:
        """The clusters to read; [] for all."""
        return _listed(self.kind.cluster)

    @property
    def sites(self) -> list[str]:
        """The clusters whose outcomes steer the risk."""
        return self.clusters or clusters(self.trace)

    def history(self, risk: float, untimed: int = 0) -> History:
        """What the report says of the runs."""
        sources = by_source(self.trace, self.users, self.clusters)
        return History(self.kind, Rule(risk=risk), self.database, clusters(self.trace), sources, untimed)


@contextmanager
def asked(
    path: Path | None, kind: Kind, *, backtest: bool, fresh: bool, as_of: int | None, code: int
) -> Iterator[Asked]:
    """The runs to learn from. `path` None: the caller's own, from sacct. `code`: of a checkpoint run.

    UsageError for a word that the trace does not know, for no user, and for a backtest of one kind of job.
    """
    if backtest and any(value is not None for value in kind[2:]):
        raise UsageError("--backtest tries every run", "leave out all but --user, --cluster and --risk")
    with opened(path, kind.cluster, kind.user, fresh, as_of) as (trace, user, database):
        if not backtest and user is None:
            raise UsageError("whose job is it?", "name the user with --user, or try every run with --backtest")
        found = Asked(trace, kind._replace(user=user), database)
        known = found.users if path is not None else []  # a user without jobs is still a user
        words = Filter(found.clusters, users=known, queues=_listed(kind.queue), checkpoint_code=code)
        check_words(trace, words)
        yield found


def freed_on(of: Asked, now: int, what: str, given: Held, code: int) -> dict[str, Freed | None]:
    """The GPUs that these sizes of `what` (mem, cpu) would have set free on each cluster; of everybody's runs only."""
    if of.users:
        return {}
    return {
        cluster: freed(of.trace, cluster, now, what, given.of_cluster.get(cluster, {}), checkpoint_code=code)
        for cluster in of.sites
    }


def _listed(word: str | None) -> list[str]:
    return [] if word is None else [word]
