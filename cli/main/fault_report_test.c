/* SPDX-License-Identifier: MIT */
/*
 * Tests of fault reports: each in a process of its own that faults, whose reporter writes the sentence to a pipe and
 * leaves.
 *
 * Nothing is tested in sanitizer builds, which report faults themselves.
 */
#include <cli/main/fault_report.h>
#include <runtime/base/sanitizer.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LEFT_WELL 3
static int report_fd;

/* Waits for no lock that a faulting thread may hold. */
static void report(void *context, int status, const char *sentence) {
  char text[PTO_SENTENCE_SIZE + 32];
  int length = snprintf(text, sizeof text, "%s %s", pto_status_name(status), sentence);
  if (write(report_fd, text, (size_t)length) != length) _exit(99);
  _exit(context == &report_fd ? LEFT_WELL : 98);
}

/* Runs `act` in a child with fault reports; what its reporter wrote, and how it left. */
static int sentence_of(void (*act)(void), char *text, size_t size) {
  int ends[2], status = 0;
  assert_int_equal(pipe(ends), 0);
  fflush(NULL);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    struct pto_error error;
    /* cmocka's own handlers would jump back into the parent's tests. */
    report_fd = ends[1];
    if (pto_fault_report_init(report, &report_fd, &error)) _exit(97);
    alarm(20); /* a report that hangs is a failure, not a hang */
    act();
    pto_fault_report_fini();
    _exit(0);
  }
  close(ends[1]);
  size_t used = 0;
  for (ssize_t part; (part = read(ends[0], text + used, size - 1 - used)) > 0;) used += (size_t)part;
  text[used] = '\0';
  close(ends[0]);
  while (waitpid(pid, &status, 0) < 0) assert_int_equal(errno, EINTR);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* An address that the compiler does not see to be none. */
static void act_nothing(void) {}
static void act_wild_pointer(void) { *(int *)strtoul("0x40", NULL, 16) = 1; }
static void act_abort(void) { abort(); }
static void act_illegal(void) { raise(SIGILL); }
static void act_divide(void) { raise(SIGFPE); }
static void act_timeout(void) { pto_fault_report_on_timeout(NULL, "too long"); }

/* A process that is forked off is no concern of the report. */
static void act_in_another_process(void) {
  char word[] = "false", *const words[] = {word, NULL}, *const none[] = {NULL};
  for (int how = 0; how < 8; how++) {
    const pid_t child = fork();
    if (child == 0) {
      if (how == 0) _Exit(1);
      if (how == 1) execl("/bin/false", word, NULL);
      if (how == 2) execlp(word, word, "word", NULL);
      if (how == 3) execle("/bin/sh", word, "-c", "exit $STATUS", NULL, (char *[]){(char[]){"STATUS=1"}, NULL});
      if (how == 4) execv("/bin/false", words);
      if (how == 5) execvp(word, words);
      if (how == 6) execve("/bin/false", words, none);
      if (how == 7) execvpe(word, words, none);
      abort();
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 1) _exit(how + 10);
  }
}

static void *fault_on_thread(void *unused) {
  act_wild_pointer();
  return NULL;
}
static void act_on_another_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, fault_on_thread, NULL) == 0) pthread_join(thread, NULL);
}

/* `seed` is not 0, which the compiler does not know either. */
static int recurse(char seed) {
  char frame[4096];
  memset(frame, seed, sizeof frame);
  return frame[getpid() % 4096] ? recurse(frame[getpid() % 4095]) + frame[17] : 0;
}
static void act_overflow_the_stack(void) { (void)!recurse((char)strtol("1", NULL, 10)); }

static void act_many_at_once(void) {
  pthread_t threads[8];
  for (int i = 0; i < 8; i++)
    if (pthread_create(&threads[i], NULL, fault_on_thread, NULL)) _exit(96);
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
}

/* The faulting thread holds a lock of libc: a report that needs it would never end. */
static void act_with_stdio_locked(void) {
  flockfile(stdout);
  flockfile(stderr);
  act_wild_pointer();
}

