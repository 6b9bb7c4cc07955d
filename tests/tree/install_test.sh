#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What `make install` leaves is enough: a C and a C++ program build against it alone and run a task, by pkg-config and by CMake;
# one with libptotools judges a program that it makes at run time; C++ takes every header; the installed ptosim finds its programs
# from wherever it stands.
# Both libraries have a soname and a version, and a program asks for nothing that libpto.so does not show to everybody.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
case $build in *address* | *thread* | *coverage*) echo 'users link no instrumented library'; exit 77 ;; esac
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
. tests/support/holds.sh
unset PTO_PROGRAM_PATH

holds 'it installs into another root' make install DESTDIR="$work/root" PREFIX=/opt/pto
installed=$work/root/opt/pto
mv "$installed" "$work/moved"
installed=$work/moved

cat >"$work/user.c" <<'EOT'
#include <pto/pto.h>
#include <stdio.h>

static int twice(const struct pto_kernel_args *args) {
  float *x = (float *)args->tensors[0].addr;
  for (uint64_t i = 0; i < args->tensors[0].shape[0]; i++) x[i * args->tensors[0].strides[0]] *= 2;
  return 0;
}
static int orchestration(struct pto_runtime *rt, void *context) {
  struct pto_kernel_param param;
  struct pto_kernel kernel;
  uint64_t n = 4;
  param.name = "x", param.mode = PTO_INOUT, param.dtypes = 0, param.min_rank = 1, param.max_rank = 1, param.scalar = 0;
  kernel.name = "twice", kernel.cores = PTO_AIV, kernel.flags = 0, kernel.params = &param, kernel.param_count = 1;
  kernel.run = twice, kernel.cost = NULL, kernel.check = NULL;
  struct pto_tensor x = pto_external_tensor(rt, context, PTO_FLOAT32, 1, &n);
  struct pto_param p = pto_inout(&x);
  int status = pto_submit_aiv(rt, &kernel, &p, 1);
  uint64_t index = 3;
  float seen = 0;
  if (status == PTO_OK) status = pto_read_element(rt, &x, &index, &seen);
  return status == PTO_OK && seen != 8 ? pto_report_error(rt, "3: not 8") : status;
}
int main(void) {
  float x[4] = {1, 2, 3, 4};
  int parts[3];
  if (sscanf(pto_version(), "%d.%d.%d", parts, parts + 1, parts + 2) != 3 || parts[0] != PTO_VERSION_MAJOR ||
      parts[1] != PTO_VERSION_MINOR || parts[2] != PTO_VERSION_PATCH)
    return puts(pto_version()), 2;
  struct pto_runtime *rt;
  char sentence[256];
  if (pto_runtime_create_explained(NULL, &rt, sentence, sizeof sentence) != PTO_OK) return puts(sentence), 1;
  int status = pto_run(rt, orchestration, x);
  if (status != PTO_OK) puts(pto_last_error(rt));
  pto_runtime_destroy(rt);
  return status != PTO_OK || x[0] != 2;
}
EOT
cp "$work/user.c" "$work/user.cpp"
cat >"$work/judge.c" <<'EOT'
#include <pto/tools.h>
#include <string.h>

