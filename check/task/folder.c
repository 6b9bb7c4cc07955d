/* SPDX-License-Identifier: MIT */
#include <check/task/folder.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <formats/json_read.h>
#include <formats/new_file.h>
#include <formats/npy.h>
#include <runtime/base/base.h>
#include <runtime/base/text.h>

#define MOST_JSON_BYTES (UINT64_C(4) << 20)
#define MOST_NUMBER (UINT64_C(1) << 62)

static const char *const roles[] = {"aic", "aiv0", "aiv1"};
static const struct {
  const char *name;
  uint32_t mode;
} modes[] = {{"INPUT", PTO_INPUT}, {"OUTPUT", PTO_OUTPUT},         {"INOUT", PTO_INOUT},
             {"HOLD", PTO_HOLD},   {"ACCUMULATE", PTO_ACCUMULATE}, {"SCALAR", PTO_SCALAR}};
static const char *const scalar_types[] = {"", "f32", "i64", "u64"};

static void path_of(const char *folder, const char *what, uint32_t number, const char *when, char *path) {
  snprintf(path, PATH_MAX, "%s/%s%" PRIu32 ".%s", folder, what, number, when);
}

/* ---- elements ---- */

uint64_t pto_task_param_units(const struct pto_task_param *param) {
  uint64_t count = 1;
  for (uint32_t d = 0; d < param->ndims; d++) count *= param->shape[d];
  return pto_dtype_bits(param->dtype) == 4 ? (count + 1) / 2 : count;
}

/* 4-bit types are dense, and are taken byte by byte. */
void pto_task_param_each(const struct pto_task_param *param,
                         void (*visit)(void *context, uint64_t index, uint64_t offset_bytes), void *context) {
  uint64_t index[PTO_MAX_DIMS] = {0}, units = pto_task_param_units(param);
  const uint64_t size = pto_dtype_size(param->dtype);
  if (pto_dtype_bits(param->dtype) == 4) {
    for (uint64_t i = 0; i < units; i++) visit(context, i, param->offset_bytes + i);
    return;
  }
  for (uint64_t i = 0; i < units; i++) {
    uint64_t at = 0;
    for (uint32_t d = 0; d < param->ndims; d++) at += index[d] * param->strides[d];
    visit(context, i, param->offset_bytes + at * size);
    for (uint32_t d = param->ndims; d-- > 0 && ++index[d] == param->shape[d];) index[d] = 0;
  }
}

/* ---- writing ---- */

/* Where memory is short there is no array, or no object, and json_pack takes none. */
static void append(json_t **array, json_t *item) {
  if (json_array_append_new(*array, item) == 0) return;
  json_decref(*array);
  *array = NULL;
}
static void put(json_t **object, const char *key, json_t *item) {
  if (json_object_set_new(*object, key, item) == 0) return;
  json_decref(*object);
  *object = NULL;
}

static json_t *numbers_of(const uint64_t *values, uint32_t count) {
  json_t *array = json_array();
  for (uint32_t i = 0; i < count; i++) append(&array, json_integer((json_int_t)values[i]));
  return array;
}

static const char *mode_name(uint32_t mode) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(modes); i++)
    if (modes[i].mode == mode) return modes[i].name;
  return "?";
}

static json_t *json_of_param(const struct pto_task_param *param, uint32_t index) {
  char bits[24];
  if (param->mode == PTO_SCALAR) {
    snprintf(bits, sizeof bits, "%016" PRIx64, param->scalar.u64);
    return json_pack("{s:i,s:s,s:s,s:s}", "index", index, "mode", "SCALAR", "type", scalar_types[param->scalar_type],
                     "bits", bits);
  }
  json_t *object = json_pack("{s:i,s:s,s:s,s:o,s:o,s:I}", "index", index, "mode", mode_name(param->mode), "dtype",
                             pto_dtype_name(param->dtype), "shape", numbers_of(param->shape, param->ndims), "strides",
                             numbers_of(param->strides, param->ndims), "offset_bytes", (json_int_t)param->offset_bytes);
  put(&object, "memory", param->memory == PTO_TASK_NO_MEMORY ? json_null() : json_integer(param->memory));
  return object;
}

static json_t *json_of_kernels(const struct pto_task_folder *folder) {
  json_t *object = json_object();
  for (size_t role = 0; role < PTO_ARRAY_LENGTH(roles); role++) {
    const struct pto_task_kernel *kernel = &folder->kernels[role];
    if (kernel->name)
      put(&object, roles[role],
          json_pack("{s:s,s:b,s:i}", "name", kernel->name, "general", kernel->is_general, "nth", kernel->nth));
  }
  return object;
}

