/* SPDX-License-Identifier: MIT */
/*
 * What memory is called: the array or buffer that bytes lie in, their elements, the parameter nearest to them; and the
 * tasks that touch it, or were to write it.
 *
 * Owns nothing and judges nothing: findings are made of these words (findings.c, core_findings.c).
 */
#include <check/observe/state.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/dtype.h>
#include <runtime/base/grow.h>
#include <runtime/port/core_port.h>

/* Ranges that a sentence lists. */
#define MOST_RANGES 4u
/* Further from a parameter than this, how far says nothing; in another array or buffer than it, further than this many
 * times what it has in one piece. */
#define FAR_BYTES (UINT64_C(1) << 20)
#define FAR_PIECES 4u
/* Parameters of tasks, from the last one back, that are asked for a buffer's shape. */
#define MOST_PARAMS UINT64_C(65536)
/* How far back a buffer is looked for whose room bytes of the arena may be. */
#define MOST_ROOM_BYTES (UINT64_C(4) << 20)

#define SAY PTO_OBSERVE_SAY

/* ---- bytes ---- */

void pto_observe_bytes_add(struct pto_observe_bytes *bytes, uint64_t lo, uint64_t hi) {
  if (bytes->count && bytes->ranges[bytes->count - 1].hi >= lo) {
    bytes->ranges[bytes->count - 1].hi = pto_max_u64(bytes->ranges[bytes->count - 1].hi, hi);
    return;
  }
  struct pto_observe_range *range = pto_grow(&bytes->ranges, &bytes->count, &bytes->capacity, sizeof *range);
  if (range)
    *range = (struct pto_observe_range){lo, hi};
  else
    bytes->is_short = true;
}

void pto_observe_bytes_fini(struct pto_observation *o, struct pto_observe_bytes *bytes) {
  o->summary.is_short |= bytes->is_short;
  free(bytes->ranges);
  memset(bytes, 0, sizeof *bytes);
}

/* ---- who left bytes out ---- */

uint64_t pto_observe_buffer_at(const struct pto_observation *o, uint64_t addr) {
  const struct pto_observe_buffer *buffer = pto_observe_shadow_find(&o->shadow, addr);
  return buffer ? buffer->number : 0;
}

static bool overlaps(const struct pto_observe_left *left, struct pto_observe_range range) {
  for (uint32_t i = 0; i < left->count; i++)
    if (left->ranges[i].lo < range.hi && range.lo < left->ranges[i].hi) return true;
  return false;
}

struct pto_observe_left *pto_observe_left_find(struct pto_observation *o, uint64_t lo, uint64_t hi) {
  const uint64_t buffer_number = pto_observe_buffer_at(o, lo);
  for (uint32_t i = o->left_count; i-- > 0;) {
    struct pto_observe_left *left = &o->left[i];
    if (left->buffer_number == buffer_number && overlaps(left, (struct pto_observe_range){lo, hi})) return left;
  }
  return NULL;
}

const struct pto_observe_skipped *pto_observe_skipped_find(const struct pto_observation *o, uint64_t lo, uint64_t hi) {
  const uint64_t buffer_number = pto_observe_buffer_at(o, lo);
  for (uint32_t i = o->skipped_count; i-- > 0;) {
    const struct pto_observe_skipped *skipped = &o->skipped[i];
    if (skipped->buffer_number != buffer_number) continue;
    struct pto_region_runs runs = pto_region_runs(&skipped->param.region);
    for (uint64_t at; pto_region_runs_next(&runs, &at);)
      if (at < hi && lo < at + skipped->param.region.run_bytes) return skipped;
  }
  return NULL;
}

/* ---- text ---- */

void pto_observe_say_task(struct pto_observe_text *text, const struct pto_observation *o, uint64_t number) {
  if (o->rank) SAY(text, "rank %" PRIu32 " ", o->rank->index);
  SAY(text, "task %" PRIu64, number);
}

