/* SPDX-License-Identifier: MIT */
/*
 * What is right under rules exact and wrong under rules pto, which have no edges from a read to a later write, few from
 * a write to a write, none from a task of a manual scope to a later automatic one (manual-enters-nothing), and none
 * between tensors whose buffers begin at different addresses (base-address).
 */
#include <tests/planted/planted.h>

#include <pto/recorded.h>

#define BUGS(X)                                                                                                        \
  X(reuse, "the next round is staged in the buffer that the reader of this round still reads")                         \
  X(recorded_reuse, "the same in a recording: its own order is found by these rules")                                  \
  X(recorded_again, "two launches write one row, and no `after` says which comes first")                               \
  X(output_twice, "an external row is written anew as an OUTPUT while the first writer may still run")                 \
  X(not_creator, "two OUTPUTs on a buffer that a third task allocated")                                                \
  X(tile_reuse, "a tile is overwritten whose corner another task reads")                                               \
  X(inout_after_read, "a step in place does not wait for who reads what was before it")                                \
  X(alias_reuse, "the reader's row is overwritten through another registration of the same memory")                    \
  X(host_write, "the host writes an element that a task still reads")                                                  \
  X(manual_writer, "a task reads what a task of a manual scope writes, without `after`")                               \
  X(manual_writers, "a task steps in place what a task of a manual scope writes, without `after`")                     \
  X(manual_host_read, "the host reads what a task of a manual scope writes")                                           \
  X(manual_reader, "the host writes anew what a task of a manual scope reads, which is not `after` the writer")        \
  X(other_base, "the reader's rows are registered from another address than the writer's")                             \
  X(other_base_steps, "two steps in place, of the whole and of a row that is registered by itself")                    \
  X(predicate_early, "a predicate looks at an element that a task writes, without `after`")                            \
  X(predicate_again, "the element that a predicate looks at is written for the next round, without `after`")           \
  X(other_base_host_read, "the host reads a row that is registered by itself, a task writes it as part of the whole")

/* Copies a row of x to the staging buffer. */
static struct pto_task stage_row(struct planted *p, uint64_t row, const struct pto_tensor *stage) {
  struct pto_tensor x = array_x(p), from = row_of(&x, row);
  return put(p, PLAIN(copy), PARAMS(pto_input(&from), pto_output(stage)));
}

static void reuse(struct planted *p) {
  struct pto_tensor stage = fresh(p, 1, 16), other = fresh(p, 1, 16);
  const struct pto_tensor *second = p->is_buggy ? &stage : &other;
  stage_row(p, 0, &stage);
  put_digest(p, &stage, 0);
  stage_row(p, 1, second);
  put_digest(p, second, 1);
}

static void recorded_reuse(struct planted *p) {
  struct pto_tensor x = array_x(p), z = slot(p, 0), stage = fresh(p, 16, 16), other = fresh(p, 16, 16);
  const struct pto_param boundary[] = {pto_input(&x), pto_inout(&z)};
  const struct pto_tensor *second = p->is_buggy ? &stage : &other;
  struct pto_recorded *recorded = NULL;
  note(p, pto_recorded_begin(p->rt, boundary, 2));
  put(p, PLAIN(copy), PARAMS(pto_input(&x), pto_output(&stage)));
  put(p, PLAIN(digest), PARAMS(pto_input(&stage), pto_output(&z)));
  put_fill(p, second, 1);
  note(p, pto_recorded_end(p->rt, &recorded));
  const struct pto_recorded_launch launch = {.size = sizeof launch, .params = boundary, .count = 2};
  if (recorded) note(p, pto_submit_recorded(p->rt, recorded, &launch, NULL));
  pto_recorded_destroy(recorded);
}

