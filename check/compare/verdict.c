/* SPDX-License-Identifier: MIT */
/*
 * The first sentence of a comparison.
 *
 * By how much a change lengthens the run is estimated: the change, times the share of that time which lies on the
 * critical path (pto_compared.weight).  The change of the path itself says less: where two paths are about as long, a
 * nanosecond decides which one is told.  What goes the other way than the makespan is no cause.
 *
 * A kernel whose calls take another time alone has been changed, whatever the run makes of it; what the control does is
 * often a consequence: another order of events has other looks and lists.  So beside a kernel that changed, waits and
 * looks are no cause, and what the control does for itself is none if it changed by less, in time and in percent.
 */
#include <check/compare/comparison.h>

#include <inttypes.h>

#include <runtime/base/text.h>

#define LEAST_CAUSE 0.25 /* of the makespan's change, estimated: a smaller one is not what it comes from */

static double effect_us(const struct pto_compared *row) { return row->weight * pto_compared_change_us(row); }
static double wait_us(const struct pto_compared *row) { return row->is_wait ? pto_compared_change_us(row) : 0; }
static double plain_us(const struct pto_compared *row) { return pto_compared_change_us(row) / row->resource_count; }

/* What of the table, by that measure, changed most towards `sign`, or either way where that is 0. */
static const struct pto_compared *find_largest(const struct pto_run_comparison *c, enum pto_compared_table table,
                                               double (*measure)(const struct pto_compared *row), int sign) {
  const struct pto_compared *found = NULL;
  for (size_t i = 0; i < c->tables[table].count; i++) {
    const struct pto_compared *row = &c->tables[table].items[i];
    const double size = measure(row);
    if (!pto_compared_differs(c, row) || size * sign < 0) continue;
    if (fabs(size) > (found ? fabs(measure(found)) : 0)) found = row;
  }
  return found;
}

static void say_kernel(const struct pto_compared *row, char *text, size_t size) {
  pto_text_append(text, size, "; kernel %s %+.2f us of core time (%+.1f %%)", row->name, pto_compared_change_us(row),
                  pto_compared_change_percent(row));
  if (row->calls[0] != row->calls[1])
    pto_text_append(text, size, " in %" PRIu64 " calls instead of %" PRIu64, row->calls[1], row->calls[0]);
}

static void say_account(const struct pto_compared *row, char *text, size_t size) {
  pto_text_append(text, size, "; %s %+.2f us", row->name, pto_compared_change_us(row));
  if (row->times[0].median_ps) pto_text_append(text, size, " (%+.1f %%)", pto_compared_change_percent(row));
}

/* Of a kernel whose calls take another time alone. */
static double alone_us(const struct pto_compared *row) {
  const bool is_same = row->alone[0] * row->calls[1] == row->alone[1] * row->calls[0];
  return is_same ? 0 : pto_compared_change_us(row);
}

static bool is_larger(const struct pto_compared *kernel, const struct pto_compared *account) {
  return fabs(pto_compared_change_us(kernel)) > fabs(pto_compared_change_us(account)) &&
         fabs(pto_compared_change_percent(kernel)) > fabs(pto_compared_change_percent(account));
}

static double own_us(const struct pto_compared *row) { return row->is_own ? plain_us(row) : 0; }

/* The kernel or account whose change explains most of the makespan's; a kernel that itself is another; else a kernel
 * that changed by as much off the path, or what the control waits for, and the path.
 * Where the makespan is the same, a kernel that is not, or what is done for itself: waits and looks follow from that.
 */
struct cause {
  enum pto_compared_table table;
  const struct pto_compared *row, *path; /* path: besides */
};

