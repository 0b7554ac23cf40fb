"""What a comparison with an older revision says, and which ones it refuses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.bench import __main__ as bench
from tests.bench import against, pairs


@pytest.mark.parametrize(
    ("old", "said", "why"),
    [
        ([2.0] * 11, "2.000 × [2.000, 2.000]  faster", "old takes twice as long in each pair"),
        ([0.5] * 11, "0.500 × [0.500, 0.500]  slower", "half as long"),
        ([1.1, 0.9] * 5 + [1.0], "1.000 × [0.900, 1.100]  no difference", "the interval contains 1"),
        ([0.1, 9.0] + [1.2] * 9, "1.200 × [1.200, 1.200]  faster", "one strange pair at each end counts for nothing"),
    ],
)
def test_only_an_interval_without_1_is_a_difference(old: list[float], said: str, why: str) -> None:
    assert against.line(pairs.Ratio("start", [1.0] * 11, old, 1.0)).endswith(said), why


def test_each_side_is_first_in_every_other_pair() -> None:
    turns: list[str] = []

    def one(name: str, seconds: float) -> float:
        turns.append(name)
        return seconds

    ratio = pairs.compare("x", lambda: one("new", 1.0), lambda: one("old", 3.0), 1.0, pairs=3)
    assert turns == ["new", "old", "old", "new", "new", "old"]
    assert ratio.middle == 3.0


@pytest.mark.skipif(shutil.which("git") is None, reason="not run: no git")
def test_a_revision_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"nosuch.*no such revision"), against.built("nosuch", tmp_path):
        pass


@pytest.mark.parametrize(("words", "known"), [(["prase"], "parse"), (["--against", "HEAD", "parse"], "start")])
def test_an_unknown_part_is_refused_with_those_there_are(
    words: list[str], known: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(words)
    assert f"there are {known}" in capsys.readouterr().err


def test_every_part_has_its_commands() -> None:
    assert set(against.COMMANDS) == set(against.PARTS)
