/* SPDX-License-Identifier: MIT */
#include <cli/main/fault_report.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cli/main/process_calls.h>
#include <cli/main/verb.h>
#include <report/findings/source_lines.h>
#include <runtime/base/call_stack.h>
#include <runtime/base/valgrind_requests.h>
#include <runtime/base/base.h>
#include <runtime/base/sanitizer.h>
#include <runtime/base/thread.h>
#include <sim/host/current.h>
#include <sim/rendezvous/waiting_core.h>

#define STACK_BYTES (64u << 10)
#define MOST_CALLS 16u
#define SHOWN_CALLS 4u
#define PLACE_SECONDS 2 /* that finding lines may take */

static const struct fault {
  int signal;
  bool has_address;
  bool is_sent; /* a fault where it comes of the process itself; else others end the process by it */
  const char *name;
} faults[] = {
    {SIGSEGV, true, false, "SIGSEGV"}, {SIGBUS, true, false, "SIGBUS"},       {SIGFPE, false, false, "SIGFPE"},
    {SIGILL, false, false, "SIGILL"},  {SIGABRT, false, false, "SIGABRT"},    {SIGTRAP, false, false, "SIGTRAP"},
    {SIGSYS, false, false, "SIGSYS"},  {SIGHUP, false, true, "SIGHUP"},       {SIGQUIT, false, true, "SIGQUIT"},
    {SIGTERM, false, true, "SIGTERM"}, {SIGUSR1, false, true, "SIGUSR1"},     {SIGUSR2, false, true, "SIGUSR2"},
    {SIGALRM, false, true, "SIGALRM"}, {SIGVTALRM, false, true, "SIGVTALRM"}, {SIGPROF, false, true, "SIGPROF"},
    {SIGXCPU, false, true, "SIGXCPU"}, {SIGPIPE, false, true, "SIGPIPE"}};
#define FAULT_COUNT PTO_ARRAY_LENGTH(faults)

/* Handlers have no argument of ours, so this is the one process-wide state of the tool. */
static struct {
  pto_fault_reporter *report, *first_report; /* that of now, and that of init */
  void *context, *first_context;
  pid_t process; /* between init and fini; else 0 */
  pthread_t reporter;
  bool is_installed;
  struct sigaction old_actions[FAULT_COUNT];
  /* 0, or the thread id of the first to report.  First reporter → others; relaxed: only who came first matters. */
  atomic_int claimed_by;
  /* Faulting thread → reporter: the sentence below, handed over by sem_post; with is_ending, nothing but the wake-up.
   */
  sem_t wake;
  atomic_bool is_ending;
  int status;
  char sentence[PTO_SENTENCE_SIZE];
  const void *calls[MOST_CALLS]; /* the fault's, as of runtime/base/call_stack.h */
  size_t call_count;
  const struct pto_message *message; /* of the kernel; NULL: in none */
  const void *address;               /* of a fault that has one */
  pto_fault_describer *describer;
  void *describer_context;
} faulted;
static char signal_stack[STACK_BYTES];

/* ---- on the faulting thread: async-signal-safe ---- */

static size_t append(size_t used, const char *text) {
  while (*text && used + 1 < sizeof faulted.sentence) faulted.sentence[used++] = *text++;
  faulted.sentence[used] = '\0';
  return used;
}

static size_t append_address(size_t used, uintptr_t address) {
  char text[2 + 2 * sizeof address + 1] = "0x";
  size_t digits = 1;
  for (uintptr_t rest = address >> 4; rest; rest >>= 4) digits++;
  for (size_t i = 0; i < digits; i++) text[2 + i] = "0123456789abcdef"[address >> 4 * (digits - 1 - i) & 15];
  text[2 + digits] = '\0';
  return append(used, text);
}

_Noreturn static void sleep_for_ever(void) {
  for (;;) pause();
}

/* " on rank 3", of the thread that faulted; nothing where the chip is alone. */
static void describe_rank(char text[32]) {
  uint32_t rank = pto_engine_current.rank_number;
  char digits[10], *to = text;
  size_t count = 0;
  if (rank-- > 0) {
    for (const char *at = " on rank "; *at; at++) *to++ = *at;
    do digits[count++] = (char)('0' + rank % 10);
    while ((rank /= 10) > 0);
    while (count > 0) *to++ = digits[--count];
  }
  *to = '\0';
}