void pto_observe_say_unit(struct pto_observe_text *text, const struct pto_observation *o, uint32_t label) {
  const struct pto_payload *payload = o->call.payload;
  const struct pto_message *first = &o->call.unit->messages[0];
  const struct pto_kernel *kernel = payload->kernels[pto_observe_label_role(label)];
  pto_observe_say_task(text, o, payload->task_number);
  SAY(text, " (%s)", kernel && kernel->name ? kernel->name : "?");
  if ((first->flags & PTO_MESSAGE_BLOCKS) && payload->block_count > 1 &&
      !(first->flags & PTO_MESSAGE_TOGETHER && o->call.unit->waits))
    SAY(text, " block %u", pto_observe_label_block(label));
  if (pto_observe_kernel_count(payload) > 1 && !o->call.unit->waits)
    SAY(text, " %s", pto_role_name(pto_observe_label_role(label)));
}

/* ---- places ---- */

/* Whether the bytes of the arena from `addr` on are in no block that a task still has. */
static bool is_free(const struct pto_observation *o, uint64_t addr) {
  uint64_t position;
  const uint32_t index = pto_gm_arena_ring_of(&o->rt->arena, addr, &position);
  const struct pto_heap_ring *ring = &o->rt->rings.rings[index].heap;
  const uint64_t laps_bytes = ring->lap_count * ring->size_bytes;
  return (position + laps_bytes - ring->tail % laps_bytes) % laps_bytes >= ring->head - ring->tail;
}

static const struct pto_observe_external *find_external(const struct pto_observation *o, uint64_t lo, uint64_t margin) {
  const struct pto_observe_external *all = o->memory->externals.memory.addr, *best = NULL;
  uint64_t best_away = margin + 1;
  for (uint32_t i = 0; i < o->memory->externals.count; i++) {
    const uint64_t away = lo < all[i].lo ? all[i].lo - lo : lo >= all[i].hi ? lo - all[i].hi + 1 : 0;
    if (all[i].owner != pto_observe_owner(o) || away > margin || away > best_away) continue;
    if (away == best_away && best && all[i].hi - all[i].lo <= best->hi - best->lo) continue; /* the larger holds more */
    best = &all[i];
    best_away = away;
  }
  return best;
}

bool pto_observe_is_external(const struct pto_observation *o, uint64_t addr) { return find_external(o, addr, 0); }

/* The buffer in whose room, as large as itself, `addr` lies (gm_arena.h), or NULL.  Looks 4 MiB back. */
static const struct pto_observe_buffer *find_before(const struct pto_observation *o, uint64_t addr) {
  const struct pto_observe_buffer *buffer = NULL;
  for (uint64_t back = PTO_OUTPUT_ALIGN; !buffer && back <= MOST_ROOM_BYTES; back += PTO_OUTPUT_ALIGN)
    buffer = pto_observe_shadow_find(&o->shadow, addr - back);
  if (!buffer) return NULL;
  const uint64_t piece_bytes = pto_align_up(buffer->hi - buffer->lo, PTO_OUTPUT_ALIGN);
  return addr - buffer->lo < piece_bytes << o->rt->arena.spread_log2 ? buffer : NULL;
}

static void describe_arena(const struct pto_observation *o, uint64_t lo, struct pto_observe_object *object) {
  const struct pto_observe_buffer *buffer = pto_observe_shadow_find(&o->shadow, lo);
  if (!buffer && (buffer = find_before(o, lo)) != NULL) {
    *object = (struct pto_observe_object){.lo = buffer->lo, .hi = buffer->hi};
    snprintf(object->name, sizeof object->name, "the room behind buffer %" PRIu64, buffer->number);
    return;
  }
  if (!buffer) {
    *object = (struct pto_observe_object){.lo = o->arena.lo, .hi = o->arena.hi};
    snprintf(object->name, sizeof object->name, "free memory of the arena");
    return;
  }
  *object = (struct pto_observe_object){.lo = buffer->lo, .hi = buffer->hi};
  if (is_free(o, lo)) {
    object->has_gone = true;
    snprintf(object->name, sizeof object->name, "free memory that was buffer %" PRIu64, buffer->number);
    return;
  }
  object->buffer_number = buffer->number;
  pto_runtime_name_bytes(o->rt, lo, object->name, sizeof object->name);
  if (!object->name[0]) snprintf(object->name, sizeof object->name, "buffer %" PRIu64, buffer->number);
}

