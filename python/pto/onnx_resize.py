# SPDX-License-Identifier: MIT
"""Resize and Upsample of ONNX: resample2d where it samples at the same places, else an axis after the other.

Where a number of the result lies in its input is known, so nearest is a gather, and linear and cubic a product with a matrix.
"""

import math

import numpy

from .onnx_values import Value, axis_of

_nearest = {"round_prefer_floor": lambda at: numpy.ceil(at - 0.5), "round_prefer_ceil": lambda at: numpy.floor(at + 0.5),
            "floor": numpy.floor, "ceil": numpy.ceil}


def _along(call, x, roi, scales, sizes):
    """(axis, scale, size, bounds of the region) of the axes that are resized."""
    axes = [axis_of(each, x.rank) for each in call.attribute("axes", range(x.rank))]
    region = [0] * len(axes) + [1] * len(axes)
    if call.attribute("coordinate_transformation_mode") == "tf_crop_and_resize":
        region = [float(each) for each in call.known(roi, "roi")]
    if scales is not None and scales.shape != (0,) or call.attribute("scales"):
        numbers = [float(each) for each in (call.attribute("scales") if scales is None else call.known(scales, "scales"))]
        wanted = [math.floor(x.shape[axis] * number + 1e-6) for axis, number in zip(axes, numbers)]
    else:
        call.only("keep_aspect_ratio_policy", "stretch")
        wanted = call.ints("sizes", sizes)
        numbers = [size / x.shape[axis] for axis, size in zip(axes, wanted)]
    moved = zip(axes, numbers, wanted, zip(region, region[len(axes):]))
    return [each for each in moved if each[1] != 1 or each[2] != x.shape[each[0]] or each[3] != (0, 1)]


def _places(call, where, extent, scale, size, region):
    """Where the numbers of the result lie along an axis of the input."""
    at = numpy.arange(size, dtype=numpy.float64)
    if where == "align_corners":  # onnx's cases divide by extent · scale, onnxruntime by the size
        call.refuse_unless(math.isclose(size, extent * scale, rel_tol=1e-6), "align_corners of no whole size has no counterpart")
        return at * (extent - 1) / max(size - 1, 1)
    if where == "tf_crop_and_resize":
        first, last = (extent - 1) * region[0], (extent - 1) * region[1]
        return first + at * (last - first) / (size - 1) if size > 1 else numpy.array([(first + last) / 2])
    if where == "asymmetric":
        return at / scale
    if where == "tf_half_pixel_for_nn":
        return (at + 0.5) / scale
    if where == "pytorch_half_pixel" and size == 1:
        return at
    if where == "half_pixel_symmetric":
        return extent / 2 * (1 - size / (extent * scale)) + (at + 0.5) / scale - 0.5
    return (at + 0.5) / scale - 0.5


def _cubic(distance, a):
    """The weight of a neighbour, whose distance is up to 2 (Keys 1981)."""
    distance = abs(distance)
    near = ((a + 2) * distance - (a + 3)) * distance ** 2 + 1
    far = a * (((distance - 5) * distance + 8) * distance - 4)
    return numpy.where(distance <= 1, near, numpy.where(distance < 2, far, 0))


def _matrix(call, mode, at, extent):
    """The share of each number of the input, a column, in each of the result, a row.  Beyond the edge its last number goes on."""
    shares, rows = numpy.zeros((at.size, extent)), numpy.arange(at.size)
    for step in range(-1, 3):
        place = numpy.floor(at) + step
        share = numpy.maximum(0, 1 - abs(at - place)) if mode == "linear" else _cubic(at - place, call.attribute("cubic_coeff_a", -0.75))
        if call.attribute("exclude_outside", 0):
            share = numpy.where((place >= 0) & (place < extent), share, 0)
        numpy.add.at(shares, (rows, place.clip(0, extent - 1).astype(int)), share)
    return shares / shares.sum(1, keepdims=True)


def _resized(call, x, mode, where, nearest, axis, scale, size, region):
    extent, at = x.shape[axis], _places(call, where, x.shape[axis], scale, size, region)
    if mode == "nearest":
        made = call("gather", x, Value(_nearest[nearest](at).clip(0, extent - 1).astype(numpy.int64)), dtype=x.dtype, axis=axis)
    else:
        shares = Value(_matrix(call, mode, at, extent).astype(x.dtype))
        made = call("matmul", shares, call.reshape(x, [math.prod(x.shape[:axis]), extent, math.prod(x.shape[axis + 1:])]))
        made = call.reshape(made, [*x.shape[:axis], size, *x.shape[axis + 1:]])
    outside = (at < 0) | (at > extent - 1)
    if where != "tf_crop_and_resize" or not outside.any():
        return made
    outside = outside.reshape([size if each == axis else 1 for each in range(x.rank)])
    return call("where", Value(outside), call.scalar(call.attribute("extrapolation_value", 0.0), x), made, dtype=x.dtype)


def _is_resample2d(mode, where, nearest, moved, x):
    """Whether it samples where resample2d does: half pixels, the nearer neighbour, the lower one halfway."""
    scales, sizes = [each[1] for each in moved], [each[2] for each in moved]
    is_half = where == "half_pixel" or where == "pytorch_half_pixel" and min(sizes) > 1
    is_same = is_half and (mode == "linear" or mode == "nearest" and nearest == "round_prefer_floor")
    is_same |= mode == "nearest" and all(scale.is_integer() for scale in scales) and (where, nearest) == ("asymmetric", "floor")
    return is_same and x.rank == 4 and len(moved) <= 2 and all(
        math.isclose(size, x.shape[axis] * scale, rel_tol=1e-6) for axis, scale, size, _ in moved)


def resize(call, x, *given):
    roi, scales, sizes = (None, given[0], None) if len(given) == 1 else (*given, None, None)[:3]
    moved = _along(call, x, roi, scales, sizes)
    mode = call.only("mode", "nearest", "linear", "cubic")
    call.only("antialias", 0)
    where, nearest = call.attribute("coordinate_transformation_mode", "half_pixel"), call.attribute("nearest_mode", "round_prefer_floor")
    if call.opset < 11:  # Upsample, and Resize of opset 10
        where, nearest = "asymmetric", "floor"
    if not moved:
        return call("identity", x, dtype=x.dtype)
    if not _is_resample2d(mode, where, nearest, moved, x):
        for each in moved:
            x = _resized(call, x, mode, where, nearest, *each)
        return x
    wanted = {axis: size for axis, _, size, _ in moved}
    axes = sorted({*wanted, *[axis for axis in (3, 2, 1) if axis not in wanted][:2 - len(wanted)]})
    return call("resample2d", x, dtype=x.dtype, axes=axes, sizes=[wanted.get(axis, x.shape[axis]) for axis in axes],
                mode="linear" if mode == "linear" else "nearest-neighbor")
