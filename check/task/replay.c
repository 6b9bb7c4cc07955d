/* SPDX-License-Identifier: MIT */
#include <check/task/replay.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <runtime/base/base.h>
#include <runtime/base/dtype.h>
#include <runtime/base/memory_checker.h>
#include <runtime/base/text.h>
#include <runtime/control/control.h>

#define GUARD_BYTES (UINT64_C(256) << 10)

/* ---- kernels ---- */

static const struct pto_kernel *find_in_library(const struct pto_task_replay *replay,
                                                const struct pto_task_kernel *wanted) {
  if (!replay->library.handle) return NULL;
  const struct pto_kernel *kernel = pto_kernel_image_find(replay->library.handle, wanted->name, wanted->nth);
  return kernel ? kernel : pto_kernel_image_find(replay->library.handle, wanted->name, 0);
}

static int find_in_program(struct pto_task_replay *replay, const struct pto_task_kernel *wanted,
                           const struct pto_kernel **kernel_out, struct pto_error *error) {
  int status = replay->program ? PTO_OK : pto_program_load(replay->folder.program, &replay->program, error);
  if (status) return status;
  *kernel_out = pto_kernel_image_find(replay->program->handle, wanted->name, wanted->nth);
  if (*kernel_out) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "program %.200s has no kernel %.200s%s", replay->folder.program, wanted->name,
                       wanted->nth ? " any more, or fewer of that name" : "");
}

static int find_kernels(struct pto_task_replay *replay, struct pto_error *error) {
  const char *names[3] = {NULL, NULL, NULL};
  for (int role = 0; role < 3; role++) {
    const struct pto_task_kernel *wanted = &replay->folder.kernels[role];
    if (!wanted->name) continue;
    names[role] = wanted->name;
    replay->kernels[role] = find_in_library(replay, wanted);
    if (replay->kernels[role])
      replay->is_replaced = true;
    else if (wanted->is_general)
      replay->kernels[role] = pto_kernel_find(wanted->name);
    else if (find_in_program(replay, wanted, &replay->kernels[role], error))
      return error->status;
    if (!replay->kernels[role])
      return pto_error_set(error, PTO_EINVAL, "there is no general kernel %.200s", wanted->name);
  }
  if (!replay->library.handle || replay->is_replaced) return PTO_OK;
  pto_error_set(error, PTO_EINVAL, "the library has no kernel called");
  for (int role = 0; role < 3; role++)
    if (names[role]) pto_error_append(error, " %.100s", names[role]);
  return PTO_EINVAL;
}

/* ---- memory and tensors ---- */

static unsigned char *memory_at(const struct pto_task_replay *replay, uint32_t memory) {
  return replay->blocks[memory].data + replay->folder.memories[memory].page_offset;
}

static bool get_block(struct pto_task_block *block, uint64_t size_bytes) {
  const uint64_t pages_bytes = pto_align_up(size_bytes, PTO_TASK_PAGE_BYTES);
  void *data = NULL;
  if (pto_memory_is_checked()) {
    const bool is_refused = posix_memalign(&data, PTO_TASK_PAGE_BYTES, pto_max_u64(size_bytes, 1)) != 0;
    block->data = is_refused ? NULL : data;
    return !is_refused;
  }
  if (!pto_reserve_init(&block->guarded, pages_bytes + 2 * GUARD_BYTES)) return false;
  char *const first = block->guarded.addr;
  block->data = (unsigned char *)first + GUARD_BYTES;
  return mprotect(first, GUARD_BYTES, PROT_NONE) == 0 &&
         mprotect(first + GUARD_BYTES + pages_bytes, GUARD_BYTES, PROT_NONE) == 0;
}

static int get_memory(struct pto_task_replay *replay, struct pto_error *error) {
  for (uint32_t m = 0; m < replay->folder.memory_count; m++) {
    const struct pto_task_memory *memory = &replay->folder.memories[m];
    if (!get_block(&replay->blocks[m], memory->page_offset + memory->size_bytes))
      return pto_error_set(error, PTO_ENOMEM, "no memory for %" PRIu64 " bytes", memory->size_bytes);
  }
  return PTO_OK;
}

