/* SPDX-License-Identifier: MIT */
/* Contexts: counters, transfers, threads, the choice of a device, creation. */
#include <tests/support/context_fixture.h>

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <device/context_watch.h>
#include <runtime/base/reserve.h>
#include <runtime/base/thread.h>

/* ---- counters ---- */

static void test_counters_say_exactly_what_moved(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor a = host_tensor(), b = host_tensor();
    write4(a, 1, 1, 1, 1);
    for (int i = 0; i < 10; i++) dispatch1(&times_2, i % 2 ? b : a, i % 2 ? a : b);
    reads4(a, 1024, 1024, 1024, 1024);
    struct pto_context_counters all = counters();
    assert_int_equal(all.h2d_bytes, BYTES);
    assert_int_equal(all.h2d_calls, 1);
    assert_int_equal(all.d2h_bytes, BYTES);
    assert_int_equal(all.d2h_calls, 1);
    assert_int_equal(all.d2d_bytes, 0);
    assert_int_equal(all.bindings, 20);
    assert_int_equal(all.binding_copied_bytes, 0);
    assert_int_equal(all.dispatches, 10);
    assert_int_equal(all.tasks, 10);
    assert_in_range(all.window_high_water, 1, 10); /* no dispatch adds to it */
    assert_int_equal(all.allocations, 2);
    assert_int_equal(all.live_bytes, 1024);
    assert_int_equal(all.virtual_ps != 0, strcmp(backend->name, "npu-virtual") == 0);
  }
}

static void test_transfers_take_the_virtual_time_of_the_host_link(void **state) {
  const struct pto_device_tensor_desc large = {.dtype = PTO_UINT8, .ndims = 1, .shape = {260000}};
  static uint8_t bytes[260000];
  struct pto_device_tensor t;
  open_context(&backends[1]);
  assert_int_equal(pto_device_tensor_create_host(context, &large, &t), PTO_OK);
  assert_int_equal(pto_device_tensor_write(context, t, bytes, sizeof bytes), PTO_OK);
  assert_int_equal(pto_context_sync(context), PTO_OK);
  struct pto_context_counters all = counters();
  assert_true(all.transfer_ps > 0);
  assert_true(all.virtual_ps >= all.transfer_ps);
  assert_int_equal(pto_device_tensor_read(context, t, bytes, sizeof bytes), PTO_OK);
  assert_int_equal(counters().transfer_ps, 2 * all.transfer_ps);
  close_context();
}

static int key_n2(const struct pto_kernel_args *args, char *text, uint32_t size) { return snprintf(text, size, "n2"); }
static int key_n3(const struct pto_kernel_args *args, char *text, uint32_t size) { return snprintf(text, size, "n3"); }
static const struct pto_kernel of_n2 = {
    .name = "timed", .cores = PTO_AIV, .params = two, .param_count = 3, .run = scale_run, .key = key_n2};
static const struct pto_kernel of_n3 = {
    .name = "timed", .cores = PTO_AIV, .params = two, .param_count = 3, .run = scale_run, .key = key_n3};
static int submit_timed(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct pto_param params[] = {pto_input(&bound->inputs[0]), pto_output(&bound->outputs[0]), pto_scalar_f32(2)};
  return pto_submit_aiv(rt, bound->context, params, 3);
}