static bool has_sender(const siginfo_t *info) {
  return info->si_code == SI_USER || info->si_code == SI_TKILL || info->si_code == SI_QUEUE;
}

static void describe(int signal, const siginfo_t *info) {
  const struct fault *fault = faults;
  while (fault < faults + FAULT_COUNT - 1 && fault->signal != signal) fault++;
  char kernel[PTO_SENTENCE_SIZE - 128];
  size_t used = append(0, fault->name);
  if (fault->has_address) {
    used = append(used, " at address ");
    used = append_address(used, (uintptr_t)info->si_addr);
    faulted.address = info->si_addr;
    pto_engine_describe_local(info->si_addr, kernel, sizeof kernel);
    used = append(used, kernel);
    if (pto_waiting_core_is_beyond_stack((uintptr_t)info->si_addr))
      used = append(used, ", below the stack of a kernel that waits (PTO_CORE_STACK_BYTES),");
  }
  if (fault->is_sent)
    used = append(used, has_sender(info)    ? ", which the program sent to its own process,"
                        : signal == SIGXCPU ? ", as the process has used up its CPU time,"
                                            : ", of a timer of its own process,");
  faulted.message = pto_engine_current.message;
  faulted.status = PTO_EKERNEL;
  /* A fault while describing comes back here nested and reports what there is so far. */
  if (pto_engine_describe_current(kernel, sizeof kernel)) {
    used = append(used, " in ");
    append(used, kernel);
  } else {
    char rank[32];
    describe_rank(rank);
    append(append(used, " outside of any kernel"), rank);
  }
  /* last: where the stack is damaged, the rest is there */
  const struct pto_message *message = faulted.message;
  faulted.call_count =
      pto_call_stack_take(message ? (const void *)(uintptr_t)message->payload->kernels[message->role]->run : NULL,
                          faulted.calls, MOST_CALLS);
}

static bool can_be_sent(int signal) {
  for (size_t i = 0; i < FAULT_COUNT; i++)
    if (faults[i].signal == signal) return faults[i].is_sent;
  return false;
}

/* Whether the process is to end by it all the same.  The kernel names the process itself as the sender of SIGPIPE where
 * it writes and no process reads; raise has a code of its own.  What has no sender is of a timer, or SIGXCPU of a
 * limit. */
static bool is_of_others(int signal, const siginfo_t *info) {
  if (!can_be_sent(signal)) return false;
  if (signal == SIGPIPE && info->si_code == SI_USER) return true;
  return has_sender(info) ? info->si_pid != getpid() : signal == SIGHUP || signal == SIGQUIT;
}

static void on_fault(int number, siginfo_t *info, void *context) {
  int unclaimed = 0, self = (int)gettid();
  if (getpid() != faulted.process || is_of_others(number, info)) {
    signal(number, SIG_DFL);
    raise(number);
    return;
  }
  if (faulted.is_installed && pthread_equal(pthread_self(), faulted.reporter)) {
    static const char message[] = "ptosim: a fault while a fault was reported\n";
    (void)!write(STDERR_FILENO, message, sizeof message - 1);
    _exit(3);
  }
  if (atomic_compare_exchange_strong_explicit(&faulted.claimed_by, &unclaimed, self, memory_order_relaxed,
                                              memory_order_relaxed))
    describe(number, info);
  else if (unclaimed != self)
    sleep_for_ever();
  sem_post(&faulted.wake);
  sleep_for_ever();
}

bool pto_fault_report_interrupt(void) {
  int unclaimed = 0;
  if (!faulted.is_installed) return false;
  if (atomic_compare_exchange_strong_explicit(&faulted.claimed_by, &unclaimed, (int)gettid(), memory_order_relaxed,
                                              memory_order_relaxed)) {
    faulted.status = PTO_EINTERRUPTED;
    append(0, "interrupted, and what ran did not end by itself");
    sem_post(&faulted.wake);
  }
  return true;
}

/* ---- functions and lines, in a process forked off ---- */

/* The second call that is shown.  Below an abort or a throw libraries have more calls than are shown: then the first in
 * the file that has the outermost one, the program's. */
static size_t find_second_shown(void) {
  size_t i = 0;
  while (i + 1 < faulted.call_count &&
         !pto_source_lines_share_file(faulted.calls[i], faulted.calls[faulted.call_count - 1]))
    i++;
  return i < SHOWN_CALLS ? 1 : i;
}

