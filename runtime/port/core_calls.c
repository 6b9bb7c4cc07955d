/* SPDX-License-Identifier: MIT */
/* The calls of pto/core.h: what can be said of their arguments without the engine, then the engine. */
#include <runtime/port/core_port.h>

#include <inttypes.h>

const char *pto_role_name(uint32_t role) {
  static const char *const names[PTO_ROLE_COUNT] = {"AIC", "AIV0", "AIV1"};
  return role < PTO_ROLE_COUNT ? names[role] : "?";
}

/* Where a public function's call returns to. */
#define CALLER __builtin_return_address(0)

/* 0 where the kernel may make the call. */
static int check_step(const struct pto_kernel_args *args, const char *call, const void *caller, bool polls) {
  struct pto_core_port *port = args->core->port;
  /* Beside kernels that wait, an engine may run one that does not in the same way. */
  if (PTO_LIKELY(port != NULL && pto_kernel_waits(port->kernels[args->core->role]))) {
    port->call = caller;
    if (port->ops->step) port->ops->step(args, polls);
    return 0;
  }
  return pto_kernel_error(args, "%s: the kernel does not declare PTO_KERNEL_WAITS, or runs outside an engine", call);
}
static int check_call(const struct pto_kernel_args *args, const char *call, const void *caller) {
  return check_step(args, call, caller, false);
}

static int check_flag(const struct pto_kernel_args *args, const char *call, uint32_t flag) {
  if (PTO_LIKELY(flag < PTO_CORE_FLAGS)) return 0;
  return pto_kernel_error(args, "%s: flag %" PRIu32 ", a core has %u", call, flag, PTO_CORE_FLAGS);
}

static int check_role(const struct pto_kernel_args *args, const char *call, uint32_t role) {
  if (PTO_LIKELY(role < PTO_ROLE_COUNT && args->core->port->kernels[role] != NULL)) return 0;
  return pto_kernel_error(args, "%s: role %" PRIu32 " (%s) has no kernel in this task", call, role,
                          pto_role_name(role));
}

static int signal_block(const struct pto_kernel_args *args, const char *call, uint32_t block_index, uint32_t roles,
                        uint32_t flag) {
  int status = check_flag(args, call, flag);
  if (status != 0) return status;
  for (uint32_t rest = roles; rest != 0; rest &= rest - 1)
    if ((status = check_role(args, call, (uint32_t)__builtin_ctz(rest))) != 0) return status;
  return args->core->port->ops->signal(args, block_index, roles, flag);
}

int pto_core_signal(const struct pto_kernel_args *args, uint32_t roles, uint32_t flag) {
  const int status = check_call(args, "pto_core_signal", CALLER);
  return status != 0 ? status : signal_block(args, "pto_core_signal", args->core->block_index, roles, flag);
}

int pto_core_signal_block(const struct pto_kernel_args *args, uint32_t block_index, uint32_t roles, uint32_t flag) {
  static const char call[] = "pto_core_signal_block";
  const int status = check_call(args, call, CALLER);
  if (status != 0) return status;
  if (block_index >= args->core->block_count)
    return pto_kernel_error(args, "%s: block %" PRIu32 " of %" PRIu32, call, block_index, args->core->block_count);
  if (block_index != args->core->block_index && !args->core->port->is_sync_start)
    return pto_kernel_error(args, "%s: block %" PRIu32 " need not run at the same time: the task is not sync_start",
                            call, block_index);
  return signal_block(args, call, block_index, roles, flag);
}

int pto_core_wait(const struct pto_kernel_args *args, uint32_t flag) {
  int status = check_call(args, "pto_core_wait", CALLER);
  if (status == 0) status = check_flag(args, "pto_core_wait", flag);
  return status != 0 ? status : args->core->port->ops->wait(args, flag);
}

/* Of either end of a FIFO. */
static int check_element(const struct pto_kernel_args *args, const char *call, const void *caller, uint32_t role,
                         uint64_t size_bytes) {
  int status = check_call(args, call, caller);
  if (status == 0) status = check_role(args, call, role);
  if (status != 0) return status;
  if (role == args->core->role) return pto_kernel_error(args, "%s: no FIFO leads from a core to itself", call);
  if (size_bytes == 0 || size_bytes > PTO_CORE_FIFO_BYTES - 8)
    return pto_kernel_error(args, "%s: an element of %" PRIu64 " bytes, 1 to %u fit a FIFO", call, size_bytes,
                            PTO_CORE_FIFO_BYTES - 8);
  return 0;
}

int pto_core_push(const struct pto_kernel_args *args, uint32_t role, const void *data, uint64_t size_bytes) {
  const int status = check_element(args, "pto_core_push", CALLER, role, size_bytes);
  return status != 0 ? status : args->core->port->ops->push(args, role, data, size_bytes);
}

int pto_core_pop(const struct pto_kernel_args *args, uint32_t role, void *data, uint64_t size_bytes) {
  const int status = check_element(args, "pto_core_pop", CALLER, role, size_bytes);
  return status != 0 ? status : args->core->port->ops->pop(args, role, data, size_bytes);
}

int pto_core_barrier(const struct pto_kernel_args *args) {
  const int status = check_call(args, "pto_core_barrier", CALLER);
  if (status != 0) return status;
  if (args->core->block_count > 1 && !args->core->port->is_sync_start)
    return pto_kernel_error(args,
                            "pto_core_barrier: the %" PRIu32 " blocks need not run at the same time: the task is "
                            "not sync_start",
                            args->core->block_count);
  return args->core->port->ops->barrier(args);
}

int pto_core_turn(const struct pto_kernel_args *args) {
  const int status = check_call(args, "pto_core_turn", CALLER);
  if (status != 0) return status;
  const struct pto_kernel *kernel = args->core->port->kernels[args->core->role];
  if ((kernel->flags & PTO_KERNEL_TURNS) == 0)
    return pto_kernel_error(args, "pto_core_turn: the kernel does not declare PTO_KERNEL_TURNS");
  return args->core->port->ops->turn(args);
}

int pto_core_work(const struct pto_kernel_args *args, const struct pto_cost *cost) {
  const int status = check_call(args, "pto_core_work", CALLER);
  return status != 0 ? status : args->core->port->ops->work(args, cost);
}

int pto_core_yield(const struct pto_kernel_args *args, bool has_worked) {
  const int status = check_step(args, "pto_core_yield", CALLER, !has_worked);
  return status != 0 ? status : args->core->port->ops->yield(args, has_worked);
}

int pto_core_shared(const struct pto_kernel_args *args, uint64_t key, uint64_t size_bytes, void **memory) {
  const int status = check_call(args, "pto_core_shared", CALLER);
  return status != 0 ? status : args->core->port->ops->shared(args, key, size_bytes, memory);
}

int pto_core_private(const struct pto_kernel_args *args, uint64_t size_bytes, void (*drop)(void *memory),
                     void **memory) {
  const int status = check_call(args, "pto_core_private", CALLER);
  return status != 0 ? status : args->core->port->ops->private_memory(args, size_bytes, drop, memory);
}

int pto_core_now(const struct pto_kernel_args *args, uint64_t *now_ns) {
  const int status = check_call(args, "pto_core_now", CALLER);
  return status != 0 ? status : args->core->port->ops->now(args, now_ns);
}
