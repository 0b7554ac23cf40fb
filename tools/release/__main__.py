"""`python -m tools.release`: build a release, sign it, check it, or set its number."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from tools.docs import ROOT
from tools.release import check, make, number, sums


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("make", help="build everything twice and compare")
    signing = commands.add_parser("sign", help="list the checksums of all that is there, and sign them by gpg")
    signing.add_argument("key", help="as gpg --local-user takes it")
    checking = commands.add_parser("check", help="whether all of it holds")
    checking.add_argument("--key", type=Path, help="the file of the public key")
    setting = commands.add_parser("number", help="write the number everywhere")
    setting.add_argument("number")
    options = parser.parse_args(argv)
    if options.command == "make":
        return make.release(ROOT)
    if options.command == "sign":
        sums.sign(make.folder(ROOT), options.key)
    elif options.command == "number":
        number.write(ROOT, options.number, datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0))
    else:
        return check.release(ROOT, make.folder(ROOT), options.key)
    return 0


if __name__ == "__main__":
    sys.exit(main())
