"""adminkit feedback chat: try a chat service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from adminkit import config
from adminkit.errors import AdminkitError, unknown_word
from adminkit.quote import quote
from adminkit.render.say import put, say

if TYPE_CHECKING:
    from adminkit.config import Feedback
    from adminkit.feedback.chat import Chat

#: The message: with the characters that could call people or break a block.
SUBJECT: Final = "A trial message from adminkit"
TEXT: Final = (
    "Letters are copied here. This line calls nobody and makes no link: @everyone <!channel> `x` https://example.org\n"
)


def chat_of(settings: Feedback) -> Chat | None:
    """The chat services of a run; None, and a note, where they cannot be had: letters go by mail all the same."""
    from adminkit.feedback.chat import of_settings

    try:
        return of_settings(settings)
    except AdminkitError as error:
        say(f"note: no letter is copied to a chat service: {error.message} ({error.hint})")
        return None


def chat(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A service in the file of [feedback] webhook.")],
    user: Annotated[
        str | None,
        typer.Option("--user", "-u", metavar="USER", help="The user in whose place {user} in the URL is put."),
    ] = None,
    send: Annotated[bool, typer.Option("--send", help="Send the message. Without --send, only show it.")] = False,
) -> None:
    """Send one trial message to a chat service. Without --send, only shows it.

    Example: adminkit feedback chat ops --send
    """
    from adminkit.feedback.chat import Chat, harmless, read_services
    from adminkit.feedback.letter import Letter

    services = read_services(config.load().feedback.webhook)
    if name not in services:
        raise unknown_word("chat service", quote(name), services)
    if not send:
        put(harmless(SUBJECT, TEXT))
        say("note: nothing was sent; add --send to send it")
        return
    letter = Letter(SUBJECT, TEXT, "")
    service = Chat(services, (name,), (name,))
    notes = service.copy(letter, None, None) if user is None else service.copy(letter, user, name)
    if notes:
        raise AdminkitError(f"couldn't send the message: {notes[0].partition(';')[0]}", "see docs/chat.md")
    put(f"{name} took the message")
