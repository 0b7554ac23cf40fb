"""doctor's check of a trial: whether its rounds run here, and whether the side that belongs in place is whole."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Final

from adminkit import config
from adminkit.doctor.check import Check
from adminkit.errors import AdminkitError
from adminkit.slurm import extending
from adminkit.slurm.controller import controller_or_conf, site_folder
from adminkit.units import show_time

NAME: Final = "trial"
_ENABLE: Final = "systemctl enable --now adminkit-trial.timer adminkit-trial-lease.timer"


def trial(settings: config.Config) -> Iterator[Check]:
    """Nothing without a trial, and after one that left A in place. AdminkitError where slurmctld is not responding."""
    from adminkit.deploy.files import read_text
    from adminkit.deploy.install import Target
    from adminkit.deploy.trial import TRIAL
    from adminkit.deploy.trial_look import look
    from adminkit.deploy.trial_sides import INCLUDED

    controller = controller_or_conf()
    folder = site_folder(controller, settings.policy.folder)
    if not os.access(folder / TRIAL, os.R_OK):
        return  # there is none, or the check `rules` says why this user sees nothing
    others = controller.others()
    if others and not extending.is_acting(others):
        yield Check(NAME, "ok", "another host's slurmctld is in control, so the rounds of this one do nothing")
        return
    now = int(time.time())
    try:
        found = look(Target(folder), now)
    except AdminkitError as error:
        yield Check(NAME, "missing", error.message, error.hint or "adminkit trial restore --apply")
        return
    if found.whole is None:
        return
    trial, machine = found.whole.trial, found.whole.machine
    if trial.ended is not None and machine.under_way is None:
        included = read_text(folder / INCLUDED) or ""
        if machine.kept and any("=" in line for line in included.splitlines()):
            found_there = f"B was kept, and {folder / INCLUDED} has its lines"
            yield Check(NAME, "warn", found_there, "move them into slurm.conf, then: scontrol reconfigure")
        return
    if found.ok:
        side = machine.in_place.upper()
        yield Check(NAME, "ok", f"{side} is in place; the lease lasts until {show_time(machine.lease_until)}")
    for note in found.notes:
        by_hand = "adminkit trial run --apply; adminkit trial stop --apply puts A back"
        hint = _ENABLE if "did not run" in note else by_hand
        yield Check(NAME, "missing", note, hint)
