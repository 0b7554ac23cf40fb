"""A cluster described in a file: TOML and JSON say the same, and a wrong file is refused with line and key."""

from __future__ import annotations

import json
import os
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from adminkit.errors import AdminkitError
from adminkit.slurm import site_file
from adminkit.slurm.site import (
    Association,
    Site,
    SiteNode,
    SiteQos,
    SiteQueue,
    SiteScheduler,
    keys_of,
    made_up,
    sized,
)
from adminkit.slurm.site_file import FORMS, MOST, Form, load_site, site_text, writable

ROOT = Path(__file__).resolve().parents[2]
GQ = SiteQueue("gq", 3600, 259200, is_default=True, gpu_types=frozenset({"p100"}), deny_accounts=frozenset({"b", "a"}))
NODES = (
    SiteNode("n1", 40, 256 << 30, {"a100": 4, "gpu": 2}, frozenset({"ib"}), frozenset({"gq", "debug"})),
    SiteNode("n2"),
)
WHOLE = Site(
    "alpha", (GQ, SiteQueue("debug", up=False, allow_qos=frozenset())), frozenset({0, 64030}), {"alice": 1001}, NODES,
    (SiteQos("normal"), SiteQos("high", 10, 3600, frozenset({"NoDecay"}), frozenset({"normal"}), {"gres/gpu": 8})),
    (Association("physics", parent="root", shares=1), Association("physics", "alice", "gq", default_qos="high")),
    SiteScheduler("24.11", True, bf_window=86400, memory=False, other=frozenset({"bf_busy_nodes"})),
)  # fmt: skip
WHOLE = replace(WHOLE, queues=tuple(sized(queue, NODES) for queue in WHOLE.queues))


def write(folder: Path, text: str, form: str = "json") -> Path:
    path = folder / f"site.{form}"
    path.write_text(text)
    return path


@pytest.mark.parametrize("form", FORMS)
def test_what_was_written_is_read_back(form: Form, tmp_path: Path) -> None:
    path = write(tmp_path, site_text(WHOLE, form), form)
    assert load_site(path) == WHOLE
    assert site_text(load_site(path), form) == site_text(WHOLE, form)


def test_toml_and_json_say_the_same() -> None:
    assert tomllib.loads(site_text(WHOLE, "toml")) == json.loads(site_text(WHOLE, "json"))


def test_a_queue_s_sizes_are_not_written_where_its_nodes_say_them() -> None:
    table = tomllib.loads(site_text(WHOLE, "toml"))
    assert "node_cpus" not in table["queues"][0]
    assert table["queues"][0]["gpu_types"] == ["p100"], "its nodes have others"


@pytest.mark.parametrize("form", FORMS)
def test_a_file_without_an_ending_is_known_by_its_first_character(form: Form, tmp_path: Path) -> None:
    path = tmp_path / "site"
    path.write_text(site_text(WHOLE, form))
    assert load_site(path) == WHOLE


def test_it_may_be_written_by_hand_in_toml(tmp_path: Path) -> None:
    path = write(
        tmp_path, 'cluster = "alpha"\n[[queues]]\nname = "gq"\nmax_limit = 3600\ngpu_types = ["p100"]\n', "toml"
    )
    assert load_site(path).queue("gq") == SiteQueue("gq", max_limit=3600, gpu_types=frozenset({"p100"}))


def test_the_example_of_the_docs_is_a_site_with_every_kind_of_thing(tmp_path: Path) -> None:
    page = (ROOT / "docs/site.md").read_text()
    site = load_site(write(tmp_path, page.partition("```toml\n")[2].partition("```")[0], "toml"))
    assert all((site.queues, site.nodes, site.qos, site.associations, site.uids))
    assert site.queues[0].node_cpus == site.nodes[0].cpus == 40


@pytest.mark.parametrize("kind", [SiteQueue, SiteNode, SiteQos, Association, SiteScheduler])
def test_the_docs_have_every_key(kind: type) -> None:
    page = (ROOT / "docs/site.md").read_text()
    nouns = {SiteQueue: "queue", SiteNode: "node", SiteQos: "QOS", Association: "association"}
    noun = nouns.get(kind, "scheduler")
    listed = {"name"}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 3 and cells[2] == noun:
            listed |= set(re.findall(r"`(\w+)`", cells[1]))
    assert listed | {"name"} == {*keys_of(kind), "name"}


