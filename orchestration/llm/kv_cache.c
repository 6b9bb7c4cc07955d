/* SPDX-License-Identifier: MIT */
/*
 * A decoder's attention over a window of keys and values that stays on the device, or does not.
 *
 * A step brings one new key and value row a head; they are shifted into the window (the oldest row leaves), a query is
 * made of them on the device, and attends over the window:
 *
 *   cache'[h] = cache[h][1:] ++ new[h]      q[h] = k_new[h] + v_new[h]      out[h] = softmax(q[h] · K'[h]ᵀ / √width) ·
 * V'[h]
 *
 * mode=host       the cache goes to the host and back in every step, as code without device tensors does it
 * mode=pingpong   two pairs of device tensors: a step reads one and writes the other, and the next step swaps them
 * mode=inplace    one pair: the step consumes the cache and writes it back to the same tensors
 *
 * 4 tasks a head and step.  All three give the same bytes.  With check=true a further pass, in a context of its own
 * that is not counted, holds the output and the whole cache of each step against a computation in double precision.
 */
#include <orchestration/support/program.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

struct sizes {
  uint64_t steps, heads, window, width;
};

/* ---- kernels: one head each ---- */

/* next = cache[1:] ++ row.  In place safe: rows move towards the begin, first ones first. */
static int shift_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *cache = &a->tensors[0], *row = &a->tensors[1];
  float *next = a->tensors[2].addr;
  const uint64_t rows = cache->shape[0], width = cache->shape[1];
  memmove(next, (const float *)cache->addr + width, (rows - 1) * width * sizeof(float));
  memcpy(next + (rows - 1) * width, row->addr, width * sizeof(float));
  return 0;
}

static int query_run(const struct pto_kernel_args *a) {
  const float *k = a->tensors[0].addr, *v = a->tensors[1].addr;
  float *q = a->tensors[2].addr;
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++) q[i] = k[i] + v[i];
  return 0;
}

/* Softmax with the running maximum and sum of Milakov and Gimelshein ("Online normalizer calculation for softmax",
 * 2018): one pass over keys and values. */
static int attend_run(const struct pto_kernel_args *a) {
  const float *q = a->tensors[0].addr, *keys = a->tensors[1].addr, *values = a->tensors[2].addr;
  float *out = a->tensors[3].addr;
  const uint64_t rows = a->tensors[1].shape[0], width = a->tensors[1].shape[1];
  const float scale = 1.0f / sqrtf((float)width);
  float most = -INFINITY, sum = 0;
  memset(out, 0, width * sizeof *out);
  for (uint64_t r = 0; r < rows; r++) {
    float score = 0;
    for (uint64_t i = 0; i < width; i++) score += q[i] * keys[r * width + i];
    score *= scale;
    const float now = score > most ? score : most;
    const float fade = expf(most - now), weight = expf(score - now);
    most = now;
    sum = sum * fade + weight;
    for (uint64_t i = 0; i < width; i++) out[i] = out[i] * fade + weight * values[r * width + i];
  }
  for (uint64_t i = 0; i < width; i++) out[i] /= sum;
  return 0;
}

static const struct pto_kernel_param shift_params[] = {
    TENSOR("cache", PTO_INPUT, F32, 2), TENSOR("row", PTO_INPUT, F32, 1), TENSOR("next", PTO_OUTPUT, F32, 2)};
static const struct pto_kernel_param query_params[] = {TENSOR("k", PTO_INPUT, F32, 1), TENSOR("v", PTO_INPUT, F32, 1),
                                                       TENSOR("q", PTO_OUTPUT, F32, 1)};
static const struct pto_kernel_param attend_params[] = {
    TENSOR("q", PTO_INPUT, F32, 1), TENSOR("keys", PTO_INPUT, F32, 2), TENSOR("values", PTO_INPUT, F32, 2),
    TENSOR("out", PTO_OUTPUT, F32, 1)};

static struct pto_cost cost(uint64_t in, uint64_t out, uint64_t elems) {
  return (struct pto_cost){.bytes_in = in, .bytes_out = out, .vector_elems = elems};
}
static struct pto_cost shift_cost(const struct pto_kernel_args *a) {
  const uint64_t bytes = a->tensors[0].shape[0] * a->tensors[0].shape[1] * sizeof(float);
  return cost(bytes, bytes, 0);
}
static struct pto_cost query_cost(const struct pto_kernel_args *a) {
  const uint64_t width = a->tensors[0].shape[0];
  return cost(2 * width * sizeof(float), width * sizeof(float), width);
}
static struct pto_cost attend_cost(const struct pto_kernel_args *a) {
  const uint64_t rows = a->tensors[1].shape[0], width = a->tensors[1].shape[1];
  return cost((2 * rows + 1) * width * sizeof(float), width * sizeof(float), rows * (5 * width + 4));
}

