/* SPDX-License-Identifier: MIT */
/* A program in C++ with two tasks that nothing orders: `ptosim check` names the lines of the submits. */
#include <pto/pto.hpp>

static int prepare(pto_program_run *run) {
  const std::uint64_t n = 8;
  pto_program_array(run, "x", PTO_ARRAY_INPUT, PTO_FLOAT32, 1, &n);
  pto_program_array(run, "y", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 1, &n);
  pto_program_array(run, "z", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 1, &n);
  return PTO_OK;
}

static const pto::tensor array(pto::run run, pto_program_run &of, const char *name) {
  return pto_array_tensor(run.get(), pto_program_find(&of, name));
}
__attribute__((noinline)) static void submit(pto::run run, const pto::tensor &from, const pto::tensor &to) {
  run.submit_aiv(*pto_kernel_find("add"), pto::input(from), pto::input(from), pto::output(to)); /* second */
}
static void submit_both(pto::run run, pto_program_run &of) {
  const pto::tensor x = array(run, of, "x"), y = array(run, of, "y"), z = array(run, of, "z");
  pto::scope scope(run, PTO_SCOPE_MANUAL);
  run.submit_aiv(*pto_kernel_find("add"), pto::input(x), pto::input(x), pto::output(y)); /* first */
  submit(run, y, z);
}

extern const struct pto_program pto_program = {
    PTO_PROGRAM_ABI, "cpp_lines", "",     0, 0,    0, nullptr, nullptr, nullptr, prepare, pto::orchestrate<submit_both>,
    nullptr,         nullptr,     PTO_OK, 0, false};
