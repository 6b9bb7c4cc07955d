#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What ptosim writes as JSON is as docs/schemas says, by python3-jsonschema: each verb, runs that are right, wrong, fail and do not
# begin.  A key taken out of a document, or of another type, is noticed.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
ptosim=$build/ptosim
[ -x "$ptosim" ] || { echo "there is no $ptosim"; exit 77; }
for python in /usr/bin/python3 python3 ''; do "${python:-false}" -c 'import jsonschema' 2>/dev/null && break; done
[ -n "$python" ] || { echo 'no python3-jsonschema: scripts/deps --deb brings it'; exit 77; }
. tests/support/holds.sh

cat >"$work/judge.py" <<'END'
import json, sys
from jsonschema import Draft202012Validator as Validator
document, name = json.load(open(sys.argv[1])), sys.argv[2]
schema = json.load(open("docs/schemas/%s.json" % name))
Validator.check_schema(schema)
judge = Validator(schema)
for error in judge.iter_errors(document): sys.exit("%s: %s" % (list(error.path), error.message[:300]))
for key in schema["required"]:
    if not list(judge.iter_errors({k: v for k, v in document.items() if k != key})): sys.exit("without %s it is taken too" % key)
    kind = schema["properties"][key]
    if kind and not list(judge.iter_errors(dict(document, **{key: [[]] if kind.get("type") != "array" else 0}))):
        sys.exit("%s may be anything" % key)
END
# is FORMAT COMMAND…: what the command writes is of this format.
is() {
  local format=$1
  shift
  rm -f "$work/o.json"
  "$ptosim" "$@" --json "$work/o.json" >/dev/null 2>&1
  [ -s "$work/o.json" ] && "$python" "$work/judge.py" "$work/o.json" "$format"
}
holds 'a run' is pto-run run bgemm
holds 'a run with its account' is pto-run run moe --engine virtual --chip a2a3 --stats
holds 'a run with counters' is pto-run run softmax_layernorm_mlp --counters thread::cpu_ns,pto::stalls
holds 'a run without kernels' is pto-run run moe --engine virtual --no-compute --assume-zero
holds 'a run that stops' is pto-run run errors/window
holds 'a run that does not begin' is pto-run run bgemm --set task_num=x
holds 'a run on several ranks' is pto-ranks run all_reduce --ranks 3
holds 'what ranks moved' is pto-ranks run all_reduce --ranks 3 --comm-stats --stats
holds 'ranks that do not begin' is pto-ranks run all_reduce --ranks 3 --chip tiny,nodes=1,chips_per_node=2
holds 'a check with findings' is pto-check check paged_attention --deps pto
holds 'a check of a run that fails' is pto-check check errors/user
holds 'accesses that are watched' is pto-observe check strided_views --observe
holds 'a check of a run that does not begin' is pto-observe check bgemm --set x=1 --observe
holds 'sizes that are advised' is pto-advise check war_reuse --advise
holds 'why' is pto-why why inplace_update 0 1 --deps pto
holds 'orders' is pto-explore explore inplace_update --deps pto --schedules 10
holds 'all orders' is pto-explore explore vector_example --all
holds 'a graph' is pto-graph graph --model llama
holds 'a graph that runs' is pto-graph graph --model llama --run --engine virtual --compare reference
holds 'rows' is pto-suite suite vector_example --engine virtual
holds 'an operation' is pto-op op test softmax
holds 'what there is' is pto-op op support add
holds 'numbers of chips' is pto-chips list chips a2a3 tiny
holds 'a prediction' is pto-predict predict vector_example --runs 2
cat >"$work/rows.csv" <<'END'
row,program,settings,tasks_submitted,aicore_tasks,wait_edges,metric,value_us,spread_percent,date,era,source,set,base,run,chip
base,,,,,,makespan,8.2,2,,,,mine,,spmd,tests/regress/plain.ini
other,,,,,,makespan,4.1,,,,,mine,base,spmd --set tasks=aiv:960,tests/regress/plain.ini
gone,,,,,,makespan,4.1,,,,,mine,,no_such_program,tests/regress/plain.ini
END
holds 'predictions beside measurements' is pto-validate validate "$work/rows.csv" --runs 2 -o "$work/page.md"
holds 'what a capture has' is pto-import import tests/fuzz/corpus/capture_fuzz/records tests/fuzz/corpus/capture_fuzz/deps -o "$work/capture.json"
holds 'what changed' is pto-compare compare 'bgemm --engine virtual' 'bgemm --engine virtual --chip a2a3'
holds 'what changed on threads' is pto-compare compare vector_example vector_example --repeats 3
holds 'what changed between baselines' is pto-compare compare tests/regress/examples.list.baseline tests/regress/examples.list.baseline
holds 'what would change it' is pto-what-if what-if vector_example
"$ptosim" run barriers --deps-json "$work/a.json" --quiet
"$ptosim" run vector_example --deps-json "$work/b.json" --quiet
holds 'a graph of tasks' "$python" "$work/judge.py" "$work/a.json" pto-deps
holds 'what differs' is pto-diff diff "$work/a.json" "$work/b.json"
"$ptosim" run vector_example --dump 2 "$work/kept" --quiet
holds 'a task' is pto-task-run task "$work/kept/2"

printf '%s --engine virtual\n' vector_example bgemm >"$work/cases.list"
holds 'cases without a baseline' is pto-regress regress "$work/cases.list"
"$ptosim" regress "$work/cases.list" --filter bgemm --update --quiet
holds 'cases, one of them new' is pto-regress regress "$work/cases.list"

# Each line of a shard, of all that write them.
lines_are() {
  local line
  "$@" >"$work/lines" 2>/dev/null
  while read -r line; do
    printf '%s' "$line" >"$work/line.json"
    "$python" "$work/judge.py" "$work/line.json" pto-shard || return 1
  done <"$work/lines"
  [ "$(wc -l <"$work/lines")" -gt 1 ]
}
holds 'lines of orders' lines_are "$ptosim" explore inplace_update --deps pto --schedules 6 --shard 1/2
holds 'lines of cases' lines_are "$ptosim" regress "$work/cases.list" --shard 2/2
holds 'lines of rows' lines_are "$ptosim" suite vector_example spmd_sync_start --engine virtual --shard 1/2
holds 'lines of numbers of a chip' lines_are "$ptosim" what-if vector_example --shard 1/60
[ -x "$build/tests/tests/conformance/conformance_test" ] &&
  holds 'lines of conformance cases' lines_are "$build/tests/tests/conformance/conformance_test" tests/conformance/cases --shard 1/9

holds_total
