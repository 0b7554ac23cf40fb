"""adminkit feedback …"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.group import group
from adminkit.cli.operators import LETTERS, operators_only
from adminkit.cli.policy_input import PolicyFile
from adminkit.cli.progress import progress
from adminkit.errors import AdminkitError, UsageError
from adminkit.quote import clean
from adminkit.render.say import put, say
from adminkit.render.sink import Way, emit
from adminkit.trace.connect import is_there, reader, writer
from adminkit.trace.location import find_trace
from adminkit.trace.lock import only_one
from adminkit.units import moment

if TYPE_CHECKING:
    from adminkit.config import Config
    from adminkit.feedback.idle_letter import Holding
    from adminkit.feedback.letter import Compose
    from adminkit.feedback.plan import Plan
    from adminkit.feedback.send import Done, Tools
    from adminkit.render.report import Report
    from adminkit.sqlite import sqlite3

app = group("Send users letters about their jobs.")

Send = Annotated[bool, typer.Option("--send", help="Send the letters. Without --send, only show what would be sent.")]
Only = Annotated[
    list[str] | None, typer.Option("--user", "-u", metavar="NAME", help="Only letters to this user. Repeat for more.")
]
Text = Annotated[bool, typer.Option("--text", help="Print the letters instead of a list.")]
Sample = Annotated[
    bool,
    typer.Option("--sample", help="Show one letter of each kind, whether or not letters are switched on."),
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Also write each letter into DIR, as .eml and .html.")
]
Most = Annotated[
    int | None,
    typer.Option("--max-letters", min=1, metavar="N", help="Send no letters if more than N new letters are due."),
]
Letters = Annotated[bool, typer.Option("--letters", help="List the letters that were not sent, one per row.")]
All = Annotated[bool, typer.Option("--all", help="With --letters: also list letters that were sent or expired.")]
Run = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[RUN]…",
        help="The runs whose letters to send again, as `feedback status --letters` lists them: 4711@1796083200.",
    ),
]
Refused = Annotated[bool, typer.Option("--refused", help="Send every letter that was refused.")]
Address = Annotated[str, typer.Argument(metavar="ADDRESS", help="The recipient.")]


@app.callback(invoke_without_command=True, no_args_is_help=False)
def root(context: typer.Context) -> None:
    """Without a command, list the letters that are due."""
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
    """Show which letters are due, and why others are not. Sends no letters and changes nothing.

    Example: adminkit feedback preview --sample --text
    """
    from adminkit.cli.feedback_shown import show_due
    from adminkit.feedback.sample import sample as of_each_kind

    when, settings = moment(as_of, time.time()), config.load() if sample else _settings()
    path, way, compose = find_trace(db, settings.db), Way(format.value, output), _compose(policy)
    with reader(path, when.as_of) as trace:
        operators_only(path, LETTERS)
        if sample:
            planned = of_each_kind(trace, settings, when.now, user or ())
        else:
            holding = None if when.as_of is not None else _holding(settings, policy)
            planned = _plan(trace, settings, path, when.now, holding)
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
    """Send the letters that are due or waiting. The first run switches letters on: only jobs that end after it count.

    Example: adminkit feedback run --send
    """
    if send and as_of is not None:
        raise UsageError(
            "--send sends what is due now, so it cannot be combined with --as-of",
            "leave out --send to see what was due then",
        )
    if not send:
        preview(db, policy, as_of=as_of, format=format, output=output)
        say("note: nothing was sent; add --send to send it")
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
    """Show the outbox, and what went wrong. Shows how many letters are due, sent, refused or expired.

    Example: adminkit feedback status --letters
    """
    from adminkit.cli.feedback_shown import status_notes
    from adminkit.reports.outbox import letters_report, status_report
    from adminkit.trace import outbox

    settings = config.load()
    path = find_trace(db, settings.db)
    with reader(path) as trace:
        operators_only(path, LETTERS)
        notes = status_notes(trace, settings, path)
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
    """Send letters again, even if they were sent or refused before. Without --send, only lists them.

    Example: adminkit feedback resend --refused --send
    """
    from adminkit.cli.feedback_shown import matching
    from adminkit.feedback.send import resend as act
    from adminkit.reports.outbox import letters_report

    settings = config.load()
    path = find_trace(db, settings.db)
    with reader(path) as trace:
        operators_only(path, LETTERS)
        entries = matching(trace, which or (), refused, user or ())
    if not send:
        emit(letters_report(entries, ["nothing was sent; add --send to send it"], str(path)), Way(format.value, output))
        return

    def once_more(db: sqlite3.Connection, settings: Config, tools: Tools) -> Done:
        return act(db, settings, tools, entries)

    with _at_work(settings, path, policy, once_more) as (trace, done):
        emit(_ran(trace, done, str(path), settings), Way(format.value, output))
    _complain_of(done)


@app.command()
def test(address: Address, send: Send = False) -> None:
    """Send one test letter to ADDRESS. Without --send, only shows it.

    Example: adminkit feedback test me@example.org --send
    """
    from adminkit.feedback.transport.choice import described
    from adminkit.feedback.trial_letter import send_trial, trial

    settings = config.load().feedback
    message = trial(settings, address)
    if not send:
        put(message.decode("ascii").replace("\r\n", "\n"))
        say(f"note: it would go to {described(settings)}; add --send to send it")
        return
    put(f"{described(settings)}: {clean(send_trial(settings, address, message))}")


@contextmanager
def _at_work(
    settings: Config, path: Path, policy: Path | None, act: Callable[[sqlite3.Connection, Config, Tools], Done]
) -> Iterator[tuple[sqlite3.Connection, Done]]:
    """Call `act` with the outbox of this trace locked, and a progress bar."""
    from adminkit.cli.feedback_chat import chat_of
    from adminkit.feedback.last_sent import mark_of
    from adminkit.feedback.prefs import folder_of
    from adminkit.feedback.recipients import People, read_addresses
    from adminkit.feedback.send import Tools
    from adminkit.feedback.transport.choice import opened
    from adminkit.users import name_of

    if not is_there(path):
        raise AdminkitError(f"no trace database at {path}", "run `adminkit sync` first, or name it with --db")
    with ExitStack() as stack:
        transport, chat = opened(settings.feedback), chat_of(settings.feedback)
        people = People(settings.feedback, name_of, read_addresses(settings.feedback.addresses))
        trace = stack.enter_context(writer(path))
        stack.enter_context(only_one(path.with_name(f"{path.name}-outbox"), "adminkit feedback"))
        tick = stack.enter_context(progress("sending", "letter"))
        with transport as way:
            choices = folder_of(settings, path)
            idle = _holding(settings, policy)
            mark = mark_of(path)
            tools = Tools(_compose(policy), way, people, choices, tick=tick, chat=chat, mark=mark, holding=idle)
            done = act(trace, settings, tools)
        yield trace, done


def _ran(trace: sqlite3.Connection, done: Done, database: str, settings: Config) -> Report:
    from adminkit.reports.outbox import run_report
    from adminkit.trace import outbox

    waiting = len(outbox.find(trace, ["due", "claimed"]))
    return run_report(done.counts, waiting, done.planned.left_out, done.notes, database, settings.feedback.clusters)


def _complain_of(done: Done) -> None:
    """AdminkitError where sending stopped early: an operator has to act, the letters stay in the outbox. Exit code 1
    where a letter couldn't be written, or something couldn't be looked at; the others went.
    """
    if done.stopped:
        raise AdminkitError(
            f"couldn't send letters: {done.stopped}", "they stay in the outbox; the next run tries again"
        )
    if done.counts.get("broken") or done.planned.undone:
        raise typer.Exit(1)


def _plan(
    trace: sqlite3.Connection, settings: Config, path: Path, now: int, holding: Callable[[int], Holding] | None
) -> Plan:
    from adminkit.feedback.idle_letter import Holding
    from adminkit.feedback.plan import plan
    from adminkit.feedback.prefs import folder_of
    from adminkit.feedback.recipients import People, read_addresses
    from adminkit.users import name_of

    people = People(settings.feedback, name_of, read_addresses(settings.feedback.addresses))
    idle = Holding() if holding is None else holding(now)
    return plan(trace, settings, people, folder_of(settings, path), now, preview=True, holding=idle)


def _holding(settings: Config, policy: Path | None) -> Callable[[int], Holding]:
    """Who holds idle GPUs, by [idle] of that policy.toml, which is read now; nobody where this host has none."""
    from functools import partial

    from adminkit.feedback.idle_letter import holding
    from adminkit.policy.load import load_idle

    return partial(holding, settings, load_idle(policy))


def _settings(most: int | None = None) -> Config:
    """The settings; AdminkitError where [feedback] clusters is empty."""
    from dataclasses import replace

    settings = config.load()
    if not settings.feedback.clusters:
        raise AdminkitError(
            "letters are off: [feedback] clusters names no cluster",
            "list the clusters whose users get letters in adminkit.toml",
        )
    if most is not None:
        return replace(settings, feedback=replace(settings.feedback, max_letters=most))
    return settings


def _compose(policy: Path | None) -> Compose:
    """What composes letters, with the menu and risk of that policy.toml, which is read now."""
    from adminkit.feedback.compose import Composer
    from adminkit.policy.load import load_offer

    offer = load_offer(policy)
    return lambda db, settings, now, dues: Composer(db, settings, offer, now, dues).letter
