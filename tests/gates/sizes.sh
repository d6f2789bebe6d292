#!/usr/bin/env bash
# Sizes that keep code readable: functions at most 80 lines (60 for most), sources at most 800, headers at most 320 with
# their contracts (the client's public header excepted). Run from the repository's root.
set -euo pipefail

bad=0
while IFS= read -r file; do
  lines=$(wc -l <"$file")
  limit=800
  [[ $file == *.h ]] && limit=320
  [[ $file == iggy_client/include/iggy_client.h ]] && limit=500
  [ "$lines" -le "$limit" ] || { echo "$file: $lines lines, at most $limit"; bad=1; }
done < <(find base iggy_client plugin tests -name '*.[ch]')

# Braces of functions stand in the first column (.clang-format), so a function is what lies between them.
report=$(find base iggy_client plugin -name '*.c' -exec awk '
  FNR == 1 { head = "" }
  /^[a-z].*[a-z_]+\(/ { head = $0; sub(/\(.*/, "", head); sub(/.*[ *]/, "", head) }
  /^{/ { start = FNR }
  /^}/ { if (start) { n = FNR - start - 1; all++; if (n > 60) long++; if (n > 80) print FILENAME ": " head " has " n " lines, at most 80"; start = 0 } }
  END { print "functions", all + 0, long + 0 }' {} +)
grep -v '^functions' <<<"$report" && bad=1
awk '/^functions/ { all += $2; long += $3 } END { if (all < 100) { print "only " all " functions found"; exit 1 }
  if (long * 100 > all * 4) { print long " of " all " functions have over 60 lines: at most 4 %"; exit 1 } }' <<<"$report" || bad=1
exit $bad
