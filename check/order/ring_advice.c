/* SPDX-License-Identifier: MIT */
#include <check/order/ring_advice.h>

#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>

struct search {
  pto_ring_run *run;
  void *context;
  struct pto_ring_advice *advice;
  int status; /* what `run` ended the search with */
};

/* ---- runs ---- */

/* The trial of this pair, run at most once; the first trial's place, with search->status set, where the search ends. */
static uint32_t try_pair(struct search *search, uint64_t window, uint64_t heap_bytes) {
  struct pto_ring_advice *advice = search->advice;
  if (search->status) return 0;
  for (uint32_t i = 0; i < advice->trial_count; i++)
    if (advice->trials[i].window == window && advice->trials[i].heap_bytes == heap_bytes) return i;
  if (advice->trial_count == PTO_RING_TRIALS) {
    search->status = PTO_ECAPACITY;
    return 0;
  }
  struct pto_ring_trial *trial = &advice->trials[advice->trial_count];
  *trial = (struct pto_ring_trial){.window = window, .heap_bytes = heap_bytes};
  search->status = search->run(search->context, trial);
  if (search->status) return 0;
  advice->wrong_count += trial->completes && !trial->is_right;
  return advice->trial_count++;
}

static const struct pto_ring_trial *trial_of(const struct search *search, uint32_t place) {
  return &search->advice->trials[place];
}

static bool completes(struct search *search, uint64_t window, uint64_t heap_bytes) {
  const uint32_t place = try_pair(search, window, heap_bytes);
  return search->status == PTO_OK && trial_of(search, place)->completes;
}

double pto_ring_advice_slower(const struct pto_ring_advice *advice, const struct pto_ring_trial *trial) {
  const uint64_t first = advice->trials[0].virtual_ps;
  return first ? ((double)trial->virtual_ps - (double)first) * 100 / (double)first : 0;
}

static bool is_cheap(const struct pto_ring_advice *advice, const struct pto_ring_trial *trial) {
  return trial->completes && trial->is_right && pto_ring_advice_slower(advice, trial) < PTO_RING_COST_PERCENT;
}

/* ---- rows ---- */

struct row_list {
  uint32_t *rows, *count;
};

static void add_row(struct search *search, struct row_list list, uint64_t window, uint64_t heap_bytes) {
  const uint32_t place = try_pair(search, window, heap_bytes);
  for (uint32_t i = 0; i < *list.count; i++)
    if (list.rows[i] == place) return;
  if (search->status == PTO_OK) list.rows[(*list.count)++] = place;
}

/* The least size whose row and all larger rows complete; *exception is the largest below it that completes too. */
static uint64_t least_of(const struct search *search, struct row_list list,
                         uint64_t (*size_of)(const struct pto_ring_trial *), bool *has_exception, uint64_t *exception) {
  uint64_t least = 0;
  uint32_t i = *list.count;
  while (i > 0 && trial_of(search, list.rows[i - 1])->completes) least = size_of(trial_of(search, list.rows[--i]));
  while (i > 0 && !*has_exception) {
    const struct pto_ring_trial *trial = trial_of(search, list.rows[--i]);
    *has_exception = trial->completes;
    *exception = trial->completes ? size_of(trial) : 0;
  }
  return least;
}

static uint64_t window_of(const struct pto_ring_trial *trial) { return trial->window; }
static uint64_t heap_of(const struct pto_ring_trial *trial) { return trial->heap_bytes; }

/* ---- windows ---- */

/* Up to the first one that the first run would never have filled: one slot of a window stays free. */
static void search_windows(struct search *search, uint64_t largest, uint64_t heap_bytes) {
  struct pto_ring_advice *advice = search->advice;
  const struct row_list list = {advice->windows, &advice->window_count};
  const uint64_t needed = advice->trials[0].window_high_water + 1;
  for (uint64_t window = PTO_RING_LEAST_WINDOW; window < largest; window *= 2) {
    add_row(search, list, window, heap_bytes);
    if (window >= needed) break;
  }
  add_row(search, list, largest, heap_bytes);
  advice->least_window = least_of(search, list, window_of, &advice->has_window_exception, &advice->window_exception);
}

/* ---- heaps ---- */

/* Multiples of the step between one that does not complete (0) and one that does. */
static uint64_t bisect_heap(struct search *search, uint64_t window, uint64_t enough) {
  uint64_t low = 0, high = enough / PTO_RING_HEAP_STEP;
  while (high - low > 1 && search->status == PTO_OK) {
    const uint64_t middle = low + (high - low) / 2;
    if (completes(search, window, middle * PTO_RING_HEAP_STEP))
      high = middle;
    else
      low = middle;
  }
  return high * PTO_RING_HEAP_STEP;
}

static int order_by_heap(const void *left, const void *right, void *context) {
  const struct search *search = context;
  const uint64_t a = trial_of(search, *(const uint32_t *)left)->heap_bytes;
  const uint64_t b = trial_of(search, *(const uint32_t *)right)->heap_bytes;
  return (a > b) - (a < b);
}

