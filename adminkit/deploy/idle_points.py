"""The bonus of waiting jobs while a running job of their user holds GPUs without using them: taken, and given back.

    bonus 325 ─points─▶ bonus 0, 325 is kept on this host ─the GPUs are used, or the job is over─▶ bonus 325

Points are about who starts first, so they are held where they count: in jobs that wait. A user's standing, which is
computed from ended runs, stays as it is. What was taken is kept and recorded before it is taken; a bonus that somebody
changed meanwhile is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from adminkit.errors import AdminkitError
from adminkit.slurm import bonus, idle_acts
from adminkit.usage.held import Held
from adminkit.usage.ladder import Act, Past

#: The step of the ladder.
RUNG: Final = "points"
#: Words of docs/idle.md after which a user's points are no longer held for the job.
_OVER: Final = ("busy", "off", "queue", "interactive")


@dataclass(frozen=True, slots=True)
class Taken:
    """What a waiting job had: its owner, and the points."""

    uid: int
    points: int


def without_hold(past: Past) -> Past:
    """As if the step had not been done: the job may do it again."""
    return Past(past.start, past.warned, past.acted, {rung: many for rung, many in past.tried.items() if rung != RUNG})


def released(acts: Sequence[Act], past: Mapping[int, Past]) -> dict[int, Past]:
    """`past`, where those jobs no longer hold points that use their GPUs again, or that the policy leaves out."""
    over = {act.held.job.job_id for act in acts if act.did == "nothing" and act.why in _OVER}
    return {job: without_hold(one) if job in over and one.tried.get(RUNG) else one for job, one in past.items()}


def holders(found: Sequence[Held], past: Mapping[int, Past]) -> set[int]:
    """The uids of users whose points are held now."""
    return {
        uid
        for one in found
        if (mine := past.get(one.job.job_id)) is not None and mine.start == one.job.start and mine.tried.get(RUNG)
        if (uid := one.job.listed.uid) is not None
    }


def settle(
    who: Collection[int],
    taken: Mapping[int, Taken],
    keep: Callable[[Mapping[int, Taken]], None],
    record: Callable[[Mapping[str, Any]], None],
) -> list[dict[str, Any]]:
    """Take the points of waiting jobs of these users, and give back those of the others; the lines, which are recorded.

    `keep` writes down what is taken; it is called before each change. AdminkitError only where it cannot be kept.
    """
    lines: list[dict[str, Any]] = []
    left = dict(taken)
    for uid in sorted({*who, *(one.uid for one in taken.values())}):
        mine = [job for job, one in left.items() if one.uid == uid]
        try:
            now = bonus.bonuses(uid)
            waiting = {job for job, one in idle_acts.now_of(mine).items() if one.state == "PENDING"}
        except AdminkitError as error:
            lines.append(_line(None, uid, "unknown", None, False, error.message))
            record(lines[-1])
            continue
        for job in [job for job, one in left.items() if one.uid == uid and _is_moot(job, now, waiting)]:
            del left[job]
        if uid in who:
            for job, points in sorted(now.items()):
                if points > 0:
                    left[job] = Taken(uid, points)
                    keep(left)
                    lines.append(_change(job, uid, "taken", points, 0, record))
                    if not lines[-1]["held"]:
                        del left[job]
        else:
            for job in [job for job, one in sorted(left.items()) if one.uid == uid]:
                lines.append(_change(job, uid, "back", left[job].points, left[job].points, record))
                if lines[-1]["held"]:
                    del left[job]
    if lines or left != dict(taken):
        keep(left)
    return lines


def _is_moot(job: int, now: Mapping[int, int], waiting: Collection[int]) -> bool:
    """It has started, or is over; or somebody gave it points since. Trap: sprio leaves out a job that is held."""
    return job not in waiting or now.get(job, 0) > 0


def _change(
    job: int, uid: int, did: str, points: int, to: int, record: Callable[[Mapping[str, Any]], None]
) -> dict[str, Any]:
    """Record it, do it, record what came of it."""
    record({**_line(job, uid, did, points, None, ""), "held": None})
    try:
        bonus.set_bonus(job, to)
        line = _line(job, uid, did, points, True, "")
    except AdminkitError as error:
        line = _line(job, uid, did, points, False, error.message)
    record(line)
    return line


def _line(job: int | None, uid: int, did: str, points: int | None, held: bool | None, said: str) -> dict[str, Any]:
    return {"did": did, "job": job, "uid": uid, "user": None, "points": points, "why": "points", "held": held,
            "said": said}  # fmt: skip
