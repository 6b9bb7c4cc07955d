/* SPDX-License-Identifier: MIT */
/*
 * Every conformance and validation case of the folder that WEBNN_DATA names, or the argument: a line an operation, and
 * at last "N passed, N failed, N skipped".  Skips as a whole where neither is given.
 *
 *   build/tests/tests/conformance/conformance_test [FOLDER] [--shard I/N]
 *
 * A shard runs some of the files, and prints JSON lines for `ptosim merge` (report/file/shard.h); so does a process
 * that a launcher says is one of several.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <formats/mapped_file.h>
#include <orchestration/loader/program_run.h>
#include <report/file/shard.h>
#include <runtime/base/clock.h>
#include <tests/conformance/case_folder.h>
#include <tests/conformance/conformance_run.h>
#include <tests/conformance/validation_run.h>

static int complain(const struct pto_error *error) {
  fprintf(stderr, "conformance: %s\n", error->sentence);
  return 2;
}

/* Names and bytes of the files. */
static uint64_t digest_of(const struct pto_case_list *list) {
  uint64_t digest = 0;
  for (size_t i = 0; i < list->count; i++) {
    struct pto_mapped_file file = {0};
    struct pto_error error;
    const char *path = list->files[i].path ? list->files[i].path : list->files[i].folder;
    digest = pto_xxh64(path, strlen(path), digest);
    if (!list->files[i].path || pto_mapped_file_init(&file, path, &error)) continue;
    digest = pto_xxh64(file.data, file.size_bytes, digest);
    pto_mapped_file_fini(&file);
  }
  return digest;
}

static void run_item(struct pto_share *share, const struct pto_case_list *list, size_t index) {
  struct pto_case_counts counts = {0};
  char *text = NULL;
  size_t size = 0;
  FILE *to = open_memstream(&text, &size);
  if (!to) return; /* merge misses the item */
  const double begin = pto_clock_seconds();
  pto_case_file_run(&list->files[index], to, &counts);
  fclose(to);
  json_t *by_path = json_object();
  for (uint32_t i = 0; i < PTO_CASE_PATHS; i++)
    (void)json_object_set_new(by_path, pto_conformance_paths[i].name, json_integer(counts.on_path[i]));
  pto_share_put(share, index, pto_clock_seconds() - begin,
                json_pack("{s:o, s:{s:i, s:i, s:i}, s:o, s:b}", "text", pto_shard_text(text), "counts", "passed",
                          (int)counts.passed, "failed", (int)counts.failed, "skipped", (int)counts.skipped,
                          "passed_by_path", by_path, "is_bad", counts.failed > 0));
  free(text);
}

static int run_shard(struct pto_share *share, struct pto_case_list *list, const char *data) {
  struct pto_error error;
  json_t *command = json_pack("[o]", pto_shard_text(data));
  const struct pto_share_list shared = {"conformance_test", command, list->count, digest_of(list)};
  if (share->shard.from[0])
    fprintf(stderr, "conformance: shard %" PRIu32 "/%" PRIu32 ", as %s says: %" PRIu64 " of %zu files\n",
            share->shard.number, share->shard.count, share->shard.from, pto_shard_size(&share->shard, list->count),
            list->count);
  int status = pto_share_begin(share, &shared, &error);
  for (size_t i = 0; i < list->count && status == PTO_OK; i++)
    if (pto_share_has(share, i)) run_item(share, list, i);
  if (status == PTO_OK) status = pto_share_end(share, &error);
  json_decref(command);
  pto_case_list_fini(list);
  return status ? complain(&error) : 0;
}

static int add_folder(struct pto_case_list *list, const char *data, const char *name, pto_case_run *run) {
  char folder[4000];
  snprintf(folder, sizeof folder, "%s/%s", data, name);
  return pto_case_list_add(list, folder, name, run);
}

int main(int argument_count, char **arguments) {
  const char *data = getenv("WEBNN_DATA");
  struct pto_share share = {.path = "-"};
  struct pto_case_list list = {0};
  struct pto_error error;
  int status = pto_shard_from_environment(&share.shard, &error);
  for (int i = 1; i < argument_count; i++) {
    if (strcmp(arguments[i], "--shard") != 0)
      data = arguments[i];
    else
      status = pto_shard_parse(++i < argument_count ? arguments[i] : "", &share.shard, &error);
  }
  if (status) return complain(&error);
  if (!data || !data[0]) {
    printf("| conformance: skipped, as WEBNN_DATA names no folder\n");
    return 77;
  }
  if (add_folder(&list, data, "validation", pto_validation_run) ||
      add_folder(&list, data, "conformance", pto_conformance_run)) {
    fprintf(stderr, "conformance: no memory for the names of files\n");
    return 2;
  }
  return pto_share_is_part(&share) ? run_shard(&share, &list, data) : pto_case_list_run(&list);
}
