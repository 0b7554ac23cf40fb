#!/bin/sh
# Install, upgrade or remove adminkit from this archive. It shows what it would do; --apply does it.
set -eu
umask 022

usage() {
    cat <<'END'
install.sh [--prefix FOLDER] [--root FOLDER] [--remove] [--apply]

  --prefix FOLDER  where programs go: FOLDER/bin, FOLDER/lib/adminkit and FOLDER/share; /usr/local unless it is named
  --root FOLDER    the root of another system, in front of every path; no user is made there
  --remove         remove what install.sh has put there; settings, rules and the trace stay
  --apply          do it
END
}
fail() {
    echo "error: $1" >&2
    echo "hint: $2" >&2
    exit 1
}

prefix=/usr/local root='' remove='' apply=''
while [ $# -gt 0 ]; do
    case $1 in
    --prefix | --root)
        [ $# -ge 2 ] || fail "$1 needs a folder" "install.sh --help"
        [ "$1" = --prefix ] && prefix=$2 || root=$2
        shift
        ;;
    --remove) remove=1 ;;
    --apply) apply=1 ;;
    --help | -h) usage && exit 0 ;;
    *) fail "install.sh has no option $1" "install.sh --help lists them" ;;
    esac
    shift
done
case $prefix in
*[!A-Za-z0-9/._+-]* | *..* | [!/]* | '' | */) fail "'$prefix' cannot be the prefix" "name it from / on, in letters, digits and ._+-" ;;
esac
[ -z "$apply" ] || [ -n "$root" ] || [ "$(id -u)" = 0 ] || fail "only root can install" "sudo ./install.sh --apply"

here=$(cd "$(dirname "$0")" && pwd -P)
home=$prefix/lib/adminkit
last=$home # the release that is there; it has another name where an upgrade was interrupted
[ -e "$root$home" ] || [ ! -e "$root$home.old" ] || last=$home.old
files=$(mktemp -d)
trap 'rm -rf "$files"' EXIT
known=$files/known new=$files/new # paths outside of $home that are, and will be, install.sh's
: >"$known"
[ ! -f "$root$last/.installed" ] || cp "$root$last/.installed" "$known"

# What is done: `step WORDS COMMAND…` says the words, and with --apply does it.
step() {
    echo "  $1"
    shift
    [ -z "$apply" ] || "$@"
}
# A path of install.sh's own, or one with just what would be put there. Whatever else is there stays.
may_put() {
    [ -e "$root$2" ] || [ -L "$root$2" ] || return 0
    grep -qxF "$2" "$known" || cmp -s "$1" "$root$2" ||
        fail "$root$2 is there, and install.sh did not put it there" "move it, then repeat"
}
put() {
    may_put "$1" "$2"
    step "$2" install -D -m 644 "$1" "$root$2"
    echo "$2" >>"$new"
}
drop_old() {
    while read -r file; do
        grep -qxF "$file" "$new" || step "remove $file" rm -f "$root$file"
    done <"$known"
}
systemd() { [ -n "$root" ] || [ ! -d /run/systemd/system ] || systemctl "$@"; }

copy_home() {
    rm -rf "$root$home.new"
    mkdir -p "$root$home.new" "$root$prefix/bin"
    cp -R -P "$here/env/." "$root$home.new"
    chmod -R u+rwX,go=rX,go-w "$root$home.new"
}
swap_home() { # from here on the new release answers
    cp "$new" "$root$home.new/.installed"
    if [ -e "$root$home" ]; then
        rm -rf "$root$home.old"
        mv "$root$home" "$root$home.old"
    fi
    mv "$root$home.new" "$root$home"
    ln -sfn "$home/bin/adminkit" "$root$prefix/bin/.adminkit.new"
    mv -T "$root$prefix/bin/.adminkit.new" "$root$prefix/bin/adminkit"
    rm -rf "$root$home.old"
    [ -n "$root" ] || ! command -v restorecon >/dev/null || restorecon -R "$home" "$prefix/bin/adminkit"
}
own_folders() { # as systemd-tmpfiles makes them at the next boot
    while read -r kind path mode user group _; do
        case $kind in
        d) install -d -m "$mode" -o "$user" -g "$group" "$path" ;;
        f) [ -e "$path" ] || ! getent group "$group" >/dev/null || install -m "$mode" -o "$user" -g "$group" /dev/null "$path" ;;
        esac
    done <"$here/files/adminkit.conf"
}

