/* SPDX-License-Identifier: MIT */
/*
 * What faults_test.c tries with failures, and what these commands read.  To add a command: a line in commands[].
 *
 * @ is the folder of the sources.
 */
#ifndef PTO_FAULTS_COMMANDS_H
#define PTO_FAULTS_COMMANDS_H

#define RUN " --engine virtual --chip tiny"

/* A program of the existing runtime, of three tensors of 16 floats; no output is judged. */
#define MANIFEST(name, entry, scalars)                                                                                 \
  "{\"format\": \"pto-adopted\", \"version\": 1, \"name\": \"" name                                                    \
  "\", \"architecture\": \"a2a3\", \"mode\": \"tensormap_and_ringbuffer\", \"judge\": \"none\", \"orchestration\": "   \
  "{\"source\": \"@/tests/compat/scenes/" name ".cpp\", \"entry\": \"" entry                                           \
  "\"}, \"kernels\": [{\"func_id\": 0, \"core\": \"aiv\", \"name\": \"add\", \"source\": "                             \
  "\"@/tests/compat/scenes/add.cpp\"}, {\"func_id\": 1, \"core\": \"aiv\", \"name\": \"scale\", \"source\": "          \
  "\"@/tests/compat/scenes/scale_kernel.cpp\"}], \"tensors\": [{\"name\": \"a\", \"direction\": \"in\", \"dtype\": "   \
  "\"f32\", \"shape\": [16], \"bytes\": \"a.bin\"}, {\"name\": \"b\", \"direction\": \"inout\", \"dtype\": \"f32\", "  \
  "\"shape\": [16], \"bytes\": \"a.bin\"}, {\"name\": \"out\", \"direction\": \"out\", \"dtype\": \"f32\", "           \
  "\"shape\": [16]}], \"scalars\": [" scalars "], \"clusters\": 8}\n"

