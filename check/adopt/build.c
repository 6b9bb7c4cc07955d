/* SPDX-License-Identifier: MIT */
#include <check/adopt/build.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check/adopt/object_cache.h>
#include <runtime/base/base.h>
#include <runtime/base/thread.h>

#define MOST_THREADS 16u
#define DEFAULT_FOLDER "build/adopted"

/* Compilers that take kernels, best first: what is there is used. */
static const char *const kernel_compilers[] = {"clang++-19", "g++-15", "g++-14", "c++"};

/* One object that is to be compiled. */
struct job {
  const struct pto_adopted_kernel *kernel; /* NULL: the orchestration */
  char source[PATH_MAX], object[PATH_MAX];
  char *words[PTO_OBJECT_MOST_WORDS + 1]; /* its own copies */
  size_t count;
  bool is_new, is_short; /* of memory or room */
  int status;
  struct pto_error error;
};

struct work {
  const struct pto_adopted *adopted;
  char compat[PATH_MAX], folder[PATH_MAX];
  struct job *jobs;
  uint32_t job_count;
  pthread_mutex_t mutex; /* of next */
  uint32_t next;
};

/* ---- places ---- */

static bool find_compat(char path[PATH_MAX]) {
  static const char *const relative[] = {"../compat", "../lib/pto/compat", "../../../../compat"};
  const char *named = getenv("PTO_COMPAT");
  if (named && *named) return realpath(named, path) != NULL;
  char executable[PATH_MAX], folder[PATH_MAX + 64];
  const ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
  if (length <= 0) return false;
  executable[length] = '\0';
  char *slash = strrchr(executable, '/');
  if (slash) *slash = '\0';
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(relative); i++) {
    snprintf(folder, sizeof folder, "%s/%s/include", executable, relative[i]);
    if (access(folder, R_OK) == 0) {
      folder[strlen(folder) - strlen("/include")] = '\0';
      return realpath(folder, path) != NULL;
    }
  }
  return false;
}

static bool has_compiler(const char *name) {
  const char *list = getenv("PATH");
  char path[PATH_MAX];
  while (list) {
    const int length = (int)strcspn(list, ":");
    if (snprintf(path, sizeof path, "%.*s/%s", length, list, name) < PATH_MAX && access(path, X_OK) == 0) return true;
    list = list[length] ? list + length + 1 : NULL;
  }
  return false;
}

/* ---- commands ---- */

PTO_PRINTF(2, 3) static void add_word(struct job *job, const char *format, ...) {
  va_list arguments;
  char *word = NULL;
  va_start(arguments, format);
  if (job->count == PTO_OBJECT_MOST_WORDS || vasprintf(&word, format, arguments) < 0) job->is_short = true;
  va_end(arguments);
  if (!job->is_short) job->words[job->count++] = word;
}

static void add_includes(struct job *job, const struct pto_adopted *adopted, const struct pto_adopted_source *source) {
  char path[PATH_MAX];
  for (uint32_t i = 0; i < source->include_count; i++) {
    if (!pto_adopted_path(adopted, source->includes[i], path, sizeof path)) job->is_short = true;
    add_word(job, "-I%s", path);
  }
}

static void add_common(struct job *job, const char *compiler, const char *standard) {
  static const char *const common[] = {"-shared",        "-fPIC", "-O2",     "-g", "-fvisibility=hidden",
                                       "-Wl,-Bsymbolic", "-w",    "-pthread"};
  add_word(job, "%s", compiler);
  add_word(job, "-std=%s", standard);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(common); i++) add_word(job, "%s", common[i]);
}

