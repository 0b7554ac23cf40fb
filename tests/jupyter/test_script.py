"""The batch script and sbatch's words: nothing that is put in becomes another line, word or option."""

from __future__ import annotations

import subprocess

import pytest

from adminkit.jupyter.script import kernel_words, options, script

HOSTILE = ["a b", "a;b", "$(id)", "`id`", "a\nb", "'", '"', "-rf", "#SBATCH --uid=0", "\\", "*", "~root"]


@pytest.mark.parametrize("word", HOSTILE)
def test_a_word_stays_one_word(word: str) -> None:
    ran = subprocess.run(["bash"], input=script(["printf", "%s", word]), capture_output=True, text=True, check=True)
    assert ran.stdout == word


def test_the_first_line_after_the_shell_s_is_a_command() -> None:
    """sbatch looks for its options in the lines before the first command, so there are none that it could find."""
    for text in (script(["server", "a\n#SBATCH --uid=0"]), script(["server"], ["a\n#SBATCH --uid=0"])):
        shell, command, *_ = text.splitlines()
        assert shell == "#!/bin/bash -l"
        assert command.startswith(("exec ", "module load "))


def test_the_kernel_is_one_word() -> None:
    assert kernel_words(None) == []
    assert kernel_words("ir") == ["--MultiKernelManager.default_kernel_name=ir"]


def test_what_sbatch_is_told() -> None:
    assert options("/home/ada", "jupyterhub:ab", ["A", "B"], ["--gpus=1"]) == [
        "--job-name=jupyter",
        "--comment=jupyterhub:ab",
        "--chdir=/home/ada",
        "--output=/home/ada/.jupyterhub-%j.log",
        "--export=A,B",
        "--no-requeue",
        "--gpus=1",
    ]
    assert "--export=NONE" in options("/home/ada", "jupyterhub:ab", [], [])
