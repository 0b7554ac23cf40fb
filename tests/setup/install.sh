#!/bin/sh
# Installs what `make demo`, `make test`, `make web` or `make bench` needs, through apt, as root on Debian or Ubuntu;
# elsewhere says what is missing, how to get it, and what does not run without it. `slurm` is the part of `test` that
# runs on a Slurm, for the images of `make matrix`.
#
#   tests/setup/install.sh bench|demo|slurm|test|web     exit 0: what cannot be done without is there; 1: it is not
#
# Nothing is installed where the guard finds a Slurm. No service is started: a policy-rc.d forbids it while apt runs,
# and the units that came with our packages are disabled again.
set -u
cd "$(dirname "$0")/../.." || exit 1
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin # which users of Debian do not have
aim=${1:?usage: install.sh bench|demo|slurm|test|web}

DEMO_PACKAGES="python3 python3-venv gcc libc6-dev make cmake ninja-build libsqlite3-dev"
TOOL_PACKAGES="sqlite3 lua5.1 lua5.4"
TEST_PACKAGES="clang clang-format locales lua-check man-db mandoc rpm ruby systemd valgrind"
# Programs that a signal is sent through: shells, a small one in Go, and a Java.
SIGNAL_PACKAGES="busybox zsh tcsh mksh fish gron default-jre-headless"
SLURM_PACKAGES="slurm-wlm slurmdbd slurm-wlm-mysql-plugin slurm-wlm-basic-plugins munge mariadb-server mariadb-client
    libslurm-dev prometheus"
MAIL_PACKAGES="postfix openssl"
WEB_PACKAGES="chromium chromium-driver fonts-dejavu-core fonts-noto-cjk prometheus-node-exporter charliecloud"
# The slow file system on which `adminkit data` is measured, and the programs that make and mount images.
BED_PACKAGES="fuse3 libfuse3-dev pkg-config squashfs-tools squashfuse erofs-utils"
PACKAGING_PACKAGES="build-essential debhelper"
UNITS="postfix prometheus prometheus-node-exporter munge mariadb slurmctld slurmd slurmdbd"
POLICY=/usr/sbin/policy-rc.d
POLICY_MARK="# put here by adminkit's tests/setup/install.sh while apt runs"

say() { echo "install: $*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }
has_python() { python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
has_header() { echo "#include <$1>" | cc -E - >/dev/null 2>&1; }
has_fuzzer() {
    scratch=$(mktemp -d) || return 1
    echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d == 0 && n > 0; }' >"$scratch/f.c"
    clang -fsanitize=fuzzer,address "$scratch/f.c" -o "$scratch/f" 2>/dev/null
    code=$?
    rm -rf "$scratch"
    return $code
}

# Why nothing may be installed here; nothing when it may.
refusal() {
    if have python3 && python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
        answer=$(python3 -m tests.setup.guard --install) || echo "${answer:-the guard itself failed}"
        return
    fi
    # Without Python no test cluster can be running: any Slurm is the host's own.
    for conf in /etc/slurm*/*.conf /etc/slurm.conf /usr/local/etc/slurm*.conf /usr/local/etc/slurm*/*.conf \
        /usr/local/slurm*/etc/*.conf /opt/slurm*/etc/*.conf /run/slurm/conf/*.conf; do
        case $conf in */plugstack.conf) continue ;; esac
        [ -e "$conf" ] && echo "Slurm part not run: this host has a Slurm" && echo "there is $conf" && return
    done
    if [ -n "${SLURM_CONF:-}" ]; then
        echo "Slurm part not run: this host has a Slurm" && echo "SLURM_CONF is set to $SLURM_CONF" && return
    fi
    for comm in /proc/[0-9]*/comm; do
        root=${comm%/comm}/root # another one: a container or a chroot
        [ -e "$root/." ] && ! [ "$root" -ef / ] && continue
        case $(cat "$comm" 2>/dev/null) in
        slurmctld* | slurmd* | slurmrestd* | slurmstepd* | slurmscriptd* | sackd*)
            echo "Slurm part not run: this host has a Slurm" && echo "$(cat "$comm") is running" && return ;;
        esac
    done
    [ "$(id -u)" = 0 ] || { echo "no root" && return; }
    have apt-get || echo "not Debian or Ubuntu"
}

absent() {
    for package in "$@"; do
        case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
        *" installed") ;;
        *) echo "$package" ;;
        esac
    done
}

forbid_services() {
    if [ -e "$POLICY" ] && ! grep -qF "$POLICY_MARK" "$POLICY"; then
        "$POLICY" munge start >/dev/null 2>&1
        [ $? = 101 ] && return
        say "$POLICY of this host lets packages start services; nothing is installed"
        return 1
    fi
    trap 'allow_services' EXIT
    trap 'exit 130' INT TERM HUP
    printf '#!/bin/sh\n%s\nexit 101\n' "$POLICY_MARK" >"$POLICY" && chmod 755 "$POLICY"
}

allow_services() {
    [ -e "$POLICY" ] && grep -qF "$POLICY_MARK" "$POLICY" && rm -f "$POLICY"
}