/* A registration of its own, so that a dtype's alignment is that of the parameter: registrations that meet are one
 * memory. */
static struct pto_tensor make_tensor(struct pto_task_replay *replay, const struct pto_task_param *param) {
  const uint64_t size = pto_dtype_size(param->dtype);
  if (param->memory == PTO_TASK_NO_MEMORY)
    return pto_external_tensor(replay->rt, NULL, param->dtype, param->ndims, param->shape);
  const uint64_t skipped = param->offset_bytes % size, all = replay->folder.memories[param->memory].size_bytes;
  const uint64_t shape[] = {all > skipped ? all - skipped : 0};
  struct pto_tensor t =
      pto_external_tensor(replay->rt, memory_at(replay, param->memory) + skipped, PTO_UINT8, 1, shape);
  if (t.status) return t;
  t.dtype = param->dtype;
  t.ndims = param->ndims;
  t.start_offset = param->offset_bytes / size;
  memcpy(t.shape, param->shape, sizeof t.shape);
  memcpy(t.strides, param->strides, sizeof t.strides);
  return t;
}

static int make_tensors(struct pto_task_replay *replay, struct pto_error *error) {
  char why[300];
  for (uint32_t i = 0; i < replay->folder.param_count; i++) {
    if (replay->folder.params[i].mode == PTO_SCALAR) continue;
    struct pto_tensor *t = &replay->tensors[i];
    *t = make_tensor(replay, &replay->folder.params[i]);
    if (pto_tensor_status(t) == PTO_OK) continue;
    pto_tensor_explain(t, why, sizeof why);
    return pto_error_set(error, PTO_EINVAL, "task.json: params[%" PRIu32 "]: %s", i, why);
  }
  return PTO_OK;
}

/* ---- the runtime ---- */

static int make_runtime(struct pto_task_replay *replay, const struct pto_config *given, struct pto_error *error) {
  struct pto_config config = *given;
  const struct pto_task_folder *folder = &replay->folder;
  if (!config.engine) config.engine = folder->engine;
  if (!config.chip) config.chip = folder->chip;
  int status = pto_runtime_create_explained(&config, &replay->rt, error->sentence, sizeof error->sentence);
  if (status) return error->status = status;
  const struct pto_port *port = pto_runtime_port(replay->rt);
  if (given->chip ||
      (port->aiv_local_bytes == folder->aiv_local_bytes && port->aic_local_bytes == folder->aic_local_bytes))
    return PTO_OK;
  return pto_error_set(error, PTO_EFIT,
                       "the task was kept on a chip with %" PRIu64 " bytes of UB and %" PRIu64 " of L1, %s has %" PRIu64
                       " and %" PRIu64 ": say which chip with --chip",
                       folder->aiv_local_bytes, folder->aic_local_bytes, port->chip_name, port->aiv_local_bytes,
                       port->aic_local_bytes);
}

int pto_task_replay_open(struct pto_task_replay *replay, const char *path, const char *library_path,
                         const struct pto_config *config, struct pto_error *error) {
  memset(replay, 0, sizeof *replay);
  int status = pto_task_folder_read(path, &replay->folder, error);
  if (!status && library_path) status = pto_kernel_library_open(library_path, &replay->library, error);
  if (!status) status = find_kernels(replay, error);
  if (!status) status = get_memory(replay, error);
  if (!status) status = make_runtime(replay, config, error);
  return status ? status : make_tensors(replay, error);
}

void pto_task_replay_close(struct pto_task_replay *replay) {
  pto_runtime_destroy(replay->rt);
  for (uint32_t m = 0; m < PTO_MAX_TENSORS; m++) {
    if (!replay->blocks[m].guarded.addr) free(replay->blocks[m].data);
    pto_reserve_fini(&replay->blocks[m].guarded);
  }
  pto_kernel_library_close(&replay->library);
  pto_program_unload(replay->program);
  pto_task_folder_fini(&replay->folder);
  memset(replay, 0, sizeof *replay);
}

/* ---- a run ---- */

