"""A package of Debian's that was built again with another version."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path


def higher(path: Path, folder: Path) -> Path:
    """The same package with a higher version."""
    tree = folder / path.stem
    subprocess.run(["dpkg-deb", "-R", path, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: ", "Version: 99.", control.read_text(), flags=re.MULTILINE))
    made = folder / f"{path.stem}-99.deb"
    subprocess.run(["dpkg-deb", "-Znone", "-b", tree, made], check=True, stdout=subprocess.DEVNULL)
    return made
