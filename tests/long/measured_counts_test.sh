#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `make test-long` alone: under --deps pto, programs at the sizes of the benchmarks that were measured on the hardware
# have the tasks and edges that those have.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
passed=0 failed=0
while read -r program case tasks edges; do
  json=$("$build/ptosim" run "$program" --case "$case" --engine virtual --chip a2a3 --deps pto --json - | head -n 1)
  if [[ $json == *"\"tasks\":$tasks,"* && $json == *"\"edges\":$edges,"* && $json == *'"verified":true'* ]]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf '%s %s: not %s tasks and %s edges, verified: %s\n' "$program" "$case" "$tasks" "$edges" "$json"
  fi
done <<'ROWS'
bgemm C0 1000 750
alternating_matmul_add C1 1000 0
paged_attention_unroll C1 1280 1280
paged_attention_unroll C2 576 704
batch_paged_attention C1 4112 6128
sliding_window_deps C0 1001 15865
ROWS
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
