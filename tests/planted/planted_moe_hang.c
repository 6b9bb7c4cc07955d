/* SPDX-License-Identifier: MIT */
/*
 * A mixture of experts whose ranks stall in the first exchange of dispatch_meta, as sixteen chips did of which the logs
 * did not tell why.  Each rank tells all others how many tokens come to them, and waits for all; then expert, and
 * combine, which is another exchange.  `mistake` is what rank 7 does.
 *
 * For tests/cli/planted_ranks_test.sh: one run tells the mistakes apart.
 */
#include <tests/planted/planted.h>

#include <pto/remote.h>
#include <pto/world.h>

#define CULPRIT 7u
#define VICTIM 3u /* that is not notified, where a notify is lost */

/* ---- the exchange ---- */

enum { COMM, PLACE, SIZE, SIGNAL, SKIPS, NEEDS_TOKEN };

/* Signal 2: a token that no rank gives. */
static int exchange_run(const struct pto_kernel_args *a) {
  const uint64_t comm = a->scalars[COMM].u64;
  const uint32_t place = (uint32_t)a->scalars[PLACE].u64, size = (uint32_t)a->scalars[SIZE].u64;
  const uint32_t signal = (uint32_t)a->scalars[SIGNAL].u64;
  static const uint64_t shape = PLANTED_COLUMNS, stride = 1;
  const uint64_t row_bytes = PLANTED_COLUMNS * sizeof(uint32_t);
  int status = a->scalars[NEEDS_TOKEN].u64 ? pto_core_wait_signal(a, comm, 2, PTO_IF_GE, 1) : 0;
  for (uint32_t i = 1; i < size && status == 0; i++) {
    const uint32_t peer = (place + i) % size;
    void *window = NULL;
    status = pto_core_window(a, comm, peer, &window);
    if (status) return status;
    const struct pto_kernel_tensor to = {(char *)window + (signal * size + place) * row_bytes, &shape, &stride, 1,
                                         PTO_UINT32};
    const struct pto_kernel_tensor from = {a->tensors[1].addr, &shape, &stride, 1, PTO_UINT32};
    status = pto_core_put(a, &to, &from);
    if (status == 0 && peer != a->scalars[SKIPS].u64)
      status = pto_core_notify(a, comm, peer, signal, PTO_NOTIFY_ADD, 1);
  }
  return status ? status : pto_core_wait_signal(a, comm, signal, PTO_IF_GE, (int32_t)size - 1);
}

static const struct pto_kernel_param of_exchange[] = {ANY("own", PTO_INOUT), ANY("x", PTO_INPUT), U64("comm"),
                                                      U64("place"),          U64("size"),         U64("signal"),
                                                      U64("skips"),          U64("needs_token")};
#define EXCHANGE(name_)                                                                                                \
  {                                                                                                                    \
    .name = name_, .cores = PTO_AIV, .params = of_exchange, .param_count = 8, .run = exchange_run,                     \
    .flags = PTO_KERNEL_REMOTE                                                                                         \
  }
static const struct pto_kernel dispatch_meta = EXCHANGE("dispatch_meta");
static const struct pto_kernel combine = EXCHANGE("combine");

/* ---- a rank ---- */

struct layer {
  struct planted *p;
  struct pto_comm comm;
  uint32_t rank, ranks;
  const char *mistake; /* of this rank; "" */
};

static bool makes(const struct layer *layer, const char *mistake) { return strcmp(layer->mistake, mistake) == 0; }

/* What has come by the exchange of that number: a row a rank. */
static struct pto_tensor received(const struct layer *layer, uint64_t number) {
  const uint64_t shape[] = {2ull * layer->ranks, PLANTED_COLUMNS};
  const struct pto_tensor window = pto_comm_window(layer->p->rt, layer->comm, PTO_UINT32, 2, shape);
  return box(&window, number * layer->ranks, 0, layer->ranks, PLANTED_COLUMNS);
}

static struct pto_task exchange(const struct layer *layer, const struct pto_kernel *kernel, const char *label,
                                const struct pto_tensor *from, const struct pto_task *after) {
  const bool is_first = kernel == &dispatch_meta;
  const struct pto_tensor own = received(layer, !is_first);
  const struct pto_launch launch = {
      .size = sizeof launch, .aiv0 = kernel, .label = label, .after = after, .after_count = after ? 1 : 0};
  const uint64_t skips = is_first && makes(layer, "lost") ? VICTIM : UINT64_MAX;
  const struct pto_param params[] = {pto_inout(&own),
                                     pto_input(from),
                                     pto_scalar_u64(layer->comm.id),
                                     pto_scalar_u64(layer->rank),
                                     pto_scalar_u64(layer->ranks),
                                     pto_scalar_u64(!is_first),
                                     pto_scalar_u64(skips),
                                     pto_scalar_u64(is_first && makes(layer, "blocked"))};
  struct pto_task task = {0};
  if (layer->p->status == PTO_OK)
    note(layer->p, pto_submit_group(layer->p->rt, layer->comm, &launch, params, 8, &task));
  return task;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct planted p = {.rt = rt, .run = run};
  struct layer layer = {.p = &p, .rank = pto_runtime_rank(rt), .ranks = pto_runtime_rank_count(rt)};
  struct layer other = layer; /* another communicator of the same ranks */
  const uint64_t bytes = 2ull * layer.ranks * PLANTED_COLUMNS * sizeof(uint32_t);
  layer.mistake = other.mistake = layer.rank == CULPRIT ? pto_option_text(run, "mistake") : "";
  note(&p, pto_comm_create(rt, NULL, 0, bytes, 3, &layer.comm));
  note(&p, pto_comm_create(rt, NULL, 0, bytes, 3, &other.comm));
  if (p.status) return p.status;
  const struct pto_tensor x = array_x(&p), counts = row_of(&x, 0), tokens = row_of(&x, 1);
  const struct pto_tensor meta = received(&layer, 0), came = received(&layer, 1);
  put(&p, PLAIN(step), PARAMS(pto_inout(&counts)));
  /* A statistic of all ranks, which is to come last: here it comes first, and what follows waits for it. */
  struct pto_task statistic = {0};
  if (makes(&layer, "not_dispatched")) statistic = exchange(&other, &combine, "moe.statistic", &tokens, NULL);
  if (!makes(&layer, "not_submitted"))
    exchange(&layer, &dispatch_meta, "moe.dispatch_meta", &counts, makes(&layer, "not_dispatched") ? &statistic : NULL);
  put_digest(&p, &meta, 0);
  put(&p, PLAIN(step), PARAMS(pto_inout(&tokens)));
  if (!makes(&layer, "not_submitted")) exchange(&layer, &combine, "moe.combine", &tokens, NULL);
  const struct pto_task last = put_digest(&p, &came, 1);
  if (!makes(&layer, "not_dispatched")) exchange(&other, &combine, "moe.statistic", &tokens, &last);
  return p.status;
}

static const struct pto_option options[] = {
    {"mistake", PTO_OPTION_TEXT, "none",
     "none, not_submitted, not_dispatched, blocked, lost: of rank 7's task of the first exchange"},
    {0}};
PTO_API const struct pto_program pto_program = {.abi = PTO_PROGRAM_ABI,
                                                .name = "planted_moe_hang",
                                                .summary = "sixteen ranks that stall in their first exchange",
                                                .options = options,
                                                .prepare = planted_prepare,
                                                .orchestrate = orchestrate,
                                                .ranks = 16};
