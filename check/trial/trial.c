/* SPDX-License-Identifier: MIT */
#include <check/trial/trial.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <runtime/base/clock.h>
#include <runtime/base/text.h>

#define GUARD_BYTES 256
#define GUARD 0xa5
#define L0_BYTES (UINT64_C(64) << 10) /* of a2a3; L0C has twice that */

void pto_trial_init(struct pto_trial *trial, uint32_t index) {
  memset(trial, 0, sizeof *trial);
  trial->kernel = pto_kernel_at(index);
  trial->reference = pto_kernel_reference_at(index);
  trial->core = (struct pto_core){.kind = trial->kernel->cores == PTO_AIC ? PTO_AIC : PTO_AIV,
                                  .block_count = 1,
                                  .message = trial->message,
                                  .message_size = sizeof trial->message};
  trial->args = (struct pto_kernel_args){.tensors = trial->views, .scalars = trial->scalars, .core = &trial->core};
  for (uint32_t i = 0; i < trial->kernel->param_count; i++) {
    const struct pto_kernel_param *param = &trial->kernel->params[i];
    if (param->mode == PTO_SCALAR)
      trial->args.scalar_count++;
    else
      trial->params[trial->args.tensor_count++] = param;
  }
}

void pto_trial_fini(struct pto_trial *trial) {
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) {
    pto_trial_tensor_fini(&trial->tensors[i]);
    free(trial->golden[i].value);
    free(trial->golden[i].slack);
    free(trial->golden[i].whole);
    trial->golden[i] = (struct pto_golden){0};
  }
}

bool pto_trial_sizes(const struct pto_trial *trial, const struct pto_reference_sizes *sizes, struct pto_trial_case *c) {
  memset(c->shapes, 0, sizeof c->shapes);
  memset(c->scalars, 0, sizeof c->scalars);
  return trial->reference->shapes(sizes, c->shapes, c->scalars);
}

/* ---- what the kernel takes ---- */

static int check_param(struct pto_trial *trial, uint32_t i, const struct pto_trial_case *c) {
  const struct pto_kernel_param *param = trial->params[i];
  const char *kernel = trial->kernel->name;
  const uint32_t dtype = c->dtypes[i], rank = c->shapes[i].ndims;
  if ((pto_trial_dtypes(param) & PTO_DTYPE_BIT(dtype)) == 0)
    return pto_kernel_error(&trial->args, "%s: param %" PRIu32 " (%s) cannot be %s", kernel, i, param->name,
                            pto_dtype_name(dtype));
  if (rank < param->min_rank || (param->max_rank != 0 && rank > param->max_rank))
    return pto_kernel_error(&trial->args, "%s: param %" PRIu32 " (%s) cannot have rank %" PRIu32, kernel, i,
                            param->name, rank);
  return PTO_OK;
}

int pto_trial_check(struct pto_trial *trial, const struct pto_trial_case *c) {
  uint64_t strides[PTO_MAX_TENSORS][PTO_MAX_DIMS];
  trial->message[0] = '\0';
  memcpy(trial->scalars, c->scalars, sizeof trial->scalars);
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) {
    const struct pto_reference_shape *shape = &c->shapes[i];
    uint64_t stride = 1;
    for (uint32_t d = shape->ndims; d-- > 0; stride *= shape->shape[d]) strides[i][d] = stride;
    trial->views[i] = (struct pto_kernel_tensor){
        .shape = shape->shape, .strides = strides[i], .ndims = shape->ndims, .dtype = c->dtypes[i]};
  }
  int status = PTO_OK;
  for (uint32_t i = 0; i < trial->args.tensor_count && status == PTO_OK; i++) status = check_param(trial, i, c);
  if (status == PTO_OK && trial->kernel->check != NULL) status = trial->kernel->check(&trial->args);
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) trial->views[i] = trial->tensors[i].t;
  return status;
}

/* ---- tensors ---- */

static int alloc_tensors(struct pto_trial *trial, const struct pto_trial_case *c, struct pto_rng *rng) {
  pto_trial_fini(trial);
  trial->message[0] = '\0';
  memcpy(trial->scalars, c->scalars, sizeof trial->scalars);
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) {
    const int status = pto_trial_tensor_init(&trial->tensors[i], c->dtypes[i], &c->shapes[i], c->layout,
                                             pto_trial_is_written(trial->params[i]), rng);
    if (status != PTO_OK) return status;
    trial->views[i] = trial->tensors[i].t;
  }
  return PTO_OK;
}