static json_t *json_of_run(const struct pto_task_folder *folder) {
  json_t *settings = json_array();
  for (uint32_t i = 0; i < folder->setting_count; i++) append(&settings, json_string(folder->settings[i]));
  return json_pack("{s:s?,s:o,s:I,s:s?,s:s?,s:s?}", "case", folder->case_name, "settings", settings, "seed",
                   (json_int_t)(folder->seed & INT64_MAX), "engine", folder->engine, "chip", folder->chip, "deps",
                   folder->deps);
}

static json_t *json_of_folder(const struct pto_task_folder *folder) {
  json_t *memories = json_array(), *params = json_array();
  for (uint32_t i = 0; i < folder->memory_count; i++)
    append(&memories, json_pack("{s:I,s:I,s:b}", "bytes", (json_int_t)folder->memories[i].size_bytes, "page_offset",
                                (json_int_t)folder->memories[i].page_offset, "changed", folder->memories[i].has_after));
  for (uint32_t i = 0; i < folder->param_count; i++) append(&params, json_of_param(&folder->params[i], i));
  return json_pack("{s:s,s:i,s:s,s:I,s:o,s:b,s:o,s:I,s:b,s:{s:I,s:I},s:o,s:o}", "format", PTO_TASK_FORMAT, "version",
                   PTO_TASK_FORMAT_VERSION, "program", folder->program, "task", (json_int_t)folder->number, "run",
                   json_of_run(folder), "ended", folder->has_ended, "kernels", json_of_kernels(folder), "blocks",
                   (json_int_t)folder->block_count, "sync_start", folder->is_sync_start, "local_bytes", "aiv",
                   (json_int_t)folder->aiv_local_bytes, "aic", (json_int_t)folder->aic_local_bytes, "memory", memories,
                   "params", params);
}

int pto_task_folder_write(const struct pto_task_folder *folder, const char *path, struct pto_error *error) {
  char file[PATH_MAX];
  json_t *root = json_of_folder(folder);
  if (!root) return pto_error_set(error, PTO_ENOMEM, "no memory for the description of task %" PRIu64, folder->number);
  snprintf(file, sizeof file, "%s/task.json", path);
  FILE *stream = pto_new_file_create(file, error);
  int status = PTO_ESYSTEM;
  if (stream) {
    errno = 0;
    const bool is_bad = json_dumpf(root, stream, JSON_INDENT(1)) != 0;
    status = pto_new_file_finish(file, stream, !is_bad ? 0 : errno ? errno : ENOMEM, error);
  }
  json_decref(root);
  return status;
}

static int write_bytes(const char *path, const unsigned char *bytes, uint64_t size_bytes, struct pto_error *error) {
  FILE *file = pto_new_file_create(path, error);
  if (!file) return PTO_ESYSTEM;
  return pto_new_file_finish(path, file, fwrite(bytes, 1, size_bytes, file) == size_bytes ? 0 : errno, error);
}

struct gather {
  const unsigned char *bytes;
  unsigned char *dense;
  uint64_t unit_bytes;
};
static void gather_unit(void *context, uint64_t index, uint64_t offset_bytes) {
  const struct gather *g = context;
  memcpy(g->dense + index * g->unit_bytes, g->bytes + offset_bytes, g->unit_bytes);
}

static int write_param(const struct pto_task_param *param, const char *path, uint32_t index, const char *when,
                       const unsigned char *bytes, struct pto_error *error) {
  char name[32], file[PATH_MAX];
  struct gather g = {.bytes = bytes, .unit_bytes = pto_dtype_size(param->dtype)};
  uint64_t units = pto_task_param_units(param);
  snprintf(name, sizeof name, "%s.npy", when);
  path_of(path, "param", index, name, file);
  g.dense = malloc(units ? units * g.unit_bytes : 1);
  if (!g.dense) return pto_error_set(error, PTO_ENOMEM, "%.400s: no memory for its elements", file);
  pto_task_param_each(param, gather_unit, &g);
  int status = pto_npy_write(file, param->dtype, param->ndims, param->shape, g.dense, error);
  free(g.dense);
  return status;
}

int pto_task_folder_write_memory(const struct pto_task_folder *folder, const char *path, uint32_t memory,
                                 const char *when, const unsigned char *bytes, struct pto_error *error) {
  char name[32], file[PATH_MAX];
  snprintf(name, sizeof name, "%s.bin", when);
  path_of(path, "memory", memory, name, file);
  int status = write_bytes(file, bytes, folder->memories[memory].size_bytes, error);
  for (uint32_t i = 0; i < folder->param_count && status == PTO_OK; i++)
    if (folder->params[i].mode != PTO_SCALAR && folder->params[i].memory == memory)
      status = write_param(&folder->params[i], path, i, when, bytes, error);
  return status;
}

/* ---- reading ---- */

