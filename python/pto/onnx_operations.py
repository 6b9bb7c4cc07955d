# SPDX-License-Identifier: MIT
"""Operations of ONNX as calls of a graph: a function a row of `operations`, which docs/from-onnx.md shows.

A function takes the call and the values of the node's inputs, None for one that is left out, and gives the value of the
result, or a list.  Those of more than a few calls are in the modules beside this one.
"""

import math

import numpy

from .onnx_composed import (acos, acosh, affine_grid, asin, asinh, atan, atanh, bit_shift, celu, center_crop_pad, compress, cosh,
                            eye_like, global_lp_pool, group_normalization, hardmax, lp_normalization, mean_variance_normalization,
                            mish, mod, negative_log_likelihood, one_hot, reverse_sequence, selu, shrink, sinh,
                            softmax_cross_entropy, thresholded_relu, top_k)
from .onnx_einsum import einsum
from .onnx_fold import new_shape, parts, slices
from .onnx_open import Noting
from .onnx_quantized import (conv_integer, dequantize_linear, dynamic_quantize_linear, matmul_integer, qlinear_conv, qlinear_matmul,
                             quantize_linear)
from .onnx_recurrent import gru, lstm, rnn
from .onnx_values import Value, axis_of, numpy_dtype
from .onnx_resize import resize
from .onnx_sample import grid_sample, roi_align
from .onnx_signal import det, dft, stft
from .onnx_windows import average_pool, conv, conv_transpose, global_pool, instance_normalization, lp_pool, lrn, max_pool, max_unpool

# ---- elementwise ----


def same(name, dtype=None):
    """An operation that differs in its name alone."""
    return lambda call, *values: call(name, *values, dtype=dtype or values[0].dtype)


def with_numbers(name, **numbers):
    """The same with attributes that are numbers, and ONNX's defaults."""
    return lambda call, x: call(name, x, **{key: call.attribute(key, number) for key, number in numbers.items()})


def chain(name, scale=None):
    def chained(call, *values):
        made = values[0] if len(values) > 1 else call("identity", values[0])
        for each in values[1:]:
            made = call(name, made, each)
        return call("mul", made, 1 / len(values)) if scale and len(values) > 1 else made
    return chained


def is_inf(call, x):
    signs = call.attribute("detect_negative", 1), call.attribute("detect_positive", 1)
    if signs == (1, 1):
        return call("is_infinite", x, dtype=bool)
    call.refuse_unless(any(signs), "it detects nothing")
    return call("equal", x, numpy.inf if signs[1] else -numpy.inf, dtype=bool)


def gelu(call, x):
    if call.only("approximate", "none", "tanh") == "none":
        return call("gelu", x)
    inner = call("mul", call("add", x, call("mul", call("pow", x, 3), 0.044715)), math.sqrt(2 / math.pi))
    return call("mul", call("mul", x, 0.5), call("add", call("tanh", inner), 1))


def clip(call, x, low=None, high=None):
    bounds = []
    for name, value in (("min", low), ("max", high)):
        given = call.attribute(name)
        bounds.append(value if given is None else call.scalar(given, x))
    numbers = [None if each is None or each.array is None else each.array.reshape(-1)[0].item() for each in bounds]
    is_known = all(each is None or each.array is not None for each in bounds)
    if is_known and all(each is None or math.isfinite(each) for each in numbers) and (None in numbers or numbers[0] <= numbers[1]):
        return call("clamp", x, min_value=numbers[0], max_value=numbers[1])
    made = x if bounds[0] is None else call("max", x, bounds[0])
    return made if bounds[1] is None else call("min", made, bounds[1])


def power(call, x, y):
    if y.dtype == x.dtype:
        return call("pow", x, y)
    wide = numpy.float32 if "f" in (x.dtype.kind, y.dtype.kind) and x.dtype.kind != "f" else x.dtype
    return call.cast(call("pow", call.cast(x, wide), call.cast(y, wide)), x.dtype)


def prelu(call, x, slope):
    """Before opset 7 the slopes are of the channels."""
    if call.opset < 7 and slope.rank == 1:
        slope = call.reshape(slope, [slope.shape[0]] + [1] * (x.rank - 2))
    return call("prelu", x, slope)


def cast(call, x, like=None):
    if like is not None and like.was:
        raise TypeError(f"{like.was} is no dtype of graphs")
    wanted = numpy_dtype(call.attribute("to")) if like is None else like.dtype
    return call("identity", x, dtype=x.dtype) if wanted == x.dtype else call.cast(x, wanted)


def where(call, condition, x, y):
    return call("where", condition, x, y, dtype=x.dtype)


