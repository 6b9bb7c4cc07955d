/* SPDX-License-Identifier: MIT */
/*
 * What captures say of a chip: how long a message takes to begin, on a core that is free, that has never had one, or
 * that is busy; and how long an end takes to be seen.  A number is the median of what was captured.
 *
 * And the other way round: the captured tasks on the chip as it is.  They are recorded in that run as in the captured
 * one, so the recorder's prices are on.
 */
#include <check/calibrate/calibrate.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check/calibrate/map.h>
#include <check/session/session.h>
#include <sim/virtual/core.h>

#define LEAST_SAMPLES 3u
#define MOST_GAP_NS 1500 /* between messages of one scheduler: a dispatch under a recorder takes no longer */
#define SPAN_LIMIT 0.05
#define OVERHEAD_LIMIT 0.3

struct samples {
  double *values;
  size_t count;
};

static int order_doubles(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static double median_of(struct samples *s) {
  if (s->count == 0) return 0;
  qsort(s->values, s->count, sizeof *s->values, order_doubles);
  return (s->values[(s->count - 1) / 2] + s->values[s->count / 2]) / 2;
}

/* ---- from captures ---- */

enum { ON_FREE, FIRST, PENDING, TAIL, KINDS };

struct collected {
  struct samples of[KINDS];
};

static int order_spans(const void *left, const void *right) {
  const struct pto_capture_span *a = *(const struct pto_capture_span *const *)left,
                                *b = *(const struct pto_capture_span *const *)right;
  if (a->core != b->core) return a->core < b->core ? -1 : 1;
  return a->begin_ns == b->begin_ns ? 0 : a->begin_ns < b->begin_ns ? -1 : 1;
}

static void collect_span(struct collected *all, const struct pto_capture_span *span,
                         const struct pto_capture_span *before) {
  if (!span->has_dispatch) return;
  const double head = (double)(span->begin_ns - span->dispatch_ns), tail = (double)(span->finish_ns - span->end_ns);
  struct samples *const tails = &all->of[TAIL];
  if (span->finish_ns > span->end_ns) tails->values[tails->count++] = tail;
  const bool was_pending = before && before->end_ns > span->dispatch_ns;
  struct samples *const s = &all->of[!before ? FIRST : was_pending ? PENDING : ON_FREE];
  s->values[s->count++] = was_pending ? (double)(span->begin_ns - before->end_ns) : head;
}

static bool collect(struct collected *all, const struct pto_capture *capture) {
  const struct pto_capture_span **spans = calloc(capture->span_count + 1, sizeof *spans);
  if (!spans) return false;
  for (size_t i = 0; i < capture->span_count; i++) spans[i] = &capture->spans[i];
  qsort(spans, capture->span_count, sizeof *spans, order_spans);
  for (size_t i = 0; i < capture->span_count; i++)
    collect_span(all, spans[i], i && spans[i - 1]->core == spans[i]->core ? spans[i - 1] : NULL);
  free(spans);
  return true;
}

/* A number in ns from samples, less what the recorder took; nothing where they are too few. */
static int set_median(struct pto_calibration *c, const char *component, const char *key, struct samples *samples,
                      double less_ps, struct pto_error *error) {
  struct pto_fit fit = {.component = component, .tag = PTO_CHIP_FITTED, .rows = (uint32_t)samples->count};
  if (samples->count < LEAST_SAMPLES) return PTO_OK;
  const double middle = median_of(samples);
  const double spread = samples->values[samples->count * 3 / 4] - samples->values[samples->count / 4];
  snprintf(fit.key, sizeof fit.key, "%s", key);
  snprintf(fit.value, sizeof fit.value, "%.0f", fmax(0, middle * 1000 - less_ps));
  snprintf(fit.source, sizeof fit.source, "median of %zu in captures, half of them within %.0f ns", samples->count,
           spread);
  return pto_calibration_set(c, &fit, error);
}

/* What a recorder adds is known from elsewhere or 0. */
static int set_all(struct pto_calibration *c, struct collected *all, struct pto_error *error) {
  const double recorder = (double)pto_calibration_number(c, "profiling_start_ps");
  const struct pto_chip_note *const own = pto_chip_sheet_find(&c->sheet, "profiling_pending_ps");
  const double pending = own ? (double)pto_calibration_number(c, "profiling_pending_ps") : recorder;
  const double on_free = median_of(&all->of[ON_FREE]) * 1000;
  int status = set_median(c, "pickup", "kernel_start_ps", &all->of[ON_FREE], recorder, error);
  if (!status && all->of[ON_FREE].count >= LEAST_SAMPLES)
    status = set_median(c, "pickup", "cold_start_ps", &all->of[FIRST], on_free, error);
  const double end = (double)pto_calibration_number(c, "kernel_end_ps");
  if (!status) status = set_median(c, "pending start", "pending_start_ps", &all->of[PENDING], pending + end, error);
  return status;
}

/* What the arguments and edges of a captured task cost its orchestrator, in ns. */
static double known_of(const struct pto_calibration *c, const struct pto_capture *capture, uint64_t index,
                       const uint32_t *edges) {
  const struct pto_capture_task *task = &capture->tasks[index];
  const double lookup = (double)pto_calibration_number(c, task->is_manual ? "manual_lookup" : "lookup");
  double ps = ((double)pto_calibration_number(c, "param") + lookup) * (double)task->access_count;
  for (uint64_t i = 0; i < task->access_count; i++)
    if (capture->buffers[capture->accesses[task->first_access + i].buffer].creator == index)
      ps += (double)pto_calibration_number(c, "alloc");
  if (!c->chip.schedulers_wire) ps += (double)pto_calibration_number(c, "edge") * edges[index];
  return ps / 1000;
}

static void collect_calls(const struct pto_calibration *c, const struct pto_capture *capture, const uint32_t *edges,
                          struct samples *submits, struct samples *allocs) {
  for (size_t i = 0; i < capture->task_count; i++) {
    const struct pto_capture_task *task = &capture->tasks[i];
    struct samples *const s = task->kind == PTO_CAPTURE_ALLOC ? allocs : submits;
    if (!task->submit_end_ns) continue;
    s->values[s->count++] =
        fmax(0, (double)(task->submit_end_ns - task->submit_begin_ns) - known_of(c, capture, i, edges));
  }
}

static bool collect_submits(const struct pto_calibration *c, const struct pto_capture *capture, struct samples *submits,
                            struct samples *allocs) {
  uint32_t *edges = calloc(capture->task_count + 1, sizeof *edges); /* into each task */
  if (!edges) return false;
  for (size_t i = 0; i < capture->edge_count; i++) edges[capture->edges[i].to]++;
  collect_calls(c, capture, edges, submits, allocs);
  free(edges);
  return true;
}

static int set_calls(struct pto_calibration *c, const struct pto_capture *captures, uint32_t count,
                     struct pto_error *error) {
  size_t capacity = 1;
  for (uint32_t i = 0; i < count; i++) capacity += captures[i].task_count;
  struct samples submits = {.values = calloc(capacity, sizeof(double))};
  struct samples allocs = {.values = calloc(capacity, sizeof(double))};
  bool has_memory = submits.values && allocs.values;
  for (uint32_t i = 0; i < count && has_memory; i++) has_memory = collect_submits(c, &captures[i], &submits, &allocs);
  int status = has_memory ? PTO_OK : pto_error_set(error, PTO_ENOMEM, "no memory for captured times");
  if (!status) status = set_median(c, "submit", "submit", &submits, 0, error);
  if (!status) status = set_median(c, "allocation", "alloc_tensors", &allocs, 0, error);
  free(submits.values);
  free(allocs.values);
  return status;
}

static bool collect_all(struct collected *all, const struct pto_capture *captures, uint32_t count) {
  size_t capacity = 1;
  bool has_memory = true;
  *all = (struct collected){0};
  for (uint32_t i = 0; i < count; i++) capacity += captures[i].span_count;
  for (uint32_t k = 0; k < KINDS; k++) has_memory &= (all->of[k].values = calloc(capacity, sizeof(double))) != NULL;
  for (uint32_t i = 0; i < count && has_memory; i++) has_memory = collect(all, &captures[i]);
  return has_memory;
}

static void free_all(struct collected *all) {
  for (uint32_t k = 0; k < KINDS; k++) free(all->of[k].values);
}

int pto_calibration_from_captures(struct pto_calibration *c, const struct pto_capture *captures, uint32_t count,
                                  struct pto_error *error) {
  struct collected all;
  const int status = collect_all(&all, captures, count)
                         ? set_all(c, &all, error)
                         : pto_error_set(error, PTO_ENOMEM, "no memory for captured times");
  free_all(&all);
  return status ? status : set_calls(c, captures, count, error);
}

static int order_dispatches(const void *left, const void *right) {
  const struct pto_capture_span *a = *(const struct pto_capture_span *const *)left,
                                *b = *(const struct pto_capture_span *const *)right;
  if (a->dispatch_ns != b->dispatch_ns) return a->dispatch_ns < b->dispatch_ns ? -1 : 1;
  return a->core == b->core ? 0 : a->core < b->core ? -1 : 1;
}

/* From one message of a scheduler to its next, where it had both to send: so close that it did nothing else. */
static bool collect_gaps(const struct pto_calibration *c, const struct pto_capture *capture, struct samples *gaps) {
  const struct pto_capture_span **spans = calloc(capture->span_count + 1, sizeof *spans);
  uint64_t last[PTO_CHIP_MAX_SCHEDULERS] = {0};
  uint32_t aic = 0, aiv = 0, *cluster_of = calloc(capture->core_count + 1, sizeof *cluster_of);
  gaps->values = calloc(capture->span_count + 1, sizeof(double));
  const bool has_memory = spans && cluster_of && gaps->values;
  for (size_t i = 0; i < capture->core_count && has_memory; i++)
    cluster_of[i] = capture->cores[i] == PTO_AIC ? aic++ : aiv++ / 2;
  for (size_t i = 0; i < capture->span_count && has_memory; i++) spans[i] = &capture->spans[i];
  if (has_memory) qsort(spans, capture->span_count, sizeof *spans, order_dispatches);
  for (size_t i = 0; i < capture->span_count && has_memory; i++) {
    uint64_t *const before = &last[cluster_of[spans[i]->core] % c->chip.scheduler_count];
    const uint64_t gap = spans[i]->dispatch_ns - *before;
    if (*before && gap > 0 && gap <= MOST_GAP_NS) gaps->values[gaps->count++] = (double)gap;
    *before = spans[i]->dispatch_ns;
  }
  free(spans);
  free(cluster_of);
  return has_memory;
}

/* The shortest tails, but for a tenth, waited for nothing.  Without a recorder the shortest is the core's part and the
 * look that finds it, as map.c has them from what was measured; the rest is what is taken for an end before its time is
 * recorded. */
static int set_least_tail(struct pto_calibration *c, struct samples *tails, struct pto_error *error) {
  static const char *const known[] = {"kernel_end_ps", "look", "poll"};
  struct pto_fit fit = {
      .component = PTO_MAP_RECORDER, .key = "profiling_poll", .tag = PTO_CHIP_FITTED, .rows = (uint32_t)tails->count};
  if (tails->count < LEAST_SAMPLES) return PTO_OK;
  qsort(tails->values, tails->count, sizeof *tails->values, order_doubles);
  double least = tails->values[tails->count / 10] * 1000;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(known); i++) least -= (double)pto_calibration_number(c, known[i]);
  snprintf(fit.value, sizeof fit.value, "%.0f", fmax(0, least));
  snprintf(fit.source, sizeof fit.source, "shortest of %zu tails in captures, but for a tenth", tails->count);
  return pto_calibration_set(c, &fit, error);
}

