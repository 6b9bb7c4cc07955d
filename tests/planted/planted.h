/* SPDX-License-Identifier: MIT */
/*
 * What the planted programs share: kernels on elements of any dtype and layout, arrays x and z, and the table of a
 * family's bugs.
 *
 * A family is one program; a bug is one function of it, chosen by `--case NAME`.  `--set bug=1` (the default) is the
 * program with the mistake, `--set bug=0` its clean twin.  The mistake is the one line that asks p->is_buggy.
 *
 * Always true of a clean twin: no task touches a byte that it does not declare, every byte that is read was written,
 * and conflicting accesses are ordered under the rules that its row of planted_list.h names.
 */
#ifndef PTO_PLANTED_H
#define PTO_PLANTED_H

#include <pto/pto.h>

#include <string.h>

#define PLANTED_ROWS 16u
#define PLANTED_COLUMNS 16u
#define PLANTED_SLOTS 16u

struct planted {
  struct pto_runtime *rt;
  struct pto_program_run *run;
  bool is_buggy;
  int status; /* the first failure; nothing is submitted after it */
};

/* ---- submits ---- */

#define PLAIN(kernel)                                                                                                  \
  (struct pto_launch) { .aiv0 = &(kernel) }
#define AFTER(kernel, task)                                                                                            \
  (struct pto_launch) { .aiv0 = &(kernel), .after = &(task), .after_count = 1 }
#define PARAMS(...)                                                                                                    \
  (const struct pto_param[]){__VA_ARGS__},                                                                             \
      (uint32_t)(sizeof((struct pto_param[]){__VA_ARGS__}) / sizeof(struct pto_param))

static inline void note(struct planted *p, int status) {
  if (p->status == PTO_OK) p->status = status;
}
static inline struct pto_task put(struct planted *p, struct pto_launch launch, const struct pto_param *params,
                                  uint32_t count) {
  struct pto_task task = {0};
  if (p->status == PTO_OK) p->status = pto_submit(p->rt, &launch, params, count, &task);
  return task;
}
static inline void begin_scope(struct planted *p, uint32_t kind) { note(p, pto_scope_begin(p->rt, kind)); }
static inline void end_scope(struct planted *p) { note(p, pto_scope_end(p->rt)); }

/* ---- tensors ---- */

/* The array x: 16 rows of 16, filled from the seed. */
static inline struct pto_tensor array_x(struct planted *p) {
  return pto_array_tensor(p->rt, pto_program_find(p->run, "x"));
}
/* Element `index` of the array z, for what a reader has to say. */
static inline struct pto_tensor slot(struct planted *p, uint64_t index) {
  struct pto_tensor z = pto_array_tensor(p->rt, pto_program_find(p->run, "z"));
  return pto_tensor_slice(&z, 0, index, index + 1, 1);
}
static inline struct pto_tensor box(const struct pto_tensor *t, uint64_t row, uint64_t column, uint64_t rows,
                                    uint64_t columns) {
  return pto_tensor_view(t, (const uint64_t[]){row, column}, (const uint64_t[]){rows, columns});
}
static inline struct pto_tensor row_of(const struct pto_tensor *t, uint64_t row) {
  return box(t, row, 0, 1, t->shape[1]);
}
/* A buffer of its own for rows × columns elements of 32 bits, without memory yet. */
static inline struct pto_tensor fresh(struct planted *p, uint64_t rows, uint64_t columns) {
  const uint64_t shape[] = {rows, columns};
  return pto_managed_tensor(p->rt, pto_create_buffer(p->rt, rows * columns * 4), PTO_UINT32, 2, shape);
}

/* ---- kernels ---- */

/* Element number `index` in row-major order, whatever the strides. */
static inline char *element(const struct pto_kernel_tensor *t, uint64_t index) {
  uint64_t at = 0;
  for (uint32_t d = t->ndims; d-- > 0; index /= t->shape[d]) at += index % t->shape[d] * t->strides[d];
  return (char *)t->addr + at * pto_dtype_size(t->dtype);
}
static inline uint64_t element_count(const struct pto_kernel_tensor *t) {
  uint64_t count = 1;
  for (uint32_t d = 0; d < t->ndims; d++) count *= t->shape[d];
  return count;
}

/* z[i] = value + i, in the low bytes. */
static inline int fill_run(const struct pto_kernel_args *a) {
  for (uint64_t i = 0; i < element_count(&a->tensors[0]); i++) {
    uint64_t value = a->scalars[0].u64 + i;
    memcpy(element(&a->tensors[0], i), &value, pto_dtype_size(a->tensors[0].dtype));
  }
  return 0;
}
/* z[0] = a digest of the bytes of x, in row-major order (FNV-1a). */
static inline int digest_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *x = &a->tensors[0];
  uint32_t hash = 2166136261u;
  for (uint64_t i = 0; i < element_count(x); i++)
    for (uint64_t k = 0; k < pto_dtype_size(x->dtype); k++) hash = (hash ^ (unsigned char)element(x, i)[k]) * 16777619u;
  memcpy(a->tensors[1].addr, &hash, sizeof hash);
  return 0;
}
static inline int copy_run(const struct pto_kernel_args *a) {
  for (uint64_t i = 0; i < element_count(&a->tensors[0]); i++)
    memcpy(element(&a->tensors[1], i), element(&a->tensors[0], i), pto_dtype_size(a->tensors[0].dtype));
  return 0;
}
/* x[i] = 3·x[i] + 1. */
static inline int step_run(const struct pto_kernel_args *a) {
  for (uint64_t i = 0; i < element_count(&a->tensors[0]); i++) {
    uint32_t value;
    memcpy(&value, element(&a->tensors[0], i), sizeof value);
    value = 3 * value + 1;
    memcpy(element(&a->tensors[0], i), &value, sizeof value);
  }
  return 0;
}

