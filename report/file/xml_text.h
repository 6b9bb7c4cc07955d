/* SPDX-License-Identifier: MIT */
/*
 * Text in XML files, such as JUnit's.  Owns nothing.  Any thread.
 */
#ifndef PTO_REPORT_FILE_XML_TEXT_H
#define PTO_REPORT_FILE_XML_TEXT_H

#include <stdio.h>

/* Text between quotes or tags.  XML has no control characters but blanks: they become question marks. */
void pto_xml_put_text(FILE *out, const char *text);

#endif
