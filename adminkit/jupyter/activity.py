"""What the kernels and terminals of a server do: for how long none of them has done anything."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

_PROC: Final = Path("/proc")


def quiet_for(server: Any, now: datetime) -> float | None:
    """Seconds since a kernel or a terminal did something; None: one does now. Very long where there is none."""
    kernels = server.kernel_manager
    terminals = getattr(server.web_app.settings.get("terminal_manager"), "terminals", {})
    latest = datetime.fromtimestamp(0, UTC)
    for kernel in map(kernels.get_kernel, kernels.list_kernel_ids()):
        last = getattr(kernel, "last_activity", None)
        if last is None or getattr(kernel, "execution_state", None) == "busy":
            return None
        latest = max(latest, last)
    for terminal in list(terminals.values()):
        if runs_a_program(terminal.ptyproc.pid, terminal.ptyproc.argv[0]):
            return None
        latest = max(latest, getattr(terminal, "last_activity", now))
    return max(0.0, (now - latest).total_seconds())


def runs_a_program(pid: int, shell: str, proc: Path = _PROC) -> bool:
    """Whether the shell of a terminal has a child, in the foreground or not, or has become another program.

    Where that cannot be read of a shell that lives, it is taken to have one.
    """
    try:
        name = (proc / str(pid) / "comm").read_text().rstrip("\n")
    except OSError:
        return False  # it has ended
    try:
        children = (proc / str(pid) / "task" / str(pid) / "children").read_text()
    except OSError:
        return (proc / str(pid)).exists()
    return bool(children.strip()) or name != Path(shell).name[:15]
