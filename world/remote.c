/* SPDX-License-Identifier: MIT */
/* The calls of pto/remote.h, and what they do to the rank that they come to. */
#include <world/world_state.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/dtype.h>
#include <runtime/base/grow.h>
#include <runtime/base/text.h>
#include <runtime/control/runtime_state.h>
#include <runtime/port/core_port.h>
#include <runtime/tensor/region_runs.h>
#include <runtime/tensor/tensor_make.h>
#include <sim/rendezvous/waiting_core.h>

/* ---- who calls ---- */

static struct pto_waiting_core *core_of(const struct pto_kernel_args *args) {
  return (struct pto_waiting_core *)(void *)args->core->port;
}

/* 0 where the kernel may make the call; *rank is whose it is. */
/* Where a public function's call returns to. */
#define CALLER __builtin_return_address(0)

static int check_call(const struct pto_kernel_args *args, const char *call, const void *caller,
                      struct pto_rank **rank) {
  struct pto_core_port *port = args->core->port;
  if (!port || !(port->kernels[args->core->role]->flags & PTO_KERNEL_REMOTE))
    return pto_kernel_error(args, "%s: the kernel does not declare PTO_KERNEL_REMOTE, or runs outside an engine", call);
  port->call = caller;
  *rank = (struct pto_rank *)port->rank;
  if (*rank && !(*rank)->tickets) return pto_kernel_error(args, "%s: no memory for calls that wait", call);
  if (*rank) return 0;
  return pto_kernel_error(args, "%s: the chip is alone; other ranks are there in a world", call);
}

static int check_comm(const struct pto_kernel_args *args, const char *call, const struct pto_rank *rank, uint64_t id,
                      uint32_t signal, struct pto_rank_comm **comm) {
  *comm = pto_rank_comm_at(rank, id);
  if (!*comm) return pto_kernel_error(args, "%s: there is no comm %" PRIu64, call, id);
  if (signal < (*comm)->signal_count) return 0;
  return pto_kernel_error(args, "%s: signal %" PRIu32 ", comm %" PRIu64 " has %" PRIu32, call, signal, id,
                          (*comm)->signal_count);
}

static int no_memory(const struct pto_kernel_args *args, const char *call) {
  return pto_kernel_error(args, "%s: no memory for its message", call);
}

/* ---- waiting ---- */

static void be_late(const struct pto_rank *rank, struct pto_waiting_core *core, enum pto_late kind) {
  if (PTO_UNLIKELY(rank->late_cores_ps[kind] > 0) && core->all->hooks->delay)
    core->all->hooks->delay(core, rank->late_cores_ps[kind]);
}

static struct pto_remote_ticket issue_ticket(struct pto_rank *rank, const struct pto_waiting_core *core) {
  const struct pto_remote_ticket ticket = {core->message.core, ++rank->ticket_count};
  rank->tickets[ticket.core] = ticket;
  return ticket;
}

/* The call that the ticket is of goes on; false where it has been given up. */
static bool honour(struct pto_rank *rank, struct pto_remote_ticket ticket) {
  if (!rank->clock.cores || ticket.core >= rank->ticket_cores || rank->tickets[ticket.core].serial != ticket.serial)
    return false;
  struct pto_waiting_core *core = &rank->clock.cores->solo.waiting.cores[ticket.core];
  rank->tickets[ticket.core].serial = 0;
  pto_rendezvous_answer_peer(&core->all->rendezvous,
                             (struct pto_rendezvous_member){core->message.rendezvous, core->message.role});
  return true;
}

/* On the kernel's stack: until what it asked for is there. */
static int wait_for(struct pto_rank *rank, struct pto_waiting_core *core, const struct pto_peer_wait *wait) {
  const int status = pto_waiting_core_wait_for_peer(core, wait);
  rank->tickets[core->message.core].serial = 0;
  return status;
}

