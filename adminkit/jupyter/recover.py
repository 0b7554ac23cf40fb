"""After a restart: submissions whose outcome the hub did not know when it went away.

The hub itself looks at servers that run, so a user whose start was given up would have to come back first.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from jupyterhub import orm
from jupyterhub.app import JupyterHub

#: What a hub's database has of a server with such submissions (spawner.py).
KEY: Final = "submitted"
_tasks: Final[set[asyncio.Task[None]]] = set()


def begin() -> None:
    """Where a hub is starting; nothing elsewhere."""
    if not JupyterHub.initialized():
        return
    try:
        task = asyncio.get_running_loop().create_task(_wake(JupyterHub.instance()))
    except RuntimeError:
        return
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


async def _wake(app: Any) -> None:
    """Have the hub make the spawners, which take up what was kept. Its users are complete when it listens."""
    while app.http_server is None:
        await asyncio.sleep(0.5)
    for kept in app.db.query(orm.Spawner).filter(orm.Spawner.state.isnot(None)).all():
        if kept.user is not None and KEY in (kept.state or {}):
            app.users[kept.user].spawners[kept.name]
