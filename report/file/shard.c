/* SPDX-License-Identifier: MIT */
#include <report/file/shard.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <formats/mapped_file.h>
#include <orchestration/loader/program_run.h>
#include <pto/version.h>
#include <report/file/output_file.h>
#include <runtime/base/base.h>

/* ---- I/N ---- */

/* A decimal number that ends at `end`; `text` goes behind it. */
static bool take_number(const char **text, char end, uint64_t *value) {
  char *behind;
  if (**text < '0' || **text > '9' || strspn(*text, "0123456789") > 10) return false;
  *value = strtoull(*text, &behind, 10);
  *text = behind + (*behind != '\0');
  return *behind == end;
}

int pto_shard_parse(const char *text, struct pto_shard *shard, struct pto_error *error) {
  const char *rest = text;
  uint64_t number, count;
  const bool is_form = take_number(&rest, '/', &number) && take_number(&rest, '\0', &count);
  if (!is_form || number < 1 || number > count || count > PTO_SHARDS_MOST)
    return pto_error_set(error, PTO_EINVAL, "\"%s\" is no I/N with I from 1 to N, such as 2/8, and N at most %u", text,
                         PTO_SHARDS_MOST);
  *shard = (struct pto_shard){.number = (uint32_t)number, .count = (uint32_t)count};
  return PTO_OK;
}

/* ---- launchers ---- */

/* `rank` counts from what `first` is, by `step`; both NULL: from 0, by 1. */
static const struct launcher {
  const char *rank, *size, *first, *step;
} ranks[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL, NULL},
             {"PMI_RANK", "PMI_SIZE", NULL, NULL},
             {"SLURM_PROCID", "SLURM_NTASKS", NULL, NULL}},
  array = {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP"};

static int read_variable(const char *name, uint64_t missing, uint64_t *value, struct pto_error *error) {
  const char *text = name ? getenv(name) : NULL, *rest = text;
  *value = missing;
  if (!text || take_number(&rest, '\0', value)) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL,
                       "%s=%s in the environment is no number; --shard I/N says which share is wanted", name, text);
}

static int read_launcher(const struct launcher *launcher, uint64_t *rank, uint64_t *size, struct pto_error *error) {
  uint64_t first, step, at;
  int status = read_variable(launcher->rank, 0, &at, error);
  if (status == PTO_OK) status = read_variable(launcher->size, 1, size, error);
  if (status == PTO_OK) status = read_variable(launcher->first, 0, &first, error);
  if (status == PTO_OK) status = read_variable(launcher->step, 1, &step, error);
  if (status) return status;
  *rank = at < first || step == 0 || (at - first) % step ? *size : (at - first) / step;
  if (*rank < *size && *size <= PTO_SHARDS_MOST) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL,
                       "%s=%" PRIu64 " and %s=%" PRIu64 " in the environment are no share%s; --shard I/N says which is "
                       "wanted",
                       launcher->rank, at, launcher->size, *size,
                       launcher->first ? ", as tasks of an array are that go up by the same step" : "");
}

static bool is_told(const struct launcher *launcher) { return getenv(launcher->rank) && getenv(launcher->size); }

int pto_shard_from_environment(struct pto_shard *shard, struct pto_error *error) {
  uint64_t number = 0, count = 1, rank, size;
  *shard = (struct pto_shard){0};
  char from[sizeof shard->from] = "";
  if (is_told(&array)) {
    const int status = read_launcher(&array, &number, &count, error);
    if (status) return status;
    snprintf(from, sizeof from, "%s", array.rank);
  }
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(ranks); i++) {
    if (!is_told(&ranks[i])) continue;
    const int status = read_launcher(&ranks[i], &rank, &size, error);
    if (status) return status;
    number = number * size + rank;
    count *= size;
    if (size > 1 || count == 1) {
      const size_t used = count == size ? 0 : strlen(from); /* an array of one says nothing */
      snprintf(from + used, sizeof from - used, "%s%s", used ? " and " : "", ranks[i].rank);
    }
    break;
  }
  if (count <= 1) return PTO_OK;
  if (count > PTO_SHARDS_MOST)
    return pto_error_set(error, PTO_EINVAL, "%s in the environment are %" PRIu64 " shares; at most %u are made", from,
                         count, PTO_SHARDS_MOST);
  shard->number = (uint32_t)number + 1;
  shard->count = (uint32_t)count;
  memcpy(shard->from, from, sizeof from);
  return PTO_OK;
}

