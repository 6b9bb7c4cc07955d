/* SPDX-License-Identifier: MIT */
/*
 * Device tensors, in the sense of WebNN's MLContext and MLTensor: a context stands for one device, holds tensors in
 * that device's memory, and carries out what is asked of it in the order of the calls.
 *
 *   context (device, memory, queue)  ──create──▶  tensor  ──write──▶ dispatch(inputs, outputs) ──read──▶
 *
 * write, dispatch, copy and destroy queue and return; read and sync wait.  Every tensor sees all of them in call order,
 * and nothing is drained in between: dispatches that share only inputs overlap.  Bytes move between host and device by
 * write and read alone, and the counters say exactly how many.
 *
 * A context with threads has a control thread of its own.  One in virtual time keeps what is queued, and runs it on the
 * thread that calls read, sync or destroy_context.  Any thread may call, on any context: calls on one context take
 * turns.  Contexts share nothing.
 *
 * Errors.  A refused call has changed nothing; pto_context_error has the sentence.  A failure while something runs is
 * kept: every later call but destroy returns it until pto_context_clear_error; what was queued behind it is dropped,
 * and tensors that it would have written are undefined: reading or binding one as an input is PTO_EINVAL until it is
 * written again.
 */
#ifndef PTO_DEVICE_H
#define PTO_DEVICE_H

#include <pto/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pto_context;

/* ---- contexts ---- */

enum pto_acceleration { PTO_ACCELERATION_DEFAULT = 0 /* yes */, PTO_ACCELERATION_YES, PTO_ACCELERATION_NO };
enum pto_power_preference { PTO_POWER_DEFAULT = 0, PTO_POWER_HIGH_PERFORMANCE, PTO_POWER_LOW_POWER };

/* Zeroed fields mean the default in brackets.  Start with `struct pto_context_options o = {.size = sizeof o};`. */
struct pto_context_options {
  size_t size;
  uint32_t acceleration;     /* enum pto_acceleration: NO is the host reference, which runs tasks one at a time */
  uint32_t power_preference; /* enum pto_power_preference: LOW_POWER uses a quarter of the chip's clusters */
  uint64_t memory_bytes;     /* of the device, for tensors [1 GiB]; reserved, resident where used */
  uint32_t tensor_count;     /* tensors at a time [65536] */
  uint64_t reserved[8];      /* zero: later fields come from here */
  struct pto_config runtime; /* engine, chip ["a2a3"], workers, window, …; stays last; its size may be 0 */
};

/* What came of the hints, and what the device can do. */
struct pto_context_info {
  const char *backend; /* "npu-threads", "npu-virtual", "host" */
  const char *chip;
  bool accelerated;
  uint32_t clusters, workers; /* in use */
  uint32_t dtypes;            /* bit 1 << enum pto_dtype: what tensors may have */
  uint32_t max_rank;
  uint64_t max_tensor_bytes;
};

/* Makes a context.  `options` may be NULL.  On failure *context_out is untouched and the reason goes to `sentence`
 * (sentence_size bytes, may be NULL). */
PTO_API PTO_MUST_CHECK int pto_context_create(const struct pto_context_options *options,
                                              struct pto_context **context_out, char *sentence, size_t sentence_size);
/* Carries out what is queued, then frees the context and all its tensors.  NULL is allowed. */
PTO_API void pto_context_destroy(struct pto_context *context);
PTO_API struct pto_context_info pto_context_info(struct pto_context *context);

/* Waits for everything queued so far.  PTO_OK, or the failure that is kept. */
PTO_API PTO_MUST_CHECK int pto_context_sync(struct pto_context *context);
/* The sentence of the failure that is kept, else of the last refused call of the calling thread's turn; "" where there
 * was none.  Borrowed until the next call on the context. */
PTO_API const char *pto_context_error(struct pto_context *context);
/* Forgets the failure that is kept; the context works again.  PTO_OK, also where there was none. */
PTO_API int pto_context_clear_error(struct pto_context *context);

/* Exact counts of what has been carried out; sync first where all that was asked for is meant. */
struct pto_context_counters {
  size_t size;
  uint64_t h2d_bytes, h2d_calls; /* host to device: write, and the data of constant tensors */
  uint64_t d2h_bytes, d2h_calls; /* read */
  uint64_t d2d_bytes, d2d_calls; /* copy */
  uint64_t bindings;             /* tensors bound by dispatches */
  uint64_t binding_copied_bytes; /* copied to bind them: 0, the device works on the tensors themselves */
  uint64_t allocations, frees, live_bytes, peak_bytes; /* of device memory; in multiples of 512 */
  double fragmentation;                                /* 1 − largest free block / free bytes */
  uint64_t dispatches;
  uint64_t tasks, edges; /* of them */
  uint64_t window_high_water, heap_high_water_bytes;
  uint64_t wall_ns;     /* from the first call that was queued to the end of the last one carried out */
  uint64_t virtual_ps;  /* virtual time that has passed; 0 where time is real */
  uint64_t transfer_ps; /* of it, on the host link */
  /* Dispatches of programs that repeat (pto_device_program.repeats): those that submitted from the cache, those whose
   * orchestration was called, and of these the ones whose calls cannot be repeated; what is in the cache now. */
  uint64_t lowering_cache_hits, lowering_cache_misses, lowering_cache_unusable;
  uint64_t lowering_cache_entries, lowering_cache_bytes;
  /* Of the tasks: region lookups, entries whose overlap had to be decided, submits that had to wait for space. */
  uint64_t lookups, candidates, submit_waits;
  /* Virtual time of kernels, summed over cores, by where it comes from, as in struct pto_stats. */
  uint64_t measured_ps, interpolated_ps, modelled_ps, assumed_ps;
};
PTO_API void pto_context_counters(struct pto_context *context, struct pto_context_counters *counters);

