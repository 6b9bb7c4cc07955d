/* SPDX-License-Identifier: MIT */
#include <check/capture/capture_program.h>

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orchestration/loader/program_run.h>
#include <runtime/base/base.h>
#include <runtime/base/grow.h>
#include <runtime/base/reserve.h>
#include <runtime/control/control.h>
#include <sim/chips/chip.h>
#include <sim/kernel_times/call_times.h>

#define NAME_BYTES 64
#define HEAP_ALIGN UINT64_C(1024)

/* What the calls of a task take, in elements of the vector unit, which is what costs are made of. */
struct durations {
  uint32_t block_count;
  uint64_t elems[]; /* by role · block_count + block */
};

/* A kernel of the program: a name, where it runs, and what it does to each parameter. */
struct replay_kernel {
  struct pto_kernel kernel;
  struct pto_kernel_param params[PTO_MAX_TENSORS + 1];
  char name[NAME_BYTES];
};

struct pto_capture_program {
  struct pto_program program;
  struct pto_config config;
  struct pto_option options[2];
  struct pto_capture capture;
  char *name;
  struct replay_kernel **kernels;
  size_t kernel_count, kernel_capacity;
  uint64_t *preds, *first_pred; /* indices of tasks, by task */
  struct pto_task *handles;     /* by task */
  struct pto_task *after;       /* room for those of one task */
  struct pto_tensor *buffers;   /* whole, by buffer */
  struct durations **durations; /* by task; of the run: for its chip */
  struct pto_reserve memory;    /* of the caller: address space alone */
  uint64_t *addresses;          /* in it, by buffer */
  uint64_t *order;              /* spans in order of release */
  uint32_t *lane_cores;         /* by captured core: which of the chip's it is */
  uint16_t *placed;             /* by task of a recorded replay */
  uint64_t elems_rate;          /* of the run's chip: elements in 10⁹ ps */
};

struct replay {
  struct pto_capture_program *p;
  struct pto_program_run *run;
  struct pto_runtime *rt;
  const struct pto_chip *chip;
  bool by_accesses;
  uint64_t origin_ps, first_ps, each_ps; /* of a recorded replay */
};

/* ---- kernels ---- */

static int do_nothing(const struct pto_kernel_args *args) { return 0; }

static struct pto_cost cost_as_captured(const struct pto_kernel_args *args) {
  const struct durations *durations = (const struct durations *)(uintptr_t)args->scalars[0].u64;
  const uint32_t role = args->core->role, block = args->core->block_index;
  return (struct pto_cost){.vector_elems = durations->elems[role * durations->block_count + block]};
}

static void name_kernel(const struct pto_capture_task *task, uint32_t role, char name[NAME_BYTES]) {
  if (task->name)
    snprintf(name, NAME_BYTES, "%s", task->name);
  else if (task->kernels[role] >= 0 && task->kernels[role] != PTO_CAPTURE_SOME_KERNEL)
    snprintf(name, NAME_BYTES, "func_%" PRIi64, task->kernels[role]);
  else
    snprintf(name, NAME_BYTES, "task");
}

static bool is_alike(const struct replay_kernel *k, const char *name, uint32_t cores, const struct pto_param *params,
                     uint32_t count) {
  if (k->kernel.cores != cores || k->kernel.param_count != count || strcmp(k->name, name) != 0) return false;
  for (uint32_t i = 0; i < count; i++)
    if (k->params[i].mode != params[i].mode) return false;
  return true;
}

/* The kernel of this name for these parameters; made where there is none.  NULL where memory is short.  Programs have
 * few, so that looking at all of them is fast enough; the last ones come first. */
static const struct pto_kernel *kernel_for(struct pto_capture_program *p, const struct pto_capture_task *task,
                                           uint32_t role, const struct pto_param *params, uint32_t count) {
  char name[NAME_BYTES];
  const uint32_t cores = role == 0 ? PTO_AIC : PTO_AIV;
  name_kernel(task, role, name);
  for (size_t i = p->kernel_count; i-- > 0;)
    if (is_alike(p->kernels[i], name, cores, params, count)) return &p->kernels[i]->kernel;
  struct replay_kernel *k = calloc(1, sizeof *k);
  struct replay_kernel **slot = k ? pto_grow(&p->kernels, &p->kernel_count, &p->kernel_capacity, sizeof *slot) : NULL;
  if (!slot) {
    free(k);
    return NULL;
  }
  *slot = k;
  memcpy(k->name, name, sizeof k->name);
  for (uint32_t i = 0; i < count; i++)
    k->params[i] = (struct pto_kernel_param){
        .name = "captured", .mode = params[i].mode, .scalar = params[i].mode == PTO_SCALAR ? PTO_SCALAR_U64 : 0};
  const bool has_time = count && params[count - 1].mode == PTO_SCALAR;
  k->kernel = (struct pto_kernel){.name = k->name,
                                  .cores = cores,
                                  .flags = has_time ? PTO_KERNEL_COST_IS_MEASURED : 0,
                                  .params = k->params,
                                  .param_count = count,
                                  .run = do_nothing,
                                  .cost = has_time ? cost_as_captured : NULL};
  return &k->kernel;
}