void pto_shard_clear_environment(void) {
  unsetenv(array.rank), unsetenv(array.size);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(ranks); i++) unsetenv(ranks[i].rank), unsetenv(ranks[i].size);
}

/* ---- lines ---- */

const char *pto_shard_build(char text[64]) {
  struct pto_mapped_file file;
  struct pto_error error;
  uint64_t digest;
  if (pto_mapped_file_init(&file, "/proc/self/exe", &error)) return NULL;
  digest = pto_xxh64(file.data, file.size_bytes, 0);
  pto_mapped_file_fini(&file);
  snprintf(text, 64, "%s %016" PRIx64, PTO_VERSION, digest);
  return text;
}

json_t *pto_shard_text(const char *text) {
  json_t *string = json_string(text);
  char *copy = string ? NULL : strdup(text);
  for (char *c = copy; c && *c; c++)
    if ((unsigned char)*c >= 0x80) *c = '?';
  if (copy) string = json_string(copy);
  free(copy);
  return string;
}

/* What every line begins with; then the members of `rest`, which is taken. */
static void write_line(struct pto_share *share, json_t *rest) {
  json_t *line = json_pack("{s:s, s:i, s:i, s:i}", "format", "pto-shard", "version", 1, "shard",
                           (int)share->shard.number, "of", (int)share->shard.count);
  if (!line || !rest || json_object_update(line, rest) ||
      (json_dumpf(line, share->stream, JSON_COMPACT) && !ferror(share->stream)))
    share->written = PTO_ENOMEM;
  fputc('\n', share->stream);
  json_decref(line);
  json_decref(rest);
}

static void write_head(struct pto_share *share, const struct pto_share_list *list, const char *build) {
  char digest[20];
  const char *from = share->shard.from[0] ? share->shard.from : NULL;
  snprintf(digest, sizeof digest, "%016" PRIx64, list->digest);
  write_line(share, json_pack("{s:s, s:s, s:O, s:s?, s:I, s:s}", "program", list->program, "build", build, "command",
                              list->command, "from", from, "items", (json_int_t)list->items, "list", digest));
  fflush(share->stream);
}

/* Whether the list is the one that shards had. */
static int check_list(const struct pto_shard_lines *lines, const struct pto_share_list *list, struct pto_error *error) {
  if (lines->items == list->items && lines->digest == list->digest) return PTO_OK;
  if (lines->items != list->items)
    return pto_error_set(error, PTO_EINVAL, "%s: of a list of %" PRIu64 " items, and now it has %" PRIu64,
                         lines->heads[0].path, lines->items, list->items);
  return pto_error_set(error, PTO_EINVAL,
                       "%s: of a list %016" PRIx64 ", and now it is %016" PRIx64 ": what is run has changed since",
                       lines->heads[0].path, lines->digest, list->digest);
}

int pto_share_begin(struct pto_share *share, const struct pto_share_list *list, struct pto_error *error) {
  if (share->lines) return check_list(share->lines, list, error);
  if (!pto_share_is_part(share)) return PTO_OK;
  char build[64];
  if (!pto_shard_build(build)) return pto_error_set(error, PTO_ESYSTEM, "the executable cannot be read");
  const int status = pto_output_open_stream(share->path, &share->stream, error);
  if (status == PTO_OK) write_head(share, list, build);
  return status;
}

int pto_share_end(struct pto_share *share, struct pto_error *error) {
  FILE *stream = share->stream;
  share->stream = NULL;
  return stream ? pto_output_close_stream(share->path, stream, share->written, error) : PTO_OK;
}

json_t *pto_share_result(const struct pto_share *share, uint64_t item, double *seconds) {
  if (!share || !share->lines) return NULL;
  PTO_ASSERT(item < share->lines->items);
  if (seconds) *seconds = share->lines->items_found[item].seconds;
  return share->lines->items_found[item].result;
}

void pto_share_put(struct pto_share *share, uint64_t item, double seconds, json_t *result) {
  json_t *took = isnan(seconds) ? json_null() : json_real(seconds);
  write_line(share, json_pack("{s:I, s:o, s:o}", "item", (json_int_t)item, "seconds", took, "result", result));
  fflush(share->stream);
}
