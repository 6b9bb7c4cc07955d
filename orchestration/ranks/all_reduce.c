/* SPDX-License-Identifier: MIT */
/*
 * An all-reduce of a vector on several ranks: each has numbers of its own, and all get the sum.
 *
 * The golden adds in double precision.  A sum of n numbers of f32 in any order is off by (n - 1) · 2^-24 times the sum
 * of their absolute values at most, and that is what is granted.
 */
#include <orchestration/ranks/reduction.h>
#include <orchestration/support/program.h>

static const struct pto_option options[] = {
    {"elems", PTO_OPTION_INT, "4096", "f32 elements of each rank"},
    ALGORITHM_OPTION("ring"),
    {"times", PTO_OPTION_INT, "1", "all-reduces one after another, each of the result of the one before"},
    {0}};
static const struct pto_case cases[] = {{.name = "small", .settings = "elems=1000"}, {0}};

#define MOST_SUM 1e36 /* well below the largest f32 */

/* The numbers of a rank, which any of them can make. */
static struct pto_array *input_of(struct pto_program_run *run, uint32_t rank, uint32_t role) {
  const uint64_t elems = (uint64_t)pto_option_int(run, "elems");
  struct pto_array *x = pto_program_array(run, pto_program_text(run, "x%u", rank), role, PTO_FLOAT32, 1, &elems);
  pto_array_fill_uniform(run, x, -1, 1);
  return x;
}

static int prepare(struct pto_program_run *run) {
  const int64_t elems = pto_option_int(run, "elems"), times = pto_option_int(run, "times");
  if (elems < 1 || elems > INT64_C(1) << 32) return pto_program_fail(run, "elems is %lld: 1 to 2^32", (long long)elems);
  if (times < 1 || times > 100000) return pto_program_fail(run, "times is %lld: 1 to 100000", (long long)times);
  double sum = 1;
  for (int64_t i = 0; i < times && pto_program_rank_count(run) > 1; i++) sum *= pto_program_rank_count(run);
  if (sum > MOST_SUM)
    return pto_program_fail(run, "times is %lld: on %u ranks the sum grows %u-fold each time, and would leave f32",
                            (long long)times, pto_program_rank_count(run), pto_program_rank_count(run));
  enum pto_all_reduce *algorithm = pto_program_state(run, sizeof *algorithm);
  if (!algorithm) return PTO_ENOMEM;
  const int status = read_algorithm(run, algorithm);
  if (status) return status;
  const uint64_t shape = (uint64_t)elems;
  input_of(run, pto_program_rank(run), PTO_ARRAY_INPUT);
  pto_program_array(run, "sum", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 1, &shape);
  return PTO_OK;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_array *x = pto_program_find(run, pto_program_text(run, "x%u", pto_program_rank(run)));
  const struct pto_tensor in = pto_array_tensor(rt, x), out = pto_array_tensor(rt, pto_program_find(run, "sum"));
  const enum pto_all_reduce *algorithm = pto_program_state(run, sizeof *algorithm);
  struct pto_comm comm;
  int status = pto_comm_create_for_collectives(rt, NULL, 0, x->size_bytes, &comm);
  for (int64_t i = 0; i < pto_option_int(run, "times") && !status; i++)
    status = pto_submit_all_reduce(rt, comm, i ? &out : &in, &out, PTO_REDUCE_SUM, *algorithm);
  return status;
}

static int expect(struct pto_program_run *run) {
  const uint32_t ranks = pto_program_rank_count(run);
  double *golden = pto_array_golden(run, pto_program_find(run, "sum"));
  for (uint32_t r = 0; r < ranks && golden; r++) {
    const char *name = pto_program_text(run, "x%u", r);
    const struct pto_array *x = pto_program_find(run, name);
    if (!x) x = input_of(run, r, PTO_ARRAY_SCRATCH);
    for (uint64_t k = 0; x && k < x->numel; k++) golden[k] += pto_array_get(x, k);
  }
  const int64_t times = pto_option_int(run, "times");
  double factor = 1;
  for (int64_t i = 1; i < times; i++) factor *= ranks;
  pto_program_tolerance(run, 0, (double)times * (ranks - 1) * 0x1p-24 * ranks * factor);
  for (uint64_t k = 0; golden && k < (uint64_t)pto_option_int(run, "elems"); k++) golden[k] *= factor;
  return PTO_OK;
}

PROGRAM("all_reduce", "the sum of a vector of each rank, on all of them", .ranks = 4);
