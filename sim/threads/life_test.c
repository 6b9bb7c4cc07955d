/* SPDX-License-Identifier: MIT */
/* The threads engine's life: creation and its failures, affinity, time-outs, spans. */
#include <sim/host/current.h>
#include <sim/threads/engine.h>

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <runtime/base/reserve.h>
#include <sim/threads/delays.h>
#include <runtime/base/sanitizer.h>
#include <runtime/base/thread.h>
#include <runtime/trace/trace.h>
#include <tests/support/threads_script.h>

static struct script script;

static void test_each_kernel_leaves_a_span_with_its_worker(void **state) {
  struct pto_port *port = script_engine(2, 2);
  struct pto_trace_log spans[2] = {{.record_bytes = sizeof(struct pto_trace_span), .capacity = 400},
                                   {.record_bytes = sizeof(struct pto_trace_span), .capacity = 400}};
  struct pto_trace trace = {.record = PTO_RECORD_TIMELINE, .spans = spans, .span_log_count = 2};
  for (uint32_t w = 0; w < 2; w++) assert_true(pto_reserve_init(&spans[w].memory, 400 * spans[w].record_bytes));
  port->trace = &trace;
  script.seed = 8;
  script.message_count = 300;
  script.fail_every = 0;
  script_play(port, &script);
  uint32_t per_core[6] = {0};
  for (uint32_t w = 0; w < 2; w++) {
    uint64_t end = 0;
    for (uint64_t i = 0; i < spans[w].count; i++) {
      const struct pto_trace_span *span = pto_trace_log_at(&spans[w], i);
      assert_int_equal(span->worker, w);
      assert_int_equal(pto_engine_threads_core_worker(port, span->core), w);
      assert_int_equal(span->block_index, script.order[span->core][per_core[span->core]++]);
      assert_true(end <= span->begin && span->begin <= span->end);
      end = span->end;
    }
  }
  assert_int_equal(spans[0].count + spans[1].count, 300);
  trace.span_log_count = 1;
  char sentence[128];
  assert_int_equal(port->ops->begin_run(port, sentence, sizeof sentence), PTO_EINVAL);
  assert_string_equal(sentence, "the trace has 1 span logs for 2 workers");
  port->ops->destroy(port);
  for (uint32_t w = 0; w < 2; w++) pto_reserve_fini(&spans[w].memory);
}

static struct {
  _Atomic uint32_t count;
  char sentence[1024];
} timeout;

static void on_timeout(void *context, const char *sentence) {
  snprintf(timeout.sentence, sizeof timeout.sentence, "%s", sentence);
  atomic_fetch_add_explicit(&timeout.count, 1, memory_order_release);
}
static int until_timeout(const struct pto_kernel_args *args) {
  while (atomic_load_explicit(&timeout.count, memory_order_acquire) == 0) sched_yield();
  return 0;
}

static void check_timeout_on_core(uint16_t core) {
  struct pto_chip chip = script_chip(1);
  struct pto_engine_config config = {.chip = &chip, .workers = 2, .timeout_ms = 5, .on_timeout = on_timeout};
  static const struct pto_kernel kernel = {.name = "endless", .run = until_timeout};
  struct pto_payload payload = {.task_number = 17, .block_count = 1, .kernels = {&kernel}};
  struct pto_message message = {.payload = &payload, .run = until_timeout, .core = core};
  struct pto_port *port;
  struct pto_error error;
  char expected[64];
  atomic_store_explicit(&timeout.count, 0, memory_order_relaxed);
  assert_int_equal(pto_engine_threads_create(&config, &port, &error), PTO_OK);
  script_begin(port);
  script_run_one(port, &message);
  port->ops->end_run(port);
  port->ops->destroy(port);
  assert_int_equal(atomic_load_explicit(&timeout.count, memory_order_relaxed), 1);
  snprintf(expected, sizeof expected, "time-out of 5 ms: task 17 (endless) block 0 on core %u ", core);
  assert_non_null(strstr(timeout.sentence, expected));
}
static void test_the_watchdog_reports_an_endless_kernel_on_a_worker(void **state) { check_timeout_on_core(1); }
static void test_the_watchdog_reports_an_endless_kernel_on_the_control_thread(void **state) {
  check_timeout_on_core(2);
}

