#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Virtual time is the same everywhere: the timeline of a program does not depend on the process that runs it (addresses, size of the
# environment), on the number of workers, or on whether anything is recorded or watched besides.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
same() { # WHAT EXPECTED GOT
  if [ -n "$2" ] && [ "$2" = "$3" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$1: '$3' instead of '$2'"
  fi
}
times() { # PROGRAM CHIP ARGUMENTS…: trace digest, output digest and virtual time
  "$build/ptosim" run "$1" --engine virtual --chip "$2" --quiet --json "$work/json" "${@:3}" >"$work/log" 2>&1 || cat "$work/log"
  grep -oE '"(trace_digest|output_digest|virtual_us)":[^,]*' "$work/json" | tr '\n' ' '
  rm -f "$work/json"
}

for program in bgemm paged_attention spmd_sync_start war_reuse scalar_data; do
  for chip in a2a3 a5; do
    expected=$(times "$program" "$chip")
    case $expected in *'"trace_digest":"'*) ;; *) expected= ;; esac
    same "$program on $chip, again" "$expected" "$(times "$program" "$chip")"
    same "$program on $chip, other workers" "$expected" "$(times "$program" "$chip" --workers 3)"
    same "$program on $chip, another environment" "$expected" "$(PADDING=$(printf '%05000d' 0) times "$program" "$chip")"
    same "$program on $chip, all recorded" "$expected" \
      "$(times "$program" "$chip" --trace "$work/trace" --dot "$work/dot" --deps-json "$work/deps")"
    same "$program on $chip, from its file" "$expected" "$(times "$program" "sim/chips/$chip.ini" --timeout 600)"
  done
done

# The same of cores that wait, with a cache that goes by use, with none, and with times that vary by a seed.
for program in core_fifo spmd_barrier; do
  for chip in a2a3,l2=lru tiny tiny,l2_bytes=0; do
    for options in '--jitter 0%' '--jitter 7%'; do
      # shellcheck disable=SC2086
      expected=$(times $program $chip $options)
      # shellcheck disable=SC2086
      same "$program on $chip, $options, other workers" "$expected" "$(times $program $chip $options --workers 3)"
    done
  done
done

# Under valgrind addresses, threads and speed are others.  (A sanitizer's build does not run there.)
if command -v valgrind >/dev/null && ! ldd "$build/ptosim" | grep -qE 'lib(a|t|ub)san'; then
  for program in vector_example bgemm; do
    settings=()
    [ "$program" = bgemm ] && settings=(--set task_num=16 --set tile=16 --set grid_k=2)
    expected=$(times "$program" a2a3 "${settings[@]}")
    valgrind -q "$build/ptosim" run "$program" --engine virtual --chip a2a3 --quiet --json "$work/json" "${settings[@]}" \
      >"$work/log" 2>&1 || cat "$work/log"
    same "$program under valgrind" "$expected" "$(grep -oE '"(trace_digest|output_digest|virtual_us)":[^,]*' "$work/json" | tr '\n' ' ')"
  done
fi

# Another chip is another timeline, and the same bytes.
one=$(times bgemm a2a3) other=$(times bgemm a5)
digest() { grep -o "\"$1\":[^ ]*" <<<"$2"; }
same 'the bytes on another chip' "$(digest output_digest "$one")" "$(digest output_digest "$other")"
[ "$(digest trace_digest "$one")" != "$(digest trace_digest "$other")" ]
same 'another timeline on another chip' 0 $?

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