/* y = x, then z = y, in a manual scope where nothing orders the two unless the setting "ordered" says so. */
static int copy(const struct pto_kernel_args *args) {
  memcpy(args->tensors[1].addr, args->tensors[0].addr, args->tensors[0].shape[0] * sizeof(float));
  return 0;
}
static const struct pto_kernel_param params[] = {{.name = "from", .mode = PTO_INPUT}, {.name = "to", .mode = PTO_OUTPUT}};
static const struct pto_kernel kernel = {.name = "copy", .cores = PTO_AIV, .params = params, .param_count = 2, .run = copy};
static int prepare(struct pto_program_run *run) {
  static const char *const names[] = {"x", "y", "z"};
  static const uint64_t n = 8;
  for (int i = 0; i < 3; i++) pto_program_array(run, names[i], i ? PTO_ARRAY_OUTPUT : PTO_ARRAY_INPUT, PTO_FLOAT32, 1, &n);
  return PTO_OK;
}
static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_tensor x = pto_array_tensor(rt, pto_program_find(run, "x")), y = pto_array_tensor(rt, pto_program_find(run, "y"));
  struct pto_tensor z = pto_array_tensor(rt, pto_program_find(run, "z"));
  const struct pto_param first[] = {pto_input(&x), pto_output(&y)}, second[] = {pto_input(&y), pto_output(&z)};
  struct pto_launch launch = {.size = sizeof launch, .aiv0 = &kernel};
  struct pto_task task;
  int status = pto_scope_begin(rt, PTO_SCOPE_MANUAL);
  if (!status) status = pto_submit(rt, &launch, first, 2, &task);
  launch.after = &task;
  launch.after_count = pto_option_bool(run, "ordered");
  if (!status) status = pto_submit(rt, &launch, second, 2, &task);
  return status ? status : pto_scope_end(rt);
}
/* How many findings there are; -1 where something failed. */
static int judge(const struct pto_program *program, const char *setting) {
  const struct pto_config config = {.size = sizeof config, .engine = "virtual", .record = PTO_RECORD_GRAPH};
  const struct pto_session_options options = {
      .size = sizeof options, .made = program, .settings = {&setting, 1}, .config = &config};
  struct pto_session *session = NULL;
  struct pto_findings *findings = NULL;
  struct pto_found found = {.size = sizeof found};
  char sentence[256] = "";
  int status = pto_session_open(&options, &session, sentence, sizeof sentence), count = -1;
  if (!status) status = pto_session_run(session);
  if (!status) status = pto_session_check(session, PTO_DEPS_EXACT, &findings, sentence, sizeof sentence);
  if (!status) count = (int)pto_findings_count(findings);
  printf("%s: %d %s\n", setting, status, sentence);
  if (count > 0 && pto_findings_at(findings, 0, &found)) printf("%s: %s\n", found.kind, found.sentence);
  pto_findings_destroy(findings);
  pto_session_close(session);
  return count;
}
int main(void) {
  static const struct pto_option options[] = {{"ordered", PTO_OPTION_BOOL, "true", "the second task is after the first"}, {0}};
  struct pto_program made = {
      .abi = PTO_PROGRAM_ABI, .name = "made", .options = options, .prepare = prepare, .orchestrate = orchestrate};
  const int unordered = judge(&made, "ordered=false"), ordered = judge(&made, "ordered=true");
  made.abi++;
  return !(unordered == 1 && ordered == 0 && judge(&made, "ordered=true") == -1);
}
EOT
# Every public header, in C++, and one call of each library, so that their names are those of C.
{
  for header in "$installed"/include/pto/*.h "$installed"/include/pto/*.hpp; do echo "#include <pto/${header##*/}>"; done
  printf 'int main() { return !pto_version() || pto_export_record("nothing") != UINT32_MAX; }\n'
} >"$work/headers.cpp"

# What pkg-config says of a library (make install wrote the files for a folder that has been moved since).
flags=(-Wall -Wextra -Wno-unused-parameter -Werror)
export PKG_CONFIG_PATH=$installed/lib/pkgconfig
asked() {
  if command -v pkg-config >/dev/null; then
    pkg-config --define-variable=prefix="$installed" --cflags --libs "$1"
  else
    echo "-I$installed/include -L$installed/lib -l$1 -lpto"
  fi
}
builds() { # PROGRAM SOURCE LIBRARY COMPILER…
  local program=$1 source=$2 library=$3
  shift 3
  # shellcheck disable=SC2046 # words of pkg-config
  "$@" "${flags[@]}" -o "$work/$program" "$work/$source" $(asked "$library")
}
runs() { env LD_LIBRARY_PATH="$installed/lib" "$work/$1"; }
holds 'a C program builds against it' builds user_c user.c pto "${CC:-cc}" -std=c17
holds 'and runs a task' runs user_c
holds 'a C program that judges one made at run time builds' builds judge judge.c ptotools "${CC:-cc}" -std=c17
holds 'and finds what is wrong with it, and nothing else' runs judge
if command -v g++ >/dev/null; then
  holds 'a C++ program builds against it' builds user_cpp user.cpp pto g++ -std=c++17
  holds 'and runs a task' runs user_cpp
  holds 'a C++ program with every header builds' builds headers headers.cpp ptotools g++ -std=c++17
  holds 'and runs' runs headers
