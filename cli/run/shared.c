/* SPDX-License-Identifier: MIT */
#include <cli/run/shared.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>

static const struct pto_shard_lines *merged;

void pto_shared_merge(const struct pto_shard_lines *lines) { merged = lines; }

/* Those that write are merge's alone. */
static const struct {
  const char *name;
  bool writes;
} of_telling[] = {{"help", false}, {"jobs", false},  {"json", false}, {"junit", true}, {"quiet", false},
                  {"save", true},  {"report", true}, {"sarif", true}, {"shard", false}};

void pto_shared_note(struct pto_run_options *options, const char *format, ...) {
  char *word;
  va_list arguments;
  if (!options->command) return;
  va_start(arguments, format);
  if (vasprintf(&word, format, arguments) < 0) word = NULL;
  va_end(arguments);
  if (json_array_append_new(options->command, word ? pto_shard_text(word) : NULL)) options->share.written = PTO_ENOMEM;
  free(word);
}

void pto_shared_note_option(struct pto_run_options *options, const char *name, const char *value) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(of_telling); i++) {
    if (strcmp(of_telling[i].name, name) != 0) continue;
    if (of_telling[i].writes && !options->of_merge) options->of_merge = of_telling[i].name;
    return;
  }
  pto_shared_note(options, "--%s%s%s", name, value ? "=" : "", value ? value : "");
}

static const char *verb_of(const struct pto_run_options *options) {
  return json_string_value(json_array_get(options->command, 0));
}

static int open_merged(struct pto_run_options *options) {
  if (options->share.shard.count)
    return pto_complain(PTO_EXIT_USAGE, "merge: --shard is of %s: here all shards are merged", verb_of(options));
  const size_t count = json_array_size(merged->command);
  if (json_array_size(options->command) > count)
    return pto_complain(PTO_EXIT_USAGE,
                        "merge: \"%s\" is no option that says where results go: what was run stands in the lines",
                        json_string_value(json_array_get(options->command, count)));
  options->share.lines = merged;
  return PTO_EXIT_OK;
}

int pto_shared_open(struct pto_run_options *options) {
  struct pto_error error;
  struct pto_share *share = &options->share;
  if (!options->command) return PTO_EXIT_OK;
  if (merged) return open_merged(options);
  if (!share->shard.count && pto_shard_from_environment(&share->shard, &error))
    return pto_complain(PTO_EXIT_USAGE, "%s: %s", verb_of(options), error.sentence);
  if (!pto_share_is_part(share)) return PTO_EXIT_OK;
  pto_shard_clear_environment();
  if (options->of_merge)
    return pto_complain(PTO_EXIT_USAGE,
                        "%s: --%s is for `ptosim merge`: shard %" PRIu32 "/%" PRIu32 " writes its lines alone",
                        verb_of(options), options->of_merge, share->shard.number, share->shard.count);
  if (!options->json_path) options->json_path = "-";
  share->path = options->json_path;
  return PTO_EXIT_OK;
}

int pto_shared_begin(struct pto_run_options *options, uint64_t items, uint64_t digest) {
  const struct pto_shard *shard = &options->share.shard;
  const struct pto_share_list list = {"ptosim", options->command, items, digest};
  struct pto_error error;
  if (shard->from[0]) /* in one write: those of all ranks go to one terminal */
    fprintf(stderr, "ptosim: %s: shard %" PRIu32 "/%" PRIu32 ", as %s says: %" PRIu64 " of %" PRIu64 " items\n",
            verb_of(options), shard->number, shard->count, shard->from, pto_shard_size(shard, items), items);
  const int status = pto_share_begin(&options->share, &list, &error);
  if (status == PTO_OK) return PTO_EXIT_OK;
  return pto_complain(status == PTO_EINVAL ? PTO_EXIT_USAGE : PTO_EXIT_FAILED, "%s: %s", verb_of(options),
                      error.sentence);
}

int pto_shared_end(struct pto_run_options *options, int exit_code) {
  struct pto_error error;
  if (!pto_share_is_part(&options->share)) return exit_code;
  if (pto_share_end(&options->share, &error))
    return pto_complain(PTO_EXIT_FAILED, "%s: %s", verb_of(options), error.sentence);
  return exit_code == PTO_EXIT_FINDINGS ? PTO_EXIT_OK : exit_code;
}
