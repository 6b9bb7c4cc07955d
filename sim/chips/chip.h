/* SPDX-License-Identifier: MIT */
/*
 * A chip description: clusters, control threads, clocks, local memories, bandwidths and the price of control work, all
 * from an INI file (sim/chips, or the user's).  A value, owned by who loads it; constant after loading; every number of
 * virtual time comes from here.  Any thread.
 *
 * What keys of the file are optional is said in docs/chip-file.md, and what they are where a file has them not: a
 * chip made by hand needs the same.
 *
 * A sheet is the same file as text by key, with where each number comes from.  Reports print it and calibration writes
 * it; no time depends on it.
 */
#ifndef PTO_SIM_CHIPS_CHIP_H
#define PTO_SIM_CHIPS_CHIP_H

#include <stdio.h>

#include <runtime/base/error.h>
#include <runtime/port/port.h>

#define PTO_CHIP_MAX_SCHEDULERS 16
#define PTO_CHIP_MAX_CLUSTERS 1024
#define PTO_CHIP_MAX_SLOTS 16
#define PTO_CHIP_MAX_JOINED 64

/* How the time of a kernel call comes about where no table has it ([stages]); rates in MB/s. */
struct pto_chip_stages {
  uint64_t start_ps; /* from the first instruction to the first transfer, and from the last one to the end */
  uint64_t trip_ps;  /* a round trip to global memory that nothing else goes on beside */
  uint64_t gm_to_l1_mbps, l1_to_l0a_mbps, l1_to_l0b_mbps, l0c_to_gm_mbps; /* of an AIC */
  uint64_t gm_to_ub_mbps, ub_to_gm_mbps;                                  /* of an AIV */
  uint64_t cube_percent; /* what a product reaches of the cube's rate */
};

/* What joins the chips of a package, the chips of a node, and the nodes. */
enum pto_chip_tier { PTO_CHIP_PACKAGE, PTO_CHIP_NODE, PTO_CHIP_NODES, PTO_CHIP_TIER_COUNT };
enum pto_chip_topology { PTO_CHIP_SWITCH, PTO_CHIP_MESH, PTO_CHIP_RING };

/* Links to other chips ([fabric]), of which sim/fabric/fabric.h says what they do. */
struct pto_chip_fabric {
  uint32_t dies_per_package; /* a die is a chip: what this file describes; 1 where the file has no [fabric] */
  uint32_t chips_per_node;   /* a multiple of dies_per_package */
  uint32_t nodes;            /* nodes · chips_per_node <= PTO_CHIP_MAX_JOINED */
  uint64_t start_ps;         /* from a core's instruction to the first byte on the way */
  uint64_t link_percent;     /* what flows reach of a link's bandwidth */
  struct {
    uint64_t latency_ps; /* of a hop; 0 of a tier that has one member */
    uint64_t bandwidth_mbps;
    uint32_t topology; /* enum pto_chip_topology */
  } tiers[PTO_CHIP_TIER_COUNT];
};

struct pto_chip {
  char name[64];          /* with "…" at its end where keys were set for which there was no room */
  char era[64];           /* which hardware and runtime it describes; "": does not say */
  char kernel_times[320]; /* a shipped table of kernel times, or the path of one; "": none */
  char half_kernel[64];   /* of what-if: "a+b", calls of these kernels take half of their time; "": none */
  uint32_t has_stages;
  struct pto_chip_stages stages; /* where has_stages */
  uint32_t cluster_count;
  uint32_t scheduler_count;
  uint32_t slots_per_core; /* running and pending */
  uint64_t ub_bytes, l1_bytes, l0a_bytes, l0b_bytes, l0c_bytes;
  uint64_t aic_clock_khz, aiv_clock_khz;
  uint64_t cube_macs_per_cycle; /* multiply-adds an AIC does a cycle, of dtypes of 32 bits and more */
  uint64_t cube_macs_per_cycle_16bit, cube_macs_per_cycle_8bit;
  uint64_t vector_elems_per_cycle; /* elements an AIV does a cycle, of dtypes of 32 bits and more and of bf16 */
  uint64_t vector_elems_per_cycle_16bit, vector_elems_per_cycle_8bit;
  uint64_t core_bandwidth_mbps; /* global memory, MB/s, one core alone */
  uint64_t chip_bandwidth_mbps; /* global memory, MB/s, all cores together */
  uint64_t l2_bytes;            /* 0: there is no L2 cache */
  uint32_t has_lru_l2;          /* what is in it goes by use, not by what tasks hold */
  uint64_t l2_core_bandwidth_mbps, l2_chip_bandwidth_mbps;
  uint32_t shares_anew;                          /* a kernel's bandwidth changes when others begin and end */
  uint64_t kernel_start_ps;                      /* from message to first instruction */
  uint64_t pending_start_ps;                     /* the same of a message that waited at the core for the one before */
  uint64_t cold_start_ps;                        /* what the first message of a core takes besides, in the mean */
  uint64_t handshake_ps;                         /* before the run: where all clocks begin */
  uint64_t loop_ps;                              /* a turn of a scheduler's loop, fixed part; 0: it has no loop */
  uint64_t look_ps;                              /* a look at a core in that loop */
  uint64_t dispatch_more_ps;                     /* a message of the task whose message the scheduler sent last */
  uint64_t kernel_end_ps;                        /* from last instruction to visible completion */
  uint64_t signal_ps;                            /* from a signal to the core that waits for it */
  uint64_t fifo_bandwidth_mbps;                  /* of either end of a FIFO between two cores of a cluster, MB/s */
  uint64_t host_latency_ps, host_bandwidth_mbps; /* host link */
  uint64_t work_ps[PTO_WORK_COUNT];              /* price of control work, by kind */
  uint32_t has_profiling;                        /* the next five are in the prices that they are of */
  uint64_t profiling_start_ps, profiling_pending_ps, profiling_dispatch_ps, profiling_poll_ps, profiling_complete_ps;
  uint32_t deals_clusters;    /* cluster c is of scheduler c mod schedulers, not of a range */
  uint32_t is_graph_prebuilt; /* no orchestrator on the device; a resolver beside the schedulers */
  uint32_t schedulers_wire;   /* edges are wired by a scheduler, not by the orchestrator */
  struct pto_chip_fabric fabric;
};

