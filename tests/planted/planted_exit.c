/* SPDX-License-Identifier: MIT */
/* A program that ends its own process, or never comes to an end, in the middle of its orchestration or in a kernel: no
 * run of it is one that ended well. */
#include <orchestration/support/program.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static const struct pto_option options[] = {
    {"how", PTO_OPTION_INT, "0",
     "0: exit(0), 1: _exit(0), 2: SIGTERM, 3: abort, 4: without standard streams, 5: never, 6: _Exit(0), "
     "7: quick_exit(0), 8 … 13: exec, 14: a timer, 15: fork, 100 and above: raise(how - 100)"},
    {"in_kernel", PTO_OPTION_INT, "0", "1: in a kernel"},
    {0}};

static void end(int64_t how) {
  if (how == 1) _exit(0);
  if (how == 2) kill(getpid(), SIGTERM);
  if (how == 3) abort();
  if (how == 4) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) close(fd);
    return;
  }
  while (how == 5) pause();
  if (how == 6) _Exit(0);
  if (how == 7) quick_exit(0);
  if (how == 14) {
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 1000}, NULL);
    for (;;) pause();
  }
  if (how == 15) {
    (void)!fork();
    return;
  }
  if (how >= 100) {
    raise((int)how - 100);
    return;
  }
  char word[] = "true", *const words[] = {word, NULL};
  if (how == 8) execl("/bin/true", word, NULL);
  if (how == 9) execlp(word, word, NULL);
  if (how == 10) execle("/bin/true", word, NULL, environ);
  if (how == 11) execv("/bin/true", words);
  if (how == 12) execvp(word, words);
  if (how == 13) execve("/bin/true", words, environ);
  exit(0);
}

static int ender_run(const struct pto_kernel_args *a) {
  end(a->scalars[0].i64);
  return 0;
}
static const struct pto_kernel_param params[] = {TENSOR("x", PTO_OUTPUT, I32, 1),
                                                 {.mode = PTO_SCALAR, .scalar = PTO_SCALAR_I64, .name = "how"}};
KERNEL(ender, params, .name = "ender", .cores = PTO_AIV, .run = ender_run);

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_tensor x = temporary_vector(rt, PTO_INT32, 16);
  const int64_t how = pto_option_int(run, "how");
  if (!pto_option_int(run, "in_kernel")) end(how);
  return pto_submit_aiv(rt, &ender, PARAMS(pto_output(&x), pto_scalar_i64(how)));
}

ERROR_PROGRAM("planted_exit", "ends its own process", PTO_EKERNEL, .options = options);