def dropout(call, x, ratio=None, training=None):
    is_training = training is not None and call.known(training, "training_mode").any()
    if is_training:
        is_training = call.attribute("ratio", 0.5) if ratio is None else call.known(ratio, "ratio").any()
    call.refuse_unless(not is_training, "training has no counterpart")
    made = [call("identity", x, dtype=x.dtype)]
    return made + [Value(numpy.ones(x.shape, bool))] if call.is_used(1) else made


# ---- products ----


def matmul(call, a, b):
    """A vector is a row in front, a column behind."""
    row = call.reshape(a, (1, *a.shape)) if a.rank == 1 else a
    column = call.reshape(b, (*b.shape, 1)) if b.rank == 1 else b
    made = call("matmul", row, column)
    shape = list(made.shape)
    if b.rank == 1:
        shape.pop()
    if a.rank == 1:
        shape.pop(-1 if b.rank == 1 else -2)
    return call.reshape(made, shape)


def gemm(call, a, b, c=None):
    given = {} if c is None else {"c": c}
    return call("gemm", a, b, alpha=call.attribute("alpha", 1.0), beta=call.attribute("beta", 1.0),
                a_transpose=bool(call.attribute("transA", 0)), b_transpose=bool(call.attribute("transB", 0)), **given)


# ---- rows ----


def batch_normalization(call, x, scale, bias, mean, variance):
    call.only("spatial", 1)
    if call.attribute("training_mode", 0):
        return _of_the_batch(call, x, scale, bias, mean, variance)
    if x.scaled is not None and call.is_used_once(0) and all(each.array is not None for each in (scale, bias, mean, variance)):
        factor = scale.array / numpy.sqrt(variance.array.astype(numpy.float64) + call.attribute("epsilon", 1e-5))
        return x.scaled(factor, bias.array - mean.array * factor)
    return call("batch_normalization", x, mean, variance, scale=scale, bias=bias, epsilon=call.attribute("epsilon", 1e-5))


def _of_the_batch(call, x, scale, bias, mean, variance):
    """BatchNormalization in training: by mean and variance of x, which move the running ones."""
    axes, kept = [axis for axis in range(x.rank) if axis != 1], call.attribute("momentum", 0.9)
    here = call("reduce_mean", x, axes=axes, keep_dimensions=True)
    distance = call("sub", x, here)
    spread = call("reduce_mean", call("mul", distance, distance), axes=axes)
    here = call.reshape(here, [x.shape[1]])
    made = call("batch_normalization", x, here, spread, scale=scale, bias=bias, epsilon=call.attribute("epsilon", 1e-5))
    return [made, *(call("add", call("mul", old, kept), call("mul", new, 1 - kept)) for old, new in ((mean, here), (variance, spread)))]


def layer_normalization(call, x, scale, bias=None):
    """What has the shape of the axes is an option; what broadcasts to x is multiplied and added behind."""
    axes = list(range(axis_of(call.attribute("axis", -1), x.rank), x.rank))
    epsilon, wanted, given, behind = call.attribute("epsilon", 1e-5), [x.shape[each] for each in axes], {}, []
    for name, does, value in (("scale", "mul", scale), ("bias", "add", bias)):
        if value is None:
            continue
        if not behind and value.rank >= len(axes) and [1] * (value.rank - len(axes)) + wanted == list(value.shape):
            given[name] = call.reshape(value, wanted)
            continue
        is_fitting = value.rank <= x.rank and all(extent in (1, whole) for extent, whole in zip(value.shape[::-1], x.shape[::-1]))
        call.refuse_unless(is_fitting, f"{name} of shape {value.shape} does not broadcast to {x.shape}")
        behind.append((does, value))
    made = call("layer_normalization", x, axes=axes, epsilon=epsilon, **given)
    for does, value in behind:
        made = call(does, made, value)
    if not call.is_used(1) and not call.is_used(2):
        return made
    mean = call("reduce_mean", x, axes=axes, keep_dimensions=True)
    if not call.is_used(2):
        return [made, mean]
    distance = call("sub", x, mean)
    variance = call("reduce_mean", call("mul", distance, distance), axes=axes, keep_dimensions=True)
    return [made, mean, call("reciprocal", call("sqrt", call("add", variance, epsilon)))]


def along(call, x, function):
    """softmax and its like: before opset 13 the dimensions from the axis on are one."""
    if call.opset >= 13:
        return function(x, axis_of(call.attribute("axis", -1), x.rank))
    axis = axis_of(call.attribute("axis", 1), x.rank)
    made = function(call.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))), 1)
    return call.reshape(made, x.shape)


def softmax(call, x):
    return along(call, x, lambda x, axis: call("softmax", x, axis=axis))