/* The same for bytes of a window of the communicator. */
static int move(struct pto_rank *rank, struct pto_waiting_core *core, const struct pto_rank_comm *comm,
                const struct pto_peer_wait *wait) {
  const bool is_put = wait->call == PTO_PEER_PUT;
  const uint64_t begin = rank->clock.cores->now;
  const int status = wait_for(rank, core, wait);
  if (status == 0)
    pto_rank_record_call(rank, core, begin, is_put ? PTO_ACTIVITY_put : PTO_ACTIVITY_get,
                         (struct pto_trace_remote){.kind = is_put ? PTO_REMOTE_PUT : PTO_REMOTE_GET,
                                                   .comm = comm->uid,
                                                   .peer = wait->peer,
                                                   .bytes = wait->bytes});
  return status;
}

/* ---- tensors ---- */

static struct pto_remote_layout layout_of(const struct pto_kernel_tensor *tensor) {
  struct pto_remote_layout layout = {
      .addr = (uint64_t)(uintptr_t)tensor->addr, .ndims = tensor->ndims, .dtype = tensor->dtype};
  for (uint32_t i = 0; i < tensor->ndims; i++) layout.shape[i] = tensor->shape[i];
  for (uint32_t i = 0; i < tensor->ndims; i++) layout.strides[i] = tensor->strides[i];
  return layout;
}

/* "[2, 3]" */
static void add_shape(char *text, size_t size, const struct pto_remote_layout *layout) {
  for (uint32_t i = 0; i < layout->ndims; i++)
    pto_text_append(text, size, "%s%" PRIu64, i ? ", " : "[", layout->shape[i]);
  pto_text_append(text, size, "%s", layout->ndims ? "]" : "[]");
}

static int check_alike(const struct pto_kernel_args *args, const char *call, const struct pto_remote_layout *to,
                       const struct pto_remote_layout *from) {
  if (to->dtype != from->dtype)
    return pto_kernel_error(args, "%s: %s from %s", call, pto_dtype_name(to->dtype), pto_dtype_name(from->dtype));
  if (pto_dtype_is_four_bit(to->dtype) && !(pto_remote_is_dense(to) && pto_remote_is_dense(from)))
    return pto_kernel_error(args, "%s: elements of 4 bits that do not lie side by side", call);
  bool is_alike = to->ndims == from->ndims;
  for (uint32_t i = 0; is_alike && i < to->ndims; i++) is_alike = to->shape[i] == from->shape[i];
  if (is_alike) return 0;
  char shapes[2][24 * PTO_MAX_DIMS] = {"", ""};
  add_shape(shapes[0], sizeof shapes[0], to);
  add_shape(shapes[1], sizeof shapes[1], from);
  return pto_kernel_error(args, "%s: shape %s from %s", call, shapes[0], shapes[1]);
}

/* A window that a layout is in; layout->addr counts from its begin then. */
struct window {
  const struct pto_rank_comm *comm;
  uint32_t peer; /* rank */
};

static bool is_in(uint64_t addr, uint64_t span, uint64_t begin, uint64_t bytes) {
  return addr >= begin && addr - begin <= bytes && span <= bytes - (addr - begin);
}

/* False: it is in none, or beyond its end. */
static bool find_window(const struct pto_rank *rank, struct pto_remote_layout *layout, struct window *window) {
  const uint64_t span = pto_remote_span(layout);
  for (size_t i = 0; i < rank->number_count; i++) {
    const struct pto_rank_comm *comm = rank->by_number[i];
    for (uint32_t peer = 0; peer < comm->size; peer++) {
      const uint64_t begin = (uint64_t)(uintptr_t)pto_comm_window_addr(comm, peer);
      if (!is_in(layout->addr, span, begin, comm->window_bytes)) continue;
      layout->addr -= begin;
      *window = (struct window){comm, comm->ranks[peer]};
      return true;
    }
  }
  return false;
}

