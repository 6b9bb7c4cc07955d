/* SPDX-License-Identifier: MIT */
#include <runtime/control/call_list_compare.h>

#include <inttypes.h>
#include <string.h>

#include <runtime/base/base.h>
#include <runtime/base/text.h>

struct comparing {
  const struct pto_call_list *lists[2]; /* kept, made */
  const struct pto_listed_step *steps[2];
  struct pto_call_difference *found;
};

#define SAY(found, of, ...) pto_text_append((found)->of, sizeof(found)->of, __VA_ARGS__)

static const void *item(const struct pto_call_list *list, int which, uint64_t index) {
  const struct pto_listed_array *array = &list->arrays[which];
  return (const char *)array->items + index * array->item_bytes;
}

static const struct pto_kernel *kernel_of(const struct pto_listed_step *step) {
  const struct pto_launch *launch = &step->launch;
  return launch->aic ? launch->aic : launch->aiv0 ? launch->aiv0 : launch->aiv1;
}

/* ---- kernels ---- */

/* A kernel that is made anew for each call is the same where it runs the same. */
static bool is_same_kernel(const struct pto_kernel *a, const struct pto_kernel *b) {
  return a == b || (a && b && a->run == b->run && strcmp(a->name, b->name) == 0);
}

static void say_kernels(const struct pto_launch *launch, char *text, size_t size) {
  const struct pto_kernel *const kernels[] = {launch->aic, launch->aiv0, launch->aiv1};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(kernels); i++)
    if (kernels[i]) pto_text_append(text, size, "%s%s", text[0] ? " + " : "kernel ", kernels[i]->name);
  if (launch->block_count > 1) pto_text_append(text, size, " in %" PRIu32 " blocks", launch->block_count);
}

static bool launches_differ(const struct comparing *c) {
  const struct pto_launch *a = &c->steps[0]->launch, *b = &c->steps[1]->launch;
  if (is_same_kernel(a->aic, b->aic) && is_same_kernel(a->aiv0, b->aiv0) && is_same_kernel(a->aiv1, b->aiv1) &&
      a->block_count == b->block_count)
    return false;
  say_kernels(a, c->found->kept, sizeof c->found->kept);
  say_kernels(b, c->found->made, sizeof c->found->made);
  return true;
}

/* ---- parameters ---- */

static void say_scalar(const struct pto_param *param, char *text, size_t size) {
  if (param->scalar_type == PTO_SCALAR_F32)
    pto_text_append(text, size, "%.9g", (double)param->value.scalar.f32);
  else if (param->scalar_type == PTO_SCALAR_I64)
    pto_text_append(text, size, "%" PRId64, param->value.scalar.i64);
  else
    pto_text_append(text, size, "%" PRIu64, param->value.scalar.u64);
}

static bool is_same_tensor(const struct comparing *c, const uint64_t index[2]) {
  const struct pto_tensor *a = item(c->lists[0], PTO_LISTED_TENSORS, index[0]),
                          *b = item(c->lists[1], PTO_LISTED_TENSORS, index[1]);
  const uint32_t *of_a = item(c->lists[0], PTO_LISTED_BUFFER_INDICES, index[0]),
                 *of_b = item(c->lists[1], PTO_LISTED_BUFFER_INDICES, index[1]);
  return *of_a == *of_b && a->start_offset == b->start_offset && a->dtype == b->dtype && a->ndims == b->ndims &&
         a->overlap == b->overlap && memcmp(a->shape, b->shape, a->ndims * sizeof *a->shape) == 0 &&
         memcmp(a->strides, b->strides, a->ndims * sizeof *a->strides) == 0;
}

static void say_tensor(const struct pto_call_list *list, uint64_t index, char *text, size_t size) {
  const struct pto_tensor *t = item(list, PTO_LISTED_TENSORS, index);
  const uint32_t *buffer = item(list, PTO_LISTED_BUFFER_INDICES, index);
  pto_text_append(text, size, "%s[", pto_dtype_name(t->dtype));
  pto_text_append_numbers(text, size, ",", t->shape, t->ndims);
  pto_text_append(text, size, "] from element %" PRIu64 " of %s %" PRIu32, t->start_offset,
                  *buffer < list->given_count ? "operand" : "its buffer",
                  *buffer < list->given_count ? *buffer : *buffer - list->given_count);
}

static void say_param(const struct comparing *c, uint32_t index) {
  const struct pto_kernel *kernel = kernel_of(c->steps[1]);
  const char *name = kernel ? kernel->params[index].name : NULL;
  SAY(c->found, made, "param %" PRIu32 "%s%s = ", index, name ? " " : "", name ? name : "");
}

static bool params_differ(const struct comparing *c) {
  uint64_t tensors[2] = {c->steps[0]->first_tensor, c->steps[1]->first_tensor};
  if (c->steps[0]->param_count != c->steps[1]->param_count) {
    SAY(c->found, kept, "%" PRIu32 " parameters", c->steps[0]->param_count);
    SAY(c->found, made, "%" PRIu32 " parameters", c->steps[1]->param_count);
    return true;
  }
  for (uint32_t i = 0; i < c->steps[0]->param_count; i++) {
    const struct pto_param *a = item(c->lists[0], PTO_LISTED_PARAMS, c->steps[0]->first_param + i),
                           *b = item(c->lists[1], PTO_LISTED_PARAMS, c->steps[1]->first_param + i);
    const bool is_scalar = a->mode == PTO_SCALAR && b->mode == PTO_SCALAR;
    if (a->mode != b->mode) {
      say_param(c, i);
      SAY(c->found, made, "another mode");
      SAY(c->found, kept, "mode %" PRIu32 ", and not %" PRIu32, a->mode, b->mode);
      return true;
    }
    if (is_scalar ? a->value.scalar.u64 == b->value.scalar.u64 : is_same_tensor(c, tensors)) {
      for (int k = 0; k < 2; k++) tensors[k] += !is_scalar;
      continue;
    }
    say_param(c, i);
    c->found->is_scalar = is_scalar;
    if (is_scalar) {
      say_scalar(a, c->found->kept, sizeof c->found->kept);
      say_scalar(b, c->found->made, sizeof c->found->made);
    } else {
      say_tensor(c->lists[0], tensors[0], c->found->kept, sizeof c->found->kept);
      say_tensor(c->lists[1], tensors[1], c->found->made, sizeof c->found->made);
    }
    return true;
  }
  return false;
}

