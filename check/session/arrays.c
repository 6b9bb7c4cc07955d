/* SPDX-License-Identifier: MIT */
/*
 * Files of a session's arrays: inputs, goldens and outputs as .npy.  Part of check/session/session.h.
 */
#include <check/session/session.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <formats/npy.h>
#include <report/file/output_file.h>
#include <runtime/base/text.h>

static void format_shape(const struct pto_array *array, char *text, size_t size) {
  snprintf(text, size, "%s[", pto_dtype_name(array->dtype));
  pto_text_append_numbers(text, size, ",", array->shape, array->ndims);
  pto_text_append(text, size, "]");
}

/* The array that "name=FILE" names, if it has one of `roles`; *path_out is the file's. */
static int find_array(struct pto_session *session, const char *pair, uint32_t roles, struct pto_array **array_out,
                      const char **path_out) {
  struct pto_error *error = &session->result.error;
  char name[128];
  size_t length = strcspn(pair, "=");
  snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), pair);
  struct pto_array *array = pto_program_find(session->run, name);
  if (!array || array->role == PTO_ARRAY_SCRATCH || !(array->role & roles)) {
    const char *separator = "; it has ";
    pto_error_set(error, PTO_EINVAL, "%s has no %s called \"%s\"", session->subject.name,
                  roles == PTO_ARRAY_INPUT ? "input" : "output", name);
    for (uint32_t i = 0; (array = pto_program_run_array(session->run, i)) != NULL; i++)
      if (array->role != PTO_ARRAY_SCRATCH && array->role & roles) {
        pto_error_append(error, "%s%s", separator, array->name);
        separator = ", ";
      }
    return PTO_EINVAL;
  }
  *array_out = array;
  *path_out = pair + length + 1;
  return PTO_OK;
}

/* The same with the file's elements, if they are as many in every dimension. */
static int read_pair(struct pto_session *session, const char *pair, uint32_t roles, struct pto_array **array_out,
                     struct pto_npy *npy) {
  struct pto_error *error = &session->result.error;
  struct pto_array *array;
  const char *path;
  int status = find_array(session, pair, roles, &array, &path);
  if (status == PTO_OK) status = pto_npy_read(path, npy, error);
  if (status) return status;
  if (npy->ndims == array->ndims && memcmp(npy->shape, array->shape, npy->ndims * sizeof *npy->shape) == 0) {
    *array_out = array;
    return PTO_OK;
  }
  char wanted[160], found[160];
  format_shape(array, wanted, sizeof wanted);
  pto_error_set(error, PTO_EINVAL, "%.120s is %s and %.400s holds %s", array->name, wanted, path,
                pto_npy_format(npy, found, sizeof found));
  pto_npy_fini(npy);
  return PTO_EINVAL;
}

static int load_input(struct pto_session *session, const char *pair) {
  struct pto_npy npy;
  struct pto_array *array;
  struct pto_error reason;
  int status = read_pair(session, pair, PTO_ARRAY_INPUT, &array, &npy);
  if (status) return status;
  status = pto_npy_copy(&npy, array->dtype, array->data, &reason);
  if (status) pto_error_set(&session->result.error, status, "--input %.400s: %.500s", pair, reason.sentence);
  pto_npy_fini(&npy);
  return status;
}

static int load_golden(struct pto_session *session, const char *pair) {
  struct pto_npy npy;
  struct pto_array *array;
  int status = read_pair(session, pair, PTO_ARRAY_OUTPUT, &array, &npy);
  if (status) return status;
  double *golden = pto_array_golden(session->run, array);
  if (golden)
    for (uint64_t i = 0; i < npy.numel; i++) golden[i] = pto_npy_get(&npy, array->dtype, i);
  else
    status = pto_error_set(&session->result.error, PTO_ENOMEM, "no memory for the golden of %s", array->name);
  pto_npy_fini(&npy);
  return status;
}

int pto_session_read_inputs(struct pto_session *session) {
  const struct pto_words *inputs = &session->options.inputs;
  int status = PTO_OK;
  for (uint32_t i = 0; i < inputs->count && status == PTO_OK; i++) status = load_input(session, inputs->items[i]);
  return status;
}

int pto_session_check_outputs(struct pto_session *session) {
  const struct pto_words *outputs = &session->options.outputs, *expects = &session->options.expects;
  struct pto_error *error = &session->result.error;
  struct pto_array *array;
  struct pto_npy npy;
  const char *path;
  int status = PTO_OK;
  for (uint32_t i = 0; i < outputs->count && status == PTO_OK; i++) {
    status = find_array(session, outputs->items[i], PTO_ARRAY_OUTPUT, &array, &path);
    if (status == PTO_OK && strcmp(path, "-") == 0)
      status = pto_error_set(error, PTO_EINVAL, "--output %s: an array goes to a file", outputs->items[i]);
    if (status == PTO_OK && pto_output_probe(path, error)) status = PTO_EINVAL;
  }
  for (uint32_t i = 0; i < expects->count && status == PTO_OK; i++) {
    status = read_pair(session, expects->items[i], PTO_ARRAY_OUTPUT, &array, &npy);
    if (status == PTO_OK) pto_npy_fini(&npy);
  }
  return status;
}

int pto_session_read_goldens(struct pto_session *session) {
  const struct pto_words *expects = &session->options.expects;
  int status = PTO_OK;
  for (uint32_t i = 0; i < expects->count && status == PTO_OK; i++) status = load_golden(session, expects->items[i]);
  return status;
}

int pto_session_put_outputs(struct pto_session *session, struct pto_error *error) {
  const struct pto_words *outputs = &session->options.outputs;
  int status = PTO_OK;
  for (uint32_t i = 0; i < outputs->count && status == PTO_OK; i++) {
    struct pto_array *array;
    const char *path;
    status = find_array(session, outputs->items[i], PTO_ARRAY_OUTPUT, &array, &path);
    if (status == PTO_OK) status = pto_npy_write(path, array->dtype, array->ndims, array->shape, array->data, error);
  }
  return status;
}
