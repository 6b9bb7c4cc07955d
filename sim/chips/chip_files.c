/* SPDX-License-Identifier: MIT */
/*
 * Embeds sim/chips/NAME.ini through the assembler, which gcc and clang share (C17 has no #embed).  The paths are
 * relative to the root of the tree or to a -I folder.  The compiler's dependency output does not see them: the build
 * lists them beside the object.
 */
#include <sim/chips/chip_files.h>

/* "a" without "w": the bytes are shared by all processes that map the library. */
#define X(chip, name)                                                                                                  \
  __asm__(".pushsection .rodata.pto_chip_file,\"a\",%progbits\n"                                                       \
          ".global pto_chip_file_" #chip "_begin\n.hidden pto_chip_file_" #chip "_begin\n"                             \
          ".global pto_chip_file_" #chip "_end\n.hidden pto_chip_file_" #chip "_end\n"                                 \
          "pto_chip_file_" #chip "_begin:\n.incbin \"sim/chips/" name ".ini\"\n"                                       \
          "pto_chip_file_" #chip "_end:\n.byte 0\n.popsection\n");                                                     \
  extern __attribute__((visibility("hidden"))) const char pto_chip_file_##chip##_begin[];                              \
  extern __attribute__((visibility("hidden"))) const char pto_chip_file_##chip##_end[];
PTO_CHIP_LIST(X)
#undef X

_Bool pto_chip_file_at(uint32_t index, struct pto_chip_file *file) {
  const struct {
    const char *name, *begin, *end;
  } files[] = {
#define X(chip, name) {name, pto_chip_file_##chip##_begin, pto_chip_file_##chip##_end},
      PTO_CHIP_LIST(X)
#undef X
  };
  if (index >= sizeof files / sizeof files[0]) return 0;
  file->name = files[index].name;
  file->text = files[index].begin;
  file->size_bytes = (size_t)((uintptr_t)files[index].end - (uintptr_t)files[index].begin);
  return 1;
}
