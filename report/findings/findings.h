/* SPDX-License-Identifier: MIT */
/*
 * Findings: what the verbs that judge a program (check, explore, task, …) have to say against it, in the order found.
 *
 * Owns copies of all sentences until fini.  Findings of one group (the same mistake at many tasks) are one line for
 * people: the first is printed, the others are counted.  --json has them all, up to PTO_FINDINGS_MAX; beyond, only the
 * first of each group is kept, and the others are counted alone.
 *
 * Always true: total ≥ count and total ≥ of_manual; kinds marked a note are printed and do not change the verdict;
 * is_clean ⇔ none is counted that is no note.
 *
 * One thread.  To add a kind: a line in PTO_FINDING_LIST.
 */
#ifndef PTO_REPORT_FINDINGS_FINDINGS_H
#define PTO_REPORT_FINDINGS_FINDINGS_H

#include <runtime/base/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <formats/json_writer.h>
#include <report/findings/source_lines.h>

/* How a finding was decided.  X(constant, name in JSON, what it means) */
#define PTO_DECIDED_LIST(X)                                                                                            \
  X(ALL_ORDERS, "all orders", "for every order in which tasks may run: by what they declare, or by trying each order") \
  X(THIS_ORDER, "this order", "by what happened in this run")                                                          \
  X(SAMPLED, "sampled", "by runs of calls over other bytes, or in other orders: more may be there")
enum pto_decided {
  PTO_DECIDED_OF_KIND, /* of a finding: as its kind says */
#define X(constant, name, meaning) PTO_DECIDED_##constant,
  PTO_DECIDED_LIST(X)
#undef X
      PTO_DECIDED_COUNT
};

/* X(kind, name in JSON and at the head of the line, whether it is a note alone, how it is decided, what it means,
 *   the remedy where the finding has none of its own) */
