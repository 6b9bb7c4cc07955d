# SPDX-License-Identifier: MIT
"""Convolutions and pools of ONNX.  One dimension becomes a height of 1; three become two and one, or a sum of two."""

import itertools
import math

import numpy

from .onnx_values import Value


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


def _window(call, x, kernel):
    """(stride, dilation, begin, end) a spatial dimension of a window over x."""
    spatial = x.rank - 2
    strides = call.attribute("strides", [1] * spatial)
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
    return list(zip(strides, dilations, begin, end))


def _options(window):
    """Of one dimension or two: the options of a window."""
    strides, dilations, begin, end = zip(*[(1, 1, 0, 0)] * (2 - len(window)), *window)
    return {"strides": strides, "dilations": dilations, "padding": [begin[0], end[0], begin[1], end[1]]}


def conv(call, x, w, b=None):
    call.refuse_unless(w.rank == x.rank, "the filter has another rank than the input")
    window, given = _window(call, x, w.shape[2:]), {} if b is None else {"bias": b}
    if x.rank == 5:
        made = _deep_conv(call, x, w, window, given)
    else:
        made = call("conv2d", _image(call, x), _image(call, w), groups=call.attribute("group", 1), **_options(window), **given)
        made = _flat(call, made, x.rank)
    if w.array is not None and (b is None or b.array is not None):
        made.scaled = lambda factor, shift: conv(call, x, *_scaled(w.array, 0 if b is None else b.array, factor, shift))
    return made


def _deep_conv(call, x, w, window, given):
    """The sum of a convolution of two dimensions for each place of the filter's depth, of which each depth is a picture."""
    (stride, dilation, begin, end), depth = window[0], w.shape[2]
    deep = call("transpose", x, permutation=[0, 2, 1, 3, 4])
    if begin or end:
        deep = call("pad", deep, beginning_padding=[0, begin, 0, 0, 0], ending_padding=[0, end, 0, 0, 0], value=0)
    count, rest = (deep.shape[1] - (depth - 1) * dilation - 1) // stride + 1, deep.shape[2:]
    call.refuse_unless(count > 0, "the filter is deeper than its input")
    made = None
    for at in range(depth):
        used = call("slice", deep, starts=[0, at * dilation, 0, 0, 0], strides=[1, stride, 1, 1, 1],
                    sizes=[x.shape[0], (count - 1) * stride + 1, *rest])
        part = Value(w.array[:, :, at]) if w.array is not None else call.reshape(
            call("slice", w, starts=[0, 0, at, 0, 0], sizes=[*w.shape[:2], 1, *w.shape[3:]]), [*w.shape[:2], *w.shape[3:]])
        more = call("conv2d", call.reshape(used, [x.shape[0] * count, *rest]), part, groups=call.attribute("group", 1),
                    **_options(window[1:]), **(given if made is None else {}))
        made = more if made is None else call("add", made, more)
    return call("transpose", call.reshape(made, [x.shape[0], count, *made.shape[1:]]), permutation=[0, 2, 1, 3, 4])


def _scaled(weights, bias, factor, shift):
    """Weights and bias of a convolution whose channels are then multiplied by a factor and shifted."""
    along = factor.reshape(-1, *[1] * (weights.ndim - 1))
    return Value((weights * along).astype(weights.dtype)), Value((bias * factor + shift).astype(weights.dtype))


def conv_transpose(call, x, w, b=None):
    image, given, spatial = _image(call, x), {} if b is None else {"bias": b}, x.rank - 2
    window = _options(_window(call, x, w.shape[2:])) if call.attribute("auto_pad", "NOTSET") in ("NOTSET", "VALID") else None
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
    """Of three dimensions: over the last two, and then over the first."""
    kernel = list(call.attribute("kernel_shape"))
    window = _window(call, x, kernel)
    if padded is not None and any(begin or end for _, _, begin, end in window):
        x = call("pad", x, dtype=x.dtype, beginning_padding=[0, 0, *(begin for _, _, begin, _ in window)],
                 ending_padding=[0, 0, *(end for _, _, _, end in window)], value=padded)
        window = [(stride, dilation, 0, 0) for stride, dilation, _, _ in window]

    def pooled(image, places):
        return call(name, image, dtype=x.dtype, window_dimensions=([1] + kernel[places])[-2:], **_options(window[places]),
                    output_shape_rounding="ceil" if call.attribute("ceil_mode", 0) else "floor")

    if x.rank != 5:
        return _flat(call, pooled(_image(call, x), slice(0, None)), x.rank)
    flat = pooled(call.reshape(x, [x.shape[0], x.shape[1] * x.shape[2], *x.shape[3:]]), slice(1, None))
    high = call("transpose", call.reshape(flat, [*x.shape[:3], math.prod(flat.shape[2:])]), dtype=x.dtype, permutation=[0, 1, 3, 2])
    deep = call("transpose", pooled(high, slice(0, 1)), dtype=x.dtype, permutation=[0, 1, 3, 2])
    return call.reshape(deep, [*deep.shape[:3], *flat.shape[2:]])