int pto_calibration_from_recorder(struct pto_calibration *c, const struct pto_capture *capture,
                                  struct pto_error *error) {
  struct collected all;
  struct samples gaps = {0};
  int status = PTO_OK;
  const bool has_all = collect_all(&all, capture, 1), has_gaps = collect_gaps(c, capture, &gaps);
  if (!has_all || !has_gaps)
    status = pto_error_set(error, PTO_ENOMEM, "no memory for captured times");
  else
    status = set_median(c, PTO_MAP_RECORDER, "profiling_start_ps", &all.of[ON_FREE],
                        (double)pto_calibration_number(c, "kernel_start_ps"), error);
  if (!status)
    status = set_median(c, PTO_MAP_RECORDER, "profiling_dispatch", &gaps, (double)pto_calibration_number(c, "dispatch"),
                        error);
  if (!status) status = set_least_tail(c, &all.of[TAIL], error);
  free(gaps.values);
  free_all(&all);
  return status;
}

/* What the first messages of cores took besides, in ps: whether cores were cold is of the run, not of the chip.  That
 * of the chip where the capture does not say. */
static double cold_start_of(const struct pto_calibration *c, const struct pto_capture *capture) {
  struct collected all;
  double cold = (double)pto_calibration_number(c, "cold_start_ps");
  if (collect_all(&all, capture, 1) && all.of[FIRST].count >= LEAST_SAMPLES && all.of[ON_FREE].count >= LEAST_SAMPLES)
    cold = fmax(0, 1000 * (median_of(&all.of[FIRST]) - median_of(&all.of[ON_FREE])));
  free_all(&all);
  return cold;
}

