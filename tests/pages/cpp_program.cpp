/* SPDX-License-Identifier: MIT */
/*
 * What <pto/pto.hpp> promises, asked of the library: prints what is not so, and leaves with 1 if anything was.  It
 * includes the headers of adopted programs too: the names do not meet.
 */
#include <pto/pto-inst.hpp>
#include <pto_orchestration_api.h>

#include <pto/pto.hpp>

#include <array>
#include <cstdio>
#include <vector>

static int wrong;
static void expect(bool is_so, const char *what, int line) {
  if (is_so) return;
  std::printf("cpp_program.cpp:%d: not so: %s\n", line, what);
  wrong++;
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)

/* Whether `body` throws exactly E, with these words in the sentence. */
template <class E, class F> static bool throws(F &&body, const char *words) {
  try {
    body();
  } catch (const E &e) {
    if (std::strstr(e.what(), words)) return true;
    std::printf("%s\n", e.what());
  } catch (const std::exception &e) {
    std::printf("another exception: %s\n", e.what());
  }
  return false;
}
template <int Status> using is = pto::error_of<Status>;

/* ---- kernels ---- */

static void twice(const pto_kernel_args &args) {
  pto::elements<float> x(args, 0);
  if (args.scalars[0].f32 == 13) throw std::runtime_error("13 is not a factor");
  for (std::uint64_t i = 0; i < x.extent(0); i++) x(i) *= args.scalars[0].f32;
}
static const pto_kernel_param twice_params[] = {{"x", PTO_INOUT, 0, 1, 1, 0},
                                                {"factor", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_F32}};
static const pto_kernel scale_kernel = {"scale_by", PTO_AIV, 0,      twice_params, 2, pto::kernel_run<twice>,
                                        nullptr,    nullptr, nullptr};

/* ---- a runtime ---- */

static void test_submits_and_refusals(pto::runtime &runtime) {
  const pto::kernel<pto::inout, float> scale(scale_kernel);
  const pto::kernel<pto::input, pto::input, pto::output> add("add");
  std::vector<float> x{1, 2, 3, 4};
  std::array<float, 4> y{};
  runtime.run([&](pto::run run) {
    const pto::tensor from = run.external(x), to = run.external(y);
    run.submit_aiv(scale, pto::inout(from.slice(0, 0, 2)), 2.0f);
    try {
      run.submit_aiv(add.get(), pto::input(from), pto::output(to));
      EXPECT(!"refused");
    } catch (const is<PTO_EINVAL> &e) {
      EXPECT(std::strcmp(e.what(), run.last_error()) == 0 && e.status() == PTO_EINVAL && *e.what());
    }
    run.submit_aiv(add, pto::input(from), pto::input(from.view({0}, {4})), pto::output(to));
    EXPECT(run.read<float>(to, {1}) == 8);
    EXPECT(throws<is<PTO_EINVAL>>([&] { (void)run.read<int>(to, {1}); }, "another dtype"));
    EXPECT(throws<is<PTO_EINVAL>>([&] { (void)from.view({0, 0}, {1, 1}); }, "2 sizes for a tensor of rank 1"));
    run.write(to, {0}, 5.0f);
  });
  EXPECT(y[0] == 5 && y[3] == 8 && runtime.stats().tasks == 2 && runtime.stats().edges == 1);
  EXPECT(throws<is<PTO_EINVAL>>([] { pto::kernel<pto::input, pto::output>{"add"}; }, "add takes 3 parameters"));
  EXPECT(throws<is<PTO_EINVAL>>([] { pto::kernel<pto::inout, int>{scale_kernel}; }, "param 1 has another"));
  EXPECT(throws<is<PTO_EINVAL>>([] { pto::kernel<>{"nothing"}; }, "no kernel nothing"));
}

static void test_exceptions_end_the_run(pto::runtime &runtime) {
  struct mine {
    int number;
  };
  const pto::kernel<pto::inout, float> scale(scale_kernel);
  float x[4] = {};
  pto::tensor kept;
  try {
    runtime.run([&](pto::run) { throw mine{7}; });
    EXPECT(!"thrown");
  } catch (const mine &m) {
    EXPECT(m.number == 7);
  }
  EXPECT(throws<std::length_error>([&] { runtime.run([](pto::run) { throw std::length_error("long"); }); }, "long"));
  EXPECT(throws<is<PTO_EKERNEL>>(
      [&] { runtime.run([&](pto::run run) { run.submit_aiv(scale, pto::inout(run.external(x)), 13.0f); }); },
      "13 is not a factor"));
  runtime.run([&](pto::run run) {
    {
      pto::scope scope(run);
      kept = run.managed<float>({4});
      run.alloc({kept});
    }
    EXPECT(throws<is<PTO_ESTALE>>([&] { run.submit_aiv(scale, pto::inout(kept), 2.0f); }, "scale_by"));
  });
  EXPECT(throws<is<PTO_EINVAL>>(
      [&] { runtime.run([&](pto::run run) {
              run.submit_aiv(scale, pto::inout(run.managed<float>({4, 4})), 2.0f);
            }); },
      "rank"));
  pto::config config;
  config.chip = "none";
  EXPECT(throws<is<PTO_ESYSTEM>>([&] { pto::runtime none(config); }, "chip 'none'"));
}

