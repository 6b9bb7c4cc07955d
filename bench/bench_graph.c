/* SPDX-License-Identifier: MIT */
/*
 * One question: what does a graph cost beside its arithmetic?
 *
 * "graph_mobilenet_v2", a line a layout: one dispatch of MobileNetV2 (224 × 224, batch 1, f32) on device tensors with
 * WORKERS workers, lowered before, from the call to the end of sync; and in the same run, in turns with it, oneDNN's
 * convolutions alone of the same 52 shapes, with bias, on as many threads, in whichever layouts its primitives choose:
 * no reorder, no clamp, no add.  `over_onednn` is the ratio of the least times.
 *
 * "graph_lowering": CPU time of the control thread for the first dispatch of a graph of NODES nodes (pto_graph_lower in
 * a run, tasks being submitted as they come); the same graph is lowered anew each time.
 *
 * Without oneDNN (libdnnl-dev) its columns are 0, said once on standard error.
 */
#include <bench/support/bench_clock.h>
#include <bench/support/bench_line.h>
#include <graph/run/lower_graph.h>
#include <graph/models/graph_model.h>
#include <graph/build/op_options.h>
#include <pto/device.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if PTO_HAVE_DNNL
#include <dnnl.h>
#include <omp.h>
#endif

#define RUNS 41
#define WORKERS 2
#define NODES 1000
#define MOST_CONVOLUTIONS 128
#define REST_NS                                                                                                        \
  5000000 /* in which the library's threads fall asleep: they spin for a while after each of its calls                 \
           */

static void check(int status, const char *what, const char *sentence) {
  if (status == 0) return;
  fprintf(stderr, "%s: %s\n", what, sentence);
  exit(1);
}

/* ---- oneDNN ---- */

#if PTO_HAVE_DNNL
struct peer {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_t convolutions[MOST_CONVOLUTIONS];
  dnnl_exec_arg_t args[MOST_CONVOLUTIONS][4];
  uint32_t count;
};

static void check_dnnl(dnnl_status_t status, const char *what) {
  if (status == dnnl_success) return;
  fprintf(stderr, "oneDNN: %s: status %d\n", what, (int)status);
  exit(1);
}

/* Memory of the layout that the primitive wants, filled with small numbers. */
static dnnl_exec_arg_t make_arg(struct peer *peer, const_dnnl_primitive_desc_t desc, dnnl_query_t query, int argument) {
  const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(desc, query, 0);
  dnnl_exec_arg_t arg = {.arg = argument};
  check_dnnl(dnnl_memory_create(&arg.memory, md, peer->engine, DNNL_MEMORY_ALLOCATE), "memory");
  float *data;
  check_dnnl(dnnl_memory_get_data_handle(arg.memory, (void **)&data), "memory");
  struct pto_rng rng = {1};
  for (size_t i = 0; i < dnnl_memory_desc_get_size(md) / sizeof *data; i++) data[i] = (float)pto_rng_unit(&rng) - 0.5f;
  return arg;
}

/* The library declares lists of sizes with all places they may have. */
static dnnl_memory_desc_t any_layout(int ndims, const dnnl_dims_t dims) {
  dnnl_memory_desc_t md;
  check_dnnl(dnnl_memory_desc_init_by_tag(&md, ndims, dims, dnnl_f32, dnnl_format_tag_any), "descriptor");
  return md;
}

