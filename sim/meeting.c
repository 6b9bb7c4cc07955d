/* SPDX-License-Identifier: MIT */
#include <sim/meeting.h>

#include <string.h>

#define FIFO_PAIRS 6u /* ordered pairs of different roles */
#define FIFO_MASK (PTO_CORE_FIFO_BYTES - 1)
_Static_assert((PTO_CORE_FIFO_BYTES & FIFO_MASK) == 0, "positions in a FIFO are taken modulo its size");

/* ---- memory ---- */

static void reset_meeting(struct pto_meeting *meeting) {
  for (uint32_t from = 0; from < PTO_ROLE_COUNT; from++)
    for (uint32_t to = 0; to < PTO_ROLE_COUNT; to++)
      meeting->fifos[from][to].written = meeting->fifos[from][to].read = 0;
  memset(meeting->seats, 0, sizeof meeting->seats);
  meeting->roles = meeting->returned = 0;
  meeting->broken = PTO_OK;
  meeting->expected = meeting->arrived = 0;
  meeting->payload = NULL;
}

bool pto_meetings_init(struct pto_meetings *meetings, uint32_t cluster_count, uint32_t slots_per_core,
                       void (*wake)(void *context, uint32_t core), void *context) {
  memset(meetings, 0, sizeof *meetings);
  meetings->cluster_count = cluster_count;
  meetings->per_cluster = 3 * slots_per_core;
  meetings->wake = wake;
  meetings->context = context;
  const uint64_t count = (uint64_t)cluster_count * meetings->per_cluster;
  PTO_ASSERT(count <= UINT16_MAX); /* a message has 16 bits for it */
  const uint64_t meeting_bytes = pto_align_up(count * sizeof(struct pto_meeting), PTO_CACHE_LINE);
  if (!pto_reserve_init(&meetings->memory, meeting_bytes + count * sizeof *meetings->payloads)) return false;
  if (!pto_reserve_init(&meetings->fifo_memory, count * FIFO_PAIRS * PTO_CORE_FIFO_BYTES)) {
    pto_meetings_fini(meetings);
    return false;
  }
  meetings->meetings = meetings->memory.addr;
  meetings->payloads = (const struct pto_payload **)(void *)((char *)meetings->memory.addr + meeting_bytes);
  char *at = meetings->fifo_memory.addr;
  for (uint64_t i = 0; i < count; i++)
    for (uint32_t from = 0; from < PTO_ROLE_COUNT; from++)
      for (uint32_t to = 0; to < PTO_ROLE_COUNT; to++) {
        if (from == to) continue;
        meetings->meetings[i].fifos[from][to].memory = at;
        at += PTO_CORE_FIFO_BYTES;
      }
  return true;
}

void pto_meetings_fini(struct pto_meetings *meetings) {
  pto_reserve_fini(&meetings->memory);
  pto_reserve_fini(&meetings->fifo_memory);
}

void pto_meetings_reset(struct pto_meetings *meetings) {
  if (meetings->live_count == 0) return;
  for (uint32_t i = 0; i < meetings->cluster_count * meetings->per_cluster; i++) {
    if (meetings->meetings[i].payload) reset_meeting(&meetings->meetings[i]);
    meetings->payloads[i] = NULL;
  }
  meetings->live_count = 0;
}

/* ---- who is there ---- */

static uint32_t meeting_count(const struct pto_meetings *meetings) {
  return meetings->cluster_count * meetings->per_cluster;
}

static struct pto_meeting_seat *seat_at(const struct pto_meetings *meetings, struct pto_meeting_place place) {
  return &meetings->meetings[place.meeting].seats[place.role];
}

static const struct pto_kernel *kernel_of(const struct pto_meeting *meeting, uint32_t role) {
  return meeting->payload->kernels[role];
}

/* The next live meeting of a task from index `from` on; PTO_MEETING_NONE where there is none. */
static uint32_t next_of_task(const struct pto_meetings *meetings, const struct pto_payload *payload, uint32_t from) {
  for (uint32_t i = from; i < meeting_count(meetings); i++)
    if (meetings->payloads[i] == payload) return i;
  return PTO_MEETING_NONE;
}

#define FOR_EACH_OF_TASK(i, meetings, payload)                                                                         \
  for (uint32_t i = next_of_task(meetings, payload, 0); i != PTO_MEETING_NONE;                                         \
       i = next_of_task(meetings, payload, i + 1))

static uint32_t find_block(const struct pto_meetings *meetings, const struct pto_payload *payload,
                           uint32_t block_index) {
  FOR_EACH_OF_TASK(i, meetings, payload)
  if (meetings->meetings[i].block_index == block_index) return i;
  return PTO_MEETING_NONE;
}

