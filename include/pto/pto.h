/* SPDX-License-Identifier: MIT */
/*
 * Everything that a kernel, an orchestration or an embedding program may use of the PTO task runtime and its simulated
 * chip.  C17; C++ programs can include it too.  Reading order: tensor.h (what a task touches), kernel.h (what runs),
 * core.h (kernels that wait for each other), runtime.h (how tasks are submitted), recorded.h (tasks that are recorded
 * once and launched again), program.h (how a program is packed for ptosim), device.h (tensors that stay on the device,
 * and what is dispatched on them), graph.h (models as graphs of typed operations), kernel_meter.h (what profilers are
 * told), dlpack.h (tensors of other libraries), version.h (of the library).
 */
#ifndef PTO_PTO_H
#define PTO_PTO_H

#include <pto/core.h>
#include <pto/device.h>
#include <pto/dlpack.h>
#include <pto/graph.h>
#include <pto/kernel.h>
#include <pto/kernel_meter.h>
#include <pto/program.h>
#include <pto/recorded.h>
#include <pto/runtime.h>
#include <pto/status.h>
#include <pto/tensor.h>
#include <pto/version.h>

#endif
