/* SPDX-License-Identifier: MIT */
/*
 * The planted bugs: one line a bug, with the command that has to find it and what that has to name.
 *
 *   X(program, what of it, command, kind of the finding, earlier task, its parameter, later task, its parameter)
 *
 * `what` is a case of the program, or, for planted_hazards, "view dtype hazard".  `kind` is a name of
 * report/findings/findings.h; for `run` the status that it ends in; for `valgrind` what memcheck says.  Where one task
 * is at fault it is the earlier one.  A number that the command cannot know is ANY.  docs/testing.md says how the list
 * is used.
 */
#ifndef PTO_PLANTED_LIST_H
#define PTO_PLANTED_LIST_H

#define PLANTED_ANY (-1)

#define PLANTED_EXACT "check --deps exact"
#define PLANTED_PTO "check --deps pto"
#define PLANTED_OBSERVE "check --observe"
#define PLANTED_EXPLORE "explore --schedules 20"
#define PLANTED_EXPLORE_PTO "explore --deps pto --schedules 20"

#define PLANTED_MANUAL_LIST(X)                                                                                         \
  X("planted_manual", "raw", PLANTED_EXACT, "RAW", 0, 0, 1, 0)                                                         \
  X("planted_manual", "waw", PLANTED_EXACT, "WAW", 0, 0, 1, 0)                                                         \
  X("planted_manual", "war", PLANTED_EXACT, "WAR", 0, 0, 1, 0)                                                         \
  X("planted_manual", "wrong_task", PLANTED_EXACT, "RAW", 1, 0, 2, 0)                                                  \
  X("planted_manual", "one_of_two", PLANTED_EXACT, "RAW", 1, 0, 2, 0)                                                  \
  X("planted_manual", "barrier_short", PLANTED_EXACT, "RAW", 2, 0, 4, 0)                                               \
  X("planted_manual", "two_scopes", PLANTED_EXACT, "RAW", 0, 0, 1, 0)                                                  \
  X("planted_manual", "automatic_before", PLANTED_EXACT, "RAW", 0, 0, 1, 0)                                            \
  X("planted_manual", "skips_a_step", PLANTED_EXACT, "RAW", 1, 0, 2, 0)                                                \
  X("planted_manual", "float_sum", PLANTED_EXPLORE, "order", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)

#define PLANTED_HELD_LIST(X)                                                                                           \
  X("planted_held", "read_early", PLANTED_EXPLORE, "order", 0, PLANTED_ANY, 1, PLANTED_ANY)                            \
  X("planted_held", "written_early", PLANTED_EXPLORE, "order", 0, PLANTED_ANY, 1, PLANTED_ANY)                         \
  X("planted_held", "written_twice", PLANTED_EXPLORE, "order", 0, PLANTED_ANY, 1, PLANTED_ANY)                         \
  X("planted_held", "read_between", PLANTED_EXPLORE, "order", 1, PLANTED_ANY, 2, PLANTED_ANY)

#define PLANTED_PTO_LIST(X)                                                                                            \
  X("planted_pto", "reuse", PLANTED_PTO, "WAR", 1, 0, 2, 1)                                                            \
  X("planted_pto", "recorded_reuse", PLANTED_PTO, "WAR", 2, 0, 3, 0)                                                   \
  X("planted_pto", "recorded_again", PLANTED_PTO, "WAW", 3, 0, 5, 0)                                                   \
  X("planted_pto", "output_twice", PLANTED_PTO, "WAW", 0, 0, 1, 0)                                                     \
  X("planted_pto", "not_creator", PLANTED_PTO, "WAW", 1, 0, 2, 0)                                                      \
  X("planted_pto", "tile_reuse", PLANTED_PTO, "WAR", 0, 0, 1, 0)                                                       \
  X("planted_pto", "inout_after_read", PLANTED_PTO, "WAR", 0, 0, 1, 0)                                                 \
  X("planted_pto", "alias_reuse", PLANTED_PTO, "WAR", 0, 0, 1, 0)                                                      \
  X("planted_pto", "host_write", PLANTED_PTO, "WAR", 0, 0, PLANTED_ANY, PLANTED_ANY)                                   \
  X("planted_pto", "manual_writer", PLANTED_PTO, "RAW", 0, 0, 1, 0)                                                    \
  X("planted_pto", "manual_writers", PLANTED_PTO, "RAW", 0, 0, 1, 0)                                                   \
  X("planted_pto", "manual_host_read", PLANTED_PTO, "RAW", 0, 0, PLANTED_ANY, PLANTED_ANY)                             \
  X("planted_pto", "manual_reader", PLANTED_PTO, "WAR", 1, 0, PLANTED_ANY, PLANTED_ANY)                                \
  X("planted_pto", "other_base", PLANTED_PTO, "RAW", 0, 0, 1, 0)                                                       \
  X("planted_pto", "other_base_steps", PLANTED_PTO, "RAW", 0, 0, 1, 0)                                                 \
  X("planted_pto", "other_base_host_read", PLANTED_PTO, "RAW", 0, 0, PLANTED_ANY, PLANTED_ANY)                         \
  X("planted_pto", "predicate_early", PLANTED_PTO, "RAW", 0, 0, 1, PLANTED_ANY)                                        \
  X("planted_pto", "predicate_again", PLANTED_PTO, "WAR", 1, PLANTED_ANY, 2, 0)                                        \
  X("planted_pto", "predicate_early", PLANTED_EXPLORE_PTO, "order", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY,             \
    PLANTED_ANY)                                                                                                       \
  X("planted_pto", "manual_writer", PLANTED_EXPLORE_PTO, "order", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)  \
  X("planted_pto", "other_base", PLANTED_EXPLORE_PTO, "order", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)     \
  X("planted_pto", "reuse", PLANTED_EXPLORE_PTO, "order", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)