static bool takes_turns(const struct pto_meeting *meeting, uint32_t role) {
  return kernel_of(meeting, role) && (kernel_of(meeting, role)->flags & PTO_KERNEL_TURNS);
}

static bool has_turns(const struct pto_meeting *meeting) {
  return takes_turns(meeting, 0) || takes_turns(meeting, 1) || takes_turns(meeting, 2);
}

static void open_meeting(struct pto_meetings *meetings, uint32_t index, const struct pto_message *message) {
  struct pto_meeting *meeting = &meetings->meetings[index];
  const struct pto_payload *payload = message->payload;
  uint32_t participants = 0;
  meeting->payload = payload;
  for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++) {
    if (!payload->kernels[role]) continue;
    meeting->roles |= (uint8_t)PTO_ROLE_BIT(role);
    meeting->seats[role].is_participant = pto_kernel_waits(payload->kernels[role]);
    participants += meeting->seats[role].is_participant;
  }
  meeting->is_together = (message->flags & PTO_MESSAGE_TOGETHER) != 0;
  meeting->block_index = message->block_index;
  const bool has_others = meeting->is_together || has_turns(meeting);
  const uint32_t other = has_others ? next_of_task(meetings, payload, 0) : PTO_MEETING_NONE;
  meeting->leader = meeting->is_together && other != PTO_MEETING_NONE ? meetings->meetings[other].leader : index;
  /* A block before may have failed, and the control thread not know: what follows from that is no error of its own. */
  if (other != PTO_MEETING_NONE) meeting->broken = meetings->meetings[other].broken;
  const uint32_t blocks = message->flags & PTO_MESSAGE_BLOCKS ? payload->block_count : 1;
  meeting->expected = meeting->is_together ? blocks * participants : participants;
  meetings->payloads[index] = payload;
  meetings->live_count++;
}

uint32_t pto_meetings_sit(struct pto_meetings *meetings, const struct pto_message *message) {
  const uint32_t first = message->core / 3u * meetings->per_cluster, end = first + meetings->per_cluster;
  uint32_t index = PTO_MEETING_NONE;
  for (uint32_t i = end; i-- > first;) {
    const struct pto_meeting *meeting = &meetings->meetings[i];
    if (!meeting->payload) {
      index = i; /* the lowest free one: its FIFOs are warm */
    } else if (meeting->payload == message->payload && meeting->block_index == message->block_index) {
      index = i;
      break;
    }
  }
  PTO_ASSERT(index != PTO_MEETING_NONE);
  if (!meetings->meetings[index].payload) open_meeting(meetings, index, message);
  struct pto_meeting_seat *seat = &meetings->meetings[index].seats[message->role];
  PTO_ASSERT(seat->state == PTO_SEAT_ABSENT);
  seat->state = PTO_SEAT_SENT;
  seat->core = message->core;
  return index;
}

bool pto_meetings_all_sit(const struct pto_meetings *meetings, uint32_t meeting) {
  for (uint32_t rest = meetings->meetings[meeting].roles; rest; rest &= rest - 1)
    if (meetings->meetings[meeting].seats[__builtin_ctz(rest)].state == PTO_SEAT_ABSENT) return false;
  return true;
}

static void wake(struct pto_meetings *meetings, struct pto_meeting_seat *seat) {
  seat->waits_for = PTO_WAITS_FOR_NOTHING;
  meetings->wake(meetings->context, seat->core);
}

static enum pto_meeting_answer wait_for(struct pto_meeting_seat *seat, enum pto_waits_for what, uint32_t subject) {
  seat->waits_for = (uint8_t)what;
  seat->subject = (uint8_t)subject;
  return PTO_MEETING_WAIT;
}

static void break_meeting(struct pto_meetings *meetings, struct pto_meeting *meeting, int16_t why) {
  if (meeting->broken == PTO_OK) meeting->broken = why;
  for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++)
    if (meeting->seats[role].waits_for) wake(meetings, &meeting->seats[role]);
}

void pto_meetings_begin(struct pto_meetings *meetings, struct pto_meeting_place place) {
  PTO_ASSERT(seat_at(meetings, place)->state == PTO_SEAT_SENT);
  seat_at(meetings, place)->state = PTO_SEAT_BEGUN;
}

/* ---- turns ---- */

/* Whether a turn waits for this core of the task: of a block before, whoever it is; of its own block, a role before
 * that takes turns. */
