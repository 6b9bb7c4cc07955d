/* SPDX-License-Identifier: MIT */
#include <formats/safetensors.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <formats/json_text.h>
#include <formats/new_file.h>
#include <runtime/base/base.h>
#include <runtime/base/utf8.h>

#define HEADER_ALIGN 8u

/* What is written, in the file's order. */
struct plan {
  const struct pto_safetensors_tensor **order;
  json_t *header;
  char *text; /* of the header */
};

static int compare_widths(const void *left, const void *right) {
  const struct pto_safetensors_tensor *a = *(const struct pto_safetensors_tensor *const *)left;
  const struct pto_safetensors_tensor *b = *(const struct pto_safetensors_tensor *const *)right;
  const uint32_t a_bits = pto_dtype_bits((uint32_t)a->dtype), b_bits = pto_dtype_bits((uint32_t)b->dtype);
  if (a_bits != b_bits) return a_bits > b_bits ? -1 : 1;
  return a < b ? -1 : a > b; /* of equals the first given stands first */
}

/* PTO_EINVAL where the tensor cannot be written. */
static int size_of(const struct pto_safetensors_tensor *tensor, uint64_t *bytes_out, struct pto_error *error) {
  if (tensor->dtype < 0 || tensor->dtype >= PTO_DTYPE_COUNT || tensor->ndims > PTO_MAX_DIMS)
    return pto_error_set(error, PTO_EINVAL, "tensor \"%.100s\" of dtype %d and rank %u cannot be written", tensor->name,
                         tensor->dtype, tensor->ndims);
  uint64_t bits = pto_dtype_bits((uint32_t)tensor->dtype);
  for (uint32_t d = 0; d < tensor->ndims; d++)
    if (__builtin_mul_overflow(bits, tensor->shape[d], &bits) || bits > INT64_MAX)
      return pto_error_set(error, PTO_EINVAL, "tensor \"%.100s\" has more bits than a file can", tensor->name);
  *bytes_out = (bits + 7) / 8;
  return PTO_OK;
}

static json_t *make_entry(const struct pto_safetensors_tensor *tensor, uint64_t begin, uint64_t end) {
  json_t *shape = json_array();
  for (uint32_t d = 0; d < tensor->ndims; d++)
    if (json_array_append_new(shape, json_integer((json_int_t)tensor->shape[d]))) {
      json_decref(shape);
      return NULL;
    }
  return json_pack("{s:s, s:o, s:[I, I]}", "dtype", pto_safetensors_dtype_name(tensor->dtype), "shape", shape,
                   "data_offsets", (json_int_t)begin, (json_int_t)end);
}

static int make_header(struct plan *plan, uint64_t count, struct pto_error *error) {
  uint64_t begin = 0;
  plan->header = json_object();
  for (uint64_t i = 0; i < count; i++) {
    const struct pto_safetensors_tensor *tensor = plan->order[i];
    uint64_t bytes = 0;
    int status = size_of(tensor, &bytes, error);
    if (status) return status;
    if (strcmp(tensor->name, "__metadata__") == 0 || json_object_get(plan->header, tensor->name))
      return pto_error_set(error, PTO_EINVAL, "a tensor cannot be called \"%.100s\": the name is taken", tensor->name);
    if (bytes > INT64_MAX - begin)
      return pto_error_set(error, PTO_EINVAL, "the tensors have more bytes than a file can");
    if (!pto_utf8_is_valid(tensor->name))
      return pto_error_set(error, PTO_EINVAL, "tensor %" PRIu64 ": its name is no UTF-8", i);
    if (json_object_set_new(plan->header, tensor->name, make_entry(tensor, begin, begin + bytes)))
      return pto_error_set(error, PTO_ENOMEM, "tensor %" PRIu64 ": no memory for its entry", i);
    begin += bytes;
  }
  plan->text = pto_json_dump(plan->header, JSON_COMPACT);
  return plan->text ? PTO_OK : pto_error_set(error, PTO_ENOMEM, "no memory for a header");
}

static int make_plan(struct plan *plan, const struct pto_safetensors_tensor *tensors, uint64_t count,
                     struct pto_error *error) {
  plan->order = malloc((count + 1) * sizeof *plan->order);
  if (!plan->order) return pto_error_set(error, PTO_ENOMEM, "no memory for %" PRIu64 " tensors", count);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t bytes;
    int status = size_of(plan->order[i] = &tensors[i], &bytes, error);
    if (status) return status;
  }
  qsort(plan->order, count, sizeof *plan->order, compare_widths);
  return make_header(plan, count, error);
}

static bool write_all(FILE *file, const struct plan *plan, uint64_t count) {
  const uint64_t used = strlen(plan->text), length = pto_align_up(used, HEADER_ALIGN);
  if (fwrite(&length, sizeof length, 1, file) != 1 || fwrite(plan->text, 1, used, file) != used) return false;
  for (uint64_t i = used; i < length; i++)
    if (putc(' ', file) == EOF) return false;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t bytes;
    struct pto_error ignored;
    if (size_of(plan->order[i], &bytes, &ignored)) return false;
    if (bytes && fwrite(plan->order[i]->data, 1, bytes, file) != bytes) return false;
  }
  return true;
}

int pto_safetensors_write(const char *path, const struct pto_safetensors_tensor *tensors, uint64_t count,
                          struct pto_error *error) {
  struct plan plan = {0};
  struct pto_error reason;
  int status = make_plan(&plan, tensors, count, &reason);
  if (status) status = pto_error_set(error, status, "%.400s: %.500s", path, reason.sentence);
  FILE *file = status ? NULL : pto_new_file_create(path, error);
  if (file) status = pto_new_file_finish(path, file, write_all(file, &plan, count) ? 0 : errno, error);
  free(plan.text);
  json_decref(plan.header);
  free(plan.order);
  return status || file ? status : PTO_ESYSTEM;
}