/* The sentence of a side that is in no window, with its place in the nearest that it touches or lies beside. */
static PTO_COLD int refuse_outside(const struct pto_kernel_args *args, const char *call, const char *name,
                                   const struct pto_rank *rank, const struct pto_remote_layout *layout) {
  const uint64_t span = pto_remote_span(layout);
  for (size_t i = 0; i < rank->number_count; i++) {
    const struct pto_rank_comm *comm = rank->by_number[i];
    for (uint32_t peer = 0; peer < comm->size; peer++) {
      const uint64_t begin = (uint64_t)(uintptr_t)pto_comm_window_addr(comm, peer), bytes = comm->window_bytes;
      if (layout->addr + span + bytes < begin || layout->addr > begin + 2 * bytes) continue;
      const int64_t offset = (int64_t)(layout->addr - begin);
      return pto_kernel_error(args,
                              "%s: `%s` is not within a window: it has bytes %" PRId64 " to %" PRId64
                              " of that of rank %" PRIu32 ", which has %" PRIu64,
                              call, name, offset, offset + (int64_t)span, comm->ranks[peer], bytes);
    }
  }
  return pto_kernel_error(args, "%s: `%s`, %" PRIu64 " bytes, is not within a window, and beside none", call, name,
                          span);
}

/* The own side of a put or a get, which is recorded as `kind`, by its address where it is in no window: not within a
 * peer's window, where there is no memory. */
static int take_own(const struct pto_kernel_args *args, const char *call, const struct pto_rank *rank, const char *name,
                    struct pto_remote_layout layout, uint8_t kind) {
  struct window window;
  const bool is_window = find_window(rank, &layout, &window);
  if (!is_window || window.peer == rank->index) {
    pto_rank_record_access(rank, core_of(args), kind, is_window ? window.comm->uid : 0, rank->index, &layout);
    return 0;
  }
  return pto_kernel_error(args, "%s: `%s` is in the window of rank %" PRIu32 ", not this rank's memory", call, name,
                          window.peer);
}

int pto_core_window(const struct pto_kernel_args *args, uint64_t id, uint32_t peer, void **window) {
  static const char call[] = "pto_core_window";
  struct pto_rank *rank;
  const int status = check_call(args, call, CALLER, &rank);
  if (status != 0) return status;
  const struct pto_rank_comm *comm = pto_rank_comm_at(rank, id);
  if (!comm || peer >= comm->size)
    return pto_kernel_error(args, "%s: peer %" PRIu32 " of comm %" PRIu64 ", which has %" PRIu32, call, peer, id,
                            comm ? comm->size : 0);
  *window = pto_comm_window_addr(comm, peer);
  return 0;
}

bool pto_core_computes(const struct pto_kernel_args *args) {
  const struct pto_rank *rank = args->core->port ? args->core->port->rank : NULL;
  return !rank || !rank->clock.cores || !rank->clock.cores->skips_kernels;
}

static unsigned char *own_window(const struct pto_rank_comm *comm) { return comm->window.addr; }

/* Of the communicator that a message is about. */
static unsigned char *window_of(const struct pto_rank *rank, const struct pto_world_message *message) {
  return own_window(pto_rank_comm_of(rank, message->comm));
}

/* ---- put and get ---- */

/* Puts elements where the layout has them, and tells who watches the rank's memory. */
static void scatter(const struct pto_rank *rank, const struct pto_remote_layout *layout, unsigned char *base,
                    const unsigned char *packed) {
  const struct pto_memory_watch *watch = rank->rt ? rank->rt->watch : NULL;
  if (watch) {
    const struct pto_kernel_tensor tensor = {(char *)base + layout->addr, layout->shape, layout->strides, layout->ndims,
                                             layout->dtype};
    struct pto_region region;
    pto_region_from_kernel_tensor(&tensor, &region);
    struct pto_region_runs runs = pto_region_runs(&region);
    for (uint64_t lo; pto_region_runs_next(&runs, &lo);) watch->host_writes(watch->context, lo, region.run_bytes);
  }
  pto_remote_scatter(layout, base, packed);
}

