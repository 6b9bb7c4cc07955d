/* SPDX-License-Identifier: MIT */
#include <compat/kernel/object_cache.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <formats/mapped_file.h>
#include <runtime/base/base.h>
#include <runtime/base/process.h>

#define MOST_MESSAGE_BYTES (1u << 20)

/* ---- files ---- */

static int make_folders(const char *folder, struct pto_error *error) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/", folder) >= (int)sizeof path)
    return pto_error_set(error, PTO_EINVAL, "%.100s…: the path is too long", folder);
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
      return pto_error_set(error, PTO_ESYSTEM, "%.400s: %s", path, strerror(errno));
    *slash = '/';
  }
  return PTO_OK;
}

static uint64_t digest_bytes(const void *data, size_t size, uint64_t digest) {
  const unsigned char *bytes = data;
  for (; size >= 8; bytes += 8, size -= 8) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    digest = pto_mix64(digest ^ word);
  }
  for (; size > 0; bytes++, size--) digest = pto_mix64(digest ^ *bytes);
  return digest;
}

/* The digest of a file's bytes; false where it cannot be read. */
static bool digest_file(const char *path, uint64_t *digest) {
  struct pto_mapped_file file;
  struct pto_error unused;
  if (pto_mapped_file_init(&file, path, &unused)) return false;
  *digest = digest_bytes(file.data, file.size_bytes, *digest ^ file.size_bytes);
  pto_mapped_file_fini(&file);
  return true;
}

static uint64_t digest_text(const char *text, uint64_t digest) { return digest_bytes(text, strlen(text) + 1, digest); }

/* ---- what an object is made of ---- */

/* The compiler's file: its path, size and time say whether it is another. */
static bool find_compiler(const char *name, char path[PATH_MAX]) {
  const char *list = strchr(name, '/') ? "" : getenv("PATH");
  while (list) {
    const int length = (int)strcspn(list, ":");
    const int written = snprintf(path, PATH_MAX, "%.*s%s%s", length, list, length ? "/" : "", name);
    if (written < PATH_MAX && access(path, X_OK) == 0) return true;
    list = list[length] ? list + length + 1 : NULL;
  }
  return false;
}

/* Of the command. */
static int make_key(const struct pto_object_request *request, uint64_t *key, struct pto_error *error) {
  char compiler[PATH_MAX];
  struct stat about;
  if (!find_compiler(request->words[0], compiler) || stat(compiler, &about) != 0)
    return pto_error_set(error, PTO_ENOTSUP, "%.400s: there is no compiler %.100s to build it", request->source,
                         request->words[0]);
  const int64_t identity[] = {about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec};
  *key = digest_text(compiler, 0);
  *key = digest_bytes(identity, sizeof identity, *key);
  for (const char *const *word = request->words; *word; word++) *key = digest_text(*word, *key);
  return PTO_OK;
}

/* The next file of a compiler's list "object: a.cpp b.h \", with its escapes taken out; false at the end. */
static bool next_file(char **at, char **file) {
  char *from = *at, *to;
  while (*from == ' ' || *from == '\n' || (*from == '\\' && from[1] == '\n')) from += *from == '\\' ? 2 : 1;
  if (!*from) return false;
  *file = to = from;
  while (*from && *from != ' ' && *from != '\n') {
    if (*from == '\\' && from[1] == '\n') break;
    if ((*from == '\\' && (from[1] == ' ' || from[1] == '#')) || (*from == '$' && from[1] == '$')) from++;
    *to++ = *from++;
  }
  *at = *from ? from + 1 : from;
  *to = '\0';
  return true;
}

/* The compiler's list as text that the caller frees, and where its files begin; NULL: there is none. */
static char *read_list(const char *path, char **at) {
  struct pto_mapped_file list;
  struct pto_error unused;
  if (pto_mapped_file_init(&list, path, &unused)) return NULL;
  char *text = list.data ? strndup((const char *)list.data, list.size_bytes) : NULL;
  pto_mapped_file_fini(&list);
  *at = text ? strstr(text, ": ") : NULL;
  if (*at) {
    *at += 2;
    return text;
  }
  free(text);
  return NULL;
}

/* Of the key and the contents of all files of the list; false where one of them is gone. */
static bool make_digest(const char *list_path, uint64_t key, uint64_t *digest) {
  char *at, *file, *text = read_list(list_path, &at);
  bool is_whole = text != NULL;
  *digest = key;
  while (is_whole && next_file(&at, &file)) {
    *digest = digest_text(file, *digest);
    is_whole = digest_file(file, digest);
  }
  free(text);
  return is_whole;
}

static int check_files(const struct pto_object_request *request, const char *list_path, struct pto_error *error) {
  if (!request->check_file) return PTO_OK;
  char *at, *file, *text = read_list(list_path, &at);
  int status = PTO_OK;
  while (text && status == PTO_OK && next_file(&at, &file)) status = request->check_file(request->context, file, error);
  free(text);
  return status;
}

/* ---- compiling ---- */

/* "FILE:LINE" at the beginning of a line of a compiler; how long that is. */
static size_t place_length(const char *line) {
  const char *number = strchr(line, ':');
  const size_t digits = number ? strspn(number + 1, "0123456789") : 0;
  return digits ? (size_t)(number + 1 + digits - line) : 0;
}

/* The line of the source that led to an error in a header: the last that was named before it; NULL: none was. */
static const char *place_in_source(const char *text, const char *line, const char *source) {
  const size_t length = strlen(source);
  const char *last = NULL;
  if (strncmp(line, source, length) == 0) return NULL;
  for (const char *at = strstr(text, source); at && at < line; at = strstr(at + length, source))
    if (at[length] == ':' && at[length + 1] >= '0' && at[length + 1] <= '9') last = at;
  return last;
}

