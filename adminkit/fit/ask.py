"""Asks Slurm, each thing at most once every five seconds, and gives verdicts: for fit, the profiles and a hub."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from adminkit.errors import AdminkitError
from adminkit.fit.licences import by_licences
from adminkit.fit.limits import by_limits
from adminkit.fit.needs import total_of
from adminkit.fit.place import Board, Said, board, by_vectors, free_for
from adminkit.fit.profiles import Profile, smaller_profiles
from adminkit.fit.request import Request
from adminkit.fit.verdict import OFFERED, Answer, Start, verdict
from adminkit.messages import message
from adminkit.slurm.assoc_limits import Held, held
from adminkit.slurm.licences import Licences, licences
from adminkit.slurm.process import User
from adminkit.slurm.room import Room, RoomQueue, room
from adminkit.slurm.will_run import why_not, will_run

T = TypeVar("T")

#: Seconds for which an answer of Slurm's counts.
KEPT_SECONDS: Final = 5.0
#: Smaller requests that Slurm is asked of, and the shortest limit that is offered in place of another, seconds.
TRIED: Final = 4
SHORTEST: Final = 600
#: Seconds by which a limit is shorter than the room lasts: until somebody has typed it and backfill has looked.
HASTE: Final = 120
_MOST_KEPT: Final = 500


class _Answers:
    """What is kept. Each question has a lock of its own, so that one who waits for an answer holds up no other."""

    def __init__(self) -> None:
        self.lock = threading.Lock()  # held for a moment
        self.kept: dict[tuple[Hashable, ...], tuple[float, Any]] = {}
        self.asking: dict[tuple[Hashable, ...], threading.Lock] = {}

    def once(self, key: tuple[Hashable, ...], ask: Callable[[], T]) -> T:
        """What is kept of this question, or its answer now. Errors are not kept."""
        with self.lock:
            mine = self.asking.setdefault(key, threading.Lock())
        with mine:
            at: float
            found: T | None
            with self.lock:
                at, found = self.kept.get(key, (0.0, None))
            if found is not None and time.monotonic() < at + KEPT_SECONDS:
                return found
            found = ask()
            with self.lock:
                if len(self.kept) >= _MOST_KEPT:
                    self.kept.clear()
                    self.asking.clear()
                self.kept[key] = (time.monotonic(), found)
            return found

    def forget(self, which: Callable[[tuple[Hashable, ...]], bool]) -> None:
        """Ask these questions again, without waiting for an answer that is under way."""
        with self.lock:
            for table in (self.kept, self.asking):
                for key in [one for one in table if which(one)]:
                    del table[key]


_answers: Final = _Answers()
_once: Final = _answers.once


def forget() -> None:
    """Ask again, whatever is kept."""
    _answers.forget(lambda key: True)


def forget_of(who: User) -> None:
    """Ask again what Slurm would say to this user; what is kept of the nodes and of others stays."""
    _answers.forget(lambda key: key[1:2] == (who.uid,))


def current() -> Board:
    """The nodes as they are, at most five seconds old. AdminkitError when slurmctld is away or hides them."""
    return _once(("board",), lambda: board(room(int(time.time()))))


def answer(request: Request, who: User, *, test: bool = True, instead: bool = True) -> Answer:
    """The verdict on a request of this user; without `test` Slurm's own test is left out, and now is not said."""
    return answer_on(current(), request, who, test=test, instead=instead)


def answer_on(now: Board, request: Request, who: User, *, test: bool = True, instead: bool = True) -> Answer:
    """Like `answer`, on a snapshot: for many requests at once."""
    start = _start(now, request, who, test)
    if not instead or start.verdict in (*OFFERED, "unknown"):
        return Answer(request, start)
    found: list[Request] = []
    for other in smaller(now, request):
        if len(found) == TRIED // 2:
            break
        if _start(now, other, who, test).verdict in OFFERED:
            found.append(other)
    return Answer(request, start, tuple(found))


def smaller(now: Board, request: Request) -> Iterator[Request]:
    """Requests that node vectors have room for now, the nearest first: shorter, without the type, then of less."""
    tried: set[Request] = set()
    for one in _candidates(now, request):
        if one not in tried and by_vectors(now, one).word == "now":
            tried.add(one)
            yield one
            if len(tried) == TRIED:
                return


def _candidates(now: Board, request: Request) -> Iterator[Request]:
    yield from _shorter(now, request)
    if request.gpu_type is not None:
        yield replace(request, gpu_type=None)
    for less in _less(request):
        yield less
        yield from _shorter(now, less)


def _shorter(now: Board, request: Request) -> Iterator[Request]:
    queue, lasts = now.room.queue(request.queue), free_for(now, request)
    longest = queue is not None and lasts == queue.max_limit
    seconds = (lasts if longest else lasts - HASTE) // 60 * 60
    asked = request.time_limit or (None if queue is None else queue.default_limit)
    if seconds >= SHORTEST and (asked is None or seconds < asked):
        yield replace(request, time_limit=seconds)


