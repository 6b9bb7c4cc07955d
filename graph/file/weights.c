/* SPDX-License-Identifier: MIT */
#include <graph/file/weights.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <runtime/base/base.h>
#include <runtime/base/text.h>

/* ---- paths ---- */

bool pto_graph_weights_path(const char *graph_path, bool is_stem, const char *ending, char *path) {
  const char *slash = strrchr(graph_path, '/');
  const char *name = slash ? slash + 1 : graph_path, *dot = strrchr(name, '.');
  const char *end = !is_stem ? name : dot && dot > name ? dot : name + strlen(name);
  const int length = snprintf(path, PATH_MAX, "%.*s%s", (int)(end - graph_path), graph_path, ending);
  return length >= 0 && length < PATH_MAX;
}

static bool is_there(const char *graph_path, bool is_stem, const char *ending, char *path) {
  return pto_graph_weights_path(graph_path, is_stem, ending, path) && access(path, F_OK) == 0;
}

static int find_weights(struct pto_graph_weights *weights, struct pto_error *error) {
  const char *graph = weights->graph_path;
  if (weights->weights_path) {
    if (strlen(weights->weights_path) >= sizeof weights->path)
      return pto_error_set(error, PTO_EINVAL, "%.400s: the path is too long", weights->weights_path);
    strcpy(weights->path, weights->weights_path);
    return PTO_OK;
  }
  if (!weights->manifest_path && is_there(graph, true, ".safetensors", weights->path)) return PTO_OK;
  if (is_there(graph, true, ".weights", weights->path)) return PTO_OK;
  if (!weights->manifest_path && is_there(graph, false, "model.safetensors", weights->path)) return PTO_OK;
  if (is_there(graph, false, "model.weights", weights->path)) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL,
                       "there is no file of weights beside it: none of its own name with .safetensors or .weights, no "
                       "model.safetensors, no model.weights");
}

static int find_manifest(const struct pto_graph_weights *weights, char *path, struct pto_error *error) {
  if (weights->manifest_path && strlen(weights->manifest_path) < PATH_MAX) {
    strcpy(path, weights->manifest_path);
    return PTO_OK;
  }
  if (!weights->manifest_path && (is_there(weights->graph_path, true, ".manifest.json", path) ||
                                  is_there(weights->graph_path, false, "manifest.json", path)))
    return PTO_OK;
  return pto_error_set(error, PTO_EINVAL,
                       "%.400s has no manifest: neither one of the graph's own name with .manifest.json, nor "
                       "manifest.json",
                       weights->path);
}

/* ---- opening ---- */

static int compare_names(const void *a, const void *b) {
  const struct pto_safetensors_tensor *x = a, *y = b;
  return strcmp(x->name, y->name);
}

static int open_blob(struct pto_graph_weights *weights, struct pto_error *error) {
  char path[PATH_MAX];
  int status = find_manifest(weights, path, error);
  if (status == PTO_OK) status = pto_mapped_file_init(&weights->blob, weights->path, error);
  if (status == PTO_OK)
    status = pto_graph_manifest_init(&weights->manifest, path, weights->blob.data, weights->blob.size_bytes, error);
  if (status) return status;
  if (weights->manifest.tensor_count > 0)
    qsort(weights->manifest.tensors, weights->manifest.tensor_count, sizeof *weights->manifest.tensors, compare_names);
  weights->tensors = weights->manifest.tensors;
  weights->tensor_count = weights->manifest.tensor_count;
  return PTO_OK;
}

static int open_weights(struct pto_graph_weights *weights, struct pto_error *error) {
  int status = find_weights(weights, error);
  if (status) return status;
  weights->is_open = true;
  if (!pto_text_ends_with(weights->path, ".safetensors")) return open_blob(weights, error);
  status = pto_safetensors_init(&weights->safetensors, weights->path, error);
  if (status) return status;
  weights->tensors = weights->safetensors.tensors; /* in byte order of their names, as ours */
  weights->tensor_count = weights->safetensors.tensor_count;
  return PTO_OK;
}

void pto_graph_weights_fini(struct pto_graph_weights *weights) {
  free(weights->plain_names);
  pto_safetensors_fini(&weights->safetensors);
  pto_graph_manifest_fini(&weights->manifest);
  pto_mapped_file_fini(&weights->blob);
  *weights = (struct pto_graph_weights){0};
}

/* ---- looking up ---- */

struct pto_graph_plain_name {
  const char *name; /* of the tensor; compared as if it were plain */
  uint64_t index;
};

/* The next letter of the plain form of a name; *at moves on, *pending counts what "::" still owes. */
static unsigned char next_plain(const char **at, bool *owes) {
  const char c = **at;
  if (*owes) {
    *owes = false;
    return '_';
  }
  if (c == '\0') return '\0';
  if (c == ':' && (*at)[1] == ':') {
    *at += 2;
    *owes = true;
    return '_';
  }
  ++*at;
  return c == '.' ? '_' : (unsigned char)c;
}

static int compare_plain(const void *a, const void *b) {
  const char *x = ((const struct pto_graph_plain_name *)a)->name, *y = ((const struct pto_graph_plain_name *)b)->name;
  bool owes_x = false, owes_y = false;
  for (;;) {
    const unsigned char p = next_plain(&x, &owes_x), q = next_plain(&y, &owes_y);
    if (p != q) return p < q ? -1 : 1;
    if (p == '\0') return 0;
  }
}

static int sort_plain_names(struct pto_graph_weights *weights, struct pto_error *error) {
  if (weights->plain_names || weights->tensor_count == 0) return PTO_OK;
  weights->plain_names = malloc(weights->tensor_count * sizeof *weights->plain_names);
  if (!weights->plain_names) return pto_error_set(error, PTO_ENOMEM, "out of memory");
  for (uint64_t i = 0; i < weights->tensor_count; i++)
    weights->plain_names[i] = (struct pto_graph_plain_name){weights->tensors[i].name, i};
  qsort(weights->plain_names, weights->tensor_count, sizeof *weights->plain_names, compare_plain);
  return PTO_OK;
}

static const struct pto_safetensors_tensor *find_plain(struct pto_graph_weights *weights, const char *reference,
                                                       struct pto_error *error) {
  const struct pto_graph_plain_name key = {reference, 0}, *found = NULL, *names;
  if (sort_plain_names(weights, error)) return NULL;
  names = weights->plain_names;
  if (names) found = bsearch(&key, names, weights->tensor_count, sizeof key, compare_plain);
  if (!found) {
    (void)pto_error_set(error, PTO_EINVAL, "%.400s has no tensor \"%.100s\"", weights->path, reference);
    return NULL;
  }
  const struct pto_graph_plain_name *other = NULL;
  if (found > names && compare_plain(found - 1, found) == 0) other = found - 1;
  if (found + 1 < names + weights->tensor_count && compare_plain(found + 1, found) == 0) other = found + 1;
  if (!other) return &weights->tensors[found->index];
  (void)pto_error_set(error, PTO_EINVAL, "%.400s: \"%.100s\" may be \"%.100s\" or \"%.100s\"", weights->path, reference,
                      found->name, other->name);
  return NULL;
}

const struct pto_safetensors_tensor *pto_graph_weights_find(struct pto_graph_weights *weights, const char *reference,
                                                            struct pto_error *error) {
  const struct pto_safetensors_tensor key = {.name = reference}, *found = NULL;
  if (!weights->is_open && open_weights(weights, error)) return NULL;
  if (weights->tensor_count > 0)
    found = bsearch(&key, weights->tensors, weights->tensor_count, sizeof key, compare_names);
  return found ? found : find_plain(weights, reference, error);
}
