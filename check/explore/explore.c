/* SPDX-License-Identifier: MIT */
#include <check/explore/explore.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check/explore/run.h>
#include <runtime/base/clock.h>
#include <sim/threads/delays.h>

static int out_of_memory(struct pto_error *error) { return pto_error_set(error, PTO_ENOMEM, "explore: out of memory"); }
static int finish(const struct pto_explore *explore, int status, struct pto_error *error) {
  if (status && explore->shortage.status) {
    *error = explore->shortage;
    return status;
  }
  return status == PTO_ENOMEM ? out_of_memory(error) : status;
}

static void report_progress(const struct pto_explore *explore, uint64_t done, uint64_t count) {
  if (explore->progress) explore->progress(done, count);
}

static bool is_stopped(const struct pto_explore *explore) { return explore->stop && pto_stop_is_asked(explore->stop); }

/* ---- distinct orders ---- */

static bool insert_order(uint64_t *table, uint64_t capacity, uint64_t hash) {
  uint64_t at = hash & (capacity - 1);
  while (table[at] && table[at] != hash) at = (at + 1) & (capacity - 1);
  if (table[at]) return false;
  table[at] = hash;
  return true;
}

static bool grow_orders(struct pto_explore *explore) {
  const uint64_t capacity = explore->order_capacity ? 2 * explore->order_capacity : 4096;
  uint64_t *table = calloc(capacity, sizeof *table);
  if (!table) return false;
  for (uint64_t i = 0; i < explore->order_capacity; i++)
    if (explore->orders[i]) insert_order(table, capacity, explore->orders[i]);
  free(explore->orders);
  explore->orders = table;
  explore->order_capacity = capacity;
  return true;
}

/* The order of the run made last. */
static uint64_t last_order(const struct pto_explore *explore) {
  const uint64_t hash = pto_explore_order_hash(explore->log.steps, explore->log.step_count);
  return hash ? hash : 1;
}

static bool note_order(struct pto_explore *explore, uint64_t hash) {
  if (explore->order_capacity <= 2 * explore->counts.distinct_orders && !grow_orders(explore)) return false;
  explore->counts.distinct_orders += insert_order(explore->orders, explore->order_capacity, hash);
  return true;
}

/* What making a schedule came to. */
struct made {
  struct pto_explore_outcome outcome;
  uint64_t order, decisions;
};

static void look_at_made(const struct pto_explore *explore, struct made *made) {
  made->order = last_order(explore);
  made->decisions = explore->log.decisions;
}

/* A schedule was made: counts it. */
static int note_schedule(struct pto_explore *explore, struct pto_schedule_name name, const struct made *made) {
  explore->counts.schedules++;
  explore->counts.by_strategy[name.kind]++;
  explore->counts.differing += made->outcome.is_different;
  explore->counts.decisions += made->decisions;
  return note_order(explore, made->order) ? PTO_OK : PTO_ENOMEM;
}

/* ---- shards ---- */

static json_t *pack_made(const struct made *made) {
  char digest[20], order[20];
  snprintf(digest, sizeof digest, "%016" PRIx64, made->outcome.digest);
  snprintf(order, sizeof order, "%016" PRIx64, made->order);
  return json_pack("{s:b, s:i, s:s, s:s, s:I, s:o}", "is_different", made->outcome.is_different, "status",
                   made->outcome.status, "digest", digest, "order", order, "decisions", (json_int_t)made->decisions,
                   "text", pto_shard_text(made->outcome.text));
}

static int unpack_made(json_t *result, uint64_t index, struct made *made, struct pto_error *error) {
  const char *digest, *order, *text;
  json_int_t decisions;
  int is_different;
  memset(made, 0, sizeof *made);
  if (json_unpack(result, "{s:b, s:i, s:s, s:s, s:I, s:s}", "is_different", &is_different, "status",
                  &made->outcome.status, "digest", &digest, "order", &order, "decisions", &decisions, "text", &text))
    return pto_error_set(error, PTO_EINVAL, "explore: item %" PRIu64 " of the lines is no schedule's", index);
  made->outcome.is_different = is_different;
  made->outcome.digest = strtoull(digest, NULL, 16);
  made->order = strtoull(order, NULL, 16);
  made->decisions = (uint64_t)decisions;
  snprintf(made->outcome.text, sizeof made->outcome.text, "%s", text);
  return PTO_OK;
}

