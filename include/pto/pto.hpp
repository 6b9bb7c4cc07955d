/* SPDX-License-Identifier: MIT */
/*
 * The calls of <pto/pto.h> in C++17: handles that own, tensors as values, submits that are checked by type, scopes that
 * end with their block, exceptions in place of statuses.  Header only: what runs is the C library.
 *
 *   pto::runtime rt;
 *   rt.run([&](pto::run run) {
 *     const pto::tensor x = run.external(values), y = run.managed<float>({values.size()});
 *     run.submit_aiv(mul, pto::input(x), pto::input(x), pto::output(y));
 *   });
 *
 * Which header: this one for programs of this runtime.  Sources that were written for the existing runtime (`Tensor`,
 * `rt_submit_aiv_task`, PTO2_SCOPE) are compiled as they are, by `ptosim adopt`, against headers of their own, and
 * include nothing of this.  The names do not meet: theirs are global, those of pto-isa's kernels begin with a capital
 * letter in the same namespace, and these are in small letters.
 *
 * What has no class here is called in C, with get(), and its status goes to check(), which throws.  So are the
 * operations of graphs, and the mixture of experts of collectives.
 *
 * Errors.  A status that is not PTO_OK is thrown as error_of<STATUS>, with the sentence that C would give.  A tensor
 * that is not possible is thrown by the call that it is passed to, as in C.  What is noexcept throws nothing.  An
 * exception that leaves an orchestration ends the run, and runtime::run throws it again once the run has ended.
 *
 * Ownership.  runtime, recorded, context, device_tensor, graph, graph_builder and world own, can be moved and not be
 * copied, and free what they own; device tensors and graphs go before their context.  All else is a value, or borrows
 * for the length of the call: a pto::input of a tensor that is made in the call will do.  Threads: as the C calls.
 *
 * Cost: the instructions of the same calls in C, as tests/pages/cpp_test.sh counts.
 */
#ifndef PTO_PTO_HPP
#define PTO_PTO_HPP

#include <pto/device.hpp>
#include <pto/run.hpp>
#include <pto/world.hpp>

#endif
