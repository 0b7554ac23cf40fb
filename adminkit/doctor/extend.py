"""doctor's check of more time for running jobs: whether the rounds run here, and whether what they did held."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Final

from adminkit import actions, config
from adminkit.doctor import ckpt
from adminkit.doctor.check import Check
from adminkit.errors import AdminkitError
from adminkit.slurm import extending
from adminkit.slurm.controller import controller_or_conf, site_folder
from adminkit.units import show_duration, show_time

NAME: Final = "extend"
#: Marks an act in the log.
WHAT: Final = "extend"
_DAY: Final = 86_400
#: Rounds that may be missed.
_MISSED: Final = 4
_ENABLE: Final = "systemctl enable --now adminkit-extend.timer"


def extend(settings: config.Config) -> Iterator[Check]:
    """Nothing where the rules give none. AdminkitError where slurmctld is not responding."""
    from adminkit.deploy.extend_round import PERIOD, settings_in_force
    from adminkit.deploy.extend_state import STATE, read_state

    controller = controller_or_conf()
    folder = site_folder(controller, settings.policy.folder)
    if not os.access(folder / "adminkit", os.R_OK | os.X_OK):
        return  # the check `rules` says so
    in_force = settings_in_force(folder)
    if in_force is None:
        return
    yield from _lead(in_force.lead)
    others = controller.others()
    if others and not extending.is_acting(others):
        yield Check(NAME, "ok", "another host's slurmctld is in control, so the rounds of this one do nothing")
        return
    state, now, late = folder / STATE, int(time.time()), _MISSED * PERIOD
    if state.exists() and not os.access(state, os.R_OK):
        yield Check(NAME, "ok", f"not checked: this user may not read {state}")
        return
    kept = read_state(folder, now, not others, late) if state.exists() else None
    if kept is None or now - kept.at > late:
        last = "no round was ever run" if kept is None else f"no round since {show_time(kept.at)}"
        yield Check(NAME, "missing", f"{last}: no job gets more time, and none is taken back", _ENABLE)
    else:
        yield Check(NAME, "ok", f"the last round was at {show_time(kept.at)}")
        if not kept.whole and in_force.budget is not None:
            found = "how much users were given this month is not known here, so nobody gets more until the next"
            yield Check(NAME, "warn", found, 'wait, or set budget = "none" in [extend] and install the policy')
    yield from _acts(settings, now)


def _lead(lead: int) -> Iterator[Check]:
    """Whether the checkpoint plugin would signal jobs before the rounds look at them."""
    try:
        signal = ckpt.signal_lead()
    except (AdminkitError, OSError):
        return  # the check `ckpt` says so
    if signal is not None and lead < signal.seconds + 60:
        found = f"the checkpoint plugin signals jobs {show_duration(signal.seconds)} before their end ({signal.place})"
        right = show_duration(signal.least)
        yield Check(NAME, "warn", found, f'set lead = "{right}" or more in [extend], and install the policy')


def _acts(settings: config.Config, now: int) -> Iterator[Check]:
    """Whether the rounds may write their log, and whether slurmctld did what they asked."""
    log = settings.acts
    there = log if log.exists() else log.parent
    if os.geteuid() == 0 and not os.access(there, os.W_OK):
        yield Check(NAME, "missing", f"couldn't write {there}: nothing is given", "adminkit.toml names the log: `acts`")
        return
    recent = [one for one in actions.read(log) if one.get("what") == WHAT and one["at"] > now - _DAY]
    lost, held = (sum(one.get("held") is value for one in recent) for value in (False, True))
    if lost > held:  # some changes fail on a healthy site: jobs end within a round
        found = f"of the changes of the last day, {lost} did not hold and {held} did"
        yield Check(NAME, "warn", found, "adminkit extend status names them; only operators may raise limits")
