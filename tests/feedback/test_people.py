"""Who a user is on this host, and where their letters go."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.feedback.people import read_addresses, system_name
from adminkit.feedback.prefs import Prefs
from tests.feedback.site import people, settings


@pytest.mark.parametrize(
    ("chosen", "mapped", "domain", "expected", "why"),
    [
        (None, {}, "example.org", "ada@example.org", "user@domain"),
        (None, {"ada": "lovelace@lab.example"}, "example.org", "lovelace@lab.example", "the map"),
        ("me@home.example", {"ada": "lovelace@lab.example"}, "example.org", "me@home.example", "their own choice"),
        (None, {"bob": "b@lab.example"}, None, None, "none at all"),
        (None, {}, "exa mple.org\r\nBcc: x@y.z", None, "a domain that is none is no address"),
    ],
)
def test_an_address(
    chosen: str | None, mapped: dict[str, str], domain: str | None, expected: str | None, why: str
) -> None:
    assert people(settings(domain=domain), mapped).address("ada", Prefs(address=chosen)) == expected, why


def test_a_user_name_that_is_no_address_gets_none() -> None:
    assert people().address("ada\r\nBcc: eve@example.org, x", Prefs()) is None


def test_a_map_of_addresses(tmp_path: Path) -> None:
    file = tmp_path / "addresses"
    file.write_text("# who where\nada  lovelace@lab.example\n\nbob: bob@x.example # as in aliases\n")
    assert read_addresses(file) == {"ada": "lovelace@lab.example", "bob": "bob@x.example"}
    assert read_addresses(None) == {}


@pytest.mark.parametrize(
    "line", ["ada", "ada a@b.c d@e.f", "ada /dev/null", "ada |/bin/sh", "ada: :include:/etc/x", "ada a@b.c,d@e.f"]
)
def test_a_slip_in_the_map_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    file = tmp_path / "addresses"
    file.write_text(f"bob b@c.d\n{line}\n")
    with pytest.raises(AdminkitError, match="line 2: not USER ADDRESS"):
        read_addresses(file)


def test_the_hosts_own_users_are_known() -> None:
    assert system_name(0) == "root"
    assert system_name(3_999_999_999) is None
    assert system_name(-5) is None
