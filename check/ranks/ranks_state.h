/* SPDX-License-Identifier: MIT */
/* What the files of check/ranks/ share: what processes tell each other of their ranks (ranks_told.c). */
#ifndef PTO_CHECK_RANKS_RANKS_STATE_H
#define PTO_CHECK_RANKS_RANKS_STATE_H

#include <check/ranks/ranks.h>
#include <world/world_state.h>

/* What a rank recorded; NULL: nothing, or it is of another process, whose sessions stay zeroed here. */
static inline const struct pto_trace *pto_ranks_trace(const struct pto_ranks *ranks, uint32_t rank) {
  return pto_session_trace(&ranks->sessions[rank]);
}

/* After init: where it went wrong in one process it did in all, as in the first of them.  Returns the exit code. */
int pto_ranks_agree(struct pto_ranks *ranks);
/* Before init opens ranks, each with options of its own: what this process was told, for pto_ranks_compare. */
void pto_ranks_take_options(struct pto_ranks *ranks, const struct pto_session_options *options);
/* Before the run, of ranks that could be opened: whether all processes were started alike, and want the same things of
 * the run, whatever their files are called.  The exit code, and the sentence, of all. */
int pto_ranks_compare(struct pto_ranks *ranks);
/* After the run: each has all ranks' results, the links and the last rank's end.  False: no memory, in all. */
PTO_MUST_CHECK bool pto_ranks_gather(struct pto_ranks *ranks);
/* The members of the object of --json. */
void pto_ranks_put(struct pto_json_writer *w, const void *ranks);
/* `in` is what all processes have in `out`, in order of ranks; `out` is empty then.  False: one of them is not well, or
 * out of memory, the same in all. */
PTO_MUST_CHECK bool pto_ranks_share(const struct pto_ranks *ranks, struct pto_exchange_bytes *out,
                                    struct pto_exchange_bytes *in, bool is_well);
/* Adds room for a header of `header_bytes`, and all that the file holds behind it, up to a multiple of 8 bytes.  The
 * header, for the caller to fill in; NULL: no memory, or the file of the memory (memfd_create) cannot be read. */
PTO_MUST_CHECK void *pto_ranks_add_file(struct pto_exchange_bytes *out, int fd, size_t header_bytes,
                                        uint64_t *bytes_out);

#endif
