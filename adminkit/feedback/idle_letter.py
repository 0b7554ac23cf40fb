"""Letters about running jobs whose GPUs are not used: who is due one, and the values of idle.*.j2.

They go by [idle] of this host's policy.toml and by the sources of [usage], and by nothing that is not measured. A
source that is away means no letter, and one note.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from adminkit.config import Config
from adminkit.errors import AdminkitError
from adminkit.feedback.format import harmless
from adminkit.feedback.letter import IdleLetter
from adminkit.policy.idle_settings import Idle, settings_of_policy
from adminkit.slurm.cluster import local_cluster
from adminkit.slurm.gpu_jobs import gpu_jobs
from adminkit.usage.held import Held
from adminkit.usage.ladder import Act, plan
from adminkit.usage.sources import measure

_OFF: Final = Idle()
#: Characters of a job's name in a subject.
_SHORT: Final = 24


@dataclass(frozen=True, slots=True)
class Holding:
    """The jobs of `cluster` whose users are to be told, with what else is done about such jobs."""

    cluster: str = ""
    acts: Sequence[Act] = ()
    idle: Idle = _OFF
    notes: Sequence[str] = ()


NOBODY: Final = Holding()


def holding(settings: Config, idle: Idle, now: int) -> Holding:
    """Look at the running jobs of this host's cluster; nothing where [idle] or its letters are off."""
    if not idle.enabled or not settings.feedback.clusters:
        return NOBODY
    try:
        cluster = local_cluster()
        if cluster not in settings.feedback.clusters:
            return Holding()
        found, notes = measure(settings.usage, gpu_jobs(), now)
    except AdminkitError as error:
        return Holding(notes=[f"no letters about idle GPUs: {error.message}"])
    acts = [act for act in plan(found, {}, settings_of_policy(idle), now, bool(notes)) if act.did == "warned"]
    return Holding(cluster, acts, idle, [f"no letters about idle GPUs: {note}" for note in notes])


def letter(of: Holding, act: Act, uid: int, user: str, to: tuple[str, str], now: int) -> IdleLetter:
    """The letter about one job; `to`: language and address."""
    listed = act.held.job.listed
    return IdleLetter(
        cluster=of.cluster, user=user, uid=uid, language=to[0], address=to[1], job_id_raw=listed.job_id,
        submit_time=listed.submit_time, until=now, is_array=False, job_name=listed.job_name,
        notes=_notes(act.held, act.idle, of.idle),
    )  # fmt: skip


def _notes(held: Held, idle: int, policy: Idle) -> tuple[str, ...]:
    least = int(policy.warn * (policy.used_before if held.was_used else 1))
    since = held.idle_since(least)
    hours = round((held.idle_hours(least) or 0) * 3600)
    return (f"gpus={held.job.gpus}", f"idle={idle}", f"since={since or 0}", f"wasted={hours}",
            f"acts={'+'.join(policy.acts)}", f"act={policy.act}")  # fmt: skip


def values(due: IdleLetter) -> dict[str, Any]:
    """The values of idle.*.j2. `wasted`: GPU-seconds; `act`: seconds without use until something is done, None where
    nothing is.
    """
    told = dict(note.partition("=")[::2] for note in due.notes)
    acts = [word for word in told.get("acts", "").split("+") if word]
    return {
        "job": due.job_id_raw,
        "name": harmless(due.job_name),
        "short_name": harmless(due.job_name, _SHORT),
        "gpus": _number(told, "gpus"),
        "idle": _number(told, "idle"),
        "since": _number(told, "since"),
        "at": due.until,
        "wasted": _number(told, "wasted"),
        "acts": acts,
        "act": _number(told, "act") if acts else None,
    }


def _number(told: Mapping[str, str], name: str) -> int:
    text = told.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else 0