uint64_t pto_explore_digest(const struct pto_explore *explore) {
  const uint64_t counts[] = {explore->counts.tasks, explore->counts.calls, explore->reference_order};
  uint64_t digest = pto_xxh64(counts, sizeof counts, 0);
  for (uint32_t i = 0; i < explore->array_count; i++)
    if (explore->outputs[i])
      digest = pto_xxh64(explore->outputs[i], pto_program_run_array(explore->run, i)->size_bytes, digest);
  return digest;
}

/* ---- the reference ---- */

static int order_steps(const void *left, const void *right) {
  const struct pto_explore_step *a = left, *b = right;
  return pto_explore_event_compare(&a->event, &b->event);
}

static int store_calls(struct pto_explore *explore) {
  const struct pto_explore_step *steps = explore->log.steps;
  const uint64_t count = explore->log.step_count;
  explore->reference_steps = count;
  explore->calls = malloc((count + 1) * sizeof *explore->calls);
  explore->call_count = 0;
  if (!explore->calls) return PTO_ENOMEM;
  for (uint64_t i = 0; i < count; i++)
    if (steps[i].event.kind == PTO_EXPLORE_CALL) explore->calls[explore->call_count++] = steps[i];
  qsort(explore->calls, explore->call_count, sizeof *explore->calls, order_steps);
  return PTO_OK;
}

static int store_reference(struct pto_explore *explore) {
  int status = pto_explore_store_outputs(explore) ? PTO_OK : PTO_ENOMEM;
  const struct pto_trace *trace = explore->rt ? pto_runtime_trace(explore->rt) : &explore->contexts.recording;
  if (status == PTO_OK) status = pto_explore_graph_init(&explore->graph, trace);
  if (status == PTO_OK) status = pto_explore_graph_external(&explore->graph, &explore->counts.external_buffers);
  if (status == PTO_OK) status = store_calls(explore);
  pto_trace_fini(&explore->contexts.recording);
  if (explore->rt) pto_runtime_set_recording(explore->rt, false); /* its edges and accesses are those of all runs */
  if (status) return status;
  explore->reference_order = last_order(explore);
  explore->marks = calloc(explore->graph.task_count + 1, 1);
  explore->differences = calloc(PTO_EXPLORE_MOST_SHRUNK, sizeof *explore->differences);
  if (!explore->marks || !explore->differences || !note_order(explore, explore->reference_order)) return PTO_ENOMEM;
  explore->counts.tasks = explore->graph.task_count;
  explore->counts.calls = explore->call_count;
  explore->counts.contexts = explore->contexts.count;
  explore->counts.contexts_left_out = explore->contexts.left_out;
  for (uint32_t i = 0; i < explore->array_count; i++) explore->counts.outputs += explore->outputs[i] != NULL;
  for (uint64_t i = 0; i < explore->call_count; i++) explore->counts.later_pieces += explore->calls[i].event.piece > 0;
  explore->has_reference = true;
  return PTO_OK;
}

static const struct pto_explore_chooser sequential;

/* Of each input, by number of the array; to be freed.  NULL: no memory. */
static uint64_t *digest_inputs(const struct pto_explore *explore) {
  uint32_t count = 0;
  while (pto_program_run_array(explore->run, count)) count++;
  uint64_t *digests = calloc(count + 1, sizeof *digests);
  for (uint32_t i = 0; digests && i < count; i++) {
    const struct pto_array *array = pto_program_run_array(explore->run, i);
    if (array->role == PTO_ARRAY_INPUT) digests[i] = pto_xxh64(array->data, array->size_bytes, 0);
  }
  return digests;
}

