"""How letters leave: SMTP, the host's sendmail, or a folder. Each says what became of a letter in one of four ways."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from adminkit.config import Feedback
from adminkit.errors import AdminkitError


class Later(Exception):
    """This letter may go through another time: a full mailbox, a greylist, a connection that was cut."""


class Refused(Exception):
    """This letter never will: no such address, too large, not wanted."""


class Stopped(Exception):
    """No letter goes through now: the server is away, the disk is full, the login is wrong."""


class Transport(Protocol):
    """`send` returns what was said when the letter was taken, and raises Later, Refused or Stopped where it was not."""

    def send(self, sender: str, recipients: Sequence[str], message: bytes, key: str) -> str: ...


def opened(settings: Feedback) -> AbstractContextManager[Transport]:
    """The configured way. AdminkitError where the configuration cannot work; nobody is connected to yet."""
    if settings.via == "smtp":
        from adminkit.feedback.transport.smtp import Smtp, login

        if settings.login is not None and settings.tls == "none":
            raise AdminkitError("a login would be readable on its way", 'set [feedback] tls = "starttls" or "tls"')
        return Smtp(settings, login(settings.login) if settings.login else None)
    if settings.via == "sendmail":
        from adminkit.feedback.transport.sendmail import Sendmail

        return Sendmail(settings.sendmail, settings.timeout)
    from adminkit.feedback.transport.maildir import Maildir

    if settings.directory is None:
        raise AdminkitError('via = "directory" needs a folder', "set [feedback] directory")
    return Maildir(settings.directory)


def described(settings: Feedback) -> str:
    """Where letters go, in a few words."""
    if settings.via == "smtp":
        return f"{settings.host}:{settings.port}" + ("" if settings.tls == "none" else f" ({settings.tls})")
    return str(settings.sendmail if settings.via == "sendmail" else settings.directory)
