/* SPDX-License-Identifier: MIT */
/*
 * Whichever allocation fails, the calls of pto/tools.h end with the answer that they give without a failure, or with a
 * refusal and a sentence, and a session goes on or can be closed (tests/support/memory_scenarios.h).  A run that the
 * machine has lost is no answer: it is no finding, and no difference.
 *
 * The program is two_tasks.h, in virtual time.
 *
 * In no scenario, as they allocate nothing: pto_tools_interrupts_begin and _end, and what asks of findings, reports and
 * arrays is in all.  Programs of files are left out, as dlopen ends the process without memory (docs/limits.md), and so
 * are lines of sources (tests/support/no_source_lines.h).  Numbers in texts and results are not compared where time is
 * told.
 */
#include <tests/support/memory_scenarios.h>

#include <ftw.h>
#include <sys/stat.h>

#include <pto/pto.h>
#include <pto/tools.h>
#include <tests/check/two_tasks.h>
#include <tests/support/no_source_lines.h>
#include <tests/support/test_folder.h>

/* ---- calls of every scenario ---- */

static const char *const unordered[] = {"ordered=false"}, *const beyond[] = {"beyond=true"};
static char sentence[PTO_SENTENCE_SIZE];
static struct pto_config config = {
    .size = sizeof config, .engine = "virtual", .chip = "tiny", .window = 64, .heap_bytes = 1 << 16};

static struct pto_session_options options_for(const struct pto_program *program, const char *const *setting) {
  config.record = pto_export_record("trace");
  return (struct pto_session_options){.size = sizeof(struct pto_session_options),
                                      .made = program,
                                      .settings = {setting, setting != NULL},
                                      .config = &config};
}

/* A session whose run has ended, without failures. */
static struct pto_session *ready(const struct pto_program *program, const char *const *setting) {
  const struct pto_session_options options = options_for(program, setting);
  struct pto_session *session = NULL;
  memory_pause();
  if (pto_session_open(&options, &session, sentence, sizeof sentence)) fail_msg("%s", sentence);
  if (pto_session_run(session)) fail_msg("%s", pto_session_error(session));
  memory_resume();
  return session;
}

/* Leaves out numbers and units of time, as real time is told. */
static size_t mask(char *text, size_t size) {
  size_t used = 0;
  for (size_t i = 0; i < size;) {
    const size_t digits = strspn(text + i, "0123456789.");
    i += digits;
    if (digits && text[i] == 'e') i += 1 + strspn(text + i + 1, "+-0123456789");
    text[used++] = digits ? '#' : text[i++];
    if (digits && text[i] == ' ' && strchr("mun", text[i + 1]) && text[i + 2] == 's') i += 3;
  }
  return used;
}
static void compare_masked_file(uint32_t index, const char *path, int line) {
  static char text[KEPT_BYTES + 1];
  if (trial.is_over) return;
  const size_t size = memory_read(path, text, KEPT_BYTES, line);
  text[size] = '\0';
  memory_compare(index, text, mask(text, size), line);
}
#define FILE_LIKE_KEPT(index, path) compare_masked_file(index, path, __LINE__)

/* All that findings say. */
static void compare_findings(uint32_t index, const struct pto_findings *findings, int line) {
  static char text[8192];
  size_t used = 0;
  if (trial.is_over) return;
  for (uint32_t i = 0; i < pto_findings_count(findings); i++) {
    struct pto_found found = {.size = sizeof found};
    memory_check(pto_findings_at(findings, i, &found), "a finding", line);
    used += (size_t)snprintf(text + used, sizeof text - used, "%s %d %llu %llu %s %s %s\n", found.kind, found.is_note,
                             (unsigned long long)found.tasks[0], (unsigned long long)found.tasks[1], found.sentence,
                             found.remedy ? found.remedy : "", found.decided);
    memory_check(used < sizeof text, "room", line);
  }
  used += (size_t)snprintf(text + used, sizeof text - used, "%llu", (unsigned long long)pto_findings_total(findings));
  memory_compare(index, text, mask(text, used), line);
}
#define FINDINGS_AS_KEPT(index, findings) compare_findings(index, findings, __LINE__)

static char printed[8192];
static FILE *open_print(void) {
  memory_pause();
  memset(printed, 0, sizeof printed);
  FILE *stream = fmemopen(printed, sizeof printed, "w");
  assert_non_null(stream);
  setbuf(stream, NULL);
  memory_resume();
  return stream;
}
static void close_print(FILE *stream) {
  memory_pause();
  assert_int_equal(fclose(stream), 0);
  memory_resume();
}

/* What a report prints and writes, and finds; then it goes. */
static void take_report(uint32_t index, struct pto_report *report) {
  const char *path = path_of("report.json");
  FILE *stream = open_print();
  if (!trial.is_over) pto_report_print(report, stream);
  close_print(stream);
  AS_KEPT(index, printed, mask(printed, strlen(printed)));
  CALL(pto_report_write(report, path, sentence, sizeof sentence), sentence);
  FILE_LIKE_KEPT(index + 1, path);
  (void)unlink(path);
  pto_report_destroy(report);
}

