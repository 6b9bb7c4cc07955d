/* SPDX-License-Identifier: MIT */
/*
 * A program that drives contexts of its own, in which memory is read by one dispatch and written by a later one: what
 * orders the two is a sync, or that they are of two contexts.  Rules pto order no write behind a read: without the sync
 * (`sync=false`) there is a mistake.  For tests/cli/check_test.c.  And, with `touch`, kernels that touch what they do
 * not declare, for tests/cli/observe_test.c, or do not come back; with `both`, contexts that live at the same time, for
 * tests/cli/run_test.c.  And, with `output`, what the first dispatch copied is read back, for tests/cli/explore_test.c:
 * ones, or zeros where the mistake shows.
 *
 * And, with `mistake=NAME`, mistakes in the calls on a context, for tests/device/context_findings_test.c; each is one
 * line that asks `bug`, which is false of the clean twin.
 */
#include <pto/graph.h>
#include <pto/pto.h>

#include <string.h>
#include <time.h>

#define NUMEL 16u

static int copy_run(const struct pto_kernel_args *a) {
  memcpy(a->tensors[1].addr, a->tensors[0].addr, NUMEL * sizeof(float));
  return 0;
}

static int copy_part_run(const struct pto_kernel_args *a) {
  memcpy(a->tensors[1].addr, a->tensors[0].addr, a->tensors[1].shape[0] * sizeof(float));
  return 0;
}

/* One element behind the end of either tensor, and one that is left out. */
static int write_beyond_run(const struct pto_kernel_args *a) {
  memcpy(a->tensors[1].addr, a->tensors[0].addr, NUMEL * sizeof(float));
  ((float *)a->tensors[1].addr)[NUMEL] = 1.5f;
  return 0;
}
static int read_beyond_run(const struct pto_kernel_args *a) {
  float *z = a->tensors[1].addr;
  memcpy(z, a->tensors[0].addr, NUMEL * sizeof *z);
  z[0] += ((const float *)a->tensors[0].addr)[NUMEL];
  return 0;
}
static int leave_out_run(const struct pto_kernel_args *a) {
  memcpy(a->tensors[1].addr, a->tensors[0].addr, (NUMEL - 1) * sizeof(float));
  return 0;
}

/* Gives up after half a minute. */
static int sleep_run(const struct pto_kernel_args *a) {
  (void)a;
  for (int i = 0; i < 3000; i++) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  return 0;
}

#define F32(parameter, way)                                                                                            \
  { .name = parameter, .mode = way, .dtypes = PTO_DTYPE_BIT(PTO_FLOAT32) }
static const struct pto_kernel_param of_copy[] = {F32("x", PTO_INPUT), F32("z", PTO_OUTPUT)};
#define COPY(function)                                                                                                 \
  { .name = "copy", .cores = PTO_AIV, .params = of_copy, .param_count = 2, .run = function }
static const struct pto_kernel copies[] = {COPY(copy_run), COPY(write_beyond_run), COPY(read_beyond_run),
                                           COPY(leave_out_run), COPY(sleep_run)};

static const struct pto_kernel copy_part = COPY(copy_part_run);

static int submit_copy(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct pto_param params[] = {pto_input(&bound->inputs[0]), pto_output(&bound->outputs[0])};
  return pto_submit_aiv(rt, bound->context, params, 2);
}

struct pass {
  struct pto_program_run *run;
  struct pto_context *context;
  struct pto_device_tensor tensors[3]; /* of 0 and 2, the first is ones and the second zeros */
  struct pto_device_program program;
};

/* The program is the same for every dispatch: each borrows it until it is done. */
static struct pto_device_program copy_program(struct pto_program_run *run) {
  static const struct pto_operand x = {.name = "x", .dtype = PTO_FLOAT32, .ndims = 1, .shape = {NUMEL}},
                                  z = {.name = "z", .dtype = PTO_FLOAT32, .ndims = 1, .shape = {NUMEL}};
  return (struct pto_device_program){.name = "copy",
                                     .inputs = &x,
                                     .outputs = &z,
                                     .input_count = 1,
                                     .output_count = 1,
                                     .orchestrate = submit_copy,
                                     .context = (void *)(uintptr_t)&copies[pto_option_int(run, "touch")]};
}