/* An array that the caller gave, whether a task has it as a parameter or not: its margins are told from it too. */
static void describe_array(const struct pto_observation *o, const struct pto_array *array,
                           struct pto_observe_object *object) {
  const uint64_t lo = (uint64_t)(uintptr_t)array->data;
  const struct pto_observe_external *external = find_external(o, lo, 0);
  const bool is_bytes = array->dtype == PTO_UINT8 && array->ndims == 1; /* a block: a parameter knows more */
  *object = (struct pto_observe_object){.lo = lo, .hi = lo + array->size_bytes, .array = is_bytes ? NULL : array};
  snprintf(object->name, sizeof object->name, "array %.100s", array->name);
  if (!external || external->lo != lo) return;
  object->buffer_number = external->buffer_number;
  pto_text_append(object->name, sizeof object->name, " (buffer %" PRIu64 ")", external->buffer_number);
}

/* A device tensor, by the label that tasks have recorded with it. */
static void describe_device(const struct pto_observation *o, const struct pto_observe_external *external,
                            struct pto_observe_object *object) {
  const struct pto_trace_log *params = &o->rt->trace.params;
  const char *label = NULL;
  for (uint64_t i = params->count; !label && i-- > 0 && params->count - i <= MOST_PARAMS;) {
    const struct pto_trace_param *param = pto_trace_log_at(params, i);
    if (!param->is_managed && param->tensor.buffer.base == external->lo) label = param->buffer_label;
  }
  snprintf(object->name, sizeof object->name, "device tensor%s%.100s (buffer %" PRIu64 ")", label ? " " : "",
           label ? label : "", external->buffer_number);
}

/* Memory of the runtime that `o` is of. */
static void describe_own(const struct pto_observation *o, uint64_t lo, struct pto_observe_object *object) {
  const struct pto_observe_external *external;
  const struct pto_observe_area *given = pto_observe_memory_given(o->memory, lo);
  if (lo >= o->arena.lo && lo < o->arena.hi) {
    describe_arena(o, lo, object);
  } else if (given && given->is_window) {
    *object = (struct pto_observe_object){.lo = given->lo, .hi = given->hi};
    snprintf(object->name, sizeof object->name, "%.100s", given->name);
  } else if (given && given->array) {
    describe_array(o, given->array, object);
  } else if ((external = find_external(o, lo, 2 * o->memory->page_bytes)) != NULL) {
    given = pto_observe_memory_given(o->memory, external->lo);
    *object =
        (struct pto_observe_object){.lo = external->lo, .hi = external->hi, .buffer_number = external->buffer_number};
    if (given && given->is_device)
      describe_device(o, external, object);
    else
      snprintf(object->name, sizeof object->name, "external buffer %" PRIu64, external->buffer_number);
  } else {
    *object = (struct pto_observe_object){.lo = 0, .hi = UINT64_MAX, .name = "memory at"};
  }
}

/* Of all who are observed together. */
void pto_observe_object_at(const struct pto_observation *o, uint64_t lo, struct pto_observe_object *object) {
  const uint32_t owner = pto_observe_memory_owner(o->memory, lo, pto_observe_owner(o));
  const struct pto_observation *its = o->group->members[owner];
  describe_own(its ? its : o, lo, object);
  object->rt = (its ? its : o)->rt;
  const struct pto_observe_area *given = pto_observe_memory_given(o->memory, lo);
  if (its && its != o && !(given && given->is_window))
    pto_text_append(object->name, sizeof object->name, " of rank %" PRIu32, owner);
}

