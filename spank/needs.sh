#!/bin/sh
# needs.sh PREFIX COMPILER [OPTION…]: prints what is missing to build the plugins and the command that installs it, once,
# instead of a compiler's error for each file. Exit 0: nothing is missing.
prefix=$1
shift
what=""
packages=""
if ! command -v "$1" >/dev/null 2>&1; then
    what="no C compiler ($1)"
    packages="gcc libc6-dev"
    test -e "$prefix/include/slurm/spank.h" || header=no
else
    "$@" -E -include slurm/spank.h -x c /dev/null >/dev/null 2>&1 || header=no
fi
if [ "${header:-}" = no ]; then
    what="${what:+$what and }no slurm/spank.h"
    packages="${packages:+$packages }libslurm-dev"
fi
test -n "$what" || exit 0
echo "error: the plugin cannot be built: $what" >&2
echo "hint: apt-get install $packages (elsewhere: gcc, slurm-devel); SLURM_PREFIX=/opt/slurm where Slurm is there" >&2
exit 1
