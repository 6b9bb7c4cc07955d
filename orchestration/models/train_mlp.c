/* SPDX-License-Identifier: MIT */
/*
 * A multilayer perceptron trained on the device: one graph is a step of gradient descent.
 *
 *   forward    zₗ = aₗ·wₗ + bₗ      aₗ₊₁ = relu zₗ, of the last layer softmax
 *   loss       mean of log Σexp z − z·label
 *   backward   dz = (softmax z − label) / batch of the last layer, then from above, where the unit is on:
 *              dwₗ = aₗᵀ·dzₗ      dbₗ = Σ dzₗ      dzₗ₋₁ = dzₗ·wₗᵀ
 *   update     wₗ ← wₗ − rate · dwₗ      bₗ ← bₗ − rate · dbₗ
 *
 * Weights are written to the device once.  Each step consumes them and writes them in place: a tensor is bound as input
 * "w0" and as output "new_w0".  A step moves nothing to the device, and its loss back: 4 bytes.  Weights are read once,
 * after the last step, and for checkpoints.
 *
 * The points are rings around the middle, a class each, in `batches` batches that take turns.  --input w0=FILE.npy and
 * its like begin with other weights; --output trained_w0=FILE.npy keeps them.
 *
 * Golden: the same sums in the same order on one thread (plain_mlp.h), exact.  With check=true the gradients of the
 * first step are read too, in a context of their own that is not counted, and compared with differences of the loss in
 * double precision.
 *
 * Tasks of a step, where tensors are small enough for one tile: 11 layers + 4.
 */
#include <orchestration/models/mlp_differences.h>

#include <stdio.h>

#define MOST_BATCHES 64 /* sets of tensors that a context keeps lowered tasks of */

/* ---- options and arrays ---- */

static int read_sizes(struct pto_program_run *run, struct mlp_sizes *s) {
  return READ_WHOLE_OPTIONS(run, {"steps", 1, 1000000, &s->steps}, {"batches", 1, MOST_BATCHES, &s->batches},
                            {"batch", 1, MOST_SUMMED, &s->batch}, {"classes", 2, MOST_SUMMED, &s->classes},
                            {"width", 1, 4096, &s->width}, {"layers", 1, MLP_LAYERS, &s->layers},
                            {"every", 0, 1000000, NULL});
}

/* "w3" and its like: what the arrays and the graph's operands are called. */
static const char *name_of(struct pto_program_run *run, const char *what, uint64_t layer) {
  return pto_program_text(run, "%s%llu", what, (unsigned long long)layer);
}
static struct pto_array *array_of(struct pto_program_run *run, const char *what, uint64_t layer) {
  char name[32];
  snprintf(name, sizeof name, "%s%llu", what, (unsigned long long)layer);
  return pto_program_find(run, name);
}

/* The point's squared distance from the middle, of 0 to 2, says the class; beyond the circle it is the last. */
static void label_points(const struct mlp_sizes *s, const struct pto_array *points, struct pto_array *labels) {
  for (uint64_t i = 0; i < s->batches * s->batch; i++) {
    const double x = pto_array_get(points, 2 * i), y = pto_array_get(points, 2 * i + 1);
    const uint64_t ring = (uint64_t)((x * x + y * y) * (double)s->classes);
    pto_array_set(labels, i * s->classes + (ring < s->classes ? ring : s->classes - 1), 1);
  }
}

static int declare_layer(struct pto_program_run *run, const struct mlp_sizes *s, uint64_t l) {
  const uint64_t in = mlp_columns(s, l), out = mlp_columns(s, l + 1);
  const double scale = sqrt(6 / (double)in); /* He et al., "Delving Deep into Rectifiers", 2015 */
  int status = DECLARE_ARRAYS(run, INPUT(name_of(run, "w", l), PTO_FLOAT32, -scale, scale, in, out),
                              INPUT(name_of(run, "b", l), PTO_FLOAT32, 0, 0, out),
                              OUTPUT(name_of(run, "trained_w", l), PTO_FLOAT32, in, out),
                              OUTPUT(name_of(run, "trained_b", l), PTO_FLOAT32, out));
  if (status || !pto_option_bool(run, "check")) return status;
  return DECLARE_ARRAYS(run, OUTPUT(name_of(run, "dw", l), PTO_FLOAT32, in, out),
                        OUTPUT(name_of(run, "db", l), PTO_FLOAT32, out));
}

