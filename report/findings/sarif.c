/* SPDX-License-Identifier: MIT */
#include <report/findings/sarif.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <pto/version.h>
#include <report/file/output_file.h>

#define PLACE_SIZE 256

struct sarif {
  const struct pto_findings *findings;
  const char *program;
  bool has_run;
};

struct place {
  char file[PLACE_SIZE];
  uint64_t line;
};

static bool is_of_path(char c) { return isalnum((unsigned char)c) || strchr("_./+-", c); }

/* The next "moe.c:123" of *text, which moves behind it; false: there is none. */
static bool next_place(const char **text, struct place *place) {
  for (const char *colon = *text; (colon = strchr(colon, ':')) != NULL; colon++) {
    const char *begin = colon;
    char *end;
    if (!isdigit((unsigned char)colon[1])) continue;
    while (begin > *text && is_of_path(begin[-1])) begin--;
    const size_t length = (size_t)(colon - begin);
    const char *dot = memchr(begin, '.', length);
    if (!dot || dot == begin || !isalpha((unsigned char)dot[1]) || length >= PLACE_SIZE) continue;
    place->line = strtoull(colon + 1, &end, 10);
    snprintf(place->file, sizeof place->file, "%.*s", (int)length, begin);
    *text = end;
    if (place->line) return true;
    colon = end - 1;
  }
  return false;
}

static void put_text(struct pto_json_writer *w, const char *key, const char *text) {
  pto_json_put_object(w, key);
  pto_json_put_string(w, "text", text);
  pto_json_object_end(w);
}

static void put_physical(struct pto_json_writer *w, const char *uri, uint64_t line) {
  pto_json_put_object(w, "physicalLocation");
  pto_json_put_object(w, "artifactLocation");
  pto_json_put_string(w, "uri", uri);
  pto_json_object_end(w);
  if (line) {
    pto_json_put_object(w, "region");
    pto_json_put_u64(w, "startLine", line);
    pto_json_object_end(w);
  }
  pto_json_object_end(w);
}

/* The first place, with the program and the later task; then the others. */
static void put_places(struct pto_json_writer *w, const struct sarif *sarif, const struct pto_finding *finding) {
  const char *rest = finding->sentence;
  struct place place;
  const uint64_t task = finding->tasks[1] == PTO_FINDING_NONE ? finding->tasks[0] : finding->tasks[1];
  char name[32];
  pto_json_put_array(w, "locations");
  pto_json_object_begin(w);
  if (next_place(&rest, &place)) put_physical(w, place.file, place.line);
  pto_json_put_array(w, "logicalLocations");
  pto_json_object_begin(w);
  snprintf(name, sizeof name, "task %llu", (unsigned long long)task);
  pto_json_put_string(w, "name", task == PTO_FINDING_NONE ? sarif->program : name);
  if (task == PTO_FINDING_NONE)
    pto_json_put_string(w, "kind", "module");
  else
    pto_json_put_string(w, "fullyQualifiedName", sarif->program);
  pto_json_object_end(w);
  pto_json_array_end(w);
  pto_json_object_end(w);
  pto_json_array_end(w);
  if (!next_place(&rest, &place)) return;
  pto_json_put_array(w, "relatedLocations");
  do {
    pto_json_object_begin(w);
    put_physical(w, place.file, place.line);
    pto_json_object_end(w);
  } while (next_place(&rest, &place));
  pto_json_array_end(w);
}

static const char *level_of(uint32_t kind) { return pto_finding_kind_is_note(kind) ? "note" : "error"; }

static void put_result(struct pto_json_writer *w, const struct sarif *sarif, const struct pto_finding *finding) {
  pto_json_newline(w);
  pto_json_object_begin(w);
  pto_json_put_string(w, "ruleId", pto_finding_kind_name(finding->kind));
  pto_json_put_u64(w, "ruleIndex", finding->kind);
  pto_json_put_string(w, "level", level_of(finding->kind));
  put_text(w, "message", finding->sentence);
  put_places(w, sarif, finding);
  pto_json_put_object(w, "partialFingerprints");
  pto_json_key(w, "group/v1");
  pto_json_hex(w, finding->group);
  pto_json_object_end(w);
  pto_json_object_end(w);
}

static void put_tool(struct pto_json_writer *w) {
  pto_json_put_object(w, "tool");
  pto_json_put_object(w, "driver");
  pto_json_put_string(w, "name", "ptosim");
  pto_json_put_string(w, "version", PTO_VERSION);
  pto_json_put_array(w, "rules");
  for (uint32_t kind = 0; kind < PTO_FINDING_COUNT; kind++) {
    pto_json_object_begin(w);
    pto_json_put_string(w, "id", pto_finding_kind_name(kind));
    put_text(w, "shortDescription", pto_finding_kind_meaning(kind));
    pto_json_put_object(w, "defaultConfiguration");
    pto_json_put_string(w, "level", level_of(kind));
    pto_json_object_end(w);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_object_end(w);
  pto_json_object_end(w);
}

static void put(struct pto_json_writer *w, const void *context) {
  const struct sarif *sarif = context;
  pto_json_put_string(w, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
  pto_json_put_string(w, "version", "2.1.0");
  pto_json_put_array(w, "runs");
  pto_json_object_begin(w);
  put_tool(w);
  pto_json_put_array(w, "invocations");
  pto_json_object_begin(w);
  pto_json_put_bool(w, "executionSuccessful", sarif->has_run);
  pto_json_object_end(w);
  pto_json_array_end(w);
  pto_json_put_string(w, "columnKind", "utf16CodeUnits");
  pto_json_put_array(w, "results");
  for (size_t i = 0; i < sarif->findings->count; i++) put_result(w, sarif, &sarif->findings->items[i]);
  pto_json_array_end(w);
  pto_json_object_end(w);
  pto_json_array_end(w);
}

int pto_sarif_write(const char *path, const struct pto_findings *findings, const char *program, bool has_run,
                    struct pto_error *error) {
  const struct sarif sarif = {findings, program, has_run};
  return pto_output_json(path, put, &sarif, error);
}
