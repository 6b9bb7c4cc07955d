/* SPDX-License-Identifier: MIT */
/* How --comm-stats is told. */
#include <check/ranks/comm_stats.h>

#include <inttypes.h>

#include <formats/units.h>
#include <kernels/collective/collective.h>
#include <runtime/base/base.h>

#define MOST_WAITS 8u /* that are told to people */
#define PS_DIGITS 6   /* of a microsecond */
#define TEXT 32

/* What a rank's links carry of each byte at least: all of it, or (n-1)/n of it once or twice. */
enum { NO_BUS, ALL, ONCE, TWICE };
static const struct {
  const char *name, *algorithm;
  uint32_t bus;
} collectives[PTO_COLLECTIVE_COUNT] = {
    [PTO_COLLECTIVE_ALL_REDUCE_ONE_PHASE] = {"all_reduce", "one_phase", TWICE},
    [PTO_COLLECTIVE_ALL_REDUCE_TWO_PHASE] = {"all_reduce", "two_phase", TWICE},
    [PTO_COLLECTIVE_ALL_REDUCE_RING] = {"all_reduce", "ring", TWICE},
    [PTO_COLLECTIVE_ALL_REDUCE_BIDIRECTIONAL_RING] = {"all_reduce", "bidirectional_ring", TWICE},
    [PTO_COLLECTIVE_REDUCE_SCATTER] = {"reduce_scatter", "direct", ONCE},
    [PTO_COLLECTIVE_ALL_GATHER] = {"all_gather", "direct", ONCE},
    [PTO_COLLECTIVE_BROADCAST] = {"broadcast", "direct", ALL},
    [PTO_COLLECTIVE_ALL_TO_ALL] = {"all_to_all", "direct", ONCE},
    [PTO_COLLECTIVE_BARRIER] = {"barrier", "direct", NO_BUS},
};

static const char *name_of(const struct pto_comm_calls *calls) {
  return calls->collective < PTO_COLLECTIVE_COUNT ? collectives[calls->collective].name : calls->kernel;
}

static const char *algorithm_of(const struct pto_comm_calls *calls) {
  if (calls->is_moe) return "direct";
  return calls->collective < PTO_COLLECTIVE_COUNT ? collectives[calls->collective].algorithm : NULL;
}

/* Whether it has bandwidths, in GB/s: bytes of all calls over their time. */
static bool find_bandwidths(const struct pto_comm_stats *stats, const struct pto_comm_calls *calls, double *algbw,
                            double *busbw) {
  const double n = __builtin_popcountll(stats->comms[calls->comm].ranks);
  const uint32_t bus = calls->collective < PTO_COLLECTIVE_COUNT ? collectives[calls->collective].bus : NO_BUS;
  if (calls->is_moe && n > 1 && calls->ps) { /* bytes are of all ranks and calls */
    *busbw = (double)calls->bytes / n / (double)calls->ps * 1e3;
    *algbw = *busbw * n / (n - 1);
    return true;
  }
  if (bus == NO_BUS || calls->ps == 0) return false;
  *algbw = (double)calls->bytes * (double)calls->calls / (double)calls->ps * 1e3;
  *busbw = *algbw * (bus == ALL ? 1 : (bus == TWICE ? 2 : 1) * (n - 1) / n);
  return true;
}

/* ---- for people ---- */

/* "0-3 6" of bits. */
static void print_ranks(uint64_t ranks, FILE *to) {
  const char *separator = "";
  for (uint32_t i = 0; i < PTO_MAX_RANKS; i++) {
    uint32_t end = i;
    while (end < PTO_MAX_RANKS && ranks >> end & 1) end++;
    if (end == i) continue;
    fprintf(to, "%s%" PRIu32, separator, i);
    if (end > i + 1) fprintf(to, "-%" PRIu32, end - 1);
    separator = " ";
    i = end;
  }
}

static void print_sum(const struct pto_comm_sum *sum, const char *what, FILE *to) {
  char text[TEXT];
  if (!sum->count) return;
  fprintf(to, ", %" PRIu64 " %s", sum->count, what);
  if (sum->bytes) fprintf(to, " of %s", pto_format_bytes(sum->bytes, text, sizeof text));
}

static void print_calls(const struct pto_comm_stats *stats, uint32_t comm, FILE *to) {
  const char *bytes_head = "bytes";
  for (size_t i = 0; i < stats->call_count; i++) {
    const struct pto_comm_calls *calls = &stats->calls[i];
    const char *algorithm = algorithm_of(calls);
    double algbw, busbw;
    if (calls->comm != comm) continue;
    if (bytes_head)
      fprintf(to, "             %-26s %-20s %8s %14s %12s %12s %11s %11s\n", "", "algorithm", "calls", bytes_head,
              "time us", "skew us", "algbw GB/s", "busbw GB/s");
    bytes_head = NULL;
    fprintf(to, "             %-26.26s %-20s %8" PRIu64 " %14" PRIu64, name_of(calls), algorithm ? algorithm : "-",
            calls->calls, calls->bytes);
    if (calls->calls)
      fprintf(to, " %12.3f %12.3f", (double)calls->ps / (double)calls->calls * 1e-6,
              (double)calls->skew_ps / (double)calls->calls * 1e-6);
    if (find_bandwidths(stats, calls, &algbw, &busbw)) fprintf(to, " %11.2f %11.2f", algbw, busbw);
    if (calls->unfinished) fprintf(to, " (and %" PRIu64 " that not all ranks ended)", calls->unfinished);
    putc('\n', to);
  }
}

