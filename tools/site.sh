#!/bin/sh
# site.sh ZENSICAL: the README, what stands beside it, and docs/ as a site in build/site, so that links between them hold.
set -eu
zensical=${1:?usage: site.sh ZENSICAL}
rm -rf build/pages build/site
mkdir -p build/pages
cp -r README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs build/pages
"$zensical" build --strict --clean
