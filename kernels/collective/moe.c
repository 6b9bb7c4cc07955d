/* SPDX-License-Identifier: MIT */
/*
 * MoE dispatch and combine (pto/collectives.h): rows of tokens go to the ranks of their experts, and rows come back.
 *
 * The rows that a rank sends stand in the order of their experts, of one expert in that of tokens, of one token in that
 * of k.  So those to one rank stand side by side, and a peer gets them by one put.  counts[s, e] is how many rank s
 * sends to expert e, order[t, k] where the row of token t to its k-th expert stands.
 *
 * In a half of the window:
 *   dispatch_meta   a slot for each rank: what it says of itself (enum said)
 *   dispatch_data   the rows that come, those of rank 0 first, and behind them those that go, packed
 *   combine         the same; what comes stands in the order above
 *
 * Without memory (pto_core_computes) no rank knows what goes where.  There row i of rank s, of n rows a rank,
 * goes to expert (s·n + i) mod experts: as even as can be.
 */
#include <kernels/collective/collective.h>

#include <inttypes.h>

#include <kernels/collective/work.h>

enum said { SAID_LOCAL, SAID_CAPACITY, SAID_ROW_ELEMS, SAID_DTYPE, SAID_COUNTS };

uint64_t pto_collective_moe_meta_bytes(uint64_t experts) { return (SAID_COUNTS + experts) * sizeof(int32_t); }

struct routes {
  const struct work *work;
  uint64_t experts, local; /* of all ranks, of each */
  uint64_t rows, topk;     /* that this rank sends: tokens · topk */
  int32_t *counts, *order;
};

static struct routes routes_of(const struct work *work, const struct pto_kernel_tensor *counts,
                               const struct pto_kernel_tensor *order) {
  return (struct routes){.work = work,
                         .experts = counts->shape[1],
                         .local = counts->shape[1] / work->size,
                         .rows = order->shape[0] * order->shape[1],
                         .topk = order->shape[1],
                         .counts = counts->addr,
                         .order = order->addr};
}

/* Of the first n rows, dealt one by one, those for expert e. */
static uint64_t dealt(const struct routes *routes, uint64_t n, uint64_t e) {
  return n / routes->experts + (n % routes->experts > e);
}

static uint64_t count_of(const struct routes *routes, uint64_t source, uint64_t e) {
  if (pto_core_computes(routes->work->args)) return (uint64_t)routes->counts[source * routes->experts + e];
  return dealt(routes, (source + 1) * routes->rows, e) - dealt(routes, source * routes->rows, e);
}

/* Of the rows for expert e those of the ranks before `source`. */
static uint64_t count_before(const struct routes *routes, uint64_t source, uint64_t e) {
  uint64_t count = 0;
  for (uint64_t s = 0; s < source; s++) count += count_of(routes, s, e);
  return count;
}

/* ---- dispatch_meta ---- */

static int slot_of_rank(const struct routes *routes, uint64_t peer, uint64_t rank, struct piece *slot) {
  const struct work *work = routes->work;
  const uint64_t spread = scalar(work->args, PTO_COLLECTIVE_HALF) / work->size / PTO_SLOT_ALIGN * PTO_SLOT_ALIGN;
  const int status = slot_of(work, peer, rank, spread / sizeof(int32_t), slot);
  slot->count = SAID_COUNTS + routes->experts;
  return status;
}

/* What this rank says, and order. */
static int note_routes(const struct routes *routes, int32_t *said) {
  const struct pto_kernel_args *args = routes->work->args;
  const int32_t *topk_idx = args->tensors[0].addr;
  int32_t *next = routes->counts + routes->work->place * routes->experts, *counts = said + SAID_COUNTS, sum = 0;
  said[SAID_LOCAL] = (int32_t)routes->local;
  said[SAID_CAPACITY] = (int32_t)args->scalars[PTO_MOE_CAPACITY].u64;
  said[SAID_ROW_ELEMS] = (int32_t)args->scalars[PTO_MOE_ROW_ELEMS].u64;
  said[SAID_DTYPE] = (int32_t)args->scalars[PTO_MOE_DTYPE].u64;
  memset(counts, 0, routes->experts * sizeof *counts);
  for (uint64_t i = 0; i < routes->rows; i++) {
    if (topk_idx[i] < 0 || (uint64_t)topk_idx[i] >= routes->experts)
      return pto_kernel_error(args, "token %" PRIu64 " is sent to expert %" PRId32 " of %" PRIu64, i / routes->topk,
                              topk_idx[i], routes->experts);
    counts[topk_idx[i]]++;
  }
  for (uint64_t e = 0; e < routes->experts; sum += counts[e++]) next[e] = sum;
  for (uint64_t i = 0; i < routes->rows; i++) routes->order[i] = next[topk_idx[i]]++;
  return 0;
}

