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

/* The last part of the path: pages are the same wherever they are made. */
static const char *name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int add_file(struct pto_parameters *parameters, const char *path, struct pto_error *error) {
  struct pto_mapped_file file;
  int status = pto_mapped_file_init(&file, path, error);
  if (status) return status;
  status = add(parameters, name_of(path), file.data, file.size_bytes, error);
  pto_mapped_file_fini(&file);
  return status;
}

static int add_chip(struct pto_parameters *parameters, const char *name_or_path, struct pto_error *error) {
  struct pto_chip_file shipped;
  char name[80];
  for (uint32_t i = 0; pto_chip_file_at(i, &shipped); i++) {
    if (strcmp(shipped.name, name_or_path) != 0) continue;
    snprintf(name, sizeof name, "%s.ini", shipped.name);
    return add(parameters, name, shipped.text, shipped.size_bytes, error);
  }
  return add_file(parameters, name_or_path, error);
}

static int add_table(struct pto_parameters *parameters, const char *name_or_path, struct pto_error *error) {
  struct pto_kernel_table_file shipped;
  char name[80];
  for (uint32_t i = 0; pto_kernel_table_file_at(i, &shipped); i++) {
    if (strcmp(shipped.name, name_or_path) != 0) continue;
    snprintf(name, sizeof name, "%s.csv", shipped.name);
    return add(parameters, name, shipped.text, shipped.size_bytes, error);
  }
  return add_file(parameters, name_or_path, error);
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
