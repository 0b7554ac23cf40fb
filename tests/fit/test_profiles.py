"""A site's profiles: what the file may say, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.fit.place import board
from adminkit.fit.profiles import Profile, check, load_profiles, named, smaller_profiles
from adminkit.fit.request import Request
from adminkit.installed import data_file
from adminkit.slurm.room import Vector
from tests.fit.rooms import MIB, make, node

GIB = 1 << 30
ROOM = board(make([node("n1"), node("n2", away="drained")]))


def read(folder: Path, text: str) -> tuple[Profile, ...]:
    (folder / "p.toml").write_text(text)
    return load_profiles(folder / "p.toml")


def test_the_example_is_read_whole() -> None:
    found = load_profiles(data_file("etc", "profiles.toml"))
    assert [one.key for one in found] == ["notebook", "gpu", "desktop"]
    assert found[1].request == Request("gq-short", 4, 16 * GIB, 1, None, 3 * 3600)
    assert (found[1].title("ja"), found[1].title("fr")) == ("GPU 1 枚", "One GPU")
    assert (found[2].modules, found[1].max_mem) == (("cuda", "vscode"), 24 * GIB)
    assert [(one.idle, one.warn) for one in found] == [(None, None), (7200, 600), (None, None)]


def test_a_warning_of_ten_minutes_is_the_default(tmp_path: Path) -> None:
    (found,) = read(tmp_path, "[a]\nidle = '1h30m'\n")
    assert (found.idle, found.warn) == (5400, 600)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a]\ncpu = 2\n", "no such key of a profile"),
        ("[a]\ncpus = '2'\n", "cpus is not a number"),
        ("[a]\ncpus = true\n", "cpus is not a number"),
        ("[a]\ntime = '90m'\n", "not a time limit"),
        ("[a]\npartition = '--wrap=x y'\n", "no such queue"),
        ("[a]\nname.fr = 'x'\n", "is not a name"),
        ("[a]\nmodules = [1]\n", "not a list of names"),
        ("[a]\nidle = 7200\n", "idle is not a text"),
        ("[a]\nidle = '90'\n", "no unit"),
        ("[a]\nidle = '2h'\nwarn = '10'\n", "no unit"),
        ("[a]\nidle = '2 days'\n", "not a duration"),
        ("[a]\nidle = '5m'\n", "with a warning of 600 s"),
        ("[a]\nidle = '5m'\nwarn = '5m'\n", "with a warning of 300 s"),
        ("[a]\nidle = '5m'\nwarn = '9s'\n", "with a warning of 9 s"),
        ("[a]\nwarn = '5m'\n", "warn is set without idle"),
        ("[a]\nkernel = '--debug'\n", "is not the name of a kernel"),
        ("[a]\nkernel = 'a b'\n", "is not the name of a kernel"),
        ("[a]\nkernel = ''\n", "is not the name of a kernel"),
        ("a = 1\n", "is not a section"),
        ("[a\n", "is not TOML"),
        ("\n".join(f"[p{n}]" for n in range(501)), "more than 500"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(AdminkitError, match=message):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "found", "why"),
    [
        ("cpus = 4\nmem = '8G'", [], "in order"),
        ("gpus = '9'", ["error"], "no node has nine GPUs"),
        ("gpus = '8'", [], "a node that is drained, or full, is no error"),
        ("time = '4321'", ["error"], "longer than the queue's maximum"),
        ("partition = 'gx'", ["error"], "no such queue"),
        ("image = 'docker://a'", ["warning"], "a hub that starts no containers refuses it"),
        ("kernel = 'ir'", [], "a kernel"),
        ("cpus = 8\nmax_cpus = 8", [], "no more than it asks for"),
        ("cpus = 8\nmax_cpus = 12", ["warning"], "1.5 times, and more than the node has"),
        ("cpus = 2\nmax_cpus = 4", ["warning", "warning"], "twice, and four of them fit"),
        ("gpus = '8'\nmem = '8G'\nmax_mem = '12G'", [], "one fits, with its maximum"),
        ("mem = '30G'\nmax_mem = '40G'", ["warning"], "two fit, and not with their maxima"),
        ("mem = '8G'\nmax_mem = '12289M'\ngpus = '8'", ["warning"], "a MiB above 1.5"),
    ],
)
def test_what_no_node_holds_is_an_error_and_what_may_overrun_a_warning(
    tmp_path: Path, text: str, found: list[str], why: str
) -> None:
    problems = check(read(tmp_path, f"[a]\n{text}\n"), ROOM)
    assert [one.severity for one in problems] == found, (why, problems)


def test_nodes_of_other_sizes_count_one_by_one() -> None:
    small = node("s1", has=Vector(2, 4000 * MIB, {}))
    one = Profile("a", {}, Request(cpus=2, mem=2000 * MIB), max_mem=5000 * MIB)
    (ratio, crowd) = check([one], board(make([small])))
    assert (ratio.severity, crowd.text) == ("warning", "as many as fit on s1 (1) may together use 5000M of 4000M")


def test_smaller_ones_come_from_the_nearest() -> None:
    profiles = [
        Profile(key, {}, Request(cpus=cpus, mem=mem * GIB, gpus=gpus))
        for key, cpus, mem, gpus in (
            ("a", 8, 32, 4),
            ("b", 8, 32, 2),
            ("c", 4, 16, 1),
            ("d", 16, 8, 0),
            ("e", 8, 32, 4),
        )
    ]
    assert [one.key for one in smaller_profiles(profiles, named(profiles, "a"))] == ["b", "c"]
    with pytest.raises(AdminkitError, match="no such profile"):
        named(profiles, "nosuch")
