/* SPDX-License-Identifier: MIT */
#include <cli/check/check.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <check/order/ring_advice.h>
#include <cli/main/fault_report.h>
#include <formats/json_writer.h>
#include <formats/units.h>
#include <cli/main/progress_line.h>
#include <cli/run/request.h>
#include <report/findings/coverage.h>
#include <report/run/trace_view.h>
#include <cli/main/verb.h>
#include <runtime/task/ring_defaults.h>
#include <runtime/task/task_ring.h>

#define CURVE_STEPS 64u
#define NAME_SIZE 128u
#define PS_PER_US 6 /* digits */

/* What one heap ring held in the first run. */
struct live_bytes {
  uint64_t high_water_bytes, slots_high_water;
  uint64_t peak_task;
  char peak_name[NAME_SIZE];
  uint64_t curve[CURVE_STEPS]; /* most bytes while that part of the tasks was submitted */
};

struct advise {
  const struct pto_run_options *options;
  struct pto_run_options run; /* the same for one trial */
  char program[NAME_SIZE], case_name[NAME_SIZE], chip[NAME_SIZE];
  uint64_t digest, task_count;
  uint32_t curve_steps;      /* ≤ CURVE_STEPS, and than there are tasks */
  enum pto_verdict verified; /* of the first run */
  struct live_bytes live[PTO_RING_COUNT];
  struct pto_error error; /* of the first run; else of the last that failed for another reason than its rings */
  struct pto_ring_advice advice;
  bool uses_seed; /* the program does */
  int exit_code;  /* for the report */
};

/* ---- one run ---- */

static void note_live_bytes(struct advise *advise, const struct pto_trace *trace) {
  advise->task_count = trace->tasks.count;
  advise->curve_steps = (uint32_t)pto_min_u64(CURVE_STEPS, trace->tasks.count);
  for (uint64_t i = 0; i < trace->tasks.count; i++) {
    const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, i);
    struct live_bytes *live = &advise->live[task->ring];
    uint64_t *step = &live->curve[i * advise->curve_steps / trace->tasks.count];
    *step = pto_max_u64(*step, task->ring_heap_used_bytes);
    live->slots_high_water = pto_max_u64(live->slots_high_water, task->ring_slots_used);
    if (task->ring_heap_used_bytes <= live->high_water_bytes) continue;
    live->high_water_bytes = task->ring_heap_used_bytes;
    live->peak_task = task->number;
    pto_trace_task_name(task, live->peak_name, sizeof live->peak_name);
  }
}

static void copy_name(char *to, const char *from) { snprintf(to, NAME_SIZE, "%s", from ? from : ""); }

/* The first run is the measure of all others: it must be right itself. */
static int judge_first(struct advise *advise, struct pto_session *session) {
  copy_name(advise->program, session->result.program);
  copy_name(advise->case_name, session->result.case_name);
  copy_name(advise->chip, session->result.chip);
  advise->digest = session->result.output_digest;
  advise->uses_seed = !session->run || pto_program_run_has_used_seed(session->run);
  note_live_bytes(advise, pto_session_trace(session));
  if (session->subject.program->expected_status) return PTO_EXIT_OK; /* there only to fail with small rings */
  const int code = pto_session_judge(session);
  advise->verified = session->result.verified;
  return code;
}

static bool is_of_rings(int status) {
  return status == PTO_ESCOPE || status == PTO_EHEAP || status == PTO_EWINDOW || status == PTO_ECAPACITY;
}

/* With these rings.  Other failures than of rings end the search. */
static int run_once(void *context, struct pto_ring_trial *trial) {
  struct advise *advise = context;
  struct pto_session session;
  const bool is_first = advise->advice.trial_count == 0;
  advise->run.window = trial->window;
  advise->run.heap_bytes = trial->heap_bytes;
  struct pto_config config;
  struct pto_session_options asked = pto_run_options_session(&advise->run, &config);
  if (is_first) config.record |= PTO_RECORD_GRAPH;
  int code = pto_session_init(&session, &asked);
  pto_fault_report_set_describer(pto_describe_call, &session);
  if (code == PTO_EXIT_OK) code = pto_session_execute(&session);
  pto_fault_report_set_describer(NULL, NULL);
  trial->completes = code == PTO_EXIT_OK;
  if (code == PTO_EXIT_OK && is_first) code = judge_first(advise, &session);
  trial->is_right = trial->completes && session.result.output_digest == advise->digest;
  trial->status = session.result.error.status;
  trial->virtual_ps = session.result.stats.virtual_ps;
  trial->window_high_water = session.result.stats.window_high_water;
  trial->heap_high_water_bytes = session.result.stats.heap_high_water_bytes;
  const bool ends = code != PTO_EXIT_OK && (is_first || !is_of_rings(trial->status));
  if (ends) advise->error = session.result.error;
  pto_session_fini(&session);
  pto_progress_line_stage("trying rings", advise->advice.trial_count + 1, 0);
  return ends ? code : PTO_OK;
}

