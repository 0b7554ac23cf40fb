"""What `policy install`, `rollback`, `refresh` and `incentives install` write to stdout, and when they fail."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

from adminkit.errors import AdminkitError
from adminkit.render.sink import Way, emit
from adminkit.reports import deploy as reports

if TYPE_CHECKING:
    from adminkit.deploy.bundle import Bundle
    from adminkit.deploy.install import Done, Target


def emit_preview(bundle: Bundle, target: Target, way: Way) -> None:
    """What an install would write."""
    from adminkit.deploy.install import installed, preview, rule_changes
    from adminkit.deploy.program import ENTRY, entry_state

    report = reports.preview_report(
        preview(bundle, target),
        bundle,
        target,
        installed=installed(target.folder),
        rules=rule_changes(bundle, target),
        entry=entry_state(target.folder, bundle.program[ENTRY]),
    )
    emit(report, way)


def emit_done(done: Done, target: Target, notes: Sequence[str], way: Way) -> None:
    """Show what was installed; AdminkitError where it is not known to be in use on every host."""
    emit(reports.done_report(done, target, notes, socket.gethostname().partition(".")[0]), way)
    if not done.confirmed:
        raise AdminkitError(f"installed, but not in use: {done.doubt}", "adminkit doctor says what is missing")
    wrong = [f"{host.name}: {host.state}" for host in done.hosts if host.problem or host.differs]
    if wrong:
        raise AdminkitError(f"in use here, but {'; '.join(wrong)}", "run it again, or copy the files there by hand")


def emit_rollback(target: Target, way: Way) -> None:
    """What a rollback would bring back; AdminkitError where there is nothing."""
    from adminkit.deploy.install import installed

    generations = installed(target.folder).get("policy", {})
    previous = generations.get("previous")
    if previous is None:
        raise AdminkitError(
            f"there is no previous policy in {target.folder}",
            "adminkit keeps only the policy from before the last install",
        )
    emit(reports.rollback_report(generations.get(""), previous, target, socket.gethostname()), way)
