/* SPDX-License-Identifier: MIT */
#include <check/order/access_index.h>

#include <stdlib.h>
#include <string.h>

#include <runtime/base/grow.h>

int pto_access_index_init(struct pto_access_index *index, uint64_t space_count) {
  *index = (struct pto_access_index){
      .space_count = space_count, .free_regions = PTO_INDEX_NONE, .free_accesses = PTO_INDEX_NONE};
  index->roots = malloc((space_count ? space_count : 1) * sizeof *index->roots);
  if (!index->roots) return PTO_ENOMEM;
  memset(index->roots, 0xff, space_count * sizeof *index->roots);
  return PTO_OK;
}

void pto_access_index_fini(struct pto_access_index *index) {
  free(index->roots);
  free(index->regions);
  free(index->accesses);
  free(index->hits);
  memset(index, 0, sizeof *index);
}

/* ---- the treap ---- */

static struct pto_index_region *at(const struct pto_access_index *index, uint32_t i) { return &index->regions[i]; }

static void update(struct pto_access_index *index, uint32_t i) {
  struct pto_index_region *r = at(index, i);
  r->last_end = r->region.end;
  if (r->left != PTO_INDEX_NONE) r->last_end = pto_max_u64(r->last_end, at(index, r->left)->last_end);
  if (r->right != PTO_INDEX_NONE) r->last_end = pto_max_u64(r->last_end, at(index, r->right)->last_end);
}

static bool stands_before(const struct pto_access_index *index, uint32_t a, uint32_t b) {
  const uint64_t x = at(index, a)->region.start, y = at(index, b)->region.start;
  return x != y ? x < y : a < b;
}

/* Parts a subtree into what stands before region `by` and what stands behind it. */
static void split(struct pto_access_index *index, uint32_t root, uint32_t by, uint32_t *before, uint32_t *behind) {
  if (root == PTO_INDEX_NONE) {
    *before = *behind = PTO_INDEX_NONE;
    return;
  }
  if (stands_before(index, root, by)) {
    split(index, at(index, root)->right, by, &at(index, root)->right, behind);
    *before = root;
  } else {
    split(index, at(index, root)->left, by, before, &at(index, root)->left);
    *behind = root;
  }
  update(index, root);
}

static uint32_t merge(struct pto_access_index *index, uint32_t a, uint32_t b) {
  if (a == PTO_INDEX_NONE) return b;
  if (b == PTO_INDEX_NONE) return a;
  if (at(index, a)->priority > at(index, b)->priority) {
    at(index, a)->right = merge(index, at(index, a)->right, b);
    update(index, a);
    return a;
  }
  at(index, b)->left = merge(index, a, at(index, b)->left);
  update(index, b);
  return b;
}

static uint32_t insert(struct pto_access_index *index, uint32_t root, uint32_t fresh) {
  struct pto_index_region *r = at(index, fresh);
  if (root == PTO_INDEX_NONE) return fresh;
  if (r->priority > at(index, root)->priority) {
    split(index, root, fresh, &r->left, &r->right);
    update(index, fresh);
    return fresh;
  }
  uint32_t *side = stands_before(index, fresh, root) ? &at(index, root)->left : &at(index, root)->right;
  *side = insert(index, *side, fresh);
  update(index, root);
  return root;
}

static uint32_t without(struct pto_access_index *index, uint32_t root, uint32_t gone) {
  struct pto_index_region *r = at(index, root);
  if (root == gone) return merge(index, r->left, r->right);
  uint32_t *side = stands_before(index, gone, root) ? &r->left : &r->right;
  *side = without(index, *side, gone);
  update(index, root);
  return root;
}

/* ---- lookup ---- */

static bool is_same(const struct pto_region *a, const struct pto_region *b) {
  return a->start == b->start && a->run_bytes == b->run_bytes && a->ndims == b->ndims && a->is_fuzzy == b->is_fuzzy &&
         memcmp(a->extents, b->extents, a->ndims * sizeof a->extents[0]) == 0 &&
         memcmp(a->strides, b->strides, a->ndims * sizeof a->strides[0]) == 0;
}

static bool add_hit(struct pto_access_index *index, uint32_t region, uint32_t relation) {
  struct pto_index_hit *hit = pto_grow(&index->hits, &index->hit_count, &index->hit_capacity, sizeof *hit);
  if (hit) *hit = (struct pto_index_hit){region, relation};
  return hit;
}

