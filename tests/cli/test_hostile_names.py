"""Every command on a trace whose every text is hostile: nothing that is printed steers a terminal or turns a line.

The commands are those of the command line itself, so a new one is tried, too.
"""

from __future__ import annotations

import ast
import io
import sys
import unicodedata
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import fields
from pathlib import Path
from typing import Final

import pytest

import adminkit
from adminkit.cli.main import main
from adminkit.cli.progress import progress
from adminkit.job import Job
from adminkit.render.say import put, say
from adminkit.reports.catalogue import SPECS
from tests.cli.test_stranger import every_command
from tests.support.builders import HOUR, MONDAY, add_letters, job, letter, make_trace

HOSTILE: Final = "=x\x1b[31m\x1b]0;t\x07\r\n\x9b2J\u202e\u2066\u200f\u2028\x00y"
#: Words of the parser, which is their author.
WORDS: Final = frozenset(
    "audited ckpt_end fingerprint gpu_parts limit_kind limit_source req_gpu_parts source state submitted_by".split()
)


def harm(text: str) -> list[str]:
    """The characters of an output that steer a terminal or reorder a line."""
    return sorted({repr(c) for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")})


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("hostile")
    mine = {one.name: HOSTILE for one in fields(Job) if str(one.type).startswith("str") and one.name not in WORDS}
    more = [{**mine, "user": f"{HOSTILE}{n % 3}", "uid": 1000 + n % 3} for n in range(40)]
    jobs = [job(n, **more[n], elapsed=HOUR * n // 9, end_time=MONDAY + n * HOUR) for n in range(1, 40)]
    jobs += [job(50, **mine, elapsed=None, end_time=None, state="RUNNING", seen_open=MONDAY + 50 * HOUR)]
    trace = make_trace(place / "trace.db", jobs, queues=[(HOSTILE, HOSTILE, 0, HOUR, 72 * HOUR)])
    add_letters(trace, [letter(1000, user=HOSTILE, address=f"{HOSTILE}@x")])
    (place / "in").write_text("JobID|State\n1|x\n")
    written = "".join(f"\\u{ord(c):04x}" for c in HOSTILE)
    (place / "adminkit.toml").write_text(f'db = "{trace}"\n[feedback]\nclusters = ["{written}"]\n')
    return place


def told(words: list[str], here: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ADMINKIT_CONFIG", str(here / "adminkit.toml"))
    monkeypatch.setenv("HOME", str(here))
    monkeypatch.delenv("COLUMNS", raising=False)
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err, suppress(SystemExit):
        main(words)
    return out.getvalue() + err.getvalue()


#: Those that wait, write a trace of their own, or draw.
LEFT_OUT: Final = frozenset({("serve",), ("demo",), ("report", "all")})


def commands() -> list[list[str]]:
    found = [list(one) for one in every_command() if one[:2] not in LEFT_OUT and one[:1] not in LEFT_OUT]
    reports = [["report", one.name, "-f", form] for one in SPECS for form in ("csv", "markdown", "json", "html")]
    return [*found, *reports]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_nothing_that_is_printed_steers_a_terminal(
    words: list[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(here)
    text = told([word.format(here=here) for word in words], here, monkeypatch)
    assert harm(text) == [], text[:2000]


def test_a_report_shows_the_names_as_escapes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for form in ("table", "csv", "markdown"):
        text = told(["report", "users", "-f", form, "--states", "all", "--min-elapsed", "0"], here, monkeypatch)
        assert "x1b" in text and "u202e" in text, form


def test_letters_are_shown_harmlessly(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = told(["feedback", "preview", "--sample", "--text", "--as-of", "2026-01-08"], here, monkeypatch)
    assert "Subject: " in text and "x1b" in text and harm(text) == []


def test_a_file_of_a_hostile_name_is_named_harmlessly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: Path
) -> None:
    name = HOSTILE.replace("\x00", "")
    (tmp_path / name).write_text("JobID|Cluster|State|\x1b[2J\n")
    for words in (["import", str(tmp_path / name)], ["policy", "check", "--policy", str(tmp_path / name)],
                  ["report", "users", "-o", str(tmp_path / f"{name}.csv")]):  # fmt: skip
        assert harm(told(words, here, monkeypatch)) == []


def test_what_is_said_is_harmless_whatever_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("adminkit.cli.progress.PLAIN_EVERY", 0.0)
    say(HOSTILE)
    put(HOSTILE, end="")
    with progress(f"reading {HOSTILE}") as tick:
        tick(1, 2, 1)
    out, err = capsys.readouterr()
    assert harm(out + err) == [] and "reading =x" in err
    assert out == err.partition("\nreading")[0].replace("\r", "")
    with io.TextIOWrapper(io.BytesIO(), "ascii") as narrow:
        monkeypatch.setattr(sys, "stdout", narrow)
        put("\u00e9")


def test_who_prints() -> None:
    """Lines are said by say.py; besides it print() writes help, JSON (which escapes), and the journal's clean line."""
    package, found = Path(adminkit.__file__).parent, set()
    for path in sorted(package.rglob("*.py")):
        source = path.read_text()
        for node in ast.walk(ast.parse(source)) if "print" in source else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                what = ast.unparse(node.args[0])
                if not what.startswith("json.dumps("):
                    found.add((str(path.relative_to(package)), what))
    assert found == {
        ("cli/main.py", "error.ctx.get_help()"),
        ("journal.py", "line"),
        ("render/say.py", "_harmless(text, sys.stderr.encoding)"),
        ("render/say.py", "_harmless(text, sys.stdout.encoding)"),
    }  # fmt: skip
