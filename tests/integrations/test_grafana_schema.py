"""The dashboard against Grafana's own types, compiled by TypeScript.

It needs a folder with both, from `npm install --ignore-scripts @grafana/schema typescript@5`, which GRAFANA_SCHEMA
names.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from tools.docs import ROOT

pytestmark = pytest.mark.soak

PLACE: Final = os.environ.get("GRAFANA_SCHEMA", "")
DASHBOARD: Final = ROOT / "etc/grafana/adminkit.json"
OPTIONS: Final = {
    "strict": True, "noEmit": True, "skipLibCheck": True, "module": "esnext", "moduleResolution": "bundler",
    "target": "es2022", "lib": ["es2022", "dom"],
}  # fmt: skip


def compiled(dashboard: Any, folder: Path) -> tuple[int, str]:
    """TypeScript's exit code and errors for this dashboard as a value of Grafana's type."""
    text = (
        f"import type {{ Dashboard }} from '@grafana/schema';\nexport const it: Dashboard = {json.dumps(dashboard)};\n"
    )
    (folder / "it.ts").write_text(text)
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": OPTIONS, "files": ["it.ts"]}))
    (folder / "node_modules").symlink_to(Path(PLACE).resolve() / "node_modules")
    command = [shutil.which("node") or "node", f"{PLACE}/node_modules/typescript/bin/tsc", "-p", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, done.stdout


@pytest.mark.skipif(not PLACE, reason="not run: GRAFANA_SCHEMA names no folder with @grafana/schema")
def test_the_dashboard_is_of_grafanas_type(tmp_path: Path) -> None:
    assert compiled(json.loads(DASHBOARD.read_text()), tmp_path) == (0, "")


@pytest.mark.skipif(not PLACE, reason="not run: GRAFANA_SCHEMA names no folder with @grafana/schema")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"gridPos": {"h": "8", "w": 1, "x": 0, "y": 0}}, "'string' is not assignable to type 'number'"),
        ({"fieldconfig": {}}, "'fieldconfig' does not exist"),
        ({"targets": 1}, "'number' is not assignable"),
    ],
)
def test_a_mistake_in_a_panel_is_found(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    dashboard["panels"][0] |= change
    code, said = compiled(dashboard, tmp_path)
    assert code != 0 and why in said.replace('"', "'"), said