/* Whether describe names this object, which bytes behind its end may be told of too. */
static bool lies_in(const struct pto_observation *o, uint64_t lo, const struct pto_observe_object *object) {
  struct pto_observe_object other;
  pto_observe_object_at(o, lo, &other);
  return other.lo == object->lo && strcmp(other.name, object->name) == 0;
}

/* What an object's elements are. */
struct shape {
  uint32_t dtype, ndims;
  const uint64_t *extents;
};

/* Of a buffer: as the last parameter has it that is all of the buffer, dense.  False: not known. */
static bool find_shape(const struct pto_observe_object *object, struct shape *shape) {
  const struct pto_trace_log *params = &object->rt->trace.params;
  if (object->array) *shape = (struct shape){object->array->dtype, object->array->ndims, object->array->shape};
  if (object->array) return true;
  for (uint64_t i = params->count; object->buffer_number && i-- > 0 && params->count - i <= MOST_PARAMS;) {
    const struct pto_trace_param *param = pto_trace_log_at(params, i);
    const struct pto_tensor *t = &param->tensor;
    const bool is_registered_again = !param->is_managed && t->buffer.base == object->lo; /* a device tensor */
    if (param->buffer_number != object->buffer_number && !is_registered_again) continue;
    uint64_t count = 1;
    bool is_all = t->start_offset == 0;
    for (uint32_t d = t->ndims; d-- > 0; count *= t->shape[d]) is_all &= t->strides[d] == count;
    *shape = (struct shape){t->dtype, t->ndims, t->shape};
    if (is_all && (count * pto_dtype_bits(t->dtype) + 7) / 8 == object->hi - object->lo) return true;
  }
  return false;
}

static void say_element(struct pto_observe_text *text, const struct shape *shape, uint64_t index) {
  uint64_t at[PTO_MAX_DIMS];
  for (uint32_t d = shape->ndims; d-- > 0; index /= shape->extents[d]) at[d] = index % shape->extents[d];
  for (uint32_t d = 0; d < shape->ndims; d++) SAY(text, "%s%" PRIu64, d ? "," : "[", at[d]);
  SAY(text, "]");
}

/* " (elements [4,8] to [7,8] of f32[16,16])", from the first byte to the last one. */
void pto_observe_say_elements(struct pto_observe_text *text, const struct pto_observe_object *object, uint64_t lo,
                              uint64_t hi) {
  struct shape shape;
  uint64_t count = 1;
  if (lo < object->lo || hi > object->hi || !find_shape(object, &shape) || shape.ndims == 0) return;
  for (uint32_t d = 0; d < shape.ndims; d++) count *= shape.extents[d];
  const uint64_t bits = pto_dtype_bits(shape.dtype), first = (lo - object->lo) * 8 / bits;
  const uint64_t last =
      pto_min_u64(((hi - object->lo) * 8 - 1) / bits, count - 1); /* not the half without an element */
  SAY(text, last > first ? " (elements " : " (element ");
  say_element(text, &shape, first);
  if (last > first) SAY(text, " to ");
  if (last > first) say_element(text, &shape, last);
  SAY(text, " of %s[", pto_dtype_name(shape.dtype));
  for (uint32_t d = 0; d < shape.ndims; d++) SAY(text, "%s%" PRIu64, d ? "," : "", shape.extents[d]);
  SAY(text, "])");
}

/* Of elements of an object, in each dimension. */
struct box {
  struct shape shape;
  uint64_t elements, begins[PTO_MAX_DIMS], ends[PTO_MAX_DIMS];
};

/* Widens the box by a run of bytes, from the object's begin on.  Of its elements it is whole in all dimensions behind
 * the first one in which its ends differ. */
