/* SPDX-License-Identifier: MIT */
/*
 * The question of linear_form.h for many long terms of unrelated strides: a search for a lattice point in a box.
 *
 * The vectors (x[0], …, x[n − 1], Σ coef·x) are a lattice of n dimensions; the question is whether one of its points
 * lies in the box 0 ≤ x[k] ≤ last[k], lo ≤ Σ ≤ hi.  The lattice is scaled so that the box becomes a cube, its basis is
 * reduced (Lenstra, Lenstra and Lovász 1982), and the points in the ball around the cube are listed from the middle
 * outwards (Schnorr and Euchner 1994) until one lies in the box.  Where there is none, few points lie in the ball: the
 * work depends on the number of terms and hardly on their size.
 *
 * Slower than linear_form.c on what that settles quickly (a reduction costs about a millisecond), so it only gets the
 * rest.
 *
 * Values only, no allocation, any thread.
 */
#ifndef PTO_LATTICE_SEARCH_H
#define PTO_LATTICE_SEARCH_H

#include <runtime/tensor/linear_form.h>

/* pto_linear_form_reaches by this way alone; 1 ≤ form->count ≤ PTO_FORM_TERMS.  A step is a swap of the reduction or a
 * node of the search. */
enum pto_answer pto_lattice_search(const struct pto_linear_form *form, struct pto_step_budget *budget);

#endif
