/* SPDX-License-Identifier: MIT */
/* Tests of the protobuf formats of --trace on hand-made traces, read back field by field; where memory or the disk
 * ends. tests/cli/trace_formats_test.sh compares whole runs, by protoc. */
#include <report/export/trace_events.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <tests/support/failing_malloc.h>

static const struct pto_kernel matmul = {.name = "matmul"}, odd = {.name = "say \"hi\""};
static const char *const group_names[] = {"0 gemm", "1 add"};
static const uint32_t group_of[] = {0, 1, 1};
static const struct pto_task_groups groups = {.group_of = group_of, .names = group_names, .task_count = 3};
static const struct pto_export_info info = {
    .program = "hand_made", .engine = "threads", .chip = "tiny", .cluster_count = 2, .groups = &groups};

typedef int write_trace(const struct pto_trace_events *events, int fd);
static int write_json(const struct pto_trace_events *events, int fd) { return pto_trace_json.write(events, fd); }
static int write_perfetto(const struct pto_trace_events *events, int fd) {
  return pto_trace_perfetto.write(events, fd);
}
static int write_chakra(const struct pto_trace_events *events, int fd) { return pto_trace_chakra.write(events, fd); }
static write_trace *const writers[] = {write_json, write_perfetto, write_chakra};

/* ---- reading ---- */

struct cursor {
  const uint8_t *at, *end;
};
struct field {
  uint32_t number;
  uint64_t value;      /* of a varint, or eight bytes */
  struct cursor inner; /* of bytes with a length */
};

static uint64_t read_varint(struct cursor *c) {
  uint64_t value = 0;
  for (uint32_t shift = 0; c->at < c->end; shift += 7) {
    const uint8_t byte = *c->at++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail_msg("a varint ends in the middle");
  return 0;
}

static struct cursor read_bytes(struct cursor *c) {
  const uint64_t length = read_varint(c);
  assert_true(length <= (uint64_t)(c->end - c->at));
  const struct cursor inner = {c->at, c->at + length};
  c->at += length;
  return inner;
}

static bool read_field(struct cursor *c, struct field *field) {
  if (c->at == c->end) return false;
  const uint64_t tag = read_varint(c);
  *field = (struct field){.number = (uint32_t)(tag >> 3)};
  if ((tag & 7) == 0) {
    field->value = read_varint(c);
  } else if ((tag & 7) == 1) {
    assert_true(c->end - c->at >= 8);
    for (uint32_t i = 0; i < 8; i++) field->value |= (uint64_t)*c->at++ << 8 * i;
  } else {
    assert_int_equal(tag & 7, 2);
    field->inner = read_bytes(c);
  }
  return true;
}

/* The first field with this number; false where there is none. */
static bool find_field(struct cursor message, uint32_t number, struct field *field) {
  while (read_field(&message, field))
    if (field->number == number) return true;
  return false;
}

static uint64_t value_of(struct cursor message, uint32_t number) {
  struct field field;
  if (!find_field(message, number, &field)) fail_msg("there is no field %u", number);
  return field.value;
}

static bool is_text(struct cursor bytes, const char *text) {
  return (size_t)(bytes.end - bytes.at) == strlen(text) && memcmp(bytes.at, text, strlen(text)) == 0;
}

static bool has_text(struct cursor message, uint32_t number, const char *text) {
  struct field field;
  return find_field(message, number, &field) && is_text(field.inner, text);
}

/* ---- what is written ---- */

static uint8_t *written;

static struct cursor write_all(struct pto_trace *trace, write_trace *write) {
  struct pto_trace_events events;
  struct pto_error error;
  FILE *file = tmpfile();
  assert_non_null(file);
  assert_int_equal(pto_trace_events_init(&events, trace, &info, &error), PTO_OK);
  assert_int_equal(write(&events, fileno(file)), 0);
  pto_trace_events_fini(&events);
  fseek(file, 0, SEEK_END);
  const size_t count = (size_t)ftell(file);
  rewind(file);
  free(written);
  written = malloc(count + 1);
  assert_non_null(written);
  assert_int_equal(fread(written, 1, count, file), count);
  fclose(file);
  return (struct cursor){written, written + count};
}

static int setup(void **state) {
  struct pto_trace *trace = calloc(1, sizeof *trace);
  if (!trace || pto_trace_init(trace, PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE, 2)) return -1;
  pto_trace_begin_run(trace, true);
  *state = trace;
  return 0;
}

static int teardown(void **state) {
  pto_trace_fini(*state);
  free(*state);
  free(written);
  written = NULL;
  return 0;
}

static void add_task(struct pto_trace *trace, const struct pto_kernel *kernel, const char *label) {
  struct pto_trace_task *task = pto_trace_log_append(&trace->tasks);
  *task = (struct pto_trace_task){.number = trace->tasks.count - 1,
                                  .kernels = {kernel},
                                  .kind = kernel ? PTO_TASK_KERNEL : PTO_TASK_BARRIER,
                                  .block_count = 1,
                                  .first_param = trace->params.count,
                                  .first_edge = trace->edges.count,
                                  .label = label};
}

static void add_param(struct pto_trace *trace, uint32_t mode, uint64_t base) {
  struct pto_trace_param *param = pto_trace_log_append(&trace->params);
  *param = (struct pto_trace_param){.mode = mode, .buffer_number = 1};
  param->tensor = (struct pto_tensor){
      .buffer = {.base = base, .size_bytes = 128}, .ndims = 1, .dtype = PTO_FLOAT32, .shape = {32}, .strides = {1}};
  ((struct pto_trace_task *)pto_trace_log_at(&trace->tasks, trace->tasks.count - 1))->param_count++;
}

static void add_edge(struct pto_trace *trace, uint64_t producer, uint32_t reason, bool is_first) {
  struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, trace->tasks.count - 1);
  *(struct pto_trace_edge *)pto_trace_log_append(&trace->edges) =
      (struct pto_trace_edge){.producer = producer, .consumer = task->number, .reason = reason, .is_first = is_first};
  task->edge_count++;
}

