/* SPDX-License-Identifier: MIT */
/*
 * Refused: an orchestration that talks with a worker process while it runs, which several chips are for.
 */
#ifndef PTO_COMPAT_AICPU_WORKER_CHIP_MESSAGE_QUEUE_H
#define PTO_COMPAT_AICPU_WORKER_CHIP_MESSAGE_QUEUE_H

#error "aicpu/worker_chip_message_queue.h: queues between a worker process and the orchestration are not to be had here"

#endif
