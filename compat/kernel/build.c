/* SPDX-License-Identifier: MIT */
/*
 * Compiling kernels: which compiler, the command of a kernel, and several at a time.  Objects are kept by
 * object_cache.h.
 */
#include <compat/kernel/kernel.h>
#include <compat/kernel/object_cache.h>

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <formats/mapped_file.h>
#include <runtime/base/base.h>
#include <runtime/base/clock.h>
#include <runtime/base/thread.h>

#define MOST_WORDS 128u
#define MOST_THREADS 64u
#define MEMORY_OF_A_COMPILER (UINT64_C(512) << 20)

/* The whole file as a string; NULL where there is none. */
static char *read_text(const char *path) {
  struct pto_mapped_file file = {0};
  struct pto_error error = {0};
  if (pto_mapped_file_init(&file, path, &error) != PTO_OK) return NULL;
  char *text = calloc(1, file.size_bytes + 1);
  if (text && file.size_bytes) memcpy(text, file.data, file.size_bytes);
  pto_mapped_file_fini(&file);
  return text;
}

/* ---- compilers ---- */

/* What the compiler says of itself. */
static bool probe(const char *name, struct pto_compat_compiler *compiler) {
  char text[1 << 17]; /* its macros take some 20 KB */
  const char *const words[] = {name, "-dM", "-E", "-x", "c++", "/dev/null", NULL};
  if (!pto_object_compiler_tell(words, text, sizeof text)) return false;
  const char *clang = strstr(text, "#define __clang_major__ "), *gnu = strstr(text, "#define __GNUC__ ");
  *compiler = (struct pto_compat_compiler){.is_clang = clang != NULL};
  if (clang)
    compiler->version = (uint32_t)strtoul(clang + strlen("#define __clang_major__ "), NULL, 10);
  else if (gnu)
    compiler->version = (uint32_t)strtoul(gnu + strlen("#define __GNUC__ "), NULL, 10);
  (void)snprintf(compiler->name, sizeof compiler->name, "%s", name);
  compiler->has_bfloat16 = compiler->is_clang || compiler->version >= 14;
  return compiler->version >= (compiler->is_clang ? 19 : 12);
}

int pto_compat_compiler_find(const char *name, struct pto_compat_compiler *compiler, struct pto_error *error) {
  static const char *const names[] = {"clang++-19", "clang++-20", "clang++-21", "clang++", "g++-15",
                                      "g++-14",     "g++",        "g++-13",     "g++-12"};
  struct pto_compat_compiler found, best = {0};
  if (name && probe(name, compiler)) return PTO_OK;
  if (name)
    return pto_error_set(
        error, PTO_ESYSTEM,
        "%s compiles no kernels: clang++ 19 or newer does, or g++ 14 or newer, or without bfloat16 g++ "
        "12 (scripts/deps --adopt installs clang 19)",
        name);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(names) && !best.has_bfloat16; i++)
    if (probe(names[i], &found) && (found.has_bfloat16 || !best.version)) best = found;
  if (!best.version)
    return pto_error_set(error, PTO_ESYSTEM,
                         "no C++ compiler for kernels: clang++ 19 or newer, or g++ 12 or newer (scripts/deps --adopt "
                         "installs clang 19)");
  *compiler = best;
  return PTO_OK;
}

/* ---- one kernel ---- */

struct words {
  char *items[MOST_WORDS + 1];
  uint32_t count;
  bool is_full; /* or there was no memory */
};

static PTO_PRINTF(2, 3) void add(struct words *words, const char *format, ...) {
  char *text = NULL;
  va_list arguments;
  va_start(arguments, format);
  if (words->count == MOST_WORDS || vasprintf(&text, format, arguments) < 0)
    words->is_full = true;
  else
    words->items[words->count++] = text;
  va_end(arguments);
}
static void free_words(struct words *words) {
  for (uint32_t i = 0; i < words->count; i++) free(words->items[i]);
}

struct builder {
  const struct pto_compat_workshop *shop;
  const struct pto_compat_kernel_source *sources;
  struct pto_compat_kernel_built *built;
  char seam[PATH_MAX]; /* its object */
  uint32_t count;
  _Atomic uint32_t next; /* that no thread has taken yet */
};

/* Whether the identifier stands in the text by itself; the line. */
static uint32_t line_of(const char *text, const char *identifier) {
  const size_t length = strlen(identifier);
  for (const char *at = text; (at = strstr(at, identifier)); at += length) {
    const bool begins = at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
    if (!begins || isalnum((unsigned char)at[length]) || at[length] == '_') continue;
    uint32_t line = 1;
    for (const char *c = text; c < at; c++) line += *c == '\n';
    return line;
  }
  return 0;
}