/* ---- times ---- */

/* The most elements that take no longer than `ns`. */
static uint64_t elems_of(const struct pto_capture_program *p, uint64_t ns) {
  return (uint64_t)((unsigned __int128)ns * p->elems_rate / 1000000u);
}

/* Those of the task's spans: the parts on AIC in order of their begins are its blocks, and so are those on AIV; of two
 * AIV kernels each block has two in a row. */
static struct durations *durations_of(struct pto_capture_program *p, uint64_t index) {
  const struct pto_capture *c = &p->capture;
  const struct pto_capture_task *task = &c->tasks[index];
  struct durations *d = p->durations[index];
  uint32_t aic = 0, aiv = 0;
  if (!d) {
    const size_t bytes = sizeof *d + 3 * (size_t)task->block_count * sizeof *d->elems;
    if (!(d = p->durations[index] = calloc(1, bytes))) return NULL;
  }
  d->block_count = task->block_count;
  const bool has_two = task->kernels[1] >= 0 && task->kernels[2] >= 0;
  for (uint64_t i = 0; i < task->span_count; i++) {
    const struct pto_capture_span *span = &c->spans[task->first_span + i];
    const uint64_t elems = elems_of(p, span->end_ns - span->begin_ns);
    if (c->cores[span->core] == PTO_AIC) {
      d->elems[aic++] = elems;
      continue;
    }
    const uint32_t role = has_two ? 1 + aiv % 2 : 1, block = has_two ? aiv / 2 : aiv;
    d->elems[role * task->block_count + block] = elems;
    aiv++;
  }
  return d;
}

/* ---- what tasks touch ---- */

static int fail(struct replay *r, const char *what) {
  return pto_program_fail_as(r->run, PTO_ENOMEM, "%s: %s", r->p->name, what);
}

static bool is_managed(const struct replay *r, uint64_t buffer) {
  const struct pto_capture *c = &r->p->capture;
  const uint64_t creator = c->buffers[buffer].creator;
  /* A manual scope of one task would take it away again. */
  return creator != PTO_CAPTURE_NONE && !(r->by_accesses && c->tasks[creator].is_manual);
}

static void make_buffers(struct replay *r) {
  struct pto_capture_program *p = r->p;
  for (uint64_t i = 0; i < p->capture.buffer_count; i++) {
    const uint64_t bytes = p->capture.buffers[i].size_bytes;
    if (is_managed(r, i))
      p->buffers[i] = pto_managed_tensor(r->rt, pto_create_buffer(r->rt, bytes), PTO_UINT8, 1, &bytes);
    else
      p->buffers[i] = pto_external_tensor(r->rt, (void *)(uintptr_t)p->addresses[i], PTO_UINT8, 1, &bytes);
  }
}

static struct pto_tensor tensor_of(const struct pto_capture_program *p, const struct pto_capture_access *access) {
  struct pto_tensor t = p->buffers[access->buffer];
  t.start_offset = access->offset;
  t.dtype = access->dtype;
  t.ndims = access->ndims;
  memcpy(t.shape, access->shape, sizeof t.shape);
  memcpy(t.strides, access->strides, sizeof t.strides);
  return t;
}

static bool is_empty(const struct pto_capture_access *access) {
  for (uint32_t d = 0; d < access->ndims; d++)
    if (access->shape[d] == 0) return true;
  return false;
}