int pto_trial_alloc(struct pto_trial *trial, const struct pto_trial_case *c) {
  struct pto_rng rng = {c->seed};
  return alloc_tensors(trial, c, &rng);
}

int pto_trial_make(struct pto_trial *trial, const struct pto_trial_case *c) {
  struct pto_rng rng = {c->seed};
  const int status = alloc_tensors(trial, c, &rng);
  if (status != PTO_OK) return status;
  const struct pto_kernel_reference *reference = trial->reference;
  for (uint32_t i = 0; i < trial->args.tensor_count; i++)
    if (pto_trial_is_read(trial->params[i]) && (reference->fill == NULL || !reference->fill(&trial->args, i, &rng)))
      pto_trial_fill(&trial->tensors[i], reference->values == PTO_VALUES_ANY && !c->is_plain, &rng);
  return PTO_OK;
}

int pto_trial_expect(struct pto_trial *trial) {
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) {
    struct pto_golden *golden = &trial->golden[i];
    if (pto_trial_tensor_snapshot(&trial->tensors[i]) != PTO_OK) return PTO_ENOMEM;
    if (!pto_trial_is_written(trial->params[i]) || golden->value != NULL) continue;
    const uint64_t numel = pto_trial_numel(&trial->tensors[i]);
    golden->value = calloc(numel + 1, sizeof(double));
    golden->slack = calloc(numel + 1, sizeof(double));
    golden->whole = calloc(numel + 1, sizeof(uint64_t));
    if (golden->value == NULL || golden->slack == NULL || golden->whole == NULL) return PTO_ENOMEM;
  }
  trial->reference->golden(&trial->args, trial->golden);
  return PTO_OK;
}

int pto_trial_stray(const struct pto_trial *trial) {
  for (uint32_t i = 0; i < trial->args.tensor_count; i++)
    if (!pto_trial_tensor_is_unchanged(&trial->tensors[i], pto_trial_is_written(trial->params[i]))) return (int)i;
  return -1;
}

/* ---- running ---- */

/* The memories of a core: what is asked for of the first, and the others of an AIC. */
static void core_memories(struct pto_core *core, struct pto_local_memory *memories[4]) {
  memories[0] = &core->local;
  memories[1] = &core->l0a;
  memories[2] = &core->l0b;
  memories[3] = &core->l0c;
}

int pto_trial_core_init(struct pto_trial_core *core, const struct pto_kernel *kernel,
                        const struct pto_kernel_args *args) {
  const uint64_t sizes[4] = {kernel->cost == NULL ? 0 : kernel->cost(args).local_bytes, L0_BYTES, L0_BYTES,
                             2 * L0_BYTES};
  struct pto_local_memory *memories[4];
  memset(core->blocks, 0, sizeof core->blocks);
  core->core = *args->core;
  core_memories(&core->core, memories);
  for (uint32_t i = 0; i < (core->core.kind == PTO_AIC ? 4u : 1u); i++) {
    core->blocks[i] = aligned_alloc(PTO_CACHE_LINE, pto_align_up(sizes[i] + GUARD_BYTES, PTO_CACHE_LINE));
    if (core->blocks[i] == NULL) {
      (void)pto_trial_core_fini(core);
      return PTO_ENOMEM;
    }
    memset(core->blocks[i], GUARD, sizes[i] + GUARD_BYTES);
    *memories[i] = (struct pto_local_memory){.addr = core->blocks[i], .size_bytes = sizes[i]};
  }
  return PTO_OK;
}

bool pto_trial_core_fini(struct pto_trial_core *core) {
  struct pto_local_memory *memories[4];
  bool is_intact = true;
  core_memories(&core->core, memories);
  for (uint32_t i = 0; i < 4; i++) {
    if (core->blocks[i] == NULL) continue;
    for (uint64_t j = 0; j < GUARD_BYTES && is_intact; j++)
      is_intact = core->blocks[i][memories[i]->size_bytes + j] == GUARD;
    free(core->blocks[i]);
    core->blocks[i] = NULL;
  }
  return is_intact;
}

