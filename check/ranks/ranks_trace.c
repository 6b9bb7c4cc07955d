/* SPDX-License-Identifier: MIT */
#include <check/ranks/ranks_trace.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <check/ranks/ranks_state.h>
#include <report/export/trace_events.h>
#include <report/file/gzip.h>
#include <report/file/output_file.h>
#include <report/page/page.h>
#include <report/page/run_blocks.h>
#include <runtime/base/grow.h>

/* ---- what parts need of all ranks ---- */

/* What went over the fabric. */
struct moved {
  uint32_t source, target, task;
  uint64_t begin, end, bytes;
};

struct all {
  struct pto_exchange_bytes awaited; /* uint64_t each */
  struct pto_exchange_bytes moved;   /* struct moved each */
  struct pto_trace_link_flow *flows;
  size_t flow_count, flow_capacity;
  const struct pto_fabric *fabric;
};

/* Its puts, and the answers to its gets, whose questions take the way first. */
static bool tell_moved(const struct pto_ranks *ranks, uint32_t rank, const struct pto_trace_remote *remote,
                       struct pto_exchange_bytes *out) {
  const bool is_put = remote->kind == PTO_REMOTE_PUT;
  if (!is_put && remote->kind != PTO_REMOTE_GET) return true;
  struct moved *moved = pto_exchange_bytes_add(out, sizeof *moved);
  if (!moved) return false;
  const uint64_t way = is_put ? 0 : pto_fabric_lookahead_ps(pto_world_part(ranks->world)->fabric, rank, remote->peer);
  *moved = (struct moved){is_put ? rank : remote->peer,
                          is_put ? remote->peer : rank,
                          remote->task,
                          pto_min_u64(remote->begin + way, remote->end),
                          remote->end,
                          remote->bytes};
  return true;
}

static bool tell_awaited(const struct pto_trace_remote *remote, struct pto_exchange_bytes *out) {
  if (remote->kind != PTO_REMOTE_WAIT) return true;
  uint64_t *message = pto_exchange_bytes_add(out, sizeof *message);
  if (message) *message = pto_export_message(remote->peer, remote->sequence);
  return message != NULL;
}