static void add_call(struct pto_trace *trace, uint32_t log, uint32_t task, uint64_t begin, uint64_t end) {
  *(struct pto_trace_span *)pto_trace_log_append(&trace->spans[log]) =
      (struct pto_trace_span){.begin = begin, .end = end, .task = task, .core = 1, .worker = (uint8_t)log};
}

/* A tensor of 128 bytes at `base` goes to the device, or to the host. */
static void add_move(struct pto_trace *trace, bool to_device, uint64_t base, uint64_t begin) {
  *(struct pto_trace_host_access *)pto_trace_log_append(&trace->host_accesses) = (struct pto_trace_host_access){
      .begin = base, .end = base + 128, .task_count = trace->tasks.count, .is_write = to_device, .is_move = true};
  *(struct pto_trace_control *)pto_trace_log_append(&trace->control) =
      (struct pto_trace_control){.begin = begin,
                                 .end = begin + 1000,
                                 .moved_bytes = 128,
                                 .activity = to_device ? PTO_CONTROL_TO_DEVICE : PTO_CONTROL_TO_HOST,
                                 .task = (uint32_t)trace->tasks.count};
}

/* Three tasks, of which the last waits for the first for two reasons; calls of two threads on one core overlap. */
static void make(struct pto_trace *trace) {
  add_move(trace, true, 0x1000, 0);
  add_task(trace, &matmul, "r\xe9sum\xe9");
  add_param(trace, PTO_INPUT, 0x1000);
  add_param(trace, PTO_OUTPUT, 0x2000);
  add_task(trace, NULL, NULL);
  add_task(trace, &odd, NULL);
  add_param(trace, PTO_INOUT, 0x2000);
  add_edge(trace, 0, PTO_EDGE_RAW, true);
  add_edge(trace, 0, PTO_EDGE_WAW, false);
  add_move(trace, false, 0x2000, 90000);
  add_move(trace, true, 0x1000, 95000);
  add_call(trace, 0, 0, 10000, 20999);
  add_call(trace, 1, 0, 15001, 30000);
  add_call(trace, 0, 2, 40000, 40600);
  *(struct pto_trace_sample *)pto_trace_log_append(&trace->samples) =
      (struct pto_trace_sample){.time = 5000, .heap_used_bytes = UINT64_C(1) << 40};
}