static void state_move(struct pto_waiting_core *core, uint64_t bytes) {
  core->stated.bytes_in += bytes;
  core->stated.bytes_out += bytes;
}

/* Within the own window: a copy by the core. */
static int copy_here(const struct pto_kernel_args *args, const char *call, const struct pto_rank *rank,
                     const struct pto_remote_layout *to, const struct pto_remote_layout *from, unsigned char *to_base,
                     const unsigned char *from_base) {
  const uint64_t bytes = pto_remote_bytes(from);
  const bool computes = pto_core_computes(args);
  unsigned char *packed = malloc(bytes && computes ? bytes : 1);
  if (!packed) return no_memory(args, call);
  if (computes) pto_remote_gather(from, from_base, packed);
  if (computes) scatter(rank, to, to_base, packed);
  free(packed);
  return pto_core_work(args, &(struct pto_cost){.bytes_in = bytes, .bytes_out = bytes});
}

int pto_core_put(const struct pto_kernel_args *args, const struct pto_kernel_tensor *to_tensor,
                 const struct pto_kernel_tensor *from_tensor) {
  static const char call[] = "pto_core_put";
  struct pto_remote_layout to = layout_of(to_tensor), from = layout_of(from_tensor);
  struct pto_rank *rank;
  struct window window;
  int status = check_call(args, call, CALLER, &rank);
  if (status == 0) status = check_alike(args, call, &to, &from);
  if (status != 0) return status;
  if (!find_window(rank, &to, &window)) return refuse_outside(args, call, "to", rank, &to);
  const bool is_first = args->core->block_index == 0 && args->core->role == core_of(args)->message.payload->first_role;
  be_late(rank, core_of(args), is_first ? PTO_LATE_FIRST_PUTS : PTO_LATE_OTHER_PUTS);
  status = take_own(args, call, rank, "from", from, PTO_REMOTE_READ);
  if (status != 0) return status;
  struct pto_waiting_core *core = core_of(args);
  pto_rank_record_access(rank, core, PTO_REMOTE_WRITE, window.comm->uid, window.peer, &to);
  if (window.peer == rank->index) return copy_here(args, call, rank, &to, &from, own_window(window.comm), NULL);
  const uint64_t bytes = pto_remote_bytes(&from);
  struct pto_world_message *message =
      pto_rank_message(rank, window.peer, PTO_WORLD_WRITE, pto_core_computes(args) ? bytes : 0);
  struct pto_world_message *landed = message ? pto_rank_message(rank, rank->index, PTO_WORLD_ANSWER, 0) : NULL;
  if (!landed) {
    free(message);
    return no_memory(args, call);
  }
  if (message->bytes) pto_remote_gather(&from, NULL, message->payload);
  message->comm = window.comm->uid;
  message->layout = to;
  message->landed = landed;
  landed->ticket = issue_ticket(rank, core);
  message->began_at = pto_rank_now(rank);
  message->flow_bytes = bytes;
  if (!pto_part_transfer(rank->part, message)) return no_memory(args, call);
  state_move(core, bytes);
  return move(rank, core, window.comm,
              &(struct pto_peer_wait){.call = PTO_PEER_PUT, .peer = window.peer, .bytes = bytes});
}

