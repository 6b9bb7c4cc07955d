#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The Python package: its tests below tests/python, the examples of docs/python.md, and its declarations against the headers.
# Skips where no Python imports cffi, numpy, pytest and hypothesis (scripts/deps --python).  Libraries of an AddressSanitizer build
# run in an interpreter with its runtime in front; what the interpreter keeps until its end is no leak, no browser starts so, and
# observe leaves what kernels touch to the sanitizer, so that three tests of it have nothing to find.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(realpath "${PTO_BUILD_DIR:-build}")
preload='' without=()
case $build in
  *thread* | *coverage* | *clang*) echo "an interpreter loads no libraries of $build"; exit 77 ;;
  *address*) preload="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libubsan.so)"
    without=(--ignore tests/python/test_notebook.py
             --deselect tests/python/test_programs.py::test_a_kernel_that_leaves_bytes_unwritten_is_found
             --deselect tests/python/test_programs.py::test_it_is_found_on_each_of_several_ranks
             --deselect tests/python/test_testing.py::test_a_planted_missing_dependency_and_others_are_found_through_pytest) ;;
esac
[ -e "$build/libptotools.so" ] || { echo "there is no $build/libptotools.so"; exit 77; }
python=$(scripts/python pytest hypothesis) || { echo "no Python imports cffi, numpy, pytest and hypothesis: scripts/deps --python"; exit 77; }
echo "| Python: $python, $("$python" -c 'import sys, cffi, numpy; print(sys.version.split()[0], "cffi", cffi.__version__, "numpy", numpy.__version__)')"
export PTO_BUILD_DIR=$build PYTHONPATH=python PYTHONDONTWRITEBYTECODE=1 ASAN_OPTIONS=detect_leaks=0
[ -n "$preload" ] && python_of_the_tests=$python && python=instrumented && instrumented() { LD_PRELOAD=$preload "$python_of_the_tests" "$@"; }
. tests/support/holds.sh
skipped=0
# `make test` has made it, as other tests use it at the same time.
[ -e "$build/python/_pto.py" ] || { mkdir -p "$build/python" && "$python" python/pto_declarations.py "$build/python" || exit 1; }

if [ -e "$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ]; then
  holds 'what cffi makes of the headers compiles against them, each size and offset checked' "$python" - "$work" "$build" <<'END'
import ctypes, os, sys
sys.path[:0] = ["python", sys.argv[1]]
import pto_declarations
os.environ["LDFLAGS"] = "-L" + sys.argv[2]
pto_declarations.builder("_pto_compiled", pto_declarations.INCLUDES + pto_declarations.CONSTANTS).compile(tmpdir=sys.argv[1])
for name in ("libpto", "libptotools"):
    ctypes.CDLL(f"{sys.argv[2]}/{name}.so.0", ctypes.RTLD_GLOBAL)
from _pto_compiled import ffi, lib
from pto.library import ffi as used
_, structs, _ = ffi.list_types()
for name in structs:
    held, ours = ffi.typeof(f"struct {name}"), used.typeof(f"struct {name}")
    if held.fields is not None:
        layout = [[(field, of.offset) for field, of in each.fields] for each in (held, ours)]
        assert layout[0] == layout[1] and ffi.sizeof(held) == used.sizeof(ours), name
assert len(structs) > 60 and len(dir(lib)) > 200
END
else
  skipped=1
  echo '| no Python.h (scripts/deps --python): that the declarations compile against the headers is skipped'
fi
holds 'the examples of docs/python.md say what they say' "$python" -m doctest docs/python.md

"$python" -m pytest -q -p no:cacheprovider "${without[@]}" tests/python >"$work/pytest" 2>&1
status=$?
tail -n 60 "$work/pytest"
count() { grep -oE "[0-9]+ $1" "$work/pytest" | tail -n 1 | grep -oE '^[0-9]+' || echo 0; }
passed=$((passed + $(count passed))) failed=$((failed + $(count failed) + $(count error)))
skipped=$((skipped + $(count skipped)))
[ $status != 0 ] && [ $failed = 0 ] && failed=1
holds_total "${skipped#0}"
