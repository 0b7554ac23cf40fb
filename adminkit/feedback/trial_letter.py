"""The test letter of `adminkit feedback test`."""

from __future__ import annotations

import secrets
import time

from adminkit.config import Feedback
from adminkit.errors import AdminkitError, UsageError
from adminkit.feedback.letter import Letter
from adminkit.feedback.mime import Envelope, build, one_line
from adminkit.feedback.prefs import is_address
from adminkit.feedback.transport.base import Later, Refused, Stopped
from adminkit.feedback.transport.choice import described, opened

_TEXT = "This is a test letter from adminkit. It was sent by {way}, as users' letters are.\n"


def trial(settings: Feedback, address: str) -> bytes:
    """The message; each has a Message-ID of its own."""
    if not is_address(address):
        raise UsageError(f"{one_line(address)} is not an email address", "write it as ada@example.org")
    text = _TEXT.format(way=described(settings))
    letter = Letter("adminkit: a test letter", text, f"<!doctype html><p>{text}</p>")
    return build(letter, Envelope(("", secrets.token_hex(8), "trial"), (address,), 0, int(time.time())), settings)


def send_trial(settings: Feedback, address: str, message: bytes) -> str:
    """The reply of the mail server or program. AdminkitError where the letter was not accepted."""
    try:
        with opened(settings) as way:
            key = message.decode("ascii")  # no two are alike
            return way.send(settings.sender, (address,), message, key)
    except Stopped as error:
        raise AdminkitError(
            f"couldn't send the letter: {error}", "check [feedback] in adminkit.toml: via, host, port, tls, login"
        ) from error
    except Later as error:
        later = f"the letter to {address} was not accepted yet: {error}"
        raise AdminkitError(later, "try again in a few minutes") from error
    except Refused as error:
        raise AdminkitError(f"the letter to {address} was not accepted: {error}", "try another address") from error
