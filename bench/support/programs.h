/* SPDX-License-Identifier: MIT */
/*
 * Where benches find programs.  Owns nothing.  One thread.
 */
#ifndef PTO_BENCH_PROGRAMS_H
#define PTO_BENCH_PROGRAMS_H

/* Those of the build that the bench `self` (argv[0]) is part of, unless the environment says otherwise. */
void pto_bench_find_programs(const char *self);

#endif
