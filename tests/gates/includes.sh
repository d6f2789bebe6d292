#!/usr/bin/env bash
# Dependencies point one way: reads every #include line of the product and compares it with the table below
# (docs/architecture.md explains it). Run from the repository's root.
set -euo pipefail

declare -A may=(
  [base]="base"
  [iggy_client]="base iggy_client"
  [mapping]="base mapping"
  [message]="base message"
  [mqtt]="base message mqtt"
  [metrics]="base metrics"
  [journal]="base journal"
  [config]="base mapping config"
  [out]="base mapping message metrics journal config iggy_client out"
  [in]="base mapping message metrics config iggy_client in"
  [history]="base mapping message metrics config iggy_client history"
  [auth]="base metrics config iggy_client auth"
  [postgresql]="base auth postgresql"
  [status]="base metrics status"
  [loop]="base metrics journal config iggy_client out in history auth status loop"
  [broker]="base mapping message metrics journal config in history auth loop mqtt broker"
  [tool]="base mapping message metrics journal config iggy_client out tool"
)
# Foreign headers and the only folders that may know them.
declare -A only=(
  [curl/]="iggy_client"
  [cjson/]="config tool"
  [microhttpd.h]="status"
  [gnutls/]="status"
  [mosquitto]="broker"
  [mqtt_protocol.h]="broker"
  [pcre2.h]="mapping"
  [libpq-fe.h]="postgresql"
  [crypt.h]="postgresql"
  [pthread.h]="loop broker in metrics journal out history auth postgresql"
)

bad=0
complain() { echo "$1"; bad=1; }

check_file() { # folder file
  local folder=$1 file=$2 line header target
  while IFS= read -r line; do
    header=$(sed -E 's/.*#[[:space:]]*include[[:space:]]*[<"]([^>"]+)[>"].*/\1/' <<<"$line")
    if [[ $line == *'"'* ]]; then
      if [[ $header == iggy_client.h ]]; then target=iggy_client
      elif [[ $header == */* ]]; then target=${header%%/*}
      else target=$folder; fi
      [[ " ${may[$folder]} " == *" $target "* ]] || complain "$file: $folder may not include $header"
    else
      local key
      for key in "${!only[@]}"; do
        [[ $header == "$key"* ]] || continue
        [[ " ${only[$key]} " == *" $folder "* ]] || complain "$file: only ${only[$key]} may include <$header>"
      done
    fi
  done < <(grep -E '^[[:space:]]*#[[:space:]]*include' "$file")
}

files=0
for path in base iggy_client plugin/*; do
  folder=$(basename "$path")
  [ -n "${may[$folder]:-}" ] || { [ -d "$path" ] && complain "$path: a folder without a row in tests/gates/includes.sh"; continue; }
  while IFS= read -r file; do
    files=$((files + 1))
    check_file "$folder" "$file"
  done < <(find "$path" -name '*.[ch]')
done
[ "$files" -gt 50 ] || complain "only $files files found: run from the repository's root"
exit $bad
