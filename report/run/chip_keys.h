/* SPDX-License-Identifier: MIT */
/*
 * The keys of a chip file as reports tell them, and what halves some of them.
 *
 * Owns nothing.  Any thread.
 */
#ifndef PTO_REPORT_RUN_CHIP_KEYS_H
#define PTO_REPORT_RUN_CHIP_KEYS_H

#include <formats/json_writer.h>
#include <sim/chips/chip.h>

/* One array under `name`, an object a key: section, key, value, unit, tag, source. */
void pto_chip_keys_put(const struct pto_chip_sheet *sheet, const char *name, struct pto_json_writer *w);
/* The key's number; 0 where it is a word, or 0. */
uint64_t pto_chip_key_number(const struct pto_chip_note *note);
/* "submit=150000,first_submit=1000": of these keys, with blanks between them, those that the sheet has with a number,
 * each halved.  "" where it has none, or has no room.  Returns `text`. */
const char *pto_chip_keys_halved(const struct pto_chip_sheet *sheet, const char *keys, char *text, size_t size);

#endif
