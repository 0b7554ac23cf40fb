"""Every question to a program of Slurm's, and why no text of a user in its answer can pass for Slurm's own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import adminkit

ROOT: Final = Path(adminkit.__file__).parent
PROGRAMS: Final = frozenset(
    "sacct sacctmgr salloc sattach sbatch sbcast scancel scontrol sdiag sinfo sprio squeue sreport srun sshare sstat"
    " strigger".split()
)
#: What starts a program: those of slurm/process.py, and where their argument `seal` stands.
ASKS: Final = {"ask": 2, "spool": 3, "told": 3}

SEALED: Final = "sealed"
_OPERATORS: Final = "names and numbers that operators choose"
_TEXT_LAST: Final = "a reason and a comment come last, their line breaks are blanks, and nothing behind them is read"
_ACT: Final = "an act: its refusal is shown, nothing is read from it"
_OTHER: Final = "words for somebody else, who is in this table too"
_OWN: Final = "asks for what the program itself knows"
_ACCOUNTS: Final = "records() refuses a second record of anybody, and one that is not whole"
_BY_NAME: Final = "one is asked for by name"

#: Where it is asked, and what: SEALED, or the reason why no text of a user in the answer can do harm.
QUESTIONS: Final = {
    "slurm.assoc_limits.assoc_mgr: scontrol show assoc_mgr": _ACCOUNTS,
    "slurm.associations.associations: sacctmgr show assoc": "begins with columns in an order that is drawn",
    "slurm.associations.qos: sacctmgr show qos": _OPERATORS,
    "slurm.bindings.usable: scontrol ping": "is not read",
    "slurm.budget_limits.change: setting(target, tres, minutes)": _ACT,
    "slurm.budget_limits.setting: sacctmgr modify set": _OTHER,
    "slurm.cluster.accounting: sacctmgr show configuration": _OPERATORS,
    "slurm.cluster.accounting: sacctmgr show stats": "the first line of that form is slurmdbd's own",
    "slurm.cluster.sdiag: sdiag": "numbers, and users of this host",
    "slurm.cluster.admin_levels: sacctmgr show user": "whoever is listed as an operator is asked for again by name",
    "slurm.cluster.known_clusters: sacctmgr show cluster": _OPERATORS,
    "slurm.coordinators.coordinators: sacctmgr show account withcoord": f"{_BY_NAME}; a second line is an error",
    "slurm.coordinators.every_coordinator: sacctmgr show account withcoord": _OPERATORS,
    "slurm.database._run: argv": "the SQL puts a delimiter and seals into its records (slurmdbd_fields.py)",
    "slurm.elastic_jobs.release: scontrol release": _ACT,
    "slurm.elastic_jobs.set_comment: scontrol update": _ACT,
    "slurm.elastic_jobs.set_gpus: scontrol update": _ACT,
    "slurm.events.node_events: sacctmgr show event": SEALED,
    "slurm.extending.is_acting: scontrol ping": _OPERATORS,
    "slurm.extending.move_limit: scontrol update": _ACT,
    "slurm.extending.set_comment: scontrol update": _ACT,
    "slurm.fair_share.fair_shares: sprio": "numbers and names of queues",
    "slurm.gauges.account_shares: sshare": "a line of a user is passed over, and accounts are operators' names",
    "slurm.idle_acts.cancel: scancel": _ACT,
    "slurm.idle_acts.notify: scontrol notify": _ACT,
    "slurm.idle_acts.release: scontrol release": _ACT,
    "slurm.idle_acts.set_comment: scontrol update": _ACT,
    "slurm.licences.licences: scontrol show licenses": _OPERATORS,
    "slurm.planning.clear: scontrol update": _ACT,
    "slurm.planning.planning: scontrol show federation": _OPERATORS,
    "slurm.planning.set_limit: scontrol update": _ACT,
    "slurm.plugstack.nodes: sinfo": "names of nodes and releases of slurmd",
    "slurm.bonus.bonuses: sprio %i|%S": "numbers",
    "slurm.bonus.set_bonus: scontrol update": _ACT,
    "slurm.priority.spread: sprio %Y": "numbers",
    "slurm.process.ask: argv": SEALED,
    "slurm.release.finished_states: sacct": _OWN,
    "slurm.release.release: sacct": _OWN,
    "slurm.release.release: scontrol": _OWN,
    "slurm.release.sacct_fields: sacct": _OWN,
    "slurm.reload.probe: sbatch": "the site's own script answers, to a probe of ours",
    "slurm.reload.run_command: argv": "a command of the site's own, none of Slurm's",
    "slurm.sacct.argv: sacct": f"{_OTHER}: fetch",
    "slurm.sacct.fetch: query.argv(marks.delimiter)": SEALED,
    "slurm.server_job.cancellation: scancel": _ACT,
    "slurm.server_job.states: squeue all": "states, hosts, times and Slurm's own reasons",
    "slurm.server_job.submission: sbatch": "a number on a line of its own, to the job's own user",
    "slurm.sbatch.on_each_node: srun": "runs in a job, and adminkit reads nothing of what it prints",
    "slurm.sbatch.submit: submission(options)": "a number on a line of its own, to the job's own user",
    "slurm.scontrol_show._asked: scontrol show": f"{_OPERATORS}; of nodes and reservations {_TEXT_LAST}",
    "slurm.scontrol_show._at_once: scontrol": f"a mark ends each; {_OPERATORS}; of nodes {_TEXT_LAST}; {_ACCOUNTS}",
    "slurm.show_config._ask: scontrol show config": _OPERATORS,
    "slurm.squeue.jobs: words(fields, marks, *which)": SEALED,
    "slurm.squeue.words: squeue": f"{_OTHER}: jobs; and a hub runs it with the seal",
    "slurm.switching.holds: scontrol show partition": _OPERATORS,
    "slurm.switching.reconfigure: scontrol reconfigure": _ACT,
    "slurm.switching.update_queue: scontrol update": _ACT,
    "slurm.will_run.will_run: sbatch": SEALED,
    "slurm.steps.peaks: sstat JobID,TRESUsageInMax": "numbers and names of TRES",
}


def questions(path: Path) -> Iterator[tuple[str, bool]]:
    """(where and what, whether its answer is sealed) of a module."""
    source = path.read_text()
    if path.name != "process.py" and "adminkit.slurm.process" not in source and not any(map(source.count, PROGRAMS)):
        return  # nothing in it is one, and to parse all takes seconds
    tree = ast.parse(source)
    asks = {
        name.asname or name.name
        for one in ast.walk(tree)
        if isinstance(one, ast.ImportFrom) and one.module == "adminkit.slurm.process"
        for name in one.names
    } | (set(ASKS) if path.name == "process.py" else set())
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for function in (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)):
        lists = {id(one): one for one in ast.walk(function) if isinstance(one, ast.List) and _program(one)}
        names = {
            target.id: one.value
            for one in ast.walk(function)
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.List) and _program(one.value)
            for target in one.targets
            if isinstance(target, ast.Name)
        }
        for call in (one for one in ast.walk(function) if isinstance(one, ast.Call)):
            name = call.func.id if isinstance(call.func, ast.Name) else ""
            if name in ASKS and name in asks and call.args:
                words = _words(call.args[0], names)
                if words is not None:
                    lists.pop(id(words), None)
                asked = _text(words) if words is not None else ast.unparse(call.args[0])
                sealed = len(call.args) > ASKS[name] or any(one.arg == "seal" for one in call.keywords)
                yield f"{module}.{function.name}: {asked}", sealed
        for words in lists.values():
            yield f"{module}.{function.name}: {_text(words)}", False


def _program(words: ast.List) -> bool:
    first = words.elts[0] if words.elts else None
    return isinstance(first, ast.Constant) and first.value in PROGRAMS


def _words(asked: ast.expr, names: dict[str, ast.List]) -> ast.List | None:
    """The list that a call is given: itself, by its name, or spread at the head of another."""
    if isinstance(asked, ast.List) and asked.elts and isinstance(asked.elts[0], ast.Starred):
        asked = asked.elts[0].value
    if isinstance(asked, ast.Name):
        return names.get(asked.id)
    return asked if isinstance(asked, ast.List) and _program(asked) else None


def _text(words: ast.List) -> str:
    """Its words without options and settings: scontrol show node."""
    known = [one.value for one in words.elts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return " ".join(word for word in known if not word.startswith("-") and "=" not in word)


def test_each_question_is_sealed_or_says_why_it_need_not_be() -> None:
    found = dict(one for path in sorted(ROOT.rglob("*.py")) for one in questions(path))
    assert sorted(found) == sorted(QUESTIONS), "a new question: seal it (slurm/seal.py), or write why no text matters"
    for question, sealed in found.items():
        assert sealed == (QUESTIONS[question] == SEALED), question