static void add_flags(struct words *words, const struct pto_compat_workshop *shop) {
  static const char *const flags[] = {"-O2",         "-fPIC",
                                      "-std=c++23",  "-w",
                                      "-D__CPU_SIM", "-DPTO_CPU_MAX_THREADS=1",
                                      "-DNDEBUG",    "-fsanitize-coverage=trace-pc"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(flags); i++) add(words, "%s", flags[i]);
  if (shop->compiler.is_clang) {
    /* The type is there, but for its name. */
    add(words, "-femulated-tls");
    add(words, "-D__STDCPP_BFLOAT16_T__=1");
    add(words, "-I%s/clang", shop->compat);
  } else {
    add(words, "-fpermissive");
    if (shop->compiler.version < 13) add(words, "-DPTO_COMPAT_NO_FALSE_ASSERTS=1");
  }
}

/* The command, up to where its output goes. */
static void make_words(const struct builder *builder, const struct pto_compat_kernel_source *source, const char *text,
                       struct words *words) {
  const struct pto_compat_workshop *shop = builder->shop;
  add(words, "%s", shop->compiler.name);
  add_flags(words, shop);
  add(words, "%s", source->core == PTO_AIC ? "-D__DAV_CUBE__" : "-D__DAV_VEC__");
  add(words, "-DPTO_COMPAT_ARCHITECTURE=%u", source->architecture); /* a number, for the preprocessor too */
  if (strstr(text, "namespace cache_line_t")) add(words, "-DPTO_COMPAT_OWN_CACHE_NAMES=1");
  for (uint32_t i = 0; i < source->define_count; i++) add(words, "-D%s", source->defines[i]);
  add(words, "-I%s/include", shop->pto_isa);
  add(words, "-I%s/include/pto", shop->pto_isa);
  add(words, "-I%s/include", shop->compat);
  for (uint32_t i = 0; i < source->include_count; i++) add(words, "-I%s", source->includes[i]);
  add(words, "-include");
  add(words, "%s/object/prelude.hpp", shop->compat);
}

/* Kernels of a compiler without the type get another one in silence. */
static int refuse_bfloat16(const struct pto_compat_workshop *shop, const char *path, struct pto_error *error) {
  char *text = read_text(path);
  const uint32_t line = text ? line_of(text, "bfloat16_t") : 0;
  free(text);
  if (!line) return PTO_OK;
  return pto_error_set(
      error, PTO_EINVAL,
      "%.400s:%u: bfloat16_t: %s has no such type, and computes in float16; clang++ 19 and g++ 14 have it", path, line,
      shop->compiler.name);
}

/* Of the kernel's own files: none of the system's, of pto-isa's, or of ours. */
static int check_file(void *context, const char *path, struct pto_error *error) {
  const struct pto_compat_workshop *shop = context;
  const bool is_own = strncmp(path, "/usr/", 5) != 0 && strncmp(path, shop->pto_isa, strlen(shop->pto_isa)) != 0 &&
                      strncmp(path, shop->compat, strlen(shop->compat)) != 0;
  return is_own ? refuse_bfloat16(shop, path, error) : PTO_OK;
}

/* *path is the object's. */
static int make_object(const struct pto_compat_workshop *shop, const char *source, struct words *words,
                       char path[PATH_MAX], bool *is_new, struct pto_error *error) {
  if (words->is_full) return pto_error_set(error, PTO_ENOMEM, "%.400s: too long a command, or out of memory", source);
  words->items[words->count] = NULL;
  const struct pto_object_request request = {.folder = shop->cache,
                                             .source = source,
                                             .words = (const char *const *)words->items,
                                             .check_file = shop->compiler.has_bfloat16 ? NULL : check_file,
                                             .context = (void *)(uintptr_t)shop};
  return pto_object_cache_get(&request, path, is_new, error);
}

