#!/usr/bin/env bash
# make demo: run_demo.sh BIN_DIR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec "$1/llm_decode_demo" "$here/decode.pt2" "$1/libllm_ops.so" "$here/expected.txt"
