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
count() { # STATUS WHAT
  if [ "$1" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $2"; fi
}
# Does not compile, and each sentence is said: one compilation tells several.
refuses() { # OPTIONS… -- SENTENCE…
  local options=() text sentence status
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  text=$(compile "${options[@]}" 2>&1)
  [ $? != 0 ]
  count $? "compiles, without \"$1\""
  for sentence; do
    [[ $text == *"$sentence"* ]]
    status=$?
    count $status "no \"$sentence\""
    [ $status = 0 ] || echo "$text"
  done
}
entry() { echo "extern \"C\" void entry(const ChipTaskArgs &orch) { const ChipTensor &t = orch.tensor(0).ref(); (void)t; CoreTaskArgs args; $1 }"; }

entry 'args.add_input(t);' >"$work/body"
text=$(compile 2>&1)
count $? "does not compile: $text"

{
  echo '#include "aicpu/worker_chip_message_queue.h"'
  echo '#include "aicpu/worker_chip_orch_endpoint.h"'
  echo '#include "aicpu/l3_l2_orch_endpoint.h"'
  echo '#include "aicpu/l3_l2_message_queue.h"'
  echo '#include "orchestration_api.h"'
  echo 'static void graph(const GraphTaskArgs &) {}'
  entry 'GraphTaskArgs boundary; rt_submit_graph(&graph, boundary);
    args.add_input(t.transpose(0, 0));
    TensorCreateInfo info(t.shapes, t.ndims); args.add_output(t, info);
    struct { int x; } other; args.add_scalar(other);
    TaskArgsTpl<ChipTensor, uint64_t, 0, 0> list;
    args.launch_spec.set_core_num(1);'
} >"$work/body"
refuses -- 'worker_chip_message_queue.h: queues between a worker process' 'worker_chip_orch_endpoint.h: queues between a worker process' \
  'aicpu/l3_l2_orch_endpoint.h: queues between a worker process' 'aicpu/l3_l2_message_queue.h: queues between a worker process' \
  'before 11 July 2026 is another API' 'graphs are of host_build_graph' 'no temporaries' 'not both in one call' \
  'numbers or enumerations' 'several chips' 'set_core_num'
entry 'TensorCreateInfo info(t.shapes, t.ndims); info.set_initial_value(1.0f);' >"$work/body"
refuses -DPTO_COMPAT_MODE=2 -- 'set_initial_value: host_build_graph has none'
entry 'args.launch_spec.set_block_num(1);' >"$work/body"
refuses -DPTO_COMPAT_ARCHITECTURE=2 -- set_block_num
echo 'extern "C" void entry(int) {}' >"$work/body"
refuses -- 'the entry of an orchestration is void NAME(const ChipTaskArgs &)'
echo 'extern "C" void entry(PTO2Runtime *rt, const ChipStorageTaskArgs &orch) {}' >"$work/body"
refuses -- 'PTO2Runtime: aicpu_build_graph is another runtime'
entry '' >"$work/body"
refuses -DPTO_COMPAT_ARCHITECTURE=3 -- 'PTO_COMPAT_ARCHITECTURE: 1 is a2a3, 2 is a5'
echo "$passed passed, $failed failed"
[ $failed = 0 ]