fi
if command -v pkg-config >/dev/null; then
  version=$(sed -n 's/.*PTO_VERSION "\(.*\)"/\1/p' "$installed/include/pto/version.h")
  holds 'pkg-config knows both libraries and the version' pkg-config --exists "pto = $version" "ptotools = $version"
fi

# find_package, from the folder that all has been moved to; one major version is not another.
if command -v cmake >/dev/null && command -v g++ >/dev/null; then
  mkdir "$work/cmake"
  cat >"$work/cmake/CMakeLists.txt" <<'EOT'
cmake_minimum_required(VERSION 3.16)
project(user LANGUAGES CXX)
find_package(pto 1.0 QUIET)
if(pto_FOUND)
  message(FATAL_ERROR "0 is taken for 1")
endif()
find_package(pto 0.1 REQUIRED)
add_executable(user ../user.cpp)
target_link_libraries(user PRIVATE pto::pto)
add_executable(headers ../headers.cpp)
target_link_libraries(headers PRIVATE pto::tools)
EOT
  by_cmake() { cmake -S "$work/cmake" -B "$work/cmake/b" -DCMAKE_PREFIX_PATH="$installed" -DCMAKE_CXX_COMPILER=g++ && cmake --build "$work/cmake/b"; }
  holds 'CMake finds it and builds the C++ programs' by_cmake
  holds 'which run a task' "$work/cmake/b/user"
  holds 'and call both libraries' "$work/cmake/b/headers"
fi

needs() { readelf -d "$1" | grep -qF "($2)" && readelf -d "$1" | grep "($2)" | grep -qF "[$3]"; }
for library in libpto libptotools; do
  holds "$library.so has a soname" needs "$installed/lib/$library.so" SONAME $library.so.0
  holds "$library.so.0 is there" test -e "$installed/lib/$library.so.0"
done
holds 'a program asks for the soname' needs "$work/user_c" NEEDED libpto.so.0
holds 'and libptotools for that of libpto' needs "$installed/lib/libptotools.so" NEEDED libpto.so.0
holds 'and a program that judges for that of libptotools' needs "$work/judge" NEEDED libptotools.so.0

# Programs bind to what libpto.so shows to everybody, and to nothing that is for libptotools alone.
shown() { nm -D --defined-only "$installed/lib/libpto.so" | sed -n 's/.* \(pto_.*\)@@PTO_0$/\1/p' | sort; }
asked_for() { find "$installed/lib/pto/programs" -name '*.so' -exec nm -D -u {} + | sed -n 's/.* U \(pto_[a-z0-9_]*\)$/\1/p' | sort -u; }
holds 'programs ask for public symbols alone' bash -c '[ -z "$1" ]' - "$(comm -13 <(shown) <(asked_for))"

cd "$work" || exit 1
holds 'the installed ptosim finds its programs' bash -c "'$installed/bin/ptosim' list programs | grep -q '^vector_example'"
holds 'and runs one' "$installed/bin/ptosim" run vector_example --quiet
holds 'no file names the folder it was built in' bash -c "! grep -rqF '$OLDPWD' '$installed/lib/pkgconfig' '$installed/lib/cmake' '$installed/include'"

holds_total
