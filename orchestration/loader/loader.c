/* SPDX-License-Identifier: MIT */
#include <orchestration/loader/loader.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pto/version.h>
#include <runtime/base/base.h>
#include <runtime/base/closest.h>
#include <runtime/base/grow.h>
#include <runtime/base/process.h>
#include <runtime/base/text.h>

#define SUFFIX ".so"
#define SUFFIX_LENGTH 3u

/* ---- where programs are ---- */

/* Places relative to the folder of the running executable, tried in this order. */
static const char *const relative_folders[] = {"programs", "../lib/pto/programs"};

struct entry {
  char *name, *path;
};

struct listing {
  struct entry *entries;
  size_t count, capacity;
  int status;
};

static bool ends_in_suffix(const char *text) { return pto_text_ends_with(text, SUFFIX); }

/* Calls `visit` with each folder that programs are looked for in, existing or not, until it answers true. */
static bool each_folder(bool (*visit)(void *context, const char *folder), void *context) {
  char folder[PATH_MAX];
  const char *list = getenv("PTO_PROGRAM_PATH");
  if (list && *list) {
    while (*list) {
      size_t length = strcspn(list, ":");
      if (length > 0 && length < sizeof folder) {
        memcpy(folder, list, length);
        folder[length] = '\0';
        if (visit(context, folder)) return true;
      }
      list += length + (list[length] == ':');
    }
    return false;
  }
  char own[PATH_MAX];
  if (!pto_process_folder(own)) return false;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(relative_folders); i++) {
    int written = snprintf(folder, sizeof folder, "%s/%s", own, relative_folders[i]);
    if (written < (int)sizeof folder && visit(context, folder)) return true;
  }
  return false;
}

static void listing_fini(struct listing *listing) {
  for (size_t i = 0; i < listing->count; i++) {
    free(listing->entries[i].name);
    free(listing->entries[i].path);
  }
  free(listing->entries);
}

static void listing_push(struct listing *listing, const char *name, const char *path) {
  for (size_t i = 0; i < listing->count; i++)
    if (listing->status || strcmp(listing->entries[i].name, name) == 0) return; /* an earlier folder has it */
  struct entry *entry = pto_grow(&listing->entries, &listing->count, &listing->capacity, sizeof *entry);
  if (entry) *entry = (struct entry){strdup(name), strdup(path)};
  if (!entry || !entry->name || !entry->path) listing->status = PTO_ENOMEM;
}

/* Adds the programs of one folder under `prefix` ("" or "errors/"); sub-folders of the top level are entered once. */
static void listing_scan(struct listing *listing, const char *folder, const char *prefix) {
  DIR *directory = opendir(folder);
  if (!directory) {
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) listing->status = PTO_ESYSTEM;
    return;
  }
  for (struct dirent *item; (item = readdir(directory));) {
    char path[PATH_MAX], name[PATH_MAX];
    if (item->d_name[0] == '.') continue;
    int path_length = snprintf(path, sizeof path, "%s/%s", folder, item->d_name);
    int name_length = snprintf(name, sizeof name, "%s%s", prefix, item->d_name);
    if (path_length >= (int)sizeof path || name_length >= (int)sizeof name) continue;
    struct stat status;
    if (stat(path, &status) != 0) continue;
    if (S_ISREG(status.st_mode) && ends_in_suffix(name)) {
      name[name_length - (int)SUFFIX_LENGTH] = '\0';
      listing_push(listing, name, path);
    } else if (S_ISDIR(status.st_mode) && *prefix == '\0' && name_length + 1 < (int)sizeof name) {
      name[name_length] = '/';
      name[name_length + 1] = '\0';
      listing_scan(listing, path, name);
    }
  }
  closedir(directory);
}

static bool scan_folder(void *context, const char *folder) {
  listing_scan(context, folder, "");
  return false;
}

