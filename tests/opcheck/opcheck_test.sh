#!/usr/bin/env bash
# opcheck finds each planted fault, and nothing in the operators of the cases and the demo.
#   opcheck_test.sh BIN_FOLDER SOURCE_FOLDER
set -u
bin=$(cd "$1" && pwd)
failed=0
fail() {
  echo "FAIL $1"
  failed=1
}

said=$("$bin/palimpsest" opcheck "$bin/libplanted_faults.so")
[ $? -eq 1 ] || fail "the exit code of a library with faults is not 1"
while read -r expected; do
  grep -qE "^planted::$expected" <<<"$said" || fail "not found: $expected"
done <<'FAULTS'
good: ok, [0-9]+ calls$
undeclared_write: undeclared write: y \(with x=f32\[[0-9]\], y=f32\[[0-9]\]\)$
never_writes: declared write that never happens: y
keeps_memory: undeclared alias: memory of an earlier call changed
half_result: wrong shape function: elements of the result are never written: result 0
ignores_strides: dependence on strides: result 0
ignores_offset: dependence on the offset: result 0
writes_beyond: write outside the view: x
FAULTS
[ "$(wc -l <<<"$said")" -eq 8 ] || fail "one line for each operator is expected: $said"

said=$("$bin/palimpsest" opcheck "$bin/libcaselib.so") || fail "caselib has faults"
grep -v ': ok, ' <<<"$said" && fail "caselib: not all operators are checked"
# Operators that take what only their program knows.
said=$("$bin/palimpsest" opcheck "$bin/libllm_ops.so" --calls-of "$2/examples/llm_decode/decode.pt2") ||
  fail "llm has faults"
grep -v ': ok, ' <<<"$said" && fail "llm: not all operators are checked"
[ $failed -eq 0 ] && echo "all as expected"
exit $failed
