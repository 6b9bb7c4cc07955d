# SPDX-License-Identifier: MIT
"""Transforms and windows of signals, and determinants.

Windows and MelWeightMatrix are computed of constants (folds).  A discrete Fourier transform is a product with a constant matrix, in
float32: its error grows with the root of the length.
"""

import math

import numpy

from .onnx_values import Value, axis_of, numpy_dtype

MOST_DET = 6  # rows: the expansion has a product for each set of columns

# ---- windows ----


def window(*shares):
    """Σ share · cos(2π k n / N), k from 0 on, as it is summed."""
    def made(call, size):
        count = int(numpy.asarray(size).reshape(-1)[0])
        turn = 2 * numpy.pi * numpy.arange(count) / (count if call.attribute("periodic", 1) else max(count - 1, 1))
        return sum(share * numpy.cos(k * turn) for k, share in enumerate(shares)).astype(numpy_dtype(call.attribute("output_datatype", 1)))
    return made


def mel_weight_matrix(call, bins, length, rate, lower, upper):
    """Triangles of one height between places that are as far apart in mel; a row a bin of the spectrum."""
    bins, length, rate = (int(numpy.asarray(each).reshape(-1)[0]) for each in (bins, length, rate))
    low, high = (2595 * math.log10(1 + float(numpy.asarray(each).reshape(-1)[0]) / 700) for each in (lower, upper))
    hertz = 700 * (10 ** ((low + numpy.arange(bins + 2) * (high - low) / (bins + 2)) / 2595) - 1)
    places = (length + 1) * hertz // rate
    made, at = numpy.zeros((length // 2 + 1, bins)), numpy.arange(length // 2 + 1)
    for bin_, (first, middle, last) in enumerate(zip(places, places[1:], places[2:])):
        rising = (at >= first) & (at <= middle)
        made[rising, bin_] = (at[rising] - first) / (middle - first) if middle > first else 1
        falling = (at >= middle) & (at < last)
        made[falling, bin_] = (last - at[falling]) / (last - middle)
    return made.astype(numpy_dtype(call.attribute("output_datatype", 1)))


# ---- Fourier transforms ----


def _matrix(taken, length, kept, is_complex, is_inverse, dtype):
    """What `taken` numbers (real, or real and imaginary), a row each, contribute to `kept` of the transform of `length`, two columns
    each."""
    angle = (1 if is_inverse else -1) * 2 * numpy.pi * (numpy.outer(numpy.arange(taken), numpy.arange(kept)) % length) / length
    real, imaginary = numpy.cos(angle), numpy.sin(angle)
    rows = [numpy.stack([real, imaginary], -1), numpy.stack([-imaginary, real], -1)][:1 + is_complex]
    made = numpy.stack(rows, 1) / (length if is_inverse else 1)  # [taken, parts, kept, 2]
    return Value(made.reshape(taken * len(rows), 2 * kept).astype(dtype))


def _transformed(call, x, length, is_onesided, is_inverse=False):
    """Of x [..., n, parts] along n: [..., kept, 2]."""
    call.refuse_unless(x.shape[-1] in (1, 2), f"its last dimension is {x.shape[-1]}, and neither real nor complex")
    call.refuse_unless(not (is_onesided and (is_inverse or x.shape[-1] == 2)), "one side of a complex signal has no counterpart")
    taken, kept = min(x.shape[-2], length), length // 2 + 1 if is_onesided else length
    if taken < x.shape[-2]:
        x = call("slice", x, starts=[0] * x.rank, sizes=[*x.shape[:-2], taken, x.shape[-1]])
    matrix = _matrix(taken, length, kept, x.shape[-1] == 2, is_inverse, x.dtype)
    made = call("matmul", call.reshape(x, [math.prod(x.shape[:-2]), taken * x.shape[-1]]), matrix)
    return call.reshape(made, [*x.shape[:-2], kept, 2])


def dft(call, x, length=None, axis=None):
    axis = call.attribute("axis", 1) if call.opset < 20 else -2 if axis is None else call.ints("axis", axis)[0]
    axis = axis_of(axis, x.rank)
    call.refuse_unless(axis < x.rank - 1, "the axis is that of real and imaginary parts")
    length = x.shape[axis] if length is None else call.ints("dft_length", length)[0]
    order = [each for each in range(x.rank - 1) if each != axis]
    is_moved = axis != x.rank - 2
    moved = call("transpose", x, permutation=[*order, axis, x.rank - 1]) if is_moved else x
    made = _transformed(call, moved, length, bool(call.attribute("onesided", 0)), bool(call.attribute("inverse", 0)))
    back = numpy.argsort([*order, axis, x.rank - 1]).tolist()
    return call("transpose", made, permutation=back) if is_moved else made


def stft(call, signal, step, window_=None, length=None):
    """Frames of the signal [batch, n, parts], times the window, transformed one by one."""
    step = call.ints("frame_step", step)[0]
    length = window_.shape[0] if length is None else call.ints("frame_length", length)[0]
    call.refuse_unless(0 < length <= signal.shape[1] and step > 0, "a frame is longer than the signal")
    places = numpy.arange(0, signal.shape[1] - length + 1, step)[:, None] + numpy.arange(length)
    frames = call("gather", signal, Value(places.reshape(-1)), axis=1)
    frames = call.reshape(frames, [signal.shape[0], *places.shape, signal.shape[2]])
    if window_ is not None:
        frames = call("mul", frames, call.reshape(window_, [length, 1]))
    return _transformed(call, frames, length, bool(call.attribute("onesided", 1)))


# ---- determinants ----


def det(call, x):
    """By the last row of the first rows, for each set of columns: n · 2^(n − 1) products of n rows."""
    rows = x.shape[-1]
    call.refuse_unless(x.rank >= 2 and x.shape[-2] == rows, "its matrices are not square")
    call.refuse_unless(rows <= MOST_DET, f"{rows} rows have no counterpart: {MOST_DET} at most")
    flat, one = call.reshape(x, [math.prod(x.shape[:-2]), rows * rows]), [math.prod(x.shape[:-2]), 1]
    of = [[call("slice", flat, starts=[0, row * rows + column], sizes=one) for column in range(rows)] for row in range(rows)]
    minors = {1 << column: of[0][column] for column in range(rows)}  # of the rows so far, by columns
    for row in range(1, rows):
        wider = {}
        for columns in (each for each in range(1 << rows) if bin(each).count("1") == row + 1):
            made, inside = None, [column for column in range(rows) if columns >> column & 1]
            for place, column in enumerate(inside):
                term = call("mul", of[row][column], minors[columns & ~(1 << column)])
                made = (term if (row + place) % 2 == 0 else call("neg", term)) if made is None else call(
                    "add" if (row + place) % 2 == 0 else "sub", made, term)
            wider[columns] = made
        minors = wider
    made, = minors.values()
    return call.reshape(made, x.shape[:-2]) if made.shape != x.shape[:-2] else made
