"""How far up the ladder jobs with idle GPUs are, by what the log of acts has of their rounds. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from adminkit.usage.held import Held

#: In the action log: the acts of `adminkit idle`.
WHAT: Final = "idle"
#: The steps, in their order. `idle`: nothing was done about the job so far.
STEPS: Final = ("idle", "warned", "points", "shrink", "requeue", "cancel")


def steps(found: Sequence[Held], acts: Iterable[Mapping[str, Any]], least: int) -> dict[str, int]:
    """Jobs with GPUs that have been idle for `least` seconds, by the last step that was done about them since then.

    `acts` are those of the log, oldest first. Who used its GPUs again is at the beginning of the ladder.
    """
    since = {one.job.job_id: start for one in found if one.idle(least) and (start := one.idle_since(least)) is not None}
    reached = dict.fromkeys(since, "idle")
    for act in acts:
        job, did, at = act.get("job"), act.get("did"), act.get("at")
        if act.get("what") != WHAT or act.get("held") is not True or did not in STEPS:
            continue
        if isinstance(job, int) and isinstance(at, int) and job in since and at >= since[job]:
            reached[job] = str(did)
    many = dict.fromkeys(STEPS, 0)
    for step in reached.values():
        many[step] += 1
    return many
