/* SPDX-License-Identifier: MIT */
/* Tests of pto_runtime_create with stand-ins for chip, engines and control: what they are handed, and who frees what.
 */
#include <pto/runtime.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/control.h>
#include <sim/chips/chip.h>
#include <sim/engine/engine.h>

struct fake_engine {
  struct pto_port port;
  const struct pto_chip *chip;
};

/* What the stand-ins saw, and how they are to answer. */
static struct {
  struct pto_config config;
  struct pto_engine_config engine_config;
  char engine[16], chip[64];
  int chip_status, engine_status, control_status;
  uint32_t engines_alive, destroyed_cluster_count;
  void *owned_chip;
} seen;

static int reset(void **state) {
  memset(&seen, 0, sizeof seen);
  return 0;
}

int pto_chip_load(const char *name_or_path, struct pto_chip *chip, struct pto_error *error) {
  snprintf(seen.chip, sizeof seen.chip, "%s", name_or_path);
  if (seen.chip_status) return pto_error_set(error, seen.chip_status, "no chip \"%s\"", name_or_path);
  memset(chip, 0, sizeof *chip);
  chip->cluster_count = 24;
  return PTO_OK;
}

static void fake_destroy(struct pto_port *port) {
  struct fake_engine *engine = (struct fake_engine *)port;
  seen.destroyed_cluster_count = engine->chip->cluster_count;
  seen.engines_alive--;
  free(engine);
}

static int fake_create(const char *name, const struct pto_engine_config *config, struct pto_port **port_out,
                       struct pto_error *error) {
  static const struct pto_port_ops ops = {.destroy = fake_destroy};
  snprintf(seen.engine, sizeof seen.engine, "%s", name);
  seen.engine_config = *config;
  if (seen.engine_status) return pto_error_set(error, seen.engine_status, "engine refuses");
  struct fake_engine *engine = calloc(1, sizeof *engine);
  engine->port.ops = &ops;
  engine->chip = config->chip;
  seen.engines_alive++;
  *port_out = &engine->port;
  return PTO_OK;
}

int pto_engine_threads_create(const struct pto_engine_config *config, struct pto_port **port_out,
                              struct pto_error *error) {
  return fake_create("threads", config, port_out, error);
}
int pto_engine_virtual_create(const struct pto_engine_config *config, struct pto_port **port_out,
                              struct pto_error *error) {
  return fake_create("virtual", config, port_out, error);
}
int pto_engine_observed_virtual_create(const struct pto_engine_config *config, struct pto_port **port_out,
                                       struct pto_error *error) {
  return fake_create("observed virtual", config, port_out, error);
}

/* The stand-in's runtime is its port. */
int pto_control_create(const struct pto_config *config, struct pto_port *port, void *chip, struct pto_runtime **rt_out,
                       struct pto_error *error) {
  seen.config = *config;
  if (seen.control_status) {
    port->ops->destroy(port);
    free(chip);
    return seen.control_status;
  }
  seen.owned_chip = chip;
  *rt_out = (struct pto_runtime *)(void *)port;
  return PTO_OK;
}
void pto_runtime_destroy(struct pto_runtime *rt) {
  struct pto_port *port = (struct pto_port *)(void *)rt;
  port->ops->destroy(port);
  free(seen.owned_chip);
}

static void test_no_configuration_gives_every_default(void **state) {
  struct pto_runtime *rt = NULL;
  assert_int_equal(pto_runtime_create(NULL, &rt), PTO_OK);
  assert_string_equal(seen.engine, "threads");
  assert_string_equal(seen.chip, "tiny");
  assert_string_equal(seen.config.policy, "fifo");
  assert_int_equal(seen.config.size, sizeof(struct pto_config));
  assert_int_equal(seen.config.window, 16384);
  assert_int_equal(seen.config.heap_bytes, 268435456);
  assert_int_equal(seen.config.deps, PTO_DEPS_EXACT);
  assert_int_equal(seen.engine_config.timeout_ms, 0);
  pto_runtime_destroy(rt);
  assert_int_equal(seen.engines_alive, 0);
}