def log_softmax(call, x):
    return along(call, x, lambda x, axis: call("sub", x, call("reduce_log_sum_exp", x, axes=[axis], keep_dimensions=True)))


def reduce(name):
    def reduced(call, x, axes=None):
        axes = call.ints("axes", axes)
        if not axes:
            axes = [] if call.attribute("noop_with_empty_axes", 0) else list(range(x.rank))
        return call(name, x, axes=[axis_of(each, x.rank) for each in axes], keep_dimensions=bool(call.attribute("keepdims", 1)))
    return reduced


def arg(name):
    def found(call, x):
        axis = axis_of(call.attribute("axis", 0), x.rank)
        options = {"axis": axis, "keep_dimensions": bool(call.attribute("keepdims", 1)), "output_data_type": "i64"}
        if not call.attribute("select_last_index", 0):
            return call(name, x, **options)
        made = call(name, call("reverse", x, axes=[axis]), **options)
        return call("sub", x.shape[axis] - 1, made)
    return found


def cumulative_sum(call, x, axis):
    axis = axis_of(int(call.known(axis, "axis").reshape(-1)[0]), x.rank)
    return call("cumulative_sum", x, axis=axis, exclusive=bool(call.attribute("exclusive", 0)),
                reversed=bool(call.attribute("reverse", 0)))


# ---- shapes ----


def reshape(call, x, shape=None):
    made = new_shape(call, x.shape, call.ints("shape", shape))
    return call("reshape", x, dtype=x.dtype, new_shape=made)


def flatten(call, x):
    axis = call.attribute("axis", 1)
    axis = axis if axis == x.rank else axis_of(axis, x.rank)
    return call("reshape", x, dtype=x.dtype, new_shape=[math.prod(x.shape[:axis]), math.prod(x.shape[axis:])])


def expand(call, x, shape):
    return call("expand", x, dtype=x.dtype, new_shape=numpy.broadcast_shapes(x.shape, tuple(call.ints("shape", shape))))


def squeeze(call, x, axes=None):
    axes = call.ints("axes", axes)
    axes = [place for place, extent in enumerate(x.shape) if extent == 1] if axes is None else axes
    return call("squeeze", x, dtype=x.dtype, axes=[axis_of(each, x.rank) for each in axes])


def unsqueeze(call, x, axes=None):
    axes = call.ints("axes", axes)
    return call("unsqueeze", x, dtype=x.dtype, axes=sorted(axis_of(each, x.rank + len(axes)) for each in axes))


def transpose(call, x):
    return call("transpose", x, dtype=x.dtype, permutation=call.attribute("perm", list(range(x.rank))[::-1]))


def _last(call, x, starts, ends, axes=None, steps=None):
    """Where sizes stay open: the last places of an axis, which no number counts from the front, as the first of the reversed axis.
    Bounds of such an axis become those of all of it."""
    for place, axis in enumerate(range(len(starts)) if axes is None else axes):
        behind = 0 if ends[place] > 2 ** 30 else -ends[place]
        count = -starts[place] - behind
        if behind < 0 or count <= 0 or -starts[place] > x.shape[axis] or steps is not None and steps[place] != 1:
            continue
        axis = axis_of(axis, x.rank)
        made = call("reverse", x, dtype=x.dtype, axes=[axis])
        made = call("slice", made, dtype=x.dtype, starts=[behind if each == axis else 0 for each in range(x.rank)],
                    sizes=[count if each == axis else extent for each, extent in enumerate(x.shape)])
        x = call("reverse", made, dtype=x.dtype, axes=[axis]) if count > 1 else made
        starts[place], ends[place] = 0, 2 ** 31 - 1
    return x


def slice_(call, x, *bounds):
    known = [None if each is None else [int(number) for number in call.known(each, name)]
             for each, name in zip(bounds, ("starts", "ends", "axes", "steps"))]
    if isinstance(call.build, Noting) and known:
        x = _last(call, x, *known)
    cuts = slices(call, x.shape, *known)
    back = [axis for axis, cut in enumerate(cuts) if cut.step < 0]
    starts, sizes, strides = [], [], []
    for extent, cut in zip(x.shape, cuts):
        count = len(range(extent)[cut])
        call.refuse_unless(count, "a tensor without elements has no counterpart")
        start = cut.start if cut.step > 0 else extent - 1 - cut.start
        stride = abs(cut.step)
        starts.append(start)
        sizes.append(min(count * stride, extent - start))
        strides.append(min(stride, sizes[-1]))
    made = call("reverse", x, dtype=x.dtype, axes=back) if back else x
    return call("slice", made, dtype=x.dtype, starts=starts, sizes=sizes, strides=strides)


