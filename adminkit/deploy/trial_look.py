"""What a round would find of a trial. Changes nothing."""

from __future__ import annotations

from adminkit.deploy import trial_seen
from adminkit.deploy.install import Target
from adminkit.deploy.trial import TRIAL
from adminkit.deploy.trial_seen import Seen
from adminkit.deploy.trial_sides import read_pair
from adminkit.deploy.trial_state import LIVE, Whole, is_leased, read_whole
from adminkit.deploy.trial_work import Round
from adminkit.units import show_time


def look(target: Target, now: int) -> Round:
    """AdminkitError where what the trial keeps is damaged."""
    whole = read_whole(target.folder)
    if whole is None:
        is_lost = (target.folder / LIVE).exists()
        return Round(
            now, None, notes=[f"{target.folder / TRIAL} is gone: the next round puts A back"] if is_lost else []
        )
    machine, trial = whole.machine, whole.trial
    if trial.ended is not None and machine.under_way is None:
        return Round(now, whole)
    seen = looked(target, whole)
    notes = [f"changed by hand: {part.words}" for part in seen.by_hand(None if machine.under_way else machine.in_place)]
    if seen.away:
        notes.append(f"slurmctld was not asked: {seen.away}")
    if machine.under_way is not None:
        notes.append(f"a switch to {machine.under_way.upper()} has begun and not ended")
    elif seen.holds is not None and not seen.whole(machine.in_place):
        notes.append(f"not every part of {machine.in_place.upper()} is in place")
    if not is_leased(machine, now):
        notes.append(f"the lease ran out at {show_time(machine.lease_until)}: adminkit-trial.timer did not run lately")
    return Round(now, whole, notes=notes, seen=seen)


def looked(target: Target, whole: Whole) -> Seen:
    """What is in place of each part, also after the trial."""
    return trial_seen.look(target.folder, read_pair(target.folder), whole.machine.own)
