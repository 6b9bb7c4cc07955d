# SPDX-License-Identifier: MIT
"""GridSample and RoiAlign: places that data decides, so neighbours are gathered and weighted."""

import math

import numpy

from .onnx_values import Value

_CUBIC = -0.75  # of GridSample's Keys function, as of its definition


def _gathered(call, x, y_at, x_at):
    """x [n, c, h, w] at whole places [n, 1, p] that lie within it: [n, c, p]."""
    (n, c, h, w), count = x.shape, y_at.shape[2]
    y_at, x_at = (call.cast(each, numpy.int32) for each in (y_at, x_at))  # which holds what a float does not
    places = call("add", call("mul", y_at, w), x_at)
    places = call("expand", places, dtype=places.dtype, new_shape=[n, c, count])
    return call("gather_elements", call.reshape(x, [n, c, h * w]), places, dtype=x.dtype, axis=2)


def _reflected(call, at, low, high):
    """A place beyond the bounds, mirrored at them as often as it takes."""
    if high <= low:
        return call("mul", at, 0)
    span, distance = high - low, call("sub", at, low)
    turns = call("floor", call("div", distance, 2 * span))
    left = call("sub", distance, call("mul", turns, 2 * span))
    return call("add", call("sub", span, call("abs", call("sub", left, span))), low)


class _Axis:
    """How GridSample takes places beyond the edges along an axis of this extent."""

    def __init__(self, call, extent):
        self.call, self.extent, self.mode = call, extent, call.only("padding_mode", "zeros", "border", "reflection")
        self.is_aligned = bool(call.attribute("align_corners", 0))
        self.bounds = (0, extent - 1) if self.is_aligned else (-0.5, extent - 0.5)

    def place(self, grid):
        """−1 to 1 as a place of the input."""
        whole = self.call("add", grid, 1)
        if self.is_aligned:
            return self.call("mul", whole, (self.extent - 1) / 2)
        return self.call("sub", self.call("mul", whole, self.extent / 2), 0.5)

    def padded(self, at):
        if self.mode == "reflection":
            return _reflected(self.call, at, *self.bounds)
        return self.call("clamp", at, min_value=0, max_value=self.extent - 1) if self.mode == "border" else at

    def neighbour(self, at):
        """A whole place, and its factor, None for 1: 0 beyond the edge of zeros."""
        within = self.call("clamp", self.padded(at), min_value=0, max_value=self.extent - 1)
        if self.mode != "zeros":
            return within, None
        return within, self.call.cast(self.call("equal", within, at, dtype=bool), at.dtype)


def _cubic(call, distance):
    """The weight of a neighbour at a distance of less than 1, and of 1 to 2."""
    def polynomial(*numbers):
        made = call("mul", distance, numbers[0])
        for number in numbers[1:-1]:
            made = call("mul", call("add", made, number), distance)
        return call("add", made, numbers[-1])
    return polynomial(_CUBIC + 2, -(_CUBIC + 3), 0, 1), polynomial(_CUBIC, -5 * _CUBIC, 8 * _CUBIC, -4 * _CUBIC)


def _neighbours(call, mode, axis, at):
    """(place, weight) of the neighbours along an axis; a weight of None is 1."""
    if mode == "nearest":
        return [axis.neighbour(at)]
    low = call("floor", at)
    part = call("sub", at, low)
    rest = call("sub", 1, part)
    steps = {0: rest, 1: part}
    if mode == "bicubic":
        steps = {-1: _cubic(call, call("add", part, 1))[1], 0: _cubic(call, part)[0], 1: _cubic(call, rest)[0],
                 2: _cubic(call, call("add", rest, 1))[1]}
    made = []
    for step, weight in steps.items():
        place, factor = axis.neighbour(call("add", low, step) if step else low)
        made.append((place, weight if factor is None else call("mul", weight, factor)))
    return made


