/* SPDX-License-Identifier: MIT */
/* `ptosim what-if` and --chip-set from outside: each time that what-if tells is the one that `ptosim run` takes with
 * that number set, and so is, nearly, what a verdict proposes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tests/support/ptosim_child.h>

static json_t *ask(const char *words) {
  const int code = pto_ptosim_run("%s --json -", words);
  if (code) fail_msg("%s: exit %d: %s%s", words, code, pto_ptosim_last.out, pto_ptosim_last.err);
  return pto_ptosim_parse(pto_ptosim_last.out);
}

static double number(json_t *object, const char *key) {
  json_t *value = json_object_get(object, key);
  if (!json_is_number(value)) fail_msg("no number %s", key);
  return json_number_value(value);
}

static double run_us(const char *program, const char *more) {
  char words[1024];
  snprintf(words, sizeof words, "run %s --engine virtual --chip a2a3%s --quiet", program, more);
  json_t *result = ask(words);
  const double us = number(result, "virtual_us");
  json_decref(result);
  return us;
}

static json_t *find_number(json_t *what_if, const char *key) {
  size_t i;
  json_t *row;
  json_array_foreach(json_object_get(what_if, "numbers"), i, row) {
    if (strcmp(json_string_value(json_object_get(row, "key")), key) == 0) return row;
  }
  fail_msg("no key %s", key);
  return NULL;
}

static void check_key(json_t *what_if, const char *program, const char *key) {
  static const char *const sides[] = {"half", "twice"};
  json_t *row = find_number(what_if, key);
  for (int i = 0; i < 2; i++) {
    char more[128];
    json_t *run = json_object_get(row, sides[i]);
    snprintf(more, sizeof more, " --chip-set %s=%.0f", key, number(run, "value"));
    assert_true(number(run, "virtual_us") == run_us(program, more));
    assert_true(number(run, "value") == (i ? 2 * number(row, "value") : (uint64_t)number(row, "value") / 2));
  }
}

/* Each part in half the time, a kernel too, is the run that its --chip-set says. */
static void check_parts(json_t *what_if, const char *program) {
  json_t *parts = json_object_get(what_if, "parts"), *part;
  size_t i, kernels = 0;
  json_array_foreach(parts, i, part) {
    char more[600];
    const char *set = json_string_value(json_object_get(part, "chip_set"));
    const bool is_kernel = strncmp(json_string_value(json_object_get(part, "what")), "kernel ", 7) == 0;
    assert_int_equal(is_kernel, strncmp(set, "half_kernel=", 12) == 0);
    kernels += is_kernel;
    if (i > 2 && !is_kernel) continue;
    snprintf(more, sizeof more, " --chip-set %s", set);
    assert_true(number(part, "virtual_us") == run_us(program, more));
  }
  assert_true(json_array_size(parts) >= 10 && kernels >= 2);
}

static void check_curve(json_t *what_if, const char *program, const char *name, double value) {
  size_t i;
  json_t *point;
  bool is_there = false;
  json_array_foreach(json_object_get(json_object_get(what_if, "curves"), name), i, point) {
    char more[64];
    if (number(point, "value") != value) continue;
    snprintf(more, sizeof more, " --%s %.0f", name, value);
    assert_true(number(point, "virtual_us") == run_us(program, more));
    is_there = true;
  }
  assert_true(is_there);
}

static void test_each_time_is_that_of_a_run(void **state) {
  static const char *const programs[] = {"bgemm", "moe", "paged_attention"};
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    char words[128];
    snprintf(words, sizeof words, "what-if %s", programs[i]);
    json_t *root = ask(words), *what_if = json_object_get(root, "what_if");
    assert_true(number(what_if, "virtual_us") == run_us(programs[i], ""));
    check_key(what_if, programs[i], "submit");
    check_key(what_if, programs[i], "core_bandwidth_mbps");
    check_key(what_if, programs[i], "handshake_ps");
    if (i == 0) check_parts(what_if, programs[i]);
    check_curve(what_if, programs[i], "clusters", 8);
    check_curve(what_if, programs[i], "window", 256);
    json_decref(root);
  }
}

static void test_the_largest_effect_comes_first_and_elasticity_has_its_sign(void **state) {
  json_t *root = ask("what-if bgemm --case 500x128x2"), *what_if = json_object_get(root, "what_if"), *row;
  const double plain = number(what_if, "virtual_us");
  double before = 1e30;
  size_t i;
  json_array_foreach(json_object_get(what_if, "numbers"), i, row) {
    double effect = 0;
    assert_string_not_equal(json_string_value(json_object_get(row, "key")), "node_bandwidth_mbps"); /* of other chips */
    for (int k = 0; k < 2; k++) {
      json_t *us = json_object_get(json_object_get(row, k ? "twice" : "half"), "virtual_us");
      const double change = json_is_number(us) ? json_number_value(us) - plain : 0;
      effect = change > effect ? change : -change > effect ? -change : effect;
    }
    assert_true(effect <= before);
    before = effect;
  }
  assert_true(i > 50 && before == 0);
  assert_true(number(find_number(what_if, "submit"), "elasticity") > 0.1);
  assert_true(number(find_number(what_if, "host_bandwidth_mbps"), "elasticity") == 0);
  json_decref(root);
}

