#!/bin/sh
# -I: what a user's environment says of Python is for the user's programs. Trap: this Python looks for the roots of TLS in
# /etc/ssl, where EL has none.
roots=/etc/pki/tls/certs/ca-bundle.crt
[ -n "${SSL_CERT_FILE:-}" ] || [ ! -e $roots ] || export SSL_CERT_FILE=$roots
exec "$(dirname -- "$(readlink -f -- "$0")")/python3" -I -m adminkit.cli.main "$@"
