"""The site in containers as Ansible finds it: hosts with Slurm, without adminkit, reached by Ansible's ssh plugin."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.ansible.tools import ANSIBLE, environment, tool
from tests.cluster.compose import site
from tests.cluster.compose.host import Site
from tests.matrix import engine
from tests.matrix.rows import PACKAGES, ROWS

ROW: Final = next(row for row in ROWS if row.name == "trixie")
#: Groups of the example playbook -> hosts of the site.
GROUPS: Final = {
    "adminkit_admin": ["slurmctld"],
    "adminkit_controllers": ["slurmctld"],
    "adminkit_nodes": ["n1", "login"],
}
HOSTS: Final = ("slurmctld", "n1", "login")
PASSWORD: Final = "a-password-to-look-for"
#: What ssh does for Ansible, on a container: options are left out, the host is its name.
_SSH: Final = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do
    case $1 in -o) shift ;; esac
    shift
done
host=$1
shift
exec ENGINE exec -i "$host" sh -c "$*"
"""
#: What the site's own start has put there, and what Ansible needs on a Debian host.
#: Trap: slurmctld loads the script again only if its mtime, in whole seconds, is after the last load.
_BARE: Final = """rm -rf /usr/local/bin/adminkit /etc/adminkit /var/lib/adminkit /var/log/adminkit /run/adminkit
rm -rf /etc/slurm/adminkit /etc/slurm/plugstack.conf.d/adminkit.conf
find / -xdev -name adminkit_ckpt.so -path '*slurm*' ! -path '/adminkit/*' -delete
[ ! -e /etc/slurm/job_submit.lua ] || { sleep 1.1; touch /etc/slurm/job_submit.lua; }
apt-get -q update
DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends python3-apt systemd
"""
#: Every file that installing, configuring or ruling could make or change.
_STATE: Final = """set +e
dpkg-query -W adminkit slurm-spank-adminkit 2>/dev/null
cd /
for place in etc/adminkit etc/slurm etc/systemd/system var/cache/adminkit-packages var/lib/adminkit var/log/adminkit; do
    [ ! -e $place ] || find $place -printf '%p %m %u %g %T@ %l\\n'
done | sort
getent passwd adminkit; getent group adminkit
true"""


@dataclass(frozen=True)
class Play:
    """What a run of the playbook came to."""

    code: int
    text: str

    @property
    def changed(self) -> dict[str, int]:
        return {host: int(n) for host, n in re.findall(r"^(\S+) +: ok=.*changed=(\d+)", self.text, re.MULTILINE)}

    @property
    def failed(self) -> set[str]:
        return {host for host, n in re.findall(r"^(\S+) +: ok=.*failed=(\d+)", self.text, re.MULTILINE) if n != "0"}


@dataclass
class Ground:
    """A site that is up, and the variables of its playbook."""

    site: Site
    folder: Path
    variables: dict[str, Any] = field(default_factory=dict)

    def prepare(self) -> None:
        ssh = self.folder / "ssh"
        ssh.write_text(_SSH.replace("ENGINE", engine.ENGINE))
        ssh.chmod(0o755)
        for part in HOSTS:
            done = self.site.run("sh", "-ec", _BARE, part=part, seconds=600)
            assert done.code == 0, done.err
        others = ",".join(name for name in site.NODES if name not in HOSTS)
        self.site.ask("scontrol", "update", f"NodeName={others}", "State=DRAIN", "Reason=no host of the playbook")
        inventory = {
            "all": {
                "vars": {
                    "ansible_ssh_executable": str(ssh), "ansible_ssh_args": "", "ansible_ssh_transfer_method": "piped",
                    "ansible_python_interpreter": "/usr/bin/python3", "ansible_become": False,
                },
                "hosts": {part: {"ansible_host": self.site.container(part)} for part in HOSTS},
                "children": {group: {"hosts": {name: {} for name in hosts}} for group, hosts in GROUPS.items()},
            }
        }  # fmt: skip
        (self.folder / "inventory.json").write_text(json.dumps(inventory))
        (self.folder / "adminkit.toml").write_text(site.SETTINGS)
        (self.folder / "policy.toml").write_bytes((ANSIBLE.parent / "policy.toml").read_bytes())
        plugin, kit = (next(debs().glob(f"{name}_*.deb")) for name in ("slurm-spank-adminkit", "adminkit"))
        self.variables = {
            "adminkit_package": str(kit), "adminkit_plugin_package": str(plugin), "adminkit_plugin_words": "poll=5",
            "adminkit_settings": str(self.folder / "adminkit.toml"),
            "adminkit_policy": str(self.folder / "policy.toml"),
            "adminkit_smtp_login": {"user": "news", "password": PASSWORD}, "adminkit_readers": ["aiko"],
            "adminkit_units": ["adminkit-sync.timer"], "adminkit_rules": "installed",
        }  # fmt: skip

    def play(self, *words: str, **variables: Any) -> Play:
        """Run the example playbook with these variables beside the others."""
        given = json.dumps({**self.variables, **variables})
        command = [tool("ansible-playbook"), "-i", str(self.folder / "inventory.json"), "-e", given, *words]
        env = environment(ANSIBLE_PIPELINING="1", ANSIBLE_HOME=str(self.folder / "home"))
        done = subprocess.run(
            [*command, str(ANSIBLE / "site.yml")], env=env, cwd=self.folder, capture_output=True, text=True, check=False
        )
        text = done.stdout + done.stderr
        (self.folder / "last.log").write_text(text)
        return Play(done.returncode, text)

    def state(self) -> dict[str, str]:
        """Host -> every file of adminkit with mode, owner and time, its packages and its user."""
        return {part: self.site.shell(part, _STATE) for part in HOSTS}


def debs() -> Path:
    """The folder of the packages of this release, built where they are not there."""
    folder = engine.folder_of(ROW) / "build/deb"
    if not list(folder.glob("adminkit_*.deb")):
        cell = engine.run(ROW, PACKAGES, "")
        assert cell.state == "passed", cell.reasons
    return folder
