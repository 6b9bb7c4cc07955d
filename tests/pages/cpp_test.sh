#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# <pto/pto.hpp> does what docs/cpp.md says: the page's C++ compiles without warnings and says what the page says; exceptions,
# scopes and handles behave (cpp_program.cpp, beside the headers of adopted programs); what is wrong by type does not compile
# (cpp_refused.cpp); and an orchestration takes the instructions of the same one in C (cpp_cost.*), as callgrind counts them.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
case $build in *address* | *thread* | *coverage*) echo 'users link no instrumented library'; exit 77 ;; esac
[ -e "$build/libpto.so" ] || { echo "there is no $build/libpto.so"; exit 77; }
cxx=$(command -v "${CXX:-c++}") || { echo "no C++ compiler: skipped"; exit 77; }
. tests/support/holds.sh
export LD_LIBRARY_PATH=$build
flags=(-std=c++17 -Wall -Wextra -Werror -Iinclude)
compile() { # PROGRAM SOURCE FLAG…
  local program=$1 source=$2
  shift 2
  "$cxx" "${flags[@]}" "$@" -o "$work/$program" "$source" -L"$build" -lpto
}
says() { # FILE WORDS
  "$work/$1" >"$work/said" 2>&1
  grep -qF "$2" "$work/said" || { cat "$work/said"; return 1; }
}

awk '/^```cpp$/ { inside = 1; next } /^```$/ { inside = 0 } inside' docs/cpp.md >"$work/squares.cpp"
holds 'the page compiles' compile squares "$work/squares.cpp"
holds 'it says what the page says' says squares 'y[3] = 12; 2 tasks, 1 edge'

holds 'exceptions, scopes and handles compile beside the headers of adopted programs' \
  compile program tests/pages/cpp_program.cpp -Icompat/include -Itests/compat/isa/include -DPTO_COMPAT_ARCHITECTURE=1 -Wno-unused-parameter -ldl
holds 'and behave' "$work/program"

"$cxx" "${flags[@]}" -fsyntax-only tests/pages/cpp_refused.cpp >"$work/refused" 2>&1
refuses() { grep -qF "$1" "$work/refused"; }
for sentence in 'say what the task does to it' 'a scalar of a kernel has 32 bits' 'neither a parameter nor a scalar' \
  'another number of parameters' 'a parameter of another mode' 'no dtype of this runtime'; do
  holds "refused by the compiler: $sentence" refuses "$sentence"
done

# What is told of a submit names lines of the program: where it stands, and where there is debug information to read.
if "$build/ptosim" --version | grep -q libdw && ! "$cxx" --version | grep -qi clang; then
  line_of() { grep -n "/\* $1 \*/" tests/pages/cpp_lines.cpp | cut -d: -f1; }
  holds 'a program compiles' compile lines.so tests/pages/cpp_lines.cpp -g -fPIC -shared
  "$build/ptosim" check "$work/lines.so" >"$work/found" 2>&1
  holds 'a finding names its lines' grep -qF "submitted at cpp_lines.cpp:$(line_of first) and cpp_lines.cpp:$(line_of second); " "$work/found"
fi

# Instructions of the orchestration, and of all that it calls.
instructions() { # PROGRAM FUNCTION
  valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect="$2" "$work/$1" 2>&1 | sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
if command -v valgrind >/dev/null; then
  holds 'the same orchestration in C compiles' ${CC:-cc} -std=c17 -O2 -Iinclude -o "$work/in_c" tests/pages/cpp_cost.c -L"$build" -lpto
  holds 'and in C++' compile in_cpp tests/pages/cpp_cost.cpp -O2
  c=$(instructions in_c orchestrate) cpp=$(instructions in_cpp 'orchestrate*')
  echo "instructions: $c in C, $cpp in C++"
  holds 'C++ takes at most 1 % more instructions' [ "${cpp:-0}" -gt 0 -a "$((100 * ${cpp:-0}))" -le "$((101 * ${c:-0}))" ]
fi

holds_total