#define PTO_FINDING_LIST(X)                                                                                            \
  X(PTO_FINDING_RAW, "RAW", false, ALL_ORDERS, "a read that nothing orders after an earlier write of the same bytes",  \
    "add `after` the earlier task")                                                                                    \
  X(PTO_FINDING_WAW, "WAW", false, ALL_ORDERS, "a write that nothing orders after an earlier write of the same bytes", \
    "add `after` the earlier task")                                                                                    \
  X(PTO_FINDING_WAR, "WAR", false, ALL_ORDERS, "a write that nothing orders after an earlier read of the same bytes",  \
    "add `after` the earlier task")                                                                                    \
  X(PTO_FINDING_RELEASED, "released", false, ALL_ORDERS,                                                               \
    "a tensor is used after the scope that keeps its memory has ended", "let the scope end behind this use")           \
  X(PTO_FINDING_BEYOND, "beyond array", false, ALL_ORDERS,                                                             \
    "a tensor has bytes behind the end of the array that it is registered over",                                       \
    "register it as large as the array is")                                                                            \
  X(PTO_FINDING_STACK, "stack", false, ALL_ORDERS,                                                                     \
    "a tensor lies over a local variable of the orchestration, which waits for nothing before that is gone",           \
    "give it memory that lasts until the run ends: `pto_program_alloc(run, size_bytes)`")                              \
  X(PTO_FINDING_REDUNDANT, "redundant", true, ALL_ORDERS, "an explicit edge that other edges imply",                   \
    "take it out of `after`")                                                                                          \
  X(PTO_FINDING_BLOCKS, "blocks", false, THIS_ORDER,                                                                   \
    "blocks or cores of one task touch the same bytes, and one writes them", "let one of the two alone write them")    \
  X(PTO_FINDING_WRITE_OUTSIDE, "write outside", false, THIS_ORDER,                                                     \
    "a kernel wrote bytes that its task does not declare",                                                             \
    "declare them, `pto_inout` of a view that has them, or keep the kernel to the shapes and strides of its "          \
    "parameters")                                                                                                      \
  X(PTO_FINDING_WRITE_INPUT, "write input", false, THIS_ORDER, "a kernel wrote through an INPUT",                      \
    "declare the parameter INOUT, as with `pto_inout`")                                                                \
  X(PTO_FINDING_READ_OUTSIDE, "read outside", false, SAMPLED,                                                          \
    "a kernel's results depend on bytes that its task does not declare",                                               \
    "declare them, `pto_input` of a view that has them, or keep the kernel to the shapes and strides of its "          \
    "parameters")                                                                                                      \
  X(PTO_FINDING_READ_OUTPUT, "read output", false, SAMPLED, "a kernel's results depend on what an OUTPUT held before", \
    "declare the parameter INOUT, as with `pto_inout`")                                                                \
  X(PTO_FINDING_READ_UNWRITTEN, "read unwritten", false, SAMPLED,                                                      \
    "a kernel's results, a predicate or the host depend on bytes that were never written",                             \
    "let an earlier task write them, with `pto_output` of a view that has them, or let this one not read them")        \
  X(PTO_FINDING_NOT_WRITTEN, "not written", false, THIS_ORDER, "an OUTPUT has bytes that the kernel did not write",    \
    "declare OUTPUT what it writes alone, or `pto_inout` where the rest is to stay as it was")                         \
  X(PTO_FINDING_UNFILLED, "unfilled", true, ALL_ORDERS,                                                                \
    "an output of the program has elements that no task declares to write",                                            \
    "let a task write them, or give the array its values first")                                                       \
  X(PTO_FINDING_UNSTABLE, "unstable", false, SAMPLED, "a kernel gives different results for the same arguments",       \
    "keep nothing from one run to the next: pass what varies as a scalar, or in a tensor")                             \
  X(PTO_FINDING_STATE, "state", false, THIS_ORDER, "a kernel changed a static variable, which outlives its call",      \
    "make it a local variable of the kernel, or keep it in a tensor of the task, `pto_inout`")                         \
  X(PTO_FINDING_ADDRESS, "address", false, THIS_ORDER,                                                                 \
    "a scalar holds the address of memory that its task does not declare", "pass a tensor")                            \
  X(PTO_FINDING_MODE, "mode", false, SAMPLED, "a kernel does not do what a mode or a flag of its declaration says",    \
    "declare what the kernel does")                                                                                    \
  X(PTO_FINDING_LOCAL, "local", false, THIS_ORDER, "a kernel writes more local memory than its cost states",           \
    "let its cost state all of it in `local_bytes`")                                                                   \
  X(PTO_FINDING_PLACEMENT, "placement", false, SAMPLED, "a kernel's results depend on where its tensors lie",          \
    "compute with elements and offsets, not with addresses or numbers of cores")                                       \
  X(PTO_FINDING_NEAR, "near", true, THIS_ORDER,                                                                        \
    "two blocks or cores of one task write closer to each other than one store does",                                  \
    "let each part begin at a multiple of 32 bytes")                                                                   \
  X(PTO_FINDING_UNNEEDED, "unneeded", true, SAMPLED,                                                                   \
    "a kernel declares a mode or a flag that none of its calls needs", "declare what the kernel does")                 \
  X(PTO_FINDING_CORES, "cores", false, SAMPLED,                                                                        \
    "cores that wait for each other touch the same bytes, one writes them, and nothing orders the two",                \
    "order them with `pto_core_signal` and `pto_core_wait`")                                                           \
  X(PTO_FINDING_NOT_TAKEN, "not taken", false, THIS_ORDER,                                                             \
    "a signal or an element that no core took before its task ended",                                                  \
    "take each with `pto_core_wait` or `pto_core_pop`, or do not send it")                                             \
  X(PTO_FINDING_STUCK, "stuck", false, THIS_ORDER, "cores of a task wait for each other for ever",                     \
    "let each wait have a call of another core that ends it")                                                          \
  X(PTO_FINDING_WAITS, "waits", false, THIS_ORDER, "a rank waits for another one for ever",                            \
    "let each rank that is waited for come to `pto_core_notify` without waiting for this one first")                   \
  X(PTO_FINDING_PARTICIPATION, "participation", false, ALL_ORDERS,                                                     \
    "ranks of a communicator submit different collectives",                                                            \
    "submit the collectives of a communicator in one order on all of its ranks")                                       \
  X(PTO_FINDING_LEFT_OVER, "left over", true, THIS_ORDER,                                                              \
    "a notify that no wait was for, or a put that nothing reads",                                                      \
    "wait for it with `pto_core_wait_signal`, or do not notify it")                                                    \
  X(PTO_FINDING_ORDER, "order", false, SAMPLED, "the result depends on the order of tasks",                            \
    "declare all that the kernels touch, and let the orchestration wait for what it reads")                            \
  X(PTO_FINDING_REFUSED, "refused", false, THIS_ORDER,                                                                 \
    "a submit or a call on a context was refused, and the program went on",                                            \
    "mend this call, and let the program end where a call does not return PTO_OK")                                     \
  X(PTO_FINDING_REPEATS, "repeats", false, THIS_ORDER,                                                                 \
    "a program that says `repeats` would submit something else the next time",                                         \
    "take `repeats` out, or submit the same each time")                                                                \
  X(PTO_FINDING_BORROWED, "borrowed", false, SAMPLED,                                                                  \
    "memory that a queued dispatch borrows is changed before it is carried out",                                       \
    "sync the context before you change it, or give each dispatch memory of its own")                                  \
  X(PTO_FINDING_READ_EARLY, "read early", true, THIS_ORDER,                                                            \
    "a device tensor is read, by a dispatch or the host, before it has its first values",                              \
    "write it before the dispatch")                                                                                    \
  X(PTO_FINDING_WRONG, "wrong", false, THIS_ORDER, "the output is not what the program expects",                       \
    "mend the kernel that `ptosim check --observe` names; where it names none, what the tasks are given, or what the " \
    "program expects")                                                                                                 \
  X(PTO_FINDING_FAILED, "failed", false, THIS_ORDER, "the run ended with an error",                                    \
    "mend this first: what comes behind it was not judged")                                                            \
  X(PTO_FINDING_DIFFERENCE, "difference", false, THIS_ORDER, "two runs, graphs or results are not the same", NULL)

