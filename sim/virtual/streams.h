/* SPDX-License-Identifier: MIT */
/*
 * Transfers that share a rate: at any time each of n streams is served at min(cap of one, total / n), anew whenever one
 * begins or ends.
 *
 * All are served alike, so one number says how far they are: `served`, what a stream that was always there would have
 * got, in units of 2⁻²⁰ · 10⁻⁶ bytes and 128 bits.  A stream of b bytes that begins when served is s ends when it is
 * s + b, whatever begins and ends meanwhile; so they are a sorted ring, as events are (event_queue.h).  n streams get
 * min(cap · 2²⁰, ⌊total · 2²⁰ / n⌋) units a picosecond each (MB/s are 10⁻⁶ bytes a picosecond), exactly, so it does not
 * matter at which moments between two changes `served` is brought up to date.  A stream ends in the first picosecond in
 * which it has got all; at the latest, PTO_TIMING_MAX_PS after the last change.
 *
 * Always true: next_at is when the first stream ends, PTO_EVENT_NEVER where there is none; none of the ring has got all
 * that it asked for at updated_at.  Owns nothing: the caller lends ring and shares.  One thread.
 */
#ifndef PTO_SIM_VIRTUAL_STREAMS_H
#define PTO_SIM_VIRTUAL_STREAMS_H

#include <sim/chips/timing.h>
#include <sim/virtual/event_queue.h>

#define PTO_STREAM_UNIT_LOG2 20

struct pto_stream {
  unsigned __int128 end; /* what `served` is when it has got all */
  uint32_t core;
};

struct pto_streams {
  unsigned __int128 served;
  uint64_t updated_at, next_at;
  uint32_t head, tail;            /* run freely */
  uint32_t mask;                  /* the ring has mask + 1 places */
  struct pto_stream *ring;        /* the first end first; one a core at most */
  struct pto_timing_rate *shares; /* by the number of streams, up to that of the cores: units a picosecond */
};

/* Fills the shares; mbps as in the chip file. */
static inline void pto_streams_set_rates(struct pto_streams *streams, uint64_t cap_mbps, uint64_t total_mbps,
                                         uint32_t core_count) {
  const uint64_t cap = cap_mbps << PTO_STREAM_UNIT_LOG2, total = total_mbps << PTO_STREAM_UNIT_LOG2;
  streams->shares[0] = (struct pto_timing_rate){.divisor = 0}; /* of none, nothing is served */
  for (uint32_t n = 1; n <= core_count; n++) {
    const uint64_t share = pto_min_u64(cap, total / n);
    PTO_ASSERT(share > 0);
    streams->shares[n] = (struct pto_timing_rate){.divisor = share, .reciprocal = UINT64_MAX / share};
  }
}

static inline void pto_streams_reset(struct pto_streams *streams) {
  streams->served = 0;
  streams->updated_at = 0;
  streams->next_at = PTO_EVENT_NEVER;
  streams->head = streams->tail = 0;
}

static inline uint32_t pto_streams_count(const struct pto_streams *streams) { return streams->tail - streams->head; }

static inline struct pto_stream *pto_streams_at(const struct pto_streams *streams, uint32_t place) {
  return &streams->ring[place & streams->mask];
}

/* Those that there are get what is theirs until `now`. */
static inline void pto_streams_serve(struct pto_streams *streams, uint64_t now) {
  const uint64_t share = streams->shares[pto_streams_count(streams)].divisor;
  streams->served += (unsigned __int128)share * (now - streams->updated_at);
  streams->updated_at = now;
}

static inline void pto_streams_find_next(struct pto_streams *streams) {
  if (streams->head == streams->tail) {
    streams->next_at = PTO_EVENT_NEVER;
    return;
  }
  const unsigned __int128 left = pto_streams_at(streams, streams->head)->end - streams->served;
  const struct pto_timing_rate *share = &streams->shares[pto_streams_count(streams)];
  uint64_t duration = PTO_TIMING_MAX_PS;
  if (PTO_LIKELY(left <= UINT64_MAX)) {
    duration = pto_timing_scale((uint64_t)left, 1, share);
  } else {
    const unsigned __int128 exact = (left + (share->divisor - 1)) / share->divisor;
    if (exact < PTO_TIMING_MAX_PS) duration = (uint64_t)exact;
  }
  streams->next_at = streams->updated_at + duration;
}

/* A stream of `bytes` > 0 begins at `now`, not before what was done last; `core` has none. */
static PTO_INLINE void pto_streams_begin(struct pto_streams *streams, uint64_t now, uint64_t bytes, uint32_t core) {
  pto_streams_serve(streams, now);
  const unsigned __int128 end =
      streams->served + (unsigned __int128)bytes * (UINT64_C(1000000) << PTO_STREAM_UNIT_LOG2);
  uint32_t at = streams->tail++;
  for (; at != streams->head && end < pto_streams_at(streams, at - 1)->end; at--)
    *pto_streams_at(streams, at) = *pto_streams_at(streams, at - 1);
  *pto_streams_at(streams, at) = (struct pto_stream){.end = end, .core = core};
  pto_streams_find_next(streams);
}

/* Ends all streams that end at next_at, which is there; their cores, and how many. */
static inline uint32_t pto_streams_end(struct pto_streams *streams, uint32_t *cores) {
  uint32_t ended = 0;
  pto_streams_serve(streams, streams->next_at);
  do {
    cores[ended++] = pto_streams_at(streams, streams->head++)->core;
  } while (streams->head != streams->tail && pto_streams_at(streams, streams->head)->end <= streams->served);
  pto_streams_find_next(streams);
  return ended;
}

#endif
