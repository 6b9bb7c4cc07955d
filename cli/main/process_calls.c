/* SPDX-License-Identifier: MIT */
#include <cli/main/process_calls.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <runtime/base/sanitizer.h>
#include <sim/host/current.h>

#define MOST_WORDS 1024u /* of a call that lists them */

extern const char __executable_start[], etext[];
static struct {
  bool (*is_due)(void);
  void (*end)(const char *deed);
} watch;
/* libc's; found before threads begin. */
static __typeof__(&execvpe) next_execvpe;
#if !PTO_HAS_SANITIZER
static __typeof__(&fork) next_fork, next_bare_fork;
#endif

static void find_next(void) {
  next_execvpe = (__typeof__(&execvpe))dlsym(RTLD_NEXT, "execvpe");
#if !PTO_HAS_SANITIZER
  next_fork = (__typeof__(&fork))dlsym(RTLD_NEXT, "fork");
  next_bare_fork = (__typeof__(&fork))dlsym(RTLD_NEXT, "_Fork");
#endif
}

void pto_process_calls_watch(bool (*is_due)(void), void (*end)(const char *deed)) {
  watch.is_due = is_due;
  watch.end = end;
  find_next();
}

static bool is_of_program(const char *caller) {
  return (caller < __executable_start || caller >= etext) && watch.is_due && watch.is_due();
}

/* ---- the end ---- */

_Noreturn static void leave(const char *function, int status, const char *caller) {
  char deed[64];
  if (is_of_program(caller)) {
    snprintf(deed, sizeof deed, "ended the process by %s(%d)", function, status);
    watch.end(deed);
  }
  for (;;) syscall(SYS_exit_group, status);
}

PTO_API _Noreturn void _exit(int status) { leave("_exit", status, __builtin_return_address(0)); }
PTO_API _Noreturn void _Exit(int status) { leave("_Exit", status, __builtin_return_address(0)); }

PTO_API int raise(int number) {
  const pid_t process = getpid(), thread = gettid();
  if (thread != process && is_of_program(__builtin_return_address(0))) {
    sigset_t raised;
    sigemptyset(&raised);
    sigaddset(&raised, number);
    pthread_sigmask(SIG_UNBLOCK, &raised, NULL);
  }
  return (int)syscall(SYS_tgkill, process, thread, number);
}

/* ---- another program ---- */

static void report(const char *function, const char *path, const char *caller) {
  char deed[160];
  if (!is_of_program(caller)) return;
  snprintf(deed, sizeof deed, "ended the process by %s(\"%.100s\")", function, path);
  watch.end(deed);
}

static int replace(const char *path, char *const *words, char *const *variables) {
  return (int)syscall(SYS_execve, path, words, variables);
}

static int replace_by_name(const char *name, char *const *words, char *const *variables) {
  if (!next_execvpe) find_next();
  return next_execvpe(name, words, variables);
}

/* The words of a call that lists them, up to the null pointer.  False: there are too many. */
static bool take_words(char **words, const char *first, va_list *rest) {
  size_t count = 0;
  words[count++] = (char *)(uintptr_t)first;
  while (words[count - 1] && count < MOST_WORDS) words[count++] = va_arg(*rest, char *);
  if (!words[count - 1]) return true;
  errno = E2BIG;
  return false;
}

PTO_API int execve(const char *path, char *const words[], char *const variables[]) {
  report("execve", path, __builtin_return_address(0));
  return replace(path, words, variables);
}
PTO_API int execv(const char *path, char *const words[]) {
  report("execv", path, __builtin_return_address(0));
  return replace(path, words, environ);
}
PTO_API int execvpe(const char *name, char *const words[], char *const variables[]) {
  report("execvpe", name, __builtin_return_address(0));
  return replace_by_name(name, words, variables);
}
PTO_API int execvp(const char *name, char *const words[]) {
  report("execvp", name, __builtin_return_address(0));
  return replace_by_name(name, words, environ);
}
PTO_API int execl(const char *path, const char *first, ...) {
  char *words[MOST_WORDS];
  va_list rest;
  report("execl", path, __builtin_return_address(0));
  va_start(rest, first);
  const bool is_whole = take_words(words, first, &rest);
  va_end(rest);
  return is_whole ? replace(path, words, environ) : -1;
}
PTO_API int execlp(const char *name, const char *first, ...) {
  char *words[MOST_WORDS];
  va_list rest;
  report("execlp", name, __builtin_return_address(0));
  va_start(rest, first);
  const bool is_whole = take_words(words, first, &rest);
  va_end(rest);
  return is_whole ? replace_by_name(name, words, environ) : -1;
}
PTO_API int execle(const char *path, const char *first, ...) {
  char *words[MOST_WORDS];
  va_list rest;
  report("execle", path, __builtin_return_address(0));
  va_start(rest, first);
  const bool is_whole = take_words(words, first, &rest);
  char *const *variables = is_whole ? va_arg(rest, char *const *) : NULL;
  va_end(rest);
  return is_whole ? replace(path, words, variables) : -1;
}
PTO_API int execveat(int folder, const char *path, char *const words[], char *const variables[], int flags) {
  report("execveat", path, __builtin_return_address(0));
  return (int)syscall(SYS_execveat, folder, path, words, variables, flags);
}
PTO_API int fexecve(int fd, char *const words[], char *const variables[]) {
  report("fexecve", "", __builtin_return_address(0));
  return (int)syscall(SYS_execveat, fd, "", words, variables, AT_EMPTY_PATH);
}

/* ---- a second process ---- */

#if !PTO_HAS_SANITIZER /* whose own fork it would hide */

/* In a kernel, or of the object of a program: libraries may, as MPI does. */
static bool is_of_run(const char *caller) {
  Dl_info about;
  if (caller >= __executable_start && caller < etext) return false;
  if (pto_engine_current.message) return true;
  void *object = dladdr(caller, &about) && about.dli_fname ? dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  const bool is_program = object && dlsym(object, "pto_program");
  if (object) dlclose(object);
  return is_program;
}

/* In a process that ptosim has forked off it fails. */
static pid_t divide(__typeof__(&fork) *next, const char *caller) {
  if (watch.is_due && is_of_run(caller)) {
    if (watch.is_due()) watch.end("forked the process");
    errno = EAGAIN;
    return -1;
  }
  if (!*next) find_next();
  return (*next)();
}

/* Weak: a test that lets calls fail has its own. */
PTO_API __attribute__((weak)) pid_t fork(void) { return divide(&next_fork, __builtin_return_address(0)); }
PTO_API __attribute__((weak)) pid_t _Fork(void) { return divide(&next_bare_fork, __builtin_return_address(0)); }
#endif
