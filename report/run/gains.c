/* SPDX-License-Identifier: MIT */
#include <report/run/gains.h>

#include <inttypes.h>

#include <formats/units.h>
#include <runtime/base/base.h>

#define COMMAND_SIZE 4096u
#define PS_DIGITS 6 /* of a microsecond */

const char *pto_gain_chip_set(const struct pto_chip_sheet *chip, const struct pto_path_gain *gain, char *text,
                              size_t size) {
  text[0] = '\0';
  if (!chip) return text;
  if (!gain->kernel) return pto_chip_keys_faster(chip, gain->keys, text, size);
  snprintf(text, size, "half_kernel=%s", gain->kernel);
  return text;
}

void pto_gains_print(const struct pto_gains *gains, FILE *to) {
  char text[32], set[PTO_CHIP_SET_SIZE];
  const uint32_t count = (uint32_t)pto_min_u64(gains->count, PTO_PATH_GAINS_TOLD);
  bool is_any_held = false;
  for (uint32_t i = 0; i < count; i++) {
    const struct pto_path_gain *gain = &gains->items[i];
    fprintf(to, "             %s in half the time: %s%s less (%.1f %%)\n", gain->what, gain->is_run ? "" : "about ",
            pto_format_seconds((double)gain->gain * 1e-12, text, sizeof text),
            100 * (double)gain->gain / (double)gains->makespan);
    is_any_held |= !gain->is_run;
    if (pto_gain_chip_set(gains->chip, gain, set, sizeof set)[0])
      fprintf(to, "               %s%s--chip-set %s\n", gains->command ? gains->command : "", gains->command ? " " : "",
              set);
  }
  if (count)
    fprintf(to, "             %s%s\n",
            is_any_held ? "\"about\": with the order of events held; the commands run it"
                        : "each was run, without computing; the commands run it whole",
            gains->has_what_if ? ", `ptosim what-if` each number" : "");
  if (gains->untried->count)
    fprintf(to, "             %" PRIu32 " of %" PRIu32 " proposals could not be run, without computing: %s\n",
            gains->untried->count, gains->untried->of, gains->untried->why);
}

static void put_us(struct pto_json_writer *w, const char *key, uint64_t ps) {
  pto_json_key(w, key);
  pto_json_decimal(w, ps, PS_DIGITS);
}

void pto_gains_put(const struct pto_gains *gains, struct pto_json_writer *w) {
  char set[PTO_CHIP_SET_SIZE], command[COMMAND_SIZE];
  pto_json_put_array(w, "gains");
  for (uint32_t i = 0; i < gains->count && i < PTO_PATH_GAINS_TOLD; i++) {
    const struct pto_path_gain *gain = &gains->items[i];
    const bool has_set = pto_gain_chip_set(gains->chip, gain, set, sizeof set)[0];
    pto_json_object_begin(w);
    pto_json_put_string(w, "what", gain->what);
    snprintf(command, sizeof command, "%s --chip-set %s", gains->command ? gains->command : "", set);
    pto_json_put_string(w, "chip_set", has_set ? set : NULL);
    pto_json_put_string(w, "command", has_set && gains->command ? command : NULL);
    put_us(w, "us", gain->gain);
    put_us(w, "makespan_us", gains->makespan - gain->gain);
    pto_json_put_bool(w, "is_run", gain->is_run);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  if (!pto_json_try_key(w, "not_run", gains->untried->count > 0)) return;
  pto_json_object_begin(w);
  pto_json_put_u64(w, "count", gains->untried->count);
  pto_json_put_u64(w, "of", gains->untried->of);
  pto_json_put_string(w, "why", gains->untried->why);
  pto_json_object_end(w);
}