/* ---- what else a submit has ---- */

static bool initials_differ(const struct comparing *c) {
  const struct pto_listed_step *a = c->steps[0], *b = c->steps[1];
  if (a->launch.initial_count != b->launch.initial_count) return true;
  for (uint32_t i = 0; i < a->launch.initial_count; i++) {
    const struct pto_initial *x = item(c->lists[0], PTO_LISTED_INITIALS, a->first_initial + i),
                             *y = item(c->lists[1], PTO_LISTED_INITIALS, b->first_initial + i);
    if (x->param != y->param || x->bits != y->bits) return true;
  }
  return false;
}

static bool rests_differ(const struct comparing *c) {
  const struct pto_listed_step *a = c->steps[0], *b = c->steps[1];
  const uint64_t predicates[2] = {a->first_tensor + a->tensor_count - 1u, b->first_tensor + b->tensor_count - 1u};
  if (a->launch.after_count != b->launch.after_count ||
      (a->launch.after_count &&
       memcmp(item(c->lists[0], PTO_LISTED_AFTER, a->first_after), item(c->lists[1], PTO_LISTED_AFTER, b->first_after),
              a->launch.after_count * sizeof(struct pto_task)) != 0)) {
    SAY(c->found, kept, "%" PRIu32 " dependencies, perhaps on other tasks", a->launch.after_count);
    SAY(c->found, made, "%" PRIu32 " explicit dependencies", b->launch.after_count);
    return true;
  }
  if (a->launch.sync_start != b->launch.sync_start || initials_differ(c)) {
    SAY(c->found, kept, "another launch");
    SAY(c->found, made, "sync_start %d and %" PRIu32 " initial values", b->launch.sync_start, b->launch.initial_count);
    return true;
  }
  if (a->launch.predicate.compare == PTO_ALWAYS && b->launch.predicate.compare == PTO_ALWAYS) return false;
  /* a comparison has a tensor: a submit without one was refused */
  if (a->launch.predicate.compare != b->launch.predicate.compare ||
      a->launch.predicate.value != b->launch.predicate.value || !is_same_tensor(c, predicates)) {
    SAY(c->found, kept, "another one, or none");
    SAY(c->found, made, "a predicate of its own");
    return true;
  }
  return false;
}

/* ---- steps ---- */

/* NULL: the list is over. */
static void say_step(const struct pto_listed_step *step, char *text, size_t size) {
  if (!step)
    pto_text_append(text, size, "no more calls");
  else if (step->kind == PTO_LISTED_SUBMIT)
    pto_text_append(text, size, "a submit of %s", kernel_of(step) ? kernel_of(step)->name : "no kernel");
  else if (step->kind == PTO_LISTED_BUFFER)
    pto_text_append(text, size, "a buffer of %" PRIu64 " bytes", step->buffer_bytes);
  else
    pto_text_append(text, size, step->kind == PTO_LISTED_SCOPE_BEGIN ? "the begin of a scope" : "the end of a scope");
}

static bool steps_differ(const struct comparing *c) {
  const struct pto_listed_step *a = c->steps[0], *b = c->steps[1];
  if (a && b && a->kind == b->kind) {
    if (a->kind == PTO_LISTED_SCOPE_END) return false;
    if (a->kind == PTO_LISTED_SUBMIT && a->task_kind == b->task_kind)
      return launches_differ(c) || params_differ(c) || rests_differ(c);
    if (a->kind == PTO_LISTED_BUFFER && a->buffer_bytes == b->buffer_bytes) return false;
    if (a->kind == PTO_LISTED_SCOPE_BEGIN && a->scope_kind == b->scope_kind) return false;
  }
  say_step(a, c->found->kept, sizeof c->found->kept);
  say_step(b, c->found->made, sizeof c->found->made);
  return true;
}

bool pto_call_lists_differ(const struct pto_call_list *kept, const struct pto_call_list *made,
                           struct pto_call_difference *difference_out) {
  struct pto_call_difference found = {0};
  struct comparing c = {.lists = {kept, made}, .found = &found};
  const uint64_t counts[2] = {kept->arrays[PTO_LISTED_STEPS].count, made->arrays[PTO_LISTED_STEPS].count};
  for (uint64_t i = 0; i < pto_max_u64(counts[0], counts[1]); i++) {
    for (int k = 0; k < 2; k++) c.steps[k] = i < counts[k] ? item(c.lists[k], PTO_LISTED_STEPS, i) : NULL;
    const struct pto_listed_step *step = c.steps[1];
    if (!steps_differ(&c)) {
      found.submits += step->kind == PTO_LISTED_SUBMIT;
      continue;
    }
    const bool is_submit = step && step->kind == PTO_LISTED_SUBMIT;
    found.call = is_submit ? step->call : NULL;
    found.kernel = is_submit && kernel_of(step) ? kernel_of(step)->name : NULL;
    *difference_out = found;
    return true;
  }
  return false;
}
