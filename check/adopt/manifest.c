/* SPDX-License-Identifier: MIT */
#include <check/adopt/manifest.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <formats/json_read.h>
#include <formats/mapped_file.h>
#include <pto/kernel.h>
#include <pto/program.h>
#include <runtime/base/base.h>

#define MOST_JSON_BYTES (UINT64_C(16) << 20)
#define MOST_FUNC_ID 0xffffu
#define MOST_TENSOR_BYTES (UINT64_C(1) << 46)
#define MOST_WORKERS 65536u
#define MOST_WINDOW (UINT64_C(1) << 32)

/* ---- words ---- */

struct word {
  const char *text;
  uint32_t value;
};

static const struct word modes[] = {{"tensormap_and_ringbuffer", PTO_ADOPTED_TRB},
                                    {"host_build_graph", PTO_ADOPTED_HBG}};
static const struct word cores[] = {{"aic", PTO_AIC}, {"aiv", PTO_AIV}};
static const struct word directions[] = {
    {"in", PTO_ARRAY_INPUT}, {"out", PTO_ARRAY_OUTPUT}, {"inout", PTO_ARRAY_INOUT}};
static const struct word judges[] = {
    {"none", PTO_ADOPTED_BY_NONE}, {"golden", PTO_ADOPTED_BY_GOLDEN}, {"test", PTO_ADOPTED_BY_TEST}};
static const struct word architectures[] = {{"a2a3", 0}, {"a5", 0}};
/* Those that have the existing runtime's names; an fp4e2m1 is a byte of two numbers. */
static const struct word their_dtypes[] = {
    {"fp8e4m3fn", PTO_FLOAT8_E4M3FN}, {"fp8e8m0", PTO_FLOAT8_E8M0FNU}, {"fp4e2m1", PTO_UINT8}};

static const struct word *find_word(const struct word *words, size_t count, const char *text) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(words[i].text, text) == 0) return &words[i];
  return NULL;
}

/* One of the words; refused with all of them. */
static const struct word *read_word(struct pto_json_reader *reader, json_t *object, const char *key,
                                    const struct word *words, size_t count) {
  const char *text = pto_json_read_string(reader, object, key);
  if (reader->status) return &words[0];
  const struct word *word = find_word(words, count, text);
  if (word) return word;
  char known[128] = "";
  for (size_t i = 0; i < count; i++)
    snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", words[i].text);
  pto_json_read_refuse(reader, "\"%s\" is \"%.60s\", expected one of %s", key, text, known);
  return &words[0];
}
#define READ_WORD(reader, object, key, words) read_word(reader, object, key, words, PTO_ARRAY_LENGTH(words))

static const char *optional_string(struct pto_json_reader *reader, json_t *object, const char *key) {
  return pto_json_has(object, key) ? pto_json_read_string(reader, object, key) : NULL;
}

static uint64_t optional_number(struct pto_json_reader *reader, json_t *object, const char *key, uint64_t most) {
  return pto_json_has(object, key) ? pto_json_read_u64(reader, object, key, most) : 0;
}

/* A text that names something. */
static const char *read_name(struct pto_json_reader *reader, json_t *object, const char *key) {
  const char *text = pto_json_read_string(reader, object, key);
  if (!text[0]) pto_json_read_refuse(reader, "\"%s\" is empty", key);
  return text;
}

/* ---- parts ---- */

static void read_source(struct pto_json_reader *reader, json_t *object, struct pto_adopted_source *source) {
  source->path = read_name(reader, object, "source");
  if (!pto_json_has(object, "includes")) return;
  json_t *array = pto_json_read_array(reader, object, "includes", PTO_ADOPTED_MOST_INCLUDES), *item;
  size_t i;
  json_array_foreach(array, i, item) {
    source->includes[i] = json_string_value(item);
    if (!source->includes[i]) pto_json_read_refuse(reader, "\"includes\" holds no path at %zu", i);
  }
  if (!reader->status) source->include_count = (uint32_t)json_array_size(array);
}

