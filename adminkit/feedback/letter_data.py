"""What letters need of the trace, read for many users at a time: one pass serves a few hundred letters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from adminkit.feedback.letter import DigestLetter, Due, JobLetter, OperatorLetter
from adminkit.feedback.memory_known import MemoryKnown, Sized
from adminkit.feedback.site_findings import of_queues
from adminkit.feedback.site_known import SiteKnown
from adminkit.findings.finding import Finding
from adminkit.findings.overestimate import Limits
from adminkit.recommend.advice import Advice, History, levels_of
from adminkit.recommend.control import Control, trace_control
from adminkit.recommend.gpus import GpuAdvice, advise, known_of
from adminkit.recommend.menu import Offer
from adminkit.recommend.recent import Recent
from adminkit.sqlite import sqlite3
from adminkit.stats.due import Ended, ended_one
from adminkit.stats.lost import LostWeek, lost_week
from adminkit.stats.progress import Ran, progress
from adminkit.stats.runs import Kind, Run, queue_maximum, runs
from adminkit.stats.select import Filter
from adminkit.stats.waiting import Line, waiting
from adminkit.stats.weeks import WEEK, Name, Week, names, weeks

if TYPE_CHECKING:
    from adminkit.config import Config

#: Users whose runs are held in memory at a time.
PEOPLE: Final = 200
#: A recommendation learns from this many runs of a user, of at most this age in seconds.
RUNS: Final = 600
AGE: Final = 90 * 86_400
#: Weeks in the chart of a digest, with the one that it is about.
WEEKS: Final = 5


def counted(settings: Config, cluster: str, since: int, until: int, people: Sequence[str] = ()) -> Filter:
    """The runs that letters judge a user by: those that ended in [since, until) and count in a report."""
    usual = settings.report
    return Filter(
        [cluster],
        since,
        until,
        users=people,
        states=usual.states,
        min_elapsed=usual.min_elapsed,
        acting=True,
        checkpoint_code=settings.checkpoint.code,
    )


def worth_a_letter(settings: Config) -> Limits:
    """The limits beyond which a run causes a letter."""
    feedback = settings.feedback
    return Limits(feedback.used_fraction, feedback.unused_hours * 3600, feedback.min_elapsed, feedback.well)


def lost_enough(settings: Config) -> float:
    """GPU-seconds, 16 CPU-seconds for one, that a job has to have lost for a letter about that."""
    return settings.feedback.lost_hours * 3600


#: How much longer a run may take on another number of GPUs that a letter names.
GPUS_SLOWER: Final = 0.05


class Known:
    """Runs, weeks and advice of the users of `dues`, read from one state of the trace; others can be asked for too."""

    def __init__(self, db: sqlite3.Connection, settings: Config, offer: Offer, now: int, dues: Iterable[Due]) -> None:
        self._db = db
        self._settings = settings
        self._offer = offer
        self._now = now
        self._order: dict[str, dict[str, None]] = defaultdict(dict)
        for due in dues:
            if isinstance(due, JobLetter | DigestLetter):
                self._order[due.cluster][due.user] = None
        self._runs: dict[tuple[str, str], Sequence[Run]] = {}
        self._names: dict[tuple[str, int, str], Mapping[str | None, Name]] = {}
        self._weeks: dict[tuple[str, int, str], Sequence[Week]] = {}
        self._lost: dict[tuple[str, int, str], LostWeek | None] = {}
        self._lines: dict[tuple[int, int], dict[tuple[str, str | None], Line]] = {}
        self._advice: dict[Kind, Advice] = {}
        self._progress: dict[str, dict[tuple[str, str], list[Ran]]] = {}  # of everybody on a cluster, when it is asked
        self._of: tuple[str | None, str | None] = (None, None)
        self._histories: dict[tuple[tuple[str, ...], ...], History] = {}  # of that person, by what is known of a job
        self._controls: dict[str, Control] = {}
        self._most: dict[tuple[str | None, str], int | None] = {}
        self.site = SiteKnown(db, now)
        self.sizes = MemoryKnown(db, now - AGE, RUNS, settings.checkpoint.code)

    @property
    def menu(self) -> Sequence[int]:
        """The limits that the site recommends, seconds."""
        return self._offer.menu

    @property
    def checkpoint_code(self) -> int:
        """A program exits with it that has more to do."""
        return self._settings.checkpoint.code

    @property
    def lost_enough(self) -> float:
        """GPU-seconds, 16 CPU-seconds for one, that a job has to have lost for a letter."""
        return lost_enough(self._settings)

    def ended(self, due: JobLetter) -> Ended | None:
        """What made the letter due."""
        return ended_one(
            self._db, due.cluster, due.job_id_raw, due.submit_time, self._now, self.checkpoint_code,
            is_array=due.is_array,
        )  # fmt: skip

    def runs(self, cluster: str, user: str) -> Sequence[Run]:
        """The last runs of a user, by submission; of an array a sample."""
        if (cluster, user) not in self._runs:
            people = self._next(cluster, user)
            last = {name: Recent(RUNS) for name in people}
            code = self._settings.checkpoint.code
            for run in runs(self._db, people, [cluster], self._now - AGE, acting=True, checkpoint_code=code):
                last[run.kind.user or ""].add(run)
            self._advice = {}
            self._runs = {(cluster, name): mine.runs() for name, mine in last.items()}
        return self._runs[cluster, user]

    def advice(self, kind: Kind) -> Advice:
        """A limit for the user's next job of this kind."""
        mine = self.runs(kind.cluster or "", kind.user or "")
        if kind not in self._advice:
            history = self._history(kind, mine)
            self._advice[kind] = history.advice(kind, self.maximum(kind))
        return self._advice[kind]

    def _history(self, kind: Kind, mine: Sequence[Run]) -> History:
        """Letters come user by user, so only one user's are kept."""
        if (kind.cluster, kind.user) != self._of:
            self._of, self._histories = (kind.cluster, kind.user), {}
        levels = levels_of(kind)
        if levels not in self._histories:
            risk = self._control(kind.cluster or "").risk(kind.cluster, kind.user)
            self._histories[levels] = History(mine, self._offer, levels, risk)
        return self._histories[levels]

    def _control(self, cluster: str) -> Control:
        if cluster not in self._controls:
            code = self._settings.checkpoint.code
            self._controls[cluster] = trace_control(
                self._db, [cluster], self._offer.risk, acting=True, checkpoint_code=code
            )
        return self._controls[cluster]

    def names(self, due: DigestLetter) -> Mapping[str | None, Name]:
        """The runs of a digest's week, by job name."""
        self._read_week(due)
        return self._names[due.cluster, due.since, due.user]

    def gpus(self, due: DigestLetter, name: str) -> GpuAdvice | None:
        """How many GPUs the user's runs of that name should have, by their progress; None where that says nothing."""
        if due.cluster not in self._progress:
            watts = self._settings.energy.node_watts
            self._progress[due.cluster] = progress(self._db, self._now, watts, cluster=due.cluster)
        ran = self._progress[due.cluster].get((due.user, name), [])
        return advise(known_of(ran), ran[0].gpus, GPUS_SLOWER) if ran else None

    def memory(self, due: DigestLetter, name: str) -> Sized | None:
        """The memory that the user's runs of that name needed on a node; None for nothing."""
        return self.sizes.of_name(due.cluster, self._next(due.cluster, due.user), name)

    def weeks(self, due: DigestLetter) -> Sequence[Week]:
        """The week of a digest and those before it, the oldest first."""
        self._read_week(due)
        return self._weeks[due.cluster, due.since, due.user]

    def lost(self, due: DigestLetter) -> LostWeek | None:
        """What the runs of a digest's week lost; None for nothing."""
        self._read_week(due)
        return self._lost[due.cluster, due.since, due.user]

    def cluster_weeks(self, due: OperatorLetter, many: int) -> Sequence[Week]:
        """The last `many` weeks of all users together, the oldest first."""
        filter = counted(self._settings, due.cluster, due.until - many * WEEK, due.until)
        return weeks(self._db, filter, many, by_user=False)[None]

    def site_findings(self, due: OperatorLetter, many: int) -> list[Finding]:
        """What the operators could do better about their queues, the largest at stake first, at most `many`."""
        week = counted(self._settings, due.cluster, due.since, due.until)
        found = [one for one in of_queues(self._db, week, self._now) if one.severity == "warn"]
        return sorted(found, key=lambda one: -one.at_stake)[:many]

    def _read_week(self, due: DigestLetter) -> None:
        if (due.cluster, due.since, due.user) in self._weeks:
            return
        people = self._next(due.cluster, due.user)
        if (due.since, due.until) not in self._lines:
            self._lines = {(due.since, due.until): waiting(self._db, due.since, due.until)}
        week = counted(self._settings, due.cluster, due.since, due.until, people)
        before = counted(self._settings, due.cluster, due.until - WEEKS * WEEK, due.until, people)
        named = names(self._db, week, self._lines[due.since, due.until])
        weekly = weeks(self._db, before, WEEKS, by_user=True)
        lost = lost_week(self._db, due.cluster, due.since, due.until, people)
        none = [Week()] * WEEKS
        self._lost = {(due.cluster, due.since, user): lost.get(user) for user in people}
        self._names = {(due.cluster, due.since, user): named.get(user, {}) for user in people}
        self._weeks = {(due.cluster, due.since, user): weekly.get(user, none) for user in people}

    def _next(self, cluster: str, user: str) -> list[str]:
        """This user and those whose letters follow, PEOPLE at most."""
        order = self._order[cluster]
        order.setdefault(user)
        users = list(order)
        first = users.index(user)
        return users[first : first + PEOPLE]

    def maximum(self, kind: Kind) -> int | None:
        """The maximum of its queue, seconds; None for none."""
        if kind.queue is None:
            return None
        key = kind.cluster, kind.queue
        if key not in self._most:
            self._most[key] = queue_maximum(self._db, kind.queue, kind.cluster, self._now)
        return self._most[key]
