"""The one thing that a server tells the hub: the port that it listens at.

Stock batchspawner takes every attribute of the spawner that a server names, with the token that each user's server
holds: also those from which the hub makes the commands that it runs. This handler takes its place.
"""

from __future__ import annotations

import json
import secrets
from typing import Any, Final

import batchspawner.api
from jupyterhub.apihandlers import APIHandler, default_handlers
from tornado import web

#: Where batchspawner-singleuser sends it.
PATH: Final = r"/api/batchspawner"


def port_of(body: Any) -> int | None:
    """The port that a body names; None where it names none, or anything else."""
    port = body.get("port") if isinstance(body, dict) and set(body) == {"port"} else None
    return port if type(port) is int and 1024 <= port <= 65535 else None


class PortHandler(APIHandler):
    """POST {"port": 34567} with the token of the server that is starting."""

    @web.authenticated
    def post(self) -> None:
        token = str(self.get_auth_token() or "")
        starting = [
            one
            for one in getattr(self.current_user, "spawners", {}).values()
            if one.api_token and secrets.compare_digest(str(one.api_token), token)
        ]
        if not starting:
            raise web.HTTPError(403, "no server has this token")
        if (port := port_of(self.get_json_body())) is None:
            raise web.HTTPError(400, 'couldn\'t take the port; send {"port": N} with N from 1024 to 65535')
        if not starting[0].take_port(port):
            raise web.HTTPError(409, "this server has already reported its port")
        self.set_status(201)
        self.finish(json.dumps({"message": "port taken"}))


def take_over() -> None:
    """Put our handler where batchspawner's is."""
    default_handlers[:] = [one for one in default_handlers if one[1] is not batchspawner.api.BatchSpawnerAPIHandler]
    if (PATH, PortHandler) not in default_handlers:
        default_handlers.append((PATH, PortHandler))