enum pto_finding_kind {
#define X(kind, name, is_note, decided, meaning, remedy) kind,
  PTO_FINDING_LIST(X)
#undef X
      PTO_FINDING_COUNT
};

/* The remedy for two dispatches of a context, none of which knows the tasks of the other. */
#define PTO_FINDING_SYNC_BETWEEN "sync the context between the two dispatches, or bind another tensor"
/* A read of an element of a tensor t, which waits for who writes it. */
#define PTO_FINDING_READ_LINE "`pto_read_element(rt, &t, index, &value)`"
struct pto_trace;
#define PTO_FINDING_GIVEN 7u /* tasks in the list of a line that gives `after`, but for the one to add */
/* Two tasks, of which the second is to come after the first. */
struct pto_finding_after {
  uint64_t tasks[2];
  uint64_t launches[2];              /* of recorded tasks that they are parts of (part_of of struct pto_trace_task) */
  const char *file;                  /* where the second was submitted; "": not known */
  uint64_t given[PTO_FINDING_GIVEN]; /* the first ones that it comes after by itself */
  uint32_t given_count;              /* how many there are */
};
/* Takes over all but the file. */
struct pto_finding_after pto_finding_after_of(const struct pto_trace *trace, const uint64_t tasks[2], const char *file);
/* "add `after` task 5 to task 6: `.after = &task_5, .after_count = 1`", task_5 being the task that the submit of task 5
 * gave; a list has those too that the program gives already.  As the source's language has it: no line in C++, which
 * has several ways.  Of a launch of recorded tasks the program has a handle of the whole alone, and gives `after` to
 * the whole.  Returns `text`. */
const char *pto_finding_say_after(const struct pto_finding_after *after, char *text, size_t size);
#define PTO_FINDING_AFTER 480    /* bytes of that, with its end */
#define PTO_FINDING_COMMAND 2048 /* bytes of a command, with its end */
/* Kept one by one; of more, the first of each group. */
#define PTO_FINDINGS_MAX 10000u
/* A task, or a parameter, that a finding has not. */
#define PTO_FINDING_NONE UINT64_MAX

/* Initialises a finding of a whole run. */
#define PTO_FINDING_OF_RUN(of)                                                                                         \
  .kind = (of), .tasks = {PTO_FINDING_NONE, PTO_FINDING_NONE}, .params = {PTO_FINDING_NONE, PTO_FINDING_NONE}