#define ANY(name_, mode_)                                                                                              \
  { .name = name_, .mode = mode_ }
#define U64(name_)                                                                                                     \
  { .name = name_, .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64 }
#define AIV_KERNEL(name_, list, function)                                                                              \
  { .name = name_, .cores = PTO_AIV, .params = list, .param_count = sizeof(list) / sizeof *(list), .run = function }

static const struct pto_kernel_param of_out_value[] = {ANY("z", PTO_OUTPUT), U64("value")};
static const struct pto_kernel_param of_in_out[] = {ANY("x", PTO_INPUT), ANY("z", PTO_OUTPUT)};
static const struct pto_kernel_param of_inout[] = {ANY("x", PTO_INOUT)};
static const struct pto_kernel fill = AIV_KERNEL("fill", of_out_value, fill_run);
static const struct pto_kernel digest = AIV_KERNEL("digest", of_in_out, digest_run);
static const struct pto_kernel copy = AIV_KERNEL("copy", of_in_out, copy_run);
static const struct pto_kernel step = AIV_KERNEL("step", of_inout, step_run);

static inline struct pto_task put_fill(struct planted *p, const struct pto_tensor *z, uint64_t value) {
  return put(p, PLAIN(fill), PARAMS(pto_output(z), pto_scalar_u64(value)));
}
static inline struct pto_task put_digest(struct planted *p, const struct pto_tensor *x, uint64_t index) {
  struct pto_tensor z = slot(p, index);
  return put(p, PLAIN(digest), PARAMS(pto_input(x), pto_output(&z)));
}
/* The same behind a task. */
static inline struct pto_task put_fill_after(struct planted *p, const struct pto_tensor *z, uint64_t value,
                                             struct pto_task before) {
  return put(p, AFTER(fill, before), PARAMS(pto_output(z), pto_scalar_u64(value)));
}
static inline struct pto_task put_digest_after(struct planted *p, const struct pto_tensor *x, uint64_t index,
                                               struct pto_task before) {
  struct pto_tensor z = slot(p, index);
  return put(p, AFTER(digest, before), PARAMS(pto_input(x), pto_output(&z)));
}

/* ---- the family's table ---- */

struct planted_bug {
  const char *name;
  void (*submit)(struct planted *p);
};
extern const struct planted_bug planted_bugs[]; /* ended by one without a name */
#define PLANTED_BUG(name, mistake) {#name, name},
#define PLANTED_CASE(name_, mistake) {.name = #name_, .settings = "which=" #name_, .summary = mistake},

static const struct pto_option planted_options[] = {{"which", PTO_OPTION_TEXT, "", "the bug, as the cases name them"},
                                                    {"bug", PTO_OPTION_BOOL, "true", "false: the clean twin"},
                                                    {0}};

static inline int planted_prepare(struct pto_program_run *run) {
  const uint64_t grid[] = {PLANTED_ROWS, PLANTED_COLUMNS}, slots[] = {PLANTED_SLOTS};
  pto_array_fill_uniform(run, pto_program_array(run, "x", PTO_ARRAY_INOUT, PTO_UINT32, 2, grid), 1, 1000000);
  pto_array_fill(pto_program_array(run, "z", PTO_ARRAY_OUTPUT, PTO_UINT32, 1, slots),
                 9); /* for slots without a reader */
  return PTO_OK;
}
static inline int planted_orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const char *which = pto_option_text(run, "which");
  struct planted p = {.rt = rt, .run = run, .is_buggy = pto_option_bool(run, "bug")};
  for (const struct planted_bug *bug = planted_bugs; bug->name; bug++)
    if (strcmp(bug->name, which) == 0) {
      bug->submit(&p);
      return p.status;
    }
  return pto_program_fail(run, "there is no bug \"%s\": see the cases", which);
}

/* The end of a program's file, which has BUGS, a list of X(name, mistake): its name, and the fields that are its own.
 */
#define PLANTED_PROGRAM(name_, ...)                                                                                    \
  const struct planted_bug planted_bugs[] = {BUGS(PLANTED_BUG){0}};                                                    \
  static const struct pto_case cases[] = {BUGS(PLANTED_CASE){0}};                                                      \
  PTO_API const struct pto_program pto_program = {.abi = PTO_PROGRAM_ABI,                                              \
                                                  .name = name_,                                                       \
                                                  .options = planted_options,                                          \
                                                  .cases = cases,                                                      \
                                                  .prepare = planted_prepare,                                          \
                                                  .orchestrate = orchestrate,                                          \
                                                  __VA_ARGS__}

#endif