#if !PTO_HAS_SANITIZER
static void report_fault(int number) {
  char text[128];
  _exit(pto_engine_describe_current(text, sizeof text) && strncmp(text, "task 5 (deep) ", 14) == 0 ? 42 : 1);
}
static PTO_NOINLINE int go_deeper(const struct pto_kernel_args *args) {
  char frame[4096];
  __asm__ volatile("" : : "r"(frame) : "memory"); /* the frame is used, so it is there */
  return args->tensor_count ? 0 : go_deeper(args) + frame[0];
}
/* In a child process: it does not come back. */
static void test_a_kernel_that_overflows_a_workers_stack_can_be_described(void **state) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    static const struct pto_kernel kernel = {.name = "deep", .run = go_deeper};
    struct sigaction action = {.sa_handler = report_fault, .sa_flags = SA_ONSTACK};
    struct pto_payload payload = {.task_number = 5, .block_count = 1, .kernels = {&kernel}};
    struct pto_message message = {.payload = &payload, .run = go_deeper, .core = 1};
    struct pto_port *port = script_engine(1, 2);
    sigaction(SIGSEGV, &action, NULL);
    script_begin(port);
    script_run_one(port, &message);
    _exit(2);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 42);
}
#else
static void test_a_kernel_that_overflows_a_workers_stack_can_be_described(void **state) {
  skip(); /* the sanitizers report it themselves */
}
#endif

static void test_creation_survives_the_failure_of_each_reserve(void **state) {
  struct pto_chip chip = script_chip(2);
  struct pto_engine_config config = {.chip = &chip, .workers = 3};
  uint32_t n = 0;
  int status;
  do {
    struct pto_port *port = NULL;
    struct pto_error error = {0};
    pto_reserve_fail_countdown = ++n;
    status = pto_engine_threads_create(&config, &port, &error);
    pto_reserve_fail_countdown = 0;
    if (status == PTO_OK) {
      port->ops->destroy(port);
    } else {
      assert_int_equal(status, PTO_ENOMEM);
      assert_int_equal(error.status, PTO_ENOMEM);
      assert_null(port);
      assert_non_null(strstr(error.sentence, "no memory for"));
    }
  } while (status != PTO_OK);
  assert_int_equal(n, 7);
}

static void test_creation_survives_the_failure_of_each_thread(void **state) {
  struct pto_chip chip = script_chip(2);
  struct pto_engine_config config = {.chip = &chip, .workers = 4, .timeout_ms = 60000, .on_timeout = on_timeout};
  uint32_t n = 0;
  int status;
  do {
    struct pto_port *port = NULL;
    struct pto_error error = {0};
    pto_thread_fail_countdown = ++n;
    status = pto_engine_threads_create(&config, &port, &error);
    pto_thread_fail_countdown = 0;
    if (status == PTO_OK) {
      port->ops->destroy(port);
    } else {
      assert_int_equal(status, PTO_ESYSTEM);
      assert_null(port);
      assert_non_null(strstr(error.sentence, "cannot start"));
    }
  } while (status != PTO_OK);
  assert_int_equal(n, 5); /* the watchdog and three workers */
}

static void test_a_chip_without_clusters_is_refused(void **state) {
  struct pto_chip chip = script_chip(0);
  struct pto_engine_config config = {.chip = &chip};
  struct pto_port *port = NULL;
  struct pto_error error = {0};
  assert_int_equal(pto_engine_threads_create(&config, &port, &error), PTO_EINVAL);
  assert_string_equal(error.sentence, "threads: a chip of 0 clusters; 1 to 1024 are possible");
  chip = script_chip(PTO_CHIP_MAX_CLUSTERS + 1);
  assert_int_equal(pto_engine_threads_create(&config, &port, &error), PTO_EINVAL);
  assert_string_equal(error.sentence, "threads: a chip of 1025 clusters; 1 to 1024 are possible");
  chip = script_chip(1);
  config.placement = "nowhere";
  assert_int_equal(pto_engine_threads_create(&config, &port, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "placement: 'nowhere'"));
  assert_null(port);
}

