"""What a request passes before Datasette sees it: that it only reads, the name by which it calls this host, that no
page of another site asks, and over TCP the token.

Loopback is open to every user of a host, so over TCP each path, static files too, wants the token: as a bearer, or once
in a form, for a cookie that Datasette signs. A web page elsewhere may have its own name point to 127.0.0.1, where a
tunnel ends in the reader's own machine; so names that nobody gave are refused on the socket as well. It could also ask
unseen, by a picture or a script that need not be readable to tell something, or a SELECT that only costs time; browsers
say so in Sec-Fetch-Site (https://www.w3.org/TR/fetch-metadata/), where another port is another site too.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final
from urllib.parse import parse_qs

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
#: The path of the form, below the base URL.
LOGIN: Final = "-/adminkit-login"
#: Datasette's path, of which its own answer would not know the cookie.
LOGOUT: Final = "-/logout"
#: Datasette's name of the cookie. Here it has the port behind it: a browser sends a cookie to every port of a host, so
#: without it two servers would take each other's away.
COOKIE: Final = "ds_actor"
#: Seconds that a login lasts.
LASTS: Final = 12 * 3600
_LONGEST_FORM: Final = 4096
_ACTOR: Final = "operator"
_ALWAYS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'self' 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'self';"
        b" frame-ancestors 'self'",
    ),
)
_PAGE: Final = """<!DOCTYPE html>
<html lang="en"><head><title>adminkit: token</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body style="font: 1em sans-serif; margin: 3em"><h1>adminkit</h1><p>{said}</p>
<form method="post" action="{base}{login}"><label>Token <input type="password" name="token" autofocus></label>
<input type="submit" value="Log in"></form></body></html>
"""


class Gate:
    """An ASGI application around a Datasette's. `token` None: whoever reaches the socket may read."""

    def __init__(self, served: Any, names: Iterable[str] = (), token: str | None = None) -> None:
        self._served, self._app, self._token = served, served.app(), token
        self._names = LOCAL_NAMES | {name.lower() for name in names}
        self._base: str = served.setting("base_url")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":

            async def marked(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message = {**message, "headers": [*message.get("headers", []), *_ALWAYS]}
                await send(message)

            await self._request(self._below(scope), receive, marked)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        if _host(headers.get(b"host", b"")) not in self._names:
            said = "This server does not go by the name in the request's Host; --host NAME adds one.\n"
            await _answer(send, 403, said, b"text/plain")
        elif _is_foreign(scope["method"], headers):
            said = "A page of another site asked for this; follow a link, or type the address.\n"
            await _answer(send, 403, said, b"text/plain")
        elif self._token is not None and scope["method"] == "POST" and scope["path"] in (f"/{LOGIN}", f"/{LOGOUT}"):
            leave = scope["path"] == f"/{LOGOUT}"
            await (self._logout(_cookie_of(scope), send) if leave else self._login(_cookie_of(scope), receive, send))
        elif scope["method"] not in ("GET", "HEAD"):
            await _answer(send, 405, "The trace is read-only.\n", b"text/plain", [(b"allow", b"GET, HEAD")])
        elif self._token is None:
            await self._app(scope, receive, send)
        elif self._is_bearer(headers.get(b"authorization", b"")):
            await self._app({**scope, "actor": {"id": _ACTOR}}, receive, send)
        elif self._has_cookie(scope := _for_datasette(scope), receive):
            await self._app(scope, receive, send)
        else:
            await self._refused(send, "Type the token that `adminkit serve` printed, or the one in its file.")

    def _below(self, scope: Scope) -> Scope:
        """The same request without the base URL, for a proxy that passes it on: Datasette would link below it twice."""
        base = self._base.encode()
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        if not raw.startswith(base):
            return scope
        return {**scope, "path": "/" + scope["path"][len(self._base) :], "raw_path": b"/" + raw[len(base) :]}

    def _is_token(self, given: bytes) -> bool:
        return secrets.compare_digest(given, str(self._token).encode())

    def _is_bearer(self, header: bytes) -> bool:
        kind, _, given = header.partition(b" ")
        return kind.lower() == b"bearer" and self._is_token(given.strip())

    def _has_cookie(self, scope: Scope, receive: Receive) -> bool:
        """Whether Datasette knows its signature, and it has not expired."""
        from datasette.actor_auth_cookie import actor_from_request
        from datasette.utils.asgi import Request

        return actor_from_request(self._served, Request(scope, receive)) is not None

    async def _login(self, name: str, receive: Receive, send: Send) -> None:
        from datasette.utils import baseconv

        form = b""
        more = True
        while more and len(form) <= _LONGEST_FORM:
            message = await receive()  # of a client that went away without a body
            form += message.get("body", b"")
            more = message.get("more_body", False)
        given = parse_qs(form[:_LONGEST_FORM]).get(b"token", [b""])[0]
        if not self._is_token(given.strip()):
            await self._refused(send, "That is not the token.")
            return
        until = int(time.time()) + LASTS
        signed = self._served.sign({"a": {"id": _ACTOR}, "e": baseconv.base62.encode(until)}, "actor")
        cookie = f"{name}={signed}; Path=/; Max-Age={LASTS}; HttpOnly; SameSite=Strict"
        headers = [(b"set-cookie", cookie.encode()), (b"location", self._base.encode())]
        await _answer(send, 303, "", b"text/plain", headers)

    async def _logout(self, name: str, send: Send) -> None:
        cookie = f"{name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"
        headers = [(b"set-cookie", cookie.encode()), (b"location", self._base.encode())]
        await _answer(send, 303, "", b"text/plain", headers)

    async def _refused(self, send: Send, said: str) -> None:
        page = _PAGE.format(said=said, base=self._base, login=LOGIN)
        await _answer(send, 401, page, b"text/html", [(b"www-authenticate", b"Bearer")])


async def _answer(send: Send, status: int, text: str, kind: bytes, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    common = [(b"content-type", kind + b"; charset=utf-8"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": [*common, *headers]})
    await send({"type": "http.response.body", "body": text.encode()})


def _is_foreign(method: str, headers: MutableMapping[bytes, bytes]) -> bool:
    """Whether a page of another site, or of another port, asked, and not a reader who follows a link from there."""
    if headers.get(b"sec-fetch-site", b"none") in (b"same-origin", b"none"):
        return False
    follows = (headers.get(b"sec-fetch-mode"), headers.get(b"sec-fetch-dest")) == (b"navigate", b"document")
    return not (follows and method == "GET")


def _cookie_of(scope: Scope) -> str:
    """The name of the cookie on the port that was asked."""
    _, port = scope.get("server") or (None, None)
    return COOKIE if port is None else f"{COOKIE}_{port}"


def _for_datasette(scope: Scope) -> Scope:
    """The same request, with the cookie of this port under the name that Datasette knows, and no other of that name."""
    ours, kept = _cookie_of(scope), []
    sent = b"; ".join(value for name, value in scope["headers"] if name.lower() == b"cookie").decode("latin-1")
    for pair in filter(None, map(str.strip, sent.split(";"))):
        name, _, value = pair.partition("=")
        if name == ours:
            kept.append(f"{COOKIE}={value}")
        elif name != COOKIE:
            kept.append(pair)
    headers = [(name, value) for name, value in scope["headers"] if name.lower() != b"cookie"]
    return {**scope, "headers": [*headers, (b"cookie", "; ".join(kept).encode("latin-1"))]}


#: A name, or an address of IPv6 in brackets, and a port.
_HOST: Final = re.compile(r"([\w.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.ASCII)


def _host(header: bytes) -> str:
    """The name of a Host header, without its port; "" if it is not one."""
    found = _HOST.fullmatch(header.decode("latin-1").strip().lower())
    return found[1] if found else ""