/* ---- Perfetto ---- */

/* The n-th packet with an event of this type. */
static struct cursor find_event(struct cursor trace, uint64_t type, size_t n, uint64_t *time_out) {
  struct field packet, event;
  while (read_field(&trace, &packet)) {
    assert_int_equal(packet.number, 1);
    if (!find_field(packet.inner, 11, &event) || value_of(event.inner, 9) != type || n-- != 0) continue;
    *time_out = value_of(packet.inner, 8);
    return event.inner;
  }
  fail_msg("there is no such event");
  return trace;
}

static void test_times_are_nanoseconds_of_either_clock(void **state) {
  struct pto_trace *trace = *state;
  make(trace);
  for (int is_virtual = 0; is_virtual < 2; is_virtual++) {
    trace->is_virtual = is_virtual;
    const struct cursor all = write_all(trace, write_perfetto);
    /* Slices before those of cores: three transfers, on two tracks. */
    const uint64_t expected[] = {10000, 40000, 15001}, ends[] = {20999, 40600, 30000}, unit = is_virtual ? 1000 : 1;
    for (size_t i = 0; i < 3; i++) {
      uint64_t time;
      find_event(all, 1, 6 + i, &time);
      assert_int_equal(time, expected[i] / unit);
      find_event(all, 2, 6 + i, &time);
      assert_int_equal(time, ends[i] / unit);
    }
  }
}

static void test_calls_of_two_threads_on_a_core_are_on_two_tracks_of_one_name(void **state) {
  struct pto_trace *trace = *state;
  uint64_t time, tracks[3];
  size_t described = 0;
  trace->is_virtual = false;
  make(trace);
  struct cursor all = write_all(trace, write_perfetto);
  for (size_t i = 0; i < 3; i++) tracks[i] = value_of(find_event(all, 1, 6 + i, &time), 11);
  assert_int_equal(tracks[0], tracks[1]);
  assert_int_not_equal(tracks[0], tracks[2]);
  for (struct field packet, track; read_field(&all, &packet);)
    if (find_field(packet.inner, 60, &track) && has_text(track.inner, 2, "AIV0 (core 1)")) {
      const uint64_t uuid = value_of(track.inner, 1);
      assert_true(uuid == tracks[0] || uuid == tracks[2]);
      described++;
    }
  assert_int_equal(described, 2);
}

static void test_a_flow_is_in_the_producers_last_call_and_the_consumers_first(void **state) {
  struct field begin, end;
  uint64_t time;
  make(*state);
  const struct cursor all = write_all(*state, write_perfetto);
  assert_false(find_field(find_event(all, 1, 6, &time), 47, &begin)); /* its first call */
  assert_true(find_field(find_event(all, 1, 8, &time), 47, &begin));
  assert_true(find_field(find_event(all, 1, 7, &time), 48, &end));
  assert_int_equal(begin.value, end.value);
}

static void test_labels_that_are_no_utf8_are_latin_1(void **state) {
  make(*state);
  struct cursor event;
  uint64_t time;
  bool has_label = false;
  event = find_event(write_all(*state, write_perfetto), 1, 6, &time);
  for (struct field arg; read_field(&event, &arg);)
    has_label |= arg.number == 4 && has_text(arg.inner, 6, "r\xc3\xa9sum\xc3\xa9");
  assert_true(has_label);
}

