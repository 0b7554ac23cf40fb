"""A GPU exporter with made numbers, as dcgm-exporter with job mapping has them, and a real Prometheus that reads it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cluster.harness.processes import until


@dataclass
class Exporter:
    """`use`: percent by (job, GPU) on `node`. `dead`: it does not answer."""

    node: str
    use: dict[tuple[int, int], float] = field(default_factory=dict)
    dead: bool = False
    scrapes: int = 0
    url: str = ""  # of Prometheus

    def text(self) -> bytes:
        lines = ["# TYPE DCGM_FI_DEV_GPU_UTIL gauge"]
        for (job, gpu), share in sorted(self.use.items()):
            labels = f'gpu="{gpu}",UUID="GPU-{gpu}",Hostname="{self.node}",hpc_job="{job}"'
            lines.append(f"DCGM_FI_DEV_GPU_UTIL{{{labels}}} {share}")
        return ("\n".join(lines) + "\n").encode()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def monitored(node: str, folder: Path) -> Iterator[Exporter]:
    """The exporter is read once a second."""
    if shutil.which("prometheus") is None:
        pytest.skip("not run: no prometheus (apt-get install prometheus)")
    exporter = Exporter(node)

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if exporter.dead:
                self.send_error(503)
                return
            exporter.scrapes += 1
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(exporter.text())

        def log_message(self, *words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = free_port()
        target = f"127.0.0.1:{server.server_address[1]}"
        (folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
            f"scrape_configs: [{{job_name: gpu, static_configs: [{{targets: ['{target}']}}]}}]\n"
        )
        with (folder / "prometheus.log").open("wb") as log:
            process = subprocess.Popen(
                ["prometheus", f"--web.listen-address=127.0.0.1:{port}", f"--config.file={folder / 'prometheus.yml'}",
                 f"--storage.tsdb.path={folder / 'tsdb'}"],
                stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        exporter.url = f"http://127.0.0.1:{port}"
        try:
            until("Prometheus to read the exporter", lambda: exporter.scrapes > 1, 120)
            yield exporter
        finally:
            process.terminate()
            process.wait(30)
            server.shutdown()
