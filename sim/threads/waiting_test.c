/* SPDX-License-Identifier: MIT */
/* What the threads engine owes while cores wait: completions are told of at once, one long kernel a wait, faults and
 * time-outs name the kernel.  What the cores tell each other is in tests/waiting_*_test.c. */
#include <sim/threads/engine.h>

#include <pto/core.h>
#include <runtime/base/clock.h>
#include <runtime/base/sanitizer.h>

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sim/host/current.h>
#include <tests/support/threads_script.h>

#define AIV0_CORE 1u
#define AIV1_CORE 2u

/* Of a task with a waiting kernel in each AIV role, the message of `role`; AIV1 lives on the control thread. */
static struct pto_message waiting_message(const struct pto_payload *payload, uint32_t role) {
  return (struct pto_message){.payload = payload,
                              .run = payload->kernels[role]->run,
                              .ticket = role,
                              .core = (uint16_t)(role == PTO_ROLE_AIV0 ? AIV0_CORE : AIV1_CORE),
                              .role = (uint8_t)role,
                              .flags = PTO_MESSAGE_WAITS};
}

static void send_waiting(struct pto_port *port, const struct pto_payload *payload) {
  for (uint32_t role = PTO_ROLE_AIV0; role <= PTO_ROLE_AIV1; role++) {
    struct pto_message message = waiting_message(payload, role);
    port->ops->dispatch(port, &message, 0, NULL);
  }
}

#define WAITING_PAYLOAD(kernel)                                                                                        \
  {                                                                                                                    \
    .task_number = 3, .block_count = 1, .kernels = { NULL, &(kernel), &(kernel) }                                      \
  }
#define BEHIND 7u /* ticket of what is sent to a core that is in a kernel that waits */

static struct {
  struct pto_port *port;
  _Atomic bool is_seen;
  _Atomic uint32_t count;
} scene;

/* ---- completions ---- */

/* AIV1 signals once AIV0's worker sleeps: then everything for AIV0's core was taken. */
static int wait_when_all_is_taken(const struct pto_kernel_args *args) {
  if (args->core->role == PTO_ROLE_AIV0) return pto_core_wait(args, 0);
  const uint32_t worker = pto_engine_threads_core_worker(scene.port, AIV0_CORE);
  while (worker != 0 && !pto_engine_threads_is_asleep(scene.port, worker)) sched_yield();
  return pto_core_signal(args, PTO_ROLE_BIT(PTO_ROLE_AIV0), 0);
}
static const struct pto_kernel waits = {
    .name = "waits", .cores = PTO_AIV, .flags = PTO_KERNEL_WAITS, .run = wait_when_all_is_taken};

/* Fails where the completion of the kernel before it is not polled while it runs. */
static int until_seen(const struct pto_kernel_args *args) {
  const uint64_t begin_ns = pto_clock_ns();
  while (!atomic_load(&scene.is_seen))
    if (pto_clock_ns() - begin_ns > UINT64_C(60000000000))
      return 1;
    else
      sched_yield();
  return 0;
}

static void test_a_completion_is_told_before_what_was_deferred_runs(void **state) {
  struct pto_payload payload = WAITING_PAYLOAD(waits), plain = {.block_count = 1};
  struct pto_message behind = {.payload = &plain, .run = until_seen, .ticket = BEHIND, .core = AIV0_CORE};
  struct pto_completion done[4];
  uint32_t left = 3;
  scene.port = script_engine(1, 2);
  atomic_store(&scene.is_seen, false);
  assert_int_equal(pto_engine_threads_core_worker(scene.port, AIV1_CORE), 0);
  script_begin(scene.port);
  send_waiting(scene.port, &payload);
  scene.port->ops->dispatch(scene.port, &behind, 0, NULL);
  while (left > 0) {
    const uint32_t count = scene.port->ops->poll(scene.port, done, PTO_ARRAY_LENGTH(done));
    for (uint32_t i = 0; i < count; i++) {
      assert_int_equal(done[i].status, 0);
      if (done[i].ticket == PTO_ROLE_AIV0) atomic_store(&scene.is_seen, true);
    }
    left -= count;
    if (left > 0 && count == 0) scene.port->ops->wait(scene.port);
  }
  scene.port->ops->end_run(scene.port);
  scene.port->ops->destroy(scene.port);
}

