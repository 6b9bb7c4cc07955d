/* SPDX-License-Identifier: MIT */
#include <runtime/port/core_waits.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include <runtime/port/core_port.h>

#define LONGEST_WAIT 256u /* characters that one entry takes at most, names of kernels being short */
#define COUNT_BYTES 32u   /* "; and 4294967295 more" */

struct text {
  char *at;
  size_t left;
};

static void add(struct text *text, const char *format, ...) PTO_PRINTF(2, 3);
static void add(struct text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text->at, text->left, format, arguments);
  va_end(arguments);
  const size_t used = length < 0 ? 0 : pto_min_u64((uint64_t)length, text->left - 1);
  text->at += used;
  text->left -= used;
}

/* "AIV0 on core 4" */
static void add_seat(struct text *text, const struct pto_core_seat *seat) {
  add(text, "%s on core %u", pto_role_name(seat->role), seat->core);
}

static void add_state(struct text *text, const struct pto_core_seat *seat) {
  if (seat->state == PTO_SEAT_RETURNED)
    add(text, ", which has returned");
  else if (seat->state == PTO_SEAT_SENT)
    add(text, ", which has not begun");
  else
    add(text, ", which waits");
}

/* "<before> block 3 AIV0 on core 4, which waits" */
static void add_block(struct text *text, const char *before, const struct pto_core_seat *seat) {
  add(text, "%s block %" PRIu32 " ", before, seat->block_index);
  add_seat(text, seat);
  add_state(text, seat);
}

static void add_barrier(struct text *text, const struct pto_core_wait *wait) {
  add(text, "at barrier %" PRIu32, wait->barrier);
  if (wait->expected) add(text, " with %" PRIu32 " of %" PRIu32, wait->arrived, wait->expected);
  if (wait->has_other)
    add_block(text, ", without", &wait->other);
  else
    add(text, ", without a block that has returned");
}

static void add_wait(struct text *text, const struct pto_core_wait *wait) {
  add(text, "task %" PRIu64 " (%s) block %" PRIu32 " ", wait->task_number, wait->kernel, wait->who.block_index);
  add_seat(text, &wait->who);
  add(text, " waits ");
  switch ((enum pto_waits_for)wait->waits_for) {
  case PTO_WAITS_FOR_FLAG:
    add(text, "for a signal at flag %u", wait->flag);
    break;
  case PTO_WAITS_FOR_ROOM:
    add(text, "for room for %" PRIu64 " bytes in the FIFO to ", wait->room_bytes);
    add_seat(text, &wait->other);
    add_state(text, &wait->other);
    break;
  case PTO_WAITS_FOR_ELEMENT:
    add(text, "for an element from ");
    add_seat(text, &wait->other);
    add_state(text, &wait->other);
    break;
  case PTO_WAITS_FOR_BARRIER:
    add_barrier(text, wait);
    break;
  case PTO_WAITS_FOR_TURN:
    add(text, "for its turn");
    if (wait->has_other) add_block(text, " after", &wait->other);
    break;
  case PTO_WAITS_FOR_NOTHING:
    break;
  }
}

size_t pto_core_wait_describe(const struct pto_core_wait *wait, char *text_out, size_t size) {
  struct text text = {text_out, size};
  *text_out = '\0';
  add_wait(&text, wait);
  return (size_t)(text.at - text_out);
}

void pto_core_waits_describe(const struct pto_core_waits *waits, char *text_out, size_t size) {
  struct text text = {text_out, size};
  const char *separator = "cores wait for ever: ";
  uint32_t more = waits->more;
  *text_out = '\0';
  for (uint32_t i = 0; i < waits->count; i++) {
    if (text.left < LONGEST_WAIT + COUNT_BYTES) {
      more++;
      continue;
    }
    add(&text, "%s", separator);
    add_wait(&text, &waits->waits[i]);
    separator = "; ";
  }
  if (more) add(&text, "; and %" PRIu32 " more", more);
}
