#!/usr/bin/env bash
# Mosquitto's own broker tests with this plugin in every broker that they start, compared with an empty plugin in the same
# place: what passes with the empty one must pass with ours.
#   mosquitto-suite.sh [--plugin FILE] [--devserver FILE] [--jobs N] [--only REGEX] [--user NAME] TREE [variant...]
#     TREE       a checked-out Mosquitto source tree (2.0 or 2.1); a copy of it is built and used, it is not changed
#     variant    bare: no plugin; empty: a plugin that does nothing; quiet: ours, no route matches; both: ours, everything is
#                copied to Iggy and may come back, fed by subscriptions, with history. Default: empty quiet both
#     --only     only the tests whose name matches
#     --user     whom to run as when called by root: as root Mosquitto gives its rights away, and many tests fail
# A test that fails is run again, twice, alone: it has failed when it fails all three times.
# Needs what Mosquitto's make needs (WITH_DOCS=no) and python3. Exit status 0: nothing failed that passed with the empty one.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

plugin=$root/build-release/plugin/broker/mosquitto_iggy.so devserver=$root/build-release/tests/devserver/iggy-devserver
jobs=4 only=. user= tree= variants=()
original=("$@")
usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --plugin) plugin=$2; shift ;;
    --devserver) devserver=$2; shift ;;
    --jobs) jobs=$2; shift ;;
    --only) only=$2; shift ;;
    --user) user=$2; shift ;;
    -*) usage ;;
    *) if [ -z "$tree" ]; then tree=$(realpath "$1"); else variants+=("$1"); fi ;;
  esac
  shift
