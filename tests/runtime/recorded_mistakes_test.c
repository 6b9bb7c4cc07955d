/* SPDX-License-Identifier: MIT */
/*
 * Recorded tasks: each mistake is refused with its sentence and changes nothing; what is recorded and launched after it
 * works.  To add one: a function and a line in `mistakes`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tests/support/recorded_fork.h>

/* What a mistake is made with: a boundary of `in` (input) and `out` (output), and what is no part of it. */
struct scene {
  struct pto_runtime *rt;
  struct pto_tensor in, out, foreign, ordinary; /* the last: managed, from before */
  uint8_t *memory;                              /* of the fixture */
  struct pto_task before;                       /* a task from before */
  struct pto_recorded *recorded;                /* of a fork, for launches */
};
static int begin_with(const struct scene *s, struct pto_param param) { return pto_recorded_begin(s->rt, &param, 1); }
static int launch_with(const struct scene *s, struct pto_param first, struct pto_param second) {
  const struct pto_param boundary[] = {first, second};
  const struct pto_recorded_launch launch = {.size = sizeof launch, .params = boundary, .count = 2};
  return pto_submit_recorded(s->rt, s->recorded, &launch, NULL);
}
static int nested(const struct scene *s) { return begin_with(s, pto_input(&s->in)); }
static int launch_within(const struct scene *s) { return launch_with(s, pto_input(&s->in), pto_output(&s->out)); }
static int foreign(const struct scene *s) { return FIXTURE_SUBMIT(s->rt, "i", &s->foreign); }
static int from_before(const struct scene *s) { return FIXTURE_SUBMIT(s->rt, "i", &s->ordinary); }
static int beyond(const struct scene *s) {
  struct pto_tensor larger = s->in;
  larger.start_offset += 32;
  return FIXTURE_SUBMIT(s->rt, "i", &larger);
}
static int foreign_predicate(const struct scene *s) {
  const struct pto_tensor flag = pto_tensor_slice(&s->foreign, 0, 0, 1, 1);
  return FIXTURE_TRY(s->rt, .launch = {.predicate = {&flag, PTO_IF_EQ, 0}});
}
static int writes_an_input(const struct scene *s) { return FIXTURE_SUBMIT(s->rt, "o", &s->in); }
static int next_version(const struct scene *s) {
  const struct pto_tensor next = pto_tensor_with_version(&s->out, 1);
  return FIXTURE_SUBMIT(s->rt, "o", &next);
}
static int after_a_task_from_before(const struct scene *s) { return pto_submit_barrier(s->rt, &s->before, 1, NULL); }
static int after_nothing(const struct scene *s) { return pto_submit_barrier(s->rt, NULL, 1, NULL); }
static int reads_an_element(const struct scene *s) {
  uint8_t value;
  return pto_read_element(s->rt, &s->in, (uint64_t[]){0}, &value);
}
static int polls(const struct scene *s) { return pto_poll(s->rt); }
static int ends_its_scope(const struct scene *s) { return pto_scope_end(s->rt); }
static int scope_open(const struct scene *s) {
  struct pto_recorded *recorded;
  fixture_expect(s->rt, pto_scope_begin(s->rt, PTO_SCOPE_AUTO), PTO_OK);
  const int status = pto_recorded_end(s->rt, &recorded);
  struct pto_error error = s->rt->error;
  fixture_expect(s->rt, pto_scope_end(s->rt), PTO_OK);
  s->rt->error = error;
  return status;
}
static int unwritten(const struct scene *s) {
  const struct pto_tensor t = fixture_managed(s->rt, 64);
  return FIXTURE_SUBMIT(s->rt, "i", &t);
}

