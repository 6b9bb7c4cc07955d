/* SPDX-License-Identifier: MIT */
/* Programs that are started: what they are given, and what they came to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <runtime/base/process.h>

/* Runs the shell's text with a file in memory as its descriptors 1 and 5; what that holds then. */
static void run(const char *text, char said[64], int *status) {
  const char *const words[] = {"sh", "-c", text, NULL};
  const int fd = memfd_create("said", MFD_CLOEXEC);
  const struct pto_process_fd fds[] = {{fd, STDOUT_FILENO}, {fd, 5}, {-1, 6}};
  pid_t pid;
  const int reason =
      pto_process_start(&(struct pto_process_request){.path = "sh", .words = words, .fds = fds, .fd_count = 3}, &pid);
  assert_int_equal(reason, 0);
  *status = pto_process_reap(pid);
  const ssize_t length = pread(fd, said, 63, 0);
  said[length > 0 ? length : 0] = '\0';
  close(fd);
}

static void test_descriptors_that_are_given_are_there_and_others_empty(void **state) {
  (void)state;
  char said[64];
  int status;
  run("cat; echo one; echo two >&2; echo three >&5; echo four >&6; exit 3", said, &status);
  assert_string_equal(said, "one\nthree\n");
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static void test_exit_codes(void **state) {
  (void)state;
  const char *const leaves[] = {"sh", "-c", "exit 7", NULL}, *const dies[] = {"sh", "-c", "kill -9 $$", NULL};
  pid_t pid;
  assert_int_equal(pto_process_start(&(struct pto_process_request){.path = "sh", .words = leaves}, &pid), 0);
  assert_int_equal(pto_process_exit_code(pid), 7);
  assert_int_equal(pto_process_start(&(struct pto_process_request){.path = "sh", .words = dies}, &pid), 0);
  assert_int_equal(pto_process_exit_code(pid), -1);
  assert_int_equal(pto_process_start(&(struct pto_process_request){.path = "/no/such", .words = leaves}, &pid), ENOENT);
}

static void ignore_signal(int number) { (void)number; }

static void test_a_signal_while_it_is_waited_for_changes_nothing(void **state) {
  (void)state;
  const char *const waits[] = {"sh", "-c", "sleep 0.2; exit 5", NULL};
  const struct itimerval often = {{.tv_usec = 10000}, {.tv_usec = 10000}}, never = {0};
  struct sigaction interrupts = {.sa_handler = ignore_signal}, before; /* no SA_RESTART */
  pid_t pid;
  assert_int_equal(pto_process_start(&(struct pto_process_request){.path = "sh", .words = waits}, &pid), 0);
  assert_int_equal(sigaction(SIGALRM, &interrupts, &before), 0);
  assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
  assert_int_equal(pto_process_exit_code(pid), 5);
  assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
  assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
}

static void test_a_status_that_the_system_does_not_keep_is_no_success(void **state) {
  (void)state;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  assert_int_equal(pto_process_exit_code(child), 0);
  assert_int_equal(pto_process_exit_code(child), 255); /* it is gone */
}

static void test_the_folder_is_that_of_the_executable(void **state) {
  (void)state;
  char folder[PATH_MAX], path[PATH_MAX + 64];
  struct stat there, running;
  assert_true(pto_process_folder(folder));
  snprintf(path, sizeof path, "%s/%s", folder, program_invocation_short_name);
  assert_int_equal(stat(path, &there), 0);
  assert_int_equal(stat("/proc/self/exe", &running), 0);
  assert_true(there.st_dev == running.st_dev && there.st_ino == running.st_ino);
}

static void test_a_limit_ends_a_process_that_ignores_and_blocks_the_signal(void **state) {
  (void)state;
  const pid_t child = fork();
  if (child == 0) {
    sigset_t all;
    sigfillset(&all);
    signal(SIGALRM, SIG_IGN);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pto_process_limit(1);
    for (int i = 0; i < 600; i++) usleep(100000);
    _exit(0);
  }
  const int status = pto_process_reap(child);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGALRM);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_descriptors_that_are_given_are_there_and_others_empty),
                                     cmocka_unit_test(test_exit_codes),
                                     cmocka_unit_test(test_a_signal_while_it_is_waited_for_changes_nothing),
                                     cmocka_unit_test(test_a_status_that_the_system_does_not_keep_is_no_success),
                                     cmocka_unit_test(test_the_folder_is_that_of_the_executable),
                                     cmocka_unit_test(test_a_limit_ends_a_process_that_ignores_and_blocks_the_signal)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
