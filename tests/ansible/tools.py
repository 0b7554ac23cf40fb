"""Ansible and its linter, pinned, in an environment of their own: none of them is a dependency of adminkit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
#: The playbook and the role.
ANSIBLE: Final = ROOT / "etc/ansible"
ROLE: Final = ANSIBLE / "roles/adminkit"
#: The newest ansible-core that runs under Python 3.11; kubernetes-validate has the schemas of Kubernetes.
PINS: Final = ("ansible-core==2.19.14", "ansible-lint==26.10.1", "kubernetes-validate==1.37.0")
_ENV: Final = ROOT / "build/ansible" / "-".join(pin.replace("==", "-") for pin in PINS)


def tool(name: str) -> str:
    """The path of one of the tools' programs. Skips, as not run, where pip gets none of them."""
    stamp = _ENV / "made"
    if not stamp.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(_ENV)], check=True)
        done = subprocess.run(
            [str(_ENV / "bin/pip"), "-q", "install", *PINS], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"not run: pip cannot install {', '.join(PINS)}: {done.stderr.strip()[-200:]}")
        stamp.touch()
    return str(_ENV / "bin" / name)


def environment(**more: str) -> dict[str, str]:
    """Nothing that this user has set for Ansible, and no colours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    path = f"{_ENV / 'bin'}:{kept.get('PATH', '')}"
    return {**kept, "PATH": path, "ANSIBLE_NOCOLOR": "1", "NO_COLOR": "1", "LC_ALL": "C.UTF-8", **more}
