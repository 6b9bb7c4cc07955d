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
moe() {
  "$ptosim" run expert_parallel_moe --ranks 4 --chip a2a3 --comm-stats --quiet --json "$work/run.json" &&
    so "[(c['collective'], c['algorithm']) for c in d['comm_stats']['comms'][0]['calls']] == [(n, 'direct') for n in ('moe_dispatch_meta', 'moe_dispatch_data', 'moe_combine')]" &&
    so "sum(c['bytes'] for c in d['comm_stats']['comms'][0]['calls']) == d['comm_stats']['comms'][0]['puts']['bytes']" &&
    so "all(abs(c['busbw_gbps'] - c['bytes'] / 4 / c['total_us'] / 1e3) < 1e-6 * c['busbw_gbps'] and abs(c['busbw_gbps'] - 0.75 * c['algbw_gbps']) < 1e-6 * c['busbw_gbps'] for c in d['comm_stats']['comms'][0]['calls'])"
}
holds 'groups of MoE have bandwidths by what they put' moe
run --set algorithm=ring --comm-stats
holds 'the longest wait is first' so "[w['us'] for w in d['comm_stats']['waits']] == sorted((w['us'] for w in d['comm_stats']['waits']), reverse=True) and d['comm_stats']['waits']"
# A rank's cores and its orchestration waited as long as the matrix says.
waited() {
  run --set algorithm=ring --comm-stats --stats &&
    so "all(abs(sum(w['us'] for w in d['comm_stats']['waits'] if w['rank'] == r) - sum(a['us'].get('wait_peer', 0) + a['us'].get('wait_link', 0) for a in d['results'][r]['stats']['accounts'])) < 1e-6 for r in range(4))"
}
holds 'accounts and waits agree' waited
holds 'kernels add up' so "all(abs(k['total_us'] - sum(k[p + '_us'] for p in ('compute', 'memory', 'contention', 'links', 'ranks', 'cores'))) < 1e-5 and k['links_us'] > 0 and k['ranks_us'] > 0 for r in d['results'] for k in r['stats']['kernels'])"
holds 'the columns of kernels say so' grep -Eq '^  kernels .*contend +links +ranks' "$work/text"
holds 'accounts add up' so "all(abs(sum(a['us'].values()) - a['count'] * s['makespan_us']) < 1e-5 for s in (r['stats'] for r in d['results']) for a in s['accounts'])"
# alike OPTION…: text and JSON of one thread and of two, but for wall times.
told() { cat "$work/text" "$work/run.json" | sed -E 's/ --world-threads 2//g; s/^(  time     ).*,/\1/; s/"wall_seconds":[^,]*//g'; }
alike() {
  run "$@" || return 1
  told >"$work/one"
  run "$@" --world-threads 2 || return 1
  told | diff "$work/one" -
}
holds 'two threads tell the same' alike --comm-stats --stats
holds 'a chip alone has none' bash -c "'$ptosim' run vector_example --comm-stats 2>&1 | grep -q 'for several ranks'"

# ---- the critical path over ranks ----
# All in picoseconds: it has no gaps, and adds up to when the last rank ends.
cat >"$work/path.py" <<'END'
import collections, json, sys
from decimal import Decimal
run = json.load(open(sys.argv[1]), parse_float=Decimal, parse_int=int)
path, steps = run["path"], run["path"]["steps"]
assert path["steps_left"] == 0 and path["makespan_us"] == run["virtual_us"]
assert steps[0]["begin_us"] == 0 and steps[-1]["end_us"] == run["virtual_us"]
assert all(a["end_us"] == b["begin_us"] for a, b in zip(steps, steps[1:]))
by_activity, by_place = collections.Counter(), collections.Counter()
for s in steps:
    by_activity[s["activity"]] += s["end_us"] - s["begin_us"]
    by_place[s["rank"], s["peer"]] += s["end_us"] - s["begin_us"]