/* What follows the sentence are functions and lines, where they could be found. */
static void expect_sentence(const char *text, const char *expected) {
  const size_t length = strlen(expected);
  assert_int_equal(strncmp(text, expected, length), 0);
  assert_true(text[length] == '\0' || strncmp(text + length, "; in ", 5) == 0);
}

static void test_each_kind_of_fault_is_named(void **state) {
  static const struct {
    void (*act)(void);
    const char *text;
  } rows[] = {{act_wild_pointer, "PTO_EKERNEL SIGSEGV at address 0x40 outside of any kernel"},
              {act_abort, "PTO_EKERNEL SIGABRT outside of any kernel"},
              {act_illegal, "PTO_EKERNEL SIGILL outside of any kernel"},
              {act_divide, "PTO_EKERNEL SIGFPE outside of any kernel"},
              {act_on_another_thread, "PTO_EKERNEL SIGSEGV at address 0x40 outside of any kernel"},
              {act_with_stdio_locked, "PTO_EKERNEL SIGSEGV at address 0x40 outside of any kernel"}};
  if (PTO_HAS_SANITIZER) skip();
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[2048];
    assert_int_equal(sentence_of(rows[i].act, text, sizeof text), LEFT_WELL);
    expect_sentence(text, rows[i].text);
    if (rows[i].act == act_abort) assert_non_null(strstr(text, "the same run under `valgrind` names who wrote it"));
    if (rows[i].act == act_wild_pointer && !strstr(text, "+0x")) /* built with libdw */
      assert_non_null(strstr(text, "; in act_wild_pointer (fault_report_test.c:"));
  }
}

static void test_an_overflowing_stack_is_a_fault_like_others(void **state) {
  char text[2048];
  if (PTO_HAS_SANITIZER) skip();
  assert_int_equal(sentence_of(act_overflow_the_stack, text, sizeof text), LEFT_WELL);
  assert_non_null(strstr(text, "PTO_EKERNEL SIGSEGV at address 0x"));
}

static void test_of_many_faults_one_is_reported(void **state) {
  char text[2048];
  if (PTO_HAS_SANITIZER) skip();
  assert_int_equal(sentence_of(act_many_at_once, text, sizeof text), LEFT_WELL);
  expect_sentence(text, "PTO_EKERNEL SIGSEGV at address 0x40 outside of any kernel");
}

static void test_a_timeout_is_reported_by_the_thread_that_calls(void **state) {
  char text[2048];
  assert_int_equal(sentence_of(act_timeout, text, sizeof text), LEFT_WELL);
  assert_string_equal(text, "PTO_ETIMEOUT too long");
}

static void test_without_a_fault_nothing_is_said(void **state) {
  char text[2048];
  assert_int_equal(sentence_of(act_nothing, text, sizeof text), 0);
  assert_string_equal(text, "");
}

static void test_processes_forked_off_end_as_they_like(void **state) {
  char text[2048];
  assert_int_equal(sentence_of(act_in_another_process, text, sizeof text), 0);
  assert_string_equal(text, "");
}

static void test_handlers_are_put_back(void **state) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  struct sigaction before[5], after;
  struct pto_error error;
  for (size_t i = 0; i < 5; i++) sigaction(signals[i], NULL, &before[i]);
  for (int round = 0; round < 3; round++) {
    assert_int_equal(pto_fault_report_init(report, NULL, &error), PTO_OK);
    pto_fault_report_fini();
  }
  pto_fault_report_fini();
  for (size_t i = 0; i < 5; i++) {
    sigaction(signals[i], NULL, &after);
    assert_true(after.sa_handler == before[i].sa_handler);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_kind_of_fault_is_named),
      cmocka_unit_test(test_an_overflowing_stack_is_a_fault_like_others),
      cmocka_unit_test(test_of_many_faults_one_is_reported),
      cmocka_unit_test(test_a_timeout_is_reported_by_the_thread_that_calls),
      cmocka_unit_test(test_without_a_fault_nothing_is_said),
      cmocka_unit_test(test_processes_forked_off_end_as_they_like),
      cmocka_unit_test(test_handlers_are_put_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
