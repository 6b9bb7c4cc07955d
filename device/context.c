/* SPDX-License-Identifier: MIT */
#include <device/context_calls.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <device/context_watch.h>
#include <runtime/base/sized.h>
#include <runtime/base/thread.h>

#define DEFAULT_MEMORY_BYTES (UINT64_C(1) << 30)
#define DEFAULT_TENSORS 65536u

/* Tells handles of one context from those of another.  The one thing that contexts share. */
static uint64_t next_context_id(void) {
  static atomic_uint_least64_t last;
  /* relaxed: only distinctness matters */
  return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

uint64_t pto_device_program_serial(void) {
  static atomic_uint_least64_t last;
  /* relaxed: only distinctness matters */
  return (UINT64_C(1) << 32) + 1 + atomic_fetch_add_explicit(&last, 1, memory_order_relaxed);
}

/* ---- creation ---- */

static int copy_options(const struct pto_context_options *given, struct pto_context_options *options,
                        struct pto_error *error) {
  memset(options, 0, sizeof *options);
  const int status = pto_sized_take(options, sizeof *options, given, "options", error);
  if (status) return status;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(options->reserved); i++)
    if (options->reserved[i])
      return pto_error_set(error, PTO_EINVAL, "options.reserved[%zu] is set and this library does not know it", i);
  if (!options->memory_bytes) options->memory_bytes = DEFAULT_MEMORY_BYTES;
  if (!options->tensor_count) options->tensor_count = DEFAULT_TENSORS;
  options->runtime.size = sizeof options->runtime;
  return PTO_OK;
}

static int begin_watch(struct pto_context *context, struct pto_error *error) {
  const struct pto_context_watch *watch = context->config.context_watch;
  const struct pto_reserve *memory = &context->tensors.memory;
  const int status = watch->created(watch->argument, context->rt, memory->addr, memory->size_bytes, error);
  context->is_watched = status == PTO_OK;
  return status;
}

static int create_parts(struct pto_context *context, const struct pto_context_options *options,
                        struct pto_error *error) {
  context->config = options->runtime;
  int status = pto_device_backend_choose(options, &context->config, &context->backend, error);
  if (status == PTO_OK) status = pto_chip_load(context->config.chip, &context->chip, error);
  if (status) return status;
  if (context->config.clusters) context->chip.cluster_count = context->config.clusters;
  if (!pto_device_tensors_init(&context->tensors, options->memory_bytes, options->tensor_count, next_context_id()))
    return pto_error_set(error, PTO_ENOMEM, "no address space for %llu bytes of device memory",
                         (unsigned long long)options->memory_bytes);
  status = pto_runtime_create_explained(&context->config, &context->rt, error->sentence, sizeof error->sentence);
  if (status) return error->status = status;
  struct pto_stats stats = {.size = sizeof stats};
  pto_runtime_stats(context->rt, &stats);
  context->worker_count = stats.workers;
  /* The names were the caller's. */
  context->config.engine = context->backend->engine;
  context->config.chip = context->chip.name;
  if (context->config.context_watch) {
    status = begin_watch(context, error);
    if (status) return status;
  }
  int reason = 0;
  if (context->backend->has_thread) {
    context->has_thread = pto_thread_start(&context->thread, pto_executor_main, context, &reason);
    if (!context->has_thread)
      return pto_error_set(error, PTO_ESYSTEM, "no thread for the context: %s", strerror(reason));
  }
  return PTO_OK;
}

static void destroy_parts(struct pto_context *context) {
  if (context->has_thread) {
    pto_context_lock(context);
    context->is_ending = true;
    pthread_cond_broadcast(&context->is_queued);
    pto_context_unlock(context);
    pthread_join(context->thread, NULL);
  } else if (context->rt && (context->has_run || context->queued != context->done)) {
    context->is_ending = true;
    pto_executor_run(context);
  }
  for (; context->flights_begin != context->flights_end; context->flights_begin++) {
    struct pto_flight *flight = &context->flights[context->flights_begin % PTO_CONTEXT_FLIGHTS];
    free(flight->bound);
    free(flight->output_ids);
  }
  pto_lowering_cache_fini(&context->lowerings);
  if (context->is_watched) {
    const struct pto_context_watch *watch = context->config.context_watch;
    const struct pto_context_end end = {.counters = &context->counters,
                                        .recording = context->recording_dropped ? NULL : &context->recording,
                                        .refusals = &context->refusals,
                                        .remarks = context->remarks,
                                        .failure = context->has_failed ? &context->failure : NULL};
    watch->destroyed(watch->argument, context->rt, &end);
  }
  pto_runtime_destroy(context->rt);
  pto_trace_fini(&context->recording);
  pto_device_tensors_fini(&context->tensors);
}