static int boundary_without_memory(const struct scene *s) {
  const struct pto_tensor t = fixture_managed(s->rt, 64);
  return begin_with(s, pto_output(&t));
}
static int boundary_without_memory_before_others(const struct scene *s) {
  const struct pto_tensor t = fixture_managed(s->rt, 64);
  return pto_recorded_begin(s->rt, (struct pto_param[]){pto_output(&t), pto_input(&s->in)}, 2);
}
static int boundary_of_an_invalid_tensor(const struct scene *s) {
  const struct pto_tensor t = pto_tensor_slice(&s->in, 0, 60, 70, 1);
  return begin_with(s, pto_input(&t));
}
static int too_deep(struct pto_runtime *rt, int (*make)(const struct scene *s), const struct scene *s) {
  uint32_t depth = 0;
  for (; rt->scope_depth < PTO_MAX_SCOPE_DEPTH; depth++)
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  const int status = make(s);
  const struct pto_error error = rt->error;
  while (depth-- > 0) fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  rt->error = error;
  return status;
}
static int begin_within_all_scopes(const struct scene *s) { return too_deep(s->rt, nested, s); }
static int launch_within_all_scopes(const struct scene *s) { return too_deep(s->rt, launch_within, s); }
static int boundary_of_scalars(const struct scene *s) { return begin_with(s, pto_scalar_u64(1)); }
static int boundary_of_the_next_version(const struct scene *s) {
  const struct pto_tensor next = pto_tensor_with_version(&s->ordinary, 1);
  return begin_with(s, pto_output(&next));
}
static int boundary_twice(const struct scene *s) {
  return pto_recorded_begin(s->rt, (struct pto_param[]){pto_input(&s->in), pto_output(&s->in)}, 2);
}
static int boundary_too_large(const struct scene *s) {
  struct pto_param all[PTO_MAX_TENSORS];
  for (uint32_t i = 0; i < PTO_MAX_TENSORS; i++) all[i] = pto_input(&s->in);
  return pto_recorded_begin(s->rt, all, PTO_MAX_TENSORS);
}
static int launch_of_nothing(const struct scene *s) {
  const struct pto_recorded_launch launch = {.size = sizeof launch};
  return pto_submit_recorded(s->rt, NULL, &launch, NULL);
}
static int launch_without_a_launch(const struct scene *s) {
  return pto_submit_recorded(s->rt, s->recorded, NULL, NULL);
}
static int launch_at_null(const struct scene *s) {
  const struct pto_recorded_launch launch = {.size = sizeof launch, .count = 2};
  return pto_submit_recorded(s->rt, s->recorded, &launch, NULL);
}
static int launch_with_scalars_at_null(const struct scene *s) {
  const struct pto_param boundary[] = {pto_input(&s->in), pto_output(&s->out)};
  const struct pto_recorded_launch launch = {.size = sizeof launch, .params = boundary, .count = 2, .scalar_count = 3};
  return pto_submit_recorded(s->rt, s->recorded, &launch, NULL);
}
static int launch_with_a_null_tensor(const struct scene *s) {
  return launch_with(s, pto_input(NULL), pto_output(&s->out));
}
static int launch_with_tensor(const struct scene *s, struct pto_tensor t) {
  return launch_with(s, pto_input(&t), pto_output(&s->out));
}
static int launch_with_an_invalid_tensor(const struct scene *s) {
  return launch_with_tensor(s, pto_tensor_slice(&s->in, 0, 60, 70, 1));
}
static int launch_with_another_rank(const struct scene *s) {
  return launch_with_tensor(s, pto_tensor_reshape(&s->in, 2, (uint64_t[]){8, 8}));
}
static int launch_with_another_dtype(const struct scene *s) {
  return launch_with_tensor(s, pto_tensor_reinterpret(&s->in, PTO_INT8));
}
static int launch_with_another_overlap(const struct scene *s) {
  return launch_with_tensor(s, pto_tensor_with_overlap(&s->in, PTO_OVERLAP_FUZZY));
}
static int launch_with_other_strides(const struct scene *s) {
  const struct pto_tensor wide = pto_external_tensor(s->rt, s->memory + 2048, PTO_UINT8, 1, (uint64_t[]){128});
  return launch_with_tensor(s, pto_tensor_slice(&wide, 0, 0, 128, 2));
}
static int launch_of_a_task_that_is_none(const struct scene *s) {
  const struct pto_param boundary[] = {pto_input(&s->in), pto_output(&s->out)};
  const struct pto_recorded_scalar scalar = {.task = 3};
  const struct pto_recorded_launch launch = {
      .size = sizeof launch, .params = boundary, .count = 2, .scalars = &scalar, .scalar_count = 1};
  return pto_submit_recorded(s->rt, s->recorded, &launch, NULL);
}
static int launch_of_a_size(const struct scene *s) {
  const struct pto_recorded_launch launch = {.size = sizeof launch + 8};
  return pto_submit_recorded(s->rt, s->recorded, &launch, NULL);
}
static int launch_with_one(const struct scene *s) {
  const struct pto_param boundary = pto_input(&s->in);
  const struct pto_recorded_launch launch = {.size = sizeof launch, .params = &boundary, .count = 1};
  return pto_submit_recorded(s->rt, s->recorded, &launch, NULL);
}
static int launch_with_a_mode(const struct scene *s) { return launch_with(s, pto_inout(&s->in), pto_output(&s->out)); }
static int launch_with_a_shape(const struct scene *s) {
  const struct pto_tensor half = pto_tensor_slice(&s->in, 0, 0, 32, 1);
  return launch_with(s, pto_input(&half), pto_output(&s->out));
}
static int launch_with_the_same(const struct scene *s) {
  return launch_with(s, pto_input(&s->out), pto_output(&s->out));
}
static int launch_without_memory(const struct scene *s) {
  const struct pto_tensor t = fixture_managed(s->rt, 64);
  return launch_with(s, pto_input(&s->in), pto_output(&t));
}
static int launch_with_a_stale_one(const struct scene *s) {
  struct pto_tensor stale = s->in;
  stale.buffer.id += 1000;
  return launch_with(s, pto_input(&stale), pto_output(&s->out));
}
static int launch_with_a_scalar(const struct scene *s) {
  const struct pto_param boundary[] = {pto_input(&s->in), pto_output(&s->out)};
  const struct pto_recorded_scalar scalar = {.task = 2, .scalar = 1};
  const struct pto_recorded_launch launch = {
      .size = sizeof launch, .params = boundary, .count = 2, .scalars = &scalar, .scalar_count = 1};
  return pto_submit_recorded(s->rt, s->recorded, &launch, NULL);
}
static int launch_after_a_stranger(const struct scene *s) {
  const struct pto_param boundary[] = {pto_input(&s->in), pto_output(&s->out)};
  const struct pto_task none = {1, 2};
  const struct pto_recorded_launch launch = {
      .size = sizeof launch, .params = boundary, .count = 2, .after = &none, .after_count = 1};
  return pto_submit_recorded(s->rt, s->recorded, &launch, NULL);
}