static void read_kernel(struct pto_json_reader *reader, json_t *array, struct pto_adopted *adopted, uint32_t i) {
  struct pto_adopted_kernel *kernel = &adopted->kernels[i];
  pto_json_read_at(reader, "kernels[%" PRIu32 "]", i);
  json_t *object = pto_json_read_item(reader, array, i);
  kernel->func_id = (uint32_t)pto_json_read_u64(reader, object, "func_id", MOST_FUNC_ID);
  kernel->core = READ_WORD(reader, object, "core", cores)->value;
  read_source(reader, object, &kernel->source);
  kernel->name = pto_json_has(object, "name") ? read_name(reader, object, "name") : kernel->source.path;
  kernel->substitute = optional_string(reader, object, "substitute");
  if (!reader->status && kernel->substitute && strcmp(kernel->substitute, PTO_ADOPTED_NOTHING) != 0 &&
      !pto_kernel_find(kernel->substitute))
    pto_json_read_refuse(reader, "\"substitute\" is \"%.60s\", expected \"nothing\" or a kernel of ptosim list kernels",
                         kernel->substitute);
  for (uint32_t k = 0; k < i && !reader->status; k++)
    if (adopted->kernels[k].func_id == kernel->func_id && adopted->kernels[k].core == kernel->core)
      pto_json_read_refuse(reader, "func_id %" PRIu32 " is that of kernels[%" PRIu32 "] too", kernel->func_id, k);
}

static void read_dtype(struct pto_json_reader *reader, json_t *object, struct pto_adopted_tensor *tensor) {
  tensor->dtype_name = pto_json_read_string(reader, object, "dtype");
  if (reader->status) return;
  const struct word *theirs = find_word(their_dtypes, PTO_ARRAY_LENGTH(their_dtypes), tensor->dtype_name);
  const int dtype = theirs ? (int)theirs->value : pto_dtype_from_name(tensor->dtype_name);
  if (dtype < 0 || pto_dtype_bits((uint32_t)dtype) < 8)
    pto_json_read_refuse(reader, "\"dtype\" is \"%.60s\", expected a type of whole bytes, such as f32 or i64",
                         tensor->dtype_name);
  tensor->dtype = dtype < 0 ? 0 : (uint32_t)dtype;
}

static void read_shape(struct pto_json_reader *reader, json_t *object, struct pto_adopted_tensor *tensor) {
  pto_json_read_u64s(reader, object, "shape", PTO_ADOPTED_MOST_DIMS, UINT32_MAX, tensor->shape, &tensor->ndims);
  if (!reader->status && tensor->ndims == 0) pto_json_read_refuse(reader, "\"shape\" is empty");
  tensor->size_bytes = pto_dtype_size(tensor->dtype);
  for (uint32_t d = 0; d < tensor->ndims && !reader->status; d++)
    if (__builtin_mul_overflow(tensor->size_bytes, tensor->shape[d], &tensor->size_bytes) ||
        tensor->size_bytes > MOST_TENSOR_BYTES)
      pto_json_read_refuse(reader, "\"shape\" has more than %" PRIu64 " bytes", MOST_TENSOR_BYTES);
}

static void read_tensor(struct pto_json_reader *reader, json_t *array, struct pto_adopted *adopted, uint32_t i) {
  struct pto_adopted_tensor *tensor = &adopted->tensors[i];
  pto_json_read_at(reader, "tensors[%" PRIu32 "]", i);
  json_t *object = pto_json_read_item(reader, array, i);
  tensor->name = read_name(reader, object, "name");
  tensor->role = READ_WORD(reader, object, "direction", directions)->value;
  read_dtype(reader, object, tensor);
  read_shape(reader, object, tensor);
  tensor->bytes_path = optional_string(reader, object, "bytes");
  tensor->golden_path = optional_string(reader, object, "golden");
  for (uint32_t k = 0; k < i && !reader->status; k++)
    if (strcmp(adopted->tensors[k].name, tensor->name) == 0)
      pto_json_read_refuse(reader, "\"%.60s\" is the name of tensors[%" PRIu32 "] too", tensor->name, k);
  if (tensor->golden_path && tensor->role == PTO_ARRAY_INPUT)
    pto_json_read_refuse(reader, "\"golden\" is given and the tensor is no output");
  if (tensor->golden_path && tensor->role != PTO_ARRAY_INPUT && tensor->dtype == PTO_UINT8 &&
      find_word(their_dtypes, PTO_ARRAY_LENGTH(their_dtypes), tensor->dtype_name))
    pto_json_read_refuse(reader, "\"golden\" is given and %.60s has no tolerance; \"judge\" must be \"test\"",
                         tensor->dtype_name);
}