static int dispatch_program(struct pass *pass, const struct pto_device_program *program, struct pto_device_tensor from,
                            struct pto_device_tensor to) {
  const struct pto_binding in = {"x", from}, out = {"z", to};
  const struct pto_dispatch_bindings bindings = {.inputs = &in, .outputs = &out, .input_count = 1, .output_count = 1};
  return pto_context_dispatch(pass->context, program, &bindings);
}
static int dispatch(struct pass *pass, struct pto_device_tensor from, struct pto_device_tensor to) {
  return dispatch_program(pass, &pass->program, from, to);
}

static int create_tensors(struct pass *pass) {
  static const char *const labels[] = {"rewritten", NULL, NULL};
  struct pto_device_tensor_desc desc = {
      .dtype = PTO_FLOAT32, .ndims = 1, .shape = {NUMEL}, .flags = PTO_TENSOR_READABLE | PTO_TENSOR_WRITABLE};
  float ones[NUMEL];
  for (uint32_t i = 0; i < NUMEL; i++) ones[i] = 1;
  int status = PTO_OK;
  for (int i = 0; i < 3 && !status; i++) {
    desc.label = labels[i];
    status = pto_device_tensor_create(pass->context, &desc, &pass->tensors[i]);
  }
  if (status || !pto_option_bool(pass->run, "output")) return status;
  return pto_device_tensor_write(pass->context, pass->tensors[0], ones, sizeof ones);
}

static int open_pass(struct pass *pass, struct pto_program_run *run) {
  const struct pto_context_options options = {.size = sizeof options, .runtime = *pto_program_config(run)};
  char sentence[256];
  *pass = (struct pass){.run = run, .program = copy_program(run)};
  const int status = pto_context_create(&options, &pass->context, sentence, sizeof sentence);
  return status ? pto_program_fail(run, "%s", sentence) : create_tensors(pass);
}

static void close_pass(struct pass *pass) {
  if (!pass->context) return;
  if (pto_option_bool(pass->run, "report")) pto_program_report(pass->run, pass->context);
  pto_context_destroy(pass->context);
}

/* The tensors again, at the same addresses. */
static int recreate_tensors(struct pass *pass) {
  for (int i = 0; i < 3; i++) (void)pto_device_tensor_destroy(pass->context, pass->tensors[i]);
  const int status = pto_context_sync(pass->context); /* of the destruction, not of what was read before */
  return status ? status : create_tensors(pass);
}

/* Two contexts at a time, of which the one that began later is reported first. */
static int drive_both(struct pto_program_run *run) {
  struct pass first, second = {.run = run};
  int status = open_pass(&first, run);
  if (!status) status = dispatch(&first, first.tensors[0], first.tensors[1]);
  if (!status) status = pto_context_sync(first.context);
  if (!status) status = open_pass(&second, run);
  if (!status) status = dispatch(&second, second.tensors[0], second.tensors[1]);
  if (!status) status = pto_context_sync(second.context);
  close_pass(&second);
  close_pass(&first);
  return status;
}

/* With `output`: a tensor into the array of the program. */
static int read_back(struct pass *pass, int tensor) {
  if (!pto_option_bool(pass->run, "output")) return PTO_OK;
  float *seen = pto_program_find(pass->run, "seen")->data;
  return pto_device_tensor_read(pass->context, pass->tensors[tensor], seen, NUMEL * sizeof *seen);
}

/* What a sync ended, and then the mistake with the host as the one that writes. */
static int drive_host_write(struct pass *pass) {
  static const float zeros[NUMEL];
  int status = dispatch(pass, pass->tensors[2], pass->tensors[1]);
  if (!status) status = pto_context_sync(pass->context);
  if (!status) status = dispatch(pass, pass->tensors[0], pass->tensors[1]);
  if (!status) status = pto_device_tensor_write(pass->context, pass->tensors[0], zeros, sizeof zeros);
  if (!status) status = pto_context_sync(pass->context);
  if (!status) status = read_back(pass, 1);
  close_pass(pass);
  return status;
}

/* ---- mistakes in the calls on a context ---- */

