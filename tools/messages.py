"""`python -m tools.messages`: rewrites adminkit/locale/*.po with every sentence of the source and its translation.

A new sentence has none until somebody writes it into the file; one that is gone from the source goes.
"""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

PACKAGE: Final = Path(__file__).parent.parent / "adminkit"
LOCALE: Final = PACKAGE / "locale"
#: Functions whose literals are sentences: those of adminkit/messages.py, and what {% trans %} becomes.
_KEYWORDS: Final = {
    "message": None, "template": None, "counted": (1, 2), "in_context": ((1, "c"), 2),
    "gettext": None, "ngettext": (1, 2), "pgettext": ((1, "c"), 2),
}  # fmt: skip
#: Lines of the header that say nothing here.
_UNSAID: Final = (
    "Project-Id-Version", "Report-Msgid-Bugs-To", "POT-Creation-Date", "PO-Revision-Date", "Last-Translator",
    "Language-Team", "MIME-Version", "Content-Transfer-Encoding", "Generated-By",
)  # fmt: skip


def sources() -> list[Path]:
    """The files that may have sentences: others call something else by these names."""
    modules = (path for path in PACKAGE.rglob("*.py") if "from adminkit.messages import" in path.read_text())
    templates = [*PACKAGE.rglob("templates/**/*"), PACKAGE.parent / "etc/letters/words.j2"]
    return sorted([*modules, *(path for path in templates if path.is_file())])


def extracted() -> Catalog:
    """Every sentence, with the files that it is in."""
    found = Catalog(fuzzy=False)
    for path in sources():
        method = "python" if path.suffix == ".py" else "jinja2"
        with redirect_stderr(io.StringIO()):  # Babel warns of f-strings among values; a test finds those in their place
            sentences = extract_from_file(method, path, keywords=_KEYWORDS)
        for _, ids, _, context in sentences:
            found.add(ids, context=context, locations=[(path.relative_to(PACKAGE.parent).as_posix(), 0)])
    return found


def read(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale=path.stem)


def written(path: Path) -> Catalog:
    """The catalogue as it should be: the sentences of the source, with the translations that there are."""
    made, known = extracted(), read(path)
    made.locale, made.header_comment = known.locale, known.header_comment
    for one in made:
        before = known.get(one.id, one.context) if one.id else None
        if before and before.pluralizable == one.pluralizable:
            one.string = before.string
    return made


def as_text(made: Catalog) -> str:
    """The file: without line numbers and dates, so that it changes where sentences do."""
    file = io.BytesIO()
    write_po(file, made, width=120, include_lineno=False)
    return re.sub(rf'^"(?:{"|".join(_UNSAID)}): .*\n', "", file.getvalue().decode().lstrip(), flags=re.MULTILINE)


def strings(one: Message) -> tuple[str, ...]:
    """Its translations: one, or one for each plural form of the language."""
    return one.string if isinstance(one.string, tuple) else (one.string or "",)


def main() -> None:
    for path in sorted(LOCALE.glob("*.po")):
        made = written(path)
        path.write_text(as_text(made), "utf-8")
        missing = [one.id for one in made if one.id and not all(strings(one))]
        print(f"{path.name}: {len(made)} sentences, {len(missing)} without a translation")
        for ids in missing:
            print(f"  {ids}")


if __name__ == "__main__":
    main()