static void make_orchestration(struct work *work, struct job *job) {
  const struct pto_adopted *adopted = work->adopted;
  const char *named = getenv("CXX");
  add_common(job, named && *named ? named : "c++", "c++17");
  add_word(job, "-I%s/include", work->compat);
  add_includes(job, adopted, &adopted->orchestration);
  add_word(job, "-DPTO_COMPAT_SOURCE=\"%s\"", job->source);
  add_word(job, "-DPTO_COMPAT_ENTRY=%s", adopted->entry);
  add_word(job, "-DPTO_COMPAT_ARCHITECTURE=%d",
           strcmp(adopted->architecture, "a5") == 0 ? PTO_COMPAT_A5 : PTO_COMPAT_A2A3);
  add_word(job, "-DPTO_COMPAT_MODE=%d", adopted->mode == PTO_ADOPTED_HBG ? PTO_COMPAT_HBG : PTO_COMPAT_TRB);
  add_word(job, "%s/entry.cpp", work->compat);
}

static void make_kernel(struct work *work, struct job *job) {
  const char *isa = getenv("PTO_ISA");
  size_t c = 0;
  while (c + 1 < PTO_ARRAY_LENGTH(kernel_compilers) && !has_compiler(kernel_compilers[c])) c++;
  add_common(job, kernel_compilers[c], "c++2b");
  if (strncmp(kernel_compilers[c], "g++", 3) == 0) add_word(job, "-fpermissive");
  add_word(job, "-D__CPU_SIM");
  add_word(job, "-DPTO_CPU_MAX_THREADS=1");
  add_word(job, "-DNDEBUG");
  add_word(job, "-D%s", job->kernel->core == PTO_AIV ? "__DAV_VEC__" : "__DAV_CUBE__");
  if (isa && *isa) {
    add_word(job, "-I%s/include", isa);
    add_word(job, "-I%s/include/pto", isa);
  }
  add_word(job, "-I%s/include", work->compat);
  add_includes(job, work->adopted, &job->kernel->source);
  add_word(job, "%s", job->source);
}

/* ---- compiling, one a CPU ---- */

static void compile(struct work *work, struct job *job) {
  const struct pto_object_request request = {work->folder, job->source, (const char *const *)job->words};
  if (job->count == 0) return; /* another job makes its object */
  if (access(job->source, R_OK) != 0)
    job->status = pto_error_set(&job->error, PTO_EINVAL, "%.300s: there is no such file, expected the source of %.200s",
                                job->source, job->kernel ? job->kernel->name : work->adopted->entry);
  else if (job->is_short)
    job->status = pto_error_set(&job->error, PTO_ENOMEM, "%.300s: the command to compile it is too long", job->source);
  else
    job->status = pto_object_cache_get(&request, job->object, &job->is_new, &job->error);
}

static void *compile_jobs(void *argument) {
  struct work *work = argument;
  for (;;) {
    pthread_mutex_lock(&work->mutex);
    const uint32_t index = work->next < work->job_count ? work->next++ : UINT32_MAX;
    pthread_mutex_unlock(&work->mutex);
    if (index == UINT32_MAX) return NULL;
    compile(work, &work->jobs[index]);
  }
}

static void compile_all(struct work *work) {
  pthread_t threads[MOST_THREADS];
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  uint32_t started = 1;
  int reason;
  pthread_mutex_init(&work->mutex, NULL);
  while (started < MOST_THREADS && started < work->job_count && started < cpus &&
         pto_thread_start(&threads[started], compile_jobs, work, &reason))
    started++;
  compile_jobs(work);
  for (uint32_t i = 1; i < started; i++) pthread_join(threads[i], NULL);
  pthread_mutex_destroy(&work->mutex);
}

/* ---- loading ---- */

static int load_orchestration(const struct job *job, struct pto_adopted_build *build, struct pto_error *error) {
  build->handle = dlopen(job->object, RTLD_NOW | RTLD_LOCAL);
  if (build->handle) build->orchestration = dlsym(build->handle, PTO_COMPAT_SYMBOL);
  if (build->orchestration) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "%.400s: its object cannot be loaded: %.500s", job->source, dlerror());
}

static int load_kernel(const struct job *job, struct pto_compat_kernel *kernel, struct pto_error *error) {
  void *handle = dlopen(job->object, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return pto_error_set(error, PTO_EINVAL, "%.400s: its object cannot be loaded: %.500s", job->source, dlerror());
  *(void **)&kernel->entry = dlsym(handle, "kernel_entry");
  if (kernel->entry) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "%.400s: it has no kernel_entry with C linkage", job->source);
}

