"""The transport that the settings name: SMTP, the host's sendmail, or a Maildir."""

from __future__ import annotations

from contextlib import AbstractContextManager

from adminkit.config import Feedback
from adminkit.errors import AdminkitError
from adminkit.feedback.transport.base import Transport


def opened(settings: Feedback) -> AbstractContextManager[Transport]:
    """The configured transport, not connected yet. AdminkitError where the settings cannot work."""
    if settings.via == "smtp":
        from adminkit.feedback.transport.smtp import Smtp, login

        if settings.login is not None and settings.tls == "none":
            raise AdminkitError(
                "[feedback] login would be sent unencrypted, as tls is none", 'set [feedback] tls = "starttls" or "tls"'
            )
        return Smtp(settings, login(settings.login) if settings.login else None)
    if settings.via == "sendmail":
        from adminkit.feedback.transport.sendmail import Sendmail

        return Sendmail(settings.sendmail, settings.timeout)
    from adminkit.feedback.transport.maildir import Maildir

    if settings.directory is None:
        raise AdminkitError('via = "directory" needs a folder', "set [feedback] directory")
    return Maildir(settings.directory)


def described(settings: Feedback) -> str:
    """The transport in a few words: host:port, the program or the folder."""
    if settings.via == "smtp":
        return f"{settings.host}:{settings.port}" + ("" if settings.tls == "none" else f" ({settings.tls})")
    return str(settings.sendmail if settings.via == "sendmail" else settings.directory)