/* Why two runs in one order differ, as far as the inputs tell, which had these digests. */
static void tell_state(const struct pto_explore *explore, const uint64_t *before, char *text, size_t size) {
  uint64_t *now = digest_inputs(explore);
  const struct pto_array *changed = NULL;
  for (uint32_t i = 0; before && now && !changed && i < explore->array_count; i++)
    if (now[i] != before[i]) changed = pto_program_run_array(explore->run, i);
  if (changed)
    snprintf(text, size, "array %s, an input, is written, and inputs are not put back between runs", changed->name);
  else
    snprintf(text, size,
             "a kernel or the orchestration keeps state from one run to the next, or a task uses memory that "
             "has gone, or was never written");
  free(now);
}

int pto_explore_init(struct pto_explore *explore, struct pto_error *error) {
  struct pto_explore_outcome outcome;
  char why[256];
  if (!pto_explore_log_init(&explore->log)) return out_of_memory(error);
  if (explore->rt) (void)pto_engine_explore_set_log(pto_runtime_port(explore->rt), &explore->log);
  int status = pto_program_run_remember(explore->run);
  uint64_t *inputs = digest_inputs(explore);
  if (status == PTO_OK) {
    if (pto_explore_run_once(explore, explore->rt, &sequential, &outcome)) {
      free(inputs);
      return out_of_memory(error);
    }
    status = outcome.status;
  }
  if (status) {
    free(inputs);
    *error = *pto_program_run_error(explore->run);
    return status;
  }
  status = store_reference(explore);
  if (status == PTO_OK) status = pto_explore_run_once(explore, explore->rt, &sequential, &outcome);
  if (status == PTO_OK && outcome.is_different) tell_state(explore, inputs, why, sizeof why);
  free(inputs);
  if (status) return finish(explore, status, error);
  if (!outcome.is_different) return PTO_OK;
  const struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_UNSTABLE)};
  explore->is_unstable = true;
  pto_findings_add(explore->findings, &finding, NULL, "two sequential runs in the same order differ: %s; %s",
                   outcome.text, why);
  return PTO_OK;
}

void pto_explore_fini(struct pto_explore *explore) {
  for (uint32_t i = 0; i < explore->difference_count; i++) pto_explore_holds_fini(&explore->differences[i].holds);
  for (uint32_t i = 0; explore->outputs && i < explore->array_count; i++) free(explore->outputs[i]);
  free(explore->outputs);
  if (explore->rt) (void)pto_engine_explore_set_log(pto_runtime_port(explore->rt), NULL);
  pto_explore_log_fini(&explore->log);
  pto_trace_fini(&explore->contexts.recording);
  pto_explore_graph_fini(&explore->graph);
  pto_source_lines_destroy(explore->lines);
  free(explore->differences);
  free(explore->calls);
  free(explore->marks);
  free(explore->orders);
  memset(explore, 0, sizeof *explore);
}

/* ---- schedules ---- */

/* Here, or by a shard. */
static int make_schedule(struct pto_explore *explore, uint64_t index, struct pto_schedule_name name, struct made *made,
                         struct pto_error *error) {
  json_t *result = pto_share_result(explore->share, index, NULL);
  if (result) return unpack_made(result, index, made, error);
  const double begin = pto_clock_seconds();
  const int status = pto_explore_run_named(explore, name, &made->outcome);
  if (status) return status;
  look_at_made(explore, made);
  if (pto_share_is_part(explore->share))
    pto_share_put(explore->share, index, pto_clock_seconds() - begin, pack_made(made));
  return PTO_OK;
}

int pto_explore_schedules(struct pto_explore *explore, uint64_t count, uint64_t seed, struct pto_error *error) {
  int status = PTO_OK;
  for (uint64_t i = 0; i < count && status == PTO_OK && !is_stopped(explore); i++) {
    struct made made;
    const struct pto_schedule_name name = pto_schedule_plan(i, count, seed, explore->graph.task_count);
    if (!pto_share_has(explore->share, i)) continue;
    report_progress(explore, i, count);
    status = make_schedule(explore, i, name, &made, error);
    if (status == PTO_OK) status = note_schedule(explore, name, &made);
    if (status == PTO_OK && made.outcome.is_different && !pto_share_is_part(explore->share))
      status = pto_explore_report(explore, name, NULL, &made.outcome);
  }
  return finish(explore, status, error);
}

