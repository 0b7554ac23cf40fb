"""adminkit feedback …"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.policy import PolicyFile
from adminkit.cli.progress import progress
from adminkit.errors import AdminkitError, UsageError
from adminkit.quote import clean
from adminkit.render.sink import Way, emit
from adminkit.trace.connect import reader, writer
from adminkit.trace.location import find_trace
from adminkit.trace.lock import only_one
from adminkit.trace.sight import operators_only
from adminkit.units import moment

if TYPE_CHECKING:
    import sqlite3

    from adminkit.config import Config
    from adminkit.feedback.letter import Compose
    from adminkit.feedback.plan import Planned
    from adminkit.feedback.send import Done, Tools
    from adminkit.render.report import Report

app = typer.Typer(help="Letters to users.", invoke_without_command=True, rich_markup_mode=None)

Send = Annotated[bool, typer.Option("--send", help="Do it. Without it, what would happen is shown.")]
Only = Annotated[
    list[str] | None, typer.Option("--user", "-u", metavar="NAME", help="Only this user's. Repeat for more.")
]
Text = Annotated[bool, typer.Option("--text", help="Print the letters themselves instead of a list.")]
Sample = Annotated[
    bool,
    typer.Option("--sample", help="One letter of each kind as it would read, whoever gets letters; for a first look."),
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Also write each letter into DIR, as mail (.eml) and .html.")
]
Most = Annotated[
    int | None, typer.Option("--max-letters", min=1, metavar="N", help="More new letters than this: none is sent.")
]
Letters = Annotated[bool, typer.Option("--letters", help="List letters one by one: those that did not get through.")]
All = Annotated[bool, typer.Option("--all", help="With --letters: those that were sent, too.")]
Run = Annotated[
    list[str] | None,
    typer.Argument(metavar="[RUN]…", help="Which letters, by the run that status names: 4711@1796083200."),
]
Refused = Annotated[bool, typer.Option("--refused", help="All letters that were refused.")]
Address = Annotated[str, typer.Argument(metavar="ADDRESS", help="Where to.")]


@app.callback()
def root(context: typer.Context) -> None:
    """Letters to users."""
    if context.invoked_subcommand is None:
        preview()


@app.command()
def preview(
    db: options.Database = None,
    policy: PolicyFile = None,
    user: Only = None,
    as_of: options.AsOf = None,
    sample: Sample = False,
    text: Text = False,
    out: Out = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Show what would go out now, and how many get nothing and why. Nothing is sent or noted."""
    from adminkit.cli.feedback_shown import show_due
    from adminkit.feedback.sample import sample as of_each_kind

    when, settings = moment(as_of, time.time()), config.load() if sample else _settings()
    path, way, compose = find_trace(db, settings.db), Way(format.value, output), _compose(policy)
    with reader(path, when.as_of) as trace:
        _operators_only(path)
        if sample:
            planned = of_each_kind(trace, settings, when.now, user or ())
        else:
            planned = _plan(trace, settings, path, when.now)
        show_due(trace, planned, settings, when, str(path), user or (), text, out, way, compose)