static int say_begun(const struct pto_kernel_args *args) {
  if (args->core->role == PTO_ROLE_AIV1) return pto_core_signal(args, PTO_ROLE_BIT(PTO_ROLE_AIV0), 0);
  atomic_store(&scene.is_seen, true);
  return pto_core_wait(args, 0);
}
static const struct pto_kernel says = {.name = "says", .cores = PTO_AIV, .flags = PTO_KERNEL_WAITS, .run = say_begun};

/* The control thread goes on with the orchestration, which may compute for long. */
static void test_an_idle_worker_begins_a_block_without_a_flush(void **state) {
  struct pto_payload payload = WAITING_PAYLOAD(says);
  struct pto_completion done[2];
  const uint64_t begin_ns = pto_clock_ns();
  scene.port = script_engine(1, 2);
  atomic_store(&scene.is_seen, false);
  script_begin(scene.port);
  send_waiting(scene.port, &payload);
  while (!atomic_load(&scene.is_seen) && pto_clock_ns() - begin_ns < UINT64_C(60000000000)) sched_yield();
  const bool has_begun = atomic_load(&scene.is_seen);
  for (uint32_t left = 2; left > 0; left -= scene.port->ops->poll(scene.port, done, 2))
    scene.port->ops->wait(scene.port);
  scene.port->ops->end_run(scene.port);
  scene.port->ops->destroy(scene.port);
  assert_true(has_begun);
}

static int long_kernel(const struct pto_kernel_args *args) {
  const uint64_t begin_ns = pto_clock_ns();
  while (pto_clock_ns() - begin_ns < 4000) sched_yield();
  atomic_fetch_add(&scene.count, 1);
  return 0;
}

static void test_a_wait_runs_one_long_kernel_of_those_deferred(void **state) {
  struct pto_payload payload = WAITING_PAYLOAD(waits), plain = {.block_count = 1};
  struct pto_message behind = {.payload = &plain, .run = long_kernel, .ticket = BEHIND, .core = AIV0_CORE};
  struct pto_completion done[8];
  uint32_t left = 5;
  scene.port = script_engine(1, 1);
  atomic_store(&scene.count, 0);
  script_begin(scene.port);
  send_waiting(scene.port, &payload);
  for (uint32_t i = 0; i < 3; i++) scene.port->ops->dispatch(scene.port, &behind, 0, NULL);
  while (left > 0) {
    const uint32_t before = atomic_load(&scene.count);
    scene.port->ops->wait(scene.port);
    assert_in_range(atomic_load(&scene.count) - before, 0, 1);
    left -= scene.port->ops->poll(scene.port, done, PTO_ARRAY_LENGTH(done));
  }
  assert_int_equal(atomic_load(&scene.count), 3);
  scene.port->ops->end_run(scene.port);
  scene.port->ops->destroy(scene.port);
}

/* ---- faults ---- */

#if !PTO_HAS_SANITIZER
static void report_fault(int number) {
  char text[128];
  _exit(pto_engine_describe_current(text, sizeof text) && strncmp(text, "task 3 (steps_over) ", 20) == 0 ? 42 : 1);
}
/* One frame larger than the stack, of which only the far end is touched: that of a neighbour, were it within reach. */
static PTO_NOINLINE int step_over(void) {
  char frame[PTO_CORE_STACK_BYTES + 8192];
  memset(frame, 1, 512);
  __asm__ volatile("" : : "r"(frame) : "memory"); /* the frame is used, so it is there */
  return frame[511] - 1;
}
static int steps_over_run(const struct pto_kernel_args *args) {
  if (args->core->role == PTO_ROLE_AIV0) return pto_core_wait(args, 0);
  int status = step_over();
  return status != 0 ? status : pto_core_signal(args, PTO_ROLE_BIT(PTO_ROLE_AIV0), 0);
}
static const struct pto_kernel steps_over = {
    .name = "steps_over", .cores = PTO_AIV, .flags = PTO_KERNEL_WAITS, .run = steps_over_run};

