# SPDX-License-Identifier: MIT
"""Operations of ONNX that become several of a graph: elementwise functions, choices along an axis, the losses of training.

A number among the operands of a call is a constant of the dtype of the first value.
"""

import math

import numpy

from .onnx_values import Refusal, Value, axis_of, numpy_dtype

MOST_ROUNDS = 64  # of TopK, which has a few operations for each of its K

# ---- elementwise ----


def selu(call, x):
    made = call("elu", x, alpha=call.attribute("alpha", 1.67326319217681884765625))
    return call("mul", made, call.attribute("gamma", 1.05070102214813232421875))


def celu(call, x):
    alpha = call.attribute("alpha", 1.0)
    return call("mul", call("elu", call("div", x, alpha)), alpha)


def shrink(call, x):
    bias, bound = call.attribute("bias", 0.0), call.attribute("lambd", 0.5)
    above = call("where", call("greater", x, bound), call("sub", x, bias), call.scalar(0, x), dtype=x.dtype)
    return call("where", call("lesser", x, -bound), call("add", x, bias), above, dtype=x.dtype)


def thresholded_relu(call, x):
    return call("where", call("greater", x, call.attribute("alpha", 1.0)), x, call.scalar(0, x), dtype=x.dtype)


def mish(call, x):
    return call("mul", x, call("tanh", call("softplus", x)))


def _half_exp(call, x, sign):
    """exp(±x) / 2, which is finite where the sum of two of it is."""
    root = call("exp", call("mul", x, sign * 0.5))
    return call("mul", call("mul", root, 0.5), root)


def cosh(call, x):
    return call("add", _half_exp(call, x, 1), _half_exp(call, x, -1))


def sinh(call, x):
    """Of small x by tanh of its half, as the exponentials cancel."""
    half = call("tanh", call("mul", x, 0.5))
    small = call("div", call("mul", half, 2), call("sub", 1, call("mul", half, half)))
    return call("where", call("lesser", call("abs", x), 1), small, call("sub", _half_exp(call, x, 1), _half_exp(call, x, -1)))


def _log_of_one_and(call, x):
    """log(1 + x) of x ≥ 0: what the sum loses of x is put back, which matters below 3.  Asinh and Acosh give it up to twice theirs,
    so that they are infinite above half of the largest number."""
    whole = call("add", x, 1)
    made = call("log", whole)
    lost = call("div", call("sub", call("sub", whole, 1), x), whole)
    return call("where", call("lesser", whole, 4), call("sub", made, lost), made)


def _inverse_hypotenuse(call, x):
    """1 / (1/x + √(1 + 1/x²)) of x ≥ 0, from 0 to 1, without an overflow: the tangent of half the angle of x."""
    inverse = call("reciprocal", x)
    return call("reciprocal", call("add", inverse, call("sqrt", call("add", call("mul", inverse, inverse), 1))))


def asinh(call, x):
    size = call("abs", x)
    made = _log_of_one_and(call, call("add", size, call("mul", size, _inverse_hypotenuse(call, size))))
    return call("mul", call("sign", x), made)


def acosh(call, x):
    more = call("sub", x, 1)
    root = call("mul", call("sqrt", more), call("sqrt", call("add", more, 2)))
    return _log_of_one_and(call, call("add", more, root))


def atanh(call, x):
    size = call("abs", x)
    made = _log_of_one_and(call, call("div", call("mul", size, 2), call("sub", 1, size)))
    return call("mul", call("mul", call("sign", x), 0.5), made)


def atan(call, x):
    """Half the angle twice, then the series, whose tenth term is below 1e-9 of π / 8."""
    tangent = _inverse_hypotenuse(call, _inverse_hypotenuse(call, call("abs", x)))
    square = call("mul", tangent, tangent)
    series = call.scalar(1 / 19, x)
    for odd in range(17, 0, -2):
        series = call("sub", 1 / odd, call("mul", series, square))
    return call("mul", call("mul", call("sign", x), 4), call("mul", series, tangent))


def asin(call, x):
    return atan(call, call("div", x, call("sqrt", call("mul", call("sub", 1, x), call("add", 1, x)))))


def acos(call, x):
    return call("mul", atan(call, call("sqrt", call("div", call("sub", 1, x), call("add", 1, x)))), 2)


def mod(call, x, y):
    """Of whole numbers: the remainder has the sign of x with fmod, else of y."""
    if x.dtype.kind == "f":
        raise Refusal("of floats it has no counterpart, but of constants", {x.name, y.name} - {None})
    rest = call("sub", x, call("mul", call("div", x, y), y))
    if call.attribute("fmod", 0) or x.dtype.kind == "u":
        return rest
    differs = call("logical_xor", call("lesser", rest, 0), call("lesser", y, 0))
    moved = call("logical_and", call("not_equal", rest, 0), differs)
    return call("where", moved, call("add", rest, y), rest, dtype=x.dtype)


