#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What compat/include refuses, by the sentence that the compiler gives; and what it takes beside it.  Skips where there is
# no C++ compiler.
set -u
cd "$(dirname "$0")/../.."
compiler=$(command -v "${CXX:-c++}") || { echo "no C++ compiler: skipped"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

compile() { # OPTIONS; the body of an entry is $work/body
  { echo '#include "pto_orchestration_api.h"'; cat "$work/body"; } >"$work/orch.cpp"
  "$compiler" -std=c++17 -fsyntax-only -Icompat/include -DPTO_COMPAT_SOURCE="\"$work/orch.cpp\"" -DPTO_COMPAT_ENTRY=entry "$@" compat/entry.cpp
}
refuses() { # SENTENCE OPTIONS…
  local sentence=$1 text
  shift
  text=$(compile "$@" 2>&1) && { failed=$((failed + 1)); echo "FAILED: compiles, without \"$sentence\""; return; }
  if [[ $text == *"$sentence"* ]]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: no \"$sentence\" in: $text"; fi
}
entry() { echo "extern \"C\" void entry(const ChipTaskArgs &orch) { const ChipTensor &t = orch.tensor(0).ref(); (void)t; CoreTaskArgs args; $1 }"; }

entry 'args.add_input(t);' >"$work/body"
if text=$(compile 2>&1); then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: does not compile: $text"; fi

{ echo '#include "aicpu/worker_chip_message_queue.h"'; entry ''; } >"$work/body"
refuses "worker_chip_message_queue.h: queues between a worker process"
{ echo '#include "aicpu/worker_chip_orch_endpoint.h"'; entry ''; } >"$work/body"
refuses "worker_chip_orch_endpoint.h: queues between a worker process"
for h in l3_l2_orch_endpoint l3_l2_message_queue; do
  { echo "#include \"aicpu/$h.h\""; entry ''; } >"$work/body"
  refuses "aicpu/$h.h: queues between a worker process"
done
{ echo '#include "orchestration_api.h"'; entry ''; } >"$work/body"
refuses "before 11 July 2026 is another API"
entry 'TensorCreateInfo info(t.shapes, t.ndims); info.set_initial_value(1.0f);' >"$work/body"
refuses "set_initial_value: host_build_graph has none" -DPTO_COMPAT_MODE=2
{ echo 'static void graph(const GraphTaskArgs &) {}'; entry 'GraphTaskArgs boundary; rt_submit_graph(&graph, boundary);'; } >"$work/body"
refuses "graphs are of host_build_graph" -DPTO_COMPAT_MODE=1
entry 'args.add_input(t.transpose(0, 0));' >"$work/body"
refuses "no temporaries"
entry 'TensorCreateInfo info(t.shapes, t.ndims); args.add_output(t, info);' >"$work/body"
refuses "not both in one call"
entry 'struct { int x; } other; args.add_scalar(other);' >"$work/body"
refuses "numbers or enumerations"
entry 'TaskArgsTpl<ChipTensor, uint64_t, 0, 0> list;' >"$work/body"
refuses "several chips"
entry 'args.launch_spec.set_block_num(1);' >"$work/body"
refuses "set_block_num" -DPTO_COMPAT_ARCHITECTURE=2
entry 'args.launch_spec.set_core_num(1);' >"$work/body"
refuses "set_core_num"
echo 'extern "C" void entry(int) {}' >"$work/body"
refuses "the entry of an orchestration is void NAME(const ChipTaskArgs &)"
echo 'extern "C" void entry(PTO2Runtime *rt, const ChipStorageTaskArgs &orch) {}' >"$work/body"
refuses "PTO2Runtime: aicpu_build_graph is another runtime"
entry '' >"$work/body"
refuses "PTO_COMPAT_ARCHITECTURE: 1 is a2a3, 2 is a5" -DPTO_COMPAT_ARCHITECTURE=3
echo "$passed passed, $failed failed"
[ $failed = 0 ]