def _less(request: Request) -> Iterator[Request]:
    """Fewer nodes; fewer GPUs with their part of CPUs and memory; without GPUs half as much, again and again."""
    if request.per_node is None:
        tasks = request.tasks // 2
        while tasks >= max(2, request.nodes or 1):
            yield replace(request, ntasks=tasks)
            tasks //= 2
        return
    for nodes in range((request.nodes or 1) - 1, 0, -1):
        yield replace(request, nodes=nodes)
    if request.gpus > 1:
        for gpus in range(request.gpus - 1, 0, -1):
            share = gpus / request.gpus
            yield _scaled(replace(request, gpus=gpus), share)
        return
    if request.shares > 1:
        yield from (replace(request, shares=shares) for shares in range(request.shares - 1, 0, -1))
    share = 0.5
    while request.cpus * share >= 1 or (request.mem or 0) * share >= 1 << 30:
        yield _scaled(request, share)
        share /= 2


def _scaled(request: Request, share: float) -> Request:
    mem = None if request.mem is None else -(-int(request.mem * share) // (1 << 20)) * (1 << 20)
    return replace(request, cpus=max(1, round(request.cpus * share)), mem=mem)


def _start(now: Board, request: Request, who: User, test: bool) -> Start:
    sources = by_nodes(now, request)
    queue = now.room.queue(request.queue)
    if queue is not None:
        sources["limits"] = limits_say(now.room, queue, request, who)
    sources["test_only"] = _tested(request, who, test)
    return verdict(sources)


def by_nodes(now: Board, request: Request) -> dict[str, Said]:
    """The two sources that are node vectors: without the jobs that wait before it, and with them. They differ where it
    has to wait in any case."""
    waiting = by_vectors(now, request)
    bare = by_vectors(now, request, waiting=False) if waiting.word == "later" else waiting
    return {"vectors": bare, "waiting": waiting}


def limits_say(room: Room, queue: RoomQueue, request: Request, who: User, waits: bool = False) -> Said:
    """What is unused of limits and of licences; `waits`: of a job that is in the queue already."""
    said = by_limits(limits_of(who, request, queue.qos), total_of(request, queue, room.memory), waits)
    if request.licences is None:
        return said
    both = (said, by_licences(request.licences, room, _licences()))
    return next((one for word in ("never", "later", "unknown") for one in both if one.word == word), said)


def _licences() -> Licences | None:
    """None where slurmctld does not say."""

    def ask() -> Licences | None:
        try:
            return licences()
        except AdminkitError:
            return None

    return _once(("licences",), ask)


def limits_of(who: User, request: Request, queue_qos: str | None) -> Held:
    def ask() -> Held:
        try:
            return held(who.name, who.uid, request.account, request.qos, queue_qos)
        except AdminkitError as error:
            return Held(problem=message("limits are not known: {why}", why=error.message))

    return _once(("held", who.uid, request.account, request.qos, queue_qos), ask)


def _tested(request: Request, who: User, test: bool) -> Said:
    """What sbatch --test-only says as the user."""
    if not test:
        return Said("unknown", None, "", message("sbatch --test-only was not run"))
    if refused := why_not(who):
        return Said("unknown", None, "", message("this is based on node vectors only: {why}", why=refused))

    def ask() -> Said:
        try:
            said = will_run(request.words(), who)
        except AdminkitError as error:
            return Said("unknown", None, "", error.message)
        if said.start is None:
            return Said("never", None, "rule", said.refusal)
        if said.start <= time.time() + 1:
            return Said("now", said.start, "", "", tuple(said.nodes.split()))
        later = message("sbatch --test-only expects the job to start later")
        return Said("later", said.start, "busy", later, tuple(said.nodes.split()))

    return _once(("test", who.uid, request), ask)


def answers(profiles: Sequence[Profile], who: User, *, test: bool = False) -> tuple[list[Answer], list[str]]:
    """A verdict on each profile by one look at the nodes; unknown for all where slurmctld is away, and notes."""
    try:
        now = current()
    except AdminkitError as error:
        away = Start("unknown", text=error.message)
        return [Answer(one.request, away) for one in profiles], [f"{error.message} ({error.hint})"]
    return [answer_on(now, one.request, who, test=test, instead=False) for one in profiles], []


def nearest(profiles: Sequence[Profile], said: Sequence[Answer]) -> list[str | None]:
    """The nearest smaller profile that can start now for each that cannot, by name."""
    can = {one.key for one, answer in zip(profiles, said, strict=True) if answer.start.verdict in OFFERED}
    return [
        None
        if one.key in can
        else next((other.key for other in smaller_profiles(profiles, one) if other.key in can), None)
        for one in profiles
    ]