/* A chip file beside a table with a row for n2 and one for n4. */
static void write_chip(char *folder, char *path, size_t size) {
  char line[256];
  strcpy(folder, "/tmp/pto_context_XXXXXX");
  assert_non_null(mkdtemp(folder));
  snprintf(path, size, "%s/times.csv", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("kernel,core,key,count,mean_ps,p10_ps,p90_ps,active_cores,source,commit,date\n"
        "timed,AIV,n2,1,1000,0,0,0,,,\ntimed,AIV,n4,1,3000,0,0,0,,,\n",
        file);
  assert_int_equal(fclose(file), 0);
  snprintf(path, size, "%s/timed.ini", folder);
  file = fopen(path, "w");
  assert_non_null(file);
  FILE *plain = fopen("tests/regress/plain.ini", "r");
  assert_non_null(plain);
  while (fgets(line, sizeof line, plain)) {
    fputs(line, file);
    if (strncmp(line, "name", 4) == 0) fputs("kernel_times = times.csv\n", file);
  }
  fclose(plain);
  assert_int_equal(fclose(file), 0);
}

/* A failure ends a run: the next one counts on. */
static void test_kernel_times_count_on_from_run_to_run_by_where_they_come_from(void **state) {
  char folder[64], path[128];
  struct pto_device_program measured = times_2, interpolated = times_2;
  measured.orchestrate = interpolated.orchestrate = submit_timed;
  measured.context = (void *)(uintptr_t)&of_n2;
  interpolated.context = (void *)(uintptr_t)&of_n3;
  uint64_t others[3];
  write_chip(folder, path, sizeof path);
  struct pto_context_options options = options_of(&backends[1]);
  options.runtime.chip = path;
  assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
  struct pto_device_tensor a = host_tensor(), b = host_tensor();
  write4(a, 1, 1, 1, 1);
  for (uint64_t run = 0; run < 3; run++) {
    dispatch1(&measured, a, b);
    dispatch1(&interpolated, a, b);
    dispatch1(&interpolated, a, b);
    dispatch1(&times_2, a, b);
    assert_int_equal(pto_context_sync(context), PTO_OK);
    const struct pto_context_counters all = counters();
    assert_int_equal(all.measured_ps, (run + 1) * 1000);
    assert_int_equal(all.interpolated_ps, (run + 1) * 4000);
    others[run] = all.assumed_ps + all.modelled_ps; /* with those of the kernel that fails */
    dispatch1(&failing, a, b);
    assert_true(pto_context_sync(context) < 0);
    assert_int_equal(pto_context_clear_error(context), PTO_OK);
  }
  assert_true(others[1] > others[0]);
  assert_int_equal(others[2] - others[1], others[1] - others[0]);
  close_context();
  unlink(path);
  snprintf(path, sizeof path, "%s/times.csv", folder);
  unlink(path);
  rmdir(folder);
}

/* ---- threads ---- */

static void *use_context(void *argument) {
  const float factor = *(const float *)argument;
  struct pto_device_tensor a, b;
  float values[NUMEL] = {1, 1, 1, 1};
  bool is_right = pto_device_tensor_create_host(context, &matrix, &a) == PTO_OK &&
                  pto_device_tensor_create_host(context, &matrix, &b) == PTO_OK;
  for (int i = 0; i < 50 && is_right; i++) {
    const struct pto_binding inputs[] = {{"a", a}}, outputs[] = {{"c", b}};
    const struct pto_dispatch_bindings bindings = {
        .inputs = inputs, .outputs = outputs, .input_count = 1, .output_count = 1};
    values[0] = (float)i;
    is_right = pto_device_tensor_write(context, a, values, BYTES) == PTO_OK &&
               pto_context_dispatch(context, factor == 2 ? &times_2 : &times_3, &bindings) == PTO_OK &&
               pto_device_tensor_read(context, b, values, BYTES) == PTO_OK && values[0] == factor * (float)i;
  }
  is_right = is_right && pto_device_tensor_destroy(context, a) == PTO_OK;
  return is_right && pto_device_tensor_destroy(context, b) == PTO_OK ? argument : NULL;
}

static void test_threads_may_share_a_context(void **state) {
  ON_EACH_BACKEND {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
      assert_int_equal(pthread_create(&threads[i], NULL, use_context, i % 2 ? &factor_2 : &factor_3), 0);
    for (int i = 0; i < 4; i++) {
      void *answer;
      assert_int_equal(pthread_join(threads[i], &answer), 0);
      assert_non_null(answer);
    }
    assert_int_equal(pto_context_sync(context), PTO_OK);
    assert_int_equal(counters().live_bytes, 0);
  }
}

/* ---- contexts ---- */

static void test_hints_choose_the_device_and_the_context_says_what_came_of_them(void **state) {
  struct pto_context_options options = {.size = sizeof options, .runtime = {.workers = 1}};
  assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
  struct pto_context_info info = pto_context_info(context);
  assert_true(info.accelerated);
  assert_string_equal(info.chip, "a2a3");
  assert_int_equal(info.clusters, 24);
  assert_int_equal(info.max_rank, 8);
  close_context();
  options.power_preference = PTO_POWER_LOW_POWER;
  assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
  assert_int_equal(pto_context_info(context).clusters, 6);
  close_context();
  options.runtime.chip = "a5"; /* an explicit chip stands above hints */
  assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
  assert_string_equal(pto_context_info(context).chip, "a5");
  assert_true(pto_context_info(context).clusters > 6);
  close_context();
  options = (struct pto_context_options){.size = sizeof options, .acceleration = PTO_ACCELERATION_NO};
  assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
  assert_false(pto_context_info(context).accelerated);
  close_context();
}

static void test_options_that_mean_nothing_are_refused_with_a_sentence(void **state) {
  char sentence[256];
  struct pto_context_options options = {.size = 1};
  assert_int_equal(pto_context_create(&options, &context, sentence, sizeof sentence), PTO_EINVAL);
  assert_non_null(strstr(sentence, "options.size is 1"));
  options = (struct pto_context_options){.size = sizeof options, .acceleration = 9};
  assert_int_equal(pto_context_create(&options, &context, sentence, sizeof sentence), PTO_EINVAL);
  assert_non_null(strstr(sentence, "acceleration 9"));
  options = (struct pto_context_options){.size = sizeof options, .power_preference = 9};
  assert_int_equal(pto_context_create(&options, &context, sentence, sizeof sentence), PTO_EINVAL);
  assert_non_null(strstr(sentence, "power preference 9"));
  options = (struct pto_context_options){.size = sizeof options, .runtime = {.chip = "no such chip"}};
  assert_true(pto_context_create(&options, &context, sentence, sizeof sentence) < 0);
  assert_non_null(strstr(sentence, "no such chip"));
  options = (struct pto_context_options){.size = sizeof options, .runtime = {.chip = "tiny", .clusters = 2}};
  assert_int_equal(pto_context_create(&options, &context, sentence, sizeof sentence), PTO_EINVAL);
  assert_non_null(strstr(sentence, "2 clusters: tiny has 1"));
  assert_int_equal(pto_context_create(NULL, NULL, sentence, sizeof sentence), PTO_EINVAL);
  pto_context_destroy(NULL);
}

static void test_creation_gives_everything_back_whichever_part_fails(void **state) {
  for (size_t b = 0; b < PTO_ARRAY_LENGTH(backends); b++) {
    const struct pto_context_options options = options_of(&backends[b]);
    int status = PTO_ENOMEM;
    uint32_t nth = 0;
    while (status) {
      pto_reserve_fail_countdown = ++nth;
      status = pto_context_create(&options, &context, NULL, 0);
      assert_true(status == PTO_OK || status == PTO_ENOMEM);
      assert_in_range(nth, 1, 100);
    }
    pto_reserve_fail_countdown = 0;
    assert_in_range(nth, 5, 100);
    close_context();
    if (!backends[b].engine || strcmp(backends[b].engine, "threads") == 0) {
      pto_thread_fail_countdown = 1;
      assert_true(pto_context_create(&options, &context, NULL, 0) < 0);
      pto_thread_fail_countdown = 0;
    }
  }
}

static void test_fields_that_are_not_given_mean_their_defaults(void **state) {
  struct pto_context_options options = {.size = offsetof(struct pto_context_options, reserved),
                                        .memory_bytes = 1 << 20};
  const struct pto_context_options *const given[] = {NULL, &options};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(given); i++) {
    assert_int_equal(pto_context_create(given[i], &context, NULL, 0), PTO_OK);
    const struct pto_context_info info = pto_context_info(context);
    assert_string_equal(info.backend, "npu-threads");
    assert_string_equal(info.chip, "a2a3");
    assert_int_equal(info.max_tensor_bytes <= 1 << 20, i == 1);
    pto_context_destroy(context);
  }
}

