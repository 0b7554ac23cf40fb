"""The units of etc/systemd: systemd reads them, what they start exists, and they may do no more than they need."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.installed import data_file
from adminkit.integrations.datasette_sockets import SYSTEM_SOCKET

FOLDER = data_file("etc", "systemd", "adminkit-sync.service").parent
UNITS = sorted(path.name for path in FOLDER.iterdir())
SERVICES = [name for name in UNITS if name.endswith(".service")]
#: Where packages and docs have the program.
PROGRAM = "/usr/local/bin/adminkit"
#: By `systemd-analyze security` of systemd 252 and newer; "OK" begins below 5.
MOST_EXPOSED = 2.6
needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd: apt-get install systemd")


def settings(unit: str, section: str = "Service") -> list[tuple[str, str]]:
    """(key, value) of a section, in order; a key may come more than once."""
    text = configparser.ConfigParser(strict=False, interpolation=None)
    text.read(FOLDER / unit)
    assert text.has_section(section), f"{unit} has no {section}"
    inside, found = False, []
    for line in (FOLDER / unit).read_text().splitlines():
        if line.startswith("["):
            inside = line == f"[{section}]"
        elif inside and line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.append((key, value))
    return found


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """A copy of them that starts this environment's adminkit."""
    for name in UNITS:
        text = (FOLDER / name).read_text().replace(PROGRAM, str(Path(sys.executable).with_name("adminkit")))
        (tmp_path / name).write_text(text)
    return tmp_path


def verified(folder: Path, unit: str) -> str:
    """What systemd has to say against it; nothing where it is in order."""
    command = ["systemd-analyze", "verify", "--man=no", folder / unit]
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SYSTEMD_UNIT_PATH": f"{folder}:"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    return done.stderr + done.stdout + (f"exit {done.returncode}" if done.returncode else "")


@needs_systemd
@pytest.mark.parametrize("unit", UNITS)
def test_systemd_has_nothing_to_say_against_a_unit(units: Path, unit: str) -> None:
    assert verified(units, unit) == ""


@needs_systemd
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("ProtectSystem", "ProtectSytem", "Unknown key"),
        ("feedback run", "x", ""),
        ("/bin/sleep", "/bin/slep", "is not executable"),
    ],
)
def test_systemd_would_say_it(units: Path, old: str, new: str, said: str) -> None:
    """Else the test above could not fail."""
    unit = units / "adminkit-feedback.service"
    unit.write_text(unit.read_text().replace(old, new))
    assert said in verified(units, unit.name)


@pytest.mark.parametrize("unit", SERVICES)
def test_what_a_unit_starts_exists_with_its_options(unit: str, capsys: pytest.CaptureFixture[str]) -> None:
    begun = [value.lstrip("-") for key, value in settings(unit) if key in ("ExecStart", "ExecStartPre")]
    ours = [value.split()[1:] for value in begun if value.startswith(f"{PROGRAM} ")]
    assert ours, f"{unit} starts no adminkit"
    for words in ours:
        assert main([*words, "--help"]) == 0, capsys.readouterr().err
    assert {value.split()[0] for value in begun} <= {PROGRAM, "/bin/sleep"}


#: Those that are root's and install for slurmctld.
ROOTS = (
    "adminkit-incentives-install.service",
    "adminkit-policy-refresh.service",
    "adminkit-soft-limits.service",
    "adminkit-extend.service",
    "adminkit-idle.service",
    *(TRIALS := ("adminkit-trial.service", "adminkit-trial-lease.service")),
)
#: Root's too: it reads the trace as whoever owns it, and tells slurmctld.
ELASTIC = "adminkit-elastic.service"
#: What every service has, whoever runs it. Trap: what systemd does by a filter of system calls (PrivateDevices,
#: Restrict…) forbids setgid programs too, which via = "sendmail" needs, whatever a drop-in says of NoNewPrivileges.
KEPT_IN = {
    "Type": "oneshot", "UMask": "0027", "NoNewPrivileges": "yes", "ProtectSystem": "strict", "ProtectHome": "yes",
    "ProtectProc": "invisible", "ProtectClock": "yes", "ProtectControlGroups": "yes", "ProtectHostname": "yes",
    "ProtectKernelLogs": "yes", "ProtectKernelModules": "yes", "ProtectKernelTunables": "yes",
    "PrivateDevices": "yes", "PrivateTmp": "yes", "LockPersonality": "yes", "RestrictNamespaces": "yes",
    "RestrictRealtime": "yes", "RestrictSUIDSGID": "yes", "RestrictAddressFamilies": "AF_UNIX AF_INET AF_INET6",
    "SystemCallArchitectures": "native", "SystemCallErrorNumber": "EPERM",
}  # fmt: skip


#: Units that write for another program, and the folder that they write in.
FOR_OTHERS = {
    "adminkit-metrics.service": "/var/lib/prometheus/node-exporter",
    "adminkit-own.service": "/var/lib/adminkit-own",
    "adminkit-report.service": "/srv/adminkit",
}
#: That which anybody may read.
FOR_ALL = ("adminkit-metrics.service", "adminkit-profiles.service")

#: The one unit that serves until it is stopped: it reads the trace, writes nothing, and has no network.
SERVER = "adminkit-serve.service"
SERVES = {
    "Type": "exec", "RestrictAddressFamilies": "AF_UNIX", "PrivateNetwork": "yes", "Restart": "on-failure",
    "RestartSec": "5s",
}  # fmt: skip