int pto_core_get(const struct pto_kernel_args *args, const struct pto_kernel_tensor *to_tensor,
                 const struct pto_kernel_tensor *from_tensor) {
  static const char call[] = "pto_core_get";
  struct pto_remote_layout to = layout_of(to_tensor), from = layout_of(from_tensor);
  struct pto_rank *rank;
  struct window window;
  int status = check_call(args, call, CALLER, &rank);
  if (status == 0) status = check_alike(args, call, &to, &from);
  if (status != 0) return status;
  if (!find_window(rank, &from, &window)) return refuse_outside(args, call, "from", rank, &from);
  struct pto_waiting_core *core = core_of(args);
  status = take_own(args, call, rank, "to", to, PTO_REMOTE_WRITE);
  if (status != 0) return status;
  pto_rank_record_access(rank, core, PTO_REMOTE_READ, window.comm->uid, window.peer, &from);
  if (window.peer == rank->index) return copy_here(args, call, rank, &to, &from, NULL, own_window(window.comm));
  const uint64_t bytes = pto_remote_bytes(&from);
  struct pto_world_message *message = pto_rank_message(rank, window.peer, PTO_WORLD_READ, 0);
  if (!message) return no_memory(args, call);
  message->at = pto_rank_now(rank) + pto_fabric_lookahead_ps(rank->part->fabric, rank->index, window.peer);
  message->comm = window.comm->uid;
  message->computes = pto_core_computes(args);
  message->layout = from;
  message->back = to;
  message->ticket = issue_ticket(rank, core);
  pto_rank_limit(rank, pto_world_add(message->at, rank->part->lookahead_ps));
  if (!pto_part_send(rank->part, message)) return no_memory(args, call);
  state_move(core, bytes);
  return move(rank, core, window.comm,
              &(struct pto_peer_wait){.call = PTO_PEER_GET, .peer = window.peer, .bytes = bytes});
}

static void note_change(struct pto_rank *rank) {
  if (rank->clock.cores) pto_rendezvous_change(&rank->clock.cores->solo.waiting.rendezvous);
}

void pto_rank_take_write(struct pto_rank *rank, const struct pto_world_message *message) {
  struct pto_rank_put *before = &rank->puts[message->source];
  *before =
      (struct pto_rank_put){before->landed_at == message->began_at ? before->began_at : message->began_at, message->at};
  struct pto_rank_comm *comm = pto_rank_comm_of(rank, message->comm);
  comm->puts[pto_comm_place_of(comm, message->source)]++;
  if (message->bytes) scatter(rank, &message->layout, own_window(comm), message->payload);
  note_change(rank);
}

/* The answer begins its way. */
void pto_rank_take_read(struct pto_rank *rank, const struct pto_world_message *message) {
  const uint64_t bytes = pto_remote_bytes(&message->layout);
  struct pto_world_message *answer =
      pto_rank_message(rank, message->source, PTO_WORLD_ANSWER, message->computes ? bytes : 0);
  rank->part->is_out_of_memory |= !answer;
  if (!answer) return;
  if (message->computes) pto_remote_gather(&message->layout, window_of(rank, message), answer->payload);
  answer->layout = message->back;
  answer->ticket = message->ticket;
  answer->began_at = message->at;
  answer->flow_bytes = bytes;
  rank->part->is_out_of_memory |= !pto_part_transfer(rank->part, answer);
}

void pto_rank_take_answer(struct pto_rank *rank, const struct pto_world_message *message) {
  if (honour(rank, message->ticket) && message->bytes) scatter(rank, &message->layout, NULL, message->payload);
}

/* ---- signals ---- */