static int prepare(struct pto_program_run *run) {
  struct mlp_sizes s;
  int status = read_sizes(run, &s);
  if (status) return status;
  const double rate = pto_option_float(run, "rate");
  if (!(rate >= 0 && rate <= FLT_MAX)) return pto_program_fail(run, "rate is %g, not a number from 0", rate);
  if (pto_option_int(run, "every") && !pto_option_text(run, "checkpoint")[0])
    return pto_program_fail(run, "every is of checkpoints, and no file is given for them (checkpoint=FILE)");
  status = DECLARE_ARRAYS(run, INPUT("points", PTO_FLOAT32, -1, 1, s.batches, s.batch, MLP_INPUTS),
                          INPUT("labels", PTO_FLOAT32, 0, 0, s.batches, s.batch, s.classes),
                          OUTPUT("losses", PTO_FLOAT32, s.steps));
  for (uint64_t l = 0; l < s.layers && !status; l++) status = declare_layer(run, &s, l);
  if (!status) label_points(&s, pto_program_find(run, "points"), pto_program_find(run, "labels"));
  return status;
}

/* ---- graphs ---- */

struct network {
  struct pto_program_run *run;
  struct mlp_sizes sizes;
  struct pto_graph_builder *builder;
  struct pto_graph_operand points, labels, w[MLP_LAYERS], b[MLP_LAYERS];
  struct pto_graph_operand a[MLP_LAYERS + 1]; /* the last are the logits */
  struct pto_graph_operand loss, dw[MLP_LAYERS], db[MLP_LAYERS];
};

static struct pto_graph_operand matrix_input(struct network *n, const char *name, uint64_t rows, uint64_t columns) {
  const struct pto_graph_desc desc = {PTO_FLOAT32, 2, {rows, columns}};
  return pto_graph_builder_input(n->builder, name, &desc);
}
static struct pto_graph_operand number(struct network *n, float x) {
  return pto_graph_builder_scalar(n->builder, PTO_FLOAT32, pto_number_f64((double)x));
}

static void add_weight_inputs(struct network *n) {
  for (uint64_t l = 0; l < n->sizes.layers; l++) {
    const struct pto_graph_desc bias = {PTO_FLOAT32, 1, {mlp_columns(&n->sizes, l + 1)}};
    n->w[l] = matrix_input(n, name_of(n->run, "w", l), mlp_columns(&n->sizes, l), bias.shape[0]);
    n->b[l] = pto_graph_builder_input(n->builder, name_of(n->run, "b", l), &bias);
  }
}

static void add_forward(struct network *n) {
  n->a[0] = n->points;
  for (uint64_t l = 0; l < n->sizes.layers; l++) {
    const struct pto_gemm_options options = {.c = n->b[l]};
    const struct pto_graph_operand z = pto_graph_builder_gemm(n->builder, n->a[l], n->w[l], &options);
    n->a[l + 1] = l + 1 < n->sizes.layers ? pto_graph_builder_relu(n->builder, z, NULL) : z;
  }
}

static void add_loss(struct network *n) {
  const struct pto_graph_operand z = n->a[n->sizes.layers];
  const struct pto_reduce_options row = {.axes = PTO_U32_LIST(1), .keep_dimensions = PTO_FLAG_YES};
  const struct pto_reduce_options mean = {.axes = PTO_U32_LIST(0)};
  const struct pto_graph_operand all = pto_graph_builder_reduce_log_sum_exp(n->builder, z, &row);
  const struct pto_graph_operand labelled = pto_graph_builder_mul(n->builder, z, n->labels, NULL);
  const struct pto_graph_operand at_label = pto_graph_builder_reduce_sum(n->builder, labelled, &row);
  const struct pto_graph_operand losses = pto_graph_builder_sub(n->builder, all, at_label, NULL);
  n->loss = pto_graph_builder_reduce_mean(n->builder, losses, &mean);
}

