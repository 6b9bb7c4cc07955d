/* SPDX-License-Identifier: MIT */
/*
 * --waits-dot of several ranks: each that waits for ever, and which keeps it waiting.  Drawn of what the world found as
 * it ended (world/stuck.c), which the sentence and the findings of check are of too.
 */
#include <check/ranks/ranks_trace.h>

#include <inttypes.h>
#include <string.h>

#include <check/ranks/ranks_state.h>
#include <report/file/output_file.h>
#include <runtime/base/text.h>

#define COLUMNS 60u    /* of a line in a node */
#define MORE_BYTES 40u /* "; " and "; and 18446744073709551615 waits more" */

struct picture {
  FILE *out;
  const struct pto_stuck_wait *waits; /* a rank's follow each other */
  size_t count;
  uint32_t blamed;                                            /* the rank that the path ends at; UINT32_MAX: none */
  bool is_marked[PTO_MAX_RANKS], is_in_circle[PTO_MAX_RANKS]; /* by rank: its first wait is */
  bool is_drawn[PTO_MAX_RANKS];
};

/* The path from the first wait on, along who is blamed, to a cause, to a rank that does not wait, or round. */
static void mark(struct picture *p) {
  size_t at = 0;
  while (at < p->count && !p->is_marked[p->waits[at].rank]) {
    p->is_marked[p->waits[at].rank] = true;
    p->blamed = p->waits[at].blamed;
    if (p->waits[at].is_cause) return;
    at = pto_stuck_next(p->waits, p->count, at);
  }
  if (at < p->count) p->blamed = UINT32_MAX;
  for (; at < p->count && !p->is_in_circle[p->waits[at].rank]; at = pto_stuck_next(p->waits, p->count, at))
    p->is_in_circle[p->waits[at].rank] = true;
}

static bool is_first(const struct picture *p, size_t i) { return i == 0 || p->waits[i - 1].rank != p->waits[i].rank; }

/* A wait of the rank before this one is for the same rank: in a collective each core has a signal of its own. */
static bool is_told(const struct picture *p, size_t i) {
  for (size_t k = i; !is_first(p, k); k--)
    if (p->waits[k - 1].blamed == p->waits[i].blamed) return true;
  return false;
}

static void put_node(struct picture *p, uint32_t rank, const char *text, const char *shape) {
  p->is_drawn[rank] = true;
  fprintf(p->out, "  rank%" PRIu32 " [label=\"", rank);
  pto_dot_put_lines(p->out, text, COLUMNS);
  fprintf(p->out, "\", shape=%s%s];\n", shape, rank == p->blamed ? ", penwidth=2" : "");
}

/* What the rank waits for, of each other rank once, as far as there is room. */
static void put_rank(struct picture *p, size_t first) {
  char text[4 * PTO_SENTENCE_SIZE] = "";
  size_t more = 0;
  for (size_t i = first; i < p->count && p->waits[i].rank == p->waits[first].rank; i++)
    if (is_told(p, i) || strlen(text) + strlen(p->waits[i].text) + MORE_BYTES > sizeof text)
      more++;
    else
      pto_text_append(text, sizeof text, "%s%s", i > first ? "; " : "", p->waits[i].text);
  if (more) pto_text_append(text, sizeof text, "; and %zu wait%s more", more, more == 1 ? "" : "s");
  put_node(p, p->waits[first].rank, text, "box");
}

static void put_link(struct picture *p, size_t i) {
  const struct pto_stuck_wait *wait = &p->waits[i];
  char text[64];
  if (wait->blamed == UINT32_MAX || is_told(p, i)) return;
  snprintf(text, sizeof text, "rank %" PRIu32, wait->blamed);
  if (!p->is_drawn[wait->blamed]) put_node(p, wait->blamed, text, "ellipse");
  snprintf(text, sizeof text, "pto_comm_create");
  if (wait->signal != UINT32_MAX)
    snprintf(text, sizeof text, "signal %" PRIu32 " %s %" PRId32 ", which is %" PRId32, wait->signal,
             wait->compare == PTO_IF_EQ ? "=" : ">=", wait->value, wait->found);
  fprintf(
      p->out, "  rank%" PRIu32 " -> rank%" PRIu32 " [label=\"%s\"%s];\n", wait->rank, wait->blamed, text,
      pto_dot_wait_style(is_first(p, i) && p->is_marked[wait->rank], is_first(p, i) && p->is_in_circle[wait->rank]));
}

int pto_ranks_write_waits(const struct pto_ranks *ranks, const char *path, struct pto_error *error) {
  struct picture p = {.blamed = UINT32_MAX};
  if (!ranks->is_told_here) return PTO_OK;
  const int status = pto_output_open_stream(path, &p.out, error);
  if (status) return status;
  p.waits = pto_stuck_waits(pto_world_part(ranks->world), &p.count);
  mark(&p);
  pto_dot_begin(p.out, ranks->program, " stopped");
  fputs("  rankdir=LR;\n", p.out); /* many wait for one: below each other they fit a screen */
  for (size_t i = 0; i < p.count; i++)
    if (is_first(&p, i)) put_rank(&p, i);
  for (size_t i = 0; i < p.count; i++) put_link(&p, i);
  fputs("}\n", p.out);
  return pto_output_close_stream(path, p.out, PTO_OK, error);
}
