# SPDX-License-Identifier: MIT
"""What stands for a value of ONNX while its model becomes a graph, and for a node that is being translated."""

import numpy
import onnx
from onnx import numpy_helper

from .library import lib
from .tensors import dtype_code

_WHOLE = {"i4": numpy.int8, "u4": numpy.uint8, "f32": numpy.float32, "fp16": numpy.float16,
          **{sign + bits: numpy.dtype(("int" if sign == "i" else "uint") + bits) for sign in "iu" for bits in ("8", "32", "64")}}

# Of TensorProto.DataType, by number, as onnx of before 1.14 has no names for them; what they are here, where they are anything.
_NEWER = {17: "float8e4m3fn", 18: "float8e4m3fnuz", 19: "float8e5m2", 20: "float8e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4e2m1",
          24: "float8e8m0"}
_SMALL_FLOATS = {17: "f8e4m3fn", 19: "f8e5m2", 23: "f4e2m1fn", 24: "f8e8m0fnu"}
UINT4, INT4 = 21, 22
# Attributes that change no result: what shapes say already, what other attributes or inputs make meaningless, hints, and of training.
_MEANINGLESS = {"activation_alpha", "activation_beta", "broadcast", "consumed_inputs", "cubic_coeff_a", "exclude_outside",
                "extrapolation_value", "hidden_size", "is_test", "keep_aspect_ratio_policy", "kernel_shape", "momentum", "nearest_mode",
                "noop_with_empty_axes", "output_sequence", "ratio", "saturate", "seed", "sorted", "stash_type", "storage_order"}

