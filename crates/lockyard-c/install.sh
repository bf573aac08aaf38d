#!/bin/sh
# Builds the C library and installs it: liblockyard.so, liblockyard.a, lockyard.h, lockyard.pc.
set -eu

usage() {
    cat <<'EOF'
usage: install.sh [--prefix DIR] [--libdir DIR] [--includedir DIR] [--debug] [--target T]
                  [--from DIR]

  --prefix DIR      installs below DIR (default: /usr/local); lockyard.pc names it
  --libdir DIR      libraries and pkgconfig/ (default: PREFIX/lib)
  --includedir DIR  the header (default: PREFIX/include)
  --debug           a debug build, which aborts with a message when it detects misuse
  --target T        builds for a target of Rust, such as x86_64-unknown-linux-musl. For musl it
                    installs only the static library, with the unwinder that it needs
  --from DIR        builds nothing, and takes liblockyard_c.so and .a from DIR

DESTDIR is put before every path to which files are written, as packagers need it. It is not in
lockyard.pc.
EOF
}

fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 2
}

# Escapes text for the right side of `s|||`.
escaped() {
    printf '%s\n' "$1" | sed 's/[\\&|]/\\&/g'
}

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
newline='
'
prefix=/usr/local libdir='' includedir='' profile=release from='' target=''
while [ $# -gt 0 ]; do
    case $1 in
    --target)
        [ $# -ge 2 ] || fail "$1: the name of a target must follow (rustc --print target-list)"
        target=$2
        shift 2
        ;;
    --prefix | --libdir | --includedir | --from)
        [ $# -ge 2 ] || fail "$1: a directory must follow"
        case $1 in
        --prefix) prefix=$2 ;;
        --libdir) libdir=$2 ;;
        --includedir) includedir=$2 ;;
        --from) from=$2 ;;
        esac
        shift 2
        ;;
    --debug)
        profile=debug
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *) fail "$1: no such option (install.sh --help lists them)" ;;
    esac
done
libdir=${libdir:-$prefix/lib} includedir=${includedir:-$prefix/include}
for dir in "$prefix" "$libdir" "$includedir"; do
    case $dir in
    /*) ;;
    *) fail "$dir: a path that begins with / is needed, as lockyard.pc names it" ;;
    esac
    case $dir in
    *["\"\\\$\`#$newline"]*)
        fail "$dir: lockyard.pc cannot name a path with one of \" \\ \$ \` # or a line break"
        ;;
    esac
done
[ "$(uname -s)" = Linux ] || fail "$(uname -s): this script knows the names of files on Linux only"

if [ -z "$from" ]; then
    command -v cargo >/dev/null || fail "cargo is not installed (https://rustup.rs)"
    set -- build --locked -p lockyard-c --manifest-path "$here/Cargo.toml"
    [ "$profile" = debug ] || set -- "$@" --release
    [ -z "$target" ] || set -- "$@" --target "$target"
    # In the folder of the package, which decides the toolchain.
    case ${CARGO_TARGET_DIR:-/} in
    /*) ;;
    *)
        CARGO_TARGET_DIR=$PWD/$CARGO_TARGET_DIR
        export CARGO_TARGET_DIR
        ;;
    esac
    (CDPATH='' cd -- "$here" && cargo "$@")
    from=${CARGO_TARGET_DIR:-$here/../../target}/${target:+$target/}$profile
fi
# Rust makes no shared library for musl unless it is told to. Its static one needs the unwinder that
# comes with Rust: the one of the compiler may be that of another C library.
shared=yes unwinder='' unwind=''
case $target in
*-musl*)
    [ -f "$from/liblockyard_c.so" ] || shared=''
    sysroot=$(CDPATH='' cd -- "$here" && rustc --print sysroot)
    unwinder=$sysroot/lib/rustlib/$target/lib/self-contained/libunwind.a
    unwind=' -llockyard-unwind'
    [ -f "$unwinder" ] || fail "$unwinder: no such file (rustup target add $target)"
    ;;
esac
for file in ${shared:+"$from/liblockyard_c.so"} "$from/liblockyard_c.a"; do
    [ -f "$file" ] || fail "$file: no such file"
done

version=$(sed -n 's/^#define LY_VERSION "\(.*\)"$/\1/p' "$here/include/lockyard.h")
abi=0
lib=${DESTDIR:-}$libdir include=${DESTDIR:-}$includedir
mkdir -p "$lib/pkgconfig" "$include"
if [ -n "$shared" ]; then
    install -m 755 "$from/liblockyard_c.so" "$lib/liblockyard.so.$version"
    ln -sf "liblockyard.so.$version" "$lib/liblockyard.so.$abi"
    ln -sf "liblockyard.so.$abi" "$lib/liblockyard.so"
fi
[ -z "$unwinder" ] || install -m 644 "$unwinder" "$lib/liblockyard-unwind.a"
install -m 644 "$from/liblockyard_c.a" "$lib/liblockyard.a"
install -m 644 "$here/include/lockyard.h" "$include/lockyard.h"
sed -e "s|@PREFIX@|$(escaped "$prefix")|" -e "s|@LIBDIR@|$(escaped "$libdir")|" \
    -e "s|@INCLUDEDIR@|$(escaped "$includedir")|" -e "s|@VERSION@|$version|" \
    -e "s|@UNWIND@|$unwind|" \
    "$here/lockyard.pc.in" >"$lib/pkgconfig/lockyard.pc"
chmod 644 "$lib/pkgconfig/lockyard.pc"
printf 'lockyard %s is in %s and %s\n' "$version" "$lib" "$include"

# The loader looks for libraries in directories of its own list, and in what ldconfig found in them.
if [ -n "$shared" ] && [ -z "${DESTDIR:-}" ]; then
    PATH=$PATH:/usr/sbin:/sbin
    if command -v ldconfig >/dev/null; then
        if [ "$(id -u)" = 0 ] && [ "$libdir" = /usr/local/lib ]; then
            ldconfig
        fi
        known=$(ldconfig -p 2>/dev/null | grep -F "=> $libdir/liblockyard.so.$abi" || :)
    else
        known=''
    fi
    if [ -z "$known" ]; then
        printf 'the loader does not know %s: run ldconfig as root if it is in /etc/ld.so.conf, ' \
            "$libdir"
        printf 'or link with -Wl,-rpath,%s, or set LD_LIBRARY_PATH=%s\n' "$libdir" "$libdir"
    fi
fi
