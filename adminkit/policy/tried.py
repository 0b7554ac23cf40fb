"""Try a generated table in the Lua that slurmctld may be built with, before and after it is written."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from adminkit.errors import AdminkitError

#: Slurm of Debian and Ubuntu is built with the first, that of RHEL and its kin with the second.
LUAS: Final = ("lua51", "lua54")
FORMAT: Final = 1
#: Bytes a table may take in Lua's memory; 10 000 users take about 4 MB.
_MEMORY: Final = 256 << 20

#: Loads text in an empty environment, never bytecode. Lua 5.1 has no mode, so the first byte is looked at.
_LOADER: Final = """
return function(text, name)
  if text:sub(1, 1) == "\\27" then error("bytecode", 0) end
  local chunk, why
  if setfenv then
    chunk, why = loadstring(text, name)
    if chunk then setfenv(chunk, {}) end
  else
    chunk, why = load(text, name, "t", {})
  end
  if not chunk then error(why, 0) end
  return chunk()
end
"""


def check_table(name: str, text: str) -> None:
    """AdminkitError, with Lua's own words, when slurmctld could not use this text as the table `name`."""
    for lua in LUAS:
        table = load(name, text, lua)
        if table["format"] != FORMAT:
            raise AdminkitError(
                f"{name}.lua is of format {table['format']}, this adminkit reads {FORMAT}", "make it again"
            )
        generation = table["generation"]
        if not isinstance(generation, bytes) or not generation:
            raise AdminkitError(f"{name}.lua does not say its generation", "make it again")


def load(name: str, text: str, lua: str = LUAS[0]) -> Any:
    """The Lua table that this text returns; its strings are bytes."""
    runtime = import_module(f"lupa.{lua}")
    state = runtime.LuaRuntime(
        encoding=None, source_encoding="utf-8", register_eval=False, register_builtins=False, max_memory=_MEMORY
    )
    try:
        table = state.execute(_LOADER.encode())(text.encode("utf-8", "surrogateescape"), f"={name}.lua".encode())
    except (runtime.LuaError, runtime.LuaMemoryError) as error:
        raise AdminkitError(f"{name}.lua does not load in {lua}: {_words(error)}", "make it again") from error
    if runtime.lua_type(table) != "table":
        raise AdminkitError(f"{name}.lua returns no table in {lua}", "make it again")
    return _Table(table)


class _Table:
    """A Lua table by str keys, without Lua's own errors."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __getitem__(self, key: str) -> Any:
        return self.table[key.encode()]


def _words(error: Exception) -> str:
    said = error.args[0] if error.args else error
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    return text.partition("\nstack traceback")[0]
