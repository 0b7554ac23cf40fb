"""docs/ingest-spec.md and sacct.h say what is so."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from adminkit.ingest.spec import KINDS
from tests.native import helper

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "adminkit" / "native"


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
    text = (NATIVE / "common" / "sacct.h").read_text()
    for kind, outputs in KINDS.items():
        assert re.search(rf"^ \*   {kind} ", text, flags=re.MULTILINE), kind
        for output in outputs:
            assert output in text, (kind, output)


def test_both_builds_compile_every_file_of_every_folder() -> None:
    """A folder is its own list; one that is added needs its line in CMakeLists.txt."""
    top = (NATIVE / "CMakeLists.txt").read_text()
    folders = sorted(path.name for path in NATIVE.iterdir() if path.is_dir())
    assert re.findall(r"^add_subdirectory\((\w+)\)$", top, flags=re.MULTILINE) == folders
    for folder in (one for one in folders if any((NATIVE / one).glob("*.c"))):
        assert "file(GLOB SOURCES CONFIGURE_DEPENDS *.c)" in (NATIVE / folder / "CMakeLists.txt").read_text()
    command = ("make", "--dry-run", "--always-make", "-C", ROOT / "tests" / "c", "check", "asan")
    compiled = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"native/(\w+/\w+\.c)\b", compiled)) == {
        path.relative_to(NATIVE).as_posix() for path in NATIVE.rglob("*.c")
    }


def test_what_all_programs_share_needs_nothing_but_c() -> None:
    """common/ has no I/O: whoever parses is given bytes, and gives back values."""
    allowed = {"emmintrin.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h"}
    own = {path.name for path in (NATIVE / "common").glob("*.h")}
    for path in (NATIVE / "common").glob("*.[ch]"):
        text = path.read_text()
        assert set(re.findall(r'^#include [<"](.*)[>"]$', text, flags=re.MULTILINE)) <= allowed | own, path.name
        calls = re.findall(r"\b(fopen|fputs|fread|fwrite|printf|fprintf|getenv|stdin|stdout|stderr)\b", text)
        assert calls == [], path.name
