/* SPDX-License-Identifier: MIT */
#include <report/findings/findings.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>
#include <runtime/base/grow.h>

static const struct kind {
  const char *name, *meaning;
  bool is_note;
} kinds[] = {
#define X(kind, name, is_note, meaning) {name, meaning, is_note},
    PTO_FINDING_LIST(X)
#undef X
};
_Static_assert(PTO_ARRAY_LENGTH(kinds) == PTO_FINDING_COUNT, "a line a kind");

const char *pto_finding_kind_name(uint32_t kind) { return kind < PTO_FINDING_COUNT ? kinds[kind].name : "unknown"; }
const char *pto_finding_kind_meaning(uint32_t kind) { return kind < PTO_FINDING_COUNT ? kinds[kind].meaning : ""; }
bool pto_finding_kind_is_note(uint32_t kind) { return kind < PTO_FINDING_COUNT && kinds[kind].is_note; }

void pto_findings_init(struct pto_findings *findings) { memset(findings, 0, sizeof *findings); }

void pto_findings_fini(struct pto_findings *findings) {
  for (uint32_t i = 0; i < findings->count; i++) {
    free(findings->items[i].sentence);
    free(findings->items[i].remedy);
  }
  free(findings->items);
  memset(findings, 0, sizeof *findings);
}

/* Groups are few where findings are many: the first of each stands early. */
static struct pto_finding *find_group(struct pto_findings *findings, const struct pto_finding *finding) {
  for (uint32_t i = 0; i < findings->count; i++)
    if (findings->items[i].group == finding->group && findings->items[i].kind == finding->kind)
      return &findings->items[i];
  return NULL;
}

static char *make_sentence(const char *remedy, const char *format, va_list args) {
  char text[2 * PTO_SENTENCE_SIZE];
  int length = vsnprintf(text, PTO_SENTENCE_SIZE, format, args);
  if (length < 0) return NULL;
  size_t used = strnlen(text, PTO_SENTENCE_SIZE);
  if (remedy) snprintf(text + used, sizeof text - used, "; %s", remedy);
  return strdup(text);
}

void pto_findings_add(struct pto_findings *findings, const struct pto_finding *finding, const char *remedy,
                      const char *format, ...) {
  va_list args;
  findings->by_kind[finding->kind]++;
  if (!pto_finding_kind_is_note(finding->kind)) findings->total++;
  struct pto_finding *first = find_group(findings, finding);
  if (first) first->more++;
  if (findings->count == PTO_FINDINGS_MAX) return;
  va_start(args, format);
  struct pto_finding kept = *finding;
  kept.more = 0;
  kept.sentence = make_sentence(remedy, format, args);
  kept.remedy = remedy ? strdup(remedy) : NULL;
  va_end(args);
  struct pto_finding *item = NULL;
  if (kept.sentence && (kept.remedy || !remedy))
    item = pto_grow(&findings->items, &findings->count, &findings->capacity, sizeof *item);
  if (item) {
    *item = kept;
    return;
  }
  free(kept.sentence);
  free(kept.remedy);
  findings->is_short = true;
}