/* ---- captured tasks on the chip ---- */

/* A part of a task, captured or run: ps from the first dispatch on. */
struct part {
  uint64_t begin, end, finish, dispatch;
  uint32_t task; /* in the order of dispatches: its number in a recorded replay */
};

struct replay {
  struct part *captured, *found; /* in the order of dispatches; of their numbers */
  size_t count, found_count;
  bool has_dispatch, has_finish; /* were captured */
  double head;                   /* of the run, of a free core, in ns */
};

/* As check/capture/capture_program.c orders what it releases. */
static int order_releases(const void *left, const void *right) {
  const struct pto_capture_span *a = *(const struct pto_capture_span *const *)left,
                                *b = *(const struct pto_capture_span *const *)right;
  const uint64_t x = a->has_dispatch ? a->dispatch_ns : a->begin_ns, y = b->has_dispatch ? b->dispatch_ns : b->begin_ns;
  if (x != y) return x < y ? -1 : 1;
  if (a->begin_ns != b->begin_ns) return a->begin_ns < b->begin_ns ? -1 : 1;
  return a->core == b->core ? 0 : a->core < b->core ? -1 : 1;
}

static int order_tasks(const void *left, const void *right) {
  const struct part *a = left, *b = right;
  return a->task == b->task ? 0 : a->task < b->task ? -1 : 1;
}