/* The smallest dense range of bytes with both. */
static struct pto_tensor join(const struct pto_capture_program *p, const struct pto_tensor *a,
                              const struct pto_tensor *b, uint64_t buffer) {
  const struct pto_tensor *const both[] = {a, b};
  uint64_t begin = UINT64_MAX, end = 0;
  for (int i = 0; i < 2; i++) {
    uint64_t last = both[i]->start_offset;
    for (uint32_t d = 0; d < both[i]->ndims; d++) last += (both[i]->shape[d] - 1) * both[i]->strides[d];
    begin = pto_min_u64(begin, both[i]->start_offset * pto_dtype_size(both[i]->dtype));
    end = pto_max_u64(end, (last + 1) * pto_dtype_size(both[i]->dtype));
  }
  struct pto_tensor t = p->buffers[buffer];
  t.start_offset = begin;
  t.shape[0] = end - begin;
  return t;
}

/* Parameters of a task: each access, but for those that share bytes of which one is written: a task here touches bytes
 * in one way, so these are one.  *count_out of at most PTO_MAX_TENSORS. */
static int make_params(struct replay *r, const struct pto_capture_task *task, struct pto_tensor *tensors,
                       struct pto_param *params, uint32_t *count_out) {
  const struct pto_capture *c = &r->p->capture;
  uint64_t buffers[PTO_MAX_TENSORS];
  uint32_t count = 0;
  char id[32];
  for (uint64_t i = 0; i < task->access_count; i++) {
    const struct pto_capture_access *access = &c->accesses[task->first_access + i];
    struct pto_tensor t = tensor_of(r->p, access);
    uint32_t mode = access->mode;
    if (is_empty(access)) continue;
    for (uint32_t k = 0; k < count;) {
      if (buffers[k] != access->buffer || !((params[k].mode | mode) & PTO_OUTPUT) ||
          pto_tensor_overlap(&tensors[k], &t) == PTO_DISJOINT) {
        k++;
        continue;
      }
      if (pto_tensor_overlap(&tensors[k], &t) != PTO_EQUAL) t = join(r->p, &tensors[k], &t, access->buffer);
      mode |= params[k].mode;
      count--;
      memmove(&tensors[k], &tensors[k + 1], (count - k) * sizeof *tensors);
      memmove(&params[k], &params[k + 1], (count - k) * sizeof *params);
      memmove(&buffers[k], &buffers[k + 1], (count - k) * sizeof *buffers);
    }
    if (count == PTO_MAX_TENSORS)
      return pto_program_fail(r->run, "%s: task %s touches more than %u tensors", r->p->name,
                              pto_capture_id_format(task->id, id, sizeof id), PTO_MAX_TENSORS);
    tensors[count] = t;
    buffers[count] = access->buffer;
    params[count++].mode = mode;
  }
  for (uint32_t i = 0; i < count; i++) params[i] = pto_param_tensor(params[i].mode, &tensors[i]);
  *count_out = count;
  return PTO_OK;
}

/* ---- tasks ---- */

static bool is_explicit(const struct pto_capture *c, uint64_t from, uint64_t to) {
  uint64_t low = 0, high = c->edge_count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const struct pto_capture_edge *edge = &c->edges[middle];
    if (edge->from < from || (edge->from == from && edge->to < to))
      low = middle + 1;
    else
      high = middle;
  }
  return c->edges[low].sources & PTO_CAPTURE_EXPLICIT;
}

static uint32_t make_after(struct replay *r, uint64_t index) {
  struct pto_capture_program *p = r->p;
  uint32_t count = 0;
  for (uint64_t i = p->first_pred[index]; i < p->first_pred[index + 1]; i++)
    if (!r->by_accesses || is_explicit(&p->capture, p->preds[i], index)) p->after[count++] = p->handles[p->preds[i]];
  return count;
}

/* A task with kernels, or one without that has parameters all the same. */
static int submit_launch(struct replay *r, uint64_t index, struct pto_param *params, uint32_t count) {
  struct pto_capture_program *p = r->p;
  const struct pto_capture_task *task = &p->capture.tasks[index];
  if (task->span_count) {
    const struct durations *durations = durations_of(p, index);
    if (!durations) return fail(r, "out of memory");
    params[count++] = pto_scalar_u64((uint64_t)(uintptr_t)durations);
  }
  struct pto_launch launch = {.size = sizeof launch,
                              .block_count = task->block_count,
                              .after = p->after,
                              .no_kernel = pto_capture_role_count(task) == 0};
  const struct pto_kernel **const roles[] = {&launch.aic, &launch.aiv0, &launch.aiv1};
  for (uint32_t role = 0; role < 3; role++)
    if (task->kernels[role] >= 0 && !(*roles[role] = kernel_for(p, task, role, params, count)))
      return fail(r, "out of memory");
  launch.after_count = make_after(r, index);
  return pto_submit(r->rt, &launch, params, count, &p->handles[index]);
}

