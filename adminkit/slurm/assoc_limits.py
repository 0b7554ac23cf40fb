"""What slurmctld itself holds a user to, and how much of it is used: `scontrol show assoc_mgr`.

A QOS overrides an association where both have the same limit, and the queue's QOS comes before the job's. Memory is in
MiB, time in minutes. Traps: a user of a QOS is a uid or, since 24.11, name(uid). What a user may have of a QOS is
listed only once they have had some, so that the limit of other jobs is asked of slurmdbd.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.quote import quote
from adminkit.slurm.associations import associations
from adminkit.slurm.associations import qos as every_qos
from adminkit.slurm.keyvalue import number, settings
from adminkit.slurm.process import ask
from adminkit.slurm.show_config import show_config

_PATIENCE: Final = 10.0
#: What a record is of: account, user, queue; or QOS.
_HEAD: Final = re.compile(r"ClusterName=(\S*) Account=(.*?) UserName=(.*?) Partition=(\S*)|QOS=(.*)\(\d+\)$", re.ASCII)
_BOUND: Final = re.compile(r"(\d{1,18}|N)?(?:\((\d{1,18})(?:\.\d+)?\))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Bound:
    """`most` None: no limit, or an unknown one."""

    most: int | None
    used: int = 0


@dataclass(frozen=True, slots=True)
class Holder:
    """A QOS or an association with its limits: name of the limit -> what it is of ("" for jobs, time) -> Bound."""

    kind: str  # qos, association
    name: str
    limits: Mapping[str, Mapping[str, Bound]]


@dataclass(frozen=True, slots=True)
class Held:
    """The holders of one user's job, the first that has a limit counts; QOS before associations."""

    enforced: bool = True
    qos: tuple[Holder, ...] = ()
    user: Holder | None = None
    accounts: tuple[Holder, ...] = ()  # above the user's, from the nearest up
    problem: str = ""  # why it is not known


@dataclass(frozen=True, slots=True)
class Record:
    """An association or a QOS as slurmctld shows it."""

    head: str
    words: dict[str, str]
    users: dict[str, dict[str, str]] = field(default_factory=dict)
    accounts: dict[str, dict[str, str]] = field(default_factory=dict)


def held(user: str, uid: int, account: str | None, qos: str | None, queue_qos: str | None) -> Held:
    """What holds a job of this user; `problem` where it cannot be told. AdminkitError when slurmctld is away."""
    words = settings(show_config())
    enforce = words.get("AccountingStorageEnforce", "").lower()
    if not {"limits", "safe"} & set(re.split(r"[,\s]+", enforce)):
        return Held(enforced=False)
    text = assoc_mgr(user)
    try:
        names, caps = _qos_of(user, words.get("ClusterName", "")), _user_caps()
    except AdminkitError as error:
        names, caps = {}, {}
        if qos is None:
            return Held(problem=f"the default QOS is not known: {error.message}")
    return parse_held(text, uid, account, qos, queue_qos, names, caps)


def assoc_mgr(user: str | None = None, patience: float = _PATIENCE) -> str:
    """What slurmctld holds everybody to, or this user, for records()."""
    whose = [] if user is None else [f"users={user}"]
    return ask(["scontrol", "show", "assoc_mgr", *whose, "flags=assoc,qos"], patience)


def parse_held(
    text: str,
    uid: int,
    account: str | None,
    qos: str | None,
    queue_qos: str | None,
    default_qos: Mapping[str, str],
    caps: Mapping[str, Mapping[str, Mapping[str, Bound]]],
) -> Held:
    """`default_qos` by account; `caps`: the limits of each user in each QOS, for those of whom slurmctld knows none."""
    return held_by(list(records(text)), uid, account, qos, queue_qos, default_qos, caps)


def held_by(
    every: Sequence[Record],
    uid: int,
    account: str | None,
    qos: str | None,
    queue_qos: str | None,
    default_qos: Mapping[str, str],
    caps: Mapping[str, Mapping[str, Mapping[str, Bound]]],
) -> Held:
    """The same of records that were read before."""
    own = [one for one in every if f"({uid}) " in f"{one.head} " and one.words.get("UserName", "").endswith(f"({uid})")]
    if account is not None:
        own = [one for one in own if one.words.get("Account") == account]
    chosen = next((one for one in own if one.words.get("DefAssoc") == "Yes"), own[0] if account and own else None)
    if chosen is None:
        return Held(problem="no association of this user is shown")
    name = chosen.words["Account"]
    job_qos = qos or default_qos.get(name)
    found = []
    for one in filter(None, (queue_qos, job_qos)):
        record = next((record for record in every if record.head.startswith(f"QOS={one}(")), None)
        if record is not None:
            found.append(_of_qos(one, record, uid, name, caps.get(one, {})))
    parents = {
        one.words["Account"]: one for one in every if one.head.startswith("ClusterName=") and not one.words["UserName"]
    }
    above, seen = [], set()
    while name in parents and name not in seen:
        seen.add(name)
        above.append(Holder("association", f"account {name}", _limits(parents[name].words, group=True)))
        name = parents[name].words.get("ParentAccount", "").partition("(")[0]
    problem = "" if job_qos else "the QOS of the job is not known"
    return Held(True, tuple(found), of_user(chosen), tuple(above), problem)


