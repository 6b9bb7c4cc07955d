/* SPDX-License-Identifier: MIT */
#include <cli/adopt/adopt.h>

#include <inttypes.h>
#include <string.h>

#include <check/adopt/manifest.h>
#include <check/adopt/program.h>
#include <cli/main/fault_report.h>
#include <cli/main/progress_line.h>
#include <cli/run/request.h>
#include <report/findings/findings.h>
#include <runtime/base/clock.h>
#include <runtime/trace/trace_words.h>

/* Groups of findings that a case keeps; the rest are counted in one line. */
#define MOST_FINDINGS 20u

struct row {
  json_t *object;
  bool is_short; /* of memory: something is missing */
};

/* They take the value. */
static void set(struct row *row, const char *key, json_t *value) {
  if (json_object_set_new(row->object, key, value)) row->is_short = true;
}
static void append(struct row *row, json_t *list, json_t *value) {
  if (json_array_append_new(list, value)) row->is_short = true;
}

static bool is_part(const struct pto_trace *trace, uint64_t task) {
  return task < trace->tasks.count && pto_trace_task_at(trace, task)->part_of;
}

/* "32 tasks, 40 edges" as the existing runtime counts them: without allocations, and a launch of recorded tasks is one.
 */
static void take_graph(struct pto_session *session, struct row *row) {
  const struct pto_trace *trace = pto_session_trace(session);
  uint64_t tasks = 0, edges = session->result.stats.edges;
  if (!trace || !session->result.has_run) return;
  for (uint64_t t = 0; t < trace->tasks.count; t++)
    tasks += pto_trace_task_at(trace, t)->kind != PTO_TASK_ALLOC && !is_part(trace, t);
  for (uint64_t i = 0; i < trace->edges.count; i++) {
    const struct pto_trace_edge *edge = pto_trace_log_at(&trace->edges, i);
    edges -= edge->is_first && (is_part(trace, edge->producer) || is_part(trace, edge->consumer));
  }
  set(row, "tasks", json_integer((json_int_t)tasks));
  set(row, "edges", json_integer((json_int_t)edges));
  if (session->result.is_virtual) set(row, "virtual_ns", json_real((double)session->result.stats.virtual_ps * 1e-3));
  set(row, "wall_seconds", json_real(session->result.wall_seconds));
}

/* The groups of pairs that the rules of the run leave in any order, a line each. */
static json_t *lines_of(struct row *row, const struct pto_findings *findings, bool has_manual) {
  json_t *list = json_array();
  char text[PTO_SENTENCE_SIZE + 64];
  unsigned left = 0;
  for (size_t i = 0; i < findings->count; i++) {
    const struct pto_finding *finding = &findings->items[i];
    if (pto_finding_kind_is_note(finding->kind) || !pto_findings_is_first(findings, i)) continue;
    if (finding->is_manual && !has_manual) continue;
    if (json_array_size(list) == MOST_FINDINGS) {
      left++;
      continue;
    }
    const int length = snprintf(text, sizeof text, "%s %.*s", pto_finding_kind_name(finding->kind),
                                (int)PTO_SENTENCE_SIZE, finding->sentence);
    if (finding->more && length > 0 && (size_t)length < sizeof text)
      snprintf(text + length, sizeof text - (size_t)length, " (and %" PRIu64 " more like it)", finding->more);
    append(row, list, json_string(text));
  }
  if (left) append(row, list, json_sprintf("and %u more lines: `ptosim check` has them", left));
  return list;
}

/* Without kernels nothing says what tasks of manual scopes touch of what they declare, which orders nothing there: such
 * pairs are counted, and are no findings. */
static int take_findings(struct pto_session *session, bool has_compute, struct row *row, struct pto_error *error) {
  struct pto_findings findings;
  struct pto_order_counts counts;
  pto_findings_init(&findings);
  const int status = pto_session_check_order(session, session->rules, &findings, &counts, error);
  set(row, "findings", lines_of(row, &findings, has_compute));
  row->is_short |= findings.is_short;
  if (!has_compute) set(row, "manual_conflicts", json_integer((json_int_t)findings.of_manual));
  pto_findings_fini(&findings);
  return status;
}