int pto_core_notify(const struct pto_kernel_args *args, uint64_t id, uint32_t peer, uint32_t signal,
                    enum pto_notify notify, int32_t value) {
  static const char call[] = "pto_core_notify";
  struct pto_rank_comm *comm;
  struct pto_rank *rank;
  int status = check_call(args, call, CALLER, &rank);
  if (status == 0) status = check_comm(args, call, rank, id, signal, &comm);
  if (status != 0) return status;
  if (notify != PTO_NOTIFY_SET && notify != PTO_NOTIFY_ADD)
    return pto_kernel_error(args, "%s: notifies by PTO_NOTIFY_SET or PTO_NOTIFY_ADD, not %u", call, (unsigned)notify);
  if (peer >= comm->size)
    return pto_kernel_error(args, "%s: peer %" PRIu32 ", comm %" PRIu64 " has %" PRIu32, call, peer, id, comm->size);
  struct pto_world_message *message = pto_rank_message(rank, comm->ranks[peer], PTO_WORLD_SIGNAL, 0);
  if (!message) return no_memory(args, call);
  message->comm = comm->uid;
  message->signal = signal;
  message->is_set = notify == PTO_NOTIFY_SET;
  message->value = value;
  message->at = pto_rank_now(rank);
  const bool is_own = message->target == rank->index;
  if (!is_own) message->at += pto_fabric_lookahead_ps(rank->part->fabric, rank->index, message->target);
  pto_rank_record_call(rank, core_of(args), rank->clock.cores->now, PTO_ACTIVITY_COUNT,
                       (struct pto_trace_remote){.kind = PTO_REMOTE_NOTIFY,
                                                 .end = message->at - rank->base_ps,
                                                 .comm = comm->uid,
                                                 .sequence = message->sequence,
                                                 .peer = message->target,
                                                 .signal = signal,
                                                 .value = value,
                                                 .is_set = message->is_set});
  if (is_own) {
    pto_rank_take_signal(rank, message);
    free(message);
    return 0;
  }
  pto_rank_limit(rank, pto_world_add(message->at, rank->part->lookahead_ps));
  return pto_part_send(rank->part, message) ? 0 : no_memory(args, call);
}

/* One that is the rank's own was nowhere. */
static uint64_t sent_at(const struct pto_rank *rank, const struct pto_world_message *message) {
  if (message->source == rank->index) return message->at;
  const struct pto_rank_put *put = &rank->puts[message->source];
  const uint64_t at = message->at - pto_fabric_lookahead_ps(rank->part->fabric, message->source, rank->index);
  return put->landed_at == at ? put->began_at : at;
}

static bool holds(enum pto_compare compare, int32_t found, int32_t value) {
  return compare == PTO_IF_EQ ? found == value : found >= value;
}

void pto_rank_take_signal(struct pto_rank *rank, const struct pto_world_message *message) {
  struct pto_rank_comm *comm = pto_rank_comm_of(rank, message->comm);
  const uint32_t source = pto_comm_place_of(comm, message->source);
  int32_t *signal = &comm->signals[message->signal];
  *signal = message->is_set ? message->value : (int32_t)((uint32_t)*signal + (uint32_t)message->value);
  comm->notified[(size_t)message->signal * comm->size + source]++;
  comm->last_notified[message->signal] = source;
  size_t left = 0;
  for (size_t i = 0; i < rank->wait_count; i++) {
    const struct pto_signal_wait wait = rank->waits[i];
    if (wait.comm == comm && wait.signal == message->signal &&
        holds((enum pto_compare)wait.compare, *signal, wait.value)) {
      *wait.cause = (struct pto_remote_cause){message->source, message->sequence, sent_at(rank, message)};
      (void)honour(rank, rank->tickets[wait.core]);
    } else
      rank->waits[left++] = wait;
  }
  rank->wait_count = left;
  note_change(rank);
}

/* A kernel that tests signals again and again lets time pass, as one that polls memory does. */
static int yield_between_tests(const struct pto_kernel_args *args, const struct pto_peer_wait *test) {
  struct pto_waiting_core *core = core_of(args);
  struct pto_rendezvous_table *table = &core->all->rendezvous;
  const struct pto_rendezvous_member member = {core->message.rendezvous, core->message.role};
  if (!pto_rendezvous_test(table, member, test)) return 0;
  const int status = core->port.ops->yield(args, false);
  if (status == 0) (void)pto_rendezvous_test(table, member, test);
  return status;
}

static int check_compare(const struct pto_kernel_args *args, const char *call, enum pto_compare compare) {
  if (compare == PTO_IF_GE || compare == PTO_IF_EQ) return 0;
  return pto_kernel_error(args, "%s: compares by PTO_IF_GE or PTO_IF_EQ, not %u", call, (unsigned)compare);
}

