#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `ptosim adopt` of scenes and manifests of our own (tests/compat/scenes): what verifies, what is right only by luck, what
# is refused and how, the forms of the report, and that a manifest is a program for other verbs.  Programs in the layout of
# pypto too (tests/compat/generated).
#
# Skips without a C++ compiler; the part that runs scenes skips without pytest or torch.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(realpath "${PTO_BUILD_DIR:-build}")
case $build in *address* | *thread* | *coverage*) echo 'what is compiled here has no instrumentation'; exit 77 ;; esac
for c in clang++-19 g++-14 g++-12 g++; do command -v $c >/dev/null && has=1; done
[ "${has:-}" ] || { echo 'no C++ compiler: adopted programs are not built'; exit 77; }
. tests/support/holds.sh
scenes=$PWD/tests/compat/scenes
export PTO_ISA=$PWD/tests/compat/isa PTO_ADOPTED=$build/adopted/tests PTO_COMPAT=$PWD/compat
ptosim=$build/ptosim

# NAME SOURCE ENTRY: a manifest of three tensors of 16 floats, all 1 but the output, whose golden is GOLDEN, and a factor.
manifest() {
  local name=$1 source=$2 entry=$3 golden=$4
  python_free_floats 1 >"$work/one.bin"
  python_free_floats "$golden" >"$work/$name.golden"
  cat >"$work/$name.json" <<END
{"format": "pto-adopted", "version": 1, "name": "$name", "architecture": "a2a3", "mode": "tensormap_and_ringbuffer",
 "judge": "golden", "orchestration": {"source": "$scenes/$source", "entry": "$entry"},
 "kernels": [{"func_id": 0, "core": "aiv", "name": "add", "source": "$scenes/add.cpp"},
             {"func_id": 1, "core": "aiv", "name": "scale", "source": "$scenes/scale_kernel.cpp"}],
 "tensors": [{"name": "a", "direction": "in", "dtype": "f32", "shape": [16], "bytes": "one.bin"},
             {"name": "b", "direction": "inout", "dtype": "f32", "shape": [16], "bytes": "one.bin"},
             {"name": "out", "direction": "out", "dtype": "f32", "shape": [16], "golden": "$name.golden"}],
 "scalars": [{"name": "factor", "bits": "0x40200000"}], "clusters": 8}
END
}
# Sixteen floats of 1, 2, 3 or 5, little-endian.
python_free_floats() {
  local bytes
  case $1 in 1) bytes='\0\0\200\077' ;; 3) bytes='\0\0\100\100' ;; 2) bytes='\0\0\0\100' ;; 5) bytes='\0\0\240\100' ;; esac
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do printf "$bytes"; done
}
# The manifest NAME with sed's SCRIPT applied, as NEW.
changed() { sed "$3" "$work/$1.json" >"$work/$2.json" && cp "$work/$1.golden" "$work/$2.golden"; }
# Whether a command ends with STATUS and says TEXT, a regular expression.
says() {
  local status=$1 text=$2
  shift 2
  leaves_with "$status" "$@" && grep -qE -- "$text" "$work/out"
}
adopts() { # STATUS TEXT NAME OPTIONS...
  local status=$1 text=$2 name=$3
  shift 3
  says "$status" "$text" "$ptosim" adopt "$work/$name.json" "$@"
}
has_no_half() { [ -z "$(find "$PTO_ADOPTED" -name '*.d.*' -o -name '*.tmp*')" ]; }

manifest scale scale.cpp scale_entry 5
manifest luck luck.cpp luck_entry 2
sed -i '/scalars/s/\[.*\],/[],/' "$work/luck.json"
sed -i 's/{"name": "b", "direction": "inout"/{"name": "b", "direction": "in"/' "$work/scale.json"
changed scale wrong 's/0x40200000/0x40000000/'
changed scale no_kernel '/func_id": 1/d; s/add.cpp"},$/add.cpp"}],/'
changed scale few 's/"scalars": \[.*\], "clusters"/"scalars": [], "clusters"/'
changed scale no_source 's/scale_kernel.cpp/nowhere.cpp/'
for stand_in in add nothing adds; do
  changed scale "stand_in_$stand_in" "s|$scenes/add.cpp\"|nowhere.cpp\", \"substitute\": \"$stand_in\"|"