static bool keeps_turn(const struct pto_meeting *own, uint32_t own_role, const struct pto_meeting *meeting,
                       uint32_t role) {
  if (!kernel_of(meeting, role) || (meeting->returned & PTO_ROLE_BIT(role))) return false;
  if (meeting->block_index != own->block_index) return meeting->block_index < own->block_index;
  return role < own_role && takes_turns(meeting, role);
}

/* Blocks are sent in order, so whoever comes before in the order of turns is live, or has returned. */
static bool has_turn(const struct pto_meetings *meetings, struct pto_meeting_place place) {
  const struct pto_meeting *own = &meetings->meetings[place.meeting];
  FOR_EACH_OF_TASK(i, meetings, own->payload) {
    for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++)
      if (keeps_turn(own, place.role, &meetings->meetings[i], role)) return false;
  }
  return true;
}

enum pto_meeting_answer pto_meetings_turn(struct pto_meetings *meetings, struct pto_meeting_place place) {
  if (meetings->meetings[place.meeting].broken) return PTO_MEETING_BROKEN;
  if (has_turn(meetings, place)) return PTO_MEETING_DONE;
  return wait_for(seat_at(meetings, place), PTO_WAITS_FOR_TURN, 0);
}

static void pass_turn(struct pto_meetings *meetings, const struct pto_payload *payload) {
  FOR_EACH_OF_TASK(i, meetings, payload) {
    for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++) {
      struct pto_meeting_seat *seat = &meetings->meetings[i].seats[role];
      if (seat->waits_for != PTO_WAITS_FOR_TURN || !has_turn(meetings, (struct pto_meeting_place){i, role})) continue;
      wake(meetings, seat);
      return; /* nobody after it can have it too */
    }
  }
}

void pto_meetings_return(struct pto_meetings *meetings, struct pto_meeting_place place, bool has_failed) {
  struct pto_meeting *meeting = &meetings->meetings[place.meeting];
  const struct pto_payload *payload = meeting->payload;
  PTO_ASSERT(seat_at(meetings, place)->state == PTO_SEAT_BEGUN && !seat_at(meetings, place)->waits_for);
  seat_at(meetings, place)->state = PTO_SEAT_RETURNED;
  meeting->returned |= (uint8_t)PTO_ROLE_BIT(place.role);
  if (PTO_UNLIKELY(has_failed)) {
    FOR_EACH_OF_TASK(i, meetings, payload)
    break_meeting(meetings, &meetings->meetings[i], PTO_EKERNEL);
  }
  if (has_turns(meeting)) pass_turn(meetings, payload);
  if (meeting->returned != meeting->roles) return;
  reset_meeting(meeting);
  meetings->payloads[place.meeting] = NULL;
  meetings->live_count--;
}

/* ---- flags and barriers ---- */

void pto_meetings_signal(struct pto_meetings *meetings, struct pto_meeting_place from, uint32_t block_index,
                         uint32_t roles, uint32_t flag) {
  const struct pto_meeting *own = &meetings->meetings[from.meeting];
  uint32_t index = from.meeting;
  if (block_index != own->block_index) index = find_block(meetings, own->payload, block_index);
  if (index == PTO_MEETING_NONE) return; /* all of that block has returned */
  for (uint32_t rest = roles; rest; rest &= rest - 1) {
    struct pto_meeting_seat *seat = &meetings->meetings[index].seats[__builtin_ctz(rest)];
    seat->flags[flag]++;
    if (seat->waits_for == PTO_WAITS_FOR_FLAG && seat->subject == flag) wake(meetings, seat);
  }
}

enum pto_meeting_answer pto_meetings_wait(struct pto_meetings *meetings, struct pto_meeting_place place,
                                          uint32_t flag) {
  struct pto_meeting_seat *seat = seat_at(meetings, place);
  if (meetings->meetings[place.meeting].broken) return PTO_MEETING_BROKEN;
  if (seat->flags[flag] == 0) return wait_for(seat, PTO_WAITS_FOR_FLAG, flag);
  seat->flags[flag]--;
  return PTO_MEETING_DONE;
}

/* The meeting that counts this one's barriers; NULL where it is over, so that no barrier can fill any more. */
static struct pto_meeting *leader_of(const struct pto_meetings *meetings, const struct pto_meeting *meeting) {
  struct pto_meeting *leader = &meetings->meetings[meeting->leader];
  return leader->payload == meeting->payload ? leader : NULL;
}

