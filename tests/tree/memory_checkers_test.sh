#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Memory that a kernel must not touch is reported at the kernel's line: past its tensor, past its view, recycled, unwritten.  In a
# build with AddressSanitizer by that, in others by memcheck where valgrind is installed; on both engines.  And the same tasks
# without a mistake are not.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
# shellcheck source=tests/support/holds.sh
. tests/support/holds.sh

source=tests/planted/planted_memory.c
sanitizers=$(nm "$build/ptosim" | grep -oE '__(asan|tsan|ubsan)_' | sort -u)
case $sanitizers in
  *asan*) tool=asan ;;
  '') tool=memcheck ;;
  *) echo "a sanitizer without a say in this"; exit 77 ;;
esac
if [ $tool = asan ]; then
  flags=-fsanitize=address
  run=("$build/ptosim")
else
  command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 77; }
  grep -q 'PTO_HAVE_VALGRIND=1' "$build/config.mk" || { echo "$build was made without valgrind's headers"; exit 77; }
  flags=
  run=(valgrind -q --tool=memcheck --error-exitcode=99 "$build/ptosim")
fi
# shellcheck disable=SC2086
${CC:-cc} -std=c17 -O0 -gdwarf-4 -fPIC -shared -Wall -Wextra -Wno-unused-parameter -Iinclude $flags \
  -o "${work:?}/planted.so" "$source" || exit 1

run() { # MISTAKE OPTIONS…
  "${run[@]}" "${verb:-run}" "$work/planted.so" --quiet --timeout 0 --set mistake="$1" "${@:2}" 2>&1
}
line_of() { grep -nE "planted:.*\b$1\b" "$source" | cut -d: -f1; }
# The first report is of the line: memcheck names file and line in the frame after "at", AddressSanitizer in frame 0.
reports() { # MISTAKE OPTIONS…
  local line frame
  line=$(line_of "$1")
  run "$@" >"$work/report"
  cat "$work/report"
  if [ $tool = asan ]; then
    frame=$(grep -m1 -E '^ *#0 ' "$work/report")
    # An array is memory of the heap, all else the runtime's.
    grep -q "ERROR: AddressSanitizer: $([ "$1" = array_past ] && echo heap-buffer-overflow || echo use-after-poison)" \
      "$work/report" || return 1
  else
    frame=$(grep -m1 -E '^==[0-9]+== +at 0x' "$work/report")
  fi
  [ -n "$line" ] && [[ $frame == *planted_memory.c:$line* ]]
}
is_silent() { run "$@" >"$work/report" && ! grep -E '^==|ERROR' "$work/report"; }

for engine in '--engine virtual' '--engine threads --workers 1' '--engine threads --workers 2'; do
  # shellcheck disable=SC2086
  {
    holds "nothing is reported of kernels without a mistake, $engine" is_silent none $engine
    for mistake in read_past write_past array_past recycled unwritten; do
      holds "$mistake is reported, $engine" reports $mistake $engine
    done
    [[ $engine == *'workers 2' ]] && continue # precision needs one kernel at a time
    for mistake in view external_view; do
      holds "$mistake is reported, $engine" reports $mistake $engine
    done
    [ $tool = memcheck ] && holds "half of an output is reported, $engine" reports half $engine
  }
done

# The engine that runs kernels one at a time leaves the looking to the tool.
verb=check
holds "nothing is reported of kernels without a mistake, check --observe" is_silent none --observe
for mistake in read_past write_past array_past recycled unwritten view external_view; do
  holds "$mistake is reported, check --observe" reports $mistake --observe
done

holds_total
