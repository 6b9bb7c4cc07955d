#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Messages between chips arrive as SimGrid says, on the same links: what bench_fabric prints, held to its aims, which are 1 % of a
# message's time where none waits for another, and 3 % where they do; of 4 MB and more beside SMPI, whose processes take a while
# to begin.  And whole collectives take what SMPI says of their messages, which bench_collectives prints, within 1 %.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ "$build" = build ] || { echo 'compared with the plain build'; exit 77; }
[ -e /usr/include/simgrid/s4u.hpp ] && command -v g++ >/dev/null || { echo 'no SimGrid or no g++: scripts/deps --bench brings them'; exit 77; }
. tests/support/holds.sh

make build/bench/bench_fabric build/bench/bench_collectives build/bench/peers/fabric >"$work/built" 2>&1 || { tail "$work/built"; exit 1; }
PTO_BENCH_QUICK=1 build/bench/bench_fabric >"$work/lines" 2>"$work/said" || { cat "$work/said"; exit 1; }

# WHAT KEY LEAST-BYTES: each line of that kind that has the key is within its aim, and some have it.
within() {
  awk -v what="\"$1\"" -v key="\"$2\": " -v least="$3" '
    function value(name) {
      if (!match($0, name)) return ""
      return substr($0, RSTART + RLENGTH) + 0
    }
    index($0, what) && index($0, key) && (value("\"bytes\": ") == 0 || value("\"bytes\": ") >= least) {
      count++
      if (value(key) > value("\"off_aim\": ")) { print; failed = 1 }
    }
    END { exit failed || !count }' "$work/lines"
}
holds 'a message alone' within point_to_point off_percent 0
holds 'a message alone, beside SMPI' within point_to_point smpi_off_percent 4194304
holds 'a ring' within ring_all_reduce off_percent 0
holds 'a ring, beside SMPI' within ring_all_reduce smpi_off_percent 4194304
holds 'all to all' within all_to_all off_percent 0
holds 'all to all, beside SMPI' within all_to_all smpi_off_percent 4194304
holds 'random messages' within random off_percent 0

# Each case of the bench has SMPI's time.
near_smpi() {
  PTO_BENCH_QUICK=1 build/bench/bench_collectives >"$work/collectives" 2>"$work/said" || { cat "$work/said"; return 1; }
  awk '{
      if (!match($0, "\"smpi_percent\": ")) { print; failed = 1; next }
      percent = substr($0, RSTART + RLENGTH) + 0
      if (percent < 99 || percent > 101) { print; failed = 1 }
    }
    END { exit failed || NR < 200 }' "$work/collectives"
}
holds 'whole collectives, beside SMPI' near_smpi
# But for what SMPI says, whose versions may differ.
without_smpi() { sed -E 's,(/[0-9.e+]+)/[0-9.e+]+/,\1/,g; s/  +/ /g; /^#/d; /^$/d'; }
is_table() {
  scripts/bench_table "$work/collectives" | without_smpi >"$work/table"
  without_smpi <docs/tables/collectives.txt | diff - "$work/table"
}
holds 'the table of the documents is that of the bench' is_table
holds_total
