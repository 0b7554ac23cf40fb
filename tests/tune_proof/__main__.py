"""`python -m tests.tune_proof [--only FAMILY]… [--again] [--cores N] [--page]`: search the sites, and write the page.

Results are kept in tests/data/tune_proof.json, and a site that is there is not searched again. `--only` searches some
families; `--again` searches also what is kept, as after a change of the search; `--page` makes only the page. Exits
with 1 where a bar does not hold.
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


def missing(names: Sequence[str], kept: Sequence[Result]) -> list[tuple[int, int]]:
    """The sites of these families that are not kept, by the numbers of family and site; first the first of each."""
    known = {each.site for each in kept}
    return [
        (number, site)
        for site in range(EACH)
        for number, family in enumerate(FAMILIES)
        if family.name in names and family.site(site).name not in known
    ]


def results(names: Sequence[str], cores: int, kept: Sequence[Result], keep: bool = True) -> Sequence[Result]:
    """All of these families and all that were kept, in the order of the sites. `keep`: whether each is kept at once."""
    places = missing(names, kept)
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
    parser.add_argument("--again", action="store_true", help="search also what is kept")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--page", action="store_true")
    asked = parser.parse_args(argv)
    made = read() if DATA.exists() else []
    if not asked.page:
        several = asked.only or names
        kept = [one for one in made if not (asked.again and one.family in several)]
        made = results(several, asked.cores, kept)
    PAGE.write_text(page(made))
    for line in (broken := bars(made)):
        print(line)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
