/* SPDX-License-Identifier: MIT */
#include <check/adopt/program.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <orchestration/loader/program_run.h>
#include <runtime/base/base.h>

/* ---- bytes of tensors ---- */

static int read_all(int fd, void *data, uint64_t size) {
  for (uint64_t have = 0; have < size;) {
    const ssize_t got = read(fd, (char *)data + have, size - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : EIO;
    have += (uint64_t)got;
  }
  return 0;
}

/* Exactly the bytes of the tensor from its file. */
static int read_bytes(struct pto_program_run *run, const struct pto_adopted *adopted,
                      const struct pto_adopted_tensor *tensor, const char *path, void *data) {
  char whole[PATH_MAX];
  struct stat about;
  if (!pto_adopted_path(adopted, path, whole, sizeof whole))
    return pto_program_fail(run, "%.400s: the path of %.100s is too long", adopted->path, tensor->name);
  const int fd = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  int reason = fd < 0 || fstat(fd, &about) != 0 ? errno : 0, status = PTO_OK;
  if (!reason && (!S_ISREG(about.st_mode) || (uint64_t)about.st_size != tensor->size_bytes))
    status = pto_program_fail(run, "%.300s: %jd bytes, expected the %" PRIu64 " of tensor %.100s of %.300s", whole,
                              S_ISREG(about.st_mode) ? (intmax_t)about.st_size : (intmax_t)0, tensor->size_bytes,
                              tensor->name, adopted->path);
  else if (!reason)
    reason = read_all(fd, data, tensor->size_bytes);
  if (reason)
    status = pto_program_fail(run, "%.300s: %s, expected the bytes of tensor %.100s of %.300s", whole, strerror(reason),
                              tensor->name, adopted->path);
  if (fd >= 0) close(fd);
  return status;
}

/* ---- the program's functions ---- */

static bool is_empty(const struct pto_adopted_tensor *tensor) { return tensor->size_bytes == 0; }

static int their_dtype(const struct pto_adopted_tensor *tensor) {
  char name[32];
  snprintf(name, sizeof name, "%s", tensor->dtype_name);
  for (char *c = name; *c; c++)
    if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
  return strncmp(name, "FP8", 3) == 0 || strncmp(name, "FP4", 3) == 0 ? pto_compat_dtype_find(name)
                                                                      : pto_compat_dtype_code(tensor->dtype);
}

static int declare(struct pto_adopted_program *p, struct pto_program_run *run, uint32_t i) {
  const struct pto_adopted_tensor *tensor = &p->adopted.tensors[i];
  struct pto_compat_argument *argument = &p->arguments[i];
  const int code = their_dtype(tensor);
  if (code < 0)
    return pto_program_fail(run, "%.400s: tensors[%" PRIu32 "]: the existing runtime has no %.60s", p->adopted.path, i,
                            tensor->dtype_name);
  *argument = (struct pto_compat_argument){.dtype = (uint32_t)code, .ndims = tensor->ndims};
  for (uint32_t d = 0; d < tensor->ndims; d++) argument->shape[d] = (uint32_t)tensor->shape[d];
  p->arrays[i] = pto_program_array(run, tensor->name, tensor->role, tensor->dtype, tensor->ndims, tensor->shape);
  if (!p->arrays[i]) return PTO_EINVAL;
  argument->data = p->arrays[i]->data;
  if (is_empty(tensor) || !tensor->bytes_path) return PTO_OK;
  return read_bytes(run, &p->adopted, tensor, tensor->bytes_path, p->arrays[i]->data);
}

static int prepare(struct pto_program_run *run) {
  struct pto_adopted_program *p = pto_adopted_program_of(pto_program_run_program(run));
  const struct pto_adopted *adopted = &p->adopted;
  struct pto_error error;
  int status = PTO_OK;
  pto_compat_destroy(p->compat);
  p->compat = NULL;
  for (uint32_t i = 0; i < adopted->tensor_count && !status; i++) status = declare(p, run, i);
  for (uint32_t i = 0; i < adopted->scalar_count; i++) {
    const struct pto_adopted_scalar *scalar = &adopted->scalars[i];
    p->arguments[adopted->tensor_count + i] = (struct pto_compat_argument){
        .is_scalar = true, .scalar = scalar->is_rank ? pto_program_rank(run) : scalar->bits};
  }
  if (status) return status;
  const struct pto_compat_binding binding = {.kernels = p->build.kernels,
                                             .kernel_count = adopted->kernel_count,
                                             .arguments = p->arguments,
                                             .argument_count = adopted->tensor_count + adopted->scalar_count,
                                             .window = adopted->window};
  status = pto_compat_create(p->build.orchestration, &binding, &p->compat, &error);
  return status ? pto_program_fail_as(run, status, "%.300s: %s", adopted->path, error.sentence) : PTO_OK;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  return pto_compat_orchestrate(pto_adopted_program_of(pto_program_run_program(run))->compat, rt);
}

static int expect(struct pto_program_run *run) {
  struct pto_adopted_program *p = pto_adopted_program_of(pto_program_run_program(run));
  for (uint32_t i = 0; i < p->adopted.tensor_count; i++) {
    const struct pto_adopted_tensor *tensor = &p->adopted.tensors[i];
    struct pto_array from = *p->arrays[i];
    if (!tensor->golden_path || is_empty(tensor)) continue;
    double *golden = pto_array_golden(run, p->arrays[i]);
    from.data = pto_program_alloc(run, tensor->size_bytes);
    if (!golden || !from.data) return PTO_ENOMEM;
    const int status = read_bytes(run, &p->adopted, tensor, tensor->golden_path, from.data);
    if (status) return status;
    for (uint64_t e = 0; e < from.numel; e++) golden[e] = pto_array_get(&from, e);
  }
  return PTO_OK;
}

/* ---- life ---- */

bool pto_adopted_program_has_bytes(const struct pto_adopted_program *p, const char *tensor) {
  for (uint32_t i = 0; i < p->adopted.tensor_count; i++)
    if (strcmp(p->adopted.tensors[i].name, tensor) == 0) return p->adopted.tensors[i].bytes_path != NULL;
  return false;
}

struct pto_adopted_program *pto_adopted_program_of(const struct pto_program *program) {
  if (program->prepare != prepare) return NULL;
  return (struct pto_adopted_program *)((uintptr_t)program - offsetof(struct pto_adopted_program, program));
}

static void describe(struct pto_adopted_program *p) {
  const struct pto_adopted *adopted = &p->adopted;
  p->config = (struct pto_config){.size = sizeof p->config,
                                  .chip = pto_adopted_chip(adopted),
                                  .clusters = (uint32_t)adopted->clusters,
                                  .workers = (uint32_t)adopted->workers,
                                  .deps = PTO_DEPS_PTO,
                                  .window = adopted->window,
                                  .heap_bytes = adopted->heap_bytes,
                                  .list_chunks = adopted->list_chunks,
                                  .keep_released = true};
  p->program = (struct pto_program){.abi = PTO_PROGRAM_ABI,
                                    .name = adopted->name,
                                    .summary = "an adopted program",
                                    .rtol = adopted->rtol,
                                    .atol = adopted->atol,
                                    .config = &p->config,
                                    .prepare = prepare,
                                    .orchestrate = orchestrate,
                                    .expect = expect};
}

int pto_adopted_program_load(const char *path, bool has_kernels, struct pto_adopted_program **program_out,
                             struct pto_error *error) {
  struct pto_adopted_program *p = calloc(1, sizeof *p);
  if (p) p->path = strdup(path);
  int status = p && p->path ? pto_adopted_read(p->path, &p->adopted, error) : PTO_ENOMEM;
  if (status == PTO_OK) {
    p->arrays = calloc(p->adopted.tensor_count + 1u, sizeof(struct pto_array *));
    p->arguments = calloc(p->adopted.tensor_count + p->adopted.scalar_count + 1u, sizeof *p->arguments);
    status = p->arrays && p->arguments ? pto_adopted_build(&p->adopted, has_kernels, &p->build, error) : PTO_ENOMEM;
  }
  if (status) {
    if (status == PTO_ENOMEM) pto_error_set(error, status, "%.400s: out of memory", path);
    pto_adopted_program_destroy(p);
    return status;
  }
  describe(p);
  *program_out = p;
  return PTO_OK;
}

void pto_adopted_program_destroy(struct pto_adopted_program *p) {
  if (!p) return;
  pto_compat_destroy(p->compat);
  pto_adopted_build_fini(&p->build);
  pto_adopted_fini(&p->adopted);
  free(p->arrays);
  free(p->arguments);
  free(p->path);
  free(p);
}
