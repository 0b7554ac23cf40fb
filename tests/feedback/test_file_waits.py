"""What the letter about a run says of GPUs that waited for files, in both languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.feedback.letters import LAST, NEXT_MONDAY, end, run, trace, write
from tests.support.builders import HOUR

SAYS = {"en": "Your GPUs waited: at 90 % of the moments", "ja": "GPU が待たされていました。調べた時点の 90"}


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize(
    ("only", "busy", "told", "why"),
    [
        (90, 600, True, "its GPUs were idle"),
        (90, 3000, False, "its GPUs were busy"),
        (90, None, False, "the use of its GPUs is not known"),
        (10, 600, False, "it did not wait for files"),
        (None, 600, False, "nobody looked"),
    ],
)
def test_gpus_that_waited_for_files(
    tmp_path: Path, language: str, only: int | None, busy: int | None, told: bool, why: str
) -> None:
    start = NEXT_MONDAY - 8 * HOUR
    words = (
        [] if only is None else [f"io1:at={start + 5},to={start + 3000},node=0,n=100,wait={only},only={only},full=0"]
    )
    words += [] if busy is None else [f"gu1:at={start + 30},to={start + 3030},node=0,gpus=1,s=3000,busy={busy},used=1"]
    one = run(70, start, 2 * HOUR, start_time=start, gpus=1, admin_comment=" ".join(words))
    (letter,) = write(trace(tmp_path / "t.db", [LAST, one]), end(one, language))
    assert (SAYS[language] in " ".join(letter.text.split())) is told, why