static int build_kernel(const struct builder *builder, const struct pto_compat_kernel_source *source,
                        struct pto_compat_kernel_built *built, struct pto_error *error) {
  const struct pto_compat_workshop *shop = builder->shop;
  struct words words = {.count = 0};
  char path[PATH_MAX];
  bool is_new = false;
  char *text = read_text(source->path);
  if (!text) return pto_error_set(error, PTO_EINVAL, "%.400s: cannot be read", source->path);
  make_words(builder, source, text, &words);
  free(text);
  add(&words, "-shared");
  add(&words, "-Wl,--no-undefined");
  add(&words, "%s", source->path);
  add(&words, "%s", builder->seam);
  int status = shop->compiler.has_bfloat16 ? PTO_OK : refuse_bfloat16(shop, source->path, error);
  if (status == PTO_OK) status = make_object(shop, source->path, &words, path, &is_new, error);
  free_words(&words);
  if (status == PTO_OK && snprintf(built->path, sizeof built->path, "%s", path) >= (int)sizeof built->path)
    status = pto_error_set(error, PTO_EINVAL, "%.100s…: the path is too long", path);
  built->was_cached = status == PTO_OK && !is_new;
  return status;
}

/* A thread's: the kernels that it takes, one after the other. */
static void *build_some(void *argument) {
  struct builder *builder = argument;
  for (uint32_t i; (i = builder->next++) < builder->count;) {
    struct pto_compat_kernel_built *built = &builder->built[i];
    struct pto_error error = {0};
    const uint64_t begin = pto_clock_ns();
    *built = (struct pto_compat_kernel_built){0};
    built->status = build_kernel(builder, &builder->sources[i], built, &error);
    built->ns = pto_clock_ns() - begin;
    (void)snprintf(built->sentence, sizeof built->sentence, "%.*s", (int)sizeof built->sentence - 1, error.sentence);
  }
  return NULL;
}

static uint32_t job_limit(const struct pto_compat_workshop *shop) {
  if (shop->jobs) return shop->jobs;
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const uint64_t by_memory = (uint64_t)pages * (uint64_t)page / MEMORY_OF_A_COMPILER;
  uint64_t limit = cpus > 0 ? (uint64_t)cpus : 1;
  limit = by_memory < limit ? by_memory : limit;
  return limit ? (uint32_t)limit : 1;
}

/* This thread and others, as many as compilers are to run at a time; with fewer it takes longer. */
static void build_all(struct builder *builder) {
  pthread_t threads[MOST_THREADS];
  uint32_t wanted = job_limit(builder->shop), count = 0;
  wanted = wanted < builder->count ? wanted : builder->count;
  int reason;
  while (count < MOST_THREADS && count + 1 < wanted && pto_thread_start(&threads[count], build_some, builder, &reason))
    count++;
  (void)build_some(builder);
  for (uint32_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

/* The seam's object.  The compilers take C by its option. */
static int build_seam(struct builder *builder, struct pto_error *error) {
  static const char *const flags[] = {"-x", "c", "-O2", "-fPIC", "-w", "-c"};
  const struct pto_compat_workshop *shop = builder->shop;
  struct words words = {.count = 0};
  char source[PATH_MAX];
  bool is_new;
  (void)snprintf(source, sizeof source, "%s/object/seam.c", shop->compat);
  if (access(source, R_OK) != 0)
    return pto_error_set(error, PTO_ESYSTEM, "%.400s: cannot be read: the folder compat of this project is needed",
                         source);
  add(&words, "%s", shop->compiler.name);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(flags); i++) add(&words, "%s", flags[i]);
  add(&words, "%s", source);
  const int status = make_object(shop, source, &words, builder->seam, &is_new, error);
  free_words(&words);
  return status;
}

static int check_shop(const struct pto_compat_workshop *shop, struct pto_error *error) {
  char path[PATH_MAX];
  (void)snprintf(path, sizeof path, "%s/include/pto/pto-inst.hpp", shop->pto_isa);
  if (access(path, R_OK) == 0) return PTO_OK;
  return pto_error_set(error, PTO_ESYSTEM, "%s is no checkout of pto-isa: it has no include/pto/pto-inst.hpp",
                       shop->pto_isa);
}

int pto_compat_kernels_build(const struct pto_compat_workshop *shop, const struct pto_compat_kernel_source *sources,
                             uint32_t count, struct pto_compat_kernel_built *built, struct pto_error *error) {
  struct builder builder = {.shop = shop, .sources = sources, .built = built, .count = count};
  uint32_t failed = 0;
  int status = check_shop(shop, error);
  if (status == PTO_OK) status = build_seam(&builder, error);
  if (status) return status;
  build_all(&builder);
  for (uint32_t i = 0; i < count; i++) failed += built[i].status != PTO_OK;
  return failed ? pto_error_set(error, PTO_EINVAL, "%u of %u kernels do not compile", failed, count) : PTO_OK;
}
