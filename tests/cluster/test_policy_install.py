"""install, rollback and status against a running slurmctld: what is in force, and what is said of it."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import stat
import subprocess
import threading
import time
from pathlib import Path

import pytest

from adminkit.doctor import rules
from adminkit.slurm.reload import touch
from tests.cluster.harness.machine import release
from tests.cluster.harness.ruled import ADMINKIT, HEAD, Ruled, at_most


def acts(ruled: Ruled) -> list[dict[str, object]]:
    return [json.loads(line) for line in ruled.acts.read_text().splitlines()]


def test_a_preview_changes_nothing(ruled: Ruled) -> None:
    ruled.rules(at_most(5))
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in ruled.inner.iterdir()}
    known = len(acts(ruled))
    ruled.policy.write_text(HEAD + at_most(6))
    said = ruled.adminkit("policy", "install", "--policy", ruled.policy).stdout
    assert "nothing was written" in said
    assert re.search(r"policy: [0-9a-f]{12} becomes [0-9a-f]{12}", said)
    assert "rules.gq-max changed: max_limit 05:00:00 becomes max_limit 06:00:00" in said
    assert re.search(r"adminkit/policy.lua +changed", said)
    assert re.search(r"[0-9]+ files already there", said)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in ruled.inner.iterdir()} == before
    assert ruled.most() == 5
    assert len(acts(ruled)) == known


def test_install_rollback_and_status_say_what_is_in_force(ruled: Ruled) -> None:
    ruled.rules(at_most(5))
    first = generation(ruled)
    ruled.rules(at_most(6))
    second = generation(ruled)
    assert ruled.most() == 6
    said = ruled.adminkit("policy", "rollback").stdout
    assert (second in said, first in said, "nothing was written" in said) == (True, True, True)
    assert ruled.most() == 6
    ruled.adminkit("policy", "rollback", "--apply")
    ruled.text = ""
    assert (generation(ruled), ruled.most()) == (first, 5)
    ruled.adminkit("policy", "rollback", "--apply")
    assert (generation(ruled), ruled.most()) == (second, 6)
    last = acts(ruled)[-1]
    host = os.uname().nodename.partition(".")[0]
    assert (last["what"], last["generation"], last["before"]) == ("policy rollback", second, first)
    assert (last["who"], last["host"], last["hosts"]) == ("root", host, {host: "confirmed"})


def generation(ruled: Ruled) -> str:
    """The generation in force, where the one installed is the one in use."""
    rows = json.loads(ruled.adminkit("policy", "status", "--format", "json").stdout)["rows"]
    assert rows[0]["state"] == "in use"
    assert rows[0]["installed"] == rows[0]["running"]
    return str(rows[0]["installed"])


def test_the_files_are_for_slurmctld_alone(ruled: Ruled) -> None:
    (ruled.inner / "rules.lua").chmod(0o644)
    ruled.text = ""
    ruled.rules(at_most(5))
    assert stat.S_IMODE(ruled.inner.stat().st_mode) == 0o750
    for path in [ruled.folder / "job_submit.lua", *ruled.inner.iterdir()]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o640, path
    for path in (ruled.inner / "policy.lua", ruled.inner):
        assert ruled.cluster.run("cat", str(path), user="games").code != 0


def test_checksums_are_those_of_sha256sum(ruled: Ruled) -> None:
    ruled.rules(at_most(5))
    command = ["sha256sum", "-c", "--quiet", "--strict", "adminkit/SHA256SUMS"]
    assert subprocess.run(command, cwd=ruled.folder, check=False).returncode == 0
    listed = (ruled.inner / "SHA256SUMS").read_text()
    assert {"job_submit.lua", "adminkit/policy.lua", "adminkit/decide.lua"} <= set(re.findall(r"  (\S+)", listed))


def test_a_change_by_hand_is_said_and_put_right(ruled: Ruled) -> None:
    ruled.rules(at_most(5))
    path = ruled.inner / "policy.lua"
    path.write_text(path.read_text().replace("18000", "18060"))
    said = ruled.adminkit("policy", "status", code=1).stdout
    assert "changed by hand since they were installed: adminkit/policy.lua" in said
    doctor = ruled.adminkit("doctor", "--db", ruled.cluster.folder / "none.db", code=None).stdout
    assert re.search(r"warn +rules .*changed by hand: adminkit/policy.lua", doctor), doctor
    ruled.text = ""
    ruled.rules(at_most(4))
    ruled.adminkit("policy", "status")


def test_what_is_installed_but_not_loaded_is_an_error_of_doctor(ruled: Ruled) -> None:
    """Files that were copied there by hand, without a word to slurmctld."""
    ruled.rules(at_most(5))
    path = ruled.inner / "policy.lua"
    old = path.read_text()
    path.write_text(re.sub(r'(generation"\] = ")\w+', r"\1aaaabbbbcccc", old))
    try:
        assert "not in use" in ruled.adminkit("policy", "status", code=1).stdout
        doctor = ruled.adminkit("doctor", "--db", ruled.cluster.folder / "none.db", code=1).stdout
        assert re.search(r"missing +rules .*slurmctld uses policy \w{12}, but aaaabbbbcccc is installed", doctor), (
            doctor
        )
    finally:
        path.write_text(old)
    ruled.adminkit("policy", "status")


def test_doctor_says_when_slurmdbd_would_not_keep_the_record(ruled: Ruled) -> None:
    ruled.rules('version = 1\nrecord = "comment"\n')
    doctor = ruled.adminkit("doctor", "--db", ruled.cluster.folder / "none.db", code=1).stdout
    assert re.search(r"missing +record +in comment, which slurmdbd does not store", doctor), doctor
    assert "add job_comment to AccountingStoreFlags" in doctor
    ruled.rules('version = 1\nrecord = "extra"\n')
    doctor = ruled.adminkit("doctor", "--db", ruled.cluster.folder / "none.db", code=1).stdout
    lacks = release() < rules.STORES["extra"][1]
    why = "this release of Slurm has no field extra" if lacks else "in extra, which slurmdbd does not store"
    assert re.search(rf"missing +record +{why}", doctor), doctor


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[rules]]\nname = 'x'\nqueues = ['gq-shrot']\nmax_limit = '01:00:00'\n", "gq-short"),
        ("[[rules]]\nname = 'x'\nqueues = ['gq']\nmax_limit = 60\n", "max_limit"),
        ("[exempt]\nusrs = ['games']\n", "users"),
        ("rules = 5\n", "rules"),
    ],
)
def test_a_policy_with_a_slip_changes_nothing(ruled: Ruled, text: str, says: str) -> None:
    ruled.rules(at_most(5))
    ruled.policy.write_text(HEAD + text)
    failed = ruled.adminkit("policy", "install", "--apply", "--policy", ruled.policy, code=1)
    assert says in failed.stderr
    assert ruled.most() == 5


def test_an_act_that_cannot_be_recorded_is_not_done(ruled: Ruled) -> None:
    ruled.rules(at_most(5))
    ruled.policy.write_text(HEAD + at_most(6))
    env = {"ADMINKIT_ACTS": "/proc/nosuch/acts.jsonl"}
    failed = ruled.adminkit("policy", "install", "--apply", "--policy", ruled.policy, code=1, env=env)
    assert "couldn't record actions" in failed.stderr
    assert ruled.most() == 5


SITE = """
function slurm_job_submit(job_desc, part_list, submit_uid)
    if job_desc.name == "no" then
        slurm.log_user("the site says no")
        return slurm.ERROR
    end
    job_desc.admin_comment = "grant 42, see ticket"
    return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end
