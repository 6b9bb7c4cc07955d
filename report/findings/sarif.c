/* SPDX-License-Identifier: MIT */
#include <report/findings/sarif.h>

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include <pto/version.h>
#include <report/file/output_file.h>
#include <runtime/base/text.h>

struct sarif {
  const struct pto_findings *findings;
  const char *program;
  bool has_run;
};

static void put_text(struct pto_json_writer *w, const char *key, const char *text) {
  pto_json_put_object(w, key);
  pto_json_put_string(w, "text", text);
  pto_json_object_end(w);
}

/* A path as a URI: relative, or of this machine. */
static void put_uri(struct pto_json_writer *w, const char *path) {
  char uri[3 * PTO_SOURCE_FILE_SIZE + 8] = "";
  if (path[0] == '/') pto_text_append(uri, sizeof uri, "file://");
  for (; *path; path++) {
    const bool is_plain = isalnum((unsigned char)*path) || strchr("/._-+~", *path);
    pto_text_append(uri, sizeof uri, is_plain ? "%c" : "%%%02X", (unsigned char)*path);
  }
  pto_json_put_string(w, "uri", uri);
}

/* Of a loaded file without lines: the file alone. */
static void put_physical(struct pto_json_writer *w, const struct pto_source_place *place) {
  if (!place->file[0]) return;
  pto_json_put_object(w, "physicalLocation");
  pto_json_put_object(w, "artifactLocation");
  put_uri(w, place->file);
  pto_json_object_end(w);
  if (place->line) {
    pto_json_put_object(w, "region");
    pto_json_put_u64(w, "startLine", place->line);
    pto_json_object_end(w);
  }
  pto_json_object_end(w);
}

static void put_logical(struct pto_json_writer *w, const char *name, const char *program, const char *kind) {
  char qualified[256];
  if (!name[0]) return;
  pto_json_object_begin(w);
  pto_json_put_string(w, "name", name);
  if (program) {
    snprintf(qualified, sizeof qualified, "%s/%s", program, name);
    pto_json_put_string(w, "fullyQualifiedName", qualified);
  }
  if (kind) pto_json_put_string(w, "kind", kind);
  pto_json_object_end(w);
}

/* Task, array and function of one side; of a finding without any the program. */
static void put_logicals(struct pto_json_writer *w, const struct sarif *sarif, const struct pto_finding *finding,
                         int side) {
  const char *kernel = finding->kernels[side], *function = finding->places[side].own.function;
  char task[96] = "";
  if (finding->has_ranks && finding->ranks[side] != PTO_FINDING_NONE)
    pto_text_append(task, sizeof task, "rank %" PRIu64, finding->ranks[side]);
  if (finding->tasks[side] != PTO_FINDING_NONE)
    pto_text_append(task, sizeof task, "%stask %" PRIu64, task[0] ? " " : "", finding->tasks[side]);
  pto_json_put_array(w, "logicalLocations");
  put_logical(w, task, sarif->program, NULL);
  put_logical(w, kernel, NULL, "function");
  put_logical(w, finding->arrays[side], NULL, "variable");
  put_logical(w, function, NULL, "function");
  if (!task[0] && !kernel[0] && !function[0] && !finding->arrays[side][0])
    put_logical(w, sarif->program, NULL, "module");
  pto_json_array_end(w);
}

static bool has_place(const struct pto_finding *finding, int side) { return finding->places[side].own.file[0]; }

static void put_related(struct pto_json_writer *w, const struct sarif *sarif, const struct pto_finding *finding,
                        int side, bool is_callee) {
  const struct pto_source_call *place = &finding->places[side];
  const struct pto_source_place *one = is_callee ? &place->callee : &place->own;
  if (!one->file[0]) return;
  pto_json_object_begin(w);
  put_physical(w, one);
  if (!is_callee) put_logicals(w, sarif, finding, side);
  put_text(w, "message", is_callee ? "the call within" : "the earlier one");
  pto_json_object_end(w);
}

/* The later task's place, where the remedy belongs; then the others. */
static void put_places(struct pto_json_writer *w, const struct sarif *sarif, const struct pto_finding *finding) {
  const int later = finding->tasks[1] != PTO_FINDING_NONE || has_place(finding, 1);
  pto_json_put_array(w, "locations");
  pto_json_object_begin(w);
  put_physical(w, &finding->places[later].own);
  put_logicals(w, sarif, finding, later);
  pto_json_object_end(w);
  pto_json_array_end(w);
  pto_json_put_array(w, "relatedLocations");
  put_related(w, sarif, finding, later, true);
  if (later) {
    put_related(w, sarif, finding, 0, false);
    put_related(w, sarif, finding, 0, true);
  }
  pto_json_array_end(w);
}

static const char *level_of(uint32_t kind) { return pto_finding_kind_is_note(kind) ? "note" : "error"; }

static void put_result(struct pto_json_writer *w, const struct sarif *sarif, const struct pto_finding *finding) {
  char again[PTO_FINDING_COMMAND];
  const char *command = pto_finding_again(sarif->findings, finding, again, sizeof again);
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
  pto_json_put_object(w, "properties");
  pto_json_put_string(w, "decided", pto_decided_name(pto_finding_decided(finding)));
  pto_finding_put_accesses(finding, w);
  if (finding->rule) pto_json_put_string(w, "rule", finding->rule);
  if (finding->remedy) pto_json_put_string(w, "remedy", finding->remedy);
  if (command) pto_json_put_string(w, "command", command);
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

static void put_invocation(struct pto_json_writer *w, const struct sarif *sarif) {
  pto_json_put_array(w, "invocations");
  pto_json_object_begin(w);
  pto_json_put_bool(w, "executionSuccessful", sarif->has_run);
  if (sarif->findings->is_short) {
    pto_json_put_array(w, "toolExecutionNotifications");
    pto_json_object_begin(w);
    pto_json_put_string(w, "level", "error");
    put_text(w, "message", PTO_FINDINGS_LOST);
    pto_json_object_end(w);
    pto_json_array_end(w);
  }
  pto_json_object_end(w);
  pto_json_array_end(w);
}

static void put(struct pto_json_writer *w, const void *context) {
  const struct sarif *sarif = context;
  pto_json_put_string(w, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
  pto_json_put_string(w, "version", "2.1.0");
  pto_json_put_array(w, "runs");
  pto_json_object_begin(w);
  put_tool(w);
  put_invocation(w, sarif);
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
