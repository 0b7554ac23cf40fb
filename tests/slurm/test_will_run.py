"""What sbatch --test-only says, and as whom it may be asked."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError, UsageError
from adminkit.slurm.process import SlurmTimeout, User, told
from adminkit.slurm.will_run import WillRun, parse, user_of, why_not, will_run
from tests.support.fakes import Programs

SEAL = "x0123456789abcdef"
LINE = f"sbatch: Job 5 to start at 1795433947{SEAL} using 1 processors on nodes n4 in partition gq\n"
ME = pwd.getpwuid(os.geteuid()).pw_name


@pytest.mark.parametrize(
    ("code", "text", "found", "why"),
    [
        (0, LINE, WillRun(1795433947, "", "n4"), "a start"),
        (0, f"sbatch: a hint of the site\n{LINE}", WillRun(1795433947, "", "n4"), "after other lines"),
        (0, LINE.replace(" using", " a using"), WillRun(1795433947, "", "n4"), "as 26.05 says it"),
        (0, LINE.replace(SEAL, ""), None, "without the seal it is anybody's line"),
        (1, "allocation failure: Requested node configuration is not available\n",
         WillRun(None, "Requested node configuration is not available"), "refused"),
        (1, "sbatch: error: use -p gq\nallocation failure: Unspecified error\n",
         WillRun(None, "use -p gq; Unspecified error"), "the site's own sentence"),
        (1, "sbatch: error: \x1b[31mred\n", WillRun(None, "\\x1b[31mred"), "no steering of the terminal"),
        (1, f"{LINE}allocation failure: no\n", WillRun(None, "no"), "it failed, whatever was printed"),
        (1, "sbatch: error: Unable to contact slurm controller (connect failure)\n", None, "slurmctld is away"),
        (1, "", None, "nothing"),
    ],
)  # fmt: skip
def test_what_it_says_is_the_sealed_line_or_a_refusal(code: int, text: str, found: WillRun | None, why: str) -> None:
    if found is None:
        with pytest.raises(AdminkitError):
            parse(code, text, SEAL)
    else:
        assert parse(code, text, SEAL) == found, why


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    return Programs(tmp_path / "bin", monkeypatch)


def test_it_is_asked_without_a_shell_and_with_a_seal(programs: Programs) -> None:
    at = 'echo "sbatch: Job 5 to start at 17${SLURM_TIME_FORMAT#%s} using 1 processors on nodes $#'
    programs.add("sbatch", f'{at} in partition gq" >&2')
    assert will_run(["--partition=$(id)"], user_of(None)) == WillRun(17, "", "3")


def test_variables_of_sbatch_do_not_change_the_question(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SBATCH_PARTITION", "other")
    programs.add("sbatch", "env")
    assert "SBATCH_" not in told(["sbatch"], user_of(None), 5.0, SEAL)[1]


def test_an_answer_has_an_end(programs: Programs) -> None:
    programs.add("sbatch", "yes")
    with pytest.raises(SlurmTimeout):
        told(["sbatch"], user_of(None), 20.0, SEAL)


def test_only_root_and_the_user_may_ask() -> None:
    other = User("nobody-else", 4_000_000, 4_000_000, (), "/")
    assert why_not(user_of(None)) == ""
    assert (why_not(other) == "") == (os.geteuid() == 0)
    assert user_of(ME).uid == os.geteuid()
    with pytest.raises(UsageError):
        user_of("no such user")
    with pytest.raises(UsageError):
        user_of("nul\0")