static int order_messages(const void *left, const void *right) {
  const uint64_t *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

static int order_flows(const void *left, const void *right) {
  const struct pto_trace_link_flow *a = left, *b = right;
  if (a->link != b->link) return a->link < b->link ? -1 : 1;
  if (a->lane != b->lane) return a->lane < b->lane ? -1 : 1;
  if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
  if (a->end != b->end) return a->end < b->end ? -1 : 1;
  return a->source != b->source ? (a->source > b->source) - (a->source < b->source)
                                : (a->target > b->target) - (a->target < b->target);
}

/* A flow on each link of its route, each in the first lane that is free. */
static bool find_flows(struct all *all) {
  uint64_t *lanes = NULL; /* of a link: when each is free */
  size_t lane_count = 0, lane_capacity = 0;
  for (size_t at = 0; at < all->moved.count; at += sizeof(struct moved)) {
    const struct moved *moved = (const struct moved *)(const void *)(all->moved.data + at);
    uint16_t links[PTO_FABRIC_MAX_HOPS];
    const uint32_t count = pto_fabric_route(all->fabric, moved->source, moved->target, links);
    for (uint32_t i = 0; i < count; i++) {
      struct pto_trace_link_flow *flow = pto_grow(&all->flows, &all->flow_count, &all->flow_capacity, sizeof *flow);
      if (!flow) return false;
      *flow = (struct pto_trace_link_flow){.link = links[i],
                                           .source = moved->source,
                                           .target = moved->target,
                                           .task = moved->task,
                                           .begin = moved->begin,
                                           .end = moved->end,
                                           .bytes = moved->bytes};
    }
  }
  if (all->flow_count) qsort(all->flows, all->flow_count, sizeof *all->flows, order_flows);
  bool is_well = true;
  for (size_t i = 0; i < all->flow_count && is_well; i++) {
    struct pto_trace_link_flow *flow = &all->flows[i];
    if (i && flow->link != all->flows[i - 1].link) lane_count = 0;
    while (flow->lane < lane_count && lanes[flow->lane] > flow->begin) flow->lane++;
    is_well = flow->lane < lane_count || pto_grow(&lanes, &lane_count, &lane_capacity, sizeof *lanes) != NULL;
    if (is_well) lanes[flow->lane] = flow->end;
  }
  if (all->flow_count) qsort(all->flows, all->flow_count, sizeof *all->flows, order_flows);
  free(lanes);
  return is_well;
}

static bool find_all(const struct pto_ranks *ranks, struct all *all) {
  struct pto_exchange_bytes awaited = {0}, moved = {0};
  bool is_well = true;
  all->fabric = pto_world_part(ranks->world)->fabric;
  for (uint32_t rank = 0; rank < ranks->rank_count && is_well; rank++) {
    const struct pto_trace *trace = pto_ranks_trace(ranks, rank);
    for (uint64_t i = 0; trace && i < trace->remotes.count && is_well; i++) {
      const struct pto_trace_remote *remote = pto_trace_log_at(&trace->remotes, i);
      is_well = tell_moved(ranks, rank, remote, &moved) && tell_awaited(remote, &awaited);
    }
  }
  is_well = pto_ranks_share(ranks, &awaited, &all->awaited, is_well);
  is_well = pto_ranks_share(ranks, &moved, &all->moved, is_well);
  if (is_well && all->awaited.count)
    qsort(all->awaited.data, all->awaited.count / sizeof(uint64_t), sizeof(uint64_t), order_messages);
  return is_well && find_flows(all);
}

static void free_all(struct all *all) {
  pto_exchange_bytes_fini(&all->awaited);
  pto_exchange_bytes_fini(&all->moved);
  free(all->flows);
}

static const char *name_link(const void *fabric, uint32_t link, char *text, size_t size) {
  char name[PTO_FABRIC_LINK_NAME];
  snprintf(text, size, "%s", pto_fabric_link_name(fabric, link, name));
  return text;
}

/* ---- parts ---- */

/* Of a rank, in the bytes that processes tell each other. */
struct part {
  uint64_t bytes, tasks, dropped;
  char text[];
};

/* Adds what the format writes of the events. */
static bool add_part(const struct pto_trace_events *events, const struct pto_trace_format *format,
                     struct pto_exchange_bytes *out) {
  const int fd = memfd_create("pto-trace", MFD_CLOEXEC);
  if (fd < 0) return false;
  const bool is_written = (format->write_part ? format->write_part : format->write)(events, fd) == 0;
  uint64_t bytes;
  struct part *part = is_written ? pto_ranks_add_file(out, fd, offsetof(struct part, text), &bytes) : NULL;
  close(fd);
  if (!part) return false;
  part->bytes = bytes;
  part->tasks = events->trace ? events->trace->tasks.count : 0;
  part->dropped = events->trace ? pto_trace_dropped(events->trace) : 0;
  return true;
}

static bool add_rank(const struct pto_ranks *ranks, uint32_t rank, const struct all *all,
                     const struct pto_trace_format *format, struct pto_exchange_bytes *out) {
  const struct pto_trace *trace = pto_ranks_trace(ranks, rank);
  char name[32];
  const struct pto_export_rank about = {.index = rank,
                                        .count = ranks->rank_count,
                                        .name = name,
                                        .awaited = (const uint64_t *)(const void *)all->awaited.data,
                                        .awaited_count = all->awaited.count / sizeof(uint64_t)};
  struct pto_export_info info = pto_session_info(&ranks->sessions[rank]);
  struct pto_trace_events events;
  struct pto_error error;
  snprintf(name, sizeof name, "rank %" PRIu32, rank);
  info.rank = &about;
  if (pto_trace_events_init(&events, trace, &info, &error)) return false;
  const bool is_well = add_part(&events, format, out);
  pto_trace_events_fini(&events);
  return is_well;
}

static bool add_between(const struct pto_ranks *ranks, const struct all *all, const struct pto_trace_format *format,
                        struct pto_exchange_bytes *out) {
  const struct pto_export_rank about = {.index = ranks->rank_count, .count = ranks->rank_count, .name = "all ranks"};
  const struct pto_export_info info = {.rank = &about};
  const struct pto_trace_between between = {.flows = all->flows,
                                            .flow_count = all->flow_count,
                                            .link_name = name_link,
                                            .context = all->fabric,
                                            .steps = ranks->path.steps,
                                            .step_count = ranks->path.step_count};
  const struct pto_trace_events events = {.between = &between, .info = &info};
  return add_part(&events, format, out);
}

/* ---- files ---- */

/* "x.3.et" of "x.et", "x.3.et.gz" of "x.et.gz", "x.3" of "x". */
static void name_file(const char *path, uint32_t rank, char *text, size_t size) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  size_t length = strlen(path);
  if (pto_gzip_is_name(path)) length -= strlen(".gz");
  size_t end = length;
  while (end > (size_t)(name - path) && path[end - 1] != '.') end--;
  end = end > (size_t)(name - path) + 1 ? end - 1 : length; /* a first dot begins no ending */
  snprintf(text, size, "%.*s.%" PRIu32 "%s", (int)end, path, rank, path + end);
}

static int write_all(int fd, const char *bytes, size_t count) {
  for (size_t at = 0; at < count;) {
    const ssize_t now = write(fd, bytes + at, count - at);
    if (now < 0 && errno != EINTR) return errno;
    at += now > 0 ? (size_t)now : 0;
  }
  return 0;
}

static int write_files(const struct pto_trace_part *parts, uint32_t count, const char *path, struct pto_error *error) {
  int fd, status = PTO_OK;
  char name[4096];
  for (uint32_t i = 0; i < count && status == PTO_OK; i++) {
    name_file(path, i, name, sizeof name);
    status = pto_output_open(name, &fd, error);
    if (status == PTO_OK) status = pto_output_close(name, fd, write_all(fd, parts[i].bytes, parts[i].size), error);
  }
  return status;
}

