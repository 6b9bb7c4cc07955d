/* SPDX-License-Identifier: MIT */
#include <cli/run/request.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <check/predict/enough_rings.h>
#include <check/predict/gains.h>
#include <check/ranks/ranks.h>
#include <cli/main/fault_report.h>
#include <cli/main/interrupt.h>
#include <cli/main/progress_line.h>
#include <cli/run/at_once.h>
#include <cli/run/judgement.h>
#include <report/file/output_file.h>
#include <report/findings/report.h>
#include <runtime/control/control.h>
#include <runtime/tensor/region_runs.h>

/* So far from a tensor an address is told of it. */
#define MOST_AWAY (UINT64_C(1) << 35) /* an index of 32 bits that has wrapped, of elements of 8 bytes */

static struct pto_words words_of(const struct pto_string_list *list) {
  return (struct pto_words){list->items, list->count};
}

struct pto_session_options pto_run_options_session(const struct pto_run_options *options,
                                                   struct pto_config *config_out) {
  *config_out = (struct pto_config){.size = sizeof *config_out,
                                    .engine = options->engine,
                                    .chip = options->chip,
                                    .policy = options->policy,
                                    .workers = options->workers,
                                    .placement = options->placement,
                                    .clusters = options->clusters,
                                    .deps = options->deps,
                                    .window = options->window,
                                    .heap_bytes = options->heap_bytes,
                                    .poison = options->poison,
                                    .timeout_ms = options->timeout_ms,
                                    .on_timeout = pto_fault_report_on_timeout,
                                    .stop = pto_interrupt_stop(),
                                    .no_compute = options->no_compute,
                                    .jitter_ppm = options->jitter_ppm,
                                    .jitter_seed = options->seed,
                                    .meter = options->meter};
  memcpy(config_out->ring_window, options->ring_window, sizeof options->ring_window);
  memcpy(config_out->ring_heap_bytes, options->ring_heap_bytes, sizeof options->ring_heap_bytes);
  struct pto_session_options asked = {.size = sizeof asked,
                                      .program = options->programs.count ? options->programs.items[0] : NULL,
                                      .case_name = options->case_name,
                                      .settings = words_of(&options->settings),
                                      .inputs = words_of(&options->inputs),
                                      .expects = words_of(&options->expects),
                                      .outputs = words_of(&options->outputs),
                                      .seed = options->seed,
                                      .rounds = options->rounds,
                                      .has_deps = options->has_deps,
                                      .has_timeout = options->has_timeout,
                                      .has_rtol = options->has_rtol,
                                      .has_atol = options->has_atol,
                                      .rtol = options->rtol,
                                      .atol = options->atol,
                                      .values = options->values,
                                      .assume_zero = options->assume_zero,
                                      .text = options->is_mute                       ? NULL
                                              : pto_run_options_take_stdout(options) ? stderr
                                                                                     : stdout,
                                      .progress = pto_progress_line_stage,
                                      .config = config_out};
  config_out->record = pto_exports_record(options->exports);
  if (options->stats || options->comm_stats)
    config_out->record |= PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE | PTO_RECORD_SEGMENTS;
  if (options->dump_tasks) config_out->record |= PTO_RECORD_GRAPH;
  return asked;
}

/* "9152 bytes behind its param 0 x": of the parameter whose last byte is nearest before the address, or else whose
 * first byte is nearest behind it; nothing where none is within MOST_AWAY, or the address is in one. */
static size_t say_nearest(const struct pto_message *message, uint64_t address, const char *before, char *text,
                          size_t size) {
  const struct pto_kernel *kernel = message->payload->kernels[message->role];
  uint64_t least = UINT64_MAX, number = 0;
  bool is_before = false;
  for (uint32_t i = 0, t = 0; i < kernel->param_count && t < message->tensor_count; i++) {
    struct pto_region region;
    if (kernel->params[i].mode == PTO_SCALAR) continue;
    pto_region_from_kernel_tensor(&message->payload->tensors[t++], &region);
    if (pto_region_is_empty(&region)) continue;
    if (address >= region.start && address < region.end) return 0;
    const uint64_t distance = address < region.start ? region.start - address : address - region.end;
    if (distance >= least) continue;
    least = distance;
    number = i;
    is_before = address < region.start;
  }
  if (least > MOST_AWAY) return 0;
  const char *name = kernel->params[number].name;
  return (size_t)snprintf(text, size, "%s %" PRIu64 " bytes %s its param %" PRIu64 "%s%s", before, least,
                          is_before ? "before" : "behind", number, name ? " " : "", name ? name : "");
}

