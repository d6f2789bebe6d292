#!/usr/bin/env bash
# Installs what the build and the tests need and is missing, with apt (Debian 12 and newer). Does nothing when all is there.
set -euo pipefail

packages=(gcc clang clang-format libclang-rt-14-dev cmake ninja-build pkg-config git ca-certificates python3-minimal binutils
  mosquitto mosquitto-dev libmosquitto-dev mosquitto-clients libcurl4-openssl-dev libcjson-dev libssl-dev libcunit1-dev
  libxxhash-dev libpcre2-dev libmicrohttpd-dev libgnutls28-dev libpq-dev libcrypt-dev
  postgresql debootstrap)

missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "missing packages (Debian names): ${missing[*]}" >&2
  exit 1
fi
sudo=()
[ "$(id -u)" -eq 0 ] || sudo=(sudo)
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# The package of the broker starts it as a service where there is an init system; what is started here has ports of its
# own, so a broker that runs already is left alone, and none is started by the installation.
policy=/usr/sbin/policy-rc.d
made_policy=
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | "${sudo[@]}" tee "$policy" >/dev/null
  "${sudo[@]}" chmod 755 "$policy"
  made_policy=1
fi
trap '[ -z "$made_policy" ] || "${sudo[@]}" rm -f "$policy"' EXIT
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