/* The first line of what the compiler said that is an error, as "FILE:LINE: …". */
static int tell_failure(const struct pto_object_request *request, int fd, struct pto_error *error) {
  static const char mark[] = "error: ";
  char *text = calloc(1, MOST_MESSAGE_BYTES + 1);
  if (!text) return pto_error_set(error, PTO_ENOMEM, "%.400s: out of memory", request->source);
  if (pread(fd, text, MOST_MESSAGE_BYTES, 0) < 0) text[0] = '\0';
  char *found = strstr(text, mark), *line = found;
  const char *missing = strstr(text, "undefined reference to ");
  while (line && line > text && line[-1] != '\n') line--;
  if (missing)
    pto_error_set(error, PTO_EINVAL, "%.400s: %.*s: no library has it", request->source, (int)strcspn(missing, "\n"),
                  missing);
  else if (!found)
    pto_error_set(error, PTO_EINVAL, "%.400s: %s did not compile it: %.*s", request->source, request->words[0],
                  (int)strcspn(text, "\n"), text);
  else {
    const char *said = found + strlen(mark), *place = place_in_source(text, line, request->source);
    const int said_length = (int)strcspn(said, "\n"), length = (int)place_length(line);
    if (place)
      pto_error_set(error, PTO_EINVAL, "%.*s: %.*s (%.*s, %s)", (int)place_length(place), place, said_length, said,
                    length, line, request->words[0]);
    else
      pto_error_set(error, PTO_EINVAL, "%.*s: %.*s (%s)", length, line, said_length, said, request->words[0]);
  }
  free(text);
  return PTO_EINVAL;
}

/* What it says goes to the file. */
static int start(const char *const *words, int text_fd, pid_t *pid) {
  const struct pto_process_fd fds[] = {{text_fd, STDOUT_FILENO}, {text_fd, STDERR_FILENO}};
  return pto_process_start(&(struct pto_process_request){.path = words[0], .words = words, .fds = fds, .fd_count = 2},
                           pid);
}

bool pto_object_compiler_tell(const char *const *words, char *text, size_t size) {
  const int fd = memfd_create("compiler", MFD_CLOEXEC);
  pid_t pid;
  if (fd < 0) return false;
  const bool is_done = start(words, fd, &pid) == 0 && pto_process_exit_code(pid) == 0;
  const ssize_t length = is_done ? pread(fd, text, size - 1, 0) : -1;
  close(fd);
  if (length < 0) return false;
  text[length] = '\0';
  return true;
}

/* Makes `object` and `list`, which are new files. */
static int compile(const struct pto_object_request *request, char *object, char *list, struct pto_error *error) {
  const char *words[PTO_OBJECT_MOST_WORDS + 6];
  size_t count = 0;
  pid_t pid;
  while (request->words[count] && count < PTO_OBJECT_MOST_WORDS) {
    words[count] = request->words[count];
    count++;
  }
  memcpy(words + count, (const char *[]){"-MMD", "-MF", list, "-o", object, NULL}, 6 * sizeof *words);
  const int text_fd = memfd_create("compiler", MFD_CLOEXEC);
  int reason = text_fd < 0 ? errno : start(words, text_fd, &pid), status = PTO_OK;
  if (reason)
    status = pto_error_set(error, PTO_ESYSTEM, "%.400s: no process for %.100s: %s", request->source, words[0],
                           strerror(reason));
  else if (pto_process_exit_code(pid) != 0)
    status = tell_failure(request, text_fd, error);
  if (text_fd >= 0) close(text_fd);
  return status;
}

int pto_object_cache_get(const struct pto_object_request *request, char path[PATH_MAX], bool *is_new,
                         struct pto_error *error) {
  char list[PATH_MAX], new_list[PATH_MAX + 32], new_object[PATH_MAX + 64];
  uint64_t key = 0, digest = 0;
  int status = make_folders(request->folder, error);
  if (status == PTO_OK) status = make_key(request, &key, error);
  if (status) return status;
  *is_new = false;
  if (snprintf(list, PATH_MAX, "%s/%016" PRIx64 ".d", request->folder, key) >= PATH_MAX - 8)
    return pto_error_set(error, PTO_EINVAL, "%.100s…: the path is too long", request->folder);
  const bool has_list = make_digest(list, key, &digest);
  snprintf(path, PATH_MAX, "%s/%016" PRIx64 ".so", request->folder, digest);
  if (has_list && access(path, R_OK) == 0) return PTO_OK;
  static _Atomic uint32_t number;
  snprintf(new_list, sizeof new_list, "%s.%d.%u", list, (int)getpid(), number++);
  snprintf(new_object, sizeof new_object, "%s.so", new_list);
  status = compile(request, new_object, new_list, error);
  if (status == PTO_OK) status = check_files(request, new_list, error);
  if (status == PTO_OK && !make_digest(new_list, key, &digest))
    status = pto_error_set(error, PTO_ESYSTEM, "%.400s: a file that it includes cannot be read", request->source);
  snprintf(path, PATH_MAX, "%s/%016" PRIx64 ".so", request->folder, digest);
  if (status == PTO_OK && (rename(new_object, path) != 0 || rename(new_list, list) != 0))
    status = pto_error_set(error, PTO_ESYSTEM, "%.400s: %s", path, strerror(errno));
  if (status) {
    (void)unlink(new_object);
    (void)unlink(new_list);
    return status;
  }
  *is_new = true;
  return PTO_OK;
}
