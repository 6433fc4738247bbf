#!/usr/bin/env bash
# What `palimpsest explain` says of each program in explain/, against the text beside it.
#   explain.sh BIN_FOLDER [--update]
set -u
bin=$(cd "$1" && pwd)
cd "$(dirname "$0")/explain" || exit 1
failed=0
for program in *.pal; do
  expected=${program%.pal}.txt
  said=$("$bin/palimpsest" explain "$program" --ops "$bin/libcaselib.so" 2>&1)
  if [ "${2:-}" = --update ]; then
    echo "$said" >"$expected"
  elif ! diff -u "$expected" <(echo "$said"); then
    echo "FAIL $program (if the new text is right: golden/explain.sh $1 --update)"
    failed=1
  fi
done
[ $failed -eq 0 ] && echo "all as expected"
exit $failed
