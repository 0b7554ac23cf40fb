"""The man pages: every command has one, they say what the docs say, and both formatters read them without a word."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tools import docs, man, roff

PAGES = man.pages()
#: What a page of section 1 may not lack.
PARTS = ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES", "SEE ALSO")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("man")
    man.write(folder)
    return folder


def shown(page: Path) -> str:
    """A page as a reader sees it, in one line. Skips where man is not installed."""
    if not shutil.which("man"):
        pytest.skip("not run: man is not installed")
    env = os.environ | {"LC_ALL": "C.UTF-8", "MANWIDTH": "200", "MANPAGER": "cat", "MAN_KEEP_FORMATTING": ""}
    command = ["man", "--warnings", "-E", "UTF-8", "-l", str(page)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    # groff 1.23 and newer say so of a line of wide letters that ends a column early, whether or not lines are adjusted.
    early = ": cannot adjust line"
    assert [line for line in done.stderr.splitlines() if early not in line] == []
    return " ".join(re.sub(r".\x08", "", done.stdout).split())


def test_every_command_has_a_page_and_every_file_of_settings() -> None:
    words = {one.words[1] for one in docs.commands() if len(one.words) > 1}
    assert set(PAGES) == {
        "adminkit.1",
        *(f"adminkit-{word}.1" for word in words),
        "adminkit.toml.5",
        "adminkit-policy.toml.5",
        "adminkit-users.7",
        "adminkit-users.ja.7",
        "adminkit_ckpt.8",
        "adminkit_gpu_use.8",
        "adminkit_data.8",
        "adminkit_io.8",
    }


@pytest.mark.parametrize("name", [name for name in PAGES if name.endswith(".1")])
def test_a_commands_page_has_its_parts_in_the_order_of_man_pages(name: str) -> None:
    found = [one for one in re.findall(r"^\.SH (.*)$", PAGES[name], re.MULTILINE) if one in PARTS]
    assert found == list(PARTS)


@pytest.mark.parametrize("command", [one for one in docs.commands() if not one.inside], ids=lambda one: one.words[-1])
def test_a_page_has_every_option_of_its_commands(command: docs.Command) -> None:
    page = PAGES[f"adminkit-{command.words[1]}.1"]
    assert command.function
    for one in docs.parameters(command.function):
        for name in one.names:
            assert roff.bold(name) in page, name
        assert roff.prose(" ".join(one.help.split())).rstrip(".") in page


def test_the_settings_page_has_every_key() -> None:
    found = re.findall(r"^\.TP\n\\fB(\w+)\\fR$", PAGES["adminkit.toml.5"], re.MULTILINE)
    assert found == [one.key for one in docs.settings()]


def test_pages_of_ours_that_are_named_are_there() -> None:
    for name, text in PAGES.items():
        for found, section in re.findall(r"^\.BR (adminkit\S*) \((\d)\)", text, re.MULTILINE):
            assert f"{found.replace(chr(92), '')}.{section}" in PAGES, name


@pytest.mark.parametrize("name", PAGES)
def test_mandoc_has_nothing_to_say(folder: Path, name: str) -> None:
    if not shutil.which("mandoc"):
        pytest.skip("not run: mandoc is not installed")
    lint = subprocess.run(["mandoc", "-Tlint", "-Wwarning", folder / name], capture_output=True, text=True, check=False)
    assert (lint.stdout, lint.returncode) == ("", 0)


@pytest.mark.parametrize("name", PAGES)
def test_its_name_says_what_it_is_as_whatis_shows(folder: Path, name: str) -> None:
    text = (folder / name).read_text()
    assert re.search(r"^\.SH (?:NAME|名前)\n\S.* \\- \S", text, re.MULTILINE), text[:300]


@pytest.mark.parametrize("name", PAGES)
def test_man_shows_it_without_a_warning(folder: Path, name: str) -> None:
    text = shown(folder / name)
    assert ("名前 " if name.endswith(".ja.7") else "NAME ") in text
    assert not re.search(r"\\f|\*\*|\]\(|``", text), "Markdown or roff shows through"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("adminkit.1", "sync Bring the trace up to date with slurmdbd."),
        ("adminkit.1", "130 Interrupted."),
        ("adminkit-sync.1", "--jobs N How many sacct calls to run at once. Default: 1."),
        ("adminkit-import.1", "adminkit import FILE|FOLDER|- [OPTIONS]"),
        ("adminkit.toml.5", "jobs How many sacct calls run at once. A number above 1 puts more load on slurmdbd."),
        (
            "adminkit-policy.toml.5",
            "max_limit A job breaks it when: it asks for a limit above the value, or for an unlimited time.",
        ),
        ("adminkit-users.7", "to lower the limit of a waiting job I type …: scontrol update JobId=4711"),
        ("adminkit-users.7", "HOW LONG SHOULD MY LIMIT BE?"),
        ("adminkit-users.7", "Four nodes over 12 hours, twice."),
        ("adminkit-users.ja.7", "関連項目 adminkit(1), adminkit-my(1), adminkit-recommend(1)"),
        ("adminkit-users.ja.7", "sbatch の表示は何を意味するか"),
        ("adminkit_ckpt.8", "--ckpt-requeue[=10]"),
        ("adminkit_ckpt.8", "code=85 the exit code that means"),
        ("adminkit_gpu_use.8", "period=30 read each GPU every 30 seconds"),
        ("adminkit_gpu_use.8", "optional adminkit_gpu_use.so"),
        ("adminkit_gpu_use.8", "no driver, or one that does not answer"),
        ("adminkit_data.8", "tasks wait until the node's part is copied"),
        ("adminkit_data.8", "patience=1800 seconds that the tasks"),
        ("adminkit_io.8", "period=5 look at the threads of each task every 5 seconds"),
        ("adminkit_io.8", "optional adminkit_io.so"),
    ],
)  # fmt: skip
def test_a_reader_finds(folder: Path, name: str, said: str) -> None:
    assert said in shown(folder / name)


@pytest.mark.parametrize(
    ("markdown", "made", "why"),
    [
        ("a `--b-c` d", ".PP\na \\fB\\-\\-b\\-c\\fR d", "code is to be typed: its dashes are dashes"),
        ("**now** [there](x.md#y)", ".PP\n\\fBnow\\fR there", "a link keeps its words"),
        ("said ([page](x.md)).", ".PP\nsaid.", "one in brackets is nothing but a link"),
        (".so /etc/passwd", ".PP\n\\&.so /etc/passwd", "text is no request"),
        ("'quoted' at the start", ".PP\n\\&'quoted' at the start", "nor is this"),
        ("C:\\n", ".PP\nC:\\en", "a backslash is text"),
        ("```\n.x\n'y\n```", ".PP\n.RS 4\n.EX\n\\&.x\n\\(aqy\n.EE\n.RE", "nor in code"),
        ("- a\n  b\n- c", ".IP \\(bu 2\na b\n.IP \\(bu 2\nc", "a bullet goes on in the next line"),
        ("2. b", ".IP 2. 3\nb", "a number stays"),
        ("| k | d | |\n|---|---|---|\n| `a\\|b` | 1 | it is |", ".TP\n\\fBa|b\\fR\nit is. D: 1.", "a row is an entry"),
        (
            "| k | Type |\n|---|---|\n| a | `b` |",
            ".TP\na\nType: \\fBb\\fR",
            "what is to be typed ends the entry as it is",
        ),
        ("## One `x`", ".SH ONE X", "headings are capitals"),
        ("## `sbatch` の表示", ".SH sbatch の表示", "but in a language that has none"),
        ('![It "shows" it](x.svg)', '.PP\nIt "shows" it', "a picture is what is said of it"),
        (
            "ノードが(待って)、",
            ".PP\nノー\\:ド\\:が(待っ\\:て)、",
            "Japanese lines may end between characters, but for some",
        ),
    ],
)
def test_markdown_becomes_roff(markdown: str, made: str, why: str) -> None:
    assert "\n".join(roff.blocks(markdown)) == made, why


def test_the_date_is_that_of_the_source_where_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert " 2023-11-14 " in man.pages()["adminkit.1"].splitlines()[0]
