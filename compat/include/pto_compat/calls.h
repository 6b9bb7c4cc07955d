/* SPDX-License-Identifier: MIT */
/*
 * What the C++ headers of compat/include call, and the layouts that they share with the adapter.  C and C++.
 *
 * For those headers and for compat/entry.cpp alone: an orchestration uses the names of the existing runtime.
 *
 * Every call is of the run that pto_compat_orchestrate has begun on this thread.  After the first mistake, and outside
 * a run, calls do nothing, and what they give is empty.  `place` says where the orchestration made the call: findings
 * name it.
 */
#ifndef PTO_COMPAT_CALLS_H
#define PTO_COMPAT_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PTO_COMPAT_API __attribute__((visibility("default")))
#define PTO_COMPAT_PRINTF(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#define PTO_COMPAT_LINES __attribute__((aligned(64))) /* whole cache lines, as the C++ types have */
#else
#define PTO_COMPAT_API
#define PTO_COMPAT_PRINTF(format_index, first_index)
#define PTO_COMPAT_LINES
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a layout or a call of this header changes: an orchestration of another number is not run. */
#define PTO_COMPAT_ABI 1u

enum pto_compat_architecture { PTO_COMPAT_A2A3 = 1, PTO_COMPAT_A5 = 2 };
/* Which of the existing runtime's two orchestrators: tasks run while the orchestration submits them, or after it. */
enum pto_compat_mode { PTO_COMPAT_TRB = 1 /* tensormap_and_ringbuffer */, PTO_COMPAT_HBG = 2 /* host_build_graph */ };

#define PTO_COMPAT_DIMS 5
#define PTO_COMPAT_TENSORS 32 /* of a task */
#define PTO_COMPAT_SCALARS 16
#define PTO_COMPAT_CHIP_TENSORS 256 /* of an orchestration */
#define PTO_COMPAT_CHIP_SCALARS 128
#define PTO_COMPAT_NO_TASK UINT64_MAX
#define PTO_COMPAT_NO_KERNEL (-1)

/* The tensor descriptor that orchestrations and kernels see: ChipTensor of tensor.h, byte for byte. */
struct PTO_COMPAT_LINES pto_compat_tensor {
  uint64_t addr, size_bytes; /* of the whole buffer */
  uint64_t owner;            /* the task that created it, or PTO_COMPAT_NO_TASK */
  uint64_t start_offset;     /* elements of dtype */
  int32_t version;
  uint32_t ndims;
  uint8_t dtype; /* their code: pto_compat_dtype */
  uint8_t manual_dep, is_contiguous, address_space;
  uint32_t shape[PTO_COMPAT_DIMS];
  uint64_t extent; /* elements from the first to the last, both counted */
  uint32_t strides[PTO_COMPAT_DIMS];
  uint8_t reserved[36];
};

/* A tensor that a submit is to make: TensorCreateInfo of tensor_create_info.h, byte for byte. */
struct PTO_COMPAT_LINES pto_compat_create {
  uint64_t initial_value;
  uint8_t has_initial_value, reserved_1[7];
  uint64_t reserved_2;
  uint64_t start_offset;
  int32_t version;
  uint32_t ndims;
  uint8_t dtype;
  uint8_t manual_dep, is_contiguous, reserved_3;
  uint32_t shape[PTO_COMPAT_DIMS];
};

/* What a task does to a tensor: TensorArgType of tensor.h. */
enum pto_compat_direction {
  PTO_COMPAT_INPUT = 0,
  PTO_COMPAT_CREATE = 1, /* OUTPUT: a tensor that the submit makes */
  PTO_COMPAT_INOUT = 2,
  PTO_COMPAT_OUTPUT = 3, /* OUTPUT_EXISTING */
  PTO_COMPAT_NO_DEP = 4
};

/* PredicateOp of pto_submit_types.h. */
enum pto_compat_compare {
  PTO_COMPAT_ALWAYS = 0,
  PTO_COMPAT_EQ,
  PTO_COMPAT_NE,
  PTO_COMPAT_GT,
  PTO_COMPAT_LT,
  PTO_COMPAT_GE,
  PTO_COMPAT_LE
};

/* A line of the orchestration.  `file` must last until the run has been reported. */
struct pto_compat_place {
  const char *file;
  uint32_t line;
};

/* One submit; all is borrowed for the call. */
struct pto_compat_submit {
  const char *what;           /* the call, for sentences */
  const char *mistake;        /* the first wrong use of the argument list, or NULL */
  int32_t kernels[3];         /* func_id of AIC, AIV0, AIV1, or PTO_COMPAT_NO_KERNEL */
  uint32_t tensor_count;      /* at most PTO_COMPAT_TENSORS */
  uint32_t scalar_count;      /* at most PTO_COMPAT_SCALARS */
  const uint32_t *directions; /* enum pto_compat_direction, one a tensor */
  const void *const *tensors; /* struct pto_compat_create where CREATE, else struct pto_compat_tensor */
  const uint64_t *scalars;
  const void *const *scalar_sources; /* where each was read, where that is known: a scalar of a graph's boundary */
  const uint64_t *after;             /* explicit dependencies */
  uint32_t after_count;
  int32_t block_count;
  bool sync_start;
  uint32_t compare; /* enum pto_compat_compare */
  const struct pto_compat_tensor *predicate;
  uint32_t predicate_ndims;
  const uint32_t *predicate_index;
  int64_t predicate_value;
};

