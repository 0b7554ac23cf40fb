"""The settings: flag > environment > file > default.

The file is TOML: $ADMINKIT_CONFIG, else /etc/adminkit/adminkit.toml where it exists. Any key may also be set in the
environment, as ADMINKIT_ and its name in capitals with `_` for the dot: ADMINKIT_DB, ADMINKIT_SYNC_JOBS. Commands
take a flag with None for "not given" and hand both to `chosen`. Numbers are base units: seconds, counts.

Trap: pydantic is imported only where there is something to check, so that `adminkit --help` stays quick.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

from annotated_types import Ge, Gt, Le, Lt, Predicate

from adminkit.errors import AdminkitError, cause, unknown_word
from adminkit.files import is_there
from adminkit.gres import GpuSettings
from adminkit.messages import Language
from adminkit.sections import Elastic, Months, Usage
from adminkit.toml import read_toml

if TYPE_CHECKING:
    from pydantic import TypeAdapter

SYSTEM_CONFIG: Final = Path("/etc/adminkit/adminkit.toml")
_READABLE: Final = "make it readable, or name another with ADMINKIT_CONFIG"
PREFIX: Final = "ADMINKIT_"
WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

#: Keys that stand elsewhere now, and what to write there.
MOVED: Final[Mapping[str, str]] = {
    "recommend.menu": 'write menu = ["01:00:00", "06:00:00"] in /etc/adminkit/policy.toml, for hints and letters',
    "recommend.risk": "write risk = 0.1 in /etc/adminkit/policy.toml, for hints and letters",
}

T = TypeVar("T")


def is_date(word: str) -> bool:
    """Whether `word` is a date, 2026-12-29."""
    try:
        return date.fromisoformat(word).isoformat() == word
    except ValueError:
        return False


def is_day(word: str) -> bool:
    """Whether `word` is one of WEEKDAYS or a date."""
    return word in WEEKDAYS or is_date(word)


@dataclass(frozen=True, slots=True)
class Sync:
    """How `adminkit sync` asks slurmdbd."""

    clusters: tuple[str, ...] = ()  # empty: the local one
    since: str | None = None  # where the first run begins, as --since takes it; None: --since is needed
    overlap_hours: Annotated[float, Ge(2)] = 2.0
    row_budget: Annotated[int, Ge(1)] = 50_000
    jobs: Annotated[int, Ge(1)] = 1
    steps: bool = True
    steps_pause: Annotated[float, Ge(0)] = 0.5
    record: Literal["admin_comment", "comment", "extra"] = "admin_comment"
    timeout: Annotated[float, Gt(0)] = 300.0
    source: Literal["sacct", "slurmdbd"] = "sacct"
    option_file: Path | None = None  # of the client of slurmdbd's database, for source = "slurmdbd"


def is_alias(word: str) -> bool:
    """Whether `word` gives several clusters one name: fed=alpha+beta."""
    name, equals, members = (part.strip() for part in word.partition("="))
    return bool(name and equals and all(one.strip() for one in members.split("+")))


#: A name for several clusters, for --cluster.
Alias = Annotated[str, Predicate(is_alias)]


@dataclass(frozen=True, slots=True)
class Report:
    """What reports count by default."""

    min_elapsed: Annotated[int, Ge(0)] = 60
    states: tuple[str, ...] = ("COMPLETED", "TIMEOUT")
    aliases: tuple[Alias, ...] = ()

    def clusters(self, names: Sequence[str]) -> list[str]:
        """These clusters, each once, with the clusters of an alias in its place. A cluster of that name is among its
        members where it stands there too, as that of a renamed cluster does: beta=alpha+beta.
        """
        known = {
            name.strip(): [one.strip() for one in members.split("+")]
            for name, _, members in (alias.partition("=") for alias in self.aliases)
        }
        return list(dict.fromkeys(one for name in names for one in known.get(name, [name])))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Arguments of the checkpoint plugin in plugstack.conf, which letters and points need too."""

    code: Annotated[int, Ge(1), Le(127)] = 85  # a run that leaves with it has more to do


@dataclass(frozen=True, slots=True)
class Policy:
    """Where rules are installed, and how the other slurmctld hosts are reached."""

    folder: Path | None = None  # of job_submit.lua; None: that of slurm.conf
    push: str | None = None  # a command with {host}, {files}, {folder}
    fetch: str | None = None  # a command with {host}, {folder} that prints what sha256sum would


#: A day on which no letter goes out: a weekday by name, or a date.
Day = Annotated[str, Predicate(is_day)]