#define PLANTED_HAZARD_LIST(X)                                                                                         \
  X("planted_hazards", "whole f32 RAW", PLANTED_EXACT, "RAW", 1, 0, 2, 0)                                              \
  X("planted_hazards", "whole i8 WAW", PLANTED_EXACT, "WAW", 1, 0, 2, 0)                                               \
  X("planted_hazards", "whole bf16 WAR", PLANTED_EXACT, "WAR", 1, 0, 2, 0)                                             \
  X("planted_hazards", "tile f32 RAW", PLANTED_EXACT, "RAW", 1, 0, 2, 0)                                               \
  X("planted_hazards", "tile i8 WAW", PLANTED_EXACT, "WAW", 1, 0, 2, 0)                                                \
  X("planted_hazards", "tile fp16 WAR", PLANTED_EXACT, "WAR", 1, 0, 2, 0)                                              \
  X("planted_hazards", "slice i32 RAW", PLANTED_EXACT, "RAW", 1, 0, 2, 0)                                              \
  X("planted_hazards", "slice f32 WAW", PLANTED_EXACT, "WAW", 1, 0, 2, 0)                                              \
  X("planted_hazards", "slice bf16 WAR", PLANTED_EXACT, "WAR", 1, 0, 2, 0)                                             \
  X("planted_hazards", "transposed fp16 RAW", PLANTED_EXACT, "RAW", 1, 0, 2, 0)                                        \
  X("planted_hazards", "transposed i8 WAW", PLANTED_EXACT, "WAW", 1, 0, 2, 0)                                          \
  X("planted_hazards", "transposed i32 WAR", PLANTED_EXACT, "WAR", 1, 0, 2, 0)                                         \
  X("planted_hazards", "reshaped i8 RAW", PLANTED_EXACT, "RAW", 1, 0, 2, 0)                                            \
  X("planted_hazards", "reshaped f32 WAW", PLANTED_EXACT, "WAW", 1, 0, 2, 0)                                           \
  X("planted_hazards", "reshaped bf16 WAR", PLANTED_EXACT, "WAR", 1, 0, 2, 0)                                          \
  X("planted_hazards", "bytes f32 RAW", PLANTED_EXACT, "RAW", 1, 0, 2, 0)                                              \
  X("planted_hazards", "bytes fp16 WAW", PLANTED_EXACT, "WAW", 1, 0, 2, 0)                                             \
  X("planted_hazards", "bytes i32 WAR", PLANTED_EXACT, "WAR", 1, 0, 2, 0)                                              \
  X("planted_hazards", "alias f32 RAW", PLANTED_EXACT, "RAW", 1, 0, 2, 0)                                              \
  X("planted_hazards", "alias bf16 WAW", PLANTED_EXACT, "WAW", 1, 0, 2, 0)                                             \
  X("planted_hazards", "alias i8 WAR", PLANTED_EXACT, "WAR", 1, 0, 2, 0)                                               \
  X("planted_hazards", "padded i32 RAW", PLANTED_EXACT, "RAW", 1, 0, 2, 0)                                             \
  X("planted_hazards", "padded fp16 WAW", PLANTED_EXACT, "WAW", 1, 0, 2, 0)                                            \
  X("planted_hazards", "padded f32 WAR", PLANTED_EXACT, "WAR", 1, 0, 2, 0)                                             \
  X("planted_hazards", "tile f32 WAW", PLANTED_EXPLORE, "order", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)

