"""`python -m tests.tune_proof [--only FAMILY]… [--cores N] [--page]`: search the sites, and write the page.

Results are kept in tests/data/tune_proof.json. `--only` makes those of some families again; `--page` makes only the
page. Exits with 1 where a bar does not hold.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.tune_proof.page import DATA, PAGE, bars, page, read, write
from tests.tune_proof.proof import Result, result
from tests.tune_proof.sites import EACH, FAMILIES


def one(place: tuple[int, int]) -> Result:
    """The result of one site, by the numbers of its family and its own."""
    family = FAMILIES[place[0]]
    return result(family, family.site(place[1]))


def results(names: Sequence[str], cores: int, kept: Sequence[Result], keep: bool = True) -> Sequence[Result]:
    """Those of these families made again, in the order of the sites; the others as they were kept.

    The first site of every family comes first. `keep`: whether each result is kept at once.
    """
    places = [(number, site) for site in range(EACH) for number, family in enumerate(FAMILIES) if family.name in names]
    by_site = {each.site: each for each in kept}
    with ProcessPoolExecutor(cores) as pool:
        for ended in as_completed([pool.submit(one, place) for place in places]):
            made = ended.result()
            by_site[made.site] = made
            print(f"{made.site}: better {made.better}, {made.words}, right {made.right}", flush=True)
            if keep:
                write(_ordered(by_site))
    return _ordered(by_site)


def _ordered(by_site: Mapping[str, Result]) -> Sequence[Result]:
    names = [site.name for family in FAMILIES for site in family.sites]
    return [by_site[name] for name in names if name in by_site]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tune_proof", description=__doc__)
    names = [family.name for family in FAMILIES]
    parser.add_argument("--only", action="append", choices=names, help="default: all")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--page", action="store_true")
    asked = parser.parse_args(argv)
    made = read() if DATA.exists() else []
    if not asked.page:
        made = results(asked.only or names, asked.cores, made)
    PAGE.write_text(page(made))
    for line in (broken := bars(made)):
        print(line)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