/* Points into `told`; how many there are. */
static size_t find_parts(const struct pto_exchange_bytes *told, struct pto_trace_part parts[PTO_MAX_RANKS + 1]) {
  size_t count = 0;
  for (size_t at = 0; at < told->count && count <= PTO_MAX_RANKS; count++) {
    const struct part *part = (const struct part *)(const void *)(told->data + at);
    parts[count] = (struct pto_trace_part){part->text, part->bytes, part->tasks, part->dropped};
    at += pto_align_up(offsetof(struct part, text) + part->bytes, 8);
  }
  return count;
}

/* Those of all ranks in `told`, and what is of all behind them where the format has that. */
static int tell_parts(const struct pto_ranks *ranks, const struct pto_trace_format *format,
                      struct pto_exchange_bytes *told, struct pto_error *error) {
  struct pto_exchange_bytes out = {0};
  struct all all = {0};
  bool is_well = find_all(ranks, &all);
  for (uint32_t rank = 0; rank < ranks->rank_count && is_well; rank++)
    if (pto_ranks_trace(ranks, rank)) is_well = add_rank(ranks, rank, &all, format, &out);
  is_well = pto_ranks_share(ranks, &out, told, is_well);
  if (is_well && format->write_part) is_well = add_between(ranks, &all, format, told);
  pto_exchange_bytes_fini(&out);
  free_all(&all);
  if (is_well) return PTO_OK;
  return pto_error_set(error, PTO_ENOMEM, "no memory for the timelines of %" PRIu32 " ranks", ranks->rank_count);
}

int pto_ranks_write_trace(const struct pto_ranks *ranks, const char *path, struct pto_error *error) {
  const struct pto_trace_format *format = pto_trace_format_of(path);
  const struct pto_export_info info = pto_session_info(&ranks->sessions[0]);
  struct pto_trace_part parts[PTO_MAX_RANKS + 1];
  struct pto_exchange_bytes told = {0};
  int fd, status = tell_parts(ranks, format, &told, error);
  const size_t count = status == PTO_OK ? find_parts(&told, parts) : 0;
  if (status == PTO_OK && ranks->is_told_here) {
    if (!format->join) {
      status = write_files(parts, (uint32_t)count, path, error);
    } else {
      status = pto_output_open(path, &fd, error);
      if (status == PTO_OK) status = pto_output_close(path, fd, format->join(&info, parts, count, fd), error);
    }
  }
  pto_exchange_bytes_fini(&told);
  return status;
}

int pto_ranks_write_graphs(const struct pto_ranks *ranks, const char *const paths[PTO_EXPORT_COUNT],
                           struct pto_error *error) {
  char names[2][4096];
  for (uint32_t rank = 0; rank < ranks->rank_count; rank++) {
    const char *its[PTO_EXPORT_COUNT] = {NULL};
    if (!pto_ranks_trace(ranks, rank)) continue; /* of another process */
    for (uint32_t i = 0; i < 2; i++) {
      const enum pto_export what = i ? PTO_EXPORT_deps_json : PTO_EXPORT_dot;
      if (!paths[what]) continue;
      name_file(paths[what], rank, names[i], sizeof names[i]);
      its[what] = names[i];
    }
    const struct pto_export_info info = pto_session_info(&ranks->sessions[rank]);
    const int status = pto_exports_write(its, pto_ranks_trace(ranks, rank), &info, error);
    if (status) return status;
  }
  return PTO_OK;
}

/* ---- pages ---- */

static int write_blocks(const struct pto_trace_events *events, int fd) {
  FILE *to = fdopen(dup(fd), "w");
  if (!to) return errno;
  const int status = events->trace ? pto_run_blocks_write(events->trace, events->info, to)
                                   : pto_link_blocks_write(events->between, events->info, to);
  return fclose(to) != 0 || status ? ENOMEM : 0;
}

static void put_findings(struct pto_json_writer *w, const void *context) { pto_findings_put_json(context, w); }

int pto_ranks_write_page(const struct pto_ranks *ranks, const struct pto_findings *findings, const char *path,
                         struct pto_error *error) {
  static const struct pto_trace_format blocks = {.write_part = write_blocks};
  const struct pto_report_page_document documents[] = {{"ranks", pto_ranks_put, ranks},
                                                       {"found", put_findings, findings}};
  struct pto_trace_part parts[PTO_MAX_RANKS + 1];
  struct pto_exchange_bytes told = {0};
  int status = tell_parts(ranks, &blocks, &told, error);
  if (status == PTO_OK && ranks->is_told_here) {
    const struct pto_report_page page = {.documents = documents,
                                         .document_count = findings ? 2 : 1,
                                         .parts = parts,
                                         .part_count = find_parts(&told, parts)};
    status = pto_report_page_write(path, &page, error);
  }
  pto_exchange_bytes_fini(&told);
  return status;
}
