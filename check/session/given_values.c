/* SPDX-License-Identifier: MIT */
#include <check/session/given_values.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <check/adopt/program.h>
#include <check/session/session.h>
#include <formats/json_read.h>
#include <report/findings/source_lines.h>
#include <runtime/base/base.h>
#include <runtime/base/dtype.h>
#include <runtime/control/control.h>
#include <runtime/trace/trace_words.h>

#define FORMAT "pto-values"
#define VERSION 1u
#define MOST_BYTES (UINT64_C(256) << 20)
#define MOST_ITEMS (UINT64_C(1) << 24)

/* One entry of the file: elements from `first` on. */
struct given {
  const char *array; /* NULL: of a task's parameter */
  uint64_t task, param;
  uint64_t first;
  json_t *values;
  bool *is_read; /* by element of `values` */
};

/* Memory that a task writes and none of the tasks [first, seen) behind it does.  Predicates ask for elements of one
 * buffer by the hundred, each behind more tasks. */
struct quiet {
  uint64_t base, size_bytes; /* 0 bytes: nothing is known */
  uint64_t first, seen;
};

struct pto_given_values {
  struct pto_value_source source;
  const struct pto_session *session;
  json_t *root;
  struct given *given;
  size_t count;
  uint64_t given_values, assumed_values;
  /* Arrays that one of the first so many tasks writes, by their number, and whether one of the first so many accesses
   * of the host is a write: what nothing writes has no writer to look for. */
  uint64_t seen_tasks, seen_accesses;
  bool *is_written; /* NULL: nothing was asked yet */
  bool has_host_write;
  struct quiet quiet;
};

/* ---- the file ---- */

static void read_given(struct pto_json_reader *reader, json_t *items, size_t i, struct given *given) {
  json_t *value;
  size_t k;
  pto_json_read_at(reader, "values[%zu]", i);
  json_t *object = pto_json_read_item(reader, items, i);
  if (reader->status) return;
  if (json_object_get(object, "array")) {
    given->array = pto_json_read_string(reader, object, "array");
  } else {
    given->task = pto_json_read_u64(reader, object, "task", INT64_MAX);
    given->param = pto_json_read_u64(reader, object, "param", PTO_MAX_PARAMS);
  }
  given->first = pto_json_has(object, "first") ? pto_json_read_u64(reader, object, "first", INT64_MAX) : 0;
  given->values = pto_json_read_array(reader, object, "values", MOST_ITEMS);
  if (reader->status) return;
  given->is_read = calloc(json_array_size(given->values) + 1, sizeof *given->is_read);
  if (!given->is_read) pto_json_read_refuse(reader, "out of memory");
  json_array_foreach(given->values, k, value)
    if (!json_is_number(value) && !json_is_boolean(value))
      pto_json_read_refuse(reader, "\"values\"[%zu] is no number", k);
}

static int read_file(struct pto_given_values *values, const char *path, struct pto_error *error) {
  struct pto_json_reader reader;
  values->root = pto_json_read_file(&reader, path, MOST_BYTES, error);
  if (!values->root) return reader.status;
  if (strcmp(pto_json_read_string(&reader, values->root, "format"), FORMAT) != 0)
    pto_json_read_refuse(&reader, "\"format\" is not \"" FORMAT "\"");
  const uint64_t version = pto_json_read_u64(&reader, values->root, "version", UINT32_MAX);
  if (!reader.status && version != VERSION)
    pto_json_read_refuse(&reader, "version %" PRIu64 ", and %u was expected", version, VERSION);
  json_t *items = pto_json_read_array(&reader, values->root, "values", MOST_ITEMS);
  if (reader.status) return reader.status;
  values->given = calloc(json_array_size(items) + 1, sizeof *values->given);
  if (!values->given) return pto_error_set(error, PTO_ENOMEM, "%s: out of memory", path);
  for (; values->count < json_array_size(items) && !reader.status; values->count++)
    read_given(&reader, items, values->count, &values->given[values->count]);
  return reader.status;
}

/* ---- who wrote it last ---- */

struct writer {
  bool is_task, is_host;
  uint64_t task; /* that wrote it */
  uint32_t param;
  uint64_t element; /* from the first one of the parameter on, in memory */
};

