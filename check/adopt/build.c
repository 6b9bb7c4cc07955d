/* SPDX-License-Identifier: MIT */
#include <check/adopt/build.h>

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <compat/kernel/object_cache.h>
#include <compat/kernel/kernel.h>
#include <runtime/base/base.h>
#include <runtime/base/process.h>
#include <runtime/base/thread.h>

#define DEFAULT_FOLDER "build/adopted"
#define WORKSPACE_BYTES 65536u /* of one DMA engine */

/* The orchestration, compiled while kernels are. */
struct orchestration {
  const struct pto_adopted *adopted;
  char compat[PATH_MAX], folder[PATH_MAX], source[PATH_MAX], object[PATH_MAX];
  char texts[PTO_ADOPTED_MOST_INCLUDES + 8][PATH_MAX + 64]; /* of words that are made */
  bool is_new;
  int status;
  struct pto_error error;
};

/* ---- places ---- */

static bool find_compat(char path[PATH_MAX]) {
  static const char *const relative[] = {"../compat", "../lib/pto/compat"};
  const char *named = getenv("PTO_COMPAT");
  if (named && *named) return realpath(named, path) != NULL;
  char own[PATH_MAX], folder[PATH_MAX + 64];
  if (!pto_process_folder(own)) return false;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(relative); i++) {
    snprintf(folder, sizeof folder, "%s/%s/include", own, relative[i]);
    if (access(folder, R_OK) != 0) continue;
    folder[strlen(folder) - strlen("/include")] = '\0';
    return realpath(folder, path) != NULL;
  }
  return false;
}

/* The path of a source, which must be there. */
static int find_source(const struct pto_adopted *adopted, const char *path, const char *what, char whole[PATH_MAX],
                       struct pto_error *error) {
  char seen[PATH_MAX];
  if (!pto_adopted_path(adopted, path, seen, sizeof seen))
    return pto_error_set(error, PTO_EINVAL, "%.400s: the path of %.100s is too long", adopted->path, what);
  if (realpath(seen, whole)) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "%.300s: there is no such file, expected the source of %.100s of %.300s",
                       seen, what, adopted->path);
}

/* ---- the orchestration ---- */

static void *compile_orchestration(void *argument) {
  static const char *const common[] = {"-std=c++17",          "-shared",        "-fPIC", "-O0",     "-g",
                                       "-fvisibility=hidden", "-Wl,-Bsymbolic", "-w",    "-pthread"};
  struct orchestration *o = argument;
  const struct pto_adopted *adopted = o->adopted;
  const struct pto_adopted_source *source = &adopted->orchestration;
  const char *compiler = getenv("CXX");
  const char *words[PTO_ARRAY_LENGTH(common) + PTO_ARRAY_LENGTH(o->texts) + 2];
  size_t count = 0, texts = 0;
  words[count++] = compiler && *compiler ? compiler : "c++";
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(common); i++) words[count++] = common[i];
#define ADD(...) snprintf(o->texts[texts], sizeof o->texts[0], __VA_ARGS__), words[count++] = o->texts[texts++]
  ADD("-I%s/include", o->compat);
  for (uint32_t i = 0; i < source->include_count; i++) {
    char path[PATH_MAX];
    if (pto_adopted_path(adopted, source->includes[i], path, sizeof path)) ADD("-I%s", path);
  }
  ADD("-DPTO_COMPAT_SOURCE=\"%s\"", o->source);
  ADD("-DPTO_COMPAT_ENTRY=%s", adopted->entry);
  ADD("-DPTO_COMPAT_ARCHITECTURE=%d", strcmp(adopted->architecture, "a5") == 0 ? PTO_COMPAT_A5 : PTO_COMPAT_A2A3);
  ADD("-DPTO_COMPAT_MODE=%d", adopted->mode == PTO_ADOPTED_HBG ? PTO_COMPAT_HBG : PTO_COMPAT_TRB);
  ADD("%s/entry.cpp", o->compat);
#undef ADD
  words[count] = NULL;
  const struct pto_object_request request = {.folder = o->folder, .source = o->source, .words = words};
  o->status = pto_object_cache_get(&request, o->object, &o->is_new, &o->error);
  return NULL;
}

