/* SPDX-License-Identifier: MIT */
/* Manual scopes, where nothing but `after` orders tasks: one line of it missing, or naming the wrong task. */
#include <tests/planted/planted.h>

#define BUGS(X)                                                                                                        \
  X(raw, "the reader does not say that it comes after the writer")                                                     \
  X(waw, "the second writer does not say that it comes after the first")                                               \
  X(war, "the writer does not say that it comes after the reader")                                                     \
  X(wrong_task, "the reader comes after the writer of another row")                                                    \
  X(one_of_two, "the reader comes after one of the two tasks that write what it reads")                                \
  X(barrier_short, "the barrier that the reader comes after leaves out one writer")                                    \
  X(two_scopes, "a manual scope trusts that the scope before it has ended: scopes order nothing")                      \
  X(automatic_before, "a manual scope reads what an automatic one writes, without `after`")                            \
  X(skips_a_step, "the third step in place comes after the first one, not after the second")                           \
  X(float_sum, "two tasks add to one sum in no stated order")

static void raw(struct planted *p) {
  struct pto_tensor x = array_x(p);
  begin_scope(p, PTO_SCOPE_MANUAL);
  struct pto_task written = put_fill(p, &x, 1);
  if (p->is_buggy)
    put_digest(p, &x, 0);
  else
    put_digest_after(p, &x, 0, written);
  end_scope(p);
}

static void waw(struct planted *p) {
  struct pto_tensor x = array_x(p);
  begin_scope(p, PTO_SCOPE_MANUAL);
  struct pto_task written = put_fill(p, &x, 1);
  if (p->is_buggy)
    put_fill(p, &x, 2);
  else
    put_fill_after(p, &x, 2, written);
  end_scope(p);
}

static void war(struct planted *p) {
  struct pto_tensor x = array_x(p);
  begin_scope(p, PTO_SCOPE_MANUAL);
  struct pto_task seen = put_digest(p, &x, 0);
  if (p->is_buggy)
    put_fill(p, &x, 2);
  else
    put_fill_after(p, &x, 2, seen);
  end_scope(p);
}

static void wrong_task(struct planted *p) {
  struct pto_tensor x = array_x(p), row[2] = {row_of(&x, 0), row_of(&x, 1)};
  begin_scope(p, PTO_SCOPE_MANUAL);
  struct pto_task written[2] = {put_fill(p, &row[0], 1), put_fill(p, &row[1], 2)};
  put_digest_after(p, &row[1], 0, written[p->is_buggy ? 0 : 1]);
  end_scope(p);
}

static void one_of_two(struct planted *p) {
  struct pto_tensor x = array_x(p), top = box(&x, 0, 0, 8, 16), bottom = box(&x, 8, 0, 8, 16), z = slot(p, 0);
  begin_scope(p, PTO_SCOPE_MANUAL);
  struct pto_task written[2] = {put_fill(p, &top, 1), put_fill(p, &bottom, 2)};
  struct pto_launch launch = {.aiv0 = &digest, .after = written, .after_count = p->is_buggy ? 1 : 2};
  put(p, launch, PARAMS(pto_input(&x), pto_output(&z)));
  end_scope(p);
}

static void barrier_short(struct planted *p) {
  struct pto_tensor x = array_x(p), rows[3] = {row_of(&x, 0), row_of(&x, 1), row_of(&x, 2)}, all = box(&x, 0, 0, 3, 16);
  struct pto_task written[3], joined = {0};
  begin_scope(p, PTO_SCOPE_MANUAL);
  for (int i = 0; i < 3; i++) written[i] = put_fill(p, &rows[i], 1);
  if (p->status == PTO_OK) note(p, pto_submit_barrier(p->rt, written, p->is_buggy ? 2 : 3, &joined));
  put_digest_after(p, &all, 0, joined);
  end_scope(p);
}

static void two_scopes(struct planted *p) {
  struct pto_tensor x = array_x(p);
  begin_scope(p, PTO_SCOPE_MANUAL);
  struct pto_task written = put_fill(p, &x, 1);
  end_scope(p);
  begin_scope(p, PTO_SCOPE_MANUAL);
  if (p->is_buggy)
    put_digest(p, &x, 0);
  else
    put_digest_after(p, &x, 0, written);
  end_scope(p);
}

static void automatic_before(struct planted *p) {
  struct pto_tensor x = array_x(p);
  struct pto_task written = put_fill(p, &x, 1);
  begin_scope(p, PTO_SCOPE_MANUAL);
  if (p->is_buggy)
    put_digest(p, &x, 0);
  else
    put_digest_after(p, &x, 0, written);
  end_scope(p);
}

static void skips_a_step(struct planted *p) {
  struct pto_tensor x = array_x(p);
  begin_scope(p, PTO_SCOPE_MANUAL);
  struct pto_task first = put(p, PLAIN(step), PARAMS(pto_inout(&x)));
  struct pto_task second = put(p, AFTER(step, first), PARAMS(pto_inout(&x)));
  struct pto_task before = p->is_buggy ? first : second;
  put(p, AFTER(step, before), PARAMS(pto_inout(&x)));
  end_scope(p);
}

/* sum += term·sum: rounded, so that the order shows. */
static int grow_run(const struct pto_kernel_args *a) {
  float *sum = a->tensors[0].addr;
  sum[0] = sum[0] * a->scalars[0].f32 + 1.0f;
  return 0;
}
static const struct pto_kernel_param of_grow[] = {{.name = "sum", .mode = PTO_INOUT},
                                                  {.name = "term", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_F32}};
static const struct pto_kernel grow = AIV_KERNEL("grow", of_grow, grow_run);

static void float_sum(struct planted *p) {
  struct pto_tensor bits = slot(p, 0), sum = pto_tensor_reinterpret(&bits, PTO_FLOAT32);
  begin_scope(p, PTO_SCOPE_MANUAL);
  struct pto_task first = put(p, PLAIN(grow), PARAMS(pto_inout(&sum), pto_scalar_f32(0.1f)));
  if (p->is_buggy)
    put(p, PLAIN(grow), PARAMS(pto_inout(&sum), pto_scalar_f32(7)));
  else
    put(p, AFTER(grow, first), PARAMS(pto_inout(&sum), pto_scalar_f32(7)));
  end_scope(p);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }
PLANTED_PROGRAM("planted_manual", .summary = "manual scopes that lack an order");
