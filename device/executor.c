/* SPDX-License-Identifier: MIT */
#include <device/context_state.h>

#include <stdio.h>
#include <stdlib.h>

#include <runtime/base/call_stack.h>

/* ---- one command ---- */

static struct pto_tensor bind(struct pto_context *context, const struct pto_device_record *record) {
  const struct pto_tensor t = pto_external_tensor(context->rt, pto_device_record_addr(&context->tensors, record),
                                                  record->dtype, record->ndims, record->shape);
  if (record->label) pto_buffer_label(context->rt, t.buffer, record->label);
  return t;
}

static void count_move(struct pto_context *context, enum pto_command_kind kind, uint64_t size_bytes) {
  struct pto_context_counters *c = &context->counters;
  pto_context_lock(context);
  *(kind == PTO_COMMAND_WRITE ? &c->h2d_bytes : kind == PTO_COMMAND_READ ? &c->d2h_bytes : &c->d2d_bytes) += size_bytes;
  *(kind == PTO_COMMAND_WRITE ? &c->h2d_calls : kind == PTO_COMMAND_READ ? &c->d2h_calls : &c->d2d_calls) += 1;
  if (kind != PTO_COMMAND_COPY && size_bytes && context->backend->has_clock)
    c->transfer_ps += pto_device_transfer_ps(&context->chip, size_bytes);
  pto_context_unlock(context);
}

/* A tensor's bytes from the host (WRITE), to it (READ), or from another tensor (COPY), once no task uses them. */
static int execute_move(struct pto_context *context, const struct pto_command *command) {
  const bool is_write = command->kind == PTO_COMMAND_WRITE, is_read = command->kind == PTO_COMMAND_READ;
  const bool has_clock = context->backend->has_clock;
  const uint64_t size_bytes = command->record->size_bytes;
  struct pto_host_move move = {.to = command->data,
                               .from = command->data,
                               .size_bytes = size_bytes,
                               .ps = !has_clock            ? 0
                                     : is_write || is_read ? pto_device_transfer_ps(&context->chip, size_bytes)
                                                           : pto_device_copy_ps(&context->chip, size_bytes),
                               .activity = is_write  ? PTO_CONTROL_TO_DEVICE
                                           : is_read ? PTO_CONTROL_TO_HOST
                                                     : PTO_CONTROL_ON_DEVICE};
  int status = PTO_OK;
  if (!is_write) {
    const struct pto_tensor from = bind(context, is_read ? command->record : command->from);
    status = pto_host_acquire(context->rt, &from, false);
    move.from = (const void *)(uintptr_t)from.buffer.base;
  }
  if (status == PTO_OK && !is_read) {
    const struct pto_tensor to = bind(context, command->record);
    status = pto_host_acquire(context->rt, &to, true);
    move.to = (void *)(uintptr_t)to.buffer.base;
  }
  if (status) return status;
  if (size_bytes) pto_host_move(context->rt, &move);
  count_move(context, command->kind, size_bytes);
  return PTO_OK;
}

void pto_executor_remove_tensor(struct pto_context *context, struct pto_device_record *record) {
  pto_lowering_cache_drop_tensor(&context->lowerings, record->id);
  pto_device_tensors_remove(&context->tensors, record);
}

static int execute_destroy(struct pto_context *context, const struct pto_command *command) {
  const struct pto_tensor device = bind(context, command->record);
  int status = pto_host_release(context->rt, &device);
  if (status) return status;
  pto_context_lock(context);
  pto_executor_remove_tensor(context, command->record);
  pto_context_unlock(context);
  return PTO_OK;
}

/* ---- dispatches ---- */

static void flight_fini(struct pto_flight *flight) {
  free(flight->bound);
  free(flight->output_ids);
  *flight = (struct pto_flight){0};
}

static struct pto_flight *oldest_flight(struct pto_context *context) {
  return &context->flights[context->flights_begin % PTO_CONTEXT_FLIGHTS];
}

static bool flight_is_done(const struct pto_context *context, const struct pto_flight *flight) {
  return pto_host_has_finished(context->rt, &flight->begin, &flight->end);
}

