"""What fit says of a request, in English and in Japanese; what others say stays as it is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from adminkit import fit
from adminkit.fit.fair_share import Behind
from adminkit.fit.sentences import REASONS, sentence
from adminkit.messages import translated


@pytest.mark.parametrize(
    ("said", "english", "japanese"),
    [
        (
            sentence({"busy": 3}, 4),
            "of the 4 nodes that are large enough: 1 free, which is too few, 3 busy",
            "十分な大きさの 4 ノード: 空きだが不足 1、使用中 3",
        ),
        (sentence({"busy": 1}, 1), "of the 1 node that is large enough: 1 busy", "十分な大きさの 1 ノード: 使用中 1"),
        (
            sentence({"priority": 2, "drained": 7}, 9),
            "of the 9 nodes that are large enough: 2 kept for waiting jobs of higher priority (age, fair share,"
            " size), 7 drained",
            "十分な大きさの 9 ノード: 優先度の高い待ちジョブのために確保 2、ドレイン中 7",
        ),
        (
            Behind(0.125, 7, 3).text,
            "fair share 0.12: 7 jobs of 3 accounts are ahead of it only because of their fair share",
            "フェアシェア 0.12: フェアシェアの差だけで、3 アカウントの 7 件のジョブが先になっています",
        ),
        (
            Behind(1.0, 1, 1).text,
            "fair share 1.00: 1 job of 1 account is ahead of it only because of that job's fair share",
            "フェアシェア 1.00: フェアシェアの差だけで、1 アカウントの 1 件のジョブが先になっています",
        ),
    ],
)
def test_what_is_said(said: str, english: str, japanese: str) -> None:
    assert said == english
    assert translated(said, "ja") == japanese


@pytest.mark.parametrize("word", REASONS)
def test_every_reason_of_a_node_is_said_in_japanese(word: str) -> None:
    assert not re.search("[a-z]{2}", translated(sentence({word: 3}, 3), "ja"))


@pytest.mark.parametrize("module", sorted(Path(str(fit.__file__)).parent.glob("*.py")), ids=lambda path: path.name)
def test_what_fit_says_is_a_message_or_others_words(module: Path) -> None:
    """A sentence that is written where it is said would stay English."""
    plain = [
        f"{module.name}:{node.lineno}"
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Said", "Start")
        for one in (*node.args, *(word.value for word in node.keywords))
        if isinstance(one, ast.JoinedStr) or (isinstance(one, ast.Constant) and " " in str(one.value))
    ]
    assert plain == []