static void test_what_is_given_arrives(void **state) {
  int context;
  const struct pto_config config = {.size = sizeof config,
                                    .engine = "virtual",
                                    .chip = "a2a3",
                                    .workers = 3,
                                    .deps = PTO_DEPS_PTO,
                                    .policy = "random:7",
                                    .window = 64,
                                    .heap_bytes = 4096,
                                    .poison = true,
                                    .record = PTO_RECORD_GRAPH,
                                    .timeout_ms = 1500,
                                    .on_timeout_context = &context,
                                    .map_entries = 9,
                                    .recorded_deps = PTO_DEPS_PTO};
  struct pto_runtime *rt = NULL;
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  assert_memory_equal(&seen.config, &config, sizeof config);
  assert_string_equal(seen.engine, "virtual");
  assert_string_equal(seen.chip, "a2a3");
  assert_int_equal(seen.engine_config.workers, 3);
  assert_int_equal(seen.engine_config.timeout_ms, 1500);
  assert_ptr_equal(seen.engine_config.on_timeout_context, &context);
  pto_runtime_destroy(rt);
}

static void test_the_chip_lives_until_its_engine_is_gone(void **state) {
  struct pto_runtime *rt = NULL;
  assert_int_equal(pto_runtime_create(NULL, &rt), PTO_OK);
  assert_int_equal(seen.engine_config.chip->cluster_count, 24);
  pto_runtime_destroy(rt);
  assert_int_equal(seen.destroyed_cluster_count, 24);
}

static void test_a_smaller_configuration_of_an_older_caller_has_defaults_for_the_rest(void **state) {
  struct pto_config config;
  memset(&config, 0xff, sizeof config);
  config.size = offsetof(struct pto_config, workers);
  config.engine = "virtual";
  config.chip = "a5";
  struct pto_runtime *rt = NULL;
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  assert_string_equal(seen.chip, "a5");
  assert_int_equal(seen.config.workers, 0);
  assert_int_equal(seen.config.window, 16384);
  assert_true(seen.config.on_timeout == NULL);
  pto_runtime_destroy(rt);
}

static void test_a_larger_configuration_is_taken_while_what_it_adds_is_zero(void **state) {
  struct {
    struct pto_config config;
    unsigned char more[16];
  } newer = {.config = {.size = sizeof newer}};
  struct pto_runtime *rt = NULL;
  assert_int_equal(pto_runtime_create(&newer.config, &rt), PTO_OK);
  pto_runtime_destroy(rt);
  newer.more[3] = 1;
  assert_int_equal(pto_runtime_create(&newer.config, &rt), PTO_EINVAL);
}

/* Creation from `config` is refused with PTO_EINVAL and a sentence that holds `part`. */
static void assert_refused(struct pto_config config, const char *part) {
  struct pto_runtime *const untouched = (struct pto_runtime *)(void *)&config;
  struct pto_runtime *rt = untouched;
  char sentence[256] = "";
  if (config.size == 0) config.size = sizeof config;
  assert_int_equal(pto_runtime_create_explained(&config, &rt, sentence, sizeof sentence), PTO_EINVAL);
  assert_ptr_equal(rt, untouched);
  if (!strstr(sentence, part)) fail_msg("\"%s\" does not say \"%s\"", sentence, part);
  assert_int_equal(seen.engines_alive, 0);
}

