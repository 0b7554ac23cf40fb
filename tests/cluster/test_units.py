"""The units under a systemd that is the first process of a container: woken by Slurm's user, kept in by systemd, and at
work on a Slurm and a mail server all the same.

By hand (`make soak`): it needs podman, the image of `make matrix` and a package index.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.harness import unit_host
from tests.cluster.harness.processes import until
from tests.cluster.harness.unit_host import SERVICES, SLURM, Host, documented
from tests.matrix import engine
from tests.matrix.rows import ROOT

pytestmark = pytest.mark.soak

FEEDBACK, INSTALL = "adminkit-feedback.service", "adminkit-incentives-install.service"
REFRESH = "adminkit-policy-refresh.service"
SOFT = "adminkit-soft-limits.service"
ELASTIC = "adminkit-elastic.service"


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    try:
        with unit_host.booted() as made:
            yield made
    except engine.NotRun as why:
        pytest.fail(str(why), pytrace=False)


@pytest.fixture(scope="module")
def mail(host: Host) -> Host:
    unit_host.with_mail(host)
    return host


@pytest.fixture(scope="module")
def slurm(host: Host) -> Host:
    unit_host.with_slurm(host)
    return host


def in_folder(host: Host, folder: str) -> int:
    return int(host.do(f"ls {folder}/new 2>/dev/null | wc -l"))


def delivered(host: Host) -> int:
    """How many letters the mail server has put into the boxes of ada and bob."""
    return int(host.do("cat /var/mail/ada /var/mail/bob 2>/dev/null | grep -c '^Subject: train' || true"))


@pytest.mark.parametrize("unit", SERVICES)
def test_systemd_takes_from_a_unit_what_it_does_not_need(host: Host, unit: str) -> None:
    """Read of a process of the unit's own: a container that lacks the rights would leave the unit everything."""
    found = host.start(unit).facts()
    if not found:  # it waits for tables
        (wanted,) = re.findall(r"^ConditionPathExists=(.*)$", (ROOT / "etc/systemd" / unit).read_text(), re.MULTILINE)
        host.do(f"install -d -o adminkit {Path(wanted).parent} && install -o adminkit /dev/null {wanted}")
        found = host.start(unit).facts()
    chown_and_read, become_and_read = 0b101, 0b11000100
    capabilities = become_and_read if unit == ELASTIC else chown_and_read if unit in (INSTALL, REFRESH, SOFT) else 0
    assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2")
    assert int(found["CapBnd"], 16) == capabilities


def test_a_unit_writes_nowhere_but_where_the_trace_is(host: Host) -> None:
    host.letters_are_due()
    host.do("install -d -o adminkit /srv/mail")
    host.configure('via = "directory"\ndirectory = "/srv/mail"\n')
    run = host.start(FEEDBACK)
    assert run.result == "exit-code"
    assert "read-only file system" in run.said
    assert in_folder(host, "/srv/mail") == 0


def test_slurms_user_wakes_it_and_the_letters_leave(host: Host) -> None:
    host.letters_are_due()
    host.configure('via = "directory"\ndirectory = "/var/lib/adminkit/mail"\n')
    host.do("systemctl start adminkit-feedback.path adminkit-feedback.timer adminkit-sync.timer")
    host.do("runuser -u slurm -- /etc/slurm/adminkit-wake")
    until("the letters", lambda: in_folder(host, "/var/lib/adminkit/mail") == 2, 60.0)
    until("it to end", lambda: host.state(FEEDBACK) == "inactive", 60.0)
    host.do("systemctl stop adminkit-feedback.path adminkit-feedback.timer adminkit-sync.timer")
    assert host.do(f"systemctl show -P Result {FEEDBACK}") == "success"
    assert host.do("find /var/lib/adminkit ! -user adminkit") == ""
    assert host.do("find /var/lib/adminkit -perm /007") == "/var/lib/adminkit/prefs"


def test_letters_leave_by_smtp(mail: Host) -> None:
    mail.letters_are_due()
    mail.configure('via = "smtp"\nhost = "localhost"\nport = 25\n')
    before = delivered(mail)
    run = mail.start(FEEDBACK)
    assert run.result == "success", run.said
    until("the letters", lambda: delivered(mail) == before + 2, 30.0)