static int take_said(const struct routes *routes, uint64_t place, const int32_t *own, const int32_t *said) {
  const struct work *work = routes->work;
  if (said[SAID_LOCAL] != own[SAID_LOCAL])
    return pto_kernel_error(work->args, "place %" PRIu64 " has %" PRId32 " experts, place %" PRIu64 " has %" PRId32,
                            place, said[SAID_LOCAL], work->place, own[SAID_LOCAL]);
  if (said[SAID_ROW_ELEMS] != own[SAID_ROW_ELEMS] || said[SAID_DTYPE] != own[SAID_DTYPE])
    return pto_kernel_error(work->args,
                            "place %" PRIu64 " sends rows of %" PRId32 " %s, place %" PRIu64 " of %" PRId32 " %s",
                            place, said[SAID_ROW_ELEMS], pto_dtype_name((uint32_t)said[SAID_DTYPE]), work->place,
                            own[SAID_ROW_ELEMS], pto_dtype_name((uint32_t)own[SAID_DTYPE]));
  memcpy(routes->counts + place * routes->experts, said + SAID_COUNTS, routes->experts * sizeof *said);
  return 0;
}

static int check_capacity(const struct routes *routes, uint64_t owner, uint64_t capacity) {
  for (uint64_t e = owner * routes->local; e < (owner + 1) * routes->local; e++) {
    const uint64_t count = count_before(routes, routes->work->size, e);
    if (count > capacity)
      return pto_kernel_error(routes->work->args,
                              "expert %" PRIu64 ", of place %" PRIu64 ", gets %" PRIu64
                              " rows, and its capacity is %" PRIu64,
                              e, owner, count, capacity);
  }
  return 0;
}

/* All ranks see the same counts, and so fail of the same. */
static int take_counts(const struct routes *routes) {
  const struct work *work = routes->work;
  int32_t *recv_count = work->args->tensors[3].addr;
  const bool computes = pto_core_computes(work->args);
  uint64_t capacity = work->args->scalars[PTO_MOE_CAPACITY].u64;
  struct piece own, slot;
  int status = slot_of_rank(routes, work->place, work->place, &own);
  for (uint64_t rank = 0; rank < work->size && status == 0 && computes; rank++) {
    status = slot_of_rank(routes, work->place, rank, &slot);
    if (status == 0) status = take_said(routes, rank, (int32_t *)(void *)own.addr, (int32_t *)(void *)slot.addr);
  }
  for (uint64_t rank = 0; rank < work->size && status == 0; rank++) {
    status = slot_of_rank(routes, work->place, rank, &slot);
    if (computes) capacity = (uint64_t)((int32_t *)(void *)slot.addr)[SAID_CAPACITY];
    if (status == 0) status = check_capacity(routes, rank, capacity);
  }
  for (uint64_t e = 0; e < routes->local && status == 0 && computes; e++)
    recv_count[e] = (int32_t)count_before(routes, work->size, work->place * routes->local + e);
  const uint64_t counted = work->size * routes->experts;
  if (status) return status;
  return pto_core_work(work->args,
                       &(struct pto_cost){.bytes_in = 4 * counted, .bytes_out = 4 * counted, .vector_elems = counted});
}

static int dispatch_meta(const struct work *work) {
  const struct pto_kernel_tensor *tensors = work->args->tensors;
  const struct routes routes = routes_of(work, &tensors[1], &tensors[2]);
  struct piece own, to;
  int status = slot_of_rank(&routes, work->place, work->place, &own);
  if (status == 0 && work->block == 0 && pto_core_computes(work->args))
    status = note_routes(&routes, (int32_t *)(void *)own.addr);
  if (status == 0 && work->block == 0)
    status = pto_core_work(work->args, &(struct pto_cost){.bytes_in = 4 * routes.rows,
                                                          .bytes_out = 4 * (routes.rows + routes.experts),
                                                          .vector_elems = 2 * routes.rows + routes.experts});
  if (status == 0) status = barrier_of_blocks(work);
  PTO_FOR_EACH_PEER(peer, work) {
    if (status == 0) status = wait_free(work, peer);
    if (status == 0) status = slot_of_rank(&routes, peer, work->place, &to);
    if (status == 0) status = put(work, to, own);
    if (status == 0) status = notify_data(work, peer, 1);
  }
  if (status || work->block) return status;
  status = wait_data_of_all(work, 1);
  return status == 0 ? take_counts(&routes) : status;
}