/* ", in which its param 1 z is": of the kernel's, the last that begins in the array; or how far that ends behind it. */
static size_t say_param(const struct pto_message *message, const struct pto_array *array, uint64_t address, char *text,
                        size_t size) {
  const struct pto_kernel *kernel = message->payload->kernels[message->role];
  const uint64_t begin = (uintptr_t)array->data, end = begin + array->size_bytes;
  struct pto_region region = {0};
  uint32_t found = kernel->param_count;
  for (uint32_t i = 0, t = 0; i < kernel->param_count && t < message->tensor_count; i++) {
    if (kernel->params[i].mode == PTO_SCALAR) continue;
    const struct pto_kernel_tensor *tensor = &message->payload->tensors[t++];
    if ((uintptr_t)tensor->addr - begin >= pto_max_u64(array->size_bytes, 1)) continue;
    pto_region_from_kernel_tensor(tensor, &region);
    found = i;
  }
  if (found == kernel->param_count) {
    const size_t used = (size_t)snprintf(text, size, ", in which the task has no parameter");
    return used < size ? used + say_nearest(message, address, "; it is", text + used, size - used) : used;
  }
  const char *name = kernel->params[found].name;
  const size_t used = (size_t)snprintf(text, size, ", in which its param %" PRIu32 "%s%s %s", found, name ? " " : "",
                                       name ? name : "", region.end > end ? "begins" : "is");
  if (region.end <= end || used >= size) return used;
  return used + (size_t)snprintf(text + used, size - used, " and ends %" PRIu64 " bytes behind it", region.end - end);
}

/* "4 bytes behind array x (64 bytes)", where the address is beside one. */
static size_t say_beside(const struct pto_session *session, const struct pto_message *message, uint64_t address,
                         char *text, size_t size) {
  const struct pto_array *array = session->run ? pto_program_run_array_beside(session->run, address) : NULL;
  if (!address || !array) return 0;
  const uint64_t begin = (uintptr_t)array->data, end = begin + array->size_bytes;
  const bool is_before = address < begin;
  size_t used = (size_t)snprintf(text, size, "the address is %" PRIu64 " bytes %s array %s (%" PRIu64 " bytes)",
                                 is_before ? begin - address : address - end,
                                 is_before ? "before" : "behind the end of", array->name, array->size_bytes);
  if (message && used < size) used += say_param(message, array, address, text + used, size - used);
  if (used < size)
    used += (size_t)snprintf(text + used, size - used, ": `ptosim check --observe` tells its accesses%s",
                             message ? "; " : "");
  return used;
}

void pto_describe_nearest(void *context, const struct pto_message *message, const void *address, char *text,
                          size_t size) {
  (void)context;
  text[0] = '\0';
  if (message && address) (void)say_nearest(message, (uintptr_t)address, "the address is", text, size);
}

void pto_describe_call(void *context, const struct pto_message *message, const void *address, char *text, size_t size) {
  struct pto_session *session = context;
  size_t used = say_beside(session, message, (uintptr_t)address, text, size);
  if (!message || used >= size) return;
  if (used == 0 && address) { /* in no array's guard: memory of a context */
    used = say_nearest(message, (uintptr_t)address, "the address is", text, size);
    if (used && used < size) used += (size_t)snprintf(text + used, size - used, "; ");
    if (used >= size) return;
  }
  const struct pto_runtime *rt = pto_session_runtime(session);
  const char *label = rt ? pto_runtime_message_label(rt, message) : NULL;
  if (label) used += (size_t)snprintf(text + used, size - used, "its label is \"%s\"; ", label);
  for (uint32_t i = 0; rt && i < message->tensor_count && used < size; i++) {
    char name[128];
    pto_runtime_name_bytes(rt, (uintptr_t)message->payload->tensors[i].addr, name, sizeof name);
    used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "its tensors are ", name[0] ? name : "?");
  }
}

void pto_describe_call_of_rank(void *context, const struct pto_message *message, const void *address, char *text,
                               size_t size) {
  const struct pto_ranks *ranks = context;
  for (uint32_t i = 0; ranks->sessions && message && i < ranks->rank_count; i++) {
    const struct pto_runtime *rt = pto_session_runtime(&ranks->sessions[i]);
    if (!rt || !pto_runtime_has_message(rt, message)) continue;
    const int length = snprintf(text, size, "its rank is %" PRIu32 "; ", i);
    if (length > 0 && (size_t)length < size)
      pto_describe_call(&ranks->sessions[i], message, address, text + length, size - (size_t)length);
    return;
  }
}

int pto_run_files_probe(const struct pto_run_options *options, struct pto_error *error) {
  const bool is_bad = pto_exports_probe(options->exports, error) || pto_output_probe(options->json_path, error);
  return is_bad ? error->status = PTO_EINVAL : PTO_OK;
}

/* A failure of a report counts where the run itself was right. */
static void note_failure(struct pto_session *session, const struct pto_error *error) {
  if (session->result.exit_code == PTO_EXIT_OK) (void)pto_session_end(session, PTO_EXIT_FAILED, error);
}