static void test_scopes_launches_recordings(pto::runtime &runtime) {
  const pto::kernel<pto::inout, float> scale(scale_kernel);
  float x[4] = {1, 1, 1, 1};
  pto::launch how;
  how.aiv0 = &scale.get();
  runtime.run([&](pto::run run) {
    const pto::tensor whole = run.external(x);
    pto::scope scope(run, PTO_SCOPE_MANUAL, "by hand");
    const pto::task first = run.submit(how, pto::inout(whole), 2.0f);
    std::vector<pto::task> tasks{first, run.submit(pto::launch(how).set_after(first), pto::inout(whole), 3.0f)};
    run.submit(pto::launch(how).set_after(tasks), pto::inout(whole), 1.0f);
    run.barrier(tasks);
  });
  EXPECT(x[0] == 6 && runtime.stats().edges == 5);
  runtime.run([&](pto::run run) {
    const pto::tensor whole = run.external(x);
    EXPECT(throws<std::logic_error>(
        [&] { (void)run.record([&] { throw std::logic_error("stop"); }, pto::inout(whole)); }, "stop"));
    const pto::recorded doubled =
        run.record([&] { run.submit_aiv(scale, pto::inout(whole), 2.0f); }, pto::inout(whole));
    for (int i = 0; i < 2; i++) run.submit(doubled, pto::inout(whole));
  });
  EXPECT(x[0] == 24);
}

/* ---- a device ---- */

static void sum_of(pto::run run, const pto_bound &bound) {
  const pto::kernel<pto::input, pto::input, pto::output> add("add");
  run.submit_aiv(add, pto::input(bound.inputs[0]), pto::input(bound.inputs[0]), pto::output(bound.outputs[0]));
}
static void fails(pto::run, const pto_bound &) { throw std::runtime_error("it does not want to"); }

static void test_contexts_and_graphs() {
  pto::context_options options;
  options.runtime.chip = "tiny";
  options.runtime.engine = "virtual";
  pto::context context(options);
  pto_operand x{"x", PTO_FLOAT32, 1, {4}}, y{"y", PTO_FLOAT32, 1, {4}};
  pto_device_program program{};
  program.name = "sum";
  program.inputs = &x, program.outputs = &y, program.input_count = program.output_count = 1;
  program.orchestrate = pto::orchestrate<sum_of>;
  {
    pto::device_tensor a = context.create<float>({4}),
                       b = context.create(PTO_FLOAT32, {4}, PTO_TENSOR_READABLE, "sums"), moved = std::move(a);
    std::vector<float> values{1, 2, 3, 4};
    moved.write(values);
    context.dispatch(program, {{"x", moved}}, {{"y", b}});
    b.read(values);
    EXPECT(values[3] == 8 && a.get().id == 0 && b.size_bytes() == 16);
    EXPECT(throws<is<PTO_EINVAL>>([&] { b.read(std::array<float, 3>()); }, "12 bytes given, tensor 2 (sums) has 16"));
    EXPECT(throws<is<PTO_EINVAL>>([&] { context.dispatch(program, {{"z", moved}}, {{"y", b}}); }, "z"));
    program.orchestrate = pto::orchestrate<fails>;
    context.dispatch(program, {{"x", moved}}, {{"y", b}});
    EXPECT(throws<is<PTO_EUSER>>([&] { context.sync(); }, "it does not want to"));
    context.clear_error();

    pto::graph_builder builder(&context);
    const pto_graph_desc shape{PTO_FLOAT32, 1, {4}};
    const auto in = builder.input("x", shape);
    const auto two = builder.constant<float>(shape, {1, 1, 2, 2});
    const pto::graph graph = builder.build({{"y", builder.call(pto_graph_builder_mul, in, two)}});
    moved.write(std::array<float, 4>{1, 2, 3, 4});
    graph.dispatch(context, {{"x", moved}}, {{"y", b}});
    b.read(values);
    EXPECT(values[0] == 1 && values[3] == 8);
    pto::graph_builder opens;
    const auto any = opens.input("x", {PTO_FLOAT32, 1, {9}});
    opens.set_size(any, 0, "count");
    EXPECT(throws<is<PTO_EINVAL>>([&] { opens.set_size(any, 1, "count"); }, "has 1 dimensions, and none is 1"));
    pto_graph_builder_clear_error(opens.get());
    const pto::graph open = opens.build({{"y", opens.call(pto_graph_builder_add, any, any)}});
    open.dispatch(context, {{"x", moved}}, {{"y", b}});
    b.read(values);
    EXPECT(values[0] == 2 && values[3] == 8);
    EXPECT(pto_graph_input(open.bind({{"count", 4}}).get(), 0)->shape[0] == 4);
    EXPECT(throws<is<PTO_EINVAL>>([&] { (void)open.bind({{"count", 10}}); }, "size \"count\" is 10, not 1 to 9"));
    pto::graph_builder refuses;
    const auto left = refuses.input("x", {PTO_FLOAT32, 2, {2, 3}});
    EXPECT(throws<is<PTO_EINVAL>>([&] { refuses.call(pto_graph_builder_matmul, left, left); }, "inner sizes 3 and 2"));
  }
  context.sync();
  EXPECT(context.counters().live_bytes == 0);
  EXPECT(throws<is<PTO_ESYSTEM>>([] { (void)pto::graph::load("no/such/file.json"); }, "no/such/file.json"));
}