done
[ -f "$tree/src/mosquitto.c" ] && [ -d "$tree/test/broker" ] || usage
[ ${#variants[@]} -gt 0 ] || variants=(empty quiet both)
if [ "$(id -u)" -eq 0 ]; then
  [ -n "$user" ] || { echo "mosquitto-suite.sh: as root, name a plain user with --user" >&2; exit 2; }
  exec runuser -u "$user" -- "$0" "${original[@]}"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/mosquitto-suite-XXXXXX")
server=
clean_up() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  [ -n "${KEEP_TEST_DIRS:-}" ] || rm -rf "$work"
}
trap clean_up EXIT
cp -a "$tree" "$work/tree"
copy=$work/tree

echo "== building $(sed -n 's/^VERSION=//p' "$copy/config.mk")" >&2
make -C "$copy" -j "$(nproc)" WITH_DOCS=no binary >"$work/build.log" 2>&1 && make -C "$copy/test/broker/c" >>"$work/build.log" 2>&1 ||
  { tail -n 20 "$work/build.log" >&2; exit 1; }
mv "$copy/src/mosquitto" "$copy/src/mosquitto.real"

cat >"$work/empty.c" <<'C'
#include <mosquitto_broker.h>
#include <mosquitto_plugin.h>
/* 2.1 lists the plugins that tell their name, and a test wants that list to be exact. */
int mosquitto_plugin_set_info(mosquitto_plugin_id_t *id, const char *name, const char *version) __attribute__((weak));
int mosquitto_plugin_version(int count, const int *versions)
{
    for (int i = 0; i < count; i++)
        if (versions[i] == 5)
            return 5;
    return -1;
}
int mosquitto_plugin_init(mosquitto_plugin_id_t *id, void **data, struct mosquitto_opt *options, int count)
{
    (void)data, (void)options, (void)count;
    return mosquitto_plugin_set_info ? mosquitto_plugin_set_info(id, "empty", "1") : 0;
}
int mosquitto_plugin_cleanup(void *data, struct mosquitto_opt *options, int count)
{
    (void)data, (void)options, (void)count;
    return 0;
}
C
cc -shared -fPIC -w -I"$copy/include" -o "$work/empty.so" "$work/empty.c"

# Every broker gets a folder, a journal and a stream of its own: ID.
(umask 077 && echo iggy >"$work/password")
common='"iggy":{"url":"http://127.0.0.1:IGGY","username":"iggy","password_file":"WORK/password"},
  "journal":{"directory":"DIR/journal","max_size":"16MB","keep":"2MB"}'
cat >"$work/quiet.json" <<JSON
{ $common,
  "routes":[{"name":"none","filter":"no/such/topic","direction":"out","stream":"none","topic":"none"}] }
JSON
cat >"$work/both.json" <<JSON
{ $common,
  "broker":{"acl":"ACL"},
  "history":{},
  "routes":[{"name":"all","filter":"#","direction":"both","stream":"sID","topic":"all","feed":"on_subscribe"}] }
JSON

# The broker's stand-in. The configuration that it was given is included by one with the plugin's lines, so that a test may
# change it before a SIGHUP; where the place of the lines matters (per_listener_settings, include_dir) it is copied instead.
cat >"$copy/src/mosquitto" <<'WRAPPER'
#!/bin/sh
work=@WORK@
variant=$(cat "$work/variant")
real=$work/tree/src/mosquitto.real
[ "$variant" = bare ] && exec "$real" "$@"
conf= previous= plain=
for argument; do
  shift
  [ "$previous" = -c ] && conf=$argument
  [ "$argument" = -p ] && plain=1
  if [ "$argument" != -c ] && [ "$previous" != -c ]; then set -- "$@" "$argument"; fi
  previous=$argument
done
if [ "$previous" = -c ]; then exec "$real" "$@" -c; fi
if [ -n "$conf" ] && [ ! -r "$conf" ]; then exec "$real" "$@" -c "$conf"; fi
if [ -z "$conf$plain" ]; then exec "$real" "$@"; fi

dir=$(mktemp -d "$work/brokers/XXXXXX")
if [ "$variant" = empty ]; then
  echo "plugin $work/empty.so" >"$dir/plugin"
else
  acl=none
  if [ -n "$conf" ] && grep -qE '^ *(plugin|auth_plugin|global_plugin|plugin_load) ' "$conf"; then acl=plugin
  elif [ -n "$conf" ] && grep -qE '^ *acl_file ' "$conf"; then acl=acl_file; fi
  # what another plugin allows cannot be asked for, so history is refused beside one
  [ $acl = plugin ] && drop='/"history"/d' || drop=
  sed -e "$drop" -e "s#\"ACL\"#\"$acl\"#; s#WORK#$work#g; s#DIR#$dir#g; s#ID#_${dir##*/}#g; s#IGGY#$(cat "$work/port")#g" "$work/$variant.json" >"$dir/iggy.json"
  printf 'plugin %s\nplugin_opt_config_file %s\n' "$work/mosquitto_iggy.so" "$dir/iggy.json" >"$dir/plugin"
fi
if [ -z "$conf" ]; then
  cp "$dir/plugin" "$dir/mosquitto.conf"
elif grep -q '^ *per_listener_settings  *true' "$conf"; then
  # to the first listener only: each would load it once more, and one journal has one owner
  awk -v lines="$(cat "$dir/plugin")" '{ print } /^ *(listener|port) / && !/^ *port 0/ && !done++ { print lines }' "$conf" >"$dir/mosquitto.conf"
elif grep -q '^ *include_dir' "$conf"; then
  cat "$dir/plugin" "$conf" >"$dir/mosquitto.conf"
else
  mkdir "$dir/conf.d"
  ln -s "$(realpath "$conf")" "$dir/conf.d/given.conf"
  { cat "$dir/plugin"; echo "include_dir $dir/conf.d"; } >"$dir/mosquitto.conf"
fi
exec "$real" "$@" -c "$dir/mosquitto.conf"
WRAPPER
sed -i "s#@WORK@#$work#" "$copy/src/mosquitto"
chmod 755 "$copy/src/mosquitto"
cp "$plugin" "$work/mosquitto_iggy.so"
mkdir "$work/brokers"

# "ports name arguments", one test a line, from the suite's own list.
cd "$copy/test/broker"
python3 - >"$work/list" <<'PYTHON'
import sys, types
listed = []
class PTest:
    def run_tests(self, tests): listed.extend(tests)
sys.modules['ptest'] = types.SimpleNamespace(PTest=PTest, run_tests=lambda tests, *more: listed.extend(tests))
sys.argv = ['test.py']
exec(compile(open('test.py').read(), 'test.py', 'exec'), {'__name__': '__main__', '__file__': 'test.py'})
for t in listed:
    words = list(t[1]) if isinstance(t[1], list) else [t[1]]
    for more in t[2:]:
        words += more if isinstance(more, list) else [more]
    print(t[0], *words)
PYTHON
grep -E "$only" "$work/list" >"$work/chosen"

if [[ " ${variants[*]} " == *" quiet "* || " ${variants[*]} " == *" both "* ]]; then
  "$devserver" --port 0 --data "$work/iggy" >"$work/devserver.log" 2>&1 &
  server=$!
  for _ in $(seq 100); do grep -q 'listening http' "$work/devserver.log" && break; sleep 0.1; done
  sed -n 's/.*listening http [0-9.]*:\([0-9]*\).*/\1/p' "$work/devserver.log" | head -n 1 >"$work/port"
fi

# One test wants the whole broker in 25 MB of address space, which it nears without a plugin. What ours maps when nothing
# happens (stacks and heaps of its threads, libcurl) is allowed beside that; what bad packets then take is not.
idle_address_space() { # variant; kB
  local pid kilobytes
  echo "$1" >"$work/variant"
  printf 'listener 19999 127.0.0.1\nallow_anonymous true\n' >"$work/idle.conf"
  "$copy/src/mosquitto" -c "$work/idle.conf" >"$work/idle.log" 2>&1 &
  pid=$!
  sleep 3
  kilobytes=$(awk '/^VmSize/ { print $2 }' "/proc/$pid/status")
  kill "$pid" && wait "$pid" || true
  echo "$kilobytes"
}
[ ! -e 01-bad-initial-packets.py ] ||
  sed -i 's/limit = 25000000$/limit = 25000000 + int(os.environ.get("PLUGIN_ADDRESS_SPACE", "0"))/' 01-bad-initial-packets.py

run_one() { # line number, "ports name arguments"; appends "ok|bad NAME" to $results, its output to $logs
  local number=$1 count ports=() i
  read -r count line <<<"$2"
  for ((i = 0; i < count; i++)); do ports+=($((20000 + number * 10 + i))); done
  if timeout 180 $line "${ports[@]}" >"$logs/$number" 2>&1; then echo "ok $line"; else echo "bad $line"; fi >>"$results"
}
export -f run_one

run_variant() { # variant; leaves $work/VARIANT.failed and .again
  local variant=$1 logs=$work/logs-$1 results=$work/$1.results number again
  mkdir -p "$logs"
  PLUGIN_ADDRESS_SPACE=0
  case $variant in quiet | both) PLUGIN_ADDRESS_SPACE=$((($(idle_address_space "$variant") - $(idle_address_space empty)) * 1024)) ;; esac
  export logs results PLUGIN_ADDRESS_SPACE
  echo "$variant" >"$work/variant"
  : >"$results"
  awk '{ printf "%d\n%s\n", NR, $0 }' "$work/chosen" | xargs -d '\n' -n 2 -P "$jobs" bash -c 'run_one "$@"' run_one
  sed -n 's/^bad //p' "$results" | sort >"$work/$variant.first"
  cp "$work/$variant.first" "$work/$variant.failed"
  for again in 1 2; do
    : >"$results"
    while IFS= read -r name; do
      number=$(grep -nE "^[0-9]+ $(sed 's/[.[\*^$]/\\&/g' <<<"$name")\$" "$work/chosen" | head -n 1 | cut -d: -f1)
      run_one "$number" "$(sed -n "${number}p" "$work/chosen")" </dev/null
    done <"$work/$variant.failed"
    sed -n 's/^bad //p' "$results" | sort >"$work/$variant.failed"
  done
  comm -23 "$work/$variant.first" "$work/$variant.failed" >"$work/$variant.again"
}

total=$(wc -l <"$work/chosen")
version=$("$copy/src/mosquitto.real" -h 2>/dev/null | sed -n '1s/^mosquitto version //p' || true)
status=0
for variant in "${variants[@]}"; do
  start=$SECONDS
  run_variant "$variant"
  failed=$(wc -l <"$work/$variant.failed")
  echo "$version $variant: $((total - failed)) of $total passed ($(wc -l <"$work/$variant.again") of them only when run again), $((SECONDS - start)) s${PLUGIN_ADDRESS_SPACE:+, address space $((PLUGIN_ADDRESS_SPACE / 1000000)) MB}"
  sed 's/^/    failed: /' "$work/$variant.failed"
  sed 's/^/    again:  /' "$work/$variant.again"
done
for variant in "${variants[@]}"; do
  [ -e "$work/empty.failed" ] && [[ $variant == quiet || $variant == both ]] || continue
  while IFS= read -r name; do
    status=1
    echo "== only with ours ($variant): $name"
    number=$(grep -nF " $name" "$work/chosen" | head -n 1 | cut -d: -f1)
    tail -n 15 "$work/logs-$variant/$number" | cut -c 1-2000
  done < <(comm -13 "$work/empty.failed" "$work/$variant.failed")
done
exit $status