done
changed scale no_entry 's/scale_entry/other_entry/'
changed scale short 's/"shape": \[16\], "bytes"/"shape": [17], "bytes"/'
changed scale later 's/"version": 1/"version": 2/'
changed scale no_golden 's/no_golden.golden\|scale.golden/gone.golden/'
# NAME LINE…: a manifest of an orchestration of these lines
written() {
  local name=$1
  shift
  printf '%s\n' "$@" >"$work/$name.cpp"
  changed scale "$name" "s|$scenes/scale.cpp|$name.cpp|"
}
entry='extern "C" void scale_entry(const ChipTaskArgs &) {}'
written older_api '' '#include "orchestration_api.h"' "$entry"
written newer_header '#include "pto_orchestration_api_v3.h"' "$entry"
written newer_call '#include "pto_orchestration_api.h"' 'extern "C" void scale_entry(const ChipTaskArgs &o) {' '  rt_submit_all(o);' '}'
written manual '#include "pto_orchestration_api.h"' 'extern "C" void scale_entry(const ChipTaskArgs &o) {' \
  '  PTO2_SCOPE(PTO2ScopeMode::MANUAL) for (int i = 0; i < 3; i++) {' '    CoreTaskArgs args;' \
  '    args.add_input(o.tensor(0).ref(), o.tensor(1).ref());' '    args.add_output(o.tensor(2).ref());' \
  '    rt_submit_aiv_task(0, args);' '  }' '}'
# rank + 1 tasks
written by_rank '#include "pto_orchestration_api.h"' 'extern "C" void scale_entry(const ChipTaskArgs &o) {' \
  '  for (uint64_t i = 0; i <= o.scalar(0); i++) {' '    CoreTaskArgs args;' \
  '    args.add_input(o.tensor(0).ref(), o.tensor(1).ref());' '    args.add_output(o.tensor(2).ref());' \
  '    rt_submit_aiv_task(0, args);' '  }' '}'
sed -i 's/"bits": "0x40200000"/"bits": "rank"/' "$work/by_rank.json"
cp tests/compat/kernels/broken.cpp "$work"
changed scale broken_kernel "s|$scenes/add.cpp|broken.cpp|"

holds 'a manifest is built, run and verified' adopts 0 '^verified +a2a3 +threads +scale  2 tasks, 1 edge ' scale
holds 'on virtual time too' adopts 0 '^verified +a2a3 +virtual +scale' scale --engine virtual
of_schema() { # NAME: the JSON of adopting it is of docs/schemas/pto-adopt.json
  "$ptosim" adopt "$work/$1.json" --json "$work/adopt.json" >/dev/null
  /usr/bin/python3 -c 'import json, sys, jsonschema
jsonschema.Draft202012Validator(json.load(open("docs/schemas/pto-adopt.json"))).validate(json.load(open(sys.argv[1])))' "$work/adopt.json"
}
if /usr/bin/python3 -c 'import jsonschema' 2>/dev/null; then
  for name in scale wrong no_source stand_in_add; do holds "its JSON has a schema: $name" of_schema $name; done
