/* SPDX-License-Identifier: MIT */
/* Held parameters, which order nothing: kernels touch them in an order that the program has not seen to. */
#include <tests/planted/planted.h>

#define BUGS(X)                                                                                                        \
  X(read_early, "a task reads what it holds, and does not say that it comes after the writer")                         \
  X(written_early, "a task writes what an earlier one holds and reads, and does not say that it comes after it")       \
  X(written_twice, "two tasks write what they hold, and the second does not say that it comes after the first")        \
  X(read_between, "the task between writer and holder is named instead of the writer")

static void read_early(struct planted *p) {
  struct pto_tensor x = array_x(p), z = slot(p, 0);
  struct pto_task written = put_fill(p, &x, 1);
  put(p, p->is_buggy ? PLAIN(digest) : AFTER(digest, written), PARAMS(pto_hold(&x), pto_output(&z)));
}

static void written_early(struct planted *p) {
  struct pto_tensor x = array_x(p), z = slot(p, 0);
  struct pto_task seen = put(p, PLAIN(digest), PARAMS(pto_hold(&x), pto_output(&z)));
  if (p->is_buggy)
    put_fill(p, &x, 2);
  else
    put_fill_after(p, &x, 2, seen);
}

static void written_twice(struct planted *p) {
  struct pto_tensor x = array_x(p);
  struct pto_task first = put(p, PLAIN(fill), PARAMS(pto_hold(&x), pto_scalar_u64(1)));
  struct pto_task second =
      put(p, p->is_buggy ? PLAIN(fill) : AFTER(fill, first), PARAMS(pto_hold(&x), pto_scalar_u64(2)));
  struct pto_task joined = {0};
  const struct pto_task both[] = {second, first};
  note(p, pto_submit_barrier(p->rt, both, p->is_buggy ? 2 : 1, &joined));
  put_digest_after(p, &x, 0, joined);
}

static void read_between(struct planted *p) {
  struct pto_tensor x = array_x(p), y = slot(p, 1), z = slot(p, 0);
  const struct pto_task other = put_fill(p, &y, 3), written = put_fill(p, &x, 1);
  const struct pto_task before = p->is_buggy ? other : written;
  put(p, AFTER(digest, before), PARAMS(pto_hold(&x), pto_output(&z)));
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }
PLANTED_PROGRAM("planted_held", .summary = "held parameters without the order that they need");
