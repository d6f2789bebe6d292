#!/usr/bin/env bash
# Lays the mosquitto of another Debian suite into a folder, with every library that it and the plugin need, so that it runs
# on this machine beside the installed one:
#   lay.sh SUITE DIR     e.g. lay.sh trixie /tmp/matrix/trixie; then DIR/mosquitto is the broker
# debootstrap only chooses, fetches and verifies the packages (by the keys that apt uses), which are then unpacked: nothing is
# installed, nothing of them runs but that broker, and no rights of root are needed. The archive is the one apt uses here.
# Exit status: 0 there; 3 the archive could not be had (no network, no apt); 1 anything else.
set -euo pipefail
suite=${1:?usage: lay.sh SUITE DIR} dir=$(realpath -m "${2:?usage: lay.sh SUITE DIR}")
PATH=$PATH:/usr/sbin:/sbin
cannot() { echo "lay.sh: $suite: $*" >&2; exit 3; }

# What Debian's plugin package would depend on beside libmosquitto; the broker's own dependencies debootstrap knows.
packages=mosquitto,libcurl4t64,libcjson1,libpcre2-8-0,libmicrohttpd12t64,libxxhash0,libpq5

command -v debootstrap >/dev/null || cannot "debootstrap is not installed (scripts/install-packages.sh does it)"
command -v apt-get >/dev/null || cannot "no apt here to take the archive's address from"

# The address of the first archive of Debian proper, and apt's proxy, if it has one.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Label: Debian' 2>/dev/null | head -n 1)
[ -n "$mirror" ] || mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 2>/dev/null | grep '/debian/*$' | head -n 1)
[ -n "$mirror" ] || cannot "apt names no Debian archive"
proxy=
eval "$(apt-config shell proxy Acquire::http::Proxy)"
[ -z "$proxy" ] || [ "$proxy" = DIRECT ] || export http_proxy=$proxy https_proxy=$proxy

# A suite younger than debootstrap is laid like sid.
script=()
[ -e "/usr/share/debootstrap/scripts/$suite" ] || script=(/usr/share/debootstrap/scripts/sid)

work=$dir.part
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/root"
if ! timeout "${LAY_TIMEOUT:-240}" debootstrap --download-only --variant=minbase --include="$packages" \
    "$suite" "$work/fetched" "$mirror" "${script[@]}" >"$work/log" 2>&1; then
  tail -n 5 "$work/log" >&2
  cannot "debootstrap could not fetch it"
fi
# base-files first: it brings the links /lib -> usr/lib that the others rely on.
for package in "$work"/fetched/var/cache/apt/archives/{base-files_,}*.deb; do
  dpkg-deb -x "$package" "$work/root"
done
rm -rf "$work/fetched"

libc=$(find "$work/root/usr/lib" -name libc.so.6 -print -quit)
libraries=${libc%/*}
loader=$(find "$libraries" "$work/root/usr/" -name 'ld-linux*' -print -quit)
if [ ! -x "$loader" ] || [ ! -x "$work/root/usr/sbin/mosquitto" ]; then
  echo "lay.sh: $suite: no loader or no mosquitto among the packages" >&2
  exit 1
fi
ldconfig -n "$libraries" # a few packages leave making their links to it
loader=${loader#"$work/"} libraries=${libraries#"$work/"}

mkdir -p "$dir"
rm -rf "$dir/root"
mv "$work/root" "$dir/root"
# --inhibit-cache: what is not in the folder is not taken from this machine's cache of libraries.
cat >"$dir/with-libraries" <<WRAPPER
#!/bin/sh
exec '$dir/$loader' --inhibit-cache --library-path '$dir/$libraries' "\$@"
WRAPPER
cat >"$dir/mosquitto" <<WRAPPER
#!/bin/sh
exec '$dir/with-libraries' '$dir/root/usr/sbin/mosquitto' "\$@"
WRAPPER
chmod 755 "$dir" "$dir/with-libraries" "$dir/mosquitto"
"$dir/mosquitto" -h | sed -n '1s/^mosquitto version //p'
