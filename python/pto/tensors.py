# SPDX-License-Identifier: MIT
"""Tensor descriptors: values that say which bytes are meant, and as what.  Arrays are borrowed, never copied.

A dtype is a name of the library ("f32", "bf16", "i4", …) or a numpy dtype.  numpy has no bf16, no float of 8 bits and nothing
of 4: arrays of these are uint16 and uint8, with the dtype named beside them.
"""

import math
import operator

import numpy

from . import dlpack
from .library import errors, ffi, lib, text

SENTENCE_BYTES = 512
_overlaps = {number: name[len("PTO_"):].lower() for name, number in ffi.typeof("enum pto_overlap").relements.items()}
_as_bits = {"bf16": "uint16", **dict.fromkeys(("f8e4m3fn", "f8e5m2", "f8e8m0fnu", "i4", "u4", "f4e2m1fn"), "uint8")}
_numpy_names = {"f32": "float32", "fp16": "float16", "bool": "bool", **_as_bits,
                **{sign + bits: ("int" if sign == "i" else "uint") + bits for sign in "iu" for bits in ("8", "16", "32", "64")}}
_dtype_names = [text(lib.pto_dtype_name(code)) for code in range(lib.PTO_DTYPE_COUNT)]
_numpy_of = [numpy.dtype(_numpy_names[name]) for name in _dtype_names]
_code_of = {numpy.dtype(_numpy_names[name]): code for code, name in enumerate(_dtype_names)
            if name not in _as_bits}


def dtype_code(dtype):
    """The library's number of a dtype: by its name, or numpy's.  TypeError where there is none."""
    if isinstance(dtype, str):
        code = lib.pto_dtype_from_name(dtype.encode())
        if code >= 0:
            return code
    try:
        return _code_of[numpy.dtype(dtype)]
    except (KeyError, TypeError):
        raise TypeError(f"{dtype!r} is no dtype of tensors: {', '.join(_dtype_names)}") from None


def numpy_dtype(code):
    """numpy's dtype of what is stored."""
    return _numpy_of[code]


def dtype_name(code):
    return _dtype_names[code]


def is_packed(code):
    """Whether two elements share a byte."""
    return lib.pto_dtype_bits(code) < 8


def is_coded(dtype):
    """Whether arrays have codes of it, as numpy has no such dtype."""
    return dtype in _as_bits


def dense(shape):
    """Strides in row-major order, in elements."""
    return tuple(math.prod(shape[dim + 1:]) for dim in range(len(shape)))


def extents(shape):
    """A number or several as a list; errors.EINVAL for what is no extent."""
    listed = [shape] if isinstance(shape, int) else list(shape)
    if not all(0 <= operator.index(each) < 2 ** 64 for each in listed):
        raise errors.EINVAL(f"shape {listed} has a number that is not within 0 to {2 ** 64 - 1}")
    return listed


def packed(shape):
    """The shape of the bytes of elements of which two share one."""
    return (math.prod(shape) + 1) // 2,


def like(dtype, shape):
    """A new array for a tensor's elements: of its shape, or of its bytes where two elements share one."""
    code = dtype_code(dtype)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return numpy.empty(packed(shape) if is_packed(code) else shape, _numpy_of[code])


def strided(address, code, shape, strides):
    """A numpy array over memory at an address; strides count elements.  Where two share a byte, which are dense: of the bytes."""
    dtype = _numpy_of[code]
    if is_packed(code):
        shape, strides = packed(shape), (1,)
    if 0 in shape:
        return numpy.empty(shape, dtype)
    count = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides))
    memory = ffi.buffer(ffi.cast("char *", address), count * dtype.itemsize)
    return numpy.ndarray(shape, dtype, memory, 0, [stride * dtype.itemsize for stride in strides])


def _whole_index(dim, index):
    try:
        if not isinstance(index, (bool, numpy.bool_)):
            return operator.index(index)
    except TypeError:
        pass
    raise IndexError(f"index {index!r} of dimension {dim}: whole numbers and slices alone make views")


GOES_WITH_THE_RUN = object()  # what keeps a tensor of pto.Program and of a context


