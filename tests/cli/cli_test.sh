#!/usr/bin/env bash
# The binary's face: exit codes, which stream says what, the lines that scripts rely on.
#   cli_test.sh BIN_FOLDER
set -u
bin=$(cd "$1" && pwd)
cd "$(dirname "$0")" || exit 1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
ops="--ops $bin/libcaselib.so"
failed=0

# expect CODE STREAM PATTERN -- ARGUMENTS...: the exit code, and a line of stdout or stderr.
expect() {
  local code=$1 stream=$2 pattern=$3
  shift 4
  "$bin/palimpsest" "$@" >"$out/stdout" 2>"$out/stderr"
  local got=$?
  if [ $got -ne "$code" ]; then
    echo "FAIL palimpsest $*: exit code $got, expected $code"
    cat "$out/stderr"
    failed=1
  elif ! grep -qE -- "$pattern" "$out/$stream"; then
    echo "FAIL palimpsest $*: no line of $stream matches '$pattern'; it says:"
    cat "$out/$stream"
    failed=1
  fi
}

# run: one line per result; the signature and what was copied on stderr.
given="--input x=f32[2,3]:arange --input k=i64[1]:ones"
expect 0 stdout '^mul: f32\[1, 3\]\[3, 1\] 8 10 12$' -- run bump.pal $ops $given
expect 0 stdout '^x: f32\[2, 3\]\[3, 1\] 0 1 2 4 5 6$' -- run bump.pal $ops $given
expect 0 stderr '^call signature: x: f32\[2, 3\]\[3, 1\]' -- run bump.pal $ops $given
expect 0 stderr '^call 2: 0 bytes copied$' -- run bump.pal $ops $given --calls 2
expect 0 stdout '^mul: f32\[1, 3\]\[3, 1\] 10 12 14$' -- run bump.pal $ops $given --calls 2
expect 0 stdout '"schema":"palimpsest.run/1"' -- run bump.pal $ops $given --json
# --output and --inputs: what one run writes another reads.
expect 0 stderr . -- run bump.pal $ops $given --output "$out/results"
cp "$out/results/x.npy" "$out/x.npy" 2>/dev/null
expect 0 stdout '^x: f32\[2, 3\]\[3, 1\] 0 1 2 5 6 7$' -- \
  run bump.pal $ops --inputs "$out/results" --input k=i64[1]:ones
expect 0 stdout '^x: f32\[2, 3\]\[3, 1\] 0 1 2 5 6 7$' -- \
  run bump.pal $ops --input x=@"$out/x.npy" --input k=i64[1]:ones

# explain: in place, and a copy with the reader that forces it.
expect 0 stdout '^x \(24 bytes\): in place' -- explain bump.pal $ops
expect 0 stdout '^0 bytes copied per call, 0 clones' -- explain bump.pal $ops
expect 0 stdout '^16 bytes copied per call, 1 clone' -- explain late_reader.pal $ops
expect 0 stdout "^x \(16 bytes\): snapshot, 16 bytes copied: result 'clone' keeps what caselib" -- \
  explain late_reader.pal $ops
expect 0 stdout '^    written by caselib::add_one at late_reader.pal:3$' -- explain late_reader.pal $ops
expect 0 stdout '"schema":"palimpsest.explain/1".*"copied_bytes":16,.*"verdict":"' -- \
  explain late_reader.pal $ops --json

# opt: passes by name, the graph between them.
expect 0 stdout '^# after functionalize$' -- opt bump.pal $ops --print-after-all
expect 0 stdout 'auto_functionalized_v2' -- opt bump.pal $ops --passes=functionalize
expect 0 stdout 'auto_functionalized\(' -- \
  opt bump.pal $ops --passes=functionalize --functionalize=v1
expect 2 stderr "pass .dead-code. works on graphs of the phase" -- opt bump.pal $ops --passes=dead-code
expect 2 stderr "there is no pass 'fuse'; known: " -- opt bump.pal $ops --passes=fuse

# inspect and verify.
expect 0 stdout '^user x: f32\[2, 3\]\[3, 1\]' -- inspect bump.pal
expect 0 stdout '^cannot run: .*caselib.add_one' -- inspect bump.pal
expect 0 stdout '^custom operator caselib::add_one x 1$' -- inspect bump.pal $ops
expect 0 stdout '^3 calls: results, inputs, state, aliasing and strides are equal$' -- \
  verify bump.pal $ops $given --calls 3
expect 0 stdout '"equal":true' -- verify bump.pal $ops $given --json

# Exit codes: usage 2, bad input 3, unknown operator 4, failure while running 6.
expect 0 stdout '^palimpsest run model.pt2' -- run --help
expect 2 stderr . --
expect 2 stderr . -- run
expect 2 stderr 'noise' -- run bump.pal $ops --input x=f32[2,3]:noise
expect 2 stderr "there is no input 'z'; the program takes: x, k" -- run bump.pal $ops --input z=3
expect 3 stderr "nowhere.pt2" -- run nowhere.pt2
expect 3 stderr 'broken.pal:2' -- run broken.pal
expect 3 stderr '^ *\^' -- run broken.pal
expect 3 stderr 'cannot load the operator library' -- run bump.pal --ops ./nowhere.so
expect 3 stderr "dim 1 of input 'x' is 2, 3 is expected" -- run bump.pal $ops --input x=f32[2,2]
expect 1 stderr 'max_copied_bytes allows 0' -- run late_reader.pal $ops --max-copied-bytes 0
expect 1 stderr "x: 16 bytes .snapshot., .*written by caselib::add_one at late_reader.pal:3" -- \
  explain late_reader.pal $ops --max-copied-bytes 0
expect 0 stdout 'proven: no plan copies fewer bytes' -- explain late_reader.pal $ops --max-copied-bytes 16
expect 1 stderr "x: 36 bytes .copied., read by the caller's 'x', written by the last write of 'x' at shift_rows.pal:5" -- \
  explain shift_rows.pal $ops --max-copied-bytes 0
expect 1 stderr "'x' must not be copied" -- explain late_reader.pal $ops --forbid-copy x
expect 0 stdout . -- explain bump.pal $ops --forbid-copy x --must-alias x --max-copied-bytes 0
expect 1 stderr "result 'mul' must lie in the memory of an input" -- \
  explain bump.pal $ops --must-alias mul
expect 2 stderr "there is no result or input 'nobody'" -- explain bump.pal $ops --must-alias nobody
expect 4 stderr 'unknown operator.*nowhere.foo.*--ops' -- run unknown.pal
expect 6 stderr 'index' -- run bump.pal $ops --input k=i64[1]:7
expect 6 stderr 'memory' -- run bump.pal $ops --max-memory 8
[ $failed -eq 0 ] && echo "all as expected"
exit $failed