"""


def test_a_site_with_a_script_of_its_own_adds_two_lines(ruled: Ruled) -> None:
    ruled.rules(at_most(5))
    entry = ruled.folder / "job_submit.lua"
    ours = entry.read_bytes()
    loaded = int(entry.stat().st_mtime)  # installs within one second have led it into the future
    try:
        entry.write_text(SITE + "return slurm.SUCCESS\n")
        loaded = touch(entry, loaded)
        failed = ruled.adminkit("policy", "install", "--apply", "--policy", ruled.policy, code=1)
        assert "is the site's own and does not call adminkit" in failed.stderr
        lines = re.findall(r"add to job_submit.lua: (.*)", failed.stdout)
        assert len(lines) == 2
        assert entry.read_text() == SITE + "return slurm.SUCCESS\n", "it is never written over"
        assert ruled.sbatch("-p", "gq", "-t", "71:00:00").accepted
        doctor = ruled.adminkit("doctor", "--db", ruled.cluster.folder / "none.db", code=1).stdout
        assert re.search(r"missing +rules .*job_submit.lua does not call adminkit", doctor), doctor

        entry.write_text(SITE + "\n".join(lines) + "\nreturn slurm.SUCCESS\n")
        loaded = touch(entry, loaded)
        ruled.adminkit("policy", "install", "--apply", "--policy", ruled.policy)
        assert ruled.sbatch("-J", "no").lines[0] == "the site says no"
        assert ruled.most() == 5
        job = ruled.job(ruled.sbatch("-p", "gq", "-t", "60").job)
        assert job["AdminComment"] == "ak1:lim=3600,src=e grant 42, see ticket", "an existing text is kept"
        ruled.adminkit("policy", "status")

        (ruled.inner / "start.lua").rename(ruled.inner / "start.away")
        ruled.cluster.restart_ctld()
        assert ruled.alive(), "the two lines let slurmctld start without our files, too"
        assert ruled.sbatch("-J", "no").lines[0] == "the site says no"
        (ruled.inner / "start.away").rename(ruled.inner / "start.lua")
    finally:
        loaded = max(loaded, int(entry.stat().st_mtime))
        entry.write_bytes(ours)
        touch(entry, loaded)
    assert ruled.most() == 5


def test_built_files_go_where_they_are_carried(ruled: Ruled, tmp_path: Path) -> None:
    """--out on one host, --from on another; a site without either gets the list of files."""
    ruled.rules(at_most(5))
    ruled.policy.write_text(HEAD + at_most(7))
    out = tmp_path / "files"
    paths = ruled.adminkit("policy", "install", "--policy", ruled.policy, "--out", out).stdout.split()
    assert {str(path) for path in out.rglob("*") if path.is_file()} == set(paths)
    assert ruled.most() == 5
    ruled.adminkit("policy", "install", "--from", out, "--apply")
    ruled.text = ""
    assert ruled.most() == 7
    listed = ruled.adminkit("policy", "install", "--policy", ruled.policy, "--print-files").stdout.split()
    there = [ruled.folder / "job_submit.lua", *ruled.inner.glob("*.lua")]
    wanted = {str(path) for path in there if ".good." not in path.name and ".previous." not in path.name}
    assert set(listed) == wanted


def test_reload_under_load_loses_nothing_and_lets_nothing_through(ruled: Ruled) -> None:
    """Submissions from several users while rules change: each is decided by one of the two, whole."""
    ruled.rules(at_most(5))
    over, seen, wrong = threading.Event(), set[str](), list[str]()

    def submit(user: str) -> None:
        while not over.is_set():
            said = ruled.sbatch("--test-only", "-p", "gq", "-t", "71:00:00", user=user)
            found = re.match(r"Jobs in gq may ask for at most (0[56]):00:00", said.text)
            if said.accepted or not found:
                wrong.append(said.text)
            else:
                seen.add(found.group(1))

    threads = [threading.Thread(target=submit, args=(user,)) for user in ("games", "news", "backup")]
    for thread in threads:
        thread.start()
    try:
        for hours in (6, 5):
            ruled.rules(at_most(hours))
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert seen == {"05", "06"}


@pytest.mark.soak
def test_an_install_killed_at_any_moment_leaves_rules_in_force(ruled: Ruled) -> None:
    ruled.rules(at_most(5))
    pick, env = random.Random(7), {**ruled.cluster.env(), "ADMINKIT_CONFIG": "", "ADMINKIT_ACTS": str(ruled.acts)}
    for number in range(6):
        ruled.policy.write_text(HEAD + at_most(6 + number % 2))
        command = [ADMINKIT, "policy", "install", "--apply", "--policy", ruled.policy]
        process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(pick.uniform(0.4, 1.6))
        process.send_signal(signal.SIGKILL)
        process.wait()
        touch(ruled.folder / "job_submit.lua")
        assert ruled.most() in (5, 6, 7)
    ruled.text = ""
    ruled.rules(at_most(8))
    assert ruled.most() == 8
    ruled.adminkit("policy", "status")