static void add_convolution(struct peer *peer, const struct pto_graph *graph, const struct pto_graph_node *node) {
  const struct pto_conv2d_options *o = node->options;
  const bool is_last = o->input_layout == PTO_LAYOUT_NHWC;
  const uint64_t *x = graph->values[node->operands[0]].desc.shape, *y = graph->values[node->first_result].desc.shape;
  const uint64_t *f = graph->values[node->operands[1]].desc.shape;
  const uint32_t c = is_last ? 3 : 1, h = is_last ? 1 : 2, w = h + 1, taps = is_last ? 1 : 2; /* of OHWI, IHWO, OIHW */
  const dnnl_dim_t groups = (dnnl_dim_t)pto_option_u32(o->groups, 1);
  const dnnl_dim_t in = (dnnl_dim_t)x[c], out = (dnnl_dim_t)y[c];
  const dnnl_dim_t kh = (dnnl_dim_t)f[taps], kw = (dnnl_dim_t)f[taps + 1];
  const dnnl_dims_t from = {(dnnl_dim_t)x[0], in, (dnnl_dim_t)x[h], (dnnl_dim_t)x[w]};
  const dnnl_dims_t to = {(dnnl_dim_t)y[0], out, (dnnl_dim_t)y[h], (dnnl_dim_t)y[w]};
  const dnnl_dims_t grouped = {groups, out / groups, in / groups, kh, kw}, whole = {out, in, kh, kw}, biases = {out};
  const dnnl_dims_t strides = {pto_option_at(o->strides, 0, 1), pto_option_at(o->strides, 1, 1)};
  const dnnl_dims_t begin = {pto_option_at(o->padding, 0, 0), pto_option_at(o->padding, 2, 0)};
  const dnnl_dims_t end = {pto_option_at(o->padding, 1, 0), pto_option_at(o->padding, 3, 0)};
  const dnnl_memory_desc_t src = any_layout(4, from), dst = any_layout(4, to), bias = any_layout(1, biases);
  const dnnl_memory_desc_t weights = groups > 1 ? any_layout(5, grouped) : any_layout(4, whole);
  dnnl_convolution_desc_t convolution;
  check_dnnl(dnnl_convolution_forward_desc_init(&convolution, dnnl_forward_inference, dnnl_convolution_direct, &src,
                                                &weights, &bias, &dst, strides, begin, end),
             "convolution");
  dnnl_primitive_desc_t desc;
  check_dnnl(dnnl_primitive_desc_create(&desc, &convolution, NULL, peer->engine, NULL), "convolution");
  check_dnnl(dnnl_primitive_create(&peer->convolutions[peer->count], desc), "convolution");
  dnnl_exec_arg_t *args = peer->args[peer->count++];
  args[0] = make_arg(peer, desc, dnnl_query_src_md, DNNL_ARG_SRC);
  args[1] = make_arg(peer, desc, dnnl_query_weights_md, DNNL_ARG_WEIGHTS);
  args[2] = make_arg(peer, desc, dnnl_query_dst_md, DNNL_ARG_DST);
  const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 1);
  args[3] = (dnnl_exec_arg_t){.arg = DNNL_ARG_BIAS};
  check_dnnl(dnnl_memory_create(&args[3].memory, md, peer->engine, DNNL_MEMORY_ALLOCATE), "memory");
  dnnl_primitive_desc_destroy(desc);
}

static struct peer *peer_create(const struct pto_graph *graph) {
  struct peer *peer = calloc(1, sizeof *peer);
  if (peer == NULL) exit(1);
  omp_set_num_threads(WORKERS);
  check_dnnl(dnnl_engine_create(&peer->engine, dnnl_cpu, 0), "engine");
  check_dnnl(dnnl_stream_create(&peer->stream, peer->engine, dnnl_stream_default_flags), "stream");
  for (uint32_t n = 0; n < graph->node_count && peer->count < MOST_CONVOLUTIONS; n++)
    if (graph->nodes[n].op == PTO_GRAPH_OP_conv2d) add_convolution(peer, graph, &graph->nodes[n]);
  return peer;
}

static double peer_ns(struct peer *peer) {
  const double begin = pto_bench_now_ns();
  for (uint32_t i = 0; i < peer->count; i++)
    check_dnnl(dnnl_primitive_execute(peer->convolutions[i], peer->stream, 4, peer->args[i]), "execute");
  check_dnnl(dnnl_stream_wait(peer->stream), "wait");
  const double ns = pto_bench_now_ns() - begin;
  nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
  return ns;
}

static void peer_destroy(struct peer *peer) {
  for (uint32_t i = 0; i < peer->count; i++) {
    dnnl_primitive_destroy(peer->convolutions[i]);
    for (uint32_t a = 0; a < 4; a++) dnnl_memory_destroy(peer->args[i][a].memory);
  }
  dnnl_stream_destroy(peer->stream);
  dnnl_engine_destroy(peer->engine);
  free(peer);
}
static uint32_t peer_count(const struct peer *peer) { return peer->count; }
#else
struct peer;
static struct peer *peer_create(const struct pto_graph *graph) {
  (void)graph;
  fprintf(stderr, "without oneDNN (libdnnl-dev): its columns are 0\n");
  return NULL;
}
static double peer_ns(struct peer *peer) { return (void)peer, 0; }
static void peer_destroy(struct peer *peer) { (void)peer; }
static uint32_t peer_count(const struct peer *peer) { return (void)peer, 0; }
#endif