enum pto_meeting_answer pto_meetings_barrier(struct pto_meetings *meetings, struct pto_meeting_place place) {
  struct pto_meeting *own = &meetings->meetings[place.meeting];
  struct pto_meeting_seat *seat = seat_at(meetings, place);
  if (seat->at_barrier == PTO_THROUGH_BARRIER) { /* before anything that broke since */
    seat->at_barrier = PTO_AT_NO_BARRIER;
    return PTO_MEETING_DONE;
  }
  if (own->broken) return PTO_MEETING_BROKEN;
  struct pto_meeting *leader = leader_of(meetings, own);
  if (seat->at_barrier == PTO_AT_NO_BARRIER) {
    seat->barriers++;
    if (leader && ++leader->arrived == leader->expected) {
      leader->arrived = 0;
      FOR_EACH_OF_TASK(i, meetings, own->payload) {
        for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++) {
          struct pto_meeting_seat *other = &meetings->meetings[i].seats[role];
          if (other->waits_for != PTO_WAITS_FOR_BARRIER || meetings->meetings[i].leader != own->leader) continue;
          other->at_barrier = PTO_THROUGH_BARRIER;
          wake(meetings, other);
        }
      }
      return PTO_MEETING_DONE;
    }
    seat->at_barrier = PTO_AT_BARRIER;
  }
  return wait_for(seat, PTO_WAITS_FOR_BARRIER, 0);
}

/* ---- FIFOs ---- */

static uint64_t footprint(uint64_t size_bytes) { return PTO_ELEMENT_HEADER_BYTES + size_bytes; }

static void copy_to_ring(char *ring, uint64_t at, const void *data, uint64_t size_bytes) {
  const uint64_t offset = at & FIFO_MASK, first = pto_min_u64(size_bytes, PTO_CORE_FIFO_BYTES - offset);
  memcpy(ring + offset, data, first);
  memcpy(ring, (const char *)data + first, size_bytes - first);
}

static void copy_from_ring(void *data, const char *ring, uint64_t at, uint64_t size_bytes) {
  const uint64_t offset = at & FIFO_MASK, first = pto_min_u64(size_bytes, PTO_CORE_FIFO_BYTES - offset);
  memcpy(data, ring + offset, first);
  memcpy((char *)data + first, ring, size_bytes - first);
}

void pto_meeting_fifo_copy_in(struct pto_meeting_fifo *fifo, const void *data, uint64_t size_bytes) {
  copy_to_ring(fifo->memory, fifo->written, &size_bytes, sizeof size_bytes);
  copy_to_ring(fifo->memory, fifo->written + PTO_ELEMENT_HEADER_BYTES, data, size_bytes);
}

void pto_meeting_fifo_copy_out(const struct pto_meeting_fifo *fifo, void *data, uint64_t size_bytes) {
  copy_from_ring(data, fifo->memory, fifo->read + PTO_ELEMENT_HEADER_BYTES, size_bytes);
}

enum pto_meeting_answer pto_meetings_room(struct pto_meetings *meetings, struct pto_meeting_place from, uint32_t to,
                                          uint64_t size_bytes) {
  const struct pto_meeting *meeting = &meetings->meetings[from.meeting];
  const struct pto_meeting_fifo *fifo = &meeting->fifos[from.role][to];
  if (meeting->broken) return PTO_MEETING_BROKEN;
  if (fifo->written - fifo->read + footprint(size_bytes) <= PTO_CORE_FIFO_BYTES) return PTO_MEETING_DONE;
  seat_at(meetings, from)->room_bytes = size_bytes;
  return wait_for(seat_at(meetings, from), PTO_WAITS_FOR_ROOM, to);
}

void pto_meetings_publish(struct pto_meetings *meetings, struct pto_meeting_place from, uint32_t to,
                          uint64_t size_bytes) {
  struct pto_meeting *meeting = &meetings->meetings[from.meeting];
  struct pto_meeting_seat *consumer = &meeting->seats[to];
  meeting->fifos[from.role][to].written += footprint(size_bytes);
  if (consumer->waits_for == PTO_WAITS_FOR_ELEMENT && consumer->subject == from.role) wake(meetings, consumer);
}

enum pto_meeting_answer pto_meetings_element(struct pto_meetings *meetings, struct pto_meeting_place to, uint32_t from,
                                             uint64_t size_bytes, uint64_t *size_found) {
  const struct pto_meeting *meeting = &meetings->meetings[to.meeting];
  const struct pto_meeting_fifo *fifo = &meeting->fifos[from][to.role];
  if (meeting->broken) return PTO_MEETING_BROKEN;
  if (fifo->written == fifo->read) return wait_for(seat_at(meetings, to), PTO_WAITS_FOR_ELEMENT, from);
  copy_from_ring(size_found, fifo->memory, fifo->read, sizeof *size_found);
  return *size_found == size_bytes ? PTO_MEETING_DONE : PTO_MEETING_MISTAKE;
}

