"""What people read: sentences with named values, translated last (docs/adr/0021-messages.md).

adminkit/locale has a catalogue for each language, from which the build makes what gettext reads. Without that English
is the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

#: English and every language that has a catalogue.
LANGUAGES: Final = ("en", *sorted(path.stem for path in (Path(__file__).parent / "locale").glob("*.po")))
if TYPE_CHECKING:
    from gettext import NullTranslations

    Language = str
else:
    Language = Literal[LANGUAGES]  # of a setting: one of them
#: An end of a value, with the space beside it where Japanese letters are on both sides.
_JOINT: Final = re.compile("(?<=[\u3040-\u30ff\u4e00-\u9fff]) ?\0 ?(?=[\u3040-\u30ff\u4e00-\u9fff])|\0")


class Message(str):
    """A sentence. As a text it is English; `translated` makes it of its template and values in another language.

    Trap: a text made of it (by an f-string, join, strip) is not a Message, and stays English. Give it to another
    message as a value, or use `joined`.
    """

    __slots__ = ("context", "many", "number", "template", "values")

    context: str  # what tells it from the same English with another meaning
    template: str  # placeholders are str.format's
    many: str | None  # the template of several, where `number` decides
    number: int
    values: Mapping[str, object]


def message(template: str, /, **values: object) -> Message:
    """The template, a literal, is what catalogues have. Only a value that is a Message is translated."""
    return _made(template, None, 1, values)


def in_context(context: str, template: str, /, **values: object) -> Message:
    """Like `message`, for an English text that means something else elsewhere; both are literals."""
    return _made(template, None, 1, values, context)


def template(text: str) -> str:
    """A text with placeholders that others fill in; `catalogue` has it in other languages."""
    return text


def counted(one: str, many: str, /, number: int, **values: object) -> Message:
    """Like `message`, with a template for one and another for several; {number} is which."""
    return _made(one, many, number, {"number": number, **values})


def joined(between: str, parts: Iterable[str]) -> Message:
    """Several in a row."""
    values = {f"part{at}": part for at, part in enumerate(parts)}
    return _made(between.join(f"{{{name}}}" for name in values), None, 1, values)


def _made(template: str, many: str | None, number: int, values: Mapping[str, object], context: str = "") -> Message:
    made = Message((template if many is None or number == 1 else many).format(**values))
    made.context, made.template, made.many, made.number, made.values = context, template, many, number, values
    return made


def translated(text: str, language: str) -> str:
    """The sentence in `language`. A text that is not a Message is others' words, and stays as it is."""
    if language == "en" or not isinstance(text, Message):
        return str(text)
    return _JOINT.sub("", _in(catalogue(language), text))


def _in(known: NullTranslations, text: Message) -> str:
    if text.many is not None:
        template = known.ngettext(text.template, text.many, text.number)
    elif text.context:
        template = known.pgettext(text.context, text.template)
    else:
        template = known.gettext(text.template) if text.template else ""  # gettext has its header by that name
    values = {
        name: f"\0{_in(known, value)}\0" if isinstance(value, Message) else value for name, value in text.values.items()
    }
    return template.format(**values)


@cache
def catalogue(language: str) -> NullTranslations:
    """What gettext has for that language, also for the i18n extension of Jinja; English where there is none."""
    from gettext import GNUTranslations, NullTranslations
    from importlib.resources import files

    built = files("adminkit").joinpath("locale").joinpath(f"{language}.mo")  # an editable install has it elsewhere
    if language not in LANGUAGES or not built.is_file():
        return NullTranslations()
    with built.open("rb") as file:
        return GNUTranslations(file)


def texts_in(texts: Mapping[str, str], language: str) -> dict[str, str]:
    """Each template() by its name, in that language."""
    known = catalogue(language)
    return {name: known.gettext(text) for name, text in texts.items()}


def preferred(accept_language: str) -> str:
    """The language of a page, by what a browser puts first in Accept-Language; else English."""
    first = accept_language.strip()[:2].lower()
    return first if first in LANGUAGES else "en"