static void read_scalar(struct pto_json_reader *reader, json_t *object, struct pto_task_param *param) {
  const char *type = pto_json_read_string(reader, object, "type"), *bits = pto_json_read_string(reader, object, "bits");
  char *end;
  for (uint32_t i = 1; i < PTO_ARRAY_LENGTH(scalar_types); i++)
    if (strcmp(scalar_types[i], type) == 0) param->scalar_type = i;
  if (!param->scalar_type) pto_json_read_refuse(reader, "\"type\" is none of f32, i64, u64");
  param->scalar.u64 = strtoull(bits, &end, 16);
  if (strlen(bits) != 16 || *end || strspn(bits, "0123456789abcdef") != 16)
    pto_json_read_refuse(reader, "\"bits\" are not 16 hexadecimal digits");
}

static void read_tensor(struct pto_json_reader *reader, json_t *object, const struct pto_task_folder *folder,
                        struct pto_task_param *param) {
  uint32_t stride_count;
  int dtype = pto_dtype_from_name(pto_json_read_string(reader, object, "dtype"));
  if (dtype < 0) pto_json_read_refuse(reader, "\"dtype\" is none that there is");
  param->dtype = dtype < 0 ? 0 : (uint32_t)dtype;
  pto_json_read_u64s(reader, object, "shape", PTO_MAX_DIMS, MOST_NUMBER, param->shape, &param->ndims);
  pto_json_read_u64s(reader, object, "strides", PTO_MAX_DIMS, MOST_NUMBER, param->strides, &stride_count);
  if (param->ndims != stride_count)
    pto_json_read_refuse(reader, "%u strides for %u dimensions", stride_count, param->ndims);
  param->offset_bytes = pto_json_read_u64(reader, object, "offset_bytes", MOST_NUMBER);
  if (!reader->status && pto_json_has(object, "memory")) {
    param->memory = (uint32_t)pto_json_read_u64(reader, object, "memory", PTO_MAX_TENSORS);
    if (param->memory >= folder->memory_count) pto_json_read_refuse(reader, "there is no memory %u", param->memory);
  }
}

static void read_param(struct pto_json_reader *reader, json_t *params, struct pto_task_folder *folder, uint32_t i) {
  struct pto_task_param *param = &folder->params[i];
  param->memory = PTO_TASK_NO_MEMORY;
  pto_json_read_at(reader, "params[%u]", i);
  json_t *object = pto_json_read_item(reader, params, i);
  const char *mode = pto_json_read_string(reader, object, "mode");
  for (size_t k = 0; k < PTO_ARRAY_LENGTH(modes); k++)
    if (strcmp(modes[k].name, mode) == 0) param->mode = modes[k].mode;
  if (!param->mode) pto_json_read_refuse(reader, "\"mode\" is none that there is");
  if (param->mode == PTO_SCALAR)
    read_scalar(reader, object, param);
  else
    read_tensor(reader, object, folder, param);
}

static void read_kernels(struct pto_json_reader *reader, struct pto_task_folder *folder) {
  json_t *kernels = pto_json_read_object(reader, folder->root, "kernels");
  for (size_t role = 0; role < PTO_ARRAY_LENGTH(roles) && !reader->status; role++) {
    struct pto_task_kernel *kernel = &folder->kernels[role];
    if (!pto_json_has(kernels, roles[role])) continue;
    pto_json_read_at(reader, "kernels.%s", roles[role]);
    json_t *object = pto_json_read_object(reader, kernels, roles[role]);
    kernel->name = pto_json_read_string(reader, object, "name");
    kernel->is_general = pto_json_read_bool(reader, object, "general");
    kernel->nth = (uint32_t)pto_json_read_u64(reader, object, "nth", UINT16_MAX);
  }
  pto_json_read_at(reader, "%s", "");
}

static const char *optional_string(struct pto_json_reader *reader, json_t *object, const char *key) {
  return pto_json_has(object, key) ? pto_json_read_string(reader, object, key) : NULL;
}

static void read_head(struct pto_json_reader *reader, struct pto_task_folder *folder) {
  json_t *root = folder->root;
  const char *format = pto_json_read_string(reader, root, "format");
  uint64_t version = pto_json_read_u64(reader, root, "version", UINT32_MAX);
  if (!reader->status && (strcmp(format, PTO_TASK_FORMAT) != 0 || version != PTO_TASK_FORMAT_VERSION))
    pto_json_read_refuse(reader, "format \"%.40s\" version %" PRIu64 " is read by no one here, but %s version %u",
                         format, version, PTO_TASK_FORMAT, PTO_TASK_FORMAT_VERSION);
  folder->program = pto_json_read_string(reader, root, "program");
  folder->number = pto_json_read_u64(reader, root, "task", MOST_NUMBER);
  folder->has_ended = pto_json_read_bool(reader, root, "ended");
  folder->block_count = (uint32_t)pto_json_read_u64(reader, root, "blocks", UINT32_MAX);
  folder->is_sync_start = pto_json_read_bool(reader, root, "sync_start");
  json_t *run = pto_json_read_object(reader, root, "run"), *local = pto_json_read_object(reader, root, "local_bytes");
  folder->case_name = optional_string(reader, run, "case");
  folder->engine = optional_string(reader, run, "engine");
  folder->chip = optional_string(reader, run, "chip");
  folder->deps = optional_string(reader, run, "deps");
  folder->seed = pto_json_read_u64(reader, run, "seed", INT64_MAX);
  folder->aiv_local_bytes = pto_json_read_u64(reader, local, "aiv", MOST_NUMBER);
  folder->aic_local_bytes = pto_json_read_u64(reader, local, "aic", MOST_NUMBER);
}

