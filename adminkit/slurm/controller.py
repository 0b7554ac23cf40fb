"""The configuration of slurmctld: where its files are, who runs it, on which hosts, with which plugins."""

from __future__ import annotations

import grp
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from adminkit import config
from adminkit.errors import AdminkitError
from adminkit.slurm.keyvalue import given, settings
from adminkit.slurm.show_config import show_config
from adminkit.users import by_uid, uid_of

#: slurm.conf, unless $SLURM_CONF names another or slurm_prefix has one.
SYSTEM_CONF: Final = Path("/etc/slurm/slurm.conf")

_DEEPEST: Final = 8  # files that include files
_KEYS: Final = (
    "ClusterName",
    "SlurmctldHost",
    "SlurmUser",
    "JobSubmitPlugins",
    "AccountingStoreFlags",
)
_USER: Final = re.compile(r"^(\S+?)\((\d+)\)$")


@dataclass(frozen=True, slots=True)
class Controller:
    """The running configuration, as far as rules at submission need it. None is unknown."""

    cluster: str
    conf: Path | None  # slurm.conf; job_submit.lua is in the same folder
    hosts: tuple[str, ...]  # every SlurmctldHost, the primary first
    user: str
    uid: int | None
    gid: int | None  # of the primary group of SlurmUser, as this host knows it
    plugins: tuple[str, ...]  # JobSubmitPlugins
    store: frozenset[str]  # AccountingStoreFlags
    away: str = ""  # why slurmctld was not asked and its slurm.conf was read instead

    @property
    def folder(self) -> Path | None:
        """Where slurmctld looks for job_submit.lua."""
        return None if self.conf is None else self.conf.parent

    @property
    def group(self) -> str | None:
        """The name of the group that may read what slurmctld reads."""
        try:
            return None if self.gid is None else grp.getgrgid(self.gid).gr_name
        except KeyError:
            return str(self.gid)

    def others(self) -> tuple[str, ...]:
        """The controllers that are not this host."""
        ours = {socket.gethostname(), socket.gethostname().partition(".")[0]}
        return tuple(host for host in self.hosts if host not in ours and host.partition(".")[0] not in ours)


def controller() -> Controller:
    """Ask the running slurmctld. AdminkitError when it is away."""
    return parse_config(show_config())


def controller_or_conf() -> Controller:
    """Like `controller`; where slurmctld is away, what slurm.conf of this host says. AdminkitError without either."""
    try:
        return controller()
    except AdminkitError as error:
        path = _slurm_conf()
        text = _conf_text(path)
        if text is None:
            raise error from None
        return parse_conf(text, path, error.message)


def inactive(slurmctld: Controller) -> str:
    """Why slurmctld does not run job_submit.lua, by its running configuration and slurm.conf; "" where it does."""
    if "lua" in slurmctld.plugins:
        return ""
    text = None if slurmctld.conf is None else _conf_text(slurmctld.conf)
    if text is None:
        return "slurmctld runs without JobSubmitPlugins=lua; add it to slurm.conf, then: scontrol reconfigure"
    if "lua" in parse_conf(text, slurmctld.conf or SYSTEM_CONF, "").plugins and not slurmctld.away:
        return f"{slurmctld.conf} has JobSubmitPlugins=lua, but slurmctld runs without it yet: scontrol reconfigure"
    return f"{slurmctld.conf} lacks JobSubmitPlugins=lua; add it, then: scontrol reconfigure"


def _conf_text(path: Path, depth: int = 0) -> str | None:
    """slurm.conf with the files that it includes; None where it cannot be read. What cannot be included is left out."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    whole: list[str] = []
    for line in lines:
        words = line.split()
        if len(words) == 2 and words[0].lower() == "include" and depth < _DEEPEST:
            whole.append(_conf_text(path.parent / words[1], depth + 1) or "")
        else:
            whole.append(line)
    return "\n".join(whole)


def _slurm_conf() -> Path:
    named, prefix = os.environ.get("SLURM_CONF"), config.load().slurm_prefix
    if named or prefix is None:
        return Path(named or SYSTEM_CONF)
    return next(
        (conf for conf in (prefix / "etc/slurm.conf", prefix / "etc/slurm/slurm.conf") if conf.exists()), SYSTEM_CONF
    )


def parse_conf(text: str, path: Path, away: str) -> Controller:
    """The lines of slurm.conf that matter here. Trap: keys are of any case, and SlurmctldHost may stand twice."""
    words: dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.partition("#")[0].strip().partition("=")
        if not equals or " " in key.strip():
            continue
        name = next((known for known in _KEYS if known.lower() == key.strip().lower()), "")
        if name == "SlurmctldHost":
            name = f"SlurmctldHost[{sum(known.startswith(name) for known in words)}]"
        if name:
            words[name] = value.strip()
    user = words.get("SlurmUser", "root")
    uid = uid_of(user)
    words["SlurmUser"] = user if uid is None else f"{user}({uid})"
    return replace(_controller({**words, "SLURM_CONF": str(path)}), away=away)


def parse_config(text: str) -> Controller:
    """`scontrol show config`."""
    return _controller(settings(text))


def _controller(words: Mapping[str, str]) -> Controller:
    user, uid = _user(words.get("SlurmUser", ""))
    conf = given(words.get("SLURM_CONF"))
    return Controller(
        cluster=words.get("ClusterName", ""),
        conf=Path(conf) if conf else None,
        hosts=_hosts(words),
        user=user,
        uid=uid,
        gid=_group(uid),
        plugins=tuple(word.removeprefix("job_submit/") for word in _list(words.get("JobSubmitPlugins"))),
        store=frozenset(_list(words.get("AccountingStoreFlags"))),
    )


def site_folder(slurmctld: Controller, flag: Path | None) -> Path:
    """The folder of job_submit.lua: --folder, else that of slurm.conf. AdminkitError where neither is known."""
    folder = flag or slurmctld.folder
    if folder is None:
        raise AdminkitError("slurmctld does not say where its slurm.conf is", "name its folder with --folder")
    return folder


def readable_by(path: Path, slurmctld: Controller) -> bool:
    """Whether SlurmUser may read this file by its owner, group and mode; True where slurmctld runs as root."""
    if slurmctld.uid in (0, None):
        return True
    status = path.stat()
    if status.st_uid == slurmctld.uid:
        return bool(status.st_mode & 0o400)
    return bool(status.st_mode & (0o040 if status.st_gid in _groups(slurmctld.uid) else 0o004))


def _groups(uid: int | None) -> set[int]:
    who = by_uid(uid or 0)
    return set() if who is None else set(os.getgrouplist(who.pw_name, who.pw_gid))


def _hosts(words: Mapping[str, str]) -> tuple[str, ...]:
    """SlurmctldHost[0] = head(10.0.0.1) and so on."""
    hosts = [(key, value) for key, value in words.items() if key.startswith("SlurmctldHost")]
    ordered = sorted(hosts, key=lambda item: int(re.sub(r"\D", "", item[0]) or 0))
    return tuple(dict.fromkeys(value.partition("(")[0] for _, value in ordered if value))


def _user(text: str) -> tuple[str, int | None]:
    match = _USER.match(text)
    return (match.group(1), int(match.group(2))) if match else (text, None)


def _group(uid: int | None) -> int | None:
    who = None if uid is None else by_uid(uid)
    return None if who is None else who.pw_gid


def _list(text: str | None) -> list[str]:
    return [word.strip() for word in (given(text) or "").split(",") if word.strip()]
