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

#: Panel of the help -> word -> the module of this folder and the name in it of its app or function; behind an app the
#: functions of other modules that are its commands too, by their own names.
PANELS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "For users": {
        "my": ("my.my",),
        "job": ("job.job",),
        "fit": ("fit.fit",),
        "data": ("data.app", "data_probe.probe", "data_cache.cache"),
    },
    "For operators": {
        "report": ("report.app",),
        "findings": ("findings.findings",),
        "user": ("user.user",),
        "recommend": (
            "recommend.app",
            "recommend_queues.queues",
            "recommend_gpus.gpus",
            "recommend_memory.memory",
            "recommend_cpus.cpus",
        ),
        "feedback": ("feedback.app", "feedback_prefs.prefs", "feedback_chat.chat"),
        "incentives": ("incentives.app",),
        "policy": (
            "policy.app",
            "policy_install.install",
            "policy_install.rollback",
            "policy_refresh.refresh",
            "policy_install.status",
        ),
        "charge": ("charge.app", "charge_compare.compare", "charge_budget.budget", "charge_export.export"),
        "simulate": ("simulate.app", "simulate_scenarios.scenarios", "simulate_elastic.elastic"),
        "tune": ("tune.tune",),
        "soft-limits": ("soft_limits.app",),
        "extend": ("extend.app",),
        "idle": ("idle.idle",),
        "trial": ("trial.app",),
        "power": ("power.app",),
        "elastic": ("elastic.app",),
        "profiles": ("profiles.app",),
        "metrics": ("metrics.metrics",),
        "serve": ("serve.serve",),
        "sql": ("sql.sql",),
    },
    "The trace and setup": {
        "sync": ("sync.sync",),
        "import": ("import_.import_",),
        "export": ("export.export",),
        "trace": (
            "trace.app",
            "audit.audit",
            "audit.restore",
            "months.months",
            "trace_archive.archive",
            "trace_archive.unarchive",
            "trace_forget.forget",
            "trace_own.own",
            "trace_prune.prune",
            "trace_prune.snapshot",
        ),
        "site": ("site.site",),
        "demo": ("demo.demo",),
        "doctor": ("doctor.doctor",),
    },
}
COMMANDS: Final = {word: place for panel in PANELS.values() for word, place in panel.items()}


def app_of(words: Iterable[str] = COMMANDS) -> typer.Typer:
    """`adminkit` with these of COMMANDS."""
    app, wanted = empty(), set(words)
    for title, panel in PANELS.items():
        for word in (word for word in panel if word in wanted):
            command = _command(word)
            if isinstance(command, typer.Typer):
                app.add_typer(command, name=word, rich_help_panel=title)
            else:
                app.command(word, rich_help_panel=title)(command)
    return app


@cache
def command_of(words: tuple[str, ...] = tuple(COMMANDS)) -> Any:
    """What typer makes of `app_of`, once in a process."""
    return typer.main.get_command(app_of(words))


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