/* What the run itself came to. */
static void take_end(struct pto_session *session, struct row *row, bool has_run, const struct pto_adopted *adopted) {
  const struct pto_run_result *result = &session->result;
  set(row, "run", json_boolean(has_run));
  if (has_run && adopted && adopted->judge == PTO_ADOPTED_BY_GOLDEN && result->verified != PTO_VERDICT_NONE)
    set(row, "verified", json_boolean(result->verified == PTO_VERDICT_TRUE));
  else
    set(row, "verified", json_null());
  if (result->exit_code != PTO_EXIT_OK) set(row, "reason", json_string(result->error.sentence));
}

/* "name: what runs instead", of the kernels that are not built. */
static json_t *substitutes_of(struct row *row, const struct pto_adopted *adopted) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < adopted->kernel_count; i++) {
    const struct pto_adopted_kernel *kernel = &adopted->kernels[i];
    if (kernel->substitute) append(row, list, json_sprintf("%s: %s", kernel->name, kernel->substitute));
  }
  return list;
}

static void describe(const struct pto_session *session, const char *path, struct row *row) {
  const struct pto_adopted_program *p = session->subject.adopted;
  set(row, "manifest", json_string_nocheck(path));
  set(row, "built", json_boolean(p != NULL));
  set(row, "name", json_string_nocheck(p ? p->adopted.name : path));
  if (!p) return;
  if (p->adopted.scene) set(row, "scene", json_string(p->adopted.scene));
  set(row, "architecture", json_string(p->adopted.architecture));
  set(row, "mode", json_string(p->adopted.mode == PTO_ADOPTED_HBG ? "host_build_graph" : "tensormap_and_ringbuffer"));
  if (session->result.engine) set(row, "engine", json_string(session->result.engine));
  set(row, "objects", json_integer(p->build.objects));
  set(row, "compiled", json_integer(p->build.compiled));
  set(row, "substitutes", substitutes_of(row, &p->adopted));
}

static void run(const struct pto_run_options *options, struct pto_session *session, struct row *row) {
  struct pto_config config;
  struct pto_session_options asked = pto_run_options_session(options, &config);
  struct pto_error error;
  config.record |= PTO_RECORD_GRAPH;
  int code = pto_session_init(session, &asked);
  const bool is_set_up = code == PTO_EXIT_OK;
  if (is_set_up) code = pto_session_execute(session);
  const bool has_run = is_set_up && code == PTO_EXIT_OK;
  if (has_run) (void)pto_session_judge(session);
  pto_run_files_write(session, options);
  if (has_run && take_findings(session, !options->no_compute, row, &error) && session->result.exit_code == PTO_EXIT_OK)
    (void)pto_session_end(session, PTO_EXIT_FAILED, &error);
  take_graph(session, row);
  describe(session, asked.program, row);
  take_end(session, row, has_run, session->subject.adopted ? &session->subject.adopted->adopted : NULL);
}

/* The manifest itself: what it names may still be missing, which is told in the row. */
static bool is_read(const char *path, struct pto_error *error) {
  struct pto_adopted adopted;
  if (pto_adopted_read(path, &adopted, error) != PTO_OK) return false;
  pto_adopted_fini(&adopted);
  return true;
}

int pto_adopt_manifest(const struct pto_run_options *options, struct pto_adopt_cases *cases) {
  static struct pto_session session;
  struct pto_error error;
  struct row row = {.object = json_object()};
  const double begin = pto_clock_seconds();
  if (!row.object || json_array_append_new(cases->array, row.object))
    return pto_complain(PTO_EXIT_FAILED, "adopt: out of memory");
  if (!is_read(options->programs.items[0], &error))
    return pto_complain(pto_exit_of_setup(error.status), "adopt: %s", error.sentence);
  if (pto_run_files_probe(options, &error)) return pto_complain(PTO_EXIT_USAGE, "%s", error.sentence);
  pto_progress_line_begin(options->programs.items[0], !options->quiet);
  run(options, &session, &row);
  pto_progress_line_end();
  set(&row, "seconds", json_real(pto_clock_seconds() - begin));
  pto_session_fini(&session);
  return row.is_short ? pto_complain(PTO_EXIT_FAILED, "adopt: out of memory") : PTO_EXIT_OK;
}
