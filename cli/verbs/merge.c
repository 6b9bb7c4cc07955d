/* SPDX-License-Identifier: MIT */
/*
 * `ptosim merge FILES`: what one run would have told, from the lines that shards of it wrote (report/file/shard.h).
 *
 * The lines keep the words of the command.  Merge gives them to their verb, which then takes each item from the lines
 * where it would have run it, and judges and tells as ever.  Of other programs, whose lines have texts, these are
 * printed in order, and what they count is added up.
 *
 * Leaves as that verb does; with 2 where lines are missing, there twice, or of something else.
 */
#include <cli/main/verb.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cli/run/shared.h>

static void help(void) {
  puts("ptosim merge FILE... [OPTION...]\n\n"
       "What one run would have told, from the lines of all its shards (--shard I/N of explore, regress, suite and "
       "what-if;\n"
       "of scripts/mutants and of the conformance cases).  A FILE may hold the lines of several shards.  The options "
       "are "
       "the\n"
       "verb's own that say where results go; what was run, from which folder, is as it was with the shards.\n\n"
       "  --json FILE              writes the result as one JSON object; - is standard output\n"
       "  --junit FILE             writes the verdict as JUnit's XML (not of what-if)\n"
       "  --report FILE            writes a page (not of suite)\n"
       "  --sarif FILE             writes the findings as SARIF 2.1.0 (of explore)\n"
       "  --save FILE              writes the first difference, shrunk (of explore)\n"
       "  --quiet                  prints nothing but JSON\n"
       "  --help                   this text\n\n"
       "Leaves as the verb does; 2 where an item is missing or there twice, or shards are not of one command, list and "
       "build.");
}

/* ---- a verb of ptosim ---- */

static const struct pto_verb *find_verb(const char *name) {
  for (size_t i = 0; name && pto_verb_at(i); i++)
    if (strcmp(pto_verb_at(i)->name, name) == 0 && pto_run_options_has((enum pto_verb_id)i, "shard"))
      return pto_verb_at(i);
  return NULL;
}

/* The words of the lines, then those of the command line. */
static int run_verb(const struct pto_shard_lines *lines, int argc, char **argv) {
  char build[64];
  const char *name = json_string_value(json_array_get(lines->command, 0));
  const struct pto_verb *verb = find_verb(name);
  if (!verb)
    return pto_complain(PTO_EXIT_USAGE, "merge: %s: \"%s\" is no verb that has shards", lines->heads[0].path,
                        name ? name : "");
  if (!pto_shard_build(build)) return pto_complain(PTO_EXIT_FAILED, "merge: the executable cannot be read");
  if (strcmp(lines->build, build) != 0)
    return pto_complain(PTO_EXIT_USAGE, "merge: %s: of ptosim %s, and this is %s", lines->heads[0].path, lines->build,
                        build);
  const size_t count = json_array_size(lines->command);
  char **words = calloc(count + (size_t)argc + 1, sizeof *words);
  if (!words) return pto_complain(PTO_EXIT_FAILED, "merge: no memory for %zu words", count);
  for (size_t i = 0; i < count; i++) words[i] = strdup(json_string_value(json_array_get(lines->command, i)));
  for (int i = 0; i < argc; i++) words[count + (size_t)i] = argv[i];
  pto_shared_merge(lines);
  const int code = verb->main((int)count + argc, words);
  pto_shared_merge(NULL);
  for (size_t i = 0; i < count; i++) free(words[i]);
  free(words);
  return code;
}

/* ---- texts of other programs ---- */

/* The sums of an object of counts that the results have, if they do: "TITLE12 passed, 0 failed". */
static void print_sums(const struct pto_shard_lines *lines, const char *key, const char *title) {
  const char *name;
  json_t *first = json_object_get(lines->items ? lines->items_found[0].result : NULL, key), *value;
  int used = 0;
  json_object_foreach(first, name, value) {
    json_int_t sum = 0;
    for (uint64_t i = 0; i < lines->items; i++)
      sum += json_integer_value(json_object_get(json_object_get(lines->items_found[i].result, key), name));
    used += printf("%s%" JSON_INTEGER_FORMAT " %s", used ? ", " : title, sum, name);
  }
  if (used) putchar('\n');
}

static int print_texts(const struct pto_shard_lines *lines) {
  int code = PTO_EXIT_OK;
  for (uint64_t i = 0; i < lines->items; i++) {
    const char *text = json_string_value(json_object_get(lines->items_found[i].result, "text"));
    if (!text)
      return pto_complain(PTO_EXIT_USAGE, "merge: %s: line %llu: %s, and no text", lines->items_found[i].path,
                          (unsigned long long)lines->items_found[i].line, lines->program);
    fputs(text, stdout);
    if (json_is_true(json_object_get(lines->items_found[i].result, "is_bad"))) code = PTO_EXIT_FINDINGS;
  }
  print_sums(lines, "passed_by_path", "| passed by path: ");
  print_sums(lines, "counts", "");
  return code;
}

/* ---- the verb ---- */

static int merge(const struct pto_shard_lines *lines, int argc, char **argv) {
  if (strcmp(lines->program, "ptosim") == 0) return run_verb(lines, argc, argv);
  if (argc)
    return pto_complain(PTO_EXIT_USAGE, "merge: %s: the lines are of %s, which does not take %s", lines->heads[0].path,
                        lines->program, argv[0]);
  return print_texts(lines);
}

int pto_cmd_merge(int argc, char **argv) {
  struct pto_shard_lines lines;
  struct pto_error error;
  int files = 1;
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return help(), PTO_EXIT_OK;
  while (files < argc && (argv[files][0] != '-' || argv[files][1] == '\0')) files++;
  if (files == 1) return pto_complain(PTO_EXIT_USAGE, "merge: which lines?  Files of shards come first, then options");
  const int status = pto_shard_lines_read((const char *const *)(argv + 1), (size_t)files - 1, &lines, &error);
  const int code = status == PTO_OK ? merge(&lines, argc - files, argv + files)
                                    : pto_complain(status == PTO_ENOMEM ? PTO_EXIT_FAILED : PTO_EXIT_USAGE, "merge: %s",
                                                   error.sentence);
  pto_shard_lines_fini(&lines);
  return code;
}
