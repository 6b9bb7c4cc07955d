/* SPDX-License-Identifier: MIT */
/*
 * The check of train_mlp's gradients (orchestration/models/mlp_differences.h) accuses wrong ones, and no right one: of
 * a network of two layers whose gradients are the plain ones, or those with one element changed, or with the mistakes
 * that people make.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <orchestration/models/mlp_differences.h>
#include <pto/tools.h>

static const struct mlp_sizes sizes = {.batch = 12, .classes = 3, .width = 5, .layers = 2};

enum mistake { NONE, ONE_ELEMENT, NOT_THE_MEAN, LABELS_LEFT_OUT, NO_RELU, MISTAKES };
static enum mistake mistake;
static int wrong_layer;

static int prepare(struct pto_program_run *run) {
  return DECLARE_ARRAYS(run, OUTPUT("dw0", PTO_FLOAT32, MLP_INPUTS, sizes.width),
                        OUTPUT("dw1", PTO_FLOAT32, sizes.width, sizes.classes));
}
static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  (void)rt;
  (void)run;
  return PTO_OK;
}

/* Numbers in −1 … 1, the same in each run. */
static void fill(const struct grid *g, uint32_t seed) {
  for (uint64_t i = 0; i < g->rows * g->columns; i++) {
    seed = seed * 1664525u + 1013904223u;
    g->at[i] = (float)(seed >> 8) * 0x1p-23f - 1;
  }
}

static void scale(const struct grid *g, float by) {
  for (uint64_t i = 0; i < g->rows * g->columns; i++) g->at[i] *= by;
}

static uint64_t wrong_index;
static uint64_t largest(const struct grid *g) {
  wrong_index = 0;
  for (uint64_t i = 0; i < g->rows * g->columns; i++)
    if (fabsf(g->at[i]) > fabsf(g->at[wrong_index])) wrong_index = i;
  return wrong_index;
}

/* The gradients of a backward with the mistake. */
static int backward(struct plain_mlp *m, float *labels) {
  const float none[12 * 3] = {0};
  float units[12 * 5], gradients[5 * 3];
  int status = plain_mlp_backward(m, mistake == LABELS_LEFT_OUT ? none : labels);
  if (mistake == ONE_ELEMENT) m->dw[wrong_layer].at[largest(&m->dw[wrong_layer])] *= 1.001f;
  if (mistake == NOT_THE_MEAN) scale(&m->dw[1], (float)sizes.batch);
  if (mistake != NO_RELU) return status;
  memcpy(units, m->a[1].at, sizeof units);
  memcpy(gradients, m->dw[1].at, sizeof gradients);
  for (size_t i = 0; i < LENGTH(units); i++) m->a[1].at[i] = 1; /* every unit is on */
  status = plain_mlp_backward(m, labels);
  memcpy(m->a[1].at, units, sizeof units);
  memcpy(m->dw[1].at, gradients, sizeof gradients);
  return status;
}

static int expect(struct pto_program_run *run) {
  struct plain_mlp m;
  struct differences d;
  float labels[12 * 3] = {0};
  int status = plain_mlp_init(&m, run, &sizes, true);
  if (status) return status;
  for (uint64_t i = 0; i < sizes.batch; i++) labels[i * sizes.classes + i % sizes.classes] = 1;
  fill(&m.a[0], 1);
  for (uint32_t l = 0; l < sizes.layers; l++) {
    fill(&m.w[l], 10 + l);
    fill(&m.b[l], 20 + l);
  }
  plain_mlp_forward(&m);
  status = backward(&m, labels);
  if (!status) status = differences_init(&d, run, &m, labels);
  for (uint32_t l = 0; l < sizes.layers && !status; l++) {
    struct pto_array *got = pto_program_find(run, l ? "dw1" : "dw0");
    double *golden = pto_array_golden(run, got);
    memcpy(got->data, m.dw[l].at, m.dw[l].rows * m.dw[l].columns * sizeof(float));
    for (uint64_t i = 0; golden && i < got->numel; i++) golden[i] = pto_array_get(got, i);
    status = golden ? check_gradient(&d, got, &m.w[l], &m.dw[l]) : PTO_ENOMEM;
  }
  return status;
}

/* The sentence of the result; "" where it is right. */
static const char *judge(void) {
  static const struct pto_program program = {
      .abi = PTO_PROGRAM_ABI, .name = "gradients", .prepare = prepare, .orchestrate = orchestrate, .expect = expect};
  static char sentence[512];
  const struct pto_session_options options = {.size = sizeof options, .made = &program};
  struct pto_session *session = NULL;
  if (pto_session_open(&options, &session, sentence, sizeof sentence)) fail_msg("%s", sentence);
  if (pto_session_run(session)) fail_msg("%s", pto_session_error(session));
  const int status = pto_session_verify(session);
  snprintf(sentence, sizeof sentence, "%s", status ? pto_session_error(session) : "");
  pto_session_close(session);
  return sentence;
}

static void test_right_gradients_are_not_accused(void **state) {
  (void)state;
  mistake = NONE;
  assert_string_equal(judge(), "");
}

static void test_one_element_that_is_off_by_a_thousandth_is_named(void **state) {
  (void)state;
  mistake = ONE_ELEMENT;
  for (wrong_layer = 0; wrong_layer < 2; wrong_layer++) {
    const char *sentence = judge();
    const uint64_t columns = wrong_layer ? sizes.classes : sizes.width;
    char name[64];
    snprintf(name, sizeof name, "dw%d[%d,%d]", wrong_layer, (int)(wrong_index / columns), (int)(wrong_index % columns));
    if (!strstr(sentence, name)) fail_msg("%s is not named: \"%s\"", name, sentence);
  }
}

static void test_mistakes_of_a_whole_gradient_are_found(void **state) {
  (void)state;
  for (mistake = NOT_THE_MEAN; mistake < MISTAKES; mistake++)
    assert_non_null(strstr(judge(), mistake == NOT_THE_MEAN ? "output dw1" : "output dw0"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_right_gradients_are_not_accused),
      cmocka_unit_test(test_one_element_that_is_off_by_a_thousandth_is_named),
      cmocka_unit_test(test_mistakes_of_a_whole_gradient_are_found),
  };
  return cmocka_run_group_tests_name("mlp differences", tests, NULL, NULL);
}