static void widen_box(struct box *box, uint64_t lo, uint64_t hi) {
  const struct shape *shape = &box->shape;
  const uint64_t bits = pto_dtype_bits(shape->dtype);
  uint64_t from[PTO_MAX_DIMS], to[PTO_MAX_DIMS], first = lo * 8 / bits;
  uint64_t last = pto_min_u64((hi * 8 - 1) / bits, box->elements - 1);
  bool is_whole = false;
  for (uint32_t d = shape->ndims; d-- > 0; first /= shape->extents[d], last /= shape->extents[d]) {
    from[d] = first % shape->extents[d];
    to[d] = last % shape->extents[d];
  }
  for (uint32_t d = 0; d < shape->ndims; d++) {
    box->begins[d] = pto_min_u64(box->begins[d], is_whole ? 0 : from[d]);
    box->ends[d] = pto_max_u64(box->ends[d], is_whole ? shape->extents[d] : to[d] + 1);
    is_whole |= from[d] != to[d];
  }
}

static void say_list(struct pto_observe_text *text, const uint64_t *values, uint32_t count) {
  SAY(text, ", (const uint64_t[]){");
  for (uint32_t d = 0; d < count; d++) SAY(text, "%s%" PRIu64, d ? ", " : "", values[d]);
  SAY(text, "}");
}

bool pto_observe_say_view(struct pto_observe_text *text, const struct pto_observe_object *object,
                          const struct pto_observe_range *ranges, uint32_t count, const struct pto_region *with) {
  static const struct pto_region none;
  struct pto_region_runs runs = pto_region_runs(with ? with : &none);
  struct box box = {.elements = 1};
  if (ranges[0].lo < object->lo || ranges[count - 1].hi > object->hi || !find_shape(object, &box.shape) ||
      box.shape.ndims == 0)
    return false;
  for (uint32_t d = 0; d < box.shape.ndims; d++) {
    box.begins[d] = UINT64_MAX;
    box.elements *= box.shape.extents[d];
  }
  for (uint32_t i = 0; i < count; i++) widen_box(&box, ranges[i].lo - object->lo, ranges[i].hi - object->lo);
  for (uint64_t lo; with && pto_region_runs_next(&runs, &lo);)
    widen_box(&box, lo - object->lo, lo - object->lo + with->run_bytes);
  for (uint32_t d = 0; d < box.shape.ndims; d++) box.ends[d] -= box.begins[d];
  SAY(text, "`pto_tensor_view(&%s", object->array ? object->array->name : "t");
  say_list(text, box.begins, box.shape.ndims);
  say_list(text, box.ends, box.shape.ndims);
  SAY(text, ")`");
  if (!object->array) SAY(text, ", t being all of buffer %" PRIu64, object->buffer_number);
  return true;
}

void pto_observe_note_extent(struct pto_observe_text *text, const struct pto_observe_object *object, uint64_t lo,
                             uint64_t hi) {
  if (text->extent[0]) return;
  snprintf(text->extent, sizeof text->extent, "bytes %" PRId64 ":%" PRId64, (int64_t)(lo - object->lo),
           (int64_t)(hi - object->lo));
}

uint32_t pto_observe_say_ranges(struct pto_observe_text *text, const struct pto_observation *o,
                                const struct pto_observe_bytes *bytes, uint32_t first,
                                const struct pto_observe_object *object) {
  uint32_t count = 0, i = first;
  uint64_t total = 0;
  for (; i < bytes->count; i++) {
    const struct pto_observe_range range = bytes->ranges[i];
    if (i > first && !lies_in(o, range.lo, object)) break;
    total += range.hi - range.lo;
    if (count++ >= MOST_RANGES) continue;
    SAY(text, "%s[%" PRId64 ", %" PRId64 ")", count > 1 ? ", " : "bytes ", (int64_t)(range.lo - object->lo),
        (int64_t)(range.hi - object->lo));
  }
  if (count > MOST_RANGES) SAY(text, " and %u more, %" PRIu64 " bytes in all,", count - MOST_RANGES, total);
  SAY(text, " of %s", object->name);
  pto_observe_say_elements(text, object, bytes->ranges[first].lo, bytes->ranges[i - 1].hi);
  pto_observe_note_extent(text, object, bytes->ranges[first].lo, bytes->ranges[i - 1].hi);
  return i;
}