_ELEMENTS = {onnx.TensorProto.FLOAT: numpy.dtype("float32"), onnx.TensorProto.DOUBLE: numpy.dtype("float64"),
             **{getattr(onnx.TensorProto, word.upper()): numpy.dtype(word) for word in
                ("bool", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")}}


class Refusal(Exception):
    """Why a node has no counterpart.  unknown: names of values that would have to be constants."""

    def __init__(self, reason, unknown=()):
        super().__init__(reason)
        self.unknown = set(unknown)


class Value:
    """An array that is known, or an operand of the graph, or both.  dtype: numpy's; bool is uint8 in the graph.

    scaled: of a convolution with constant weights, a function (factor, shift), arrays of a number a channel: its result times
    and plus these, as one convolution; else None.  bits: 4, or None.  was: the word of a dtype that graphs have not, of a constant that
    has become float32; else None.
    """

    def __init__(self, array=None, of=None, dtype=None, name=None, bits=None, was=None):
        self.array, self.of, self.name, self.bits, self.scaled, self.was = array, of, name, bits, None, was
        if of is not None and of.dtype in ("i4", "u4"):
            self.bits = 4
        self.is_input = of is not None and name is not None
        self.shape = tuple(array.shape if of is None else of.shape)
        self.dtype = numpy.dtype(array.dtype if array is not None else dtype or _WHOLE[of.dtype])

    @property
    def rank(self):
        return len(self.shape)

    def operand(self, build):
        """Its operand, a constant where it is known."""
        if self.of is None:
            if 0 in self.shape:
                raise Refusal("a tensor without elements has no counterpart")
            array = _known_dtype(numpy.ascontiguousarray(self.array))
            if self.bits == 4:
                flat = array.reshape(-1).astype(numpy.uint8) & 15
                flat = numpy.append(flat, numpy.zeros(flat.size % 2, numpy.uint8))
                packed = flat[::2] | flat[1::2] << 4
                self.of = build.constant(packed, "i4" if array.dtype == numpy.int8 else "u4", array.shape)
            else:
                self.of = build.constant((array.astype(numpy.uint8) if array.dtype == bool else array).reshape(self.shape))
        return self.of


class Unjudged(Exception):
    """A node whose translation has to know what stands in for an Unknown."""


class Unknown(Value):
    """Stands for what a refused node makes: a translation that refuses without a look at it would refuse any."""

    def __init__(self):
        pass  # so that each of its attributes is absent

    def __getattr__(self, name):
        raise Unjudged(name)


class Call:
    """A node: its attributes, and the operations of the graph by name: call("relu", value) is the Value of the result."""

    def __init__(self, importer, node):
        self.uses, self.build, self.opset, self.inputs, self.outputs = importer.uses, importer.build, importer.opset, list(node.input), list(node.output)
        self.label = node.name or next((name for name in node.output if name), node.op_type)
        self.attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        self._unread = set(self.attributes)

    def __call__(self, name, *values, dtype=None, **options):
        """The result of an operation, or the list of them.  A number among the values is a constant of the first value's dtype."""
        like = next(value for value in values if isinstance(value, Value))
        given = [(value if isinstance(value, Value) else self.scalar(value, like)).operand(self.build) for value in values]
        options = {key: value.operand(self.build) if isinstance(value, Value) else value for key, value in options.items()}
        made = getattr(self.build, name)(*given, label=self.label, **options)
        if isinstance(made, tuple):
            return [Value(of=each, dtype=dtype) for each in made]
        return Value(of=made, dtype=dtype)

    def attribute(self, name, default=None):
        self._unread.discard(name)
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def refuse_unread(self):
        """Refuses the attributes that nothing has asked for: those of another version, or of ours alone."""
        left = sorted(self._unread - _MEANINGLESS)
        if left:
            raise Refusal(f"attribute {', '.join(left)} has no counterpart")

    def refuse_unless(self, is_true, reason):
        if not is_true:
            raise Refusal(reason)

    def only(self, name, *wanted, default=None):
        """An attribute that has to be one of these."""
        value = self.attribute(name, wanted[0] if default is None else default)
        if value not in wanted:
            raise Refusal(f"{name} {value!r} has no counterpart")
        return value

    def known(self, value, what):
        """The array of a value that is a constant."""
        if value.array is None:
            raise Refusal(f"{what} is computed by the model, or an input: here it is a constant", {value.name} - {None})
        return value.array

    def ints(self, name, value=None, default=None):
        """A list of whole numbers: an input in newer opsets, an attribute in older."""
        if value is not None:
            return [int(each) for each in self.known(value, name).reshape(-1)]
        given = self.attribute(name)
        return default if given is None else [int(each) for each in (given if isinstance(given, (list, tuple)) else [given])]

    def is_used(self, result):
        return len(self.outputs) > result and self.outputs[result] != ""

    def is_used_once(self, place):
        """Whether nothing else takes that input, and it is no output."""
        return self.uses[self.inputs[place]] == 1

    def scalar(self, number, like):
        """A constant of one element, of another value's dtype."""
        return Value(numpy.asarray(number, like.dtype))

    def reshape(self, value, shape):
        shape = [int(each) for each in shape]
        if value.array is not None:
            return Value(value.array.reshape(shape), bits=value.bits)
        return value if list(value.shape) == shape else self("reshape", value, dtype=value.dtype, new_shape=shape)

    def cast(self, value, dtype):
        dtype = numpy.dtype(dtype)
        if value.dtype == dtype:
            return value
        if value.array is not None:
            return Value(value.array.astype(dtype))
        if dtype == bool:
            return self("not_equal", value, self.scalar(0, value), dtype=bool)
        if value.dtype == bool and dtype == numpy.uint8:
            return Value(of=value.of, dtype=dtype)
        _known_dtype(numpy.empty(0, dtype))
        return self("cast", value, dtype=dtype, data_type=dtype)


def numpy_dtype(code):
    """numpy's dtype of an element type of ONNX; TypeError for one that is none of a graph."""
    if code not in _ELEMENTS:
        raise TypeError(f"{dtype_word(code)} is no dtype of graphs")
    return _ELEMENTS[code]


def dtype_word(code):
    """The name of an element type of ONNX; of one that is newer than this file its number."""
    known = {**{value: word.lower() for word, value in onnx.TensorProto.DataType.items()}, **_NEWER}
    return known.get(code, f"element type {code}")


def _known_dtype(array):
    """The array; TypeError where its dtype is none of graphs."""
    if array.dtype != bool and array.dtype not in _WHOLE.values():
        word = next((dtype_word(code) for code, dtype in _ELEMENTS.items() if dtype == array.dtype), array.dtype)
        raise TypeError(f"{word} is no dtype of graphs")
    return array


# ---- constants ----


def _codes(tensor):
    """A byte for each element of 8 or 4 bits."""
    codes = numpy.frombuffer(tensor.raw_data or bytes(tensor.int32_data), numpy.uint8)
    if tensor.data_type in (UINT4, INT4, 23):  # two elements a byte, the first in the low half
        codes = numpy.stack([codes & 15, codes >> 4], -1).reshape(-1)[:int(numpy.prod(tensor.dims))]
    return codes


def value_of(tensor, name=None):
    """The value of a TensorProto: elements of bfloat16 and of floats of 8 and 4 bits as float32.  TypeError for those of no graph."""
    code, shape = tensor.data_type, tuple(tensor.dims)
    if code in _SMALL_FLOATS:
        values = [lib.pto_small_float_to_f32(dtype_code(_SMALL_FLOATS[code]), each) for each in range(256)]
        return Value(numpy.array(values, numpy.float32)[_codes(tensor)].reshape(shape), name=name, was=dtype_word(code))
    if code in (UINT4, INT4):
        codes = _codes(tensor)
        codes = (codes ^ 8).astype(numpy.int8) - 8 if code == INT4 else codes
        return Value(codes.reshape(shape), name=name, bits=4)
    if code in _NEWER:
        raise TypeError(f"{dtype_word(code)} is no dtype of graphs")
    return Value(numpy_helper.to_array(tensor), name=name, was=dtype_word(code) if code == onnx.TensorProto.BFLOAT16 else None)


def axis_of(axis, rank):
    """An axis counted from the front."""
    if not -rank <= axis < max(rank, 1):
        raise Refusal(f"axis {axis} is beyond {rank} dimensions")
    return axis % max(rank, 1)
