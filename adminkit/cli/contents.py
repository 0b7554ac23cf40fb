"""The table of contents of the command line. A command is loaded when it is wanted: all of them together take longer to
load than most take to run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

import typer

from adminkit.cli.root import empty

#: Word -> the module of this folder and the name in it of its app or function; behind an app the functions of other
#: modules that are its commands too, by their own names. In the order of the help.
COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "report": ("report.app",),
    "trace": (
        "trace.app",
        "audit.audit",
        "audit.restore",
        "rollups.rollups",
        "trace_forget.forget",
        "trace_own.own",
        "trace_prune.prune",
        "trace_prune.snapshot",
    ),
    "incentives": ("incentives.app",),
    "policy": (
        "policy.app",
        "policy_install.install",
        "policy_install.rollback",
        "policy_refresh.refresh",
        "policy_install.status",
    ),
    "charge": ("charge.app", "charge_compare.compare", "charge_budget.budget"),
    "simulate": ("simulate.app", "simulate_scenarios.scenarios", "simulate_elastic.elastic"),
    "soft-limits": ("soft_limits.app",),
    "power": ("power.app",),
    "elastic": ("elastic.app",),
    "recommend": ("recommend.app", "recommend_queues.queues", "recommend_gpus.gpus"),
    "feedback": ("feedback.app", "feedback_prefs.prefs"),
    "my": ("my.my",),
    "fit": ("fit.fit",),
    "profiles": ("profiles.app",),
    "findings": ("findings.findings",),
    "metrics": ("metrics.metrics",),
    "serve": ("serve.serve",),
    "sync": ("sync.sync",),
    "import": ("import_.import_",),
    "export": ("export.export",),
    "site": ("site.site",),
    "demo": ("demo.demo",),
    "doctor": ("doctor.doctor",),
}


def app_of(words: Iterable[str] = COMMANDS) -> typer.Typer:
    """`adminkit` with these of COMMANDS."""
    app = empty()
    for word in words:
        command = _command(word)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=word)
        else:
            app.command(word)(command)
    return app


@cache
def _command(word: str) -> typer.Typer | Callable[..., None]:
    """Loaded, an app with all its commands."""
    command, *others = map(_named, COMMANDS[word])
    for other in others:
        command.command(other.__name__)(other)
    return command  # type: ignore[no-any-return]


def _named(place: str) -> Any:
    module, _, name = place.partition(".")
    return getattr(import_module(f"adminkit.cli.{module}"), name)