static bool find_below(struct pto_access_index *index, uint32_t root, const struct pto_region *region) {
  if (root == PTO_INDEX_NONE || at(index, root)->last_end <= region->start) return true;
  const struct pto_index_region *r = at(index, root);
  if (!find_below(index, r->left, region)) return false;
  if (r->region.start >= region->end) return true; /* and so has all behind it */
  uint32_t relation = PTO_DISJOINT;
  if (is_same(&r->region, region)) {
    index->own = root;
    relation = region->is_fuzzy ? PTO_PARTIAL : PTO_EQUAL;
  } else if (pto_region_ranges_overlap(&r->region, region)) {
    relation = pto_region_overlap(region, &r->region, NULL);
  }
  if (relation != PTO_DISJOINT && !add_hit(index, root, relation)) return false;
  return find_below(index, r->right, region);
}

int pto_access_index_find(struct pto_access_index *index, uint32_t space, const struct pto_region *region) {
  PTO_ASSERT(space < index->space_count);
  index->hit_count = 0;
  index->own = PTO_INDEX_NONE;
  return find_below(index, index->roots[space], region) ? PTO_OK : PTO_ENOMEM;
}

/* ---- changes ---- */

static void filter_list(struct pto_access_index *index, uint32_t *head,
                        bool (*keep)(void *, const struct pto_index_access *), void *context) {
  for (uint32_t *link = head; *link != PTO_INDEX_NONE;) {
    const uint32_t i = *link;
    struct pto_index_access *access = &index->accesses[i];
    if (keep(context, access)) {
      link = &access->next;
      continue;
    }
    *link = access->next;
    access->next = index->free_accesses;
    index->free_accesses = i;
  }
}

void pto_access_index_filter(struct pto_access_index *index, uint32_t region,
                             bool (*keep)(void *context, const struct pto_index_access *access), void *context) {
  struct pto_index_region *r = at(index, region);
  filter_list(index, &r->writes, keep, context);
  filter_list(index, &r->reads, keep, context);
  if (r->writes != PTO_INDEX_NONE || r->reads != PTO_INDEX_NONE) return;
  index->roots[r->space] = without(index, index->roots[r->space], region);
  r->is_live = false;
  r->left = index->free_regions;
  index->free_regions = region;
}

static uint32_t alloc_region(struct pto_access_index *index) {
  uint32_t i = index->free_regions;
  if (i != PTO_INDEX_NONE) {
    index->free_regions = at(index, i)->left;
    return i;
  }
  if (!pto_grow(&index->regions, &index->region_count, &index->region_capacity, sizeof *index->regions))
    return PTO_INDEX_NONE;
  return (uint32_t)(index->region_count - 1);
}

static uint32_t alloc_access(struct pto_access_index *index) {
  uint32_t i = index->free_accesses;
  if (i != PTO_INDEX_NONE) {
    index->free_accesses = index->accesses[i].next;
    return i;
  }
  if (!pto_grow(&index->accesses, &index->access_count, &index->access_capacity, sizeof *index->accesses))
    return PTO_INDEX_NONE;
  return (uint32_t)(index->access_count - 1);
}

int pto_access_index_add(struct pto_access_index *index, uint32_t space, const struct pto_region *region, bool is_write,
                         uint32_t node, uint32_t access) {
  const uint32_t fresh = alloc_access(index);
  if (fresh == PTO_INDEX_NONE) return PTO_ENOMEM;
  uint32_t own = index->own;
  if (own == PTO_INDEX_NONE || !at(index, own)->is_live) {
    own = alloc_region(index);
    if (own == PTO_INDEX_NONE) return PTO_ENOMEM;
    *at(index, own) = (struct pto_index_region){.region = *region,
                                                .last_end = region->end,
                                                .left = PTO_INDEX_NONE,
                                                .right = PTO_INDEX_NONE,
                                                .priority = (uint32_t)pto_mix64(own + 1),
                                                .space = space,
                                                .writes = PTO_INDEX_NONE,
                                                .reads = PTO_INDEX_NONE,
                                                .is_live = true};
    index->roots[space] = insert(index, index->roots[space], own);
    index->own = own;
  }
  uint32_t *head = is_write ? &at(index, own)->writes : &at(index, own)->reads;
  index->accesses[fresh] = (struct pto_index_access){node, access, *head};
  *head = fresh;
  return PTO_OK;
}
