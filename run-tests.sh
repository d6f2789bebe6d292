#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests:
#   gates and generated pages, unit tests plain, under ASan+UBSan and under TSan, contract, integration and short chaos
#   tests against real processes on loopback. With IGGY_SERVER (or iggy-server on PATH) and IGGY_SERVER_08 naming real
#   servers, the tests that can use them do. Where Debian's archive can be reached, the integration tests run once more
#   with the mosquitto of Debian testing (tests/matrix: half a minute to fetch it, a minute or two to run).
# Options: --quick leaves out the sanitizer builds, the chaos run and the other mosquitto; a word after it is passed to
# ctest -R.
set -euo pipefail
cd "$(dirname "$0")"

quick=
[ "${1:-}" = --quick ] && { quick=1; shift; }
filter=${1:-}

scripts/install-packages.sh
jobs=$(nproc)
build=${BUILD_ROOT:-$PWD}

configure_and_build() { # preset
  cmake --preset "$1" -B "$build/build-$1" >"$build/build-$1.log" 2>&1 || { cat "$build/build-$1.log" >&2; return 1; }
  cmake --build "$build/build-$1" -j "$jobs" >"$build/build-$1.log" 2>&1 || { tail -n 60 "$build/build-$1.log" >&2; return 1; }
}

run_ctest() { # preset, then ctest arguments
  local preset=$1
  shift
  echo "== $preset: ctest $*"
  ctest --test-dir "$build/build-$preset" --output-on-failure "$@" ${filter:+-R "$filter"}
}

echo "== build (gcc, release)"
configure_and_build release
run_ctest release -LE chaos -j "$jobs" --no-tests=error

if [ -z "$quick" ]; then
  echo "== build (ASan+UBSan)"
  configure_and_build asan
  run_ctest asan -L unit -j "$jobs"
  echo "== build (TSan)"
  configure_and_build tsan
  run_ctest tsan -L unit -j "$jobs"
  echo "== build (clang)"
  configure_and_build clang
  run_ctest release -L chaos --no-tests=ignore
  echo "== the same plugin with the mosquitto of Debian testing"
  # 3: could not be fetched, which it says; a gate that needs the archive's good health would be red for nothing
  tests/matrix/run.sh --build "$build/build-release" --folder "$build/build-matrix" --new testing || [ $? -eq 3 ]
fi
echo "all tests passed"