/* ---- what was tried ---- */

static struct pto_coverage coverage_of(const struct advise *advise) {
  struct pto_coverage coverage = {.subject = advise->options->subject};
  if (!advise->advice.least_window) return coverage;
  pto_coverage_add(&coverage, PTO_COVERAGE_RINGS, advise->advice.trial_count);
  pto_coverage_leave(&coverage, PTO_COVERAGE_RINGS, PTO_COVERAGE_UNCOUNTED, "run --window N --heap BYTES");
  pto_coverage_add(&coverage, PTO_COVERAGE_ORDERS, 1); /* virtual time has one */
  pto_coverage_leave(&coverage, PTO_COVERAGE_ORDERS, PTO_COVERAGE_UNCOUNTED, "explore --window N --heap BYTES");
  if (!advise->uses_seed) return coverage;
  pto_coverage_add(&coverage, PTO_COVERAGE_SEEDS, 1);
  pto_coverage_leave(&coverage, PTO_COVERAGE_SEEDS, PTO_COVERAGE_UNCOUNTED, "check --advise --seed N");
  return coverage;
}

/* ---- for people ---- */

static void print_trial(const struct pto_ring_advice *advice, const struct pto_ring_trial *trial, const char *size) {
  if (!trial->completes) {
    printf("  %12s  %s\n", size, pto_status_name(trial->status));
    return;
  }
  printf("  %12s  %-13s  %11.3f us  %+8.2f %%  %8" PRIu64 "  %14" PRIu64 "\n", size, trial->is_right ? "yes" : "WRONG",
         (double)trial->virtual_ps * 1e-6, pto_ring_advice_slower(advice, trial), trial->window_high_water,
         trial->heap_high_water_bytes);
}

static void print_head(const char *size) {
  printf("\n  %12s  %-13s  %14s  %10s  %8s  %14s\n", size, "completes", "on the chip", "slower", "slots", "heap bytes");
}

/* The steps beside the least heap are told where they contradict it; the one below it that does not complete, always.
 */
static bool is_worth_a_row(const struct pto_ring_advice *advice, const struct pto_ring_trial *trial) {
  const uint64_t least = advice->least_heap_bytes;
  if (trial->heap_bytes < least) return trial->completes || trial->heap_bytes + PTO_RING_HEAP_STEP == least;
  return trial->heap_bytes == least || !trial->completes || pto_is_power_of_two(trial->heap_bytes) ||
         trial == &advice->trials[advice->recommended] || trial == &advice->trials[0];
}

static void print_tables(const struct pto_ring_advice *advice) {
  char text[32];
  print_head("--window");
  for (uint32_t i = 0; i < advice->window_count; i++) {
    const struct pto_ring_trial *trial = &advice->trials[advice->windows[i]];
    snprintf(text, sizeof text, "%" PRIu64, trial->window);
    print_trial(advice, trial, text);
  }
  print_head("--heap");
  for (uint32_t i = 0; i < advice->heap_count; i++) {
    const struct pto_ring_trial *trial = &advice->trials[advice->heaps[i]];
    if (!is_worth_a_row(advice, trial)) continue;
    snprintf(text, sizeof text, "%" PRIu64, trial->heap_bytes);
    print_trial(advice, trial, text);
  }
  if (advice->has_window_exception)
    printf("  not monotonic: a window of %" PRIu64 " completes too, though a larger one does not\n",
           advice->window_exception);
  if (advice->has_heap_exception)
    printf("  not monotonic: a heap of %" PRIu64 " bytes completes too, though a larger one does not\n",
           advice->heap_exception_bytes);
}