/* Forgets dispatches that are done, oldest first; waits for the oldest where there are too many. */
static void make_room_for_flight(struct pto_context *context) {
  for (;;) {
    while (context->flights_begin != context->flights_end && flight_is_done(context, oldest_flight(context))) {
      flight_fini(oldest_flight(context));
      context->flights_begin++;
    }
    if (context->flights_end - context->flights_begin < PTO_CONTEXT_FLIGHTS || !pto_host_help(context->rt)) return;
  }
}

/* The command's list of tensors becomes the flight's. */
static int begin_flight(struct pto_context *context, struct pto_command *command) {
  make_room_for_flight(context);
  if (pto_host_has_failed(context->rt)) return PTO_EKERNEL; /* the run keeps what it really was */
  struct pto_flight *flight = &context->flights[context->flights_end % PTO_CONTEXT_FLIGHTS];
  uint64_t *ids = malloc((command->output_count + 1) * sizeof *ids);
  if (!ids) return PTO_ENOMEM;
  *flight = (struct pto_flight){.bound = command->bound,
                                .output_ids = ids,
                                .input_count = command->input_count,
                                .output_count = command->output_count};
  command->bound = NULL;
  for (uint32_t i = 0; i < flight->output_count; i++) ids[i] = flight->bound[flight->input_count + i]->id;
  pto_host_mark(context->rt, &flight->begin);
  flight->end = flight->begin;
  context->flights_end++;
  return PTO_OK;
}

/* ---- what a dispatch submits ---- */

/* What a dispatch gives its program: tensors over device memory in the current scope, inputs, outputs, constants. */
struct given {
  const struct pto_command *command;
  const struct pto_device_program *program;
  struct pto_tensor *tensors;
  uint64_t *ids;
  uint32_t count;
  struct pto_bound bound;
};

/* Scopes that it leaves open would have what comes after it inside them. */
static int call_program(struct pto_context *context, const struct given *given) {
  const uint32_t depth = pto_host_scope_depth(context->rt);
  pto_host_begin_orchestration(context->rt, __builtin_frame_address(0));
  const int status = given->program->orchestrate(context->rt, &given->bound);
  pto_host_end_orchestration(context->rt);
  const uint32_t depth_after = pto_host_scope_depth(context->rt);
  char sentence[PTO_SENTENCE_SIZE];
  if (status || depth_after == depth) return status;
  snprintf(sentence, sizeof sentence, "dispatch: the program %s %s", given->program->name ? given->program->name : "",
           depth_after > depth ? "leaves a scope open" : "ends a scope that it did not begin");
  return pto_report_error(context->rt, sentence);
}

/* Calls the program, and keeps what it submits. */
static int list_submits(struct pto_context *context, const struct given *given, const struct pto_lowering_key *key) {
  struct pto_call_list *submits = pto_call_list_begin(context->rt, given->tensors, given->count);
  const bool has_memory = submits != NULL;
  const int status = call_program(context, given);
  const bool is_usable = pto_call_list_end(context->rt, submits);
  const bool has_failed = status || pto_host_has_failed(context->rt);
  if (has_failed || !is_usable) {
    pto_call_list_destroy(submits);
    submits = NULL;
  }
  pto_context_lock(context);
  context->counters.lowering_cache_misses++;
  context->counters.lowering_cache_unusable += !is_usable;
  if (has_memory && !has_failed) pto_lowering_cache_insert(&context->lowerings, key, submits);
  pto_context_unlock(context);
  return status;
}

/* Calls the program, although what it submits is kept, and remarks where it is something else. */
static int compare_submits(struct pto_context *context, const struct given *given,
                           const struct pto_call_list *repeated) {
  struct pto_stats before = {.size = sizeof before};
  struct pto_call_difference difference;
  pto_runtime_stats(context->rt, &before);
  struct pto_call_list *submits = pto_call_list_begin(context->rt, given->tensors, given->count);
  const int status = call_program(context, given);
  if (pto_call_list_end(context->rt, submits) && pto_call_lists_differ(repeated, submits, &difference))
    pto_context_remark_repeats(context, given->command, &difference, before.tasks);
  pto_call_list_destroy(submits);
  return status;
}