/* delay:N and hurry:N name a task. */
static int check_name(const struct pto_explore *explore, const struct pto_schedule_name *name,
                      struct pto_error *error) {
  const bool is_of_task = name && (name->kind == PTO_STRATEGY_DELAY || name->kind == PTO_STRATEGY_HURRY);
  if (!is_of_task || name->number < explore->graph.task_count || explore->graph.is_partial) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "%s:%llu: there is no task %llu: the run has %llu, and the first is 0",
                       pto_strategy_name(name->kind), (unsigned long long)name->number,
                       (unsigned long long)name->number, (unsigned long long)explore->graph.task_count);
}

/* The record of tasks may have been full, and the last task may have no call. */
static uint64_t reference_tasks(const struct pto_explore *explore) {
  const uint64_t called = explore->call_count ? explore->calls[explore->call_count - 1].event.task + 1 : 0;
  return pto_max_u64(called, explore->graph.task_count);
}

/* Holds come out of a file, perhaps of another program. */
static int check_holds(const struct pto_explore *explore, const struct pto_explore_holds *holds,
                       struct pto_error *error) {
  const uint64_t tasks = reference_tasks(explore);
  for (uint32_t i = 0; i < holds->count; i++) {
    const struct pto_explore_hold *hold = &holds->items[i];
    const bool waits_for_call = hold->until.kind == PTO_EXPLORE_CALL;
    const uint64_t last = waits_for_call ? pto_max_u64(hold->event.task, hold->until.task) : hold->event.task;
    if (last >= tasks)
      return pto_error_set(error, PTO_EINVAL, "a hold names task %llu, and this run has %llu: another program or case",
                           (unsigned long long)last, (unsigned long long)tasks);
  }
  return PTO_OK;
}

int pto_explore_replay(struct pto_explore *explore, const struct pto_schedule_name *name,
                       const struct pto_explore_holds *holds, struct pto_error *error) {
  struct made made;
  if (check_name(explore, name, error)) return PTO_EINVAL;
  const struct pto_schedule_name called = name ? *name : (struct pto_schedule_name){PTO_STRATEGY_FILE, 0};
  int status = name ? PTO_OK : check_holds(explore, holds, error);
  if (status) return status;
  status = name ? pto_explore_run_named(explore, called, &made.outcome)
                : pto_explore_run_holds(explore, holds, &made.outcome);
  if (status) return finish(explore, status, error);
  look_at_made(explore, &made);
  status = note_schedule(explore, called, &made);
  if (status == PTO_OK && made.outcome.is_different)
    status = pto_explore_report(explore, called, name ? NULL : holds, &made.outcome);
  return finish(explore, status, error);
}

/* ---- all orders ---- */

static bool depends(const void *context, uint64_t a, uint64_t b) {
  return pto_explore_graph_is_dependent(context, a, b);
}
static bool comes_before(const void *context, const struct pto_explore_event *a, const struct pto_explore_event *b) {
  const struct pto_explore_graph *graph = context;
  if (a->task != b->task) return pto_explore_graph_is_before(graph, a->task, b->task);
  return a->task < graph->task_count && graph->tasks[a->task].is_sequential && a->block_index < b->block_index;
}

/* One run of the search, told where it differs. */
static int explore_one(struct pto_explore *explore, struct pto_explore_all *all, struct pto_explore_all_state *state) {
  struct made made;
  const struct pto_explore_chooser chooser = {pto_explore_all_choose, all};
  const struct pto_explore_log *log = &explore->log;
  explore->current = (struct pto_schedule_name){PTO_STRATEGY_ALL, state->explored + state->redundant};
  pto_explore_all_begin(all);
  int status = pto_explore_run_once(explore, explore->rt, &chooser, &made.outcome);
  if (status) return status;
  look_at_made(explore, &made);
  status = pto_explore_all_end(all, log->position);
  if (status == PTO_OK) status = note_schedule(explore, explore->current, &made);
  pto_explore_all_state(all, state);
  if (status || !made.outcome.is_different) return status;
  struct pto_explore_holds holds = {0};
  status = pto_explore_holds_make(log->steps, log->step_count, explore->calls, explore->call_count, &holds);
  if (status == PTO_OK) status = pto_explore_report(explore, explore->current, &holds, &made.outcome);
  pto_explore_holds_fini(&holds);
  return status;
}