static void recorded_again(struct planted *p) {
  struct pto_tensor x = array_x(p), z = slot(p, 0), row = row_of(&x, 0);
  const struct pto_param boundary[] = {pto_output(&row), pto_output(&z)};
  const struct pto_recorded_scalar other = {.task = 0, .scalar = 0, .value = {.u64 = 2}};
  struct pto_recorded *recorded = NULL;
  struct pto_task first = {0};
  note(p, pto_recorded_begin(p->rt, boundary, 2));
  put_fill(p, &row, 1);
  put(p, PLAIN(digest), PARAMS(pto_input(&row), pto_output(&z)));
  note(p, pto_recorded_end(p->rt, &recorded));
  struct pto_recorded_launch launch = {.size = sizeof launch, .params = boundary, .count = 2};
  if (recorded) note(p, pto_submit_recorded(p->rt, recorded, &launch, &first));
  launch.scalars = &other;
  launch.scalar_count = 1;
  launch.after = &first;
  launch.after_count = p->is_buggy ? 0 : 1;
  if (recorded) note(p, pto_submit_recorded(p->rt, recorded, &launch, NULL));
  pto_recorded_destroy(recorded);
}

static void output_twice(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 0);
  struct pto_task written = put_fill(p, &row, 1);
  if (p->is_buggy)
    put_fill(p, &row, 2);
  else
    put_fill_after(p, &row, 2, written);
  put_digest(p, &row, 0);
}

static void not_creator(struct planted *p) {
  struct pto_tensor stage = fresh(p, 1, 16);
  note(p, pto_alloc_tensors(p->rt, &stage, 1, NULL));
  struct pto_task written = put_fill(p, &stage, 1);
  if (p->is_buggy)
    put_fill(p, &stage, 2);
  else
    put_fill_after(p, &stage, 2, written);
  put_digest(p, &stage, 0);
}

static void tile_reuse(struct planted *p) {
  struct pto_tensor x = array_x(p), seen = box(&x, 0, 0, 4, 4), corner = box(&x, 3, 3, 4, 4);
  struct pto_tensor beside = box(&x, 4, 0, 4, 4);
  put_digest(p, &seen, 0);
  put_fill(p, p->is_buggy ? &corner : &beside, 1);
}

static void inout_after_read(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 0);
  struct pto_task seen = put_digest(p, &row, 0);
  if (p->is_buggy)
    put(p, PLAIN(step), PARAMS(pto_inout(&row)));
  else
    put(p, AFTER(step, seen), PARAMS(pto_inout(&row)));
}

static void alias_reuse(struct planted *p) {
  const uint64_t half[] = {8, PLANTED_COLUMNS};
  struct pto_array *array = pto_program_find(p->run, "x");
  uint32_t *elements = array->data;
  struct pto_tensor top = pto_external_tensor(p->rt, elements, PTO_UINT32, 2, half);
  struct pto_tensor near = pto_external_tensor(p->rt, elements + 7 * PLANTED_COLUMNS, PTO_UINT32, 2, half);
  struct pto_tensor below = pto_external_tensor(p->rt, elements + 8 * PLANTED_COLUMNS, PTO_UINT32, 2, half);
  put_digest(p, &top, 0);
  put_fill(p, p->is_buggy ? &near : &below, 1);
}

static void host_write(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 0), z = slot(p, 0);
  uint32_t value = 7, said;
  put_digest(p, &row, 0);
  if (!p->is_buggy) note(p, pto_read_element(p->rt, &z, (const uint64_t[]){0}, &said));
  note(p, pto_write_element(p->rt, &row, (const uint64_t[]){0, 3}, &value));
}

static void manual_writer(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 0);
  begin_scope(p, PTO_SCOPE_MANUAL);
  struct pto_task written = put_fill(p, &row, 1);
  end_scope(p);
  if (p->is_buggy)
    put_digest(p, &row, 0);
  else
    put_digest_after(p, &row, 0, written);
}

static void manual_writers(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 0);
  begin_scope(p, PTO_SCOPE_MANUAL);
  struct pto_task written = put_fill(p, &row, 1);
  end_scope(p);
  put(p, p->is_buggy ? PLAIN(step) : AFTER(step, written), PARAMS(pto_inout(&row)));
}

