"""Where Japanese text has spaces that its other sentences do not have."""

from __future__ import annotations

import re
from typing import Final

_LETTER: Final = "[\u3040-\u30ff\u4e00-\u9fff]"
_BETWEEN: Final = re.compile(f".{{0,12}}(?:{_LETTER} (?={_LETTER})|[。、] ).{{0,12}}")
#: A number or percentage, not a name that ends in a digit, and a particle.
_AFTER_NUMBER: Final = re.compile(
    r".{0,12}(?<![A-Za-z0-9_.-])[0-9][0-9.,]*(?:\s%)? (?:[はがをにでとのも]|から|まで|より).{0,12}"
)


def between_letters(text: str) -> list[str]:
    """Spaces between two Japanese letters, and after a full stop or a comma."""
    return _BETWEEN.findall(text)


def spaces(text: str) -> list[str]:
    """These, and those between a number or percentage and its particle, which letters and findings do not have."""
    return [*between_letters(text), *_AFTER_NUMBER.findall(text)]