/* ---- MobileNetV2 ---- */

/* A tensor of the operand's type, of numbers below 1. */
static struct pto_device_tensor make_tensor(struct pto_context *context, const struct pto_operand *operand) {
  struct pto_device_tensor_desc desc = {
      .dtype = operand->dtype, .ndims = operand->ndims, .flags = PTO_TENSOR_READABLE | PTO_TENSOR_WRITABLE};
  memcpy(desc.shape, operand->shape, sizeof desc.shape);
  struct pto_device_tensor tensor;
  check(pto_device_tensor_create(context, &desc, &tensor), "tensor", pto_context_error(context));
  const uint64_t size = pto_device_tensor_size(context, tensor);
  float *data = malloc(size);
  if (data == NULL) exit(1);
  struct pto_rng rng = {1};
  for (uint64_t i = 0; i < size / sizeof *data; i++) data[i] = (float)pto_rng_unit(&rng) - 0.5f;
  check(pto_device_tensor_write(context, tensor, data, size), "write", pto_context_error(context));
  free(data);
  return tensor;
}

static double dispatch_ns(struct pto_graph *graph, struct pto_context *context,
                          const struct pto_dispatch_bindings *bindings) {
  const double begin = pto_bench_now_ns();
  check(pto_graph_dispatch(graph, context, bindings), "dispatch", pto_context_error(context));
  check(pto_context_sync(context), "sync", pto_context_error(context));
  return pto_bench_now_ns() - begin;
}

static void bench_mobilenet(bool is_channels_last) {
  struct pto_graph *graph;
  struct pto_error error = {0};
  const char *settings[] = {is_channels_last ? "channels_last=1" : "channels_last=0"};
  check(pto_graph_model_create(pto_graph_model_find("mobilenet_v2"), settings, 1, 1, &graph, &error), "mobilenet_v2",
        "cannot be built");
  const struct pto_context_options options = {
      .size = sizeof options, .runtime = {.size = sizeof options.runtime, .engine = "threads", .workers = WORKERS}};
  struct pto_context *context;
  char sentence[256] = "";
  check(pto_context_create(&options, &context, sentence, sizeof sentence), "context", sentence);
  const struct pto_binding input = {"image", make_tensor(context, &graph->input_operands[0])};
  const struct pto_binding output = {"probabilities", make_tensor(context, &graph->output_operands[0])};
  const struct pto_dispatch_bindings bindings = {
      .inputs = &input, .outputs = &output, .input_count = 1, .output_count = 1};
  struct peer *peer = peer_create(graph);
  static struct pto_samples ours, theirs;
  memset(&ours, 0, sizeof ours);
  memset(&theirs, 0, sizeof theirs);
  const double first_ns = dispatch_ns(graph, context, &bindings);
  struct pto_context_counters before = {.size = sizeof before}, after = before;
  pto_context_counters(context, &before);
  for (uint32_t run = 0; run < pto_bench_repeats(RUNS); run++) {
    pto_samples_add(&ours, dispatch_ns(graph, context, &bindings));
    if (peer_count(peer) > 0) pto_samples_add(&theirs, peer_ns(peer));
  }
  pto_context_counters(context, &after);
  const struct pto_samples_figures figures = pto_samples_figures(&ours), peers = pto_samples_figures(&theirs);
  const double dispatches = (double)(after.dispatches - before.dispatches);
  struct pto_bench_line *line = pto_bench_line_begin("graph_mobilenet_v2", PTO_BENCH_SYSTEM);
  pto_bench_line_text(line, "layout", is_channels_last ? "NHWC" : "NCHW");
  pto_bench_line_text(line, "unit", "ns");
  pto_bench_line_count(line, "workers", WORKERS);
  pto_bench_line_count(line, "convolutions", peer_count(peer));
  pto_bench_line_real(line, "onednn_median_ns", peers.median);
  pto_bench_line_real(line, "onednn_min_ns", peers.min);
  pto_bench_line_real(line, "over_onednn", peers.min > 0 ? figures.min / peers.min : 0);
  pto_bench_line_real(line, "first_ns", first_ns);
  pto_bench_line_real(line, "tasks", (double)(after.tasks - before.tasks) / dispatches);
  pto_bench_line_real(line, "edges", (double)(after.edges - before.edges) / dispatches);
  pto_bench_line_real(line, "cache_hits",
                      (double)(after.lowering_cache_hits - before.lowering_cache_hits) / dispatches);
  pto_bench_line_real(line, "cache_misses", (double)(after.lowering_cache_misses - before.lowering_cache_misses));
  pto_bench_line_real(line, "load", pto_bench_load());
  pto_bench_line_print(line, &ours);
  peer_destroy(peer);
  pto_graph_destroy(graph);
  pto_context_destroy(context);
}

