"""Letters through the host's sendmail program, whose exit code says whether it accepted one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from adminkit.errors import cause
from adminkit.feedback.transport.base import MOST_LOST, Later, Refused, Stopped

#: sysexits.h: the text is refused, no such user, no such host, cannot be created.
_REFUSED: Final = (65, 67, 68)
#: Usage, software, missing files, configuration: not because of this letter.
_STOPPED: Final = (64, 69, 70, 71, 72, 73, 77, 78, 126, 127)
#: This letter may go later: a full mailbox, a server that does not answer.
_LATER: Final = 75


class Sendmail:
    """One process per letter."""

    def __init__(self, program: Path, timeout: float) -> None:
        self.program = program
        self.timeout = timeout
        self.lost = 0  # calls in a row that hung, or failed as no sendmail should

    def __enter__(self) -> Sendmail:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def send(self, sender: str, recipients: Sequence[str], message: bytes, key: str) -> str:
        """-i: a line of one dot does not end the text. --: no address is read as an option."""
        command = [str(self.program), "-i", "-f", sender, "--", *recipients]
        text = message.replace(b"\r\n", b"\n")
        try:
            done = subprocess.run(
                command, input=text, capture_output=True, timeout=self.timeout, env=_environment(), check=False
            )
        except subprocess.TimeoutExpired as error:
            why = f"{self.program} took longer than {self.timeout:g} s; the letter may arrive twice"
            raise self._failed(why) from error
        except OSError as error:
            raise Stopped(f"couldn't run {self.program}: {cause(error)}") from error
        output = " ".join(done.stderr.decode("utf-8", "replace").split())[:300]
        words = f"{self.program.name} failed with {done.returncode}: {output}"
        if done.returncode in _STOPPED:
            raise Stopped(words)
        if done.returncode not in (0, _LATER, *_REFUSED):
            raise self._failed(words)
        self.lost = 0
        if done.returncode == 0:
            return output or "accepted"
        raise (Later if done.returncode == _LATER else Refused)(words)

    def _failed(self, why: str) -> Later | Stopped:
        """Blame this letter for one failure, the transport for several in a row."""
        self.lost += 1
        return (Stopped if self.lost >= MOST_LOST else Later)(why)


def _environment() -> dict[str, str]:
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": os.environ.get("HOME", "/")}
