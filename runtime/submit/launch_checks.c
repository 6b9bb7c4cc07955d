/* SPDX-License-Identifier: MIT */
/*
 * What a launch and its kernels' lists say of the parameters, before any tensor is checked: cores, modes,
 * dtypes, ranks, scalar types, and how many of each there are.
 */
#include <runtime/submit/params.h>

#include <inttypes.h>
#include <stdio.h>

#include <runtime/port/core_port.h>

static const char *scalar_name(uint32_t type) {
  static const char *const names[] = {"?", "f32", "i64", "u64"};
  return type < PTO_ARRAY_LENGTH(names) ? names[type] : "?";
}

/* Modes that a tensor can have, a bit each. */
#define TENSOR_MODES (1u << PTO_INPUT | 1u << PTO_OUTPUT | 1u << PTO_INOUT | 1u << PTO_HOLD | 1u << PTO_ACCUMULATE)

/* ---- launch ---- */

/* The kernel by which sentences call the task. */
static const struct pto_kernel *first_kernel(const struct pto_launch *launch) {
  return launch->aic ? launch->aic : launch->aiv0 ? launch->aiv0 : launch->aiv1;
}

static int check_kernel(struct pto_runtime *rt, struct pto_submit_work *submit, const struct pto_kernel *kernel,
                        bool is_aic) {
  if (!kernel) return PTO_OK;
  if (PTO_UNLIKELY(!(kernel->cores & (is_aic ? PTO_AIC : PTO_AIV))))
    return PTO_REFUSE(rt, PTO_EINVAL, "kernel %s does not run on %s cores", kernel->name, is_aic ? "AIC" : "AIV");
  if (PTO_UNLIKELY(!kernel->run)) return PTO_REFUSE(rt, PTO_EINVAL, "kernel %s has no function to run", kernel->name);
  submit->has_waiting |= pto_kernel_waits(kernel);
  submit->queries |= kernel->check || kernel->cost;
  return PTO_OK;
}

/* Several blocks of a kernel that leaves nothing to others would write the same bytes at once. */
static PTO_COLD int check_divides(struct pto_runtime *rt, const struct pto_launch *launch) {
  const struct pto_kernel *kernels[3] = {launch->aic, launch->aiv0, launch->aiv1};
  for (int k = 0; k < 3; k++)
    if (kernels[k] && kernels[k]->flags & PTO_KERNEL_ONE_BLOCK)
      return PTO_REFUSE(rt, PTO_EINVAL,
                        "%s: block_count is %u, but the kernel does the whole of its tensors in one block (cut the "
                        "work up by views)",
                        kernels[k]->name, launch->block_count);
  return PTO_OK;
}

static int check_blocks(struct pto_runtime *rt, const struct pto_launch *launch, enum pto_shape shape) {
  const char *name = first_kernel(launch)->name;
  uint32_t block_count = launch->block_count ? launch->block_count : 1;
  if (PTO_UNLIKELY(block_count > 1) && check_divides(rt, launch)) return PTO_EINVAL;
  if (PTO_UNLIKELY(block_count > UINT32_MAX / 3))
    return PTO_REFUSE(rt, PTO_EINVAL, "%s: %u blocks are too many", name, block_count);
  if (PTO_UNLIKELY(launch->sync_start) && block_count > pto_scheduler_room(&rt->scheduler, shape))
    return PTO_REFUSE(
        rt, PTO_EFIT, "%s: sync_start: %u blocks can never start together, %s has %u cluster%s, with room for %" PRIu64,
        name, block_count, rt->port->chip_name ? rt->port->chip_name : "the chip", pto_port_visible_clusters(rt->port),
        pto_port_visible_clusters(rt->port) == 1 ? "" : "s", pto_scheduler_room(&rt->scheduler, shape));
  return PTO_OK;
}

static int check_launch(struct pto_runtime *rt, struct pto_submit_work *submit, const struct pto_launch *launch,
                        enum pto_shape *shape_out) {
  static const enum pto_shape shapes[2][3] = {{PTO_SHAPE_COUNT, PTO_SHAPE_AIV, PTO_SHAPE_AIV_X2},
                                              {PTO_SHAPE_AIC, PTO_SHAPE_MIX_X1, PTO_SHAPE_MIX_X2}};
  *shape_out = shapes[launch->aic != NULL][(launch->aiv0 != NULL) + (launch->aiv1 != NULL)];
  if (PTO_UNLIKELY(*shape_out == PTO_SHAPE_COUNT))
    return PTO_REFUSE(rt, PTO_EINVAL, "a task needs a kernel (pto_kernel_find gives NULL for an unknown name)");
  int status = check_kernel(rt, submit, launch->aic, true);
  if (!status) status = check_kernel(rt, submit, launch->aiv0, false);
  if (!status) status = check_kernel(rt, submit, launch->aiv1, false);
  return status ? status : check_blocks(rt, launch, *shape_out);
}

/* ---- parameters against the kernels' lists ---- */