static int load_orchestration(const struct orchestration *o, struct pto_adopted_build *build, struct pto_error *error) {
  build->handle = dlopen(o->object, RTLD_NOW | RTLD_LOCAL);
  if (build->handle) build->orchestration = dlsym(build->handle, PTO_COMPAT_SYMBOL);
  if (build->orchestration) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "%.400s: its object cannot be loaded: %.500s", o->source, dlerror());
}

/* ---- kernels ---- */

/* Sources of several kernels may be one file: which of the list each is. */
struct kernels {
  struct pto_compat_kernel_source *sources;
  struct pto_compat_kernel_built *built;
  char (*paths)[PATH_MAX];
  char (*include_paths)[PATH_MAX];
  const char **includes;
  uint32_t *source_of, count;
};

static void kernels_fini(struct kernels *k) {
  free(k->sources);
  free(k->built);
  free(k->paths);
  free(k->include_paths);
  free(k->includes);
  free(k->source_of);
}

/* Without kernels the list stays empty. */
static int kernels_init(struct kernels *k, const struct pto_adopted *adopted, bool has_kernels,
                        struct pto_error *error) {
  const size_t most = has_kernels ? adopted->kernel_count + 1u : 1;
  size_t include_count = 1, used = 0;
  for (size_t i = 0; i + 1 < most; i++) include_count += adopted->kernels[i].source.include_count;
  *k = (struct kernels){.sources = calloc(most, sizeof *k->sources),
                        .built = calloc(most, sizeof *k->built),
                        .paths = calloc(most, sizeof *k->paths),
                        .include_paths = calloc(include_count, sizeof *k->include_paths),
                        .includes = calloc(include_count, sizeof *k->includes),
                        .source_of = calloc(adopted->kernel_count + 1u, sizeof *k->source_of)};
  if (!k->sources || !k->built || !k->paths || !k->include_paths || !k->includes || !k->source_of)
    return pto_error_set(error, PTO_ENOMEM, "%.400s: out of memory", adopted->path);
  for (uint32_t i = 0; i < adopted->kernel_count && has_kernels; i++) {
    const struct pto_adopted_kernel *kernel = &adopted->kernels[i];
    if (kernel->substitute) continue;
    const int status = find_source(adopted, kernel->source.path, kernel->name, k->paths[k->count], error);
    if (status) return status;
    uint32_t same = 0;
    while (same < k->count &&
           (k->sources[same].core != kernel->core || strcmp(k->paths[same], k->paths[k->count]) != 0))
      same++;
    k->source_of[i] = same;
    if (same < k->count) continue;
    const size_t first = used;
    for (uint32_t n = 0; n < kernel->source.include_count; n++)
      if (pto_adopted_path(adopted, kernel->source.includes[n], k->include_paths[used], PATH_MAX)) {
        k->includes[used] = k->include_paths[used];
        used++;
      }
    k->sources[k->count] = (struct pto_compat_kernel_source){
        .path = k->paths[k->count],
        .core = kernel->core,
        .architecture = strcmp(adopted->architecture, "a5") == 0 ? PTO_COMPAT_A5 : PTO_COMPAT_A2A3,
        .includes = k->includes + first,
        .include_count = (uint32_t)(used - first)};
    k->count++;
  }
  return PTO_OK;
}

/* The hook of a kernel: it finds a workspace of each DMA engine. */
static int call_kernel(void *context, const struct pto_compat_call *call) {
  for (size_t kind = 0; kind < PTO_ARRAY_LENGTH(call->global->dma_workspace); kind++)
    call->global->dma_workspace[kind] = (uintptr_t)context + kind * WORKSPACE_BYTES;
  return pto_compat_kernel_call(NULL, call);
}

static int load_kernels(const struct kernels *k, const struct pto_adopted *adopted, struct pto_adopted_build *build,
                        struct pto_error *error) {
  for (uint32_t i = 0; i < adopted->kernel_count; i++) {
    const struct pto_adopted_kernel *kernel = &adopted->kernels[i];
    const struct pto_compat_kernel_built *built = &k->built[k->source_of[i]];
    struct pto_error reason;
    build->kernels[i] = (struct pto_compat_kernel){.func_id = (int32_t)kernel->func_id,
                                                   .core = kernel->core,
                                                   .flags = PTO_COMPAT_KERNEL_FLAGS,
                                                   .name = kernel->name,
                                                   .call = k->count ? call_kernel : NULL,
                                                   .context = build->workspace};
    if (kernel->substitute) {
      const bool is_nothing = strcmp(kernel->substitute, PTO_ADOPTED_NOTHING) == 0;
      const int status =
          pto_compat_kernel_substitute(is_nothing ? NULL : kernel->substitute, &build->kernels[i], error);
      if (status) return status;
      continue;
    }
    if (k->count && pto_compat_kernel_load(built->path, &build->kernels[i].entry, &reason))
      return pto_error_set(error, PTO_EINVAL, "%.400s: %.500s", k->paths[k->source_of[i]], reason.sentence);
  }
  return PTO_OK;
}