void pto_meetings_release(struct pto_meetings *meetings, struct pto_meeting_place to, uint32_t from,
                          uint64_t size_bytes) {
  struct pto_meeting *meeting = &meetings->meetings[to.meeting];
  struct pto_meeting_seat *producer = &meeting->seats[from];
  meeting->fifos[from][to.role].read += footprint(size_bytes);
  if (producer->waits_for == PTO_WAITS_FOR_ROOM && producer->subject == to.role) wake(meetings, producer);
}

/* ---- waiting for ever ---- */

static struct pto_core_seat seat_of(const struct pto_meeting *meeting, uint32_t role) {
  const struct pto_meeting_seat *seat = &meeting->seats[role];
  return (struct pto_core_seat){meeting->block_index, seat->core, (uint8_t)role, seat->state};
}

/* The first core that has not come to the barrier. */
static void find_missing(const struct pto_meetings *meetings, const struct pto_meeting *own,
                         struct pto_core_wait *wait) {
  FOR_EACH_OF_TASK(i, meetings, own->payload) {
    const struct pto_meeting *meeting = &meetings->meetings[i];
    for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++) {
      const struct pto_meeting_seat *seat = &meeting->seats[role];
      if (!seat->is_participant || seat->at_barrier == PTO_AT_BARRIER || meeting->leader != own->leader) continue;
      wait->other = seat_of(meeting, role);
      wait->has_other = true;
      return;
    }
  }
}

/* The first core whose turn is before. */
static void find_before(const struct pto_meetings *meetings, struct pto_meeting_place place,
                        struct pto_core_wait *wait) {
  const struct pto_meeting *own = &meetings->meetings[place.meeting];
  FOR_EACH_OF_TASK(i, meetings, own->payload) {
    for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++) {
      if (!keeps_turn(own, place.role, &meetings->meetings[i], role)) continue;
      wait->other = seat_of(&meetings->meetings[i], role);
      wait->has_other = true;
      return;
    }
  }
}

static void fill_wait(const struct pto_meetings *meetings, struct pto_meeting_place place, struct pto_core_wait *wait) {
  const struct pto_meeting *meeting = &meetings->meetings[place.meeting];
  const struct pto_meeting_seat *seat = &meeting->seats[place.role];
  const struct pto_meeting *leader = leader_of(meetings, meeting);
  *wait = (struct pto_core_wait){.task_number = meeting->payload->task_number,
                                 .kernel = kernel_of(meeting, place.role)->name,
                                 .who = seat_of(meeting, place.role),
                                 .waits_for = seat->waits_for,
                                 .is_together = meeting->is_together};
  switch ((enum pto_waits_for)seat->waits_for) {
  case PTO_WAITS_FOR_FLAG:
    wait->flag = seat->subject;
    break;
  case PTO_WAITS_FOR_ROOM:
  case PTO_WAITS_FOR_ELEMENT:
    wait->room_bytes = seat->room_bytes;
    wait->other = seat_of(meeting, seat->subject);
    wait->has_other = true;
    break;
  case PTO_WAITS_FOR_BARRIER:
    wait->barrier = seat->barriers;
    wait->arrived = leader ? leader->arrived : 0;
    wait->expected = leader ? leader->expected : 0;
    find_missing(meetings, meeting, wait);
    break;
  case PTO_WAITS_FOR_TURN:
    find_before(meetings, place, wait);
    break;
  case PTO_WAITS_FOR_NOTHING:
    break;
  }
}

void pto_meetings_find_waits(const struct pto_meetings *meetings, struct pto_core_waits *waits) {
  waits->count = waits->more = 0;
  for (uint32_t i = 0; i < meeting_count(meetings); i++)
    for (uint32_t role = 0; meetings->payloads[i] && role < PTO_ROLE_COUNT; role++) {
      if (!meetings->meetings[i].seats[role].waits_for) continue;
      if (waits->count == PTO_CORE_WAITS_MAX)
        waits->more++;
      else
        fill_wait(meetings, (struct pto_meeting_place){i, role}, &waits->waits[waits->count++]);
    }
}

void pto_meetings_break_deadlock(struct pto_meetings *meetings) {
  for (uint32_t i = 0; i < meeting_count(meetings); i++)
    if (meetings->payloads[i]) break_meeting(meetings, &meetings->meetings[i], PTO_EDEADLOCK);
}
