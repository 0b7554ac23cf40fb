"""A guest's way out: the network of a container that does nothing, whose address the guest takes over.

A bridge in the container's network namespace joins its interface and a pair of virtual ones, whose near end the guest's
kernel reads and writes. The host's own network is as the container engine leaves it; what is made here goes with the
container. Trap: the kernel's driver crashes when it opens a transport without queues both ways; `raw` has them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

#: The host's programs that it takes, by their packages.
PROGRAMS: Final = {"nsenter": "util-linux", "ip": "iproute2"}
_RESOLVERS: Final = Path("/etc/resolv.conf")


@dataclass(frozen=True, slots=True)
class Network:
    """What a kernel is started by (`prefix`), and what its command line says besides (`words`)."""

    prefix: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


#: A guest that only has its own loopback.
NONE: Final = Network()


def lacking() -> str | None:
    """What this host lacks for it, or None."""
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            return f"{program} (apt-get install {package})"
    return None


@contextlib.contextmanager
def of_container(engine: str, image: str, options: tuple[str, ...] = ()) -> Iterator[Network]:
    """Start a container of `image` for its network. CalledProcessError with what a program said."""
    name = f"adminkit-network-{os.getpid()}"
    try:
        _said(engine, "run", "-d", "--rm", "--name", name, *options, image, "sleep", "infinity")
        pid = _said(engine, "inspect", "--format", "{{.State.Pid}}", name).strip()
        inside = ("nsenter", f"--net=/proc/{pid}/ns/net")
        (interface,) = (one for one in _json(*inside, "ip", "-j", "address") if one["ifname"] != "lo")
        (address,) = (one for one in interface["addr_info"] if one["family"] == "inet")
        (route,) = _json(*inside, "ip", "-j", "route", "show", "default")
        eth = interface["ifname"]
        for line in (
            "link add guest type bridge",
            "link add near type veth peer name far",
            "link set far master guest",
            f"link set {eth} master guest",
            f"link set {eth} type bridge_slave learning off",  # Trap: the engine's bridge sends back what it was sent
            f"address flush dev {eth}",
            "link set far gso_max_segs 1",  # Trap: the guest's driver drops frames that are longer than the MTU
            "link set near up",
            "link set far up",
            "link set guest up",
        ):
            _said(*inside, "ip", *line.split())
        # Trap: the engine's bridge sees it, so guests that run side by side need one each, as their containers have.
        mac = f"06{interface['address'][2:]}"
        servers = re.findall(r"^nameserver\s+(\S+)", _RESOLVERS.read_text(), re.MULTILINE)
        told = ",".join((f"{address['local']}/{address['prefixlen']}", route["gateway"], *servers))
        yield Network(inside, (f"vec0:transport=raw,ifname=near,mac={mac}", f"guest.network={told}"))
    finally:
        subprocess.run([engine, "rm", "-f", "-i", "-t", "0", name], capture_output=True, check=False)


def _said(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def _json(*words: str) -> list[dict[str, Any]]:
    return list(json.loads(_said(*words)))
