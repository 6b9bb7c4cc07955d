# SPDX-License-Identifier: MIT
"""Whole numbers of 8 bits that stand for floats.

Products of them are computed in float32 and become int32: exact while sums stay below 2^24, as those of 258 products do.
"""

import math

import numpy

from .onnx_values import INT4, UINT4, Value, axis_of, dtype_word, numpy_dtype
from .onnx_windows import conv


def _along(call, value, rank, axis):
    """A scale or zero point of one element, or of one for each place along an axis, for a value of that rank."""
    if value.rank > 1:
        return value
    return call.reshape(value, [math.prod(value.shape) if at == axis else 1 for at in range(rank)])


def _shape(call, x, scale):
    """Of scale and zero point, as x has dimensions: of one element, of one a place along the axis, or of one a block."""
    axis, blocks = call.attribute("axis", 1), call.attribute("block_size", 0)
    shape = [1] * x.rank
    if blocks:
        shape = scale.shape
    elif math.prod(scale.shape) > 1:
        shape[axis_of(axis, x.rank)] = scale.shape[0]
    return shape


def quantize_linear(call, x, scale, zero=None):
    """What comes out is as the zero point, or as output_dtype says, or uint8."""
    code = call.attribute("output_dtype", 0)
    bits = 4 if code in (UINT4, INT4) else None
    if zero is not None and zero.was:
        raise TypeError(f"{zero.was} is no dtype of graphs")
    if zero is None:
        dtype = {UINT4: numpy.uint8, INT4: numpy.int8}[code] if bits else numpy_dtype(code) if code else numpy.uint8
        zero = Value(numpy.zeros(scale.shape, dtype), bits=bits)
    elif code and (bits != zero.bits or not bits and numpy_dtype(code) != zero.dtype):
        raise TypeError(f"output_dtype is {dtype_word(code)}, and the zero point is another")
    shape = _shape(call, x, scale)
    return call("quantize_linear", x, call.reshape(scale, shape), call.reshape(zero, shape))


def dequantize_linear(call, x, scale, zero=None):
    """Weights of float8 are float32 here, and stay so."""
    shape = _shape(call, x, scale)
    if x.was:
        call.refuse_unless(scale.array is not None and (zero is None or zero.array is not None and not zero.array.any()),
                           f"{x.was} has no counterpart, but with a constant scale and a zero point of 0")
        shares = scale.array.reshape(shape)
        for axis, (extent, count) in enumerate(zip(x.shape, shape)):
            shares = numpy.repeat(shares, -(-extent // count), axis) if count > 1 else shares
        return Value((x.array * shares[tuple(map(slice, x.shape))]).astype(scale.dtype))
    if zero is None:
        zero = Value(numpy.zeros(scale.shape, x.dtype), bits=x.bits)
    return call("dequantize_linear", x, call.reshape(scale, shape), call.reshape(zero, shape))


def _distances(call, x, zero, axis):
    """x less its zero point, as float32."""
    x = call.cast(x, numpy.float32)
    if zero is None:
        return x
    zero = call.cast(_along(call, zero, x.rank, axis), numpy.float32)
    return call("sub", x, zero) if x.array is None or zero.array is None else Value(x.array - zero.array)


def _matmul(call, a, b, a_zero, b_zero):
    return call("matmul", _distances(call, a, a_zero, a.rank - 2), _distances(call, b, b_zero, b.rank - 1))


def matmul_integer(call, a, b, a_zero=None, b_zero=None):
    return call.cast(_matmul(call, a, b, a_zero, b_zero), numpy.int32)


def conv_integer(call, x, w, x_zero=None, w_zero=None):
    return call.cast(conv(call, _distances(call, x, x_zero, 1), _distances(call, w, w_zero, 0)), numpy.int32)


def qlinear_matmul(call, a, a_scale, a_zero, b, b_scale, b_zero, scale, zero):
    made = call("mul", _matmul(call, a, b, a_zero, b_zero), _along(call, a_scale, a.rank, a.rank - 2))
    made = call("mul", made, _along(call, b_scale, b.rank, b.rank - 1))
    return call("quantize_linear", made, *(_along(call, each, made.rank, made.rank - 2) for each in (scale, zero)))


def qlinear_conv(call, x, x_scale, x_zero, w, w_scale, w_zero, scale, zero, bias=None):
    bias = None if bias is None else call.cast(bias, numpy.float32)
    made = conv(call, _distances(call, x, x_zero, 1), _distances(call, w, w_zero, 0), bias)
    for each in (x_scale, w_scale):
        made = call("mul", made, _along(call, each, made.rank, 1))
    return call("quantize_linear", made, *(_along(call, each, made.rank, 1) for each in (scale, zero)))


def dynamic_quantize_linear(call, x):
    """Scale and zero point by the range of x and 0; where all is 0 the scale is 1."""
    axes = list(range(x.rank))
    low = call("min", call("reduce_min", x, axes=axes), 0)
    width = call("sub", call("max", call("reduce_max", x, axes=axes), 0), low)
    scale = call("where", call("equal", width, 0), call.scalar(1, x), call("div", width, 255), dtype=x.dtype)
    zero = call.cast(call("clamp", call("round_even", call("neg", call("div", low, scale))), min_value=0, max_value=255), numpy.uint8)
    return [call("quantize_linear", x, *(call.reshape(each, [1] * x.rank) for each in (scale, zero))), scale, zero]
