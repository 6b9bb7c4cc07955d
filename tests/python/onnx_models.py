# SPDX-License-Identifier: MIT
"""ONNX models for tests, written with onnx.helper as exporters write them: MobileNetV2, two decoders, random graphs.

Each is a ModelProto with random weights, and the arrays of its inputs.
"""

import math

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Writer:
    """Nodes, constants and value names of one model."""

    def __init__(self, seed):
        self.nodes, self.constants, self.inputs, self.arrays = [], [], [], {}
        self.random = numpy.random.default_rng(seed)

    def input(self, name, array, shape=None):
        kind = helper.np_dtype_to_tensor_dtype(array.dtype) if hasattr(helper, "np_dtype_to_tensor_dtype") else \
            onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype]
        self.inputs.append(helper.make_tensor_value_info(name, kind, array.shape if shape is None else shape))
        self.arrays[name] = array
        return name

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def weight(self, *shape, scale=None):
        scale = 1 / math.sqrt(math.prod(shape[1:]) if len(shape) > 2 else shape[0]) if scale is None else scale
        return self.constant(self.random.standard_normal(shape, numpy.float32) * numpy.float32(scale))

    def __call__(self, op, *inputs, results=1, **attributes):
        at = len(self.nodes)
        names = [f"v{at}_{each}" if results > 1 else f"v{at}" for each in range(results)]
        self.nodes.append(helper.make_node(op, list(inputs), names, f"{op}_{at}", **attributes))
        return names if results > 1 else names[0]

    def ints(self, *numbers):
        return self.constant(numpy.array(numbers, numpy.int64))

    def model(self, outputs):
        """outputs: ONNX's value by name, of a dtype; shapes are left to the reader."""
        nodes = self.nodes + [helper.make_node("Identity", [value], [name], name) for name, (value, _) in outputs.items()]
        infos = [helper.make_tensor_value_info(name, kind, None) for name, (_, kind) in outputs.items()]
        graph = helper.make_graph(nodes, "made", self.inputs, infos, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        helper.set_model_props(model, {"weights": "random"})
        return model, self.arrays


# ---- MobileNetV2 (Sandler et al. 2018, table 2) ----

STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def _conv(w, x, channels, out, kernel, stride=1, group=1, has_clip=True):
    x = w("Conv", x, w.weight(out, channels // group, kernel, kernel, scale=math.sqrt(2 / (channels // group * kernel ** 2))),
          kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=group)
    ones = numpy.ones(out, numpy.float32)
    x = w("BatchNormalization", x, w.constant(ones), w.weight(out, scale=0.1), w.weight(out, scale=0.1), w.constant(ones))
    return w("Clip", x, w.constant(numpy.float32(0)), w.constant(numpy.float32(6))) if has_clip else x


def mobilenet_v2(seed=0, size=224, image=None):
    w = Writer(seed)
    image = w.random.standard_normal((1, 3, size, size), numpy.float32) if image is None else image
    x, channels = w.input("image", image, ["batch", 3, size, size]), 32
    x = _conv(w, x, 3, 32, 3, 2)
    for factor, out, count, stride in STAGES:
        for block in range(count):
            wide, y = channels * factor, x
            if factor > 1:
                y = _conv(w, y, channels, wide, 1)
            y = _conv(w, y, wide, wide, 3, stride if block == 0 else 1, wide)
            y = _conv(w, y, wide, out, 1, has_clip=False)
            x, channels = w("Add", x, y) if block > 0 else y, out
    x = _conv(w, x, channels, 1280, 1)
    x = w("GlobalAveragePool", x)
    batch = w("Gather", w("Shape", x), w.constant(numpy.int64(0)), axis=0)
    shape = w("Concat", w("Unsqueeze", batch, w.ints(0)), w.ints(-1), axis=0)
    x = w("Gemm", w("Reshape", x, shape), w.weight(1000, 1280, scale=0.05), w.weight(1000, scale=0.1), transB=1)
    return w.model({"probabilities": (w("Softmax", x, axis=1), TensorProto.FLOAT)})


# ---- decoders ----


def _heads(w, x, heads, width):
    """[batch, sequence, heads · width] as [batch, heads, sequence, width], by sizes that are read off the tensor."""
    shape = w("Shape", x)
    shape = w("Concat", w("Slice", shape, w.ints(0), w.ints(2)), w.ints(heads, width), axis=0)
    return w("Transpose", w("Reshape", x, shape), perm=[0, 2, 1, 3])


def _attention(w, q, k, v, mask, width, dim):
    scores = w("MatMul", q, w("Transpose", k, perm=[0, 1, 3, 2]))
    scores = w("Div", scores, w.constant(numpy.float32(math.sqrt(width))))
    shares = w("Softmax", w("Where", mask, scores, w.constant(numpy.float32(-1e9))), axis=-1)
    mixed = w("Transpose", w("MatMul", shares, v), perm=[0, 2, 1, 3])
    return w("Reshape", mixed, w.ints(0, 0, dim))


def _mask(w, tokens, positions):
    """The lower triangle, cut to the length of the sequence."""
    length = w("Slice", w("Shape", tokens), w.ints(1), w.ints(2))
    lower = w.constant(numpy.tril(numpy.ones((1, 1, positions, positions), bool)))
    return w("Slice", w("Slice", lower, w.ints(0), length, w.ints(2)), w.ints(0), length, w.ints(3)), length


def gpt(seed=0, layers=12, dim=768, heads=12, vocabulary=50257, positions=1024, length=16):
    w = Writer(seed)
    tokens = w.input("tokens", w.random.integers(0, vocabulary, (1, length)), [1, "sequence"])
    mask, count = _mask(w, tokens, positions)
    embedding = w.weight(vocabulary, dim, scale=0.02)
    x = w("Add", w("Gather", embedding, tokens), w("Slice", w.weight(positions, dim, scale=0.02), w.ints(0), count, w.ints(0)))

    def norm(x):
        distance = w("Sub", x, w("ReduceMean", x, axes=[-1]))
        spread = w("ReduceMean", w("Pow", distance, w.constant(numpy.float32(2))), axes=[-1])
        made = w("Div", distance, w("Sqrt", w("Add", spread, w.constant(numpy.float32(1e-5)))))
        return w("Add", w("Mul", made, w.weight(dim, scale=1.0)), w.weight(dim, scale=0.1))

    def dense(x, inner, outer):
        return w("Add", w("MatMul", x, w.weight(inner, outer)), w.weight(outer, scale=0.1))

    for _ in range(layers):
        q, k, v = (_heads(w, each, heads, dim // heads)
                   for each in w("Split", dense(norm(x), dim, 3 * dim), w.ints(dim, dim, dim), axis=2, results=3))
        x = w("Add", x, dense(_attention(w, q, k, v, mask, dim // heads, dim), dim, dim))
        y = dense(norm(x), dim, 4 * dim)
        cube = w("Mul", w.constant(numpy.float32(0.044715)), w("Pow", y, w.constant(numpy.float32(3))))
        inner = w("Tanh", w("Mul", w("Add", y, cube), w.constant(numpy.float32(math.sqrt(2 / math.pi)))))
        y = w("Mul", w("Mul", y, w.constant(numpy.float32(0.5))), w("Add", inner, w.constant(numpy.float32(1))))
        x = w("Add", x, dense(y, 4 * dim, dim))
    return w.model({"logits": (w("MatMul", norm(x), w("Transpose", embedding, perm=[1, 0])), TensorProto.FLOAT)})


def llama(seed=0, layers=12, dim=768, heads=12, hidden=2048, vocabulary=32000, positions=256, length=16):
    w = Writer(seed)
    width = dim // heads
    tokens = w.input("tokens", w.random.integers(0, vocabulary, (1, length)), [1, "sequence"])
    mask, count = _mask(w, tokens, positions)
    x = w("Gather", w.weight(vocabulary, dim, scale=1.0), tokens)
    angles = numpy.outer(numpy.arange(positions), 10000.0 ** (-numpy.arange(0, width, 2) / width))
    angles = numpy.concatenate([angles, angles], -1)[None, None]
    cos, sin = (w("Slice", w.constant(each.astype(numpy.float32)), w.ints(0), count, w.ints(2))
                for each in (numpy.cos(angles), numpy.sin(angles)))

    def norm(x):
        spread = w("ReduceMean", w("Pow", x, w.constant(numpy.float32(2))), axes=[-1])
        made = w("Mul", x, w("Reciprocal", w("Sqrt", w("Add", spread, w.constant(numpy.float32(1e-5))))))
        return w("Mul", made, w.weight(dim, scale=1.0))

    def rotated(x):
        low, high = w("Slice", x, w.ints(0), w.ints(width // 2), w.ints(3)), w("Slice", x, w.ints(width // 2), w.ints(2 ** 62), w.ints(3))
        return w("Add", w("Mul", x, cos), w("Mul", w("Concat", w("Neg", high), low, axis=-1), sin))

    for _ in range(layers):
        y = norm(x)
        q, k, v = (_heads(w, w("MatMul", y, w.weight(dim, dim)), heads, width) for _ in range(3))
        x = w("Add", x, w("MatMul", _attention(w, rotated(q), rotated(k), v, mask, width, dim), w.weight(dim, dim)))
        y = norm(x)
        gate = w("MatMul", y, w.weight(dim, hidden))
        y = w("Mul", w("Mul", gate, w("Sigmoid", gate)), w("MatMul", y, w.weight(dim, hidden)))
        x = w("Add", x, w("MatMul", y, w.weight(hidden, dim)))
    return w.model({"logits": (w("MatMul", norm(x), w.weight(dim, vocabulary)), TensorProto.FLOAT)})


# ---- random graphs ----


class Random(Writer):
    """A graph of some 12 nodes on float32, each on values made before; shapes are followed as they are made."""

    def __init__(self, seed):
        super().__init__(seed)
        self.values = []  # (name, shape)
        self.used = set()

    def __call__(self, op, *inputs, **attributes):
        self.used.update(inputs)
        return super().__call__(op, *inputs, **attributes)

    def below(self, count):
        return int(self.random.integers(count))

    def add(self, name, shape):
        self.values.append((name, tuple(int(each) for each in shape)))

    def unary(self, x, shape):
        op = ("Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Softplus", "Erf", "Sin", "Cos", "Elu", "LeakyRelu", "HardSigmoid", "Softsign",
              "HardSwish", "Identity", "Floor", "Ceil", "Sign")[self.below(18)]
        # Steps are taken of what both compute exactly alike: the input itself.
        if op in ("Floor", "Ceil", "Sign"):
            x, shape = self.values[0]
        self.add(self(op, x), shape)

    def binary(self, x, shape):
        other = [1 if self.below(3) == 0 else each for each in shape][self.below(2) * self.below(len(shape)):]
        op = ("Add", "Sub", "Mul", "Max", "Min", "Div")[self.below(6)]
        y = self.constant(self.random.uniform(0.5, 2, other).astype(numpy.float32))
        self.add(self(op, x, y), shape)

    def two(self, x, shape):
        y = [name for name, other in self.values if other == shape]
        self.add(self(("Add", "Sub", "Mul")[self.below(3)], x, y[self.below(len(y))]), shape)

    def matmul(self, x, shape):
        out = 1 + self.below(9)
        self.add(self("MatMul", x, self.weight(shape[-1], out)), (*shape[:-1], out))

    def conv(self, x, shape):
        kernel, stride, group = (1, 3)[self.below(2)], 1 + self.below(2), shape[1] if self.below(2) else 1
        out = group * (1 + self.below(4))
        pads = [self.below(2) for _ in range(4)]
        size = [(extent + pads[at] + pads[at + 2] - kernel) // stride + 1 for at, extent in enumerate(shape[2:])]
        if min(size) < 1:
            return
        given = [self.weight(out, shape[1] // group, kernel, kernel)] + [self.weight(out, scale=0.5)] * self.below(2)
        self.add(self("Conv", x, *given, strides=[stride] * 2, pads=pads, group=group, kernel_shape=[kernel] * 2), (shape[0], out, *size))

    def pool(self, x, shape):
        if min(shape[2:]) < 2:
            return
        op, ceil = ("MaxPool", "AveragePool")[self.below(2)], self.below(2)
        size = [(extent - 2) // 2 + 1 if not ceil else -(-(extent - 2) // 2) + 1 for extent in shape[2:]]
        self.add(self(op, x, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=ceil), (*shape[:2], *size))

    def norm(self, x, shape):
        parts = [self.constant(self.random.uniform(0.5, 1.5, shape[1]).astype(numpy.float32)) for _ in range(4)]
        self.add(self("BatchNormalization", x, *parts), shape)

    def softmax(self, x, shape):
        self.add(self("Softmax", x, axis=self.below(2 * len(shape)) - len(shape)), shape)

    def reduce(self, x, shape):
        axis, keep = self.below(len(shape)), self.below(2)
        op = ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceLogSumExp")[self.below(6)]
        made = [extent if at != axis else 1 for at, extent in enumerate(shape) if keep or at != axis]
        self.add(self(op, x, axes=[axis], keepdims=keep), made)

    def transpose(self, x, shape):
        order = self.random.permutation(len(shape)).tolist()
        self.add(self("Transpose", x, perm=order), [shape[each] for each in order])

    def reshape(self, x, shape):
        at = self.below(len(shape) - 1) if len(shape) > 1 else 0
        made = self("Concat", self("Slice", self("Shape", x), self.ints(0), self.ints(at)), self.ints(-1), axis=0)
        self.add(self("Reshape", x, made), (*shape[:at], math.prod(shape[at:])))

    def slice(self, x, shape):
        axis, step = self.below(len(shape)), (1, 2, -1, -2)[self.below(4)]
        cut = slice(self.below(shape[axis]), None, step)
        end = 2 ** 60 if step > 0 else -2 ** 60
        count = len(range(shape[axis])[cut])
        self.add(self("Slice", x, self.ints(cut.start), self.ints(end), self.ints(axis), self.ints(step)),
                 (*shape[:axis], count, *shape[axis + 1:]))

    def concat(self, x, shape):
        axis = self.below(len(shape))
        self.add(self("Concat", x, x, self("Neg", x), axis=axis), (*shape[:axis], 3 * shape[axis], *shape[axis + 1:]))

    def pad(self, x, shape):
        pads = [self.below(2) for _ in range(2 * len(shape))]
        made = self("Pad", x, self.ints(*pads), mode="constant")
        self.add(made, [extent + pads[at] + pads[at + len(shape)] for at, extent in enumerate(shape)])

    def gather(self, x, shape):
        axis, count = self.below(len(shape)), 1 + self.below(4)
        at = self.ints(*(self.random.integers(-shape[axis], shape[axis], count)).tolist())
        self.add(self("Gather", x, at, axis=axis), (*shape[:axis], count, *shape[axis + 1:]))

    def where(self, x, shape):
        first, of = self.values[0]
        if shape == of:
            chosen = self("Greater", first, self.constant(numpy.float32(0.25)))
            self.add(self("Where", chosen, x, self.constant(numpy.float32(-1))), shape)

    def clip(self, x, shape):
        self.add(self("Clip", x, self.constant(numpy.float32(-0.5)), self.constant(numpy.float32(1))), shape)

    def unsqueeze(self, x, shape):
        if len(shape) < 5:
            at = self.below(len(shape) + 1)
            self.add(self("Unsqueeze", x, self.ints(at)), (*shape[:at], 1, *shape[at:]))

    def cumulative(self, x, shape):
        axis = self.below(len(shape))
        self.add(self("CumSum", x, self.constant(numpy.int64(axis)), exclusive=self.below(2), reverse=self.below(2)), shape)

    def layer_norm(self, x, shape):
        self.add(self("LayerNormalization", x, self.weight(shape[-1], scale=1.0), self.weight(shape[-1], scale=1.0), axis=-1), shape)

    def resize(self, x, shape):
        self.add(self("Resize", x, "", self.constant(numpy.array([1, 1, 2, 2], numpy.float32)), mode=("nearest", "linear")[self.below(2)],
                      nearest_mode="round_prefer_floor"), (*shape[:2], 2 * shape[2], 2 * shape[3]))


OF_IMAGES = ("conv", "conv", "pool", "norm", "resize")
OF_ANY = ("unary", "unary", "binary", "two", "matmul", "softmax", "reduce", "transpose", "reshape", "slice", "concat", "pad", "gather",
          "where", "clip", "unsqueeze", "cumulative", "layer_norm")


def random_graph(seed):
    w = Random(seed)
    shape = (1 + w.below(2), 1 + w.below(4), 2 + w.below(6), 2 + w.below(6))
    w.add(w.input("x", w.random.uniform(-2, 2, shape).astype(numpy.float32)), shape)
    while len(w.nodes) < 12:
        x, shape = w.values[w.below(len(w.values))] if w.below(3) else w.values[-1]
        names = OF_ANY + (OF_IMAGES if len(shape) == 4 else ())
        if shape and math.prod(shape) < 20000:
            getattr(w, names[w.below(len(names))])(x, shape)
    return w.model({f"y{at}": (name, TensorProto.FLOAT) for at, (name, _) in enumerate(w.values) if name not in w.used})
