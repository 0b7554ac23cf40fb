"""A mail server for tests that fails as it is told to, on a free port of this host."""

from __future__ import annotations

import asyncio
import contextlib
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

LOGIN = ("letters", "s3cret")


@dataclass
class Postbox:
    """What it took. A fault is used up by one letter: at "MAIL", "RCPT" or "DATA" an answer, "drop" or "slow"."""

    faults: list[tuple[str, str]] = field(default_factory=list)
    letters: list[tuple[list[str], bytes]] = field(default_factory=list)
    taken: Callable[[], None] = lambda: None  # before the last answer: the client does not know yet
    sessions: int = 0
    most: int = 1000  # letters of one session; then it wants another
    in_session: int = 0

    def _fault(self, step: str) -> str | None:
        if self.faults and self.faults[0][0] == step:
            return self.faults.pop(0)[1]
        return None

    async def handle_EHLO(
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        self.sessions += 1
        self.in_session = 0
        session.host_name = hostname
        return responses

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.in_session >= self.most:
            return "421 4.7.0 too many messages in this connection"
        self.in_session += 1
        envelope.mail_from = address
        return await self._answer(server, "MAIL") or "250 OK"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if answer := await self._answer(server, "RCPT"):
            return answer
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if answer := await self._answer(server, "DATA", envelope):
            return answer
        self._keep(envelope)
        self.taken()
        return "250 taken"

    def _keep(self, envelope: Envelope) -> None:
        assert isinstance(envelope.content, bytes)
        self.letters.append((list(envelope.rcpt_tos), envelope.content))

    async def _answer(self, server: SMTP, step: str, envelope: Envelope | None = None) -> str | None:
        fault = self._fault(step)
        if fault == "drop after":
            assert envelope is not None
            self._keep(envelope)
        if fault in ("drop", "drop after"):
            assert server.transport is not None
            server.transport.abort()
            return "250 nobody hears this"
        if fault == "slow":
            await asyncio.sleep(3)
            return None
        return fault


def certificate(folder: Path) -> tuple[Path, Path]:
    """(certificate, key) of localhost, made by itself."""
    made = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost", "-out", made[0], "-keyout", made[1]],
        check=True, capture_output=True,
    )  # fmt: skip
    return made


@contextlib.contextmanager
def mail_server(
    box: Postbox, tls: str = "none", pem: tuple[Path, Path] | None = None, auth: bool = False
) -> Iterator[int]:
    """Listens while the block runs; gives its port."""
    context = None
    if pem is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*pem)
    more: dict[str, Any] = {"hostname": "localhost"}
    if tls == "starttls":
        more |= {"tls_context": context, "require_starttls": True}
    if auth:
        more |= {"authenticator": _authenticate, "auth_required": True, "auth_require_tls": tls == "starttls"}
    loop = asyncio.new_event_loop()
    listening = loop.create_server(
        lambda: SMTP(box, loop=loop, **more), "127.0.0.1", 0, ssl=context if tls == "tls" else None
    )
    server = loop.run_until_complete(listening)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(_end(server), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _end(server: asyncio.Server) -> None:
    server.close()
    sessions = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for session in sessions:
        session.cancel()
    await asyncio.gather(*sessions, return_exceptions=True)


def _authenticate(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: object) -> AuthResult:
    right = isinstance(data, LoginPassword) and (data.login.decode(), data.password.decode()) == LOGIN
    return AuthResult(success=right, handled=right)


#: What a good server answers: "" to the connection itself, "." to the end of the text.
_GOOD = {
    "": "220 ready", "EHLO": "250-hello\r\n250-STARTTLS\r\n250 AUTH PLAIN", "HELO": "250 hello", "AUTH": "235 welcome",
    "MAIL": "250 OK", "RCPT": "250 OK", "DATA": "354 go on", ".": "250 taken", "RSET": "250 OK", "QUIT": "221 bye",
}  # fmt: skip


@contextlib.contextmanager
def scripted(answers: Mapping[str, str]) -> Iterator[tuple[int, list[str]]]:
    """A server that answers the first of each verb as told, "drop" for not at all, and then as a good one does.

    Gives its port and, as they come, the verbs it heard.
    """
    left, heard = dict(answers), list[str]()

    class Session(socketserver.StreamRequestHandler):
        def say(self, verb: str) -> str:
            heard.append(verb)
            answer = left.pop(verb, _GOOD.get(verb, "502 what?"))
            if answer != "drop":
                self.wfile.write(f"{answer}\r\n".encode())
            return answer

        def handle(self) -> None:
            answer = self.say("")
            while answer != "drop" and (line := self.rfile.readline()):
                answer = self.say(line.split()[0].decode().upper())
                if answer.startswith("354"):
                    while self.rfile.readline() not in (b".\r\n", b""):
                        pass
                    answer = self.say(".")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1], heard
        finally:
            server.shutdown()
            thread.join(10)
