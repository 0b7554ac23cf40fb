#!/bin/bash
# The only service of a guest: mounts the host's folders that the kernel's command line names (guest.share=HOST:GUEST), takes
# the network that it names (guest.network=ADDRESS,GATEWAY,RESOLVER...), and runs /guest/script in /adminkit. Its output is
# /guest/out, its exit code /guest/code.
set -u
share() { # HOST GUEST. Trap: mount before util-linux 2.39 has one string for all options, which hostfs takes as the path.
    mkdir -p "$2"
    mount -t hostfs -o "hostfs=$1" none "$2" 2>/dev/null || mount -t hostfs -o "$1" none "$2"
}
network=
for word in $(cat /proc/cmdline); do
    case $word in
    guest.share=*) pair=${word#*=} && share "${pair%%:*}" "${pair#*:}" ;;
    guest.network=*) network=${word#*=} ;;
    esac
done
hostname slurm
echo "127.0.0.1 localhost slurm" >/etc/hosts
# Trap: where no interface besides loopback has an address getaddrinfo (AI_ADDRCONFIG) finds nothing, and no daemon listens.
ip link set lo up
if [ -n "$network" ]; then
    IFS=, read -r address gateway resolvers <<<"$network"
    ip link set vec0 up
    ip address add "$address" dev vec0
    ip route add default via "$gateway"
    for server in ${resolvers//,/ }; do echo "nameserver $server"; done >/etc/resolv.conf
else
    ip link add guest0 type dummy
    ip address add 192.0.2.1/32 dev guest0
    ip link set guest0 up
fi
export HOME=/root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
cd /adminkit || exit
bash /guest/script >/guest/out 2>&1 </dev/null
echo $? >/guest/code