/* A program that repeats: from the cache, where it can. */
static int submit_repeating(struct pto_context *context, const struct given *given) {
  const struct pto_lowering_key key = {given->program, given->ids};
  const struct pto_lowering_entry *entry = pto_lowering_cache_find(&context->lowerings, &key);
  if (!entry) return list_submits(context, given, &key);
  pto_context_lock(context);
  if (entry->submits) {
    context->counters.lowering_cache_hits++;
  } else {
    context->counters.lowering_cache_misses++;
    context->counters.lowering_cache_unusable++;
  }
  pto_context_unlock(context);
  if (!entry->submits) return call_program(context, given);
  return pto_context_asks(context) ? compare_submits(context, given, entry->submits)
                                   : pto_call_list_replay(context->rt, entry->submits, given->tensors, given->count);
}

static int submit_program(struct pto_context *context, const struct pto_flight *flight,
                          const struct pto_command *command) {
  const struct pto_device_program *program = command->program;
  const uint32_t outputs = flight->input_count, constants = outputs + flight->output_count;
  struct given given = {.command = command, .program = program, .count = constants + program->constant_count};
  given.tensors = malloc((given.count + 1) * (sizeof *given.tensors + sizeof *given.ids));
  if (!given.tensors) return PTO_ENOMEM;
  given.ids = (uint64_t *)(void *)(given.tensors + given.count + 1);
  for (uint32_t i = 0; i < given.count; i++) {
    given.tensors[i] = bind(context, flight->bound[i]);
    given.ids[i] = flight->bound[i]->id;
  }
  given.bound = (struct pto_bound){.inputs = given.tensors,
                                   .outputs = given.tensors + outputs,
                                   .constants = given.tensors + constants,
                                   .context = program->context};
  const int status = program->repeats ? submit_repeating(context, &given) : call_program(context, &given);
  free(given.tensors);
  return status;
}

static int execute_dispatch(struct pto_context *context, struct pto_command *command) {
  struct pto_stats before = {.size = sizeof before}, after = before;
  int status = begin_flight(context, command);
  if (status) return status;
  struct pto_flight *flight = &context->flights[(context->flights_end - 1) % PTO_CONTEXT_FLIGHTS];
  pto_runtime_stats(context->rt, &before);
  status = submit_program(context, flight, command);
  pto_host_mark(context->rt, &flight->end);
  pto_runtime_stats(context->rt, &after);
  pto_context_lock(context);
  context->counters.dispatches++;
  context->counters.bindings += flight->input_count + flight->output_count;
  context->counters.tasks += after.tasks - before.tasks;
  context->counters.edges += after.edges - before.edges;
  context->counters.lookups += after.lookups - before.lookups;
  context->counters.candidates += after.candidates - before.candidates;
  context->counters.submit_waits += after.submit_waits - before.submit_waits;
  context->counters.window_high_water = pto_max_u64(context->counters.window_high_water, after.window_high_water);
  context->counters.heap_high_water_bytes =
      pto_max_u64(context->counters.heap_high_water_bytes, after.heap_high_water_bytes);
  pto_context_unlock(context);
  return status;
}

/* The tasks of a program of the library's own, a graph, stand where it was dispatched: no line of theirs is the
 * user's. */
static void tell_place(struct pto_context *context, const struct pto_command *command) {
  const bool is_dispatch = command->kind == PTO_COMMAND_DISPATCH && command->call;
  const bool is_own = is_dispatch && pto_call_stack_is_own((const void *)(uintptr_t)command->program->orchestrate);
  const uint64_t dispatch = command->kind == PTO_COMMAND_DISPATCH ? context->counters.dispatches + 1 : 0;
  pto_host_call_from(context->rt, command->call, command->outer_call, dispatch, is_own);
}

