# SPDX-License-Identifier: MIT
"""Convolutions, pools and Resize of ONNX.  One dimension becomes a height of 1; three have no counterpart."""

import math

import numpy

from .onnx_values import Refusal, Value, axis_of


def _image(call, x):
    """The value with two spatial dimensions."""
    call.refuse_unless(x.rank in (3, 4), f"{x.rank - 2} spatial dimensions have no counterpart")
    return x if x.rank == 4 else _high(call, x)


def _high(call, x):
    if x.array is not None:
        return Value(numpy.expand_dims(x.array, 2))
    return call("unsqueeze", x, dtype=x.dtype, axes=[2])


def _flat(call, made, rank):
    return made if rank == 4 else call("squeeze", made, dtype=made.dtype, axes=[2])


def _pair(values, rank, of_height):
    return list(values) if rank == 4 else [of_height, *values]


def _window(call, x, kernel, default_strides=1):
    """Strides, dilations and padding [top, bottom, left, right] of a window over x, which has its own rank yet."""
    spatial = x.rank - 2
    strides = call.attribute("strides", [default_strides] * spatial)
    dilations = call.attribute("dilations", [1] * spatial)
    pads = call.attribute("pads", [0] * (2 * spatial))
    begin, end = list(pads[:spatial]), list(pads[spatial:])
    mode = call.attribute("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        for at, extent in enumerate(x.shape[2:]):
            reach = (kernel[at] - 1) * dilations[at] + 1
            total = max((-(-extent // strides[at]) - 1) * strides[at] + reach - extent, 0)
            begin[at], end[at] = (total // 2, total - total // 2) if mode == "SAME_UPPER" else (total - total // 2, total // 2)
    elif mode == "VALID":
        begin, end = [0] * spatial, [0] * spatial
    pairs = [(0, 0)] * (2 - spatial) + list(zip(begin, end))
    return {"strides": _pair(strides, x.rank, 1), "dilations": _pair(dilations, x.rank, 1),
            "padding": [each for pair in pairs for each in pair]}


def conv(call, x, w, b=None):
    image, given = _image(call, x), {} if b is None else {"bias": b}
    call.refuse_unless(w.rank == x.rank, "the filter has another rank than the input")
    made = call("conv2d", image, _image(call, w), groups=call.attribute("group", 1), **_window(call, x, w.shape[2:]), **given)
    made = _flat(call, made, x.rank)
    if w.array is not None and (b is None or b.array is not None):
        made.scaled = lambda factor, shift: conv(call, x, *_scaled(w.array, 0 if b is None else b.array, factor, shift))
    return made


def _scaled(weights, bias, factor, shift):
    """Weights and bias of a convolution whose channels are then multiplied by a factor and shifted."""
    along = factor.reshape(-1, *[1] * (weights.ndim - 1))
    return Value((weights * along).astype(weights.dtype)), Value((bias * factor + shift).astype(weights.dtype))


def conv_transpose(call, x, w, b=None):
    image, given, spatial = _image(call, x), {} if b is None else {"bias": b}, x.rank - 2
    window = _window(call, x, w.shape[2:]) if call.attribute("auto_pad", "NOTSET") in ("NOTSET", "VALID") else None
    strides, dilations = call.attribute("strides", [1] * spatial), call.attribute("dilations", [1] * spatial)
    more = call.attribute("output_padding", [0] * spatial)
    wanted = call.attribute("output_shape")
    if wanted or window is None:
        mode = call.attribute("auto_pad", "NOTSET")
        wanted = list(wanted)[-spatial:] if wanted else [extent * stride for extent, stride in zip(x.shape[2:], strides)]
        padding = [0] * (4 - 2 * spatial)
        for at, extent in enumerate(x.shape[2:]):
            whole = strides[at] * (extent - 1) + more[at] + (w.shape[2 + at] - 1) * dilations[at] + 1
            total = whole - wanted[at]
            if total < 0:
                more, total = [*more[:at], more[at] - total, *more[at + 1:]], 0
            small, large = total // 2, total - total // 2
            padding += [small, large] if mode == "SAME_UPPER" else [large, small]
        window = {"strides": _pair(strides, x.rank, 1), "dilations": _pair(dilations, x.rank, 1), "padding": padding}
    made = call("conv_transpose2d", image, _image(call, w), groups=call.attribute("group", 1), **window,
                output_padding=_pair(more, x.rank, 0), **given)
    return _flat(call, made, x.rank)


def _pool(call, name, x, padded=None):
    image, kernel = _image(call, x), call.attribute("kernel_shape")
    window = _window(call, x, kernel)
    if padded is not None and any(window["padding"]):
        top, bottom, left, right = window["padding"]
        image = call("pad", image, dtype=x.dtype, beginning_padding=[0, 0, top, left], ending_padding=[0, 0, bottom, right], value=padded)
        window["padding"] = [0, 0, 0, 0]
    made = call(name, image, dtype=x.dtype, window_dimensions=_pair(kernel, x.rank, 1), **window,
                output_shape_rounding="ceil" if call.attribute("ceil_mode", 0) else "floor")
    return _flat(call, made, x.rank)


def max_pool(call, x):
    call.refuse_unless(not call.is_used(1), "Indices have no counterpart")
    return _pool(call, "max_pool2d", x)


def average_pool(call, x):
    return _pool(call, "average_pool2d", x, 0 if call.attribute("count_include_pad", 0) else None)


def lp_pool(call, x):
    call.only("p", 2)
    return _pool(call, "l2_pool2d", x)


def lrn(call, x):
    """The window goes along the channels: of a picture of one channel, as high as x has them."""
    size = call.attribute("size")
    squares = call.reshape(call("mul", x, x), [x.shape[0], 1, x.shape[1], math.prod(x.shape[2:])])
    padded = call("pad", squares, beginning_padding=[0, 0, (size - 1) // 2, 0], ending_padding=[0, 0, size // 2, 0], value=0)
    means = call.reshape(call("average_pool2d", padded, window_dimensions=[size, 1]), x.shape)
    base = call("add", call("mul", means, call.attribute("alpha", 1e-4)), call.attribute("bias", 1.0))
    return call("div", x, call("pow", base, call.attribute("beta", 0.75)))


def global_pool(name):
    def pooled(call, x):
        if x.rank == 4:
            return call({"reduce_mean": "global_average_pool", "reduce_max": "global_max_pool"}[name], x)
        return call(name, x, axes=list(range(2, x.rank)), keep_dimensions=True)
    return pooled


def instance_normalization(call, x, scale, bias):
    made = call("instance_normalization", _image(call, x), scale=scale, bias=bias, epsilon=call.attribute("epsilon", 1e-5))
    return _flat(call, made, x.rank)


def resize(call, x, *given):
    """The sizes of the result say how it is scaled, so the scales must be their quotients."""
    scales, sizes = (given[0], None) if len(given) == 1 else (*given[1:], None)[:2]
    axes = [axis_of(each, x.rank) for each in call.attribute("axes", range(x.rank))]
    full = [1.0] * x.rank
    if scales is not None and scales.shape != (0,) or call.attribute("scales"):
        numbers = call.attribute("scales") if scales is None else call.known(scales, "scales")
        for axis, number in zip(axes, numbers):
            full[axis] = float(number)
        wanted = [math.floor(extent * scale) for extent, scale in zip(x.shape, full)]
    else:
        call.only("keep_aspect_ratio_policy", "stretch")
        wanted = list(x.shape)
        for axis, number in zip(axes, call.ints("sizes", sizes)):
            wanted[axis] = number
        full = [to / extent for extent, to in zip(x.shape, wanted)]
    moved = [axis for axis in range(x.rank) if full[axis] != 1]
    call.refuse_unless(all(to == extent * scale or math.isclose(to, extent * scale, rel_tol=1e-6)
                           for extent, to, scale in zip(x.shape, wanted, full)), "scales that give no whole sizes have no counterpart")
    call.refuse_unless(x.rank == 4 and len(moved) <= 2, f"{len(moved)} resized of {x.rank} dimensions have no counterpart")
    mode = call.only("mode", "nearest", "linear")
    _coordinates(call, mode, [full[axis] for axis in moved], [wanted[axis] for axis in moved])
    moved = sorted({*moved, *[axis for axis in (3, 2, 1) if axis not in moved][:2 - len(moved)]})
    return call("resample2d", x, dtype=x.dtype, axes=moved, sizes=[wanted[axis] for axis in moved],
                mode="linear" if mode == "linear" else "nearest-neighbor")


def _coordinates(call, mode, scales, sizes):
    """Refuses what does not sample where resample2d does: half pixels, the nearer neighbour, the lower one halfway."""
    if call.opset < 11:  # Upsample, and Resize of opset 10: asymmetric, floor
        where, nearest = "asymmetric", "floor"
    else:
        where = call.attribute("coordinate_transformation_mode", "half_pixel")
        nearest = call.attribute("nearest_mode", "round_prefer_floor")
    call.only("cubic_coeff_a", -0.75)
    is_whole = all(scale.is_integer() for scale in scales)
    is_half = where == "half_pixel" or where == "pytorch_half_pixel" and min(sizes, default=2) > 1
    is_same = is_half and (mode == "linear" or nearest == "round_prefer_floor")
    is_same |= mode == "nearest" and is_whole and (where, nearest) == ("asymmetric", "floor")
    if not is_same and scales:
        raise Refusal(f"{mode} by {where}" + (f" and {nearest}" if mode == "nearest" else "") + " has no counterpart")
