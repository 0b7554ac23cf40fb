"""tools/archive/install.sh on another root, with an archive of a few files; test_archive.py has the real one."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.packages.where import ROOT

UNIT = "usr/local/lib/systemd/system/adminkit-sync.service"
PAGE = "usr/local/share/man/man1/adminkit.1"
SETTINGS = "etc/adminkit/adminkit.toml"
PROGRAM = "usr/local/bin/adminkit"


def packed(folder: Path, release: str, *pages: str) -> Path:
    """An unpacked archive, whose Python is /bin/true by another name."""
    env = folder / "env"
    texts = {
        "env/bin/python3": "#!/bin/sh\n",
        "env/bin/adminkit": f"#!/bin/sh\necho {release}\n",
        "env/share/adminkit/etc/adminkit.toml": f"# settings of {release}\n",
        "files/systemd/adminkit-sync.service": "[Service]\nExecStart=/usr/local/bin/adminkit sync\n",
        "files/adminkit.conf": "d /var/lib/adminkit 2750 adminkit adminkit -\n",
        **{f"files/share/man/man1/{page}": f"{page} of {release}\n" for page in pages or ("adminkit.1",)},
        "install.sh": (ROOT / "tools/archive/install.sh").read_text(),
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for path in (env / "bin/python3", env / "bin/adminkit", folder / "install.sh"):
        path.chmod(0o755)
    return listed(folder)


def listed(folder: Path) -> Path:
    """The same, with the sums of what is in it."""
    listing = 'find . ! -type d ! -name SHA256SUMS -printf "%P\\n" | LC_ALL=C sort | xargs sha256sum >SHA256SUMS'
    subprocess.run(["sh", "-c", listing], cwd=folder, check=True)
    return folder


Run = Callable[..., str]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def run(root: Path) -> Run:
    def run(archive: Path, *words: str, code: int = 0) -> str:
        command = [archive / "install.sh", "--root", root, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def there(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}


def test_a_preview_names_what_apply_then_does(tmp_path: Path, root: Path, run: Run) -> None:
    archive = packed(tmp_path / "one", "1")
    said = run(archive)
    assert there(root) == set()
    assert said.endswith("nothing was done yet; add --apply to do it\n")
    named = {line.strip().lstrip("/") for line in said.splitlines()[:-1]}
    run(archive, "--apply")
    home = {name for name in there(root) if name.startswith("usr/local/lib/adminkit/")}
    assert there(root) - home == named - {"usr/local/lib/adminkit"} >= {UNIT, PAGE, SETTINGS, PROGRAM}
    assert str((root / PROGRAM).readlink()) == "/usr/local/lib/adminkit/bin/adminkit"


def test_a_prefix_is_where_programs_go_and_what_units_start(tmp_path: Path, root: Path, run: Run) -> None:
    run(packed(tmp_path / "one", "1"), "--prefix", "/opt/adminkit-1.0", "--apply")
    assert "ExecStart=/opt/adminkit-1.0/bin/adminkit sync" in (root / UNIT).read_text()
    assert (root / "opt/adminkit-1.0/lib/adminkit/bin/adminkit").exists()
    assert (root / "opt/adminkit-1.0/share/man/man1/adminkit.1").exists()


def test_an_upgrade_keeps_settings_and_takes_away_what_the_new_release_lacks(
    tmp_path: Path, root: Path, run: Run
) -> None:
    run(packed(tmp_path / "one", "1", "adminkit.1", "old.1"), "--apply")
    (root / SETTINGS).write_text("# ours\n")
    (root / "usr/local/share/man/man1/theirs.1").write_text("")
    said = run(packed(tmp_path / "two", "2"), "--apply")
    assert "/etc/adminkit/adminkit.toml stays as it is" in said and "nothing was done" not in said
    assert (root / SETTINGS).read_text() == "# ours\n"
    assert (root / PAGE).read_text() == "adminkit.1 of 2\n"
    assert "echo 2" in (root / "usr/local/lib/adminkit/bin/adminkit").read_text()
    pages = {path.name for path in (root / PAGE).parent.iterdir()}
    assert pages == {"adminkit.1", "theirs.1"}
    assert [path.name for path in (root / "usr/local/lib").iterdir() if path.name.startswith("adminkit")] == [
        "adminkit"
    ]


@pytest.mark.parametrize("gone", ["usr/local/lib/adminkit", PROGRAM])
def test_an_upgrade_that_was_interrupted_is_repeated(gone: str, tmp_path: Path, root: Path, run: Run) -> None:
    """Killed between two renames, or before the last one; with pages of the new release that were put already."""
    run(packed(tmp_path / "one", "1"), "--apply")
    archive = packed(tmp_path / "two", "2", "adminkit.1", "new.1")
    (root / PAGE).with_name("new.1").write_text("new.1 of 2\n")
    if gone == PROGRAM:
        (root / gone).unlink()
    else:
        (root / gone).rename(root / f"{gone}.old")
    run(archive, "--apply")
    assert "echo 2" in (root / "usr/local/lib/adminkit/bin/adminkit").read_text()
    run(archive, "--remove", "--apply")
    assert there(root) == {SETTINGS}


def test_removal_leaves_settings_and_what_others_put_there(tmp_path: Path, root: Path, run: Run) -> None:
    archive = packed(tmp_path / "one", "1")
    run(archive, "--apply")
    theirs = root / "usr/local/share/man/man1/theirs.1"
    theirs.write_text("")
    before = there(root)
    assert "nothing was done yet" in run(archive, "--remove")
    assert there(root) == before
    run(archive, "--remove", "--apply")
    assert there(root) == {SETTINGS, str(theirs.relative_to(root))}
    assert "install.sh has put nothing into" in run(archive, "--remove", "--apply", code=1)


def _altered(archive: Path, root: Path) -> None:
    (archive / "env/bin/adminkit").write_text("#!/bin/sh\necho altered\n")


def _more(archive: Path, root: Path) -> None:
    (archive / "env/bin/more").write_text("")


def _link(archive: Path, root: Path) -> None:
    (archive / "files/share/more").symlink_to("/etc/passwd")


def _less(archive: Path, root: Path) -> None:
    (archive / "files/share/man/man1/adminkit.1").unlink()


def _page(archive: Path, root: Path) -> None:
    (root / PAGE).parent.mkdir(parents=True)
    (root / PAGE).write_text("theirs\n")


def _program(archive: Path, root: Path) -> None:
    (root / PROGRAM).parent.mkdir(parents=True)
    (root / PROGRAM).symlink_to("/opt/theirs")


def _home(archive: Path, root: Path) -> None:
    (root / "usr/local/lib/adminkit").mkdir(parents=True)


def _package(archive: Path, root: Path) -> None:
    (root / "usr/lib/adminkit").mkdir(parents=True)


def _python(archive: Path, root: Path) -> None:
    (archive / "env/bin/python3").write_text("#!/bin/sh\nexit 1\n")
    listed(archive)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_altered, "is not as it was packed"),
        (_more, "is not as it was packed"),
        (_link, "is not as it was packed"),
        (_less, "is not as it was packed"),
        (_page, f"/{PAGE} is there, and install.sh did not put it there"),
        (_program, f"/{PROGRAM} is there, and install.sh did not put it there"),
        (_home, "/usr/local/lib/adminkit is there, and install.sh did not put it there"),
        (_python, "its Python does not run in"),
        (_package, "a package of adminkit is installed"),
    ],
)  # fmt: skip
def test_what_is_refused_is_refused_before_anything_is_done(
    change: Callable[[Path, Path], None], expected: str, tmp_path: Path, root: Path, run: Run
) -> None:
    archive = packed(tmp_path / "one", "1")
    change(archive, root)
    before = there(root)
    said = run(archive, "--apply", code=1)
    assert expected in said and "\nhint: " in said, said
    assert there(root) == before


@pytest.mark.parametrize(
    "words",
    [
        ("--prefix", "opt"), ("--prefix", "/opt/a b"), ("--prefix", "/opt/../etc"), ("--prefix", "/opt/a;b"),
        ("--prefix", ""), ("--prefix", "/opt/"), ("--prefix",), ("--aply",),
    ],
)  # fmt: skip
def test_options_that_cannot_be_meant_are_refused(words: tuple[str, ...], tmp_path: Path, root: Path, run: Run) -> None:
    assert "hint: " in run(packed(tmp_path / "one", "1"), "--apply", *words, code=1)
    assert there(root) == set()