/* What it gave.  Descriptors are the run's; their addresses stay until it ends. */
struct pto_compat_outputs {
  uint64_t task; /* ring << 32 | number in the ring, or PTO_COMPAT_NO_TASK */
  uint32_t count;
  const struct pto_compat_tensor *tensors[PTO_COMPAT_TENSORS]; /* those created, in order */
};

/* Each fills `outputs`; a mistake leaves none in it. */
PTO_COMPAT_API void pto_compat_submit_kernels(const struct pto_compat_submit *submit,
                                              const struct pto_compat_place *place, struct pto_compat_outputs *outputs);
PTO_COMPAT_API void pto_compat_submit_dummy(const struct pto_compat_submit *submit,
                                            const struct pto_compat_place *place, struct pto_compat_outputs *outputs);
PTO_COMPAT_API void pto_compat_alloc(const struct pto_compat_submit *submit, const struct pto_compat_place *place,
                                     struct pto_compat_outputs *outputs);
PTO_COMPAT_API void pto_compat_scope_begin(bool is_manual, const struct pto_compat_place *place);
PTO_COMPAT_API void pto_compat_scope_end(const struct pto_compat_place *place);
/* The element's bits, zero-extended; 0 after a mistake. */
PTO_COMPAT_API uint64_t pto_compat_read(const struct pto_compat_tensor *tensor, uint32_t ndims, const uint32_t *index,
                                        const struct pto_compat_place *place);
PTO_COMPAT_API void pto_compat_write(const struct pto_compat_tensor *tensor, uint32_t ndims, const uint32_t *index,
                                     uint64_t bits, const struct pto_compat_place *place);
PTO_COMPAT_API int32_t pto_compat_clusters(void);
PTO_COMPAT_API int32_t pto_compat_aivs(void);
/* The orchestration polls memory: lets tasks go on. */
PTO_COMPAT_API void pto_compat_poll(const struct pto_compat_place *place);

PTO_COMPAT_API bool pto_compat_is_fatal(void);
/* Ends the run with the existing runtime's error `code`; the first one counts. */
PTO_COMPAT_API void pto_compat_fatal(int32_t code, const struct pto_compat_place *place, const char *format, ...)
    PTO_COMPAT_PRINTF(3, 4);
/* The same, where `condition` is what an assertion found false. */
PTO_COMPAT_API void pto_compat_mistake(const struct pto_compat_place *place, const char *sentence);

/* What a graph's body is called with stands for the boundary of a recorded graph there. */
struct pto_compat_graph {
  uint64_t key;
  const char *mistake;
  uint32_t tensor_count, scalar_count, after_count;
  const uint32_t *directions;
  const void *const *tensors; /* struct pto_compat_tensor */
  const uint64_t *scalars;    /* what the body reads */
};
/* Whether the body is to be called, with these arguments; the second call ends it.  What that gives stands for all
 * tasks of the body as an explicit dependency. */
PTO_COMPAT_API bool pto_compat_graph_begin(const struct pto_compat_graph *graph, const struct pto_compat_place *place);
PTO_COMPAT_API uint64_t pto_compat_graph_end(void);

enum pto_compat_level { PTO_COMPAT_ERROR = 0, PTO_COMPAT_WARN, PTO_COMPAT_TIMING, PTO_COMPAT_INFO, PTO_COMPAT_DEBUG };
PTO_COMPAT_API void pto_compat_log(uint32_t level, const struct pto_compat_place *place, const char *format, ...)
    PTO_COMPAT_PRINTF(3, 4);

/* What the shared object of an orchestration exports, as `pto_compat_orchestration`. */
struct pto_compat_orchestration {
  uint32_t abi;          /* PTO_COMPAT_ABI */
  uint32_t architecture; /* enum pto_compat_architecture */
  uint32_t mode;         /* enum pto_compat_mode */
  const char *entry;     /* name of the function */
  const char *source;    /* path of its file */
  /* Both catch what the orchestration throws.  The tensors and scalars last until the run ends. */
  void (*enter)(const struct pto_compat_tensor *tensors, uint32_t tensor_count, const uint64_t *scalars,
                uint32_t scalar_count);
  /* Arguments that it says to need, or -1 where it says nothing. */
  int32_t (*expected_arguments)(const struct pto_compat_tensor *tensors, uint32_t tensor_count, const uint64_t *scalars,
                                uint32_t scalar_count);
};
#define PTO_COMPAT_SYMBOL "pto_compat_orchestration"

#ifdef __cplusplus
}
#endif
#endif
