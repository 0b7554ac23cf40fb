#!/bin/sh
# make.sh: build/adminkit-VERSION-x86_64.tar.gz, which holds all of adminkit for hosts without a network, with x86_64 and
# glibc 2.28 or newer: a Python that runs from any folder (interpreter.sh), the wheels of requirements.txt, adminkit with
# its programs, the plugin's source, the pages, and install.sh. Two builds of one source give the same bytes.
#
# Needs root, a network, mmdebstrap, npm and objdump. What it fetches is pinned by a hash, or signed by Debian. The Python
# stays in build/archive for the next run; `make clean` has it built again, with Debian's newest fixes.
set -eu
cd "$(dirname "$0")/../.."
here=tools/archive work=$PWD/build/archive python=$PWD/.venv/bin/python
[ -z "${BIN:-}" ] || python=$BIN/python
for program in mmdebstrap npm objdump; do
    command -v $program >/dev/null || { echo "error: the archive cannot be built: no $program" >&2; exit 1; }
done
mkdir -p "$work"

GLIBC=2.28 # EL 8's
PACKAGES=gcc,make,libc6-dev,perl,pkg-config,zlib1g-dev,libffi-dev,libbz2-dev,liblzma-dev,xz-utils,dpkg-dev,patch,ca-certificates

number=$("$python" -c 'import adminkit; print(adminkit.__version__)')
epoch='from pathlib import Path; from tools.release.number import epoch; print(epoch(Path()))'
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$("$python" -c "$epoch")}"
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1

$here/sqlite.sh "$work/sqlite"

# The interpreter. Debian 11 has the oldest glibc that Debian's mirrors still have.
recipe=$(sha256sum $here/interpreter.sh "$work"/sqlite/sqlite3.c | sha256sum | cut -c 1-12)
if [ ! -d "$work/python-$recipe" ]; then
    rm -rf "$work"/python-*
    mkdir "$work/python-new"
    mmdebstrap --quiet --variant=minbase --include=$PACKAGES \
        --customize-hook='mkdir -p "$1/usr/share/keyrings" "$1/sources"' \
        --customize-hook='copy-in /usr/share/keyrings/debian-archive-keyring.gpg /usr/share/keyrings' \
        --customize-hook="copy-in $(echo "$work"/sqlite/sqlite3*.[ch]) /sources" \
        --customize-hook="copy-in $here/interpreter.sh /" \
        --customize-hook='chroot "$1" sh /interpreter.sh' \
        --customize-hook="sync-out /out $work/python-new" \
        bullseye /dev/null
    mv "$work/python-new" "$work/python-$recipe"
fi

# adminkit's wheel: its programs for GLIBC, with SQLite in them.
if [ ! -e "$work/tools/done" ]; then
    "$python" -m venv --clear "$work/tools"
    "$work/tools/bin/pip" install -q --require-hashes --only-binary :all: -r debian/build-requirements.txt -r $here/requirements.txt
    touch "$work/tools/done"
fi
cat >"$work/cc" <<END
#!/bin/sh
exec "$work/tools/bin/python" -m ziglang cc -target x86_64-linux-gnu.$GLIBC -ffile-prefix-map="$PWD"=. "\$@"
END
chmod 755 "$work/cc"
rm -rf "$work/wheel" "$work/helper"
CC=$work/cc "$work/tools/bin/pip" wheel -q --no-deps --no-build-isolation -w "$work/wheel" \
    --config-settings=build-dir="$work/helper" --config-settings=cmake.define.ADMINKIT_SQLITE_SOURCE="$work/sqlite" .

# The tree.
top=$work/adminkit-$number-x86_64
env=$top/env site=$top/env/lib/python3.13/site-packages
rm -rf "$work"/adminkit-*
mkdir "$top"
cp -a "$work/python-$recipe" "$env"
pip() { "$work/tools/bin/pip" --python "$env/bin/python3" install -q --no-compile --no-warn-script-location "$@"; }
pip --require-hashes --only-binary :all: -r requirements.txt
pip --no-deps --no-index --find-links "$work/wheel" adminkit
debian/relocate "$env" /nowhere
rm "$env/pyvenv.cfg" # it is no venv
install -m 755 $here/launcher.sh "$env/bin/adminkit"
# -B, -f: what this Python loads itself is compiled like the rest, never by the time of its file.
"$env/bin/python3" -I -B -m compileall -q -f --invalidation-mode unchecked-hash -s "$env" "$env/lib"

newest=$(find "$env" -type f \( -name '*.so*' -o -path '*/bin/*' \) -exec objdump -T {} + 2>/dev/null |
    sed -n 's/.*(GLIBC_\(2\.[0-9]*\)).*/\1/p; s/.* GLIBC_\(2\.[0-9]*\) .*/\1/p' | sort -Vu | tail -n 1)
[ "$(printf '%s\n' "$newest" $GLIBC | sort -V | tail -n 1)" = $GLIBC ] || {
    echo "error: these need glibc $newest, which is newer than $GLIBC:" >&2
    grep -rlF "GLIBC_$newest" "$env" >&2
    exit 1
}

rm -rf "$work/man" "$work/completion"
"$env/bin/python3" -m tools.man "$work/man"
"$env/bin/python3" -m tools.completion "$work/completion"
share=$top/files/share
install -D -m 644 "$work/man/adminkit-users.ja.7" "$share/man/ja/man7/adminkit-users.7"
rm "$work/man/adminkit-users.ja.7"
for section in 1 5 7 8; do install -D -m 644 -t "$share/man/man$section" "$work/man"/*.$section; done
install -D -m 644 "$work/completion/adminkit" "$share/bash-completion/completions/adminkit"
install -D -m 644 "$work/completion/_adminkit" "$share/zsh/site-functions/_adminkit"
install -D -m 644 "$work/completion/adminkit.fish" "$share/fish/vendor_completions.d/adminkit.fish"
install -D -m 644 -t "$top/files/systemd" etc/systemd/*
install -D -m 644 -t "$top/files" etc/tmpfiles.d/adminkit.conf
cp -R docs spank README.md CHANGELOG.md SECURITY.md LICENSE $here/install.sh "$top"
find "$top/docs" "$top/spank" -name '*.[os]o' -delete

(cd "$top" && find . ! -type d ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum >SHA256SUMS)
tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu \
    --mode=u+rwX,go=rX,go-w -cf - "${top##*/}" | gzip -n >"build/${top##*/}.tar.gz"
ls -sh "build/${top##*/}.tar.gz"
