#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Graphs of adopted programs against a folder of deps.json (python/pto/adopt_test.py), which the existing runtime writes. The
# folder is of our own writing: the edges of scale.cpp, as they are and changed.
#
# Skips without a C++ compiler or python3.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(realpath "${PTO_BUILD_DIR:-build}")
case $build in *address* | *thread* | *coverage*) echo 'what is compiled here has no instrumentation'; exit 77 ;; esac
for c in clang++-19 g++-14 g++-12 g++; do command -v $c >/dev/null && has=1; done
[ "${has:-}" ] || { echo 'no C++ compiler: adopted programs are not built'; exit 77; }
command -v python3 >/dev/null || { echo 'no python3'; exit 77; }
. tests/support/holds.sh
export PTO_ISA=$PWD/tests/compat/isa PTO_ADOPTED=$build/adopted/tests PTO_COMPAT=$PWD/compat PYTHONPATH=$PWD/python
export PYTHONDONTWRITEBYTECODE=1

cat >"$work/scale.json" <<END
{"format": "pto-adopted", "version": 1, "name": "TestScale/small", "architecture": "a2a3",
 "mode": "tensormap_and_ringbuffer", "judge": "test",
 "orchestration": {"source": "$PWD/tests/compat/scenes/scale.cpp", "entry": "scale_entry"},
 "kernels": [{"func_id": 0, "core": "aiv", "name": "add", "source": "$PWD/tests/compat/scenes/add.cpp"},
             {"func_id": 1, "core": "aiv", "name": "scale", "source": "$PWD/tests/compat/scenes/scale_kernel.cpp"}],
 "tensors": [{"name": "a", "direction": "in", "dtype": "f32", "shape": [16], "bytes": "one.bin"},
             {"name": "b", "direction": "in", "dtype": "f32", "shape": [16], "bytes": "one.bin"},
             {"name": "out", "direction": "out", "dtype": "f32", "shape": [16]}],
 "scalars": [{"name": "factor", "bits": "0x40200000"}], "clusters": 8}
END
head -c 64 /dev/zero >"$work/one.bin"

# The dump of a case: FOLDER below dumps, and its edges.
dump() { mkdir -p "$work/dumps/$1" && echo "{\"edges\": [$2]}" >"$work/dumps/$1/deps.json"; }
# What is said of the case, compared with the dumps, of which there are none afterwards; the last line is "compared equal".
compare() {
  python3 - "$build/ptosim" "$work/dumps" "$work/scale.json" "$1" <<'END'
import sys
from pto import adopt_test
ptosim, folder, manifest, architecture = sys.argv[1:]
case = {"scene": "test_scale.py", "class": "TestScale", "case": "sm all", "name": "TestScale/sm all", "built": True,
        "architecture": architecture, "manifest": manifest}
print(*adopt_test.compare_dumps(ptosim, [case, dict(case), dict(case, built=False)], adopt_test.find_dumps(folder)))
END
  rm -rf "$work/dumps"
}
says() { # TEXT, a regular expression, ARCHITECTURE
  compare "$2" >"$work/out" 2>&1 && grep -qE -- "$1" "$work/out"
}

dump TestScale_sm_all_20260822_101500 '["0", "1"]'
holds 'the same edges' says '^1 1$' a2a3
dump TestScale_sm_all_20260822_101500 '["0", "2"], ["1", "2"]'
holds 'an edge that only ours has' says 'the edge from task 0 .* to task 1 .* is only in B' a2a3
dump TestScale_sm_all_20260822_101500 '["0", "1"], ["1", "2"]'
holds 'an edge and a task that only theirs has' says '^1 0$' a2a3
dump TestScale_sm_all_20260821_235959 '["0", "2"], ["1", "2"]'
dump TestScale_sm_all_20260822_101500 '["0", "1"]'
holds 'the last of several' says '^1 1$' a2a3
dump a5/TestScale_sm_all '["0", "1"]'
holds 'one of the other architecture' says '^0 0$' a2a3
dump outputs/a5/TestScale_sm_all '["0", "2"], ["1", "2"]'
dump outputs/TestScale_sm_all '["0", "1"]'
holds 'that of the architecture before that of both' says '^1 0$' a5
dump TestScale_other '["0", "1"]'
holds 'another case' says '^0 0$' a2a3
dump TestScale_sm_all '["0", "1"'
holds 'a dump that is cut' says 'deps.json: .*line 1' a2a3
holds_total
