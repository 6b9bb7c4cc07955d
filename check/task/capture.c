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
struct kept_task {
  struct kept_task *next;
  struct pto_task_folder folder;
  char path[PATH_MAX];
  uint64_t addrs[PTO_MAX_TENSORS];           /* of each memory, in the run */
  unsigned char *start[PTO_MAX_TENSORS];     /* what it held when the group began */
  unsigned char *now[PTO_MAX_TENSORS];       /* room for what it holds when the group has ended */
  unsigned char *collected[PTO_MAX_TENSORS]; /* what it held before the task, and what the groups changed since */
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
  struct kept_task *tasks; /* that are under way */
  struct kept_task *group; /* whose messages are in flight, alone; NULL: none is */
  uint64_t in_flight, kept_count;
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
    if (c->group && taken[i].status) c->group->has_failed = true;
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
    struct pto_task_kernel *kept = &folder->kernels[role];
    kept->name = kernel->name;
    if (c->request.program_handle && pto_kernel_image_number(c->request.program_handle, kernel, &kept->nth)) continue;
    kept->is_general = pto_kernel_find(kernel->name) == kernel;
    if (!kept->is_general)
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
                              struct kept_task *kept) {
  struct range ranges[PTO_MAX_TENSORS + 1];
  uint32_t count = 0;
  for (uint32_t i = 0; i < task->param_count; i++) {
    const struct pto_trace_param *param = param_at(c, task, i);
    const struct pto_buffer *buffer = &param->tensor.buffer;
    if (param->index == UINT32_MAX || !buffer->base || !buffer->size_bytes) continue;
    ranges[count++] = (struct range){buffer->base, buffer->base + buffer->size_bytes};
  }
  qsort(ranges, count, sizeof *ranges, order_ranges);
  struct pto_task_folder *folder = &kept->folder;
  for (uint32_t i = 0; i < count; i++) {
    struct pto_task_memory *last = folder->memory_count ? &folder->memories[folder->memory_count - 1] : NULL;
    uint64_t *last_addr = folder->memory_count ? &kept->addrs[folder->memory_count - 1] : NULL;
    if (last && ranges[i].lo < *last_addr + last->size_bytes) {
      last->size_bytes = pto_max_u64(last->size_bytes, ranges[i].hi - *last_addr);
      continue;
    }
    kept->addrs[folder->memory_count] = ranges[i].lo;
    folder->memories[folder->memory_count++] = (struct pto_task_memory){
        .size_bytes = ranges[i].hi - ranges[i].lo, .page_offset = ranges[i].lo % PTO_TASK_PAGE_BYTES};
  }
}

static void describe_tensor(const struct kept_task *kept, const struct pto_trace_param *from,
                            struct pto_task_param *param) {
  const struct pto_tensor *t = &from->tensor;
  param->mode = from->mode;
  param->dtype = t->dtype;
  param->ndims = t->ndims;
  memcpy(param->shape, t->shape, sizeof param->shape);
  memcpy(param->strides, t->strides, sizeof param->strides);
  param->memory = PTO_TASK_NO_MEMORY;
  for (uint32_t m = 0; m < kept->folder.memory_count; m++)
    if (t->buffer.base >= kept->addrs[m] && t->buffer.base - kept->addrs[m] < kept->folder.memories[m].size_bytes) {
      param->memory = m;
      param->offset_bytes = t->buffer.base - kept->addrs[m] + t->start_offset * pto_dtype_size(t->dtype);
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
                            const struct pto_payload *payload, struct kept_task *kept) {
  const union pto_scalar *scalars = pto_payload_scalars((struct pto_payload *)(uintptr_t)payload);
  struct pto_task_folder *folder = &kept->folder;
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
    if (from->index < folder->param_count) describe_tensor(kept, from, &folder->params[from->index]);
  }
}

/* ---- a task's life ---- */

static void free_task(struct kept_task *kept) {
  for (uint32_t m = 0; m < PTO_MAX_TENSORS; m++) {
    free(kept->start[m]);
    free(kept->now[m]);
    free(kept->collected[m]);
  }
  free(kept);
}

static void forget_task(struct pto_task_capture *c, struct kept_task *kept) {
  struct kept_task **at = &c->tasks;
  while (*at != kept) at = &(*at)->next;
  *at = kept->next;
  free_task(kept);
}

static int get_room(struct kept_task *kept, struct pto_error *error) {
  for (uint32_t m = 0; m < kept->folder.memory_count; m++) {
    uint64_t size_bytes = kept->folder.memories[m].size_bytes;
    kept->start[m] = malloc(size_bytes);
    kept->now[m] = malloc(size_bytes);
    kept->collected[m] = malloc(size_bytes);
    if (!kept->start[m] || !kept->now[m] || !kept->collected[m])
      return pto_error_set(error, PTO_ENOMEM, "no memory to keep %" PRIu64 " bytes of task %" PRIu64, size_bytes,
                           kept->folder.number);
  }
  return PTO_OK;
}

static int make_folder(const char *path, struct pto_error *error) {
  if (mkdir(path, 0777) == 0 || errno == EEXIST) return PTO_OK;
  return pto_error_set(error, PTO_ESYSTEM, "%.400s: %s", path, strerror(errno));
}