static void test_impossible_values_are_refused_with_the_value_in_the_sentence(void **state) {
  assert_refused((struct pto_config){.engine = "gpu"}, "\"gpu\"");
  assert_refused((struct pto_config){.workers = 100000}, "100000 workers");
  assert_refused((struct pto_config){.record = 0x80}, "0x80");
  assert_refused((struct pto_config){.engine = "virtual", .jitter_ppm = 2000000000}, "jitter of 2000000000 millionths");
  assert_refused((struct pto_config){.engine = "virtual", .placement = "cores"}, "placement is for engine threads");
  assert_refused((struct pto_config){.engine = "threads", .jitter_ppm = 5}, "jitter is for engine virtual: on threads");
  assert_refused((struct pto_config){.engine = "threads", .no_compute = true}, "no_compute is for engine virtual");
  assert_refused((struct pto_config){.engine = "virtual", .no_compute = true, .poison = true}, "poison fills memory");
  assert_refused((struct pto_config){.engine = "threads", .rank = (struct pto_rank *)&seen},
                 "several ranks are for engine virtual");
  assert_refused((struct pto_config){.size = 3}, "config.size is 3");
}

static void test_refusals_of_chip_engine_and_control_come_through_and_free_everything(void **state) {
  struct pto_runtime *rt = NULL;
  char sentence[64];
  seen.chip_status = PTO_ESYSTEM;
  assert_int_equal(
      pto_runtime_create_explained(&(struct pto_config){.size = sizeof(struct pto_config), .chip = "x.ini"}, &rt,
                                   sentence, sizeof sentence),
      PTO_ESYSTEM);
  assert_string_equal(sentence, "no chip \"x.ini\"");
  seen.chip_status = 0;
  seen.engine_status = PTO_ENOMEM;
  assert_int_equal(pto_runtime_create_explained(NULL, &rt, sentence, sizeof sentence), PTO_ENOMEM);
  assert_string_equal(sentence, "engine refuses");
  seen.engine_status = 0;
  seen.control_status = PTO_EINVAL;
  assert_int_equal(pto_runtime_create_explained(NULL, &rt, sentence, sizeof sentence), PTO_EINVAL);
  assert_int_equal(seen.engines_alive, 0);
  assert_string_equal(sentence, pto_strerror(PTO_EINVAL));
  assert_null(rt);
}

static void test_a_placement_of_none_is_for_any_engine_and_the_runtime_needs_a_place(void **state) {
  struct pto_runtime *rt = NULL;
  char sentence[64];
  const char *const engines[] = {"virtual", "threads"};
  for (size_t i = 0; i < 2; i++) {
    const struct pto_config config = {.size = sizeof config, .engine = engines[i], .placement = i ? "cores" : "none"};
    assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
    pto_runtime_destroy(rt);
  }
  assert_int_equal(pto_runtime_create_explained(NULL, NULL, sentence, sizeof sentence), PTO_EINVAL);
  assert_string_equal(sentence, "nowhere to put the runtime");
}

static void test_a_short_sentence_buffer_is_filled_and_ended(void **state) {
  char sentence[8] = "";
  struct pto_runtime *rt = NULL;
  const struct pto_config config = {.size = sizeof config, .engine = "gpu"};
  assert_int_equal(pto_runtime_create_explained(&config, &rt, sentence, sizeof sentence), PTO_EINVAL);
  assert_string_equal(sentence, "no engi");
  assert_int_equal(pto_runtime_create_explained(&config, &rt, sentence, 0), PTO_EINVAL);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup(name, reset)
  const struct CMUnitTest tests[] = {
      TEST(test_no_configuration_gives_every_default),
      TEST(test_what_is_given_arrives),
      TEST(test_the_chip_lives_until_its_engine_is_gone),
      TEST(test_a_smaller_configuration_of_an_older_caller_has_defaults_for_the_rest),
      TEST(test_a_larger_configuration_is_taken_while_what_it_adds_is_zero),
      TEST(test_impossible_values_are_refused_with_the_value_in_the_sentence),
      TEST(test_refusals_of_chip_engine_and_control_come_through_and_free_everything),
      TEST(test_a_placement_of_none_is_for_any_engine_and_the_runtime_needs_a_place),
      TEST(test_a_short_sentence_buffer_is_filled_and_ended),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
