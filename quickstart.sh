#!/usr/bin/env bash
# From a fresh Debian 12 to device messages in Iggy, in one command: installs what is missing, builds, starts an
# Iggy-compatible test server (or uses the real one that IGGY_URL names) and a real mosquitto with the plugin on free
# loopback ports, replays recorded device traffic, shows what Iggy holds, sends a command back from Iggy to an MQTT
# subscriber, asks for the past, and stays up until Ctrl-C. With --once (or without a terminal) it ends after that, exit
# code 0 when all went well.
#   IGGY_URL=http://127.0.0.1:3000 IGGY_USERNAME=iggy IGGY_PASSWORD=... ./quickstart.sh     a real server instead
set -euo pipefail
cd "$(dirname "$0")"

once=
[ "${1:-}" = --once ] || [ ! -t 1 ] && once=1
say() { printf '\n== %s\n' "$*"; }
fail() { echo "quickstart: $*" >&2; [ -f "${dir:-}/mosquitto.log" ] && tail -n 20 "$dir/mosquitto.log" >&2; exit 1; }

say "installing what is missing, building"
scripts/install-packages.sh
build=${BUILD_ROOT:-$PWD}/build-release
cmake --preset release -B "$build" >/dev/null
cmake --build "$build" -j "$(nproc)" --target mosquitto_iggy mosquitto_iggy_tool iggy-devserver iggy_peek mqtt_replay \
  >"$build.log" 2>&1 || { tail -n 40 "$build.log" >&2; exit 1; }
bin() { find "$build" -type f -name "$1" -print -quit; }
plugin=$(bin mosquitto_iggy.so) tool=$(bin mosquitto_iggy) devserver=$(bin iggy-devserver) peek=$(bin iggy_peek) replay=$(bin mqtt_replay)
mosquitto=${MOSQUITTO:-$(PATH=$PATH:/usr/sbin command -v mosquitto)}

dir=$(mktemp -d "${TMPDIR:-/tmp}/mosquitto-iggy-quickstart-XXXXXX")
pids=()
clean_up() {
  local pid i
  for ((i = ${#pids[@]} - 1; i >= 0; i--)); do pid=${pids[i]}; kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
  rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

free_port() { "$replay" --free-port; }
wait_for() { # text file seconds
  for _ in $(seq 1 $(($3 * 20))); do grep -q -- "$1" "$2" 2>/dev/null && return 0; sleep 0.05; done
  return 1
}

username=${IGGY_USERNAME:-iggy} password=${IGGY_PASSWORD:-iggy}
if [ -n "${IGGY_URL:-}" ]; then
  url=$IGGY_URL
  say "using the Iggy server at $url"
else
  say "starting iggy-devserver, our Iggy-compatible test server"
  "$devserver" --port 0 --data "$dir/iggy" --root "$username:$password" >"$dir/devserver.log" 2>&1 &
  pids+=($!)
  wait_for 'listening http' "$dir/devserver.log" 10 || { cat "$dir/devserver.log" >&2; fail "iggy-devserver did not start"; }
  url=http://$(sed -n 's/.*listening http \([0-9.:]*\).*/\1/p' "$dir/devserver.log" | head -n 1)
fi
iggy() { "$peek" "$url" "$username" "$password" "$@"; }

say "starting mosquitto with the plugin"
(umask 077 && printf '%s\n' "$password" >"$dir/iggy.password")
sed -e "s#@URL@#$url#; s#@USERNAME@#$username#; s#@DIR@#$dir#" conf/quickstart.json >"$dir/iggy.json"
"$tool" check "$dir/iggy.json" || fail "the configuration was refused"
port=$(free_port)
cat >"$dir/mosquitto.conf" <<CONF
listener $port 127.0.0.1
allow_anonymous true
persistence false
$([ "$(id -u)" -eq 0 ] && echo 'user root')
plugin $plugin
plugin_opt_config_file $dir/iggy.json
CONF
"$mosquitto" -c "$dir/mosquitto.conf" >"$dir/mosquitto.log" 2>&1 &
pids+=($!)
wait_for 'running' "$dir/mosquitto.log" 10 || fail "mosquitto did not start"

say "replaying recorded device traffic"
before=$(iggy count sensors messages_default 2>/dev/null || echo 0)
"$replay" --port "$port" --file tests/data/devices.tsv

say "what Iggy holds now"
expected=$("$replay" --count --file tests/data/devices.tsv)
held() { iggy list 2>/dev/null | awk '/partition/ { n += $3 } END { print n + 0 }'; }
if [ -z "${IGGY_URL:-}" ]; then
  for _ in $(seq 1 200); do [ "$(held)" -ge "$expected" ] && break; sleep 0.1; done
  [ "$(held)" -eq "$expected" ] || fail "$(held) of $expected messages arrived in Iggy"
else
  for _ in $(seq 1 100); do [ "$(iggy count sensors messages_default 2>/dev/null || echo 0)" -gt "$before" ] && break; sleep 0.1; done
fi
iggy list
echo
echo "the newest of each partition of home/tasmota, read back with a native client:"
iggy poll home tasmota 1

say "the other way: a native client writes a command, an MQTT subscriber gets it"
mosquitto_sub -h 127.0.0.1 -p "$port" -t 'devices/+/command' -v -C 1 -W 20 >"$dir/command.log" &
subscriber=$!
wait_for 'mosq-\|Sending SUBACK\|New client' "$dir/mosquitto.log" 2 || true
sleep 0.3
iggy send commands devices 0 '{"relay":"on"}' device=pump-7
wait "$subscriber" || fail "the command did not arrive"
cat "$dir/command.log"
grep -q '^devices/pump-7/command {"relay":"on"}$' "$dir/command.log" || fail "another command arrived than was sent"

say "the past: an MQTT client asks for the newest three messages of the Tasmota devices"
mosquitto_sub -h 127.0.0.1 -p "$port" -t '$iggy/last-3/tele/#' -v -C 4 -W 20 >"$dir/history.log" || fail "the past did not arrive"
cut -c 1-120 "$dir/history.log"
tail -n 1 "$dir/history.log" | grep -q '^$iggy/last-3/tele/$end {"messages":3,' || fail "the past does not end as it should"

say "it works"
cat <<TEXT
Connect your own client while this runs:
  mosquitto_pub -h 127.0.0.1 -p $port -t tele/kitchen/SENSOR -m '{"Temperature":21.5}'
  mosquitto_sub -h 127.0.0.1 -p $port -t 'devices/+/command' -v
  mosquitto_sub -h 127.0.0.1 -p $port -t '\$iggy/1h/tele/#' -v
See what Iggy holds:
  $peek $url $username PASSWORD list
Which rule takes a topic, and where it goes:
  $tool explain $dir/iggy.json tele/kitchen/SENSOR
Files of this run: $dir
TEXT
if [ -z "$once" ]; then
  say "running; Ctrl-C ends it"
  wait "${pids[-1]}"
fi