static int submit(struct pto_runtime *rt, void *context) {
  struct pto_task_replay *replay = context;
  const struct pto_task_folder *folder = &replay->folder;
  struct pto_param params[PTO_MAX_PARAMS];
  for (uint32_t i = 0; i < folder->param_count; i++) {
    params[i] = pto_param_tensor(folder->params[i].mode, &replay->tensors[i]);
    if (folder->params[i].mode != PTO_SCALAR) continue;
    params[i].scalar_type = folder->params[i].scalar_type;
    params[i].value.scalar = folder->params[i].scalar;
  }
  const struct pto_launch launch = {.aic = replay->kernels[0],
                                    .aiv0 = replay->kernels[1],
                                    .aiv1 = replay->kernels[2],
                                    .block_count = folder->block_count,
                                    .sync_start = folder->is_sync_start};
  int status = pto_submit(rt, &launch, params, folder->param_count, NULL);
  return status ? pto_error_set(&replay->refusal, status, "%s", pto_last_error(rt)) : PTO_OK;
}

int pto_task_replay_run(struct pto_task_replay *replay, struct pto_error *error) {
  for (uint32_t m = 0; m < replay->folder.memory_count; m++)
    memcpy(memory_at(replay, m), replay->folder.memories[m].before, replay->folder.memories[m].size_bytes);
  pto_error_clear(&replay->refusal);
  int status = pto_run(replay->rt, submit, replay);
  if (replay->refusal.status) {
    *error = replay->refusal;
    return error->status;
  }
  return status ? pto_error_set(error, status, "%s", pto_last_error(replay->rt)) : PTO_OK;
}

/* ---- comparing ---- */

_Static_assert(PTO_FLOAT_DTYPE_COUNT == 3, "a float more: its tolerance goes here");

/* What PyTorch's torch.testing.assert_close allows by default; integers are exact. */
static struct pto_task_tolerance tolerance_of(uint32_t dtype) {
  switch (dtype) {
  case PTO_FLOAT32:
    return (struct pto_task_tolerance){1.3e-6, 1e-5};
  case PTO_FLOAT16:
    return (struct pto_task_tolerance){1e-3, 1e-5};
  case PTO_BFLOAT16:
    return (struct pto_task_tolerance){1.6e-2, 1e-5};
  default:
    return (struct pto_task_tolerance){0, 0};
  }
}

struct comparison {
  const struct pto_task_param *param;
  const unsigned char *actual, *captured;
  unsigned char *neutral; /* a copy of `actual` in which what a parameter has is as it was captured */
  uint64_t unit_bytes, differing, first_index, first_at;
  struct pto_task_tolerance tolerance;
};

static double value_at(const struct pto_task_param *param, const unsigned char *bytes) {
  uint64_t element[1] = {0}; /* aligned for every dtype */
  memcpy(element, bytes, pto_dtype_size(param->dtype));
  const struct pto_array array = {
      .dtype = param->dtype, .ndims = 1, .shape = {1}, .numel = 1, .size_bytes = 8, .data = element};
  return pto_array_get(&array, 0);
}

static bool is_close(const struct comparison *c, uint64_t at) {
  if (c->tolerance.rtol == 0 && c->tolerance.atol == 0) return false;
  double a = value_at(c->param, c->actual + at), g = value_at(c->param, c->captured + at);
  if (a != a || g != g) return a != a && g != g;
  double distance = a > g ? a - g : g - a;
  return a == g || distance <= c->tolerance.atol + c->tolerance.rtol * (g < 0 ? -g : g);
}

static void compare_unit(void *context, uint64_t index, uint64_t at) {
  struct comparison *c = context;
  memcpy(c->neutral + at, c->captured + at, c->unit_bytes);
  if (memcmp(c->actual + at, c->captured + at, c->unit_bytes) == 0 || is_close(c, at)) return;
  if (c->differing++) return;
  c->first_index = index;
  c->first_at = at;
}

/* "[3, 17]" of an element; of 4-bit types the byte. */
static void format_index(const struct pto_task_param *param, uint64_t index, char *text, size_t size) {
  uint64_t place[PTO_MAX_DIMS];
  if (pto_dtype_bits(param->dtype) == 4) {
    snprintf(text, size, "byte %" PRIu64, index);
    return;
  }
  for (uint32_t d = param->ndims; d-- > 0; index /= param->shape[d]) place[d] = index % param->shape[d];
  snprintf(text, size, "[");
  pto_text_append_numbers(text, size, ", ", place, param->ndims);
  pto_text_append(text, size, "]");
}