/* ---- rows that go and come ---- */

/* The rows of `source` for the experts of `owner`: the first of them in the order of the source's rows, and of those
 * that come to the owner. */
struct parcel {
  uint64_t source, owner, sent_at, came_at, count;
};

static uint64_t count_between(const struct routes *routes, uint64_t source, uint64_t first_owner, uint64_t end_owner) {
  uint64_t count = 0;
  for (uint64_t e = first_owner * routes->local; e < end_owner * routes->local; e++)
    count += count_of(routes, source, e);
  return count;
}

static struct parcel parcel_of(const struct routes *routes, uint64_t source, uint64_t owner) {
  struct parcel parcel = {source, owner, count_between(routes, source, 0, owner), 0,
                          count_between(routes, source, owner, owner + 1)};
  for (uint64_t s = 0; s < source; s++) parcel.came_at += count_between(routes, s, owner, owner + 1);
  return parcel;
}

/* One of the two ways, on this rank. */
struct way {
  const struct routes *routes;
  uint64_t row_elems, capacity;
  uint64_t come_count; /* rows that come to this rank, its own with them */
  bool is_back;
};

static struct piece rows_at(const struct way *way, char *begin, uint64_t first, uint64_t count) {
  return sub_piece(way->routes->work, (struct piece){begin, 0}, first * way->row_elems,
                   (first + count) * way->row_elems);
}

/* Row 0 of what comes to a rank. */
static int come_to(const struct way *way, uint64_t peer, char **begin) {
  struct piece slot = {0};
  const int status = slot_of(way->routes->work, peer, 0, 0, &slot);
  *begin = slot.addr;
  return status;
}

static void copy_rows(const struct way *way, char *to, uint64_t to_row, const char *from, uint64_t from_row,
                      uint64_t count) {
  const uint64_t bytes = bytes_of(way->routes->work, way->row_elems);
  memcpy(to + to_row * bytes, from + from_row * bytes, count * bytes);
}

/* Of each expert of the parcel its rows, between where experts have theirs and where they stand side by side. */
static void copy_by_experts(const struct way *way, const struct parcel *parcel, char *experts_rows, char *packed,
                            bool is_packing) {
  const uint64_t local = way->routes->local;
  for (uint64_t i = 0, at = 0; i < local; i++) {
    const uint64_t e = parcel->owner * local + i, count = count_of(way->routes, parcel->source, e);
    const uint64_t row = i * way->capacity + count_before(way->routes, parcel->source, e);
    if (is_packing) copy_rows(way, packed, at, experts_rows, row, count);
    if (!is_packing) copy_rows(way, experts_rows, row, packed, at, count);
    at += count;
  }
}

/* `packed` = the rows of the parcel, side by side. */
static int pack(const struct way *way, const struct parcel *parcel, char *packed) {
  const struct routes *routes = way->routes;
  const struct work *work = routes->work;
  const bool computes = pto_core_computes(work->args);
  const uint64_t bytes = bytes_of(work, parcel->count * way->row_elems);
  if (computes && way->is_back) copy_by_experts(way, parcel, work->in.addr, packed, true);
  for (uint64_t i = 0; computes && !way->is_back && i < routes->rows; i++) {
    const uint64_t row = (uint64_t)routes->order[i] - parcel->sent_at;
    if (row < parcel->count) copy_rows(way, packed, row, work->in.addr, i / routes->topk, 1);
  }
  return bytes ? pto_core_work(work->args, &(struct pto_cost){.bytes_in = bytes, .bytes_out = bytes}) : 0;
}

/* To a peer by its window; the own rows stand at once where they would come to. */
static int send(const struct way *way, uint64_t peer) {
  const struct work *work = way->routes->work;
  const struct parcel parcel =
      way->is_back ? parcel_of(way->routes, peer, work->place) : parcel_of(way->routes, work->place, peer);
  const uint64_t here = way->is_back ? parcel.came_at : parcel.sent_at;
  const uint64_t there = way->is_back ? parcel.sent_at : parcel.came_at;
  char *own, *target;
  int status = come_to(way, work->place, &own);
  if (status == 0) status = come_to(way, peer, &target);
  if (status) return status;
  char *const outgoing = own + pto_align_up(bytes_of(work, way->come_count * way->row_elems), PTO_SLOT_ALIGN);
  const struct piece to = rows_at(way, target, there, parcel.count);
  const struct piece from = rows_at(way, outgoing, here, parcel.count);
  if (peer == work->place) return pack(way, &parcel, to.addr);
  status = pack(way, &parcel, from.addr);
  if (status == 0) status = wait_free(work, peer);
  if (status == 0 && parcel.count) status = put(work, to, from);
  return status == 0 ? notify_data(work, peer, 1) : status;
}