/* ---- all ---- */

/* The job of a kernel: the first with the same source for the same core. */
static uint32_t job_of(const struct pto_adopted *adopted, uint32_t kernel) {
  uint32_t k = 0;
  const struct pto_adopted_kernel *wanted = &adopted->kernels[kernel];
  while (adopted->kernels[k].core != wanted->core || strcmp(adopted->kernels[k].source.path, wanted->source.path) != 0)
    k++;
  return k + 1;
}

static int make_jobs(struct work *work, struct pto_error *error) {
  const struct pto_adopted *adopted = work->adopted;
  const char *named = getenv("PTO_ADOPTED");
  if (!find_compat(work->compat))
    return pto_error_set(error, PTO_ENOTSUP,
                         "there is no folder compat with the headers of orchestrations; PTO_COMPAT "
                         "can name it");
  snprintf(work->folder, sizeof work->folder, "%s/objects", named && *named ? named : DEFAULT_FOLDER);
  for (uint32_t i = 0; i < work->job_count; i++) {
    struct job *job = &work->jobs[i];
    const char *path = i ? adopted->kernels[i - 1].source.path : adopted->orchestration.path;
    char whole[PATH_MAX];
    job->kernel = i ? &adopted->kernels[i - 1] : NULL;
    if (!pto_adopted_path(adopted, path, whole, sizeof whole)) job->is_short = true;
    if (!realpath(whole, job->source)) snprintf(job->source, sizeof job->source, "%s", whole);
    if (i == 0)
      make_orchestration(work, job);
    else if (job_of(adopted, i - 1) == i)
      make_kernel(work, job);
  }
  return PTO_OK;
}

static int load(struct work *work, struct pto_adopted_build *build, struct pto_error *error) {
  const struct pto_adopted *adopted = work->adopted;
  int status = PTO_OK;
  for (uint32_t i = 0; i < work->job_count && !status; i++) {
    const struct job *job = &work->jobs[i ? job_of(adopted, i - 1) : 0];
    build->compiled += work->jobs[i].is_new;
    build->objects += i == 0 || job == &work->jobs[i];
    if (job->status) {
      *error = job->error;
      return job->status;
    }
    if (i == 0) {
      status = load_orchestration(job, build, error);
      continue;
    }
    const struct pto_adopted_kernel *kernel = &adopted->kernels[i - 1];
    build->kernels[i - 1] =
        (struct pto_compat_kernel){.func_id = (int32_t)kernel->func_id, .core = kernel->core, .name = kernel->name};
    status = load_kernel(job, &build->kernels[i - 1], error);
  }
  return status;
}

int pto_adopted_build(const struct pto_adopted *adopted, struct pto_adopted_build *build, struct pto_error *error) {
  struct work *work = calloc(1, sizeof *work);
  *build = (struct pto_adopted_build){.kernels = calloc(adopted->kernel_count + 1u, sizeof *build->kernels)};
  int status = PTO_ENOMEM;
  if (work) {
    work->adopted = adopted;
    work->job_count = adopted->kernel_count + 1;
    work->jobs = calloc(work->job_count, sizeof *work->jobs);
  }
  if (!work || !work->jobs || !build->kernels)
    pto_error_set(error, PTO_ENOMEM, "%.400s: out of memory", adopted->path);
  else
    status = make_jobs(work, error);
  if (status == PTO_OK) {
    compile_all(work);
    status = load(work, build, error);
  }
  for (uint32_t i = 0; work && work->jobs && i < work->job_count; i++)
    for (size_t w = 0; w < work->jobs[i].count; w++) free(work->jobs[i].words[w]);
  if (work) free(work->jobs);
  free(work);
  if (status) pto_adopted_build_fini(build);
  return status;
}

void pto_adopted_build_fini(struct pto_adopted_build *build) {
  if (build->handle) dlclose(build->handle);
  free(build->kernels);
  *build = (struct pto_adopted_build){0};
}
