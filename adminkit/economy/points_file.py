"""Points and hints on their way from the trace's owner to root: JSON, which root checks and writes as Lua.

    incentives.json   {"format": 1, "made_at": …, "cap": …, "class_points": {…},
                       "size_points": {"9": …}, "users": {"1001": {"points": …, "class": …}}}
    hints.json        {"format": 1, "made_at": …, "ratio": …, "floor": …, "accounts_off": […],
                       "users": {"1001": {"train": {"gq": [expected, safe, risk, runs]}}},
                       "memory": {"ratio": …, "floor": …,
                                  "users": {"1001": {"train": {"gq": [used, safe, risk, runs, enough]}}}}}
    soft_limits.json  {"format": 1, "made_at": …, "quantiles": [50, 75, 90],
                       "users": {"1001": {"train": {"gq": "600-1800-3600"}}}}

Anything else in such a file is an error: whoever took over its author's account may have written it.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from adminkit import journal
from adminkit.economy.tables import FORMAT, MOST_POINTS
from adminkit.errors import AdminkitError, cause
from adminkit.files import open_folder, read_plain
from adminkit.lua.literal import MOST_BYTES
from adminkit.policy.incentive_settings import MOST_SIZES
from adminkit.recommend.needs import QUANTILES

Table = dict[str, Any]

#: Characters of a name; slurmdbd keeps 255 bytes of a job's.
MOST_NAME: Final = 1024
#: The largest uid: (uid_t) -1 is nobody's, by POSIX and by Linux.
_MOST_UID: Final = 2**32 - 2
_SIZE: Final = re.compile("[1-9][0-9]{0,5}", re.ASCII)
_MOST_SECONDS: Final = 2**40
_MOST: Final = 2**53
_NUMBERS: Final = {4: "four", 5: "five"}
_QUANTILES: Final = re.compile("-".join(["[0-9]{1,12}"] * len(QUANTILES)), re.ASCII)


def json_path(folder: Path, name: str) -> Path:
    """The path of the table `name` in a folder of tables."""
    return folder / f"{name}.json"


def dumped(table: Mapping[str, Any]) -> str:
    """A table as JSON, one user a line. Sets become lists, uids become text."""
    plain = {key: sorted(value) if isinstance(value, (set, frozenset)) else value for key, value in table.items()}
    users = plain.pop("users")
    lines = [f"{json.dumps(str(uid))}: {json.dumps(users[uid])}" for uid in sorted(users)]
    inner = ",\n".join(lines)
    return f'{json.dumps(plain)[:-1]}, "users": {{\n{inner}\n}}}}\n'


def read(folder: Path, name: str) -> Table | None:
    """The table that the folder's owner wrote; None without a file. If malformed, AdminkitError and a journal line."""
    path = json_path(folder, name)
    handle = open_folder(folder)
    try:
        return parsed(name, read_plain(path, MOST_BYTES, folder=handle), str(path))
    except FileNotFoundError:
        return None
    except AdminkitError as error:
        journal.refused("tables", path, os.fstat(handle).st_uid, error.message.removeprefix(str(path)).lstrip(": "))
        raise
    except OSError as error:
        raise AdminkitError(
            f"couldn't read {path}: {cause(error)}",
            "make it readable to this user, or write it again: adminkit incentives compute --out",
        ) from error
    finally:
        os.close(handle)


def parsed(name: str, data: bytes, source: str) -> Table:
    """The table in a text of JSON. AdminkitError names the place and does not quote the text."""
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_object, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        why = "nested too deep" if isinstance(error, RecursionError) else _plain(error)
        raise _Wrong(source, f"not valid JSON: {why}") from error
    return _CHECKS[name](value, source)


class _Wrong(AdminkitError):
    def __init__(self, source: str, why: str) -> None:
        super().__init__(f"{source}: {why}", "write it again: adminkit incentives compute --out DIR")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key appears twice")
    return value


def _refused(word: str) -> Any:
    raise ValueError("a number is infinite or NaN")


def _plain(error: ValueError) -> str:
    """The error without the text that it is about."""
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}, column {error.colno}"
    return "not UTF-8" if isinstance(error, UnicodeError) else str(error)[:80]


def _incentives(value: Any, source: str) -> Table:
    sized = ("size_points",) if isinstance(value, dict) and "size_points" in value else ()
    _keys(value, ("format", "made_at", "cap", "class_points", *sized, "users"), source)
    cap = _whole(value["cap"], 1, MOST_POINTS, source, "cap")
    classes = _mapping(value["class_points"], source, "class_points")
    for word in classes:
        if word not in ("multi-node", "multi-gpu"):
            raise _Wrong(source, "class_points has a class that adminkit does not know")
        _whole(classes[word], 0, cap, source, f"class_points.{word}")
    sizes = {"size_points": _sizes(value["size_points"], cap, source)} if sized else {}
    users = {}
    for uid, row in _users(value, source):
        where = f"users.{uid}"
        _keys(row, ("points", "class"), source, where)
        if not isinstance(row["class"], bool):
            raise _Wrong(source, f"{where}.class is neither true nor false")
        users[uid] = {"points": _whole(row["points"], 0, cap, source, f"{where}.points"), "class": row["class"]}
    return {**_head(value, source), "cap": cap, "class_points": classes, **sizes, "users": users}


