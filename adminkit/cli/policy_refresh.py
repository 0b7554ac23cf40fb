"""adminkit policy refresh."""

from __future__ import annotations

from contextlib import suppress

from adminkit.cli.options import Apply, Format, FormatOption, Output
from adminkit.cli.policy_install import Fetch, Folder, Push, target_of
from adminkit.users import NamesAway, name_of


def refresh(
    folder: Folder = None,
    apply: Apply = False,
    push: Push = None,
    fetch: Fetch = None,
    format: FormatOption = Format.TABLE,
    output: Output = None,
) -> None:
    """Ask slurmdbd who is an operator. With --apply, the rules then apply to users who are no longer operators.

    Example: adminkit policy refresh --apply
    """
    from adminkit.cli.installing import emit_done
    from adminkit.deploy import refresh as rules
    from adminkit.render.sink import Way, emit
    from adminkit.reports.deploy import refresh_report
    from adminkit.slurm.gather import privileged

    (target, controller), way = target_of(folder, push, fetch), Way(format.value, output)
    uids, notes = privileged(controller)
    unsure = bool(notes)  # an operator's name has no uid on this host
    done = None
    if apply:
        refreshed, done = rules.refresh(target, uids, unsure)
    else:
        refreshed = rules.look(target, uids, unsure)
        notes = ["nothing was written; add --apply to write it", *notes]
    if refreshed is None:
        notes = [*notes, f"no rules are installed in {target.folder}"]
    passing = [] if refreshed is None else [(uid, _name(uid), "no longer exempt") for uid in refreshed.gone]
    passing += [] if refreshed is None else [(uid, _name(uid), "exempt from now on") for uid in refreshed.come]
    if done is not None:
        emit_done(done, target, [*notes, *(f"{name or uid} {change}" for uid, name, change in passing)], way)
    else:
        emit(refresh_report(passing, controller.cluster, notes), way)


def _name(uid: int) -> str | None:
    with suppress(NamesAway):
        return name_of(uid)
    return None
