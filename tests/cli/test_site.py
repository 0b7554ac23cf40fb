"""adminkit site: the cluster written down, and read by whatever has --site."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.cli.options import complete_files
from adminkit.slurm.site import Association, SiteQos, SiteQueue
from adminkit.slurm.site_file import load_site
from tests.slurm.test_partitions import NODES, QUEUE_LINES
from tests.support.fakes import Programs


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    monkeypatch.chdir(tmp_path)
    programs = Programs(tmp_path / "bin", monkeypatch)
    (tmp_path / "nodes").write_text(NODES)
    (tmp_path / "queues").write_text(QUEUE_LINES)
    programs.add(
        "scontrol",
        f'case "$*" in *node*) cat {tmp_path}/nodes;; *partition*) cat {tmp_path}/queues;;'
        " *) printf 'ClusterName = alpha\\nSlurmUser = root(0)\\n';; esac",
    )
    # As sacctmgr does: a column of each kind that was asked for, in that order.
    programs.add(
        "sacctmgr",
        """case "$*" in
*"show user"*) echo 'root|Administrator' ;;
*"show qos"*) echo 'normal|0||||||||' ;;
*"show assoc"*)
    eval "last=\\${$#}"; line=
    for column in $(echo "${last#format=}" | tr , ' '); do
        case $column in Cluster*) cell=alpha ;; ID*) cell=7 ;; Account) cell=physics ;; *) cell= ;; esac
        line="$line$cell|"
    done
    echo "${line%|}" ;;
esac""",
    )
    return programs


def test_what_slurm_has_is_written_and_read_back(
    slurm: Programs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["site", "--output", "site.toml"]) == 0
    assert "wrote site.toml: 4 queues, 3 nodes, 1 QOS, 1 association" in capsys.readouterr().err
    site = load_site(tmp_path / "site.toml")
    assert (site.cluster, [node.name for node in site.nodes]) == ("alpha", ["n1", "n2", "n3"])
    assert (site.qos, site.associations) == ((SiteQos("normal"),), (Association("physics"),))
    queue = site.queue("gq")
    assert isinstance(queue, SiteQueue)
    assert (queue.default_limit, queue.max_limit, queue.node_gpus) == (3600, 259_200, 6)


def test_one_form_becomes_the_other(slurm: Programs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["site"]) == 0
    toml = capsys.readouterr().out
    (tmp_path / "site.toml").write_text(toml)
    assert main(["site", "--site", "site.toml", "--output", "site.json"]) == 0
    assert json.loads((tmp_path / "site.json").read_text())["cluster"] == "alpha"
    capsys.readouterr()
    assert main(["site", "--site", "site.json", "--format", "toml"]) == 0
    assert capsys.readouterr().out == toml


def test_without_slurmdbd_queues_and_nodes_are_written_and_the_rest_is_said(
    slurm: Programs, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.add("sacctmgr", "echo 'sacctmgr: error: slurm_persist_conn_open: refused' >&2; exit 1")
    assert main(["site", "--format", "json"]) == 0
    said = capsys.readouterr()
    assert "note: without QOS and associations: " in said.err
    assert {"queues", "nodes"} <= json.loads(said.out).keys()
    assert "qos" not in json.loads(said.out)


def test_a_wrong_file_is_refused_where_it_is_read(
    slurm: Programs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "site.toml").write_text('cluster = "alpha"\n[[queues]]\nnam = "gq"\n')
    for words in (["site"], ["policy", "check"], ["policy", "try"]):
        assert main([*words, "--site", "site.toml"]) == 1
        said = capsys.readouterr().err
        assert "error: site.toml:3: queues[1].nam: no such key\nhint: did you mean name?\n" in said


def test_the_file_is_completed(slurm: Programs, tmp_path: Path) -> None:
    for name in ("site.toml", "site.json", "site.txt"):
        (tmp_path / name).touch()
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites/a.toml").touch()
    endings = (".toml", ".json")
    assert complete_files("si", endings) == ["site.json", "site.toml", "sites/"]
    assert complete_files("sites/", endings) == ["sites/a.toml"]
    assert complete_files(f"{tmp_path}/sites/", endings) == [f"{tmp_path}/sites/a.toml"]
    assert complete_files("nosuch/", endings) == []
