"""No message advises to remove a file that was not proven broken: whoever follows it may lose the only copy."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1] / "adminkit"
_ADVICE: Final = re.compile(r"\b(remove (it|them|this|that|what|the file)|delete (it|them|the file)|rm -?[\w{/])", re.I)
#: Without one of these words a file has no such advice: a parser need not read it.
_VERBS: Final = re.compile(r"remove|delete|\brm\b", re.I)
#: Texts that may say so -> why.
ALLOWED: Final = {
    "a copy of your jobs, for recommend and my: yours, remove it as you like": "it is made again from slurmdbd",
    "; root can remove it": "its owner asked to be forgotten",
    "install adminkit again; in a checkout: rm .venv/.built && make .venv/.built": "a stamp of make's",
    "install the pyslurm of this Slurm's release (25.11.x for 25.11; docs/releases.md), or remove it": "a package",
}


def texts_of(source: str) -> set[str]:
    """Every text of a module but docstrings."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, documented)}
    found = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return found - {text for text in docs if text}


def test_no_message_advises_to_remove_a_file_that_was_not_proven_broken() -> None:
    advice = {
        (str(path.relative_to(ROOT)), text)
        for path in ROOT.rglob("*.py")
        if _VERBS.search(source := path.read_text())
        for text in texts_of(source)
        if _ADVICE.search(text) and text not in ALLOWED
    }
    assert advice == set()
