/* SPDX-License-Identifier: MIT */
#include <runtime/port/core_waits.h>

#include <inttypes.h>
#include <string.h>

#include <runtime/base/text.h>
#include <pto/runtime.h>
#include <runtime/port/core_port.h>

#define LONGEST_WAIT 256u /* characters that one entry takes at most, names of kernels being short */
#define LONGEST_PLACE 144u
#define COUNT_BYTES 80u /* ", and 4294967295 more cores of it likewise; and 4294967295 more" */

/* "AIV0 on core 4" */
static void add_seat(char *text, size_t size, const struct pto_core_seat *seat) {
  pto_text_append(text, size, "%s on core %u", pto_role_name(seat->role), seat->core);
}

static void add_state(char *text, size_t size, const struct pto_core_seat *seat) {
  if (seat->state == PTO_SEAT_RETURNED)
    pto_text_append(text, size, ", which has returned");
  else if (seat->state == PTO_SEAT_SENT)
    pto_text_append(text, size, ", which has not begun");
  else
    pto_text_append(text, size, ", which waits");
}

/* "<before> block 3 AIV0 on core 4, which waits" */
static void add_block(char *text, size_t size, const char *before, const struct pto_core_seat *seat) {
  pto_text_append(text, size, "%s block %" PRIu32 " ", before, seat->block_index);
  add_seat(text, size, seat);
  add_state(text, size, seat);
}

static void add_barrier(char *text, size_t size, const struct pto_core_wait *wait) {
  pto_text_append(text, size, "at barrier %" PRIu32, wait->barrier);
  if (wait->expected) pto_text_append(text, size, " with %" PRIu32 " of %" PRIu32, wait->arrived, wait->expected);
  if (!wait->has_other) {
    pto_text_append(text, size, ", without a block that has returned");
    return;
  }
  add_block(text, size, ", without", &wait->other);
  if (wait->other.state == PTO_SEAT_RETURNED)
    pto_text_append(text, size, " after %" PRIu32 " barrier%s", wait->other_barriers,
                    wait->other_barriers == 1 ? "" : "s");
}

static void add_sender(char *text, size_t size, const struct pto_core_wait *wait) {
  pto_text_append(text, size, ", which has had %" PRIu32 ", the last of ", wait->sent);
  add_seat(text, size, &wait->sender);
  if (wait->sender.state == PTO_SEAT_RETURNED) add_state(text, size, &wait->sender);
}

static const char *compare_words(const struct pto_peer_wait *wait) { return wait->compare == PTO_IF_EQ ? "=" : ">="; }

static void add_peer(char *text, size_t size, const struct pto_peer_wait *wait) {
  if (wait->call == PTO_PEER_SIGNAL)
    pto_text_append(text, size, "for signal %" PRIu32 " %s %" PRId32 " of comm %" PRIu32 ", which is %" PRId32,
                    wait->signal, compare_words(wait), wait->value, wait->comm, wait->found);
  else
    pto_text_append(text, size, "for its %s of %" PRIu64 " bytes %s rank %" PRIu32,
                    wait->call == PTO_PEER_PUT ? "put" : "get", wait->bytes, wait->call == PTO_PEER_PUT ? "to" : "from",
                    wait->peer);
}