static void report_param(const struct pto_task_replay *replay, uint32_t index, const struct comparison *c,
                         struct pto_findings *findings) {
  char place[200], actual[24] = "0x", captured[24] = "0x";
  format_index(c->param, c->first_index, place, sizeof place);
  pto_text_append_hex(actual, sizeof actual, c->actual + c->first_at, c->unit_bytes);
  pto_text_append_hex(captured, sizeof captured, c->captured + c->first_at, c->unit_bytes);
  const struct pto_finding finding = {.kind = PTO_FINDING_DIFFERENCE,
                                      .tasks = {replay->folder.number, PTO_FINDING_NONE},
                                      .params = {index, PTO_FINDING_NONE},
                                      .group = index};
  pto_findings_add(
      findings, &finding, NULL,
      "param %" PRIu32 " (%s) %s: %.9g instead of %.9g (%s instead of %s); %" PRIu64 " of %" PRIu64 " elements differ",
      index, pto_dtype_name(c->param->dtype), place, value_at(c->param, c->actual + c->first_at),
      value_at(c->param, c->captured + c->first_at), actual, captured, c->differing, pto_task_param_units(c->param));
}

/* Bytes of a memory that differ and that no parameter has. */
static uint64_t compare_rest(const struct pto_task_replay *replay, uint32_t m, const unsigned char *neutral,
                             struct pto_findings *findings) {
  const struct pto_task_memory *memory = &replay->folder.memories[m];
  uint64_t differing = 0, first = 0;
  for (uint64_t i = 0; i < memory->size_bytes; i++)
    if (neutral[i] != memory->after[i] && differing++ == 0) first = i;
  if (!differing) return 0;
  const struct pto_finding finding = {.kind = PTO_FINDING_DIFFERENCE,
                                      .tasks = {replay->folder.number, PTO_FINDING_NONE},
                                      .params = {PTO_FINDING_NONE, PTO_FINDING_NONE},
                                      .group = PTO_MAX_PARAMS + m};
  pto_findings_add(findings, &finding, NULL,
                   "memory %" PRIu32 " byte %" PRIu64 ", outside of every parameter: 0x%02x instead of 0x%02x; %" PRIu64
                   " such bytes differ",
                   m, first, neutral[first], memory->after[first], differing);
  return differing;
}

static uint64_t compare_memory(const struct pto_task_replay *replay, uint32_t m,
                               const struct pto_task_tolerance *tolerance, struct pto_findings *findings) {
  const struct pto_task_memory *memory = &replay->folder.memories[m];
  const unsigned char *actual = memory_at(replay, m);
  uint64_t differing = 0;
  if (memcmp(actual, memory->after, memory->size_bytes) == 0) return 0;
  unsigned char *neutral = malloc(memory->size_bytes);
  if (!neutral) {
    findings->is_short = true;
    return 1;
  }
  memcpy(neutral, actual, memory->size_bytes);
  for (uint32_t i = 0; i < replay->folder.param_count; i++) {
    const struct pto_task_param *param = &replay->folder.params[i];
    if (param->mode == PTO_SCALAR || param->memory != m) continue;
    struct comparison c = {.param = param,
                           .actual = actual,
                           .captured = memory->after,
                           .neutral = neutral,
                           .unit_bytes = pto_dtype_size(param->dtype)};
    if (tolerance)
      c.tolerance = *tolerance;
    else if (replay->is_replaced)
      c.tolerance = tolerance_of(param->dtype);
    pto_task_param_each(param, compare_unit, &c);
    if (c.differing) report_param(replay, i, &c, findings);
    differing += c.differing;
  }
  differing += compare_rest(replay, m, neutral, findings);
  free(neutral);
  return differing;
}

uint64_t pto_task_replay_compare(const struct pto_task_replay *replay, const struct pto_task_tolerance *tolerance,
                                 struct pto_findings *findings) {
  uint64_t differing = 0;
  for (uint32_t m = 0; m < replay->folder.memory_count; m++)
    differing += compare_memory(replay, m, tolerance, findings);
  return differing;
}