fi
holds 'its objects are there the second time' adopts 0 '"compiled": ?0' scale --json -
holds 'it is a program to run' says 0 'verified +true|verified *yes|verified' "$ptosim" run "$work/scale.json" --engine virtual
holds 'and to check' says 0 '2 tasks, 1 edge ' "$ptosim" check "$work/scale.json" --deps pto
holds 'and to ask why' says 0 '.' "$ptosim" why "$work/scale.json" 0 1
holds 'and to compare' says 0 '.' "$ptosim" diff "$work/scale.json" "$work/scale.json" --deps pto
holds 'and to keep a timeline' says 0 '.' "$ptosim" run "$work/scale.json" --engine virtual --trace "$work/trace.json"
holds 'and to price alone' says 0 '.' "$ptosim" run "$work/scale.json" --no-compute
# The second proposal is of a number of the manifest's chip; the command, typed as it is printed, takes that much less.
proposes() {
  "$ptosim" run "$work/scale.json" --no-compute --stats >"$work/told" || return 1
  local less words
  less=$(sed -n 's/^  *the handshake in half the time: about \([0-9.]*\) us less.*/\1/p' "$work/told")
  words=$(sed -n '/^  *the handshake in half/{n;s/^ *ptosim //p}' "$work/told")
  [ "$less" ] && "$ptosim" $words >"$work/faster" || return 1
  grep -q '^  on       a2a3,handshake_ps=' "$work/faster" || return 1
  paste -d ' ' <(sed -n 's/.*, \([0-9.]*\) us on the chip.*/\1/p' "$work/told" "$work/faster" | paste -s -d ' ') <(echo "$less") |
    awk '{ off = $1 - $2 - $3; exit !(off < 0.11 && off > -0.11) }'
}
holds 'what it proposes is on its chip' proposes
holds 'and to run on several ranks' says 0 '^  rank 2   2 tasks, 1 edge, .*verified' "$ptosim" run "$work/scale.json" --ranks 3
holds 'and to observe there' says 0 'observed 6 kernel calls of 6 tasks on 3 ranks' "$ptosim" check "$work/scale.json" --observe --ranks 3
holds 'a rank has its own number' says 0 '^  rank 2   3 tasks' "$ptosim" run "$work/by_rank.json" --ranks 3 --no-compute
holds 'one chip is rank 0' says 0 '^  tasks    1, ' "$ptosim" run "$work/by_rank.json" --no-compute
holds 'where its bytes are what is read' adopts 0 '^unjudged +a2a3 +virtual +scale' scale --no-compute
holds 'and to explore' says 0 '.' "$ptosim" explore "$work/scale.json" --schedules 3
holds 'right by luck: with the lines of its source' \
  adopts 1 'WAR task 0 .*submitted at .*luck.cpp:1[0-9] and .*luck.cpp:1[0-9]; no path under rules pto' luck --engine virtual
again() { # what a finding tells to ask next is answered
  "$ptosim" check "$work/luck.json" "$@" | sed -n 's/^  again: ptosim //p' >"$work/words"
  read -r words <"$work/words" && eval "$ptosim $words" >"$work/out" 2>&1 && grep -q 'rules pto have no edge from a read to a later write' "$work/out"
}
holds 'the question that a finding tells has an answer' again
holds '- on several ranks too' again --ranks 2
holds 'a finding at many tasks is one line' adopts 1 'WAW task 0 .*; no path under rules pto; add .* \(and [12] more like it\)$' manual
holds 'without kernels, what a manual scope declares is counted alone' \
  adopts 0 '^    not judged: [23] conflicts of manual scopes, as declared' manual --no-compute
holds 'an output that is wrong' adopts 1 '^wrong .*|output out\[0\]: 4 instead of 5' wrong
holds 'a func_id without a kernel' adopts 3 'scale.cpp:21: .*func_id 1' no_kernel
holds 'arguments that do not match' adopts 3 'scale.cpp says that it needs 4 arguments; 3 tensors and 0 scalars are given' few
holds 'a kernel of ours instead of one that is not there' adopts 0 '^    not built: add: add$' stand_in_add
holds '- or nothing, which computes nothing' adopts 1 '^    not built: add: nothing$' stand_in_nothing --engine virtual
holds '- or one that there is not' adopts 2 '^ptosim: adopt: .*"substitute" is "adds", expected "nothing" or a kernel' stand_in_adds
holds 'a source that is not there' adopts 3 'nowhere.cpp: there is no such file, expected the source of scale of .*no_source.json' no_source
holds '- which is said without the table, too' adopts 3 '^ptosim: adopt: .*nowhere.cpp: there is no such file' no_source --quiet
holds 'an entry that is not there' adopts 3 'other_entry' no_entry
holds 'bytes that are too few' adopts 3 'one.bin: 64 bytes, expected the 68 of tensor a of .*short.json' short
holds 'another version' adopts 2 '^ptosim: adopt: .*later.json: is "pto-adopted" version 2, expected "pto-adopted" version 1' later
holds 'a golden that is not there' adopts 3 'gone.golden: No such file or directory, expected the bytes of tensor out of .*no_golden.json' no_golden
holds 'a header of an older API' \
  adopts 3 'older_api.cpp:2: #error "orchestration_api.h: host_build_graph before 11 July 2026 is another API; include pto_' older_api
