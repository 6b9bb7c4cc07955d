/* SPDX-License-Identifier: MIT */
/*
 * What a program run is made of: shared by the files of this folder alone (program_run.h is what others see).
 *
 * Owns nothing beyond what program_run.h says.  Always true: option_values has an entry for each option of the program;
 * array_count ≤ array_capacity; a struct pto_array is the first member of its pto_array_slot.
 */
#ifndef PTO_PROGRAM_STATE_H
#define PTO_PROGRAM_STATE_H

#include <orchestration/loader/array_memory.h>
#include <orchestration/loader/program_run.h>

/* The value of one option, checked: text as given, and its meaning by type. */
struct pto_option_slot {
  char *text;
  union {
    int64_t integer;
    double number;
    bool truth;
  } value;
};

struct pto_array_slot {
  struct pto_array array;
  struct pto_array_memory memory;
  void *remembered;      /* copy of the data for rewind, or NULL */
  bool is_address_space; /* fills do nothing */
};

/* A block of pto_program_alloc, and what people are told of it; or a text, which no kernel writes. */
struct pto_program_block {
  struct pto_program_block *next; /* made before it */
  struct pto_array array;
  char name[32]; /* "pto_program_alloc 0"; "": a text */
  struct pto_array_memory memory;
  void *remembered;
};

struct pto_program_run {
  const struct pto_program *program;
  const struct pto_case *chosen_case;
  uint64_t seed;
  bool has_used_seed;
  uint32_t rank, rank_count;
  struct pto_error error; /* the first failure */
  struct pto_option_slot *options;
  uint32_t option_count;
  struct pto_array_slot **arrays;
  size_t array_count, array_capacity;
  struct pto_array_pool pool;
  uint64_t margin_bytes; /* around each, as requested */
  bool no_compute, small_inputs;
  struct pto_program_block *blocks; /* the last one first */
  uint32_t block_count;             /* without texts */
  struct pto_array_pool block_pool;
  bool has_tolerance; /* of its own: rtol and atol hold */
  double rtol, atol;
  const struct pto_config *config;
  bool has_counters; /* of contexts that the host function reported */
  struct pto_context_counters counters;
  uint32_t context_workers;
  int (*on_report)(void *argument, struct pto_context *context, struct pto_error *error);
  void *on_report_argument;
  struct pto_figure figures[PTO_FIGURES];
  uint32_t figure_count;
  FILE *text;
  bool has_printed, has_open_line;
  void *state;
  uint64_t state_bytes;
};

/* Checks and stores the values of all options: default, case, settings.  Frees nothing on failure: the run's destroy
 * does. */
int pto_program_options_init(struct pto_program_run *run, const struct pto_program_request *request,
                             struct pto_error *error);
void pto_program_options_fini(struct pto_program_run *run);
/* The run fails with PTO_ENOMEM unless it has failed already. */
void pto_program_out_of_memory(struct pto_program_run *run, const char *what);
enum pto_array_way pto_program_array_way(const struct pto_program_run *run);
void pto_program_arrays_fini(struct pto_program_run *run);

static inline bool pto_array_is_output(const struct pto_array *array) {
  return (array->role & PTO_ARRAY_OUTPUT) != 0 && array->role != PTO_ARRAY_SCRATCH;
}

#endif
