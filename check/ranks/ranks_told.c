/* SPDX-License-Identifier: MIT */
#include <check/ranks/ranks_state.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool pto_ranks_share(const struct pto_ranks *ranks, struct pto_exchange_bytes *out, struct pto_exchange_bytes *in,
                     bool is_well) {
  if (ranks->processes) {
    struct pto_exchange_visit visit = {ranks->processes->first, 0, out, in};
    is_well = pto_exchange_meet(ranks->processes, &visit, is_well);
    pto_exchange_bytes_fini(out);
    return is_well;
  }
  *in = *out;
  *out = (struct pto_exchange_bytes){0};
  return is_well;
}

void *pto_ranks_add_file(struct pto_exchange_bytes *out, int fd, size_t header_bytes, uint64_t *bytes_out) {
  const off_t end = lseek(fd, 0, SEEK_END);
  if (end < 0) return NULL;
  const size_t bytes = (size_t)end;
  char *header = pto_exchange_bytes_add(out, pto_align_up(header_bytes + bytes, 8));
  for (size_t at = 0; header && at < bytes;) {
    const ssize_t now = pread(fd, header + header_bytes + at, bytes - at, (off_t)at);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return NULL;
    at += (size_t)now;
  }
  if (header) *bytes_out = bytes;
  return header;
}

/* ---- what went wrong ---- */

struct failure {
  int exit_code;
  struct pto_error error;
};

int pto_ranks_agree(struct pto_ranks *ranks) {
  struct pto_exchange_bytes out = {0}, in = {0};
  if (!ranks->processes) return ranks->exit_code;
  struct failure *failure = ranks->exit_code ? pto_exchange_bytes_add(&out, sizeof *failure) : NULL;
  if (failure) *failure = (struct failure){ranks->exit_code, ranks->error};
  if (!pto_ranks_share(ranks, &out, &in, failure || !ranks->exit_code)) {
    pto_error_set(&ranks->error, PTO_ENOMEM, "no memory for the ranks of a process");
    ranks->exit_code = PTO_EXIT_FAILED;
  } else if (in.count >= sizeof *failure) {
    memcpy(&ranks->error, in.data + offsetof(struct failure, error), sizeof ranks->error);
    memcpy(&ranks->exit_code, in.data, sizeof ranks->exit_code);
  }
  pto_exchange_bytes_fini(&in);
  return ranks->exit_code;
}

/* ---- links ---- */

/* Each part knows the links that its ranks' flows could meet, and all of what went over them. */
static void take_link(struct pto_fabric_link *most, const struct pto_fabric_link *link) {
  if (link->flows > most->flows) *most = *link;
}

static bool gather_links(struct pto_ranks *ranks) {
  const struct pto_world *world = ranks->world;
  struct pto_exchange_bytes out = {0}, in = {0};
  ranks->link_count = pto_fabric_link_count(pto_world_part(world)->fabric);
  const size_t size = ranks->link_count * sizeof *ranks->links;
  ranks->links = calloc(ranks->link_count + 1, sizeof *ranks->links);
  for (uint32_t part = world->exchange->first; ranks->links && part < world->exchange->end; part++)
    for (uint32_t i = 0; i < ranks->link_count; i++) {
      const struct pto_fabric_link link = pto_fabric_link(world->parts[part].fabric, i);
      take_link(&ranks->links[i], &link);
    }
  if (!ranks->processes) return ranks->links != NULL;
  void *told = ranks->links && size ? pto_exchange_bytes_add(&out, size) : NULL;
  if (told) memcpy(told, ranks->links, size);
  const bool is_well = pto_ranks_share(ranks, &out, &in, ranks->links && (told || !size));
  const struct pto_fabric_link *links = (const struct pto_fabric_link *)(const void *)in.data;
  for (size_t i = 0; is_well && i < in.count / sizeof *links; i++)
    take_link(&ranks->links[i % ranks->link_count], &links[i]);
  pto_exchange_bytes_fini(&in);
  return is_well;
}

/* ---- results ---- */

/* Of a rank, and its object in JSON behind it, up to a multiple of 8 bytes.  Pointers of the result are another
 * process's. */
struct told {
  uint64_t rank, json_bytes;
  struct pto_run_result result;
  char json[];
};

/* Adds the rank's; false: no memory. */
static bool tell(const struct pto_ranks *ranks, uint32_t rank, struct pto_exchange_bytes *out) {
  const struct pto_run_result *result = &ranks->sessions[rank].result;
  struct pto_json_writer w;
  const int fd = memfd_create("pto-rank", MFD_CLOEXEC);
  if (fd < 0) return false;
  pto_json_init(&w, fd);
  pto_json_object_begin(&w);
  pto_run_result_put(result, &w);
  pto_json_object_end(&w);
  const bool is_written = pto_json_finish(&w) == 0;
  uint64_t bytes;
  struct told *told = is_written ? pto_ranks_add_file(out, fd, offsetof(struct told, json), &bytes) : NULL;
  close(fd);
  if (!told) return false;
  told->rank = rank;
  told->json_bytes = bytes;
  told->result = *result;
  return true;
}

static void take(struct pto_ranks *ranks, const struct told *told) {
  const struct pto_run_result *result = &told->result;
  if (pto_world_rank(ranks->world, (uint32_t)told->rank)) return;
  ranks->texts[told->rank] = (struct pto_rank_text){told->json, told->json_bytes - 1}; /* but for the line's end */
  ranks->sessions[told->rank].result = (struct pto_run_result){.stats = result->stats,
                                                               .has_run = result->has_run,
                                                               .verified = result->verified,
                                                               .output_digest = result->output_digest,
                                                               .trace_digest = result->trace_digest,
                                                               .exit_code = result->exit_code,
                                                               .error = result->error};
}

bool pto_ranks_gather(struct pto_ranks *ranks) {
  struct pto_exchange_bytes out = {0};
  bool is_well = gather_links(ranks);
  if (!ranks->processes) return is_well;
  for (uint32_t i = 0; i < ranks->rank_count && is_well; i++)
    is_well = !pto_world_rank(ranks->world, i) || tell(ranks, i, &out);
  if (!pto_ranks_share(ranks, &out, &ranks->told, is_well)) return false;
  for (size_t at = 0; at < ranks->told.count;) {
    const struct told *told = (const struct told *)(const void *)(ranks->told.data + at);
    at += pto_align_up(offsetof(struct told, json) + told->json_bytes, 8);
    take(ranks, told);
  }
  return true;
}
