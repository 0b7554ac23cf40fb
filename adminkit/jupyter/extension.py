"""In the user's server: what its kernels and terminals do, the warning for its pages, and its end. docs/jupyter.md.

jupyter_server loads it wherever adminkit is installed; without ADMINKIT_IDLE in the environment it does nothing.
"""

from __future__ import annotations

import json
import os
import re
import time
from datetime import UTC, datetime
from typing import Any, Final

from jupyter_server.base.handlers import APIHandler
from tornado import web
from tornado.ioloop import PeriodicCallback

from adminkit.jupyter.activity import quiet_for
from adminkit.jupyter.idle import Phase, Watch, settings
from adminkit.messages import message, preferred, translated
from adminkit.units import show_short

#: Seconds between two looks, and the most between two questions of a page.
LOOK: Final = 2.0
ASK: Final = 10.0


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "adminkit.jupyter.extension"}]


def _load_jupyter_server_extension(server: Any) -> None:
    found = settings(os.environ)
    keeper = None if found is None else Keeper(server, Watch(*found, active=time.monotonic()))
    path = server.web_app.settings["base_url"].rstrip("/") + "/adminkit/idle"
    server.web_app.add_handlers(".*$", [(re.escape(path), IdleHandler, {"keeper": keeper})])
    if keeper is not None:
        keeper.start()


class Keeper:
    """Looks at one server every two seconds, and ends it."""

    def __init__(self, server: Any, watch: Watch) -> None:
        self._server, self.watch = server, watch
        self.phase: Phase = "idle"
        self._ticks = PeriodicCallback(self.look, LOOK * 1000)

    def start(self) -> None:
        said = show_short(self.watch.idle), show_short(self.watch.warn)
        self._server.log.info("adminkit: this server ends when it has been idle for %s; it warns %s before that", *said)
        self._ticks.start()

    def look(self) -> None:
        """Trap: nothing else runs between the look at the kernels and the end."""
        before = self.phase
        self.phase = self.watch.look(time.monotonic(), quiet_for(self._server, datetime.now(UTC)))
        if self.phase == "warn" and before != "warn":
            self._server.log.warning("adminkit: idle; this server ends in %s", show_short(self.watch.warn))
        if self.phase == "end":
            self._ticks.stop()
            for kernel in self._server.kernel_manager.list_kernel_ids():
                self._server.log.warning("adminkit: kernel %s ends; what it has in memory is lost", kernel)
            idle = show_short(self.watch.idle)
            self._server.log.warning("adminkit: no kernel or terminal ran anything for %s: this server ends", idle)
            self._server.stop()

    def answer(self, language: str) -> dict[str, Any]:
        """What a page shows, and after how many seconds it asks again."""
        told: dict[str, Any] = {"phase": self.phase, "again": min(ASK, self.watch.warn / 5), "language": language}
        if self.phase in ("warn", "save"):
            quiet = show_short(self.watch.idle - self.watch.warn)
            told["left"] = self.watch.left(time.monotonic())
            warned = message(
                "No kernel or terminal has run anything for {quiet}. At {at} this server ends, so that others can use "
                "what it reserves. Files are saved first; what kernels have in memory is lost.",
                quiet=quiet,
                at="{at}",
            )
            saving = message(
                "This server is ending now, because it was idle. Files are being saved; what kernels have in memory is"
                " lost."
            )
            ended = message(
                "This server has ended, as no kernel or terminal ran anything for {idle}. What kernels had in memory "
                "is lost. What this page could not save is still open here: copy it before you close the page.",
                idle=show_short(self.watch.idle),
            )
            told["text"] = translated(warned if self.phase == "warn" else saving, language)
            told["keep"] = translated(message("Keep it running"), language)
            told["ended"] = translated(ended, language)
        return told


class IdleHandler(APIHandler):
    """GET: {phase, again, text …}. POST {"page": NAME, "what": "keep" | "saved"}: the same, after that."""

    def initialize(self, keeper: Keeper | None) -> None:
        self._keeper = keeper

    @web.authenticated
    def get(self) -> None:
        page = self.get_query_argument("page", "")
        if self._keeper is not None and re.fullmatch(r"\w{1,40}", page):
            self._keeper.watch.page(page, time.monotonic())
        self._say()

    @web.authenticated
    def post(self) -> None:
        body = self.get_json_body()
        page, what = (body.get("page"), body.get("what")) if isinstance(body, dict) else (None, None)
        if not isinstance(page, str) or what not in ("keep", "saved"):
            raise web.HTTPError(400, 'send {"page": NAME, "what": "keep" or "saved"}')
        if self._keeper is not None:
            if what == "keep":
                self._keeper.watch.keep(time.monotonic())
                self._keeper.look()
            else:
                self._keeper.watch.saved(page)
        self._say()

    def _say(self) -> None:
        language = preferred(self.request.headers.get("Accept-Language", ""))
        self.finish(json.dumps({"phase": "off"} if self._keeper is None else self._keeper.answer(language)))
