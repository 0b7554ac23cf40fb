"""What the form asks the hub for: the offers as JSON, for who is logged in; its script and style, for everybody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from jupyterhub.handlers import BaseHandler, default_handlers
from tornado import web

_STATIC: Final = Path(__file__).parent / "static"
_KINDS: Final = {"form.js": "text/javascript", "form.css": "text/css"}


class OffersHandler(BaseHandler):
    """GET: {problem, offers: [{key, title, size, free, when}]}."""

    @web.authenticated
    async def get(self) -> None:
        user = self.current_user
        spawner = user.get_spawner("")
        spawner.handler = self
        self.set_header("Content-Type", "application/json")
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps(await spawner.offers()))


class StaticHandler(BaseHandler):
    """The form's script and style."""

    def get(self, name: str) -> None:
        if name not in _KINDS:
            raise web.HTTPError(404)
        self.set_header("Content-Type", _KINDS[name])
        self.set_header("Cache-Control", "max-age=3600")
        self.finish((_STATIC / name).read_bytes())


def put() -> None:
    """Beside the hub's own pages."""
    for path, handler in ((r"/adminkit/offers", OffersHandler), (r"/adminkit/(form\.(?:js|css))", StaticHandler)):
        if (path, handler) not in default_handlers:
            default_handlers.append((path, handler))