static int send_all(const struct way *way) {
  const struct work *work = way->routes->work;
  int status = 0;
  PTO_FOR_EACH_PEER(peer, work) {
    if (status == 0) status = send(way, peer);
  }
  return status == 0 && work->block == 0 ? send(way, work->place) : status;
}

/* ---- dispatch_data ---- */

/* From the window to the experts' rows. */
static int take_rows(const struct way *way, uint64_t source) {
  const struct work *work = way->routes->work;
  const struct parcel parcel = parcel_of(way->routes, source, work->place);
  const uint64_t bytes = bytes_of(work, parcel.count * way->row_elems);
  char *begin;
  const int status = come_to(way, work->place, &begin);
  if (status || bytes == 0) return status;
  if (pto_core_computes(work->args))
    copy_by_experts(way, &parcel, work->out.addr, rows_at(way, begin, parcel.came_at, 0).addr, false);
  return pto_core_work(work->args, &(struct pto_cost){.bytes_in = bytes, .bytes_out = bytes});
}

static int dispatch_data(const struct work *work) {
  const struct pto_kernel_tensor *tensors = work->args->tensors;
  const struct routes routes = routes_of(work, &tensors[2], &tensors[3]);
  const struct parcel last = parcel_of(&routes, work->size - 1, work->place);
  const struct way way = {.routes = &routes,
                          .row_elems = tensors[0].shape[1],
                          .capacity = tensors[1].shape[1],
                          .come_count = last.came_at + last.count};
  int status = send_all(&way);
  PTO_FOR_EACH_PEER(peer, work) {
    if (status == 0) status = wait_data(work, peer, 1);
    if (status == 0) status = take_rows(&way, peer);
  }
  return status == 0 && work->block == 0 ? take_rows(&way, work->place) : status;
}

/* ---- combine ---- */

#define CHUNK 256u

static float load(const char *row, uint32_t dtype, uint64_t i) {
  if (dtype == PTO_FLOAT32) return ((const float *)(const void *)row)[i];
  const uint16_t bits = ((const uint16_t *)(const void *)row)[i];
  return dtype == PTO_FLOAT16 ? pto_fp16_to_f32(bits) : pto_bf16_to_f32(bits);
}

static void store(char *row, uint32_t dtype, uint64_t i, float value) {
  if (dtype == PTO_FLOAT32)
    ((float *)(void *)row)[i] = value;
  else
    ((uint16_t *)(void *)row)[i] = dtype == PTO_FLOAT16 ? pto_fp16_from_f32(value) : pto_bf16_from_f32(value);
}

/* out[t] = Σ weights[t, k] · the row that has come back for it, in the order of k. */
static void sum_token(const struct way *way, uint64_t token, char *come) {
  const struct routes *routes = way->routes;
  const struct work *work = routes->work;
  const struct pto_kernel_tensor *out = &work->args->tensors[1];
  const float *weights = (const float *)work->args->tensors[2].addr + token * routes->topk;
  const int32_t *order = routes->order + token * routes->topk;
  char *sums = (char *)out->addr + token * way->row_elems * pto_dtype_size(out->dtype);
  for (uint64_t begin = 0; begin < way->row_elems; begin += CHUNK) {
    const uint64_t count = pto_min_u64(CHUNK, way->row_elems - begin);
    float sum[CHUNK];
    for (uint64_t k = 0; k < routes->topk; k++) {
      const char *row = rows_at(way, come, (uint64_t)order[k], 1).addr;
      for (uint64_t i = 0; i < count; i++) {
        const float term = weights[k] * load(row, work->dtype, begin + i);
        sum[i] = k ? sum[i] + term : term;
      }
    }
    for (uint64_t i = 0; i < count; i++) store(sums, out->dtype, begin + i, sum[i]);
  }
}

/* The block's share of the tokens. */
static int sum_tokens(const struct way *way) {
  const struct work *work = way->routes->work;
  const struct pto_kernel_tensor *out = &work->args->tensors[1];
  const uint64_t first = out->shape[0] * work->block / work->blocks;
  const uint64_t end = out->shape[0] * (work->block + 1) / work->blocks;
  const uint64_t elems = (end - first) * way->routes->topk * way->row_elems;
  char *come;
  const int status = come_to(way, work->place, &come);
  if (status || first == end) return status;
  for (uint64_t token = first; token < end && pto_core_computes(work->args); token++) sum_token(way, token, come);
  return pto_core_work(work->args,
                       &(struct pto_cost){.bytes_in = bytes_of(work, elems),
                                          .bytes_out = (end - first) * way->row_elems * pto_dtype_size(out->dtype),
                                          .vector_elems = 2 * elems});
}

