# SPDX-License-Identifier: MIT
"""LSTM and GRU of ONNX."""

import numpy

from .onnx_values import Refusal, Value

_directions = {"forward": "forward", "reverse": "backward", "bidirectional": "both"}


def _activations(call, defaults, directions):
    given = [each.decode() if isinstance(each, bytes) else each for each in call.attribute("activations", list(defaults) * directions)]
    call.refuse_unless(given == given[:len(defaults)] * directions and set(given) <= {"Relu", "Sigmoid", "Tanh"},
                       f"activations {', '.join(given)} have no counterpart")
    return [each.lower() for each in given[:len(defaults)]]


def _part(call, value, begin, size):
    """Columns of B, which holds the bias and then the recurrent one."""
    if value.array is not None:
        return Value(value.array[:, begin:begin + size])
    return call("slice", value, starts=[0, begin], sizes=[value.shape[0], size])


def _swapped(call, value):
    """Of layout 1, which has the batch in front."""
    return call("transpose", value, dtype=value.dtype, permutation=[1, 0, 2])


def _recurrent(call, name, gates, activations, x, w, r, b, lengths, states, **options):
    """What both have in common: Y, and the last states."""
    directions, hidden = w.shape[0], r.shape[2]
    is_batch_first = bool(call.attribute("layout", 0))
    if is_batch_first:
        x, states = _swapped(call, x), {key: _swapped(call, each) for key, each in states.items() if each is not None}
    steps = x.shape[0]
    if lengths is not None and not (call.known(lengths, "sequence_lens") == steps).all():
        raise Refusal("sequences of different length have no counterpart")
    call.refuse_unless(call.attribute("clip") is None, "clip has no counterpart")
    if b is not None:
        options.update(bias=_part(call, b, 0, gates * hidden), recurrent_bias=_part(call, b, gates * hidden, gates * hidden))
    options.update({key: each for key, each in states.items() if each is not None})
    if call.is_used(0):
        options["return_sequence"] = True
    made = call(name, x, w, r, steps=steps, hidden_size=hidden, direction=_directions[call.attribute("direction", "forward")],
                activations=_activations(call, activations, directions), **options)
    made = made if isinstance(made, list) else [made]
    last, sequence = (made[:-1], made[-1]) if call.is_used(0) else (made, None)
    if is_batch_first:
        last = [_swapped(call, each) for each in last]
        sequence = sequence and call("transpose", sequence, dtype=sequence.dtype, permutation=[2, 0, 1, 3])
    return [sequence, *last]


def lstm(call, x, w, r, b=None, lengths=None, h=None, c=None, peephole=None):
    call.only("input_forget", 0)
    call.refuse_unless(peephole is None, "a peephole of ONNX's output gate sees the cell after the step, here the one before")
    return _recurrent(call, "lstm", 4, ("Sigmoid", "Tanh", "Tanh"), x, w, r, b, lengths,
                      {"initial_hidden_state": h, "initial_cell_state": c}, layout="iofg")


def gru(call, x, w, r, b=None, lengths=None, h=None):
    return _recurrent(call, "gru", 3, ("Sigmoid", "Tanh"), x, w, r, b, lengths, {"initial_hidden_state": h}, layout="zrn",
                      reset_after=bool(call.attribute("linear_before_reset", 0)))
