/* SPDX-License-Identifier: MIT */
#include <report/run/chip_keys.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/text.h>

void pto_chip_keys_put(const struct pto_chip_sheet *sheet, struct pto_json_writer *w) {
  pto_json_array_begin(w);
  for (uint32_t i = 0; i < sheet->count; i++) {
    const struct pto_chip_note *note = &sheet->notes[i];
    const char *tag = pto_chip_tag_name(note->tag);
    pto_json_object_begin(w);
    pto_json_put_string(w, "section", note->section);
    pto_json_put_string(w, "key", note->key);
    pto_json_put_string(w, "value", note->value);
    pto_json_put_string(w, "unit", pto_chip_note_unit(note));
    pto_json_put_string(w, "tag", tag[0] ? tag : NULL);
    pto_json_put_string(w, "source", note->source);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

uint64_t pto_chip_key_number(const struct pto_chip_note *note) {
  if (note->value[0] < '0' || note->value[0] > '9' || note->value[strspn(note->value, "0123456789")]) return 0;
  return strtoull(note->value, NULL, 10);
}

const char *pto_chip_keys_faster(const struct pto_chip_sheet *sheet, const char *keys, char *text, size_t size) {
  text[0] = '\0';
  while (keys && *keys) {
    char key[64];
    const size_t length = strcspn(keys, " ");
    snprintf(key, sizeof key, "%.*s", (int)length, keys);
    const struct pto_chip_note *note = pto_chip_sheet_find(sheet, key);
    const uint64_t number = note ? pto_chip_key_number(note) : 0;
    const bool is_rate = note && strcmp(pto_chip_note_unit(note), "MB/s") == 0;
    if (number)
      pto_text_append(text, size, "%s%s=%" PRIu64, text[0] ? "," : "", key, is_rate ? 2 * number : number / 2);
    keys += length + (keys[length] == ' ');
  }
  return text;
}
