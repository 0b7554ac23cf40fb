"""mark() of adminkit-ingest against Python's own HMAC-SHA-256."""

from __future__ import annotations

import hashlib
import hmac
import os
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.native import helper

KEY = bytes(range(32))


def marks(folder: Path, texts: list[str | None], key: str | None = KEY.hex()) -> list[str | None]:
    """mark('name', …) of each text, by one run of adminkit-ingest; an error is raised with its words."""
    file = folder / "marks.db"
    file.unlink(missing_ok=True)
    with closing(helper.sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE asked (n INTEGER PRIMARY KEY, text TEXT, mark TEXT)")
        db.executemany("INSERT INTO asked (text) VALUES (?)", [(text,) for text in texts])
        db.commit()
    sql = "UPDATE asked SET mark = mark('name', text)"
    words = [helper.program(), "--db", str(file), "--columns", "text", "--before", sql]
    env = {**os.environ, "ADMINKIT_SEAL": "", **({} if key is None else {"ADMINKIT_FORGET_KEY": key})}
    done = subprocess.run(words, input=b"", capture_output=True, check=False, env=env)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    with closing(helper.sqlite3.connect(file)) as db:
        return [mark for (mark,) in db.execute("SELECT mark FROM asked ORDER BY n")]


def expected(text: str) -> str:
    return hmac.digest(KEY, b"name\0" + text.encode(), hashlib.sha256).hex()


@pytest.mark.parametrize("length", [0, 1, 50, 51, 58, 59, 60, 63, 64, 90, 91, 92, 119, 120, 1000])
def test_every_length_around_a_block(tmp_path: Path, length: int) -> None:
    assert marks(tmp_path, ["x" * length]) == [expected("x" * length)]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=150), max_size=40))
@settings(max_examples=25, deadline=None)
def test_as_python_computes_it(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    """Each twice, as what was asked before is remembered."""
    found = marks(tmp_path_factory.mktemp("marks"), [*texts, *texts])
    assert found == [expected(text) for text in [*texts, *texts]]


def test_thousands_of_names_share_the_places(tmp_path: Path) -> None:
    texts = [f"user{n}" for n in range(5000)]
    assert marks(tmp_path, [*texts, *texts]) == [expected(text) for text in [*texts, *texts]]


def test_nothing_stays_nothing(tmp_path: Path) -> None:
    assert marks(tmp_path, [None, "ada"]) == [None, expected("ada")]


@pytest.mark.parametrize("key", ["", "00", "G" * 64, "A" * 64, "a" * 63, "a" * 65, None])
def test_without_a_key_there_is_no_mark(tmp_path: Path, key: str | None) -> None:
    with pytest.raises(RuntimeError, match=r"is not a key|no such function: mark"):
        marks(tmp_path, ["ada"], key)