/* Of a write or a read outside every parameter, none is at fault. */
#define PLANTED_KERNEL_LIST(X)                                                                                         \
  X("planted_kernels", "narrow_view", PLANTED_OBSERVE, "write outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)      \
  X("planted_kernels", "row_too_many_read", PLANTED_OBSERVE, "read outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY) \
  X("planted_kernels", "row_too_many_written", PLANTED_OBSERVE, "write outside", 0, PLANTED_ANY, PLANTED_ANY,          \
    PLANTED_ANY)                                                                                                       \
  X("planted_kernels", "past_array", "valgrind", "Invalid read of size", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)     \
  X("planted_kernels", "past_array", "run", "PTO_EKERNEL", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                   \
  X("planted_kernels", "past_array_written", "run", "PTO_EKERNEL", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)           \
  X("planted_kernels", "before_array", "run", "PTO_EKERNEL", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)       \
  X("planted_kernels", "before_array", PLANTED_OBSERVE, "write outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)     \
  X("planted_kernels", "local_stale", PLANTED_OBSERVE, "read unwritten", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)     \
  X("planted_kernels", "local_max", PLANTED_OBSERVE, "read unwritten", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)       \
  X("planted_kernels", "local_min", PLANTED_OBSERVE, "read unwritten", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)       \
  X("planted_kernels", "local_overrun", "run", "PTO_EKERNEL", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                \
  X("planted_kernels", "past_output", "valgrind", "Invalid write of size", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)   \
  X("planted_kernels", "dense_write", PLANTED_OBSERVE, "write outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)      \
  X("planted_kernels", "dense_read", PLANTED_OBSERVE, "read outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)        \
  X("planted_kernels", "wrong_dtype", PLANTED_OBSERVE, "write outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)      \
  X("planted_kernels", "input_written", PLANTED_OBSERVE, "write input", 0, 0, PLANTED_ANY, PLANTED_ANY)                \
  X("planted_kernels", "output_read", PLANTED_OBSERVE, "read output", 0, 1, PLANTED_ANY, PLANTED_ANY)                  \
  X("planted_kernels", "inout_as_output", PLANTED_OBSERVE, "read output", 1, 0, PLANTED_ANY, PLANTED_ANY)              \
  X("planted_kernels", "tail_left", PLANTED_OBSERVE, "not written", 0, 0, PLANTED_ANY, PLANTED_ANY)                    \
  X("planted_kernels", "stride_left", PLANTED_OBSERVE, "not written", 0, 0, PLANTED_ANY, PLANTED_ANY)                  \
  X("planted_kernels", "predicate_left", PLANTED_OBSERVE, "read unwritten", 2, 0, 3, 0)                                \
  X("planted_kernels", "predicate_unwritten", PLANTED_OBSERVE, "read unwritten", 1, PLANTED_ANY, PLANTED_ANY,          \
    PLANTED_ANY)                                                                                                       \
  X("planted_kernels", "host_unwritten", PLANTED_OBSERVE, "read unwritten", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY,     \
    PLANTED_ANY)                                                                                                       \
  X("planted_kernels", "uninitialised", PLANTED_OBSERVE, "read unwritten", 1, 0, PLANTED_ANY, PLANTED_ANY)             \
  X("planted_kernels", "recycled", PLANTED_OBSERVE, "read outside", 3, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)          \
  X("planted_kernels", "undeclared", PLANTED_OBSERVE, "read outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)        \
  X("planted_kernels", "undeclared", PLANTED_OBSERVE, "address", 0, 1, PLANTED_ANY, PLANTED_ANY)                       \
  X("planted_kernels", "recycled", PLANTED_OBSERVE, "address", 3, 1, PLANTED_ANY, PLANTED_ANY)                         \
  X("planted_kernels", "sum_lost", PLANTED_OBSERVE, "mode", 1, 1, PLANTED_ANY, PLANTED_ANY)                            \
  X("planted_kernels", "not_in_place", PLANTED_OBSERVE, "mode", 0, 1, PLANTED_ANY, PLANTED_ANY)                        \
  X("planted_kernels", "in_place_alone", PLANTED_OBSERVE, "mode", 1, 1, PLANTED_ANY, PLANTED_ANY)                      \
  X("planted_kernels", "by_address", PLANTED_OBSERVE, "placement", 0, 1, PLANTED_ANY, PLANTED_ANY)                     \
  X("planted_kernels", "static_tile", PLANTED_OBSERVE, "state", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)              \
  X("planted_kernels", "hidden_state", PLANTED_OBSERVE, "state", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)

#define PLANTED_PROMISE_LIST(X)                                                                                        \
  X("planted_promises", "sum_scaled", PLANTED_OBSERVE, "mode", 1, 1, PLANTED_ANY, PLANTED_ANY)                         \
  X("planted_promises", "sum_part", PLANTED_OBSERVE, "mode", 1, 1, PLANTED_ANY, PLANTED_ANY)                           \
  X("planted_promises", "sum_first", PLANTED_OBSERVE, "mode", 1, 1, PLANTED_ANY, PLANTED_ANY)                          \
  X("planted_promises", "sum_late", PLANTED_OBSERVE, "mode", 9, 1, PLANTED_ANY, PLANTED_ANY)                           \
  X("planted_promises", "sum_decays", PLANTED_OBSERVE, "mode", 1, 1, PLANTED_ANY, PLANTED_ANY)                         \
  X("planted_promises", "sum_of_steps", PLANTED_OBSERVE, "mode", 1, 1, PLANTED_ANY, PLANTED_ANY)                       \
  X("planted_promises", "sum_of_bf16", PLANTED_OBSERVE, "mode", 1, 1, PLANTED_ANY, PLANTED_ANY)                        \
  X("planted_promises", "sum_of_f8", PLANTED_OBSERVE, "mode", 1, 1, PLANTED_ANY, PLANTED_ANY)                          \
  X("planted_promises", "core_number", PLANTED_OBSERVE, "placement", 0, 0, PLANTED_ANY, PLANTED_ANY)                   \
  X("planted_promises", "sum_saturates", PLANTED_OBSERVE, "mode", 1, 1, PLANTED_ANY, PLANTED_ANY)                      \
  X("planted_promises", "lane_number", PLANTED_OBSERVE, "placement", 1, 0, PLANTED_ANY, PLANTED_ANY)                   \
  X("planted_promises", "calls_of_thread", PLANTED_OBSERVE, "state", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)         \
  X("planted_promises", "left_by_other", PLANTED_OBSERVE, "state", 1, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)           \
  X("planted_promises", "scratch_kept", PLANTED_OBSERVE, "state", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)            \
  X("planted_promises", "local_over", PLANTED_OBSERVE, "local", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)              \
  X("planted_promises", "l0a_stale", PLANTED_OBSERVE, "read unwritten", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)      \
  X("planted_promises", "l0c_stale", PLANTED_OBSERVE, "read unwritten", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)      \
  X("planted_promises", "written_back", PLANTED_OBSERVE, "write input", 0, 0, PLANTED_ANY, PLANTED_ANY)                \
  X("planted_promises", "half_left", PLANTED_OBSERVE, "not written", 0, 1, PLANTED_ANY, PLANTED_ANY)                   \
  X("planted_promises", "by_clock", PLANTED_OBSERVE, "unstable", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)             \
  X("planted_promises", "by_core", PLANTED_OBSERVE, "placement", 0, 0, PLANTED_ANY, PLANTED_ANY)                       \
  X("planted_promises", "of_stack", PLANTED_OBSERVE, "address", 0, 1, PLANTED_ANY, PLANTED_ANY)                        \
  X("planted_promises", "masked_in_place", PLANTED_OBSERVE, "mode", 1, 1, PLANTED_ANY, PLANTED_ANY)

#define PLANTED_DECLARED_LIST(X)                                                                                       \
  X("planted_declared", "only_written", PLANTED_OBSERVE, "unneeded", 1, 1, PLANTED_ANY, PLANTED_ANY)                   \
  X("planted_declared", "often_written", PLANTED_OBSERVE, "unneeded", 1, 1, PLANTED_ANY, PLANTED_ANY)                  \
  X("planted_declared", "copied_over", PLANTED_OBSERVE, "unneeded", 1, 1, PLANTED_ANY, PLANTED_ANY)                    \
  X("planted_declared", "only_read", PLANTED_OBSERVE, "unneeded", 1, 0, PLANTED_ANY, PLANTED_ANY)                      \
  X("planted_declared", "table_read", PLANTED_OBSERVE, "unneeded", 1, 0, PLANTED_ANY, PLANTED_ANY)                     \
  X("planted_declared", "sum_left", PLANTED_OBSERVE, "unneeded", 1, 1, PLANTED_ANY, PLANTED_ANY)                       \
  X("planted_declared", "sum_looked_at", PLANTED_OBSERVE, "unneeded", 1, 0, PLANTED_ANY, PLANTED_ANY)                  \
  X("planted_declared", "sum_set", PLANTED_OBSERVE, "mode", 1, 1, PLANTED_ANY, PLANTED_ANY)                            \
  X("planted_declared", "never_waits", PLANTED_OBSERVE, "unneeded", 1, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)          \
  X("planted_declared", "turns_untaken", PLANTED_OBSERVE, "unneeded", 1, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)        \
  X("planted_declared", "heap_read", PLANTED_OBSERVE, "address", 0, 1, PLANTED_ANY, PLANTED_ANY)                       \
  X("planted_declared", "heap_counted", PLANTED_OBSERVE, "address", 0, 1, PLANTED_ANY, PLANTED_ANY)                    \
  X("planted_declared", "static_read", PLANTED_OBSERVE, "address", 0, 1, PLANTED_ANY, PLANTED_ANY)                     \
  X("planted_declared", "part_filled", PLANTED_EXACT, "unfilled", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)  \
  X("planted_declared", "rows_filled", PLANTED_OBSERVE, "unfilled", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)

#define PLANTED_STATE_LIST(X)                                                                                          \
  X("planted_state", "weight_zero", PLANTED_OBSERVE, "read output", 0, 1, PLANTED_ANY, PLANTED_ANY)                    \
  X("planted_state", "asks_nan", PLANTED_OBSERVE, "read output", 0, 1, PLANTED_ANY, PLANTED_ANY)                       \
  X("planted_state", "asks_infinite", PLANTED_OBSERVE, "read output", 0, 1, PLANTED_ANY, PLANTED_ANY)                  \
  X("planted_state", "halo_zero", PLANTED_OBSERVE, "read outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)           \
  X("planted_state", "core_sum", PLANTED_OBSERVE, "state", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                   \
  X("planted_state", "core_most", PLANTED_OBSERVE, "state", 3, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                  \
  X("planted_state", "core_handed", PLANTED_OBSERVE, "state", 1, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                \
  X("planted_state", "core_table", PLANTED_OBSERVE, "state", 1, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                 \
  X("planted_state", "core_lane", PLANTED_OBSERVE, "state", 1, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                  \
  X("planted_state", "core_scratch", PLANTED_OBSERVE, "state", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)               \
  X("planted_state", "core_grown", PLANTED_OBSERVE, "state", 1, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                 \
  X("planted_state", "stack_max", PLANTED_OBSERVE, "unstable", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)               \
  X("planted_state", "stack_unset", PLANTED_OBSERVE, "unstable", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)             \
  X("planted_state", "counted_beside", PLANTED_OBSERVE, "state", 1, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)             \
  X("planted_state", "rounds_up", PLANTED_OBSERVE, "state", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                  \
  X("planted_state", "counts_in_shape", PLANTED_OBSERVE, "state", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)

#define PLANTED_BESIDE_LIST(X)                                                                                         \
  X("planted_beside", "far_written", PLANTED_OBSERVE, "write outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)       \
  X("planted_beside", "far_written", "run", "PTO_EKERNEL", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                   \
  X("planted_beside", "farther_written", "run", "PTO_EKERNEL", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)               \
  X("planted_beside", "far_read", PLANTED_OBSERVE, "read outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)           \
  X("planted_beside", "far_read", "run", "PTO_EKERNEL", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                      \
  X("planted_beside", "far_before", PLANTED_OBSERVE, "write outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)        \
  X("planted_beside", "far_before", "run", "PTO_EKERNEL", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                    \
  X("planted_beside", "edge_before", PLANTED_OBSERVE, "write outside", 0, 0, PLANTED_ANY, PLANTED_ANY)                 \
  X("planted_beside", "too_long", PLANTED_OBSERVE, "beyond array", 0, 0, PLANTED_ANY, PLANTED_ANY)                     \
  X("planted_beside", "too_long", "run", "PTO_EKERNEL", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                      \
  X("planted_beside", "local_far", "run", "PTO_EKERNEL", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                     \
  X("planted_beside", "own_memory", PLANTED_OBSERVE, "write outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)        \
  X("planted_beside", "own_memory", "run", "PTO_EKERNEL", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                    \
  X("planted_beside", "late_memory", PLANTED_OBSERVE, "write outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)       \
  X("planted_beside", "late_memory", "run", "PTO_EKERNEL", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                   \
  X("planted_beside", "block_left", PLANTED_OBSERVE, "not written", 0, 0, PLANTED_ANY, PLANTED_ANY)                    \
  X("planted_beside", "static_memory", PLANTED_OBSERVE, "write outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)     \
  X("planted_beside", "far_behind", PLANTED_OBSERVE, "write outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)        \
  X("planted_beside", "far_behind", "run", "PTO_EKERNEL", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                    \
  X("planted_beside", "far_below", PLANTED_OBSERVE, "write outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)         \
  X("planted_beside", "local_array", PLANTED_EXACT, "stack", 0, 0, PLANTED_ANY, PLANTED_ANY)                           \
  X("planted_beside", "local_array", PLANTED_OBSERVE, "stack", 0, 0, PLANTED_ANY, PLANTED_ANY)

#define PLANTED_WRONG_LIST(X)                                                                                          \
  X("planted_wrong", "slot_twice", PLANTED_EXACT, "wrong", 15, 0, PLANTED_ANY, PLANTED_ANY)                            \
  X("planted_wrong", "slot_missed", PLANTED_EXACT, "wrong", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)        \
  X("planted_wrong", "set_between", PLANTED_EXACT, "wrong", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)        \
  X("planted_wrong", "set_between", PLANTED_EXPLORE, "order", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)

#define PLANTED_BLOCK_LIST(X)                                                                                          \
  X("planted_blocks", "same_row", PLANTED_OBSERVE, "blocks", 0, 0, 0, 0)                                               \
  X("planted_blocks", "added_blocks", PLANTED_OBSERVE, "blocks", 0, 0, 0, 0)                                           \
  X("planted_blocks", "halo_read", PLANTED_OBSERVE, "blocks", 0, 0, 0, 0)                                              \
  X("planted_blocks", "running_sum", PLANTED_OBSERVE, "blocks", 0, 1, 0, 1)                                            \
  X("planted_blocks", "kept_log", PLANTED_OBSERVE, "blocks", 1, 1, 1, 1)                                               \
  X("planted_blocks", "half_shared", PLANTED_OBSERVE, "blocks", 0, 0, 0, 0)                                            \
  X("planted_blocks", "mixed_cores", PLANTED_OBSERVE, "blocks", 0, 0, 0, 0)                                            \
  X("planted_blocks", "ticket", PLANTED_EXPLORE, "order", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)          \
  X("planted_blocks", "host_peek", PLANTED_EXPLORE, "order", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)       \
  X("planted_blocks", "peek_behind", PLANTED_EXPLORE, "order", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)               \
  X("planted_blocks", "peek_last", PLANTED_EXPLORE, "order", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                 \
  X("planted_blocks", "filled_again", PLANTED_EXPLORE, "order", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)

#define PLANTED_LAYOUT_LIST(X)                                                                                         \
  X("planted_layouts", "broadcast_dense", PLANTED_OBSERVE, "read outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)   \
  X("planted_layouts", "transposed_dense", PLANTED_OBSERVE, "write outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY) \
  X("planted_layouts", "step_pairs", PLANTED_OBSERVE, "write outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)       \
  X("planted_layouts", "byte_strides", PLANTED_OBSERVE, "read outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)      \
  X("planted_layouts", "offset_twice", PLANTED_OBSERVE, "read outside", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)      \
  X("planted_layouts", "short_elements", PLANTED_OBSERVE, "not written", 0, 0, PLANTED_ANY, PLANTED_ANY)               \
  X("planted_layouts", "shared_nibbles", PLANTED_OBSERVE, "blocks", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)

#define PLANTED_STOP_LIST(X)                                                                                           \
  X("planted_stops", "after_scope", "run", "PTO_EUSER", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)            \
  X("planted_stops", "open_scope", "run", "PTO_EUSER", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)             \
  X("planted_stops", "wait_cycle", "run", "PTO_EDEADLOCK", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                   \
  X("planted_stops", "barrier_left_out", "run", "PTO_EDEADLOCK", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)             \
  X("planted_stops", "wrong_flag", "run", "PTO_EDEADLOCK", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                   \
  X("planted_stops", "fifo_sizes", "run", "PTO_EKERNEL", 0, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)                     \
  X("planted_stops", "long_scope", "run", "PTO_ESCOPE", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)            \
  X("planted_stops", "nested_window", "run", "PTO_EWINDOW", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)        \
  X("planted_stops", "held_heap", "run", "PTO_EHEAP", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)              \
  X("planted_stops", "large_output", "run", "PTO_EHEAP", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)           \
  X("planted_stops", "stale_version", "run", "PTO_EUSER", PLANTED_ANY, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)

/* Of planted_cores, which tests/check/planted_cores_test.c judges in one process: X(bug, kind, parameter of the earlier
 * task, who, whom, a part of the remedy). */
#define PLANTED_CORES_LIST(X)                                                                                          \
  X(no_signal, "cores", 0, "AIV0 writes bytes [0, 64) of array x", "AIV1 reads them",                                  \
    "pto_core_signal(args, PTO_ROLE_BIT(PTO_ROLE_AIV1), 0)")                                                           \
  X(early_signal, "cores", 0, "AIV0 writes bytes [0, 64) of array x", "AIV1 reads them", "behind the write of AIV0")   \
  X(late_wait, "cores", 0, "AIV0 writes bytes [0, 64) of array x", "AIV1 reads them", "before the read of AIV1")       \
  X(other_flag, "cores", 0, "AIV0 writes bytes [64, 128) of array x", "AIV1 reads them", "pto_core_wait(args, 2)")     \
  X(one_of_two, "cores", 0, "AIC writes bytes [0, 64) of array x", "AIV1 reads them", "behind the write of AIC")       \
  X(early_relay, "cores", 0, "AIC writes bytes [0, 64) of array x", "AIV1 reads them", "behind the write of AIC")      \
  X(surplus, "cores", 0, "AIV0 writes bytes [128, 192) of array x", "AIV1 reads them",                                 \
    "behind the write of AIV0 and `pto_core_wait(args, 1)` before the read of AIV1, except the first 2 times")         \
  X(credits, "cores", 0, "AIV0 writes bytes [0, 64) of array x", "AIV1 reads them",                                    \
    "behind the read of AIV1, except the last 2 times, and `pto_core_wait(args, 0)` before the write of AIV0, "        \
    "except the first 2 times")                                                                                        \
  X(freed_early, "cores", 0, "AIC writes bytes [0, 64) of array x", "AIV1 reads them",                                 \
    "behind the read of AIV1, except the last 2 times, and `pto_core_wait(args, 1)` before the write of AIC, except "  \
    "the first 2 times")                                                                                               \
  X(first_row, "cores", 0, "AIV0 writes bytes [0, 64) of array x", "AIV1 reads them",                                  \
    "behind the write of AIV0, except the last 2 times, and `pto_core_wait(args, 0)` before the read of AIV1, "        \
    "except the last 2 times")                                                                                         \
  X(no_answer, "cores", 0, "AIV0 writes bytes [0, 64) of array x", "AIV1 reads them",                                  \
    "behind the read of AIV1, except the last time, and `pto_core_wait(args, 0)` before the write of AIV0, "           \
    "except the first time")                                                                                           \
  X(three_ahead, "cores", PLANTED_ANY, "AIV0 writes bytes [0, 6", "AIV1 reads them",                                   \
    "before the write of AIV0, except the first 2 times")                                                              \
  X(slot_shared, "cores", PLANTED_ANY, "bytes [0, 4) of the shared memory of key 1", "writes them too",                \
    "pto_core_signal(args")                                                                                            \
  X(last_half, "cores", PLANTED_ANY, "of the shared memory of key 4", "AIV0 reads them", "before the read of AIV0")    \
  X(no_barrier, "cores", 0, "array x", "reads them", "pto_core_wait(args, 0)")                                         \
  X(one_barrier, "cores", 0, "array x", "reads them",                                                                  \
    "add `pto_core_barrier(args)` to each of the 2 cores, behind its barrier at planted_cores.c:")                     \
  X(stencil, "cores", 0, "array x", "reads them",                                                                      \
    "add `pto_core_barrier(args)` to each of the 2 cores, behind its barrier at planted_cores.c:")                     \
  X(ring_credit, "cores", 0, "array x", "reads them",                                                                  \
    "add `pto_core_signal_block(args, 0, PTO_ROLE_BIT(PTO_ROLE_AIV0), 1)` behind the read of AIV0 of block 1, except " \
    "the last time, and `pto_core_wait(args, 1)` before the write of AIV0 of block 0, except the first time; each "    \
    "core that runs this code does both, and signals the one that writes what it reads")                               \
  X(both_write, "cores", 0, "bytes [0, 4) of array x", "writes them too", "before the write of")                       \
  X(one_too_many, "cores", 1, "bytes [32, 36) of array z", "writes them too", "before the write of")                   \
  X(early_push, "cores", 0, "AIC writes bytes", "AIV0 reads them", "behind the write of AIC")                          \
  X(pop_over, "cores", 0, "AIV1 writes bytes [0, 64) of array x", "AIC reads them",                                    \
    "; if what was there before, add `pto_core_signal(args, PTO_ROLE_BIT(PTO_ROLE_AIV1), 0)` behind the read of AIC")  \
  X(row_number, "cores", 0, "AIV0 writes bytes [0, 64) of array x", "AIV1 reads them", "behind the read of AIV1")      \
  X(slot_number, "cores", 0, "AIV0 writes bytes [0, 64) of array x", "AIV1 reads them",                                \
    "behind the read of AIV1, except the last 2 times, and `pto_core_wait(args, 0)` before the write of AIV0, "        \
    "except the first 2 times")                                                                                        \
  X(role_returned, "cores", 0, "AIV0 writes bytes [128, 192) of array x", "AIV1 reads them",                           \
    "before the read of AIV1")                                                                                         \
  X(early_ready, "cores", 0, "AIV0 writes bytes [0, 64) of array x", "AIV1 reads them", "before the read of AIV1")     \
  X(gives_up, "cores", 0, "AIV0 writes bytes [0, 64) of array x", "AIV1 reads them", "before the read of AIV1")        \
  X(early_count, "cores", 0, "AIV0 writes bytes", "AIV1 reads them",                                                   \
    "behind the write of AIV0 and `pto_core_wait(args, 0)` before the read of AIV1")                                   \
  X(early_taken, "cores", 1, "of array z", "in another order", "pto_core_wait")                                        \
  X(poll_alone, "cores", PLANTED_ANY, "AIV1 runs for ever without a call of pto/core.h",                               \
    "where the other cores have not come first", "pto_core_yield(args, false)` in the loop of AIV1")                   \
  X(poll_first, "stuck", PLANTED_ANY, "AIV0 on core 1 runs for ever without a call of pto/core.h",                     \
    "it may poll what another core writes", "pto_core_yield(args, false)` in the loop of AIV0")                        \
  X(middle_value, "cores", 0, "AIV0 writes bytes [0, 4) of array x", "AIC reads them", "before the read of AIC")       \
  X(plain_count, "cores", PLANTED_ANY, "bytes [0, 4) of the shared memory of key 6", "writes them too",                \
    "let each core add with `__atomic_fetch_add(at, 1, __ATOMIC_RELAXED)`")                                            \
  X(late_lock, "cores", 0, "bytes [0, 4) of array x", "in another order", "pto_core_wait")                             \
  X(torn_read, "cores", 1, "of array z", "in another order", "pto_core_wait")                                          \
  X(early_add, "cores", 0, "AIV0 writes bytes [0, 4) of array x", "before its turn", "pto_core_turn(args)")            \
  X(early_look, "cores", 0, "AIV0 reads bytes [12, 16) of array x", "before its turn", "pto_core_turn(args)")          \
  X(next_block, "cores", 0, "AIV0 of block 0 writes bytes [0, 64) of array x", "AIV0 of block 1 reads them",           \
    "add `pto_core_barrier(args)` to each of the 2 cores, between what it reads and what it writes")                   \
  X(shared_handed, "unstable", PLANTED_ANY, "is run twice over the same bytes", "of array x (buffer 1) comes out", "") \
  X(blocks_meet, "cores", 0, "AIV0 of block 0 writes bytes [0, 64) of array x", "AIV0 of block 1 reads them",          \
    "add `pto_core_barrier(args)` to each of the 2 cores, between what it reads and what it writes")                   \
  X(last_level, "cores", 0, "AIV0 of block 1 writes bytes [64, 68) of array x", "AIV0 of block 0 reads them",          \
    "add `pto_core_barrier(args)` to each of the 2 cores, behind its barrier at planted_cores.c:")                     \
  X(tile_unfilled, "read unwritten", PLANTED_ANY, "local memory that it has not written itself", "of AIV1's UB", "")   \
  X(signal_left, "not taken", PLANTED_ANY, "AIV1 returns without 1 signal at its flag 2",                              \
    "AIV0 sent at planted_cores.c:", "pto_core_wait(args, 2)")                                                         \
  X(element_left, "not taken", PLANTED_ANY, "AIV1 returns without 1 element",                                          \
    "AIV0 pushed at planted_cores.c:", "pto_core_pop(args, PTO_ROLE_AIV0, data, 4)")                                   \
  X(signal_back, "not taken", PLANTED_ANY, "AIV0 returns without 1 signal at its flag 1",                              \
    "AIV1 sent at planted_cores.c:", "pto_core_wait(args, 1)")                                                         \
  X(no_signaller, "stuck", PLANTED_ANY, "AIV1 on core 2 waits for a signal at flag 0", "task 0",                       \
    "pto_core_signal(args, PTO_ROLE_BIT(PTO_ROLE_AIV1), 0)")                                                           \
  X(too_few, "stuck", PLANTED_ANY, "AIV1 on core 2 waits for an element from AIV0", "task 0",                          \
    "pto_core_push(args, PTO_ROLE_AIV1")                                                                               \
  X(no_room, "stuck", PLANTED_ANY, "AIV0 on core 1 waits for room", "task 0",                                          \
    "add `pto_core_pop(args, PTO_ROLE_AIV0, data, size)` to AIV1 for each element, or push fewer")                     \
  X(barrier_left, "stuck", PLANTED_ANY, "AIV0 on core 1 waits at barrier 2", "without block 0 AIV1",                   \
    "`pto_core_barrier(args)` to AIV1")                                                                                \
  X(uneven_rounds, "stuck", PLANTED_ANY, "AIV0 on core 1 waits at barrier 3 with 1 of 2, without block 1 AIV0",        \
    "which has returned after 2 barriers (it waits at planted_cores.c:", "let each core come to as many barriers")     \
  X(cycle, "stuck", PLANTED_ANY, "AIV0 on core 1 waits for an element from AIV1",                                      \
    "AIV1 on core 2 waits for an element from AIV0", "let AIV1 push to AIV0")                                          \
  X(all_flags, "cores", 0, "AIV0 writes bytes [0, 64) of array x", "AIV1 reads them",                                  \
    "order the two with `pto_core_barrier(args)`, as all 16 flags of AIV1 are in use")

/* The same of tests/planted/planted_protocols.c. */
#define PLANTED_PROTOCOLS_LIST(X)                                                                                      \
  X(last_tile, "cores", 0, "AIV0 writes bytes [448, 512) of array x", "AIV1 reads them",                               \
    "behind the write of AIV0 and `pto_core_wait(args, 0)` before the read of AIV1; if what was there before, ")       \
  X(turn_of_other, "cores", 0, "AIV1 writes bytes [4, 8) of array x", "before its turn", "pto_core_turn(args)")        \
  X(drained, "stuck", PLANTED_ANY, "waits for a signal at flag 1, which has had 5, the last of AIV1 on core 2, which", \
    " has returned (it waits at planted_protocols.c:",                                                                 \
    "add `pto_core_signal(args, PTO_ROLE_BIT(PTO_ROLE_AIV0), 1)` to AIV1, which has to send as many as AIV0 waits ")   \
  X(own_flag, "stuck", PLANTED_ANY, "AIV1 on core 2 waits for a signal at flag 0 (one lies at flag 0 of AIV0)",        \
    "task 0", "signal AIV1 instead of AIV0, `pto_core_signal(args, PTO_ROLE_BIT(PTO_ROLE_AIV1), 0)`")                  \
  X(two_locks, "cores", PLANTED_ANY, "its cores wait for each other for ever where they run in another order",         \
    "AIV0 on core 1 waits for a change of memory that it polls (it waits at planted_protocols.c:", "pto_core_wait")

/* The same of tests/planted/planted_words.c. */
#define PLANTED_WORDS_LIST(X)                                                                                          \
  X(early_rise, "cores", 0, "writes bytes [64, 128) of array x", "which comes before it wrote them",                   \
    "move the atomic operation of AIV0 at planted_words.c:")                                                           \
  X(early_sum, "cores", 0, "writes bytes [64, 128) of array x", "AIC reads them",                                      \
    "move the read of AIC behind the atomic operation of AIC at planted_words.c:")                                     \
  X(half_ready, "cores", 0, "AIV0 writes bytes [32, 64) of array x", "AIV1 reads them",                                \
    "behind the write of AIV0 and `pto_core_wait(args, 0)` before the read of AIV1")                                   \
  X(unanswered, "cores", 0, "AIV0 writes bytes [0, 64) of array x", "AIV1 reads them",                                 \
    "behind the read of AIV1, except the last time, and `pto_core_wait(args, 0)` before the write of AIV0, "           \
    "except the first time")                                                                                           \
  X(two_rows, "cores", 0, "AIV0 writes bytes [0, 64) of array x", "AIV1 reads them",                                   \
    "behind the read of AIV1, except the last 2 times, and `pto_core_wait(args, 0)` before the write of AIV0, "        \
    "except the first 2 times")                                                                                        \
  X(word_of_row, "cores", 0, "AIV0 writes bytes [32, 64) of array x", "AIV1 reads them",                               \
    "behind the write of AIV0 and `pto_core_wait(args, 0)` before the read of AIV1")                                   \
  X(raised_early, "cores", 0, "AIV0 writes bytes [128, 192) of array x", "AIV1 reads them",                            \
    "behind the write of AIV0 and `pto_core_wait(args, 0)` before the read of AIV1")                                   \
  X(behind_lock, "cores", PLANTED_ANY, "bytes [4, 8) of the shared memory of key 1",                                   \
    "after its atomic operation at planted_words.c:", "let each core add with `__atomic_fetch_add(at, 1, ")

#define PLANTED_PIPELINE_LIST(X)                                                                                       \
  X("planted_pipeline", "slot_given_early", PLANTED_OBSERVE, "cores", 1, 1, PLANTED_ANY, PLANTED_ANY)                  \
  X("planted_pipeline", "slot_given_early", PLANTED_EXPLORE, "order", 1, PLANTED_ANY, PLANTED_ANY, PLANTED_ANY)

/* What remedies have to say, beside the row of the same program, bug and kind: X(program, what of it, kind, part of the
 * remedy).  Each line was put into its program and compiled.  Nothing was found any more, but of `recycled`, whose
 * memory no task may have; of `address` the whole remedy was not tried by itself. */
#define PLANTED_REMEDY_LIST(X)                                                                                         \
  X("planted_manual", "raw", "RAW", "add `after` task 0 to task 1: `.after = &task_0, .after_count = 1`")              \
  X("planted_manual", "one_of_two", "RAW", "`.after = (const struct pto_task[]){task_0, task_1}, .after_count = 2`")   \
  X("planted_manual", "barrier_short", "RAW",                                                                          \
    "`.after = (const struct pto_task[]){task_3, task_2}, .after_count = 2`")                                          \
  X("planted_held", "read_between", "order",                                                                           \
    "add `after` task 1 to task 2: `.after = (const struct pto_task[]){task_0, task_1}, .after_count = 2`")            \
  X("planted_kernels", "narrow_view", "write outside",                                                                 \
    "let param 0 have them too, `pto_tensor_view(&x, (const uint64_t[]){0, 0}, (const uint64_t[]){4, 16})`")           \
  X("planted_kernels", "dense_read", "read outside", "`pto_tensor_view(&x, (const uint64_t[]){0, 0}, (")               \
  X("planted_kernels", "wrong_dtype", "write outside", "`pto_tensor_view(&x, (const uint64_t[]){2, 0}, (")             \
  X("planted_kernels", "undeclared", "read outside",                                                                   \
    "touch them through one more, `{.name = \"part\", .mode = PTO_INPUT}` in the kernel's list and "                   \
    "`pto_input(&part)` in its submits, part being `pto_tensor_view(&x, ")                                             \
  X("planted_kernels", "undeclared", "address",                                                                        \
    "pass a tensor in its place: `.mode = PTO_INPUT` in the kernel's list, `pto_input(&x)` in its submits")            \
  X("planted_blocks", "peek_behind", "order",                                                                          \
    "let the orchestration first read an element that task 0 writes, `pto_read_element(rt, &t, index, &value)`")       \
  X("planted_blocks", "filled_again", "order",                                                                         \
    "let the orchestration first read an element that task 0 writes, `pto_read_element(rt, &t, index, &value)`")       \
  X("planted_pto", "host_write", "WAR",                                                                                \
    "read an element that task 0 writes first, which waits for it: `pto_read_element(rt, &t, index, &value)`")         \
  X("planted_kernels", "recycled", "read outside", "tensor before the scope ends that keeps its memory")               \
  X("planted_wrong", "slot_twice", "wrong", "where it names none, what task 15 is given, or what the program expects") \
  X("planted_wrong", "slot_missed", "wrong", "submit a task that writes it")                                           \
  X("planted_wrong", "set_between", "wrong",                                                                           \
    "let the orchestration wait for a task before it changes, frees or leaves what that uses, as "                     \
    "`pto_read_element(rt, &t, index, &value)` does")                                                                  \
  X("planted_beside", "local_array", "stack", "`pto_program_alloc(run, size_bytes)`")                                  \
  X("planted_promises", "masked_in_place", "mode",                                                                     \
    "`.mode = PTO_INOUT` in the kernel's list, `pto_inout` in its submits")                                            \
  X("planted_kernels", "input_written", "write input",                                                                 \
    "declare param 0 INOUT: `.mode = PTO_INOUT` in the kernel's list, `pto_inout` in its submits")                     \
  X("planted_kernels", "output_read", "read output",                                                                   \
    "`.size = sizeof(struct pto_launch), .initial = &(const struct pto_initial){.param = 1}, .initial_count = 1`")     \
  X("planted_kernels", "tail_left", "not written",                                                                     \
    "`.size = sizeof(struct pto_launch), .initial = &(const struct pto_initial){.param = 0}, .initial_count = 1`")     \
  X("planted_kernels", "sum_lost", "mode",                                                                             \
    "declare param 1 OUTPUT: `.mode = PTO_OUTPUT` in the kernel's list, `pto_output` in its submits")                  \
  X("planted_layouts", "broadcast_dense", "read outside",                                                              \
    "let param 0 have them too, `pto_tensor_view(&x, (const uint64_t[]){3, 0}, (const uint64_t[]){4, 16})`")           \
  X("planted_blocks", "added_blocks", "blocks",                                                                        \
    "declare param 0 ACCUMULATE: `.mode = PTO_ACCUMULATE` in the kernel's list, `pto_accumulate` in its submits")

#define PLANTED_LIST(X)                                                                                                \
  PLANTED_MANUAL_LIST(X)                                                                                               \
  PLANTED_HELD_LIST(X)                                                                                                 \
  PLANTED_PTO_LIST(X)                                                                                                  \
  PLANTED_HAZARD_LIST(X)                                                                                               \
  PLANTED_KERNEL_LIST(X)                                                                                               \
  PLANTED_PROMISE_LIST(X)                                                                                              \
  PLANTED_DECLARED_LIST(X)                                                                                             \
  PLANTED_STATE_LIST(X)                                                                                                \
  PLANTED_BESIDE_LIST(X)                                                                                               \
  PLANTED_WRONG_LIST(X)                                                                                                \
  PLANTED_BLOCK_LIST(X)                                                                                                \
  PLANTED_PIPELINE_LIST(X)                                                                                             \
  PLANTED_LAYOUT_LIST(X)                                                                                               \
  PLANTED_STOP_LIST(X)

#endif