/* One of the runs, in a shard that has no other. */
static void test_on_ranks_links_are_among_the_parts(void **state) {
  json_t *run = ask("run all_reduce --ranks 2 --chip tiny --no-compute --quiet --chip-set "
                    "package_latency_ps=50000,node_latency_ps=100000,nodes_latency_ps=500000");
  assert_int_equal(pto_ptosim_run("what-if all_reduce --ranks 2 --chip tiny --shard 15/400 --quiet --json -"), 0);
  json_t *item = pto_ptosim_parse(strchr(pto_ptosim_last.out, '\n') + 1);
  assert_true(number(json_object_get(item, "result"), "makespan_ps") == round(1e6 * number(run, "virtual_us")));
  json_decref(item);
  json_decref(run);
  assert_int_equal(pto_ptosim_run("suite all_reduce --ranks 2"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "virtual       2       0 ")); /* a task a rank */
  assert_null(strstr(pto_ptosim_last.out, "threads"));
}

static void test_processes_change_nothing(void **state) {
  json_t *one = ask("what-if vector_example --jobs 1"), *three = ask("what-if vector_example --jobs 3");
  assert_true(json_equal(one, three));
  json_decref(one);
  json_decref(three);
}

/* All, where the program is not run without computing, or none. */
static void check_not_run(json_t *not_run, const char *why) {
  assert_int_equal(json_is_null(not_run), why == NULL);
  if (!why) return;
  assert_true(number(not_run, "count") == number(not_run, "of"));
  assert_non_null(strstr(pto_json_text(not_run, "why"), why));
}

/* What was run is so to the digit.  What holds the order of events is not: of a kernel, what others at the memory add
 * to its calls is halved with it, in the run only where they add less. */
static void test_a_verdict_is_checked_by_what_it_names(void **state) {
  static const struct {
    const char *words;
    bool is_run;
    const char *why_not;
  } programs[] = {{"run bgemm", true, NULL},
                  {"run bgemm --case 500x128x2", true, NULL},
                  {"run moe", false, "no kernel was run"},
                  {"run paged_attention", true, NULL},
                  {"run paged_attention --case var2 --rounds 2", true, NULL},
                  {"run softmax_layernorm_mlp", true, NULL},
                  {"run --model mobilenet_v2", true, NULL},
                  {"graph --model mobilenet_v2 --run", false, "drives contexts of its own"}}; /* with transfers */
  uint32_t checked = 0, kernels = 0;
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    const char *program = programs[i].words;
    char words[128];
    snprintf(words, sizeof words, "%s --engine virtual --chip a2a3 --stats", program);
    json_t *run = ask(words), *verdict = json_object_get(json_object_get(run, "stats"), "verdict"), *gain;
    size_t k;
    check_not_run(json_object_get(verdict, "not_run"), programs[i].why_not);
    json_array_foreach(json_object_get(verdict, "gains"), k, gain) {
      const char *command = json_string_value(json_object_get(gain, "command"));
      if (!command || strncmp(command + 7, program, strlen(program)) != 0) fail_msg("%s: no command", program);
      json_t *faster = ask(command + 7);
      const double told = number(gain, "us"), real = number(run, "virtual_us") - number(faster, "virtual_us");
      const bool is_kernel = strstr(command, "half_kernel=") != NULL;
      const bool is_so = programs[i].is_run ? fabs(told - real) < 1e-6 : told >= 0.85 * real && real >= 0.85 * told;
      assert_int_equal(json_is_true(json_object_get(gain, "is_run")), programs[i].is_run);
      if (!is_so) fail_msg("%s: told %g us, is %g us", command, told, real);
      kernels += is_kernel;
      checked++;
      json_decref(faster);
    }
    json_decref(run);
  }
  assert_true(checked >= 22);
  print_message("%u proposals, %u of kernels\n", checked, kernels);
}