static bool take_captured(struct replay *r, const struct pto_capture *capture) {
  const struct pto_capture_span **spans = calloc(capture->span_count + 1, sizeof *spans);
  if (!spans) return false;
  for (size_t i = 0; i < capture->span_count; i++) spans[i] = &capture->spans[i];
  qsort(spans, capture->span_count, sizeof *spans, order_releases);
  r->has_dispatch = r->has_finish = true;
  for (size_t i = 0; i < capture->span_count; i++) {
    const struct pto_capture_span *span = spans[i];
    r->has_dispatch &= span->has_dispatch;
    r->has_finish &= span->finish_ns > span->end_ns;
    r->captured[r->count++] = (struct part){span->begin_ns * 1000, span->end_ns * 1000, span->finish_ns * 1000,
                                            span->dispatch_ns * 1000, (uint32_t)i};
  }
  free(spans);
  return true;
}

/* When a scheduler had got to each span of the run, before it took `poll_ps` for it: the n-th of a core is the n-th
 * that was taken in of it. */
static void take_finishes(struct replay *r, const struct pto_trace *trace, const uint16_t *core_of) {
  uint64_t *next = calloc(UINT16_MAX + 2, sizeof *next);
  for (uint64_t i = 0; next && i < trace->samples.count; i++) {
    const struct pto_trace_sample *sample = pto_trace_log_at(&trace->samples, i);
    if (!sample->taken_core) continue;
    uint64_t *const from = &next[sample->taken_core - 1];
    while (*from < r->found_count && core_of[*from] != sample->taken_core - 1) ++*from;
    if (*from < r->found_count) r->found[(*from)++].finish = sample->taken_time;
  }
  free(next);
}

static int take_found(struct replay *r, const struct pto_trace *trace) {
  const struct pto_trace_log *log = &trace->spans[0];
  uint16_t *core_of = calloc(log->count + 1, sizeof *core_of);
  r->found = calloc(log->count + 1, sizeof *r->found);
  if (!core_of || !r->found) {
    free(core_of);
    return PTO_ENOMEM;
  }
  for (uint64_t i = 0; i < log->count; i++) { /* begins of one core are in order */
    const struct pto_trace_span *span = pto_trace_log_at(log, i);
    core_of[r->found_count] = span->core;
    r->found[r->found_count++] = (struct part){.begin = span->begin, .end = span->end, .task = span->task};
  }
  take_finishes(r, trace, core_of);
  free(core_of);
  qsort(r->found, r->found_count, sizeof *r->found, order_tasks);
  return PTO_OK;
}

static uint64_t first_begin(const struct part *parts, size_t count) {
  uint64_t begin = UINT64_MAX;
  for (size_t i = 0; i < count; i++) begin = pto_min_u64(begin, parts[i].begin);
  return begin;
}