static struct cause find_cause(const struct pto_run_comparison *c) {
  if (!pto_compared_differs(c, &c->makespan)) {
    const struct pto_compared *kernel = find_largest(c, PTO_COMPARED_KERNELS, plain_us, 0);
    if (kernel) return (struct cause){PTO_COMPARED_KERNELS, kernel, NULL};
    return (struct cause){PTO_COMPARED_ACCOUNTS, find_largest(c, PTO_COMPARED_ACCOUNTS, own_us, 0), NULL};
  }
  const double change = pto_compared_change_us(&c->makespan), least = LEAST_CAUSE * fabs(change);
  const int sign = (change > 0) - (change < 0);
  const struct pto_compared *kernel = find_largest(c, PTO_COMPARED_KERNELS, effect_us, sign),
                            *account = find_largest(c, PTO_COMPARED_ACCOUNTS, effect_us, sign),
                            *wait = find_largest(c, PTO_COMPARED_ACCOUNTS, wait_us, sign),
                            *path = find_largest(c, PTO_COMPARED_PATH, plain_us, sign),
                            *changed = find_largest(c, PTO_COMPARED_KERNELS, alone_us, 0);
  const double of_kernel = kernel ? fabs(effect_us(kernel)) : 0, of_account = account ? fabs(effect_us(account)) : 0;
  if (kernel && of_kernel >= least && of_kernel >= of_account)
    return (struct cause){PTO_COMPARED_KERNELS, kernel, NULL};
  if (changed && fabs(alone_us(changed)) >= least && (!account || !account->is_own || is_larger(changed, account)))
    return (struct cause){PTO_COMPARED_KERNELS, changed, path};
  if (account && of_account >= least) return (struct cause){PTO_COMPARED_ACCOUNTS, account, NULL};
  const struct pto_compared *hidden = find_largest(c, PTO_COMPARED_KERNELS, plain_us, sign); /* a wait is a symptom */
  if (hidden && fabs(plain_us(hidden)) >= least) return (struct cause){PTO_COMPARED_KERNELS, hidden, path};
  if (wait && fabs(wait_us(wait)) >= least) return (struct cause){PTO_COMPARED_ACCOUNTS, wait, path};
  return (struct cause){PTO_COMPARED_PATH, path, path};
}

const struct pto_compared *pto_run_comparison_cause(const struct pto_run_comparison *c,
                                                    enum pto_compared_table *table) {
  const struct cause cause = find_cause(c);
  *table = cause.table;
  return c->can_tell ? cause.row : NULL;
}

static void say_cause(const struct pto_run_comparison *c, char *text, size_t size) {
  const struct cause cause = find_cause(c);
  if (cause.row && cause.table == PTO_COMPARED_KERNELS) say_kernel(cause.row, text, size);
  if (cause.row && cause.table == PTO_COMPARED_ACCOUNTS) say_account(cause.row, text, size);
  if (cause.path)
    pto_text_append(text, size, "; on the critical path %s %+.2f us", cause.path->name,
                    pto_compared_change_us(cause.path));
}

/* "; 64 tasks more: 32 matmul, 32 add", of the two rows that grew or shrank most. */
static void say_tasks(const struct pto_run_comparison *c, int side, char *text, size_t size) {
  const struct pto_compared_rows *rows = &c->tables[PTO_COMPARED_TASKS];
  const struct pto_compared *most[2] = {NULL, NULL};
  const uint64_t only = c->tasks.only[side];
  if (!only) return;
  for (size_t i = 0; i < rows->count; i++) {
    const struct pto_compared *row = &rows->items[i];
    if (row->tasks[side] <= row->tasks[!side]) continue;
    const uint64_t more = row->tasks[side] - row->tasks[!side];
    const int at = !most[0] || more > most[0]->tasks[side] - most[0]->tasks[!side] ? 0 : 1;
    if (at == 0) most[1] = most[0];
    if (at == 0 || !most[1] || more > most[1]->tasks[side] - most[1]->tasks[!side]) most[at] = row;
  }
  pto_text_append(text, size, "; %" PRIu64 " task%s %s: ", only, only == 1 ? "" : "s", side ? "more" : "fewer");
  for (int i = 0; i < 2 && most[i]; i++)
    pto_text_append(text, size, "%s%" PRIu64 " %s", i ? ", " : "", most[i]->tasks[side] - most[i]->tasks[!side],
                    most[i]->name);
}

void pto_run_comparison_verdict(const struct pto_run_comparison *c, char *text, size_t size) {
  const double change = pto_compared_change_us(&c->makespan);
  const bool is_same = pto_run_comparison_is_same(c);
  text[0] = '\0';
  if (!c->can_tell)
    pto_text_append(text, size, "B took %.2f us and A %.2f us, of fewer than %u runs a side: that tells nothing",
                    (double)c->makespan.times[1].median_ps / 1e6, (double)c->makespan.times[0].median_ps / 1e6,
                    c->least_runs);
  else if (pto_compared_differs(c, &c->makespan))
    pto_text_append(text, size, "B takes %.2f us %s (%+.2f %%)", fabs(change), change > 0 ? "longer" : "less",
                    pto_compared_change_percent(&c->makespan));
  else
    pto_text_append(text, size, "%s",
                    is_same       ? c->is_exact ? "the same" : "no difference that counts"
                    : c->is_exact ? "both take as long"
                                  : "neither takes longer, as far as can be told");
  for (int side = 0; side < 2; side++) say_tasks(c, side, text, size);
  if (c->can_tell && !is_same) say_cause(c, text, size);
}