static int compare_entries(const void *a, const void *b) {
  const char *left = ((const struct entry *)a)->name, *right = ((const struct entry *)b)->name;
  bool left_is_nested = strchr(left, '/') != NULL, right_is_nested = strchr(right, '/') != NULL;
  if (left_is_nested != right_is_nested) return left_is_nested ? 1 : -1;
  return strcmp(left, right);
}

int pto_program_list(int (*visit)(void *context, const char *name, const char *path), void *context) {
  struct listing listing = {0};
  each_folder(scan_folder, &listing);
  int answer = listing.status;
  if (listing.count > 0 && answer == PTO_OK)
    qsort(listing.entries, listing.count, sizeof *listing.entries, compare_entries);
  for (size_t i = 0; i < listing.count && answer == 0; i++)
    answer = visit(context, listing.entries[i].name, listing.entries[i].path);
  listing_fini(&listing);
  return answer;
}

/* ---- finding one ---- */

struct search {
  const char *name;
  char path[PATH_MAX];
  char folders[1024]; /* that were looked in, for the sentence */
};

static bool search_folder(void *context, const char *folder) {
  struct search *search = context;
  size_t used = strlen(search->folders);
  snprintf(search->folders + used, sizeof search->folders - used, "%s%s", used ? ", " : "", folder);
  int length = snprintf(search->path, sizeof search->path, "%s/%s" SUFFIX, folder, search->name);
  return length < (int)sizeof search->path && access(search->path, R_OK) == 0;
}

static int consider_program(void *context, const char *name, const char *path) {
  pto_closest_consider(context, name);
  return PTO_OK;
}

static int find_program(const char *name_or_path, struct search *search, struct pto_error *error) {
  memset(search, 0, sizeof *search);
  if (ends_in_suffix(name_or_path)) {
    /* dlopen looks a name without a slash up in the library path; a slash makes it the file that was meant. */
    int length =
        snprintf(search->path, sizeof search->path, "%s%s", strchr(name_or_path, '/') ? "" : "./", name_or_path);
    if (length >= (int)sizeof search->path) return pto_error_set(error, PTO_EINVAL, "program path is too long");
    if (access(search->path, R_OK) != 0)
      return pto_error_set(error, PTO_EINVAL, "program %s: %s", name_or_path, strerror(errno));
    return PTO_OK;
  }
  search->name = name_or_path;
  if (*name_or_path && each_folder(search_folder, search)) return PTO_OK;
  struct pto_closest closest;
  char question[PTO_CLOSEST_TEXT];
  pto_closest_begin(&closest, name_or_path);
  (void)pto_program_list(consider_program, &closest);
  return pto_error_set(
      error, PTO_EINVAL, "no program \"%s\" (looked in %s): `ptosim list` names them, a path ends in " SUFFIX "%s",
      name_or_path, *search->folders ? search->folders : "no folder", pto_closest_question(&closest, question));
}

/* ---- loading ---- */

/* A copy of the file at `path` in memory of its own: its descriptor, or -1 with errno set. */
static int copy_of_file(const char *path) {
  int source = open(path, O_RDONLY | O_CLOEXEC);
  if (source < 0) return -1;
  int copy = memfd_create("pto-program", MFD_CLOEXEC);
  ssize_t got = copy < 0 ? -1 : 1;
  while (got > 0) got = sendfile(copy, source, NULL, 1 << 20);
  int reason = errno;
  close(source);
  if (got < 0 && copy >= 0) {
    close(copy);
    copy = -1;
  }
  errno = reason;
  return copy;
}

/* Maps the file, or a copy of it where the file is mapped already: the same file mapped twice is one mapping to the
 * dynamic linker, with one set of globals.  The copy's descriptor stays open while it is mapped, since the linker knows
 * the copy by the path /proc/self/fd/N and N must not come to mean another file. */