static bool touches(const struct pto_trace_param *param, const struct pto_value_question *question) {
  const uint64_t addr = (uint64_t)(uintptr_t)question->addr, base = param->tensor.buffer.base;
  const uint64_t size = pto_dtype_size(question->dtype);
  if (!(param->mode & PTO_OUTPUT) || param->mode == PTO_SCALAR) return false;
  if (addr < base || addr - base >= param->tensor.buffer.size_bytes || (addr - base) % size) return false;
  struct pto_tensor element = param->tensor;
  element.dtype = question->dtype;
  element.ndims = 0;
  element.start_offset = (addr - base) / size;
  return pto_tensor_overlap(&param->tensor, &element) != PTO_DISJOINT;
}

static bool writes_into(const struct pto_trace *trace, uint64_t number, const struct quiet *quiet) {
  const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, number);
  for (uint64_t i = task->first_param; i < task->first_param + task->param_count && i < trace->params.count; i++) {
    const struct pto_trace_param *param = pto_trace_log_at(&trace->params, i);
    const uint64_t base = param->tensor.buffer.base;
    if ((param->mode & PTO_OUTPUT) && param->mode != PTO_SCALAR && base < quiet->base + quiet->size_bytes &&
        quiet->base < base + param->tensor.buffer.size_bytes)
      return true;
  }
  return false;
}

/* Behind which task a writer is looked for. */
static uint64_t skip_quiet(struct quiet *quiet, const struct pto_trace *trace,
                           const struct pto_value_question *question) {
  const uint64_t end = pto_min_u64(question->task, trace->tasks.count);
  if (quiet->seen > trace->tasks.count) *quiet = (struct quiet){0}; /* another run */
  if ((uint64_t)(uintptr_t)question->addr - quiet->base >= quiet->size_bytes) return end;
  for (; quiet->seen < end; quiet->seen++)
    if (writes_into(trace, quiet->seen, quiet)) quiet->first = quiet->seen + 1;
  return pto_min_u64(end, quiet->first);
}

static bool find_task(struct quiet *quiet, const struct pto_trace *trace, const struct pto_value_question *question,
                      struct writer *writer) {
  for (uint64_t number = skip_quiet(quiet, trace, question); number-- > 0;) {
    const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, number);
    for (uint64_t i = task->first_param; i < task->first_param + task->param_count && i < trace->params.count; i++) {
      const struct pto_trace_param *param = pto_trace_log_at(&trace->params, i);
      if (param->index == UINT32_MAX || !touches(param, question)) continue;
      const uint64_t size = pto_dtype_size(param->tensor.dtype);
      const uint64_t begin = param->tensor.buffer.base + param->tensor.start_offset * size;
      *writer = (struct writer){.is_task = true,
                                .task = number,
                                .param = param->index,
                                .element = ((uint64_t)(uintptr_t)question->addr - begin) / size};
      if ((uint64_t)(uintptr_t)question->addr - quiet->base >= quiet->size_bytes)
        *quiet = (struct quiet){param->tensor.buffer.base, param->tensor.buffer.size_bytes, .first = number + 1,
                                .seen = number + 1};
      return true;
    }
  }
  return false;
}

/* The host's write counts where it came after the task's. */
static void find_host(const struct pto_trace *trace, const struct pto_value_question *question, struct writer *writer) {
  const uint64_t addr = (uint64_t)(uintptr_t)question->addr;
  for (uint64_t i = trace->host_accesses.count; i-- > 0;) {
    const struct pto_trace_host_access *access = pto_trace_log_at(&trace->host_accesses, i);
    if (access->is_sync || !access->is_write || addr < access->begin || addr >= access->end) continue;
    if (access->task_count > question->task) continue; /* after the task of the predicate */
    writer->is_host = !writer->is_task || access->task_count > writer->task;
    return;
  }
}

/* ---- answers ---- */

/* NULL: it is in none. */
static const struct pto_array *array_at(const struct pto_session *session, uint64_t addr, uint32_t *number) {
  const struct pto_array *array;
  for (*number = 0; (array = pto_program_run_array(session->run, *number)) != NULL; ++*number)
    if (addr - (uint64_t)(uintptr_t)array->data < array->size_bytes) break;
  return array;
}