/* 64 bits, which JSON numbers do not hold everywhere: "0x…", at most 16 digits. */
static void read_scalar(struct pto_json_reader *reader, json_t *array, struct pto_adopted *adopted, uint32_t i) {
  struct pto_adopted_scalar *scalar = &adopted->scalars[i];
  pto_json_read_at(reader, "scalars[%" PRIu32 "]", i);
  json_t *object = pto_json_read_item(reader, array, i);
  scalar->name = read_name(reader, object, "name");
  const char *text = pto_json_read_string(reader, object, "bits");
  if (reader->status) return;
  scalar->is_rank = strcmp(text, "rank") == 0;
  const size_t digits = strncmp(text, "0x", 2) == 0 ? strspn(text + 2, "0123456789abcdefABCDEF") : 0;
  if (!scalar->is_rank && (digits == 0 || digits > 16 || text[2 + digits]))
    pto_json_read_refuse(reader, "\"bits\" is \"%.60s\", expected 0x and 1 to 16 hexadecimal digits, or rank", text);
  else if (!scalar->is_rank)
    scalar->bits = strtoull(text, NULL, 16);
}

/* ---- the whole ---- */

static void read_settings(struct pto_json_reader *reader, json_t *root, struct pto_adopted *adopted) {
  adopted->rtol = pto_json_has(root, "rtol") ? pto_json_read_number(reader, root, "rtol") : 0;
  adopted->atol = pto_json_has(root, "atol") ? pto_json_read_number(reader, root, "atol") : 0;
  if (adopted->rtol < 0 || adopted->atol < 0) pto_json_read_refuse(reader, "a tolerance is below 0");
  adopted->chip = optional_string(reader, root, "chip");
  adopted->window = optional_number(reader, root, "window", MOST_WINDOW);
  adopted->heap_bytes = optional_number(reader, root, "heap_bytes", MOST_TENSOR_BYTES);
  adopted->list_chunks = optional_number(reader, root, "list_chunks", UINT32_MAX);
  adopted->clusters = optional_number(reader, root, "clusters", UINT32_MAX);
  adopted->workers = optional_number(reader, root, "workers", MOST_WORKERS);
  if (adopted->window && !pto_is_power_of_two(adopted->window))
    pto_json_read_refuse(reader, "\"window\" is %" PRIu64 ", expected a power of two", adopted->window);
  if (adopted->heap_bytes % 1024)
    pto_json_read_refuse(reader, "\"heap_bytes\" is %" PRIu64 ", expected a multiple of 1024", adopted->heap_bytes);
}

static void read_head(struct pto_json_reader *reader, struct pto_adopted *adopted) {
  json_t *root = adopted->root;
  const char *format = pto_json_read_string(reader, root, "format");
  const uint64_t version = pto_json_read_u64(reader, root, "version", UINT32_MAX);
  if (!reader->status && (strcmp(format, PTO_ADOPTED_FORMAT) != 0 || version != PTO_ADOPTED_FORMAT_VERSION))
    pto_json_read_refuse(reader, "is \"%.40s\" version %" PRIu64 ", expected \"%s\" version %u", format, version,
                         PTO_ADOPTED_FORMAT, PTO_ADOPTED_FORMAT_VERSION);
  adopted->name = read_name(reader, root, "name");
  adopted->scene = optional_string(reader, root, "scene");
  adopted->architecture = READ_WORD(reader, root, "architecture", architectures)->text;
  adopted->mode = READ_WORD(reader, root, "mode", modes)->value;
  adopted->judge = READ_WORD(reader, root, "judge", judges)->value;
  read_settings(reader, root, adopted);
  pto_json_read_at(reader, "orchestration");
  json_t *orchestration = pto_json_read_object(reader, root, "orchestration");
  adopted->entry = read_name(reader, orchestration, "entry");
  read_source(reader, orchestration, &adopted->orchestration);
  pto_json_read_at(reader, "%s", "");
}