KERNEL(shift, shift_params, .name = "kv_shift", .cores = PTO_AIV, .flags = PTO_KERNEL_IN_PLACE, .run = shift_run,
       .cost = shift_cost);
KERNEL(query, query_params, .name = "kv_query", .cores = PTO_AIV, .run = query_run, .cost = query_cost);
KERNEL(attend, attend_params, .name = "kv_attend", .cores = PTO_AIV, .run = attend_run, .cost = attend_cost);

/* ---- a step, as it is dispatched ---- */

enum { K_NEW, V_NEW, K, V, INPUTS };
enum { K_NEXT, V_NEXT, OUT, OUTPUTS };

static int submit_head(struct pto_runtime *rt, const struct pto_bound *bound, uint64_t h) {
  struct pto_tensor in[INPUTS], out[OUTPUTS];
  for (int i = 0; i < INPUTS; i++) in[i] = part_of(&bound->inputs[i], h);
  for (int i = 0; i < OUTPUTS; i++) out[i] = part_of(&bound->outputs[i], h);
  const struct pto_tensor q = temporary_vector(rt, PTO_FLOAT32, in[K_NEW].shape[0]);
  int s = pto_submit_aiv(rt, &query, PARAMS(pto_input(&in[K_NEW]), pto_input(&in[V_NEW]), pto_output(&q)));
  if (!s) s = pto_submit_aiv(rt, &shift, PARAMS(pto_input(&in[K]), pto_input(&in[K_NEW]), pto_output(&out[K_NEXT])));
  if (!s) s = pto_submit_aiv(rt, &shift, PARAMS(pto_input(&in[V]), pto_input(&in[V_NEW]), pto_output(&out[V_NEXT])));
  if (s) return s;
  return pto_submit_aiv(rt, &attend,
                        PARAMS(pto_input(&q), pto_input(&out[K_NEXT]), pto_input(&out[V_NEXT]), pto_output(&out[OUT])));
}

static int submit_step(struct pto_runtime *rt, const struct pto_bound *bound) {
  int status = PTO_OK;
  for (uint64_t h = 0; h < bound->outputs[OUT].shape[0] && status == PTO_OK; h++) status = submit_head(rt, bound, h);
  return status;
}

/* ---- inputs and the model in double precision ---- */

static struct sizes sizes_of(struct pto_program_run *run) {
  return (struct sizes){(uint64_t)pto_option_int(run, "steps"), (uint64_t)pto_option_int(run, "heads"),
                        (uint64_t)pto_option_int(run, "window"), (uint64_t)pto_option_int(run, "width")};
}

static int prepare(struct pto_program_run *run) {
  static const char *const names[] = {"steps", "heads", "window", "width"};
  for (int i = 0; i < 4; i++) {
    const int64_t value = pto_option_int(run, names[i]);
    if (value < 1 || value > 65536)
      return pto_program_fail(run, "%s is %lld, not 1 to 65536", names[i], (long long)value);
  }
  const char *mode = pto_option_text(run, "mode");
  if (strcmp(mode, "host") && strcmp(mode, "pingpong") && strcmp(mode, "inplace"))
    return pto_program_fail(run, "mode is \"%s\", none of host, pingpong, inplace", mode);
  const struct sizes s = sizes_of(run);
  const uint64_t rows[] = {s.steps, s.heads, s.width};
  pto_array_fill_uniform(run, pto_program_array(run, "k", PTO_ARRAY_INPUT, PTO_FLOAT32, 3, rows), -1, 1);
  pto_array_fill_uniform(run, pto_program_array(run, "v", PTO_ARRAY_INPUT, PTO_FLOAT32, 3, rows), -1, 1);
  pto_program_array(run, "out", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 3, rows);
  return PTO_OK;
}

/* Row `row` of the window of head `h` after step `t`: new rows of earlier steps, before them zeros. */
static const float *window_row(const struct pto_array *a, const struct sizes *s, uint64_t t, uint64_t h, uint64_t row) {
  static const float zeros[65536];
  const uint64_t age = s->window - 1 - row;
  return age > t ? zeros : (const float *)a->data + ((t - age) * s->heads + h) * s->width;
}