/* What the status of each call is asked for, but that of the one with the mistake. */
static int refused_dispatch(struct pass *pass, bool is_buggy) {
  if (is_buggy) (void)pto_device_tensor_destroy(pass->context, pass->tensors[0]);
  const int ignored = dispatch(pass, pass->tensors[0], pass->tensors[1]);
  return ignored ? PTO_OK : pto_context_sync(pass->context);
}
/* Three times, of a tensor to itself. */
static int refused_often(struct pass *pass, bool is_buggy) {
  int ignored = PTO_OK;
  for (int i = 0; i < 3; i++)
    ignored = pto_device_tensor_copy(pass->context, pass->tensors[0], pass->tensors[is_buggy ? 0 : 1 + i % 2]);
  return ignored ? PTO_OK : pto_context_sync(pass->context);
}
/* The program ends with what it is told. */
static int told_dispatch(struct pass *pass, bool is_buggy) {
  if (is_buggy) (void)pto_device_tensor_destroy(pass->context, pass->tensors[0]);
  int status = dispatch(pass, pass->tensors[0], pass->tensors[1]);
  if (!status) status = pto_context_sync(pass->context);
  return status ? pto_program_fail_as(pass->run, status, "%s", pto_context_error(pass->context)) : PTO_OK;
}
static int refused_write(struct pass *pass, bool is_buggy) {
  static const float values[NUMEL];
  const int ignored = pto_device_tensor_write(pass->context, pass->tensors[0], values, sizeof values - is_buggy);
  return ignored ? PTO_OK : dispatch(pass, pass->tensors[0], pass->tensors[1]);
}
static int refused_copy(struct pass *pass, bool is_buggy) {
  const int ignored = pto_device_tensor_copy(pass->context, pass->tensors[0], pass->tensors[!is_buggy]);
  return ignored ? PTO_OK : pto_context_sync(pass->context);
}
static int refused_call(struct pass *pass, bool is_buggy) {
  float from[NUMEL] = {0}, to[NUMEL];
  const struct pto_host_array x = {"x", from, sizeof from}, z = {is_buggy ? "y" : "z", to, sizeof to};
  const struct pto_compute_arrays arrays = {&x, &z, 1, 1};
  const int ignored = pto_context_compute(pass->context, &pass->program, &arrays);
  return ignored ? PTO_OK : pto_context_sync(pass->context);
}

/* A number that changes with each dispatch of a program that says that it repeats: the mistake is that it is a scalar
 * (or chooses the kernel, or how many tasks there are), and no program of its own for each number. */
enum { CHANGES_SCALAR, CHANGES_KERNEL, CHANGES_TASKS };
struct changing {
  int what;
  uint64_t number;
};
static int fill_run(const struct pto_kernel_args *a) {
  for (uint32_t i = 0; i < NUMEL; i++) ((float *)a->tensors[0].addr)[i] = (float)a->scalars[0].u64;
  return 0;
}
static const struct pto_kernel_param of_fill[] = {F32("z", PTO_OUTPUT),
                                                  {.name = "value", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64}};
#define FILL(called)                                                                                                   \
  { .name = called, .cores = PTO_AIV, .params = of_fill, .param_count = 2, .run = fill_run }
static const struct pto_kernel fills[] = {FILL("fill"), FILL("refill")};
static int submit_changing(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct changing *c = bound->context;
  const struct pto_kernel *kernel = &fills[c->what == CHANGES_KERNEL && c->number];
  const struct pto_param params[] = {pto_output(&bound->outputs[0]),
                                     pto_scalar_u64(c->what == CHANGES_SCALAR ? c->number : 0)};
  int status = PTO_OK;
  for (uint64_t i = 0; i <= (c->what == CHANGES_TASKS ? c->number : 0) && !status; i++)
    status = pto_submit_aiv(rt, kernel, params, 2);
  return status;
}
static int dispatch_changing(struct pass *pass, int what, bool is_buggy) {
  struct changing numbers[2] = {{what, 0}, {what, 1}};
  struct pto_device_program programs[2];
  int status = PTO_OK;
  for (int i = 0; i < 2 && !status; i++) {
    if (is_buggy) numbers[0].number = (uint64_t)i;
    programs[i] = pass->program;
    programs[i].input_count = 0;
    programs[i].orchestrate = submit_changing;
    programs[i].repeats = 1;
    programs[i].context = &numbers[is_buggy ? 0 : i];
    const struct pto_binding out = {"z", pass->tensors[1]};
    const struct pto_dispatch_bindings bindings = {.outputs = &out, .output_count = 1};
    status = pto_context_dispatch(pass->context, &programs[i], &bindings);
    if (!status) status = pto_context_sync(pass->context);
  }
  return status;
}
static int repeats_scalar(struct pass *pass, bool is_buggy) {
  return dispatch_changing(pass, CHANGES_SCALAR, is_buggy);
}
static int repeats_kernel(struct pass *pass, bool is_buggy) {
  return dispatch_changing(pass, CHANGES_KERNEL, is_buggy);
}
static int repeats_tasks(struct pass *pass, bool is_buggy) { return dispatch_changing(pass, CHANGES_TASKS, is_buggy); }

