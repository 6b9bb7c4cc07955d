/* SPDX-License-Identifier: MIT */
#include <check/task/capture.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <orchestration/loader/kernel_image.h>
#include <runtime/base/base.h>
#include <runtime/control/control.h>

/* A chosen task between its first message and its last completion. */
struct captured_task {
  struct captured_task *next;
  struct pto_task_folder folder;
  char path[PATH_MAX];
  uint64_t addrs[PTO_MAX_TENSORS];           /* of each memory, in the run */
  unsigned char *start[PTO_MAX_TENSORS];     /* what it held when the stretch began */
  unsigned char *now[PTO_MAX_TENSORS];       /* room for what it holds when the stretch has ended */
  unsigned char *collected[PTO_MAX_TENSORS]; /* what it held before the task, and what its stretches changed since */
  uint64_t messages_left;
  bool has_failed;
};

struct pto_task_capture {
  struct pto_port_ops ops; /* first: the port's `ops` points here */
  const struct pto_port_ops *inner;
  struct pto_port *port;
  const struct pto_trace *trace;
  struct pto_task_capture_request request;
  struct pto_task_folder about;
  struct captured_task *tasks;   /* that are under way */
  struct captured_task *running; /* whose messages are in flight, alone; NULL: none is */
  uint64_t in_flight, captured_count;
  struct pto_completion *completions; /* taken from the engine and not yet by the runtime: a ring */
  uint32_t completion_capacity, completion_head, completion_count;
  bool is_over; /* a run has ended */
  struct pto_error error;
};

static struct pto_task_capture *capture_of(struct pto_port *port) {
  return (struct pto_task_capture *)(uintptr_t)port->ops;
}

/* ---- the engine behind ---- */

/* What stands behind finds its own things by the port's operations, too. */
static void enter(struct pto_task_capture *c) { c->port->ops = c->inner; }
static void leave(struct pto_task_capture *c) {
  c->port->ops = &c->ops;
  if (c->completion_count) c->port->quiet_until = 0; /* a poll gives something */
}

static void take_completions(struct pto_task_capture *c) {
  struct pto_completion taken[64];
  uint32_t count = c->inner->poll(c->port, taken, PTO_ARRAY_LENGTH(taken));
  for (uint32_t i = 0; i < count; i++) {
    PTO_ASSERT(c->completion_count < c->completion_capacity);
    uint32_t place = (c->completion_head + c->completion_count++) % c->completion_capacity;
    c->completions[place] = taken[i];
    if (c->running && taken[i].status) c->running->has_failed = true;
  }
  c->in_flight -= count;
  if (count == 0 && c->in_flight) c->inner->wait(c->port);
}

/* Until nothing is in flight. */
static void drain(struct pto_task_capture *c) {
  const bool was_scheduler = c->port->is_scheduler;
  enter(c);
  if (c->inner->flush) c->inner->flush(c->port);
  bool has_waited = c->in_flight > 0;
  while (c->in_flight) take_completions(c);
  if (has_waited && !was_scheduler && c->inner->resume) c->inner->resume(c->port, 0);
  leave(c);
}

/* ---- bytes of the run ---- */

/* Memory that AddressSanitizer holds closed is read too: relaxed, since nothing is in flight; atomic, so that no
 * compiler makes a call of memcpy of it, which would be checked. */
__attribute__((no_sanitize("address"))) static void copy_bytes(unsigned char *to, uint64_t from, uint64_t size_bytes) {
  uint64_t i = 0;
  for (; i < size_bytes && (from + i) % sizeof(uint64_t); i++)
    to[i] = __atomic_load_n((const unsigned char *)(uintptr_t)(from + i), __ATOMIC_RELAXED);
  for (; i + sizeof(uint64_t) <= size_bytes; i += sizeof(uint64_t)) {
    uint64_t word = __atomic_load_n((const uint64_t *)(uintptr_t)(from + i), __ATOMIC_RELAXED);
    memcpy(to + i, &word, sizeof word);
  }
  for (; i < size_bytes; i++) to[i] = __atomic_load_n((const unsigned char *)(uintptr_t)(from + i), __ATOMIC_RELAXED);
}

