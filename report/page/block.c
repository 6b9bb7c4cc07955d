/* SPDX-License-Identifier: MIT */
#include <report/page/block.h>

#include <inttypes.h>

const char *pto_block_id(const struct pto_export_info *info, const char *id, char text[PTO_BLOCK_ID]) {
  if (!info->rank) return id;
  snprintf(text, PTO_BLOCK_ID, "r%" PRIu32 "-%s", info->rank->index, id);
  return text;
}

int pto_block_write(const struct pto_export_info *info, const char *id, struct pto_column *columns, uint32_t count,
                    FILE *to) {
  char text[PTO_BLOCK_ID];
  fprintf(to, "<script type=\"text/plain\" id=\"%s\">", pto_block_id(info, id, text));
  const int status = pto_columns_write(columns, count, to);
  fputs("</script>\n", to);
  return status;
}
