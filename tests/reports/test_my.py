"""What a user sees of their own jobs is described."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from adminkit.render.report import Field
from adminkit.reports import my
from tools.docs import DOCS


@pytest.mark.parametrize(
    ("section", "fields"),
    [("jobs", my.JOBS), ("limits", my.LIMITS), ("running", my.RUNNING), ("waiting", my.WAITING)],
)
def test_every_column_is_on_the_page(section: str, fields: Sequence[Field]) -> None:
    page = (DOCS / "my.md").read_text()
    assert [one.name for one in fields if f"| {section} | `{one.name}` | " not in page or one.help not in page] == []
