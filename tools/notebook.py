"""The example notebook: `python -m tools.notebook` runs it on the demo's trace and writes its outputs into it.

Its code cells run as they stand, without Jupyter. What a cell prints and the value of its last line are its outputs.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from adminkit.cli import demo
from tools.docs import DOCS

NOTEBOOK = DOCS / "examples" / "accuracy.ipynb"


def read() -> dict[str, Any]:
    return dict(json.loads(NOTEBOOK.read_text()))


def run(notebook: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The notebook with the outputs of its cells, run in `folder`, which has the demo's trace as demo.db."""
    names: dict[str, Any] = {}
    count = 0
    cells = []
    with contextlib.chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                cell = {**cell, "execution_count": count, "outputs": _outputs("".join(cell["source"]), names, count)}
            cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    outputs: list[dict[str, Any]] = []
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), "<cell>", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names) if last else None  # type: ignore[attr-defined]
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        outputs.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        demo.make(Path(folder) / "demo.db")
        NOTEBOOK.write_text(json.dumps(run(read(), Path(folder)), indent=1, ensure_ascii=False) + "\n")
    print(f"wrote {NOTEBOOK}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