static void note_error(struct pto_task_capture *c, const struct pto_error *error) {
  if (!c->error.status) c->error = *error;
}

/* ---- describing a task ---- */

static int describe_kernels(struct pto_task_capture *c, const struct pto_trace_task *task,
                            struct pto_task_folder *folder, struct pto_error *error) {
  for (int role = 0; role < 3; role++) {
    const struct pto_kernel *kernel = task->kernels[role];
    if (!kernel) continue;
    struct pto_task_kernel *captured = &folder->kernels[role];
    captured->name = kernel->name;
    if (c->request.program_handle && pto_kernel_image_number(c->request.program_handle, kernel, &captured->nth))
      continue;
    captured->is_general = pto_kernel_find(kernel->name) == kernel;
    if (!captured->is_general)
      return pto_error_set(error, PTO_ENOTSUP,
                           "task %" PRIu64 ": kernel %s is a constant neither of the program nor of the library",
                           task->number, kernel->name);
  }
  return PTO_OK;
}

struct range {
  uint64_t lo, hi;
};
static int order_ranges(const void *left, const void *right) {
  const struct range *a = left, *b = right;
  return (a->lo > b->lo) - (a->lo < b->lo);
}

static const struct pto_trace_param *param_at(const struct pto_task_capture *c, const struct pto_trace_task *task,
                                              uint32_t i) {
  return pto_trace_log_at(&c->trace->params, task->first_param + i);
}

/* Buffers that meet are one memory. */
static void describe_memories(const struct pto_task_capture *c, const struct pto_trace_task *task,
                              struct captured_task *captured) {
  struct range ranges[PTO_MAX_TENSORS + 1];
  uint32_t count = 0;
  for (uint32_t i = 0; i < task->param_count; i++) {
    const struct pto_trace_param *param = param_at(c, task, i);
    const struct pto_buffer *buffer = &param->tensor.buffer;
    if (param->index == UINT32_MAX || !buffer->base || !buffer->size_bytes) continue;
    ranges[count++] = (struct range){buffer->base, buffer->base + buffer->size_bytes};
  }
  qsort(ranges, count, sizeof *ranges, order_ranges);
  struct pto_task_folder *folder = &captured->folder;
  for (uint32_t i = 0; i < count; i++) {
    struct pto_task_memory *last = folder->memory_count ? &folder->memories[folder->memory_count - 1] : NULL;
    uint64_t *last_addr = folder->memory_count ? &captured->addrs[folder->memory_count - 1] : NULL;
    if (last && ranges[i].lo < *last_addr + last->size_bytes) {
      last->size_bytes = pto_max_u64(last->size_bytes, ranges[i].hi - *last_addr);
      continue;
    }
    captured->addrs[folder->memory_count] = ranges[i].lo;
    folder->memories[folder->memory_count++] = (struct pto_task_memory){
        .size_bytes = ranges[i].hi - ranges[i].lo, .page_offset = ranges[i].lo % PTO_TASK_PAGE_BYTES};
  }
}

static void describe_tensor(const struct captured_task *captured, const struct pto_trace_param *from,
                            struct pto_task_param *param) {
  const struct pto_tensor *t = &from->tensor;
  param->mode = from->mode;
  param->dtype = t->dtype;
  param->ndims = t->ndims;
  memcpy(param->shape, t->shape, sizeof param->shape);
  memcpy(param->strides, t->strides, sizeof param->strides);
  param->memory = PTO_TASK_NO_MEMORY;
  for (uint32_t m = 0; m < captured->folder.memory_count; m++)
    if (t->buffer.base >= captured->addrs[m] &&
        t->buffer.base - captured->addrs[m] < captured->folder.memories[m].size_bytes) {
      param->memory = m;
      param->offset_bytes = t->buffer.base - captured->addrs[m] + t->start_offset * pto_dtype_size(t->dtype);
    }
}

