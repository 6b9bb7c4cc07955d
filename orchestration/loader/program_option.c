/* SPDX-License-Identifier: MIT */
/*
 * Options of a program: from default, case and --set to checked values.  Part of program_run.h; keeps no state of its
 * own.
 */
#include <orchestration/loader/program_state.h>

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <runtime/base/base.h>
#include <runtime/base/closest.h>

static bool parse_int(const char *text, struct pto_option_slot *slot) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 0);
  if (end == text || *end || errno) return false;
  slot->value.integer = value;
  return true;
}

static bool parse_float(const char *text, struct pto_option_slot *slot) {
  char *end;
  errno = 0;
  double value = strtod(text, &end);
  if (end == text || *end || (errno && isinf(value)) || isnan(value)) return false;
  slot->value.number = value;
  return true;
}

static bool parse_bool(const char *text, struct pto_option_slot *slot) {
  static const char *const words[][2] = {{"false", "true"}, {"0", "1"}, {"no", "yes"}, {"off", "on"}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(words); i++)
    for (int truth = 0; truth < 2; truth++)
      if (strcmp(text, words[i][truth]) == 0) {
        slot->value.truth = truth != 0;
        return true;
      }
  return false;
}

static bool parse_text(const char *text, struct pto_option_slot *slot) { return true; }
static bool parse_none(const char *text, struct pto_option_slot *slot) { return false; }

/* The types of options: what they accept in words, with its article, and their parser. */
static const struct option_type {
  uint32_t type;
  const char *article, *words;
  bool (*parse)(const char *text, struct pto_option_slot *slot);
} option_types[] = {
    {PTO_OPTION_INT, "an ", "integer", parse_int},
    {PTO_OPTION_FLOAT, "a ", "number", parse_float},
    {PTO_OPTION_BOOL, "", "true or false", parse_bool},
    {PTO_OPTION_TEXT, "", "text", parse_text},
    {0, "", "?", parse_none},
};

/* The entry of `type`; the last for a value that is none. */
static const struct option_type *option_type(uint32_t type) {
  const struct option_type *entry = option_types;
  while (entry->type && entry->type != type) entry++;
  return entry;
}

const char *pto_option_type_name(uint32_t type) { return option_type(type)->words; }

/* ---- from text to values ---- */

/* Adds "a, b, c" to the sentence. */
static void append_option_names(struct pto_error *error, const struct pto_program *program) {
  if (!program->options || !program->options->name) {
    pto_error_append(error, "; it has no options");
    return;
  }
  const char *separator = "; it has ";
  for (const struct pto_option *option = program->options; option->name; option++, separator = ", ")
    pto_error_append(error, "%s%s", separator, option->name);
}

/* Does what setting[0 … length) says: "key=value". */
static int set_option(struct pto_program_run *run, struct pto_error *error, const char *setting, size_t length) {
  const struct pto_program *program = run->program;
  const char *equals = memchr(setting, '=', length);
  if (!equals || equals == setting)
    return pto_error_set(error, PTO_EINVAL, "%s: \"%.*s\" is not key=value", program->name, (int)length, setting);
  size_t key_length = (size_t)(equals - setting), text_length = length - key_length - 1;
  for (uint32_t i = 0; i < run->option_count; i++) {
    const struct pto_option *option = &program->options[i];
    if (strlen(option->name) != key_length || memcmp(option->name, setting, key_length) != 0) continue;
    struct pto_option_slot *slot = &run->options[i];
    char *text = strndup(equals + 1, text_length);
    if (!text) return pto_error_set(error, PTO_ENOMEM, "%s: out of memory", program->name);
    free(slot->text);
    slot->text = text;
    const struct option_type *type = option_type(option->type);
    if (type->parse(text, slot)) return PTO_OK;
    return pto_error_set(error, PTO_EINVAL, "%s: option %s: \"%s\" is not %s%s", program->name, option->name, text,
                         type->article, type->words);
  }
  pto_error_set(error, PTO_EINVAL, "%s has no option \"%.*s\"", program->name, (int)key_length, setting);
  append_option_names(error, program);
  char question[PTO_CLOSEST_TEXT];
  if (run->option_count)
    pto_error_append(error, "%s",
                     pto_closest_among(setting, key_length, &program->options[0].name, run->option_count,
                                       sizeof program->options[0], question));
  return PTO_EINVAL;
}

