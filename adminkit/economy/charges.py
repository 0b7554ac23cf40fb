"""What one job owes: the formula's value, rounded once, and its shares of the months in which the job ran."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
#: What the GPUs of a job may have that is not whole, in the order of parse_words().
_PARTS: Final = ("slices", "shards", "mps")
#: In the smallest unit; more is a mistake of the formula's.
_MOST: Final = 10**18
#: Epoch seconds; a later start is nonsense.
_LATEST: Final = 1 << 34


class Share(NamedTuple):
    """A month's part of a charge: the seconds run in it, and the amount in the scheme's smallest unit."""

    month: str
    seconds: int
    amount: int


@dataclass(frozen=True, slots=True)
class Charge:
    """A job's charge in the scheme's smallest unit, and its shares, which add up to it. No shares: it never ran."""

    amount: int
    shares: Sequence[Share]


NOTHING: Final = Charge(0, ())


def charge(job: WholeJob, scheme: Scheme) -> Charge:
    """What an ended job owes by `scheme`. NotChargeable where a number that is needed is unknown."""
    if not all(piece.acting for piece in job.pieces):
        raise NotChargeable("its rows are from a file that nobody vouched for")
    if job.last.user is None:
        raise NotChargeable("its user is not known")
    paid = [piece for piece in job.pieces if piece.state not in scheme.free_states]
    if any(piece.elapsed is None for piece in paid):
        raise NotChargeable("elapsed is not known")
    ran = [piece for piece in paid if piece.elapsed]
    if not ran:
        return NOTHING
    if not all(
        piece.start_time is not None and 0 <= piece.start_time < _LATEST and 0 <= (piece.end_time or -1) < _LATEST
        for piece in ran
    ):
        raise NotChargeable("when it ran is not known")
    value = scheme.formula.value(values(ran, scheme))
    if value < 0:
        raise NotChargeable("the formula comes to less than 0")
    amount = scheme.rounded(value)
    if amount > _MOST:
        raise NotChargeable(f"the formula comes to more than {scheme.written(_MOST)}")
    return Charge(amount, _shares(ran, scheme, value))


def values(ran: Sequence[Piece], scheme: Scheme) -> Values:
    """The names of a formula for these runs of one job, all of known elapsed."""
    last, elapsed = ran[-1], sum(piece.elapsed or 0 for piece in ran)
    found: dict[str, Number | bool | None] = {
        "elapsed": elapsed,
        "requested": _largest(ran, lambda piece: piece.req_limit),
        "nodes": _largest(ran, lambda piece: piece.nodes),
        "cpus": _largest(ran, lambda piece: piece.cpus),
        "gpus": _largest(ran, _gpus),
        "node_hours": _hours(ran, lambda piece: piece.nodes),
        "cpu_hours": _hours(ran, lambda piece: piece.cpus),
        "gpu_hours": _hours(ran, _gpus),
        "mem_gib": _part(_largest(ran, lambda piece: piece.mem), _GIB),
        "energy_kwh": _part(_sum(ran, lambda piece: piece.energy), _KWH),
        "runs": len(ran),
        "bundle": any(piece.bundle for piece in ran),
        "slices": _largest(ran, lambda piece: _counts(piece)[0]),
        "shards": _largest(ran, lambda piece: _counts(piece)[1]),
        **{f"has_{kind}": _has(ran, k) for k, kind in enumerate(_PARTS)},
    }
    nodes = found["nodes"]
    found["parallel"] = None if nodes is None else nodes > 1 and not found["bundle"]
    if scheme.formula.names & {"weight", "gpu_weight", "qos_weight", "queue_weight"}:
        found |= _weighed(last, found["gpus"], scheme)
    return found


def _gpus(piece: Piece) -> Number | None:
    """GPU equivalents, exact: sevenths and the like are no decimal fractions."""
    return (
        piece.gpus
        if piece.gpus is None or isinstance(piece.gpus, int)
        else Fraction(piece.gpus).limit_denominator(10**4)
    )


def _counts(piece: Piece) -> tuple[int | None, ...]:
    """How many of _PARTS a run had; None where its GPUs are unknown and it names none."""
    if piece.gpu_parts == UNREADABLE or (piece.gpus is None and not piece.gpu_parts):
        return (None,) * len(_PARTS)
    return parse_words(piece.gpu_parts)


def _has(ran: Sequence[Piece], k: int) -> bool | None:
    """Whether one of them had the k-th of _PARTS; None where that is not known."""
    found = [_counts(piece)[k] for piece in ran]
    return True if any(found) else None if None in found else False


def _weighed(last: Piece, gpus: Number | None, scheme: Scheme) -> dict[str, Number | bool | None]:
    wanted = scheme.formula.names

    def of(kind: str, word: str | None, name: str) -> Number:
        table = scheme.weights.get(kind)
        if table is None or not wanted & {name, "weight"}:
            return 1
        if word is not None and word in table:
            return table[word]
        if OTHERS in table:
            return table[OTHERS]
        raise NotChargeable(f"{name} has no weight for {'an unknown one' if word is None else quote(word)}")

    if gpus is None and "gpu_type" in scheme.weights and wanted & {"gpu_weight", "weight"}:
        raise NotChargeable("gpus is not known")
    gpu = of("gpu_type", last.gpu_type, "gpu_weight") if gpus else 1
    qos, queue = of("qos", last.qos, "qos_weight"), of("queue", last.queue, "queue_weight")
    return {"gpu_weight": gpu, "qos_weight": qos, "queue_weight": queue, "weight": gpu * qos * queue}


def _shares(ran: Sequence[Piece], scheme: Scheme, value: Number) -> list[Share]:
    """Up to the end of a month a job owes its charge × the seconds run until then, rounded like the charge."""
    begin = min(piece.start_time or 0 for piece in ran)
    until = max(piece.end_time or 0 for piece in ran)
    months = scheme.calendar.months(begin, max(until - 1, begin))
    whole = sum(piece.elapsed or 0 for piece in ran)
    shares, amount, seconds = list[Share](), 0, 0
    for month, edge in months:
        run = whole if month == months[-1][0] else sum(_run_until(piece, edge) for piece in ran)
        owed, done = scheme.rounded(value * Fraction(run) / whole), int(run)
        shares.append(Share(month, done - seconds, owed - amount))
        amount, seconds = owed, done
    return shares


def _run_until(piece: Piece, edge: int) -> Number:
    """Seconds that a run had run at `edge`: a suspension is spread over all of it."""
    start, end, elapsed = piece.start_time or 0, piece.end_time or 0, piece.elapsed or 0
    if edge >= end:
        return elapsed
    return Fraction(elapsed * max(edge - start, 0), end - start) if end > start else 0


def _largest(ran: Sequence[Piece], of: Callable[[Piece], Number | None]) -> Number | None:
    found = [of(piece) for piece in ran]
    return None if None in found else max(one for one in found if one is not None)


def _sum(ran: Sequence[Piece], of: Callable[[Piece], int | None]) -> int | None:
    found = [of(piece) for piece in ran]
    return None if None in found else sum(one for one in found if one is not None)


def _hours(ran: Sequence[Piece], of: Callable[[Piece], Number | None]) -> Number | None:
    size = [of(piece) for piece in ran]
    if None in size:
        return None
    return Fraction(sum((one or 0) * (piece.elapsed or 0) for one, piece in zip(size, ran, strict=True)), _HOUR)


def _part(value: Number | None, of: int) -> Number | None:
    return None if value is None else Fraction(value, of)