static int combine(const struct work *work) {
  const struct pto_kernel_tensor *tensors = work->args->tensors;
  const struct routes routes = routes_of(work, &tensors[3], &tensors[4]);
  const struct way way = {.routes = &routes,
                          .row_elems = tensors[0].shape[2],
                          .capacity = tensors[0].shape[1],
                          .come_count = routes.rows,
                          .is_back = true};
  int status = send_all(&way);
  if (status == 0) status = barrier_of_blocks(work); /* the own rows are there */
  if (status == 0) status = wait_data_of_all(work, 1);
  return status == 0 ? sum_tokens(&way) : status;
}

/* ---- the kernels ---- */

static int run(const struct pto_kernel_args *args, int (*part)(const struct work *work)) {
  const struct work work = begin_work(args);
  const int status = part(&work);
  return status == 0 ? end_work(&work) : status;
}

static int run_dispatch_meta(const struct pto_kernel_args *args) { return run(args, dispatch_meta); }
static int run_dispatch_data(const struct pto_kernel_args *args) { return run(args, dispatch_data); }
static int run_combine(const struct pto_kernel_args *args) { return run(args, combine); }

static int check(const struct pto_kernel_args *args) {
  for (uint32_t i = 0; i < args->tensor_count; i++)
    if (!is_dense(&args->tensors[i])) return pto_kernel_error(args, "param %" PRIu32 " is not dense", i);
  return 0;
}

#define TENSOR(name_, mode_, dtypes_, rank_)                                                                           \
  { .name = name_, .mode = mode_, .dtypes = dtypes_, .min_rank = rank_, .max_rank = rank_ }
#define I32 PTO_DTYPE_BIT(PTO_INT32)
#define WINDOW                                                                                                         \
  { .name = "window", .mode = PTO_INOUT }

static const struct pto_kernel_param meta_params[] = {
    TENSOR("topk_idx", PTO_INPUT, I32, 2),
    TENSOR("counts", PTO_OUTPUT, I32, 2),
    TENSOR("order", PTO_OUTPUT, I32, 2),
    TENSOR("recv_count", PTO_OUTPUT, I32, 1),
    WINDOW,
    PTO_COLLECTIVE_SCALAR_PARAMS,
    PTO_COLLECTIVE_SCALAR_PARAM("capacity"),
    PTO_COLLECTIVE_SCALAR_PARAM("row_elems"),
    PTO_COLLECTIVE_SCALAR_PARAM("dtype"),
};
static const struct pto_kernel_param data_params[] = {
    TENSOR("x", PTO_INPUT, PTO_DTYPES_ALL, 2),
    TENSOR("recv_x", PTO_INOUT, PTO_DTYPES_ALL, 3),
    TENSOR("counts", PTO_INPUT, I32, 2),
    TENSOR("order", PTO_INPUT, I32, 2),
    WINDOW,
    PTO_COLLECTIVE_SCALAR_PARAMS,
};
static const struct pto_kernel_param combine_params[] = {
    TENSOR("y", PTO_INPUT, PTO_DTYPES_FLOAT, 3),
    TENSOR("out", PTO_OUTPUT, PTO_DTYPES_FLOAT, 2),
    TENSOR("topk_weights", PTO_INPUT, PTO_DTYPE_BIT(PTO_FLOAT32), 2),
    TENSOR("counts", PTO_INPUT, I32, 2),
    TENSOR("order", PTO_INPUT, I32, 2),
    WINDOW,
    PTO_COLLECTIVE_SCALAR_PARAMS,
};

#define KERNEL(variable, name_, params_, run_)                                                                         \
  const struct pto_kernel variable = {.name = name_,                                                                   \
                                      .cores = PTO_AIV,                                                                \
                                      .flags = PTO_KERNEL_REMOTE,                                                      \
                                      .params = params_,                                                               \
                                      .param_count = PTO_ARRAY_LENGTH(params_),                                        \
                                      .run = run_,                                                                     \
                                      .cost = pto_collective_cost,                                                     \
                                      .check = check}
KERNEL(pto_moe_dispatch_meta_kernel, "moe_dispatch_meta", meta_params, run_dispatch_meta);
KERNEL(pto_moe_dispatch_data_kernel, "moe_dispatch_data", data_params, run_dispatch_data);
KERNEL(pto_moe_combine_kernel, "moe_combine", combine_params, run_combine);
