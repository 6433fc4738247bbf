#!/usr/bin/env bash
# make test-live: run.sh BIN_DIR. Compares with PyTorch 2.13, installed into .venv.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=$(cd "$1" && pwd)
venv="$root/.venv"
if ! "$venv/bin/python" -c 'import torch, sys; sys.exit(torch.__version__.split("+")[0] != "2.13.0")' 2>/dev/null; then
  echo "installing PyTorch 2.13 into .venv" >&2
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
fi
failed=0
passed=0
for test in "$here"/live_*.py; do
  echo "== $(basename "$test")"
  if "$venv/bin/python" "$test" "$bin"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "live: $passed passed, $failed failed"
[ "$failed" = 0 ]
