"""adminkit metrics, read by Debian's own promtool, node exporter and Prometheus."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.integrations.prometheus import exposition
from adminkit.integrations.prometheus_cluster import cluster_metrics
from adminkit.quote import clean
from adminkit.trace.connect import reader
from tests.integrations.test_prometheus import CLUSTER, DAY, HOSTILE, JOBS, NOW
from tests.support.builders import make_trace

pytestmark = pytest.mark.web

ROOT = Path(__file__).parents[2]
PROGRAMS = ("promtool", "prometheus", "prometheus-node-exporter")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    if missing := [name for name in PROGRAMS if shutil.which(name) is None]:
        pytest.skip(f"not run: no {missing[0]} (apt-get install prometheus prometheus-node-exporter)")
    with reader(make_trace(tmp_path_factory.mktemp("metrics") / "t.db", JOBS)) as db:
        return exposition(db, Config(), NOW, DAY, cluster_metrics(CLUSTER))


def test_promtool_has_nothing_against_the_text(text: bytes) -> None:
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=30)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")


def slurm_scrapes(port: int) -> str:
    """The scrape_configs of the page."""
    page = (ROOT / "docs/metrics.md").read_text()
    return page.partition("```yaml\n")[2].partition("```")[0].replace("slurmctld.example.org:6817", f"127.0.0.1:{port}")


class Captured(SimpleHTTPRequestHandler):
    extensions_map = {"": "text/plain"}  # noqa: RUF012 - as the class above it has it

    def log_message(self, *words: object) -> None:
        pass


@contextmanager
def captures(port: int, folder: Path) -> Iterator[None]:
    """What slurmctld 26.05.5 answered."""
    shutil.copytree(ROOT / "tests/data/slurm_metrics", folder / "metrics")
    with ThreadingHTTPServer(("127.0.0.1", port), partial(Captured, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def running(log: Path, *command: object) -> Iterator[None]:
    with log.open("wb") as to:
        process = subprocess.Popen(list(map(str, command)), stdout=to, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


def until(ask: Callable[[], Any], log: Path) -> Any:
    """What `ask` answers once it is something; 60 s at most."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if answer := ask():
                return answer
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError(log.read_text()[-2000:])


def test_prometheus_scrapes_the_file_through_the_node_exporter(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "adminkit.prom").write_bytes(text)
    exporter, server, slurmctld = free_port(), free_port(), free_port()
    (tmp_path / "prometheus.yml").write_text(
        f"global: {{scrape_interval: 1s}}\n{slurm_scrapes(slurmctld)}"
        f"- job_name: node\n  static_configs:\n  - targets: ['127.0.0.1:{exporter}']\n"
    )
    logs = tmp_path / "exporter.log", tmp_path / "prometheus.log"
    with (
        captures(slurmctld, tmp_path / "slurmctld"),
        running(
            logs[0], "prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{exporter}",
            "--collector.disable-defaults", "--collector.textfile",
            f"--collector.textfile.directory={tmp_path / 'texts'}",
        ),
        running(
            logs[1], "prometheus", f"--web.listen-address=127.0.0.1:{server}",
            f"--config.file={tmp_path / 'prometheus.yml'}", f"--storage.tsdb.path={tmp_path / 'tsdb'}",
        ),
    ):  # fmt: skip

        def ask(expression: str) -> list[dict[str, Any]]:
            query = urllib.parse.urlencode({"query": expression})
            with urllib.request.urlopen(f"http://127.0.0.1:{server}/api/v1/query?{query}", timeout=10) as answer:
                return list(json.load(answer)["data"]["result"])

        found = until(lambda: ask("adminkit_backlog_jobs"), logs[1])
        assert [(one["metric"]["queue"], one["value"][1]) for one in found] == [("short", "2")]
        assert ask("node_textfile_scrape_error")[0]["value"][1] == "0", logs[0].read_text()
        queues = {one["metric"].get("queue", "") for one in ask("adminkit_runs_total")}
        assert clean(HOSTILE) in queues, "a hostile name arrives as its escapes"
        assert ask("adminkit_wait_seconds{percentile='90'}")[0]["value"][1] == "90"
        until(lambda: ask("slurm_bf_exit_end") and ask("slurm_partition_gpus"), logs[1])
        held = 'slurm_partition_jobs_hold{cluster="aaic",queue="gq"}'
        assert ask(held)[0]["value"][1] == "6", "of slurmctld, under adminkit's labels"
        dashboard = json.loads((ROOT / "etc/grafana/adminkit.json").read_text())
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                expression = target["expr"].replace("$cluster", ".*").replace("$queue", ".*")
                found = ask(expression)  # an error of the query language is an HTTPError
                if " on (" in expression:
                    assert [one["metric"]["queue"] for one in found] == ["gq"], "what joins both"
