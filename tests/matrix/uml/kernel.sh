#!/bin/sh
# kernel.sh OUT: the kernel of guest rows, of the Linux that this Debian has the source of. In a container, as root.
set -eu
out=${1:?usage: kernel.sh OUT} here=$(cd "$(dirname "$0")" && pwd)
apt-get -q update
apt-get -q -y install --no-install-recommends bc bison flex gcc libc6-dev linux-source make xz-utils
work=$(mktemp -d)
cd "$work"
tar -xf /usr/src/linux-source-*.tar.xz --strip-components=1
# Trap: /proc/PID/wchan, by which the plugin knows a sigwait, is a guess from all that is on a stack. Addresses of functions
# lie there too and end every guess; a return address is never a function's first.
place=arch/um/kernel/process.c within='({ unsigned long into; kallsyms_lookup_size_offset(ip, NULL, \&into) \&\& into > 0; })'
sed -i "s/kernel_text_address(ip) && seen_sched/seen_sched \&\& kernel_text_address(ip) \&\& $within/
    0,/^#include </s//#include <linux\/kallsyms.h>\n&/" $place
grep -q 'into > 0' $place || { echo "kernel: $place has changed: see to /proc/PID/wchan" >&2 && exit 1; }
# Trap: an interrupt's handler may be interrupted, and the inner one overwrites the events that the outer one has yet to look at:
# those of a disk are lost for good, as an edge comes once. One event at a time is looked at before the next is asked for.
place=arch/um/os-Linux/irq.c
sed -i 's/^#define MAX_EPOLL_EVENTS 64$/#define MAX_EPOLL_EVENTS 1/' $place
grep -q 'MAX_EPOLL_EVENTS 1$' $place || { echo "kernel: $place has changed: see to its events" >&2 && exit 1; }
# Trap: some transports of its network driver look up names, for which a static program loads libraries. Raw frames need none.
sed -i '/select MAY_HAVE_RUNTIME_DEPS/d' arch/um/drivers/Kconfig
export ARCH=um
make -s x86_64_defconfig
scripts/kconfig/merge_config.sh -m .config "$here/kernel.config" >/dev/null
make -s olddefconfig
missing=$(grep 'CONFIG_' "$here/kernel.config" | grep -vxFf .config || :)
[ -z "$missing" ] || { echo "kernel: not taken by this Linux:" >&2 && echo "$missing" >&2 && exit 1; }
make -s -j"$(nproc)" linux
cp linux "$out"
cd /
rm -rf "$work"
