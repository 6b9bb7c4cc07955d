#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What is seen of a run on several ranks: what was moved adds up, and threads change nothing of what is told.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
ptosim=$build/ptosim
[ -x "$ptosim" ] || { echo "there is no $ptosim"; exit 77; }
python=$(command -v python3) || { echo 'there is no python3'; exit 77; }
. tests/support/holds.sh

# run OPTION…: 3 all-reduces of 8000 bytes on 4 ranks; its JSON is in $work/run.json.
run() { "$ptosim" run all_reduce --ranks 4 --chip a2a3 --set elems=2000 --set times=3 "$@" --json "$work/run.json" >"$work/text"; }
# so EXPRESSION: of the document `d`.
so() { "$python" -c "import json; d = json.load(open('$work/run.json')); assert $1, d['comm_stats']"; }

# ---- --comm-stats ----
moved() { # ALGORITHM BYTES: what all ranks put
  run --set algorithm="$1" --comm-stats && so "d['comm_stats']['comms'][0]['puts']['bytes'] == $2" &&
    so "[(c['collective'], c['algorithm'], c['calls'], c['bytes'], c['unfinished']) for c in d['comm_stats']['comms'][0]['calls']] == [('all_reduce', '$1', 3, 8000, 0)]"
}
holds 'one phase: all to each' moved one_phase $((3 * 4 * 3 * 8000))
holds 'two phases: (n-1)/n, twice' moved two_phase $((3 * 4 * 2 * 3 * 2000))
holds 'ring: the same' moved ring $((3 * 4 * 2 * 3 * 2000))
holds 'bidirectional ring: the same' moved bidirectional_ring $((3 * 4 * 2 * 3 * 2000))
holds 'bandwidths are bytes by time' so "all(abs(c['algbw_gbps'] - c['calls'] * c['bytes'] / c['total_us'] / 1e3) < 1e-6 * c['algbw_gbps'] and abs(c['busbw_gbps'] - 1.5 * c['algbw_gbps']) < 1e-6 * c['busbw_gbps'] for c in d['comm_stats']['comms'][0]['calls'])"
holds 'the links carried what was put' so "d['comm_stats']['comms'][0]['puts']['bytes'] <= sum(l['bytes'] for l in d['links'])"
holds 'the longest wait is first' so "[w['us'] for w in d['comm_stats']['waits']] == sorted((w['us'] for w in d['comm_stats']['waits']), reverse=True) and d['comm_stats']['waits']"
# A rank's cores and its orchestration waited as long as the matrix says.
waited() {
  run --set algorithm=ring --comm-stats --stats &&
    so "all(abs(sum(w['us'] for w in d['comm_stats']['waits'] if w['rank'] == r) - sum(a['us'].get('wait_peer', 0) for a in d['results'][r]['stats']['accounts'])) < 1e-6 for r in range(4))"
}
holds 'accounts and waits agree' waited
holds 'accounts add up' so "all(abs(sum(a['us'].values()) - a['count'] * s['makespan_us']) < 1e-5 for s in (r['stats'] for r in d['results']) for a in s['accounts'])"
# alike OPTION…: text and JSON of one thread and of two, but for wall times.
told() { cat "$work/text" "$work/run.json" | sed -E 's/^(  time     ).*,/\1/; s/"wall_seconds":[^,]*//g'; }
alike() {
  run "$@" || return 1
  told >"$work/one"
  run "$@" --world-threads 2 || return 1
  told | diff "$work/one" -
}
holds 'two threads tell the same' alike --comm-stats --stats
holds 'a chip alone has none' bash -c "'$ptosim' run vector_example --comm-stats 2>&1 | grep -q 'for several ranks'"
holds_total
