"""Which elastic jobs should get another number of GPUs, and why the others should not. Pure.

Three reasons, the first that holds counts: a waiting job could start on what it gives up; it is about as fast on
fewer; nobody needs idle GPUs of its node before it is done, and it is faster with them. Each is only one where it
saves more than the restart costs; where that is not known, nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from adminkit.elastic.words import MARGIN, order_of, range_of, was_put_back
from adminkit.fit.needs import need_of_job
from adminkit.fit.place import Board, in_line
from adminkit.fit.timeline import NEVER, Need, Timeline, Use
from adminkit.render.format import plural
from adminkit.sections import Elastic
from adminkit.slurm.elastic_jobs import OpenJob
from adminkit.slurm.room import READY, Vector
from adminkit.slurm.site import UNTYPED
from adminkit.units import show_duration

#: How much longer a job may take on fewer GPUs, where they are taken only to save energy.
SLOWER: Final = 0.05
#: Changes of one round.
MOST: Final = 20


@dataclass(frozen=True, slots=True)
class Pace:
    """One number of GPUs: seconds and joules of an iteration; None: unknown."""

    seconds: float
    joules: float | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a job's speed. `left`: the iterations it has yet to do, no fewer than these; None: unknown."""

    paces: Mapping[int, Pace] = field(default_factory=dict)
    left: float | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """One elastic job, and what should become of it. `saves` and `costs`: seconds; None where `why` has other units."""

    job: OpenJob
    to: int | None  # None: it keeps what it has
    why: str
    saves: float | None = None
    costs: float | None = None
    source: str = ""

    @property
    def verdict(self) -> Literal["keep", "shrink", "grow"]:
        if self.to is None or self.job.gpus is None:
            return "keep"
        return "grow" if self.to > self.job.gpus else "shrink"