static int submit_task(struct replay *r, uint64_t index) {
  struct pto_capture_program *p = r->p;
  const struct pto_capture_task *task = &p->capture.tasks[index];
  struct pto_tensor tensors[PTO_MAX_TENSORS];
  struct pto_param params[PTO_MAX_TENSORS + 1] = {0};
  uint32_t count = 0;
  const int status = make_params(r, task, tensors, params, &count);
  if (status) return status;
  if (task->kind == PTO_CAPTURE_ALLOC && count && is_managed(r, p->capture.accesses[task->first_access].buffer))
    return pto_alloc_tensors(r->rt, tensors, count, &p->handles[index]);
  return submit_launch(r, index, params, count);
}

/* A task of a manual scope, where the others are in none.  Where the captured orchestrator's calls are known, each
 * begins when it did, or as soon as those before it are over. */
static int submit_in_scope(struct replay *r, uint64_t index) {
  const struct pto_capture_task *task = &r->p->capture.tasks[index];
  if (task->submit_end_ns) pto_host_wait_until(r->rt, r->origin_ps + task->submit_begin_ns * 1000);
  const bool is_manual = r->by_accesses && r->p->capture.tasks[index].is_manual;
  int status = is_manual ? pto_scope_begin(r->rt, PTO_SCOPE_MANUAL) : PTO_OK;
  if (!status) status = submit_task(r, index);
  if (!status && is_manual) status = pto_scope_end(r->rt);
  return status;
}

static int replay_tasks(struct replay *r) {
  r->origin_ps = r->chip->handshake_ps + r->chip->work_ps[PTO_WORK_SCOPE];
  make_buffers(r);
  int status = pto_scope_begin(r->rt, r->by_accesses ? PTO_SCOPE_AUTO : PTO_SCOPE_MANUAL);
  for (uint64_t i = 0; i < r->p->capture.task_count && !status; i++) status = submit_in_scope(r, i);
  return status ? status : pto_scope_end(r->rt);
}

/* ---- as it was recorded ---- */

static uint64_t release_of(const struct pto_capture_span *span) {
  return span->has_dispatch ? span->dispatch_ns : span->begin_ns;
}

static int order_spans(const void *left, const void *right, void *context) {
  const struct pto_capture_span *spans = context;
  const struct pto_capture_span *a = &spans[*(const uint64_t *)left], *b = &spans[*(const uint64_t *)right];
  if (release_of(a) != release_of(b)) return release_of(a) < release_of(b) ? -1 : 1;
  if (a->begin_ns != b->begin_ns) return a->begin_ns < b->begin_ns ? -1 : 1;
  return a->core == b->core ? 0 : a->core < b->core ? -1 : 1;
}

static int submit_span(struct replay *r, const struct pto_capture_span *span, uint64_t number) {
  struct pto_capture_program *p = r->p;
  const struct pto_capture_task *task = &p->capture.tasks[span->task];
  const bool is_aic = p->capture.cores[span->core] == PTO_AIC;
  struct durations *own = pto_program_alloc(r->run, sizeof *own + 3 * sizeof *own->elems);
  if (!own) return fail(r, "out of memory");
  own->block_count = 1;
  own->elems[is_aic ? 0 : 1] = elems_of(p, span->end_ns - span->begin_ns);
  const struct pto_param params[] = {pto_scalar_u64((uint64_t)(uintptr_t)own)};
  const struct pto_kernel *kernel = kernel_for(p, task, is_aic ? 0 : 1, params, 1);
  if (!kernel) return fail(r, "out of memory");
  p->placed[number] = (uint16_t)p->lane_cores[span->core];
  pto_host_wait_until(r->rt, r->origin_ps + release_of(span) * 1000 - (number == 0 ? r->first_ps : r->each_ps));
  return is_aic ? pto_submit_aic(r->rt, kernel, params, 1) : pto_submit_aiv(r->rt, kernel, params, 1);
}

/* The recorded time 0, late enough for what a run pays before its first task; what the submit and the message of a task
 * take is taken off its release, as they are over at a recorded dispatch. */
static void find_origin(struct replay *r) {
  const uint64_t *const ps = r->chip->work_ps;
  r->each_ps = ps[PTO_WORK_SUBMIT] + ps[PTO_WORK_PARAM] + ps[PTO_WORK_DISPATCH];
  r->first_ps = r->each_ps + ps[PTO_WORK_FIRST_SUBMIT];
  r->origin_ps = r->chip->handshake_ps + ps[PTO_WORK_SCOPE] + r->first_ps;
}

