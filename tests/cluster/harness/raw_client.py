"""spellings.c as a user's client: jobs and updates that no client of Slurm's would ask for."""

from __future__ import annotations

import pwd
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.harness.machine import PREFIX
from tests.cluster.harness.ruled import Ruled
from tests.cluster.harness.spelling import Given

_UNITS = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2}


def built(ruled: Ruled) -> Path:
    """The program, built for this Slurm once."""
    made, source = ruled.cluster.work / "spellings", str(Path(__file__).with_name("spellings.c"))
    if made.exists():
        return made
    library = next(Path(PREFIX, "lib").rglob("libslurmfull.so")).parent
    command = ["cc", "-o", str(made), source, f"-I{PREFIX}/include", f"-L{library}", "-lslurmfull"]
    subprocess.run([*command, f"-Wl,-rpath,{library}"], check=True, capture_output=True)
    return made


def _mib(word: str) -> float:
    """Slurm's 900M, 62.50G."""
    return float(word[:-1]) * _UNITS[word[-1]] if word[-1] in _UNITS else float(word)


class Client:
    """The raw client of spellings.c, as one user."""

    def __init__(self, ruled: Ruled, program: Path, user: str) -> None:
        who = pwd.getpwnam(user)
        self.user = user
        self._process = subprocess.Popen(
            [program], env=ruled.cluster.env(), cwd="/tmp", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL, user=who.pw_uid, group=who.pw_gid, extra_groups=[],
        )  # fmt: skip

    def ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().rstrip("\n")
        assert answer, f"the client ended: {line!r}"
        return answer

    def allocate(self, fields: Mapping[str, str], at_once: bool = True) -> tuple[int | None, str]:
        return self._job(("alloc " if at_once else "queue ") + "\t".join(f"{k}={v}" for k, v in fields.items()))

    def _job(self, line: str) -> tuple[int | None, str]:
        answer = self.ask(line)
        return (int(answer[4:]), "") if answer.startswith("job ") else (None, answer)

    def given(self, job: int) -> tuple[int, Given | None]:
        """The job's state, and what it was given where it started."""
        state, queue, qos, minutes, nodes, points, tres, licences = self.ask(f"show {job}").split("\t")
        found = dict(word.split("=") for word in tres.split(",") if word)
        if not found or int(nodes) < 1:
            return int(state), None
        return int(state), Given(
            queue, qos, int(minutes), int(found.get("node", nodes)), int(found["cpu"]),
            int(found.get("gres/gpu", 0)), int(points), _mib(found.get("mem", "0")), licences,
        )  # fmt: skip

    def submit(self, fields: Mapping[str, str]) -> tuple[int | None, str]:
        """A batch job, which may be requeued."""
        return self._job("batch " + "\t".join(f"{k}={v}" for k, v in fields.items()))

    def update(self, job: int, fields: Mapping[str, str]) -> bool:
        return self.ask(f"update {job}\t" + "\t".join(f"{k}={v}" for k, v in fields.items())).startswith("job ")

    def requeue(self, job: int) -> bool:
        """To its queue again, where it is held."""
        return self.ask(f"requeue {job}").startswith("job ")

    def end(self, job: int) -> None:
        self.ask(f"kill {job}")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)
