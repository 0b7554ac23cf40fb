"""docs/ingest-spec.md and sacct.h say what is so."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from adminkit.ingest.spec import KINDS
from tests.native import helper

ROOT = Path(__file__).parents[2]


def test_the_examples_of_the_manual_print_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "adminkit-ingest").symlink_to(Path(helper.program()).absolute())
    text = (ROOT / "docs" / "ingest-spec.md").read_text()
    tried = 0
    for block in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL):
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE):
            done = subprocess.run(
                ["sh", "-c", command],
                cwd=tmp_path,
                env={**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
                capture_output=True,
                text=True,
                check=True,
            )
            assert done.stdout == expected
            tried += 1
    assert tried == 5


def test_the_header_explains_every_kind() -> None:
    text = (ROOT / "adminkit" / "native" / "sacct.h").read_text()
    for kind, outputs in KINDS.items():
        assert re.search(rf"^ \*   {kind} ", text, flags=re.MULTILINE), kind
        for output in outputs:
            assert output in text, (kind, output)


def test_both_builds_name_the_same_files() -> None:
    cmake = (ROOT / "adminkit" / "native" / "CMakeLists.txt").read_text()
    make = (ROOT / "tests" / "c" / "Makefile").read_text()
    files = {path.name for path in (ROOT / "adminkit" / "native").glob("*.c")}
    for name, text in (("CMakeLists.txt", cmake), ("Makefile", make)):
        assert set(re.findall(r"\b(\w+\.c)\b", text)) & files == files, name