int pto_explore_all(struct pto_explore *explore, uint64_t limit, struct pto_error *error) {
  const struct pto_explore_relation relation = {depends, comes_before, &explore->graph};
  struct pto_explore_all_state state = {.has_more = true};
  if (!explore->graph.before && explore->graph.task_count)
    return pto_error_set(error, PTO_EINVAL, "--all is for up to %u tasks, and this run has %llu: --schedules",
                         PTO_EXPLORE_CLOSURE_MAX, (unsigned long long)explore->graph.task_count);
  struct pto_explore_all *all = pto_explore_all_create(&relation);
  int status = all ? PTO_OK : PTO_ENOMEM;
  for (uint64_t i = 0; i < limit && state.has_more && status == PTO_OK && !is_stopped(explore); i++) {
    report_progress(explore, i, limit);
    status = explore_one(explore, all, &state);
  }
  pto_explore_all_destroy(all);
  explore->counts.orders = state.explored;
  explore->counts.redundant_orders = state.redundant;
  explore->counts.at_least = state.at_least;
  explore->counts.is_complete = !state.has_more && !state.is_too_long && !state.has_strayed;
  for (size_t i = 0; i < explore->findings->count && explore->counts.is_complete; i++)
    if (explore->findings->items[i].kind == PTO_FINDING_ORDER)
      explore->findings->items[i].decided = PTO_DECIDED_ALL_ORDERS;
  if (status == PTO_OK && state.is_too_long)
    return pto_error_set(error, PTO_EINVAL, "--all is for up to %u steps a run, and this one has more: --schedules",
                         PTO_EXPLORE_ALL_MAX_STEPS);
  if (status == PTO_OK && state.has_strayed) {
    const struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_UNSTABLE)};
    pto_findings_add(explore->findings, &finding, NULL,
                     "the same choices did not lead to the same tasks: the program depends on more than its order");
  }
  return finish(explore, status, error);
}

/* ---- threads ---- */

/* Here, or by a shard. */
static int make_threaded(struct pto_explore *explore, struct pto_runtime *threads, uint64_t index, uint64_t seed,
                         struct made *made, struct pto_error *error) {
  json_t *result = pto_share_result(explore->share, index, NULL);
  if (result) return unpack_made(result, index, made, error);
  const double begin = pto_clock_seconds();
  *made = (struct made){0};
  explore->contexts.delay_seed = seed + index + 1;
  if (threads) (void)pto_engine_delays_set(pto_runtime_port(threads), explore->contexts.delay_seed);
  const int status = pto_explore_run_once(explore, threads, NULL, &made->outcome);
  if (status) return finish(explore, status, error);
  if (pto_share_is_part(explore->share))
    pto_share_put(explore->share, index, pto_clock_seconds() - begin, pack_made(made));
  return PTO_OK;
}

int pto_explore_threads(struct pto_explore *explore, struct pto_runtime *threads, uint64_t count, uint64_t seed,
                        struct pto_error *error) {
  for (uint64_t i = 0; i < count && !is_stopped(explore); i++) {
    struct made made;
    if (!pto_share_has(explore->share, i)) continue;
    report_progress(explore, i, count);
    const int status = make_threaded(explore, threads, i, seed, &made, error);
    if (status) return status;
    explore->counts.thread_runs++;
    explore->counts.contexts_left_out = explore->contexts.left_out; /* those beside others have delays too */
    if (!made.outcome.is_different) continue;
    explore->counts.differing++;
    if (explore->is_unstable) continue;
    const struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_ORDER), .group = 1};
    pto_findings_add(
        explore->findings, &finding, NULL,
        "threads with the delays of seed %llu: %s; if an order of whole kernel calls gives this too, explore "
        "without --engine shrinks it",
        (unsigned long long)(seed + i), made.outcome.text);
  }
  return PTO_OK;
}