@dataclass(frozen=True, slots=True)
class Feedback:
    """Who gets letters, how often, and how they travel."""

    clusters: tuple[str, ...] = ()  # empty: nobody gets any
    language: Language = "en"
    templates: Path | None = None  # the site's own; None: adminkit's
    max_age: Annotated[int, Gt(0)] = 86_400
    max_letters: Annotated[int, Ge(1)] = 200
    min_uid: Annotated[int, Ge(1)] = 1000
    exclude_users: tuple[str, ...] = ()
    exclude_accounts: tuple[str, ...] = ()
    used_fraction: Annotated[float, Gt(0), Lt(1)] = 0.5
    unused_hours: Annotated[float, Ge(0)] = 4.0
    lost_hours: Annotated[float, Ge(0)] = 2.0
    min_elapsed: Annotated[int, Ge(0)] = 600
    well: Annotated[float, Gt(0), Le(1)] = 0.7
    user_pause: Annotated[int, Ge(0)] = 86_400
    name_pause: Annotated[int, Ge(0)] = 7 * 86_400
    digest: bool = True
    digest_day: Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"] = "mon"
    quiet_days: tuple[Day, ...] = ("sat", "sun")
    statements: bool = False  # of what a user was charged, when a month was closed
    groups: bool = False  # of what the users of an account used in a month, to its owners
    group_owners: Path | None = None  # lines of ACCOUNT USER…; None, and for other accounts: Slurm's coordinators
    budget_at: tuple[Annotated[float, Gt(0), Le(10)], ...] = (0.8, 1.0)  # shares of a budget that cause a letter
    prefs: Path | None = None  # None: prefs beside the trace
    operators: tuple[str, ...] = ()
    webhook: Path | None = None  # a secret file with lines of NAME URL: chat services, as apprise takes them
    chat: tuple[str, ...] = ()  # names of it that users may choose; their URLs have {user}
    operators_chat: tuple[str, ...] = ()  # names of it that get the operators' letters
    domain: str | None = None
    domains: tuple[str, ...] = ()  # empty: that of `domain` and those of the map
    addresses: Path | None = None
    sender: str = "adminkit@localhost"
    reply_to: str | None = None
    unsubscribe: str | None = None
    via: Literal["smtp", "sendmail", "directory"] = "smtp"
    host: str = "localhost"
    port: Annotated[int, Gt(0), Le(65_535)] = 25
    tls: Literal["none", "starttls", "tls"] = "none"
    ca: Path | None = None
    login: Path | None = None
    sendmail: Path = Path("/usr/sbin/sendmail")
    directory: Path | None = None
    timeout: Annotated[float, Gt(0)] = 30.0
    per_minute: Annotated[float, Gt(0)] = 60.0
    holdout: Annotated[float, Ge(0), Le(0.5)] = 0.0
    holdout_until: Annotated[str, Predicate(is_date)] | None = None
    holdout_salt: str = ""


@dataclass(frozen=True, slots=True)
class Energy:
    """What a kilowatt-hour is worth, and what a node cannot exceed."""

    node_watts: Annotated[float, Gt(0)] = 20_000.0
    co2: Annotated[float, Ge(0)] | None = None  # grams per kWh
    price: Annotated[float, Ge(0)] | None = None  # per kWh, in whatever currency


@dataclass(frozen=True, slots=True)
class Config:
    """Every setting. `file` is where the settings came from, None where there was none."""

    db: Path | None = None
    acts: Path = Path("/var/log/adminkit/acts.jsonl")
    own: Path = Path("/var/lib/adminkit-own")  # the folder with a file for each user, which only that user may read
    charge: Path | None = None  # the file of schemes and budgets; None: /etc/adminkit/charge.toml
    slurm_prefix: Path | None = None  # Slurm's own; None: its programs are on PATH
    sync: Sync = field(default_factory=Sync)
    report: Report = field(default_factory=Report)
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    policy: Policy = field(default_factory=Policy)
    feedback: Feedback = field(default_factory=Feedback)
    energy: Energy = field(default_factory=Energy)
    gpus: GpuSettings = field(default_factory=GpuSettings)
    elastic: Elastic = field(default_factory=Elastic)
    months: Months = field(default_factory=Months)
    usage: Usage = field(default_factory=Usage)
    file: Path | None = field(default=None, compare=False)


def load(environ: Mapping[str, str] | None = None, system: Path = SYSTEM_CONFIG) -> Config:
    """The settings of this run. AdminkitError names the file, the key and the nearest key there is."""
    environ = os.environ if environ is None else environ
    path = config_file(environ, system)
    values = {} if path is None else read_toml(path, _READABLE)
    if path is not None:
        _refuse_unknown(values, path)
    origins = _overlay(values, environ)
    return _checked(values, path, origins) if values else Config(file=path)


