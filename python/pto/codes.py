# SPDX-License-Identifier: MIT
"""Numbers of dtypes that numpy has not, bf16 and floats of 8 bits: to their codes, and back."""

import numpy

from .kernel_objects import kernels
from .runtime import Runtime
from .tensors import like


def _cast(source, source_dtype, result, result_dtype):
    if source.size:
        with Runtime(workers=1) as rt:
            rt.run(lambda rt: rt.submit(kernels.cast, rt.tensor(source, source_dtype), rt.tensor(result, result_dtype)))
    return result


def encode(values, dtype):
    """The codes of numbers, as the kernel `cast` rounds them: uint16 for "bf16", uint8 for "f8e4m3fn", "f8e5m2", "f8e8m0fnu"."""
    values = numpy.asarray(values, numpy.float32, order="C")
    return _cast(values, "f32", like(dtype, values.shape), dtype)


def decode(codes, dtype):
    """The numbers of an array of such codes, as float32."""
    codes = numpy.asarray(codes, order="C")
    return _cast(codes, dtype, numpy.empty(codes.shape, numpy.float32), "f32")