/* What some kernel of the task says of a parameter that is a scalar; NULL of a tensor. */
static const struct pto_kernel_param *scalar_at(const struct pto_trace_task *task, uint32_t index) {
  for (int role = 0; role < 3; role++)
    if (task->kernels[role] && task->kernels[role]->params[index].mode == PTO_SCALAR)
      return &task->kernels[role]->params[index];
  return NULL;
}

/* Tensors from the record, scalars from the payload, both in the order of the kernels' lists. */
static void describe_params(const struct pto_task_capture *c, const struct pto_trace_task *task,
                            const struct pto_payload *payload, struct captured_task *captured) {
  const union pto_scalar *scalars = pto_payload_scalars((struct pto_payload *)(uintptr_t)payload);
  struct pto_task_folder *folder = &captured->folder;
  for (int role = 0; role < 3; role++)
    if (task->kernels[role]) folder->param_count = task->kernels[role]->param_count; /* the same in all */
  for (uint32_t i = 0, scalar = 0; i < folder->param_count; i++) {
    const struct pto_kernel_param *expected = scalar_at(task, i);
    if (!expected) continue;
    folder->params[i].mode = PTO_SCALAR;
    folder->params[i].scalar_type = expected->scalar ? expected->scalar : (uint32_t)PTO_SCALAR_U64;
    folder->params[i].scalar = scalars[scalar++];
  }
  for (uint32_t i = 0; i < task->param_count; i++) {
    const struct pto_trace_param *from = param_at(c, task, i);
    if (from->index < folder->param_count) describe_tensor(captured, from, &folder->params[from->index]);
  }
}

/* ---- a task's life ---- */

static void free_task(struct captured_task *captured) {
  for (uint32_t m = 0; m < PTO_MAX_TENSORS; m++) {
    free(captured->start[m]);
    free(captured->now[m]);
    free(captured->collected[m]);
  }
  free(captured);
}

static void forget_task(struct pto_task_capture *c, struct captured_task *captured) {
  struct captured_task **at = &c->tasks;
  while (*at != captured) at = &(*at)->next;
  *at = captured->next;
  free_task(captured);
}

static int get_room(struct captured_task *captured, struct pto_error *error) {
  for (uint32_t m = 0; m < captured->folder.memory_count; m++) {
    uint64_t size_bytes = captured->folder.memories[m].size_bytes;
    captured->start[m] = malloc(size_bytes);
    captured->now[m] = malloc(size_bytes);
    captured->collected[m] = malloc(size_bytes);
    if (!captured->start[m] || !captured->now[m] || !captured->collected[m])
      return pto_error_set(error, PTO_ENOMEM, "no memory to keep %" PRIu64 " bytes of task %" PRIu64, size_bytes,
                           captured->folder.number);
  }
  return PTO_OK;
}

static int make_folder(const char *path, struct pto_error *error) {
  if (mkdir(path, 0777) == 0 || errno == EEXIST) return PTO_OK;
  return pto_error_set(error, PTO_ESYSTEM, "%.400s: %s", path, strerror(errno));
}