static int map_program(struct pto_loaded_program *loaded, struct pto_error *error) {
  char path[64];
  const char *mapped = loaded->path;
  struct pto_error refusal;
  if (pto_regular_file_check(loaded->path, &refusal))
    return pto_error_set(error, PTO_EINVAL, "program %.900s", refusal.sentence);
  errno = 0; /* the dynamic linker tells none, but malloc does */
  void *present = dlopen(loaded->path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (!present && errno == ENOMEM) return pto_error_set(error, PTO_ENOMEM, "program %s: out of memory", loaded->path);
  if (present) {
    dlclose(present);
    loaded->copy_fd = copy_of_file(loaded->path);
    if (loaded->copy_fd < 0)
      return pto_error_set(error, PTO_ESYSTEM, "program %s: no private copy: %s", loaded->path, strerror(errno));
    snprintf(path, sizeof path, "/proc/self/fd/%d", loaded->copy_fd);
    mapped = path;
  }
  errno = 0;
  loaded->handle = dlopen(mapped, RTLD_NOW | RTLD_LOCAL);
  if (!loaded->handle) {
    const bool is_malloc = errno == ENOMEM; /* its own failures are in its words alone, which it may mix up */
    const char *reason = dlerror();
    const int status = is_malloc || strstr(reason, strerror(ENOMEM)) ? PTO_ENOMEM : PTO_EINVAL;
    return pto_error_set(error, status, "program %s: %s", loaded->path, reason);
  }
  return PTO_OK;
}

int pto_program_check(const struct pto_program *program, const char *called, struct pto_error *error) {
  if (program->abi != PTO_PROGRAM_ABI)
    return pto_error_set(error, PTO_EINVAL, "program %s has abi %u, this library (" PTO_VERSION ") loads %u: %s",
                         called, program->abi, PTO_PROGRAM_ABI,
                         program->abi < PTO_PROGRAM_ABI ? "compile it again" : "it needs a newer library");
  if (!program->name || !*program->name) return pto_error_set(error, PTO_EINVAL, "program %s has no name", called);
  if (!program->orchestrate == !program->host)
    return pto_error_set(error, PTO_EINVAL, "program %s has %s", called,
                         program->host ? "both orchestrate and host" : "neither orchestrate nor host");
  return PTO_OK;
}

static int find_symbol(struct pto_loaded_program *loaded, struct pto_error *error) {
  loaded->program = dlsym(loaded->handle, "pto_program");
  if (!loaded->program) return pto_error_set(error, PTO_EINVAL, "%s has no symbol pto_program", loaded->path);
  return pto_program_check(loaded->program, loaded->path, error);
}

/* The name that a program goes by: what it was found as, or the last part of its path. */
static char *name_of(const char *name_or_path) {
  if (!ends_in_suffix(name_or_path)) return strdup(name_or_path);
  const char *slash = strrchr(name_or_path, '/');
  const char *last = slash ? slash + 1 : name_or_path;
  return strndup(last, strlen(last) - SUFFIX_LENGTH);
}

int pto_program_load(const char *name_or_path, struct pto_loaded_program **loaded_out, struct pto_error *error) {
  struct search search;
  int status = find_program(name_or_path, &search, error);
  if (status != PTO_OK) return status;
  struct pto_loaded_program *loaded = calloc(1, sizeof *loaded);
  if (!loaded) return pto_error_set(error, PTO_ENOMEM, "program %s: out of memory", name_or_path);
  loaded->copy_fd = -1;
  loaded->name = name_of(name_or_path);
  loaded->path = strdup(search.path);
  status = loaded->name && loaded->path ? map_program(loaded, error)
                                        : pto_error_set(error, PTO_ENOMEM, "program %s: out of memory", name_or_path);
  if (status == PTO_OK) status = find_symbol(loaded, error);
  if (status != PTO_OK) {
    pto_program_unload(loaded);
    return status;
  }
  *loaded_out = loaded;
  return PTO_OK;
}

void pto_program_unload(struct pto_loaded_program *loaded) {
  if (!loaded) return;
  if (loaded->handle) dlclose(loaded->handle);
  if (loaded->copy_fd >= 0) close(loaded->copy_fd);
  free(loaded->name);
  free(loaded->path);
  free(loaded);
}