/* ---- tensors ---- */

/* A handle: a value.  Used after destroy, or on another context, it is PTO_ESTALE. */
struct pto_device_tensor {
  uint64_t id; /* 0: none */
  uint64_t context;
};

/* What the host may do with a tensor; no limit on dispatch. */
enum pto_device_tensor_flags { PTO_TENSOR_READABLE = 1, PTO_TENSOR_WRITABLE = 2 };

struct pto_device_tensor_desc {
  uint32_t dtype; /* enum pto_dtype */
  uint32_t ndims;
  uint64_t shape[PTO_MAX_DIMS];
  uint32_t flags;    /* enum pto_device_tensor_flags [neither] */
  const char *label; /* as of struct pto_launch: borrowed, it outlives the context too [none] */
};

/* A dense tensor in device memory, zeroed.  PTO_EINVAL names what is wrong with `desc`; PTO_ENOMEM says how much of the
 * memory is free and in how large pieces. */
PTO_API PTO_MUST_CHECK int pto_device_tensor_create(struct pto_context *context,
                                                    const struct pto_device_tensor_desc *desc,
                                                    struct pto_device_tensor *tensor_out);
/* The same, readable and writable whatever desc->flags say. */
PTO_API PTO_MUST_CHECK int pto_device_tensor_create_host(struct pto_context *context,
                                                         const struct pto_device_tensor_desc *desc,
                                                         struct pto_device_tensor *tensor_out);
/* A tensor that keeps these bytes (exactly its size); desc->flags are 0, as the host neither reads nor writes it.
 * Dispatches read it (pto_bound.constants); it is never bound. */
PTO_API PTO_MUST_CHECK int pto_device_tensor_create_constant(struct pto_context *context,
                                                             const struct pto_device_tensor_desc *desc,
                                                             const void *data, uint64_t size_bytes,
                                                             struct pto_device_tensor *tensor_out);
/* What is known of a tensor; of its device, pto_context_info. */
struct pto_device_tensor_info {
  size_t size;
  uint32_t dtype, ndims;
  uint64_t shape[PTO_MAX_DIMS];
  uint64_t size_bytes;
  bool is_readable, is_writable; /* by the host */
  bool is_constant;
  const char *label; /* NULL: none */
};
/* Fills what fits into info->size bytes.  PTO_OK, or PTO_ESTALE. */
PTO_API PTO_MUST_CHECK int pto_device_tensor_describe(struct pto_context *context, struct pto_device_tensor tensor,
                                                      struct pto_device_tensor_info *info);
/* Bytes of the tensor; 0 for one of rank 0 dimensions with a 0, or a stale handle. */
PTO_API uint64_t pto_device_tensor_size(struct pto_context *context, struct pto_device_tensor tensor);
/* Copies `data` now and gives it to the tensor in its turn.  size_bytes is exactly the tensor's. */
PTO_API PTO_MUST_CHECK int pto_device_tensor_write(struct pto_context *context, struct pto_device_tensor tensor,
                                                   const void *data, uint64_t size_bytes);
/* Waits for the tensor's state as of this call and copies it to `data`. */
PTO_API PTO_MUST_CHECK int pto_device_tensor_read(struct pto_context *context, struct pto_device_tensor tensor,
                                                  void *data, uint64_t size_bytes);
/* Copies one tensor into another of the same dtype and shape, on the device. */
PTO_API PTO_MUST_CHECK int pto_device_tensor_copy(struct pto_context *context, struct pto_device_tensor from,
                                                  struct pto_device_tensor to);
/* Gives the memory back once the work queued so far is done.  A second time it is PTO_OK and nothing. */
PTO_API int pto_device_tensor_destroy(struct pto_context *context, struct pto_device_tensor tensor);

/* ---- dispatch ---- */

/* An input or output that an orchestration names. */
struct pto_operand {
  const char *name;
  uint32_t dtype, ndims;
  uint64_t shape[PTO_MAX_DIMS];
};

