"""doctor's check of soft limits: whether they are safe here, and whether the guard runs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from adminkit import config
from adminkit.doctor.check import Check
from adminkit.slurm import release
from adminkit.slurm.controller import controller_or_conf, site_folder
from adminkit.units import show_time


def soft_limits(settings: config.Policy) -> Iterator[Check]:
    """Nothing where they are off and nothing is left of them. AdminkitError where slurmctld is not responding."""
    from adminkit.deploy.files import read_text, table_path
    from adminkit.deploy.planning import BEST, turns_on, undone
    from adminkit.deploy.soft_guard import LEASE, look

    controller = controller_or_conf()
    folder = site_folder(controller, settings.folder)
    if not os.access(folder / "adminkit", os.R_OK | os.X_OK):
        return  # the check `rules` says so
    if not turns_on(read_text(table_path(folder, "policy")) or "") and not (folder / LEASE).exists():
        return
    now = look(folder, int(time.time()))
    if not now.enabled:
        yield Check("soft limits", "warn", "off, and a lease is left", "run adminkit soft-limits guard --apply")
        return
    if not now.reasons and (older := undone(release.release())):
        yield Check("soft limits", "warn", older, f"update Slurm to {release.show_release(BEST)} or newer")
    for one in now.reasons:
        yield Check("soft limits", "missing", f"{one.name}: {one.why}", one.hint)
    if not now.reasons and now.valid_until is None:
        why = "no lease: the guard does not run, so no job is given a soft limit and nothing is put right"
        yield Check("soft limits", "missing", why, "systemctl enable --now adminkit-soft-limits.timer")
    elif now.valid_until is not None:
        yield Check("soft limits", "ok", f"the lease lasts until {show_time(now.valid_until)}; {now.planned} open jobs")
