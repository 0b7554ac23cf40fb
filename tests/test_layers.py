"""The shape of the code: who imports whom, who starts programs, who writes SQL, who prints, what is loaded when.

All of it is read from the source, so a breach is named with its file and line.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.trace.comment_words import WORDS

PACKAGE = Path(__file__).parent.parent / "adminkit"

#: Left to right: a module imports only from its own stage or those before it.
STAGES: tuple[tuple[str, ...], ...] = (
    (
        "errors",
        "messages",
        "units",
        "job",
        "config",
        "installed",
        "files",
        "toml",
        "gres",
        "key_file",
        "owner",
        "users",
        "actions",
        "quote",
        "journal",
        "programs",
        "sections",
        "progress",
        "sqlite",
    ),
    ("render",),
    ("trace", "slurm"),
    ("ingest",),
    ("stats",),
    ("fit", "power"),
    ("recommend", "export", "elastic", "extend"),
    ("usage",),
    ("data",),
    ("findings",),
    ("lua",),
    ("policy",),
    ("simulate",),
    ("deploy",),
    ("tune",),
    ("economy",),
    ("feedback",),
    ("reports",),
    ("integrations", "jupyter"),
    ("doctor", "demo"),
    ("cli", "frames"),
    ("__init__.py", "__main__.py"),
)  # fmt: skip

#: Modules that may start programs: Slurm's, the helper's, sendmail's, the one that rehearses Lua, the hub's, and those
#: that make images.
STARTERS = (
    "slurm/",
    "feedback/transport/sendmail.py",
    "ingest/helper.py",
    "simulate/core.py",
    "trace/connect.py",
    "doctor/examine.py",
    "deploy/rehearse.py",
    "jupyter/programs.py",
    "data/image.py",
)

#: Never at module level: each costs a good part of a second, or tens of megabytes.
HEAVY = (
    "pandas", "numpy", "matplotlib", "plotext", "sqlite_utils", "duckdb", "pyslurm", "lupa", "prometheus_client",
    "datasette", "uvicorn",
)  # fmt: skip

#: Text that changes a database.
WRITING = re.compile(r"^\s*(INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|REPLACE)\s", re.MULTILINE)


@dataclass(frozen=True)
class Module:
    """One source file, parsed once, when a test asks for it. `stage` is its first folder, or its name."""

    path: Path

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text("utf-8"), str(self.path))

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def calls(self) -> list[tuple[str, ast.Call]]:
        """Each call with what is called, as it is written."""
        return [(ast.unparse(node.func), node) for node in self.nodes if isinstance(node, ast.Call)]

    @cached_property
    def name(self) -> str:
        return self.path.relative_to(PACKAGE).as_posix()

    @cached_property
    def stage(self) -> str:
        return self.name if self.name in ("__init__.py", "__main__.py") else re.split(r"[/.]", self.name)[0]

    def at(self, node: ast.AST) -> str:
        return f"adminkit/{self.name}:{getattr(node, 'lineno', 0)}"


MODULES = [Module(path) for path in sorted(PACKAGE.rglob("*.py"))]


def imports(module: Module) -> Iterator[tuple[str, ast.AST]]:
    """Every module named in an import, anywhere in the file."""
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, node
            if node.module.startswith("adminkit"):
                yield from ((f"{node.module}.{alias.name}", node) for alias in node.names)


def at_module_level(module: Module) -> Iterator[ast.AST]:
    """Every node that runs when the module is imported; what only type checkers read is left out."""
    waiting: list[ast.AST] = list(module.tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def rank(stage: str) -> int:
    return next(number for number, names in enumerate(STAGES) if stage in names)


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Some names that lead back to the first of them, or none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def strings(module: Module) -> Iterator[tuple[str, ast.AST]]:
    """Every string of the source but docstrings; of an f-string its fixed parts."""
    docs = {
        id(node.body[0].value)
        for node in module.nodes
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in module.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value, node


def test_the_source_is_found_and_every_part_of_it_has_its_stage() -> None:
    assert len(MODULES) > 30
    known = {name for names in STAGES for name in names}
    assert {module.stage for module in MODULES} <= known


def test_the_words_in_comments_are_spelled_by_their_registry_alone() -> None:
    prefixes = tuple(f"{word.prefix}:" for word in WORDS)
    breaches = [
        f"{module.at(node)}: {text.strip()[:60]}"
        for module in MODULES
        for text, node in strings(module)
        if any(prefix in text for prefix in prefixes)
    ]
    assert breaches == []


def test_imports_go_from_right_to_left() -> None:
    stages = {module.stage for module in MODULES}
    breaches = []
    for module in MODULES:
        for name, node in imports(module):
            stage = name.removeprefix("adminkit.").split(".")[0]
            if not name.startswith("adminkit.") or stage not in stages or stage == module.stage:
                continue
            if rank(stage) > rank(module.stage):
                breaches.append(f"{module.at(node)}: {module.stage} imports {stage}, which stands to its right")
            elif rank(stage) == rank(module.stage) > 0:
                breaches.append(f"{module.at(node)}: {module.stage} imports {stage}, which stands beside it")
    assert breaches == []


def test_no_module_comes_back_to_itself_by_its_imports() -> None:
    names = {"adminkit." + module.name.removesuffix(".py").replace("/", "."): module for module in MODULES}
    graph = {name: {other for other, _ in imports(module) if other in names} for name, module in names.items()}
    graph["adminkit.render.report"].remove("adminkit.render.frame")  # Report.to_frame(), which a reader looks for there
    assert circle(graph) == []


def test_no_lua_module_needs_itself() -> None:
    """`need` of start.lua would not end."""
    files = (PACKAGE.parent / "job_submit/adminkit").glob("*.lua")
    graph = {path.stem: set(re.findall(r'need\("(\w+)"\)', path.read_text())) for path in files}
    assert graph["decide"] >= {"routing", "recording"}
    assert circle(graph) == []


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, set()),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, {"b", "c"}),
        ({"a": {"a"}}, {"a"}),
    ],
)
def test_a_circle_is_found(graph: dict[str, set[str]], expected: set[str]) -> None:
    assert set(circle(graph)) == expected


def test_only_named_places_start_programs() -> None:
    breaches = [
        f"{module.at(node)}: imports {name}"
        for module in MODULES
        if not module.name.startswith(STARTERS)
        for name, node in imports(module)
        if name in ("subprocess", "pty", "multiprocessing")
    ]
    breaches += [
        f"{module.at(node)}: {name}"
        for module in MODULES
        for name, node in module.calls
        if re.fullmatch(r"os\.(system|popen|exec\w+|spawn\w+|posix_spawn\w*|fork\w*)", name)
    ]
    assert breaches == []


def test_only_slurm_names_slurms_programs_to_run() -> None:
    """A list that begins with one of them is an argument list."""
    programs = {"sacct", "scontrol", "sdiag", "sacctmgr", "squeue", "sinfo", "scancel", "sprio", "sbatch"}
    breaches = [
        module.at(node)
        for module in MODULES
        if module.stage != "slurm"
        for node in module.nodes
        if isinstance(node, ast.List)
        and node.elts
        and isinstance(node.elts[0], ast.Constant)
        and node.elts[0].value in programs
    ]
    assert breaches == []


def test_no_program_is_started_through_a_shell() -> None:
    breaches = [
        module.at(node)
        for module in MODULES
        for _, node in module.calls
        if any(word.arg == "shell" for word in node.keywords)
    ]
    assert breaches == []


def test_only_trace_writes_sql_that_changes_something() -> None:
    breaches = [
        f"{module.at(node)}: {text.strip().splitlines()[0][:60]}"
        for module in MODULES
        if module.stage != "trace"
        for text, node in strings(module)
        if WRITING.search(text)
    ]
    assert breaches == []


def test_only_trace_and_stats_select() -> None:
    """The trace, that is: slurmdbd's database is a source of ingest. `adminkit sql` says how to type one."""
    breaches = [
        f"{module.at(node)}: {text.strip().splitlines()[0][:60]}"
        for module in MODULES
        if module.stage not in ("trace", "stats") and not module.name.startswith(("ingest/sources/slurmdbd", "cli/sql"))
        for text, node in strings(module)
        if re.search(r"\bSELECT\b", text)
    ]
    assert breaches == []