/* ---- Chakra ---- */

#define END UINT64_MAX
/* Whether the packed list in this field is that one, ended by END. */
static void assert_list(struct cursor node, uint32_t number, const uint64_t *expected) {
  struct field list = {0};
  if (find_field(node, number, &list))
    while (list.inner.at != list.inner.end) assert_int_equal(read_varint(&list.inner), *expected++);
  assert_true(*expected == END);
}

static void test_nodes_depend_on_tasks_and_transfers_once_each(void **state) {
  static const uint64_t ids[] = {3, 0, 1, 2, 4, 5}, types[] = {2, 4, 1, 4, 3, 2};
  struct cursor nodes[6];
  make(*state);
  struct cursor all = write_all(*state, write_chakra);
  assert_true(has_text(read_bytes(&all), 1, "1.0.0"));
  for (size_t i = 0; i < 6; i++) {
    nodes[i] = read_bytes(&all);
    assert_int_equal(value_of(nodes[i], 1), ids[i]);
    assert_int_equal(value_of(nodes[i], 3), types[i]);
  }
  assert_true(all.at == all.end);
  assert_list(nodes[0], 5, (const uint64_t[]){END});
  assert_list(nodes[1], 5, (const uint64_t[]){3, END}); /* the transfer of what it reads */
  assert_list(nodes[2], 5, (const uint64_t[]){END});
  assert_list(nodes[3], 5, (const uint64_t[]){0, END});    /* once, for two reasons */
  assert_list(nodes[4], 5, (const uint64_t[]){2, 0, END}); /* both have written the bytes */
  assert_list(nodes[5], 5, (const uint64_t[]){0, END});    /* has read them */
  assert_list(nodes[0], 4, (const uint64_t[]){END});
  assert_list(nodes[4], 4, (const uint64_t[]){3, END});
  assert_list(nodes[5], 4, (const uint64_t[]){4, END});
}

/* ---- no room ---- */

static void test_a_full_disk_is_told(void **state) {
  struct pto_trace_events events;
  struct pto_error error;
  const int fd = open("/dev/full", O_WRONLY);
  if (fd < 0) skip();
  make(*state);
  assert_int_equal(pto_trace_events_init(&events, *state, &info, &error), PTO_OK);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(writers); i++) assert_int_equal(writers[i](&events, fd), ENOSPC);
  pto_trace_events_fini(&events);
  close(fd);
}

static void test_memory_that_ends_is_told_and_nothing_is_lost(void **state) {
  struct pto_error error;
  if (!PTO_HAS_FAILING_MALLOC) skip();
  make(*state);
  const int fd = open("/dev/null", O_WRONLY);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(writers); i++) {
    const int64_t before = live_blocks;
    int failure = ENOMEM;
    for (uint32_t n = 1; failure; n++) {
      struct pto_trace_events events = {0};
      fail_countdown = n;
      const int status = pto_trace_events_init(&events, *state, &info, &error);
      failure = status ? ENOMEM : writers[i](&events, fd);
      fail_countdown = 0;
      if (failure) assert_int_equal(failure, ENOMEM);
      if (status) assert_int_equal(status, PTO_ENOMEM);
      pto_trace_events_fini(&events);
      assert_int_equal(live_blocks, before);
    }
  }
  close(fd);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_times_are_nanoseconds_of_either_clock),
      TEST(test_calls_of_two_threads_on_a_core_are_on_two_tracks_of_one_name),
      TEST(test_a_flow_is_in_the_producers_last_call_and_the_consumers_first),
      TEST(test_labels_that_are_no_utf8_are_latin_1),
      TEST(test_nodes_depend_on_tasks_and_transfers_once_each),
      TEST(test_a_full_disk_is_told),
      TEST(test_memory_that_ends_is_told_and_nothing_is_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