void pto_comm_stats_print(const struct pto_comm_stats *stats, FILE *to) {
  char text[TEXT];
  for (uint32_t i = 0; i < stats->comm_count; i++) {
    const struct pto_comm_row *row = &stats->comms[i];
    fprintf(to, "  comm %-3" PRIu32 " ranks ", i);
    print_ranks(row->ranks, to);
    fprintf(to, ", windows of %s", pto_format_bytes(row->window_bytes, text, sizeof text));
    print_sum(&row->puts, "puts", to);
    print_sum(&row->gets, "gets", to);
    print_sum(&row->signals, "signals", to);
    putc('\n', to);
    print_calls(stats, i, to);
  }
  for (uint32_t i = 0; i < stats->wait_count && i < MOST_WAITS; i++) {
    const struct pto_comm_wait *wait = &stats->waits[i];
    fprintf(to, "  %-8s rank %" PRIu32 " for rank %" PRIu32 ": %s, %" PRIu64 " %s\n", i ? "" : "waits", wait->rank,
            wait->peer, pto_format_seconds((double)wait->ps * 1e-12, text, sizeof text), wait->count,
            wait->count == 1 ? "time" : "times");
  }
  if (stats->wait_count > MOST_WAITS)
    fprintf(to, "           and %zu more pairs that waited less, or as long\n", stats->wait_count - MOST_WAITS);
}

/* ---- JSON ---- */

static void put_us(struct pto_json_writer *w, const char *key, uint64_t ps) {
  pto_json_key(w, key);
  pto_json_decimal(w, ps, PS_DIGITS);
}

static void put_sum(struct pto_json_writer *w, const char *key, const struct pto_comm_sum *sum) {
  pto_json_put_object(w, key);
  pto_json_put_u64(w, "count", sum->count);
  pto_json_put_u64(w, "bytes", sum->bytes);
  pto_json_object_end(w);
}

static void put_calls(struct pto_json_writer *w, const struct pto_comm_stats *stats,
                      const struct pto_comm_calls *calls) {
  double algbw = 0, busbw = 0;
  const bool has_bandwidths = find_bandwidths(stats, calls, &algbw, &busbw);
  pto_json_object_begin(w);
  pto_json_put_string(w, "kernel", calls->kernel);
  pto_json_put_string(w, "collective", algorithm_of(calls) ? name_of(calls) : NULL);
  pto_json_put_string(w, "algorithm", algorithm_of(calls));
  pto_json_put_u64(w, "calls", calls->calls);
  pto_json_put_u64(w, "unfinished", calls->unfinished);
  pto_json_put_u64(w, "bytes", calls->bytes);
  put_us(w, "total_us", calls->ps);
  put_us(w, "total_skew_us", calls->skew_ps);
  if (pto_json_try_key(w, "algbw_gbps", has_bandwidths)) pto_json_double(w, algbw);
  if (pto_json_try_key(w, "busbw_gbps", has_bandwidths)) pto_json_double(w, busbw);
  pto_json_object_end(w);
}

static void put_comm(struct pto_json_writer *w, const struct pto_comm_stats *stats, uint32_t comm) {
  const struct pto_comm_row *row = &stats->comms[comm];
  pto_json_object_begin(w);
  pto_json_put_array(w, "ranks");
  for (uint32_t i = 0; i < PTO_MAX_RANKS; i++)
    if (row->ranks >> i & 1) pto_json_u64(w, i);
  pto_json_array_end(w);
  pto_json_put_u64(w, "window_bytes", row->window_bytes);
  put_sum(w, "puts", &row->puts);
  put_sum(w, "gets", &row->gets);
  pto_json_put_u64(w, "signals", row->signals.count);
  pto_json_put_array(w, "calls");
  for (size_t i = 0; i < stats->call_count; i++)
    if (stats->calls[i].comm == comm) put_calls(w, stats, &stats->calls[i]);
  pto_json_array_end(w);
  pto_json_object_end(w);
}

void pto_comm_stats_put(const struct pto_comm_stats *stats, struct pto_json_writer *w) {
  pto_json_put_object(w, "comm_stats");
  pto_json_put_array(w, "comms");
  for (uint32_t i = 0; i < stats->comm_count; i++) put_comm(w, stats, i);
  pto_json_array_end(w);
  pto_json_put_array(w, "waits");
  for (size_t i = 0; i < stats->wait_count; i++) {
    const struct pto_comm_wait *wait = &stats->waits[i];
    pto_json_object_begin(w);
    pto_json_put_u64(w, "rank", wait->rank);
    pto_json_put_u64(w, "peer", wait->peer);
    pto_json_put_u64(w, "count", wait->count);
    put_us(w, "us", wait->ps);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_object_end(w);
}