static bool see_writers(struct pto_given_values *values, const struct pto_trace *trace) {
  uint32_t count = 0;
  while (!values->is_written && pto_program_run_array(values->session->run, count)) count++;
  if (!values->is_written) values->is_written = calloc(count + 1u, sizeof *values->is_written);
  if (!values->is_written) return false;
  if (values->seen_tasks > trace->tasks.count) values->seen_tasks = 0; /* another run */
  if (values->seen_accesses > trace->host_accesses.count) values->seen_accesses = 0;
  for (; values->seen_accesses < trace->host_accesses.count; values->seen_accesses++) {
    const struct pto_trace_host_access *access = pto_trace_log_at(&trace->host_accesses, values->seen_accesses);
    values->has_host_write |= access->is_write != 0;
  }
  for (; values->seen_tasks < trace->tasks.count; values->seen_tasks++) {
    const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, values->seen_tasks);
    for (uint64_t i = task->first_param; i < task->first_param + task->param_count && i < trace->params.count; i++) {
      const struct pto_trace_param *param = pto_trace_log_at(&trace->params, i);
      uint32_t number;
      if ((param->mode & PTO_OUTPUT) && !param->is_managed &&
          array_at(values->session, param->tensor.buffer.base, &number))
        values->is_written[number] = true;
    }
  }
  return true;
}

/* Whether --input or an adopted program's manifest brought it. */
static bool is_input(const struct pto_session *session, const struct pto_array *array) {
  const struct pto_words *inputs = &session->options.inputs;
  const size_t length = strlen(array->name);
  for (uint32_t i = 0; i < inputs->count; i++)
    if (strncmp(inputs->items[i], array->name, length) == 0 && inputs->items[i][length] == '=') return true;
  return session->subject.adopted && pto_adopted_program_has_bytes(session->subject.adopted, array->name);
}

static bool has_value(const struct given *given, uint64_t element) {
  return element >= given->first && element - given->first < json_array_size(given->values);
}

/* The last entry that has it, which is read; NULL: none. */
static json_t *find_given(struct pto_given_values *values, const struct writer *writer, const struct pto_array *array,
                          uint64_t element) {
  struct given *found = NULL;
  uint64_t at = writer->element;
  for (size_t i = 0; i < values->count && writer->is_task; i++) {
    struct given *given = &values->given[i];
    if (!given->array && given->task == writer->task && given->param == writer->param && has_value(given, at))
      found = given;
  }
  if (!found) at = element;
  for (size_t i = 0; i < values->count && array && (!found || found->array); i++) {
    struct given *given = &values->given[i];
    if (given->array && strcmp(given->array, array->name) == 0 && has_value(given, at)) found = given;
  }
  if (!found) return NULL;
  found->is_read[at - found->first] = true;
  return json_array_get(found->values, at - found->first);
}

static void store(json_t *from, uint32_t dtype, void *value) {
  const int64_t whole = json_is_integer(from) ? json_integer_value(from) : json_is_true(from);
  struct pto_array one = {.dtype = dtype, .numel = 1, .size_bytes = pto_dtype_size(dtype), .data = value};
  if (pto_dtype_is_real(dtype) || json_is_real(from))
    pto_array_set(&one, 0, json_is_number(from) ? json_number_value(from) : (double)whole);
  else
    memcpy(value, &whole, pto_dtype_size(dtype)); /* little-endian */
}

static void say_who(const struct pto_trace *trace, const struct pto_value_question *question, char *text, size_t size) {
  struct pto_source_lines *lines = pto_source_lines_create();
  char line[128] = "", name[128] = "";
  if (question->is_predicate && question->task < trace->tasks.count) {
    const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, question->task);
    pto_source_lines_name(lines, task->call, task->outer_call, line, sizeof line);
    snprintf(text, size, "the predicate of task %" PRIu64 " (%s), %s,", question->task,
             pto_trace_task_name(task, name, sizeof name), line);
  } else {
    pto_source_lines_name(lines, question->call, NULL, line, sizeof line);
    snprintf(text, size, "the orchestration, %s, before task %" PRIu64 ",", line, question->task);
  }
  pto_source_lines_destroy(lines);
}

static int refuse(const struct pto_trace *trace, const struct pto_value_question *question, const struct writer *writer,
                  const struct pto_array *array, uint64_t element, struct pto_error *error) {
  char who[320], name[128];
  say_who(trace, question, who, sizeof who);
  pto_error_set(error, PTO_EINVAL, "%s reads", who);
  if (array)
    pto_error_append(error, " element %" PRIu64 " of %.100s", element, array->name);
  else
    pto_error_append(error, " an element");
  if (writer->is_task) {
    const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, writer->task);
    pto_error_append(error, ", which task %" PRIu64 " (%s) writes as element %" PRIu64 " of param %" PRIu32,
                     writer->task, pto_trace_task_name(task, name, sizeof name), writer->element, writer->param);
  }
  pto_error_append(error, "; no kernel was run: give it with --values, or --assume-zero");
  return PTO_EINVAL;
}