/* Under rules pto: the input of a graph is written again, or its output computed again for who reads it on the way,
 * while tasks that are on their way use it. */
static int with_graph(struct pass *pass, int (*drive)(struct pass *, struct pto_graph *, bool), bool is_buggy) {
  const struct pto_graph_desc desc = {PTO_FLOAT32, 1, {NUMEL}};
  struct pto_graph_builder *builder = NULL;
  struct pto_graph *graph = NULL;
  int status = pto_graph_builder_create(pass->context, &builder);
  if (status) return status;
  const struct pto_graph_output z = {
      "z", pto_graph_builder_relu(builder, pto_graph_builder_input(builder, "x", &desc), NULL)};
  status = pto_graph_builder_build(builder, &z, 1, &graph);
  pto_graph_builder_destroy(builder);
  if (!status) status = drive(pass, graph, is_buggy);
  if (graph) pto_graph_destroy(graph);
  return status;
}
static int dispatch_graph(struct pass *pass, struct pto_graph *graph, int from, int to) {
  const struct pto_binding in = {"x", pass->tensors[from]}, out = {"z", pass->tensors[to]};
  const struct pto_dispatch_bindings bindings = {.inputs = &in, .outputs = &out, .input_count = 1, .output_count = 1};
  return pto_graph_dispatch(graph, pass->context, &bindings);
}
static int drive_graph_write(struct pass *pass, struct pto_graph *graph, bool is_buggy) {
  static const float zeros[NUMEL];
  int status = dispatch_graph(pass, graph, 0, 1);
  if (!status && !is_buggy) status = pto_context_sync(pass->context);
  if (!status) status = pto_device_tensor_write(pass->context, pass->tensors[0], zeros, sizeof zeros);
  return status ? status : pto_context_sync(pass->context);
}
static int graph_write(struct pass *pass, bool is_buggy) { return with_graph(pass, drive_graph_write, is_buggy); }
static int drive_graph_twice(struct pass *pass, struct pto_graph *graph, bool is_buggy) {
  int status = dispatch_graph(pass, graph, 0, 1);
  if (!status) status = dispatch_graph(pass, graph, 1, 2);
  if (!status && !is_buggy) status = pto_context_sync(pass->context);
  if (!status) status = dispatch_graph(pass, graph, 0, 1);
  return status ? status : pto_context_sync(pass->context);
}
static int graph_twice(struct pass *pass, bool is_buggy) { return with_graph(pass, drive_graph_twice, is_buggy); }

/* What is uploaded comes behind the dispatch that is to read it. */
static int read_early(struct pass *pass, bool is_buggy) {
  static const float zeros[NUMEL];
  struct pto_device_tensor from = pass->tensors[2]; /* which nothing has written */
  int status = is_buggy ? PTO_OK : pto_device_tensor_write(pass->context, from, zeros, sizeof zeros);
  if (!status) status = dispatch(pass, from, pass->tensors[1]);
  if (!status && is_buggy) status = pto_device_tensor_write(pass->context, from, zeros, sizeof zeros);
  if (!status) status = dispatch(pass, pass->tensors[0], from); /* a state that begins as zeros is no mistake */
  if (!status) status = dispatch(pass, pass->tensors[1], pass->tensors[0]); /* nor is one that a dispatch has written */
  if (!status) status = pto_device_tensor_write(pass->context, pass->tensors[1], zeros, sizeof zeros);
  return status ? status : pto_context_sync(pass->context);
}

/* What the dispatch leaves is read back before it. */
static int read_back_early(struct pass *pass, bool is_buggy) {
  float seen[NUMEL];
  int status = is_buggy ? PTO_OK : dispatch(pass, pass->tensors[0], pass->tensors[1]);
  if (!status) status = pto_device_tensor_read(pass->context, pass->tensors[1], seen, sizeof seen);
  return status || !is_buggy ? status : dispatch(pass, pass->tensors[0], pass->tensors[1]);
}

/* The host reads all of an output, of which a dispatch writes three quarters; its twin has another for the rest.  A
 * tensor that a task reads and fills bit by bit is a state that begins as zeros, and no mistake. */
