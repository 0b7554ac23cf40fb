"""Letters over SMTP: one connection for many letters, opened again when it is lost."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from adminkit.config import Feedback
from adminkit.errors import AdminkitError
from adminkit.feedback.secret import secret_lines
from adminkit.feedback.transport.base import MOST_LOST, Later, Refused, Stopped

_LOST: Final = (smtplib.SMTPServerDisconnected, OSError)
#: "Service not available, closing transmission channel."
_CLOSING: Final = 421


class Smtp:
    """A session. A reply to a letter of 4xx is Later, of 5xx Refused; either to the session itself is Stopped."""

    def __init__(self, settings: Feedback, login: tuple[str, str] | None) -> None:
        self.settings = settings
        self.login = login
        self.server: smtplib.SMTP | None = None
        self.lost = 0
        self.accepted = 0  # letters of this connection

    def __enter__(self) -> Smtp:
        return self

    def __exit__(self, *_: object) -> None:
        if self.server is not None:
            with suppress(*_LOST, smtplib.SMTPException):
                self.server.quit()
        self._close()

    def send(self, sender: str, recipients: Sequence[str], message: bytes, key: str) -> str:
        """Hand one letter over. Trap: a connection lost after the final dot leaves open whether it was accepted."""
        server = self.server or self._connect()
        handed = False
        try:
            code, reply = server.mail(sender)
            if code == _CLOSING and self.accepted:  # a server that takes a limited number of letters a connection
                self._close()
                return self.send(sender, recipients, message, key)
            if code != 250:
                self._close()
                raise Stopped(f"{sender} may not send here: {_words(code, reply)}")
            answers = [server.rcpt(one) for one in recipients]
            if not any(code in (250, 251) for code, _ in answers):
                raise self._verdict(server, *max(answers, key=lambda answer: answer[0] < 500))
            handed = True
            code, reply = server.data(message)
            if code != 250:
                raise self._verdict(server, code, reply)
        except smtplib.SMTPDataError as error:  # refused before the text was sent
            raise self._verdict(server, error.smtp_code, error.smtp_error) from error
        except _LOST as error:
            self._close()
            self.lost += 1
            lost = f"the connection was lost: {_reason(error)}" + ("; the letter may arrive twice" if handed else "")
            raise (Stopped if self.lost >= MOST_LOST else Later)(lost) from error
        self.lost = 0
        self.accepted += 1
        missed = [one for one, (code, _) in zip(recipients, answers, strict=True) if code not in (250, 251)]
        return _words(code, reply) + (f"; not accepted for {', '.join(missed)}" if missed else "")

    def _verdict(self, server: smtplib.SMTP, code: int, reply: bytes | str) -> Exception:
        """What a reply to this letter means. The session is reset for the next letter."""
        words = _words(code, reply)
        if code == _CLOSING:
            self._close()
            return Stopped(words)
        try:
            server.rset()
        except (*_LOST, smtplib.SMTPException):
            self._close()
        return Refused(words) if code >= 500 else Later(words)

    def _connect(self) -> smtplib.SMTP:
        s = self.settings
        where = f"{s.host}:{s.port}"
        try:
            trusted = None if s.tls == "none" else ssl.create_default_context(cafile=s.ca)
            if s.tls == "tls":
                server: smtplib.SMTP = smtplib.SMTP_SSL(s.host, s.port, timeout=s.timeout, context=trusted)
            else:
                server = smtplib.SMTP(s.host, s.port, timeout=s.timeout)
            self.server, self.accepted = server, 0
            if s.tls == "starttls":
                server.starttls(context=trusted)
            server.ehlo_or_helo_if_needed()
            if self.login:
                server.login(*self.login)
        except smtplib.SMTPAuthenticationError as error:
            self._close()
            raise Stopped(f"{where} refuses the login: {_words(error.smtp_code, error.smtp_error)}") from error
        except (*_LOST, smtplib.SMTPException, UnicodeError) as error:  # UnicodeError: an invalid host name
            self._close()
            raise Stopped(f"{where}: {_reason(error)}") from error
        return server

    def _close(self) -> None:
        if self.server is not None:
            self.server.close()
        self.server = None


def login(path: Path) -> tuple[str, str]:
    """(user, password) from a file of two lines, which only this user or root owns and can read."""
    hint = f"write the user and the password into it, each on its own line; then chmod 600 {path}"
    lines = secret_lines(path, hint)
    if len(lines) != 2 or not all(lines):
        raise AdminkitError(f"{path} does not have the two lines user and password", hint)
    return lines[0], lines[1]


def _words(code: int, reply: bytes | str) -> str:
    text = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply
    return f"{code} {' '.join(text.split())}"[:300]


def _reason(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return " ".join(str(error).split())[:300] or type(error).__name__
