#!/bin/sh
# sqlite.sh FOLDER: put SQLite's amalgamation there, of which every file is pinned. It comes from npm.
set -eu
folder=${1:?usage: sqlite.sh FOLDER}
package=better-sqlite3@12.11.1 # SQLite 3.53.2

as_pinned() { (cd "$folder" && sha256sum --quiet --strict -c -); } <<'END'
60d2f39a3726cd6b9021da6f4e868608d66fbb6528a9f513dc8ffcc640493422  sqlite3.c
9e69a1353a4288450b0d5239ede11fc7f1f4c8e5eb07491fc8317eacb5b7de7e  sqlite3.h
ac9645e5c9ff0cf176efdd6e75cb5e98f46295d38e02db5c4d208826a39ab4be  sqlite3ext.h
END

mkdir -p "$folder"
as_pinned >/dev/null 2>&1 && exit 0
fetched=$(mktemp -d)
trap 'rm -rf "$fetched"' EXIT
(cd "$fetched" && npm pack --silent --ignore-scripts $package >/dev/null && tar -xzf ./*.tgz package/deps/sqlite3)
cp "$fetched"/package/deps/sqlite3/sqlite3*.[ch] "$folder"
as_pinned || { echo "error: $package is not what was pinned" >&2; exit 1; }