/* ---- scenarios ---- */

static void session(const void *unused) {
  char output[300];
  snprintf(output, sizeof output, "z=%s", path_of("z.npy"));
  const char *outputs[] = {output};
  struct pto_session_options options = options_for(&made, NULL);
  options.outputs = (struct pto_words){outputs, 1};
  options.rounds = 2;
  struct pto_session *s = NULL;
  uint64_t size_bytes = 0;
  CALL(pto_session_open(&options, &s, sentence, sizeof sentence), sentence);
  CALL_ONCE(pto_session_run(s), pto_session_error(s));
  CALL_ONCE(pto_session_verify(s), pto_session_error(s));
  const float *x = trial.is_over ? NULL : pto_session_array(s, "x", NULL);
  const float *z = trial.is_over ? NULL : pto_session_array(s, "z", &size_bytes);
  CHECK(size_bytes == NUMEL * sizeof *z);
  for (uint32_t i = 0; i < NUMEL; i++) CHECK(z[i] == 4 * x[i]);
  CALL(pto_session_write_outputs(s, sentence, sizeof sentence), sentence);
  FILE_AS_KEPT(0, path_of("z.npy"));
  CALL(pto_session_account(s, sentence, sizeof sentence), sentence);
  CALL(pto_session_write_result(s, path_of("result.json"), sentence, sizeof sentence), sentence);
  FILE_LIKE_KEPT(1, path_of("result.json"));
  FILE *stream = open_print();
  if (!trial.is_over) pto_session_print_result(s, stream);
  close_print(stream);
  AS_KEPT(2, printed, mask(printed, strlen(printed)));
  pto_session_close(s);
  (void)unlink(path_of("z.npy"));
  (void)unlink(path_of("result.json"));
}

static void exports(const void *unused) {
  static const char *const names[][2] = {{"trace", "t.json"},   {"trace", "t.pftrace"}, {"trace", "t.et"},
                                         {"report", "r.html"},  {"dot", "d.dot"},       {"deps-json", "d.json"},
                                         {"waits-dot", "w.dot"}};
  struct pto_session *s = ready(&made, NULL);
  memory_pause();
  assert_int_equal(pto_session_account(s, sentence, sizeof sentence), PTO_OK);
  memory_resume();
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(names); i++) {
    const char *path = path_of(names[i][1]);
    CALL(pto_session_export(s, names[i][0], path, sentence, sizeof sentence), sentence);
    FILE_LIKE_KEPT(i, path);
    (void)unlink(path);
  }
  pto_session_close(s);
}

static void judges(const void *unused) {
  const struct pto_why_request request = {.size = sizeof request, .tasks = {0, 1}};
  struct pto_session *s = ready(&made, unordered);
  struct pto_findings *findings = NULL;
  struct pto_report *report = NULL;
  CALL(pto_session_check(s, PTO_DEPS_EXACT, &findings, sentence, sizeof sentence), sentence);
  CHECK(pto_findings_total(findings) == 1);
  FINDINGS_AS_KEPT(0, findings);
  CALL(pto_findings_write(findings, path_of("f.json"), sentence, sizeof sentence), sentence);
  FILE_LIKE_KEPT(1, path_of("f.json"));
  (void)unlink(path_of("f.json"));
  CALL(pto_session_why(s, &request, &report, sentence, sizeof sentence), sentence);
  CHECK(!pto_report_is_clean(report));
  take_report(2, report);
  pto_findings_destroy(findings);
  pto_session_close(s);
}

static void baseline(const void *unused) {
  struct pto_session *s = ready(&made, NULL);
  struct pto_baseline *first = NULL, *second = NULL;
  const char *path = path_of("baseline.json");
  CALL(pto_baseline_open(path, true, &first, sentence, sizeof sentence), sentence);
  CALL(pto_baseline_put(first, "made", s, sentence, sizeof sentence), sentence);
  CALL(pto_baseline_compare(first, "made", s, sentence, sizeof sentence), sentence);
  CALL(pto_baseline_write(first, path, sentence, sizeof sentence), sentence);
  FILE_AS_KEPT(0, path);
  CALL(pto_baseline_open(path, false, &second, sentence, sizeof sentence), sentence);
  CALL(pto_baseline_compare(second, "made", s, sentence, sizeof sentence), sentence);
  pto_baseline_close(first);
  pto_baseline_close(second);
  pto_session_close(s);
  (void)unlink(path);
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *at) {
  (void)about, (void)kind, (void)at;
  return remove(path);
}
/* Removes what a capture of task 0 has left, whole or not. */
static void remove_captured(void) {
  memory_pause();
  (void)nftw(path_of("kept"), remove_one, 4, FTW_DEPTH | FTW_PHYS);
  memory_resume();
}

