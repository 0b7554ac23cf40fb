"""A directory of users: slapd with nslcd, on loopback, as the last source of the container's users.

It takes names in any case, as Active Directory does.
It changes /etc/nsswitch.conf and /etc/nslcd.conf, so it is for a container that is thrown away (tests/matrix).
"""

from __future__ import annotations

import os
import pwd
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.cluster.harness.config import free_ports
from tests.cluster.harness.processes import until

_BASE: Final = "dc=example,dc=org"
_SLAPD: Final = """include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload retcode
database mdb
suffix "{base}"
directory {folder}/data
index uid,uidNumber,gidNumber,memberUid,objectClass eq
"""
#: Every answer comes this many seconds late.
_SLOW: Final = 'overlay retcode\nretcode-parent "cn=retcodes,{base}"\nretcode-sleep {seconds}\n'
_NSLCD: Final = """uid nslcd
gid nslcd
uri ldap://127.0.0.1:{port}/
base {base}
bind_timelimit 2
timelimit 30
reconnect_sleeptime 1
reconnect_retrytime 1
ignorecase yes
"""
_USER: Final = """dn: uid={name},{base}
objectClass: account
objectClass: posixAccount
cn: {name}
uid: {name}
uidNumber: {uid}
gidNumber: {gid}
homeDirectory: /tmp
loginShell: /bin/sh

"""
_GROUP: Final = """dn: cn={name},{base}
objectClass: posixGroup
cn: {name}
gidNumber: {gid}
{members}

"""


class Directory:
    """The users by name -> (uid, gid), the groups by name -> (gid, members)."""

    def __init__(
        self, folder: Path, users: Mapping[str, tuple[int, int]], groups: Mapping[str, tuple[int, Iterable[str]]]
    ) -> None:
        self.folder, self.port = folder, free_ports(1)[0]
        self._slapd: subprocess.Popen[bytes] | None = None
        self._first = next(iter(users))
        (folder / "data").mkdir(parents=True)
        ldif = f"dn: {_BASE}\nobjectClass: dcObject\nobjectClass: organization\no: example\ndc: example\n\n"
        for name, (uid, gid) in users.items():
            ldif += _USER.format(name=name, uid=uid, gid=gid, base=_BASE)
        for name, (gid, members) in groups.items():
            lines = "\n".join(f"memberUid: {member}" for member in members)
            ldif += _GROUP.format(name=name, gid=gid, members=lines, base=_BASE)
        (folder / "all.ldif").write_text(ldif)
        self._configure()
        subprocess.run(["slapadd", "-q", "-f", self._conf, "-l", folder / "all.ldif"], check=True)

    def start(self, slow: int = 0) -> None:
        self._configure(slow)
        words = ["slapd", "-d", "0", "-f", self._conf, "-h", f"ldap://127.0.0.1:{self.port}/"]
        self._slapd = subprocess.Popen(words)
        until("slapd to answer", self._answers, 60.0)

    def stop(self) -> None:
        if self._slapd is not None:
            self._slapd.terminate()
            self._slapd.wait()
            self._slapd = None

    @contextmanager
    def away(self) -> Iterator[None]:
        """slapd is down, and nslcd has found out."""
        self.stop()
        try:
            yield
        finally:
            self.back()

    @contextmanager
    def slow(self, seconds: int) -> Iterator[None]:
        self.stop()
        self.start(seconds)
        try:
            yield
        finally:
            self.stop()
            self.back()

    def back(self) -> None:
        """slapd is up again, and nslcd knows it: it asks a server that was away only now and then."""
        self.start()
        until("nslcd to answer", self._knows, 60.0)

    def _knows(self) -> bool:
        return subprocess.run(["getent", "passwd", self._first], capture_output=True, check=False).returncode == 0

    def _configure(self, slow: int = 0) -> None:
        text = _SLAPD.format(base=_BASE, folder=self.folder)
        self._conf.write_text(text + (_SLOW.format(base=_BASE, seconds=slow) if slow else ""))

    @property
    def _conf(self) -> Path:
        return self.folder / "slapd.conf"

    def _answers(self) -> bool:
        words = ["ldapsearch", "-x", "-H", f"ldap://127.0.0.1:{self.port}/", "-b", _BASE, "-s", "base"]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0


@contextmanager
def resolving(directory: Directory) -> Iterator[None]:
    """The container's users are those of its files, then those of the directory."""
    Path("/etc/nslcd.conf").write_text(_NSLCD.format(port=directory.port, base=_BASE))
    sources = Path("/etc/nsswitch.conf")
    sources.write_text(re.sub(r"^(passwd|group):.*", r"\1: files ldap", sources.read_text(), flags=re.MULTILINE))
    run = Path("/run/nslcd")
    run.mkdir(exist_ok=True)
    os.chown(run, pwd.getpwnam("nslcd").pw_uid, -1)
    nslcd = subprocess.Popen(["nslcd", "-n"])
    try:
        directory.back()
        yield
    finally:
        nslcd.terminate()
        nslcd.wait()
        directory.stop()