/* 0: within; else how many bytes to the nearest, which is 1 for a neighbour. */
static uint64_t away_from(const struct pto_region *region, uint64_t lo, uint64_t hi) {
  if (lo >= region->end) return lo - region->end + 1;
  return hi <= region->start ? region->start - hi + 1 : 0;
}

const struct pto_observe_param *pto_observe_nearest(const struct pto_observation *o, uint64_t lo, uint64_t hi) {
  const struct pto_observe_param *best = NULL;
  for (uint32_t i = 0; i < o->call.param_count; i++) {
    const struct pto_observe_param *param = &o->call.params[i];
    if (pto_region_is_empty(&param->region)) continue;
    if (!best) best = param;
    const uint64_t away = away_from(&param->region, lo, hi), best_away = away_from(&best->region, lo, hi);
    /* Of those around the bytes, the narrower one is meant. */
    if (away < best_away ||
        (away == best_away && param->region.end - param->region.start < best->region.end - best->region.start))
      best = param;
  }
  return best;
}

uint64_t pto_observe_element_bytes(const struct pto_observation *o, uint64_t lo, uint64_t hi) {
  const struct pto_observe_param *nearest = pto_observe_nearest(o, lo, hi);
  uint64_t element_bytes = nearest ? nearest->element_bytes : 1;
  for (uint32_t i = 0; i < o->call.param_count; i++) {
    const struct pto_observe_param *param = &o->call.params[i];
    if (param->region.start < hi && lo < param->region.end)
      element_bytes = pto_min_u64(element_bytes, param->element_bytes);
  }
  return element_bytes;
}

void pto_observe_say_bytes(struct pto_observe_text *text, const struct pto_observation *o, uint64_t lo, uint64_t hi,
                           char *name, size_t name_size) {
  struct pto_observe_object object;
  pto_observe_object_at(o, lo, &object);
  SAY(text, "bytes [%" PRId64 ", %" PRId64 ") of %s", (int64_t)(lo - object.lo), (int64_t)(hi - object.lo),
      object.name);
  pto_observe_note_extent(text, &object, lo, hi);
  snprintf(name, name_size, "%s", object.name);
}

void pto_observe_say_param(struct pto_observe_text *text, const struct pto_observe_param *param) {
  SAY(text, "param %u", param->index);
  if (param->name && param->name[0]) SAY(text, " %s", param->name);
  SAY(text, " (%s)", pto_param_mode_name(param->mode));
}

/* Whether a kernel may have come to the bytes from the parameter. */
static bool is_near(const struct pto_observation *o, const struct pto_region *region, uint64_t lo, uint64_t hi) {
  const uint64_t away = away_from(region, lo, hi);
  struct pto_observe_object own;
  if (away > FAR_BYTES) return false;
  pto_observe_object_at(o, region->start, &own);
  return lies_in(o, lo, &own) || away <= FAR_PIECES * region->run_bytes;
}

/* Whether a parameter has one of the bytes: one that the kernel does not use. */
static bool is_inside(const struct pto_region *region, uint64_t lo, uint64_t hi) {
  struct pto_region_runs runs = pto_region_runs(region);
  for (uint64_t at; pto_region_runs_next(&runs, &at);)
    if (at < hi && lo < at + region->run_bytes) return true;
  return false;
}

/* Where bytes are from a parameter's. */
void pto_observe_say_distance(struct pto_observe_text *text, const struct pto_observation *o,
                              const struct pto_observe_param *param, uint64_t lo, uint64_t hi) {
  const struct pto_region *region = &param->region;
  if (!is_near(o, region, lo, hi)) {
    SAY(text, "far from all of its parameters");
    return;
  }
  if (lo >= region->end)
    SAY(text, lo == region->end ? "right behind " : "%" PRIu64 " bytes behind ", lo - region->end);
  else if (hi <= region->start)
    SAY(text, hi == region->start ? "right before " : "%" PRIu64 " bytes before ", region->start - hi);
  else
    SAY(text, is_inside(region, lo, hi) ? "in " : "between the rows of ");
  pto_observe_say_param(text, param);
}