def bit_shift(call, x, by):
    """Shifts by the bits of x or more are undefined in ONNX."""
    return call("mul" if call.attribute("direction") == "LEFT" else "div", x, call("pow", call.scalar(2, x), by))


# ---- choices along an axis ----


def _places(shape, axis):
    """0, 1, 2, … along an axis."""
    return Value(numpy.arange(shape[axis]).reshape([-1 if each == axis else 1 for each in range(len(shape))]))


def hardmax(call, x, axis):
    """1 where the first of the largest is, else 0."""
    found = call("arg_max", x, axis=axis, keep_dimensions=True, output_data_type="i64")
    return call.cast(call("equal", _places(x.shape, axis), found, dtype=bool), x.dtype)


def one_hot(call, indices, depth, values):
    depth = int(call.known(depth, "depth").reshape(-1)[0])
    axis = axis_of(call.attribute("axis", -1), indices.rank + 1)
    shape = [*indices.shape[:axis], 1, *indices.shape[axis:]]
    indices = call.reshape(call.cast(indices, numpy.int64), shape)
    indices = call("where", call("lesser", indices, 0), call("add", indices, depth), indices)
    places = _places([*shape[:axis], depth, *shape[axis + 1:]], axis)
    off, on = (call("slice", values, dtype=values.dtype, starts=[each], sizes=[1]) for each in range(2))
    return call("where", call("equal", places, indices), on, off, dtype=values.dtype)


def eye_like(call, x):
    call.refuse_unless(x.rank == 2, "it is no matrix")
    dtype = x.dtype if call.attribute("dtype") is None else numpy_dtype(call.attribute("dtype"))
    return Value(numpy.eye(*x.shape, call.attribute("k", 0), dtype))


def top_k(call, x, count=None):
    """One after the other: the largest of those that are not taken yet, the first of equal ones."""
    axis = axis_of(call.attribute("axis", -1), x.rank)
    count = call.ints("k", count)[0]
    call.refuse_unless(1 <= count <= min(x.shape[axis], MOST_ROUNDS), f"K is {count}: here it is 1 to {MOST_ROUNDS}, and not above the extent")
    is_largest, dtype = call.attribute("largest", 1), x.dtype
    bounds = (-numpy.inf, numpy.inf) if dtype.kind == "f" else (numpy.iinfo(dtype).min, numpy.iinfo(dtype).max)
    last, places, taken, left, found = call.scalar(bounds[0 if is_largest else 1], x), _places(x.shape, axis), None, x, []
    for _ in range(count):
        best = call("reduce_max" if is_largest else "reduce_min", left, dtype=dtype, axes=[axis], keep_dimensions=True)
        equal = call("equal", left, best)
        if taken is not None:
            equal = call("logical_and", equal, call("logical_not", taken))
        place = call("arg_max", equal, axis=axis, keep_dimensions=True, output_data_type="i64")
        found.append((best, place))
        here = call("equal", places, place)
        taken = here if taken is None else call("logical_or", taken, here)
        left = call("where", taken, last, x, dtype=dtype)
    values, indices = zip(*found)
    return [call("concat", *values, dtype=dtype, axis=axis), call("concat", *indices, axis=axis)]


def compress(call, x, condition):
    axis = call.attribute("axis")
    kept = numpy.flatnonzero(call.known(condition, "the condition"))
    call.refuse_unless(kept.size, "a tensor without elements has no counterpart")
    if axis is None:
        x, axis = call.reshape(x, [math.prod(x.shape)]), 0
    return call("gather", x, Value(kept), dtype=x.dtype, axis=axis_of(axis, x.rank))


def reverse_sequence(call, x, lengths):
    """The first two dimensions are steps and batch, or batch and steps."""
    batch = call.only("batch_axis", 1, 0)
    steps = call.only("time_axis", 0, 1)
    call.refuse_unless(batch != steps, "batch and steps are one axis")
    lengths, at = call.known(lengths, "sequence_lens")[:, None], numpy.arange(x.shape[steps])
    order = numpy.where(at < lengths, lengths - 1 - at, at)  # by batch, step
    rows = (numpy.arange(x.shape[0])[:, None], order) if batch == 0 else (order.T, numpy.arange(x.shape[1]))
    flat = call.reshape(x, [x.shape[0] * x.shape[1], *x.shape[2:]])
    picked = call("gather", flat, Value((rows[0] * x.shape[1] + rows[1]).reshape(-1)), dtype=x.dtype, axis=0)
    return call.reshape(picked, x.shape)


def mean_variance_normalization(call, x):
    axes = [axis_of(each, x.rank) for each in call.attribute("axes", [0, 2, 3])]
    distance = call("sub", x, call("reduce_mean", x, axes=axes, keep_dimensions=True))
    variance = call("reduce_mean", call("mul", distance, distance), axes=axes, keep_dimensions=True)
    return call("div", distance, call("add", call("sqrt", variance), 1e-9))