/* What an orchestration is given: tensors over device memory, in the order of its operands; valid until it returns. */
struct pto_bound {
  const struct pto_tensor *inputs, *outputs, *constants;
  void *context;
};

/* An orchestration with named inputs and outputs.  Borrowed, and everything it points to, until the dispatch is done.
 * It ends the scopes that it begins and no others; else the dispatch fails with PTO_EUSER.
 *
 * `repeats` other than 0 says: whenever orchestrate, context and repeats are the same, and the tensors too (inputs,
 * outputs, constants, in their order), the same tasks are submitted: kernels, parameters, scalars and scopes.  So the
 * context calls the orchestration once for each set of tensors and keeps what it submits (lowering_cache_…); later
 * dispatches submit that again, with fresh buffers.  Such kernels, and what they point to, must last until the context
 * is destroyed or forgets the program.  What comes of an element that was read, of the address of a buffer, or of host
 * memory cannot be kept: then the orchestration runs each time, as with 0.  A number that changes with each dispatch
 * must come in a tensor, not in a scalar.
 *
 * 1 will do for a program that is constant; one made at run time, whose context may be freed and its address used
 * again, takes pto_device_program_serial(). */
struct pto_device_program {
  const char *name;
  const struct pto_operand *inputs, *outputs;
  uint32_t input_count, output_count;
  const struct pto_device_tensor *constants;
  uint32_t constant_count;
  int (*orchestrate)(struct pto_runtime *rt, const struct pto_bound *bound);
  void *context;
  uint64_t repeats; /* [0: the orchestration runs at each dispatch] */
};

/* A number for `repeats` that no other call in this process has returned, nor will; above 2^32. */
PTO_API uint64_t pto_device_program_serial(void);

struct pto_binding {
  const char *name;
  struct pto_device_tensor tensor;
};

struct pto_dispatch_bindings {
  const struct pto_binding *inputs, *outputs;
  uint32_t input_count, output_count;
  const char *const
      *consumed;           /* inputs given up: undefined afterwards, unless the same tensor is bound to an output; */
  uint32_t consumed_count; /* only these may share their tensor with an output */
};

/* Queues one run of the program, in a scope of its own.  Borrows the bindings for the call.  Refused, with nothing
 * changed: a name missing, unknown or bound twice; a tensor bound twice anywhere (but to a consumed input and an
 * output), constant, destroyed, undefined (as an input) or of another context; another dtype or shape than the
 * operand's. */
PTO_API PTO_MUST_CHECK int pto_context_dispatch(struct pto_context *context, const struct pto_device_program *program,
                                                const struct pto_dispatch_bindings *bindings);
/* Host memory that stands for an operand: exactly its bytes, dense. */
struct pto_host_array {
  const char *name;
  void *data; /* of an input: read alone */
  uint64_t size_bytes;
};

struct pto_compute_arrays {
  const struct pto_host_array *inputs, *outputs;
  uint32_t input_count, output_count;
};

/* The program once, from host memory to host memory: tensors are made, inputs written, the program dispatched, outputs
 * read, and the tensors destroyed; it waits.  Refused as pto_context_dispatch refuses, and for arrays of another size.
 * The outputs have no values that could be relied on unless it is PTO_OK.  Nothing is kept for the next time: what runs
 * often is better off with tensors of its own. */
PTO_API PTO_MUST_CHECK int pto_context_compute(struct pto_context *context, const struct pto_device_program *program,
                                               const struct pto_compute_arrays *arrays);
/* What an operand of a call is: a tensor of the context; or, where tensor.id is 0, host memory of exactly its bytes;
 * or, of an output where `data` is NULL too, a tensor that the call makes. */
struct pto_argument {
  const char *name;
  struct pto_device_tensor tensor; /* written, of an output that the call makes: the caller's, readable and writable */
  void *data;                      /* of an input: read alone */
  uint64_t size_bytes;
};
struct pto_call {
  size_t size;
  const struct pto_argument *inputs;
  struct pto_argument *outputs;
  uint32_t input_count, output_count;
  const char *const *consumed; /* as of pto_dispatch_bindings */
  uint32_t consumed_count;
};
/* One dispatch whose operands are tensors, host memory and outputs that are made for it, in any mixture.  Host memory
 * of inputs is copied at the call; where an output is host memory the call waits for it, else it queues as
 * pto_context_dispatch does.  Refused as that, and for arrays of another size; then nothing has been made. */
PTO_API PTO_MUST_CHECK int pto_context_call(struct pto_context *context, const struct pto_device_program *program,
                                            const struct pto_call *call);
/* Waits for what is queued, then forgets what is kept of the program's submits (those of its orchestrate, context and
 * repeats): before its kernels or its shared object go, while the context stays.  PTO_OK, also where nothing was kept;
 * or the failure that the context keeps: it is forgotten all the same. */
PTO_API int pto_context_forget_program(struct pto_context *context, const struct pto_device_program *program);

#ifdef __cplusplus
}
#endif
#endif