def held_by_others(job: OpenJob, settings: Elastic) -> str:
    """Why a job with an order that waits held was not put back for it; "" where it was.

    The plugin's word has to be younger than the order. A run before it was signalled a whole `between` earlier: clocks
    of nodes may differ by half of that, or by MARGIN.
    """
    order = order_of(job.comment)
    if order is None or was_put_back(job.comment, order.until - settings.patience - min(MARGIN, settings.between // 2)):
        return ""
    return f"it is held, but not by an order: to let it run, type scontrol release {job.job_id}"


def keeps(job: OpenJob, settings: Elastic, now: int) -> str:
    """Why this job may not be changed now; "" where it may."""
    order = order_of(job.comment)
    if range_of(job.comment) is None:
        return "it did not opt in"
    if job.odd:
        return f"couldn't read squeue's line for it: {job.odd}"
    if job.held_for_gpus and (why := held_by_others(job, settings)):
        return why
    if order is None and job.held_for_gpus:
        return f"it is held and has no order: to let it run, type scontrol release {job.job_id}"
    if not job.alone:
        return "it is a part of an array or of a heterogeneous job, or asks for GPUs with --gpus"
    if job.gpus is None:
        return "it does not ask for its GPUs with --gres=gpu:N or --gpus-per-node=N on one node"
    if job.state != "RUNNING" or job.starts is None or len(job.nodes) != 1:
        return "it is not running"
    if order is not None and now < order.until + MARGIN:
        return f"it already has an order to continue with {plural(order.gpus, 'GPU')}"
    if order is not None and now < order.until + settings.between:
        return "it did not respond to the last order"
    if now - job.starts < settings.between:
        return f"it started less than {show_duration(settings.between)} ago"
    if job.ends is not None and job.ends - now < 2 * settings.restart:
        return "its limit is near"
    return ""


def plan(
    jobs: Sequence[OpenJob],
    known: Mapping[int, Known],
    board: Board,
    settings: Elastic,
    now: int,
    forbidden: Callable[[OpenJob, int], str] = lambda job, to: "",
    ruled: Callable[[OpenJob, int], str] = lambda job, to: "",
) -> list[Look]:
    """A Look for each job that opted in; `known` is by job id, `board` of the same moment.

    `forbidden` says why limits keep a job from a number of GPUs now, `ruled` why the rules do.
    """
    mine = [job for job in jobs if range_of(job.comment) is not None]
    firsts = {job.job_id: _first(job, known.get(job.job_id, Known()), settings, now, ruled) for job in mine}
    looks = {job_id: look for job_id, (look, _) in firsts.items()}
    known = {job_id: allowed for job_id, (_, allowed) in firsts.items()}
    free = [job for job in mine if not looks[job.job_id].why]
    _make_room(free, looks, known, board, settings)
    for job in free:
        if not looks[job.job_id].why and (found := _spare(job, known[job.job_id], settings)):
            looks[job.job_id] = found
    left = [job for job in free if not looks[job.job_id].why]
    _grow(left, looks, known, board, settings, forbidden)
    ordered = sorted(looks.values(), key=lambda look: look.to is None)
    return [
        look if look.why else Look(look.job, None, "no other number saves more than it costs", source=look.source)
        for look in (_bounded(nth, look) for nth, look in enumerate(ordered))
    ]


def _bounded(nth: int, look: Look) -> Look:
    return Look(look.job, None, f"{MOST} changes are enough for one round") if look.to and nth >= MOST else look


def _first(
    job: OpenJob, known: Known, settings: Elastic, now: int, ruled: Callable[[OpenJob, int], str]
) -> tuple[Look, Known]:
    """What keeps it as it is, whatever the others need, "" where nothing does; what is known without the numbers that
    the rules refuse.
    """
    why = keeps(job, settings, now)
    refused = {} if why else {to: no for to in _numbers(job, known) if to != job.gpus and (no := ruled(job, to))}
    known = replace(known, paces={gpus: pace for gpus, pace in known.paces.items() if gpus not in refused})
    if not why and job.gpus not in known.paces:
        why = f"how fast it is with {plural(job.gpus or 0, 'GPU')} is not known"
    elif not why and len(_numbers(job, known)) < 2:
        why = next(iter(refused.values()), "how fast it is with another number of GPUs is not known")
    return Look(job, None, why, source=known.source), known


def _numbers(job: OpenJob, known: Known) -> list[int]:
    """The numbers of GPUs that it opted in to and that are known."""
    least, most = range_of(job.comment) or (0, 0)
    return sorted(gpus for gpus in known.paces if least <= gpus <= most)


def _speed(known: Known, gpus: int, base: int) -> float:
    """How fast it is with that many, of its speed with `base`."""
    return known.paces[base].seconds / known.paces[gpus].seconds


# A waiting job


def _make_room(
    free: Sequence[OpenJob], looks: dict[int, Look], known: Mapping[int, Known], board: Board, settings: Elastic
) -> None:
    """Let the first waiting job that needs GPUs of one node start, by the one change that saves most."""
    ready = (job for job in in_line(board.room) if job.reason in READY)
    head = next((job for job in ready if sum(job.each.gpus.values()) and job.many == 1), None)
    if head is None:
        return
    now, need, queues = board.room.at, need_of_job(head), set(head.queue.split(","))
    inside = [line for line in board.bare.values() if line.node.queues & queues and not line.node.away]
    starts = min((line.earliest(need) for line in inside), default=NEVER)
    if starts <= now or starts >= NEVER:
        return
    best: tuple[float, Look | None] = (0.0, None)  # what it saves beyond its costs
    for job in free:
        line = board.bare.get(job.nodes[0])
        if line is None or line not in inside or job.ends is None:
            continue
        for to in (one for one in _numbers(job, known[job.job_id]) if one < (job.gpus or 0)):
            if _without(line, job, to).earliest(need) > now:
                continue
            speed = _speed(known[job.job_id], to, job.gpus or 1)
            window = min(starts, job.ends) - now
            costs = 2 * settings.restart + window * (1 - speed)
            if window - costs > best[0]:
                why = f"job {head.job_id} could start {show_duration(window)} earlier"
                best = window - costs, Look(job, to, why, window, costs, known[job.job_id].source)
    if best[1] is not None:
        looks[best[1].job.job_id] = best[1]


def _without(line: Timeline, job: OpenJob, to: int) -> Timeline:
    """The node as it is when the job has given up all but `to` of its GPUs."""
    less = Vector(0, 0, {job.gpu_type or UNTYPED: to - (job.gpus or 0)})
    changed = line.copy()
    changed.add(Use(line.now, job.ends or NEVER, less))
    return changed


# Energy


def _spare(job: OpenJob, known: Known, settings: Elastic) -> Look | None:
    """Fewer GPUs on which it takes about as long, where what that saves is more than the restart's own."""
    assert job.gpus is not None
    here = known.paces[job.gpus]
    for to in (one for one in _numbers(job, known) if one < job.gpus):
        there = known.paces[to]
        if known.left is None or there.seconds > here.seconds * (1 + SLOWER):
            continue
        if here.joules is not None and there.joules is not None:
            saves = known.left * (here.joules - there.joules) - settings.restart * here.joules / here.seconds
            what = f"{saves / 3.6e6:,.2f} kWh"
        else:
            saves = known.left * (job.gpus * here.seconds - to * there.seconds) - settings.restart * job.gpus
            what = f"{saves / 3600:,.1f} GPU-hours"
        if saves > 0:
            return Look(job, to, f"it is about as fast, and saves {what}", source=known.source)
    return None


# Idle GPUs


def _grow(
    free: Sequence[OpenJob],
    looks: dict[int, Look],
    known: Mapping[int, Known],
    board: Board,
    settings: Elastic,
    forbidden: Callable[[OpenJob, int], str],
) -> None:
    """Idle GPUs of their nodes to jobs, none that waiting jobs are to have: a step at a time, to the next number of one
    job, the one with the most seconds saved by each GPU more. What does not save a restart's cost in the end is left.
    """
    lines = {name: line.copy() for name, line in board.full.items()}
    targets: dict[int, int] = {}
    growing: list[OpenJob] = []
    for job in free:
        if known[job.job_id].left is None:
            why = "how much it has yet to do is not known"
            looks[job.job_id] = Look(job, None, why, source=known[job.job_id].source)
        elif job.gpus and job.time_limit is not None and job.nodes[0] in lines:
            targets[job.job_id] = job.gpus
            growing.append(job)
    while steps := [step for job in growing if (step := _step(job, targets[job.job_id], known[job.job_id], settings))]:
        _, to, job = max(steps, key=lambda step: (step[0], -step[2].job_id))
        need = Need(0, 0, to - targets[job.job_id], job.gpu_type, settings.restart + (job.time_limit or 0))
        line, why = lines[job.nodes[0]], forbidden(job, to)
        if why or line.earliest(need) > line.now:
            growing.remove(job)
            if why and targets[job.job_id] == job.gpus:
                looks[job.job_id] = Look(job, None, why, source=known[job.job_id].source)
            continue
        line.add(Use(line.now, line.now + need.seconds, need.on(line.node)))
        targets[job.job_id] = to
    for job in (one for one in free if targets.get(one.job_id, one.gpus) != one.gpus):
        mine, to, gpus = known[job.job_id], targets[job.job_id], job.gpus or 1
        saves = (mine.left or 0) * (mine.paces[gpus].seconds - mine.paces[to].seconds)
        if saves > settings.restart:
            why = f"it is done {show_duration(int(saves - settings.restart))} earlier"
            looks[job.job_id] = Look(job, to, why, saves, settings.restart, mine.source)


def _step(job: OpenJob, at: int, known: Known, settings: Elastic) -> tuple[float, int, OpenJob] | None:
    """(seconds saved by each GPU more, the next number, the job); None where there is none, or it gains too little."""
    numbers = _numbers(job, known)
    to = next((one for one in numbers if one > at), None)
    if to is None or _speed(known, to, numbers[0]) * numbers[0] / to < settings.efficiency:
        return None
    saves = (known.left or 0) * (known.paces[at].seconds - known.paces[to].seconds)
    return (saves / (to - at), to, job) if saves > 0 else None
