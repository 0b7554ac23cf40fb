#!/bin/sh
# interpreter.sh: in a Debian 11, build a Python that runs from any folder on glibc 2.28 or newer, into /out. /sources has
# SQLite's amalgamation; Python and OpenSSL are fetched, as Debian 13 fixes them. OpenSSL and SQLite are linked into
# Python's modules.
set -eu
# The time that Python says it was built at.
export SOURCE_DATE_EPOCH=0 LC_ALL=C
sources=/sources work=/build
mkdir -p "$work/python" "$work/sqlite" "$work/objects"

sed 's,^deb ,deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ,; s/bullseye/trixie/' \
    /etc/apt/sources.list >/etc/apt/sources.list.d/later.list
apt-get -q update
cd "$sources"
for name in python3.13 openssl; do
    # A mirror may list a release before it has its files: the newest that it has is taken.
    for version in $(apt-cache showsrc $name | sed -n 's/^Version: //p' | sort -rVu); do
        apt-get -q source --download-only "$name=$version" && break
        echo "warning: the mirror has no $name $version" >&2
    done
done

# Debian's fixes of Python are its *.patch; the rest of its changes (*.diff) is about its own folders.
tar xf "$sources"/python3.*.orig.tar.xz -C "$work/python" --strip-components=1
tar xf "$sources"/python3.*.debian.tar.xz -C "$work" debian
for fix in $(grep '\.patch$' "$work/debian/patches/series"); do
    patch -s -p1 --force -d "$work/python" <"$work/debian/patches/$fix"
done
dpkg-source -x --no-check "$sources"/openssl_*.dsc "$work/openssl"
cp "$sources"/sqlite3*.[ch] "$work/sqlite"

# glibc 2.29 has new versions of these; the old ones differ in errno and SVID's error handling only.
{
    echo '#ifndef __ASSEMBLER__'
    for name in exp exp2 log log2 pow; do echo "__asm__(\".symver $name,$name@GLIBC_2.2.5\");"; done
    echo '#endif'
} >"$work/old.h"
export CFLAGS="-O2 -include $work/old.h -ffile-prefix-map=$work=."

cd "$work/openssl"
./Configure linux-x86_64 --prefix="$work/tls" --libdir=lib --openssldir=/etc/ssl -fPIC \
    no-shared no-tests no-legacy no-engine no-module no-dso >/dev/null
make -s -j"$(nproc)" build_libs
make -s install_dev >/dev/null

cd "$work/sqlite"
gcc $CFLAGS -fPIC -DSQLITE_THREADSAFE=1 -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_ENABLE_COLUMN_METADATA \
    -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE -c sqlite3.c
ar rcsD libsqlite3.a sqlite3.o

# Symbols of SQLite stay visible: adminkit-columns.so is given to this copy (trace/columns.py). Trap: configure tries the
# semaphores of the host that builds, which may have no /dev/shm.
cd "$work/objects"
LIBSQLITE3_CFLAGS="-I$work/sqlite" LIBSQLITE3_LIBS="-L$work/sqlite -lsqlite3 -lm -lpthread -ldl" \
    "$work/python/configure" -q --prefix=/opt/adminkit --with-openssl="$work/tls" --with-ssl-default-suites=openssl \
    --without-ensurepip --disable-test-modules --without-static-libpython ac_cv_func_sem_clockwait=no \
    ac_cv_posix_semaphores_enabled=yes ac_cv_broken_sem_getvalue=no \
    LDFLAGS='-Wl,-rpath,\$$ORIGIN/../../adminkit:\$$ORIGIN/../lib/adminkit' \
    py_cv_module__dbm=n/a py_cv_module__gdbm=n/a py_cv_module__tkinter=n/a py_cv_module_readline=n/a \
    py_cv_module__curses=n/a py_cv_module__curses_panel=n/a py_cv_module__uuid=n/a
! grep -qE '^MODULE__(SQLITE3|SSL|HASHLIB|CTYPES|LZMA|BZ2)_STATE=missing' Makefile || { echo 'error: a module of Python cannot be built' >&2; exit 1; }
make -s -j"$(nproc)"
make -s install DESTDIR="$work/dest" >/dev/null

tree=$work/dest/opt/adminkit
own=$tree/lib/adminkit # libraries that not every distribution has, and the licences of what is neither Python's nor a wheel's
for name in libffi.so.7 libbz2.so.1.0 liblzma.so.5 libz.so.1; do
    install -D -m 644 "$(readlink -f "$(find /lib /usr/lib -name $name | head -n 1)")" "$own/$name"
done
libraries='libffi7 libbz2-1.0 liblzma5 zlib1g'
for package in $libraries; do
    install -m 644 "/usr/share/doc/$package/copyright" "$own/$package.copyright"
done
install -m 644 "$work/openssl/LICENSE.txt" "$own/openssl.copyright"
{
    for name in "$sources"/*.dsc; do basename "$name" .dsc; done
    dpkg-query -W -f '${source:Package}_${source:Version}\n' $libraries
    sed -n 's/^#define SQLITE_VERSION *"\(.*\)"/sqlite_\1/p' "$work/sqlite/sqlite3.h"
} >"$own/SOURCES"
find "$tree/bin" -mindepth 1 ! -name python3.13 -delete
ln -s python3.13 "$tree/bin/python3"
ln -s python3.13 "$tree/bin/python"
cd "$tree/lib/python3.13"
rm -rf config-3.13-* ensurepip idlelib lib2to3 pydoc_data tkinter turtledemo turtle.py \
    "$tree/lib/pkgconfig" "$tree/include" "$tree/share"
find . -name __pycache__ -type d -prune -exec rm -rf {} +
strip "$tree/bin/python3.13" lib-dynload/*.so
cp -a "$tree" /out