def lp_normalization(call, x):
    """Over the sum or the root of the sum of squares along an axis."""
    name = {1: "reduce_l1", 2: "reduce_l2"}[call.only("p", 2, 1)]
    return call("div", x, call(name, x, axes=[axis_of(call.attribute("axis", -1), x.rank)], keep_dimensions=True))


def global_lp_pool(call, x):
    name = {1: "reduce_l1", 2: "reduce_l2"}[call.only("p", 2, 1)]
    return call(name, x, axes=list(range(2, x.rank)), keep_dimensions=True)


def group_normalization(call, x, scale, bias):
    """Scale and bias are of the groups before opset 21, then of the channels."""
    groups, (n, c) = call.attribute("num_groups"), x.shape[:2]
    rows = call.reshape(x, [n, groups, math.prod(x.shape[1:]) // groups])
    distance = call("sub", rows, call("reduce_mean", rows, axes=[2], keep_dimensions=True))
    variance = call("reduce_mean", call("mul", distance, distance), axes=[2], keep_dimensions=True)
    made = call("div", distance, call("sqrt", call("add", variance, call.attribute("epsilon", 1e-5))))
    of = [groups, 1] if call.opset < 21 else [c] + [1] * (x.rank - 2)
    made = made if call.opset < 21 else call.reshape(made, x.shape)
    made = call("add", call("mul", made, call.reshape(scale, of)), call.reshape(bias, of))
    return call.reshape(made, x.shape)


def affine_grid(call, theta, size):
    """The places of GridSample, [n, …, d], of d dimensions: a constant grid times theta [n, d, d + 1]."""
    extents, is_aligned = call.ints("size", size)[2:], call.attribute("align_corners", 0)
    axes = [numpy.linspace(-1, 1, extent) if is_aligned else (2 * numpy.arange(extent) + 1) / extent - 1 for extent in extents]
    at = numpy.meshgrid(*axes, indexing="ij")[::-1]  # x is the last dimension
    places = numpy.stack([*at, numpy.ones(extents)], -1).reshape(-1, len(extents) + 1).astype(theta.dtype)
    made = call("matmul", Value(places), call("transpose", theta, permutation=[0, 2, 1]))
    return call.reshape(made, [theta.shape[0], *extents, len(extents)])


def center_crop_pad(call, x, shape):
    """The middle of x where it is larger, zeros around it where it is smaller."""
    wanted = call.ints("shape", shape)
    begin, sizes, first, last = [0] * x.rank, list(x.shape), [0] * x.rank, [0] * x.rank
    for axis, extent in zip(call.attribute("axes", range(x.rank)), wanted):
        axis = axis_of(axis, x.rank)
        begin[axis], sizes[axis] = max(x.shape[axis] - extent, 0) // 2, min(x.shape[axis], extent)
        first[axis] = max(extent - x.shape[axis], 0) // 2
        last[axis] = max(extent - x.shape[axis], 0) - first[axis]
    made = call("slice", x, dtype=x.dtype, starts=begin, sizes=sizes)
    return call("pad", made, dtype=x.dtype, beginning_padding=first, ending_padding=last, value=0) if any(first + last) else made


# ---- losses ----


def negative_log_likelihood(call, x, target, weight=None):
    """x holds the logarithms by class in dimension 1, target the class of each."""
    ignored, reduction = call.attribute("ignore_index"), call.only("reduction", "mean", "sum", "none")
    target = call.reshape(target, [target.shape[0], 1, *target.shape[1:]])
    counts = None if ignored is None else call.cast(call("not_equal", target, ignored, dtype=bool), x.dtype)
    if ignored is not None:
        target = call("where", call("equal", target, ignored), call.scalar(0, target), target, dtype=target.dtype)
    if weight is not None:
        picked = call("gather", weight, target, axis=0)
        counts = picked if counts is None else call("mul", counts, picked)
    loss = call("neg", call("gather_elements", x, target, axis=1))
    loss = loss if counts is None else call("mul", loss, counts)
    if reduction == "none":
        return call.reshape(loss, [loss.shape[0], *loss.shape[2:]])
    axes = list(range(loss.rank))
    if reduction == "mean" and counts is None:
        return call("reduce_mean", loss, axes=axes)
    total = call("reduce_sum", loss, axes=axes)
    return total if reduction == "sum" else call("div", total, call("reduce_sum", counts, axes=axes))


def softmax_cross_entropy(call, scores, target, weight=None):
    logarithms = call("sub", scores, call("reduce_log_sum_exp", scores, axes=[1], keep_dimensions=True))
    return [negative_log_likelihood(call, logarithms, target, weight), logarithms]