HEAD = 'cluster = "a"\n[[queues]]\nname = "gq"\n'


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        (HEAD + "max_limt = 1\n", 4, "queues[1].max_limt (gq): no such key", "did you mean max_limit?"),
        (HEAD + 'max_limit = "1"\n', 4, "queues[1].max_limit (gq): should be a valid integer", ""),
        (HEAD + "max_limit = -1\n", 4, f"queues[1].max_limit (gq): is not between 0 and {MOST}", ""),
        (HEAD + f"max_limit = {MOST + 1}\n", 4, f"queues[1].max_limit (gq): is not between 0 and {MOST}", ""),
        (HEAD + "max_limit = 1.5\n", 4, "queues[1].max_limit (gq): a float is not allowed here", ""),
        (HEAD + "max_limit = 2027-04-01\n", 4, "queues[1].max_limit (gq): a date is not allowed here", ""),
        (HEAD + "up = 1\n", 4, "queues[1].up (gq): should be a valid boolean", ""),
        (HEAD + "max_limit = 1\nmax_limit = 1\n", 5, "not TOML: cannot overwrite a value", ""),
        (HEAD + "max_limit = \n", 4, "not TOML: invalid value", ""),
        (HEAD + "x = [", 4, "not TOML: invalid", ""),
        ('clster = "a"\n', 1, "clster: no such key", "did you mean cluster?"),
        ("[[queues]]\nmax_limit = 1\n", None, "cluster: is missing", ""),
        ('cluster = "a"\n[[queues]]\nmax_limit = 1\n', 2, "queues[1].name: is missing", ""),
        (HEAD + '[[queues]]\nname = "gq"\n', 4, "queues[2] (gq): already exists, as queues[1]", "leave one"),
        (HEAD + '[[nodes]]\nname = "n"\nqueues = ["qg"]\n', 6, "nodes[1].queues (n): no such queue: qg", "mean gq?"),
        (HEAD + '[[nodes]]\nname = "n"\ngpus = { a = -1 }\n', 6, "nodes[1].gpus.a (n): is not between", ""),
        ('cluster = "a"\n[[nodes]]\nname = "n"\nqueues = ["gq"]\n', 4, "no such queue: gq", "[[queues]]"),
        ('cluster = "a"\n[[qos]]\nname = "n"\nmax_wall = 1\n', 4, "qos[1].max_wall (n): no such key", "max_limit"),
        (HEAD + '[[associations]]\naccount = "p"\nqueue = "g"\n', 6, "associations[1].queue: no such queue: g", "gq"),
        ('cluster = "a b"\n', 1, "cluster: a b has a character that no name has: ' '", ""),
        ('cluster = ""\n', 1, "cluster: is empty", ""),
        ('cluster = "a\\u001b[31m"\n', 1, "cluster: a\\x1b[31m has a character that no name has", ""),
        ('cluster = "a\\u202eb"\n', 1, "cluster: a\\u202eb has a character", "as Slurm has them"),
        (f'cluster = "{"a" * 257}"\n', 1, "cluster: is longer than 256 characters", ""),
        ('cluster = "a"\nuids = { "x|y" = 1 }\n', 2, "uids.x|y: x|y has a character", ""),
    ],
)  # fmt: skip
def test_a_wrong_toml_is_refused_with_line_and_key(
    text: str, line: int | None, message: str, hint: str, tmp_path: Path
) -> None:
    path = write(tmp_path, text, "toml")
    with pytest.raises(AdminkitError) as caught:
        load_site(path)
    assert caught.value.message.startswith(str(path) if line is None else f"{path}:{line}: ")
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{"cluster": "a",\n"queues": [\n{"name": "b"},\n{"name": "gq",\n"max_limt": 1}]}', 5,
         "queues[2].max_limt (gq): no such key"),
        ('{"cluster": "a",\n"queues": [{"name":\n"gq", "max_limit": "1"}]}', 3, "queues[1].max_limit (gq): should be"),
        ('{"cluster": "a",\n"queues": [{"name": "gq",\n"features": ["x",\n"y z"]}]}', 4,
         "queues[1].features[2] (gq): y z has"),
        ('{"cluster": "a{[,\\"",\n"clstr": 1}', 1, "cluster: a{[,\" has"),
        ('{"cluster": "a",\n"cluster": "b"}', None, "the key cluster appears twice in one object"),
        ('{"cluster": "a", "nodes": [{"name": "n", "cpus": NaN}]}', None, "NaN is not a number"),
        ('{"cluster": "a", "nodes": [{"name": "n", "cpus": 1e400}]}', 1, "a float is not allowed here"),
        ('{"cluster": "a", "nodes": [{"name": "n", "cpus": ' + "9" * 5000 + "}]}", None, "Exceeds the limit"),
        ('{"cluster": "a", "queues": {}}', 1, "queues: should be a valid"),
        ("[]", None, "a list where keys belong"),
        ("{", 1, "not JSON"),
        ('{"a": 1,\n"b"}', 2, "not JSON"),
        ("[" * 100_000, None, "far too many"),
        ('{"cluster": ' + "[" * 900 + "]" * 900 + "}", 1, "cluster: brackets within"),
    ],
)  # fmt: skip
def test_a_wrong_json_is_refused_with_line_and_key(text: str, line: int | None, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(AdminkitError) as caught:
        load_site(path)
    assert caught.value.message.startswith(f"{path}: " if line is None else f"{path}:{line}: ")
    assert message in caught.value.message


def test_one_that_is_too_large_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_file, "MOST_BYTES", 1 << 20)
    path = tmp_path / "site.toml"
    with path.open("wb") as file:
        os.truncate(file.fileno(), (1 << 20) + 1)
    with pytest.raises(AdminkitError, match="is larger than 1 MiB"):
        load_site(path)