/* The headline is of a group; the activity that has the most of it is named. */
static void test_a_verdict_names_the_activity_that_has_most_of_it(void **state) {
  json_t *run = ask("run paged_attention --engine virtual --chip a2a3 --stats");
  json_t *stats = json_object_get(run, "stats"), *verdict = json_object_get(stats, "verdict"), *us, *keys;
  const char *activity = json_string_value(json_object_get(verdict, "activity")), *name;
  assert_string_equal(json_string_value(json_object_get(verdict, "bound_by")), "scheduling");
  assert_string_equal(activity, "handshake");
  us = json_object_get(json_object_get(json_object_get(stats, "path"), "us"), activity);
  assert_true(json_number_value(us) == number(verdict, "activity_us"));
  assert_true(2 * number(verdict, "activity_us") > number(verdict, "us"));
  keys = json_object_get(stats, "chip_keys");
  json_t *listed = ask("list chips a2a3");
  assert_true(json_equal(keys, json_object_get(json_array_get(json_object_get(listed, "chips"), 0), "numbers")));
  json_decref(listed);
  /* What is proposed are keys that the chip has. */
  json_t *moe = ask("run moe --engine virtual --chip a2a3 --stats"), *gain;
  size_t i, k;
  verdict = json_object_get(json_object_get(moe, "stats"), "verdict");
  json_array_foreach(json_object_get(verdict, "gains"), i, gain) {
    char set[600], *rest = set, *word;
    snprintf(set, sizeof set, "%s", json_string_value(json_object_get(gain, "chip_set")));
    while ((word = strsep(&rest, ",")) != NULL) {
      json_t *key;
      bool is_there = false;
      word[strcspn(word, "=")] = '\0';
      json_array_foreach(keys, k, key) {
        name = json_string_value(json_object_get(key, "key"));
        is_there |= strcmp(name, word) == 0;
      }
      if (!is_there) fail_msg("a2a3 has no %s", word);
    }
  }
  json_decref(moe);
  json_decref(run);
}

static void refuses(const char *words, const char *sentence) {
  assert_int_equal(pto_ptosim_run("%s", words), 2);
  if (!strstr(pto_ptosim_last.err, sentence)) fail_msg("%s: %s", words, pto_ptosim_last.err);
}

static void test_settings_that_cannot_be(void **state) {
  refuses("run bgemm --chip a2a3 --chip-set submt=1", "a chip file has no key submt; did you mean \"submit\"?");
  refuses("run bgemm --chip a2a3 --chip-set submit=x", "ptosim: a2a3: submit = 'x' is not a whole number of ps");
  refuses("run bgemm --chip a2a3 --chip-set submit=9999999999",
          "a2a3: submit = 9999999999 is not within 0 to 1000000000 ps");
  refuses("run bgemm --chip a2a3 --chip-set submit", "\"submit\" is not of the form name=value");
  refuses("task x/0 --chip-set submit=1", "--chip-set: say which chip's number with --chip, such as --chip a2a3");
  refuses("adopt . --chip-set submit=1", "adopt: --chip-set is for a manifest");
  refuses("op test exp --chip-set submit=1", "--chip-set");
  refuses("run bgemm --chip a2a3 --chip-set half_kernel=matmul --chip-set half_kernel=add_inplac",
          "half_kernel = matmul+add_inplac: no task runs a kernel \"add_inplac\"; did you mean \"add_inplace\"?");
  refuses("run llm --ranks 2 --set steps=1 --chip a2a3 --chip-set half_kernel=matvecc", "did you mean \"matvec\"?");
  refuses("run bgemm --chip a2a3 --chip-set clusters=2", "schedulers = 3 but clusters = 2");
  refuses("what-if nothing_of_this_name", "nothing_of_this_name");
  refuses("what-if", "which program?");
}

static void test_what_is_set_is_told(void **state) {
  json_t *run = ask("run bgemm --chip a2a3 --engine virtual --chip-set submit=1 --chip-set clusters=12");
  assert_string_equal(json_string_value(json_object_get(run, "chip")), "a2a3,submit=1,clusters=12");
  json_decref(run);
  run = ask("run bgemm --chip-set submit=1");
  assert_string_equal(json_string_value(json_object_get(run, "chip")), "tiny,submit=1");
  json_decref(run);
  json_t *own = ask("what-if bgemm --chip-set submit=1"), *named = ask("what-if bgemm --chip a2a3 --chip-set submit=1");
  assert_true(json_equal(own, named));
  json_decref(own);
  json_decref(named);
  assert_int_equal(pto_ptosim_run("list chips a2a3,submit=1"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "assumed   set"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_time_is_that_of_a_run),
      cmocka_unit_test(test_the_largest_effect_comes_first_and_elasticity_has_its_sign),
      cmocka_unit_test(test_on_ranks_links_are_among_the_parts),
      cmocka_unit_test(test_processes_change_nothing),
      cmocka_unit_test(test_a_verdict_is_checked_by_what_it_names),
      cmocka_unit_test(test_a_verdict_names_the_activity_that_has_most_of_it),
      cmocka_unit_test(test_settings_that_cannot_be),
      cmocka_unit_test(test_what_is_set_is_told),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