static int find(void *context, struct pto_runtime *rt, const struct pto_value_question *question, void *value,
                struct pto_error *error) {
  struct pto_given_values *values = context;
  const struct pto_trace *trace = pto_runtime_trace(rt);
  struct writer writer = {0};
  uint64_t element = 0;
  uint32_t number;
  const uint64_t addr = (uint64_t)(uintptr_t)question->addr;
  const struct pto_array *array = array_at(values->session, addr, &number);
  if (array) element = (addr - (uint64_t)(uintptr_t)array->data) * 8 / pto_dtype_bits(array->dtype);
  if (!see_writers(values, trace)) return pto_error_set(error, PTO_ENOMEM, "out of memory");
  const uint64_t size = pto_dtype_size(question->dtype);
  const bool is_made = array && pto_program_run_fills(values->session->run, array); /* an input: no task writes it */
  if (!is_made) {
    if (!array || values->is_written[number]) find_task(&values->quiet, trace, question, &writer);
    if (values->has_host_write) find_host(trace, question, &writer);
  }
  if (is_made || writer.is_host || (!writer.is_task && array && is_input(values->session, array))) {
    memcpy(value, question->addr, size);
    return PTO_OK;
  }
  json_t *given = find_given(values, &writer, array, element);
  if (!given && !values->session->options.assume_zero) return refuse(trace, question, &writer, array, element, error);
  memset(value, 0, size);
  if (given)
    store(given, question->dtype, value);
  else
    values->assumed_values++;
  values->given_values += given != NULL;
  return PTO_OK;
}

/* ---- life ---- */

int pto_given_values_create(struct pto_session *session, struct pto_given_values **values_out,
                            struct pto_error *error) {
  struct pto_given_values *values = calloc(1, sizeof *values);
  if (!values) return pto_error_set(error, PTO_ENOMEM, "out of memory");
  *values = (struct pto_given_values){.source = {find, values}, .session = session};
  const int status = session->options.values ? read_file(values, session->options.values, error) : PTO_OK;
  if (status)
    pto_given_values_destroy(values);
  else
    *values_out = values;
  return status;
}

int pto_given_values_check(const struct pto_given_values *values, struct pto_error *error) {
  const struct pto_session *session = values->session;
  const struct pto_array *array;
  for (size_t i = 0; i < values->count; i++) {
    const char *name = values->given[i].array, *separator = "; it has ";
    if (!name || pto_program_find(session->run, name)) continue;
    pto_error_set(error, PTO_EINVAL, "%.300s: values[%zu]: %s has no array \"%.100s\"", session->options.values, i,
                  session->subject.name, name);
    for (uint32_t k = 0; (array = pto_program_run_array(session->run, k)) != NULL; k++, separator = ", ")
      pto_error_append(error, "%s%s", separator, array->name);
    return PTO_EINVAL;
  }
  return PTO_OK;
}

void pto_given_values_destroy(struct pto_given_values *values) {
  if (!values) return;
  json_decref(values->root);
  for (size_t i = 0; i < values->count; i++) free(values->given[i].is_read);
  free(values->given);
  free(values->is_written);
  free(values);
}

const struct pto_value_source *pto_given_values_source(const struct pto_given_values *values) {
  return &values->source;
}

void pto_given_values_count(const struct pto_given_values *values, const struct pto_trace *trace,
                            struct pto_priced *priced) {
  *priced = (struct pto_priced){.given_values = values->given_values, .assumed_values = values->assumed_values};
  for (size_t i = 0; i < values->count; i++)
    for (size_t k = 0; k < json_array_size(values->given[i].values); k++)
      priced->unread_values += !values->given[i].is_read[k];
  for (uint64_t i = 0; i < trace->tasks.count; i++) {
    const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, i);
    for (uint32_t role = 0; role < PTO_ARRAY_LENGTH(task->kernels); role++) {
      if (!task->kernels[role]) continue;
      priced->calls += task->block_count;
      priced->assumed_prices += task->kernels[role]->cost ? 0 : task->block_count;
    }
  }
}