static void add_backward(struct network *n) {
  struct pto_graph_builder *builder = n->builder;
  const struct pto_reduce_options over_batch = {.axes = PTO_U32_LIST(0)};
  const struct pto_gemm_options left = {.a_transpose = PTO_FLAG_YES}, right = {.b_transpose = PTO_FLAG_YES};
  const struct pto_graph_operand zero = number(n, 0), share = number(n, 1.0f / (float)n->sizes.batch);
  const struct pto_graph_operand p =
      pto_graph_builder_softmax(builder, n->a[n->sizes.layers], &(struct pto_softmax_options){.axis = 1});
  struct pto_graph_operand dz =
      pto_graph_builder_mul(builder, pto_graph_builder_sub(builder, p, n->labels, NULL), share, NULL);
  for (uint64_t l = n->sizes.layers; l-- > 0;) {
    n->dw[l] = pto_graph_builder_gemm(builder, n->a[l], dz, &left);
    n->db[l] = pto_graph_builder_reduce_sum(builder, dz, &over_batch);
    if (l == 0) break;
    const struct pto_graph_operand da = pto_graph_builder_gemm(builder, dz, n->w[l], &right);
    const struct pto_graph_operand is_on = pto_graph_builder_greater(builder, n->a[l], zero, NULL);
    dz = pto_graph_builder_where(builder, is_on, da, zero, NULL);
  }
}

/* The last that reads a weight, so that it may be written in place. */
static struct pto_graph_operand updated(struct network *n, struct pto_graph_operand x, struct pto_graph_operand dx,
                                        struct pto_graph_operand rate) {
  return pto_graph_builder_sub(n->builder, x, pto_graph_builder_mul(n->builder, dx, rate, NULL), NULL);
}

static int build(struct network *n, const struct pto_graph_output *outputs, uint32_t count,
                 struct pto_graph **graph_out) {
  int status = pto_graph_builder_build(n->builder, outputs, count, graph_out);
  if (status) status = pto_program_fail_as(n->run, status, "graph: %s", pto_graph_builder_error(n->builder));
  pto_graph_builder_destroy(n->builder);
  return status;
}

/* A graph of a whole step: "loss", and "new_w0" … or, where `is_gradient`, "dw0" …. */
static int build_step(struct pto_program_run *run, const struct mlp_sizes *s, bool is_gradient,
                      struct pto_graph **graph_out) {
  struct network n = {.run = run, .sizes = *s};
  struct pto_graph_output outputs[2 * MLP_LAYERS + 1];
  uint32_t count = 0;
  if (pto_graph_builder_create(NULL, &n.builder)) return PTO_ENOMEM;
  n.points = matrix_input(&n, "points", s->batch, MLP_INPUTS);
  n.labels = matrix_input(&n, "labels", s->batch, s->classes);
  add_weight_inputs(&n);
  add_forward(&n);
  add_loss(&n);
  add_backward(&n);
  const struct pto_graph_operand rate = number(&n, (float)pto_option_float(run, "rate"));
  for (uint64_t l = 0; l < s->layers; l++) {
    outputs[count++] = (struct pto_graph_output){name_of(run, is_gradient ? "dw" : "new_w", l),
                                                 is_gradient ? n.dw[l] : updated(&n, n.w[l], n.dw[l], rate)};
    outputs[count++] = (struct pto_graph_output){name_of(run, is_gradient ? "db" : "new_b", l),
                                                 is_gradient ? n.db[l] : updated(&n, n.b[l], n.db[l], rate)};
  }
  outputs[count++] = (struct pto_graph_output){"loss", n.loss};
  return build(&n, outputs, count, graph_out);
}

