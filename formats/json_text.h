/* SPDX-License-Identifier: MIT */
/*
 * Documents from text and text from documents, where jansson (2.14) by itself loses parts when memory is short: it
 * leaves bytes of a string out that it reads, and keys of an object that it writes, and goes on.
 *
 * Owns nothing; documents (json_decref) and text (free) are the caller's.  Always true: what is given is whole.  Where
 * NULL is given, errno is ENOMEM if that is why, and 0 if the text is at fault.  Any thread.
 */
#ifndef PTO_JSON_TEXT_H
#define PTO_JSON_TEXT_H

#include <stdio.h>

#include <jansson.h>

/* As json_loadb, json_loadf; `reason` may be NULL. */
json_t *pto_json_load(const void *bytes, size_t size, size_t flags, json_error_t *reason);
json_t *pto_json_load_stream(FILE *stream, size_t flags, json_error_t *reason);
/* As json_dumps. */
char *pto_json_dump(const json_t *document, size_t flags);

#endif