/* Output of head `h` at step `t`; `scores` has room for a window. */
static void attend_exactly(const struct pto_array *k, const struct pto_array *v, const struct sizes *s, uint64_t t,
                           uint64_t h, double *scores, double *out) {
  const float *k_new = window_row(k, s, t, h, s->window - 1), *v_new = window_row(v, s, t, h, s->window - 1);
  double most = -INFINITY, sum = 0;
  for (uint64_t r = 0; r < s->window; r++) {
    const float *key = window_row(k, s, t, h, r);
    scores[r] = 0;
    for (uint64_t i = 0; i < s->width; i++) scores[r] += ((double)k_new[i] + (double)v_new[i]) * (double)key[i];
    scores[r] /= sqrt((double)s->width);
    if (scores[r] > most) most = scores[r];
  }
  for (uint64_t i = 0; i < s->width; i++) out[i] = 0;
  for (uint64_t r = 0; r < s->window; r++) {
    const double weight = exp(scores[r] - most);
    sum += weight;
    for (uint64_t i = 0; i < s->width; i++) out[i] += weight * (double)window_row(v, s, t, h, r)[i];
  }
  for (uint64_t i = 0; i < s->width; i++) out[i] /= sum;
}

static int expect(struct pto_program_run *run) {
  const struct sizes s = sizes_of(run);
  const struct pto_array *k = pto_program_find(run, "k"), *v = pto_program_find(run, "v");
  double *golden = golden_of(run, "out");
  double *scores = pto_program_alloc(run, s.window * sizeof *scores);
  if (!golden || !scores) return PTO_ENOMEM;
  for (uint64_t t = 0; t < s.steps; t++)
    for (uint64_t h = 0; h < s.heads; h++) attend_exactly(k, v, &s, t, h, scores, golden + (t * s.heads + h) * s.width);
  return PTO_OK;
}

/* ---- the passes ---- */

struct pass {
  struct pto_program_run *run;
  struct sizes sizes;
  struct pto_context *context;
  const char *mode;
  bool is_checked; /* reads the cache after each step, and compares */
  struct pto_operand inputs[INPUTS], outputs[OUTPUTS];
  struct pto_device_program step;
  struct pto_device_tensor rows[2], caches[2][2], out; /* caches[which][k or v] */
  uint64_t row_bytes, cache_bytes;
  char *host_cache[2]; /* mode host, and checks */
};

/* A call on the context has failed. */
static int fail(struct pass *pass, int status, const char *what) {
  return pto_program_fail_as(pass->run, status, "%s: %s", what, pto_context_error(pass->context));
}

static int create_tensors(struct pass *pass) {
  const struct sizes *s = &pass->sizes;
  const bool is_host = strcmp(pass->mode, "host") == 0;
  struct pto_device_tensor_desc row = {.dtype = PTO_FLOAT32, .ndims = 2, .shape = {s->heads, s->width}};
  struct pto_device_tensor_desc cache = {.dtype = PTO_FLOAT32, .ndims = 3, .shape = {s->heads, s->window, s->width}};
  int status = PTO_OK;
  if (is_host) cache.flags = PTO_TENSOR_READABLE | PTO_TENSOR_WRITABLE;
  if (pass->is_checked) cache.flags |= PTO_TENSOR_READABLE;
  row.flags = PTO_TENSOR_WRITABLE;
  for (int i = 0; i < 2 && status == PTO_OK; i++)
    status = pto_device_tensor_create(pass->context, &row, &pass->rows[i]);
  row.flags = PTO_TENSOR_READABLE;
  if (status == PTO_OK) status = pto_device_tensor_create(pass->context, &row, &pass->out);
  const int pairs = strcmp(pass->mode, "inplace") == 0 ? 1 : 2;
  for (int i = 0; i < 2 * pairs && status == PTO_OK; i++)
    status = pto_device_tensor_create(pass->context, &cache, &pass->caches[i / 2][i % 2]);
  if (pairs == 1) memcpy(pass->caches[1], pass->caches[0], sizeof pass->caches[0]);
  return status ? fail(pass, status, "tensors") : PTO_OK;
}

