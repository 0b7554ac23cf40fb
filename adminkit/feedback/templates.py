"""The templates of letters: adminkit's in etc/letters, each replaced by a file of that name in the site's own folder.

A mistake in a template is an AdminkitError with file and line and, for an unknown word, the nearest one. Names of jobs
are values only, so nothing in them is read as a template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import tzinfo
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from adminkit.errors import AdminkitError, cause, unknown_word
from adminkit.feedback.format import filters
from adminkit.installed import data_file
from adminkit.messages import catalogue
from adminkit.owner import as_caller

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment
    from jinja2.bccache import Bucket

#: Every template.
TEMPLATES: Final = (
    "end.txt.j2", "end.html.j2", "lost.txt.j2", "lost.html.j2",
    "digest.txt.j2", "digest.html.j2", "operator.txt.j2", "operator.html.j2",
    "statement.txt.j2", "statement.html.j2", "budget.txt.j2", "budget.html.j2",
    "group.txt.j2", "group.html.j2", "idle.txt.j2", "idle.html.j2", "found.txt.j2", "layout.html.j2", "words.j2",
)  # fmt: skip


class Templates:
    """The templates in one language. `folder`: the site's own, or None. Times are shown in `tz`."""

    def __init__(self, language: str, folder: Path | None = None, tz: tzinfo | None = None) -> None:
        self.language = language
        # Trap: jinja2 trusts what a macro returns, whether or not the macro's own template escapes. So one environment
        # never escapes and the other always does; both read the same files.
        folders = (*([folder] if folder else []), data_file("etc", "letters", TEMPLATES[0]).parent)
        self._text = _environment(language, folders, tz, escape=False)
        self._html = _environment(language, folders, tz, escape=True)

    def render(self, name: str, values: Mapping[str, Any]) -> str:
        """The template with these values. AdminkitError for a mistake in it."""
        from jinja2 import TemplateError, TemplateSyntaxError, UndefinedError

        try:
            environment = self._html if name.endswith(".html.j2") else self._text
            return environment.get_template(name).render(values)
        except TemplateSyntaxError as error:
            message = error.message or "not a template"
            hint = _HINT
            if message.startswith("No filter named"):
                hint = unknown_word("filter", message.split("'")[1], self._text.filters).hint
            raise AdminkitError(f"{error.filename or error.name}, line {error.lineno}: {message}", hint) from error
        except UndefinedError as error:
            file, line = _location(error, name)
            word, known = _unknown(error, values)
            hint = unknown_word("placeholder", word, known).hint if word else _HINT
            raise AdminkitError(f"{file}, line {line}: {error.message or 'unknown placeholder'}", hint) from error
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            file, line = _location(error, name)
            raise AdminkitError(f"{file}, line {line}: {error}", _HINT) from error
        except RecursionError as error:
            raise AdminkitError(f"{name}: a macro calls itself without end", _HINT) from error
        except OSError as error:
            where = error.filename or name
            raise AdminkitError(f"couldn't read {where}: {cause(error)}", "correct [feedback] templates") from error


_HINT: Final = "docs/letters.md lists the values and filters of templates"


@cache
def _environment(language: str, folders: tuple[Path, ...], tz: tzinfo | None, *, escape: bool) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateNotFound

    class Loader(FileSystemLoader):
        """Reads templates as root even where root acts as the trace's owner.

        words.LANGUAGE.j2 is a site's own; where it has none, words.j2 says all sentences by the catalogues.
        """

        @as_caller()
        def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
            try:
                return super().get_source(environment, template)
            except TemplateNotFound:
                if template != f"words.{language}.j2":
                    raise
            return super().get_source(environment, "words.j2")

    environment = Environment(
        loader=Loader(folders),
        autoescape=escape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        extensions=["jinja2.ext.i18n"],
        bytecode_cache=_compiled(escape=escape),
    )
    environment.install_gettext_translations(catalogue(language), newstyle=True)  # type: ignore[attr-defined]
    environment.filters.update(filters(language, tz))
    return environment


@cache
def _compiled(*, escape: bool) -> BytecodeCache:
    """The code of each template that was compiled, for every language, zone and folder: it is the same in all."""
    from jinja2 import BytecodeCache

    class Compiled(BytecodeCache):
        def __init__(self) -> None:
            self.codes: dict[str, bytes] = {}

        def load_bytecode(self, bucket: Bucket) -> None:
            if bucket.key in self.codes:
                bucket.bytecode_from_string(self.codes[bucket.key])

        def dump_bytecode(self, bucket: Bucket) -> None:
            self.codes[bucket.key] = bucket.bytecode_to_string()

    return Compiled()


def _location(error: BaseException, name: str) -> tuple[str, int]:
    """(file, line) of the innermost template in the traceback."""
    file, line, trace = name, 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.endswith(".j2"):
            file, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    return file, line


def _unknown(error: Exception, values: Mapping[str, Any]) -> tuple[str | None, Iterable[str]]:
    """The unknown word and the known ones, from the message of the error."""
    quoted = str(error).split("'")[1::2]
    if "has no attribute" in str(error):
        kind = quoted[0].rpartition(".")[2].split(" ")[0]
        objects = [one for one in values.values() if type(one).__name__ == kind]
        return quoted[-1], [f.name for one in objects if is_dataclass(one) for f in fields(one)]
    return (quoted[0] if quoted else None), values
