# SPDX-License-Identifier: MIT
"""Loop and Scan whose count of rounds is known: the nodes of their bodies, once a round.

A function takes `body`, from the values of a body's inputs to those of its outputs (None where a node of it was refused), the call
and the values of the node's inputs.
"""

import numpy

from .onnx_values import Refusal, Value, axis_of

MOST_ROUNDS = 1000


def _stacked(call, values, axis=0):
    """Values of all rounds along a new axis."""
    if not values:
        raise Refusal("a tensor without elements has no counterpart")
    axis = axis_of(axis, values[0].rank + 1)
    if all(each.array is not None for each in values):
        return Value(numpy.stack([each.array for each in values], axis))
    rows = [call("unsqueeze", each, dtype=each.dtype, axes=[axis]) for each in values]
    return call("concat", *rows, dtype=rows[0].dtype, axis=axis) if len(rows) > 1 else rows[0]


def loop(body, call, count, condition=None, *state):
    count = MOST_ROUNDS + 1 if count is None else int(call.known(count, "the count of rounds").reshape(-1)[0])
    is_going, results, states, rounds = True, [], list(state), 0
    if condition is not None:
        is_going = bool(call.known(condition, "the condition").reshape(-1)[0])
    while is_going and rounds < count:
        call.refuse_unless(rounds < MOST_ROUNDS, f"more than {MOST_ROUNDS} rounds have no counterpart")
        made = body([Value(numpy.array(rounds)), Value(numpy.array(True)), *states])
        if any(each is None for each in made):
            return [None] * len(call.outputs)
        is_going, states = bool(call.known(made[0], "the condition of a round").reshape(-1)[0]), made[1:1 + len(state)]
        results.append(made[1 + len(state):])
        rounds += 1
    stacked = len(call.outputs) - len(state)
    return [*states, *(_stacked(call, [each[place] for each in results]) for place in range(stacked))]


def _part(call, value, axis, at):
    """value[at] along an axis, which it drops."""
    if value.array is not None:
        return Value(numpy.take(value.array, at, axis))
    sizes = [1 if each == axis else extent for each, extent in enumerate(value.shape)]
    part = call("slice", value, dtype=value.dtype, starts=[at if each == axis else 0 for each in range(value.rank)], sizes=sizes)
    return call.reshape(part, [*value.shape[:axis], *value.shape[axis + 1:]])


def scan(body, call, *given):
    call.refuse_unless(call.opset >= 9, "before opset 9 it has no counterpart")
    count = call.attribute("num_scan_inputs")
    states, scanned = list(given[:-count]), given[-count:]
    outputs = len(call.outputs) - len(states)
    axes = [axis_of(axis, value.rank) for axis, value in zip(call.attribute("scan_input_axes", [0] * count), scanned)]
    is_back, is_laid_back = (call.attribute(f"scan_{which}_directions", [0] * many) for which, many in (("input", count), ("output", outputs)))
    rounds, results = scanned[0].shape[axes[0]], []
    call.refuse_unless(rounds <= MOST_ROUNDS, f"more than {MOST_ROUNDS} rounds have no counterpart")
    for at in range(rounds):
        parts = [_part(call, value, axis, rounds - 1 - at if back else at) for value, axis, back in zip(scanned, axes, is_back)]
        made = body([*states, *parts])
        if any(each is None for each in made):
            return [None] * len(call.outputs)
        results.append(made[len(states):])
        states = made[:len(states)]
    columns = [[each[place] for each in results] for place in range(outputs)]
    return [*states, *(_stacked(call, column[::-1] if back else column, axis) for column, back, axis in zip(
        columns, is_laid_back, call.attribute("scan_output_axes", [0] * outputs)))]
