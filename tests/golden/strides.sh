#!/usr/bin/env bash
# What `palimpsest strides` says of the named cases of PyTorch's pull request 42922 and of the other
# hand-written ones (tests/cases/strides-open.jsonl): the commands and answers in strides/named.txt.
#   strides.sh BIN_FOLDER [--update]
set -u
bin=$(cd "$1" && pwd)
named=$(cd "$(dirname "$0")" && pwd)/strides/named.txt
said=$(mktemp)
trap 'rm -f "$said"' EXIT
grep '^\$ ' "$named" | while IFS= read -r line; do
  echo "$line"
  read -ra words <<<"${line#\$ palimpsest }"
  "$bin/palimpsest" "${words[@]}" 2>&1
done >"$said"
if [ "${2:-}" = --update ]; then
  cp "$said" "$named"
elif ! diff -u "$named" "$said"; then
  echo "FAIL (if the new text is right: golden/strides.sh $1 --update)"
  exit 1
fi
echo "all as expected"
