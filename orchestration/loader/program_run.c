/* SPDX-License-Identifier: MIT */
#include <orchestration/loader/program_run.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <orchestration/loader/program_state.h>
#include <runtime/base/base.h>
#include <runtime/base/call_stack.h>
#include <runtime/base/closest.h>

/* ---- life ---- */

const struct pto_case *pto_program_case(const struct pto_program *program, const char *name) {
  for (const struct pto_case *candidate = program->cases; candidate && candidate->name; candidate++)
    if (strcmp(candidate->name, name) == 0) return candidate;
  return NULL;
}

static int choose_case(struct pto_program_run *run, const char *name, struct pto_error *error) {
  if (!name) return PTO_OK;
  run->chosen_case = pto_program_case(run->program, name);
  if (run->chosen_case) return PTO_OK;
  pto_error_set(error, PTO_EINVAL, "%s has no case \"%s\"", run->program->name, name);
  const char *separator = "; it has ";
  const struct pto_case *first = run->program->cases, *known = first;
  for (; known && known->name; known++, separator = ", ") pto_error_append(error, "%s%s", separator, known->name);
  char question[PTO_CLOSEST_TEXT];
  if (known)
    pto_error_append(
        error, "%s",
        pto_closest_among(name, strlen(name), &first->name, (size_t)(known - first), sizeof *first, question));
  return PTO_EINVAL;
}

int pto_program_run_create(const struct pto_program *program, const struct pto_program_request *request,
                           struct pto_program_run **run_out, struct pto_error *error) {
  static const struct pto_program_request nothing_asked;
  if (!request) request = &nothing_asked;
  struct pto_program_run *run = calloc(1, sizeof *run);
  if (!run) return pto_error_set(error, PTO_ENOMEM, "%s: out of memory", program->name);
  run->program = program;
  run->seed = request->seed;
  run->rank = request->rank;
  run->rank_count = request->rank_count;
  run->margin_bytes = request->margin_bytes;
  run->no_compute = request->no_compute;
  run->small_inputs = request->small_inputs;
  run->config = request->config;
  run->text = request->text ? request->text : stdout;
  run->on_report = request->on_report;
  run->on_report_argument = request->on_report_argument;
  int status = choose_case(run, request->case_name, error);
  if (status == PTO_OK) status = pto_program_options_init(run, request, error);
  if (status != PTO_OK) {
    pto_program_run_destroy(run);
    return status;
  }
  *run_out = run;
  return PTO_OK;
}

void pto_program_run_destroy(struct pto_program_run *run) {
  if (!run) return;
  pto_program_arrays_fini(run);
  pto_program_options_fini(run);
  while (run->blocks) {
    struct pto_program_block *block = run->blocks;
    run->blocks = block->next;
    pto_array_memory_fini(&block->memory);
    free(block->remembered);
    free(block);
  }
  pto_array_pool_fini(&run->block_pool);
  free(run);
}

/* ---- steps ---- */

/* What a step of the program came to: its own failure first, else its return. */
static int finish_step(struct pto_program_run *run, const char *step, int status) {
  if (run->error.status != PTO_OK || status == PTO_OK) return run->error.status;
  return pto_error_set(&run->error, status < 0 ? status : PTO_EUSER, "%s: its %s returned %d and gave no reason",
                       run->program->name, step, status);
}

int pto_program_run_prepare(struct pto_program_run *run) {
  if (run->error.status != PTO_OK || !run->program->prepare) return run->error.status;
  return finish_step(run, "prepare", run->program->prepare(run));
}

int pto_program_run_expect(struct pto_program_run *run) {
  if (run->error.status != PTO_OK || !run->program->expect) return run->error.status;
  return finish_step(run, "expect", run->program->expect(run));
}

static int orchestrate(struct pto_runtime *rt, void *context) {
  struct pto_program_run *run = context;
  (void)pto_call_stack_begin(__builtin_frame_address(0)); /* a frame nearer than that of pto_run */
  int status = run->program->orchestrate(rt, run);
  return run->error.status != PTO_OK ? run->error.status : status;
}

