# SPDX-License-Identifier: MIT
"""LSTM, GRU and RNN of ONNX."""

import numpy

from .onnx_values import Refusal, Value

_directions = {"forward": "forward", "reverse": "backward", "bidirectional": "both"}


def _activations(call, defaults, directions, known=("Relu", "Sigmoid", "Tanh")):
    given = [each.decode() if isinstance(each, bytes) else each for each in call.attribute("activations", list(defaults) * directions)]
    call.refuse_unless(given == given[:len(defaults)] * directions and set(given) <= set(known),
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
    x, states = _steps_first(call, x, lengths, states)
    if b is not None:
        options.update(bias=_part(call, b, 0, gates * hidden), recurrent_bias=_part(call, b, gates * hidden, gates * hidden))
    options.update({key: each for key, each in states.items() if each is not None})
    if call.is_used(0):
        options["return_sequence"] = True
    made = call(name, x, w, r, steps=x.shape[0], hidden_size=hidden, direction=_directions[call.attribute("direction", "forward")],
                activations=_activations(call, activations, directions), **options)
    made = made if isinstance(made, list) else [made]
    return _as_laid_out(call, made[-1] if call.is_used(0) else None, made[:-1] if call.is_used(0) else made)


def _steps_first(call, x, lengths, states):
    """The input and the first states with the batch behind steps and directions."""
    if call.attribute("layout", 0):
        x, states = _swapped(call, x), {key: _swapped(call, each) for key, each in states.items() if each is not None}
    if lengths is not None and not (call.known(lengths, "sequence_lens") == x.shape[0]).all():
        raise Refusal("sequences of different length have no counterpart")
    call.refuse_unless(call.attribute("clip") is None, "clip has no counterpart")
    return x, states


def _as_laid_out(call, sequence, last):
    """The results Y, Y_h, …, the batch in front of layout 1."""
    if call.attribute("layout", 0):
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


def _row(call, value, at):
    """value[at]."""
    part = call("slice", value, dtype=value.dtype, starts=[at] + [0] * (value.rank - 1), sizes=[1, *value.shape[1:]])
    return call.reshape(part, value.shape[1:])


def rnn(call, x, w, r, b=None, lengths=None, h=None):
    """Of products and an activation a step; the product with w is one of all steps."""
    hidden, word = r.shape[2], call.attribute("direction", "forward")
    words = ["forward", "reverse"] if word == "bidirectional" else [word]
    activation = _activations(call, ("Tanh",), len(words), ("Relu", "Sigmoid", "Softplus", "Softsign", "Tanh"))[0]
    x, states = _steps_first(call, x, lengths, {"h": h})
    (steps, batch, width), first, sequences, last = x.shape, states.get("h"), [], []
    for side, word in enumerate(words):
        weights, again = (call("transpose", _row(call, each, side), permutation=[1, 0]) for each in (w, r))
        sums = call("matmul", call.reshape(x, [steps * batch, width]), weights)
        if b is not None:
            for begin in (0, hidden):
                sums = call("add", sums, _row(call, _part(call, b, begin, hidden), side))
        sums, made = call.reshape(sums, [steps, batch, hidden]), {}
        state = None if first is None else _row(call, first, side)
        for step in range(steps) if word == "forward" else reversed(range(steps)):
            here = _row(call, sums, step)
            state = call(activation, here if state is None else call("add", here, call("matmul", state, again)))
            made[step] = call.reshape(state, [1, 1, batch, hidden])
        sequences.append(call("concat", *(made[step] for step in range(steps)), axis=0))
        last.append(call.reshape(state, [1, batch, hidden]))
    sequence = call("concat", *sequences, axis=1) if call.is_used(0) else None
    return _as_laid_out(call, sequence, [call("concat", *last, axis=0)])