holds 'a header of a newer one' adopts 3 'newer_header.cpp:1: .*pto_orchestration_api_v3.h' newer_header
holds 'a call of a newer one' adopts 3 'newer_call.cpp:3: .*rt_submit_all' newer_call
holds 'a kernel that does not compile' adopts 3 'broken.cpp:8: .*no_such_instruction' broken_kernel
head -c 300 "$work/scale.json" >"$work/cut.json"
holds 'a manifest that is cut' adopts 2 '^ptosim: adopt: .*cut.json: line [0-9]+' cut
holds 'no manifest' adopts 2 '^ptosim: adopt: .*nosuch.json: No such file or directory$' nosuch
holds 'nothing half-built stays' has_no_half
holds 'JUnit has the failure' adopts 1 'failures="1"' wrong --junit -
holds 'a manifest takes no platform' adopts 2 '^ptosim: adopt: --platform is for a folder$' scale --platform a5sim
holds 'a folder takes no engine' says 2 '^ptosim: adopt: --engine is for a manifest$' "$ptosim" adopt "$scenes" --engine virtual
holds 'what is not there' says 2 '^ptosim: adopt: nowhere: no such folder, file or manifest$' "$ptosim" adopt nowhere

python=
for p in python3 /usr/bin/python3; do $p -c 'import torch, pytest' 2>/dev/null && { python=$p; break; }; done
if [ -z "$python" ]; then
  echo 'no python3 with pytest and torch: scene tests are not run'
  holds_total 1
  exit
fi
export PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1 PTOSIM=$ptosim
scene() { # STATUS TEXT FILE PLATFORM
  says "$1" "$2" "$ptosim" adopt "$scenes/$3" --platform "$4"
}
pytest() { (cd "$work" && $python -m pytest -p no:cacheprovider -p pto.adopt -q "$@"); }
was() { grep -qE -- "$1" "$work/out"; } # of the command before