/* ---- lowering ---- */

/* Layers of six nodes, as transformers have them, on [64, 64]. */
static struct pto_graph *make_long_graph(void) {
  static float weights[64 * 64];
  const struct pto_graph_desc desc = {PTO_FLOAT32, 2, {64, 64}};
  struct pto_graph_builder *builder;
  struct pto_graph *graph;
  check(pto_graph_builder_create(NULL, &builder), "builder", "cannot be made");
  struct pto_graph_operand x = pto_graph_builder_input(builder, "x", &desc), before = x;
  const struct pto_graph_operand w = pto_graph_builder_constant(builder, &desc, weights, sizeof weights);
  const struct pto_softmax_options softmax = {.axis = 1};
  for (uint32_t n = 0; n < NODES; n++) switch (n % 6) {
    case 0:
      before = x;
      x = pto_graph_builder_matmul(builder, x, w, NULL);
      break;
    case 1:
      x = pto_graph_builder_transpose(builder, x, NULL);
      break;
    case 2:
      x = pto_graph_builder_softmax(builder, x, &softmax);
      break;
    case 3:
      x = pto_graph_builder_gelu(builder, x, NULL);
      break;
    case 4:
      x = pto_graph_builder_mul(builder, x, w, NULL);
      break;
    default:
      x = pto_graph_builder_add(builder, x, before, NULL);
    }
  const struct pto_graph_output output = {"y", x};
  check(pto_graph_builder_build(builder, &output, 1, &graph), "build", pto_graph_builder_error(builder));
  pto_graph_builder_destroy(builder);
  return graph;
}

struct lowering {
  const struct pto_graph *graph;
  float *input, *output;
  double ns; /* CPU time of the control thread */
};

static int lower(struct pto_runtime *rt, void *context) {
  struct lowering *lowering = context;
  const uint64_t shape[] = {64, 64};
  struct pto_tensor constants[1];
  const struct pto_tensor input = pto_external_tensor(rt, lowering->input, PTO_FLOAT32, 2, shape);
  const struct pto_tensor output = pto_external_tensor(rt, lowering->output, PTO_FLOAT32, 2, shape);
  constants[0] = input;
  const double begin = pto_bench_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  const int status = pto_graph_lower(lowering->graph, rt, &input, &output, constants);
  lowering->ns = pto_bench_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
  return status;
}

static void bench_lowering(void) {
  struct pto_graph *graph = make_long_graph();
  struct lowering lowering = {graph, calloc(64 * 64, sizeof(float)), calloc(64 * 64, sizeof(float)), 0};
  const struct pto_config config = {.size = sizeof config, .engine = "threads", .chip = "a2a3", .workers = WORKERS};
  struct pto_runtime *rt;
  static struct pto_samples samples;
  check(pto_runtime_create(&config, &rt), "runtime", "cannot be made");
  for (uint32_t run = 0; run < pto_bench_repeats(RUNS); run++) {
    check(pto_run(rt, lower, &lowering), "lowering", pto_last_error(rt));
    pto_samples_add(&samples, lowering.ns);
  }
  struct pto_stats stats = {.size = sizeof stats};
  pto_runtime_stats(rt, &stats);
  struct pto_bench_line *line = pto_bench_line_begin("graph_lowering", PTO_BENCH_SYSTEM);
  pto_bench_line_text(line, "unit", "ns");
  pto_bench_line_count(line, "nodes", NODES);
  pto_bench_line_real(line, "tasks", (double)stats.tasks);
  pto_bench_line_real(line, "min_ns_a_node", pto_samples_figures(&samples).min / NODES);
  pto_bench_line_real(line, "load", pto_bench_load());
  pto_bench_line_print(line, &samples);
  pto_runtime_destroy(rt);
  pto_graph_destroy(graph);
  free(lowering.input);
  free(lowering.output);
}

int main(void) {
  bench_mobilenet(true);
  bench_mobilenet(false);
  bench_lowering();
  return 0;
}
