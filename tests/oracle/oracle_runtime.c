/* SPDX-License-Identifier: MIT */
#include <tests/oracle/oracle_runtime.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <runtime/base/base.h>

uint32_t oracle_clusters = 1;

/* ---- errors ---- */

static bool ends_run(int status) {
  static const struct {
    int status;
    bool ends;
  } statuses[] = {
#define X(name, value, number, ends, text) {name, ends},
      PTO_STATUS_LIST(X)
#undef X
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(statuses); i++)
    if (statuses[i].status == status) return statuses[i].ends;
  return true;
}

int oracle_refuse(struct pto_runtime *rt, int status, const char *format, ...) {
  char sentence[PTO_SENTENCE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  if (ends_run(status) && rt->run_error.status == PTO_OK) (void)pto_error_set(&rt->run_error, status, "%s", sentence);
  return pto_error_set(&rt->last_error, status, "%s", sentence);
}

int oracle_enter(struct pto_runtime *rt) {
  if (rt->run_error.status != PTO_OK) return rt->run_error.status;
  return rt->is_running ? PTO_OK : oracle_refuse(rt, PTO_EINVAL, "no run goes on");
}

int pto_report_error(struct pto_runtime *rt, const char *sentence) {
  if (rt->run_error.status != PTO_OK) return rt->run_error.status;
  return oracle_refuse(rt, PTO_EUSER, "%s", sentence);
}

const char *pto_last_error(struct pto_runtime *rt) {
  return rt->run_error.status != PTO_OK ? rt->run_error.sentence : rt->last_error.sentence;
}

/* ---- buffers ---- */

static void list_insert(struct pto_runtime *rt, uint32_t index, uint32_t scope) {
  struct oracle_buffer *buffer = &rt->buffers[index];
  uint32_t first = rt->scopes[scope].first_buffer;
  buffer->scope = scope;
  buffer->previous = 0;
  buffer->next = first;
  if (first) rt->buffers[first - 1].previous = index + 1;
  rt->scopes[scope].first_buffer = index + 1;
}

static void list_remove(struct pto_runtime *rt, uint32_t index) {
  struct oracle_buffer *buffer = &rt->buffers[index];
  if (buffer->next) rt->buffers[buffer->next - 1].previous = buffer->previous;
  if (buffer->previous)
    rt->buffers[buffer->previous - 1].next = buffer->next;
  else
    rt->scopes[buffer->scope].first_buffer = buffer->next;
}

/* A live entry in the current scope, or NULL where memory is out. */
static struct oracle_buffer *buffer_new(struct pto_runtime *rt, uint64_t size_bytes) {
  if (!rt->first_free) {
    if (rt->buffer_count == rt->buffer_capacity) {
      uint32_t capacity = rt->buffer_capacity ? 2 * rt->buffer_capacity : 64;
      struct oracle_buffer *buffers = realloc(rt->buffers, capacity * sizeof *buffers);
      if (!buffers) return NULL;
      rt->buffers = buffers;
      rt->buffer_capacity = capacity;
    }
    rt->buffers[rt->buffer_count] = (struct oracle_buffer){0};
    rt->first_free = ++rt->buffer_count;
  }
  uint32_t index = rt->first_free - 1;
  struct oracle_buffer *buffer = &rt->buffers[index];
  rt->first_free = buffer->next;
  *buffer = (struct oracle_buffer){.generation = rt->serial << 40 | ++rt->generations, .size_bytes = size_bytes};
  list_insert(rt, index, rt->scope);
  return buffer;
}

static void buffer_free(struct pto_runtime *rt, uint32_t index) {
  struct oracle_buffer *buffer = &rt->buffers[index];
  list_remove(rt, index);
  if (!buffer->is_external) free(buffer->memory);
  *buffer = (struct oracle_buffer){.next = rt->first_free};
  rt->first_free = index + 1;
}

struct oracle_buffer *oracle_buffer_find(struct pto_runtime *rt, struct pto_buffer handle) {
  if (handle.id == 0 || handle.id > rt->buffer_count) return NULL;
  struct oracle_buffer *buffer = &rt->buffers[handle.id - 1];
  return buffer->generation && buffer->generation == handle.generation ? buffer : NULL;
}

int oracle_buffer_allocate(struct pto_runtime *rt, struct oracle_buffer *buffer) {
  buffer->memory = aligned_alloc(64, pto_align_up(buffer->size_bytes + 1, 64));
  if (!buffer->memory) return PTO_ENOMEM;
  /* Garbage that is the same in every run; as poison, a NaN in every float dtype. */
  memset(buffer->memory, rt->poison ? 0xff : 0xa5, buffer->size_bytes);
  uint32_t index = (uint32_t)(buffer - rt->buffers);
  list_remove(rt, index);
  list_insert(rt, index, rt->scope);
  return PTO_OK;
}

static struct pto_buffer handle_of(struct pto_runtime *rt, const struct oracle_buffer *buffer) {
  return (struct pto_buffer){.id = (uint64_t)(buffer - rt->buffers) + 1,
                             .generation = buffer->generation,
                             .base = buffer->is_external ? (uint64_t)(uintptr_t)buffer->memory : 0,
                             .size_bytes = buffer->size_bytes};
}

struct pto_buffer pto_create_buffer(struct pto_runtime *rt, uint64_t size_bytes) {
  struct pto_buffer none = {0};
  if (oracle_enter(rt) != PTO_OK) return none;
  struct oracle_buffer *buffer = buffer_new(rt, size_bytes);
  if (buffer) return handle_of(rt, buffer);
  (void)oracle_refuse(rt, PTO_ENOMEM, "create_buffer: out of memory");
  return none;
}

/* The dense tensor at the start of a buffer; false where its size overflows. */
static bool dense(struct pto_tensor *t, uint32_t dtype, uint32_t ndims, const uint64_t *shape, uint64_t *size_bytes) {
  uint64_t numel = 1;
  bool is_empty = false;
  if (dtype >= PTO_DTYPE_COUNT || ndims > PTO_MAX_DIMS) return false;
  t->dtype = dtype;
  t->ndims = ndims;
  for (uint32_t i = ndims; i-- > 0;) {
    t->shape[i] = shape[i];
    t->strides[i] = numel;
    if (shape[i] == 0)
      is_empty = true;
    else if (__builtin_mul_overflow(numel, shape[i], &numel))
      return false;
  }
  uint64_t bits;
  if (__builtin_mul_overflow(numel, (uint64_t)pto_dtype_bits(dtype), &bits)) return false;
  *size_bytes = is_empty ? 0 : bits / 8 + (bits % 8 != 0);
  return true;
}

static struct pto_tensor invalid(struct pto_runtime *rt, int status, const char *sentence) {
  (void)oracle_refuse(rt, status, "%s", sentence);
  return (struct pto_tensor){.status = status};
}

struct pto_tensor pto_external_tensor(struct pto_runtime *rt, void *addr, uint32_t dtype, uint32_t ndims,
                                      const uint64_t *shape) {
  struct pto_tensor t = {0};
  uint64_t size_bytes = 0;
  if (rt->run_error.status != PTO_OK) return (struct pto_tensor){.status = rt->run_error.status};
  if (!dense(&t, dtype, ndims, shape, &size_bytes)) return invalid(rt, PTO_EINVAL, "external tensor: impossible shape");
  if (!addr || (uintptr_t)addr % pto_dtype_size(dtype) != 0)
    return invalid(rt, PTO_EINVAL, "external tensor: NULL or misaligned address");
  struct oracle_buffer *buffer = buffer_new(rt, size_bytes);
  if (!buffer) return invalid(rt, PTO_ENOMEM, "external tensor: out of memory");
  buffer->is_external = true;
  buffer->memory = addr;
  t.buffer = handle_of(rt, buffer);
  return t;
}

struct pto_tensor pto_managed_tensor(struct pto_runtime *rt, struct pto_buffer handle, uint32_t dtype, uint32_t ndims,
                                     const uint64_t *shape) {
  struct pto_tensor t = {0};
  uint64_t size_bytes = 0;
  if (rt->run_error.status != PTO_OK) return (struct pto_tensor){.status = rt->run_error.status};
  if (!oracle_buffer_find(rt, handle)) return invalid(rt, PTO_ESTALE, "managed tensor: stale buffer");
  if (!dense(&t, dtype, ndims, shape, &size_bytes) || size_bytes > handle.size_bytes)
    return invalid(rt, PTO_EINVAL, "managed tensor: the shape does not fit the buffer");
  t.buffer = handle;
  return t;
}

uint64_t pto_get_buffer_addr(struct pto_runtime *rt, struct pto_buffer handle) {
  const struct oracle_buffer *buffer = oracle_buffer_find(rt, handle);
  return buffer ? (uint64_t)(uintptr_t)buffer->memory : 0;
}

/* ---- scopes ---- */

int pto_scope_begin(struct pto_runtime *rt, uint32_t kind) {
  int status = oracle_enter(rt);
  if (status != PTO_OK) return status;
  if (kind != PTO_SCOPE_AUTO && kind != PTO_SCOPE_MANUAL)
    return oracle_refuse(rt, PTO_EINVAL, "scope_begin: %u is no kind of scope", kind);
  if (kind == PTO_SCOPE_AUTO && rt->scopes[rt->scope].kind == PTO_SCOPE_MANUAL)
    return oracle_refuse(rt, PTO_EINVAL, "scope_begin: an automatic scope inside a manual one");
  if (rt->scope + 1 == PTO_ORACLE_SCOPES) return oracle_refuse(rt, PTO_EINVAL, "scope_begin: nested 64 deep already");
  rt->scopes[++rt->scope] = (struct oracle_scope){.kind = kind};
  return PTO_OK;
}

static void close_scope(struct pto_runtime *rt) {
  while (rt->scopes[rt->scope].first_buffer) buffer_free(rt, rt->scopes[rt->scope].first_buffer - 1);
  if (rt->scope > 0) rt->scope--;
}

int pto_scope_end(struct pto_runtime *rt) {
  int status = oracle_enter(rt);
  if (status != PTO_OK) return status;
  if (rt->scope <= 1) return oracle_refuse(rt, PTO_EINVAL, "scope_end: no scope is open");
  close_scope(rt);
  return PTO_OK;
}

/* ---- elements from the orchestration ---- */

/* The byte of element `index` of `t`, and for 4-bit dtypes its nibble; NULL with the refusal made. */
static unsigned char *element(struct pto_runtime *rt, const struct pto_tensor *t, const uint64_t *index,
                              uint32_t *nibble, int *status) {
  *status = oracle_enter(rt);
  if (*status != PTO_OK) return NULL;
  *status = pto_tensor_status(t);
  if (*status != PTO_OK) {
    char reason[256];
    (void)pto_tensor_explain(t, reason, sizeof reason);
    *status = oracle_refuse(rt, *status, "element: %s", reason);
    return NULL;
  }
  struct oracle_buffer *buffer = oracle_buffer_find(rt, t->buffer);
  if (!buffer)
    *status = oracle_refuse(rt, PTO_ESTALE, "element: stale tensor");
  else if (!buffer->memory)
    *status = oracle_refuse(rt, PTO_EINVAL, "element: the buffer has no memory yet");
  if (*status != PTO_OK) return NULL;
  uint64_t offset = t->start_offset;
  for (uint32_t i = 0; i < t->ndims; i++) {
    if (index[i] >= t->shape[i]) {
      *status = oracle_refuse(rt, PTO_EINVAL, "element: index %llu of dimension %u is not below %llu",
                              (unsigned long long)index[i], i, (unsigned long long)t->shape[i]);
      return NULL;
    }
    offset += index[i] * t->strides[i];
  }
  bool is_packed = pto_dtype_bits(t->dtype) == 4;
  *nibble = is_packed ? (uint32_t)(offset % 2) * 4 : 0;
  return buffer->memory + (is_packed ? offset / 2 : offset * pto_dtype_size(t->dtype));
}

int pto_read_element(struct pto_runtime *rt, const struct pto_tensor *t, const uint64_t *index, void *value) {
  uint32_t shift;
  int status;
  const unsigned char *byte = element(rt, t, index, &shift, &status);
  if (!byte) return status;
  if (pto_dtype_bits(t->dtype) != 4) {
    memcpy(value, byte, pto_dtype_size(t->dtype));
    return PTO_OK;
  }
  unsigned nibble = *byte >> shift & 15u;
  if (t->dtype == PTO_INT4)
    *(int8_t *)value = (int8_t)(nibble >= 8 ? (int)nibble - 16 : (int)nibble);
  else
    *(uint8_t *)value = (uint8_t)nibble;
  return PTO_OK;
}

int pto_write_element(struct pto_runtime *rt, const struct pto_tensor *t, const uint64_t *index, const void *value) {
  uint32_t shift;
  int status;
  unsigned char *byte = element(rt, t, index, &shift, &status);
  if (!byte) return status;
  if (pto_dtype_bits(t->dtype) != 4)
    memcpy(byte, value, pto_dtype_size(t->dtype));
  else
    *byte = (unsigned char)((*byte & ~(15u << shift)) | (*(const unsigned char *)value & 15u) << shift);
  return PTO_OK;
}

/* ---- the runtime itself ---- */

uint32_t pto_core_count(struct pto_runtime *rt, uint32_t kinds) {
  return rt->clusters * ((kinds & PTO_AIC ? 1u : 0) + (kinds & PTO_AIV ? 2u : 0) + (kinds & PTO_CLUSTER ? 1u : 0));
}

int pto_runtime_create_explained(const struct pto_config *config, struct pto_runtime **rt_out, char *sentence,
                                 size_t sentence_size) {
  static uint64_t serials; /* tells the handles of two runtimes apart */
  struct pto_runtime *rt = calloc(1, sizeof *rt);
  unsigned char *local = malloc(4 * PTO_ORACLE_AIC_BYTES);
  if (!rt || !local) {
    snprintf(sentence, sentence_size, "out of memory");
    free(rt);
    free(local);
    return PTO_ENOMEM;
  }
  rt->serial = ++serials;
  rt->poison = config && config->poison;
  rt->clusters = oracle_clusters;
  rt->local = local;
  *rt_out = rt;
  return PTO_OK;
}

int pto_runtime_create(const struct pto_config *config, struct pto_runtime **rt_out) {
  char sentence[64];
  return pto_runtime_create_explained(config, rt_out, sentence, sizeof sentence);
}

int pto_run(struct pto_runtime *rt, int (*orchestration)(struct pto_runtime *, void *), void *context) {
  if (rt->is_running) return oracle_refuse(rt, PTO_EINVAL, "a run goes on already");
  pto_error_clear(&rt->run_error);
  pto_error_clear(&rt->last_error);
  rt->task_count = 0;
  rt->run_number++;
  rt->is_running = true;
  rt->scopes[++rt->scope] = (struct oracle_scope){.kind = PTO_SCOPE_AUTO};
  int answer = orchestration(rt, context);
  if (answer != 0 && rt->run_error.status == PTO_OK)
    (void)pto_error_set(&rt->run_error, PTO_EUSER, "the orchestration returned %d%s%.900s", answer,
                        *rt->last_error.sentence ? ": " : "", rt->last_error.sentence);
  while (rt->scope > 0) close_scope(rt);
  rt->is_running = false;
  return rt->run_error.status;
}

void pto_runtime_destroy(struct pto_runtime *rt) {
  if (!rt) return;
  close_scope(rt);
  free(rt->buffers);
  free(rt->local);
  free(rt);
}

int pto_runtime_publish_counters(struct pto_runtime *rt) { return PTO_ENOTSUP; }

void pto_runtime_stats(const struct pto_runtime *rt, struct pto_stats *stats) {
  struct pto_stats all = {.size = stats->size, .tasks = rt->task_count, .workers = 1, .cores = 3 * rt->clusters};
  memcpy(stats, &all, stats->size < sizeof all ? stats->size : sizeof all);
}

/* ---- labels, which are for reports ---- */

void pto_scope_label(struct pto_runtime *rt, const char *label) { (void)rt, (void)label; }
void pto_buffer_label(struct pto_runtime *rt, struct pto_buffer buffer, const char *label) {
  (void)rt, (void)buffer, (void)label;
}