static size_t add_calls(char *text, size_t size) {
  struct pto_source_lines *lines = pto_source_lines_create();
  const size_t second = find_second_shown(), end = second - 1 + SHOWN_CALLS;
  size_t used = 0;
  for (size_t i = 0; i < faulted.call_count && i < end && used < size; i = i ? i + 1 : second) {
    char name[256];
    /* but the first, calls stand before the address that they return to */
    pto_source_lines_function(lines, (const char *)faulted.calls[i] - (i > 0), name, sizeof name);
    used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", called by " : "; in ", name);
  }
  return used;
}

static const char damaged[] =
    "; where memory of the process is damaged, as by a write behind what `malloc` gave, the same run under `valgrind` "
    "names who wrote it";

/* Where neither a kernel nor the program's own code has faulted, it may be that of before. */
static bool may_be_damaged(void) {
  const void *const own = (const void *)(uintptr_t)pto_fault_report_interrupt;
  const void *const library = (const void *)(uintptr_t)abort;
  return !faulted.message && (!faulted.call_count || pto_source_lines_share_file(faulted.calls[0], own) ||
                              pto_source_lines_share_file(faulted.calls[0], library));
}

_Noreturn static void explain(int fd) {
  char text[PTO_SENTENCE_SIZE / 2] = "";
  size_t used;
  for (size_t i = 0; i < FAULT_COUNT; i++) signal(faults[i].signal, SIG_DFL);
  signal(SIGALRM, SIG_DFL);
  alarm(PLACE_SECONDS);
  used = add_calls(text, sizeof text);
  if (faulted.describer && used + 2 < sizeof text) {
    char *const more = text + used + 2;
    faulted.describer(faulted.describer_context, faulted.message, faulted.address, more, sizeof text - used - 2);
    if (*more) memcpy(text + used, "; ", 2);
  }
  used = strnlen(text, sizeof text);
  if (may_be_damaged()) snprintf(text + used, sizeof text - used, "%s", damaged);
  (void)!write(fd, text, strnlen(text, sizeof text));
  _exit(0);
}

/* _Fork takes no locks: who holds them may be stuck.  The child ends by its alarm where it is. */
static void add_explanation(void) {
  int ends[2];
  const size_t used = strlen(faulted.sentence);
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  const pid_t child = _Fork();
  if (child == 0) explain(ends[1]);
  close(ends[1]);
  if (child > 0) {
    const ssize_t count = read(ends[0], faulted.sentence + used, sizeof faulted.sentence - 1 - used);
    faulted.sentence[used + (count > 0 ? (size_t)count : 0)] = '\0';
    if (count <= 0 && !faulted.message) append(used, damaged); /* nor could that process use it */
    (void)waitpid(child, NULL, 0);
  }
  close(ends[0]);
}

/* ---- on ordinary threads ---- */

static void *report_main(void *unused) {
  while (sem_wait(&faulted.wake) != 0 && errno == EINTR) {
  }
  /* Acquire: pairs with the release in fini; the sentence itself is handed over by the semaphore. */
  if (atomic_load_explicit(&faulted.is_ending, memory_order_acquire)) return NULL;
  if (faulted.status == PTO_EKERNEL) add_explanation();
  if (isatty(STDERR_FILENO)) (void)!write(STDERR_FILENO, "\r\033[K", 4); /* a progress line */
  faulted.report(faulted.context, faulted.status, faulted.sentence);
  return NULL;
}

/* A file that is too large is an error of its write. */
static void on_no_room(int number) { (void)number; }

static bool install(size_t index) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_fault;
  /* NODEFER: a second fault of the same kind must come back to the handler instead of killing the process unheard. */
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  if (sigaction(faults[index].signal, NULL, &faulted.old_actions[index]) != 0) return false;
  if (faults[index].is_sent && faulted.old_actions[index].sa_handler == SIG_IGN) return true;
  return sigaction(faults[index].signal, &action, NULL) == 0;
}

/* ---- a program that ends the process ---- */

/* On its thread. */
_Noreturn static void end(const char *deed) {
  int unclaimed = 0;
  char kernel[PTO_SENTENCE_SIZE - 256], text[PTO_SENTENCE_SIZE];
  if (!atomic_compare_exchange_strong_explicit(&faulted.claimed_by, &unclaimed, (int)gettid(), memory_order_relaxed,
                                               memory_order_relaxed))
    sleep_for_ever();
  char rank[32];
  const bool is_in_kernel = pto_engine_describe_current(kernel, sizeof kernel);
  describe_rank(rank);
  snprintf(text, sizeof text, "the program %.160s%s%s%s", deed, rank, is_in_kernel ? " in " : ", outside of any kernel",
           is_in_kernel ? kernel : "");
  faulted.report(faulted.context, PTO_EKERNEL, text);
  sleep_for_ever();
}