def of_user(record: Record) -> Holder:
    """A user's association."""
    return Holder("association", "your association", _limits(record.words))


def _of_qos(name: str, record: Record, uid: int, account: str, caps: Mapping[str, Mapping[str, Bound]]) -> Holder:
    limits = _limits(record.words)
    mine = record.users.get(str(uid))
    limits |= caps if mine is None else _limits(mine)
    limits |= _limits(record.accounts.get(account, {}))
    return Holder("qos", f"QOS {name}", limits)


def _limits(words: Mapping[str, str], group: bool = False) -> dict[str, Mapping[str, Bound]]:
    """The limits that are set; `group`: those of an account that count for all below it."""
    found: dict[str, Mapping[str, Bound]] = {}
    for name, value in words.items():
        if not name.startswith(("Grp", "Max", "MinTRES")) or (group and not name.startswith("Grp")):
            continue
        given = {what: bound for what, bound in bounds(value) if bound.most is not None}
        if given:
            found[name] = given
    return found


def bounds(value: str) -> Iterator[tuple[str, Bound]]:
    """9(3); cpu=100(1),gres/gpu=N(2); cpu=7"""
    for item in value.split(","):
        what, equals, text = item.rpartition("=")
        match = _BOUND.fullmatch(text if equals else item)
        if match is not None:
            yield what, Bound(number(match[1]), number(match[2]) or 0)


def records(text: str) -> Iterator[Record]:
    """An association or a QOS each. AdminkitError where one is there twice or is not whole.

    Trap: a coordinator may give an account or a user a name with lines that look like a record. What is asked of it is
    who has which limits: a record that takes another's place makes it stand there twice.
    """
    seen = set()
    for part in re.split(r"^(?=(?:ClusterName|QOS)=)", text, flags=re.MULTILINE):
        head, _, rest = part.partition("\n")
        if not head.startswith(("ClusterName=", "QOS=")):
            continue
        whose = _HEAD.match(head)
        if whose is None or whose.groups() in seen:
            raise AdminkitError(
                f"slurmctld's list of limits has a record that is not whole, or is there twice: {quote(head)}",
                "look for a name with a line break: sacctmgr show assoc",
            )
        seen.add(whose.groups())
        record = Record(head, _words(head))
        section, key = "", ""
        for line in rest.split("\n"):
            depth, plain = len(line) - len(line.lstrip(" ")), line.strip()
            if depth == 4 and plain.endswith(" Limits"):
                section = plain
            elif depth == 6 and "=" not in plain:
                key = plain[plain.find("(") + 1 :].rstrip(")") if section == "User Limits" else plain
            elif depth >= 8 and section:
                into = record.users if section == "User Limits" else record.accounts
                into.setdefault(key, {}).update(_words(plain))
            elif depth == 4:
                record.words.update(_words(plain))
        yield record


def _words(line: str) -> dict[str, str]:
    """The words of a line. Trap: GrpTRES=cpu=N(0) has two signs."""
    return dict(word.partition("=")[::2] for word in line.split(" ") if "=" in word)


def _qos_of(user: str, cluster: str) -> dict[str, str]:
    """The default QOS of each of the user's accounts; one that none is named for has Slurm's own, normal."""
    found = {}
    for one in associations(cluster, user, _PATIENCE):
        alone = next(iter(one.qos)) if len(one.qos) == 1 else "normal"
        found[one.account] = one.default_qos or alone
    return found


def _user_caps() -> dict[str, Mapping[str, Mapping[str, Bound]]]:
    """What a user may have of each QOS who has nothing of it yet."""
    found: dict[str, Mapping[str, Mapping[str, Bound]]] = {}
    for one in every_qos():
        caps: dict[str, Mapping[str, Bound]] = {}
        if one.max_user_tres:
            caps["MaxTRESPU"] = {
                what: Bound(many >> 20 if what == "mem" else many) for what, many in one.max_user_tres.items()
            }
        if one.max_user_jobs is not None:
            caps["MaxJobsPU"] = {"": Bound(one.max_user_jobs)}
        found[one.name] = caps
    return found