apt() { DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" </dev/null; }

# Installs what is missing of "$@"; a package that this release does not have is left out and named.
get() {
    wanted=$(absent "$@")
    [ -n "$wanted" ] || return 0
    log=$(mktemp)
    if [ -z "${updated:-}" ]; then
        apt update >"$log" 2>&1 || { say "apt-get update failed:" && tail -3 "$log" >&2; }
        updated=yes
    fi
    known=""
    for package in $wanted; do
        if apt-cache show "$package" >/dev/null 2>&1; then known="$known $package"; else say "apt has no $package"; fi
    done
    [ -n "$known" ] || { rm -f "$log" && return 1; }
    say "apt-get install$known"
    # Trap: a mail server would take the place of the one that is there.
    # shellcheck disable=SC2086
    apt install --no-install-recommends --no-remove $known >"$log" 2>&1
    code=$?
    [ $code = 0 ] || { say "apt-get install failed:" && tail -5 "$log" >&2; }
    rm -f "$log"
    return $code
}

# Units that did not exist before and that a boot of this machine would start.
disable_new_units() {
    for unit in $UNITS; do
        case " $units_before " in *" $unit "*) continue ;; esac
        update-rc.d "$unit" disable >/dev/null 2>&1 # systemd's links too
    done
}

units_there() {
    for unit in $UNITS; do
        for folder in /lib/systemd/system /usr/lib/systemd/system /etc/systemd/system; do
            [ -e "$folder/$unit.service" ] && echo "$unit" && break
        done
    done | tr '\n' ' '
}

install_all() {
    forbid_services || return
    units_before=$(units_there)
    # shellcheck disable=SC2086
    {
        get $DEMO_PACKAGES
        if [ "$aim" = web ]; then
            get $WEB_PACKAGES
            have node || get nodejs
            have npm || get npm
            get $SLURM_PACKAGES
            disable_new_units
        fi
        [ "$aim" = bench ] && get $TOOL_PACKAGES $SLURM_PACKAGES $BED_PACKAGES && disable_new_units
        if [ "$aim" = test ]; then
            get $TEST_PACKAGES
            has_fuzzer || get "libclang-rt-$(clang -dumpversion 2>/dev/null | cut -d. -f1)-dev"
        fi
        if [ "$aim" = test ] || [ "$aim" = slurm ]; then
            get $TOOL_PACKAGES
            get $SIGNAL_PACKAGES
            get $SLURM_PACKAGES
            # Without an answer it would set up a mail server of the host's.
            absent postfix | grep -q . && echo "postfix postfix/main_mailer_type select No configuration" |
                debconf-set-selections
            get $MAIL_PACKAGES
            get $PACKAGING_PACKAGES
            get $BED_PACKAGES
            disable_new_units
        fi
    }
    allow_services
}

lacks=0
# lack must|may NAME DEBIAN-PACKAGES FEDORA-PACKAGES CONSEQUENCE
lack() {
    if have dnf; then command="dnf install $4"; else command="apt-get install $3"; fi
    say "missing: $2: $5. Get it: $command"
    [ "$1" = must ] && lacks=1
}

report() {
    has_python || lack must "Python 3.11 or newer with venv" "python3 python3-venv" python3.11 \
        "nothing runs (PYTHON=… names another interpreter)"
    if ! have cc; then
        lack must "a C compiler" "gcc libc6-dev" gcc "the helper adminkit-ingest cannot be built"
    elif ! has_header sqlite3.h; then
        lack must "SQLite's headers" libsqlite3-dev sqlite-devel "the helper adminkit-ingest cannot be built"
    fi
    if [ "$aim" = web ]; then
        have chromium && have chromedriver || lack may "a browser that programs steer" "chromium chromium-driver" \
            "chromium chromedriver" "reports and letters are not opened in one"
        have node && have npm || lack may "Node and npm" "nodejs npm" "nodejs npm" "JupyterHub has no proxy"
    fi
    if [ "$aim" = test ] || [ "$aim" = bench ]; then
        have sqlite3 || lack may "the sqlite3 shell" sqlite3 sqlite "benchmarks cannot compare with it"
        have lua5.1 || lack may "Lua 5.1" lua5.1 compat-lua "Lua is not run by Slurm's own release of it"
    fi
    [ "$aim" = test ] || return
    have clang-format || lack may clang-format clang-format clang-tools-extra "C files are not checked"
    have valgrind || lack may valgrind valgrind valgrind "the checkpoint plugin is not run under it (make soak)"
    have postfix || lack may postfix postfix postfix "letters are not tried on a real mail server"
    have luacheck || lack may luacheck lua-check luacheck "Lua files are not checked"
    have ruby || lack may ruby ruby ruby "the widget for Open OnDemand is not run"
    for program in busybox zsh tcsh mksh fish gron; do
        have "$program" || lack may "$program" "$program" "$program" "its part of the checkpoint signal's tests is skipped"
    done
    have java || lack may Java default-jre-headless java-headless "its part of the checkpoint signal's tests is skipped"
    has_fuzzer || lack may "clang with libFuzzer" "clang libclang-rt-14-dev" "clang compiler-rt" "the helper is not fuzzed"
}

why=$(refusal)
case $why in
"") install_all ;;
*) echo "$why" | sed 's/^Slurm part not run: /install: nothing is installed: /' | head -2 >&2 ;;
esac
report
exit "$lacks"