static PTO_COLD int refuse_dtype(struct pto_runtime *rt, const struct pto_kernel *kernel,
                                 const struct pto_kernel_param *expected, uint32_t dtype, uint32_t index) {
  int status = PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u (%s) has dtype %s, the kernel takes", kernel->name, index,
                          expected->name ? expected->name : "", pto_dtype_name(dtype));
  const char *separator = " ";
  for (uint32_t d = 0; d < PTO_DTYPE_COUNT; d++)
    if (expected->dtypes & PTO_DTYPE_BIT(d)) {
      pto_error_append(&rt->error, "%s%s", separator, pto_dtype_name(d));
      separator = ", ";
    }
  return status;
}

static PTO_COLD int refuse_rank(struct pto_runtime *rt, const struct pto_kernel *kernel,
                                const struct pto_kernel_param *expected, uint32_t rank, uint32_t index) {
  uint32_t most = expected->max_rank ? expected->max_rank : PTO_MAX_DIMS;
  const char *name = expected->name ? expected->name : "";
  if (expected->min_rank == most)
    return PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u (%s) has rank %u, %u is expected", kernel->name, index, name, rank,
                      most);
  return PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u (%s) has rank %u, %u to %u is expected", kernel->name, index, name,
                    rank, expected->min_rank, most);
}

static int check_param(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_kernel_param *expected,
                       const struct pto_param *param, uint32_t index) {
  const char *name = expected->name ? expected->name : "";
  if (param->mode == PTO_SCALAR) {
    if (PTO_UNLIKELY(expected->scalar && expected->scalar != param->scalar_type))
      return PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u (%s) is a scalar of type %s, %s is expected", kernel->name, index,
                        name, scalar_name(param->scalar_type), scalar_name(expected->scalar));
    return PTO_OK;
  }
  const struct pto_tensor *t = param->value.tensor;
  if (PTO_UNLIKELY(!t))
    return PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u (%s) is a null tensor", kernel->name, index, name);
  if (PTO_UNLIKELY(t->status)) return PTO_OK; /* refused with its own reason */
  if (PTO_UNLIKELY(expected->dtypes && !(t->dtype < PTO_DTYPE_COUNT && (expected->dtypes & PTO_DTYPE_BIT(t->dtype)))))
    return refuse_dtype(rt, kernel, expected, t->dtype, index);
  if (PTO_UNLIKELY(t->ndims < expected->min_rank || (expected->max_rank && t->ndims > expected->max_rank)))
    return refuse_rank(rt, kernel, expected, t->ndims, index);
  return PTO_OK;
}

static PTO_COLD int refuse_mode(struct pto_runtime *rt, const struct pto_kernel *kernel,
                                const struct pto_kernel_param *expected, const struct pto_param *param, uint32_t index,
                                uint32_t mode) {
  return PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u (%s) is passed as %s, %s is expected", kernel->name, index,
                    expected->name ? expected->name : "", pto_param_mode_name(param->mode), pto_param_mode_name(mode));
}

/* Each kernel lists all parameters; the task's mode is the union of what they do. */
static int check_lists(struct pto_runtime *rt, const struct pto_launch *launch, const struct pto_param *params,
                       uint32_t count) {
  const struct pto_kernel *kernels[3] = {launch->aic, launch->aiv0, launch->aiv1};
  for (int k = 0; k < 3; k++)
    if (kernels[k] && kernels[k]->param_count != count)
      return PTO_REFUSE(rt, PTO_EINVAL, "%s takes %u parameters, %u were passed", kernels[k]->name,
                        kernels[k]->param_count, count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t mode = PTO_UNUSED;
    const struct pto_kernel *last = NULL;
    for (int k = 0; k < 3; k++) {
      if (!kernels[k] || kernels[k]->params[i].mode == PTO_UNUSED) continue;
      if (params[i].mode != PTO_HOLD && mode == PTO_ACCUMULATE && kernels[k]->params[i].mode == PTO_ACCUMULATE &&
          !(last->flags & kernels[k]->flags & PTO_KERNEL_TURNS))
        return PTO_REFUSE(rt, PTO_EINVAL,
                          "param %u: %s and %s both accumulate into it, the cores of a task run at once, and not both "
                          "declare PTO_KERNEL_TURNS",
                          i, last->name, kernels[k]->name);
      last = kernels[k];
      mode |= last->params[i].mode;
    }
    if (!last && (params[i].mode == PTO_UNUSED || params[i].mode == PTO_HOLD)) continue; /* the first is none */
    if (!last) return PTO_REFUSE(rt, PTO_EINVAL, "param %u is used by no kernel of the task", i);
    if (mode != params[i].mode && params[i].mode != PTO_HOLD)
      return refuse_mode(rt, last, &last->params[i], &params[i], i, mode);
    for (int k = 0; k < 3; k++) {
      if (!kernels[k] || kernels[k]->params[i].mode == PTO_UNUSED) continue;
      const int status = check_param(rt, kernels[k], &kernels[k]->params[i], &params[i], i);
      if (status) return status;
    }
  }
  return PTO_OK;
}