# One folder of all: scenes, scenes with a mistake each, and programs in the layout of pypto.
all=$work/all
mkdir "$all" && cp -r "$scenes"/* "$all"
generated() { # NAME: tests/compat/generated under that name
  cp -r tests/compat/generated "$all/$1"
}
generated plain
generated judged
cp "$work/one.bin" "$all/judged" && python_free_floats 3 >"$all/judged/three.bin"
cat >"$all/judged/arguments.json" <<END
{"tensors": [{"name": "a", "dtype": "f32", "shape": [4, 4], "bytes": "one.bin"},
             {"name": "b", "dtype": "f32", "shape": [4, 4], "bytes": "one.bin"},
             {"name": "out", "dtype": "f32", "shape": [4, 4], "golden": "three.bin"}],
 "scalars": [{"name": "weight", "bits": "0x40000000"}]}
END
generated no_arguments
rm "$all/no_arguments/arguments.json"
generated few_tensors
sed -i '/"b"/d' "$all/few_tensors/arguments.json"
generated no_kernels
sed -i 's/^KERNELS/OTHERS/' "$all/no_kernels/kernel_config.py"
generated no_kernel_file
rm "$all/no_kernel_file/kernels/aiv/add.cpp"

holds 'a folder on threads' says 3 '^adopt: 18 cases, 10 built, 8 run, 6 verified, 1 unjudged, 1 wrong; 1 left out$' \
  "$ptosim" adopt "$all" --platform a2a3sim
holds '- a scene' was '^verified +a2a3 +threads +TestScale/small'
holds '- one of host_build_graph' was '^verified +a2a3 +threads +TestScaleHostBuilt/small'
holds '- one with a comparison of its own' was '^verified +a2a3 +threads +TestOwnComparison/small'
holds '- one with a run of its own' was '^verified +a2a3 +threads +TestOwnRun/small'
holds '- one is too large' was 'TestTooLarge/large'
holds '- a golden that is wrong' was 'output out: [0-9.]+ from its golden'
holds '- no golden' was 'test_wrong.py: TestNoGolden has no compute_golden, expected one or SKIP_GOLDEN'
holds '- a func_id that no file gives' was 'scale.cpp:21: .*func_id 1'
holds '- a signature that is too short' was 'test_wrong.py: TestFewSignatures: generate_args gives 3 tensors, the orchestration.s signature expects 2'
holds '- arguments that do not match' was 'needs 4 arguments; 2 tensors and 0 scalars are given'
holds '- a source that is not there' was 'nowhere.cpp: there is no such file'
holds '- a generated program, which nothing judges' was '^unjudged +a2a3 +threads +plain/blend  8 tasks, '
holds '- one with data' was '^verified +a2a3 +threads +judged/blend  2 tasks, '
holds '- one without shapes' was 'no_arguments/arguments.json: there is no such file, expected the shapes of arguments'
holds '- one with too few of them' was 'few_tensors/arguments.json: 2 tensors, expected the 3 of ORCHESTRATION.s signature'
holds '- a configuration without kernels' was 'no_kernels/kernel_config.py: there is no KERNELS, expected'
holds '- a generated kernel that is not there' was 'add.cpp: there is no such file, expected the source of add'
holds 'nothing half-built stays of them' has_no_half
holds 'of a5 in virtual time, one by luck or wrong' scene 1 'WAR task 0 \(add\) .*luck.cpp' test_scenes.py a5virtual
holds 'the same without kernels, the large one too' \
  says 0 '^adopt: 6 cases, 6 built, 6 run, 0 verified, 6 unjudged$' \
  "$ptosim" adopt "$scenes/test_scenes.py" --platform a2a3virtual --no-compute --assume-zero
holds '- with as many clusters as are asked for' \
  says 1 '^unjudged +a5 ' "$ptosim" adopt "$scenes/test_scenes.py" --platform a5virtual --no-compute --assume-zero --clusters 2
holds '- in virtual time alone' says 2 '^ptosim: adopt: --no-compute of a folder is for --platform a2a3virtual or a5virtual$' \
  "$ptosim" adopt "$scenes/test_scenes.py" --no-compute
mkdir -p "$work/above/scenes" && cp "$scenes"/*.cpp "$scenes/test_scenes.py" "$work/above/scenes"
cat >"$work/above/scenes/conftest.py" <<END
import pytest
@pytest.fixture(scope="class")
def st_worker(pool): pass
END
holds 'a test that cannot be set up is told' says 0 'TestScale/test_run  the test cannot be set up: fixture .pool. not found' \
  "$ptosim" adopt "$work/above/scenes" --platform a5sim --list
printf "import pytest\n@pytest.fixture(scope=\"session\")\ndef pool(): pass\n" >"$work/above/conftest.py"
holds 'a conftest.py above the folder is read' says 0 '^a5 +768 .*TestScale/small' \
  "$ptosim" adopt "$work/above/scenes" --platform a5sim --list
holds 'the list' says 0 '^a5 +768 .*TestScale/small' "$ptosim" adopt "$scenes/test_scenes.py" --platform a5sim --list
mkdir -p "$work/nothing" && echo 'def test_plain(): pass' >"$work/nothing/test_plain.py"
holds 'a folder without scenes is refused' says 2 'nothing has no scene test .* and no kernel_config.py$' \
  "$ptosim" adopt "$work/nothing" --junit "$work/nothing.xml"
holds '- of one platform' says 2 'no kernel_config.py for a5virtual$' "$ptosim" adopt "$work/nothing" --platform a5virtual
holds '- and has no file of results' [ ! -s "$work/nothing.xml" ]
mkdir -p "$work/slow" && printf "import time\ntime.sleep(60)\n" >"$work/slow/test_slow.py"
interrupted() { # by a signal to ptosim alone
  "$ptosim" adopt "$work/slow" --json "$work/slow.json" &
  local pid=$!
  sleep 2
  kill -INT $pid
  wait $pid
  [ $? = 130 ]
}
set -m # or children of a script ignore ^C
holds '^C ends pytest too, with 130' interrupted
set +m
holds 'and JSON of the cases so far' grep -q '"exit": *130' "$work/slow.json"
holds 'pytest runs them, by name, without the manual one' says 0 '^2 passed, [0-9]+ deselected' \
  pytest "$scenes/test_scenes.py" --platform a2a3virtual -k 'TestScale'
holds 'hardware is refused' says 4 'platform a2a3 means hardware, which is not here: a2a3sim runs on threads, a2a3virtual in virtual time' \
  pytest "$scenes/test_scenes.py" --platform a2a3
holds_total