static int set_default(struct pto_program_run *run, uint32_t index, struct pto_error *error) {
  const struct pto_option *option = &run->program->options[index];
  struct pto_option_slot *slot = &run->options[index];
  slot->text = strdup(option->default_value ? option->default_value : "");
  if (!slot->text) return pto_error_set(error, PTO_ENOMEM, "%s: out of memory", run->program->name);
  if (option_type(option->type)->parse(slot->text, slot)) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "%s: option %s: its default \"%s\" is not of its type (%s)",
                       run->program->name, option->name, slot->text, pto_option_type_name(option->type));
}

static int apply_case(struct pto_program_run *run, struct pto_error *error) {
  const char *settings = run->chosen_case->settings ? run->chosen_case->settings : "";
  while (*(settings += strspn(settings, " "))) {
    size_t length = strcspn(settings, " ");
    int status = set_option(run, error, settings, length);
    if (status != PTO_OK) return status;
    settings += length;
  }
  return PTO_OK;
}

int pto_program_options_init(struct pto_program_run *run, const struct pto_program_request *request,
                             struct pto_error *error) {
  const struct pto_program *program = run->program;
  uint32_t count = 0;
  while (program->options && program->options[count].name) count++;
  run->options = calloc(count + 1, sizeof *run->options);
  if (!run->options) return pto_error_set(error, PTO_ENOMEM, "%s: out of memory", program->name);
  run->option_count = count;
  int status = PTO_OK;
  for (uint32_t i = 0; i < count && status == PTO_OK; i++) status = set_default(run, i, error);
  if (status == PTO_OK && run->chosen_case) status = apply_case(run, error);
  for (uint32_t i = 0; i < request->setting_count && status == PTO_OK; i++)
    status = set_option(run, error, request->settings[i], strlen(request->settings[i]));
  return status;
}

void pto_program_options_fini(struct pto_program_run *run) {
  for (uint32_t i = 0; i < run->option_count; i++) free(run->options[i].text);
  free(run->options);
}

/* ---- what the program asks for ---- */

/* The slot of option `name` if it has `type`; otherwise the run fails and the answer is NULL. */
static const struct pto_option_slot *option_of_type(struct pto_program_run *run, const char *name, uint32_t type) {
  for (uint32_t i = 0; i < run->option_count; i++) {
    const struct pto_option *option = &run->program->options[i];
    if (strcmp(option->name, name) != 0) continue;
    if (option->type == type) return &run->options[i];
    (void)pto_program_fail(run, "%s: asks for its option %s as %s, but lists it as %s", run->program->name, name,
                           pto_option_type_name(type), pto_option_type_name(option->type));
    return NULL;
  }
  (void)pto_program_fail(run, "%s: asks for an option %s that it does not list", run->program->name, name);
  return NULL;
}

int64_t pto_option_int(struct pto_program_run *run, const char *name) {
  const struct pto_option_slot *slot = option_of_type(run, name, PTO_OPTION_INT);
  return slot ? slot->value.integer : 0;
}

double pto_option_float(struct pto_program_run *run, const char *name) {
  const struct pto_option_slot *slot = option_of_type(run, name, PTO_OPTION_FLOAT);
  return slot ? slot->value.number : 0.0;
}

bool pto_option_bool(struct pto_program_run *run, const char *name) {
  const struct pto_option_slot *slot = option_of_type(run, name, PTO_OPTION_BOOL);
  return slot ? slot->value.truth : false;
}

const char *pto_option_text(struct pto_program_run *run, const char *name) {
  const struct pto_option_slot *slot = option_of_type(run, name, PTO_OPTION_TEXT);
  return slot ? slot->text : "";
}
