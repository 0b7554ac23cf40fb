"""tools/release: one number, the list of parts, checksums, and a signature by a key that is thrown away."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import pytest

import adminkit
from tests.packages.test_debian import pins
from tools.docs import ROOT
from tools.release import check, make, number, parts, sums


def test_the_number_is_the_same_everywhere() -> None:
    assert set(number.found(ROOT).values()) == {adminkit.__version__}


def copy(to: Path) -> Path:
    """A folder with the files that hold the number."""
    for name in number.PLACES:
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, to / name)
    return to


def test_a_number_is_written_everywhere_with_an_entry_in_each_changelog(tmp_path: Path) -> None:
    root = copy(tmp_path)
    number.write(root, "7.8.9", datetime(2027, 3, 1, 12, tzinfo=UTC))
    assert set(number.found(root).values()) == {"7.8.9"}
    assert number.epoch(root) == 1803902400
    debian = (root / "debian/changelog").read_text()
    assert f"adminkit ({adminkit.__version__}) " in debian, "the entry before stays"
    assert "\n* Mon Mar 01 2027 adminkit maintainers" in (root / "adminkit.spec").read_text()


@pytest.mark.parametrize("wanted", ["7.8", "7.8.9rc1", "v7.8.9", "", adminkit.__version__])
def test_what_is_no_new_number_is_refused(tmp_path: Path, wanted: str) -> None:
    root = copy(tmp_path)
    with pytest.raises(SystemExit, match="error: "):
        number.write(root, wanted, datetime.now(UTC))
    assert set(number.found(root).values()) == {adminkit.__version__}


def test_a_place_that_was_forgotten_is_named(tmp_path: Path) -> None:
    root = copy(tmp_path)
    spec = root / "adminkit.spec"
    spec.write_text(spec.read_text().replace(f"Version:        {adminkit.__version__}", "Version:        0.0.1"))
    assert check.numbers(root, tmp_path) == f"adminkit.spec has 0.0.1, not {adminkit.__version__}"


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("# C\n\n## Unreleased\n\n## 1.0.0\n\n- a\n", "", "as it should be"),
        ("# C\n\n## Unreleased\n\n- a\n", "CHANGELOG.md begins with Unreleased, not", "the section has no number yet"),
        ("# C\n\n## 1.0.0\n\n- a\n", "CHANGELOG.md begins with 1.0.0, not", "the next changes have no place"),
        ("# C\n\n## Unreleased\n\n- b\n\n## 1.0.0\n", "CHANGELOG.md has lines under Unreleased: - b", "it came later"),
    ],
)
def test_the_changelog_has_the_section_of_the_release(text: str, expected: str, why: str) -> None:
    said = check.changelog_wrong(text, "1.0.0")
    assert said.startswith(expected) and bool(said) == bool(expected), why


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A folder of a release, with its checksums."""
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "a.tar.gz").write_bytes(b"a")
    (folder / "b 1.deb").write_bytes(b"b")
    sums.write(folder)
    return folder


def test_sha256sum_reads_the_checksums(made: Path) -> None:
    done = subprocess.run(["sha256sum", "--strict", "-c", sums.NAME], cwd=made, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "a.tar.gz: OK\nb 1.deb: OK\n")


def test_a_file_that_changed_came_or_went_is_named(made: Path) -> None:
    assert sums.wrong(made) == []
    (made / "a.tar.gz").write_bytes(b"A")
    (made / "b 1.deb").rename(made / "c.deb")
    assert sums.wrong(made) == [
        f"c.deb is not listed in {sums.NAME}", "a.tar.gz is not what was listed", "b 1.deb is missing",
    ]  # fmt: skip
    (made / sums.NAME).write_text("")
    assert f"no {sums.NAME}" in sums.wrong(made)


def test_builds_that_differ_are_named(tmp_path: Path) -> None:
    for name, there in (("one", {"a": b"1", "b": b"1"}), ("other", {"a": b"1", "b": b"2", "c": b"1"})):
        (tmp_path / name).mkdir()
        for file, data in there.items():
            (tmp_path / name / file).write_bytes(data)
    assert make.different(tmp_path / "one", tmp_path / "other") == ["b", "c"]