int pto_trial_run(struct pto_trial *trial) {
  struct pto_trial_core core;
  int status = pto_trial_core_init(&core, trial->kernel, &trial->args);
  if (status != PTO_OK) return status;
  trial->args.core = &core.core;
  status = trial->kernel->run(&trial->args);
  trial->args.core = &trial->core;
  if (!pto_trial_core_fini(&core))
    return pto_kernel_error(&trial->args, "%s writes beyond the local memory that its cost states",
                            trial->kernel->name);
  return status;
}

/* ---- judging ---- */

bool pto_trial_judge_float(const struct pto_kernel_reference *reference, uint32_t dtype, double slack,
                           struct pto_trial_error *e) {
  const double unit = pto_reference_ulp(dtype, e->value), rounded = pto_reference_round(dtype, e->value);
  e->allowed = 0;
  e->ulps = 0;
  if (isnan(e->value) && isnan(e->got)) return true;
  e->ulps = INFINITY;
  if (isnan(e->value) || isnan(e->got)) return false;
  /* A result computed in f32 and then rounded: half a unit of the dtype and the f32 error. */
  double allowed = reference->ulps * pto_reference_ulp(PTO_FLOAT32, e->value) + slack;
  if (dtype != PTO_FLOAT32) allowed += 0.5 * unit;
  if (unit > 0) e->allowed = allowed / unit;
  if (isfinite(e->got) && unit > 0) e->ulps = fabs(e->got - e->value) / unit;
  const bool is_moved = isinf(e->got) && e->got == e->value; /* its bits: a store might saturate */
  if (e->got != rounded && !is_moved) return fabs(e->got - e->value) <= allowed;
  if (isinf(e->got)) e->ulps = 0;
  const bool has_sign = (reference->flags & PTO_REFERENCE_ANY_ZERO) == 0 && slack == 0 && rounded == 0;
  return !has_sign || signbit(e->got) == signbit(rounded);
}

bool pto_trial_error_is_worse(const struct pto_trial_error *a, const struct pto_trial_error *b) {
  const double x = a->ulps * b->allowed, y = b->ulps * a->allowed; /* shares of what is allowed, without a division */
  return x != y ? x > y : a->ulps > b->ulps;
}

void pto_trial_judge(const struct pto_trial *trial, uint32_t output, struct pto_trial_error *error) {
  const struct pto_trial_tensor *tensor = &trial->tensors[output];
  const struct pto_golden *golden = &trial->golden[output];
  const uint32_t dtype = tensor->t.dtype;
  *error = (struct pto_trial_error){0};
  for (uint64_t i = 0; i < pto_trial_numel(tensor); i++) {
    struct pto_trial_error e = {.index = i, .got = pto_reference_element(&tensor->t, i), .value = golden->value[i]};
    if (pto_trial_is_float(dtype)) {
      e.wrong_count = !pto_trial_judge_float(trial->reference, dtype, golden->slack[i], &e);
    } else {
      const uint64_t wanted = golden->whole[i] + pto_reference_modulo(golden->value[i]);
      const uint64_t value_bits = UINT64_MAX >> (64 - pto_dtype_bits(dtype));
      e.value = (double)(int64_t)wanted;
      e.wrong_count = ((wanted ^ pto_reference_whole(&tensor->t, i)) & value_bits) != 0;
      e.ulps = e.wrong_count != 0 ? INFINITY : 0;
    }
    const uint64_t wrong_count = error->wrong_count + e.wrong_count;
    if (i == 0 || (error->wrong_count == 0 && (e.wrong_count != 0 || pto_trial_error_is_worse(&e, error)))) *error = e;
    error->wrong_count = wrong_count;
  }
}

/* ---- dtypes ---- */

#define TUPLES_TRIED 4096 /* beyond so many combinations, that many are drawn */

static bool is_listed(const struct pto_dtype_tuple *tuples, uint32_t count, const struct pto_dtype_tuple *tuple) {
  for (uint32_t i = 0; i < count; i++)
    if (memcmp(&tuples[i], tuple, sizeof *tuple) == 0) return true;
  return false;
}

static bool is_taken(struct pto_trial *trial, struct pto_trial_case *c, const struct pto_dtype_tuple *tuple) {
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) c->dtypes[i] = tuple->dtypes[i];
  return pto_trial_check(trial, c) == PTO_OK;
}

/* The `index`-th dtype of a set, in order. */
static uint32_t dtype_at(uint32_t set, uint64_t index) {
  for (; index > 0; index--) set &= set - 1;
  return (uint32_t)__builtin_ctz(set);
}

