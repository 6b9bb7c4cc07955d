/* SPDX-License-Identifier: MIT */
/*
 * Gradients of train_mlp against differences of the loss in double precision: (f(w + h) − f(w − h)) / 2h.
 *
 * Both may differ by the sum of three things, and by no more:
 *
 *   what the gradient's roundings come to: its bound (plain_mlp.h)
 *   what differences leave out: h²/6 · |f‴|.  Logits are linear in one weight, so f‴ is a third central moment of what
 *     they change by: at most R³ / (6√3) where these changes lie within R
 *   what the two losses are rounded by, over h
 *
 * A header of static functions, because a program is one shared object with nothing behind it but include/pto.
 */
#ifndef PTO_ORCHESTRATION_MODELS_MLP_DIFFERENCES_H
#define PTO_ORCHESTRATION_MODELS_MLP_DIFFERENCES_H

#include <orchestration/models/plain_mlp.h>

#define MOST_CHECKED 16 /* elements of a tensor, spread over it */
#define DISTANCE 1e-4   /* h */

struct differences {
  struct pto_program_run *run;
  const struct plain_mlp *m; /* after forward and backward, with bounds */
  const float *labels;
  double *raised;  /* logits of the first of two losses */
  double rounding; /* of a loss */
};

/* Logits may be off by their f32 bound in proportion, twice that here; log Σexp and the mean have roundings of their
 * own. */
static inline double rounding_of_loss(const struct plain_mlp *m) {
  const struct grid *z = &m->a[m->sizes.layers];
  double off = 0, size = 1;
  for (uint64_t i = 0; i < z->rows * z->columns; i++) {
    off = fmax(off, z->bounds[i]);
    size = fmax(size, fabs((double)z->at[i]));
  }
  const double finer = 0x1p-53 / ROUNDING;
  return 4 * off * finer + (double)(z->rows + z->columns + 8) * 0x1p-53 * (2 * size + log((double)z->columns));
}

static inline int differences_init(struct differences *d, struct pto_program_run *run, const struct plain_mlp *m,
                                   const float *labels) {
  *d = (struct differences){.run = run, .m = m, .labels = labels, .rounding = rounding_of_loss(m)};
  d->raised = pto_program_alloc(run, m->sizes.batch * m->sizes.classes * sizeof *d->raised);
  return d->raised ? PTO_OK : PTO_ENOMEM;
}

/* h²/6 · |f‴|, after both losses. */
static inline double left_out(const struct differences *d) {
  const struct mlp_sizes *s = &d->m->sizes;
  const double *lowered = d->m->exact[s->layers];
  double cubes = 0;
  for (uint64_t i = 0; i < s->batch; i++) {
    double least = INFINITY, most = -INFINITY;
    for (uint64_t j = i * s->classes; j < (i + 1) * s->classes; j++) {
      const double change = (d->raised[j] - lowered[j]) / (2 * DISTANCE);
      least = fmin(least, change);
      most = fmax(most, change);
    }
    cubes += pow(most - least, 3);
  }
  return DISTANCE * DISTANCE / 6 * cubes / (double)s->batch / (6 * sqrt(3));
}

/* A gradient that is wrong gets the difference as its golden value.  Where no bound can be told, since numbers
 * overflow, nothing is. */
static inline int check_element(const struct differences *d, struct pto_array *gradient, const struct grid *of,
                                double bound, uint64_t index) {
  const struct mlp_sizes *s = &d->m->sizes;
  const double up = plain_mlp_loss(d->m, d->labels, of, index, DISTANCE);
  memcpy(d->raised, d->m->exact[s->layers], s->batch * s->classes * sizeof *d->raised);
  const double down = plain_mlp_loss(d->m, d->labels, of, index, -DISTANCE);
  const double difference = (up - down) / (2 * DISTANCE), got = pto_array_get(gradient, index);
  const double allowed = bound + left_out(d) + d->rounding / DISTANCE;
  if (!isfinite(allowed) || fabs(got - difference) <= allowed) return PTO_OK;
  double *golden = pto_array_golden(d->run, gradient);
  if (!golden) return PTO_ENOMEM;
  golden[index] = difference;
  return PTO_OK;
}

/* `gradient` by the weights or biases `of`; `plain` has its bounds.  PTO_OK, or PTO_ENOMEM. */
static inline int check_gradient(const struct differences *d, struct pto_array *gradient, const struct grid *of,
                                 const struct grid *plain) {
  const uint64_t step = gradient->numel > MOST_CHECKED ? gradient->numel / MOST_CHECKED : 1;
  int status = PTO_OK;
  for (uint64_t i = 0; i < gradient->numel && !status; i += step)
    status = check_element(d, gradient, of, plain->bounds[i], i);
  return status;
}

#endif
