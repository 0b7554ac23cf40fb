"""The role on a site of containers: installed, done twice, used, upgraded, removed. Its tests follow on one another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ansible.ground import HOSTS, PASSWORD, ROW, Ground, debs
from tests.cluster.compose.host import Site
from tests.cluster.compose.look import plugin
from tests.cluster.harness.processes import ClusterError
from tests.matrix import engine
from tests.packages.rebuilt import higher

pytestmark = pytest.mark.soak

SETTINGS = "/etc/adminkit/adminkit.toml"
TRACE = "/var/lib/adminkit/trace.db"
LONG = ("sbatch", "--test-only", "-p", "gq-short", "--gres=gpu:1", "-t", "9:00:00", "--wrap", "true")


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    site = Site(ROW, f"adminkit-ansible-{ROW.name}")
    try:
        debs()
        site.up(lively=False)
        here = Ground(site, tmp_path_factory.mktemp("ansible"))
        here.prepare()
        yield here
    except (engine.NotRun, ClusterError) as why:
        pytest.skip(f"not run: {why}")
    finally:
        site.down()


def answer(ground: Ground) -> str:
    """What a user reads who asks for more than gq-short gives."""
    return ground.site.run(*LONG, user="aiko").err.decode()


def test_check_mode_on_bare_hosts_changes_nothing(ground: Ground) -> None:
    before = ground.state()
    play = ground.play("--check", "--diff")
    assert (play.code, play.failed) == (0, set()), play.text[-3000:]
    assert ground.state() == before
    assert "may ask for" not in answer(ground), "no rule is in force yet"


def test_a_site_is_installed_and_doctor_says_what_it_finds(ground: Ground) -> None:
    play = ground.play("-vvv")
    assert (play.code, play.failed) == (0, set()), play.text[-3000:]
    assert set(play.changed) == set(HOSTS) and all(play.changed.values())
    assert "warn: database: none yet" in play.text
    assert PASSWORD not in play.text
    login = ground.site.shell("slurmctld", "stat -c '%a %U' /etc/adminkit/smtp-login; cat /etc/adminkit/smtp-login")
    assert login.split() == ["600", "adminkit", "news", PASSWORD]


def test_a_second_run_changes_nothing(ground: Ground) -> None:
    before = ground.state()
    for words in ((), ("--check",)):
        play = ground.play(*words)
        assert (play.code, play.changed) == (0, dict.fromkeys(HOSTS, 0)), play.text[-3000:]
        assert ground.state() == before, words


def test_only_the_timers_that_are_wanted_are_on(ground: Ground) -> None:
    listed = "systemctl list-unit-files --no-legend --state=enabled 'adminkit-*' | cut -d' ' -f1"
    assert ground.site.shell("slurmctld", listed) == "adminkit-sync.timer"
    play = ground.play("--limit", "slurmctld", adminkit_units=["adminkit-metrics.timer"])
    assert play.code == 0, play.text[-3000:]
    assert ground.site.shell("slurmctld", listed) == "adminkit-metrics.timer"
    assert ground.play("--limit", "slurmctld").code == 0
    assert ground.site.shell("slurmctld", listed) == "adminkit-sync.timer"


def test_a_submission_is_judged_by_the_rules(ground: Ground) -> None:
    assert "may ask for at most 03:00:00" in answer(ground)


def test_a_job_hears_the_signal_of_the_plugin(ground: Ground) -> None:
    assert "poll=5" in ground.site.shell("n1", "cat /etc/slurm/plugstack.conf.d/adminkit.conf")
    assert "adminkit:" in plugin(ground.site)


def test_the_operator_syncs_and_a_reader_reads(ground: Ground) -> None:
    done = ground.site.run("adminkit", "sync", user="adminkit", part="slurmctld", seconds=300)
    assert done.code == 0, done.err
    assert "adminkit" in ground.site.shell("slurmctld", "id -nG aiko").split()
    done = ground.site.run("adminkit", "trace", "status", user="aiko", part="slurmctld")
    assert done.code == 0, done.err


def test_settings_that_do_not_exist_never_get_into_place(ground: Ground) -> None:
    before = ground.site.shell("slurmctld", f"cat {SETTINGS}")
    wrong = ground.folder / "wrong.toml"
    wrong.write_text("[sync]\njobz = 2\n")
    play = ground.play("--limit", "slurmctld", adminkit_settings=str(wrong))
    assert play.failed == {"slurmctld"}
    assert ground.site.shell("slurmctld", f"cat {SETTINGS}") == before


def test_variables_that_do_not_fit_are_refused_before_anything_is_done(ground: Ground) -> None:
    before = ground.state()
    play = ground.play(adminkit_rules="perhaps")
    assert play.failed == set(HOSTS) and "value of adminkit_rules must be one of" in play.text
    assert ground.state() == before


def test_changed_rules_are_previewed_until_they_are_wanted(ground: Ground) -> None:
    policy = Path(ground.variables["adminkit_policy"])
    text = policy.read_text()
    policy.write_text(text.replace('max_limit = "03:00:00"', 'max_limit = "02:00:00"'))
    play = ground.play("--limit", "slurmctld", adminkit_rules="preview")
    assert play.code == 0 and "max_limit 02:00:00" in play.text, play.text[-3000:]
    assert "may ask for at most 03:00:00" in answer(ground)
    play = ground.play("--limit", "slurmctld")
    assert play.code == 0 and play.changed["slurmctld"] == 1, play.text[-3000:]
    assert "may ask for at most 02:00:00" in answer(ground)
    ground.site.shell("slurmctld", "adminkit policy rollback --apply")
    assert "may ask for at most 03:00:00" in answer(ground), "the way back"


def test_an_upgrade_keeps_settings_and_trace(ground: Ground) -> None:
    kept = f"sha256sum {SETTINGS}; stat -c '%i %U %a' {TRACE}"
    before = ground.site.shell("slurmctld", kept)
    for name in ("adminkit_package", "adminkit_plugin_package"):
        ground.variables[name] = str(higher(Path(ground.variables[name]), ground.folder))
    play = ground.play()
    assert play.code == 0, play.text[-3000:]
    for part, package in (("slurmctld", "adminkit"), ("n1", "slurm-spank-adminkit")):
        assert ground.site.shell(part, f"dpkg-query -W -f '${{Version}}' {package}").startswith("99.")
        assert ground.site.shell(part, "ls /var/cache/adminkit-packages").split()[0].endswith("-99.deb")
    assert ground.site.shell("slurmctld", kept) == before
    assert "poll=5" in ground.site.shell("n1", "cat /etc/slurm/plugstack.conf.d/adminkit.conf")
    assert set(ground.play().changed.values()) == {0}
    assert "adminkit:" in plugin(ground.site)


def test_a_removal_leaves_settings_trace_and_rules(ground: Ground) -> None:
    play = ground.play("--check", "--limit", "slurmctld", adminkit_state="absent")
    assert play.code == 0 and "adminkit" in ground.site.shell("slurmctld", "adminkit --version")
    play = ground.play(adminkit_state="absent")
    assert play.code == 0 and "The rules stay in /etc/slurm" in play.text, play.text[-3000:]
    for part in HOSTS:
        assert ground.site.run("test", "-e", "/usr/bin/adminkit", part=part).code == 1
        assert ground.site.run("test", "-e", "/var/cache/adminkit-packages", part=part).code == 1
    assert ground.site.shell("slurmctld", f"ls {SETTINGS} {TRACE}").split() == [SETTINGS, TRACE]
    assert "may ask for" in answer(ground), "slurmctld needs nothing of the package"
    job = ground.site.run("srun", "-p", "gq", "--gres=gpu:1", "-t", "5", "hostname", user="aiko", seconds=120)
    assert job.code == 0, job.err
    assert set(ground.play(adminkit_state="absent").changed.values()) == {0}