static const struct {
  int (*make)(const struct scene *s);
  bool is_within; /* a recording */
  int status;
  const char *sentence;
} mistakes[] = {
    {nested, true, PTO_EINVAL, "a recording within a recording"},
    {launch_within, true, PTO_EINVAL, "pto_submit_recorded: not between pto_recorded_begin and pto_recorded_end"},
    {foreign, true, PTO_EINVAL, "param 0 lies in no boundary argument and in no temporary"},
    {from_before, true, PTO_EINVAL, "param 0 lies in no boundary argument and in no temporary"},
    {beyond, true, PTO_EINVAL, "param 0: "},
    {foreign_predicate, true, PTO_EINVAL, "the predicate lies in no boundary argument"},
    {writes_an_input, true, PTO_EINVAL, "param 0 writes boundary argument 0, which is an input"},
    {next_version, true, PTO_EINVAL, "an output names the next version"},
    {after_a_task_from_before, true, PTO_EINVAL, "explicit dependency 0 is not a task of this recording"},
    {after_nothing, true, PTO_EINVAL, "1 explicit dependencies at a null pointer"},
    {reads_an_element, true, PTO_EINVAL, "read_element: not between pto_recorded_begin and pto_recorded_end"},
    {polls, true, PTO_EINVAL, "pto_poll: not between"},
    {ends_its_scope, true, PTO_EINVAL, "no scope of the recording is open"},
    {scope_open, true, PTO_EINVAL, "the recording ends with 1 of its scopes open"},
    {unwritten, true, PTO_EINVAL, "which nothing has written yet"},
    {boundary_without_memory, false, PTO_EINVAL, "has none yet"},
    {boundary_without_memory_before_others, false, PTO_EINVAL, "has none yet"},
    {boundary_of_an_invalid_tensor, false, PTO_EINVAL, "slice: dimension 0"},
    {begin_within_all_scopes, false, PTO_EINVAL, "deep at most, and a recording is one"},
    {boundary_of_scalars, false, PTO_EINVAL, "the boundary is tensors alone"},
    {boundary_of_the_next_version, false, PTO_EINVAL, "names the next version"},
    {boundary_twice, false, PTO_EINVAL, "share bytes"},
    {boundary_too_large, false, PTO_EINVAL, "32 boundary arguments; it has at most 31"},
    {launch_of_nothing, false, PTO_EINVAL, "no recording, or no launch"},
    {launch_without_a_launch, false, PTO_EINVAL, "no recording, or no launch"},
    {launch_at_null, false, PTO_EINVAL, "the recording has 2 boundary arguments, 2 were passed"},
    {launch_with_scalars_at_null, false, PTO_EINVAL, "3 scalars at a null pointer"},
    {launch_with_a_null_tensor, false, PTO_EINVAL, "boundary argument 0 is a tensor passed as input"},
    {launch_with_an_invalid_tensor, false, PTO_EINVAL, "boundary argument 0 is"},
    {launch_with_another_rank, false, PTO_EINVAL, "boundary argument 0 is"},
    {launch_with_another_dtype, false, PTO_EINVAL, "boundary argument 0 is"},
    {launch_with_another_overlap, false, PTO_EINVAL, "boundary argument 0 is"},
    {launch_with_other_strides, false, PTO_EINVAL, "boundary argument 0 is"},
    {launch_of_a_task_that_is_none, false, PTO_EINVAL, "scalar 0 is for scalar 0 of task 3, which is none"},
    {launch_within_all_scopes, false, PTO_EINVAL, "deep at most, and a launch has one"},
    {launch_of_a_size, false, PTO_EINVAL, "this library knows"},
    {launch_with_one, false, PTO_EINVAL, "the recording has 2 boundary arguments, 1 were passed"},
    {launch_with_a_mode, false, PTO_EINVAL, "boundary argument 0 is a tensor passed as input in the recording"},
    {launch_with_a_shape, false, PTO_EINVAL, "boundary argument 0 is buffer"},
    {launch_with_the_same, false, PTO_EINVAL, "share bytes"},
    {launch_without_memory, false, PTO_EINVAL, "boundary argument 1: nothing has written buffer"},
    {launch_with_a_stale_one, false, PTO_ESTALE, "after its scope has ended"},
    {launch_with_a_scalar, false, PTO_EINVAL, "scalar 0 is for scalar 1 of task 2, which is none of the recording"},
    {launch_after_a_stranger, false, PTO_ESTALE, "explicit dependency 0"},
};

