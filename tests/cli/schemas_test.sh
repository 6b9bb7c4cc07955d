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

# Reads lines "FILE FORMAT", a document each, or several in a file of lines; what is wrong goes to FILE.wrong.
cat >"$work/judge.py" <<'END'
import json, sys
from jsonschema import Draft202012Validator as Validator

def judged(document, schema, judge):
    for error in judge.iter_errors(document): return "%s: %s" % (list(error.path), error.message[:300])
    for key in schema["required"]:
        if judge.is_valid({k: v for k, v in document.items() if k != key}): return "without %s it is taken too" % key
        kind = schema["properties"][key]
        if kind and judge.is_valid(dict(document, **{key: [[]] if kind.get("type") != "array" else 0})): return "%s may be anything" % key

schemas = {}
for path, name in map(str.split, sys.stdin):
    if name not in schemas:
        schemas[name] = json.load(open("docs/schemas/%s.json" % name))
        Validator.check_schema(schemas[name])
    text = open(path).read()
    documents = [json.loads(line) for line in text.splitlines()] if path.endswith(".lines") else [json.loads(text)]
    wrong = [error for error in (judged(document, schemas[name], Validator(schemas[name])) for document in documents) if error]
    with open(path + ".wrong", "w") as file: file.write("\n".join(wrong))
END
# writes WHAT FORMAT COMMAND…: what the command writes is of this format; it is judged at the end.
whats=() files=()
of_format() { # WHAT FORMAT FILE
  whats+=("$1") files+=("$3")
  [ -s "$3" ] && echo "$3 $2" >>"$work/documents"
}
writes() {
  local file=$work/${#files[@]}.json
  "$ptosim" "${@:3}" --json "$file" >/dev/null 2>&1
  of_format "$1" "$2" "$file"
}
is_right() { cat "$1.wrong" && [ ! -s "$1.wrong" ]; }
writes 'a run' pto-run run bgemm
writes 'a run with its account' pto-run run moe --engine virtual --chip a2a3 --stats
writes 'a run with counters' pto-run run softmax_layernorm_mlp --counters thread::cpu_ns,pto::stalls
writes 'a run without kernels' pto-run run moe --engine virtual --no-compute --assume-zero
writes 'a run that stops' pto-run run errors/window
writes 'a run that does not begin' pto-run run bgemm --set task_num=x
writes 'a run on several ranks' pto-ranks run all_reduce --ranks 3
writes 'what ranks moved' pto-ranks run all_reduce --ranks 3 --comm-stats --stats
writes 'ranks that do not begin' pto-ranks run all_reduce --ranks 3 --chip tiny,nodes=1,chips_per_node=2
writes 'a check with findings' pto-check check paged_attention --deps pto
writes 'a check of a run that fails' pto-check check errors/user
writes 'accesses that are watched' pto-observe check strided_views --observe
writes 'accesses of ranks that are watched' pto-observe check tensor_parallel_mlp --ranks 2 --observe
writes 'a check of a run that does not begin' pto-observe check bgemm --set x=1 --observe
writes 'sizes that are advised' pto-advise check war_reuse --advise
writes 'why' pto-why why inplace_update 0 1 --deps pto
writes 'why, of two ranks' pto-why why tensor_parallel_mlp 0.1 1.2 --ranks 2
writes 'why, of tasks of one' pto-why why tensor_parallel_mlp 1.0 1.1 --ranks 2
writes 'orders' pto-explore explore inplace_update --deps pto --schedules 10
writes 'all orders' pto-explore explore vector_example --all
writes 'a graph' pto-graph graph --model llama
writes 'a graph that runs' pto-graph graph --model llama --run --engine virtual --compare reference
writes 'rows' pto-suite suite vector_example --engine virtual
writes 'an operation' pto-op op test softmax
writes 'what there is' pto-op op support add
writes 'numbers of chips' pto-chips list chips a2a3 tiny
writes 'a prediction' pto-predict predict vector_example --runs 2
writes 'a prediction of ranks' pto-predict predict tensor_parallel_mlp --ranks 2 --runs 2
cat >"$work/rows.csv" <<'END'
row,program,settings,tasks_submitted,aicore_tasks,wait_edges,metric,value_us,spread_percent,date,era,source,set,base,run,chip
base,,,,,,makespan,8.2,2,,,,mine,,spmd,tests/regress/plain.ini
other,,,,,,makespan,4.1,,,,,mine,base,spmd --set tasks=aiv:960,tests/regress/plain.ini
gone,,,,,,makespan,4.1,,,,,mine,,no_such_program,tests/regress/plain.ini
END
writes 'predictions beside measurements' pto-validate validate "$work/rows.csv" --runs 2 -o "$work/page.md"
writes 'what a capture has' pto-import import tests/fuzz/corpus/capture_fuzz/records tests/fuzz/corpus/capture_fuzz/deps -o "$work/capture.json"
writes 'what changed' pto-compare compare 'bgemm --engine virtual' 'bgemm --engine virtual --chip a2a3'
writes 'what changed on threads' pto-compare compare vector_example vector_example --repeats 3
writes 'what changed between baselines' pto-compare compare tests/regress/examples.list.baseline tests/regress/examples.list.baseline
writes 'what would change it' pto-what-if what-if vector_example
"$ptosim" run barriers --deps-json "$work/a.json" --quiet
"$ptosim" run vector_example --deps-json "$work/b.json" --quiet
of_format 'a graph of tasks' pto-deps "$work/a.json"
writes 'what differs' pto-diff diff "$work/a.json" "$work/b.json"
"$ptosim" run vector_example --dump 2 "$work/kept" --quiet
writes 'a task' pto-task-run task "$work/kept/2"

printf '%s --engine virtual\n' vector_example bgemm >"$work/cases.list"
writes 'cases without a baseline' pto-regress regress "$work/cases.list"
"$ptosim" regress "$work/cases.list" --filter bgemm --update --quiet
writes 'cases, one of them new' pto-regress regress "$work/cases.list"

# Each line of a shard, of all that write them.
lines_are() { # WHAT COMMAND…
  local file=$work/${#files[@]}.lines
  "${@:2}" >"$file" 2>/dev/null
  holds "$1: several" [ "$(wc -l <"$file")" -gt 1 ]
  of_format "$1" pto-shard "$file"
}
lines_are 'lines of orders' "$ptosim" explore inplace_update --deps pto --schedules 6 --shard 1/2
lines_are 'lines of cases' "$ptosim" regress "$work/cases.list" --shard 2/2
lines_are 'lines of rows' "$ptosim" suite vector_example spmd_sync_start --engine virtual --shard 1/2
lines_are 'lines of numbers of a chip' "$ptosim" what-if vector_example --shard 1/60
[ -x "$build/tests/tests/conformance/conformance_test" ] &&
  lines_are 'lines of conformance cases' "$build/tests/tests/conformance/conformance_test" tests/conformance/cases --shard 1/9

# One start of Python for all.
"$python" "$work/judge.py" <"$work/documents"
for i in "${!files[@]}"; do holds "${whats[i]}" is_right "${files[i]}"; done

holds_total
