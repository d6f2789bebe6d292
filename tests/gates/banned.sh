#!/usr/bin/env bash
# Functions that a guest in somebody's process must not call, or that cannot be called safely.
# Run from the repository's root.
set -euo pipefail

bad=0
ban() { # extended regex, reason, folders...
  local pattern=$1 reason=$2
  shift 2
  if grep -rnE --include='*.[ch]' "(^|[^A-Za-z0-9_.>])($pattern)[[:space:]]*\(" "$@" | grep -vE '^[^:]+:[0-9]+:[[:space:]]*(\*|/\*|//)'; then
    echo "banned: $reason"
    bad=1
  fi
}
ban 'strcpy|strcat|sprintf|vsprintf|gets|strtok|alloca' 'no bounds' base iggy_client plugin
ban 'atoi|atol|atof' 'no error check' base iggy_client plugin
ban 'abort|assert|exit|_exit|quick_exit' 'never ends the process it is a guest in' base iggy_client plugin
ban 'system|popen' 'no shells' base iggy_client plugin
ban 'sleep|usleep|nanosleep' 'nothing waits but on what stop can wake' base iggy_client plugin
ban 'localtime|gmtime|strerror_r|rand|srand' 'not thread-safe or not random' base iggy_client plugin
exit $bad