def test_only_the_sources_of_ingest_know_sacct() -> None:
    """Sync, its rounds and the audit talk to a Source: another one can take sacct's place."""
    breaches = [
        f"{module.at(node)}: imports {name}"
        for module in MODULES
        if module.stage == "ingest" and not module.name.startswith("ingest/sources/")
        for name, node in imports(module)
        if re.match(r"adminkit\.slurm\.(sacct|seal)\b", name)
    ]
    breaches += [
        f"{module.at(node)}: {text[:60]!r}"
        for module in MODULES
        if module.stage == "ingest" and not module.name.startswith("ingest/sources/")
        for text, node in strings(module)
        if re.search(r"\bREVOKED\b|\bJobIDRaw\b", text)
    ]
    breaches += [
        f"{module.at(node)}: imports {name}"
        for module in MODULES
        if module.stage not in ("slurm", "ingest")
        for name, node in imports(module)
        if name.startswith("adminkit.slurm.sacct")
    ]
    assert breaches == []


def test_measures_select_from_the_view_run() -> None:
    """What is derived of a run is a column of trace/run_view.py. `main.job` is for counts of rows, for everybody."""
    demo = "SELECT EXISTS (SELECT 1 FROM job WHERE cluster = ? AND source = 'demo')"  # found in an index of these alone
    breaches = [
        f"{module.at(node)}: {text.strip().splitlines()[0][:60]}"
        for module in MODULES
        if module.stage == "stats"
        for text, node in strings(module)
        if re.search(r"\b(FROM|JOIN) job\b", text) and text != demo
    ]
    assert breaches == []