static void describe_step(struct pass *pass) {
  static const char *const in[INPUTS] = {"k_new", "v_new", "k", "v"};
  static const char *const out[OUTPUTS] = {"k_next", "v_next", "out"};
  const struct sizes *s = &pass->sizes;
  const struct pto_operand row = {.dtype = PTO_FLOAT32, .ndims = 2, .shape = {s->heads, s->width}};
  const struct pto_operand cache = {.dtype = PTO_FLOAT32, .ndims = 3, .shape = {s->heads, s->window, s->width}};
  for (int i = 0; i < INPUTS; i++) {
    pass->inputs[i] = i < K ? row : cache;
    pass->inputs[i].name = in[i];
  }
  for (int i = 0; i < OUTPUTS; i++) {
    pass->outputs[i] = i < OUT ? cache : row;
    pass->outputs[i].name = out[i];
  }
  pass->step = (struct pto_device_program){.name = "kv_cache step",
                                           .inputs = pass->inputs,
                                           .outputs = pass->outputs,
                                           .input_count = INPUTS,
                                           .output_count = OUTPUTS,
                                           .orchestrate = submit_step,
                                           .repeats = 1};
}

/* Caches `from` → `to`, which are the same tensors in place. */
static int dispatch(struct pass *pass, const struct pto_device_tensor from[2], const struct pto_device_tensor to[2]) {
  static const char *const consumed[] = {"k", "v"};
  const struct pto_binding inputs[] = {
      {"k_new", pass->rows[0]}, {"v_new", pass->rows[1]}, {"k", from[0]}, {"v", from[1]}};
  const struct pto_binding outputs[] = {{"k_next", to[0]}, {"v_next", to[1]}, {"out", pass->out}};
  const struct pto_dispatch_bindings bindings = {.inputs = inputs,
                                                 .outputs = outputs,
                                                 .input_count = INPUTS,
                                                 .output_count = OUTPUTS,
                                                 .consumed = consumed,
                                                 .consumed_count = strcmp(pass->mode, "inplace") == 0 ? 2 : 0};
  const int status = pto_context_dispatch(pass->context, &pass->step, &bindings);
  return status ? fail(pass, status, "dispatch") : PTO_OK;
}

/* Both caches between the host and the device. */
static int move_caches(struct pass *pass, const struct pto_device_tensor caches[2], bool is_to_device) {
  for (int i = 0; i < 2; i++) {
    int status = is_to_device
                     ? pto_device_tensor_write(pass->context, caches[i], pass->host_cache[i], pass->cache_bytes)
                     : pto_device_tensor_read(pass->context, caches[i], pass->host_cache[i], pass->cache_bytes);
    if (status) return fail(pass, status, "cache");
  }
  return PTO_OK;
}

static int check_caches(struct pass *pass, const struct pto_device_tensor caches[2], uint64_t t) {
  static const char *const names[] = {"k", "v"};
  const struct sizes *s = &pass->sizes;
  int status = move_caches(pass, caches, false);
  for (int i = 0; i < 2 && status == PTO_OK; i++)
    for (uint64_t r = 0; r < s->heads * s->window; r++) {
      const float *wanted = window_row(pto_program_find(pass->run, names[i]), s, t, r / s->window, r % s->window);
      if (memcmp(pass->host_cache[i] + r * s->width * sizeof(float), wanted, s->width * sizeof(float)) != 0)
        return pto_program_fail(pass->run, "step %llu: row %llu of the cache %s is wrong", (unsigned long long)t,
                                (unsigned long long)r, names[i]);
    }
  return status;
}

/* The outputs of the checking pass have to be those of the counted one, which are verified. */
static int take_output(struct pass *pass, uint64_t t) {
  char *out = (char *)pto_program_find(pass->run, "out")->data + t * pass->row_bytes;
  char *target = pass->is_checked ? pto_program_alloc(pass->run, pass->row_bytes) : out;
  if (!target) return PTO_ENOMEM;
  const int status = pto_device_tensor_read(pass->context, pass->out, target, pass->row_bytes);
  if (status) return fail(pass, status, "out");
  if (pass->is_checked && memcmp(target, out, pass->row_bytes) != 0)
    return pto_program_fail(pass->run, "step %llu gave other bytes the second time", (unsigned long long)t);
  return PTO_OK;
}

