"""What `--help` says: whole lines, panels, an example of each command that parses."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest

from adminkit.cli import contents
from adminkit.cli.main import main
from tools import docs

APP: Any = contents.command_of()
GROUPS = [one.words for one in docs.commands() if one.inside]
COMMANDS = [one for one in docs.commands() if not one.inside]


@pytest.fixture
def eighty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")


@pytest.mark.parametrize("words", GROUPS, ids=" ".join)
@pytest.mark.usefixtures("eighty")
def test_a_group_lists_each_command_on_a_whole_line(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words[1:], "--help"]) == 0
    shown = capsys.readouterr().out
    for command in docs.commands():
        if command.words[:-1] == words:
            first = re.split(r"\.(?:\s|$)", command.about)[0]
            assert re.search(rf"^  {command.words[-1]} +{re.escape(first)}$", shown, re.MULTILINE), command.words
    assert "..." not in shown.partition("Commands:")[2]


def test_the_commands_stand_in_three_panels(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    titles = re.findall(r"^(\S.*):$", capsys.readouterr().out, re.MULTILINE)
    assert titles == ["Options", *contents.PANELS]
    assert len(contents.PANELS) == 3


@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: " ".join(one.words[1:]))
def test_the_example_of_a_command_is_one_of_its_own_and_parses(command: docs.Command) -> None:
    words = shlex.split(command.example)
    assert tuple(words[: len(command.words)]) == command.words
    assert len(command.example) <= 70, "does not fit into a line of the help"
    found, inner = APP, words[1:]
    while hasattr(found, "commands"):
        found = found.commands[inner.pop(0)]
    found.make_context("adminkit", inner).close()
