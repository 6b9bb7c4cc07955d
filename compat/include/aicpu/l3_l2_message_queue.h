/* SPDX-License-Identifier: MIT */
/*
 * Refused: worker_chip_message_queue.h under the name that it had until August 2026.
 */
#ifndef PTO_COMPAT_AICPU_L3_L2_MESSAGE_QUEUE_H
#define PTO_COMPAT_AICPU_L3_L2_MESSAGE_QUEUE_H

#error "aicpu/l3_l2_message_queue.h: queues between a worker process and the orchestration are not to be had here"

#endif