int pto_core_test_signal(const struct pto_kernel_args *args, uint64_t id, uint32_t signal, enum pto_compare compare,
                         int32_t value, bool *is_so) {
  static const char call[] = "pto_core_test_signal";
  struct pto_rank_comm *comm;
  struct pto_rank *rank;
  int status = check_call(args, call, CALLER, &rank);
  if (status == 0) status = check_comm(args, call, rank, id, signal, &comm);
  if (status == 0) status = check_compare(args, call, compare);
  if (status == 0)
    status = yield_between_tests(args, &(struct pto_peer_wait){.call = PTO_PEER_TEST,
                                                               .comm = comm->number,
                                                               .signal = signal,
                                                               .compare = compare,
                                                               .value = value,
                                                               .found = comm->signals[signal]});
  if (status != 0) return status;
  *is_so = holds(compare, comm->signals[signal], value);
  pto_rank_record_now(rank, core_of(args),
                      (struct pto_trace_remote){.kind = PTO_REMOTE_TEST,
                                                .comm = comm->uid,
                                                .peer = rank->index,
                                                .signal = signal,
                                                .value = value,
                                                .is_equal = compare == PTO_IF_EQ,
                                                .holds = *is_so});
  if (*is_so) be_late(rank, core_of(args), PTO_LATE_WAITS);
  return status;
}

static void forget_wait(struct pto_rank *rank, uint32_t core) {
  size_t left = 0;
  for (size_t i = 0; i < rank->wait_count; i++)
    if (rank->waits[i].core != core) rank->waits[left++] = rank->waits[i];
  rank->wait_count = left;
}

int pto_core_wait_signal(const struct pto_kernel_args *args, uint64_t id, uint32_t signal, enum pto_compare compare,
                         int32_t value) {
  static const char call[] = "pto_core_wait_signal";
  struct pto_rank_comm *comm;
  struct pto_rank *rank;
  int status = check_call(args, call, CALLER, &rank);
  if (status == 0) status = check_comm(args, call, rank, id, signal, &comm);
  if (status != 0) return status;
  struct pto_waiting_core *core = core_of(args);
  status = check_compare(args, call, compare);
  if (status != 0) return status;
  if (pto_comm_group_of(rank, comm, core->message.payload->task_number) == UINT64_MAX)
    return pto_kernel_error(args,
                            "%s: signal %" PRIu32 " of comm %" PRIu64 ": the task is of no group of it, so nothing "
                            "makes the one that notifies run at the same time",
                            call, signal, id);
  struct pto_trace_remote record = {.kind = PTO_REMOTE_FOUND,
                                    .comm = comm->uid,
                                    .peer = rank->index,
                                    .signal = signal,
                                    .value = value,
                                    .is_equal = compare == PTO_IF_EQ};
  if (holds(compare, comm->signals[signal], value))
    pto_rank_record_now(rank, core, record);
  else {
    struct pto_signal_wait *wait =
        pto_grow(&rank->waits, &rank->wait_count, &rank->wait_capacity, sizeof(struct pto_signal_wait));
    if (!wait) return no_memory(args, call);
    struct pto_remote_cause cause;
    const uint64_t begin = rank->clock.cores->now;
    *wait = (struct pto_signal_wait){core->message.core, signal, compare, comm, &cause, value};
    (void)issue_ticket(rank, core);
    status = wait_for(rank, core,
                      &(struct pto_peer_wait){.call = PTO_PEER_SIGNAL,
                                              .comm = comm->number,
                                              .signal = signal,
                                              .compare = compare,
                                              .value = value,
                                              .found = comm->signals[signal]});
    if (status != 0) {
      forget_wait(rank, core->message.core);
      return status;
    }
    record.kind = PTO_REMOTE_WAIT;
    record.peer = cause.source;
    record.sequence = cause.sequence;
    pto_rank_record_wait(rank, core, begin, cause.sent_at, record);
  }
  comm->ended_waits[signal]++;
  be_late(rank, core, PTO_LATE_WAITS);
  if (core->all->hooks->latency) core->all->hooks->latency(core);
  return status;
}