/* How many combinations the parameters' own lists allow, up to TUPLES_TRIED + 1. */
static uint64_t count_combinations(const struct pto_trial *trial) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < trial->args.tensor_count && count <= TUPLES_TRIED; i++)
    count *= (uint64_t)__builtin_popcount(pto_trial_dtypes(trial->params[i]));
  return pto_min_u64(count, TUPLES_TRIED + 1);
}

uint32_t pto_trial_dtype_tuples(struct pto_trial *trial, const struct pto_trial_case *c, struct pto_dtype_tuple *tuples,
                                uint32_t capacity, uint32_t *uniform_count) {
  struct pto_trial_case tried = *c;
  uint32_t count = 0;
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT && count < capacity; dtype++) {
    struct pto_dtype_tuple tuple = {{0}};
    for (uint32_t i = 0; i < trial->args.tensor_count; i++) {
      const uint32_t set = pto_trial_dtypes(trial->params[i]);
      tuple.dtypes[i] = (uint8_t)((set & PTO_DTYPE_BIT(dtype)) != 0 ? dtype : dtype_at(set, 0));
    }
    if (!is_listed(tuples, count, &tuple) && is_taken(trial, &tried, &tuple)) tuples[count++] = tuple;
  }
  *uniform_count = count;
  const uint64_t combinations = count_combinations(trial), room = capacity - count;
  struct pto_rng rng = {c->seed};
  uint64_t seen = 0;
  for (uint64_t k = 0; k < pto_min_u64(combinations, TUPLES_TRIED) && room > 0; k++) {
    struct pto_dtype_tuple tuple = {{0}};
    uint64_t digits = k;
    for (uint32_t i = 0; i < trial->args.tensor_count; i++) {
      const uint32_t set = pto_trial_dtypes(trial->params[i]), size = (uint32_t)__builtin_popcount(set);
      tuple.dtypes[i] = (uint8_t)dtype_at(set, combinations > TUPLES_TRIED ? pto_rng_below(&rng, size) : digits % size);
      digits /= size;
    }
    if (is_listed(tuples, count, &tuple) || !is_taken(trial, &tried, &tuple)) continue;
    seen++;
    /* Reservoir sampling: each that was seen is in the list with the same chance. */
    const uint64_t place = seen <= room ? seen - 1 : pto_rng_below(&rng, seen);
    if (place < room) tuples[*uniform_count + place] = tuple;
    if (seen <= room) count++;
  }
  return count;
}

/* ---- time ---- */

double pto_trial_batch_ns(struct pto_trial *trial, uint64_t calls) {
  struct pto_trial_core core;
  int status = pto_trial_core_init(&core, trial->kernel, &trial->args);
  if (status != PTO_OK) return status;
  trial->args.core = &core.core;
  const double begin = (double)pto_clock_ns();
  for (uint64_t i = 0; i < calls && status == PTO_OK; i++) status = trial->kernel->run(&trial->args);
  const double end = (double)pto_clock_ns();
  trial->args.core = &trial->core;
  (void)pto_trial_core_fini(&core);
  return status != PTO_OK ? status : (end - begin) / (double)calls;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double pto_trial_median(double *values, uint32_t count) {
  qsort(values, count, sizeof *values, compare);
  return values[count / 2];
}

int pto_trial_time(struct pto_trial *trial, uint32_t batches, double batch_ns, struct pto_trial_time *time) {
  double ns[PTO_TRIAL_MAX_BATCHES];
  uint64_t calls = 1;
  PTO_ASSERT(batches >= 1 && batches <= PTO_TRIAL_MAX_BATCHES);
  for (;;) { /* warms up, and finds how many calls make a batch */
    const double ns_a_call = pto_trial_batch_ns(trial, calls);
    if (ns_a_call < 0) return (int)ns_a_call;
    if (ns_a_call * (double)calls >= batch_ns / 2 || calls > UINT64_C(1) << 40) break;
    calls *= 2;
  }
  for (uint32_t i = 0; i < batches; i++) {
    ns[i] = pto_trial_batch_ns(trial, calls);
    if (ns[i] < 0) return (int)ns[i];
  }
  time->median_ns = pto_trial_median(ns, batches);
  time->minimum_ns = ns[0];
  time->calls = calls;
  return PTO_OK;
}
