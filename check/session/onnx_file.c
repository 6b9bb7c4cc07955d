/* SPDX-License-Identifier: MIT */
#include <check/session/onnx_file.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <check/session/python.h>
#include <graph/file/json.h>
#include <runtime/base/base.h>
#include <runtime/base/process.h>
#include <runtime/base/text.h>

/* argv[1] is the folder of the package; what follows are the words of pto.onnx. */
#define IMPORT                                                                                                         \
  "import sys; sys.path.insert(0, sys.argv[1])\n"                                                                      \
  "try: from pto.onnx import main\n"                                                                                   \
  "except ImportError as error: sys.exit(f'the Python package does not load (`make python` builds it): {error}')\n"    \
  "sys.exit(main(sys.argv[2:]))"

static const char folder_template[] = "/tmp/pto-onnx-XXXXXX";

bool pto_is_onnx_file(const char *path) { return pto_text_ends_with(path, ".onnx"); }

/* ---- the process ---- */

/* To standard error; returns the lines. */
static uint32_t tell(int fd) {
  char text[PTO_SENTENCE_SIZE];
  uint32_t lines = 0;
  ssize_t length;
  for (off_t at = 0; (length = pread(fd, text, sizeof text, at)) > 0; at += length) {
    for (ssize_t i = 0; i < length; i++) lines += text[i] == '\n';
    fwrite(text, 1, (size_t)length, stderr);
  }
  return lines;
}

/* What it said on `fd`: a line a reason.  A sentence has them all, or the first and how many there are. */
static int refuse(const char *path, int fd, struct pto_error *error) {
  char text[PTO_SENTENCE_SIZE] = "", *line = text, *rest;
  const off_t size = lseek(fd, 0, SEEK_END);
  const ssize_t length = pread(fd, text, sizeof text - 1, 0);
  (void)pto_error_set(error, PTO_EINVAL, "%s: ", path);
  text[length > 0 ? length : 0] = '\0';
  for (bool is_first = true; (line = strtok_r(is_first ? text : NULL, "\n", &rest)); is_first = false)
    pto_text_append(error->sentence, sizeof error->sentence, "%s%s", is_first ? "" : "; ", line);
  if (size > length || strlen(error->sentence) + 1 == sizeof error->sentence)
    return pto_error_set(error, PTO_EINVAL, "%.400s: standard error has %" PRIu32 " lines about it; the first: %.400s",
                         path, tell(fd), text);
  return error->status;
}

static int convert(const char *const *words, const char *path, struct pto_error *error) {
  const int fd = memfd_create("onnx", MFD_CLOEXEC);
  if (fd < 0) return pto_error_set(error, PTO_ESYSTEM, "memfd_create: %s", strerror(errno));
  const struct pto_process_fd said = {fd, STDERR_FILENO};
  pid_t pid;
  const int reason = pto_process_start(
      &(struct pto_process_request){.path = words[0], .words = words, .fds = &said, .fd_count = 1}, &pid);
  int status = PTO_OK;
  if (reason)
    status = pto_error_set(error, PTO_ESYSTEM, "no process for %s: %s", words[0], strerror(reason));
  else if (pto_process_exit_code(pid) != 0)
    status = refuse(path, fd, error);
  close(fd);
  return status;
}

static int load(const char *python, const char *package, const char *path, struct pto_words sizes,
                struct pto_graph **graph_out, struct pto_error *error) {
  char folder[sizeof folder_template], graph[64], weights[64];
  const struct pto_graph_file_options options = {.size = sizeof options};
  const char **words = calloc(sizes.count + 8u, sizeof *words);
  if (!words) return pto_error_set(error, PTO_ENOMEM, "out of memory");
  memcpy(folder, folder_template, sizeof folder);
  int status = mkdtemp(folder) ? PTO_OK : pto_error_set(error, PTO_ESYSTEM, "%s: %s", folder, strerror(errno));
  if (status) goto done;
  snprintf(graph, sizeof graph, "%s/graph.json", folder);
  snprintf(weights, sizeof weights, "%s/graph.safetensors", folder);
  const char *const first[] = {python, "-B", "-c", IMPORT, package, path, graph};
  memcpy(words, first, sizeof first);
  for (uint32_t i = 0; i < sizes.count; i++) words[PTO_ARRAY_LENGTH(first) + i] = sizes.items[i];
  status = convert(words, path, error);
  if (!status) status = pto_graph_json_load(NULL, graph, &options, graph_out, error);
  (void)unlink(graph);
  (void)unlink(weights);
  (void)rmdir(folder);
done:
  free(words);
  return status;
}

int pto_onnx_load(const char *path, struct pto_words sizes, struct pto_graph **graph_out, struct pto_error *error) {
  char package[PATH_MAX];
  if (!pto_python_find_package("pto/onnx.py", package))
    return pto_error_set(error, PTO_ENOTSUP, "%s: the module pto/onnx.py is not beside this program", path);
  const char *python = pto_python_find("cffi,numpy,onnx");
  if (!python)
    return pto_error_set(error, PTO_ENOTSUP,
                         "%s: no Python has cffi, numpy and onnx: scripts/deps --python, or apt-get "
                         "install python3-cffi python3-onnx",
                         path);
  return load(python, package, path, sizes, graph_out, error);
}