/* Where a number comes from: the first word of the comment behind it, before a colon.  "public" is vendor too. */
enum pto_chip_tag {
  PTO_CHIP_UNTAGGED,
  PTO_CHIP_MEASURED, /* on hardware, as it is */
  PTO_CHIP_FITTED,   /* so that a component comes out as measured */
  PTO_CHIP_VENDOR,   /* a published specification, or what follows from it */
  PTO_CHIP_ASSUMED,  /* plausible */
  PTO_CHIP_TAG_COUNT
};
const char *pto_chip_tag_name(enum pto_chip_tag tag); /* "" of PTO_CHIP_UNTAGGED */

/* A key as a file has it: `key = value ; tag: source`. */
struct pto_chip_note {
  const char *section, *key; /* constant texts */
  char value[64];
  enum pto_chip_tag tag;
  char source[192]; /* behind the tag's colon; all of the comment where there is no tag; "": nothing */
};

#define PTO_CHIP_MAX_NOTES 160

/* All that a file says, in its order. */
struct pto_chip_sheet {
  char about[2048]; /* the comment lines at its head, cut after whole lines */
  uint32_t count;
  struct pto_chip_note notes[PTO_CHIP_MAX_NOTES];
};

/* Loads a shipped chip by name, else the file at that path.  Behind a comma, "a2a3,dispatch=1,clusters=12", keys are
 * set to other values, and are part of the chip's name then.  PTO_OK, or PTO_EINVAL / PTO_ESYSTEM with file, line and
 * key. */
int pto_chip_load(const char *name_or_path, struct pto_chip *chip, struct pto_error *error);
/* The same, and what the file says of each number. */
int pto_chip_load_sheet(const char *name_or_path, struct pto_chip *chip, struct pto_chip_sheet *sheet,
                        struct pto_error *error);
/* The first key of a chip file that they have otherwise, but for name and era; NULL: they are alike. */
const char *pto_chip_find_difference(const struct pto_chip *a, const struct pto_chip *b);
/* "ps", "MB/s", "kHz", "bytes", "%", "a cycle"; "" of words and of counts. */
const char *pto_chip_note_unit(const struct pto_chip_note *note);
/* NULL: the sheet does not have the key. */
const struct pto_chip_note *pto_chip_sheet_find(const struct pto_chip_sheet *sheet, const char *key);
/* Gives `key` a value (text), a tag and a source; adds it to its section where the file has it not.  PTO_EINVAL: no
 * chip file has such a key, or the line gets too long. */
int pto_chip_sheet_set(struct pto_chip_sheet *sheet, const struct pto_chip_note *note, struct pto_error *error);
/* The sheet as a chip file; false where the stream did not take all of it (one in memory has no other sign of that). */
bool pto_chip_sheet_write(const struct pto_chip_sheet *sheet, FILE *file);
/* What that file would be loaded as, from the place of `label`: a table of kernel times is relative to it. */
PTO_MUST_CHECK int pto_chip_sheet_load(const struct pto_chip_sheet *sheet, const char *label, struct pto_chip *chip,
                                       struct pto_error *error);
/* The shipped chips' names by index; NULL past the end. */
const char *pto_chip_name_at(uint32_t index);

#endif
