/* SPDX-License-Identifier: MIT */
/* The engines for which a kernel may ask for a workspace. */
#ifndef PTO_COMPAT_DMA_WORKSPACE_H
#define PTO_COMPAT_DMA_WORKSPACE_H

enum DmaWorkspaceKind { DMA_WORKSPACE_SDMA = 0, DMA_WORKSPACE_URMA = 1, DMA_WORKSPACE_KIND_COUNT = 2 };

#endif
