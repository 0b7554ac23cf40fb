"""One verdict of several sources. The answer is *now* only where all of them say so; any one may say no."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from adminkit.fit.place import Said
from adminkit.fit.request import Request
from adminkit.messages import joined, message
from adminkit.units import show_time

#: wakes: as now or room, on a node that sleeps; room: nodes have room, and not every source could be asked, so that now
#: is not said.
Verdict = Literal["now", "wakes", "room", "later", "never", "unknown"]
Method = Literal["slurm", "simulation", "history"]

#: The sources in the order in which they are shown: node vectors of running jobs and reservations; the same with the
#: waiting jobs before it; what is unused of limits; sbatch --test-only as the user.
SOURCES: Final = ("vectors", "waiting", "limits", "test_only")
#: Seconds by which two sources may differ and still agree.
CLOSE: Final = 60
#: Verdicts with which a request is taken: it starts, as far as was asked.
OFFERED: Final = ("now", "wakes", "room")
#: Whys of *later* with which a refusal of Slurm's is not for good.
_PASSING: Final = ("drained", "down", "reserved", "queue", "qos", "association")


@dataclass(frozen=True, slots=True)
class Start:
    """`at`: when it can start, epoch seconds, by `method`; where a node sleeps, when it is up at the latest. `error`:
    how far the other method is from it, seconds; of history how far half of single waits were from it.

    None is unknown. `why` is one word: size, limit, queue, rule, qos, association, wakes, busy, priority, fair_share …
    """

    verdict: Verdict
    at: int | None = None
    method: Method | None = None
    error: int | None = None
    why: str = ""
    text: str = ""
    sources: Mapping[str, Said] | None = None
    disagree: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A request with its verdict, and the nearest smaller or shorter requests that could start now."""

    request: Request
    start: Start
    instead: tuple[Request, ...] | None = None  # not looked for


def verdict(sources: Mapping[str, Said]) -> Start:
    """What the sources say together; one that was not asked is absent or unknown."""
    known = {name: sources[name] for name in SOURCES if name in sources}
    start = partial(Start, sources=known, disagree=disagreements(known))
    if refused := _never(known):
        return start("never", why=refused.why, text=refused.text)
    asleep = _refused_asleep(known)
    late = {
        name: said
        for name, said in known.items()
        if said.word == "later" or (said.word == "never" and not (asleep and name == "test_only"))
    }
    if late:
        at, method, error = _when(late)
        main = next(said for name in ("limits", "waiting", "vectors", "test_only") if (said := late.get(name)))
        return start("later", at, method, error, main.why, main.text)
    vectors = known.get("vectors")
    if vectors is not None and vectors.word == "now" and vectors.why == "wakes":
        if not asleep:
            return start("wakes", vectors.at, why=vectors.why, text=vectors.text)
        return start("later", vectors.at, "simulation", why=vectors.why, text=vectors.text)
    if known and all(said.word == "now" for said in known.values()) and set(known) == set(SOURCES):
        return start("now", known["vectors"].at, text=known["vectors"].text)
    if vectors is not None and vectors.word == "now":
        missing = next(
            (said.text for said in known.values() if said.word == "unknown"),
            message("Slurm itself was not asked: sbatch --test-only was not run as the user"),
        )
        return start("room", vectors.at, text=missing)
    return start("unknown", text=joined("; ", (said.text for said in known.values() if said.text)))


#: What Slurm's own test says where the nodes that there are cannot be had at the moment, and of what no node can hold.
_NOT_HAD: Final = "Requested node configuration is not available"


def _refused_asleep(known: Mapping[str, Said]) -> bool:
    """Whether Slurm's own test refuses what it could only start on nodes that are on their way down, or on their way up
    for a job that is gone: it takes the job itself, and starts it once they are."""
    slurm, mine = known.get("test_only"), [said for said in known.values() if said.why == "wakes"]
    if slurm is None or slurm.word != "never":
        return False
    return any(said.word != "now" for said in mine) or (bool(mine) and _NOT_HAD in slurm.text)


def _never(known: Mapping[str, Said]) -> Said | None:
    """What holds for good; node vectors name the reason better than Slurm, whose refusal may be of the moment."""
    refused = [said for name in ("limits", "vectors", "waiting") if (said := known.get(name)) and said.word == "never"]
    if refused:
        return refused[0]
    slurm = known.get("test_only")
    if (
        slurm is None
        or slurm.word != "never"
        or _refused_asleep(known)
        or any(said.word != "now" and said.why in _PASSING for said in known.values())
    ):
        return None
    return slurm


def _when(late: Mapping[str, Said]) -> tuple[int | None, Method | None, int | None]:
    """The latest of all; None where one of them does not know."""
    if any(said.at is None for said in late.values()):
        return None, None, None
    ours = [said.at for name, said in late.items() if name != "test_only" and said.at is not None]
    slurm = late["test_only"].at if "test_only" in late else None
    if slurm is not None and (not ours or slurm >= max(ours)):
        return slurm, "slurm", slurm - max(ours) if ours else None
    return max(ours), "simulation", max(ours) - slurm if slurm is not None else None


def disagreements(known: Mapping[str, Said]) -> tuple[str, ...]:
    """Where node vectors with the waiting jobs and Slurm's own test differ, in a sentence each."""
    ours, slurm = known.get("waiting"), known.get("test_only")
    if ours is None or slurm is None or "unknown" in (ours.word, slurm.word):
        return ()
    if ours.word == slurm.word != "later":
        return ()
    if ours.word == slurm.word and ours.at is not None and slurm.at is not None and abs(ours.at - slurm.at) <= CLOSE:
        return ()
    return (f"node vectors say {_said(ours)}, sbatch --test-only says {_said(slurm)}",)


def _said(said: Said) -> str:
    if said.word != "later":
        return said.word
    return "later" if said.at is None else show_time(said.at)
