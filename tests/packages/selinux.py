"""The policy module of etc/selinux in Debian's policy: `make matrix MATRIX='--suite selinux'`.

pytest takes this file only by its name. The module is compiled, linked into the policy, and the policy is asked what
follows from it. No kernel enforces it here.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.packages.where import ROOT


def run(*words: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(list(map(str, words)), cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Debian's policy with the module in it."""
    folder = tmp_path_factory.mktemp("module")
    for path in (ROOT / "etc/selinux").iterdir():
        shutil.copy(path, folder)
    run("make", "-f", "/usr/share/selinux/devel/Makefile", "adminkit.pp", cwd=folder)
    run("semodule", "-n", "-s", "default", "-i", folder / "adminkit.pp", cwd=folder)
    (found,) = Path("/etc/selinux/default/policy").glob("policy.*")
    return found


def allowed(policy: Path, source: str, target: str, kind: str, *permissions: str) -> str:
    """The rules that allow it, whatever booleans say."""
    words = ["sesearch", "-A", "-s", source, "-t", target, "-c", kind, "-p", ",".join(permissions), policy]
    return run(*words).strip()


def test_a_service_gets_the_domain_although_it_may_gain_no_privileges(policy: Path) -> None:
    transition = run("sesearch", "-T", "-s", "init_t", "-t", "adminkit_exec_t", "-c", "process", policy)
    assert transition.strip() == "type_transition init_t adminkit_exec_t:process adminkit_t;"
    assert allowed(policy, "init_t", "adminkit_t", "process2", "nnp_transition")


def test_the_domain_is_unconfined_as_that_of_a_service_without_a_module(policy: Path) -> None:
    assert "adminkit_t" in run("seinfo", "-a", "unconfined_domain_type", "-x", policy).split()


def test_a_web_server_reaches_the_socket_and_no_other_socket_of_an_unconfined_service(policy: Path) -> None:
    assert allowed(policy, "httpd_t", "adminkit_t", "unix_stream_socket", "connectto")
    assert allowed(policy, "httpd_t", "adminkit_serve_runtime_t", "sock_file", "write")
    assert allowed(policy, "httpd_t", "adminkit_serve_runtime_t", "dir", "search")
    assert "initrc_t" not in allowed(policy, "httpd_t", "initrc_t", "unix_stream_socket", "connectto")


@pytest.mark.parametrize("target", ["adminkit_var_lib_t", "adminkit_log_t"])
def test_a_web_server_reads_neither_the_trace_nor_the_acts(policy: Path, target: str) -> None:
    assert allowed(policy, "httpd_t", target, "file", "read") == ""


def test_fewer_domains_read_the_trace_than_other_files_of_var_lib(policy: Path) -> None:
    trace, other = (
        {
            line.split()[1]
            for line in run("sesearch", "-A", "-t", target, "-c", "file", "-p", "read", policy).splitlines()
        }
        for target in ("adminkit_var_lib_t", "var_lib_t")
    )
    print(f"{len(trace)} names of domains may read the trace, {len(other)} what has no type of its own")
    assert trace < other


def test_the_files_of_adminkit_have_its_types_and_others_do_not(policy: Path) -> None:
    contexts = Path("/etc/selinux/default/contexts/files/file_contexts")
    for path, kind, expected in (
        ("/usr/lib/adminkit/bin/adminkit", "file", "adminkit_exec_t"),
        ("/usr/lib/adminkit/bin/adminkit-ingest", "file", "bin_t"),
        ("/var/lib/adminkit", "dir", "adminkit_var_lib_t"),
        ("/var/lib/adminkit/trace.db-wal", "file", "adminkit_var_lib_t"),
        ("/var/log/adminkit/acts.jsonl", "file", "adminkit_log_t"),
        ("/run/adminkit-serve/adminkit.sock", "socket", "adminkit_serve_runtime_t"),
        ("/var/lib/adminkit-own/1000.json", "file", "var_lib_t"),
    ):
        said = run("matchpathcon", "-f", contexts, "-n", "-m", kind, path)
        assert f":{expected}:" in said, (path, said)