static void test_a_core_may_hold_many_messages_and_have_no_memory_of_its_own(void **state) {
  struct pto_chip chip = script_chip(1);
  const struct pto_engine_config config = {.chip = &chip, .workers = 2};
  struct pto_port *port = NULL;
  struct pto_error error = {0};
  chip.slots_per_core = 64;
  chip.ub_bytes = chip.l1_bytes = chip.l0a_bytes = chip.l0b_bytes = chip.l0c_bytes = 0;
  assert_int_equal(pto_engine_threads_create(&config, &port, &error), PTO_OK);
  assert_false(pto_engine_delays_set(port, 1)); /* an engine without delays */
  port->ops->destroy(port);
  const struct pto_port_ops ops = {0};
  struct pto_port other = {.ops = &ops, .name = "virtual"};
  assert_false(pto_engine_delays_set(&other, 1));
}

/* One CPU for three threads: none is pinned, none spins, and the work gets done. */
static void test_more_workers_than_cpus_are_not_pinned_and_work_all_the_same(void **state) {
  cpu_set_t before, one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  struct pto_port *port = script_engine(4, 3);
  assert_non_null(strstr(port->placement, "1 CPU"));
  assert_non_null(strstr(port->placement, "threads on no CPU in particular"));
  script.seed = 13;
  script.message_count = 1000;
  script.fail_every = 0;
  script_play(port, &script);
  port->ops->destroy(port);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

/* What the process may use, before any engine was made. */
static cpu_set_t at_start;

static void check_affinity(const cpu_set_t *expected) {
  cpu_set_t now;
  assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
  assert_true(CPU_EQUAL(expected, &now));
}

static void test_the_control_thread_gets_its_affinity_back(void **state) {
  struct pto_chip chip = script_chip(1);
  const struct pto_engine_config config = {.chip = &chip, .workers = 2, .placement = "spread"};
  struct pto_port *port;
  struct pto_error error;
  assert_int_equal(pto_engine_threads_create(&config, &port, &error), PTO_OK);
  static const char placed[] = "; threads on CPUs ";
  const char *const cpus = strstr(port->placement, placed);
  cpu_set_t inside;
  check_affinity(&at_start);
  for (uint32_t run = 0; run < 3; run++) {
    script_begin(port);
    assert_int_equal(sched_getaffinity(0, sizeof inside, &inside), 0);
    if (cpus) { /* the first of them is its own */
      assert_int_equal(CPU_COUNT(&inside), 1);
      assert_true(CPU_ISSET(strtol(cpus + strlen(placed), NULL, 10), &inside));
    }
    port->ops->end_run(port);
    check_affinity(&at_start);
  }
  script_begin(port);
  port->ops->destroy(port); /* in the middle of a run */
  check_affinity(&at_start);
}

static void test_the_control_thread_of_too_many_workers_stays_free(void **state) {
  struct pto_port *port = script_engine(24, (uint32_t)CPU_COUNT(&at_start) + 1);
  script_begin(port);
  if (CPU_COUNT(&at_start) < 72) check_affinity(&at_start);
  port->ops->end_run(port);
  port->ops->destroy(port);
}

int main(void) {
  sched_getaffinity(0, sizeof at_start, &at_start);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_kernel_leaves_a_span_with_its_worker),
      cmocka_unit_test(test_the_watchdog_reports_an_endless_kernel_on_a_worker),
      cmocka_unit_test(test_the_watchdog_reports_an_endless_kernel_on_the_control_thread),
      cmocka_unit_test(test_a_kernel_that_overflows_a_workers_stack_can_be_described),
      cmocka_unit_test(test_creation_survives_the_failure_of_each_reserve),
      cmocka_unit_test(test_creation_survives_the_failure_of_each_thread),
      cmocka_unit_test(test_a_chip_without_clusters_is_refused),
      cmocka_unit_test(test_a_core_may_hold_many_messages_and_have_no_memory_of_its_own),
      cmocka_unit_test(test_more_workers_than_cpus_are_not_pinned_and_work_all_the_same),
      cmocka_unit_test(test_the_control_thread_gets_its_affinity_back),
      cmocka_unit_test(test_the_control_thread_of_too_many_workers_stays_free),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
