/* SPDX-License-Identifier: MIT */
/* Kernels that run off memory by more than a page, or off memory that is no array of the program. */
#include <tests/planted/planted.h>

#define BUGS(X)                                                                                                        \
  X(far_written, "a kernel writes 10 KiB behind an array")                                                             \
  X(farther_written, "a kernel writes 300 KiB behind the last array, and so behind its guard")                         \
  X(far_read, "a kernel reads 10 KiB behind an array")                                                                 \
  X(far_before, "a kernel writes 10 KiB before an array")                                                              \
  X(far_between, "a kernel writes so far behind its array that another one is nearer")                                 \
  X(edge_before, "a kernel writes 256 KiB before an array")                                                            \
  X(far_of_slot, "a kernel writes so far before its array that another one is nearer")                                 \
  X(far_behind, "a kernel writes 12 MB behind an array, where no guard of one is")                                     \
  X(far_below, "a kernel writes so far before its array that another one and its guard lie between")                   \
  X(local_far, "a kernel writes 10 KiB behind its local memory")                                                       \
  X(too_long, "a tensor is registered with one element more than its array has")                                       \
  X(own_memory, "a kernel writes one element behind a block of pto_program_alloc")                                     \
  X(late_memory, "the same, of a block that the orchestration makes")                                                  \
  X(block_left, "a kernel leaves out the last element of such a block")                                                \
  X(static_memory, "a kernel writes one element behind a static array of the program")                                 \
  X(local_array, "a tensor lies over a local array of the function that submits the task")

/* z[i] = i, and the element as many words behind z as the scalar says: 0: none; the highest bit: before; the next:
 * read.
 */
#define IS_BEFORE (UINT64_C(1) << 63)
#define IS_READ (UINT64_C(1) << 62)
static int reach_run(const struct pto_kernel_args *a) {
  uint32_t *z = a->tensors[0].addr;
  const uint64_t count = element_count(&a->tensors[0]), words = a->scalars[0].u64 & UINT32_MAX;
  uint32_t *const there = a->scalars[0].u64 & IS_BEFORE ? z - words : z + count - 1 + words;
  for (uint64_t i = 0; i < count; i++) z[i] = (uint32_t)i;
  if (words && a->scalars[0].u64 & IS_READ)
    z[0] = *there;
  else if (words)
    *there = 7;
  return 0;
}
static const struct pto_kernel reach = AIV_KERNEL("reach", of_out_value, reach_run);

static void put_reach(struct planted *p, const struct pto_tensor *z, uint64_t way) {
  put(p, PLAIN(reach), PARAMS(pto_output(z), pto_scalar_u64(p->is_buggy ? way : 0)));
}

static void of_array(struct planted *p, uint64_t way) {
  struct pto_tensor x = array_x(p);
  put_reach(p, &x, way);
}
static void far_written(struct planted *p) { of_array(p, 2560); }
static void far_read(struct planted *p) { of_array(p, IS_READ | 2560); }
static void farther_written(struct planted *p) {
  struct pto_tensor z = pto_array_tensor(p->rt, pto_program_find(p->run, "z"));
  put_reach(p, &z, 76800);
}
static void far_before(struct planted *p) { of_array(p, IS_BEFORE | 2560); }

static void edge_before(struct planted *p) { of_array(p, IS_BEFORE | 65535); }
static void far_between(struct planted *p) {
  struct pto_tensor z = pto_array_tensor(p->rt, pto_program_find(p->run, "z"));
  put_reach(p, &z, 122500);
}

/* The guard between x and z is of 262144 bytes. */
static void far_of_slot(struct planted *p) {
  struct pto_tensor z = pto_array_tensor(p->rt, pto_program_find(p->run, "z"));
  put_reach(p, &z, IS_BEFORE | 50001);
}

static void far_behind(struct planted *p) { of_array(p, 3000000); }

static void far_below(struct planted *p) {
  struct pto_tensor z = pto_array_tensor(p->rt, pto_program_find(p->run, "z"));
  put_reach(p, &z, IS_BEFORE | 140000);
}

static int reach_local_run(const struct pto_kernel_args *a) {
  char *local = a->core->local.addr;
  local[a->scalars[0].u64 ? a->core->local.size_bytes + 10240 : 0] = 1;
  memcpy(a->tensors[0].addr, "abcd", 4);
  return 0;
}
static const struct pto_kernel reach_local = AIV_KERNEL("reach_local", of_out_value, reach_local_run);

static void local_far(struct planted *p) {
  struct pto_tensor z = slot(p, 0);
  put(p, PLAIN(reach_local), PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy)));
}

static void too_long(struct planted *p) {
  const uint64_t shape[] = {PLANTED_SLOTS + p->is_buggy};
  struct pto_tensor z = pto_external_tensor(p->rt, pto_program_find(p->run, "z")->data, PTO_UINT32, 1, shape);
  put_fill(p, &z, 1);
}

/* ---- memory of the program's own ---- */

static const uint64_t row_shape[] = {1, 16};

static void of_memory(struct planted *p, void *memory) {
  struct pto_tensor z = pto_external_tensor(p->rt, memory, PTO_UINT32, 2, row_shape);
  put_reach(p, &z, 1);
  put_digest(p, &z, 0);
}
static void own_memory(struct planted *p) { of_memory(p, pto_program_state(p->run, sizeof(uint32_t[16]))); }
static void late_memory(struct planted *p) { of_memory(p, pto_program_alloc(p->run, sizeof(uint32_t[16]))); }

static int fill_but_run(const struct pto_kernel_args *a) {
  const uint64_t count = element_count(&a->tensors[0]) - a->scalars[0].u64;
  for (uint64_t i = 0; i < count; i++) memcpy(element(&a->tensors[0], i), "abcd", 4);
  return 0;
}
static const struct pto_kernel fill_but = AIV_KERNEL("fill_but", of_out_value, fill_but_run);

static void block_left(struct planted *p) {
  void *block = pto_program_alloc(p->run, sizeof(uint32_t[16]));
  struct pto_tensor z = pto_external_tensor(p->rt, block, PTO_UINT32, 2, row_shape);
  put(p, PLAIN(fill_but), PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy)));
}

static void static_memory(struct planted *p) {
  static uint32_t table[17];
  of_memory(p, table);
}

/* The twin waits before it returns. */
static void local_array(struct planted *p) {
  uint32_t local[16], value;
  for (uint32_t i = 0; i < 16; i++) local[i] = i;
  struct pto_tensor z = slot(p, 0), x = pto_external_tensor(p->rt, local, PTO_UINT32, 2, row_shape);
  put_digest(p, &x, 0);
  if (!p->is_buggy) note(p, pto_read_element(p->rt, &z, (const uint64_t[]){0}, &value));
}

static int prepare(struct pto_program_run *run) {
  (void)pto_program_state(run, sizeof(uint32_t[16]));
  return planted_prepare(run);
}
static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }

const struct planted_bug planted_bugs[] = {BUGS(PLANTED_BUG){0}};
static const struct pto_case cases[] = {BUGS(PLANTED_CASE){0}};
PTO_API const struct pto_program pto_program = {.abi = PTO_PROGRAM_ABI,
                                                .name = "planted_beside",
                                                .summary = "kernels that run off memory of several kinds",
                                                .options = planted_options,
                                                .cases = cases,
                                                .prepare = prepare,
                                                .orchestrate = orchestrate};