/* Not in a process forked off. */
static bool is_due(void) { return faulted.process == getpid(); }

static void on_exit_called(int status, void *unused) {
  char deed[64];
  snprintf(deed, sizeof deed, "ended the process by exit(%d)", status);
  if (is_due()) end(deed);
}

static void on_quick_exit_called(void) {
  if (is_due()) end("ended the process by quick_exit");
}

int pto_fault_report_init(pto_fault_reporter *report, void *context, struct pto_error *error) {
  static bool is_watched;
  faulted.first_report = report;
  faulted.first_context = context;
  pto_fault_report_give_back();
  faulted.address = NULL;
  faulted.call_count = 0;
  atomic_store_explicit(&faulted.claimed_by, 0, memory_order_relaxed);
  atomic_store_explicit(&faulted.is_ending, false, memory_order_relaxed);
  faulted.process = getpid();
  signal(SIGXFSZ, on_no_room);
  pto_process_calls_watch(is_due, end);
  if (!is_watched) is_watched = on_exit(on_exit_called, NULL) == 0 && at_quick_exit(on_quick_exit_called) == 0;
  if (PTO_HAS_SANITIZER || pto_is_under_valgrind()) return PTO_OK;
  int reason = 0;
  if (sem_init(&faulted.wake, 0, 0) != 0) return pto_error_set(error, PTO_ESYSTEM, "no semaphore: %s", strerror(errno));
  if (!pto_thread_start(&faulted.reporter, report_main, NULL, &reason)) {
    sem_destroy(&faulted.wake);
    return pto_error_set(error, PTO_ESYSTEM, "no thread to report faults: %s", strerror(reason));
  }
  const stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
  sigaltstack(&stack, NULL);
  faulted.is_installed = true;
  for (size_t i = 0; i < FAULT_COUNT; i++)
    if (!install(i)) {
      int status = pto_error_set(error, PTO_ESYSTEM, "no handler for %s: %s", faults[i].name, strerror(errno));
      /* Those that follow are not ours yet: put back what they are. */
      for (; i < FAULT_COUNT; i++) sigaction(faults[i].signal, NULL, &faulted.old_actions[i]);
      pto_fault_report_fini();
      return status;
    }
  return PTO_OK;
}

void pto_fault_report_fini(void) {
  if (!faulted.is_installed) {
    faulted.process = 0;
    return;
  }
  for (size_t i = 0; i < FAULT_COUNT; i++) sigaction(faults[i].signal, &faulted.old_actions[i], NULL);
  const stack_t none = {.ss_flags = SS_DISABLE};
  sigaltstack(&none, NULL);
  atomic_store_explicit(&faulted.is_ending, true, memory_order_release);
  sem_post(&faulted.wake);
  pthread_join(faulted.reporter, NULL);
  sem_destroy(&faulted.wake);
  faulted.is_installed = false;
  faulted.process = 0;
}

void pto_fault_report_take(pto_fault_reporter *report, void *context) {
  faulted.report = report;
  faulted.context = context;
}

void pto_fault_report_give_back(void) {
  pto_fault_report_take(faulted.first_report, faulted.first_context);
  faulted.describer = NULL;
}

void pto_fault_report_on_timeout(void *context, const char *sentence) {
  int unclaimed = 0;
  if (!atomic_compare_exchange_strong_explicit(&faulted.claimed_by, &unclaimed, (int)gettid(), memory_order_relaxed,
                                               memory_order_relaxed))
    sleep_for_ever();
  faulted.report(faulted.context, PTO_ETIMEOUT, sentence);
}

void pto_fault_report_set_describer(pto_fault_describer *describer, void *context) {
  faulted.describer = describer;
  faulted.describer_context = context;
}

void pto_fault_report_say(void *context, int status, const char *sentence) {
  char line[PTO_SENTENCE_SIZE + 32];
  const int length = snprintf(line, sizeof line, "ptosim: %s%s\n", context ? (const char *)context : "", sentence);
  if (length > 0) (void)!write(STDERR_FILENO, line, strnlen(line, sizeof line));
  _exit(pto_exit_of_run(status));
}
