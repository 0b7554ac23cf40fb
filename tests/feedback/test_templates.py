"""A site's own templates: whatever is in them, they are text or a mistake that is told."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adminkit import installed
from adminkit.errors import AdminkitError
from adminkit.feedback.template_values import Found
from adminkit.feedback.templates import Templates
from adminkit.findings import habit

VALUES = {"user": "ada", "cluster": "aaic", "language": "en", "kind": "end", "notes": ["a note"]}
FOUND = Found("habit", "habit", "gq", "-", "-", dict.fromkeys(habit.KIND.evidence, 0.5), "x", "")
PIECES = (
    "{{", "}}", "{%", "%}", "{#", "#}", " user ", " | ", "wrap", "duration", "notes", "[0]", "[9]", ".x", "for one in ",
    "endfor", "if ", "else", "endif", "macro m()", "endmacro", "call m()", "m()", "1", " / 0", " + ", "~", "'", "(",
    ")", "import 'words.en.j2' as say with context", "say.stop()", "extends 'layout.html.j2'", "block body", "endblock",
    "include 'end.txt.j2'", "set x = ", "raw", "endraw", "\n", "\r", "\x00", "é", "Subject: ",
)  # fmt: skip


def rendered(content: bytes, name: str = "end.txt.j2") -> str:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, name).write_bytes(content)
        return Templates("en", Path(folder)).render(name, VALUES)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.sampled_from(PIECES), max_size=25), st.binary(max_size=8))
def test_whatever_a_template_holds_is_text_or_a_mistake(pieces: list[str], odd: bytes) -> None:
    try:
        assert isinstance(rendered("".join(pieces).encode() + odd), str)
    except AdminkitError as error:
        assert "end.txt.j2" in error.message or ".j2" in error.message
        assert error.hint


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "calls itself without end"),
        (b"{% include 'end.txt.j2' %}", "calls itself without end"),
        (b"\xff\xfe", "end.txt.j2"),
        (b"{% include 'other.j2' %}", "other.j2"),
    ],
)
def test_what_cannot_be_written_is_told(content: bytes, message: str) -> None:
    with pytest.raises(AdminkitError, match=message):
        rendered(content)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "end.txt.j2").symlink_to("/proc/self/mem")  # a plain file that gives an error
    with pytest.raises(AdminkitError, match=r"couldn't read .*: input/output error"):
        Templates("en", tmp_path).render("end.txt.j2", VALUES)


def test_another_installation_of_this_process_has_templates_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Templates("en").render("found.txt.j2", {"language": "en", "found": FOUND})
    folder = tmp_path / "etc" / "letters"
    shutil.copytree(installed.CHECKOUT / "etc" / "letters", folder)
    (tmp_path / "pyproject.toml").touch()
    (folder / "found.txt.j2").write_text("other")
    monkeypatch.setattr(installed, "CHECKOUT", tmp_path)
    assert Templates("en").render("found.txt.j2", {"language": "en", "found": FOUND}) == "other" != usual
