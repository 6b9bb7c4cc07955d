/* SPDX-License-Identifier: MIT */
/*
 * What a call finds in thread-local variables of its kernel's file.
 *
 * Repeated runs find there what the run before has left, as further calls on the thread do: to put old bytes back would
 * bring pointers to life that a run has freed.  One more run asks for what a new thread finds, the file's own bytes.
 * It is that of a child process, which ends without a word: nothing that it allocates, frees, or registers for the
 * thread's end outlives it.
 */
#include <check/observe/state.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <runtime/base/process.h>

/* After so long the child waits for something that this process alone has: it counts as not asked. */
#define CHILD_SECONDS 60u

/* What the kernel, or the C library that stops it, has to say was said or is not the program's. */
static void be_silent(void) {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  (void)dup2(nowhere, STDOUT_FILENO);
  (void)dup2(nowhere, STDERR_FILENO);
}

bool pto_observe_in_child(struct pto_observation *o, void (*ask)(struct pto_observation *o, void *answer), void *answer,
                          size_t size) {
  int ends[2];
  ssize_t got = 0;
  if (pipe(ends) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    pto_process_limit(CHILD_SECONDS);
    be_silent();
    ask(o, answer);
    _exit(write(ends[1], answer, size) != (ssize_t)size);
  }
  close(ends[1]);
  do got = child > 0 ? read(ends[0], answer, size) : 0;
  while (got < 0 && errno == EINTR);
  close(ends[0]);
  while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
  }
  o->call.runs += child > 0;
  return got == (ssize_t)size;
}

struct run_with {
  void (*set)(struct pto_observation *o, const void *context);
  const void *context;
  struct pto_observe_outcome outcome;
};

static void run_with(struct pto_observation *o, void *answer) {
  struct run_with *run = answer;
  run->set(o, run->context);
  run->outcome = pto_observe_run_again(o, PTO_OBSERVE_NEGATIVE, PTO_OBSERVE_NO_LOCAL);
}

struct pto_observe_outcome pto_observe_run_in_child(struct pto_observation *o,
                                                    void (*set)(struct pto_observation *o, const void *context),
                                                    const void *context) {
  struct run_with run = {.set = set, .context = context};
  pto_observe_select(o, NULL);
  return pto_observe_in_child(o, run_with, &run, sizeof run) ? run.outcome : (struct pto_observe_outcome){0};
}

static void renew(struct pto_observation *o, const void *context) {
  (void)context;
  pto_observe_statics_renew(&o->statics);
}

static struct pto_observe_outcome run_in_new_thread(struct pto_observation *o) {
  return pto_observe_run_in_child(o, renew, NULL);
}

void pto_observe_judge_thread(struct pto_observation *o) {
  if (!o->statics.has_thread || o->statics.was_new) return; /* the first run itself found that */
  const struct pto_observe_outcome outcome = run_in_new_thread(o);
  if (outcome.differs) pto_observe_report_thread(o, &outcome);
}

bool pto_observe_is_of_thread(struct pto_observation *o) {
  if (!o->statics.is_thread_changed) return false;
  return !o->statics.was_new || !run_in_new_thread(o).differs;
}