/* Of fields of two, index 0 is the earlier access, 1 the later; the host has no task number. */
struct pto_finding {
  uint32_t kind;                    /* enum pto_finding_kind */
  uint64_t tasks[2];                /* numbers in submission order; PTO_FINDING_NONE */
  uint64_t params[2];               /* of tasks[i]; PTO_FINDING_NONE */
  struct pto_source_call places[2]; /* where tasks[i] was submitted */
  char kernels[2][48];              /* what tasks[i] runs; "": not known */
  char arrays[2][80];               /* what they touch, as the sentence says it: "buffer 5 (x)"; "": not known */
  char extents[2][64];              /* which part of that: "[0:16]", "bytes 0:64"; "": not known */
  const char *rule;                 /* the named rule of dependencies that looks away; a constant, NULL: none does */
  uint64_t group;                   /* equal: the same mistake */
  bool has_ranks;                   /* of a world, and then: */
  uint64_t ranks[2];                /* that tasks[i] is of; PTO_FINDING_NONE */
  bool is_of_calls_before;          /* of what these left: its task alone does not show it */
  bool is_manual;                   /* between two tasks of manual scopes, whose declarations order nothing */
  char *sentence;                   /* without the kind's name; ends with the remedy */
  char *remedy;                     /* that alone: "add `after` task 17 to …"; NULL: the kind has none */
  uint64_t more;                    /* of the first of a group: how many others there are */
  enum pto_decided decided;         /* PTO_DECIDED_OF_KIND: by what its kind is decided by */
};

struct pto_findings {
  struct pto_finding *items;
  size_t count, capacity;
  uint64_t total;                      /* found, notes not counted */
  uint64_t of_manual;                  /* of them, those that are marked is_manual */
  uint64_t by_kind[PTO_FINDING_COUNT]; /* found, kept or not */
  bool is_short;                       /* memory was refused: some are missing */
  const char *command;                 /* that found them, for a shell; borrowed, set after init.  NULL: not known */
};

void pto_findings_init(struct pto_findings *findings);
void pto_findings_fini(struct pto_findings *findings);

/* Gives away what has been found so far, to who calls pto_findings_destroy; `from` is empty then.  False: no memory,
 * now or for one of them. */
PTO_MUST_CHECK bool pto_findings_give(struct pto_findings *from, struct pto_findings **findings_out);

/* Keeps a copy of `finding` (its sentence and remedy are ignored) with this sentence and, after "; ", the remedy; NULL:
 * that of its kind. */
void pto_findings_add(struct pto_findings *findings, const struct pto_finding *finding, const char *remedy,
                      const char *format, ...) PTO_PRINTF(4, 5);
/* "; submitted at a.c:12", "; submitted at a.c:12 and a.c:19" of two tasks, "" where a place is missing: what a
 * sentence says of its places.  Returns `text`. */
const char *pto_finding_say_places(const struct pto_finding *finding, char *text, size_t size);
/* Whether it will be counted alone, so that it needs no sentence. */
bool pto_findings_counts_alone(const struct pto_findings *findings, const struct pto_finding *finding);
/* Whether the finding of this index is the first of its group: the one that says how many there are. */
bool pto_findings_is_first(const struct pto_findings *findings, size_t index);
static inline bool pto_findings_is_clean(const struct pto_findings *findings) { return findings->total == 0; }
/* The shell command that shows the finding again, narrowed to it where possible: `why` of its two tasks, --observe of
 * its own.  `text` or findings->command; NULL where no command is known. */
const char *pto_finding_again(const struct pto_findings *findings, const struct pto_finding *finding, char *text,
                              size_t size);
const char *pto_finding_kind_name(uint32_t kind);
bool pto_finding_kind_is_note(uint32_t kind);
const char *pto_finding_kind_meaning(uint32_t kind);
enum pto_decided pto_finding_kind_decided(uint32_t kind);
enum pto_decided pto_finding_decided(const struct pto_finding *finding);
const char *pto_decided_name(enum pto_decided decided);
const char *pto_decided_meaning(enum pto_decided decided);

/* One line a group, "WAR: task 17 …; add `after` task 17 to task 18: …", with how many more there are like it and how
 * it was decided
 * ("[all orders]"), and below it a command that shows less than the one that was given; notes last.  At most
 * `max_lines` findings (0: all), then how many were left out. */
void pto_findings_print(const struct pto_findings *findings, FILE *stream, uint32_t max_lines);
/* What text and SARIF say where findings.is_short. */
#define PTO_FINDINGS_LOST "memory ran out: there are more than are told here"
/* Keys "ranks" (where it has them), "tasks", "params", "kernels", "arrays", "extents" into the object that is open. */
void pto_finding_put_accesses(const struct pto_finding *finding, struct pto_json_writer *w);
/* Keys "finding_count", "findings_lost" and "findings" (an array, docs/json.md) into the object that is open. */
void pto_findings_put_json(const struct pto_findings *findings, struct pto_json_writer *w);

#endif
