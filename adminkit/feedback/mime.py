"""A Letter as a MIME message: plain text and HTML in one, with headers that mail programs heed.

Built by hand: email.message takes longer for one message than everything else for the letter.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from email.header import Header
from email.utils import format_datetime
from typing import Final

from adminkit.config import Feedback
from adminkit.errors import AdminkitError
from adminkit.feedback.letter import Letter
from adminkit.feedback.prefs import is_address

#: The most characters of a header that comes from a text.
LONGEST_SUBJECT: Final = 150
#: The most characters of a line that is sent without encoding.
_LINE: Final = 78
#: Characters that end a line for some program, reverse the direction of text, show nothing, or are half of a pair.
_CONTROL: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]+"
)


@dataclass(frozen=True, slots=True)
class Envelope:
    """Where a message goes, and the key that makes its Message-ID; `copy` counts resends."""

    key: tuple[str, str, str]
    recipients: tuple[str, ...]
    copy: int = 0
    at: int = 0  # epoch seconds


def message_id(key: tuple[str, str, str], copy: int, sender: str) -> str:
    """The same for each attempt of one letter, so that mail programs recognise one that arrives twice."""
    cluster, run, kind = (re.sub(r"[^A-Za-z0-9]+", "-", word)[:40].strip("-") for word in key)
    digest = hashlib.sha256("\0".join((*key, str(copy))).encode("utf-8", "replace")).hexdigest()[:16]
    name = ".".join(word for word in (kind, run, cluster, digest) if word)  # a Message-ID has no two dots in a row
    return f"<{name}@{sender.rpartition('@')[2]}>"


def build(letter: Letter, envelope: Envelope, settings: Feedback) -> bytes:
    """The message as it is sent: short lines of 7-bit characters, as some servers on the way take nothing else.

    AdminkitError for what is not an email address.
    """
    check_senders(settings)
    for one in envelope.recipients:
        if not is_address(one):
            raise AdminkitError(f"{one_line(one)} is not an email address", "write it as ada@example.org")
    boundary = f"=_{secrets.token_hex(16)}"
    headers = [
        ("From", settings.sender),
        ("To", ",\n ".join(envelope.recipients)),
        *([("Reply-To", settings.reply_to)] if settings.reply_to else []),
        ("Subject", _subject(letter.subject)),
        ("Date", format_datetime(datetime.fromtimestamp(envelope.at, UTC))),
        ("Message-ID", message_id(envelope.key, envelope.copy, settings.sender)),
        ("Auto-Submitted", "auto-generated"),
        ("X-Auto-Response-Suppress", "All"),  # Exchange: no out-of-office answer
        ("List-Unsubscribe", f"<{unsubscribe(settings)}>"),
        ("MIME-Version", "1.0"),
        ("Content-Type", f'multipart/alternative;\n boundary="{boundary}"'),
    ]
    head = "".join(f"{name}: {value}\n" for name, value in headers)
    parts = (_part("plain", letter.text), _part("html", letter.html))
    body = "".join(f"\n--{boundary}\n{part}" for part in parts)
    return f"{head}{body}\n--{boundary}--\n".replace("\n", "\r\n").encode("ascii")


def _subject(text: str) -> str:
    """Encoded where it is not ASCII, or looks encoded: a job may be called =?utf-8?q?…?=."""
    line = one_line(text)
    plain = line.isascii() and "=?" not in line
    return Header(line, "us-ascii" if plain else "utf-8", header_name="Subject").encode()


def _part(kind: str, text: str) -> str:
    """text/`kind` with its headers. A lone surrogate becomes ?, NUL is left out: SMTP cannot carry it."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    whole = lines.encode("utf-8", "replace")
    if whole.isascii() and max(map(len, whole.split(b"\n"))) <= _LINE:
        encoding, data = "7bit", whole
    else:
        coded = {
            "quoted-printable": binascii.b2a_qp(whole),
            "base64": base64.encodebytes(whole.replace(b"\n", b"\r\n")),
        }
        encoding, data = min(coded.items(), key=lambda one: len(one[1]))
    head = f'Content-Type: text/{kind}; charset="utf-8"\nContent-Transfer-Encoding: {encoding}\n\n'
    return head + data.decode("ascii")


def unsubscribe(settings: Feedback) -> str:
    """The value of List-Unsubscribe."""
    return settings.unsubscribe or f"mailto:{settings.reply_to or settings.sender}?subject=unsubscribe"


def check_senders(settings: Feedback) -> None:
    """Raise AdminkitError for a setting that is not a valid value of a header."""
    for key, values in (
        ("sender", (settings.sender,)),
        ("reply_to", (settings.reply_to,)),
        ("operators", settings.operators),
    ):
        for value in values:
            if value is not None and not is_address(value):
                raise AdminkitError(
                    f"[feedback] {key} is not an email address: {one_line(value)}", "write it as adminkit@example.org"
                )
    link = settings.unsubscribe
    if link is not None and not re.fullmatch(r"(mailto|https):[!-;=?-~]+", link):
        raise AdminkitError(
            "[feedback] unsubscribe is neither mailto: nor https:", "write for example https://example.org/letters"
        )


def one_line(text: str) -> str:
    """Any text as one line, LONGEST_SUBJECT characters at most, that is safe in a header."""
    words = " ".join(_CONTROL.sub(" ", text).split())
    return words if len(words) <= LONGEST_SUBJECT else words[: LONGEST_SUBJECT - 1] + "…"
