"""A group of commands, whose help lists each with the whole first sentence of what it does."""

from __future__ import annotations

from typing import Any, Final

import typer
from typer.core import TyperGroup

#: The title of commands outside the panels.
_REST: Final = "Commands"


class Listing(TyperGroup):
    """Lists its commands by panel, in the order in which panels are met."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A line is the first sentence of the command's help, where it fits beside the longest name."""
        panels: dict[str, list[tuple[str, str]]] = {}
        room = formatter.width - 6 - max(map(len, self.commands), default=0)
        for name in self.list_commands(ctx):
            command = self.commands[name]
            panel = getattr(command, "rich_help_panel", None)
            line = command.get_short_help_str(room).removesuffix(".")
            panels.setdefault(panel if isinstance(panel, str) else _REST, []).append((name, line))
        for title, rows in panels.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def group(help: str) -> typer.Typer:
    """A group that shows its help where no command is named."""
    app = typer.Typer(cls=Listing, help=help, no_args_is_help=True, rich_markup_mode=None)
    app.callback()(_root)
    return app


def _root() -> None:
    """Nothing is common to the commands of a group. Trap: without it, typer takes a group of one for that command."""
