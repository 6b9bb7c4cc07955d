/* SPDX-License-Identifier: MIT */
/*
 * Compiling kernels, and the cache of what was compiled.
 *
 * An object is KEY.so in the cache, the key being a hash of the compiler and its whole command.  Beside it, KEY.files
 * says what it was made of: a line "HASH PATH" for each file that the compiler read.  It is good while all of them have
 * these hashes.  Both are written under names of the process and renamed, the list last, so that what is there is
 * whole.
 */
#include <compat/kernel/kernel.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <formats/mapped_file.h>
#include <runtime/base/base.h>
#include <runtime/base/clock.h>
#include <runtime/base/grow.h>
#include <runtime/base/text.h>

#define PATH_BYTES 1024u
#define MOST_WORDS 128u
#define MEMORY_OF_A_COMPILER (UINT64_C(512) << 20)

/* ---- hashes ---- */

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size) {
  const unsigned char *bytes = data;
  for (; size >= 8; bytes += 8, size -= 8) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    hash = pto_mix64(hash ^ word);
  }
  for (; size > 0; bytes++, size--) hash = pto_mix64(hash ^ *bytes);
  return hash;
}
static uint64_t hash_text(uint64_t hash, const char *text) { return hash_bytes(hash, text, strlen(text) + 1); }

/* Of a file's contents; false where it cannot be read. */
static bool hash_file(const char *path, uint64_t *hash) {
  struct pto_mapped_file file = {0};
  struct pto_error error = {0};
  if (pto_mapped_file_init(&file, path, &error) != PTO_OK) return false;
  *hash = hash_bytes(file.size_bytes, file.data, file.size_bytes);
  pto_mapped_file_fini(&file);
  return true;
}

/* Files that were hashed by this call: kernels read the same headers. */
struct hashed_file {
  char *path;
  uint64_t hash;
  bool is_there;
};
struct hashed_files {
  struct hashed_file *items; /* open addressing, a power of two */
  size_t count, capacity;
};

static struct hashed_file *place_of(const struct hashed_files *files, const char *path) {
  size_t at = hash_text(0, path) & (files->capacity - 1);
  while (files->items[at].path && strcmp(files->items[at].path, path) != 0) at = (at + 1) & (files->capacity - 1);
  return &files->items[at];
}

static bool grow_files(struct hashed_files *files) {
  struct hashed_files larger = {.capacity = files->capacity ? 2 * files->capacity : 1024, .count = files->count};
  larger.items = calloc(larger.capacity, sizeof *larger.items);
  if (!larger.items) return false;
  for (size_t i = 0; i < files->capacity; i++)
    if (files->items[i].path) *place_of(&larger, files->items[i].path) = files->items[i];
  free(files->items);
  *files = larger;
  return true;
}

static bool hash_once(struct hashed_files *files, const char *path, uint64_t *hash) {
  if (2 * files->count >= files->capacity && !grow_files(files)) return hash_file(path, hash);
  struct hashed_file *file = place_of(files, path);
  if (!file->path) {
    file->path = strdup(path);
    if (!file->path) return hash_file(path, hash);
    file->is_there = hash_file(path, &file->hash);
    files->count++;
  }
  *hash = file->hash;
  return file->is_there;
}

static void free_files(struct hashed_files *files) {
  for (size_t i = 0; i < files->capacity; i++) free(files->items[i].path);
  free(files->items);
}

/* ---- processes ---- */

extern char **environ;