static int submit_quarters(struct pto_runtime *rt, const struct pto_bound *bound) {
  const uint64_t quarter = NUMEL / 4;
  int status = PTO_OK;
  for (uint64_t i = 0; i < (uintptr_t)bound->context && !status; i++) {
    const struct pto_tensor x = pto_tensor_slice(&bound->inputs[0], 0, i * quarter, (i + 1) * quarter, 1),
                            z = pto_tensor_slice(&bound->outputs[0], 0, i * quarter, (i + 1) * quarter, 1);
    const struct pto_param params[] = {pto_input(&x), pto_output(&z)};
    status = pto_submit_aiv(rt, &copy_part, params, 2);
  }
  return status;
}
static int partly_written(struct pass *pass, bool is_buggy) {
  struct pto_device_program most = pass->program, first = pass->program;
  float seen[NUMEL];
  most.orchestrate = first.orchestrate = submit_quarters;
  most.context = (void *)(uintptr_t)(is_buggy ? 3 : 4);
  first.context = (void *)(uintptr_t)1;
  int status = dispatch_program(pass, &most, pass->tensors[0], pass->tensors[1]);
  if (!status) status = dispatch_program(pass, &first, pass->tensors[0], pass->tensors[2]);
  if (!status) status = dispatch_program(pass, &first, pass->tensors[2], pass->tensors[0]);
  for (int i = 0; i < 3 && !status; i++)
    status = pto_device_tensor_read(pass->context, pass->tensors[i], seen, sizeof seen);
  return status;
}

/* What a queued dispatch borrows is changed for the next one: what `context` points to, or the program. */
static int borrow(struct pass *pass, bool is_program_shared, bool is_context_shared) {
  struct changing numbers[2];
  struct pto_device_program programs[2];
  int status = PTO_OK;
  for (int i = 0; i < 2 && !status; i++) {
    struct pto_device_program *program = &programs[is_program_shared ? 0 : i];
    struct changing *number = &numbers[is_context_shared ? 0 : i];
    *number = (struct changing){CHANGES_SCALAR, (uint64_t)i + 1};
    *program = pass->program;
    program->input_count = 0;
    program->orchestrate = submit_changing;
    program->context = number;
    const struct pto_binding out = {"z", pass->tensors[1 + i]};
    const struct pto_dispatch_bindings bindings = {.outputs = &out, .output_count = 1};
    status = pto_context_dispatch(pass->context, program, &bindings);
  }
  return status ? status : read_back(pass, 1);
}
static int borrowed_context(struct pass *pass, bool is_buggy) { return borrow(pass, false, is_buggy); }
static int borrowed_program(struct pass *pass, bool is_buggy) { return borrow(pass, is_buggy, false); }

/* A kernel fails, and the program goes on without a look at the status that says so; its twin forgets the failure and
 * dispatches what does not fail. */
static int fail_run(const struct pto_kernel_args *a) { return pto_kernel_error(a, "planted"); }
static const struct pto_kernel failing = COPY(fail_run);
static int failed_dispatch(struct pass *pass, bool is_buggy) {
  const struct pto_device_program good = pass->program;
  pass->program.context = (void *)(uintptr_t)&failing;
  int status = dispatch(pass, pass->tensors[0], pass->tensors[1]);
  if (status) return status;
  status = pto_context_sync(pass->context);
  if (is_buggy || !status) return PTO_OK;
  status = pto_context_clear_error(pass->context);
  pass->program = good;
  return status ? status : dispatch(pass, pass->tensors[0], pass->tensors[1]);
}

/* The orchestration of a dispatch registers a local array; its twin has waited for the task before that is gone. */
static int submit_local(struct pto_runtime *rt, const struct pto_bound *bound) {
  static const uint64_t numel = NUMEL;
  float local[NUMEL] = {0}, seen;
  const struct pto_tensor x = pto_external_tensor(rt, local, PTO_FLOAT32, 1, &numel);
  const struct pto_param params[] = {pto_input(&x), pto_output(&bound->outputs[0])};
  const int status = pto_submit_aiv(rt, &copies[0], params, 2);
  if (status || bound->context) return status;
  return pto_read_element(rt, &bound->outputs[0], (const uint64_t[]){0}, &seen);
}
static int local_array(struct pass *pass, bool is_buggy) {
  struct pto_device_program program = pass->program;
  program.orchestrate = submit_local;
  program.context = is_buggy ? pass : NULL;
  const int status = dispatch_program(pass, &program, pass->tensors[0], pass->tensors[1]);
  return status ? status : pto_context_sync(pass->context);
}

