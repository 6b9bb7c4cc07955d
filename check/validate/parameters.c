/* SPDX-License-Identifier: MIT */
#include <check/validate/parameters.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <formats/mapped_file.h>
#include <orchestration/loader/program_run.h>
#include <runtime/base/grow.h>
#include <sim/chips/chip_files.h>
#include <sim/kernel_times/kernel_times.h>

static int add(struct pto_parameters *parameters, const char *name, const void *bytes, size_t size,
               struct pto_error *error) {
  const uint64_t hash = pto_xxh64(bytes, size, 0);
  for (size_t i = 0; i < parameters->count; i++)
    if (strcmp(parameters->files[i].name, name) == 0 && parameters->files[i].hash == hash) return PTO_OK;
  struct pto_parameter_file *file =
      pto_grow(&parameters->files, &parameters->count, &parameters->capacity, sizeof *file);
  if (!file || !(file->name = strdup(name))) return pto_error_set(error, PTO_ENOMEM, "no memory for names of files");
  file->hash = hash;
  return PTO_OK;
}

const char *pto_parameter_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int add_file(struct pto_parameters *parameters, const char *path, struct pto_error *error) {
  struct pto_mapped_file file;
  int status = pto_mapped_file_init(&file, path, error);
  if (status) return status;
  status = add(parameters, pto_parameter_name(path), file.data, file.size_bytes, error);
  pto_mapped_file_fini(&file);
  return status;
}

/* A shipped file by its name, or one by its path. */
static int add_named(struct pto_parameters *parameters, const char *name_or_path, const char *extension,
                     const char *shipped_text, size_t shipped_bytes, struct pto_error *error) {
  char name[80];
  if (!shipped_text) return add_file(parameters, name_or_path, error);
  snprintf(name, sizeof name, "%.60s%s", name_or_path, extension);
  return add(parameters, name, shipped_text, shipped_bytes, error);
}

static int add_chip(struct pto_parameters *parameters, const char *name_or_path, struct pto_error *error) {
  struct pto_chip_file file;
  uint32_t i = 0;
  while (pto_chip_file_at(i, &file) && strcmp(file.name, name_or_path) != 0) i++;
  const bool is_shipped = pto_chip_file_at(i, &file);
  return add_named(parameters, name_or_path, ".ini", is_shipped ? file.text : NULL, file.size_bytes, error);
}

static int add_table(struct pto_parameters *parameters, const char *name_or_path, struct pto_error *error) {
  struct pto_kernel_table_file file;
  uint32_t i = 0;
  while (pto_kernel_table_file_at(i, &file) && strcmp(file.name, name_or_path) != 0) i++;
  const bool is_shipped = pto_kernel_table_file_at(i, &file);
  return add_named(parameters, name_or_path, ".csv", is_shipped ? file.text : NULL, file.size_bytes, error);
}

int pto_parameters_add(struct pto_parameters *parameters, const char *chip_name_or_path, const struct pto_chip *chip,
                       struct pto_error *error) {
  const int status = add_chip(parameters, chip_name_or_path, error);
  return status || !chip->kernel_times[0] ? status : add_table(parameters, chip->kernel_times, error);
}

uint64_t pto_parameters_hash(const struct pto_parameters *parameters) {
  uint64_t hash = 0;
  for (size_t i = 0; i < parameters->count; i++)
    hash = pto_xxh64(&parameters->files[i].hash, sizeof parameters->files[i].hash, hash);
  return hash;
}

void pto_parameters_fini(struct pto_parameters *parameters) {
  for (size_t i = 0; i < parameters->count; i++) free(parameters->files[i].name);
  free(parameters->files);
  memset(parameters, 0, sizeof *parameters);
}