/* As many bytes as the description says, or it is refused before memory is asked for. */
static unsigned char *read_bytes(struct pto_json_reader *reader, const char *folder, uint32_t number, const char *when,
                                 uint64_t size_bytes) {
  char path[PATH_MAX];
  struct stat about;
  unsigned char *bytes = NULL;
  path_of(folder, "memory", number, when, path);
  FILE *file = pto_regular_file_open(path, reader->error);
  if (!file)
    reader->status = reader->error->status;
  else if (fstat(fileno(file), &about) != 0 || (uint64_t)about.st_size != size_bytes)
    reader->status = pto_error_set(reader->error, PTO_EINVAL, "%.400s: not the %" PRIu64 " bytes of memory %" PRIu32,
                                   path, size_bytes, number);
  else if (!(bytes = malloc(size_bytes ? size_bytes : 1)))
    reader->status =
        pto_error_set(reader->error, PTO_ENOMEM, "no memory for the %" PRIu64 " bytes of %.400s", size_bytes, path);
  else if (fread(bytes, 1, size_bytes, file) != size_bytes)
    reader->status = pto_error_set(reader->error, PTO_ESYSTEM, "%.400s: cannot be read", path);
  if (file) fclose(file);
  return bytes;
}

static void read_memory(struct pto_json_reader *reader, json_t *memories, const char *path,
                        struct pto_task_folder *folder, uint32_t i) {
  struct pto_task_memory *memory = &folder->memories[i];
  pto_json_read_at(reader, "memory[%u]", i);
  json_t *object = pto_json_read_item(reader, memories, i);
  memory->size_bytes = pto_json_read_u64(reader, object, "bytes", MOST_NUMBER);
  memory->page_offset = pto_json_read_u64(reader, object, "page_offset", PTO_TASK_PAGE_BYTES - 1);
  memory->has_after = pto_json_read_bool(reader, object, "changed");
  if (!reader->status) memory->before = read_bytes(reader, path, i, "before.bin", memory->size_bytes);
  if (!reader->status)
    memory->after = memory->has_after ? read_bytes(reader, path, i, "after.bin", memory->size_bytes) : memory->before;
}

static void read_folder(struct pto_json_reader *reader, const char *path, struct pto_task_folder *folder) {
  read_head(reader, folder);
  read_kernels(reader, folder);
  json_t *memories = pto_json_read_array(reader, folder->root, "memory", PTO_MAX_TENSORS);
  json_t *params = pto_json_read_array(reader, folder->root, "params", PTO_MAX_PARAMS);
  if (reader->status) return;
  if (!folder->kernels[0].name && !folder->kernels[1].name && !folder->kernels[2].name)
    pto_json_read_refuse(reader, "\"kernels\" names none");
  folder->memory_count = (uint32_t)json_array_size(memories);
  folder->param_count = (uint32_t)json_array_size(params);
  for (uint32_t i = 0; i < folder->param_count && !reader->status; i++) read_param(reader, params, folder, i);
  for (uint32_t i = 0; i < folder->memory_count && !reader->status; i++) read_memory(reader, memories, path, folder, i);
}

int pto_task_folder_read(const char *path, struct pto_task_folder *folder, struct pto_error *error) {
  struct pto_json_reader reader;
  char file[PATH_MAX];
  memset(folder, 0, sizeof *folder);
  if (snprintf(file, sizeof file, "%s/task.json", path) >= (int)sizeof file)
    return pto_error_set(error, PTO_EINVAL, "the path of the folder is too long");
  folder->root = pto_json_read_file(&reader, file, MOST_JSON_BYTES, error);
  if (folder->root) read_folder(&reader, path, folder);
  if (reader.status) pto_task_folder_fini(folder);
  return reader.status;
}

void pto_task_folder_fini(struct pto_task_folder *folder) {
  for (uint32_t i = 0; i < folder->memory_count; i++) {
    if (folder->memories[i].after != folder->memories[i].before) free(folder->memories[i].after);
    free(folder->memories[i].before);
  }
  json_decref(folder->root);
  memset(folder, 0, sizeof *folder);
}
