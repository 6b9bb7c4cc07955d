/* SPDX-License-Identifier: MIT */
#include <tests/support/program_record.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>

static void expect_ok(int status, const char *name, const char *sentence) {
  if (status) fail_msg("%s: %s: %s", name, pto_status_name(status), sentence);
}

void program_record_open(struct program_record *record, const char *name, const char *case_name, uint32_t rules) {
  const struct pto_program_request request = {.case_name = case_name};
  struct pto_error error = {0};
  *record = (struct program_record){0};
  setenv("PTO_PROGRAM_PATH", "build/programs", 0);
  expect_ok(pto_program_load(name, &record->loaded, &error), name, error.sentence);
  const struct pto_program *program = record->loaded->program;
  expect_ok(pto_program_run_create(program, &request, &record->run, &error), name, error.sentence);
  if (pto_program_run_is_host(record->run)) return;
  struct pto_config config = {0};
  if (program->config) memcpy(&config, program->config, pto_min_u64(program->config->size, sizeof config));
  config.size = sizeof config;
  config.engine = "virtual";
  config.chip = program->min_clusters > 1 ? "a2a3" : "tiny";
  config.window = 16384;
  config.heap_bytes = UINT64_C(1) << 28;
  config.deps = rules;
  config.record = PTO_RECORD_GRAPH;
  expect_ok(pto_runtime_create_explained(&config, &record->rt, error.sentence, sizeof error.sentence), name,
            error.sentence);
  expect_ok(pto_program_run_prepare(record->run), name, pto_program_run_error(record->run)->sentence);
  expect_ok(pto_program_run_orchestrate(record->run, record->rt), name, pto_program_run_error(record->run)->sentence);
  record->trace = pto_runtime_trace(record->rt);
}

void program_record_close(struct program_record *record) {
  pto_runtime_destroy(record->rt);
  pto_program_run_destroy(record->run);
  pto_program_unload(record->loaded);
  memset(record, 0, sizeof *record);
}

/* A program that is loaded already would be loaded as a copy without debug information: so names are taken first. */
static int visit_cases(void *context, const char *name, const char *path) {
  void (*visit)(const char *, const char *) = *(void (**)(const char *, const char *))context;
  struct pto_loaded_program *loaded;
  struct pto_error error;
  char names[32][64];
  uint32_t count = 0;
  (void)path;
  if (strchr(name, '/')) return 0; /* a folder of programs that end in an error */
  expect_ok(pto_program_load(name, &loaded, &error), name, error.sentence);
  const struct pto_case *c = loaded->program->cases;
  const bool has_cases = c && c->name, has_ranks = loaded->program->ranks > 0;
  for (; c && c->name; c++) {
    if (c->is_long) continue;
    assert_true(count < PTO_ARRAY_LENGTH(names));
    snprintf(names[count++], sizeof names[0], "%s", c->name);
  }
  pto_program_unload(loaded);
  if (has_ranks) return 0; /* recorded a rank each: check/ranks */
  if (!has_cases) visit(name, NULL);
  for (uint32_t i = 0; i < count; i++) visit(name, names[i]);
  return 0;
}

void program_record_each(void (*visit)(const char *name, const char *case_name)) {
  setenv("PTO_PROGRAM_PATH", "build/programs", 0);
  assert_int_equal(pto_program_list(visit_cases, &visit), 0);
}
