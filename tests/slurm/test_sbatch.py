"""Programs as jobs of Slurm: each word arrives as it is, arrays wait for each other, refusals are said."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.slurm.sbatch import Batch, script, submit
from tests.support.fakes import Programs


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    return Programs(tmp_path / "bin", monkeypatch)


def batch(tmp_path: Path, *words: str, tasks: int | None = None, after: str | None = None) -> Batch:
    return Batch("it", words or ("true",), tmp_path, tmp_path / "logs", tasks, after, ("--partition=a b",))


def test_an_array_waits_for_the_one_before(programs: Programs, tmp_path: Path) -> None:
    programs.add("sbatch", f"""printf '%s\\n' "$@" > {shlex.quote(str(tmp_path))}/words; echo '12;c'""")
    assert submit(batch(tmp_path, tasks=4, after="11")) == "12"
    assert (tmp_path / "words").read_text().splitlines() == [
        "--parsable", "--partition=a b", "--job-name=it", f"--chdir={tmp_path}",
        f"--output={tmp_path}/logs/slurm-%A_%a.out", "--array=0-3", "--dependency=afterok:11",
        "--kill-on-invalid-dep=yes",
    ]  # fmt: skip
    submit(batch(tmp_path))
    words = (tmp_path / "words").read_text().splitlines()
    assert words[-1] == f"--output={tmp_path}/logs/slurm-%j.out"


@pytest.mark.parametrize("word", ["a b", "$(touch bad)", "'; touch bad; '", "--x=\n#SBATCH --wrap=no", "`id`", "", "ä"])
def test_a_word_arrives_as_it_is(word: str, programs: Programs, tmp_path: Path) -> None:
    """sbatch keeps its input; here a shell runs it at once."""
    programs.add("sbatch", f"cat > {shlex.quote(str(tmp_path))}/script; echo 1")
    submit(batch(tmp_path, "/usr/bin/printf", "<%s>", word))
    ran = subprocess.run(["/bin/sh", tmp_path / "script"], cwd=tmp_path, stdout=subprocess.PIPE, check=True)
    assert ran.stdout.decode() == f"<{word}>"
    assert not (tmp_path / "bad").exists()


def test_the_job_has_the_time_zone_and_the_language_of_who_submits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trap: sbatch itself runs in UTC and in C, and a job would inherit these."""
    monkeypatch.setenv("TZ", "Asia/Tokyo'; id")
    monkeypatch.delenv("LC_ALL", raising=False)
    lines = script(["true"]).splitlines()
    assert lines[0] == "#!/bin/sh"
    assert shlex.split(lines[1]) == ["export", "TZ=Asia/Tokyo'; id"]
    assert lines[2:] == ["unset LC_ALL", "exec true"]


def test_what_slurm_refuses_is_said_in_its_words(programs: Programs, tmp_path: Path) -> None:
    programs.add("sbatch", "echo 'sbatch: error: invalid partition specified: nowhere' >&2; exit 1")
    with pytest.raises(AdminkitError, match="Slurm refuses the job it: invalid partition specified: nowhere") as caught:
        submit(batch(tmp_path))
    assert "--sbatch=--partition=short" in caught.value.hint


def test_an_answer_without_an_id_is_an_error(programs: Programs, tmp_path: Path) -> None:
    programs.add("sbatch", "echo submitted")
    with pytest.raises(AdminkitError, match="couldn't read the job's id"):
        submit(batch(tmp_path))