static uint64_t span_of(const struct part *parts, size_t count) {
  uint64_t end = 0;
  for (size_t i = 0; i < count; i++) end = pto_max_u64(end, parts[i].end);
  return count ? end - first_begin(parts, count) : 0;
}

enum which { BEGINS, ENDS, FINISHES };

static uint64_t time_of(const struct part *part, enum which which) {
  return which == BEGINS ? part->begin : which == ENDS ? part->end : part->finish;
}

/* The farthest that a begin, end or finish is from the captured one of its task, both from the first begin on. */
static double farthest(const struct replay *r, enum which which) {
  const double captured = (double)first_begin(r->captured, r->count), found = (double)first_begin(r->found, r->count);
  double most = 0;
  for (size_t i = 0; i < r->count; i++)
    most = fmax(most, fabs(((double)time_of(&r->found[i], which) - found) -
                           ((double)time_of(&r->captured[i], which) - captured)));
  return most / (double)span_of(r->captured, r->count);
}

static double median_tail(const struct part *parts, size_t count) {
  struct samples s = {.values = calloc(count + 1, sizeof(double))};
  for (size_t i = 0; s.values && i < count; i++)
    if (parts[i].finish > parts[i].end) s.values[s.count++] = (double)(parts[i].finish - parts[i].end) / 1e3;
  const double middle = median_of(&s);
  free(s.values);
  return middle;
}

/* From its dispatch to its begin, of captured messages to a core that was free. */
static double captured_head(const struct pto_capture *capture) {
  struct collected all;
  double middle = 0;
  if (collect_all(&all, capture, 1)) {
    struct samples heads = {.values = calloc(capture->span_count + 1, sizeof(double))};
    for (uint32_t kind = ON_FREE; kind <= FIRST && heads.values; kind++)
      for (size_t i = 0; i < all.of[kind].count; i++) heads.values[heads.count++] = all.of[kind].values[i];
    middle = median_of(&heads);
    free(heads.values);
  }
  free_all(&all);
  return middle;
}

/* The same in the run, in ns: what the chip takes for it, which depends on the core where it is cold. */
static double found_head(const struct pto_chip *chip, const struct pto_trace *trace) {
  const struct pto_trace_log *log = &trace->spans[0];
  struct samples heads = {.values = calloc(log->count + 1, sizeof(double))};
  uint8_t *had_one = calloc(UINT16_MAX + 1, 1);
  for (uint64_t i = 0; i < log->count && heads.values && had_one; i++) {
    const struct pto_trace_span *span = pto_trace_log_at(log, i);
    const uint64_t cold = had_one[span->core] ? 0 : pto_virtual_cold_start_ps(chip->cold_start_ps, span->core);
    heads.values[heads.count++] = (double)(chip->kernel_start_ps + cold) / 1e3;
    had_one[span->core] = 1;
  }
  const double middle = median_of(&heads);
  free(heads.values);
  free(had_one);
  return middle;
}

static void add_check(struct pto_calibration *c, const char *name, const char *what, const char *unit,
                      const double *measured_found, double limit) {
  struct pto_calibration_check check = {
      .unit = unit, .measured = measured_found[0], .found = measured_found[1], .limit = limit};
  snprintf(check.what, sizeof check.what, "%.40s, %s", name, what);
  pto_calibration_check(c, &check);
}

static void compare(struct pto_calibration *c, const struct replay *r, const char *name,
                    const struct pto_capture *capture) {
  const bool is_recorded = !capture->has_edges;
  const double spans[] = {(double)span_of(r->captured, r->count) / 1e6,
                          (double)span_of(r->found, r->found_count) / 1e6};
  add_check(c, name, "span", "us", spans, SPAN_LIMIT);
  if (is_recorded && r->count == r->found_count) {
    static const char *const what[] = {"worst begin, % of the span", "worst end, % of the span",
                                       "worst finish, % of the span"};
    for (enum which which = BEGINS; which <= FINISHES; which++) {
      struct pto_calibration_check check = {.unit = "%", .found = 100 * farthest(r, which), .most = 100 * SPAN_LIMIT};
      if (which == FINISHES && !r->has_finish) continue;
      snprintf(check.what, sizeof check.what, "%.40s, %s", name, what[which]);
      pto_calibration_check(c, &check);
    }
  }
  if (r->has_dispatch) {
    const double heads[] = {captured_head(capture), r->head};
    add_check(c, name, "head of a free core (p50)", "ns", heads, OVERHEAD_LIMIT);
  }
  if (r->has_finish) {
    const double tails[] = {median_tail(r->captured, r->count), median_tail(r->found, r->found_count)};
    add_check(c, name, "tail (p50)", "ns", tails, OVERHEAD_LIMIT);
  }
}