static void add_wait(char *text, size_t size, const struct pto_core_wait *wait) {
  pto_text_append(text, size, "task %" PRIu64 " (%s) block %" PRIu32 " ", wait->task_number, wait->kernel,
                  wait->who.block_index);
  add_seat(text, size, &wait->who);
  pto_text_append(text, size, " waits ");
  switch ((enum pto_waits_for)wait->waits_for) {
  case PTO_WAITS_FOR_FLAG:
    pto_text_append(text, size, "for a signal at flag %u", wait->flag);
    if (wait->has_lying)
      pto_text_append(text, size, " (one lies at its flag %u)", wait->lying_at);
    else if (wait->has_astray)
      pto_text_append(text, size, " (one lies at flag %u of %s)", wait->flag, pto_role_name(wait->sender.role));
    if (wait->sent) add_sender(text, size, wait);
    break;
  case PTO_WAITS_FOR_ROOM:
    pto_text_append(text, size, "for room for %" PRIu64 " bytes in the FIFO to ", wait->room_bytes);
    add_seat(text, size, &wait->other);
    add_state(text, size, &wait->other);
    break;
  case PTO_WAITS_FOR_ELEMENT:
    pto_text_append(text, size, "for an element from ");
    add_seat(text, size, &wait->other);
    add_state(text, size, &wait->other);
    if (wait->has_lying) pto_text_append(text, size, " (one from %s lies there)", pto_role_name(wait->lying_at));
    break;
  case PTO_WAITS_FOR_BARRIER:
    add_barrier(text, size, wait);
    break;
  case PTO_WAITS_FOR_TURN:
    pto_text_append(text, size, "for its turn");
    if (wait->has_other) add_block(text, size, " after", &wait->other);
    break;
  case PTO_WAITS_FOR_CHANGE:
    if (wait->peer.call == PTO_PEER_TEST)
      pto_text_append(
          text, size,
          "for a change of signal %" PRIu32 " of comm %" PRIu32 ", which it polls for %s %" PRId32 ", from %" PRId32,
          wait->peer.signal, wait->peer.comm, compare_words(&wait->peer), wait->peer.value, wait->peer.found);
    else
      pto_text_append(text, size, "for a change of memory that it polls");
    break;
  case PTO_WAITS_FOR_PEER:
    add_peer(text, size, &wait->peer);
    break;
  case PTO_WAITS_FOR_NOTHING:
    break;
  }
}

size_t pto_core_wait_describe(const struct pto_core_wait *wait, char *text, size_t size) {
  *text = '\0';
  add_wait(text, size, wait);
  return strlen(text);
}

/* Whether two of one kernel wait at the same barrier for the same core. */
static bool is_likewise(const struct pto_core_wait *a, const struct pto_core_wait *b) {
  return a->waits_for == PTO_WAITS_FOR_BARRIER && b->waits_for == PTO_WAITS_FOR_BARRIER &&
         a->task_number == b->task_number && strcmp(a->kernel, b->kernel) == 0 && a->barrier == b->barrier &&
         a->has_other == b->has_other && a->other.core == b->other.core && a->call == b->call;
}

static bool was_told(const struct pto_core_waits *waits, uint32_t i) {
  for (uint32_t k = 0; k < i; k++)
    if (is_likewise(&waits->waits[k], &waits->waits[i])) return true;
  return false;
}

static void add_likewise(char *text, size_t size, const struct pto_core_waits *waits, uint32_t i) {
  uint32_t count = 0;
  for (uint32_t k = i + 1; k < waits->count; k++) count += is_likewise(&waits->waits[i], &waits->waits[k]);
  if (count) pto_text_append(text, size, ", and %" PRIu32 " more core%s of it likewise", count, count > 1 ? "s" : "");
}

void pto_core_waits_describe(const struct pto_core_waits *waits, pto_core_wait_place *place, void *context, char *text,
                             size_t size) {
  const size_t longest = LONGEST_WAIT + (place ? LONGEST_PLACE : 0) + COUNT_BYTES;
  const char *separator = "cores wait for ever: ";
  uint32_t more = waits->more;
  *text = '\0';
  for (uint32_t i = 0; i < waits->count; i++) {
    if (was_told(waits, i)) continue;
    if (size - strlen(text) < longest) {
      more++;
      continue;
    }
    pto_text_append(text, size, "%s", separator);
    add_wait(text, size, &waits->waits[i]);
    if (place) place(context, &waits->waits[i], text, size);
    add_likewise(text, size, waits, i);
    separator = "; ";
  }
  if (more) pto_text_append(text, size, "; and %" PRIu32 " more", more);
}