def test_every_reader_of_a_trace_passes_the_rule_on_whose_jobs_it_may_see() -> None:
    """trace/connect.py narrows a reader's tables; `main.` goes round it, and only counts may, and trace/months, which
    tells what SQLite has from what is archived, for writers and for who sees everybody's jobs.
    """
    counts = ("stats/status.py", "trace/sight.py", "trace/as_of.py")
    breaches = [
        f"{module.at(node)}: {name}"
        for module in MODULES
        if module.stage != "trace" and module.name != "sqlite.py"
        for name, node in module.calls
        if name.rpartition(".")[2] == "open_database" or name == "sqlite3.connect"
    ]
    breaches += [
        f"{module.at(node)}: {text.strip()[:60]}"
        for module in MODULES
        if module.name not in counts and not module.name.startswith("trace/months/")
        for text, node in strings(module)
        if re.search(r"\bmain\.(job|step|trace|outbox|rejected)\b", text)
    ]
    assert breaches == []


def test_only_feedback_talks_to_mail_servers() -> None:
    breaches = [
        f"{module.at(node)}: imports {name}"
        for module in MODULES
        if module.stage != "feedback"
        for name, node in imports(module)
        if name.split(".")[0] in ("smtplib", "ssl")
    ]
    assert breaches == []


def test_only_the_command_line_and_reports_print() -> None:
    breaches = [
        f"{module.at(node)}: {name}"
        for module in MODULES
        if module.stage not in ("cli", "render", "journal") and module.name != "deploy/load_once.py"
        for name, node in module.calls
        if name in ("print", "typer.echo", "sys.stdout.write", "sys.stderr.write")
    ]
    assert breaches == []


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    breaches = []
    for module in MODULES:
        for node in at_module_level(module):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            breaches += [f"{module.at(node)}: {name}" for name in names if name.split(".")[0] in HEAVY]
    assert breaches == []


def test_pure_stages_ask_neither_the_clock_nor_the_environment() -> None:
    breaches = [
        f"{module.at(node)}: {name}"
        for module in MODULES
        if module.stage in ("stats", "recommend", "findings", "units", "job")
        for name, node in module.calls
        if re.fullmatch(r"time\.time|datetime\.now|os\.getenv|os\.environ\.get|date\.today", name)
    ]
    assert breaches == []


def test_findings_know_measures_and_limits_but_no_settings_and_no_database() -> None:
    breaches = [
        f"{module.at(node)}: imports {name}"
        for module in MODULES
        if module.stage == "findings"
        for name, node in imports(module)
        if name == "sqlite3"
        or (name.startswith("adminkit.") and name.split(".")[1] not in ("stats", "findings", "messages"))
    ]
    assert breaches == []


def test_no_file_is_longer_than_a_sitting() -> None:
    long = {module.name: lines for module in MODULES if (lines := len(module.path.read_text().splitlines())) > 350}
    assert long == {}


#: What runs often -> what it is.
OFTEN = {
    "main(['--help']) == 0": "the help",
    "main(['report', 'accuracy', '--help']) == 0": "a command's help",
    "main(['trace', 'status', '--db', '/nonexistent']) == 1": "a report",
    "__import__('adminkit').open": "the Python API, until a frame is made",
    "load('adminkit.fit.ask', 'adminkit.fit.waiting')": "what a hub asks",
    "load('adminkit.ingest.sync', 'adminkit.cli.sync')": "sync",
    "load('adminkit.ingest.files', 'adminkit.cli.import_')": "import",
}


def test_what_runs_often_loads_nothing_heavy() -> None:
    """One process does all of it; whatever is loaded is named after the first thing that loads it."""
    code = f"""
import sys
from importlib import import_module
from adminkit.cli.main import main
def load(*names):
    return [import_module(name) for name in names]
for what, why in {OFTEN!r}.items():
    assert eval(what), why
    print("loaded for", why, *sorted(set({HEAVY!r}) & set(sys.modules)), sep=": ", file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = [line for line in done.stderr.splitlines() if line.startswith("loaded for: ")]
    assert loaded == [f"loaded for: {why}" for why in OFTEN.values()]


def test_sync_itself_loads_nothing_heavy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A whole import, once the trace is there: what sync does for every window."""
    text = tmp_path / "sacct.txt"
    text.write_text(
        "JobID|JobIDRaw|Submit|Cluster|State|Start|End|Partition|Timelimit\n"
        "1|1|1500000000|alpha|COMPLETED|1500000060|1500003660|gq|01:00:00\n"
    )
    trace = tmp_path / "trace.db"
    words = ["import", str(text), "--db", str(trace)]
    assert main(words) == 0
    assert "new 1" in capsys.readouterr().out
    code = f"""
import sys
from adminkit.cli.main import main
assert main({words!r}) == 0
print(*[name for name in ("pandas", "sqlite_utils", "matplotlib") if name in sys.modules])
"""
    again = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "unchanged 1" in again.stdout
    assert again.stdout.splitlines()[-1] == ""
