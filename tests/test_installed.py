"""Data files: a checkout's own, else what the wheel brought; and one that is missing is named."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from adminkit import installed
from adminkit.errors import AdminkitError
from adminkit.installed import data_file

FILE = ("etc", "adminkit.toml")


def put(folder: Path, *parts: str) -> Path:
    path = folder.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation that holds etc/adminkit.toml, whose modules lie in a folder that is no checkout (yet)."""
    monkeypatch.setattr(installed, "CHECKOUT", tmp_path / "checkout")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / "prefix"))
    put(tmp_path / "prefix" / "share" / "adminkit", *FILE)
    return tmp_path / "prefix"


def test_this_checkout_has_its_own() -> None:
    assert data_file(*FILE) == Path(__file__).parent.parent / "etc" / "adminkit.toml"


def test_without_a_checkout_the_installed_one_is_meant(prefix: Path, tmp_path: Path) -> None:
    put(tmp_path / "checkout", *FILE)  # without pyproject.toml it is somebody else's
    assert data_file(*FILE) == prefix / "share" / "adminkit" / "etc" / "adminkit.toml"


def test_a_checkouts_own_wins(prefix: Path, tmp_path: Path) -> None:
    put(tmp_path / "checkout", "pyproject.toml")
    own = put(tmp_path / "checkout", *FILE)
    assert data_file(*FILE) == own


def test_a_missing_one_is_named_with_what_to_do(prefix: Path) -> None:
    with pytest.raises(
        AdminkitError, match=r"etc/nosuch\.toml is missing: there is no .*share/adminkit/etc/nosuch"
    ) as error:
        data_file("etc", "nosuch.toml")
    assert "pip install" in error.value.hint
