/* SPDX-License-Identifier: MIT */
/*
 * matmul_batch: C[i] = A[i]·B[i] for each tile i of three stacks [tiles, rows, columns], in one kernel call.
 *
 * A header of static functions, because a program is one shared object with nothing behind it but include/pto.
 */
#ifndef PTO_ORCHESTRATION_MATMUL_MATMUL_BATCH_H
#define PTO_ORCHESTRATION_MATMUL_MATMUL_BATCH_H

#include <orchestration/support/general_call.h>
#include <orchestration/support/kernel.h>

#include <stdio.h>

/* The product of tile i; `abc` has room for its three matrices. */
static struct general_call tile_product(const struct pto_kernel_args *args, uint64_t i, struct pto_kernel_tensor *abc) {
  for (int k = 0; k < 3; k++) abc[k] = general_part(&args->tensors[k], i);
  return (struct general_call){.name = "matmul", .core = args->core, .tensors = abc, .tensor_count = 3};
}

static int matmul_batch(const struct pto_kernel_args *args) {
  struct pto_kernel_tensor abc[3];
  int status = 0;
  for (uint64_t i = 0; status == 0 && i < args->tensors[2].shape[0]; i++) {
    const struct general_call matmul = tile_product(args, i, abc);
    status = general_run(&matmul);
  }
  return status;
}

/* One tile after the other, in the local memory of one. */
static struct pto_cost matmul_batch_cost(const struct pto_kernel_args *args) {
  struct pto_kernel_tensor abc[3];
  const struct general_call matmul = tile_product(args, 0, abc);
  struct pto_cost cost = general_cost(&matmul);
  uint64_t tiles = args->tensors[2].shape[0];
  cost.bytes_in *= tiles;
  cost.bytes_out *= tiles;
  cost.multiply_adds *= tiles;
  cost.l0a_bytes *= tiles;
  cost.l0b_bytes *= tiles;
  return cost;
}

/* "128x128x128 f32 n4": rows, inner size and columns of a tile, and how many there are. */
static int matmul_batch_key(const struct pto_kernel_args *args, char *text, uint32_t size) {
  const struct pto_kernel_tensor *a = &args->tensors[0], *c = &args->tensors[2];
  return snprintf(text, size, "%llux%llux%llu %s n%llu", (unsigned long long)c->shape[1],
                  (unsigned long long)a->shape[2], (unsigned long long)c->shape[2], pto_dtype_name(a->dtype),
                  (unsigned long long)c->shape[0]);
}

static const struct pto_kernel_param matmul_batch_params[] = {
    TENSOR("a", PTO_INPUT, F32, 3), TENSOR("b", PTO_INPUT, F32, 3), TENSOR("c", PTO_OUTPUT, F32, 3)};
KERNEL(kernel_matmul_batch, matmul_batch_params, .name = "matmul_batch", .cores = PTO_AIC, .run = matmul_batch,
       .cost = matmul_batch_cost, .key = matmul_batch_key);

#endif
