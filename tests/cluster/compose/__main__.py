"""`python -m tests.cluster.compose up|check|down [RELEASE]`: a site in containers of a RELEASE of Debian."""

from __future__ import annotations

import argparse
import sys

from tests.cluster.compose.host import Site
from tests.cluster.compose.look import check
from tests.cluster.harness.processes import ClusterError
from tests.matrix import engine
from tests.matrix.rows import ROWS


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.compose", description=__doc__)
    parser.add_argument("act", choices=["up", "check", "down"])
    parser.add_argument("release", nargs="?", default="bookworm", choices=[row.debian for row in ROWS])
    options = parser.parse_args(argv)
    site = Site(next(row for row in ROWS if row.name == options.release))
    try:
        if options.act == "down":
            return _down(site)
        if options.act == "check":
            check(site)
            return 0
        print(f"building the image of {site.row.debian} and adminkit in it (minutes, the first time)", file=sys.stderr)
        site.up()
    except (engine.NotRun, ClusterError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    login, head = site.container("login"), site.container("slurmctld")
    print(f"{engine.ENGINE} exec -it -u aiko -w /home/aiko {login} bash  # sbatch, squeue; also as ben, chie and dai")
    print(f"{engine.ENGINE} exec -it {head} bash  # adminkit, its trace in /var/lib/adminkit, letters in /shared/mail")
    print(f"{engine.ENGINE} logs {head}  # what the timers said")
    return 0


def _down(site: Site) -> int:
    site.down()
    if left := site.left():
        print(f"error: still there: {', '.join(left)}", file=sys.stderr)
        return 1
    stays = f"{engine.name_of(site.row)} and {engine.folder_of(site.row)}"
    print(f"gone; what was built stays for the next time: {stays}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