assert by_activity == path["us"] and sum(path["us"].values()) == run["virtual_us"]
assert by_place == {(o["rank"], o["to"]): o["us"] for o in path["on"]}
# Nothing is waited for that is not followed to where it came from, and the path goes to another rank on a link alone.
assert not {"other", "wait_peer", "wait_link", "wait_poll"} & set(path["us"]), path["us"]
for a, b in zip(steps, steps[1:]): assert a["rank"] == b["rank"] or (a["activity"] == "notify" and a["peer"] == b["rank"]), (a, b)
assert len({s["rank"] for s in steps}) > 1
END
path_of() { run --stats "$@" && "$python" "$work/path.py" "$work/run.json" && grep -q 'on the critical path over ranks' "$work/text"; }
for algorithm in one_phase two_phase ring bidirectional_ring; do holds "the path of $algorithm" path_of --set algorithm=$algorithm; done
holds 'the path where kernels are priced alone' path_of --no-compute
# Where links are slow they bound the run, and the verdict names one.
slow_links() {
  run --stats --set algorithm=ring --chip-set package_bandwidth_mbps=10 --chip-set node_bandwidth_mbps=10 || return 1
  grep -E 'bound    by links between ranks, [0-9.]+ %.*rank [0-3] -> rank [0-3] the largest part' "$work/text" && cp "$work/text" "$work/slow"
}
holds 'slow links are what bounds it' slow_links
# Waits of cores by cause: there the data are on the links; a stage of a pipeline waits for the one before, which computes.
waits() { # LATE-EXPRESSION of `late` and `link`, us of all cores
  so "(lambda late, link: $1)(*[sum(a['us'].get(n, 0) for r in d['results'] for a in r['stats']['accounts'] if a['resource'].startswith('A')) for n in ('wait_peer', 'wait_link')])"
}
holds 'waits for data on slow links' waits 'late < link / 100'
# Faster links are then what helps most; the option that is told gives the time that is told.
faster() {
  "$python" - "$work/run.json" >"$work/gain" <<'END' || return 1
import json, sys
gain = json.load(open(sys.argv[1]))["path"]["gains"][0]
assert gain["what"] == "bytes on links" and gain["is_run"] and gain["command"].endswith(gain["chip_set"]), gain
print(gain["chip_set"], gain["makespan_us"])
END
  read -r set makespan <"$work/gain"
  run --set algorithm=ring --chip-set "$set" && so "abs(d['virtual_us'] - $makespan) < 1e-6"
}
holds 'what helps is told, and does' faster
computing() { "$ptosim" run pipeline --no-compute --set rows=128 --set dim=256 --chip a2a3 --stats --no-gains --json "$work/run.json" >"$work/text" && waits 'late > 2 * link > 0'; }
holds 'waits for a peer that is late' computing
adds_up() {
  grep -E '^  path |^           on ' "$work/slow" | sed 's/;.*//' >"$work/lines"
  [ "$(wc -l <"$work/lines")" = 2 ] || return 1
  awk '{ sum = 0; while (match($0, /[0-9.]+ %/)) { sum += substr($0, RSTART); $0 = substr($0, RSTART + RLENGTH) } if (sum < 99.6 || sum > 100.4) exit 1 }' "$work/lines"
}
holds 'all of the path is told' adds_up
why_not() { "$ptosim" run expert_parallel_moe --ranks 2 --set tokens=16 --stats >"$work/text" 2>&1 && grep -q 'in half the time: not told, as it cannot be run without computing' "$work/text"; }
holds 'why nothing is told of what helps' why_not

# ---- compare, regress ----
compared() { # STATUS: of a ring on 4 ranks with itself, or with one whose links are slow
  local slow=() status
  [ "$1" = 0 ] || slow=(--chip-set package_bandwidth_mbps=1000 --chip-set node_bandwidth_mbps=1000)
  run --stats && cp "$work/run.json" "$work/first.json" && run --stats "${slow[@]}" || return 1
  "$ptosim" compare "$work/first.json" "$work/run.json" --json "$work/compare.json" >"$work/log" 2>&1
  status=$?
  cat "$work/log"
  [ $status = "$1" ] || return 1
  "$python" - "$work" <<'END'
import json, sys
a, b, c = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("first", "run", "compare"))
c = c["comparison"]
assert abs(c["makespan"]["a"] - a["virtual_us"]) < 1e-6 and abs(c["makespan"]["b"] - b["virtual_us"]) < 1e-6
for side, run in (("a", a), ("b", b)):
    assert abs(sum(row[side] for row in c["path"]) - run["virtual_us"]) < 1e-5
    kernels = {k["name"]: 0 for r in run["results"] for k in r["stats"]["kernels"]}
    for r in run["results"]:
        for k in r["stats"]["kernels"]: kernels[k["name"]] += k["total_us"]
    assert all(abs(row[side] - kernels[row["name"]]) < 1e-5 for row in c["kernels"])