@app.command()
def run(
    db: options.Database = None,
    policy: PolicyFile = None,
    send: Send = False,
    most: Most = None,
    as_of: options.AsOf = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Send what is due and what waits. The first time it notes the moment from which jobs count."""
    if send and as_of is not None:
        raise UsageError("--send sends what is due now, not --as-of", "leave out --send: it shows what was due then")
    if not send:
        preview(db, policy, as_of=as_of, format=format, output=output)
        print("note: nothing was sent; --send does it", file=sys.stderr)
        return
    from adminkit.feedback.send import run as act

    settings = _settings(most)
    path = find_trace(db, settings.db)
    with _at_work(settings, path, policy, act) as (trace, done):
        emit(_ran(trace, done, str(path), settings), Way(format.value, output))
    _complain_of(done)


@app.command()
def status(
    db: options.Database = None,
    letters: Letters = False,
    everything: All = False,
    user: Only = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """The outbox: how many letters are due, sent, refused or expired, and what went wrong."""
    from adminkit.cli.feedback_shown import standing
    from adminkit.reports.outbox import letters_report, status_report
    from adminkit.trace import outbox

    settings = config.load()
    path = find_trace(db, settings.db)
    with reader(path) as trace:
        _operators_only(path)
        notes = standing(trace, settings, path)
        states = [state for state in outbox.STATES if everything or state not in ("sent", "expired")]
        if letters or user:
            report = letters_report(outbox.find(trace, states, user or (), 1000), notes, str(path))
        else:
            report = status_report(outbox.counts(trace), notes, str(path))
    emit(report, Way(format.value, output))


@app.command()
def resend(
    which: Run = None,
    db: options.Database = None,
    policy: PolicyFile = None,
    refused: Refused = False,
    user: Only = None,
    send: Send = False,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Send letters once more, whatever became of them. Shows which; --send does it."""
    from adminkit.cli.feedback_shown import chosen
    from adminkit.feedback.send import resend as act
    from adminkit.reports.outbox import letters_report

    settings = config.load()
    path = find_trace(db, settings.db)
    with reader(path) as trace:
        _operators_only(path)
        entries = chosen(trace, which or (), refused, user or ())
    if not send:
        emit(letters_report(entries, ["nothing was sent; --send does it"], str(path)), Way(format.value, output))
        return

    def once_more(db: sqlite3.Connection, settings: Config, tools: Tools) -> Done:
        return act(db, settings, tools, entries)

    with _at_work(settings, path, policy, once_more) as (trace, done):
        emit(_ran(trace, done, str(path), settings), Way(format.value, output))
    _complain_of(done)


@app.command()
def test(address: Address, send: Send = False) -> None:
    """Send one letter to ADDRESS that says nothing but that it arrived. Shows it; --send does it."""
    from adminkit.feedback.test_message import send_trial, trial
    from adminkit.feedback.transport.base import described

    settings = config.load().feedback
    message = trial(settings, address)
    if not send:
        print(message.decode("ascii").replace("\r\n", "\n"))
        print(f"note: it would go to {described(settings)}; --send does it", file=sys.stderr)
        return
    print(f"{described(settings)}: {clean(send_trial(settings, address, message))}")


@contextmanager
def _at_work(
    settings: Config, path: Path, policy: Path | None, act: Callable[[sqlite3.Connection, Config, Tools], Done]
) -> Iterator[tuple[sqlite3.Connection, Done]]:
    """Do `act` alone on the outbox of this trace, with a bar."""
    from adminkit.feedback.last_sent import mark_of
    from adminkit.feedback.prefs import folder_of
    from adminkit.feedback.recipients import People, read_addresses, system_name
    from adminkit.feedback.send import Tools
    from adminkit.feedback.transport.base import opened

    if not path.exists():
        raise AdminkitError(f"no trace database at {path}", "run `adminkit sync` first, or name it with --db")
    with ExitStack() as stack:
        transport = opened(settings.feedback)
        people = People(settings.feedback, system_name, read_addresses(settings.feedback.addresses))
        trace = stack.enter_context(writer(path))
        stack.enter_context(only_one(path.with_name(f"{path.name}-outbox"), "adminkit feedback"))
        tick = stack.enter_context(progress("sending", "letters"))
        with transport as way:
            choices = folder_of(settings, path)
            done = act(trace, settings, Tools(_compose(policy), way, people, choices, tick=tick, mark=mark_of(path)))
        yield trace, done


def _ran(trace: sqlite3.Connection, done: Done, database: str, settings: Config) -> Report:
    from adminkit.reports.outbox import run_report
    from adminkit.trace import outbox

    waiting = len(outbox.find(trace, ["due", "claimed"]))
    return run_report(done.counts, waiting, done.planned.left_out, done.notes, database, settings.feedback.clusters)


def _complain_of(done: Done) -> None:
    """Exit 1 where letters wait for what an operator has to correct; they are kept."""
    if done.stopped:
        raise AdminkitError(f"no letter goes through: {done.stopped}", "they are kept; the next run tries again")


def _plan(trace: sqlite3.Connection, settings: Config, path: Path, now: int) -> Planned:
    from adminkit.feedback.plan import plan
    from adminkit.feedback.prefs import folder_of
    from adminkit.feedback.recipients import People, read_addresses, system_name

    people = People(settings.feedback, system_name, read_addresses(settings.feedback.addresses))
    return plan(trace, settings, people, folder_of(settings, path), now, preview=True)


def _settings(most: int | None = None) -> Config:
    """The settings; AdminkitError where no cluster is listed."""
    from dataclasses import replace

    settings = config.load()
    if not settings.feedback.clusters:
        raise AdminkitError("no cluster's users get letters", "list it in adminkit.toml: [feedback] clusters")
    if most is not None:
        return replace(settings, feedback=replace(settings.feedback, max_letters=most))
    return settings


def _compose(policy: Path | None) -> Compose:
    """Letters with the limits of that policy.toml; read before anything is sent."""
    from adminkit.feedback.compose import Composer
    from adminkit.policy.load import load_offer

    offer = load_offer(policy)
    return lambda db, settings, now, dues: Composer(db, settings, offer, now, dues).letter


def _operators_only(path: Path) -> None:
    operators_only(path, "letters are for their users and the operators", "adminkit feedback prefs is for everybody")