static int replay_recorded(struct replay *r) {
  struct pto_capture_program *p = r->p;
  const struct pto_capture *c = &p->capture;
  const uint32_t clusters = pto_core_count(r->rt, PTO_CLUSTER);
  if (!c->span_count) return pto_program_fail(r->run, "%s: no times were captured, so nothing is recorded", p->name);
  for (uint64_t i = 0; i < c->span_count; i++)
    if (p->lane_cores[c->spans[i].core] / 3 >= clusters)
      return pto_program_fail(r->run, "%s: %" PRIu32 " clusters were captured and the chip has %" PRIu32, p->name,
                              p->lane_cores[c->spans[i].core] / 3 + 1, clusters);
  find_origin(r);
  int status = pto_scope_begin(r->rt, PTO_SCOPE_MANUAL);
  pto_host_place(r->rt, p->placed, c->span_count);
  for (uint64_t i = 0; i < c->span_count && !status; i++) status = submit_span(r, &c->spans[p->order[i]], i);
  return status ? status : pto_scope_end(r->rt);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_capture_program *p = (struct pto_capture_program *)((uintptr_t)pto_program_run_program(run) -
                                                                 offsetof(struct pto_capture_program, program));
  struct replay replay = {.p = p, .run = run, .rt = rt};
  const char *mode = pto_option_text(run, "replay");
  const struct pto_config *config = pto_program_config(run);
  struct pto_chip chip;
  struct pto_error error;
  if (config->made_chip)
    chip = *config->made_chip;
  else if (pto_chip_load(config->chip, &chip, &error))
    return pto_program_fail(run, "%s", error.sentence);
  replay.chip = &chip;
  if (!pto_capture_suits(&p->capture, chip.name))
    pto_program_print(run, "warning: %s was captured on %s, and this is %s: times are not comparable\n", p->name,
                      pto_capture_chip(&p->capture), chip.name);
  p->elems_rate = (uint64_t)chip.vector_elems_per_cycle * chip.aiv_clock_khz;
  if (strcmp(mode, "recorded") == 0) return replay_recorded(&replay);
  replay.by_accesses = strcmp(mode, "accesses") == 0;
  if (!replay.by_accesses && strcmp(mode, "edges") != 0)
    return pto_program_fail(run, "replay is \"%s\", and edges, accesses or recorded was expected", mode);
  if (!replay.by_accesses && !p->capture.has_edges)
    return pto_program_fail(run, "%s: no dependencies were captured; --set replay=recorded", p->name);
  if (replay.by_accesses && !p->capture.access_count)
    return pto_program_fail(run, "%s: what tasks touch was not captured", p->name);
  return replay_tasks(&replay);
}

/* ---- life ---- */

/* The chip's core for each captured one: the n-th AIC is that of cluster n, the n-th AIV one of cluster n / 2. */
static void place_cores(struct pto_capture_program *p) {
  uint32_t aic = 0, aiv = 0;
  for (size_t i = 0; i < p->capture.core_count; i++) {
    if (p->capture.cores[i] == PTO_AIC) p->lane_cores[i] = 3 * aic++;
    if (p->capture.cores[i] == PTO_AIV) {
      p->lane_cores[i] = 3 * (aiv / 2) + 1 + aiv % 2;
      aiv++;
    }
  }
}

/* Counted two places behind, so that filling a list moves where it begins to where it ends, which is where the next
 * one begins. */
static void list_preds(struct pto_capture_program *p) {
  const struct pto_capture *c = &p->capture;
  for (uint64_t i = 0; i < c->edge_count; i++) p->first_pred[c->edges[i].to + 2]++;
  for (uint64_t i = 0; i < c->task_count; i++) p->first_pred[i + 2] += p->first_pred[i + 1];
  for (uint64_t i = 0; i < c->edge_count; i++) p->preds[p->first_pred[c->edges[i].to + 1]++] = c->edges[i].from;
}

static bool make_memory(struct pto_capture_program *p, uint64_t *heap_bytes) {
  const struct pto_capture *c = &p->capture;
  uint64_t bytes = HEAP_ALIGN;
  for (uint64_t i = 0; i < c->buffer_count; i++) {
    p->addresses[i] = bytes;
    bytes += pto_align_up(c->buffers[i].size_bytes, HEAP_ALIGN) + HEAP_ALIGN;
    *heap_bytes += pto_align_up(c->buffers[i].size_bytes, HEAP_ALIGN);
  }
  if (!pto_reserve_init(&p->memory, bytes)) return false;
  for (uint64_t i = 0; i < c->buffer_count; i++) p->addresses[i] += (uint64_t)(uintptr_t)p->memory.addr;
  return true;
}