static int make_each_mistake(struct pto_runtime *rt, struct fixture *f) {
  struct scene s = {.rt = rt, .in = fixture_bytes(f, 0, 64), .out = fixture_bytes(f, 64, 64)};
  const struct pto_param boundary[] = {pto_input(&s.in), pto_output(&s.out)};
  s.memory = f->memory;
  s.foreign = fixture_bytes(f, 1024, 64);
  s.ordinary = fixture_managed(rt, 64);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&s.ordinary}, .out = &s.before);
  s.recorded = fork_of(rt, &s.in, &s.out);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(mistakes); i++) {
    struct pto_recorded *recorded;
    if (mistakes[i].is_within) fixture_expect(rt, pto_recorded_begin(rt, boundary, 2), PTO_OK);
    const uint64_t tasks = fixture_tasks(rt), depth = rt->scope_depth;
    fixture_expect(rt, mistakes[i].make(&s), mistakes[i].status);
    fixture_expect_sentence(rt, mistakes[i].sentence);
    assert_int_equal(fixture_tasks(rt), tasks);
    assert_int_equal(rt->scope_depth, depth);
    if (!mistakes[i].is_within) continue;
    record_fork(rt, &s.in, &s.out); /* goes on */
    fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_OK);
    fixture_expect(rt, launch_fork(rt, recorded, &s.in, &s.out, 10, NULL), PTO_OK);
    fixture_drain(rt);
    pto_recorded_destroy(recorded);
  }
  fixture_expect(rt, launch_fork(rt, s.recorded, &s.in, &s.out, 10, NULL), PTO_OK);
  pto_recorded_destroy(s.recorded);
  return 0;
}

/* The first task of one recording is not that of the next. */
static int after_a_task_of_another_recording(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor in = fixture_bytes(f, 0, 64);
  const struct pto_param boundary = pto_input(&in);
  struct pto_task first[2];
  for (int i = 0; i < 2; i++) {
    struct pto_recorded *recorded;
    fixture_expect(rt, pto_recorded_begin(rt, &boundary, 1), PTO_OK);
    fixture_expect(rt, pto_submit_barrier(rt, NULL, 0, &first[i]), PTO_OK);
    fixture_expect(rt, pto_submit_barrier(rt, &first[i], 1, NULL), PTO_OK);
    if (i == 1) {
      fixture_expect(rt, pto_submit_barrier(rt, &first[0], 1, NULL), PTO_EINVAL);
      fixture_expect_sentence(rt, "explicit dependency 0 is not a task of this recording");
    }
    fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_OK);
    pto_recorded_destroy(recorded);
  }
  return 0;
}