def test_one_that_is_no_text_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    path.write_bytes(b'cluster = "a"\n# \xff\n')
    with pytest.raises(AdminkitError, match=re.escape(f"{path}:2: not UTF-8")):
        load_site(path)


def test_a_missing_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(AdminkitError, match="no such file"):
        load_site(tmp_path / "none.json")


NAMES = some.text(some.characters(exclude_characters=",|", exclude_categories=("C", "Z")), min_size=1, max_size=9)
COUNTS = some.integers(0, MOST)
LIMITS = some.none() | COUNTS
SETS = some.frozensets(NAMES, max_size=3)
TRES = some.dictionaries(NAMES, COUNTS, max_size=3)


@some.composite
def sites(draw: some.DrawFn) -> Site:
    names = draw(some.lists(NAMES, unique=True, max_size=3))
    inside = some.frozensets(some.sampled_from(names)) if names else some.just(frozenset())
    nodes = tuple(
        SiteNode(name, draw(LIMITS), draw(LIMITS), draw(TRES), draw(SETS), draw(inside))
        for name in draw(some.lists(NAMES, unique=True, max_size=3))
    )
    queues = [
        SiteQueue(name, draw(LIMITS), draw(LIMITS), up=draw(some.booleans()), node_cpus=draw(LIMITS),
                  features=draw(some.none() | SETS), allow_qos=draw(some.none() | SETS))
        for name in names
    ]  # fmt: skip
    qos = [
        SiteQos(name, draw(COUNTS), draw(LIMITS), draw(SETS), draw(SETS), draw(TRES))
        for name in draw(some.lists(NAMES, unique=True, max_size=2))
    ]
    accounts = [Association(name, shares=draw(LIMITS), qos=draw(SETS)) for name in draw(some.sets(NAMES, max_size=2))]
    return Site(
        draw(NAMES), tuple(sized(queue, nodes) for queue in queues), draw(some.frozensets(COUNTS, max_size=3)),
        draw(TRES), nodes, tuple(qos), tuple(accounts),
    )  # fmt: skip


@given(sites())
def test_every_site_goes_through_either_form_unchanged(tmp_path_factory: pytest.TempPathFactory, site: Site) -> None:
    folder = tmp_path_factory.getbasetemp()
    for form in FORMS:
        assert load_site(write(folder, site_text(site, form), form)) == site
    assert tomllib.loads(site_text(site, "toml")) == json.loads(site_text(site, "json"))


@given(some.text(max_size=80) | some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=4),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(
        some.sampled_from(["cluster", "queues", "nodes", "name", "gpus", "qos", "uids", "x"]), inner, max_size=4),
).map(json.dumps), some.sampled_from(FORMS))  # fmt: skip
def test_whatever_a_file_holds_it_is_a_site_or_an_error_that_names_it(
    tmp_path_factory: pytest.TempPathFactory, text: str, form: Form
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any.{form}"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        load_site(path)
    except AdminkitError as error:
        assert str(path) in error.message


def test_one_made_up_has_the_queues_and_the_first_is_the_default() -> None:
    site = made_up(["gq", "gq-short", "gq"], users=["ada"])
    assert [(queue.name, queue.is_default) for queue in site.queues] == [("gq", True), ("gq-short", False)]
    assert 0 in site.privileged
    assert site.uids["ada"] not in site.privileged
    assert site.queue("nosuch") is None


@pytest.mark.parametrize("form", FORMS)
def test_what_slurm_tells_and_a_file_cannot_hold_is_left_out_and_said(tmp_path: Path, form: Form) -> None:
    site = Site(
        "alpha", (SiteQueue("gq"),), nodes=(SiteNode("n1", queues=frozenset({"gq", "hidden"})),),
        associations=(Association("physics", "ada", queue="old"), Association("physics", "ada", queue="gq")),
    )  # fmt: skip
    whole, notes = writable(site)
    again = load_site(write(tmp_path, site_text(whole, form), form))
    assert (again.nodes, again.associations) == (whole.nodes, whole.associations)
    assert [one.queue for one in again.associations] == ["gq"]
    assert notes == [
        "left out: associations in queues that are not there (1): old",
        "left out of nodes: queues that are not shown: hidden",
    ]