/* ---- checkpoints ---- */

static struct pto_graph_operand constant(struct network *n, const struct pto_array *array) {
  struct pto_graph_desc desc = {array->dtype, array->ndims, {0}};
  memcpy(desc.shape, array->shape, array->ndims * sizeof *desc.shape);
  return pto_graph_builder_constant(n->builder, &desc, array->data, array->size_bytes);
}

/* The network with the weights of the outputs as constants, as a graph of points to probabilities. */
static int save_checkpoint(struct pto_program_run *run, const struct mlp_sizes *s, const char *path) {
  struct network n = {.run = run, .sizes = *s};
  const struct pto_graph_file_options options = {.size = sizeof options, .weights = PTO_GRAPH_WEIGHTS_SAFETENSORS};
  struct pto_graph *graph;
  char sentence[1024] = "";
  if (pto_graph_builder_create(NULL, &n.builder)) return PTO_ENOMEM;
  n.points = matrix_input(&n, "points", s->batch, MLP_INPUTS);
  for (uint64_t l = 0; l < s->layers; l++) {
    n.w[l] = constant(&n, array_of(run, "trained_w", l));
    n.b[l] = constant(&n, array_of(run, "trained_b", l));
  }
  add_forward(&n);
  const struct pto_graph_output output = {
      "probabilities", pto_graph_builder_softmax(n.builder, n.a[s->layers], &(struct pto_softmax_options){.axis = 1})};
  int status = build(&n, &output, 1, &graph);
  if (status) return status;
  status = pto_graph_save(graph, path, &options, sentence, sizeof sentence);
  if (status) status = pto_program_fail_as(run, status, "checkpoint: %s", sentence);
  pto_graph_destroy(graph);
  return status;
}

/* ---- on the device ---- */

struct training {
  struct pto_program_run *run;
  struct mlp_sizes sizes;
  struct pto_context *context;
  struct pto_graph *step;
  struct pto_device_tensor points[MOST_BATCHES], labels[MOST_BATCHES], loss;
  struct pto_device_tensor w[MLP_LAYERS], b[MLP_LAYERS];
};

/* A call on the context has failed. */
static int fail(struct training *t, int status, const char *what) {
  return pto_program_fail_as(t->run, status, "%s: %s", what, pto_context_error(t->context));
}

/* A tensor for the whole of an array, or for part `index` of its outermost dimension, of which it gets the data. */
static int create_tensor(struct training *t, const struct pto_array *array, const uint64_t *index, uint32_t flags,
                         struct pto_device_tensor *tensor_out) {
  const uint32_t first = index != NULL;
  const uint64_t bytes = first ? array->size_bytes / array->shape[0] : array->size_bytes;
  struct pto_device_tensor_desc desc = {.dtype = array->dtype, .ndims = array->ndims - first, .flags = flags};
  memcpy(desc.shape, array->shape + first, desc.ndims * sizeof *desc.shape);
  int status = pto_device_tensor_create(t->context, &desc, tensor_out);
  if (!status && (flags & PTO_TENSOR_WRITABLE))
    status = pto_device_tensor_write(t->context, *tensor_out, (const char *)array->data + (first ? *index * bytes : 0),
                                     bytes);
  return status ? fail(t, status, array->name) : PTO_OK;
}

