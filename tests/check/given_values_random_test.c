/* SPDX-License-Identifier: MIT */
/*
 * What a run without kernels reads is what was written last, of random orchestrations: buffers of scopes, whose memory
 * comes again, and an array, of which tasks write ranges and the orchestration elements, and which it reads now and
 * then. A file gives what each task writes.  The oracle is a copy of the memory that each write goes to at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <pto/tools.h>
#include <runtime/base/base.h>

#define ELEMS 24u
#define SCOPES 12u
#define STEPS 40u
#define ORCHESTRATIONS 12u

static uint64_t seed, reads;
static uint32_t tasks;
static FILE *values; /* what the tasks of a first go write; NULL: the go that reads */

/* Of element `e` in memory, by the task that writes it. */
static int32_t written_by(uint32_t task, uint64_t e) { return (int32_t)(task * 100 + e + 1); }

static int no_kernel(const struct pto_kernel_args *args) { return PTO_EUSER; }
static const struct pto_kernel_param writes[] = {{.name = "out", .mode = PTO_OUTPUT}};
static const struct pto_kernel writer = {
    .name = "writer", .cores = PTO_AIV, .params = writes, .param_count = 1, .run = no_kernel};

static int write_range(struct pto_runtime *rt, const struct pto_tensor *t, int32_t *copy, uint64_t first,
                       uint64_t count) {
  const struct pto_tensor part = pto_tensor_view(t, &first, &count);
  const struct pto_param param = pto_output(&part);
  if (values) fprintf(values, "%s{\"task\":%u,\"param\":0,\"values\":[", tasks ? ",\n" : "", tasks);
  for (uint64_t e = 0; e < count; e++) {
    copy[first + e] = written_by(tasks, e);
    if (values) fprintf(values, "%s%d", e ? "," : "", (int)copy[first + e]);
  }
  if (values) fprintf(values, "]}");
  tasks++;
  return pto_submit_aiv(rt, &writer, &param, 1);
}

static int step(struct pto_runtime *rt, const struct pto_tensor *t, int32_t *copy, struct pto_rng *rng) {
  const uint64_t e = pto_rng_below(rng, ELEMS), what = pto_rng_below(rng, 8);
  int32_t value = -(int32_t)(1 + pto_rng_below(rng, 1000));
  if (what < 2) return write_range(rt, t, copy, e, 1 + pto_rng_below(rng, ELEMS - e));
  if (what == 2) {
    copy[e] = value;
    return pto_write_element(rt, t, &e, &value);
  }
  if (values) return PTO_OK;
  const int status = pto_read_element(rt, t, &e, &value);
  if (status == PTO_OK) assert_int_equal(value, copy[e]);
  reads++;
  return status;
}

/* A buffer of its own scope, whole at first, and the array in turns. */
static int use_buffer(struct pto_runtime *rt, const struct pto_tensor *array, int32_t *of_array, struct pto_rng *rng) {
  static const uint64_t shape[] = {ELEMS};
  int32_t copy[ELEMS];
  const struct pto_tensor t = pto_managed_tensor(rt, pto_create_buffer(rt, ELEMS * 4), PTO_INT32, 1, shape);
  int status = write_range(rt, &t, copy, 0, ELEMS);
  for (uint32_t i = 0; i < STEPS && !status; i++)
    status = pto_rng_below(rng, 3) ? step(rt, &t, copy, rng) : step(rt, array, of_array, rng);
  return status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_rng rng = {.state = seed};
  static const uint64_t shape[] = {ELEMS};
  int32_t of_array[ELEMS] = {0};
  const struct pto_tensor array = pto_external_tensor(rt, pto_program_find(run, "array")->data, PTO_INT32, 1, shape);
  int status = PTO_OK;
  tasks = 0;
  for (uint32_t s = 0; s < SCOPES && !status; s++) {
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (!status) status = use_buffer(rt, &array, of_array, &rng);
    if (!status) status = pto_scope_end(rt);
  }
  return status;
}

static int prepare(struct pto_program_run *run) {
  static const uint64_t shape[] = {ELEMS};
  return pto_program_array(run, "array", PTO_ARRAY_OUTPUT, PTO_INT32, 1, shape) ? PTO_OK : PTO_ENOMEM;
}

static void run(const char *path) {
  static const struct pto_program program = {
      .abi = PTO_PROGRAM_ABI, .name = "random", .prepare = prepare, .orchestrate = orchestrate};
  static const struct pto_config config = {
      .size = sizeof config, .engine = "virtual", .no_compute = true, .window = 64, .heap_bytes = 1024};
  const struct pto_session_options options = {
      .size = sizeof options, .made = &program, .config = &config, .values = path, .assume_zero = true};
  struct pto_session *session = NULL;
  char sentence[512];
  if (pto_session_open(&options, &session, sentence, sizeof sentence)) fail_msg("%s", sentence);
  if (pto_session_run(session)) fail_msg("seed %u: %s", (unsigned)seed, pto_session_error(session));
  pto_session_close(session);
}

static void test_what_was_written_last_is_read(void **state) {
  char path[] = "/tmp/pto_values_XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  for (seed = 1; seed <= ORCHESTRATIONS; seed++) {
    values = fopen(path, "w");
    assert_non_null(values);
    fputs("{\"format\":\"pto-values\",\"version\":1,\"values\":[", values);
    run(NULL);
    fputs("]}", values);
    fclose(values);
    values = NULL;
    run(path);
  }
  unlink(path);
  assert_true(reads > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_was_written_last_is_read)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