def _weighted(call, x, rows, columns):
    """The sum over pairs of neighbours."""
    made = None
    for y_at, y_share in rows:
        for x_at, x_share in columns:
            shares = [each for each in (y_share, x_share) if each is not None]
            here = _gathered(call, x, y_at, x_at)
            for each in shares:
                here = call("mul", here, each)
            made = here if made is None else call("add", made, here)
    return made


def grid_sample(call, x, grid):
    call.refuse_unless(x.rank == 4, f"{x.rank - 2} spatial dimensions have no counterpart")
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(call.attribute("mode", "bilinear"), call.attribute("mode", "bilinear"))
    call.refuse_unless(mode in ("bilinear", "nearest", "bicubic"), f"mode {mode!r} has no counterpart")
    (n, c, *extents), (height, width) = x.shape, grid.shape[1:3]
    flat, axes, places = call.reshape(grid, [n, height * width, 2]), [_Axis(call, extent) for extent in extents], []
    for axis, at in zip(axes, (1, 0)):
        given = call("slice", flat, starts=[0, 0, at], sizes=[n, height * width, 1])
        place = axis.place(call.reshape(given, [n, 1, height * width]))
        place = call("round_even", place) if mode == "nearest" else place
        places.append(place if mode == "bicubic" else axis.padded(place))  # as torch and onnxruntime have it
    made = _weighted(call, x, *(_neighbours(call, mode, axis, place) for axis, place in zip(axes, places)))
    return call.reshape(made, [n, c, height, width])


def _samples(call, begin, size, parts, ratio, extent):
    """Of RoiAlign along an axis: (place, weight) of two neighbours of each sample, [rois, parts · ratio]."""
    steps = Value(((numpy.arange(parts * ratio) + 0.5) / ratio).astype(begin.dtype))
    at = call("add", begin, call("mul", call("div", size, parts), steps))
    is_within = call("logical_and", call("greater_or_equal", at, -1, dtype=bool), call("lesser_or_equal", at, extent, dtype=bool), dtype=bool)
    at = call("clamp", at, min_value=0, max_value=extent - 1)
    low, is_within = call("floor", at), call.cast(is_within, at.dtype)
    part = call("sub", at, low)
    high = call("min", call("add", low, 1), extent - 1)
    return [(low, call("mul", call("sub", 1, part), is_within)), (high, call("mul", part, is_within))]


def roi_align(call, x, rois, batches):
    """Each region has a grid of samples, ratio² a cell, of which the mean is taken."""
    call.only("mode", "avg")
    height, width, ratio = (call.attribute(*each) for each in (("output_height", 1), ("output_width", 1), ("sampling_ratio", 0)))
    call.refuse_unless(ratio > 0, "a sampling_ratio that the regions decide has no counterpart")
    is_half = call.attribute("coordinate_transformation_mode", "half_pixel" if call.opset >= 16 else "output_half_pixel") == "half_pixel"
    count, (_, c, *extents) = rois.shape[0], x.shape
    corners = call("mul", rois, call.attribute("spatial_scale", 1.0))
    corners = call("sub", corners, 0.5) if is_half else corners
    corner = [call("slice", corners, starts=[0, at], sizes=[count, 1]) for at in range(4)]
    sides = []
    for at, parts, extent in ((1, height, extents[0]), (0, width, extents[1])):
        size = call("sub", corner[at + 2], corner[at])
        sides.append(_samples(call, corner[at], size if is_half else call("max", size, 1), parts, ratio, extent))
    rows, columns = height * ratio, width * ratio
    shape = [count, 1, rows, columns]
    sides = [[tuple(call.reshape(call("expand", call.reshape(each, [count, 1, *place]), dtype=each.dtype, new_shape=shape), [count, 1, rows * columns])
                    for each in pair) for pair in side] for side, place in zip(sides, ((rows, 1), (1, columns)))]
    made = _weighted(call, call("gather", x, batches, dtype=x.dtype, axis=0), *sides)
    made = call.reshape(made, [count, c, height, ratio, width, ratio])
    return call("reduce_mean", made, axes=[3, 5])
