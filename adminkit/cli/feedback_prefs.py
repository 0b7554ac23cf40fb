"""adminkit feedback prefs: what a user chooses for themselves. Needs no trace, and writes one file of that user."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.errors import AdminkitError, UsageError
from adminkit.quote import quote


class Frequency(StrEnum):
    """How often; prefs.FREQUENCIES."""

    EACH = "each"
    WEEK = "week"
    NEVER = "never"


Letters = Annotated[
    Frequency | None,
    typer.Option(
        "--letters", help="How often to send letters: each (after a job, and weekly), week (weekly only) or never."
    ),
]
Tongue = Annotated[options.Language | None, typer.Option("--language", help="The language of letters.")]
Address = Annotated[
    str | None,
    typer.Option(
        "--address", metavar="ADDRESS", help="Where your letters are sent, instead of the site's address for you."
    ),
]
Hints = Annotated[bool | None, typer.Option("--hints/--no-hints", help="Whether you get hints at submission.")]
Plan = Annotated[
    bool | None,
    typer.Option("--plan/--no-plan", help="Whether your jobs are planned according to what similar jobs needed."),
]
Service = Annotated[
    str | None,
    typer.Option(
        "--chat",
        metavar="NAME",
        help='A chat service that also gets your letters: one that the site offers; "" for none.',
    ),
]
Reset = Annotated[bool, typer.Option("--reset", help="Delete your choices, so that the site's defaults apply.")]


def prefs(
    letters: Letters = None,
    language: Tongue = None,
    address: Address = None,
    hints: Hints = None,
    plan: Plan = None,
    chat: Service = None,
    reset: Reset = False,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Show or change your choices about letters and hints. They cover how often letters are sent, their language and
    address, chat, hints, and soft limits.

    Example: adminkit feedback prefs --letters week
    """
    from adminkit.feedback.prefs import Prefs, checked, folder_of, read, write
    from adminkit.feedback.recipients import is_allowed
    from adminkit.render.sink import Way, emit
    from adminkit.reports.outbox import prefs_report

    settings = config.load()
    folder, uid = folder_of(settings), os.getuid()
    domains = _domains(settings)
    current = read(folder, uid)
    typed = {"letters": letters, "language": language, "address": address, "hints": hints, "plan": plan, "chat": chat}
    changes = {key: getattr(value, "value", value) for key, value in typed.items() if value is not None}
    if changes or reset:
        before = Prefs() if reset or current.problem else current.prefs
        known = {key: value for key, value in asdict(before).items() if value is not None}
        if chat == "":  # no copy
            changes.pop("chat")
            known.pop("chat", None)
        elif chat is not None and chat not in settings.feedback.chat:
            raise _no_such(chat, settings.feedback.chat)
        wanted = checked({**known, **changes})
        if address and domains and not is_allowed(address, domains):
            raise UsageError(f"letters cannot be sent to {quote(address)}", f"allowed domains: {', '.join(domains)}")
        write(folder, uid, wanted)
        current = read(folder, uid)
    notes = [current.problem] if current.problem else []
    if (there := current.prefs.address) and domains and not is_allowed(there, domains):
        notes.append(f"you get no letters: {quote(there)} is not in an allowed domain ({', '.join(domains)})")
    if (service := current.prefs.chat) is not None and service not in settings.feedback.chat:
        notes.append(f"the site no longer offers the chat service {quote(service)}: you get no copies there")
    emit(prefs_report(asdict(current.prefs), notes, str(folder / f"{uid}.toml")), Way(format.value, output))


def _domains(settings: config.Config) -> tuple[str, ...]:
    """Where letters may go, as far as this user may know: empty where the map of addresses cannot be read here."""
    from adminkit.feedback.recipients import allowed_domains, read_addresses

    feedback = settings.feedback
    try:
        return allowed_domains(feedback, {} if feedback.domains else read_addresses(feedback.addresses))
    except AdminkitError:
        return ()


def _no_such(name: str, offered: Sequence[str]) -> UsageError:
    hint = f"it offers: {', '.join(offered)}" if offered else "it offers none: letters are emails"
    return UsageError(f"the site offers no chat service {quote(name)}", hint)
