/* SPDX-License-Identifier: MIT */
#include <runtime/control/value_source.h>

#include <runtime/control/runtime_state.h>

int pto_value_ask(struct pto_runtime *rt, const struct pto_value_question *question, void *value) {
  const struct pto_value_source *source = rt->config.values;
  struct pto_error error;
  if (!source)
    return pto_runtime_fail(rt, PTO_EINVAL,
                            "%s %llu reads an element that no kernel computed: the run has no_compute and no values",
                            question->is_predicate ? "the predicate of task" : "the orchestration, before task",
                            (unsigned long long)question->task);
  const int status = source->find(source->context, rt, question, value, &error);
  return status ? pto_runtime_fail(rt, status, "%s", error.sentence) : PTO_OK;
}
