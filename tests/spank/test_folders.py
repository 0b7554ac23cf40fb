"""A new plugin is a new folder of spank/: the Makefile builds it, with exports of its own, and installs it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.setup.parts import slurm_headers

SPANK = Path(__file__).parents[2] / "spank"
LOADER = {"plugin_name", "plugin_type", "plugin_version", "spank_plugin_version"}  # what SPANK_PLUGIN() defines

pytestmark = pytest.mark.skipif(slurm_headers() is not None, reason="not run: no slurm/spank.h")

HELLO = {
    "hello.c": """
#include <slurm/spank.h>

#include "common/job_log.h"
#include "part.h"

SPANK_PLUGIN(adminkit_hello, 1)

int slurm_spank_init(spank_t spank, int argc, char **argv) {
    (void)spank, (void)argc, (void)argv;
    ak_job_log("hello from %s", hello_place());
    return 0;
}
""",
    "part.h": "const char *hello_place(void);\n",
    "part.c": '#include "part.h"\n\nconst char *hello_place(void) {\n    return "here";\n}\n',
    "exports.map": "{ global: plugin_*; spank_plugin_version; slurm_spank_init; local: *; };\n",
    "plugin.mk": "$(eval $(call plugin,hello,adminkit_hello))\n",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PluginDir after `make install` of a spank/ that has one folder more."""
    home = tmp_path_factory.mktemp("folders")
    shutil.copytree(SPANK, home / "spank")
    (home / "spank/hello").mkdir()
    for name, text in HELLO.items():
        (home / "spank/hello" / name).write_text(text)
    words = ["make", "-s", "-j2", "-C", home / "spank", "install", f"OUT={home}/out", f"DESTDIR={home}/root"]
    subprocess.run([*words, "PLUGINDIR=/lib", "CFLAGS=-O0"], check=True)
    return home / "root/lib"


def _symbols(plugin: Path, kind: str) -> set[str]:
    done = subprocess.run(["nm", "-D", f"--{kind}-only", plugin], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in done.stdout.splitlines()}


def test_every_plugin_is_installed_and_nothing_else(installed: Path) -> None:
    assert {path.name for path in installed.iterdir()} == {
        "adminkit-gpu-use",
        "adminkit-stage",
        "adminkit_ckpt.so",
        "adminkit_data.so",
        "adminkit_gpu_use.so",
        "adminkit_hello.so",
        "adminkit_io.so",
    }


@pytest.mark.parametrize(
    ("plugin", "callbacks"),
    [
        ("adminkit_hello.so", {"slurm_spank_init"}),
        ("adminkit_gpu_use.so", {"slurm_spank_task_post_fork", "slurm_spank_exit"}),
        ("adminkit_io.so", {"slurm_spank_task_post_fork", "slurm_spank_exit"}),
        (
            "adminkit_data.so",
            {f"slurm_spank_{name}" for name in ("init", "init_post_opt", "task_init", "exit", "job_epilog")},
        ),
        (
            "adminkit_ckpt.so",
            {
                f"slurm_spank_{name}"
                for name in ("init", "init_post_opt", "user_init", "task_init", "task_post_fork", "task_exit", "exit")
            },
        ),
    ],
)
def test_each_shows_slurm_its_own_callbacks_and_no_name_of_ours(
    installed: Path, plugin: str, callbacks: set[str]
) -> None:
    assert _symbols(installed / plugin, "defined") == LOADER | callbacks


def test_each_has_of_common_what_it_uses(installed: Path) -> None:
    """A plugin that calls nothing of slurmctld's needs no such symbol of the slurmstepd that loads it."""
    needed = {plugin.name: _symbols(plugin, "undefined") for plugin in installed.glob("*.so")}
    assert "slurm_spank_log" in needed["adminkit_hello.so"] & needed["adminkit_ckpt.so"]
    assert "slurm_update_job" in needed["adminkit_ckpt.so"]
    assert "slurm_hostlist_create" in needed["adminkit_gpu_use.so"] - needed["adminkit_ckpt.so"]
    assert "slurm_update_job" not in needed["adminkit_hello.so"]


def test_the_program_that_copies_needs_no_library_of_slurms_nor_of_openssls(installed: Path) -> None:
    """libcrypto is opened where it is: a node without it copies nothing, and its jobs run."""
    done = subprocess.run(["ldd", installed / "adminkit-stage"], capture_output=True, text=True, check=True)
    assert not [line for line in done.stdout.splitlines() if "slurm" in line or "crypto" in line]


def test_the_program_that_reads_gpus_needs_nothing_of_slurms(installed: Path) -> None:
    """And no library of NVIDIA's: it opens that where it is."""
    done = subprocess.run(["ldd", installed / "adminkit-gpu-use"], capture_output=True, text=True, check=True)
    assert not [line for line in done.stdout.splitlines() if "slurm" in line or "nvidia" in line]