/* The curve in tenths of the peak. */
static void print_live(const struct advise *advise) {
  printf("\n  live bytes, as the tasks are submitted (0 to 9: tenths of the peak; .: none of this ring)\n");
  for (uint32_t r = 0; r < PTO_RING_COUNT; r++) {
    const struct live_bytes *live = &advise->live[r];
    if (!live->slots_high_water) continue;
    printf("  ring %" PRIu32 "  at most %" PRIu64 " bytes", r, live->high_water_bytes);
    if (live->high_water_bytes) printf(" at task %" PRIu64 " (%s)", live->peak_task, live->peak_name);
    printf(", and %" PRIu64 " task%s\n", live->slots_high_water, pto_plural(live->slots_high_water));
    if (!live->high_water_bytes) continue;
    char text[CURVE_STEPS + 1];
    for (uint32_t i = 0; i < advise->curve_steps; i++)
      text[i] = live->curve[i] ? (char)('0' + live->curve[i] * 9 / live->high_water_bytes) : '.';
    text[advise->curve_steps] = '\0';
    printf("          %s\n", text);
  }
}

static void print_advice(const struct advise *advise) {
  const struct pto_ring_advice *advice = &advise->advice;
  const struct pto_ring_trial *best = &advice->trials[advice->recommended];
  printf("%s%s%s on %s, virtual engine, %" PRIu64 " task%s: %" PRIu32 " run%s, compared with --window %" PRIu64
         " --heap %" PRIu64 "\n",
         advise->program, advise->case_name[0] ? ", case " : "", advise->case_name, advise->chip, advise->task_count,
         pto_plural(advise->task_count), advice->trial_count, pto_plural(advice->trial_count), advice->trials[0].window,
         advice->trials[0].heap_bytes);
  print_tables(advice);
  print_live(advise);
  printf("\n  least    --window %" PRIu64 " alone, --heap %" PRIu64 " alone\n", advice->least_window,
         advice->least_heap_bytes);
  printf("  advice   --window %" PRIu64 " --heap %" PRIu64 "    %+.2f %%\n", best->window, best->heap_bytes,
         pto_ring_advice_slower(advice, best));
  printf("           in the program: .config = &(const struct pto_config){.size = sizeof(struct pto_config), .window = "
         "%" PRIu64 ", .heap_bytes = %" PRIu64 "}\n",
         best->window, best->heap_bytes);
  const struct pto_coverage coverage = coverage_of(advise);
  pto_coverage_print(&coverage, stdout);
}

/* ---- JSON ---- */

static void put_trial(struct pto_json_writer *w, const struct pto_ring_advice *advice,
                      const struct pto_ring_trial *trial) {
  pto_json_object_begin(w);
  pto_json_put_u64(w, "window", trial->window);
  pto_json_put_u64(w, "heap_bytes", trial->heap_bytes);
  pto_json_put_bool(w, "completes", trial->completes);
  pto_json_put_string(w, "status", pto_status_name(trial->status));
  if (pto_json_try_key(w, "right", trial->completes)) pto_json_bool(w, trial->is_right);
  if (pto_json_try_key(w, "virtual_us", trial->completes)) pto_json_decimal(w, trial->virtual_ps, PS_PER_US);
  if (pto_json_try_key(w, "slower_percent", trial->completes))
    pto_json_double(w, pto_ring_advice_slower(advice, trial));
  pto_json_put_u64(w, "window_high_water", trial->window_high_water);
  pto_json_put_u64(w, "heap_high_water_bytes", trial->heap_high_water_bytes);
  pto_json_object_end(w);
}

static void put_rows(struct pto_json_writer *w, const struct pto_ring_advice *advice, const char *key,
                     const uint32_t *rows, uint32_t count) {
  pto_json_put_array(w, key);
  for (uint32_t i = 0; i < count; i++) put_trial(w, advice, &advice->trials[rows[i]]);
  pto_json_array_end(w);
}