/* The host waits for the digest, and so for what is before it. */
static void manual_host_read(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 0), z = slot(p, 0);
  uint32_t said;
  begin_scope(p, PTO_SCOPE_MANUAL);
  struct pto_task written = put_fill(p, &row, 1);
  end_scope(p);
  put_digest_after(p, &row, 0, written);
  if (!p->is_buggy) note(p, pto_read_element(p->rt, &z, (const uint64_t[]){0}, &said));
  note(p, pto_read_element(p->rt, &row, (const uint64_t[]){0, 3}, &said));
}

/* The host waits for readers that come after a writer: so the twin's `after` is needed, though each reader is submitted
 * when that writer is done. */
static void manual_reader(struct planted *p) {
  struct pto_tensor word = fresh(p, 1, 1);
  const struct pto_task written = put_fill(p, &word, 0);
  for (uint32_t i = 1; i <= 3; i++) {
    note(p, pto_write_element(p->rt, &word, (const uint64_t[]){0, 0}, &i));
    begin_scope(p, PTO_SCOPE_MANUAL);
    if (p->is_buggy)
      put_digest(p, &word, i);
    else
      put_digest_after(p, &word, i, written);
    end_scope(p);
  }
}

/* Row 8 of x: a view of x, or a buffer of its own over the same memory. */
static struct pto_tensor row_8(struct planted *p, const struct pto_tensor *x, bool is_by_itself) {
  const uint64_t shape[] = {1, PLANTED_COLUMNS};
  uint32_t *elements = pto_program_find(p->run, "x")->data;
  return is_by_itself ? pto_external_tensor(p->rt, elements + 8 * PLANTED_COLUMNS, PTO_UINT32, 2, shape) : row_of(x, 8);
}

static void other_base(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_8(p, &x, p->is_buggy);
  put_fill(p, &x, 1);
  put_digest(p, &row, 0);
}

static void other_base_steps(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_8(p, &x, p->is_buggy);
  put(p, PLAIN(step), PARAMS(pto_inout(&x)));
  put(p, PLAIN(step), PARAMS(pto_inout(&row)));
}

static void other_base_host_read(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_8(p, &x, p->is_buggy);
  uint32_t said;
  put_fill(p, &x, 1);
  note(p, pto_read_element(p->rt, &row, (const uint64_t[]){0, 3}, &said));
}

/* The task runs if the flag is 1; it comes after the writer of the flag, if that is named. */
static struct pto_task copy_if(struct planted *p, const struct pto_tensor *flag, uint64_t to,
                               const struct pto_task *written) {
  struct pto_tensor x = array_x(p), from = box(&x, 0, to, 1, 1),
                    column = pto_tensor_reshape(&from, 1, (const uint64_t[]){1});
  struct pto_tensor z = slot(p, to);
  struct pto_launch launch = {.aiv0 = &copy, .after = written, .after_count = written ? 1 : 0};
  launch.predicate = (struct pto_predicate){.tensor = flag, .compare = PTO_IF_EQ, .value = 1};
  return put(p, launch, PARAMS(pto_input(&column), pto_output(&z)));
}
static void predicate_early(struct planted *p) {
  struct pto_tensor flag = fresh(p, 1, 1);
  struct pto_task written = put_fill(p, &flag, 1);
  copy_if(p, &flag, 0, p->is_buggy ? NULL : &written);
}
static void predicate_again(struct planted *p) {
  struct pto_tensor flag = fresh(p, 1, 1);
  struct pto_task written = put_fill(p, &flag, 1), looked = copy_if(p, &flag, 0, &written);
  written = p->is_buggy ? put_fill(p, &flag, 0) : put_fill_after(p, &flag, 0, looked);
  copy_if(p, &flag, 1, &written);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }
PLANTED_PROGRAM("planted_pto", .summary = "right under rules exact, wrong under rules pto");
