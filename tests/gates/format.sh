#!/usr/bin/env bash
# Every source is as clang-format 14 (Debian 12) leaves it. Another version formats differently: then this is skipped.
set -euo pipefail
if ! clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
  echo "SKIP: no clang-format 14 here"
  exit 0
fi
find base iggy_client plugin tests -name '*.[ch]' -print0 | xargs -0 clang-format --dry-run --Werror
