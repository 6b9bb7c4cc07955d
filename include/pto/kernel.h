/* SPDX-License-Identifier: MIT */
/*
 * The kernel ABI: what runs on a core.
 *
 * A kernel is a constant of its shared object, used by address.  It gets resolved descriptors, not bare pointers, and
 * reads its layout from them: tensors[i] is the i-th tensor parameter of the task, scalars[j] the j-th scalar, each in
 * the order in which they were passed to the submit.  Everything reachable from the arguments is read-only but for the
 * tensors' elements and the core's local memory, and lives until `run` returns.
 *
 * A kernel keeps no state of its own between calls: two of them run at the same time on two cores.  It chooses no order
 * of arithmetic by core, block placement or machine.  It returns 0, or an error through pto_kernel_error, which ends
 * the run.
 */
#ifndef PTO_KERNEL_H
#define PTO_KERNEL_H

#include <pto/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of cores, a bit each; PTO_CLUSTER is for pto_core_count. */
enum pto_core_kind { PTO_AIC = 1, PTO_AIV = 2, PTO_CLUSTER = 4 };

/* What a task does to a parameter.  Bit 0 reads, bit 1 writes.  A held parameter is neither looked up nor entered: its
 * memory stays until the task is done, and the kernel may touch it in an order that the program sees to.
 *
 * A tensor names a version of its buffer (pto_tensor_with_version), which begins at 0.  Each mode keeps the version and
 * must name the current one; an OUTPUT may name the next one instead, and so advances it. */
enum pto_mode {
  PTO_UNUSED = 0, /* only in a kernel's list: this kernel of a MIX task leaves the parameter to the others */
  PTO_INPUT = 1,
  PTO_OUTPUT = 2,
  PTO_INOUT = 3,
  PTO_HOLD = 4, /* a task's, whatever its kernels' lists say; in a list: passed so alone, may be read and written */
  PTO_ACCUMULATE = 7, /* reads and writes as INOUT; bit 2: adds into, in the kernel's own += */
  PTO_SCALAR = 8
};

enum pto_scalar_type { PTO_SCALAR_F32 = 1, PTO_SCALAR_I64 = 2, PTO_SCALAR_U64 = 3 };

#define PTO_MAX_TENSORS 32 /* tensor parameters a task */
#define PTO_MAX_SCALARS 32 /* scalar parameters a task */
#define PTO_MAX_PARAMS (PTO_MAX_TENSORS + PTO_MAX_SCALARS)

/* One parameter that a kernel expects.  Zeroed fields are the permissive default. */
struct pto_kernel_param {
  const char *name;
  uint32_t mode;     /* enum pto_mode */
  uint32_t dtypes;   /* set of PTO_DTYPE_BIT; 0: any */
  uint32_t min_rank; /* of tensors */
  uint32_t max_rank; /* of tensors; 0: any rank from min_rank up */
  uint32_t scalar;   /* enum pto_scalar_type, where mode is PTO_SCALAR */
};

union pto_scalar {
  float f32;
  int64_t i64;
  uint64_t u64;
};

/* A tensor parameter as the kernel sees it.  Element (i0, i1, …) is at addr + (Σ i_k · strides[k]) · dtype size. */
struct pto_kernel_tensor {
  void *addr;
  const uint64_t *shape;   /* ndims extents, outermost first */
  const uint64_t *strides; /* ndims strides, in elements */
  uint32_t ndims;
  uint32_t dtype;
};

/* One memory local to a core. */
struct pto_local_memory {
  void *addr;
  uint64_t size_bytes;
};

struct pto_core_port;

/* The core that runs the kernel, and which part of the task it has. */
struct pto_core {
  uint32_t kind;        /* PTO_AIC or PTO_AIV */
  uint32_t index;       /* among all cores of the chip */
  uint32_t cluster;     /* index of its cluster */
  uint32_t lane;        /* place in the cluster: 0 AIC, 1 AIV0, 2 AIV1 */
  uint32_t block_index; /* this block of the task, 0 ≤ block_index < block_count */
  uint32_t block_count;
  struct pto_local_memory local;         /* AIV: the unified buffer (UB); AIC: L1 */
  struct pto_local_memory l0a, l0b, l0c; /* AIC only */
  char *message;                         /* where pto_kernel_error leaves its sentence */
  uint32_t message_size;
  uint32_t role;              /* which kernel of the launch this is: enum pto_role of core.h */
  struct pto_core_port *port; /* the engine's, for the calls of core.h; NULL in a kernel that does not wait */
};