/* ---- a world ---- */

static pto::world_config of_ranks(std::uint32_t ranks) {
  pto::world_config how;
  how.ranks = ranks;
  return how;
}
template <class F> static void run_on(pto::rank rank, F &&orchestration) {
  pto::config config;
  config.engine = "virtual";
  config.rank = rank.get();
  pto::runtime(config).run(orchestration);
}

static void test_worlds_and_collectives() {
  const pto::kernel<pto::inout, float> scale(scale_kernel);
  pto::world world(of_ranks(2)), kept = std::move(world);
  EXPECT(!world.get() && kept.rank(1).index() == 1 && kept.rank(0).count() == 2);
  kept.run([&](pto::rank rank) {
    const float mine = static_cast<float>(rank.index() + 1);
    float x[2] = {mine, 10 * mine}, sum[2], part[1], all[4], first[2], swapped[2];
    run_on(rank, [&](pto::run run) {
      const pto::tensor in = run.external(x), window_in = run.external(sum);
      const pto::comm comm = pto::comm::for_collectives(run, 64), windows(run, 64, 1);
      EXPECT(comm.place() == rank.index() && comm.size() == 2 && windows.id() == 1);
      comm.all_reduce(in, window_in);
      comm.reduce_scatter(in, run.external(part), PTO_REDUCE_MAXIMUM);
      comm.all_gather(in, run.external(all));
      comm.broadcast(in, run.external(first), 1);
      comm.all_to_all(in, run.external(swapped));
      run.barrier({comm.barrier()});
      pto::launch how;
      how.aiv0 = &scale.get();
      const pto::tensor own = windows.window<float>({2});
      run.write(own, {1}, mine);
      windows.submit(how, pto::inout(own), 3.0f);
      EXPECT(run.read<float>(own, {1}) == 3 * mine);
      EXPECT(windows.peer<float>(1 - rank.index(), {2}).is_valid() && !windows.peer<float>(2, {2}).is_valid());
      EXPECT(throws<is<PTO_EINVAL>>([&] { comm.broadcast(in, in, 2); }, "2"));
      EXPECT(throws<is<PTO_EINVAL>>([&] { pto::comm(run, 64, 1, {rank.index(), 7u}); }, "7"));
    });
    EXPECT(sum[0] == 3 && sum[1] == 30 && part[0] == (rank.index() ? 20 : 2) && all[1] == 10 && all[2] == 2);
    EXPECT(first[1] == 20 && swapped[0] == (rank.index() ? 10 : 1) && swapped[1] == (rank.index() ? 20 : 2));
    EXPECT(rank.clock_ps() > 0);
  });
}

/* Rank 0 waits for the one that has thrown: what is told is what that has thrown. */
static void test_exceptions_of_ranks_end_the_world() {
  const auto late = [](pto::rank rank) {
    try {
      if (rank.index()) throw std::length_error("too long");
      run_on(rank, [](pto::run run) { pto::comm(run, 64, 1); });
    } catch (const pto::error &) {
      run_on(rank, [](pto::run) {}); /* while an exception is being caught */
      throw;
    }
  };
  EXPECT(throws<std::length_error>([&] { pto::world(of_ranks(2)).run(late); }, "too long"));
  EXPECT(throws<is<PTO_EUSER>>(
      [] {
        pto::world(of_ranks(2)).run([](pto::rank rank) {
          if (rank.index()) pto::throw_status(PTO_EUSER, "not today");
        });
      },
      "rank 1: not today"));
  EXPECT(throws<is<PTO_EINVAL>>([] { pto::world none(of_ranks(99)); }, "99"));
}

int main() try {
  pto::runtime runtime;
  test_submits_and_refusals(runtime);
  test_exceptions_end_the_run(runtime);
  test_scopes_launches_recordings(runtime);
  test_contexts_and_graphs();
  test_worlds_and_collectives();
  test_exceptions_of_ranks_end_the_world();
  return wrong != 0;
} catch (const std::exception &e) {
  std::printf("thrown: %s\n", e.what());
  return 1;
}
