"""Completion in real shells: the tab key is typed on a terminal, and what the shell writes is read."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adminkit.cli.main import main
from tools import completion

#: What a shell is started with and told first, so that it uses the file of its own, in {folder}.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source {folder}/adminkit"),
    "zsh": (["zsh", "-f", "-i"], "fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D"),
    "fish": (["fish", "--no-config", "-i"], "set -p fish_complete_path {folder}"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files, and a folder `bin` with the command, as on PATH once it is installed."""
    folder = tmp_path_factory.mktemp("completion")
    completion.write(folder)
    (folder / "bin").mkdir()
    program = folder / "bin" / "adminkit"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m adminkit.cli.main "$@"\n')
    program.chmod(0o755)
    return folder


class Terminal:
    """A shell on a terminal of its own."""

    def __init__(self, command: list[str], env: dict[str, str], cwd: Path) -> None:
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(command[0], command, env)

    def type(self, text: str) -> None:
        os.write(self.end, text.encode())

    def read(self, until: str, seconds: float = 30) -> str:
        """What is written up to `until`, or in so many seconds."""
        seen, deadline = "", time.monotonic() + seconds
        while until not in seen and time.monotonic() < deadline:
            if select.select([self.end], [], [], 0.2)[0]:
                seen += os.read(self.end, 4096).decode(errors="replace")
        return seen

    def close(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.end)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("typed", "word", "why"),
    [
        ("adminkit sync --time", "timeout", "an option"),
        ("adminkit policy try --site clu", "cluster-alpha.toml", "a file that describes a cluster"),
    ],
)
def test_a_tab_completes(folder: Path, tmp_path: Path, shell: str, typed: str, word: str, why: str) -> None:
    command, first = SHELLS[shell]
    (tmp_path / "cluster-alpha.toml").touch()
    if not shutil.which(command[0]):
        pytest.skip(f"not run: {shell} is not installed")
    path = f"{folder}/bin:/usr/bin:/bin"
    env = {"PATH": path, "HOME": str(tmp_path), "TERM": "dumb", "LC_ALL": "C.UTF-8", "PS1": "ready> "}
    terminal = Terminal(command, env | {"PYTHONPATH": os.pathsep.join(sys.path)}, tmp_path)
    try:
        terminal.type(first.format(folder=folder) + "; echo s''tarted\n")
        assert "started" in terminal.read("started")
        terminal.type(f"{typed}\t")
        rest = word[len(typed.rpartition(" ")[2].lstrip("-")) :]
        assert rest in terminal.read(rest).partition(typed)[2], why
    finally:
        terminal.close()


#: What each shell's script tells adminkit when somebody types {words}: typer's own names.
TOLD = {
    "bash": {"COMP_WORDS": "{words}", "COMP_CWORD": "{last}"},
    "zsh": {"_TYPER_COMPLETE_ARGS": "{words}"},
    "fish": {"_TYPER_COMPLETE_ARGS": "{words}", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}


@pytest.mark.parametrize("shell", TOLD)
@pytest.mark.parametrize(
    ("words", "expected", "why"),
    [
        ("adminkit tra", "trace", "a command"),
        ("adminkit policy rollb", "rollback", "a command of a group"),
        ("adminkit report restarts --by acc", "account", "the value of an option"),
        ("adminkit import --map phi", "philly", "a map that came with adminkit"),
    ],
)
def test_the_answer_to_a_shell_has_the_word(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    shell: str, words: str, expected: str, why: str,
) -> None:  # fmt: skip
    script = (folder / completion.FILES[shell]).read_text()
    monkeypatch.setenv("_ADMINKIT_COMPLETE", f"complete_{shell}")
    for name, value in TOLD[shell].items():
        assert f"{name}=" in script, "the script says it too"
        monkeypatch.setenv(name, value.format(words=words, last=len(words.split()) - 1))
    with pytest.raises(SystemExit):
        main([])
    assert expected in capsys.readouterr().out, why


def test_a_tab_does_not_wait_for_what_reports_need() -> None:
    code = (
        "import sys; from adminkit.cli.main import main\n"
        "try: main([])\n"
        "except SystemExit: pass\n"
        "print(sorted({'pandas', 'numpy', 'matplotlib', 'sqlite_utils', 'lupa', 'jinja2'} & set(sys.modules)))"
    )
    env = os.environ | {"_ADMINKIT_COMPLETE": "complete_bash", "COMP_WORDS": "adminkit repor", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["report", "[]", ""]


def test_files_have_the_names_that_shells_look_for(folder: Path) -> None:
    assert {path.name for path in folder.iterdir() if path.is_file()} == {"adminkit", "_adminkit", "adminkit.fish"}
    assert (folder / "_adminkit").read_text().startswith("#compdef adminkit\n")