static const struct mistake {
  const char *name;
  int (*drive)(struct pass *pass, bool is_buggy);
} mistakes[] = {{"refused_dispatch", refused_dispatch}, {"refused_write", refused_write},
                {"refused_copy", refused_copy},         {"refused_call", refused_call},
                {"refused_often", refused_often},       {"told_dispatch", told_dispatch},
                {"repeats_scalar", repeats_scalar},     {"repeats_kernel", repeats_kernel},
                {"repeats_tasks", repeats_tasks},       {"graph_write", graph_write},
                {"graph_twice", graph_twice},           {"read_early", read_early},
                {"read_back_early", read_back_early},   {"partly_written", partly_written},
                {"failed_dispatch", failed_dispatch},   {"borrowed_context", borrowed_context},
                {"borrowed_program", borrowed_program}, {"local_array", local_array}};

static int make_mistake(struct pto_program_run *run, const char *name) {
  struct pass pass;
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    if (strcmp(mistakes[i].name, name) != 0) continue;
    int status = open_pass(&pass, run);
    if (!status) status = mistakes[i].drive(&pass, pto_option_bool(run, "bug"));
    close_pass(&pass);
    return status;
  }
  return pto_program_fail(run, "there is no mistake \"%s\"", name);
}

/* Tensor 0 is read, and then written. */
static int host(struct pto_program_run *run) {
  struct pass pass;
  if (pto_option_text(run, "mistake")[0]) return make_mistake(run, pto_option_text(run, "mistake"));
  if (pto_option_bool(run, "both")) return drive_both(run);
  int status = open_pass(&pass, run);
  if (!status && pto_option_bool(run, "write")) return drive_host_write(&pass);
  if (!status) status = dispatch(&pass, pass.tensors[0], pass.tensors[1]);
  if (!status && pto_option_bool(run, "sync")) status = pto_context_sync(pass.context);
  if (!status && pto_option_bool(run, "peek")) status = read_back(&pass, 2); /* which no task touches */
  if (pto_option_bool(run, "contexts")) {
    if (!status) status = read_back(&pass, 1);
    close_pass(&pass);
    if (!status) status = open_pass(&pass, run);
  }
  if (!status && pto_option_bool(run, "recreate")) status = recreate_tensors(&pass);
  if (!status) status = dispatch(&pass, pass.tensors[2], pass.tensors[0]);
  if (!status) status = pto_context_sync(pass.context);
  if (!status && !pto_option_bool(run, "contexts") && !pto_option_bool(run, "recreate")) status = read_back(&pass, 1);
  close_pass(&pass);
  return status;
}

static int prepare(struct pto_program_run *run) {
  const uint64_t numel = NUMEL;
  if (pto_option_bool(run, "output")) pto_program_array(run, "seen", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 1, &numel);
  return PTO_OK;
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "planted_contexts",
    .summary = "memory that is read and then written by two dispatches",
    .options = (const struct pto_option[]){{"sync", PTO_OPTION_BOOL, "false", "sync between the dispatches"},
                                           {"contexts", PTO_OPTION_BOOL, "false", "each in a context of its own"},
                                           {"recreate", PTO_OPTION_BOOL, "false", "destroy the tensors in between"},
                                           {"both", PTO_OPTION_BOOL, "false", "two at a time, reported backwards"},
                                           {"output", PTO_OPTION_BOOL, "false", "read back what was copied"},
                                           {"peek", PTO_OPTION_BOOL, "false", "read what no task touches in between"},
                                           {"write", PTO_OPTION_BOOL, "false", "the host writes, behind a sync"},
                                           {"mistake", PTO_OPTION_TEXT, "", "a mistake in the calls on a context"},
                                           {"bug", PTO_OPTION_BOOL, "true", "false: the clean twin of that"},
                                           {"report", PTO_OPTION_BOOL, "true", "report the contexts"},
                                           {"touch", PTO_OPTION_INT, "0",
                                            "what kernels touch: 0 what they declare, 1 z beyond its end, 2 x beyond, "
                                            "3 not all of z; 4 nothing, for half a minute"},
                                           {0}},
    .prepare = prepare,
    .host = host,
};