static int create_tensors(struct training *t) {
  const struct pto_array *points = pto_program_find(t->run, "points"), *labels = pto_program_find(t->run, "labels");
  const struct pto_device_tensor_desc loss = {
      .dtype = PTO_FLOAT32, .ndims = 1, .shape = {1}, .flags = PTO_TENSOR_READABLE};
  int status = pto_device_tensor_create(t->context, &loss, &t->loss);
  if (status) return fail(t, status, "loss");
  for (uint64_t i = 0; i < t->sizes.batches && !status; i++) {
    status = create_tensor(t, points, &i, PTO_TENSOR_WRITABLE, &t->points[i]);
    if (!status) status = create_tensor(t, labels, &i, PTO_TENSOR_WRITABLE, &t->labels[i]);
  }
  for (uint64_t l = 0; l < t->sizes.layers && !status; l++) {
    const uint32_t both = PTO_TENSOR_WRITABLE | PTO_TENSOR_READABLE;
    status = create_tensor(t, array_of(t->run, "w", l), NULL, both, &t->w[l]);
    if (!status) status = create_tensor(t, array_of(t->run, "b", l), NULL, both, &t->b[l]);
  }
  return status;
}

/* One step, with batch `step` of those that take turns.  The weights are inputs, given up, and outputs. */
static int dispatch_step(struct training *t, uint64_t step) {
  struct pto_binding inputs[2 * MLP_LAYERS + 2], outputs[2 * MLP_LAYERS + 1];
  const char *consumed[2 * MLP_LAYERS];
  const uint32_t weights = 2 * (uint32_t)t->sizes.layers;
  for (uint32_t i = 0; i < weights; i++) {
    const struct pto_device_tensor tensor = i % 2 ? t->b[i / 2] : t->w[i / 2];
    consumed[i] = pto_graph_input(t->step, 2 + i)->name;
    inputs[i] = (struct pto_binding){consumed[i], tensor};
    outputs[i] = (struct pto_binding){pto_graph_output_at(t->step, i)->name, tensor};
  }
  inputs[weights] = (struct pto_binding){"points", t->points[step % t->sizes.batches]};
  inputs[weights + 1] = (struct pto_binding){"labels", t->labels[step % t->sizes.batches]};
  outputs[weights] = (struct pto_binding){"loss", t->loss};
  const struct pto_dispatch_bindings bindings = {.inputs = inputs,
                                                 .outputs = outputs,
                                                 .input_count = weights + 2,
                                                 .output_count = weights + 1,
                                                 .consumed = consumed,
                                                 .consumed_count = weights};
  const int status = pto_graph_dispatch(t->step, t->context, &bindings);
  return status ? fail(t, status, "step") : PTO_OK;
}

static int read_tensor(struct training *t, struct pto_device_tensor tensor, struct pto_array *array) {
  const int status = pto_device_tensor_read(t->context, tensor, array->data, array->size_bytes);
  return status ? fail(t, status, array->name) : PTO_OK;
}

static int read_weights(struct training *t) {
  int status = PTO_OK;
  for (uint64_t l = 0; l < t->sizes.layers && !status; l++) {
    status = read_tensor(t, t->w[l], array_of(t->run, "trained_w", l));
    if (!status) status = read_tensor(t, t->b[l], array_of(t->run, "trained_b", l));
  }
  return status;
}

static int train(struct training *t) {
  float *losses = pto_program_find(t->run, "losses")->data;
  const uint64_t every = (uint64_t)pto_option_int(t->run, "every"), steps = t->sizes.steps;
  const char *path = pto_option_text(t->run, "checkpoint");
  int status = PTO_OK;
  for (uint64_t i = 1; i <= steps && !status; i++) {
    status = dispatch_step(t, i - 1);
    if (!status && (status = pto_device_tensor_read(t->context, t->loss, &losses[i - 1], sizeof(float))) != PTO_OK)
      return fail(t, status, "loss");
    const bool is_checkpoint = path[0] && every && i % every == 0;
    if (!status && (is_checkpoint || i == steps)) status = read_weights(t);
    if (!status && path[0] && (is_checkpoint || i == steps)) status = save_checkpoint(t->run, &t->sizes, path);
  }
  return status;
}

static void report(struct training *t) {
  const float *losses = pto_program_find(t->run, "losses")->data;
  pto_program_report(t->run, t->context);
  pto_program_figure(t->run, "first_loss", (double)losses[0]);
  pto_program_figure(t->run, "last_loss", (double)losses[t->sizes.steps - 1]);
}