/* Starts a command whose output and errors go to the file; 0 or why not. */
static int start(char *const *words, const char *output, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  int reason = posix_spawn_file_actions_init(&actions);
  if (reason) return reason;
  reason = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (!reason)
    reason = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (!reason) reason = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  if (!reason) reason = posix_spawnp(pid, words[0], &actions, NULL, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  return reason;
}

static int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The whole file as a string; NULL where there is none. */
static char *read_text(const char *path) {
  struct pto_mapped_file file = {0};
  struct pto_error error = {0};
  if (pto_mapped_file_init(&file, path, &error) != PTO_OK) return NULL;
  char *text = malloc(file.size_bytes + 1);
  if (text) {
    if (file.size_bytes) memcpy(text, file.data, file.size_bytes);
    text[file.size_bytes] = '\0';
  }
  pto_mapped_file_fini(&file);
  return text;
}

/* ---- compilers ---- */

/* What the compiler says of itself: "MAJOR clang" or "MAJOR gcc". */
static bool probe(const char *name, struct pto_compat_compiler *compiler) {
  char output[] = "/tmp/pto-compiler-XXXXXX";
  const int fd = mkstemp(output);
  if (fd < 0) return false;
  close(fd);
  char *const words[] = {(char *)(uintptr_t)name, "-dM", "-E", "-x", "c++", "/dev/null", NULL};
  pid_t pid;
  bool is_there = start(words, output, &pid) == 0 && wait_for(pid) == 0;
  char *text = is_there ? read_text(output) : NULL;
  unlink(output);
  if (!text) return false;
  const char *clang = strstr(text, "#define __clang_major__ "), *gnu = strstr(text, "#define __GNUC__ ");
  *compiler = (struct pto_compat_compiler){.is_clang = clang != NULL};
  if (clang)
    compiler->version = (uint32_t)strtoul(clang + strlen("#define __clang_major__ "), NULL, 10);
  else if (gnu)
    compiler->version = (uint32_t)strtoul(gnu + strlen("#define __GNUC__ "), NULL, 10);
  free(text);
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

/* One kernel on its way. */
struct job {
  const struct pto_compat_kernel_source *source;
  struct pto_compat_kernel_built *built;
  struct words words;
  uint64_t key, begin_ns;
  pid_t pid; /* of its compiler; 0: none runs */
};

struct builder {
  const struct pto_compat_workshop *shop;
  struct hashed_files files;
  char seam[PATH_BYTES]; /* its object */
  struct job *jobs;      /* as many as kernels */
};

static PTO_PRINTF(2, 3) void fail(struct pto_compat_kernel_built *built, const char *format, ...) {
  struct pto_error error = {0};
  va_list arguments;
  char text[PTO_SENTENCE_SIZE];
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  built->status = pto_error_set(&error, PTO_EINVAL, "%s", text); /* printable */
  (void)snprintf(built->sentence, sizeof built->sentence, "%.*s", (int)sizeof built->sentence - 1, error.sentence);
  built->path[0] = '\0';
}

/* "KEY.so", "KEY.files". */
static void name_file(const struct builder *builder, uint64_t key, const char *end, char *path) {
  (void)snprintf(path, PATH_BYTES, "%s/%016llx%s", builder->shop->cache, (unsigned long long)key, end);
}
/* The same while they are being made: of the process, and of the job, since two may make the same. */
static void name_made(const struct builder *builder, const struct job *job, const char *end, char *path) {
  (void)snprintf(path, PATH_BYTES, "%s/%016llx.%ld-%ld%s", builder->shop->cache, (unsigned long long)job->key,
                 (long)getpid(), (long)(job - builder->jobs), end);
}

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

/* ---- what it was made of ---- */

/* Calls `each` with the paths of a list of make's, "object: FILE FILE \ …", until one answers false. */
static bool each_file(char *list, bool (*each)(void *context, const char *path), void *context) {
  char *at = strchr(list, ':');
  for (at = at ? at + 1 : list + strlen(list); *at;) {
    while (*at == ' ' || *at == '\n' || (*at == '\\' && at[1] == '\n')) at++;
    if (!*at) break;
    char *from = at, *to = at; /* blanks in names are escaped */
    for (; *at && *at != ' ' && *at != '\n'; at++) {
      if (*at == '\\' && at[1] == ' ') at++;
      *to++ = *at;
    }
    if (*at) at++;
    *to = '\0';
    if (!each(context, from)) return false;
  }
  return true;
}

struct listing {
  struct builder *builder;
  struct job *job;
  FILE *file;
};

/* Kernels of a compiler without the type get another one in silence.  Whether the text names it. */
static bool refuse_bfloat16(const struct builder *builder, struct job *job, const char *path, const char *text) {
  const uint32_t line = builder->shop->compiler.has_bfloat16 ? 0 : line_of(text, "bfloat16_t");
  if (line)
    fail(job->built, "%s:%u: bfloat16_t: %s has no such type, and computes in float16; clang++ 19 and g++ 14 have it",
         path, line, builder->shop->compiler.name);
  return line != 0;
}

/* A file of the kernel's own: none of the system's, of pto-isa's, or of ours. */
static bool is_own(const struct pto_compat_workshop *shop, const char *path) {
  return strncmp(path, "/usr/", 5) != 0 && strncmp(path, shop->pto_isa, strlen(shop->pto_isa)) != 0 &&
         strncmp(path, shop->compat, strlen(shop->compat)) != 0;
}

static bool list_file(void *context, const char *path) {
  struct listing *listing = context;
  uint64_t hash;
  if (!listing->builder->shop->compiler.has_bfloat16 && is_own(listing->builder->shop, path)) {
    char *text = read_text(path);
    const bool is_refused = text && refuse_bfloat16(listing->builder, listing->job, path, text);
    free(text);
    if (is_refused) return false;
  }
  if (!hash_once(&listing->builder->files, path, &hash)) return false;
  return fprintf(listing->file, "%016llx %s\n", (unsigned long long)hash, path) > 0;
}

/* Whether the object of that key is there and made of what there is now. */
static bool is_good(struct builder *builder, uint64_t key) {
  char path[PATH_BYTES];
  name_file(builder, key, ".so", path);
  if (access(path, R_OK) != 0) return false;
  name_file(builder, key, ".files", path);
  char *text = read_text(path);
  bool is_same = text && *text;
  for (char *line = text; is_same && line && *line;) {
    char *end = strchr(line, '\n');
    if (end) *end = '\0';
    uint64_t hash = 0;
    is_same = strlen(line) > 17 && hash_once(&builder->files, line + 17, &hash) && strtoull(line, NULL, 16) == hash;
    line = end ? end + 1 : NULL;
  }
  free(text);
  return is_same;
}

/* ---- how it fails ---- */

/* The first line with an error: "FILE:LINE:COLUMN: error: TEXT". */
static void say_why(struct job *job, const char *compiler, char *output) {
  char *error = strstr(output, " error: "), *fatal = strstr(output, " fatal error: ");
  if (fatal && (!error || fatal < error)) error = fatal;
  char *linker = strstr(output, "undefined reference to ");
  if (linker) {
    linker[strcspn(linker, "\n")] = '\0';
    fail(job->built, "%s: %s: no library has it", job->source->path, linker);
    return;
  }
  if (!error) {
    output[strcspn(output, "\n")] = '\0';
    fail(job->built, "%s: %s does not compile it: %s", job->source->path, compiler, output);
    return;
  }
  char *line = error;
  while (line > output && line[-1] != '\n') line--;
  char *text = strstr(error, "error: ") + strlen("error: ");
  text[strcspn(text, "\n")] = '\0';
  *error = '\0';
  char *colon = strchr(line, ':'); /* path:line:column: */
  if (colon) colon = strchr(colon + 1, ':');
  if (colon) *colon = '\0';
  fail(job->built, "%s: %s (%s)", line, text, compiler);
}

/* ---- all of them ---- */

static int start_job(struct builder *builder, struct job *job) {
  char path[PATH_BYTES];
  name_made(builder, job, ".so", path);
  add(&job->words, "-shared");
  add(&job->words, "-Wl,--no-undefined");
  add(&job->words, "-MMD");
  add(&job->words, "-MF");
  name_made(builder, job, ".d", path);
  add(&job->words, "%s", path);
  add(&job->words, "-o");
  name_made(builder, job, ".so", path);
  add(&job->words, "%s", path);
  add(&job->words, "%s", job->source->path);
  add(&job->words, "%s", builder->seam);
  if (job->words.is_full) return ENOMEM;
  name_made(builder, job, ".log", path);
  job->words.items[job->words.count] = NULL;
  return start(job->words.items, path, &job->pid);
}

/* Its files go into the cache under their names. */
static void keep(struct builder *builder, struct job *job) {
  char made[PATH_BYTES], kept[PATH_BYTES];
  name_made(builder, job, ".d", made);
  char *list = read_text(made);
  name_made(builder, job, ".files", made);
  struct listing listing = {builder, job, fopen(made, "w")};
  bool is_written = list && listing.file && each_file(list, list_file, &listing);
  if (listing.file && fclose(listing.file) != 0) is_written = false;
  free(list);
  name_file(builder, job->key, ".so", kept);
  (void)snprintf(job->built->path, sizeof job->built->path, "%s", kept);
  char object[PATH_BYTES];
  name_made(builder, job, ".so", object);
  if (is_written && job->built->status == PTO_OK) is_written = rename(object, kept) == 0;
  name_file(builder, job->key, ".files", kept);
  if (is_written && job->built->status == PTO_OK) is_written = rename(made, kept) == 0;
  if (!is_written && job->built->status == PTO_OK)
    fail(job->built, "%s: the cache %s cannot be written", job->source->path, builder->shop->cache);
}

static void finish_job(struct builder *builder, struct job *job, int exit_status) {
  static const char *const ends[] = {".so", ".d", ".log", ".files"};
  char path[PATH_BYTES];
  job->pid = 0;
  job->built->ns = pto_clock_ns() - job->begin_ns;
  if (exit_status == 0) {
    keep(builder, job);
  } else {
    name_made(builder, job, ".log", path);
    char *output = read_text(path);
    char empty[1] = "";
    say_why(job, builder->shop->compiler.name, output ? output : empty);
    free(output);
  }
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(ends); i++) {
    name_made(builder, job, ends[i], path);
    unlink(path);
  }
}

/* What can be said without the compiler: true where it is to be called. */
static bool prepare_job(struct builder *builder, struct job *job) {
  *job->built = (struct pto_compat_kernel_built){0};
  job->begin_ns = pto_clock_ns();
  char *text = read_text(job->source->path);
  if (!text) {
    fail(job->built, "%s: cannot be read", job->source->path);
    return false;
  }
  const bool is_refused = refuse_bfloat16(builder, job, job->source->path, text);
  make_words(builder, job->source, text, &job->words);
  free(text);
  if (is_refused) return false;
  job->key = builder->shop->compiler.version;
  for (uint32_t i = 0; i < job->words.count; i++) job->key = hash_text(job->key, job->words.items[i]);
  job->key = hash_text(hash_text(job->key, job->source->path), builder->seam);
  if (is_good(builder, job->key)) {
    char path[PATH_BYTES];
    name_file(builder, job->key, ".so", path);
    (void)snprintf(job->built->path, sizeof job->built->path, "%s", path);
    job->built->was_cached = true;
    job->built->ns = pto_clock_ns() - job->begin_ns;
    return false;
  }
  return true;
}

/* The seam's object, which its contents name. */
static int build_seam(struct builder *builder, struct pto_error *error) {
  const struct pto_compat_workshop *shop = builder->shop;
  char source[PATH_BYTES], calls[PATH_BYTES], made[PATH_BYTES], log[PATH_BYTES];
  uint64_t hash = 0, other = 0;
  (void)snprintf(source, sizeof source, "%s/object/seam.c", shop->compat);
  (void)snprintf(calls, sizeof calls, "%s/object/seam_calls.h", shop->compat);
  if (!hash_file(source, &hash) || !hash_file(calls, &other))
    return pto_error_set(error, PTO_ESYSTEM, "%s: cannot be read: the folder compat of this project is needed", source);
  hash = hash_text(hash ^ pto_mix64(other ^ shop->compiler.version), shop->compiler.name);
  (void)snprintf(builder->seam, sizeof builder->seam, "%s/seam-%016llx.o", shop->cache, (unsigned long long)hash);
  if (access(builder->seam, R_OK) == 0) return PTO_OK;
  (void)snprintf(made, sizeof made, "%s/seam-%016llx.%ld", shop->cache, (unsigned long long)hash, (long)getpid());
  (void)snprintf(log, sizeof log, "%s/seam-%016llx.%ld.log", shop->cache, (unsigned long long)hash, (long)getpid());
  /* The compilers take C by its option. */
  char *const words[] = {
      (char *)(uintptr_t)shop->compiler.name, "-x", "c", "-O2", "-fPIC", "-w", "-c", source, "-o", made, NULL};
  pid_t pid;
  const int reason = start(words, log, &pid), exit_status = reason ? 1 : wait_for(pid);
  char *output = read_text(log);
  unlink(log);
  int status = PTO_OK;
  if (exit_status != 0 || rename(made, builder->seam) != 0)
    status = pto_error_set(error, PTO_ESYSTEM, "%s: %s does not compile it: %s", source, shop->compiler.name,
                           reason   ? strerror(reason)
                           : output ? output
                                    : "");
  free(output);
  return status;
}

static bool make_folder(const char *path) {
  char part[PATH_BYTES];
  (void)snprintf(part, sizeof part, "%s", path);
  for (char *at = part + 1; *at; at++) {
    if (*at != '/') continue;
    *at = '\0';
    (void)mkdir(part, 0777);
    *at = '/';
  }
  return mkdir(part, 0777) == 0 || errno == EEXIST;
}

static uint32_t job_limit(const struct pto_compat_workshop *shop) {
  if (shop->jobs) return shop->jobs;
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const uint64_t by_memory = (uint64_t)pages * (uint64_t)page / MEMORY_OF_A_COMPILER;
  uint64_t limit = cpus > 0 ? (uint64_t)cpus : 1;
  limit = by_memory < limit ? by_memory : limit;
  return limit ? (uint32_t)limit : 1;
}

/* Waits for one of the compilers that run. */
static void reap(struct builder *builder, uint32_t count, uint32_t *running) {
  /* The oldest: others end meanwhile, and are found ended. */
  for (uint32_t i = 0; i < count; i++) {
    struct job *job = &builder->jobs[i];
    if (!job->pid) continue;
    finish_job(builder, job, wait_for(job->pid));
    (*running)--;
    return;
  }
}

static int check_shop(const struct pto_compat_workshop *shop, struct pto_error *error) {
  char path[PATH_BYTES];
  (void)snprintf(path, sizeof path, "%s/include/pto/pto-inst.hpp", shop->pto_isa);
  if (access(path, R_OK) != 0)
    return pto_error_set(error, PTO_ESYSTEM, "%s is no checkout of pto-isa: it has no include/pto/pto-inst.hpp",
                         shop->pto_isa);
  if (!make_folder(shop->cache))
    return pto_error_set(error, PTO_ESYSTEM, "%s: cannot be made: %s", shop->cache, strerror(errno));
  return PTO_OK;
}

int pto_compat_kernels_build(const struct pto_compat_workshop *shop, const struct pto_compat_kernel_source *sources,
                             uint32_t count, struct pto_compat_kernel_built *built, struct pto_error *error) {
  struct builder builder = {.shop = shop, .jobs = calloc(count ? count : 1, sizeof *builder.jobs)};
  uint32_t running = 0, failed = 0;
  int status =
      builder.jobs ? check_shop(shop, error) : pto_error_set(error, PTO_ENOMEM, "no memory for %u kernels", count);
  if (status == PTO_OK) status = build_seam(&builder, error);
  for (uint32_t i = 0; i < count && status == PTO_OK; i++) {
    struct job *job = &builder.jobs[i];
    job->source = &sources[i];
    job->built = &built[i];
    if (!prepare_job(&builder, job)) continue;
    if (running == job_limit(shop)) reap(&builder, count, &running);
    const int reason = start_job(&builder, job);
    if (reason)
      status = pto_error_set(error, PTO_ESYSTEM, "%s: %s", shop->compiler.name, strerror(reason));
    else
      running++;
  }
  while (running > 0) reap(&builder, count, &running);
  for (uint32_t i = 0; i < count && builder.jobs; i++) {
    free_words(&builder.jobs[i].words);
    failed += status == PTO_OK && built[i].status != PTO_OK;
  }
  free_files(&builder.files);
  free(builder.jobs);
  if (status == PTO_OK && failed)
    status = pto_error_set(error, PTO_EINVAL, "%u of %u kernels do not compile", failed, count);
  return status;
}
