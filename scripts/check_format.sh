#!/usr/bin/env bash
# Fails if a committed C++ file is not formatted, and names it; `make format` mends it.
set -u
bad=$(git ls-files '*.h' '*.cc' | xargs clang-format-19 --dry-run --Werror 2>&1 |
      sed -n 's/:[0-9]*:[0-9]*: error: .*//p' | sort -u)
if [ -n "$bad" ]; then
  echo "$bad"
  echo "not formatted: 'make format' mends it"
  exit 1
fi
echo "format: ok"