/* Describes the task and writes what its memory holds now. */
static int begin_task(struct pto_task_capture *c, const struct pto_message *message, struct captured_task *captured,
                      struct pto_error *error) {
  const struct pto_payload *payload = message->payload;
  const uint64_t number = payload->task_number;
  struct pto_task_folder *folder = &captured->folder;
  if (number >= c->trace->tasks.count || pto_trace_dropped(c->trace))
    return pto_error_set(error, PTO_ENOTSUP, "task %" PRIu64 " was not recorded: the log is full", number);
  const struct pto_trace_task *task = pto_trace_log_at(&c->trace->tasks, number);
  *folder = c->about;
  folder->number = number + c->request.first_task;
  folder->block_count = task->block_count;
  folder->is_sync_start = task->is_sync_start;
  folder->aiv_local_bytes = c->port->aiv_local_bytes;
  folder->aic_local_bytes = c->port->aic_local_bytes;
  for (int role = 0; role < 3; role++) captured->messages_left += task->kernels[role] ? task->block_count : 0;
  int status = describe_kernels(c, task, folder, error);
  if (status) return status;
  describe_memories(c, task, captured);
  describe_params(c, task, payload, captured);
  if (snprintf(captured->path, sizeof captured->path, "%s/%" PRIu64, c->request.path, folder->number) >=
      (int)sizeof captured->path)
    return pto_error_set(error, PTO_EINVAL, "the path of the folder is too long");
  status = make_folder(captured->path, error);
  if (!status) status = get_room(captured, error);
  for (uint32_t m = 0; m < folder->memory_count && !status; m++) {
    copy_bytes(captured->collected[m], captured->addrs[m], folder->memories[m].size_bytes);
    status = pto_task_folder_write_memory(folder, captured->path, m, "before", captured->collected[m], error);
  }
  return status ? status : pto_task_folder_write(folder, captured->path, error);
}

static int end_task(struct captured_task *captured, struct pto_error *error) {
  struct pto_task_folder *folder = &captured->folder;
  int status = PTO_OK;
  for (uint32_t m = 0; m < folder->memory_count && !status; m++)
    if (folder->memories[m].has_after)
      status = pto_task_folder_write_memory(folder, captured->path, m, "after", captured->collected[m], error);
  folder->has_ended = true;
  return status ? status : pto_task_folder_write(folder, captured->path, error);
}

/* The task of a message, where it is chosen; begun at its first message. */
static struct captured_task *find_task(struct pto_task_capture *c, const struct pto_message *message) {
  const struct pto_payload *payload = message->payload;
  struct pto_error error;
  for (struct captured_task *captured = c->tasks; captured; captured = captured->next)
    if (captured->folder.number == payload->task_number + c->request.first_task) return captured;
  if (c->is_over || c->error.status ||
      !pto_task_choice_takes(c->request.choice, payload->task_number + c->request.first_task, payload->kernels))
    return NULL;
  drain(c);
  struct captured_task *captured = calloc(1, sizeof *captured);
  int status = captured ? begin_task(c, message, captured, &error)
                        : pto_error_set(&error, PTO_ENOMEM, "no memory to keep task %" PRIu64, payload->task_number);
  if (status) {
    note_error(c, &error);
    if (captured) free_task(captured);
    return NULL;
  }
  captured->next = c->tasks;
  return c->tasks = captured;
}

/* ---- stretches: messages of one task in flight, of no other ---- */

static void begin_stretch(struct pto_task_capture *c, struct captured_task *captured) {
  drain(c);
  for (uint32_t m = 0; m < captured->folder.memory_count; m++)
    copy_bytes(captured->start[m], captured->addrs[m], captured->folder.memories[m].size_bytes);
  c->running = captured;
}

/* All of its messages have completed, or the one that ran without being sent. */
static void collect(struct pto_task_capture *c) {
  struct captured_task *captured = c->running;
  struct pto_error error;
  for (uint32_t m = 0; m < captured->folder.memory_count; m++) {
    struct pto_task_memory *memory = &captured->folder.memories[m];
    copy_bytes(captured->now[m], captured->addrs[m], memory->size_bytes);
    if (memcmp(captured->now[m], captured->start[m], memory->size_bytes) == 0) continue;
    memory->has_after = true;
    for (uint64_t i = 0; i < memory->size_bytes; i++)
      if (captured->now[m][i] != captured->start[m][i]) captured->collected[m][i] = captured->now[m][i];
  }
  c->running = NULL;
  if (captured->has_failed || captured->messages_left) return;
  if (end_task(captured, &error))
    note_error(c, &error);
  else
    c->captured_count++;
  forget_task(c, captured);
}

static void end_stretch(struct pto_task_capture *c) {
  if (!c->running) return;
  drain(c);
  collect(c);
}

/* ---- the operations ---- */