static void search_heaps(struct search *search, uint64_t window, uint64_t largest) {
  struct pto_ring_advice *advice = search->advice;
  const struct row_list list = {advice->heaps, &advice->heap_count};
  const uint64_t high_water = advice->trials[0].heap_high_water_bytes;
  uint64_t enough = pto_align_up(pto_max_u64(high_water, PTO_RING_HEAP_STEP), PTO_RING_HEAP_STEP);
  /* with the high water alone a block may meet the ring's end where it did not before */
  while (enough < largest && !completes(search, window, enough)) enough = pto_min_u64(2 * enough, largest);
  const uint64_t least = bisect_heap(search, window, enough);
  for (uint64_t i = PTO_RING_STEPS_BESIDE; i > 0; i--)
    if (least > i * PTO_RING_HEAP_STEP) add_row(search, list, window, least - i * PTO_RING_HEAP_STEP);
  for (uint64_t i = 0; i <= PTO_RING_STEPS_BESIDE && least + i * PTO_RING_HEAP_STEP <= largest; i++)
    add_row(search, list, window, least + i * PTO_RING_HEAP_STEP);
  for (uint64_t heap = UINT64_C(2) << pto_log2_floor(least); heap < largest; heap *= 2) {
    add_row(search, list, window, heap);
    const struct pto_ring_trial *trial = trial_of(search, try_pair(search, window, heap));
    const bool is_free = trial->completes && pto_ring_advice_slower(advice, trial) <= 0;
    if (heap >= high_water && heap >= enough && is_free) break;
  }
  add_row(search, list, window, largest);
  qsort_r(advice->heaps, advice->heap_count, sizeof *advice->heaps, order_by_heap, search);
  advice->least_heap_bytes =
      least_of(search, list, heap_of, &advice->has_heap_exception, &advice->heap_exception_bytes);
}

/* ---- the pair ---- */

/* The row of the smallest size that is cheap and not below the least. */
static uint32_t first_cheap(const struct search *search, struct row_list list,
                            uint64_t (*size_of)(const struct pto_ring_trial *), uint64_t least) {
  for (uint32_t i = 0; i < *list.count; i++) {
    const struct pto_ring_trial *trial = trial_of(search, list.rows[i]);
    if (size_of(trial) >= least && is_cheap(search->advice, trial)) return i;
  }
  return *list.count - 1;
}

/* Each alone is cheap; both together need not be: then the heap grows, and the window, in turn. */
static void search_pair(struct search *search) {
  struct pto_ring_advice *advice = search->advice;
  const struct row_list windows = {advice->windows, &advice->window_count};
  const struct row_list heaps = {advice->heaps, &advice->heap_count};
  uint32_t window = first_cheap(search, windows, window_of, advice->least_window);
  uint32_t heap = first_cheap(search, heaps, heap_of, advice->least_heap_bytes);
  for (bool is_heap_next = true; search->status == PTO_OK; is_heap_next = !is_heap_next) {
    advice->recommended = try_pair(search, trial_of(search, advice->windows[window])->window,
                                   trial_of(search, advice->heaps[heap])->heap_bytes);
    if (is_cheap(advice, trial_of(search, advice->recommended))) return;
    const bool has_heap = heap + 1 < advice->heap_count, has_window = window + 1 < advice->window_count;
    if (!has_heap && !has_window) return;
    if (has_heap && (is_heap_next || !has_window))
      heap++;
    else
      window++;
  }
}

int pto_ring_advise(pto_ring_run *run, void *context, uint64_t window, uint64_t heap_bytes,
                    struct pto_ring_advice *advice) {
  struct search search = {run, context, advice, PTO_OK};
  memset(advice, 0, sizeof *advice);
  if (!completes(&search, window, heap_bytes)) return search.status;
  search_windows(&search, window, heap_bytes);
  search_heaps(&search, window, heap_bytes);
  if (search.status == PTO_OK) search_pair(&search);
  return search.status;
}

/* ---- what is enough ---- */

/* The next size to try: twice as large, or what the run without limits had in use, where that comes first. */
static uint64_t next_size(uint64_t size, uint64_t in_use) {
  return size < in_use ? pto_min_u64(2 * size, in_use) : 2 * size;
}

bool pto_ring_enough(pto_ring_run *run, void *context, const struct pto_ring_trial *largest,
                     struct pto_ring_trial *sizes) {
  struct pto_ring_trial free_run = *largest, trial = *sizes;
  if (run(context, &free_run) || !free_run.completes) return false;
  const uint64_t heap_in_use = pto_align_up(free_run.heap_high_water_bytes, PTO_RING_HEAP_STEP);
  while (!trial.completes) {
    if (trial.status == PTO_EHEAP)
      trial.heap_bytes = next_size(trial.heap_bytes, heap_in_use);
    else if (trial.status == PTO_ESCOPE || trial.status == PTO_EWINDOW)
      trial.window *= 2;
    else
      return false;
    if (trial.window > largest->window || trial.heap_bytes > largest->heap_bytes || run(context, &trial)) return false;
  }
  *sizes = trial;
  return true;
}
