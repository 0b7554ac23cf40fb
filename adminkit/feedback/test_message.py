"""A letter that says nothing but that it arrived: for who sets the mail server up."""

from __future__ import annotations

import secrets
import time

from adminkit.config import Feedback
from adminkit.errors import AdminkitError, UsageError
from adminkit.feedback.letter import Letter
from adminkit.feedback.mime import Envelope, build, one_line
from adminkit.feedback.prefs import is_address
from adminkit.feedback.transport.base import Later, Refused, Stopped, described, opened

_TEXT = "This is a letter of adminkit on trial. It went by {way}; users' letters go the same way.\n"


def trial(settings: Feedback, address: str) -> bytes:
    """The message, with an identity of its own each time."""
    if not is_address(address):
        raise UsageError(f"{one_line(address)} is no mail address", "such as ada@example.org")
    text = _TEXT.format(way=described(settings))
    letter = Letter("adminkit: a letter on trial", text, f"<!doctype html><p>{text}</p>")
    return build(letter, Envelope(("", secrets.token_hex(8), "trial"), (address,), 0, int(time.time())), settings)


def send_trial(settings: Feedback, address: str, message: bytes) -> str:
    """What was said when it was taken. AdminkitError where it was not."""
    try:
        with opened(settings) as way:
            key = message.decode("ascii")  # no two are alike
            return way.send(settings.sender, (address,), message, key)
    except Stopped as error:
        raise AdminkitError(f"no letter goes through: {error}", "see [feedback] in adminkit.toml") from error
    except (Later, Refused) as error:
        raise AdminkitError(f"{address} was not taken: {error}", "try another address") from error