def test_postfixs_sendmail_keeps_letters_waiting_until_the_drop_in_of_the_docs_is_there(mail: Host) -> None:
    """No setgid program works in the unit, so postdrop has to be lent its group; nothing else is given back."""
    mail.letters_are_due()
    mail.configure('via = "sendmail"\n')
    before = delivered(mail)
    mail.start(FEEDBACK)
    assert mail.outbox() == {"due": 2}
    mail.drop_in(FEEDBACK, "sendmail", documented("docs/feedback.md", FEEDBACK))
    mail.letters_are_due()
    run = mail.start(FEEDBACK)
    assert mail.outbox() == {"sent": 2}, run.said
    until("the letters", lambda: delivered(mail) == before + 2, 30.0)
    assert (run.result, run.facts()["NoNewPrivs"]) == ("success", "1")
    mail.drop_in(FEEDBACK, "sendmail", "")


def test_sync_reads_slurmdbd_as_a_user_whom_slurm_does_not_know(slurm: Host) -> None:
    slurm.configure('[sync]\nsince = "1d"\n')
    run = slurm.start("adminkit-sync.service")
    assert run.result == "success", run.said
    assert {"games", "news"} <= {user for (user,) in slurm.select("SELECT user FROM job")}
    known = slurm.do(f"SLURM_CONF={SLURM}/slurm.conf sacctmgr -n -P show user format=user")
    assert "adminkit" not in known.split()


def test_roots_unit_puts_the_tables_where_slurm_conf_is_with_the_drop_in_of_the_docs(slurm: Host) -> None:
    made = slurm.start("adminkit-incentives.service")
    assert made.result == "success", made.said
    run = slurm.start(INSTALL)
    assert run.result == "exit-code"
    assert "ead-only file system" in run.said
    text = documented("docs/install.md", INSTALL)
    slurm.drop_in(INSTALL, "folder", text.replace("/opt/slurm/etc", SLURM))
    run = slurm.start(INSTALL)
    assert run.result == "success", run.said
    assert "confirmed" in run.said
    assert slurm.do(f"stat -c '%a %U' {SLURM}/adminkit/incentives.lua") == "640 root"
    assert "incentives install" in slurm.do("cat /var/log/adminkit/acts.jsonl")


def test_roots_unit_lets_the_rules_hold_a_former_operator(slurm: Host) -> None:
    """With the same drop-in: what it writes is in the same folder."""
    ask = f"SLURM_CONF={SLURM}/slurm.conf sacctmgr -i modify user games set adminlevel"
    slurm.drop_in(REFRESH, "folder", documented("docs/install.md", INSTALL).replace("/opt/slurm/etc", SLURM))
    for level, said in (("Operator", "games exempt from now on"), ("None", "games no longer exempt")):
        slurm.do(f"{ask}={level}")
        run = slurm.start(REFRESH)
        assert run.result == "success", run.said
        assert said in run.said
        assert "confirmed" in run.said


def test_roots_unit_guards_soft_limits_and_its_timer_runs_it(slurm: Host) -> None:
    """On a release where they are refused: while they are off it is content, else it says why, and gives none."""
    slurm.drop_in(SOFT, "folder", documented("docs/install.md", INSTALL).replace("/opt/slurm/etc", SLURM))
    run = slurm.start(SOFT)
    assert run.result == "success" and "soft limits are off" in run.said, run.said
    state = f"{SLURM}/adminkit/soft_state.json"
    assert slurm.do(f"stat -c '%a %U' {state}") == "600 root"
    slurm.do(f"rm {state}; systemctl start adminkit-soft-limits.timer")
    until("its timer to run it", lambda: slurm.do(f"ls {state}", code=None) == state, 60.0)
    before = slurm.do(f"cat {state}")
    until("its timer to run it again", lambda: slurm.do(f"cat {state}") != before, 60.0)
    slurm.do("systemctl stop adminkit-soft-limits.timer")
    entry = '  ["soft_limits"] = { ["preemptible"] = false },'
    slurm.do(f"sed -i 's/^return {{$/return {{\\n{entry}/' {SLURM}/adminkit/policy.lua")
    run = slurm.start(SOFT)
    assert run.result == "exit-code" and "release: slurmctld is 22.05" in run.said, run.said
    assert slurm.do(f"ls {SLURM}/adminkit/soft_lease", code=None) == ""


def test_roots_unit_looks_at_elastic_jobs_and_leaves_nothing_of_roots_beside_the_trace(slurm: Host) -> None:
    slurm.configure('[sync]\nsince = "1d"\n')
    assert slurm.start("adminkit-sync.service").result == "success"
    run = slurm.start(ELASTIC)
    assert run.result == "success" and "nothing was to be done" in run.said, run.said
    assert "there is no trace" not in run.said, run.said
    assert slurm.do("find /var/lib/adminkit -user root") == ""