static void put_live(struct pto_json_writer *w, const struct advise *advise) {
  pto_json_put_array(w, "live");
  for (uint32_t r = 0; r < PTO_RING_COUNT; r++) {
    const struct live_bytes *live = &advise->live[r];
    pto_json_object_begin(w);
    pto_json_put_u64(w, "ring", r);
    pto_json_put_u64(w, "window_high_water", live->slots_high_water);
    pto_json_put_u64(w, "heap_high_water_bytes", live->high_water_bytes);
    if (pto_json_try_key(w, "peak_task", live->high_water_bytes)) pto_json_u64(w, live->peak_task);
    pto_json_put_string(w, "peak_kernels", live->high_water_bytes ? live->peak_name : NULL);
    pto_json_put_array(w, "curve_bytes");
    for (uint32_t i = 0; live->high_water_bytes && i < advise->curve_steps; i++) pto_json_u64(w, live->curve[i]);
    pto_json_array_end(w);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

static void put_report(struct pto_json_writer *w, const void *context) {
  const struct advise *advise = context;
  const struct pto_ring_advice *advice = &advise->advice;
  pto_json_put_format(w, "pto-advise", 1);
  pto_json_put_string(w, "program", advise->program[0] ? advise->program : advise->options->programs.items[0]);
  pto_json_put_string(w, "case", advise->case_name[0] ? advise->case_name : NULL);
  pto_json_put_string(w, "chip", advise->chip[0] ? advise->chip : NULL);
  pto_json_put_u64(w, "tasks", advise->task_count);
  pto_json_put_u64(w, "runs", advice->trial_count);
  if (advice->least_window) {
    pto_json_key(w, "largest");
    put_trial(w, advice, &advice->trials[0]);
    put_rows(w, advice, "windows", advice->windows, advice->window_count);
    put_rows(w, advice, "heaps", advice->heaps, advice->heap_count);
    pto_json_put_u64(w, "least_window", advice->least_window);
    pto_json_put_u64(w, "least_heap_bytes", advice->least_heap_bytes);
    if (pto_json_try_key(w, "smaller_window_that_completes", advice->has_window_exception))
      pto_json_u64(w, advice->window_exception);
    if (pto_json_try_key(w, "smaller_heap_that_completes", advice->has_heap_exception))
      pto_json_u64(w, advice->heap_exception_bytes);
    put_live(w, advise);
    pto_json_key(w, "advice");
    put_trial(w, advice, &advice->trials[advice->recommended]);
    pto_json_put_u64(w, "wrong", advice->wrong_count);
  }
  const struct pto_coverage coverage = coverage_of(advise);
  pto_coverage_put_json(&coverage, w);
  pto_put_end(w, &advise->error, advise->exit_code);
}

/* ---- all of it ---- */

static uint64_t largest_of(uint64_t given, uint64_t of_program, uint64_t of_runtime) {
  return given ? given : pto_max_u64(of_program, of_runtime);
}

/* The largest rings: those asked for, or the program's where they are larger than the runtime's default. */
static int find_largest(struct advise *advise, uint64_t *window, uint64_t *heap_bytes) {
  struct pto_config config;
  const struct pto_session_options asked = pto_run_options_session(&advise->run, &config);
  struct pto_subject subject;
  if (pto_subject_init(&subject, &asked, &advise->error)) return PTO_EXIT_USAGE;
  const struct pto_config *own = subject.program->config;
  *window = largest_of(advise->options->window, own ? own->window : 0, PTO_DEFAULT_WINDOW);
  *heap_bytes = largest_of(advise->options->heap_bytes, own ? own->heap_bytes : 0, PTO_DEFAULT_HEAP_BYTES);
  pto_subject_fini(&subject);
  return PTO_EXIT_OK;
}

static void make_run_options(struct advise *advise) {
  advise->run = *advise->options;
  advise->run.engine = "virtual";
  advise->run.rounds = 1;
  advise->run.is_mute = true;
  advise->run.stats = false;
  memset(advise->run.exports, 0, sizeof advise->run.exports);
  advise->run.json_path = NULL;
  advise->run.outputs.count = 0;
}

static int search(struct advise *advise) {
  uint64_t window, heap_bytes;
  int code = find_largest(advise, &window, &heap_bytes);
  if (code == PTO_EXIT_OK) code = pto_ring_advise(run_once, advise, window, heap_bytes, &advise->advice);
  if (code == PTO_EXIT_OK || advise->error.sentence[0]) return code < 0 ? PTO_EXIT_FAILED : code;
  pto_error_set(&advise->error, code, "more than %u runs would be needed", PTO_RING_TRIALS);
  return PTO_EXIT_FAILED;
}

int pto_check_advise(const struct pto_run_options *options) {
  static struct advise advise; /* large */
  memset(&advise, 0, sizeof advise);
  advise.options = options;
  make_run_options(&advise);
  pto_fault_report_take(pto_fault_report_say, (void *)"check: ");
  pto_progress_line_begin(options->programs.items[0], !options->quiet);
  int code = search(&advise);
  pto_progress_line_end();
  pto_fault_report_give_back();
  if (code != PTO_EXIT_OK) {
    pto_complain(code, "check: %s", advise.error.sentence);
  } else {
    if (!options->quiet && !pto_json_takes_stdout(options->json_path)) print_advice(&advise);
    fflush(stdout);
    if (advise.advice.wrong_count)
      code = pto_complain(PTO_EXIT_FINDINGS, "check: %" PRIu32 " runs with smaller rings gave other outputs",
                          advise.advice.wrong_count);
  }
  advise.exit_code = code;
  return pto_write_report(options->json_path, put_report, &advise, code);
}
