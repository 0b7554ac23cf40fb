"""The file form of a Site: TOML or JSON with the same keys. docs/site.md has them.

A file is not trusted: its size has a bound, each key and value is checked, and an error names file, line and key.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

from adminkit.errors import AdminkitError, unknown_word
from adminkit.files import read_named
from adminkit.quote import quote
from adminkit.slurm.lines import Place, line_of
from adminkit.slurm.site import Association, Site, SiteNode, SiteQos, SiteQueue, SiteScheduler, keys_of, sized, unsized
from adminkit.toml import NoToml, parse_toml

Form = Literal["toml", "json"]
FORMS: Final = get_args(Form)

#: Bytes of a file that are read.
MOST_BYTES: Final = 32 << 20
#: The largest number that JSON, TOML and SQLite all keep.
MOST: Final = (1 << 53) - 1
#: The longest name, characters; Slurm itself allows fewer.
MOST_NAME: Final = 256

_KINDS: Final[Mapping[str, type]] = {
    "queues": SiteQueue,
    "nodes": SiteNode,
    "qos": SiteQos,
    "associations": Association,
    "scheduler": SiteScheduler,
}
_DEEPEST: Final = 8
#: Characters that separate words in Slurm's own lists.
_BETWEEN: Final = frozenset(",|")
_HINT: Final = "docs/site.md has every key"


class _Wrong(Exception):
    """What is wrong at a place of the file, and what to do about it."""

    def __init__(self, place: Place, message: str, hint: str = _HINT) -> None:
        super().__init__(message)
        self.place, self.message, self.hint = place, message, hint


def load_site(path: Path) -> Site:
    """The Site in a file. AdminkitError says file, line and key of the first thing that is wrong."""
    return parse_site(_read(path), path)


def parse_site(text: str, path: Path) -> Site:
    """The Site in a text that came from `path`, whose ending tells the form; without one the first character does."""
    json_form = path.suffix == ".json" or (path.suffix != ".toml" and text.lstrip()[:1] in ("{", "["))
    table = _parse(path, text, json_form)
    try:
        site = _site(table)
    except _Wrong as wrong:
        line = line_of(wrong.place, text, json_form)
        where = str(path) if line is None else f"{path}:{line}"
        raise AdminkitError(f"{where}: {_dotted(wrong.place, table)}{wrong.message}", wrong.hint) from None
    return replace(site, queues=tuple(sized(queue, site.nodes) for queue in site.queues))


def site_text(site: Site, form: Form = "json") -> str:
    """A Site as text that load_site reads back; the same text for the same Site. Defaults are left out."""
    bare = replace(site, queues=tuple(unsized(queue, site.nodes) for queue in site.queues))
    table = _table(bare)
    return json.dumps(table, indent=2, ensure_ascii=False) + "\n" if form == "json" else "".join(_toml(table))


def _read(path: Path) -> str:
    data = read_named(path, MOST_BYTES, "name another with --site")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise AdminkitError(f"{path}:{line}: not UTF-8", "save the file as UTF-8") from None


def _parse(path: Path, text: str, json_form: bool) -> Mapping[str, Any]:
    """The table in the text. AdminkitError with the line for a mistake in JSON or TOML."""
    hint = 'text goes in quotes, lists in brackets: key = ["a", "b"]'
    try:
        if not json_form:
            return parse_toml(text)
        table = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise AdminkitError(f"{path}:{error.lineno}: not JSON: {error.msg.lower()}", _HINT) from None
    except NoToml as error:
        position = re.search(r" \(at line (\d+), (?:column \d+|where the file ends)\)$", str(error))
        where = f"{path}:{position[1]}" if position else str(path)
        why = str(error)[: position.start()] if position else str(error)
        raise AdminkitError(f"{where}: not TOML: {quote(why.lower())}", hint) from None
    except RecursionError:
        raise AdminkitError(f"{path}: far too many nested brackets", _HINT) from None
    except ValueError as error:
        raise AdminkitError(f"{path}: {quote(str(error))}", _HINT) from None
    if not isinstance(table, dict):
        raise AdminkitError(f"{path}: a list where keys belong", _HINT)
    return table


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object. ValueError for a key that is in it twice, as TOML has it."""
    table = dict(pairs)
    if len(table) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {quote(twice)} appears twice in one object")
    return table


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a number")


def _site(table: Mapping[str, Any]) -> Site:
    """The Site that a table describes. Raises _Wrong."""
    from pydantic import TypeAdapter, ValidationError

    _check_form(table, ())
    try:
        site = TypeAdapter(Site).validate_json(json.dumps(table))
    except ValidationError as error:
        # An unknown key first: it may be the one that is missing.
        first = min(error.errors(include_url=False), key=lambda one: one["type"] != "unexpected_keyword_argument")
        place = tuple(part for part in first["loc"] if part != "[key]")
        if first["type"] == "unexpected_keyword_argument":
            near = unknown_word("key", str(place[-1]), keys_of(_kind(place[:-1])))
            raise _Wrong(place, "no such key", near.hint) from None
        if first["type"] == "missing":
            raise _Wrong(place, "is missing", _HINT) from None
        raise _Wrong(place, first["msg"].removeprefix("Input ").lower(), _HINT) from None
    _check_names(site)
    return site