int pto_context_create(const struct pto_context_options *given, struct pto_context **context_out, char *sentence,
                       size_t sentence_size) {
  struct pto_context_options options;
  struct pto_error error;
  pto_error_clear(&error);
  struct pto_context *context = NULL;
  int status = context_out ? copy_options(given, &options, &error)
                           : pto_error_set(&error, PTO_EINVAL, "nowhere to put the context");
  if (status == PTO_OK && !(context = calloc(1, sizeof *context)))
    status = pto_error_set(&error, PTO_ENOMEM, "no memory for a context");
  if (status == PTO_OK) {
    pthread_mutex_init(&context->turn, NULL);
    pthread_mutex_init(&context->lock, NULL);
    pthread_cond_init(&context->is_queued, NULL);
    pthread_cond_init(&context->is_done, NULL);
    status = create_parts(context, &options, &error);
  }
  if (status == PTO_OK) {
    *context_out = context;
    return PTO_OK;
  }
  pto_context_destroy(context);
  if (sentence && sentence_size) snprintf(sentence, sentence_size, "%s", error.sentence);
  return status;
}

void pto_context_add_user(struct pto_context *context, struct pto_context_user *user) {
  pto_context_lock(context);
  user->next = context->users;
  context->users = user;
  pto_context_unlock(context);
}

void pto_context_remove_user(struct pto_context *context, struct pto_context_user *user) {
  pto_context_lock(context);
  struct pto_context_user **link = &context->users;
  while (*link != user) link = &(*link)->next;
  *link = user->next;
  pto_context_unlock(context);
}

void pto_context_destroy(struct pto_context *context) {
  if (!context) return;
  destroy_parts(context);
  for (struct pto_context_user *user = context->users, *next; user; user = next) {
    next = user->next;
    user->gone(user);
  }
  pthread_cond_destroy(&context->is_done);
  pthread_cond_destroy(&context->is_queued);
  pthread_mutex_destroy(&context->lock);
  pthread_mutex_destroy(&context->turn);
  free(context);
}

/* ---- questions ---- */

struct pto_context_info pto_context_info(struct pto_context *context) {
  return (struct pto_context_info){.backend = context->backend->name,
                                   .chip = context->chip.name,
                                   .accelerated = context->backend->is_accelerated,
                                   .clusters = context->chip.cluster_count,
                                   .workers = context->worker_count,
                                   .dtypes = PTO_DTYPES_ALL,
                                   .max_rank = PTO_MAX_DIMS,
                                   .max_tensor_bytes = context->tensors.heap.capacity_bytes};
}

void pto_context_counters(struct pto_context *context, struct pto_context_counters *counters) {
  pto_context_lock(context);
  struct pto_context_counters all = context->counters;
  const struct pto_device_heap *heap = &context->tensors.heap;
  all.allocations = heap->allocations;
  all.frees = heap->frees;
  all.live_bytes = heap->live_bytes;
  all.peak_bytes = heap->peak_bytes;
  all.wall_ns = context->last_ns - pto_min_u64(context->first_ns, context->last_ns);
  all.lowering_cache_entries = context->lowerings.count;
  all.lowering_cache_bytes = context->lowerings.bytes;
  all.fragmentation = pto_device_heap_fragmentation(heap);
  pto_context_unlock(context);
  pto_sized_give(counters, &all, sizeof all);
}

const char *pto_context_error(struct pto_context *context) {
  pto_context_lock(context);
  const char *sentence = context->has_failed ? context->failure.sentence : context->refusal.sentence;
  pto_context_unlock(context);
  return sentence;
}

int pto_context_clear_error(struct pto_context *context) {
  pthread_mutex_lock(&context->turn);
  pto_context_lock(context);
  context->has_failed = false;
  pto_error_clear(&context->failure);
  pto_error_clear(&context->refusal);
  pto_context_unlock(context);
  pthread_mutex_unlock(&context->turn);
  return PTO_OK;
}

int pto_context_sync(struct pto_context *context) {
  pthread_mutex_lock(&context->turn);
  struct pto_command command = {.kind = PTO_COMMAND_SYNC};
  int status = pto_context_enqueue(context, &command);
  if (status == PTO_OK) status = pto_context_wait(context);
  pthread_mutex_unlock(&context->turn);
  return status;
}

int pto_context_recording(struct pto_context *context, const struct pto_trace **recording_out) {
  struct pto_command command = {.kind = PTO_COMMAND_END_RUN};
  pthread_mutex_lock(&context->turn);
  int status = pto_context_enqueue(context, &command);
  if (status == PTO_OK) status = pto_context_wait(context);
  pto_context_lock(context);
  *recording_out = context->recording.record ? &context->recording : NULL;
  if (status == PTO_OK && context->recording_dropped) status = PTO_ENOMEM;
  pto_context_unlock(context);
  pthread_mutex_unlock(&context->turn);
  return status;
}