def concat(call, *values):
    values = [each for each in values if 0 not in each.shape] or values
    return call("concat", *values, dtype=values[0].dtype, axis=axis_of(call.attribute("axis", 1), values[0].rank))


def split(call, x, sizes=None):
    axis = axis_of(call.attribute("axis", 0), x.rank)
    sizes = parts(call, x.shape[axis], None if sizes is None else call.known(sizes, "split"))
    return call("split", x, dtype=x.dtype, splits=sizes, has_sizes=True, axis=axis)


def pad(call, x, pads=None, value=None, axes=None):
    pads = call.ints("pads", pads) or call.ints("paddings")
    axes = list(range(x.rank)) if axes is None else [axis_of(each, x.rank) for each in call.ints("axes", axes)]
    begin, end = [0] * x.rank, [0] * x.rank
    for place, axis in enumerate(axes):
        begin[axis], end[axis] = pads[place], pads[place + len(axes)]
    fill = call.attribute("value", 0.0) if value is None else call.known(value, "constant_value").reshape(-1)[0].item()
    if min(begin + end) < 0:
        starts = [max(-each, 0) for each in begin]
        x = call("slice", x, dtype=x.dtype, starts=starts,
                 sizes=[extent - first - max(-last, 0) for extent, first, last in zip(x.shape, starts, end)])
    mode = {"reflect": "reflection"}.get(call.only("mode", "constant", "edge", "reflect", "wrap"), call.attribute("mode", "constant"))
    if mode == "wrap":
        return _wrapped(call, x, [max(each, 0) for each in begin], [max(each, 0) for each in end])
    fill = int(fill) if x.dtype.kind in "iub" else fill
    return call("pad", x, dtype=x.dtype, beginning_padding=[max(each, 0) for each in begin],
                ending_padding=[max(each, 0) for each in end], mode=mode, value=fill)


def _wrapped(call, x, begin, end):
    """Padding goes on with the other end, an axis after the other."""
    for axis, (first, last) in enumerate(zip(begin, end)):
        if first or last:
            places = numpy.arange(-first, x.shape[axis] + last) % x.shape[axis]
            x = call("gather", x, Value(places), dtype=x.dtype, axis=axis)
    return x


def tile(call, x, repetitions):
    return call("tile", x, dtype=x.dtype, repetitions=call.ints("repeats", repetitions))


def trilu(call, x, k=None):
    return call("triangular", x, dtype=x.dtype, upper=bool(call.attribute("upper", 1)),
                diagonal=0 if k is None else call.ints("k", k)[0])