/* What commands read: files of these texts, and what these commands make, which do not fail. */
static const struct {
  const char *name, *text;
} texts[] = {
    {"cases.list", "vector_example" RUN "\ninplace_update" RUN "\n"},
    {"changed.list", "vector_example" RUN " --deps pto\ninplace_update" RUN "\n"},
    {"rows.csv",
     "row,program,settings,tasks_submitted,aicore_tasks,wait_edges,metric,value_us,spread_percent,date,era,source,"
     "set,base,run,chip\n"
     "narrow,,,,,,makespan,2.34,,,,,mine,,spmd --set tasks=aiv:48,@/tests/regress/plain.ini\n"},
    {"order.save",
     "# ptosim explore: inplace_update, rules pto: schedule newest, shrunk\nhold 0.0.1.0 until 1.0.1.0\n"},
    {"a.bin", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
    {"scale.json", MANIFEST("scale", "scale_entry", "{\"name\": \"factor\", \"bits\": \"0x40200000\"}")},
    {"luck.json", MANIFEST("luck", "luck_entry", "")},
    {"data/rows.csv", "row,metric,value_us,era,set,date,source\n"
                      "PAU C2,orchestrator,300,wiring in scheduler,calibrate,2026-01-01,ours\n"},
    {"data/host.csv", "key,value,low,high,unit,note,source\ncompletion_by_register,,150,,ns,,same\n"},
};
static const char *const preparations[] = {
    "run vector_example --quiet --json a.json --stats --no-gains --deps-json a.deps" RUN,
    "run inplace_update --quiet --json b.json --stats --no-gains --deps-json b.deps" RUN,
    "run vector_example --quiet --dump 1 kept" RUN,
    "regress cases.list --update --quiet",
    "explore vector_example --schedules 4 --quiet --shard 1/2 --json 1.lines --chip tiny",
    "explore vector_example --schedules 4 --quiet --shard 2/2 --json 2.lines --chip tiny",
    "import @/tests/fuzz/corpus/capture_fuzz/deps -o capture.json --quiet",
};

/* Their objects are kept, so that only luck.json is compiled at each point. */
static const char *const adopting[] = {"adopt scale.json --quiet"};

/* Those with ~ take long: only with PTO_TEST_LONG.  + is for more points, where it is not the first that finds what was
 * wrong once; ! for what is refused.  What needs a compiler of C++ or Python's onnx is left out where
 * that is not there. */
static const char *const commands[] = {
    "help",
    "--version",
    "list programs",
    "list programs vector_example",
    "list kernels matmul",
    "list ops add",
    "list models gpt2",
    "list chips tiny --json chip.json",
    "list programs vector_example --timeout 60",
    "op support add --json op.json",
    "op test add --dtype f32 --shape 16 --layout contiguous --json op.json",
    "op test graph:relu --dtype f32 --shape 16 --json op.json",
    "op perf add --dtype f32 --shape 16 --json op.json",
    "~op perf graph:relu --dtype f32 --shape 16 --json op.json",
    "run vector_example" RUN,
    "run train_mlp --set steps=2 --set check=false --set checkpoint=mlp.webnn" RUN,
    "~explore kv_cache --set steps=2 --schedules 2 --chip tiny",
    "graph @/tests/fuzz/corpus/graph_text_fuzz/all_operations.webnn --save graph.webnn",
    "~run vector_example --engine threads --workers 2 --chip tiny",
    "run vector_example --json run.json --stats --trace run.trace --report run.html --dot run.dot --deps-json run.deps "
    "--junit "
    "run.xml --dump 0 kept2 --output f=f.npy" RUN,
    "run vector_example --trace run.json.gz" RUN,
    "run vector_example --trace run.pftrace" RUN,
    "run errors/heap --json run.json --waits-dot waits.dot" RUN,
    "run war_reuse --deps pto --policy lifo --json run.json" RUN,
    "check vector_example --chip tiny --json check.json --report check.html",
    "check inplace_update --deps pto --chip tiny --json check.json --sarif check.sarif --junit check.xml",
    "check vector_example --observe --chip tiny --json check.json",
    "~check vector_example --advise --chip tiny --json check.json",
    "why inplace_update 0 1 --chip tiny --json why.json",
    "explore vector_example --schedules 3 --chip tiny --json explore.json",
    "explore vector_example --all --chip tiny --json explore.json",
    "~explore inplace_update --deps pto --replay newest --chip tiny --json explore.json",
    "explore inplace_update --deps pto --replay order.save --chip tiny",
    "explore inplace_update --deps pto --schedules 20 --chip tiny --json explore.json --save explore.save",
    "~explore vector_example --schedules 4 --quiet --shard 1/2 --json 1.lines --chip tiny",
    "merge 1.lines 2.lines --json merge.json",
    "import @/tests/fuzz/corpus/capture_fuzz/deps -o import.json",
    "run capture.json --chip tiny --json run.json",
    "diff a.deps b.deps --json diff.json",
    "compare a.json b.json --json compare.json --report compare.html --junit compare.xml",
    "compare cases.list.baseline cases.list.baseline",
    "task kept/1 --json task.json",
    "graph @/tests/fuzz/corpus/graph_json_fuzz/all_operations.json --json graph.json --dot graph.dot",
    "graph @/tests/fuzz/corpus/graph_json_fuzz/all_operations.json --save graph.json --save-weights safetensors",
    "graph @/tests/fuzz/corpus/graph_json_fuzz/all_operations.json --save graph.json --save-weights manifest",
    "graph @/tests/fuzz/corpus/graph_json_fuzz/all_operations.json --run --compare reference --json graph.json" RUN,
    "graph @/tests/fuzz/corpus/graph_json_fuzz/all_operations.json --run --check --json graph.json" RUN,
    "~graph model.onnx --run --json graph.json --save graph.webnn" RUN,
    "~run all_reduce --ranks 2 --json run.json --trace run.trace --report run.html --junit run.xml" RUN,
    "~run all_reduce --ranks 2 --comm-stats --stats --no-gains --dot run.dot --deps-json run.deps" RUN,
    "check all_reduce --ranks 2 --chip tiny --json check.json --sarif check.sarif",
    "~check tensor_parallel_mlp --ranks 2 --observe --chip tiny --json check.json",
    "~why all_reduce 0.0 1.0 --ranks 2 --chip tiny --json why.json",
    "+explore all_reduce --ranks 2 --schedules 2 --chip tiny --json explore.json",
    "~predict all_reduce --ranks 2 --chip tiny --runs 1 --json predict.json",
    "suite vector_example --engine virtual --chip tiny --json suite.json --junit suite.xml",
    "~predict vector_example --chip tiny --runs 2 --json predict.json",
    "~what-if vector_example --chip tiny --jobs 1 --json what.json",
    "~validate rows.csv --runs 0 -o page.md --json validate.json",
    "~calibrate --chip a2a3 --data data -o chip.ini",
    "~regress cases.list --json regress.json --report regress.html --junit regress.xml",
    "regress changed.list --baseline cases.list.baseline --update --quiet",
    "!adopt nothing.json",
    "~adopt scale.json --json adopt.json --junit adopt.xml",
    "~adopt luck.json --engine virtual --json adopt.json",
    "~check scale.json --deps pto --json check.json",
    "~perf vector_example --chip tiny",
};

#endif