def config_file(environ: Mapping[str, str] | None = None, system: Path = SYSTEM_CONFIG) -> Path | None:
    """The file of the settings; None where the system has no such file. A file in ADMINKIT_CONFIG has to exist."""
    environ = os.environ if environ is None else environ
    named = environ.get("ADMINKIT_CONFIG")
    if named:
        if not _is_there(Path(named)):
            raise AdminkitError(f"no such config file: {named}", "correct or unset ADMINKIT_CONFIG")
        return Path(named)
    return system if _is_there(system) else None


def _is_there(path: Path) -> bool:
    try:
        return is_there(path)
    except OSError as error:
        raise AdminkitError(f"couldn't read {path}: {cause(error)}", _READABLE) from error


def chosen(flag: T | None, setting: T) -> T:
    """The flag where it was given, else the setting."""
    return setting if flag is None else flag


def keys(section: Any = Config, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every key with its default, dotted: ("sync.jobs", 1). None is a setting that is unset by default."""
    for item in fields(section):
        default = item.default_factory() if callable(item.default_factory) else item.default
        if is_dataclass(default):
            yield from keys(type(default), f"{prefix}{item.name}.")
        elif item.name != "file":
            yield prefix + item.name, default


def _refuse_unknown(values: Mapping[str, Any], path: Path) -> None:
    known = [key for key, _ in keys()]
    sections = sorted({key.partition(".")[0] for key in known if "." in key})
    for key, hint in MOVED.items():
        section, _, name = key.partition(".")
        if isinstance(own := values.get(section), dict) and name in own:
            raise AdminkitError(f"{path}: {key} has moved to policy.toml", hint)
    for name, value in values.items():
        if name in sections and not isinstance(value, dict):
            raise AdminkitError(f"{path}: {name} is a section, not a setting", f"write [{name}] on a line of its own")
        if isinstance(value, dict) and name not in sections:
            raise AdminkitError(f"{path}: no such section: {name}", unknown_word("section", name, sections).hint)
        for key in [f"{name}.{key}" for key in value] if isinstance(value, dict) else [name]:
            if key not in known:
                raise AdminkitError(f"{path}: no such setting: {key}", _nearest(key, known))


def _nearest(key: str, known: list[str]) -> str:
    """The hint for an unknown key: the same name in another section, else the key with the most similar letters."""
    last = key.rpartition(".")[2]
    same = [name for name in known if name.rpartition(".")[2] == last]
    return f"did you mean {same[0]}?" if same else unknown_word("setting", key, known).hint


def _overlay(values: dict[str, Any], environ: Mapping[str, str]) -> dict[str, str]:
    """Put what the environment says over `values`. Returns dotted key -> variable."""
    origins = {}
    for key, hint in MOVED.items():
        if environ.get(_variable(key)):
            raise AdminkitError(
                f"{_variable(key)}: {key} has moved to policy.toml", f"unset {_variable(key)}, and {hint}"
            )
    for key, default in keys():
        variable = _variable(key)
        text = environ.get(variable)
        if not text:
            continue
        section, _, name = key.rpartition(".")
        target = values.setdefault(section, {}) if section else values
        target[name] = [word.strip() for word in text.split(",")] if isinstance(default, tuple) else text
        origins[key] = variable
    return origins


def _variable(key: str) -> str:
    return PREFIX + key.replace(".", "_").upper()


@cache
def _adapter() -> TypeAdapter[Config]:
    """Made once: it takes longer than to check a file."""
    from pydantic import TypeAdapter

    return TypeAdapter(Config)


def _checked(values: dict[str, Any], path: Path | None, origins: Mapping[str, str]) -> Config:
    from pydantic import ValidationError

    try:
        return _adapter().validate_python({**values, "file": path})
    except ValidationError as error:
        first = error.errors()[0]
        places = [str(part) for part in first["loc"]]
        key = next((".".join(places[:n]) for n in (2, 1) if ".".join(places[:n]) in dict(keys())), ".".join(places))
        where = origins.get(key) or f"{path}: {key}"
        default = dict(keys()).get(key)
        raise AdminkitError(
            f"{where} = {first['input']!r}: {_plain(first['msg'])}",
            "see docs/config.md" if default is None else f"the default is {shown(default)}",
        ) from error


#: Name of a predicate -> what it asks for.
_ASKED: Final = {
    "is_day": "a day is mon, tue, wed, thu, fri, sat or sun, or a date such as 2026-12-29",
    "is_date": "a date is written 2026-12-29",
    "is_alias": "an alias is written fed=alpha+beta",
    "is_share": "a share is written a100_3g.20gb=0.5, above 0 and at most 1",
}


def _plain(message: str) -> str:
    # pydantic quotes the name since 2.14.
    failed = message.replace("'", "").removeprefix("Predicate ").removesuffix(" failed")
    return _ASKED.get(failed, message[:1].lower() + message[1:])


def shown(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(shown(item) for item in value) + "]"
    if isinstance(value, (int, float)):
        return repr(value).removesuffix(".0")
    return f'"{value}"'