/* What no list says: modes that are none, too many, null tensors.  Counts the parameters. */
static int count_params(struct pto_runtime *rt, struct pto_submit_work *submit, const char *what,
                        const struct pto_param *params, uint32_t count) {
  submit->tensor_count = submit->scalar_count = submit->dim_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t mode = params[i].mode;
    const struct pto_tensor *t = params[i].value.tensor;
    if (mode == PTO_SCALAR) {
      if (++submit->scalar_count > PTO_MAX_SCALARS)
        return PTO_REFUSE(rt, PTO_EINVAL, "%s: more than %u scalars", what, PTO_MAX_SCALARS);
      continue;
    }
    if (mode > PTO_ACCUMULATE || !(TENSOR_MODES >> mode & 1))
      return PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u has mode %u, which is none", what, i, mode);
    if (++submit->tensor_count > PTO_MAX_TENSORS)
      return PTO_REFUSE(rt, PTO_EINVAL, "%s: more than %u tensors", what, PTO_MAX_TENSORS);
    if (!t) return PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u is a null tensor", what, i);
    submit->accumulates |= mode == PTO_ACCUMULATE;
    submit->dim_count += (uint32_t)pto_min_u64(t->ndims, PTO_MAX_DIMS); /* more are refused soon */
  }
  return PTO_OK;
}

/* ---- blocks that accumulate ---- */

/* Whether every kernel that touches what is accumulated into puts itself in order. */
static bool take_turns(const struct pto_launch *launch, uint32_t count) {
  const struct pto_kernel *kernels[3] = {launch->aic, launch->aiv0, launch->aiv1};
  for (uint32_t i = 0; i < count; i++) {
    bool is_sum = false, has_order = true;
    for (int k = 0; k < 3; k++) {
      if (!kernels[k] || kernels[k]->params[i].mode == PTO_UNUSED) continue;
      is_sum |= kernels[k]->params[i].mode == PTO_ACCUMULATE;
      has_order &= (kernels[k]->flags & PTO_KERNEL_TURNS) != 0;
    }
    if (is_sum && !has_order) return false;
  }
  return true;
}

/* Decides whether the blocks of an accumulating task run one after another. */
static int check_turns(struct pto_runtime *rt, struct pto_submit_work *submit, const struct pto_launch *launch,
                       const char *what, uint32_t count) {
  submit->is_sequential = launch->block_count > 1 && !take_turns(launch, count);
  if (submit->is_sequential && launch->sync_start)
    return PTO_REFUSE(rt, PTO_EINVAL,
                      "%s: the blocks of an accumulating task whose kernel does not declare PTO_KERNEL_TURNS run one "
                      "after another, sync_start wants them together",
                      what);
  return PTO_OK;
}

/* ---- the whole ---- */

/* What the task's slot will say. */
static void describe(struct pto_submit_work *submit, const struct pto_launch *launch, enum pto_shape shape) {
  submit->shape = (uint8_t)shape;
  submit->block_count = launch->block_count ? launch->block_count : 1;
  submit->message_count = submit->block_count * pto_shape_message_count(shape);
  if (launch->sync_start) submit->slot_flags |= PTO_TASK_SYNC_START;
  if (submit->is_sequential) submit->slot_flags |= PTO_TASK_SEQUENTIAL_BLOCKS;
  if (submit->has_waiting) submit->slot_flags |= PTO_TASK_WAITS;
  if (shape <= PTO_SHAPE_AIV && submit->block_count == 1 && !launch->sync_start && !submit->has_waiting)
    submit->slot_flags |= PTO_TASK_SINGLE;
}

int pto_launch_check(struct pto_runtime *rt, struct pto_submit_work *submit, const struct pto_submit_request *request,
                     const char **what_out) {
  const struct pto_launch *launch = request->launch;
  enum pto_shape shape;
  *what_out = request->kind == PTO_TASK_EMPTY ? "no_kernel" : "alloc_tensors";
  if (request->kind == PTO_TASK_EMPTY &&
      (launch->aic || launch->aiv0 || launch->aiv1 || launch->block_count > 1 || launch->sync_start))
    return PTO_REFUSE(rt, PTO_EINVAL, "no_kernel: the launch has a kernel, or blocks, or sync_start");
  if (request->kind != PTO_TASK_KERNEL) {
    submit->slot_flags = PTO_TASK_NO_KERNEL;
    return count_params(rt, submit, *what_out, request->params, request->count);
  }
  int status = check_launch(rt, submit, launch, &shape);
  if (PTO_UNLIKELY(status)) return status;
  const struct pto_kernel *one = first_kernel(launch);
  *what_out = one->name;
  status = check_lists(rt, launch, request->params, request->count);
  if (!status) status = count_params(rt, submit, one->name, request->params, request->count);
  if (!status && submit->accumulates) status = check_turns(rt, submit, launch, one->name, request->count);
  describe(submit, launch, shape);
  return status;
}
