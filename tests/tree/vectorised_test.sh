#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The loops over the transcendental functions are vectors of doubles with every instruction set, and call nothing: read off the
# disassembly.  Their names are the lines of kernels/api/list.h with 0.501 units of error.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
case $build in *address* | *undefined* | *thread* | *coverage* | *debug*) echo 'nothing is vectorised in this build'; exit 77 ;; esac
[ "$(uname -m)" = x86_64 ] || { echo 'instruction names are those of x86-64'; exit 77; }
command -v objdump >/dev/null || { echo 'there is no objdump'; exit 77; }
names=$(sed -n 's/^  X(\([a-z0-9_]*\), [A-Z0-9_]*, PTO_DTYPES_FLOAT, 0\.501,.*/\1/p' kernels/api/list.h | xargs)
passed=0 failed=0

for level in plain avx2 avx512; do
  object=$build/obj/kernels/levels/loops_$level.o
  [ -f "$object" ] || { echo "there is no $object"; exit 77; }
  # A line NAME IS-RIGHT for each of the names.
  while read -r name is_right; do
    if [ "$is_right" = 1 ]; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      echo "the $level loop of $name is not vectorised, or calls a function"
    fi
  done < <(objdump -d --no-show-raw-insn "$object" | awk -v names="$names" -v level=$level '
    /^[0-9a-f]+ <.*>:$/ { function_ = substr($2, 2, length($2) - 3) }
    /[[:space:]]v?(mul|add|sub|div|sqrt)pd / && (level != "avx512" || /%zmm/) && (level != "avx2" || /%ymm/) { vectors[function_] = 1 }
    /[[:space:]]call/ { calls[function_] = 1 }
    END {
      count = split(names, list, " ")
      for (i = 1; i <= count; i++) print list[i], vectors[list[i] "_op_f32"] && !calls[list[i] "_op_f32"] ? 1 : 0
    }')
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
