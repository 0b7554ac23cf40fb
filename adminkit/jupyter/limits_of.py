"""The program that reads the trace for a hub: one user's own servers, and what limit each profile would need for them.

A process of its own: root reads somebody else's trace as its owner, and a hub must not change who it is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adminkit import config
from adminkit.errors import AdminkitError
from adminkit.job import SERVER_NAME
from adminkit.policy.load import load_offer
from adminkit.recommend.sessions import Size, session_limit
from adminkit.stats.runs import runs
from adminkit.trace.connect import reader


def limits_of(trace: Path, user: str, cluster: str, sizes: Mapping[str, Size]) -> dict[str, int]:
    """The limits by profile, in seconds, for those with servers enough. Nothing but this user's own jobs is read."""
    offer, code = load_offer(), config.load().checkpoint.code
    with reader(trace, of=user) as db:
        own = list(runs(db, [user], [cluster] if cluster else [], checkpoint_code=code))
    found = {key: session_limit(own, SERVER_NAME, size, offer) for key, size in sizes.items()}
    return {key: limit for key, limit in found.items() if limit is not None}


def main(given: Any) -> int:
    """0 with {profile: seconds} as JSON on stdout; 1 with the reason on stderr."""
    sizes = {key: Size(**size) for key, size in given["sizes"].items()}
    try:
        found = limits_of(Path(given["trace"]), given["user"], given["cluster"], sizes)
    except AdminkitError as error:
        sys.stderr.buffer.write(f"{error.message}\n".encode())
        return 1
    sys.stdout.buffer.write(json.dumps(found).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(json.load(sys.stdin)))