/* The first that does not compile, in the manifest's order. */
static int build_kernels(struct kernels *k, const struct orchestration *o, struct pto_error *error) {
  char cache[PATH_MAX + 16];
  const char *isa = getenv("PTO_ISA");
  struct pto_compat_workshop workshop = {.compat = o->compat, .pto_isa = isa, .cache = cache};
  snprintf(cache, sizeof cache, "%.*s/kernels", (int)(strrchr(o->folder, '/') - o->folder), o->folder);
  if (k->count == 0) return PTO_OK;
  if (!isa || !*isa)
    return pto_error_set(error, PTO_EINVAL, "%.400s: PTO_ISA is not set, expected a checkout of pto-isa to compile it",
                         k->paths[0]);
  int status = pto_compat_compiler_find(getenv("KERNEL_CXX"), &workshop.compiler, error);
  if (status == PTO_OK) status = pto_compat_kernels_build(&workshop, k->sources, k->count, k->built, error);
  for (uint32_t i = 0; status == PTO_EINVAL && i < k->count; i++)
    if (k->built[i].status) return pto_error_set(error, PTO_EINVAL, "%s", k->built[i].sentence);
  return status;
}

/* ---- all ---- */

static int compile_and_load(struct orchestration *o, struct kernels *k, struct pto_adopted_build *build,
                            struct pto_error *error) {
  pthread_t thread;
  int reason;
  const bool has_thread = pto_thread_start(&thread, compile_orchestration, o, &reason);
  if (!has_thread) compile_orchestration(o);
  int status = build_kernels(k, o, error);
  if (has_thread) pthread_join(thread, NULL);
  build->objects = k->count + 1;
  build->compiled = o->is_new;
  for (uint32_t i = 0; i < k->count; i++) build->compiled += k->built[i].status == PTO_OK && !k->built[i].was_cached;
  if (o->status) *error = o->error;
  if (o->status || status) return o->status ? o->status : status;
  status = load_orchestration(o, build, error);
  return status ? status : load_kernels(k, o->adopted, build, error);
}

static int prepare_folders(struct orchestration *o, const struct pto_adopted *adopted, struct pto_error *error) {
  const char *named = getenv("PTO_ADOPTED");
  o->adopted = adopted;
  if (!find_compat(o->compat))
    return pto_error_set(error, PTO_ENOTSUP,
                         "there is no folder compat with the headers of orchestrations; PTO_COMPAT can name it");
  if (snprintf(o->folder, sizeof o->folder, "%s/objects", named && *named ? named : DEFAULT_FOLDER) >= PATH_MAX)
    return pto_error_set(error, PTO_EINVAL, "PTO_ADOPTED: the path is too long");
  return find_source(adopted, adopted->orchestration.path, adopted->entry, o->source, error);
}

int pto_adopted_build(const struct pto_adopted *adopted, bool has_kernels, struct pto_adopted_build *build,
                      struct pto_error *error) {
  struct orchestration *o = calloc(1, sizeof *o);
  struct kernels k = {0};
  *build = (struct pto_adopted_build){.kernels = calloc(adopted->kernel_count + 1u, sizeof *build->kernels),
                                      .workspace = calloc(2, WORKSPACE_BYTES)};
  int status = o && build->kernels && build->workspace
                   ? prepare_folders(o, adopted, error)
                   : pto_error_set(error, PTO_ENOMEM, "%.400s: out of memory", adopted->path);
  if (status == PTO_OK) status = kernels_init(&k, adopted, has_kernels, error);
  if (status == PTO_OK) status = compile_and_load(o, &k, build, error);
  kernels_fini(&k);
  free(o);
  if (status) pto_adopted_build_fini(build);
  return status;
}

void pto_adopted_build_fini(struct pto_adopted_build *build) {
  if (build->handle) dlclose(build->handle);
  free(build->kernels);
  free(build->workspace);
  *build = (struct pto_adopted_build){0};
}