def _sizes(value: Any, cap: int, source: str) -> dict[int, int]:
    """GPUs -> points."""
    found = {}
    for word, points in _items(value, source, "size_points"):
        if _SIZE.fullmatch(word) is None:
            raise _Wrong(source, "size_points has a key that is not a number of GPUs")
        found[int(word)] = _whole(points, 0, cap, source, f"size_points.{word}")
    if len(found) > MOST_SIZES:
        raise _Wrong(source, f"size_points has more than {MOST_SIZES} sizes")
    return found


def _hints(value: Any, source: str) -> Table:
    sized = ("memory",) if isinstance(value, dict) and "memory" in value else ()
    _keys(value, ("format", "made_at", "ratio", "floor", "accounts_off", *sized, "users"), source)
    accounts = value["accounts_off"]
    if not isinstance(accounts, list):
        raise _Wrong(source, "accounts_off is not a list")
    memory = {"memory": _memory(value["memory"], source)} if sized else {}
    return {
        **_head(value, source),
        **_bounds(value, source),
        "accounts_off": {_text(one, source, "accounts_off") for one in accounts},
        **memory,
        "users": _rows(value, source, _row),
    }


def _bounds(value: Table, source: str, where: str = "") -> Table:
    """From which ratio, and by how much more, a hint is given."""
    ratio = value["ratio"]
    if (
        isinstance(ratio, bool)
        or not isinstance(ratio, (int, float))
        or not 1 <= ratio <= _MOST
        or not math.isfinite(ratio)
    ):
        raise _Wrong(source, f"{where}ratio is not a number of at least 1")
    return {"ratio": ratio, "floor": _whole(value["floor"], 0, _MOST_SECONDS, source, f"{where}floor")}


def _memory(value: Any, source: str) -> Table:
    _keys(value, ("ratio", "floor", "users"), source, "memory")
    return {**_bounds(value, source, "memory."), "users": _rows(value, source, _memory_row, "memory.")}


def _soft_limits(value: Any, source: str) -> Table:
    _keys(value, ("format", "made_at", "quantiles", "users"), source)
    if value["quantiles"] != list(QUANTILES):
        raise _Wrong(source, "its quantiles are not those of this release")
    users = _rows(value, source, _quantiles)
    return {**_head(value, source), "quantiles": list(QUANTILES), "users": users}


def _rows(value: Table, source: str, checked: Callable[[Any, str, str], Any], of: str = "") -> dict[int, Any]:
    """users -> names -> queues -> rows, each as `checked` returns it. `of`: the table's place, "memory."."""
    users: dict[int, Any] = {}
    for uid, names in _users(value, source):
        where = f"{of}users.{uid}"
        users[uid] = {}
        for name, queues in _mapping(names, source, where).items():
            rows = {
                _text(queue, source, where): checked(row, source, where) for queue, row in _items(queues, source, where)
            }
            users[uid][_text(name, source, where)] = rows
    return users


_CHECKS: Final[Mapping[str, Callable[[Any, str], Table]]] = {
    "incentives": _incentives,
    "hints": _hints,
    "soft_limits": _soft_limits,
}


def _head(value: Table, source: str) -> Table:
    if value["format"] != FORMAT or isinstance(value["format"], bool):
        raise _Wrong(source, f"its format is not {FORMAT}: it is of another release")
    return {"format": FORMAT, "made_at": _whole(value["made_at"], 0, _MOST_SECONDS, source, "made_at")}


def _users(value: Table, source: str) -> Iterable[tuple[int, Any]]:
    for word, row in _mapping(value["users"], source, "users").items():
        if not (word.isascii() and word.isdigit() and len(word) <= 10 and str(int(word)) == word):
            raise _Wrong(source, "users has a key that is not a uid")
        if int(word) > _MOST_UID:
            raise _Wrong(source, "users has a uid that no user can have")
        yield int(word), row


def _row(row: Any, source: str, where: str, many: int = 4) -> list[int]:
    if not isinstance(row, list) or len(row) != many:
        raise _Wrong(source, f"{where} has a row that is not {_NUMBERS[many]} numbers")
    return [_whole(number, 0, _MOST_SECONDS, source, where) for number in row]


def _memory_row(row: Any, source: str, where: str) -> list[int]:
    return _row(row, source, where, 5)


def _quantiles(row: Any, source: str, where: str) -> str:
    if not isinstance(row, str) or _QUANTILES.fullmatch(row) is None:
        raise _Wrong(source, f"{where} has a row that is not {len(QUANTILES)} numbers")
    return row


def _text(value: Any, source: str, where: str) -> str:
    """A name, of any characters: the Lua file has them as \\ddd."""
    if not isinstance(value, str) or len(value) > MOST_NAME:
        raise _Wrong(source, f"{where} has a name that is not text of at most {MOST_NAME} characters")
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise _Wrong(source, f"{where} has a name that cannot be written as bytes") from None
    return value


def _whole(value: Any, least: int, most: int, source: str, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise _Wrong(source, f"{where} is not a whole number from {least} to {most}")
    return value


def _mapping(value: Any, source: str, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Wrong(source, f"{where} is not an object")
    return value


def _items(value: Any, source: str, where: str) -> Iterable[tuple[str, Any]]:
    return _mapping(value, source, where).items()


def _keys(value: Any, wanted: tuple[str, ...], source: str, where: str = "it") -> None:
    keys = _mapping(value, source, where)
    if absent := [key for key in wanted if key not in keys]:
        raise _Wrong(source, f"{where} has no {absent[0]}")
    if len(keys) > len(wanted):
        raise _Wrong(source, f"{where} has a key that adminkit does not write")
