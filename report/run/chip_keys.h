/* SPDX-License-Identifier: MIT */
/*
 * The keys of a chip file as reports tell them, and what makes some things take half as long.
 *
 * Owns nothing.  Any thread.
 */
#ifndef PTO_REPORT_RUN_CHIP_KEYS_H
#define PTO_REPORT_RUN_CHIP_KEYS_H

#include <formats/json_writer.h>
#include <sim/chips/chip.h>

/* One array, an object a key: section, key, value, unit, tag, source. */
void pto_chip_keys_put(const struct pto_chip_sheet *sheet, struct pto_json_writer *w);
/* The key's number; 0 where it is a word, or 0. */
uint64_t pto_chip_key_number(const struct pto_chip_note *note);
/* "submit=150000,first_submit=1000", as --chip-set takes it: what these keys (blanks between them) price takes half as
 * long.  Those that the sheet has with a number: times halved, rates doubled.  "" where it has none.  Returns `text`.
 */
const char *pto_chip_keys_faster(const struct pto_chip_sheet *sheet, const char *keys, char *text, size_t size);

#endif
