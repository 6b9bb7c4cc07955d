#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# --trace in Perfetto's format and in Chakra's: protoc decodes them by tests/cli/*.proto, and what they show is what the JSON shows.
# The name's ending chooses, whatever the verb.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
ptosim=$build/ptosim
for program in ptosim programs/{bgemm,kv_cache,moe,paged_attention}.so planted/planted_names.so; do
  [ -x "$build/$program" ] || { echo "there is no $build/$program"; exit 77; }
done
for python in /usr/bin/python3 python3 ''; do "${python:-false}" -c '' 2>/dev/null && break; done
[ -n "$python" ] || { echo 'there is no python3'; exit 77; }
command -v protoc >/dev/null || { echo 'protoc is not installed: scripts/deps --report brings it'; exit 77; }
. tests/support/holds.sh

compare() { "$python" tests/support/trace_formats.py "$@"; }
write() { # FILE WORDS…
  rm -f "$1"
  "$ptosim" "${@:2}" --trace "$1" --quiet >/dev/null 2>&1
  [ -s "$1" ]
}
# the_same WORDS…: a run in virtual time is the same each time, so its timelines are of one run.
the_same() {
  local file
  for file in "$work"/t.{json,pftrace,et}; do write "$file" "$@" --engine virtual --deps-json "$work/deps.json" || return 1; done
  compare perfetto "$work/t.pftrace" "$work/t.json" "$work/deps.json" && compare chakra "$work/t.et" "$work/t.json" "$work/deps.json"
}
holds 'schedulers, the critical path, counters' the_same run bgemm --chip a2a3
holds 'barriers, allocations and predicates' the_same run moe --chip a2a3
holds 'tasks on AIC and AIV' the_same run paged_attention --chip a2a3
holds 'transfers, in several runs of a context' the_same run kv_cache --set steps=12 --set window=8
holds 'transfers of a cache to the host and back' the_same run kv_cache --set mode=host --set steps=9 --set window=8 --chip a2a3
holds 'labels' the_same run "$build/planted/planted_names.so" --set mistake=none
small_gpt2=(--model gpt2 --set layers=2 --set width=32 --set heads=4 --set window=8 --set vocabulary=50)
holds 'nodes of a graph' the_same graph "${small_gpt2[@]}" --run
holds 'blocks of a task' the_same run spmd --chip a2a3

# In real time there is one timeline, which is whole, however many threads a core's calls were on.
alone() {
  "$ptosim" run moe --workers "$1" --trace "$work/t.pftrace" --stats --json "$work/run.json" --quiet >/dev/null 2>&1
  compare alone "$work/t.pftrace" "$work/run.json"
}
for workers in 1 2 4; do holds "real time, $workers threads" alone $workers; done

begins_with_json() { write "$1" run bgemm && head -c 1 "$1" | grep -q '{'; }
for name in t t.json t.perfetto t.pftrace.json et; do holds "$name is JSON" begins_with_json "$work/$name"; done
if "$ptosim" --version | grep -q zlib; then
  compressed() {
    write "$work/t.$1" run bgemm --engine virtual && write "$work/t.$1.gz" run bgemm --engine virtual && zcat "$work/t.$1.gz" | cmp - "$work/t.$1"
  }
  holds 'compressed for Perfetto' compressed pftrace
  holds 'compressed for Chakra' compressed et
fi
full() { leaves_with 2 "$ptosim" run bgemm --trace "$work/none/t.$1" && grep -q "none/t.$1" "$work/out"; }
for format in pftrace et; do holds "a $format file that cannot be written is named" full $format; done
holds_total