static bool make_room(struct pto_capture_program *p) {
  const struct pto_capture *c = &p->capture;
  p->preds = calloc(c->edge_count + 1, sizeof *p->preds);
  p->first_pred = calloc(c->task_count + 2, sizeof *p->first_pred);
  p->handles = calloc(c->task_count + 1, sizeof *p->handles);
  p->after = calloc(c->task_count + 1, sizeof *p->after);
  p->durations = calloc(c->task_count + 1, sizeof(struct durations *));
  p->buffers = calloc(c->buffer_count + 1, sizeof *p->buffers);
  p->addresses = calloc(c->buffer_count + 1, sizeof *p->addresses);
  p->order = calloc(c->span_count + 1, sizeof *p->order);
  p->placed = calloc(c->span_count + 1, sizeof *p->placed);
  p->lane_cores = calloc(c->core_count + 1, sizeof *p->lane_cores);
  return p->preds && p->first_pred && p->handles && p->after && p->durations && p->buffers && p->addresses &&
         p->order && p->placed && p->lane_cores;
}

const char *pto_capture_program_chip(const struct pto_capture *capture) {
  const char *chip = pto_capture_chip(capture);
  return chip ? chip : "a2a3";
}

static void describe(struct pto_capture_program *p, uint64_t heap_bytes) {
  const struct pto_capture *c = &p->capture;
  const uint64_t most = pto_max_u64(c->task_count, c->span_count) + 16;
  p->config = (struct pto_config){.size = sizeof p->config,
                                  .engine = "virtual",
                                  .chip = pto_capture_program_chip(c),
                                  .window = UINT64_C(1) << (pto_log2_floor(pto_max_u64(most, 1024)) + 1),
                                  .heap_bytes = pto_max_u64(pto_align_up(2 * heap_bytes, HEAP_ALIGN), 1u << 20)};
  p->options[0] = (struct pto_option){"replay", PTO_OPTION_TEXT, c->has_edges ? "edges" : "recorded",
                                      "what orders tasks: edges, accesses or recorded"};
  p->program = (struct pto_program){.abi = PTO_PROGRAM_ABI,
                                    .name = p->name,
                                    .summary = "a capture of the existing runtime",
                                    .config = &p->config,
                                    .options = p->options,
                                    .orchestrate = orchestrate};
}

int pto_capture_program_load(const char *path, struct pto_capture_program **program_out, struct pto_error *error) {
  const char *slash = strrchr(path, '/');
  uint64_t heap_bytes = 0;
  struct pto_capture_program *p = calloc(1, sizeof *p);
  if (!p) return pto_error_set(error, PTO_ENOMEM, "out of memory");
  int status = pto_capture_read(path, &p->capture, error);
  if (!status && (!(p->name = strdup(slash ? slash + 1 : path)) || !make_room(p) || !make_memory(p, &heap_bytes)))
    status = pto_error_set(error, PTO_ENOMEM, "%s: no memory for its tasks and buffers", path);
  if (status) {
    pto_capture_program_destroy(p);
    return status;
  }
  p->name[strlen(p->name) - strlen(".json")] = '\0';
  for (uint64_t i = 0; i < p->capture.span_count; i++) p->order[i] = i;
  if (p->capture.span_count) qsort_r(p->order, p->capture.span_count, sizeof *p->order, order_spans, p->capture.spans);
  list_preds(p);
  place_cores(p);
  describe(p, heap_bytes);
  *program_out = p;
  return PTO_OK;
}

void pto_capture_program_destroy(struct pto_capture_program *p) {
  if (!p) return;
  for (size_t i = 0; i < p->kernel_count; i++) free(p->kernels[i]);
  for (uint64_t i = 0; i < p->capture.task_count && p->durations; i++) free(p->durations[i]);
  free(p->kernels);
  free(p->preds);
  free(p->first_pred);
  free(p->handles);
  free(p->after);
  free(p->durations);
  free(p->buffers);
  free(p->addresses);
  free(p->order);
  free(p->placed);
  free(p->lane_cores);
  free(p->name);
  pto_reserve_fini(&p->memory);
  pto_capture_fini(&p->capture);
  free(p);
}

const struct pto_program *pto_capture_program_program(const struct pto_capture_program *program) {
  return &program->program;
}