static int execute(struct pto_context *context, struct pto_command *command) {
  tell_place(context, command);
  switch (command->kind) {
  case PTO_COMMAND_WRITE:
  case PTO_COMMAND_READ:
  case PTO_COMMAND_COPY:
    return execute_move(context, command);
  case PTO_COMMAND_DESTROY:
    return execute_destroy(context, command);
  case PTO_COMMAND_DISPATCH:
    return execute_dispatch(context, command);
  case PTO_COMMAND_SYNC:
    pto_host_finish_tasks(context->rt);
    return PTO_OK;
  case PTO_COMMAND_END_RUN: /* next_command does not hand it out */
    return PTO_EINVAL;
  }
  return PTO_EINVAL;
}

/* ---- the queue ---- */

void pto_command_fini(struct pto_command *command) {
  if (command->kind == PTO_COMMAND_WRITE) free(command->data);
  free(command->bound);
}

static bool has_command(struct pto_context *context) {
  pto_context_lock(context);
  bool answer = context->queued != context->done;
  pto_context_unlock(context);
  return answer;
}

/* False where the context ends and nothing is queued. */
static bool wait_for_command(struct pto_context *context) {
  pto_context_lock(context);
  while (context->queued == context->done && !context->is_ending)
    pthread_cond_wait(&context->is_queued, &context->lock);
  const bool answer = context->queued != context->done;
  pto_context_unlock(context);
  return answer;
}

static struct pto_command *oldest_command(struct pto_context *context) {
  return &context->queue[context->done % PTO_CONTEXT_QUEUE];
}

/* Under `lock`. */
static void finish_command(struct pto_context *context) {
  pto_command_fini(oldest_command(context));
  context->done++;
  context->last_ns = pto_clock_ns();
  pthread_cond_broadcast(&context->is_done);
}

/* The next command, or NULL where the run is to end, or to pause.  While nothing is queued, tasks are helped along. */
static struct pto_command *next_command(struct pto_context *context) {
  while (!has_command(context)) {
    if (!context->backend->leaves_tasks && pto_host_help(context->rt)) continue;
    if (!context->has_thread || pto_host_has_failed(context->rt) || !wait_for_command(context)) return NULL;
  }
  struct pto_command *command = oldest_command(context);
  return command->kind == PTO_COMMAND_END_RUN ? NULL : command;
}

/* Each command has a scope of its own, so that what it registers does not stay. */
static int execute_queue(struct pto_context *context) {
  struct pto_command *command;
  while ((command = next_command(context)) != NULL) {
    int status = pto_scope_begin(context->rt, PTO_SCOPE_AUTO);
    if (status == PTO_OK) status = execute(context, command);
    if (status == PTO_OK) status = pto_scope_end(context->rt);
    if (status) return status;
    pto_context_lock(context);
    finish_command(context);
    pto_context_unlock(context);
  }
  return PTO_OK;
}

/* ---- failure ---- */

/* Within the run that fails, while its rings still say what has completed.  The dispatch that is being submitted counts
 * as unfinished even if all that it came to submit has completed. */
static void give_flights_up(struct pto_context *context, bool is_submitting) {
  pto_context_lock(context);
  context->is_failing = true;
  for (; context->flights_begin != context->flights_end; context->flights_begin++) {
    struct pto_flight *flight = oldest_flight(context);
    bool is_newest = context->flights_begin + 1 == context->flights_end;
    if ((is_submitting && is_newest) || !flight_is_done(context, flight))
      for (uint32_t i = 0; i < flight->output_count; i++) {
        struct pto_device_record *record = flight->bound[flight->input_count + i];
        if (record->id == flight->output_ids[i]) record->is_undefined = true; /* else it is another tensor by now */
      }
    flight_fini(flight);
  }
  pto_context_unlock(context);
}

/* Under `lock`: what is queued is not carried out; tensors that were to be destroyed are, as no command uses them. */
static void drop_queue(struct pto_context *context) {
  for (; context->done != context->queued; context->done++) {
    struct pto_command *command = &context->queue[context->done % PTO_CONTEXT_QUEUE];
    if (command->kind == PTO_COMMAND_WRITE || command->kind == PTO_COMMAND_COPY) command->record->is_undefined = true;
    for (uint32_t i = 0; command->bound && i < command->output_count; i++)
      command->bound[command->input_count + i]->is_undefined = true;
    if (command->kind == PTO_COMMAND_DESTROY) pto_executor_remove_tensor(context, command->record);
    pto_command_fini(command);
  }
}