def test_both_passes_build_the_same_commit_whatever_is_committed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A builder that is the same in both passes, then one that is not."""
    root = copy(tmp_path / "root")
    (root / "Makefile").write_text("all:\n")
    (root / "word").write_text("first")
    git = ("git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run([*git, *words], check=True)
    monkeypatch.setattr(parts, "write", lambda root, path, archive: path.write_text("{}"))
    script = f"cp word built; echo second >{root}/word; {shlex.join(git)} commit -qam second || true"
    monkeypatch.setattr(make, "KINDS", (make.Kind("word", ("sh", "-ec", script), "built"),))
    assert make.release(root) == 0
    assert (make.folder(root) / "built").read_text() == "first"
    assert sums.wrong(make.folder(root)) == []
    monkeypatch.setattr(make, "KINDS", (make.Kind("path", ("sh", "-ec", "pwd >built"), "built"),))
    assert make.release(root) == 1
    assert "error: built is not the same in both passes" in capsys.readouterr().err


def test_a_built_catalogue_has_no_date_of_the_build() -> None:
    built = files("adminkit").joinpath("locale").joinpath("ja.mo")  # as adminkit.messages finds it
    assert b"\nPOT-Creation-Date: 1970-01-01 00:00+0000\n" in built.read_bytes()


def test_what_cannot_be_built_here_is_said() -> None:
    kind = make.Kind("deb", ("make", "deb"), "*.deb", needs=("sh", "no-such-program"), target="deb")
    assert make.obstacle(kind, "all:\n") == "the Makefile has no deb"
    assert make.obstacle(kind, "all:\n\ndeb:\n") == "no no-such-program"
    assert make.obstacle(make.KINDS[0], "") == ""


def test_an_empty_folder_holds_nothing(tmp_path: Path) -> None:
    for one in (check.complete, check.checksums, check.signature, check.parts_listed, check.runs):
        assert one(ROOT, tmp_path), one.__name__
        with pytest.raises(check.NotRun, match="make release"):
            one(ROOT, tmp_path / "none")


# The signature.


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A GnuPG home with two keys that nobody keeps, and each public key in a file."""
    if not (shutil.which("gpg") and shutil.which("gpgv")):
        pytest.skip("not run: gpg is not installed")
    home = tmp_path_factory.mktemp("gpg")
    home.chmod(0o700)
    env = {**os.environ, "GNUPGHOME": str(home)}
    for name in ("release", "other"):
        words = ["--batch", "--passphrase", "", "--quick-generate-key", name, "ed25519", "sign", "never"]
        subprocess.run(["gpg", *words], env=env, check=True, capture_output=True)
        out = subprocess.run(["gpg", "--armor", "--export", name], env=env, check=True, capture_output=True).stdout
        (home / f"{name}.asc").write_bytes(out)
    yield home
    subprocess.run(["gpgconf", "--kill", "all"], env=env, check=False, capture_output=True)


@pytest.fixture
def signed(made: Path, keys: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GNUPGHOME", str(keys))
    sums.sign(made, "release")
    return made


def test_a_signature_is_by_the_key_of_the_release_and_of_these_bytes(signed: Path, keys: Path) -> None:
    assert len(sums.signer(signed, keys / "release.asc") or "") == 40
    assert sums.signer(signed, keys / "other.asc") is None, "a key that gpg knows is not the release's"
    with (signed / sums.NAME).open("a") as file:
        file.write(f"{'0' * 64}  more\n")
    assert sums.signer(signed, keys / "release.asc") is None, "the list was changed after it was signed"


def test_the_check_says_what_a_signature_lacks(signed: Path, keys: Path) -> None:
    assert check.signature(ROOT, signed, keys / "release.asc") == ""
    assert "is not by a key of" in check.signature(ROOT, signed, keys / "other.asc")
    with pytest.raises(check.NotRun, match="KEY=file"):
        check.signature(ROOT, signed)
    (signed / sums.SIGNATURE).unlink()
    assert check.signature(ROOT, signed, keys / "release.asc").startswith(f"no {sums.SIGNATURE}")


def test_operators_verify_it_with_gpg_alone(signed: Path, keys: Path, tmp_path: Path) -> None:
    """As docs/install.md has it."""
    home = tmp_path / "theirs"
    home.mkdir(mode=0o700)
    env = {**os.environ, "GNUPGHOME": str(home)}
    subprocess.run(["gpg", "--import", keys / "release.asc"], env=env, check=True, capture_output=True)
    words = ["gpg", "--verify", sums.SIGNATURE, sums.NAME]
    try:
        assert subprocess.run(words, cwd=signed, env=env, capture_output=True).returncode == 0
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], env=env, check=False, capture_output=True)