static void write_exports(struct pto_session *session, const char *const paths[PTO_EXPORT_COUNT],
                          const struct pto_findings *findings) {
  struct pto_export_info info = pto_session_info(session);
  struct pto_error error;
  info.findings = findings;
  if (pto_exports_write(paths, pto_session_trace(session), &info, &error)) note_failure(session, &error);
}

/* Where no process can be had for it, the verdict's proposals stay what the record of the run says, and are told so. */
static void run_gains(struct pto_session *session) {
  struct pto_error error;
  (void)!pto_gains_run(session, pto_at_once_default(), &error);
}

void pto_run_files_write(struct pto_session *session, const struct pto_run_options *options) {
  struct pto_error error;
  pto_interrupt_let_finish();
  if (session->result.has_output_digest && pto_session_put_outputs(session, &error)) note_failure(session, &error);
  if (!session->result.has_run) return;
  session->result.command = options->again;
  if ((options->stats || options->exports[PTO_EXPORT_page]) && pto_session_trace(session)) {
    if (pto_session_take_account(session, !options->no_gains, &error))
      note_failure(session, &error);
    else if (!options->no_gains && !pto_interrupted())
      run_gains(session);
  }
  write_exports(session, options->exports, NULL);
}

void pto_judged_run_page(struct pto_session *session, const struct pto_run_options *options,
                         const struct pto_findings *findings) {
  const char *paths[PTO_EXPORT_COUNT] = {[PTO_EXPORT_page] = options->exports[PTO_EXPORT_page]};
  struct pto_error error;
  if (!paths[PTO_EXPORT_page] || !pto_session_trace(session)) return;
  pto_interrupt_let_finish();
  session->result.command = NULL; /* it judges, and tells no time that an option would change */
  if (pto_session_take_account(session, true, &error)) note_failure(session, &error);
  write_exports(session, paths, findings);
}

int pto_write_page(const char *path, const struct pto_report_page_document *document, int exit_code) {
  const struct pto_report_page page = {.documents = document, .document_count = 1};
  struct pto_error error;
  pto_interrupt_let_finish();
  if (!path || pto_report_page_write(path, &page, &error) == PTO_OK) return exit_code;
  return pto_complain(PTO_EXIT_FAILED, "%s", error.sentence);
}

int pto_tell_report(const char *verb, struct pto_report *report, const struct pto_run_options *options, int code) {
  char sentence[PTO_SENTENCE_SIZE];
  if (!report->coverage.subject) report->coverage.subject = options->subject;
  if (!options->quiet && !pto_run_options_take_stdout(options)) pto_report_print(report, stdout);
  fflush(stdout);
  const struct pto_judgement judgement = {
      .verb = verb, .program = options->programs.items[0], .findings = pto_report_findings(report), .exit_code = code};
  if (!options->json_path || pto_report_write(report, options->json_path, sentence, sizeof sentence) == PTO_OK)
    return pto_write_judgement(options, &judgement);
  return pto_complain(PTO_EXIT_FAILED, "%s", sentence);
}

/* ---- a run that is judged ---- */

static int run(struct pto_session *session, const struct pto_run_options *options) {
  struct pto_config config;
  const struct pto_session_options asked = pto_run_options_session(options, &config);
  struct pto_run_options files = *options;
  struct pto_error error;
  files.json_path = NULL; /* the verb's own */
  if (pto_exports_probe(files.exports, &error)) return pto_session_end(session, PTO_EXIT_USAGE, &error);
  files.exports[PTO_EXPORT_page] = NULL; /* with what is found */
  if (pto_run_files_probe(&files, &error)) return pto_session_end(session, PTO_EXIT_USAGE, &error);
  int code = pto_session_init_judged(session, &asked);
  if (code != PTO_EXIT_OK) return code;
  (void)pto_session_execute(session);
  pto_enough_rings_say(session, &session->result.error);
  pto_run_files_write(session, &files);
  code = session->result.exit_code;
  if (code != PTO_EXIT_OK || pto_session_trace(session)) return code;
  pto_error_set(&error, PTO_EINVAL, "%s drives contexts of its own and reports none: there is nothing to judge",
                options->programs.items[0]);
  return pto_session_end(session, PTO_EXIT_USAGE, &error);
}

int pto_judged_run_open(struct pto_session *session, const struct pto_run_options *options) {
  *session = (struct pto_session){.result.program = options->programs.items[0]};
  pto_fault_report_set_describer(pto_describe_call, session);
  pto_progress_line_begin(options->programs.items[0], !options->quiet);
  const int code = run(session, options);
  pto_progress_line_end();
  return code;
}

void pto_judged_run_close(struct pto_session *session) {
  pto_session_fini(session);
  pto_fault_report_give_back();
}