def max_pool(call, x):
    made = _pool(call, "max_pool2d", x)
    return [made, _indices(call, x, made.shape)] if call.is_used(1) else made


def _indices(call, x, shape):
    """Where in all of x the largest of each window is, the first of equal ones: by its place in the window, of which each is a slice."""
    kernel, extents = call.attribute("kernel_shape"), x.shape[2:]
    window = list(zip(extents, shape[2:], kernel, _window(call, x, kernel)))
    steps = [math.prod(extents[at + 1:]) for at in range(len(extents))]  # of an index, along each dimension
    if call.only("storage_order", 0, 1):
        steps = [math.prod(extents[:at]) for at in range(len(extents))]
    reach = [(count - 1) * stride + (size - 1) * dilation + 1 for _, count, size, (stride, dilation, _, _) in window]
    begin = [each[3][2] for each in window]
    last = [max(whole - extent - first, 0) for whole, extent, first in zip(reach, extents, begin)]
    lowest = -numpy.inf if x.dtype.kind == "f" else int(numpy.iinfo(x.dtype).min)
    wide = call("pad", x, dtype=x.dtype, beginning_padding=[0, 0, *begin], ending_padding=[0, 0, *last], value=lowest)
    parts, offsets = [], []
    for place in itertools.product(*(range(size) for size in kernel)):
        far = [at * dilation for at, (_, _, _, (_, dilation, _, _)) in zip(place, window)]
        part = call("slice", wide, dtype=x.dtype, starts=[0, 0, *far], strides=[1, 1, *(stride for *_, (stride, _, _, _) in window)],
                    sizes=[*shape[:2], *((count - 1) * stride + 1 for _, count, _, (stride, _, _, _) in window)])
        parts.append(call("unsqueeze", part, dtype=x.dtype, axes=[0]))
        offsets.append(sum(at * step for at, step in zip(far, steps)))
    which = call("arg_max", call("concat", *parts, dtype=x.dtype, axis=0), axis=0, output_data_type="i64")
    base = numpy.arange(math.prod(shape[:2])).reshape(*shape[:2], *[1] * len(extents)) * math.prod(extents)
    for axis, ((_, count, _, (stride, _, first, _)), step) in enumerate(zip(window, steps)):
        base = base + ((numpy.arange(count) * stride - first) * step).reshape([-1 if at == axis else 1 for at in range(len(extents))])
    return call("add", call("gather", Value(numpy.array(offsets)), which, axis=0), Value(base))


def max_unpool(call, x, indices, output_shape=None):
    """Zeros but for x at its indices, which count through all of the result; a larger shape is filled with zeros behind."""
    kernel = call.attribute("kernel_shape")
    spatial = [(extent - 1) * stride + size - begin - end for extent, size, (stride, _, begin, end) in zip(x.shape[2:], kernel, _window(call, x, kernel))]
    shape = [*x.shape[:2], *spatial]
    zeros = call("expand", call.scalar(0, x), dtype=x.dtype, new_shape=[math.prod(shape)])
    count = [math.prod(x.shape)]
    made = call("scatter_elements", zeros, call.reshape(indices, count), call.reshape(x, count), dtype=x.dtype, axis=0)
    made = call.reshape(made, shape)
    wanted = shape if output_shape is None else call.ints("output_shape", output_shape)
    if wanted == shape:
        return made
    return call("pad", made, dtype=x.dtype, beginning_padding=[0] * x.rank, ending_padding=[more - less for more, less in zip(wanted, shape)], value=0)


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
