/* SPDX-License-Identifier: MIT */
/*
 * Two tasks of a manual scope that nothing orders, and whether their views share a byte: each hazard by how the views
 * are made and by dtype.
 *
 *   task 0  fills all of the parent, 8 × 8 elements; the others come after it
 *   task 1  writes (RAW, WAW) or reads (WAR) the first view
 *   task 2  reads (RAW) or writes (WAW, WAR) the second view: bug=1, one that overlaps the first in a few bytes; bug=0,
 *           its neighbour, which overlaps it nowhere (of kind whole: the same one, after task 1)
 *   task 3  reads all, after both
 */
#include <tests/planted/planted.h>

#define SIDE 8u
#define PADDED_BYTES 2048u

struct views {
  struct pto_tensor first, overlaps, beside;
};

static struct views whole(struct planted *p, const struct pto_tensor *x, uint32_t dtype) {
  return (struct views){*x, *x, *x};
}
static struct views tile(struct planted *p, const struct pto_tensor *x, uint32_t dtype) {
  return (struct views){box(x, 0, 0, 4, 4), box(x, 3, 3, 4, 4), box(x, 0, 4, 4, 4)};
}
/* Every second column, against every third, or against those between. */
static struct views slice(struct planted *p, const struct pto_tensor *x, uint32_t dtype) {
  return (struct views){pto_tensor_slice(x, 1, 0, SIDE, 2), pto_tensor_slice(x, 1, 0, SIDE, 3),
                        pto_tensor_slice(x, 1, 1, SIDE, 2)};
}
/* The left half of the transpose is the upper half of x. */
static struct views transposed(struct planted *p, const struct pto_tensor *x, uint32_t dtype) {
  struct pto_tensor turned = pto_tensor_transpose(x, 0, 1);
  return (struct views){box(&turned, 0, 0, 8, 4), box(x, 3, 0, 2, 8), box(x, 4, 0, 4, 8)};
}
static struct views reshaped(struct planted *p, const struct pto_tensor *x, uint32_t dtype) {
  const uint64_t all[] = {SIDE * SIDE};
  struct pto_tensor flat = pto_tensor_reshape(x, 1, all);
  return (struct views){pto_tensor_slice(&flat, 0, 30, 34, 1), box(x, 4, 0, 4, 8), box(x, 5, 0, 3, 8)};
}
/* The first element of each row, and one byte of the second. */
static struct views bytes(struct planted *p, const struct pto_tensor *x, uint32_t dtype) {
  struct pto_tensor raw = pto_tensor_reinterpret(x, PTO_UINT8);
  return (struct views){box(&raw, 0, 0, 8, pto_dtype_size(dtype) + 1), box(x, 0, 1, 8, 1), box(x, 0, 2, 8, 1)};
}
/* Rows through two registrations of the same memory. */
static struct views alias(struct planted *p, const struct pto_tensor *x, uint32_t dtype) {
  const uint64_t shape[] = {2, SIDE}, row_bytes = SIDE * pto_dtype_size(dtype);
  char *memory = pto_program_find(p->run, "x")->data;
  return (struct views){box(x, 0, 0, 4, 8), pto_external_tensor(p->rt, memory + 3 * row_bytes, dtype, 2, shape),
                        pto_external_tensor(p->rt, memory + 4 * row_bytes, dtype, 2, shape)};
}
/* Halves of 3 × 20 elements at the head of a larger buffer. */
static struct views padded(struct planted *p, const struct pto_tensor *x, uint32_t dtype) {
  const uint64_t shape[] = {3, 20};
  struct pto_tensor t = pto_managed_tensor(p->rt, x->buffer, dtype, 2, shape);
  return (struct views){box(&t, 0, 0, 3, 10), box(&t, 0, 9, 3, 10), box(&t, 0, 10, 3, 10)};
}

static const struct view_kind {
  const char *name;
  struct views (*make)(struct planted *p, const struct pto_tensor *x, uint32_t dtype);
} kinds[] = {{"whole", whole},       {"tile", tile},   {"slice", slice}, {"transposed", transposed},
             {"reshaped", reshaped}, {"bytes", bytes}, {"alias", alias}, {"padded", padded}};

/* The array x; for padded views a buffer of the runtime, as bytes. */
static struct pto_tensor parent_of(struct planted *p, const char *view) {
  const uint64_t shape[] = {PADDED_BYTES};
  if (strcmp(view, "padded") != 0) return array_x(p);
  return pto_managed_tensor(p->rt, pto_create_buffer(p->rt, PADDED_BYTES), PTO_UINT8, 1, shape);
}

static void submit_pair(struct planted *p, const struct pto_tensor *x, const struct views *views, const char *hazard,
                        bool is_whole) {
  const struct pto_tensor *second = p->is_buggy ? &views->overlaps : &views->beside;
  begin_scope(p, PTO_SCOPE_MANUAL);
  struct pto_task start = put_fill(p, x, 1), pair[2];
  if (strcmp(hazard, "WAR") == 0)
    pair[0] = put_digest_after(p, &views->first, 0, start);
  else
    pair[0] = put_fill_after(p, &views->first, 100, start);
  struct pto_task before = is_whole && !p->is_buggy ? pair[0] : start;
  if (strcmp(hazard, "RAW") == 0)
    pair[1] = put_digest_after(p, second, 1, before);
  else
    pair[1] = put_fill_after(p, second, 200, before);
  struct pto_tensor z = slot(p, 2);
  struct pto_launch last = {.aiv0 = &digest, .after = pair, .after_count = 2};
  put(p, last, PARAMS(pto_input(x), pto_output(&z)));
  end_scope(p);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const char *view = pto_option_text(run, "view");
  struct planted p = {.rt = rt, .run = run, .is_buggy = pto_option_bool(run, "bug")};
  struct pto_tensor x = parent_of(&p, view);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (strcmp(kinds[i].name, view) != 0) continue;
    struct views views = kinds[i].make(&p, &x, (uint32_t)pto_dtype_from_name(pto_option_text(run, "dtype")));
    submit_pair(&p, &x, &views, pto_option_text(run, "hazard"), i == 0);
    return p.status;
  }
  return pto_program_fail(run, "there is no view \"%s\"", view);
}

static int prepare(struct pto_program_run *run) {
  const uint64_t grid[] = {SIDE, SIDE}, slots[] = {PLANTED_SLOTS};
  int dtype = pto_dtype_from_name(pto_option_text(run, "dtype"));
  if (dtype < 0) return pto_program_fail(run, "there is no dtype \"%s\"", pto_option_text(run, "dtype"));
  struct pto_array *x = pto_program_array(run, "x", PTO_ARRAY_INOUT, (uint32_t)dtype, 2, grid);
  pto_array_fill_uniform(run, x, 1, 100);
  pto_program_array(run, "z", PTO_ARRAY_OUTPUT, PTO_UINT32, 1, slots);
  return PTO_OK;
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "planted_hazards",
    .summary = "hazards by kind of view and dtype",
    .options = (const struct pto_option[]){{"view", PTO_OPTION_TEXT, "whole", "how the two views are made"},
                                           {"dtype", PTO_OPTION_TEXT, "f32", "of the parent's elements"},
                                           {"hazard", PTO_OPTION_TEXT, "RAW", "RAW, WAW or WAR"},
                                           {"bug", PTO_OPTION_BOOL, "true", "false: the clean twin"},
                                           {0}},
    .prepare = prepare,
    .orchestrate = orchestrate,
};