@pytest.mark.parametrize("unit", SERVICES)
def test_a_service_is_kept_in_and_bounded(unit: str) -> None:
    found = dict(settings(unit))
    wanted = KEPT_IN | ({"UMask": "0022"} if unit in FOR_ALL else {}) | (SERVES if unit == SERVER else {})
    assert {key: found.get(key) for key in wanted} == wanted
    assert [value for key, value in settings(unit) if key == "SystemCallFilter"][:2] == [
        "@system-service", "~@privileged",
    ]  # fmt: skip
    assert re.fullmatch(r"\d+(h|min)", found["TimeoutStartSec"]), "a oneshot has no limit of its own"
    assert re.fullmatch(r"\dG", found["MemoryMax"])


@pytest.mark.parametrize("unit", [name for name in SERVICES if name not in (*ROOTS, ELASTIC, SERVER)])
def test_a_unit_may_write_where_the_trace_is_and_nowhere_else(unit: str) -> None:
    found = dict(settings(unit))
    wanted = {
        "User": "adminkit", "Group": "adminkit", "StateDirectory": "adminkit", "StateDirectoryMode": "2750",
        "CapabilityBoundingSet": "",
    }  # fmt: skip
    assert {key: found.get(key) for key in wanted} == wanted
    besides = FOR_OTHERS.get(unit)
    assert found.get("ReadWritePaths") == (f"-{besides}" if besides else None)
    for _, value in settings(unit):
        for word in value.split():
            assert not word.startswith("/var/") or word.startswith(("/var/lib/adminkit/", besides or "//")), word


def test_the_server_writes_nothing_but_a_socket_for_its_group() -> None:
    found = dict(settings(SERVER))
    wanted = {
        "User": "adminkit", "Group": "adminkit", "CapabilityBoundingSet": "", "RuntimeDirectory": "adminkit-serve",
        "RuntimeDirectoryMode": "0750",
    }  # fmt: skip
    assert {key: found.get(key) for key in wanted} == wanted
    assert not [key for key in found if key.endswith("Directory") and key != "RuntimeDirectory"]
    assert "ReadWritePaths" not in found
    limits = {"StartLimitIntervalSec": "1min", "StartLimitBurst": "5"}
    assert {key: dict(settings(SERVER, "Unit")).get(key) for key in limits} == limits, "it does not restart for ever"
    assert found["ExecStart"].endswith(f" --socket {SYSTEM_SOCKET}")


@pytest.mark.parametrize("unit", ROOTS)
def test_roots_unit_may_write_what_it_installs_and_its_log_and_nothing_else(unit: str) -> None:
    found = dict(settings(unit))
    tables = unit not in ("adminkit-soft-limits.service", "adminkit-extend.service", "adminkit-idle.service")
    touches = "" if not tables else "-/etc/slurm/job_submit.lua "  # it installs no table
    touches += "-/etc/slurm/adminkit_trial.conf " if unit in TRIALS else ""  # written in its place
    assert found["ReadWritePaths"] == f"-/etc/slurm/adminkit {touches}-/var/log/adminkit"
    assert not {"StateDirectory", "User"} & found.keys()
    assert set(found["CapabilityBoundingSet"].split()) == {"CAP_CHOWN", "CAP_DAC_READ_SEARCH"}


def test_elastics_unit_may_become_the_traces_owner_and_write_its_log() -> None:
    found = dict(settings(ELASTIC))
    assert found["ReadWritePaths"] == "-/var/lib/adminkit -/var/log/adminkit"
    assert not {"StateDirectory", "User"} & found.keys()
    assert set(found["CapabilityBoundingSet"].split()) == {"CAP_SETUID", "CAP_SETGID", "CAP_DAC_READ_SEARCH"}


@needs_systemd
@pytest.mark.parametrize("unit", SERVICES)
def test_little_is_exposed(units: Path, unit: str) -> None:
    assert exposed(units / unit) <= MOST_EXPOSED


@needs_systemd
def test_more_would_be_noticed(units: Path) -> None:
    """Else the test above could not fail."""
    unit = units / "adminkit-sync.service"
    kept = [line for line in unit.read_text().splitlines() if not re.match("SystemCall|Restrict|Capability", line)]
    unit.write_text("\n".join(kept))
    assert exposed(unit) > MOST_EXPOSED


def exposed(unit: Path) -> float:
    """systemd's score, from 0 to 10."""
    command = ["systemd-analyze", "security", "--offline=yes", "--no-pager", unit]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert found, done.stdout + done.stderr
    return float(found.group(1))


@pytest.mark.parametrize("unit", [name for name in UNITS if not name.endswith(".service")])
def test_what_waits_starts_the_service_of_its_name_and_can_be_enabled(unit: str) -> None:
    assert f"{unit.rpartition('.')[0]}.service" in SERVICES
    wanted = "timers.target" if unit.endswith(".timer") else "paths.target"
    assert settings(unit, "Install") == [("WantedBy", wanted)]
    if unit.endswith(".timer"):
        found = dict(settings(unit, "Timer"))
        again = found.get("Persistent") == "yes" or "OnUnitActiveSec" in found
        assert again, "what a host that was off missed is made up for, unless it comes every minute anyway"
