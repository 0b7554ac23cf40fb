"""adminkit policy refresh."""

from __future__ import annotations

import pwd

from adminkit.cli.options import Format, FormatOption, Output
from adminkit.cli.policy_install import Apply, Fetch, Folder, Push, target_of


def refresh(
    folder: Folder = None,
    apply: Apply = False,
    push: Push = None,
    fetch: Fetch = None,
    format: FormatOption = Format.TABLE,
    output: Output = None,
) -> None:
    """Ask slurmdbd who is an operator, and let the rules hold whoever is none any more. --apply does it."""
    from adminkit.cli.policy_shown import emit_done
    from adminkit.deploy import refresh as rules
    from adminkit.render.sink import Way, emit
    from adminkit.reports.deploy import REFRESH_FIELDS, listing
    from adminkit.slurm.gather import privileged

    target, found = target_of(folder, push, fetch)
    uids, notes = privileged(found)
    unsure = bool(notes)  # an operator's name has no uid on this host
    done = None
    if apply:
        seen, done = rules.refresh(target, uids, unsure)
    else:
        seen = rules.look(target, uids, unsure)
        notes = ["nothing was written: --apply does it", *notes]
    if seen is None:
        notes = [*notes, f"no rules are installed in {target.folder}"]
    rows = [] if seen is None else [(uid, _name(uid), "passes no longer") for uid in seen.gone]
    rows += [] if seen is None else [(uid, _name(uid), "passes from now on") for uid in seen.come]
    if done is not None:
        emit_done(done, target, [*notes, *(f"{who or uid} {what}" for uid, who, what in rows)], format, output)
    else:
        emit(listing("Who passes the rules", found.cluster, REFRESH_FIELDS, rows, notes), Way(format.value, output))


def _name(uid: int) -> str | None:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None
