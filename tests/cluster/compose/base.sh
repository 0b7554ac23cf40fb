#!/bin/sh
# base.sh RELEASE: the image adminkit-base:RELEASE, a bare Debian. Pulled where images can be pulled, else made of
# packages by mmdebstrap (as root) from the mirror that this host's apt uses. ENGINE names another engine than podman.
set -eu
release=${1:?usage: base.sh bookworm|trixie|forky}
engine=${ENGINE:-podman}
image=localhost/adminkit-base:$release

say() { echo "base: $*" >&2; }

"$engine" image inspect "$image" >/dev/null 2>&1 && exit 0
if timeout 120 "$engine" pull -q "debian:$release-slim" >/dev/null 2>&1; then
    exec "$engine" tag "debian:$release-slim" "$image"
fi
say "debian:$release-slim cannot be pulled; made from Debian's packages"
command -v mmdebstrap >/dev/null || { say "no mmdebstrap; apt-get install mmdebstrap debian-archive-keyring" && exit 1; }
mirror=$(apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
    sed -n '/security/d; s/^Debian main //p' | sed -n 1p)
[ -n "$mirror" ] || { say "this host's apt knows no mirror of Debian" && exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# A testing release's index may be older than its own date of expiry where a mirror is a copy of one day.
mmdebstrap --quiet --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' "$release" "$folder/base.tar" "$mirror"
"$engine" import -q "$folder/base.tar" "$image" >/dev/null
