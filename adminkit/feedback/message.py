"""A Letter as a message: plain text and HTML in one, and headers that mail programs heed."""

from __future__ import annotations

import email.policy
import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Final

from adminkit.config import Feedback
from adminkit.errors import AdminkitError
from adminkit.feedback.letter import Letter
from adminkit.feedback.prefs import is_address

#: Characters of a subject; mail programs show fewer.
LONGEST_SUBJECT: Final = 150
#: 7 bits and short lines: some server on the way knows nothing else.
_POLICY: Final = email.policy.SMTP.clone(cte_type="7bit")
#: Whatever ends a line somewhere, or writes backwards, or is none of anybody's business.
_CONTROL: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]+"
)


@dataclass(frozen=True, slots=True)
class Envelope:
    """Who it is from and for, and what makes two of them one."""

    key: tuple[str, str, str]
    recipients: tuple[str, ...]
    copy: int = 0
    at: int = 0  # epoch seconds


def message_id(key: tuple[str, str, str], copy: int, sender: str) -> str:
    """The same for every try of one letter, so that one that arrives twice is seen to be one."""
    cluster, run, kind = (re.sub(r"[^A-Za-z0-9]+", "-", word)[:40].strip("-") for word in key)
    digest = hashlib.sha256("\0".join((*key, str(copy))).encode("utf-8", "replace")).hexdigest()[:16]
    return f"<{kind}.{run}.{cluster}.{digest}@{sender.rpartition('@')[2]}>"


def build(letter: Letter, envelope: Envelope, settings: Feedback) -> EmailMessage:
    """The whole message. AdminkitError for an address of the configuration that is none."""
    check_senders(settings)
    message = EmailMessage(policy=_POLICY)
    message["From"] = settings.sender
    message["To"] = ", ".join(envelope.recipients)
    if settings.reply_to:
        message["Reply-To"] = settings.reply_to
    message["Subject"] = one_line(letter.subject)
    message["Date"] = format_datetime(datetime.fromtimestamp(envelope.at, UTC))
    message["Message-ID"] = message_id(envelope.key, envelope.copy, settings.sender)
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"  # Exchange: no "I am away" in return
    message["List-Unsubscribe"] = f"<{unsubscribe(settings)}>"
    message.set_content(_whole(letter.text), subtype="plain", charset="utf-8")
    message.add_alternative(_whole(letter.html), subtype="html", charset="utf-8")
    return message


def unsubscribe(settings: Feedback) -> str:
    """Where to say that one wants no more."""
    return settings.unsubscribe or f"mailto:{settings.reply_to or settings.sender}?subject=unsubscribe"


def check_senders(settings: Feedback) -> None:
    """AdminkitError names the setting that cannot stand in a header."""
    for key, values in (
        ("sender", (settings.sender,)),
        ("reply_to", (settings.reply_to,)),
        ("operators", settings.operators),
    ):
        for value in values:
            if value is not None and not is_address(value):
                raise AdminkitError(f"[feedback] {key} is no mail address: {one_line(value)}", "adminkit@example.org")
    link = settings.unsubscribe
    if link is not None and not re.fullmatch(r"(mailto|https):[!-;=?-~]+", link):
        raise AdminkitError("[feedback] unsubscribe is neither mailto: nor https:", "https://example.org/letters")


def one_line(text: str) -> str:
    """Any text as one line that can be a header: nothing in it ends it."""
    words = " ".join(_CONTROL.sub(" ", text).split())
    return words if len(words) <= LONGEST_SUBJECT else words[: LONGEST_SUBJECT - 1] + "…"


def _whole(text: str) -> str:
    """Text that can be encoded; what is no character becomes a question mark. No NUL, which SMTP cannot carry."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