static void judge_slack_of(struct pto_program_run *run, const struct pto_array *array,
                           struct pto_array_memory *memory) {
  int64_t lo, hi;
  if (run->error.status != PTO_OK || !pto_array_memory_take_written(memory, &lo, &hi)) return;
  pto_error_set(&run->error, PTO_EKERNEL,
                "bytes [%" PRId64 ", %" PRId64 ") of array %s were written, which has %" PRIu64
                ": a kernel or the program itself ran off its %s; `ptosim check --observe` names the task",
                lo, hi, array->name, array->size_bytes, lo < 0 ? "beginning" : "end");
}

/* Bytes beside an array, or beside memory of its own, that the run has written. */
static int judge_slack(struct pto_program_run *run) {
  for (uint32_t i = 0; i < run->array_count; i++) judge_slack_of(run, &run->arrays[i]->array, &run->arrays[i]->memory);
  for (struct pto_program_block *block = run->blocks; block; block = block->next)
    judge_slack_of(run, &block->array, &block->memory);
  return run->error.status;
}

int pto_program_run_orchestrate(struct pto_program_run *run, struct pto_runtime *rt) {
  if (run->error.status != PTO_OK) return run->error.status;
  run->has_counters = false;
  run->figure_count = 0;
  run->counters = (struct pto_context_counters){.size = sizeof run->counters};
  if (run->program->host) {
    const void *before = pto_call_stack_begin(__builtin_frame_address(0));
    const int returned = run->program->host(run);
    (void)pto_call_stack_begin(before);
    (void)finish_step(run, "host function", returned);
    return judge_slack(run);
  }
  int status = pto_run(rt, orchestrate, run);
  if (run->error.status != PTO_OK || status == PTO_OK) return judge_slack(run);
  return pto_error_set(&run->error, status, "%s", pto_last_error(rt));
}

bool pto_program_run_is_host(const struct pto_program_run *run) { return run->program->host != NULL; }

/* ---- contexts of a host function ---- */

const struct pto_config *pto_program_config(struct pto_program_run *run) {
  static const struct pto_config defaults = {.size = sizeof defaults};
  return run->config ? run->config : &defaults;
}

void pto_program_report(struct pto_program_run *run, struct pto_context *context) {
  struct pto_context_counters all = {.size = sizeof all}, *sum = &run->counters;
  struct pto_error error;
  if (!context) return;
  if (run->on_report && run->on_report(run->on_report_argument, context, &error))
    (void)pto_program_fail_as(run, error.status, "%s", error.sentence);
  pto_context_counters(context, &all);
  sum->h2d_bytes += all.h2d_bytes;
  sum->lookups += all.lookups;
  sum->candidates += all.candidates;
  sum->submit_waits += all.submit_waits;
  sum->d2h_bytes += all.d2h_bytes;
  sum->d2d_bytes += all.d2d_bytes;
  sum->lowering_cache_hits += all.lowering_cache_hits;
  sum->lowering_cache_misses += all.lowering_cache_misses;
  sum->lowering_cache_unusable += all.lowering_cache_unusable;
  sum->tasks += all.tasks;
  sum->edges += all.edges;
  sum->virtual_ps += all.virtual_ps;
  sum->measured_ps += all.measured_ps;
  sum->interpolated_ps += all.interpolated_ps;
  sum->modelled_ps += all.modelled_ps;
  sum->assumed_ps += all.assumed_ps;
  sum->wall_ns += all.wall_ns;
  sum->window_high_water = pto_max_u64(sum->window_high_water, all.window_high_water);
  sum->heap_high_water_bytes = pto_max_u64(sum->heap_high_water_bytes, all.heap_high_water_bytes);
  run->context_workers = pto_context_info(context).workers;
  run->has_counters = true;
}