/* The orchestration of a context's runtime, or where it can pause a part of it. */
static int orchestrate(struct pto_context *context) {
  int status = execute_queue(context);
  if (status == PTO_OK && !pto_host_has_failed(context->rt)) return PTO_OK;
  const bool is_submitting =
      has_command(context) && context->queue[context->done % PTO_CONTEXT_QUEUE].kind == PTO_COMMAND_DISPATCH;
  pto_host_finish_tasks(context->rt); /* where an orchestration gave up by itself, the tasks of others still complete */
  give_flights_up(context, is_submitting);
  return status;
}

/* What the run that has ended recorded goes behind that of the runs before it. */
static void append_recording(struct pto_context *context) {
  const struct pto_trace *trace = pto_runtime_trace(context->rt);
  if (!trace) return;
  const uint64_t shift = trace->is_virtual                ? context->ended_ps
                         : context->recording.record == 0 ? 0
                                                          : trace->start_ns - context->recording.start_ns;
  if (pto_trace_append(&context->recording, trace, shift)) context->recording_dropped++;
}

/* The times of the runs that have ended, and of the one that pauses. */
static void count_times(struct pto_context *context, uint64_t paused_ps, const struct pto_stats *paused) {
  struct pto_context_counters *const counters = &context->counters;
  counters->virtual_ps = context->ended_ps + paused_ps;
  counters->measured_ps = context->ended.measured_ps + paused->measured_ps;
  counters->interpolated_ps = context->ended.interpolated_ps + paused->interpolated_ps;
  counters->modelled_ps = context->ended.modelled_ps + paused->modelled_ps;
  counters->assumed_ps = context->ended.assumed_ps + paused->assumed_ps;
}

/* Without a thread a run pauses where nothing is queued: what the tasks of earlier calls have used stays known, as it
 * does where the run goes on meanwhile. */
static bool pauses(struct pto_context *context, int returned) {
  if (returned || pto_host_has_failed(context->rt) || context->has_thread) return false;
  struct pto_stats stats = {.size = sizeof stats};
  if (context->backend->leaves_tasks)
    pto_host_resume(context->rt); /* after a sync */
  else
    pto_host_drain(context->rt);
  pto_runtime_stats(context->rt, &stats);
  pto_context_lock(context);
  const bool is_over = context->queued != context->done || context->is_ending || pto_host_has_failed(context->rt);
  if (!is_over) count_times(context, pto_host_elapsed_ps(context->rt), &stats);
  pto_context_unlock(context);
  return !is_over;
}

static void end_run(struct pto_context *context, int status) {
  struct pto_stats stats = {.size = sizeof stats};
  pto_runtime_stats(context->rt, &stats);
  context->has_run = false;
  pto_context_lock(context);
  append_recording(context);
  count_times(context, stats.virtual_ps, &stats);
  context->ended_ps += stats.virtual_ps;
  context->ended.measured_ps += stats.measured_ps;
  context->ended.interpolated_ps += stats.interpolated_ps;
  context->ended.modelled_ps += stats.modelled_ps;
  context->ended.assumed_ps += stats.assumed_ps;
  context->is_failing = false;
  if (status) {
    pto_error_set(&context->failure, status, "%s", pto_last_error(context->rt));
    context->has_failed = true;
    drop_queue(context);
    pthread_cond_broadcast(&context->is_done);
  } else if (context->done != context->queued) {
    PTO_ASSERT(oldest_command(context)->kind == PTO_COMMAND_END_RUN); /* all else has been carried out */
    finish_command(context);
  }
  pto_context_unlock(context);
}

void pto_executor_run(struct pto_context *context) {
  int status = context->has_run ? PTO_OK : pto_host_begin_run(context->rt);
  if (status == PTO_OK) {
    context->has_run = true;
    const int returned = orchestrate(context);
    if (pauses(context, returned)) return;
    status = pto_host_end_run(context->rt, returned);
  }
  end_run(context, status);
}

void *pto_executor_main(void *argument) {
  struct pto_context *context = argument;
  while (wait_for_command(context)) pto_executor_run(context);
  return NULL;
}
