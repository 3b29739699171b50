#!/usr/bin/env bash
# Installs the missing packages of the named groups: build, check, bench.
# On Debian and Ubuntu with apt, as root or through sudo. Elsewhere it only lists what is needed.
# With --missing it installs nothing and says which command would.
set -eu

build="gcc meson ninja-build pkg-config zlib1g-dev libxxhash-dev libjansson-dev
       libopenblas-dev liblapacke-dev libsvm-dev"
check="clang clang-format libclang-rt-dev libcmocka-dev python3 python3-pytest python3-pytest-xdist
       python3-numpy python3-sklearn groff-base zsh libsvm-tools"
bench="g++ python3-pandas python3-faiss python3-xgboost libflann-dev libhnswlib-dev libdlib-dev
       time"

say_only=""
if [ "${1:-}" = --missing ]; then
    say_only=yes
    shift
fi
groups="$*"
wanted=""
for group in "$@"; do
    case $group in
    build) wanted="$wanted $build" ;;
    check) wanted="$wanted $check" ;;
    bench) wanted="$wanted $bench" ;;
    *)
        echo "usage: scripts/deps.sh [--missing] [build] [check] [bench]" >&2
        exit 2
        ;;
    esac
done

if ! command -v dpkg-query >/dev/null 2>&1; then
    cat <<TEXT
limn needs these packages (their names depend on your system):
  build: a C11 compiler, meson (>= 1.0), ninja, pkg-config,
         zlib, xxhash, jansson, OpenBLAS, LAPACKE and libsvm with their headers
  check: clang, clang-format, compiler-rt, cmocka, python3 with pytest, numpy and scikit-learn,
         groff, zsh, the LIBSVM programs
  bench: a C++ compiler, pandas, faiss and xgboost for python3, FLANN 1.9, hnswlib, dlib,
         GNU time
TEXT
    exit 0
fi

missing=""
for package in $wanted; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ -n "$say_only" ]; then
    echo "limn needs packages that are not installed; this command installs them:" >&2
    echo "  scripts/deps.sh $groups" >&2
    echo "or, as root: apt-get install$missing" >&2
    exit 0
fi

as_root=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "some packages are missing; install them as root: apt-get install$missing" >&2
        exit 1
    fi
    as_root=sudo
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
