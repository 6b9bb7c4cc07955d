#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `ptosim calibrate` on a small folder of figures made up here: what is found, what is kept, what is refused; the same
# file whatever the chip file said before; and a capture that is made of the engine's own rules comes out again.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
holds() { # what, command…
  if "${@:2}"; then passed=$((passed + 1)); else failed=$((failed + 1)) && printf 'FAILED: %s\n' "$1"; fi
}
value() { sed -n "s/^$2 = \([^ ]*\) .*/\1/p" "$1"; }
tag() { sed -n "s/^$2 = [^;]*; \([a-z]*\).*/\1/p" "$1"; }

mkdir "$work/data"
cat >"$work/data/micro.csv" <<'CSV'
key,value,low,high,unit,note,source
dispatch_to_start_steady,,100,300,ns,,"a bench, ours"
dispatch_to_start_first,,300,9000,ns,"bimodal: mean 1000 to 1400, p50 9",same
pending_start,250,,,ns,end to start; 650 with level-4 profiling,same
completion_by_register,,150,,ns,,same
poll_core,50,,,ns,,same
handshake,8000,,,ns,70 000 before,same
hbm_sustained,,0.9,1.2,TB/s,,same
clock,1.5,,,GHz,,a page
CSV
cat >"$work/data/rows.csv" <<'CSV'
row,metric,value_us,era,set,date,source
PAU C2,orchestrator,300,wiring in scheduler,calibrate,2026-01-01,ours
PAU C2,makespan,500,wiring in scheduler,calibrate,2026-01-01,ours
PAU C1,orchestrator,100,wiring in scheduler,check,2026-01-01,ours
CSV
cat >"$work/data/block_table_swimlane.csv" <<'CSV'
task,core_tid,dispatch_us,start_us,end_us,finish_us
a(r2t0),10000,10,10.5,30,31
a(r2t1),10010,12,12.5,32,33
a(r2t2),10000,34,34.5,54,55
a(r2t3),10010,36,36.5,56,57
a(r2t4),10000,58,58.5,78,79
a(r2t5),10010,60,60.5,80,81
CSV

calibrate() { "$build/ptosim" calibrate "$@"; }
holds 'it makes a chip file' calibrate --chip a2a3-2026-04 --data "$work/data" -o "$work/one.ini" >"$work/out"
while read -r key expected kind; do
  holds "$key is $expected and $kind" [ "$(value "$work/one.ini" "$key") $(tag "$work/one.ini" "$key")" = "$expected $kind" ]
done <<'KEYS'
kernel_start_ps 200000 measured
cold_start_ps 1000000 fitted
pending_start_ps 150000 fitted
kernel_end_ps 100000 fitted
handshake_ps 70000000 measured
look 50000 measured
chip_bandwidth_mbps 900000 assumed
aic_clock_khz 1500000 vendor
profiling_start_ps 300000 fitted
profiling_pending_ps 400000 fitted
l1_bytes 524288 vendor
signal_ps 100000 assumed
KEYS
holds 'a window of one program comes out' grep -Eq 'PAU C2, orchestrator .*within 3 %: yes' "$work/out"
holds 'a makespan is not fitted' grep -q 'warning: row PAU C2: a makespan is not fitted' "$work/out"
holds 'a row of the set check is not read' eval '! grep -q "PAU C1" "$work/out"'
holds 'what nothing was measured for is told' grep -Eq '^  signal_ps +100000  assumed' "$work/out"
holds 'a capture comes out again' grep -Eq 'block_table.json, span .*within 5 %: yes' "$work/out"

# What it finds does not depend on what was there before.
sed -E 's/^(kernel_start_ps|submit|alloc|param|lookup|alloc_tensors|chip_bandwidth_mbps) = [0-9]+/\1 = 123000/' \
  "$work/one.ini" >"$work/other.ini"
holds 'it takes a chip file by path' calibrate --chip "$work/other.ini" --data "$work/data" -o "$work/two.ini" --quiet
holds 'the same figures give the same file' cmp "$work/one.ini" "$work/two.ini"

holds 'another era is warned of' grep -q 'rows of era "wiring in scheduler" and a chip file of era "wiring in orchestrator"' \
  <(calibrate --chip a2a3 --data "$work/data" -o "$work/three.ini")
"$build/ptosim" import "$work/data/block_table_swimlane.csv" -o "$work/run.json" --quiet
holds 'another chip is warned of' grep -q 'run.json was captured on a2a3, and this is a5' \
  <(calibrate --chip a5 --capture "$work/run.json" -o "$work/four.ini")
holds 'a capture gives the start on a free core, the recorder taken off' [ "$(value "$work/four.ini" kernel_start_ps)" = 350000 ]
holds 'a run on another chip warns' grep -q 'run was captured on a2a3, and this is a5' <("$build/ptosim" run "$work/run.json" --chip a5)
holds 'a run on its chip does not' eval '! "$build/ptosim" run "$work/run.json" --chip a2a3-2026-04 | grep -q captured'
mkdir "$work/odd"
printf '%s\n' key,value,low,high,unit,note,source clock,1e30,,,GHz,,ours >"$work/odd/micro.csv"
holds 'a figure that no chip can have is refused with its key' grep -q 'aic_clock_khz' \
  <(calibrate --data "$work/odd" -o "$work/five.ini" 2>&1 >/dev/null)
holds 'and no file is made' [ ! -s "$work/five.ini" ]
holds 'a folder without figures is refused' eval '! calibrate --data "$work" -o "$work/five.ini" 2>/dev/null'
holds 'nothing measured is refused' eval '! calibrate -o "$work/five.ini" 2>/dev/null'
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