static int open_context(struct pto_program_run *run, struct pto_context **context_out) {
  struct pto_context_options options = {.size = sizeof options, .runtime = *pto_program_config(run)};
  char sentence[512] = "";
  const int status = pto_context_create(&options, context_out, sentence, sizeof sentence);
  return status ? pto_program_fail_as(run, status, "context: %s", sentence) : PTO_OK;
}

/* The gradients of the first step, from host arrays to host arrays: arrays of the program have the operands' names. */
static int compute_gradients(struct pto_program_run *run, const struct mlp_sizes *s) {
  struct training t = {.run = run, .sizes = *s};
  struct pto_host_array in[2 * MLP_LAYERS + 2], out[2 * MLP_LAYERS + 1];
  float loss;
  int status = build_step(run, s, true, &t.step);
  if (status) return status;
  const struct pto_compute_arrays arrays = {in, out, pto_graph_input_count(t.step), pto_graph_output_count(t.step)};
  for (uint32_t i = 0; i < arrays.input_count; i++) {
    const char *name = pto_graph_input(t.step, i)->name;
    const struct pto_array *array = pto_program_find(run, name);
    in[i] = (struct pto_host_array){name, array->data, i < 2 ? array->size_bytes / s->batches : array->size_bytes};
  }
  for (uint32_t i = 0; i + 1 < arrays.output_count; i++) {
    const char *name = pto_graph_output_at(t.step, i)->name;
    const struct pto_array *array = pto_program_find(run, name);
    out[i] = (struct pto_host_array){name, array->data, array->size_bytes};
  }
  out[arrays.output_count - 1] = (struct pto_host_array){"loss", &loss, sizeof loss};
  status = open_context(run, &t.context);
  if (!status && (status = pto_graph_compute(t.step, t.context, &arrays)) != PTO_OK)
    (void)fail(&t, status, "gradients");
  pto_graph_destroy(t.step);
  pto_context_destroy(t.context);
  return status;
}

static int host(struct pto_program_run *run) {
  struct training t = {.run = run};
  int status = read_sizes(run, &t.sizes);
  if (!status) status = build_step(run, &t.sizes, false, &t.step);
  if (status) return status;
  status = open_context(run, &t.context);
  if (!status) status = create_tensors(&t);
  if (!status) status = train(&t);
  if (t.context) report(&t);
  pto_graph_destroy(t.step); /* before the context that it was dispatched on */
  pto_context_destroy(t.context);
  return !status && pto_option_bool(run, "check") ? compute_gradients(run, &t.sizes) : status;
}

/* ---- golden ---- */

static void give(struct pto_program_run *run, const char *what, uint64_t layer, const struct grid *from) {
  double *golden = pto_array_golden(run, array_of(run, what, layer));
  for (uint64_t i = 0; golden && i < from->rows * from->columns; i++) golden[i] = (double)from->at[i];
}
static void take(struct pto_program_run *run, const char *what, uint64_t layer, const struct grid *to) {
  memcpy(to->at, array_of(run, what, layer)->data, to->rows * to->columns * sizeof(float));
}

/* The plain network with the first weights. */
static int make_plain(struct plain_mlp *m, struct pto_program_run *run, const struct mlp_sizes *s, bool has_bounds) {
  const int status = plain_mlp_init(m, run, s, has_bounds);
  for (uint64_t l = 0; l < s->layers && !status; l++) {
    take(run, "w", l, &m->w[l]);
    take(run, "b", l, &m->b[l]);
  }
  return status;
}

/* Puts a batch before the network, and returns its labels. */
static const float *take_batch(struct plain_mlp *m, struct pto_program_run *run, uint64_t index) {
  const uint64_t elems = m->sizes.batch * MLP_INPUTS;
  memcpy(m->a[0].at, (const float *)data_of(run, "points") + index * elems, elems * sizeof(float));
  return (const float *)data_of(run, "labels") + index * m->sizes.batch * m->sizes.classes;
}