static void capture(const void *unused) {
  const struct pto_session_options options = options_for(&copying, NULL);
  struct pto_session *s = NULL;
  struct pto_report *report = NULL;
  uint64_t count = 0;
  memory_pause();
  assert_int_equal(pto_session_open(&options, &s, NULL, 0), PTO_OK);
  memory_resume();
  CALL(pto_session_capture(s, "0", path_of("kept"), sentence, sizeof sentence), sentence);
  CALL_ONCE(pto_session_run(s), pto_session_error(s));
  CALL_ONCE(pto_session_captured(s, &count, sentence, sizeof sentence), sentence);
  CHECK(count == 1);
  pto_session_close(s);
  const struct pto_replay_request request = {.size = sizeof request, .folder = path_of("kept/0"), .runs = 2};
  CALL_ONCE(pto_tools_replay(&request, &report, sentence, sizeof sentence), sentence);
  CHECK(pto_report_is_clean(report));
  take_report(0, report);
  remove_captured();
}

/* The graph of a run, which is there for all runs of the scenario. */
static void write_graph(const char *path, const char *const *setting) {
  if (access(path, F_OK) == 0) return;
  struct pto_session *s = ready(&made, setting);
  memory_pause();
  assert_int_equal(pto_session_export(s, "deps-json", path, NULL, 0), PTO_OK);
  pto_session_close(s);
  memory_resume();
}

static void differences(const void *unused) {
  char paths[2][300];
  struct pto_report *report = NULL;
  for (int i = 0; i < 2; i++) {
    snprintf(paths[i], sizeof paths[i], "%s", path_of(i ? "b.json" : "a.json"));
    write_graph(paths[i], i ? unordered : NULL);
  }
  CALL(pto_tools_diff(paths[0], paths[1], &report, sentence, sizeof sentence), sentence);
  CHECK(!pto_report_is_clean(report));
  if (!trial.is_over) FINDINGS_AS_KEPT(4, pto_report_findings(report));
  take_report(0, report);
  report = NULL;
  struct pto_session_options ordered = options_for(&made, NULL), other = options_for(&made, unordered);
  ordered.program = other.program = "made";
  CALL(pto_tools_diff_programs(&ordered, &other, &report, sentence, sizeof sentence), sentence);
  CHECK(!pto_report_is_clean(report));
  take_report(2, report);
}

static struct pto_findings *found;
static void drop_found(void) {
  pto_findings_destroy(found);
  found = NULL;
}

/* The findings of a judge that runs the program: they may be given where it has failed, too. */
#define JUDGE(index, call)                                                                                             \
  found = NULL;                                                                                                        \
  CALL_CLEARED(call, sentence, drop_found());                                                                          \
  if (!trial.is_over) FINDINGS_AS_KEPT(index, found);                                                                  \
  drop_found()

static void observe(const void *unused) {
  const struct pto_session_options right = options_for(&made, NULL), wrong = options_for(&made, beyond);
  JUDGE(0, pto_tools_observe(&right, NULL, &found, sentence, sizeof sentence));
  JUDGE(1, pto_tools_observe(&wrong, NULL, &found, sentence, sizeof sentence));
}

static void observe_ranks(const void *unused) {
  const struct pto_session_options wrong = options_for(&made, beyond);
  const struct pto_observe_request two = {.size = sizeof two, .ranks = 2};
  JUDGE(0, pto_tools_observe(&wrong, &two, &found, sentence, sizeof sentence));
}

static void explore(const void *unused) {
  const struct pto_explore_request some = {.size = sizeof some, .schedules = 4},
                                   all = {.size = sizeof all, .is_all = 1};
  const struct pto_session_options right = options_for(&made, NULL), wrong = options_for(&made, unordered);
  JUDGE(0, pto_tools_explore(&right, &some, &found, sentence, sizeof sentence));
  JUDGE(1, pto_tools_explore(&wrong, &all, &found, sentence, sizeof sentence));
}

static void check_ranks(const void *unused) {
  const struct pto_session_options wrong = options_for(&made, unordered);
  JUDGE(0, pto_tools_check_ranks(&wrong, 2, &found, sentence, sizeof sentence));
}

static void explore_ranks(const void *unused) {
  const struct pto_session_options right = options_for(&made, NULL);
  JUDGE(0, pto_tools_explore_ranks(&right, 2, 3, &found, sentence, sizeof sentence));
}

static const struct memory_scenario scenarios[] = {
    {"a session runs and tells its result", session, NULL},
    {"exports are whole", exports, NULL},
    {"what is unordered is found and explained", judges, NULL},
    {"a baseline is written and compared", baseline, NULL},
    {"a task is captured and replayed", capture, NULL},
    {"graphs are compared", differences, NULL},
    {"it is observed", observe, NULL},
    {"it is observed on ranks", observe_ranks, NULL},
    {"it is explored", explore, NULL},
    {"it is checked on ranks", check_ranks, NULL},
    {"it is explored on ranks", explore_ranks, NULL},
};

int main(void) {
  return memory_run_scenarios("calls of pto/tools.h", scenarios, PTO_ARRAY_LENGTH(scenarios), test_folder_open,
                              test_folder_clear, test_folder_close);
}