static int run_capture(const char *path, const struct pto_chip *chip, struct replay *r, struct pto_error *error) {
  struct pto_session *session = calloc(1, sizeof *session);
  if (!session) return pto_error_set(error, PTO_ENOMEM, "no memory for a run");
  const struct pto_config config = {
      .size = sizeof config, .engine = "virtual", .made_chip = chip, .record = PTO_RECORD_TIMELINE};
  const struct pto_session_options options = {.size = sizeof options, .program = path, .config = &config};
  int status = PTO_OK;
  int code = pto_session_init(session, &options);
  if (code == PTO_EXIT_OK) code = pto_session_execute(session);
  if (code != PTO_EXIT_OK) {
    status = session->result.error.status ? session->result.error.status : PTO_EINVAL;
    pto_error_set(error, status, "%s: %s", path, session->result.error.sentence);
  } else if (take_found(r, pto_session_trace(session))) {
    status = pto_error_set(error, PTO_ENOMEM, "%s: no memory to compare its times", path);
  }
  if (!status) r->head = found_head(&session->chip, pto_session_trace(session));
  pto_session_fini(session);
  free(session);
  return status;
}

static void warn_of_chip(struct pto_calibration *c, const char *name, const struct pto_capture *capture) {
  if (!pto_capture_suits(capture, c->chip.name))
    pto_calibration_warn(c, "%s was captured on %s, and this is %s", name, pto_capture_chip(capture), c->chip.name);
  if (capture->core_count > 3 * c->chip.cluster_count)
    pto_calibration_warn(c, "%s has %zu cores and %s has %u", name, capture->core_count, c->chip.name,
                         3 * c->chip.cluster_count);
}

static bool is_manual(const struct pto_capture *capture) {
  size_t count = 0;
  for (size_t i = 0; i < capture->task_count; i++) count += capture->tasks[i].is_manual;
  return 2 * count > capture->task_count;
}

/* The chip for a capture's run: with a recorder, and cores as cold as they were. */
static int make_chip(const struct pto_calibration *c, const struct pto_capture *capture, struct pto_chip *chip,
                     struct pto_error *error) {
  struct pto_chip_sheet *sheet = malloc(sizeof *sheet);
  if (!sheet) return pto_error_set(error, PTO_ENOMEM, "no memory for a chip file");
  struct pto_chip_note cold = {.key = "cold_start_ps"}, lookup = {.key = "manual_lookup"};
  snprintf(cold.value, sizeof cold.value, "%.0f", cold_start_of(c, capture));
  /* The scope of a replay is a manual one, those of its tasks were not. */
  snprintf(lookup.value, sizeof lookup.value, "%" PRIu64, pto_calibration_number(c, "lookup"));
  *sheet = c->sheet;
  int status = pto_chip_sheet_set(sheet, &(struct pto_chip_note){.key = "profiling", .value = "on"}, error);
  if (!status) status = pto_chip_sheet_set(sheet, &cold, error);
  if (!status && capture->has_edges && !is_manual(capture)) status = pto_chip_sheet_set(sheet, &lookup, error);
  if (!status) status = pto_chip_sheet_load(sheet, c->path, chip, error);
  free(sheet);
  return status;
}

int pto_calibration_replay(struct pto_calibration *c, const char *path, const struct pto_capture *capture,
                           struct pto_error *error) {
  const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
  struct replay r = {.captured = calloc(capture->span_count + 1, sizeof *r.captured)};
  struct pto_chip chip;
  warn_of_chip(c, name, capture);
  int status = r.captured ? PTO_OK : pto_error_set(error, PTO_ENOMEM, "%s: no memory to replay it", path);
  if (!status && capture->span_count) {
    if (!take_captured(&r, capture)) status = pto_error_set(error, PTO_ENOMEM, "%s: no memory to replay it", path);
    if (!status) status = make_chip(c, capture, &chip, error);
    if (!status) status = run_capture(path, &chip, &r, error);
    if (!status) compare(c, &r, name, capture);
  }
  free(r.captured);
  free(r.found);
  return status;
}
