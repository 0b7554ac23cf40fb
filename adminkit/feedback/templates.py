"""The letters' templates: adminkit's own in etc/letters, each of which a site can replace in a folder of its own.

A template's mistakes are told as an AdminkitError with its file, its line and, for a word that does not exist, the
nearest one. What jobs are called only ever comes in as a value, so that nothing in it is taken for a template.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import tzinfo
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from adminkit.errors import AdminkitError, cause, unknown_word
from adminkit.feedback.format import filters
from adminkit.installed import data_file
from adminkit.owner import as_caller

if TYPE_CHECKING:
    from jinja2 import Environment

#: The templates that adminkit has, and a site can replace.
TEMPLATES: Final = (
    "end.txt.j2", "end.html.j2", "digest.txt.j2", "digest.html.j2", "operator.txt.j2", "operator.html.j2",
    "layout.html.j2", "words.en.j2", "words.ja.j2",
)  # fmt: skip


class Templates:
    """One language's templates. `folder` is the site's own, None for none; times are shown in `tz`."""

    def __init__(self, language: str, folder: Path | None = None, tz: tzinfo | None = None) -> None:
        self.language = language
        # Trap: a macro is trusted by who calls it, whatever its own template escapes. So one environment never escapes
        # and the other always does; both read the same files.
        self._text = _environment(language, folder, tz, escape=False)
        self._html = _environment(language, folder, tz, escape=True)

    def render(self, name: str, values: Mapping[str, Any]) -> str:
        """The template with these values. AdminkitError for a mistake in it."""
        from jinja2 import TemplateError, TemplateSyntaxError, UndefinedError

        try:
            environment = self._html if name.endswith(".html.j2") else self._text
            return environment.get_template(name).render(values)
        except TemplateSyntaxError as error:
            said = error.message or "that is no template"
            hint = _HINT
            if said.startswith("No filter named"):
                hint = unknown_word("filter", said.split("'")[1], self._text.filters).hint
            raise AdminkitError(f"{error.filename or error.name}, line {error.lineno}: {said}", hint) from error
        except UndefinedError as error:
            file, line = _place(error, name)
            word, known = _unknown(error, values)
            hint = unknown_word("placeholder", word, known).hint if word else _HINT
            raise AdminkitError(f"{file}, line {line}: {error.message or 'no such placeholder'}", hint) from error
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            file, line = _place(error, name)
            raise AdminkitError(f"{file}, line {line}: {error}", _HINT) from error
        except RecursionError as error:
            raise AdminkitError(f"{name}: a macro in it calls itself without end", _HINT) from error
        except OSError as error:
            where = error.filename or name
            raise AdminkitError(f"couldn't read {where}: {cause(error)}", "correct [feedback] templates") from error


_HINT: Final = "docs/letters.md lists what a template may say"


@cache
def _environment(language: str, folder: Path | None, tz: tzinfo | None, *, escape: bool) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    class Loader(FileSystemLoader):
        """Root reads adminkit's own templates, and those of the settings, whoever it acts as."""

        get_source = as_caller()(FileSystemLoader.get_source)

    own = data_file("etc", "letters", TEMPLATES[0]).parent
    environment = Environment(
        loader=Loader([*([folder] if folder else []), own]),
        autoescape=escape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    environment.filters.update(filters(language, tz))
    return environment


def _place(error: BaseException, name: str) -> tuple[str, int]:
    """The innermost line of a template that the error went through."""
    file, line, trace = name, 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.endswith(".j2"):
            file, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    return file, line


def _unknown(error: Exception, values: Mapping[str, Any]) -> tuple[str | None, Iterable[str]]:
    """The word that does not exist and those that do, from the words of the error."""
    quoted = str(error).split("'")[1::2]
    if "has no attribute" in str(error):
        kind = quoted[0].rpartition(".")[2].split(" ")[0]
        objects = [one for one in values.values() if type(one).__name__ == kind]
        return quoted[-1], [f.name for one in objects if is_dataclass(one) for f in fields(one)]
    return (quoted[0] if quoted else None), values
