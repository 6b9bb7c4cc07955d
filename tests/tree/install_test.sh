#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What `make install` leaves is enough: a C and a C++ program build against it alone and run a task, another with libptotools; the
# installed ptosim finds its programs from wherever it stands.  Both libraries have a soname and a version, and a program asks
# for nothing that libpto.so does not show to everybody.
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
flags=(-Wall -Wextra -Wno-unused-parameter -Werror -I"$installed/include" -L"$installed/lib")
holds 'a C program builds against it' "${CC:-cc}" -std=c17 "${flags[@]}" -o "$work/user_c" "$work/user.c" -lpto
holds 'and runs a task' env LD_LIBRARY_PATH="$installed/lib" "$work/user_c"
if command -v g++ >/dev/null; then
  holds 'a C++ program builds against it' g++ -std=c++17 "${flags[@]}" -o "$work/user_cpp" "$work/user.cpp" -lpto
  holds 'and runs a task' env LD_LIBRARY_PATH="$installed/lib" "$work/user_cpp"
fi
if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$installed/lib/pkgconfig
  version=$(sed -n 's/.*PTO_VERSION "\(.*\)"/\1/p' "$installed/include/pto/version.h")
  holds 'pkg-config knows both libraries and the version' pkg-config --exists "pto = $version" "ptotools = $version"
fi

needs() { readelf -d "$1" | grep -qF "($2)" && readelf -d "$1" | grep "($2)" | grep -qF "[$3]"; }
for library in libpto libptotools; do
  holds "$library.so has a soname" needs "$installed/lib/$library.so" SONAME $library.so.0
  holds "$library.so.0 is there" test -e "$installed/lib/$library.so.0"
done
holds 'a program asks for the soname' needs "$work/user_c" NEEDED libpto.so.0
holds 'and libptotools for that of libpto' needs "$installed/lib/libptotools.so" NEEDED libpto.so.0
holds 'a program builds against libptotools' "${CC:-cc}" -std=c17 "${flags[@]}" -Wl,--no-as-needed,--allow-shlib-undefined -o "$work/judge" "$work/user.c" -lptotools -lpto
holds 'it asks for its soname' needs "$work/judge" NEEDED libptotools.so.0
holds 'and runs' env LD_LIBRARY_PATH="$installed/lib" "$work/judge"

# Programs bind to what libpto.so shows to everybody, and to nothing that is for libptotools alone.
shown() { nm -D --defined-only "$installed/lib/libpto.so" | sed -n 's/.* \(pto_.*\)@@PTO_0$/\1/p' | sort; }
asked_for() { find "$installed/lib/pto/programs" -name '*.so' -exec nm -D -u {} + | sed -n 's/.* U \(pto_[a-z0-9_]*\)$/\1/p' | sort -u; }
holds 'programs ask for public symbols alone' bash -c '[ -z "$1" ]' - "$(comm -13 <(shown) <(asked_for))"

cd "$work" || exit 1
holds 'the installed ptosim finds its programs' bash -c "'$installed/bin/ptosim' list programs | grep -q '^vector_example'"
holds 'and runs one' "$installed/bin/ptosim" run vector_example --quiet
holds 'no file names the folder it was built in' bash -c "! grep -rqF '$OLDPWD' '$installed/lib/pkgconfig' '$installed/include'"

holds_total