const struct pto_context_counters *pto_program_run_counters(const struct pto_program_run *run, uint32_t *workers_out) {
  if (!run->has_counters) return NULL;
  *workers_out = run->context_workers;
  return &run->counters;
}

void pto_program_figure(struct pto_program_run *run, const char *name, double value) {
  uint32_t i = 0;
  while (i < run->figure_count && strcmp(run->figures[i].name, name) != 0) i++;
  if (i == PTO_FIGURES || strlen(name) >= PTO_FIGURE_NAME_BYTES) {
    (void)pto_program_fail(run, "figure %s: more than %d of them, or %d characters", name, PTO_FIGURES,
                           PTO_FIGURE_NAME_BYTES - 1);
    return;
  }
  if (i == run->figure_count) run->figure_count++;
  snprintf(run->figures[i].name, sizeof run->figures[i].name, "%s", name);
  run->figures[i].value = value;
}

const struct pto_figure *pto_program_run_figure(const struct pto_program_run *run, uint32_t index) {
  return index < run->figure_count ? &run->figures[index] : NULL;
}

bool pto_program_run_has_printed(const struct pto_program_run *run) { return run->has_printed; }
bool pto_program_run_has_open_line(const struct pto_program_run *run) { return run->has_open_line; }

/* ---- rounds ---- */

static bool remember(const void *data, uint64_t size_bytes, void **copy) {
  if (!*copy) *copy = malloc(size_bytes + 1);
  if (*copy) memcpy(*copy, data, size_bytes);
  return *copy != NULL;
}

int pto_program_run_remember(struct pto_program_run *run) {
  if (run->error.status != PTO_OK) return run->error.status;
  bool is_complete = true;
  for (uint32_t i = 0; i < run->array_count && is_complete; i++) {
    struct pto_array_slot *slot = run->arrays[i];
    if (slot->array.role != PTO_ARRAY_INPUT)
      is_complete = remember(slot->array.data, slot->array.size_bytes, &slot->remembered);
  }
  for (struct pto_program_block *block = run->blocks; block && is_complete; block = block->next)
    is_complete = remember(block->array.data, block->array.size_bytes, &block->remembered);
  if (is_complete) return PTO_OK;
  return pto_error_set(&run->error, PTO_ENOMEM, "%s: out of memory for a further round", run->program->name);
}

void pto_program_run_rewind(struct pto_program_run *run) {
  for (uint32_t i = 0; i < run->array_count; i++) {
    struct pto_array_slot *slot = run->arrays[i];
    if (slot->remembered) memcpy(slot->array.data, slot->remembered, slot->array.size_bytes);
  }
  for (struct pto_program_block *block = run->blocks; block; block = block->next)
    if (block->remembered) memcpy(block->array.data, block->remembered, block->array.size_bytes);
}

void pto_program_run_retry(struct pto_program_run *run) {
  pto_error_clear(&run->error);
  pto_program_run_rewind(run);
}

/* ---- questions ---- */

static void take_nearer(const struct pto_array *array, const struct pto_array_memory *memory, uint64_t address,
                        uint64_t *least, const struct pto_array **nearest) {
  const uint64_t distance = pto_array_memory_distance(memory, address);
  if (distance >= *least) return;
  *least = distance;
  *nearest = array;
}

const struct pto_array *pto_program_run_array_beside(const struct pto_program_run *run, uint64_t address) {
  const struct pto_array *nearest = NULL;
  uint64_t least = UINT64_MAX;
  for (uint32_t i = 0; i < run->array_count; i++)
    take_nearer(&run->arrays[i]->array, &run->arrays[i]->memory, address, &least, &nearest);
  for (const struct pto_program_block *block = run->blocks; block; block = block->next)
    take_nearer(&block->array, &block->memory, address, &least, &nearest);
  return nearest;
}

