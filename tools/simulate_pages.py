"""The examples of docs/simulate: `python -m tools.simulate_pages` runs the scenario of each page and writes its answer.

Each runs on two months of the demo's trace, on the site that it shows; 20 replicates each, a few minutes in all. Run it
when the simulator says something else.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import tempfile
import textwrap
from pathlib import Path

from adminkit.cli import demo
from adminkit.cli.main import main as adminkit
from tools.docs import DOCS

PAGES = DOCS / "simulate"
COMMAND = "adminkit simulate scenarios scenarios.toml --db demo.db --site site.toml --until 2017-09-01 --force"
#: What the page of `policy` says of it.
DAY = """\
version = 1
[[rules]]
name = "single-gpu-day"
queues = ["gq"]
classes = ["single-gpu"]
max_limit = "1-00:00:00"
"""
_TOML = re.compile(r"```toml\n(.*?)```", re.DOTALL)
_ANSWER = re.compile(rf"(```\n\$ {re.escape(COMMAND)}\n).*?(```)", re.DOTALL)
#: As a terminal of this width has it.
_WRAP = textwrap.TextWrapper(116, subsequent_indent=" " * 10, break_on_hyphens=False)


def prepare(folder: Path) -> None:
    """The files that the command of the pages names."""
    demo.make(folder / "demo.db")
    (folder / "day.toml").write_text(DAY)
    _run("adminkit simulate site --db demo.db --output site.toml", folder)


def _run(command: str, folder: Path) -> None:
    with contextlib.chdir(folder):
        if adminkit(command.split()[1:]):
            raise SystemExit(f"{command}: failed")


def written(page: str, folder: Path) -> str:
    """The page with the answer to its scenario."""
    found = _TOML.search(page)
    if found is None or not _ANSWER.search(page):
        raise ValueError("the page has no scenario, or not the command")
    (folder / "scenarios.toml").write_text(found[1])
    _run(f"{COMMAND} --keep kept -f json -o answer.json", folder)
    answers = json.loads((folder / "answer.json").read_text())["meta"]["answers"]
    shown = [line for one in answers[1:] for line in _WRAP.wrap(f"answer    {one}")]
    return _ANSWER.sub(lambda match: match[1] + "\n".join(shown) + "\n" + match[2], page)


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name))
        for path in sorted(PAGES.glob("*.md")):
            path.write_text(written(path.read_text(), Path(name)))
            print(f"wrote {path}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