static int begin_run(struct pto_port *port, char *sentence, size_t sentence_size) {
  struct pto_task_capture *c = capture_of(port);
  enter(c);
  int status = c->inner->begin_run(port, sentence, sentence_size);
  leave(c);
  return status;
}

static void end_run(struct pto_port *port) {
  struct pto_task_capture *c = capture_of(port);
  end_stretch(c);
  c->is_over = true;
  while (c->tasks) forget_task(c, c->tasks); /* those of a run that failed */
  c->completion_count = 0;
  enter(c);
  c->inner->end_run(port);
  leave(c);
}

static bool dispatch(struct pto_port *port, const struct pto_message *message, uint64_t ready_at,
                     struct pto_completion *completion) {
  struct pto_task_capture *c = capture_of(port);
  if (c->running && c->running->folder.number != message->payload->task_number + c->request.first_task) end_stretch(c);
  struct captured_task *captured = find_task(c, message);
  if (captured && c->running != captured) begin_stretch(c, captured);
  if (captured) captured->messages_left--;
  enter(c);
  const bool has_run = c->inner->dispatch(port, message, ready_at, completion);
  c->in_flight += !has_run;
  leave(c);
  if (!captured || !has_run) return has_run;
  captured->has_failed |= completion->status != 0;
  if (captured->messages_left == 0) end_stretch(c); /* before the runtime lets anybody else at its memory */
  return true;
}

static void flush(struct pto_port *port) {
  struct pto_task_capture *c = capture_of(port);
  end_stretch(c);
  enter(c);
  if (c->inner->flush) c->inner->flush(port);
  leave(c);
}

static uint32_t poll(struct pto_port *port, struct pto_completion *completions, uint32_t max) {
  struct pto_task_capture *c = capture_of(port);
  uint32_t count = 0;
  end_stretch(c);
  for (; count < max && c->completion_count; count++) {
    completions[count] = c->completions[c->completion_head];
    c->completion_head = (c->completion_head + 1) % c->completion_capacity;
    c->completion_count--;
  }
  if (count) return count;
  enter(c);
  count = c->inner->poll(port, completions, max);
  c->in_flight -= count;
  leave(c);
  return count;
}

static void wait_port(struct pto_port *port) {
  struct pto_task_capture *c = capture_of(port);
  end_stretch(c);
  if (c->completion_count) return;
  enter(c);
  c->inner->wait(port);
  leave(c);
}

/* ---- creation ---- */

int pto_task_capture_create(struct pto_runtime *rt, const struct pto_task_capture_request *request,
                            struct pto_task_capture **capture_out, struct pto_error *error) {
  struct pto_port *port = pto_runtime_port(rt);
  int status = make_folder(request->path, error);
  if (status) return status;
  struct pto_task_capture *c = calloc(1, sizeof *c);
  uint32_t capacity = 3 * port->cluster_count * port->slots_per_core;
  if (c) c->completions = calloc(capacity, sizeof *c->completions);
  if (!c || !c->completions) {
    free(c);
    return pto_error_set(error, PTO_ENOMEM, "no memory to keep tasks");
  }
  c->completion_capacity = capacity;
  c->inner = port->ops;
  c->port = port;
  c->trace = pto_runtime_trace(rt);
  c->request = *request;
  c->about = *request->about;
  c->ops = *port->ops;
  c->ops.begin_run = begin_run;
  c->ops.end_run = end_run;
  c->ops.dispatch = dispatch;
  c->ops.flush = flush;
  c->ops.poll = poll;
  c->ops.wait = wait_port;
  port->ops = &c->ops;
  *capture_out = c;
  return PTO_OK;
}

void pto_task_capture_destroy(struct pto_task_capture *capture) {
  if (!capture) return;
  capture->port->ops = capture->inner;
  while (capture->tasks) forget_task(capture, capture->tasks);
  free(capture->completions);
  free(capture);
}

uint64_t pto_task_capture_count(const struct pto_task_capture *capture) { return capture->captured_count; }
const struct pto_error *pto_task_capture_error(const struct pto_task_capture *capture) { return &capture->error; }