const struct pto_array *pto_program_run_block(const struct pto_program_run *run, const struct pto_array *array) {
  const size_t offset = offsetof(struct pto_program_block, array);
  const struct pto_program_block *block =
      array ? ((const struct pto_program_block *)((const char *)array - offset))->next : run->blocks;
  while (block && !block->name[0]) block = block->next;
  return block ? &block->array : NULL;
}

const struct pto_case *pto_program_run_case(const struct pto_program_run *run) { return run->chosen_case; }
const struct pto_program *pto_program_run_program(const struct pto_program_run *run) { return run->program; }
const struct pto_error *pto_program_run_error(const struct pto_program_run *run) { return &run->error; }

void pto_program_run_tolerance(const struct pto_program_run *run, double *rtol, double *atol) {
  *rtol = run->has_tolerance ? run->rtol : run->program->rtol;
  *atol = run->has_tolerance ? run->atol : run->program->atol;
}

/* ---- for the program ---- */

uint64_t pto_program_seed(struct pto_program_run *run) {
  run->has_used_seed = true;
  return run->seed;
}

bool pto_program_run_has_used_seed(const struct pto_program_run *run) { return run->has_used_seed; }

uint32_t pto_program_rank(struct pto_program_run *run) { return run->rank; }
uint32_t pto_program_rank_count(struct pto_program_run *run) { return run->rank_count ? run->rank_count : 1; }

static void *alloc_block(struct pto_program_run *run, uint64_t size_bytes, enum pto_array_way way) {
  struct pto_program_block *block = size_bytes < UINT64_C(1) << 47 ? calloc(1, sizeof *block) : NULL;
  if (!block || !pto_array_memory_init(&block->memory, way, size_bytes, run->margin_bytes, &run->block_pool)) {
    free(block);
    pto_program_out_of_memory(run, "memory of its own");
    return NULL;
  }
  block->array = (struct pto_array){.name = block->name,
                                    .role = PTO_ARRAY_SCRATCH,
                                    .dtype = PTO_UINT8,
                                    .ndims = 1,
                                    .shape = {size_bytes},
                                    .data = block->memory.data,
                                    .numel = size_bytes,
                                    .size_bytes = size_bytes};
  block->next = run->blocks;
  run->blocks = block;
  return block->memory.data;
}

const char *pto_program_text(struct pto_program_run *run, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const size_t bytes = length < 0 ? 0 : strnlen(text, sizeof text);
  char *kept = alloc_block(run, bytes + 1, PTO_ARRAY_PLAIN);
  return kept ? memcpy(kept, text, bytes) : "";
}

void *pto_program_alloc(struct pto_program_run *run, uint64_t size_bytes) {
  /* Programs look at it, also where nothing is computed. */
  void *data = alloc_block(run, size_bytes, run->no_compute ? PTO_ARRAY_PLAIN : pto_program_array_way(run));
  if (data) snprintf(run->blocks->name, sizeof run->blocks->name, "pto_program_alloc %" PRIu32, run->block_count++);
  return data;
}

void *pto_program_state(struct pto_program_run *run, uint64_t size_bytes) {
  if (!run->state) {
    run->state = pto_program_alloc(run, size_bytes);
    run->state_bytes = size_bytes;
  } else if (size_bytes > run->state_bytes) {
    (void)pto_program_fail(run, "%s: asks for %llu bytes of state and had asked for %llu before", run->program->name,
                           (unsigned long long)size_bytes, (unsigned long long)run->state_bytes);
    return NULL;
  }
  return run->state;
}

void pto_program_tolerance(struct pto_program_run *run, double rtol, double atol) {
  run->has_tolerance = true;
  run->rtol = rtol;
  run->atol = atol;
}

void pto_program_print(struct pto_program_run *run, const char *format, ...) {
  va_list arguments;
  char *text;
  run->has_printed = true;
  va_start(arguments, format);
  const int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  if (length > 0) run->has_open_line = text[length - 1] != '\n';
  fwrite(text, 1, (size_t)length, run->text);
  free(text);
  fflush(run->text);
}