/* A boundary argument is what was passed, and not all of its buffer. */
static int a_part_is_the_boundary(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor all = fixture_bytes(f, 0, 64), first = pto_tensor_slice(&all, 0, 0, 32, 1),
                          last = pto_tensor_slice(&all, 0, 32, 64, 1), middle = pto_tensor_slice(&all, 0, 16, 48, 1);
  const struct pto_param boundary = pto_input(&first);
  struct pto_recorded *recorded;
  fixture_expect(rt, pto_recorded_begin(rt, &boundary, 1), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &first), PTO_OK);
  for (int i = 0; i < 2; i++) {
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", i ? &last : &middle), PTO_EINVAL);
    fixture_expect_sentence(rt, "param 0 lies in no boundary argument and in no temporary");
  }
  fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_OK);
  pto_recorded_destroy(recorded);
  return 0;
}

/* Tasks read a boundary argument in larger elements than it has. */
static int larger_elements(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor bytes = fixture_bytes(f, 0, 64), in = pto_tensor_slice(&bytes, 0, 4, 36, 1),
                          odd = pto_tensor_slice(&bytes, 0, 5, 37, 1), other = pto_tensor_slice(&bytes, 0, 8, 40, 1),
                          words = pto_tensor_reinterpret(&in, PTO_UINT32);
  const struct pto_param boundary = pto_input(&in), wrong = pto_input(&odd), right = pto_input(&other);
  struct pto_recorded_launch launch = {.size = sizeof launch, .params = &wrong, .count = 1};
  struct pto_recorded *recorded;
  fixture_expect(rt, pto_recorded_begin(rt, &boundary, 1), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &words), PTO_OK);
  fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_OK);
  fixture_expect(rt, pto_submit_recorded(rt, recorded, &launch, NULL), PTO_EINVAL);
  fixture_expect_sentence(rt, "boundary argument 0 begins 5 bytes into its buffer; its tasks read 4 at once");
  launch.params = &right;
  fixture_expect(rt, pto_submit_recorded(rt, recorded, &launch, NULL), PTO_OK);
  fixture_drain(rt);
  pto_recorded_destroy(recorded);
  return 0;
}

/* Its temporaries are one buffer more than the registry has room for. */
static int launch_without_room_for_a_buffer(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor in = fixture_bytes(f, 0, 64), out = fixture_bytes(f, 64, 64);
  struct pto_recorded *recorded = fork_of(rt, &in, &out);
  while (rt->buffers.live_count < rt->buffers.capacity) assert_true(pto_create_buffer(rt, 64).id);
  const int status = launch_fork(rt, recorded, &in, &out, 20, NULL);
  pto_recorded_destroy(recorded);
  return status;
}
/* One task that very many wait for: its list of consumers has no room for them. */
static int launch_without_room_for_a_list(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor x = fixture_bytes(f, 0, 64);
  const struct pto_param boundary = pto_inout(&x);
  const struct pto_recorded_launch launch = {.size = sizeof launch, .params = &boundary, .count = 1};
  struct pto_recorded *recorded;
  fixture_expect(rt, pto_recorded_begin(rt, &boundary, 1), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &x), PTO_OK);
  for (int i = 0; i < 50; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &x), PTO_OK);
  fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_OK);
  const int status = pto_submit_recorded(rt, recorded, &launch, NULL);
  pto_recorded_destroy(recorded);
  return status;
}

static int nothing(struct pto_runtime *rt, struct fixture *f) { return 0; }
static void outside_a_run(struct fixture *f) {
  struct pto_recorded *recorded;
  const struct pto_recorded_launch launch = {.size = sizeof launch};
  assert_int_equal(pto_recorded_begin(f->rt, NULL, 0), PTO_EINVAL);
  assert_int_equal(pto_recorded_end(f->rt, &recorded), PTO_EINVAL);
  assert_int_equal(pto_submit_recorded(f->rt, NULL, &launch, NULL), PTO_EINVAL);
  assert_int_equal(pto_poll(f->rt), PTO_EINVAL);
}

static const struct fixture_case cases[] = {
    {.name = "a part of a buffer as boundary", .body = a_part_is_the_boundary},
    {.name = "larger elements than the boundary's", .body = larger_elements},
    {.name = "a task of another recording", .body = after_a_task_of_another_recording},
    {.name = "a launch without room for its temporaries",
     .body = launch_without_room_for_a_buffer,
     .window = 16,
     .status = PTO_ECAPACITY,
     .sentence = "live buffers fill the registry"},
    {.name = "a launch without room for a list of consumers",
     .body = launch_without_room_for_a_list,
     .list_chunks = 2,
     .status = PTO_ECAPACITY,
     .sentence = "list"},
    {.name = "outside a run", .body = nothing, .after = outside_a_run},
    {.name = "each mistake and its sentence", .body = make_each_mistake},
};

int main(void) { return fixture_run_cases("recorded_mistakes", cases, PTO_ARRAY_LENGTH(cases)); }
