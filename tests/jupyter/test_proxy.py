"""The proxy that the tests run is the one that docs/jupyter.md names, with every package that it needs locked."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAME = "configurable-http-proxy"


def test_the_proxy_is_pinned_with_its_lock_file() -> None:
    asked = json.loads((ROOT / "tests/web/proxy/package.json").read_text())["dependencies"]
    locked = json.loads((ROOT / "tests/web/proxy/package-lock.json").read_text())["packages"]
    version = asked[NAME]
    assert locked[f"node_modules/{NAME}"]["version"] == version
    assert f"npm install -g {NAME}@{version}\n" in (ROOT / "docs/jupyter.md").read_text()
    assert [name for name, one in locked.items() if name and "integrity" not in one] == []
    assert [name for name, one in locked.items() if "resolved" in one] == [], "an index is the site's own"