static void run_to_fault(uint32_t workers) {
  char fault_stack[1 << 16];
  struct sigaction action = {.sa_handler = report_fault, .sa_flags = SA_ONSTACK};
  struct pto_payload payload = WAITING_PAYLOAD(steps_over);
  struct pto_port *port = script_engine(1, workers);
  sigaltstack(&(stack_t){.ss_sp = fault_stack, .ss_size = sizeof fault_stack}, NULL);
  sigaction(SIGSEGV, &action, NULL);
  script_begin(port);
  send_waiting(port, &payload);
  for (uint32_t i = 0; i < 100; i++) port->ops->wait(port);
  _exit(2);
}
/* In a child process: it does not come back. */
static void test_a_frame_larger_than_the_stack_is_a_fault_of_its_kernel(void **state) {
  for (uint32_t workers = 1; workers <= 3; workers++) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) run_to_fault(workers);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
  }
}
#else
static void test_a_frame_larger_than_the_stack_is_a_fault_of_its_kernel(void **state) {
  skip(); /* the sanitizers report it themselves */
}
#endif

/* ---- time-outs ---- */

static struct {
  _Atomic bool is_over;
  char sentence[256];
} timeout;

static void on_timeout(void *context, const char *sentence) {
  snprintf(timeout.sentence, sizeof timeout.sentence, "%s", sentence);
  atomic_store(&timeout.is_over, true);
}

/* No piece of either takes long.  Both leave in the same round, else one would wait for ever. */
static int to_and_fro(const struct pto_kernel_args *args) {
  static _Atomic bool is_last;
  const bool is_first = args->core->role == PTO_ROLE_AIV0;
  const uint64_t begin_ns = pto_clock_ns();
  int status = 0;
  if (is_first) atomic_store(&is_last, false);
  for (bool goes_on = true; goes_on && status == 0;) {
    if (is_first) {
      goes_on =
          !atomic_load(&timeout.is_over) && pto_clock_ns() - begin_ns < UINT64_C(60000000000); /* a starved watchdog */
      if (!goes_on) atomic_store(&is_last, true);
      status = pto_core_signal(args, PTO_ROLE_BIT(PTO_ROLE_AIV1), 0);
      if (status == 0) status = pto_core_wait(args, 0);
    } else {
      status = pto_core_wait(args, 0);
      goes_on = !atomic_load(&is_last);
      if (status == 0) status = pto_core_signal(args, PTO_ROLE_BIT(PTO_ROLE_AIV0), 0);
    }
  }
  return status;
}
static const struct pto_kernel goes_to_and_fro = {
    .name = "to_and_fro", .cores = PTO_AIV, .flags = PTO_KERNEL_WAITS, .run = to_and_fro};

static void test_the_watchdog_reports_kernels_that_wake_each_other_for_ever(void **state) {
  struct pto_payload payload = WAITING_PAYLOAD(goes_to_and_fro);
  struct pto_chip chip = script_chip(1);
  for (uint32_t workers = 1; workers <= 2; workers++) {
    struct pto_engine_config config = {.chip = &chip, .workers = workers, .timeout_ms = 20, .on_timeout = on_timeout};
    struct pto_port *port = NULL;
    struct pto_error error = {0};
    struct pto_completion done[2];
    atomic_store(&timeout.is_over, false);
    assert_int_equal(pto_engine_threads_create(&config, &port, &error), PTO_OK);
    script_begin(port);
    send_waiting(port, &payload);
    for (uint32_t left = 2; left > 0;) {
      port->ops->wait(port);
      const uint32_t count = port->ops->poll(port, done, 2);
      for (uint32_t i = 0; i < count; i++) assert_int_equal(done[i].status, 0);
      left -= count;
    }
    port->ops->end_run(port);
    port->ops->destroy(port);
    assert_true(atomic_load(&timeout.is_over));
    assert_non_null(strstr(timeout.sentence, "time-out of 20 ms: task 3 (to_and_fro) block 0 on core "));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_completion_is_told_before_what_was_deferred_runs),
      cmocka_unit_test(test_an_idle_worker_begins_a_block_without_a_flush),
      cmocka_unit_test(test_a_wait_runs_one_long_kernel_of_those_deferred),
      cmocka_unit_test(test_a_frame_larger_than_the_stack_is_a_fault_of_its_kernel),
      cmocka_unit_test(test_the_watchdog_reports_kernels_that_wake_each_other_for_ever),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