END
}
holds 'compare: the same run' compared 0
holds 'compare: slower links' compared 1
holds 'compare: programs' bash -c "'$ptosim' compare 'all_reduce --ranks 2' 'all_reduce --ranks 4' | grep -q 'B takes'"
regressed() {
  echo 'all_reduce --ranks 3 --set times=2' >"$work/ranks.list"
  "$ptosim" regress "$work/ranks.list" --update --quiet && grep -q '"tasks": 6, "edges": 3' "$work/ranks.list.baseline" &&
    "$ptosim" regress "$work/ranks.list" --quiet && sed -i 's/"edges": 3/"edges": 4/' "$work/ranks.list.baseline" || return 1
  ! "$ptosim" regress "$work/ranks.list" >"$work/log" 2>&1 && grep -q '3 edges instead of 4' "$work/log"
}
holds 'regress counts tasks and edges of all ranks' regressed

# ---- --trace ----
cat >"$work/timeline.py" <<'END'
"""A timeline of 4 ranks: what is asked of it."""
import collections, json, sys
run = json.load(open(sys.argv[2]))
trace = json.load(open(sys.argv[1]))
events = trace["traceEvents"]
def of(phase, category): return [e for e in events if e["ph"] == phase and e.get("cat") == category]
names = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
assert names == {0: "rank 0", 1: "rank 1", 2: "rank 2", 3: "rank 3", 4: "all ranks"}, names
tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
for e in events: assert e["ph"] in "Mbe" or e["ph"] == "C" or (e["pid"], e["tid"]) in tracks, e
# Each link carried what the run's JSON says.
carried = collections.Counter()
for e in of("X", "link"): carried[tracks[e["pid"], e["tid"]]] += e["args"]["bytes"]
assert carried == {l["link"]: l["bytes"] for l in run["links"]}, carried
# What is on one track of a link does not overlap.
last = {}
for e in sorted(of("X", "link"), key=lambda e: e["ts"]):
    key = e["pid"], e["tid"]
    assert last.get(key, 0) <= e["ts"] + 1e-9, e
    last[key] = e["ts"] + e["dur"]
# Every wait that ended has one arrow, from another slice that is not later, and each arrow has both ends.
begins, ends = ({e["id"]: e for e in of(p, "signal")} for p in "sf")
assert begins and begins.keys() == ends.keys() and len(ends) == len(of("f", "signal")), (len(begins), len(ends))
waits = [e for e in of("X", "ranks") if e["name"].startswith("wait for")]
assert len(waits) == len(ends)
assert all(begins[i]["ts"] <= ends[i]["ts"] for i in ends)
assert sum(w["count"] for w in run["comm_stats"]["waits"]) - 4 <= len(waits)
# They lie within a call of a kernel on their track.
calls = of("X", "kernel")
for e in list(begins.values()) + list(ends.values()):
    assert any(c["pid"] == e["pid"] and c["tid"] == e["tid"] and c["ts"] - 1e-6 <= e["ts"] <= c["ts"] + c["dur"] + 1e-6 for c in calls), e
END
timeline() { run --set algorithm="$1" --comm-stats --trace "$work/t.json" && "$python" "$work/timeline.py" "$work/t.json" "$work/run.json"; }
for algorithm in one_phase two_phase ring; do holds "a timeline of $algorithm" timeline $algorithm; done
files_alike() { # ENDING FILE…: two threads write the same
  run --set algorithm=two_phase --trace "$work/a.$1" && run --set algorithm=two_phase --world-threads 2 --trace "$work/b.$1" || return 1
  local ending
  for ending in "${@:2}"; do cmp "$work/a.$ending" "$work/b.$ending" || return 1; done
}
holds 'two threads write the same JSON' files_alike json json
holds 'and the same for Perfetto' files_alike pftrace pftrace
holds 'and for Chakra, a file a rank' files_alike et 0.et 1.et 2.et 3.et
if command -v protoc >/dev/null; then
  holds 'collectives are nodes of their own for Chakra' "$python" tests/support/trace_formats.py collectives "$work/a.3.et"
  holds 'groups of tracks and flows for Perfetto' "$python" tests/support/trace_formats.py ranks "$work/a.pftrace"
fi
holds_total
