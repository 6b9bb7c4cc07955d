/* SPDX-License-Identifier: MIT */
/* cpp_cost.c in C++. */
#include <pto/pto.hpp>

#include <cstdio>

static constexpr std::uint64_t rows = 64, columns = 16;
static constexpr int rounds = 5;

static float data[rows * columns];

__attribute__((noinline)) static void orchestrate(pto::run run,
                                                  const pto::kernel<pto::input, pto::input, pto::output> &add) {
  const pto::tensor whole = run.external(data, {rows, columns});
  for (int round = 0; round < rounds; round++) {
    pto::scope scope(run);
    for (std::uint64_t i = 2; i < rows; i++) {
      const pto::tensor a = whole.slice(0, i - 2, i - 1), b = whole.view({i - 1, 0}, {1, columns});
      const pto::tensor c = whole.slice(0, i, i + 1);
      if (i % 2) {
        run.submit_aiv(add, pto::input(a), pto::input(b), pto::output(c));
      } else {
        pto::launch launch;
        launch.aiv0 = &add.get();
        run.submit(launch, pto::input(a), pto::input(b), pto::output(c));
      }
    }
  }
}

int main() try {
  pto::config config;
  config.engine = "virtual";
  data[0] = data[columns] = 1e-20f;
  pto::runtime runtime(config);
  const pto::kernel<pto::input, pto::input, pto::output> add("add");
  runtime.run([&](pto::run run) { orchestrate(run, add); });
  std::printf("%g\n", data[(rows - 1) * columns]);
} catch (const pto::error &e) {
  return std::puts(e.what()), 1;
}
