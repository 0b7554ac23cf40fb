"""adminkit report all: where the page goes, who gets it, and what the exit status says."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from adminkit.cli.main import main
from adminkit.reports import page
from adminkit.reports.catalogue import SPECS
from adminkit.trace import sight
from tests.support.builders import make_trace
from tests.support.reports import QUEUES, some_jobs

pytestmark = pytest.mark.usefixtures("no_settings")
AS_OF = ("--as-of", "2026-02-01")


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small trace; of the reports only two, as drawing takes most of the time."""
    few = [spec for spec in SPECS if spec.name in ("states", "restarts")]
    made = page.page
    monkeypatch.setattr(page, "page", lambda path, settings, asked, tick: made(path, settings, asked, few, tick))
    return make_trace(tmp_path / "t.db", some_jobs(), QUEUES)


def test_the_page_is_written_whole_for_its_owner_and_group(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "all.html"
    assert main(["report", "all", "--html", str(target), "--db", str(trace), *AS_OF, "--lang", "ja"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"wrote {target}\n")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    text = target.read_text()
    assert '<html lang="ja">' in text and text.endswith("</html>\n")
    target.chmod(0o600)
    assert main(["report", "all", "--html", str(target), "--db", str(trace), *AS_OF]) == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600, "that of the file that was there"
    assert '<html lang="en">' in target.read_text(), "the language of letters"
    assert [one.name for one in tmp_path.iterdir() if "aside" in one.name] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "error: no file to write the page to\nhint: name one: adminkit report all --html report.html\n"),
        (["--html", "-"], "error: --html -: the page goes into a file, not to the terminal\n"),
        (["--html", "{folder}"], "hint: name a file in it: --html {folder}/index.html\n"),
        (["--html", "{folder}/no/all.html"], "error: couldn't write {folder}/no/all.html: "),
        (["--html", "{folder}/all.html", "--queue", "gqq"], "error: no such queue: gqq"),
    ],
)
def test_a_place_that_is_none_is_refused(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    typed = [word.format(folder=tmp_path) for word in words]
    assert main(["report", "all", *typed, "--db", str(trace), *AS_OF]) != 0
    assert said.format(folder=tmp_path) in capsys.readouterr().err


def test_who_may_not_see_others_gets_no_page(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sight, "sees_others", lambda path: False)
    assert main(["report", "all", "--html", str(tmp_path / "all.html"), "--db", str(trace)]) == 2
    assert capsys.readouterr().err.startswith("error: only operators may see the page of all users\n")
    assert not (tmp_path / "all.html").exists()


def test_a_report_that_fails_is_named_and_the_page_is_there(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> Any:
        raise TypeError("three\x1b[31m words")

    some = page.answer_of
    monkeypatch.setattr(
        page, "answer_of", lambda db, spec, *rest: fail() if spec.name == "restarts" else some(db, spec, *rest)
    )
    assert main(["report", "all", "--html", str(tmp_path / "all.html"), "--db", str(trace), *AS_OF]) == 1
    said = capsys.readouterr().err
    assert "error: report restarts: TypeError: three" in said and "\x1b" not in said.splitlines()[1]
    assert "Traceback" in said, "it is a bug"
    assert "This report failed" in (tmp_path / "all.html").read_text()
