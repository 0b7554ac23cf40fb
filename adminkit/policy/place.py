"""Where a site's policy is. Apart from load.py, which takes pydantic along."""

from __future__ import annotations

from pathlib import Path
from typing import Final

SYSTEM_POLICY: Final = Path("/etc/adminkit/policy.toml")
