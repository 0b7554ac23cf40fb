"""What one run of a job owes: the formula's value, rounded once, and its shares of the months in which it ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

from adminkit.economy.formula import NotChargeable, Number, Values
from adminkit.economy.schemes import OTHERS, Scheme
from adminkit.gres import UNREADABLE, parse_words
from adminkit.quote import quote
from adminkit.stats.charged_jobs import Piece, WholeJob

_HOUR: Final = 3600
_GIB: Final = 1 << 30
_KWH: Final = 3_600_000  # joules
#: What the GPUs of a run may have that is not whole, in the order of parse_words().
_PARTS: Final = ("slices", "shards", "mps")
#: In the smallest unit; more is a mistake of the formula's.
_MOST: Final = 10**18
#: Epoch seconds; a later start is nonsense.
LATEST: Final = 1 << 34


class Share(NamedTuple):
    """A month's part of a charge: the seconds run in it, and the amount in the scheme's smallest unit."""

    month: str
    seconds: int
    amount: int


@dataclass(frozen=True, slots=True)
class Charge:
    """A run's charge in the scheme's smallest unit, and its shares, which add up to it. No shares: it is free."""

    amount: int
    shares: Sequence[Share]


NOTHING: Final = Charge(0, ())


def charge(job: WholeJob, place: int, scheme: Scheme) -> Charge:
    """What the run at that place, which is over, owes by `scheme`. NotChargeable where a number is unknown."""
    run = job.run(place, scheme.free_states)
    if not run.acting:
        raise NotChargeable("its rows are from a file that nobody vouched for")
    if run.user is None:
        raise NotChargeable("its user is not known")
    if run.state in scheme.free_states:
        return NOTHING
    if run.elapsed is None:
        raise NotChargeable("elapsed is not known")
    if not run.elapsed:
        return NOTHING
    if not all(at is not None and 0 <= at < LATEST for at in (run.start_time, run.end_time)):
        raise NotChargeable("when it ran is not known")
    value = scheme.formula.value(values(run, scheme))
    if value < 0:
        raise NotChargeable("the formula comes to less than 0")
    amount = scheme.rounded(value)
    if amount > _MOST:
        raise NotChargeable(f"the formula comes to more than {scheme.written(_MOST)}")
    return Charge(amount, _shares(run, scheme, value))


def values(run: Piece, scheme: Scheme) -> Values:
    """The names of a formula for this run, whose elapsed is known."""
    gpus, parts = _gpus(run), _counts(run)
    found: dict[str, Number | bool | None] = {
        "elapsed": run.elapsed,
        "requested": run.req_limit,
        "nodes": run.nodes,
        "cpus": run.cpus,
        "gpus": gpus,
        "node_hours": _hours(run, run.nodes),
        "cpu_hours": _hours(run, run.cpus),
        "gpu_hours": _hours(run, gpus),
        "mem_gib": _part(run.mem, _GIB),
        "energy_kwh": _part(run.energy, _KWH),
        "bundle": bool(run.bundle),
        "parallel": None if run.nodes is None else run.nodes > 1 and not run.bundle,
        "slices": parts[0],
        "shards": parts[1],
        **{f"has_{kind}": None if count is None else count > 0 for kind, count in zip(_PARTS, parts, strict=True)},
    }
    if scheme.formula.names & {"weight", "gpu_weight", "qos_weight", "queue_weight"}:
        found |= _weighed(run, gpus, scheme)
    return found


def _gpus(run: Piece) -> Number | None:
    """GPU equivalents, exact: sevenths have no finite decimal."""
    return run.gpus if run.gpus is None or isinstance(run.gpus, int) else Fraction(run.gpus).limit_denominator(10**4)


def _counts(run: Piece) -> tuple[int | None, ...]:
    """How many of _PARTS a run had; None where its GPUs are unknown and it names none."""
    if run.gpu_parts == UNREADABLE or (run.gpus is None and not run.gpu_parts):
        return (None,) * len(_PARTS)
    return parse_words(run.gpu_parts)


def _weighed(run: Piece, gpus: Number | None, scheme: Scheme) -> dict[str, Number | bool | None]:
    wanted = scheme.formula.names

    def of(kind: str, word: str | None, name: str) -> Number:
        table = scheme.weights.get(kind)
        if table is None or not wanted & {name, "weight"}:
            return 1
        if word is not None and word in table:
            return table[word]
        # Trap: of a run that was put back slurmdbd has the list of queues that its job asked for, not the one it had.
        if kind == "queue" and word is not None and "," in word:
            found = [table.get(one, table.get(OTHERS)) for one in word.split(",")]
            known = [weight for weight in found if weight is not None]
            if known:
                return max(known)
        if OTHERS in table:
            return table[OTHERS]
        raise NotChargeable(f"{name} has no weight for {'an unknown one' if word is None else quote(word)}")

    if gpus is None and "gpu_type" in scheme.weights and wanted & {"gpu_weight", "weight"}:
        raise NotChargeable("gpus is not known")
    gpu = of("gpu_type", run.gpu_type, "gpu_weight") if gpus else 1
    qos, queue = of("qos", run.qos, "qos_weight"), of("queue", run.queue, "queue_weight")
    return {"gpu_weight": gpu, "qos_weight": qos, "queue_weight": queue, "weight": gpu * qos * queue}


def _shares(run: Piece, scheme: Scheme, value: Number) -> list[Share]:
    """Up to the end of a month a run owes its charge × the seconds run until then, rounded like the charge."""
    begin, until, whole = run.start_time or 0, run.end_time or 0, run.elapsed or 0
    months = scheme.calendar.months(begin, max(until - 1, begin))
    shares, amount, seconds = list[Share](), 0, 0
    for month, edge in months:
        ran = whole if month == months[-1][0] else Fraction(whole * (edge - begin), until - begin)
        owed, done = scheme.rounded(value * Fraction(ran) / whole), int(ran)
        shares.append(Share(month, done - seconds, owed - amount))
        amount, seconds = owed, done
    return shares


def _hours(run: Piece, size: Number | None) -> Number | None:
    return None if size is None else Fraction(size * (run.elapsed or 0), _HOUR)


def _part(value: Number | None, of: int) -> Number | None:
    return None if value is None else Fraction(value, of)
