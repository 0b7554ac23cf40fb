"""How many connections `adminkit serve` holds, and whose ends where there are more.

uvicorn waits for a request as long as its client likes; where all files of the process are open so, it accepts nobody
and logs that without a pause. Over TCP any user of the host can connect.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

#: Connections. asyncio accepts AT_A_TIME before it turns to the others, and three such lots are open above MOST: those
#: that are accepted, those that have a transport, and those that are aborted but closed a turn later.
MOST: Final = 200
AT_A_TIME: Final = 20
#: Connections that wait in the kernel until they are accepted. Further ones are made a second later.
WAITING: Final = 128


def protocol() -> type[asyncio.Protocol]:
    """uvicorn's, which above the most ends the connection that has waited longest without a whole request."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Bounded(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.made = self.loop.time()
            there: list[Any] = [one for one in self.connections if not one.transport.is_closing()]
            if len(there) > MOST:  # it is new itself, so there is one
                min(filter(_waits, there), key=lambda one: one.made).transport.abort()

    return Bounded


def _waits(one: Any) -> bool:
    """Whether it is a new connection, one between two requests, or one whose body is still to come."""
    return one.cycle is None or one.cycle.response_complete or one.cycle.more_body