/* Who judges must be able to. */
static void check_judge(struct pto_json_reader *reader, const struct pto_adopted *adopted) {
  uint32_t goldens = 0;
  for (uint32_t i = 0; i < adopted->tensor_count; i++) goldens += adopted->tensors[i].golden_path != NULL;
  pto_json_read_at(reader, "%s", "");
  if (adopted->judge == PTO_ADOPTED_BY_GOLDEN && goldens == 0)
    pto_json_read_refuse(reader, "\"judge\" is \"golden\", expected a \"golden\" of at least one tensor");
  if (adopted->judge != PTO_ADOPTED_BY_GOLDEN && goldens > 0)
    pto_json_read_refuse(reader, "a tensor has a \"golden\", expected \"judge\" to be \"golden\"");
}

static int read_all(struct pto_json_reader *reader, struct pto_adopted *adopted) {
  read_head(reader, adopted);
  json_t *kernels = pto_json_read_array(reader, adopted->root, "kernels", PTO_ADOPTED_MOST_KERNELS);
  json_t *tensors = pto_json_read_array(reader, adopted->root, "tensors", PTO_ADOPTED_MOST_TENSORS);
  json_t *scalars = pto_json_read_array(reader, adopted->root, "scalars", PTO_ADOPTED_MOST_SCALARS);
  if (reader->status) return reader->status;
  const size_t counts[] = {json_array_size(kernels), json_array_size(tensors), json_array_size(scalars)};
  adopted->kernels = calloc(counts[0] + 1, sizeof *adopted->kernels);
  adopted->tensors = calloc(counts[1] + 1, sizeof *adopted->tensors);
  adopted->scalars = calloc(counts[2] + 1, sizeof *adopted->scalars);
  if (!adopted->kernels || !adopted->tensors || !adopted->scalars)
    return reader->status = pto_error_set(reader->error, PTO_ENOMEM, "%.400s: out of memory", reader->path);
  adopted->kernel_count = (uint32_t)counts[0];
  adopted->tensor_count = (uint32_t)counts[1];
  adopted->scalar_count = (uint32_t)counts[2];
  for (uint32_t i = 0; i < adopted->kernel_count && !reader->status; i++) read_kernel(reader, kernels, adopted, i);
  for (uint32_t i = 0; i < adopted->tensor_count && !reader->status; i++) read_tensor(reader, tensors, adopted, i);
  for (uint32_t i = 0; i < adopted->scalar_count && !reader->status; i++) read_scalar(reader, scalars, adopted, i);
  check_judge(reader, adopted);
  return reader->status;
}

const char *pto_adopted_chip(const struct pto_adopted *adopted) {
  return adopted->chip ? adopted->chip : adopted->architecture;
}

bool pto_adopted_is_file(const char *path) {
  static const char mark[] = "\"" PTO_ADOPTED_FORMAT "\"";
  struct pto_mapped_file file;
  struct pto_error unused;
  if (pto_mapped_file_init(&file, path, &unused)) return false;
  const bool is_one = file.size_bytes && memmem(file.data, file.size_bytes, mark, sizeof mark - 1);
  pto_mapped_file_fini(&file);
  return is_one;
}

static int finish(struct pto_json_reader *reader, struct pto_adopted *adopted) {
  const int status = adopted->root ? read_all(reader, adopted) : reader->status;
  if (status) pto_adopted_fini(adopted);
  return status;
}

int pto_adopted_read(const char *path, struct pto_adopted *adopted, struct pto_error *error) {
  struct pto_json_reader reader;
  *adopted = (struct pto_adopted){.path = path};
  adopted->root = pto_json_read_file(&reader, path, MOST_JSON_BYTES, error);
  return finish(&reader, adopted);
}

int pto_adopted_read_memory(const char *path, const void *bytes, size_t size, struct pto_adopted *adopted,
                            struct pto_error *error) {
  struct pto_json_reader reader;
  *adopted = (struct pto_adopted){.path = path};
  adopted->root = pto_json_read_memory(&reader, path, bytes, size, error);
  return finish(&reader, adopted);
}

void pto_adopted_fini(struct pto_adopted *adopted) {
  free(adopted->kernels);
  free(adopted->tensors);
  free(adopted->scalars);
  json_decref(adopted->root);
  memset(adopted, 0, sizeof *adopted);
}

bool pto_adopted_path(const struct pto_adopted *adopted, const char *path, char *whole, size_t size) {
  const char *slash = strrchr(adopted->path, '/');
  const int folder = path[0] != '/' && slash ? (int)(slash - adopted->path) + 1 : 0;
  return snprintf(whole, size, "%.*s%s", folder, adopted->path, path) < (int)size;
}