/* ---- who is told of contexts ---- */

static struct told {
  struct pto_runtime *rt;
  uint64_t memory_bytes, tasks, recorded, refused;
  uint32_t created, destroyed;
  int answer;
} told;

static int tell_created(void *argument, struct pto_runtime *rt, void *memory, uint64_t memory_bytes,
                        struct pto_error *error) {
  struct told *t = argument;
  t->created++;
  t->rt = rt;
  t->memory_bytes = memory_bytes;
  assert_non_null(memory);
  return t->answer ? pto_error_set(error, t->answer, "not this one") : PTO_OK;
}
static void tell_destroyed(void *argument, struct pto_runtime *rt, const struct pto_context_end *end) {
  struct told *t = argument;
  t->destroyed++;
  t->tasks = end->counters->tasks;
  t->recorded = end->recording->tasks.count;
  assert_ptr_equal(rt, t->rt);
  t->refused = end->refusals->count;
  assert_null(end->failure);
}

static void test_a_watch_of_the_configuration_is_told_of_each_context_and_may_refuse_it(void **state) {
  static const char *const engines[] = {"threads", "virtual", "observe", "observed virtual", "explore"};
  const struct pto_context_watch watch = {tell_created, tell_destroyed, &told, true, NULL};
  for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++) {
    const struct pto_context_options options = {
        .size = sizeof options,
        .memory_bytes = 1 << 20,
        .runtime = {.engine = engines[e], .chip = "tiny", .record = PTO_RECORD_GRAPH, .context_watch = &watch}};
    char sentence[64] = "";
    told = (struct told){0};
    assert_int_equal(pto_context_create(&options, &context, sentence, sizeof sentence), PTO_OK);
    assert_true(told.created == 1 && told.destroyed == 0 && told.memory_bytes >= 1 << 20);
    struct pto_device_tensor a = host_tensor(), b = host_tensor();
    write4(a, 1, 2, 3, 4);
    dispatch1(&times_2, a, b);
    reads4(b, 2, 4, 6, 8);
    assert_int_equal(counters().transfer_ps != 0, strstr(engines[e], "virtual") != NULL);
    /* what changes something is counted where it is refused, and no question */
    uint64_t bytes = 0;
    assert_int_equal(pto_device_tensor_copy(context, a, a), PTO_EINVAL);
    assert_int_equal(pto_device_tensor_read(context, a, &bytes, sizeof bytes), PTO_EINVAL);
    assert_int_equal(pto_device_tensor_size(context, (struct pto_device_tensor){0}), 0);
    assert_int_equal(pto_device_tensor_destroy(context, (struct pto_device_tensor){0}), PTO_ESTALE);
    pto_context_destroy(context);
    assert_true(told.created == 1 && told.destroyed == 1 && told.tasks == 1 && told.recorded == 1);
    assert_int_equal(told.refused, 2);
    told.answer = PTO_ENOTSUP;
    assert_int_equal(pto_context_create(&options, &context, sentence, sizeof sentence), PTO_ENOTSUP);
    assert_string_equal(sentence, "not this one");
    assert_true(told.created == 2 && told.destroyed == 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_counters_say_exactly_what_moved),
      cmocka_unit_test(test_transfers_take_the_virtual_time_of_the_host_link),
      cmocka_unit_test(test_kernel_times_count_on_from_run_to_run_by_where_they_come_from),
      cmocka_unit_test(test_threads_may_share_a_context),
      cmocka_unit_test(test_hints_choose_the_device_and_the_context_says_what_came_of_them),
      cmocka_unit_test(test_options_that_mean_nothing_are_refused_with_a_sentence),
      cmocka_unit_test(test_fields_that_are_not_given_mean_their_defaults),
      cmocka_unit_test(test_a_watch_of_the_configuration_is_told_of_each_context_and_may_refuse_it),
      cmocka_unit_test(test_creation_gives_everything_back_whichever_part_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