static int do_step(struct pass *pass, uint64_t t) {
  static const char *const names[] = {"k", "v"};
  const struct pto_device_tensor *from = pass->caches[t % 2], *to = pass->caches[(t + 1) % 2];
  const bool is_host = strcmp(pass->mode, "host") == 0;
  int status = PTO_OK;
  for (int i = 0; i < 2 && status == PTO_OK; i++) {
    const char *row = (const char *)pto_program_find(pass->run, names[i])->data + t * pass->row_bytes;
    status = pto_device_tensor_write(pass->context, pass->rows[i], row, pass->row_bytes);
    if (status) return fail(pass, status, "row");
  }
  if (is_host) status = move_caches(pass, from, true);
  if (status == PTO_OK) status = dispatch(pass, from, to);
  if (status == PTO_OK && is_host) status = move_caches(pass, to, false);
  if (status == PTO_OK) status = take_output(pass, t);
  return status == PTO_OK && pass->is_checked ? check_caches(pass, to, t) : status;
}

static struct pto_context_counters counters_of(const struct pass *pass) {
  struct pto_context_counters counters = {.size = sizeof counters};
  pto_context_counters(pass->context, &counters);
  return counters;
}

/* The counted pass is over: what it moved, what its steps allocated, and what is live once its tensors are given back.
 */
static void report(struct pass *pass, uint64_t allocations_before) {
  const uint64_t allocations = counters_of(pass).allocations - allocations_before;
  pto_program_report(pass->run, pass->context);
  pto_program_figure(pass->run, "allocations_in_steps", (double)allocations);
  for (int i = 0; i < 2; i++) (void)pto_device_tensor_destroy(pass->context, pass->rows[i]);
  for (int i = 0; i < 4; i++) (void)pto_device_tensor_destroy(pass->context, pass->caches[i / 2][i % 2]);
  (void)pto_device_tensor_destroy(pass->context, pass->out);
  if (pto_context_sync(pass->context) == PTO_OK)
    pto_program_figure(pass->run, "live_bytes", (double)counters_of(pass).live_bytes);
}

static int run_pass(struct pto_program_run *run, bool is_checked) {
  struct pass pass = {
      .run = run, .sizes = sizes_of(run), .mode = pto_option_text(run, "mode"), .is_checked = is_checked};
  struct pto_context_options options = {.size = sizeof options, .runtime = *pto_program_config(run)};
  char sentence[512] = "";
  pass.row_bytes = pass.sizes.heads * pass.sizes.width * sizeof(float);
  pass.cache_bytes = pass.row_bytes * pass.sizes.window;
  for (int i = 0; i < 2; i++)
    if (!(pass.host_cache[i] = pto_program_alloc(run, pass.cache_bytes))) return PTO_ENOMEM;
  int status = pto_context_create(&options, &pass.context, sentence, sizeof sentence);
  if (status) return pto_program_fail_as(run, status, "context: %s", sentence);
  describe_step(&pass);
  status = create_tensors(&pass);
  const uint64_t allocations = counters_of(&pass).allocations;
  for (uint64_t t = 0; t < pass.sizes.steps && status == PTO_OK; t++) status = do_step(&pass, t);
  if (status == PTO_OK && (status = pto_context_sync(pass.context)) != PTO_OK) (void)fail(&pass, status, "sync");
  if (!is_checked) report(&pass, allocations);
  pto_context_destroy(pass.context);
  return status;
}

static int host(struct pto_program_run *run) {
  int status = run_pass(run, false);
  return status == PTO_OK && pto_option_bool(run, "check") ? run_pass(run, true) : status;
}

static const struct pto_option options[] = {
    {"mode", PTO_OPTION_TEXT, "pingpong", "where the cache is: host, pingpong, inplace"},
    {"steps", PTO_OPTION_INT, "256", "steps"},
    {"heads", PTO_OPTION_INT, "4", "heads"},
    {"window", PTO_OPTION_INT, "128", "rows that are attended to"},
    {"width", PTO_OPTION_INT, "16", "elements of a row"},
    {"check", PTO_OPTION_BOOL, "true", "a second pass, not counted, checks the cache after each step"},
    {0}};
static const struct pto_case cases[] = {
    {.name = "host", .settings = "mode=host", .summary = "the cache goes to the host and back", .tasks = 4096},
    {.name = "pingpong", .settings = "mode=pingpong", .summary = "two pairs of device tensors", .tasks = 4096},
    {.name = "inplace", .settings = "mode=inplace", .summary = "one pair", .tasks = 4096},
    {0}};

const struct pto_program pto_program = {.abi = PTO_PROGRAM_ABI,
                                        .name = "kv_cache",
                                        .summary = "attention over a window of keys and values on the device",
                                        .rtol = 1e-5,
                                        .atol = 1e-6,
                                        .options = options,
                                        .cases = cases,
                                        .prepare = prepare,
                                        .host = host,
                                        .expect = expect};
