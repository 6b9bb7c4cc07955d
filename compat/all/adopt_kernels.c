/* SPDX-License-Identifier: MIT */
/*
 * Compiles every kernel of a checkout of the existing runtime, and prints a line each: `make adopt-kernels`.
 *
 *   adopt-kernels --simpler DIR --pto-isa DIR --cache DIR --compat DIR [--compiler NAME] [FOLDER…]
 *
 * FOLDER: part of a path below DIR; none: all.  A kernel is a source below a folder "aic" or "aiv", which says its
 * core; one below "mix" is compiled for both.  The last line counts.  Exit status 0 where all compiled and loaded.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <compat/kernel/kernel.h>
#include <runtime/base/grow.h>

#define AT_A_TIME 16u /* before their lines are printed */

struct kernels {
  struct pto_compat_kernel_source *items;
  size_t count, capacity;
};

static struct {
  struct pto_compat_workshop shop;
  const char *simpler;
  char *const *folders;
  struct kernels kernels;
} all;

static void add(const char *path, uint32_t core) {
  struct pto_compat_kernel_source *source =
      pto_grow(&all.kernels.items, &all.kernels.count, &all.kernels.capacity, sizeof *source);
  const bool is_a5 = strstr(path, "/a5/") != NULL;
  if (!source) abort();
  *source = (struct pto_compat_kernel_source){
      .path = strdup(path), .core = core, .architecture = is_a5 ? PTO_COMPAT_A5 : PTO_COMPAT_A2A3};
}

static bool is_wanted(const char *path) {
  bool is_any = false;
  for (char *const *folder = all.folders; *folder; folder++) is_any |= strstr(path, *folder) != NULL;
  return is_any || !*all.folders;
}

static int visit(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  const char *end = strrchr(path, '.');
  (void)status;
  (void)walk;
  if (kind != FTW_F || !end || strcmp(end, ".cpp") != 0 || !strstr(path, "/kernels/") || !is_wanted(path)) return 0;
  if (strstr(path, "/aic/") || strstr(path, "/mix/")) add(path, PTO_AIC);
  if (strstr(path, "/aiv/") || strstr(path, "/mix/")) add(path, PTO_AIV);
  return 0;
}

static int compare(const void *a, const void *b) {
  const struct pto_compat_kernel_source *left = a, *right = b;
  const int order = strcmp(left->path, right->path);
  return order ? order : (int)left->core - (int)right->core;
}

static bool print(const struct pto_compat_kernel_source *source, const struct pto_compat_kernel_built *built) {
  struct pto_error error = {0};
  pto_compat_entry *entry;
  const char *name = source->path + strlen(all.simpler) + 1, *core = source->core == PTO_AIC ? "aic" : "aiv";
  if (built->status != PTO_OK) {
    printf("%s  %s  does not compile: %s\n", core, name, built->sentence);
    return false;
  }
  if (pto_compat_kernel_load(built->path, &entry, &error) != PTO_OK) {
    printf("%s  %s  does not load: %s\n", core, name, error.sentence);
    return false;
  }
  printf("%s  %s  %s %.1f s\n", core, name, built->was_cached ? "cached" : "compiled", (double)built->ns * 1e-9);
  return true;
}

static int usage(void) {
  (void)fprintf(stderr,
                "adopt-kernels --simpler DIR --pto-isa DIR --cache DIR --compat DIR [--compiler NAME] [FOLDER…]\n");
  return 2;
}

int main(int argc, char **argv) {
  struct pto_error error = {0};
  const char *compiler = NULL;
  int i = 1;
  for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
    const char *option = argv[i] + 2, *value = argv[i + 1];
    if (strcmp(option, "simpler") == 0) all.simpler = value;
    if (strcmp(option, "pto-isa") == 0) all.shop.pto_isa = value;
    if (strcmp(option, "cache") == 0) all.shop.cache = value;
    if (strcmp(option, "compat") == 0) all.shop.compat = value;
    if (strcmp(option, "compiler") == 0 && *value) compiler = value;
  }
  if (!all.simpler || !all.shop.pto_isa || !all.shop.cache || !all.shop.compat) return usage();
  all.folders = argv + i;
  if (nftw(all.simpler, visit, 32, FTW_PHYS) != 0 || all.kernels.count == 0) {
    (void)fprintf(stderr, "%s: no kernels\n", all.simpler);
    return 1;
  }
  qsort(all.kernels.items, all.kernels.count, sizeof *all.kernels.items, compare);
  int status = pto_compat_compiler_find(compiler, &all.shop.compiler, &error);
  size_t good = 0;
  for (size_t k = 0; k < all.kernels.count && (status == PTO_OK || status == PTO_EINVAL); k += AT_A_TIME) {
    static struct pto_compat_kernel_built built[AT_A_TIME];
    const size_t left = all.kernels.count - k;
    const uint32_t count = left < AT_A_TIME ? (uint32_t)left : AT_A_TIME;
    status = pto_compat_kernels_build(&all.shop, &all.kernels.items[k], count, built, &error);
    for (uint32_t b = 0; b < count && (status == PTO_OK || status == PTO_EINVAL); b++)
      good += print(&all.kernels.items[k + b], &built[b]);
    fflush(stdout);
  }
  if (status != PTO_OK && status != PTO_EINVAL) {
    (void)fprintf(stderr, "adopt-kernels: %s\n", error.sentence);
    return 1;
  }
  printf("adopt-kernels: %zu kernels, %zu compiled and loaded, by %s\n", all.kernels.count, good,
         all.shop.compiler.name);
  return good == all.kernels.count ? 0 : 1;
}