def blocks(to_space):
    """DepthToSpace and SpaceToDepth: a reshape, a transpose, a reshape."""
    def moved(call, x):
        size, (n, c, h, w) = call.attribute("blocksize"), x.shape
        if to_space and call.only("mode", "DCR", "CRD") == "DCR":
            shape, order = (n, size, size, c // size ** 2, h, w), (0, 3, 4, 1, 5, 2)
        elif to_space:
            shape, order = (n, c // size ** 2, size, size, h, w), (0, 1, 4, 2, 5, 3)
        else:
            shape, order = (n, c, h // size, size, w // size, size), (0, 3, 5, 1, 2, 4)
        last = (n, c // size ** 2, h * size, w * size) if to_space else (n, c * size ** 2, h // size, w // size)
        return call.reshape(call("transpose", call.reshape(x, shape), dtype=x.dtype, permutation=order), last)
    return moved


# ---- indices ----


def gather(name):
    def gathered(call, x, indices):
        for axis in reversed(range(call.attribute("batch_dims", 0))):
            places = numpy.arange(x.shape[axis], dtype=indices.dtype).reshape([-1 if at == axis else 1 for at in range(indices.rank)])
            places = Value(numpy.ascontiguousarray(numpy.broadcast_to(places, (*indices.shape[:-1], 1))))
            indices = call("concat", places, indices, dtype=indices.dtype, axis=indices.rank - 1)
        options = {} if name == "gather_nd" else {"axis": axis_of(call.attribute("axis", 0), x.rank)}
        return call(name, x, indices, dtype=x.dtype, **options)
    return gathered


def scatter(name):
    def scattered(call, x, indices, updates):
        call.only("reduction", "none")
        options = {} if name == "scatter_nd" else {"axis": axis_of(call.attribute("axis", 0), x.rank)}
        return call(name, x, indices, updates, dtype=x.dtype, **options)
    return scattered


operations = {
    **{each: same(each.lower()) for each in ("Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "Identity", "Log", "Neg", "Reciprocal",
                                             "Sign", "Sin", "Sqrt", "Tan", "Tanh", "Relu", "Sigmoid", "Softsign", "Softplus")},
    "Round": same("round_even"), "IsNaN": same("is_nan", bool), "IsInf": is_inf, "Not": same("logical_not", bool),
    "Gelu": gelu, "Elu": with_numbers("elu", alpha=1.0), "LeakyRelu": with_numbers("leaky_relu", alpha=0.01),
    "HardSigmoid": with_numbers("hard_sigmoid", alpha=0.2, beta=0.5), "HardSwish": same("hard_swish"),
    "PRelu": prelu, "Clip": clip, "Selu": selu, "Celu": celu, "Shrink": shrink, "ThresholdedRelu": thresholded_relu,
    "Sinh": sinh, "Cosh": cosh, "Asinh": asinh, "Acosh": acosh, "Atanh": atanh, "Asin": asin, "Acos": acos, "Atan": atan,
    "Mod": mod, "BitShift": bit_shift, "Mish": mish,
    "LpNormalization": lp_normalization, "GlobalLpPool": global_lp_pool, "GroupNormalization": group_normalization,
    "AffineGrid": affine_grid, "CenterCropPad": center_crop_pad,
    "Add": same("add"), "Sub": same("sub"), "Mul": same("mul"), "Div": same("div"), "Pow": power,
    "Max": chain("max"), "Min": chain("min"), "Sum": chain("add"), "Mean": chain("add", scale=True),
    "Equal": same("equal", bool), "Greater": same("greater", bool), "GreaterOrEqual": same("greater_or_equal", bool),
    "Less": same("lesser", bool), "LessOrEqual": same("lesser_or_equal", bool),
    "And": same("logical_and", bool), "Or": same("logical_or", bool), "Xor": same("logical_xor", bool),
    "Where": where, "Cast": cast, "CastLike": cast, "Dropout": dropout,
    "MatMul": matmul, "Gemm": gemm, "Einsum": einsum, "LRN": lrn, "Conv": conv, "ConvTranspose": conv_transpose,
    "MaxPool": max_pool, "MaxUnpool": max_unpool, "AveragePool": average_pool, "LpPool": lp_pool,
    "GlobalAveragePool": global_pool("reduce_mean"), "GlobalMaxPool": global_pool("reduce_max"),
    "BatchNormalization": batch_normalization, "InstanceNormalization": instance_normalization,
    "LayerNormalization": layer_normalization, "Softmax": softmax, "LogSoftmax": log_softmax,
    **{f"Reduce{each}": reduce(f"reduce_{name}") for each, name in (
        ("L1", "l1"), ("L2", "l2"), ("LogSum", "log_sum"), ("LogSumExp", "log_sum_exp"), ("Max", "max"), ("Mean", "mean"),
        ("Min", "min"), ("Prod", "product"), ("Sum", "sum"), ("SumSquare", "sum_square"))},
    "ArgMax": arg("arg_max"), "ArgMin": arg("arg_min"), "CumSum": cumulative_sum,
    "Hardmax": lambda call, x: along(call, x, lambda x, axis: hardmax(call, x, axis)), "OneHot": one_hot, "EyeLike": eye_like,
    "TopK": top_k, "Compress": compress, "ReverseSequence": reverse_sequence,
    "MeanVarianceNormalization": mean_variance_normalization,
    "NegativeLogLikelihoodLoss": negative_log_likelihood, "SoftmaxCrossEntropyLoss": softmax_cross_entropy,
    "Reshape": reshape, "Flatten": flatten, "Expand": expand, "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Transpose": transpose,
    "Slice": slice_, "Concat": concat, "Split": split, "Pad": pad, "Tile": tile, "Trilu": trilu,
    "DepthToSpace": blocks(True), "SpaceToDepth": blocks(False),
    "Gather": gather("gather"), "GatherElements": gather("gather_elements"), "GatherND": gather("gather_nd"),
    "ScatterElements": scatter("scatter_elements"), "Scatter": scatter("scatter_elements"), "ScatterND": scatter("scatter_nd"),
    "Resize": resize, "Upsample": resize,
    "QuantizeLinear": quantize_linear, "DequantizeLinear": dequantize_linear,
    "DynamicQuantizeLinear": dynamic_quantize_linear, "MatMulInteger": matmul_integer, "ConvInteger": conv_integer,
    "QLinearMatMul": qlinear_matmul, "QLinearConv": qlinear_conv, "LSTM": lstm, "GRU": gru, "RNN": rnn,
    "GridSample": grid_sample, "RoiAlign": roi_align, "DFT": dft, "STFT": stft, "Det": det,
}
