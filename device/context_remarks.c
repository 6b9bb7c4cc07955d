/* SPDX-License-Identifier: MIT */
#include <device/context_remarks.h>

#include <inttypes.h>
#include <stdio.h>

#include <device/context_state.h>
#include <device/context_watch.h>

bool pto_context_asks(const struct pto_context *context) {
  return context->is_watched && context->config.context_watch->asks;
}

/* The first of its kind, for the rest to be filled in; NULL: there was one already. */
static struct pto_context_remark *begin(struct pto_context *context, enum pto_context_remark_kind kind,
                                        const struct pto_command *command) {
  struct pto_context_remark *remark = &context->remarks[kind];
  if (remark->count++) return NULL;
  remark->task = UINT64_MAX;
  remark->calls[1][0] = command->call;
  remark->calls[1][1] = command->outer_call;
  return remark;
}

static void give_values(struct pto_context *context, const struct pto_command *command,
                        struct pto_device_record *record) {
  struct pto_context_remark *remark = NULL;
  if (command->kind == PTO_COMMAND_WRITE && !record->has_values && record->is_read_early)
    remark = begin(context, PTO_REMARK_READ_EARLY, command);
  record->has_values = true;
  if (!remark) return;
  for (int i = 0; i < 2; i++) {
    remark->calls[0][i] = remark->calls[1][i];
    remark->calls[1][i] = record->reader[i];
  }
  snprintf(remark->sentence, sizeof remark->sentence,
           "%s is the input of a dispatch before anything has written it, so it is zeros there; the host writes it "
           "behind that",
           pto_device_record_name(record).text);
  snprintf(remark->remedy, sizeof remark->remedy, "write it before the dispatch");
}

/* Where a dispatch had it as an input before, that one's tasks may have written it. */
static void read_back(struct pto_context *context, const struct pto_command *command) {
  const struct pto_device_record *record = command->record;
  if (record->has_values || record->is_read_early) return;
  struct pto_context_remark *remark = begin(context, PTO_REMARK_READ_BACK, command);
  if (!remark) return;
  snprintf(remark->sentence, sizeof remark->sentence,
           "the host reads %s before anything has written it, so it is zeros", pto_device_record_name(record).text);
  snprintf(remark->remedy, sizeof remark->remedy, "read it behind the dispatch that has it as an output");
}

static void take_input(const struct pto_command *command, struct pto_device_record *record) {
  if (record->has_values || record->is_read_early) return;
  record->is_read_early = true;
  record->reader[0] = command->call;
  record->reader[1] = command->outer_call;
}

void pto_context_remark_queued(struct pto_context *context, const struct pto_command *command) {
  if (command->kind == PTO_COMMAND_WRITE || command->kind == PTO_COMMAND_COPY)
    give_values(context, command, command->record);
  if (command->kind == PTO_COMMAND_READ) read_back(context, command);
  if (command->kind != PTO_COMMAND_DISPATCH) return;
  for (uint32_t i = 0; i < command->input_count; i++) take_input(command, command->bound[i]);
  for (uint32_t i = 0; i < command->output_count; i++)
    give_values(context, command, command->bound[command->input_count + i]);
}

void pto_context_remark_repeats(struct pto_context *context, const struct pto_command *command,
                                const struct pto_call_difference *difference, uint64_t first_task) {
  struct pto_context_remark *remark = begin(context, PTO_REMARK_REPEATS, command);
  const char *name = command->program->name;
  char task[80] = "";
  if (!remark) return;
  if (difference->call) {
    remark->task = first_task + difference->submits;
    remark->calls[0][0] = difference->call;
    snprintf(remark->kernel, sizeof remark->kernel, "%s", difference->kernel ? difference->kernel : "");
    snprintf(task, sizeof task, " task %" PRIu64 " of its own (%s) with", difference->submits, remark->kernel);
  }
  snprintf(remark->sentence, sizeof remark->sentence,
           "dispatch %" PRIu64
           " of the context, of \"%.64s\", would submit%s %s; what was kept of an earlier one has %s, "
           "and by `repeats` that is submitted again",
           context->counters.dispatches + 1, name ? name : "", task, difference->made, difference->kept);
  snprintf(remark->remedy, sizeof remark->remedy, "%ssay `repeats` = 0",
           difference->is_scalar ? "give the number in a tensor, or " : "");
}