class Tensor:
    """A tensor of a runtime.  `t[2:4, ::2]` is a view as numpy's: an index drops its dimension, a step is positive.

    shape: extents, outermost first.  dtype: the library's name.
    """

    __slots__ = ("c", "address", "is_read_only", "_kept")

    def __init__(self, c, is_read_only=False, kept=None):
        if c.status < 0:
            sentence = ffi.new("char[]", SENTENCE_BYTES)
            lib.pto_tensor_explain(c, sentence, SENTENCE_BYTES)
            raise getattr(errors, text(lib.pto_status_name(c.status))[len("PTO_"):])(text(sentence))
        self.c, self.address = c, int(ffi.cast("uintptr_t", c))
        self.is_read_only, self._kept = is_read_only, kept

    def _made(self, value):
        return type(self)(ffi.new("struct pto_tensor *", value), self.is_read_only, self._kept)

    @property
    def shape(self):
        """A tuple of extents in elements, outermost first."""
        return tuple(self.c.shape[0:self.c.ndims])

    @property
    def strides(self):
        """A tuple, in elements, outermost first."""
        return tuple(self.c.strides[0:self.c.ndims])

    @property
    def dtype(self):
        """The library's name of it: "f32", "bf16", "i4"."""
        return _dtype_names[self.c.dtype]

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        sentence = ffi.new("char[]", SENTENCE_BYTES)
        lib.pto_tensor_format(self.c, sentence, SENTENCE_BYTES)
        return f"<{text(sentence)}>"

    def __getitem__(self, key):
        key = list(key) if isinstance(key, tuple) else [key]
        at = next((place for place, each in enumerate(key) if each is Ellipsis), None)
        if at is not None:
            key[at:at + 1] = [slice(None)] * (self.c.ndims - len(key) + 1)
        if len(key) > self.c.ndims:
            raise IndexError(f"{len(key)} indices into {self!r}")
        view, dropped = self, []
        for dim, index in enumerate(key):
            extent = self.c.shape[dim]
            if isinstance(index, slice):
                start, stop, step = index.indices(extent)
                if step < 1:
                    raise IndexError(f"a step of {step}: views go forward")
                if (start, stop, step) != (0, extent, 1):
                    view = view._made(lib.pto_tensor_slice(view.c, dim, start, max(start, stop), step))
            else:
                index = _whole_index(dim, index)
                at = index + extent if index < 0 else index
                if not 0 <= at < extent:
                    raise IndexError(f"index {index} of dimension {dim}, which has {extent}")
                view = view._made(lib.pto_tensor_slice(view.c, dim, at, at + 1, 1))
                dropped.append(dim)
        return view._without(dropped) if dropped else view

    def _without(self, dims):
        """Without dimensions of extent 1."""
        keep = [dim for dim in range(self.c.ndims) if dim not in dims]
        made = self._made(self.c[0])
        made.c.ndims = len(keep)
        for place in range(lib.PTO_PYTHON_MAX_DIMS):
            used = place < len(keep)
            made.c.shape[place] = self.c.shape[keep[place]] if used else 0
            made.c.strides[place] = self.c.strides[keep[place]] if used else 0
        return made._made(made.c[0])

    def reshape(self, *shape):
        """The same elements in row-major order.  errors.EINVAL where it is not contiguous, or their number is another."""
        return self._made(lib.pto_tensor_reshape(self.c, len(shape), extents(shape)))

    def permute(self, *order):
        """Dimension i of the result is dimension order[i].  IndexError for what is no order of all dimensions."""
        if sorted(order) != list(range(self.c.ndims)):
            raise IndexError(f"{list(order)} is no order of the dimensions of {self!r}")
        return self._made(lib.pto_tensor_permute(self.c, list(order)))

    @property
    def T(self):
        """With the dimensions in reverse."""
        return self.permute(*reversed(range(self.c.ndims)))

    def broadcast(self, *shape):
        """By numpy's rule; may be read, not written.  errors.EINVAL for a shape that it does not go to."""
        return self._made(lib.pto_tensor_broadcast(self.c, len(shape), extents(shape)))

    def view(self, dtype):
        """The same bytes as another dtype; the innermost extent changes with the size of elements.  errors.EINVAL where it is not dense
        there, or strides are no multiples."""
        return self._made(lib.pto_tensor_reinterpret(self.c, dtype_code(dtype)))

    def with_version(self, version):
        """The same bytes in a later state of their buffer: a task that writes it as an output advances the version by 1.  A submit raises
        errors.EINVAL where it is neither the current one nor, of an output, the next."""
        return self._made(lib.pto_tensor_with_version(self.c, version))

    def with_fuzzy_overlap(self):
        """The same bytes, whose overlap with others is decided by bounding ranges: more edges, and cheaper."""
        return self._made(lib.pto_tensor_with_overlap(self.c, lib.PTO_OVERLAP_FUZZY))

    def overlap(self, other):
        """How its bytes are to those of another: "disjoint", "equal", "covers", "covered" or "partial"."""
        return _overlaps[lib.pto_tensor_overlap(self.c, other.c)]

    # Between runs, and of arrays alone: what other libraries take it by, numpy.from_dlpack(t).

    def __dlpack__(self, *, dl_device=None, copy=None, **_):
        if self._kept is GOES_WITH_THE_RUN:
            raise BufferError("the memory goes with the run, whose outputs are arrays: it is shown to nobody")
        if self.is_read_only:
            raise BufferError("a read-only array is shown to nobody, who could not know")
        if copy or dl_device not in (None, dlpack.CPU):
            raise BufferError("the memory is shown as it is: not a copy, and of no other device")
        return dlpack.show(self.c, self)

    def __dlpack_device__(self):
        return dlpack.CPU


