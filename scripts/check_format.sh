#!/usr/bin/env bash
# Fails if a committed C++ file is not formatted; `make format` mends it.
set -eu
git ls-files '*.h' '*.cc' | xargs clang-format-19 --dry-run --Werror
