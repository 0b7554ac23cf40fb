"""doctor on the checkpoint plugin: files and programs are fakes, their words Slurm's."""

from __future__ import annotations

import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adminkit.doctor import ckpt, step_cgroups
from adminkit.doctor.check import Check
from adminkit.errors import AdminkitError
from adminkit.slurm import plugstack
from tests.support.fakes import Programs
from tests.support.others import gives_files_away

HOST = socket.gethostname().partition(".")[0]


def build(path: Path, version: str | None = "0x160508") -> Path:
    """A shared object with Slurm's symbol, as SPANK_PLUGIN makes it."""
    code = 'const char plugin_type[] = "spank";\n'
    if version:
        code += f"const unsigned int plugin_version = {version};\n"
    command = ["/usr/bin/cc", "-x", "c", "-shared", "-fPIC", "-o", path, "-"]
    subprocess.run(command, input=code.encode(), env={"PATH": "/usr/bin:/bin"}, check=True)
    path.chmod(0o755)
    return path


class Site:
    """A cluster whose answers can be changed; its files are in `folder`."""

    def __init__(self, folder: Path, programs: Programs) -> None:
        self.folder, self.programs = folder, programs
        self.conf = folder / "plugstack.conf"
        self.plugins = folder / "plugins"
        self.plugins.mkdir()
        self.nodes = f"n1 {HOST} 22.05.8\n"
        self.settings("proctrack/linuxproc")
        programs.add("sacct", "echo slurm-wlm 22.05.8")

    def settings(
        self, proctrack: str, cgroup: str = "(null)", conf: str | None = None, version: str = "22.05.8"
    ) -> None:
        (self.folder / "config").write_text(
            f"PlugStackConfig         = {self.conf if conf is None else conf}\n"
            f"PluginDir               = {self.folder}/none:{self.plugins}\n"
            f"ProctrackType           = {proctrack}\n"
            f"SLURM_VERSION           = {version}\n\nCgroup Support Configuration:\n"
            f"CgroupPlugin            = {cgroup}\n"
        )
        self.programs.add("scontrol", f"cat {self.folder}/config")

    def look(self, code: int = 85) -> dict[str, Check]:
        (self.folder / "nodes").write_text(self.nodes)
        self.programs.add("sinfo", f"cat {self.folder}/nodes")
        return {line.name: line for line in ckpt.checkpoints(code)}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A plugin in good order."""
    found = Site(tmp_path, Programs(tmp_path / "bin", monkeypatch))
    build(found.plugins / "adminkit_ckpt.so")
    found.conf.write_text("# ours\noptional adminkit_ckpt.so default=off\n")
    return found


@gives_files_away
def test_in_good_order_it_says_what_it_saw(site: Site) -> None:
    found = site.look()
    assert {line.status for line in found.values()} == {"ok"}
    assert found["ckpt"].found == f"optional in {site.conf}:2"
    assert found["ckpt file"].found == f"{site.plugins}/adminkit_ckpt.so, built for Slurm 22.05.8"
    assert found["ckpt nodes"].found == "this host is n1"
    assert found["ckpt steps"].found.startswith("proctrack/linuxproc")


@pytest.mark.parametrize(
    ("text", "status", "says", "why"),
    [
        ("", "ok", "not in use", "no line"),
        ("# optional adminkit_ckpt.so\n", "ok", "not in use", "a comment"),
        ("optional other.so\n", "ok", "not in use", "somebody else's"),
        ("required adminkit_ckpt.so\n", "warn", "required in", "drains nodes"),
        ("optional adminkit_ckpt.so\noptional adminkit_ckpt.so\n", "warn", "in several lines", "loaded twice"),
        ("include parts/*.conf\n", "ok", "optional in", "in a file beside it"),
        ("include /nowhere/*.conf\n", "ok", "not in use", "a pattern without a file"),
        ("include plugstack.conf\n", "ok", "not in use", "one that includes itself ends"),
    ],
)
def test_the_line_in_plugstack_conf(site: Site, text: str, status: str, says: str, why: str) -> None:
    (site.folder / "parts").mkdir()
    (site.folder / "parts" / "a.conf").write_text("optional\tadminkit_ckpt.so\n")
    site.conf.write_text(text)
    line = site.look()["ckpt"]
    assert line.status == status, why
    assert says in line.found, why
    assert bool(line.hint) == (status == "warn"), "a hint where something is to be done"


@pytest.mark.parametrize(
    ("arguments", "code", "status", "says", "why"),
    [
        ("", 85, "ok", "exit code 85 means that there is more to do", "both have the default"),
        ("code=3 default=off", 3, "ok", "3 means", "both say so"),
        ("code=3 code=4", 4, "ok", "4 means", "the plugin takes the last"),
        ("code=128", 85, "ok", "85 means", "the plugin takes no such code and keeps its own"),
        ("code=3", 85, "warn", "requeues jobs that exit with 3", "letters would take such a run for a failed one"),
        ("", 9, "warn", "requeues jobs that exit with 85", "the settings alone were changed"),
    ],
)
def test_the_plugin_and_the_settings_name_one_exit_code(
    site: Site, arguments: str, code: int, status: str, says: str, why: str
) -> None:
    site.conf.write_text(f"optional adminkit_ckpt.so {arguments}\n")
    line = site.look(code)["ckpt code"]
    assert (line.status, says in line.found) == (status, True), why
    assert (f"code={code}" in line.hint) == (status == "warn"), "a hint where the two differ"


def test_without_a_file_of_that_name_it_is_not_in_use(site: Site) -> None:
    site.conf.unlink()
    assert [line.status for line in site.look().values()] == ["ok"]
    site.settings("proctrack/cgroup", conf="(null)")
    assert "names no PlugStackConfig" in site.look()["ckpt"].found


@pytest.mark.parametrize(
    ("version", "status", "says"),
    [
        ("0x160508", "ok", "built for Slurm 22.05.8"),
        ("0x160502", "ok", "built for Slurm 22.05.2"),  # the micro release does not matter
        ("0x170205", "missing", "built for Slurm 23.02.5, this is 22.05.8"),
        ("0x1a0505", "missing", "built for Slurm 26.05.5, this is 22.05.8"),
        (None, "missing", "is not a Slurm plugin: it has no plugin_version"),
    ],
)
@gives_files_away
def test_the_release_it_was_built_for(site: Site, version: str | None, status: str, says: str) -> None:
    build(site.plugins / "adminkit_ckpt.so", version)
    line = site.look()["ckpt file"]
    assert (line.status, says in line.found) == (status, True)
    assert ("make -C spank install" in line.hint) == (status == "missing")


def test_a_file_that_is_none_or_not_there(site: Site) -> None:
    plugin = site.plugins / "adminkit_ckpt.so"
    plugin.write_text("text")
    assert "not a 64-bit ELF file" in site.look()["ckpt file"].found
    plugin.unlink()
    line = site.look()["ckpt file"]
    assert (line.status, line.found) == (
        "missing",
        f"couldn't read {site.folder}/none/adminkit_ckpt.so: no such file or directory",
    )


def test_who_may_write_it_is_root(site: Site) -> None:
    (site.plugins / "adminkit_ckpt.so").chmod(0o775)
    line = site.look()["ckpt file"]
    assert line.status == "warn" and "chmod 0755" in line.hint


@pytest.mark.parametrize(
    ("nodes", "status", "says"),
    [
        (f"n1 {HOST} 22.05.8\nn1 {HOST} 22.05.8\n", "ok", "this host is n1"),
        (
            f"n1 {HOST} 22.05.8\nn2 far 22.05.3\nn3 off N/A\n",
            "ok",
            "not checked, with the same release: 2 nodes (n2, n3)",
        ),
        ("n2 far 22.05.8\n", "ok", "this host is no node; not checked"),
        (f"n1 {HOST} 22.05.8\nn2 far 23.11.4\nn3 far 22.05.8\n", "warn", "1 node of another release: n2 23.11.4"),
        ("", "ok", "this host is no node"),
    ],
)
def test_the_nodes(site: Site, nodes: str, status: str, says: str) -> None:
    site.nodes = nodes
    line = site.look()["ckpt nodes"]
    assert line.status == status
    assert says in line.found


V1, V2, NEITHER = step_cgroups.Seen(1), step_cgroups.Seen(2), step_cgroups.Seen(None)


@pytest.mark.parametrize(
    ("proctrack", "cgroup", "seen", "status", "says"),
    [
        ("proctrack/linuxproc", "(null)", NEITHER, "ok", "by their parents"),
        ("proctrack/cgroup", "cgroup/v1", V1, "ok", "version 1 is mounted here; no job runs here, so the names"),
        ("proctrack/cgroup", "(null)", V2, "ok", "CgroupPlugin unknown; version 2 is mounted here"),
        ("proctrack/cgroup", "cgroup/v2", step_cgroups.Seen(2, ("job_7",)), "ok", "1 job by job_N: processes without"),
        (
            "proctrack/cgroup",
            "cgroup/v2",
            step_cgroups.Seen(2, ("job_7", "sAJZT2QSC2MT00")),
            "ok",
            "2 jobs by job_N and SLUID: processes without a parent are found too",
        ),
        (
            "proctrack/cgroup",
            "cgroup/v2",
            step_cgroups.Seen(2, ("job_7", "tAJZT2QSC2MT00")),
            "warn",
            "whose names the plugin does not know: tAJZT2QSC2MT00",
        ),
        ("proctrack/cgroup", "disabled", V2, "warn", "disabled"),
        ("proctrack/cgroup", "autodetect", NEITHER, "warn", "not mounted cgroup v2 or the freezer of v1"),
        ("proctrack/cgroup", "cgroup/v2", NEITHER, "warn", "not mounted cgroup v2"),
        ("proctrack/cgroup", "cgroup/v2", None, "ok", "cannot be read"),
        ("proctrack/pgid", "(null)", V2, "warn", "proctrack/pgid"),
        ("(null)", "(null)", V2, "warn", "unknown"),
    ],
)
def test_how_processes_are_found(
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    proctrack: str,
    cgroup: str,
    seen: step_cgroups.Seen | None,
    status: str,
    says: str,
) -> None:
    monkeypatch.setattr(step_cgroups, "look", lambda plugin: seen)
    site.settings(proctrack, cgroup)
    line = site.look()["ckpt steps"]
    assert (line.status, says in line.found, bool(line.hint)) == (status, True, status == "warn"), line


@pytest.mark.parametrize(
    ("version", "status", "says"),
    [
        ("22.05.8", "ok", "a restart costs 121 s here, by AuthInfo=cred_expire; Slurm 25.11 and later"),
        ("25.11.7", "warn", "a restart costs 121 s here, by AuthInfo=cred_expire"),
    ],
)
def test_what_a_restart_costs(site: Site, version: str, status: str, says: str) -> None:
    site.settings("proctrack/linuxproc", version=version)
    line = site.look()["ckpt restart"]
    assert (line.status, "requeue_delay=5" in line.hint) == (status, status == "warn"), line
    assert line.found.startswith(says)


def test_a_plugstack_conf_that_may_not_be_read_is_said(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*args: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", denied)
    with pytest.raises(AdminkitError, match=r"couldn't read .*plugstack.conf: permission denied"):
        list(plugstack.plugin_lines(site.conf, "adminkit_ckpt.so", ()))


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return build(tmp_path_factory.mktemp("elf") / "a.so").read_bytes()


@settings(deadline=None)
@given(cut=st.floats(0, 1), changed=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=9))
def test_a_damaged_file_is_said_to_be_one(whole: bytes, cut: float, changed: list[tuple[int, int]]) -> None:
    data = bytearray(whole[: int(len(whole) * cut)])
    for place, value in changed:
        if data:
            data[place % len(data)] = value
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        try:
            assert len(plugstack.built_for(Path(file.name))) == 3
        except AdminkitError as error:
            assert "is not a Slurm plugin" in error.message