class PeerTensor(Tensor):
    """A tensor in the window of another rank, whose address is no memory of this one: for remote kernels alone."""

    __slots__ = ()


def refuse_peer(what, *tensors):
    """errors.EINVAL where one of these is in the window of another rank."""
    if any(isinstance(each, PeerTensor) for each in tensors):
        raise errors.EINVAL(f"{what} is in the window of another rank, which kernels that declare PTO_KERNEL_REMOTE alone can reach")


def of_array(rt, array, dtype=None, shape=None):
    """An array of numpy, or anything with __dlpack__, a buffer or __array_interface__, as a tensor of `rt`, strides kept.

    The array is kept alive for as long as the tensor; its memory is the caller's.  shape: of elements of which two share a byte of
    a dense array.  ValueError for negative strides, those that are no whole elements, and a shape that is missing or of no use.
    """
    if not isinstance(array, numpy.ndarray) and hasattr(array, "__dlpack__"):
        shown, read_only, kept = dlpack.read(array)
        made = Tensor(ffi.new("struct pto_tensor *", lib.pto_tensor_from_dlpack(rt, shown)), read_only, kept)
        if dtype is not None and dtype_code(dtype) != made.c.dtype:
            raise TypeError(f"a tensor of {made.dtype} is not one of {dtype}")
        return made
    given, array = array, numpy.asarray(array)
    if isinstance(given, numpy.generic) or array.flags.owndata and not hasattr(given, "__array__"):
        raise TypeError(f"a {type(given).__name__} has no memory to borrow; numpy.array of it has")
    code = dtype_code(array.dtype if dtype is None else dtype)
    size = array.dtype.itemsize
    if size != lib.pto_dtype_size(code):
        raise TypeError(f"an array of {array.dtype} is not one of {_dtype_names[code]}")
    if is_packed(code) and (shape is None or packed(extents(shape)) != array.shape or not array.flags.c_contiguous):
        raise ValueError(f"an array of {_dtype_names[code]} is dense bytes of two elements each, with their shape beside it, not {shape}")
    if shape is not None and not is_packed(code):
        raise ValueError(f"a shape beside an array of {_dtype_names[code]}, which has its own")
    if any(stride < 0 or stride % size for stride in array.strides):
        raise ValueError(f"strides {array.strides} of {array.dtype}: forward and in whole elements alone")
    address = array.__array_interface__["data"][0]
    read_only = not array.flags.writeable
    if array.flags.c_contiguous:
        shape = array.shape if shape is None else extents(shape)
        made = lib.pto_external_tensor(rt, ffi.cast("void *", address), code, len(shape), shape)
        return Tensor(ffi.new("struct pto_tensor *", made), read_only, array)
    strides = [stride // size for stride in array.strides]
    count = 1 + sum((extent - 1) * stride for extent, stride in zip(array.shape, strides))
    made = ffi.new("struct pto_tensor *", lib.pto_external_tensor(rt, ffi.cast("void *", address), code, 1, [count]))
    whole = Tensor(made, read_only, array)
    whole.c.ndims = array.ndim
    for dim in range(array.ndim):
        whole.c.shape[dim], whole.c.strides[dim] = array.shape[dim], strides[dim]
    whole.c.status = lib.pto_tensor_status(whole.c)
    return whole._made(whole.c[0])


class Mode:
    """What a task does to a parameter: an annotation of a kernel's parameter, and around a tensor of a submit."""

    __slots__ = ("value", "name")

    def __init__(self, name):
        self.name, self.value = name, getattr(lib, "PTO_" + name.upper())

    def __call__(self, tensor):
        return self, tensor

    def __repr__(self):
        return f"pto.{self.name}"


input, output, inout, accumulate, hold = (Mode(name) for name in ("input", "output", "inout", "accumulate", "hold"))