as_packed() {
    (cd "$here" && find . ! -type d ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort) >"$files/there"
    cut -c 67- "$here/SHA256SUMS" | cmp -s - "$files/there" && (cd "$here" && sha256sum --quiet --strict -c SHA256SUMS)
}

do_remove() {
    [ -f "$root$last/.installed" ] || fail "install.sh has put nothing into $root$prefix" "name the --prefix it was given"
    on=$([ -n "$root" ] || systemctl list-units --plain --no-legend 'adminkit-*' 2>/dev/null | cut -d ' ' -f 1 | tr '\n' ' ')
    [ -z "$on" ] || fail "units of adminkit are on: $on" "systemctl disable --now $on"
    : >"$new"
    drop_old
    step "remove $home" rm -rf "$root$home" "$root$home.old" "$root$home.new"
    step 'systemd reads its units again' systemd daemon-reload
    echo '/etc/adminkit, the rules in force, /var/lib/adminkit, /var/log/adminkit and the user adminkit stay'
}

do_install() {
    : >"$new"
    [ -f "$root$last/.installed" ] || [ ! -e "$root$last" ] ||
        fail "$root$home is there, and install.sh did not put it there" "remove that package first, or name another --prefix"
    [ ! -e "$root/usr/lib/adminkit" ] || [ "$home" = /usr/lib/adminkit ] ||
        fail "a package of adminkit is installed in $root/usr/lib/adminkit, and units of both have one name" "remove one of them"
    may_put "$here/env/bin/adminkit" "$prefix/bin/adminkit"
    step "$home" copy_home
    for name in $(cd "$here/files" && find share -type f | LC_ALL=C sort); do put "$here/files/$name" "$prefix/$name"; done
    for unit in "$here/files/systemd"/*; do
        sed "s,/usr/local/bin/,$prefix/bin/," "$unit" >"$files/unit"
        put "$files/unit" "/usr/local/lib/systemd/system/${unit##*/}"
    done
    put "$here/files/adminkit.conf" /etc/tmpfiles.d/adminkit.conf
    echo "$prefix/bin/adminkit" >>"$new"
    drop_old
    step "$prefix/bin/adminkit" swap_home
    if [ -e "$root/etc/adminkit/adminkit.toml" ]; then
        echo '  /etc/adminkit/adminkit.toml stays as it is'
    else
        step /etc/adminkit/adminkit.toml install -D -m 644 "$here/env/share/adminkit/etc/adminkit.toml" "$root/etc/adminkit/adminkit.toml"
    fi
    [ -z "$root" ] || return 0
    getent group adminkit >/dev/null || step 'the group adminkit' groupadd -r adminkit
    getent passwd adminkit >/dev/null || step 'the user adminkit' useradd -r -g adminkit -d /var/lib/adminkit -M -s /sbin/nologin adminkit
    step '/var/lib/adminkit, /var/lib/adminkit-own, /var/log/adminkit, /run/adminkit' own_folders
    step 'systemd reads its units again' systemd daemon-reload
    step 'adminkit-serve restarts where it runs' systemd try-restart adminkit-serve.service
}

if [ -z "$remove" ]; then
    as_packed || fail "$here is not as it was packed" "unpack the archive again"
    "$here/env/bin/python3" -I -B -c '' ||
        fail "its Python does not run in $here" "it needs Linux on x86_64, glibc 2.28 or newer, and a file system without noexec"
fi
[ -n "$remove" ] && what=do_remove || what=do_install
# What is refused is refused before anything is done.
(apply='' && $what) >"$files/plan" || exit 1
if [ -n "$apply" ]; then
    $what
else
    cat "$files/plan"
    echo 'nothing was done yet; add --apply to do it'
fi
