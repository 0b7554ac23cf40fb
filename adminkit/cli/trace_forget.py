"""adminkit trace forget: a command of `adminkit trace`."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from adminkit import actions, config
from adminkit.cli.operators import Refusal, operators_only
from adminkit.cli.options import Counted, CountedOption, Database
from adminkit.cli.progress import progress
from adminkit.errors import AdminkitError, UsageError, cause
from adminkit.feedback import prefs
from adminkit.files import folder_to_write, remove_folder
from adminkit.owner import as_owner
from adminkit.quote import quote
from adminkit.render.format import plural
from adminkit.render.say import put, say
from adminkit.trace import connect
from adminkit.trace.actions import record_actions
from adminkit.trace.forget import Held, Whom, find, held, mentions
from adminkit.trace.forget import forget as take_out
from adminkit.trace.forgotten import marks_of
from adminkit.trace.location import find_trace
from adminkit.trace.lock import only_one
from adminkit.trace.prune import give_space_back, still_in_file
from adminkit.trace.snapshot import publish
from adminkit.users import uid_of

_FORGET: Final[Refusal] = ("only operators may forget a user", "adminkit my --everything shows what is kept about you")
#: Table -> what its rows are called.
_WORDS: Final = {
    "job": "runs", "step": "steps", "job_aside": "runs set aside", "step_aside": "steps set aside",
    "outbox": "letters", "rejected": "rejected rows", "node_event": "events of nodes", "action": "actions",
    "load": "loads", "person": "persons",
}  # fmt: skip
_KEPT: Final = (
    "this does not reach Slurm's own accounting, backups, exports, snapshots without --snapshot, letters and pages that"
    " went out, action logs on other hosts, or the user's own copy"
)


def forget(
    user: Annotated[str, typer.Argument(metavar="USER", help="The login name.")],
    db: Database = None,
    snapshot: Annotated[
        list[Path] | None,
        typer.Option("--snapshot", metavar="FILE", help="Make this snapshot again afterwards. Repeat for more."),
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Do it. Without --apply, only counts are shown.")] = False,
    format: CountedOption = Counted.TABLE,
) -> None:
    """Take a user's name out of the trace for good. Runs stay under a random id; letters and choices are deleted.

    A keyed hash stays, so that no later sync or import brings the name back. Without --apply, only shows what would
    change.

    Example: adminkit trace forget alice
    """
    settings, now = config.load(), int(time.time())
    path = find_trace(db, settings.db)
    operators_only(path, _FORGET)
    if not connect.is_there(path):
        raise AdminkitError(f"no trace database at {path}", "name one with --db")
    uid = uid_of(user)
    uids = () if uid is None else (uid,)
    if not apply:
        with connect.reader(path) as trace:
            whom = find(trace, user, uids)
            found = _something(held(trace, whom), user)
        _say(path, user, found, None, [], format)
        return
    with only_one(path, "adminkit trace forget"), connect.writer(path) as trace:
        whom = find(trace, user, uids)
        found = held(trace, whom)
        before = marks_of(trace)
        if before is None or not before.person(user):  # else it is repeated, as it was cut short or the file was read
            _something(found, user)
        runs = next(one.rows for one in found if one.table == "job")
        with progress("forgetting", "run") as bar:
            person = take_out(trace, path, whom, now, lambda done: bar(done, runs, done))
        marks = marks_of(trace)
        assert marks
        record_actions(trace, [actions.act("trace forget", None, None, {}, person=person, runs=runs)])
        whole = give_space_back(trace)
        _remove_leftovers(path)
        left = mentions(trace, whom)
    try:
        actions.rewrite(settings.acts, marks.without_names)
    except AdminkitError as error:
        say(f"note: {error.message}; actions there may name {quote(user)}: {error.hint}")
    _remove_files(prefs.folder_of(settings, path), "toml", whom)
    _remove_files(settings.own, "json", whom)
    for target in snapshot or ():
        with connect.reader(path) as reading:
            publish(reading, path, target)
    _say(path, user, found, person, left, format, whole)
    if not whole:
        raise still_in_file(path)


def _something(found: list[Held], user: str) -> list[Held]:
    if not any(one.rows for one in found):
        raise UsageError(f"the trace has no data for {quote(user)}", "give the login name as the trace has it")
    return found


def _remove_leftovers(path: Path) -> None:
    """What killed runs left beside the trace: answers of slurmdbd, an audit's scratch, a trace that was being built.

    The caller holds the lock of the trace, so no sync and no audit that changes it is at work.
    """
    for left in (*path.parent.glob(f".{path.name}.*"), path.with_name(f".{path.name}.spool")):
        pid = left.name.removesuffix(".new").rpartition(".")[2]
        if left.name.endswith(".spool") or (pid.isdigit() and not Path(f"/proc/{pid}").exists()):
            remove_folder(left)


def _remove_files(folder: Path, ending: str, whom: Whom) -> None:
    """The user's file of choices for letters, or that of `trace own`; one that cannot be removed is named."""
    for uid in whom.uids:
        name = f"{uid}.{ending}"
        try:
            with as_owner(folder / name, itself=False), folder_to_write(folder) as handle:
                os.unlink(name, dir_fd=handle)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            say(f"note: {folder}/{name} stays: {cause(error)}; root can remove it")


def _say(
    path: Path, user: str, found: list[Held], person: str | None, left: list[Held], format: Counted, whole: bool = True
) -> None:
    rows = {one.table: one.rows for one in found}
    if format is Counted.JSON:
        mentioned = {one.table: one.rows for one in left}
        said = {
            "applied": person is not None,
            "person": person,
            "rows": rows,
            "mentioned": mentioned,
            "gone": bool(person and whole),
        }
        print(json.dumps(said))
    else:
        listed = ", ".join(f"{many:,} {_WORDS[table]}" for table, many in rows.items() if many) or "nothing more"
        done = "forgotten" if whole else "taken out of the rows, and still in the file"
        what = f"{done}, now {person}" if person else "would be forgotten"
        put(f"{path}: {quote(user)} {what}: {listed}")
        for one in left:
            put(f"the name is still in the text of {one.table} in {plural(one.rows, 'row')}")
    say(f"note: {_KEPT}" if person else "note: nothing was changed; add --apply to change it")