static int expect_training(struct pto_program_run *run, const struct mlp_sizes *s) {
  struct plain_mlp m;
  double *losses = golden_of(run, "losses");
  int status = make_plain(&m, run, s, false);
  if (!status && !losses) status = PTO_ENOMEM;
  for (uint64_t i = 0; i < s->steps && !status; i++) {
    float loss = 0;
    const float *labels = take_batch(&m, run, i % s->batches);
    plain_mlp_forward(&m);
    status = plain_mlp_loss_of_batch(&m, labels, &loss);
    losses[i] = (double)loss;
    if (!status) status = plain_mlp_backward(&m, labels);
    plain_mlp_update(&m, (float)pto_option_float(run, "rate"));
  }
  for (uint64_t l = 0; l < s->layers && !status; l++) {
    give(run, "trained_w", l, &m.w[l]);
    give(run, "trained_b", l, &m.b[l]);
  }
  return status;
}

/* Of the first batch: golden of the gradients, and the differences that they are held to. */
static int expect_gradients(struct pto_program_run *run, const struct mlp_sizes *s) {
  struct plain_mlp m;
  struct differences d;
  int status = make_plain(&m, run, s, true);
  if (status) return status;
  const float *labels = take_batch(&m, run, 0);
  plain_mlp_forward(&m);
  status = plain_mlp_backward(&m, labels);
  if (!status) status = differences_init(&d, run, &m, labels);
  for (uint64_t l = 0; l < s->layers && !status; l++) {
    give(run, "dw", l, &m.dw[l]);
    give(run, "db", l, &m.db[l]);
    status = check_gradient(&d, array_of(run, "dw", l), &m.w[l], &m.dw[l]);
    if (!status) status = check_gradient(&d, array_of(run, "db", l), &m.b[l], &m.db[l]);
  }
  return status;
}

static int expect(struct pto_program_run *run) {
  struct mlp_sizes s;
  int status = read_sizes(run, &s);
  if (!status) status = expect_training(run, &s);
  return !status && pto_option_bool(run, "check") ? expect_gradients(run, &s) : status;
}

/* ---- the program ---- */

static const struct pto_option options[] = {
    {"steps", PTO_OPTION_INT, "100", "steps of gradient descent"},
    {"batches", PTO_OPTION_INT, "4", "batches that take turns"},
    {"batch", PTO_OPTION_INT, "64", "points of a batch"},
    {"classes", PTO_OPTION_INT, "3", "classes"},
    {"width", PTO_OPTION_INT, "32", "units of a layer between the points and the classes"},
    {"layers", PTO_OPTION_INT, "3", "matrices of weights"},
    {"rate", PTO_OPTION_FLOAT, "0.2", "learning rate"},
    {"checkpoint", PTO_OPTION_TEXT, "", "file for the trained network, a graph; its weights stand beside it"},
    {"every", PTO_OPTION_INT, "0", "steps from one checkpoint to the next; 0: one at the end"},
    {"check", PTO_OPTION_BOOL, "true", "the first step's gradients, against differences of the loss"},
    {0}};
static const struct pto_case cases[] = {
    {.name = "rings", .settings = "", .summary = "three layers, four batches", .tasks = 3700},
    {.name = "deep", .settings = "layers=6 width=20 steps=40 rate=0.05", .summary = "six layers", .tasks = 2800},
    {.name = "one", .settings = "layers=1 steps=60 batches=1 batch=17", .summary = "logistic regression", .tasks = 900},
    {.name = "wide",
     .settings = "width=130 batch=70 classes=5 steps=6 batches=2",
     .summary = "tensors of several tiles",
     .tasks = 396},
    {0}};

const struct pto_program pto_program = {.abi = PTO_PROGRAM_ABI,
                                        .name = "train_mlp",
                                        .summary = "a multilayer perceptron trained on the device",
                                        .options = options,
                                        .cases = cases,
                                        .prepare = prepare,
                                        .host = host,
                                        .expect = expect};
