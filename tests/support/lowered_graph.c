/* SPDX-License-Identifier: MIT */
#include <tests/support/lowered_graph.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void lowered_graph_name(const struct pto_config *config, char *text, size_t size) {
  snprintf(text, size, "%s %s workers %u window %llu heap %llu", config->engine ? config->engine : "threads",
           config->chip ? config->chip : "a2a3", config->workers, (unsigned long long)config->window,
           (unsigned long long)config->heap_bytes);
}

struct pto_context *lowered_graph_open(const struct pto_config *config) {
  struct pto_context_options options = {.size = sizeof options, .runtime = *config};
  struct pto_context *context = NULL;
  char sentence[512];
  if (pto_context_create(&options, &context, sentence, sizeof sentence)) fail_msg("%s", sentence);
  return context;
}

static uint64_t bytes_of(const struct pto_operand *o) {
  uint64_t bits = pto_dtype_bits(o->dtype);
  for (uint32_t d = 0; d < o->ndims; d++) bits *= o->shape[d];
  return (bits + 7) / 8;
}

static struct pto_host_array *arrays_of(const struct pto_operand *operands, uint32_t count, void *const *data) {
  struct pto_host_array *arrays = calloc(count + 1, sizeof *arrays);
  assert_non_null(arrays);
  for (uint32_t i = 0; i < count; i++)
    arrays[i] = (struct pto_host_array){operands[i].name, data[i], bytes_of(&operands[i])};
  return arrays;
}

int lowered_graph_run(struct pto_graph *graph, struct pto_context *context, void *const *inputs, void *const *outputs) {
  struct pto_host_array *in = arrays_of(graph->input_operands, graph->input_count, inputs),
                        *out = arrays_of(graph->output_operands, graph->output_count, outputs);
  const struct pto_compute_arrays arrays = {in, out, graph->input_count, graph->output_count};
  const int status = pto_graph_compute(graph, context, &arrays);
  free(in);
  free(out);
  return status;
}

static void expect_element(const struct pto_reference_tensor *got, const struct pto_reference_tensor *wanted,
                           uint64_t i, double part, const char *what) {
  if (!got->values) {
    if (got->whole[i] != wanted->whole[i])
      fail_msg("%s[%llu]: %lld, not %lld", what, (unsigned long long)i, (long long)got->whole[i],
               (long long)wanted->whole[i]);
    return;
  }
  const double is = got->values[i], must = wanted->values[i];
  const bool is_same = (isnan(is) && isnan(must)) || is == must;
  if (!is_same && !(fabs(is - must) <= part * fmax(1, fabs(must))))
    fail_msg("%s[%llu]: %.9g, not %.9g", what, (unsigned long long)i, is, must);
}

void lowered_graph_expect(const struct pto_graph_desc *desc, const void *got, const void *wanted, bool is_exact,
                          const struct lowered_graph_tolerance *tolerance, const char *what) {
  struct pto_reference_tensor a, b;
  const double part = is_exact ? 0 : desc->dtype == PTO_FLOAT16 ? tolerance->f16 : tolerance->f32;
  assert_true(pto_reference_tensor_init(&a, desc));
  assert_true(pto_reference_tensor_init(&b, desc));
  pto_reference_tensor_load(&a, got);
  pto_reference_tensor_load(&b, wanted);
  for (uint64_t i = 0; i < pto_graph_desc_numel(desc); i++) expect_element(&a, &b, i, part, what);
  pto_reference_tensor_fini(&a);
  pto_reference_tensor_fini(&b);
}
