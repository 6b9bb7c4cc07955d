# SPDX-License-Identifier: MIT
"""Arrays that stand for tensors, also of dtypes that numpy has not: bf16, floats of 8 bits, and all of 4 bits.

Of these an array has codes: uint16 of bf16, uint8 of 8 bits, and of 4 bits uint8 with two each, the first in the low half, in
one dimension, whose shape is said beside it.
"""

import functools

import numpy

from . import dlpack
from .kernel_objects import kernels
from .library import ffi, lib
from .runtime import Runtime
from .tensors import dense, dtype_code, dtype_name, extents, is_coded, is_packed, like, numpy_dtype, strided


def _cast(source, source_dtype, result, result_dtype, shape):
    def tensor(rt, array, dtype):
        return rt.tensor(array, dtype, shape=shape if is_packed(dtype_code(dtype)) else None)

    if source.size:
        with Runtime(workers=1) as rt:
            rt.run(lambda rt: rt.submit(kernels.cast, tensor(rt, source, source_dtype), tensor(rt, result, result_dtype)))
    return result


def encode(values, dtype):
    """The codes of numbers, as the kernel `cast` rounds them: uint16 for "bf16", uint8 for "f8e4m3fn", "f8e5m2", "f8e8m0fnu", and
    packed for "i4", "u4", "f4e2m1fn"."""
    values = numpy.asarray(values, numpy.float32, order="C")
    return _cast(values, "f32", like(dtype, values.shape), dtype, values.shape)


def decode(codes, dtype, shape=None):
    """The numbers of an array of such codes, as float32.  shape: of numbers of 4 bits; ValueError where it is missing."""
    _, shape, codes = given(codes, dtype, shape)
    return _cast(codes, dtype, numpy.empty(shape, numpy.float32), "f32", shape)


@functools.lru_cache(maxsize=None)
def _dlpack_dtypes():
    """dtypes by DLPack's (code, bits), as the library shows each."""
    found, out, room = {}, ffi.new("struct pto_dlpack_managed **"), numpy.zeros(2, numpy.uint64)
    with Runtime(workers=1) as rt:
        for code in range(lib.PTO_DTYPE_COUNT):
            made = ffi.new("struct pto_tensor *", lib.pto_external_tensor(rt.c, ffi.from_buffer(room), code, 1, [2]))
            assert lib.pto_tensor_to_dlpack(made, ffi.NULL, ffi.NULL, out) == lib.PTO_OK
            found[out[0].tensor.code, out[0].tensor.bits] = code
            out[0].deleter(out[0])
    return found


def _of_dlpack(array):
    shown, _, kept = dlpack.read(array)
    code, shape = _dlpack_dtypes().get((shown.code, shown.bits)), tuple(shown.shape[0:shown.ndim])
    if code is None or shown.lanes != 1 or shown.device_type != dlpack.CPU[0]:
        raise TypeError(f"a {type(array).__name__} shows memory of device type {shown.device_type}, with type code {shown.code} of "
                        f"{shown.bits} bits x {shown.lanes}: of type 1, with a dtype of tensors, it can be taken")
    strides = dense(shape) if shown.strides == ffi.NULL else tuple(shown.strides[0:shown.ndim])
    if is_packed(code) and strides != dense(shape):
        raise ValueError(f"strides {list(strides)} of {dtype_name(code)}{list(shape)}: of 4 bits dense alone")
    elements = strided(ffi.cast("char *", shown.data) + shown.byte_offset, code, shape, strides).copy()
    del kept
    return code, shape, elements


def _of_numpy(array, code, shape):
    code = dtype_code(array.dtype) if code is None else code
    if array.dtype != numpy_dtype(code):
        raise TypeError(f"an array of {array.dtype} is not one of {dtype_name(code)}, which is {numpy_dtype(code)} here")
    if shape is None and is_packed(code):
        raise ValueError(f"an array of {dtype_name(code)} has two elements a byte: it needs their shape beside it")
    shape = array.shape if shape is None else shape
    wanted = like(dtype_name(code), shape).shape
    if array.shape != wanted:
        raise ValueError(f"an array of shape {list(array.shape)} for {dtype_name(code)}{list(shape)}, which is {list(wanted)} here")
    return code, shape, numpy.ascontiguousarray(array).reshape(wanted)


def given(array, dtype=None, shape=None):
    """What an array stands for: the library's name of the dtype, the shape, and the elements as an array of `like`, dense.

    array: numpy's, what numpy makes one of, or what has __dlpack__ where it cannot (torch's bf16), which is copied.  dtype, shape:
    what it has to be; of codes they have to be said, here or by (array, dtype) or (array, dtype, shape) in its place.
    TypeError or ValueError where it is something else.
    """
    if is_described(array):
        array, *said = array
        dtype, shape = dtype or said[0], shape if len(said) < 2 else said[1]
    code, shape = None if dtype is None else dtype_code(dtype), None if shape is None else tuple(extents(shape))
    own = None if isinstance(array, numpy.ndarray) else getattr(array, "__dlpack__", None)
    try:
        made = None if own and not hasattr(array, "__array__") else numpy.asarray(array)
    except TypeError:
        if own is None:
            raise
        made = None
    if made is not None:
        code, shape, elements = _of_numpy(made, code, shape)
        return dtype_name(code), tuple(shape), elements
    found, has, elements = _of_dlpack(array)
    if code not in (None, found):
        raise TypeError(f"a {type(array).__name__} of {dtype_name(found)} is not one of {dtype_name(code)}")
    if shape not in (None, has):
        raise ValueError(f"a {type(array).__name__} of shape {list(has)} is not of shape {list(shape)}")
    return dtype_name(found), has, elements


def is_described(array):
    """Whether it is (array, dtype) or (array, dtype, shape)."""
    return isinstance(array, tuple) and len(array) in (2, 3) and isinstance(array[1], str)


def bytes_of(elements):
    """What `given` made, as bytes."""
    return elements.reshape(-1).view(numpy.uint8)


def numbers(array, dtype, shape):
    """The numbers that an array says of a tensor of this dtype and shape: its own; where it has the codes of the dtype, as numpy has
    them, or as another library, those of the codes."""
    if is_described(array) or not isinstance(array, numpy.ndarray) and hasattr(array, "__dlpack__"):
        own, has, elements = given(array)
        return decode(elements, own, has) if is_coded(own) else elements
    array = numpy.asarray(array)
    return decode(array, dtype, shape) if is_coded(dtype) and array.dtype == like(dtype, ()).dtype else array
