"""Try a generated table in the Lua that slurmctld may be built with, before and after it is written."""

from __future__ import annotations

from typing import Any, Final

from adminkit.errors import AdminkitError
from adminkit.policy.runtime import Lua, LuaVersion

#: Slurm of Debian and Ubuntu is built with the first, that of RHEL and its kin with the second.
LUAS: Final[tuple[LuaVersion, ...]] = ("lua51", "lua54")
FORMAT: Final = 1


def check_table(name: str, text: str) -> None:
    """AdminkitError, with Lua's own words, when slurmctld could not use this text as the table `name`."""
    for version in LUAS:
        try:
            table: Any = Lua(version).table(text.encode("utf-8", "surrogateescape"), f"{name}.lua")
        except AdminkitError as error:
            raise AdminkitError(f"{name}.lua does not load in {version}: {error.message}", "make it again") from error
        if table[b"format"] != FORMAT:
            raise AdminkitError(f"{name}.lua is not of format {FORMAT}, the one this adminkit reads", "make it again")
        if not isinstance(table[b"generation"], bytes) or not table[b"generation"]:
            raise AdminkitError(f"{name}.lua does not say its generation", "make it again")


def check_program(name: str, text: bytes) -> None:
    """AdminkitError when a file of Lua has a slip that keeps it from loading; nothing of it is run."""
    for version in LUAS:
        try:
            Lua(version).compile(text, name)
        except AdminkitError as error:
            raise AdminkitError(f"{name} does not load in {version}: {error.message}", "install it again") from error