/* Describes the task and writes what its memory holds now. */
static int begin_task(struct pto_task_capture *c, const struct pto_message *message, struct kept_task *kept,
                      struct pto_error *error) {
  const struct pto_payload *payload = message->payload;
  const uint64_t number = payload->task_number;
  struct pto_task_folder *folder = &kept->folder;
  if (number >= c->trace->tasks.count || pto_trace_dropped(c->trace))
    return pto_error_set(error, PTO_ENOTSUP, "task %" PRIu64 " was not recorded: the log is full", number);
  const struct pto_trace_task *task = pto_trace_log_at(&c->trace->tasks, number);
  *folder = c->about;
  folder->number = number + c->request.first_task;
  folder->block_count = task->block_count;
  folder->is_sync_start = task->is_sync_start;
  folder->aiv_local_bytes = c->port->aiv_local_bytes;
  folder->aic_local_bytes = c->port->aic_local_bytes;
  for (int role = 0; role < 3; role++) kept->messages_left += task->kernels[role] ? task->block_count : 0;
  int status = describe_kernels(c, task, folder, error);
  if (status) return status;
  describe_memories(c, task, kept);
  describe_params(c, task, payload, kept);
  if (snprintf(kept->path, sizeof kept->path, "%s/%" PRIu64, c->request.path, folder->number) >= (int)sizeof kept->path)
    return pto_error_set(error, PTO_EINVAL, "the path of the folder is too long");
  status = make_folder(kept->path, error);
  if (!status) status = get_room(kept, error);
  for (uint32_t m = 0; m < folder->memory_count && !status; m++) {
    copy_bytes(kept->collected[m], kept->addrs[m], folder->memories[m].size_bytes);
    status = pto_task_folder_write_memory(folder, kept->path, m, "before", kept->collected[m], error);
  }
  return status ? status : pto_task_folder_write(folder, kept->path, error);
}

static int end_task(struct kept_task *kept, struct pto_error *error) {
  struct pto_task_folder *folder = &kept->folder;
  int status = PTO_OK;
  for (uint32_t m = 0; m < folder->memory_count && !status; m++)
    if (folder->memories[m].has_after)
      status = pto_task_folder_write_memory(folder, kept->path, m, "after", kept->collected[m], error);
  folder->has_ended = true;
  return status ? status : pto_task_folder_write(folder, kept->path, error);
}

/* The task of a message, where it is chosen; begun at its first message. */
static struct kept_task *find_task(struct pto_task_capture *c, const struct pto_message *message) {
  const struct pto_payload *payload = message->payload;
  struct pto_error error;
  for (struct kept_task *kept = c->tasks; kept; kept = kept->next)
    if (kept->folder.number == payload->task_number + c->request.first_task) return kept;
  if (c->is_over || c->error.status ||
      !pto_task_choice_takes(c->request.choice, payload->task_number + c->request.first_task, payload->kernels))
    return NULL;
  drain(c);
  struct kept_task *kept = calloc(1, sizeof *kept);
  int status = kept ? begin_task(c, message, kept, &error)
                    : pto_error_set(&error, PTO_ENOMEM, "no memory to keep task %" PRIu64, payload->task_number);
  if (status) {
    note_error(c, &error);
    if (kept) free_task(kept);
    return NULL;
  }
  kept->next = c->tasks;
  return c->tasks = kept;
}

/* ---- groups ---- */

static void begin_group(struct pto_task_capture *c, struct kept_task *kept) {
  drain(c);
  for (uint32_t m = 0; m < kept->folder.memory_count; m++)
    copy_bytes(kept->start[m], kept->addrs[m], kept->folder.memories[m].size_bytes);
  c->group = kept;
}

/* All of the group's messages have completed, or the one that ran without being sent. */
static void collect(struct pto_task_capture *c) {
  struct kept_task *kept = c->group;
  struct pto_error error;
  for (uint32_t m = 0; m < kept->folder.memory_count; m++) {
    struct pto_task_memory *memory = &kept->folder.memories[m];
    copy_bytes(kept->now[m], kept->addrs[m], memory->size_bytes);
    if (memcmp(kept->now[m], kept->start[m], memory->size_bytes) == 0) continue;
    memory->has_after = true;
    for (uint64_t i = 0; i < memory->size_bytes; i++)
      if (kept->now[m][i] != kept->start[m][i]) kept->collected[m][i] = kept->now[m][i];
  }
  c->group = NULL;
  if (kept->has_failed || kept->messages_left) return;
  if (end_task(kept, &error))
    note_error(c, &error);
  else
    c->kept_count++;
  forget_task(c, kept);
}

static void end_group(struct pto_task_capture *c) {
  if (!c->group) return;
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
  end_group(c);
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
  if (c->group && c->group->folder.number != message->payload->task_number + c->request.first_task) end_group(c);
  struct kept_task *kept = find_task(c, message);
  if (kept && c->group != kept) begin_group(c, kept);
  if (kept) kept->messages_left--;
  enter(c);
  const bool has_run = c->inner->dispatch(port, message, ready_at, completion);
  c->in_flight += !has_run;
  leave(c);
  if (!kept || !has_run) return has_run;
  kept->has_failed |= completion->status != 0;
  if (kept->messages_left == 0) end_group(c); /* before the runtime lets anybody else at its memory */
  return true;
}

static void flush(struct pto_port *port) {
  struct pto_task_capture *c = capture_of(port);
  end_group(c);
  enter(c);
  if (c->inner->flush) c->inner->flush(port);
  leave(c);
}

static uint32_t poll(struct pto_port *port, struct pto_completion *completions, uint32_t max) {
  struct pto_task_capture *c = capture_of(port);
  uint32_t count = 0;
  end_group(c);
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
  end_group(c);
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

uint64_t pto_task_capture_count(const struct pto_task_capture *capture) { return capture->kept_count; }
const struct pto_error *pto_task_capture_error(const struct pto_task_capture *capture) { return &capture->error; }
