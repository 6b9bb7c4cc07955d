# SPDX-License-Identifier: MIT
"""What is computed of constants when a graph is made: a function of numpy a row, for what exporters do with shapes and weights.

A function takes the call and the arrays of the node's inputs, None for one that is left out; Shape and Size take the values.
"""

import numpy

from .onnx_signal import mel_weight_matrix, window
from .onnx_values import Refusal, axis_of, numpy_dtype, value_of


def _constant(call):
    for name in call.attributes:
        value = call.attribute(name)
        if name == "value":
            return value_of(value)
        if name in ("value_float", "value_floats"):
            return numpy.asarray(value, numpy.float32)
        if name in ("value_int", "value_ints"):
            return numpy.asarray(value, numpy.int64)
    raise Refusal(f"its {', '.join(call.attributes)} has no counterpart")


def _shape(call, value):
    start, end = call.attribute("start", 0), call.attribute("end", value.rank)
    return numpy.asarray(value.shape[start:end], numpy.int64)


def _constant_of_shape(call, shape):
    value = call.attribute("value")
    value = numpy.zeros(1, numpy.float32) if value is None else value_of(value).array
    return numpy.full([int(each) for each in shape], value.reshape(-1)[0], value.dtype)


def _axes(call, axes):
    return call.ints("axes") if axes is None else [int(each) for each in axes.reshape(-1)]


def _unsqueeze(call, x, axes=None):
    axes = _axes(call, axes)
    return numpy.expand_dims(x, tuple(axis_of(each, x.ndim + len(axes)) for each in axes))


def _squeeze(call, x, axes=None):
    axes = _axes(call, axes)
    return numpy.squeeze(x, None if axes is None else tuple(axes))


def new_shape(call, shape, wanted):
    """The numbers of Reshape: 0 takes the extent that was there, −1 what is left."""
    wanted = [int(each) for each in wanted]
    if not call.attribute("allowzero", 0):
        wanted = [shape[place] if each == 0 else each for place, each in enumerate(wanted)]
    rest = -int(numpy.prod(wanted, dtype=object))
    return [int(numpy.prod(shape, dtype=object)) // rest if each == -1 else each for each in wanted]


def slices(call, shape, starts=None, ends=None, axes=None, steps=None):
    """A Python slice a dimension of Slice, its bounds held within the extent."""
    starts, ends = (call.ints("starts"), call.ints("ends")) if starts is None else (starts, ends)
    axes = call.ints("axes", default=list(range(len(starts)))) if axes is None else axes
    made = [slice(0, extent, 1) for extent in shape]
    for at, axis in enumerate(axes):
        axis, step = axis_of(int(axis), len(shape)), 1 if steps is None else int(steps[at])
        start, end, step = slice(int(starts[at]), int(ends[at]), step).indices(shape[axis])
        made[axis] = slice(start, end if end >= 0 else None, step)
    return tuple(made)


def _divide(call, a, b):
    return numpy.trunc(a / b).astype(a.dtype) if a.dtype.kind in "iu" else a / b


def parts(call, extent, split=None):
    """The sizes of Split's results."""
    sizes = call.ints("split") if split is None else [int(each) for each in split.reshape(-1)]
    count = call.attribute("num_outputs", len(call.outputs))
    whole = -(-extent // count)
    return sizes or [min(whole, extent - at * whole) for at in range(count)]


def _split(call, x, split=None):
    axis = axis_of(call.attribute("axis", 0), x.ndim)
    return numpy.split(x, numpy.cumsum(parts(call, x.shape[axis], split))[:-1], axis)


def _cast(call, x):
    return x.astype(numpy_dtype(call.attribute("to")))


def _reduce(function):
    def reduced(call, x, axes=None):
        axes = _axes(call, axes)
        if not axes and call.attribute("noop_with_empty_axes", 0):
            return x
        return function(x, axis=tuple(axes) if axes else None, keepdims=bool(call.attribute("keepdims", 1))).astype(x.dtype)
    return reduced


def _chain(function):
    def chained(call, *arrays):
        made = arrays[0]
        for each in arrays[1:]:
            made = function(made, each)
        return made
    return chained


def _plain(function):
    return lambda call, *arrays: function(*arrays)


folds = {
    "Constant": _constant, "ConstantOfShape": _constant_of_shape, "Shape": _shape,
    "Size": lambda call, value: numpy.asarray(int(numpy.prod(value.shape)), numpy.int64),
    "Range": _plain(lambda start, limit, step: numpy.arange(start, limit, step, start.dtype)),
    "Gather": lambda call, x, indices: numpy.take(x, indices, axis=call.attribute("axis", 0)),
    "Concat": lambda call, *arrays: numpy.concatenate(arrays, call.attribute("axis", 1)),
    "Unsqueeze": _unsqueeze, "Squeeze": _squeeze, "Split": _split, "Cast": _cast,
    "Reshape": lambda call, x, shape: x.reshape(new_shape(call, x.shape, shape)),
    "Flatten": lambda call, x: x.reshape(int(numpy.prod(x.shape[:call.attribute("axis", 1)])), -1),
    "Transpose": lambda call, x: numpy.transpose(x, call.attribute("perm")),
    "Slice": lambda call, x, *bounds: x[slices(call, x.shape, *bounds)],
    "Expand": _plain(lambda x, shape: x * numpy.ones(shape, x.dtype) if x.dtype != bool else x & numpy.ones(shape, bool)),
    "Tile": _plain(numpy.tile), "Identity": _plain(lambda x: x), "NonZero": _plain(lambda x: numpy.asarray(numpy.nonzero(x))),
    "Neg": _plain(numpy.negative), "Abs": _plain(numpy.abs), "Floor": _plain(numpy.floor), "Ceil": _plain(numpy.ceil),
    "Sqrt": _plain(numpy.sqrt), "Not": _plain(numpy.logical_not), "Add": _plain(numpy.add), "Sub": _plain(numpy.subtract),
    "Mul": _plain(numpy.multiply), "Div": _divide, "Mod": lambda call, x, y: (numpy.fmod if call.attribute("fmod", 0) else numpy.mod)(x, y), "Max": _chain(numpy.maximum), "Min": _chain(numpy.minimum),
    "Pow": _plain(lambda x, y: numpy.power(x, y).astype(x.dtype)), "Equal": _plain(numpy.equal), "Less": _plain(numpy.less),
    "Greater": _plain(numpy.greater), "LessOrEqual": _plain(numpy.less_equal), "GreaterOrEqual": _plain(numpy.greater_equal),
    "And": _plain(numpy.logical_and), "Or": _plain(numpy.logical_or), "Xor": _plain(numpy.logical_xor), "Where": _plain(numpy.where),
    "ReduceProd": _reduce(numpy.prod), "ReduceSum": _reduce(numpy.sum), "ReduceMax": _reduce(numpy.max),
    "ReduceMin": _reduce(numpy.min),
    "HannWindow": window(0.5, -0.5), "HammingWindow": window(25 / 46, -21 / 46), "BlackmanWindow": window(0.42, -0.5, 0.08),
    "MelWeightMatrix": mel_weight_matrix,
    "Trilu": lambda call, x, k=0: (numpy.triu if call.attribute("upper", 1) else numpy.tril)(x, 0 if k is None else int(k)),
}
