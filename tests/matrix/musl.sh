#!/usr/bin/env bash
# Does the product compile against musl, and does musl's libc have everything that it calls? Debian has musl's compiler
# (musl-tools) but none of the libraries that we link, so nothing is linked whole: every source of base, iggy_client and
# plugin is compiled, with the headers of those libraries, and what the objects want must be theirs, ours, or musl's. Then
# the journal, which needs nothing else, is linked and tried.
# Exit status: 0 all of it; 3 no musl-gcc here (said as SKIP); 1 anything else.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v musl-gcc >/dev/null || { echo "== SKIP: no musl-gcc (package musl-tools)" >&2; exit 3; }

work=$(mktemp -d "${TMPDIR:-/tmp}/mosquitto-iggy-musl-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/include" "$work/objects" "$work/folders"
multiarch=$(gcc -print-multiarch)
for header in curl cjson pcre2.h microhttpd.h xxhash.h mosquitto.h mosquitto_broker.h mosquitto_plugin.h mqtt_protocol.h gnutls \
  openssl libpq-fe.h postgresql postgres_ext.h pg_config_ext.h linux asm asm-generic; do
  for place in /usr/include/postgresql /usr/include "/usr/include/$multiarch"; do
    [ ! -e "$place/$header" ] || cp -rL "$place/$header" "$work/include/" # openssl stands in two places
  done
done
# Debian's musl leaves crypt out, which musl itself has.
cat >"$work/include/crypt.h" <<'C'
struct crypt_data {
    int initialized;
    char __buf[256];
};
char *crypt(const char *, const char *);
char *crypt_r(const char *, const char *, struct crypt_data *);
C
for folder in base plugin/*/; do ln -s "$PWD/$folder" "$work/folders/$(basename "$folder")"; done
flags=(-std=c11 -D_GNU_SOURCE -DMI_FAULTS=0 -DMI_VERSION='"0"' -O2 -fPIC -Wall -Wextra -Werror -Wno-error=cpp -I"$work/folders"
  -Iiggy_client/include -Iiggy_client/src -idirafter "$work/include")

count=0
while IFS= read -r source; do
  musl-gcc "${flags[@]}" -c "$source" -o "$work/objects/$(tr / - <<<"${source%.c}").o" || exit 1
  count=$((count + 1))
done < <(find base iggy_client/src plugin -name '*.c' | sort)

libc=$(dirname "$(musl-gcc -print-file-name=libc.a)")/libc.a
{ nm --defined-only -P "$libc" 2>/dev/null; nm --defined-only -P "$work"/objects/*.o; nm --defined-only -P "$(gcc -print-libgcc-file-name)" 2>/dev/null; } |
  awk 'NF > 1 { print $1 }' | sort -u >"$work/defined"
missing=$(nm -u -P "$work"/objects/*.o | awk 'NF > 1 { print $1 }' | sort -u | comm -23 - "$work/defined" |
  grep -vE '^(curl_|cJSON_|pcre2_|MHD_|XXH|mosquitto_|PQ|gnutls_|SSL_|X509|EVP_|HMAC$|CRYPTO_|crypt_r$|_GLOBAL_OFFSET_TABLE_$)' || true)
if [ -n "$missing" ]; then
  echo "musl's libc does not have:" $missing >&2
  exit 1
fi
echo "$count sources compile against musl, and it has what they call"

# The journal as a program of musl's: written, closed, opened again, read.
cat >"$work/check.c" <<'C'
#include "journal/journal.h"
#include <stdio.h>
#include <string.h>

static const struct mi_log silent;

static int fail(const char *what, const struct mi_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->text);
    return 1;
}

int main(int argc, char **argv)
{
    enum { RECORDS = 1000 };
    struct mi_journal_options options = {.directory = argv[argc - 1],
                                         .max_size = 8 << 20,
                                         .sync_interval_ns = 100000000,
                                         .clock = &mi_clock_system,
                                         .log = &silent};
    struct mi_error err = {""};
    struct mi_journal_report report;
    struct mi_journal *journal;
    if (mi_journal_open(&options, &journal, &report, &err) != 0)
        return fail("open", &err);
    for (int i = 0; i < RECORDS; i++) {
        struct mi_record r = {.qos = 1,
                              .stream = mi_span_of("stream"),
                              .topic = mi_span_of("topic"),
                              .payload = {(const uint8_t *)&i, sizeof i}};
        if (mi_journal_append(journal, &r, 1) != MI_APPEND_OK)
            return fail("append", &err);
    }
    mi_journal_close(journal);
    if (mi_journal_open(&options, &journal, &report, &err) != 0)
        return fail("open again", &err);
    struct mi_cursor *cursor = mi_cursor_new(journal, 0);
    struct mi_journal_ref ref;
    struct mi_record record;
    int read = 0;
    while (mi_cursor_next(cursor, &ref, &record, &err) == 1 && record.payload.len == sizeof read &&
           memcmp(record.payload.data, &read, sizeof read) == 0)
        read++;
    mi_cursor_free(cursor);
    mi_journal_close(journal);
    return read == RECORDS ? 0 : fail("read", &err);
}
C
musl-gcc "${flags[@]}" -static -o "$work/check" "$work/check.c" base/*.c plugin/journal/*.c
mkdir "$work/journal"
"$work/check" "$work/journal"
echo "the journal works as a program of musl's"
