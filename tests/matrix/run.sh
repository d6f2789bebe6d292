#!/usr/bin/env bash
# One plugin binary, built here, against the mosquitto of several Debian suites: runs the tests that start a real broker
# (ctest label integration, which holds the delivery and the replay tests too) with each and prints a table.
#   run.sh [--folder DIR] [--build DIR] [--label REGEX] [--jobs N] [--new] [suite...]
#     suite     a suite's name (default: trixie testing), or "installed" for the broker of this machine
#     --folder  where the suites are laid, and found again (default: matrix in the temporary folder)
#     --build   the build tree with plugin and tests (default: build-release)
#     --label   which tests, as ctest -L takes it (default: integration)
#     --new     lays a suite anew though its folder is there: testing moves on
# Exit status: 0 all passed; 1 a test failed or a suite's broker cannot be run; 3 a suite could not be had (said as SKIP),
# all others passed.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

folder=${TMPDIR:-/tmp}/mosquitto-iggy-matrix build=$root/build-release label=integration jobs=4 new=
suites=()
while [ $# -gt 0 ]; do
  case $1 in
    --folder) folder=$2; shift ;;
    --build) build=$2; shift ;;
    --label) label=$2; shift ;;
    --jobs) jobs=$2; shift ;;
    --new) new=1 ;;
    -*) sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 2 ;;
    *) suites+=("$1") ;;
  esac
  shift
done
[ ${#suites[@]} -gt 0 ] || suites=(trixie testing)
plugin=$build/plugin/broker/mosquitto_iggy.so
[ -e "$plugin" ] || { echo "run.sh: no plugin at $plugin: build first" >&2; exit 1; }

status=0 skipped=
rows=()
row() { rows+=("$(printf '%-12s %-10s %6s %6s %6s  %s' "$@")"); }

# The broker of a suite, laid when it is not there yet; sets broker.
find_broker() { # suite
  if [ "$1" = installed ]; then
    broker=$(PATH=$PATH:/usr/sbin command -v mosquitto)
    return
  fi
  broker=$folder/$1/mosquitto
  [ -z "$new" ] && [ -x "$broker" ] && return 0
  echo "== $1: laying its mosquitto into $folder/$1" >&2
  mkdir -p "$folder"
  "$here/lay.sh" "$1" "$folder/$1"
}

# The dynamic-security plugin that belongs to the broker.
find_dynsec() { # suite
  local in=$folder/$1
  [ "$1" = installed ] && in=
  find "$in"/usr/lib -maxdepth 2 -name mosquitto_dynamic_security.so 2>/dev/null | head -1
}

# The plugin must find all libraries where the broker finds its own.
foreign_libraries() { # suite
  [ "$1" != installed ] && "$folder/$1/with-libraries" --list "$plugin" | grep '=>' | grep -vF "=> $(realpath "$folder/$1")/"
}

try_suite() { # suite
  local suite=$1 broker log version total failed laid
  find_broker "$suite"
  laid=$?
  if [ $laid -eq 3 ]; then
    printf '%s\n' "" "== SKIP: the mosquitto of Debian $suite could not be fetched: NOT TESTED with it" "" >&2
    skipped=1
    row "$suite" - - - - "SKIPPED: could not be fetched"
    return
  fi
  version=$("$broker" -h 2>/dev/null | sed -n '1s/^mosquitto version //p')
  if [ $laid -ne 0 ] || [ -z "$version" ]; then
    status=1
    row "$suite" - - - - "FAILED: no broker that runs"
    return
  fi
  if foreign_libraries "$suite" >&2; then
    echo "== $suite: libraries that its packages do not hold (above)" >&2
    status=1
  fi
  echo "== $suite: mosquitto $version" >&2
  log=$(mktemp)
  # Where several brokers share a log, the second is the installed one: versions are mixed.
  MOSQUITTO=$broker MOSQUITTO_2=$(PATH=$PATH:/usr/sbin command -v mosquitto) MOSQUITTO_IGGY_PLUGIN=$plugin \
    MOSQUITTO_DYNSEC=$(find_dynsec "$suite") ctest --test-dir "$build" -L "$label" -j "$jobs" --output-on-failure \
    --no-tests=error >"$log" 2>&1 || { status=1; cat "$log" >&2; }
  total=$(sed -n 's/.* tests failed out of \([0-9]*\)$/\1/p' "$log")
  failed=$(sed -n 's/.* passed, \([0-9]*\) tests failed.*/\1/p' "$log")
  row "$suite" "$version" "${total:-0}" "$((${total:-0} - ${failed:-0}))" "${failed:-?}" \
    "$(sed -n 's/^Total Test time (real) = *\([0-9.]*\).*/\1 s/p' "$log")$(awk '/^\t *[0-9]+ - / { printf " %s", $3 }' "$log")"
  rm -f "$log"
}

for suite in "${suites[@]}"; do
  try_suite "$suite"
done
echo "plugin $(sha256sum "$plugin" | cut -c1-16), label $label"
printf '%-12s %-10s %6s %6s %6s  %s\n' suite mosquitto tests passed failed "time, failed tests"
printf '%s\n' "${rows[@]}"
[ $status -ne 0 ] || [ -z "$skipped" ] || status=3
exit $status