def _check_form(value: Any, place: Place) -> None:
    """Raises _Wrong for a number or a text that no field of a Site can have."""
    if len(place) > _DEEPEST:
        raise _Wrong(place[:1], "brackets within brackets")
    match value:
        case bool() | None:
            return
        case int():
            if not 0 <= value <= MOST:
                raise _Wrong(place, f"is not between 0 and {MOST}")
        case str():
            if problem := bad_name(value):
                raise _Wrong(place, problem, "names are written as Slurm has them")
        case Mapping():
            for key, inner in value.items():
                if problem := bad_name(key):
                    raise _Wrong((*place, key), problem, "names are written as Slurm has them")
                _check_form(inner, (*place, key))
        case list():
            for number, inner in enumerate(value):
                _check_form(inner, (*place, number))
        case _:
            raise _Wrong(place, f"a {type(value).__name__} is not allowed here")


def bad_name(text: str) -> str:
    """Why a text can be no name of Slurm's; "" where it can."""
    if not text:
        return "is empty"
    if len(text) > MOST_NAME:
        return f"is longer than {MOST_NAME} characters"
    wrong = next((c for c in text if c in _BETWEEN or unicodedata.category(c)[0] in "CZ"), None)
    return "" if wrong is None else f"{quote(text)} has a character that no name has: {quote(repr(wrong))}"


def _check_names(site: Site) -> None:
    """Raises _Wrong for a thing that is there twice, and for a queue that is not there."""
    for key in ("queues", "nodes", "qos"):
        _refuse_twice(key, [one.name for one in getattr(site, key)])
    _refuse_twice("associations", [(one.account, one.user, one.queue) for one in site.associations])
    known = frozenset(queue.name for queue in site.queues)
    for number, node in enumerate(site.nodes):
        for name in sorted(node.queues - known):
            raise _Wrong(("nodes", number, "queues"), f"no such queue: {quote(name)}", _near(name, known))
    for number, one in enumerate(site.associations):
        if one.queue is not None and one.queue not in known:
            raise _Wrong(
                ("associations", number, "queue"), f"no such queue: {quote(one.queue)}", _near(one.queue, known)
            )


def writable(site: Site) -> tuple[Site, list[str]]:
    """The Site without what a file could not hold, and a sentence on what was left out.

    slurmdbd keeps associations in queues that are gone, and slurmctld names a node's queues to some whom it shows none.
    """
    known = frozenset(queue.name for queue in site.queues)
    stray = [one for one in site.associations if one.queue is not None and one.queue not in known]
    nodes = tuple(replace(node, queues=node.queues & known) for node in site.nodes)
    notes = []
    if stray:
        gone = ", ".join(sorted({quote(one.queue or "") for one in stray})[:6])
        notes.append(f"left out: associations in queues that are not there ({len(stray)}): {gone}")
    if unseen := sorted(frozenset[str]().union(*(node.queues for node in site.nodes)) - known):
        notes.append(f"left out of nodes: queues that are not shown: {', '.join(map(quote, unseen[:6]))}")
    associations = tuple(one for one in site.associations if one not in stray)
    return replace(site, nodes=nodes, associations=associations), notes


def _near(name: str, known: Collection[str]) -> str:
    return unknown_word("queue", name, known).hint if known else "describe the queue too: [[queues]]"


def _refuse_twice(key: str, names: Sequence[Any]) -> None:
    seen: dict[Any, int] = {}
    for number, name in enumerate(names):
        if (first := seen.setdefault(name, number)) != number:
            raise _Wrong((key, number), f"already exists, as {key}[{first + 1}]", "leave one of the two out")


def _kind(place: Place) -> type:
    """The dataclass whose keys stand at a place."""
    return _KINDS.get(str(place[0]), Site) if place else Site


def _dotted(place: Place, table: Any) -> str:
    """`queues[1].max_limt (gq): `, list items counted from 1; "" for the file as a whole."""
    text, name = "", ""
    for part in place:
        text += f"[{part + 1}]" if isinstance(part, int) else f"{'.' if text else ''}{quote(part)}"
        try:
            table = table[part]
        except (KeyError, IndexError, TypeError):
            table = None
        if isinstance(part, int) and isinstance(table, Mapping) and isinstance(table.get("name"), str):
            name = f" ({quote(table['name'])})"
    return f"{text}{name}: " if text else ""


# writing


def _table(value: Any) -> dict[str, Any]:
    """A dataclass of the form as values of both JSON and TOML: without defaults, sets sorted."""
    table: dict[str, Any] = {}
    for one in fields(value):
        held = getattr(value, one.name)
        usual = one.default_factory() if one.default_factory is not MISSING else one.default
        if held == usual and one.name not in ("name", "account", "cluster"):
            continue
        table[one.name] = _plain(held)
    return table


def _plain(value: Any) -> Any:
    match value:
        case frozenset():
            return sorted(value)
        case tuple():
            return [_table(one) for one in value]
        case SiteScheduler():
            return _table(value)
        case Mapping():
            return dict(sorted(value.items()))
        case _:
            return value


def _toml(table: Mapping[str, Any]) -> Iterator[str]:
    """Keys first, then a [[section]] for each item of a list of tables: TOML's own order."""
    for key, value in table.items():
        if key not in _KINDS:
            yield f"{key} = {_toml_value(value)}\n"
    for key in _KINDS:
        listed = table.get(key, ())
        for item in [listed] if isinstance(listed, Mapping) else listed:
            yield f"\n[{key}]\n" if item is listed else f"\n[[{key}]]\n"
            yield from (f"{name} = {_toml_value(value)}\n" for name, value in item.items())


def _toml_value(value: Any) -> str:
    """Trap: TOML takes JSON's escapes but for DEL, which has to be escaped, and pairs of surrogates."""
    match value:
        case bool() | int():
            return json.dumps(value)
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            pairs: Iterable[str] = (f"{_toml_value(key)} = {_toml_value(inner)}" for key, inner in value.items())
            return f"{{ {', '.join(pairs)} }}" if value else "{}"
        case _:
            return f"[{', '.join(_toml_value(one) for one in value)}]"
