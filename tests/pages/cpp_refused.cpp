/* SPDX-License-Identifier: MIT */
/* Calls that do not compile, one for each sentence that cpp_test.sh looks for. */
#include <pto/pto.hpp>

void refused(pto::run run, const pto::tensor &x, const pto_kernel &any,
             const pto::kernel<pto::input, pto::output, float> &known) {
  run.submit_aiv(any, x);
  run.submit_aiv(any, pto::input(x), 1.0);
  run.submit_aiv(any, "x");
  run.submit_aiv(known, pto::input(x), pto::output(x));
  run.submit_aiv(known, pto::output(x), pto::output(x), 1.0f);
  run.submit_aiv(known, pto::input(x), pto::output(x), 1);
  (void)run.external(static_cast<double *>(nullptr), {1});
}