struct pto_kernel_args {
  const struct pto_kernel_tensor *tensors;
  const union pto_scalar *scalars;
  const struct pto_core *core;
  uint32_t tensor_count;
  uint32_t scalar_count;
};

/* What one block of a kernel costs, from its descriptors alone. */
struct pto_cost {
  uint64_t bytes_in;      /* read from global memory */
  uint64_t bytes_out;     /* written to global memory */
  uint64_t vector_elems;  /* element operations of the vector unit */
  uint64_t multiply_adds; /* of the cube unit */
  uint64_t local_bytes;   /* local memory needed */
  uint32_t dtype;         /* enum pto_dtype of what the units work on; 0 is f32 */
  uint32_t trips;         /* to global memory and back that wait for each other; 0: one to read and one to write */
  uint64_t l0a_bytes;     /* from L1 to L0A; with l0b_bytes 0: those of a product in tiles of 128 x 256 */
  uint64_t l0b_bytes;     /* from L1 to L0B */
};

/* Room for a kernel's key, its NUL counted. */
#define PTO_KERNEL_KEY_SIZE 96

enum pto_kernel_flags {
  PTO_KERNEL_IN_PLACE = 1,  /* an INPUT and an OUTPUT may be the same bytes in the same layout */
  PTO_KERNEL_WAITS = 2,     /* calls what core.h offers, on a stack of its own */
  PTO_KERNEL_TURNS = 4,     /* touches what it accumulates into only after pto_core_turn: its blocks may overlap before.
                               Implies PTO_KERNEL_WAITS. */
  PTO_KERNEL_ONE_BLOCK = 8, /* does the whole of its tensors in one call: a submit with more blocks is refused */
  PTO_KERNEL_REMOTE = 16    /* calls what remote.h offers.  Implies PTO_KERNEL_WAITS. */
};

struct pto_kernel {
  const char *name;
  uint32_t cores;                        /* PTO_AIC | PTO_AIV: where it can run */
  uint32_t flags;                        /* enum pto_kernel_flags */
  const struct pto_kernel_param *params; /* tensors and scalars in the order of the submit; without any it takes none */
  uint32_t param_count;
  int (*run)(const struct pto_kernel_args *args); /* never NULL */
  /* NULL: every byte of inputs and outputs moved once, one vector operation an output element, no local memory.  Called
   * with the block's own core description; tensors may have no address yet. */
  struct pto_cost (*cost)(const struct pto_kernel_args *args);
  /* NULL, or a check at submit of what modes, dtypes and ranks cannot say ("matmul: inner sizes 64 and 32 differ
   * (params 0 and 1)").  Tensors have no address yet.  Returns 0, or through pto_kernel_error. */
  int (*check)(const struct pto_kernel_args *args);
  /* NULL, or writes what the kernel's time depends on, by which tables of measured times know it: words of small
   * letters and digits with single blanks between them ("16x128 bf16 n64").  At most `size` bytes with the NUL, as
   * snprintf; returns what snprintf does.  From shapes, dtypes and block_count alone, and from scalars only as far as
   * `cost` does: calls that are alike in these have one key.  Tensors may have no address yet. */
  int (*key)(const struct pto_kernel_args *args, char *text, uint32_t size);
};

/* Leaves a sentence for the run's error and returns PTO_EKERNEL: `return pto_kernel_error(args, "index %d …", i);`. */
PTO_API int pto_kernel_error(const struct pto_kernel_args *args, const char *format, ...) PTO_PRINTF(2, 3);

/* The general kernel called `name` ("add", "matmul", …), or NULL.  Constants, as the next two give: any thread. */
PTO_API const struct pto_kernel *pto_kernel_find(const char *name);
/* The general kernels by index, 0 ≤ index < pto_kernel_count(). */
PTO_API uint32_t pto_kernel_count(void);
PTO_API const struct pto_kernel *pto_kernel_at(uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
