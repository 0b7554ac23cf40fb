"""A postfix of our own: its files in one folder, one port of the loopback, no service of the host touched."""

from __future__ import annotations

import email
import email.policy
import shutil
import smtplib
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from pathlib import Path

from tests.cluster.harness.config import USERS, free_ports
from tests.cluster.harness.processes import until

DOMAIN = "site.test"
_DAEMONS = Path("/usr/lib/postfix/sbin")
_MAIN = """
compatibility_level = 3.6
queue_directory = {folder}/spool
data_directory = {folder}/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
myhostname = mail.{domain}
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
disable_dns_lookups = yes
alias_maps =
alias_database =
local_recipient_maps =
mynetworks = 127.0.0.0/8
smtpd_recipient_restrictions = permit_mynetworks, reject
virtual_mailbox_domains = {domain}
virtual_mailbox_base = {folder}/mail
virtual_mailbox_maps = texthash:{folder}/conf/boxes
virtual_minimum_uid = 1
virtual_uid_maps = static:65534
virtual_gid_maps = static:65534
maillog_file = {folder}/log
maillog_file_prefixes = {folder}
"""
_SERVICES = """
127.0.0.1:{port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
error unix - - n - - error
retry unix - - n - - error
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
"""


class Mta:
    """It takes mail for the users of the cluster at DOMAIN and puts it into their Maildirs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (self.port,) = free_ports(1)

    def configure(self) -> None:
        self.folder.chmod(0o755)
        for child in ("conf", "spool", "data", "mail"):
            (self.folder / child).mkdir()
        shutil.chown(self.folder / "data", "postfix")
        shutil.chown(self.folder / "mail", "nobody", "nogroup")
        words = {"folder": self.folder, "domain": DOMAIN, "port": self.port}
        (self.folder / "conf" / "main.cf").write_text(_MAIN.format(**words))
        (self.folder / "conf" / "master.cf").write_text(_SERVICES.format(**words))
        boxes = "".join(f"{user}@{DOMAIN} {user}/\n" for user in (*USERS, "ops"))
        (self.folder / "conf" / "boxes").write_text(boxes)

    def start(self) -> None:
        self._postfix("start")
        until("postfix to answer", self._answers, 90.0)

    def stop(self) -> None:
        self._postfix("stop")

    def letters(self, user: str) -> list[EmailMessage]:
        """The messages in that user's Maildir, in no order."""
        box = self.folder / "mail" / user / "new"
        found = []
        for file in box.iterdir() if box.is_dir() else []:
            message = email.message_from_bytes(file.read_bytes(), policy=email.policy.default)
            assert isinstance(message, EmailMessage)
            found.append(message)
        return found

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def _postfix(self, act: str) -> None:
        done = subprocess.run(["postfix", "-c", self.folder / "conf", act], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr

    def _answers(self) -> bool:
        try:
            with smtplib.SMTP("127.0.0.1", self.port, timeout=5) as server:
                return server.noop()[0] == 250
        except OSError:
            return False


def missing() -> str | None:
    """What it lacks on this host."""
    return None if (_DAEMONS / "master").exists() and shutil.which("postfix") else "postfix is not installed"


@contextmanager
def mta() -> Iterator[Mta]:
    """One that runs while the block does."""
    folder = Path(tempfile.mkdtemp(prefix="adminkit-mta-"))
    made = Mta(folder)
    try:
        made.configure()
        made.start()
        yield made
        made.stop()
    finally:
        subprocess.run(["postfix", "-c", folder / "conf", "stop"], capture_output=True, check=False)
        shutil.rmtree(folder)
