/* SPDX-License-Identifier: MIT */
#include <report/page/run_page.h>

#include <string.h>

#include <runtime/base/base.h>

/* As escaped_json.c and run_blocks.c write them. */
#define DOCUMENT "<script type=\"application/json\" id=\"%s%s\">"
#define BLOCK "<script type=\"text/plain\" id=\"%s%s\">"

static const struct {
  const char *id, *opening;
} elements[] = {{"result", DOCUMENT}, {"names", DOCUMENT}, {"overview", BLOCK}, {"timeline", BLOCK},
                {"tasks", BLOCK},     {"edges", BLOCK},    {"tensors", BLOCK}};

/* The text of an element, which has no tag in it. */
static const char *find(const struct pto_run_page *page, const char *form, const char *id, size_t *size) {
  char opening[96];
  snprintf(opening, sizeof opening, form, "", id);
  const char *data = (const char *)page->file.data, *end = data + page->file.size_bytes;
  const char *at = data ? memmem(data, page->file.size_bytes, opening, strlen(opening)) : NULL;
  if (!at) return NULL;
  at += strlen(opening);
  const char *close = memchr(at, '<', (size_t)(end - at));
  *size = close ? (size_t)(close - at) : 0;
  return close ? at : NULL;
}

int pto_run_page_open(const char *path, struct pto_run_page *page, struct pto_error *error) {
  size_t size;
  *page = (struct pto_run_page){0};
  const int status = pto_mapped_file_init(&page->file, path, error);
  if (status) return status;
  page->is_of_ranks = find(page, DOCUMENT, "ranks", &size) != NULL;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(elements) && !page->is_of_ranks; i++) {
    if (find(page, elements[i].opening, elements[i].id, &size)) continue;
    pto_run_page_fini(page);
    return pto_error_set(error, PTO_EINVAL, "%s is no page of `ptosim run --report`", path);
  }
  return PTO_OK;
}

void pto_run_page_fini(struct pto_run_page *page) { pto_mapped_file_fini(&page->file); }

const char *pto_run_page_result(const struct pto_run_page *page, size_t *size) {
  return find(page, DOCUMENT, page->is_of_ranks ? "ranks" : "result", size);
}

void pto_run_page_put(const struct pto_run_page *page, const char *prefix, FILE *to) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(elements); i++) {
    size_t size = 0;
    const char *text = find(page, elements[i].opening, elements[i].id, &size);
    fprintf(to, elements[i].opening, prefix, elements[i].id);
    fwrite(text, 1, size, to);
    fputs("</script>\n", to);
  }
}