def test_a_key_that_gpg_lacks_signs_nothing(made: Path, keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNUPGHOME", str(keys))
    with pytest.raises(SystemExit, match="could not be signed with nobody"):
        sums.sign(made, "nobody")
    assert not (made / sums.SIGNATURE).exists()


# The list of parts.


def test_the_list_of_parts_is_that_of_the_wheels() -> None:
    text = "a-b==1.0 \\\n    --hash=sha256:11 \\\n    --hash=sha256:22\n"
    text += "c==2 ; python_version < '3.12' \\\n    --hash=sha256:33\n"
    document = {"components": [component("a-b", "1.0", "11", "22"), component("c", "2", "33")]}
    assert parts.listed(document) == parts.pinned(text)
    for other in (component("c", "2.1", "33"), component("c", "2", "44"), component("d", "2", "33")):
        document["components"][1] = other
        assert parts.listed(document) != parts.pinned(text)


def component(name: str, version: str, *hashes: str) -> dict[str, object]:
    places = [{"hashes": [{"alg": "SHA-256", "content": one} for one in hashes]}]
    return {"name": name, "version": version, "externalReferences": places}


def test_every_pin_is_read_with_its_hashes() -> None:
    found = parts.pinned((ROOT / "requirements.txt").read_text())
    assert {name for name, _, _ in found} == set(pins(ROOT / "requirements.txt"))
    assert all(hashes for _, _, hashes in found)


def archive(to: Path, *lines: str) -> Path:
    """An archive that only says what its Python was built from."""
    name = f"adminkit-{adminkit.__version__}-x86_64"
    sources = to / name / "env/lib/adminkit/SOURCES"
    sources.parent.mkdir(parents=True)
    sources.write_text("".join(f"{line}\n" for line in lines))
    subprocess.run(["tar", "-C", to, "-czf", to / f"{name}.tar.gz", name], check=True)
    return to / f"{name}.tar.gz"


def test_what_the_archives_python_was_built_from_is_read(tmp_path: Path) -> None:
    made = archive(tmp_path, "python3.13_3.13.5-2+deb13u5", "sqlite_3.53.2")
    assert parts.built_from(made) == [("python3.13", "3.13.5-2+deb13u5"), ("sqlite", "3.53.2")]
    assert parts.wanted(ROOT, made) - parts.wanted(ROOT, None) == {
        ("python3.13", "3.13.5-2+deb13u5", frozenset()),
        ("sqlite", "3.53.2", frozenset()),
    }


def test_an_archive_that_does_not_say_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "word").write_text("")
    subprocess.run(["tar", "-C", tmp_path, "-czf", tmp_path / "archive.tar.gz", "word"], check=True)
    with pytest.raises(SystemExit, match="does not say what its Python was built from"):
        parts.built_from(tmp_path / "archive.tar.gz")


@pytest.mark.soak
def test_the_program_that_lists_parts_lists_those(tmp_path: Path) -> None:
    pytest.importorskip("cyclonedx_py", reason="not run: make .venv/.release")
    made = archive(tmp_path, "python3.13_3.13.5-2+deb13u5", "openssl_3.5.7-1~deb13u2", "sqlite_3.53.2")
    parts.write(ROOT, tmp_path / "one", made)
    parts.write(ROOT, tmp_path / "again", made)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "again").read_bytes()
    document = json.loads((tmp_path / "one").read_text())
    assert parts.listed(document) == parts.wanted(ROOT, made)
    references = [one["bom-ref"] for one in document["components"]]
    assert len(references) == len(set(references)), "each part has a name of its own"
    purls = {one["name"]: one.get("purl") for one in document["components"]}
    assert purls["python3.13"] == "pkg:deb/debian/python3.13@3.13.5-2%2Bdeb13u5?arch=source"
    assert purls["sqlite"] is None
    component = document["metadata"]["component"]
    assert (component["name"], component["version"]) == ("adminkit", adminkit.__version__)
