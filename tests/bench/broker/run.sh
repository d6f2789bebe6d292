#!/usr/bin/env bash
# Measures the plugin beside the bare broker, in turns within one run, and prints medians and ratios.
#   tests/bench/broker/run.sh BUILD_DIR [rounds]
# MOSQUITTO names another broker binary, IGGY_SERVER a real server for the end-to-end rows (else iggy-devserver is used).
set -euo pipefail
build=$1 rounds=${2:-5}
bin() { find "$build" -type f -name "$1" -print -quit; }
load=$(bin mqtt_load) plugin=$(bin mosquitto_iggy.so) devserver=$(bin iggy-devserver)
mosquitto=${MOSQUITTO:-$(PATH=$PATH:/usr/sbin command -v mosquitto)}
count=${COUNT:-200000}
dir=$(mktemp -d)
pids=()
trap 'for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done; wait 2>/dev/null; rm -rf "$dir"' EXIT

port=21883
start_broker() { # name, extra lines on stdin; sets broker_pid and broker_port
  port=$((port + 1))
  { printf 'listener %d 127.0.0.1\nallow_anonymous true\n' "$port"; [ "$(id -u)" -ne 0 ] || echo 'user root'; cat; } >"$dir/$1.conf"
  "$mosquitto" -c "$dir/$1.conf" >"$dir/$1.log" 2>&1 &
  broker_pid=$! broker_port=$port
  pids+=("$broker_pid")
  sleep 0.7
}
config() { # name url filter
  printf 'iggy\n' >"$dir/password"; chmod 600 "$dir/password"
  cat >"$dir/$1.json" <<JSON
{ "iggy": { "url": "$2", "username": "iggy", "password_file": "$dir/password" },
  "journal": { "directory": "$dir/journal-$1", "max_size": "4GB", "keep": "64MB" },
  "routes": [ { "name": "bench", "filter": "$3", "direction": "out", "stream": "bench", "topic": "messages",
                "create": { "partitions": 4, "durable": false }, "when_journal_full": "disconnect" } ] }
JSON
  printf 'plugin %s\nplugin_opt_config_file %s\n' "$plugin" "$dir/$1.json"
}
median() { sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }
private_kb() { awk '/^Private_/ { n += $2 } END { print n }' "/proc/$1/smaps_rollup"; }

start_broker bare </dev/null; bare_pid=$broker_pid bare_port=$broker_port
start_broker unmatched < <(config unmatched http://127.0.0.1:9 'other/#'); unmatched_pid=$broker_pid unmatched_port=$broker_port
start_broker away < <(config away http://127.0.0.1:9 'bench/#'); away_pid=$broker_pid away_port=$broker_port
if [ -n "${IGGY_SERVER:-}" ]; then
  iggy_port=21999
  env IGGY_ROOT_USERNAME=iggy IGGY_ROOT_PASSWORD=iggy IGGY_PATH="$dir/iggy" IGGY_SYSTEM_PATH="$dir/iggy" \
    IGGY_HTTP_ADDRESS=127.0.0.1:$iggy_port IGGY_TCP_ADDRESS=127.0.0.1:21998 IGGY_QUIC_ENABLED=false \
    IGGY_WEBSOCKET_ENABLED=false IGGY_SHARDING_CPU_ALLOCATION=1 IGGY_SYSTEM_SHARDING_CPU_ALLOCATION=1 \
    "$IGGY_SERVER" --fresh >"$dir/iggy.log" 2>&1 &
  pids+=($!); sleep 5
else
  "$devserver" --port 21999 --admin-port 21998 >"$dir/iggy.log" 2>&1 &
  pids+=($!); sleep 0.5
fi
start_broker shipping < <(config shipping http://127.0.0.1:21999 'bench/#'); shipping_pid=$broker_pid shipping_port=$broker_port
sleep 1
echo "broker: $("$mosquitto" -h 2>&1 | head -n 1); ${count} PUBLISHes of 256 bytes, 4 connections, ${rounds} rounds in turns"
echo "private memory, idle: bare $(private_kb "$bare_pid") kB, with the plugin and an empty journal $(private_kb "$unmatched_pid") kB"

for qos in 0 1; do
  for r in $(seq "$rounds"); do
    for what in bare unmatched away shipping; do
      p=${what}_port i=${what}_pid
      "$load" --port "${!p}" --qos $qos --count "$count" --pid "${!i}" >>"$dir/$what.$qos.out" || { echo "$what failed" >&2; tail -5 "$dir/$what.log" >&2; exit 1; }
    done
  done
  base_rate=$(awk '{ print $1 }' "$dir/bare.$qos.out" | median) base_cpu=$(awk '{ print $3 }' "$dir/bare.$qos.out" | median)
  for what in bare unmatched away shipping; do
    rate=$(awk '{ print $1 }' "$dir/$what.$qos.out" | median) cpu=$(awk '{ print $3 }' "$dir/$what.$qos.out" | median)
    awk -v w="$what" -v q=$qos -v r="$rate" -v b="$base_rate" -v c="$cpu" -v d="$base_cpu" 'BEGIN {
      printf "QoS %d %-10s %8.0f msgs/s, %.2f of bare; main thread %.2f us/msg, %+.2f over bare\n", q, w, r, r / b, c, c - d }'
  done
done
