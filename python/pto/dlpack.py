# SPDX-License-Identifier: MIT
"""DLPack's capsules, which carry tensors between libraries; what is in them is read and made by pto/dlpack.h."""

import ctypes
import itertools

from .library import failure, ffi, lib

CPU = 1, 0  # kDLCPU, device 0
_READ_ONLY, _PADDED = 1, 4  # of DLManagedTensorVersioned.flags; padded: an element of less than 8 bits has a byte
_python = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_New", _python))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _python))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _python))
_shown = {}  # what consumers look at, by the number that its struct has as context
_numbers = itertools.count(1)


def read(array):
    """Of an object with __dlpack__: the struct pto_dlpack_tensor *, whether it is read-only, and what keeps it alive."""
    try:
        capsule = array.__dlpack__(max_version=(1, 0))
    except TypeError:  # of before version 1
        capsule = array.__dlpack__()
    for name, kind in ((b"dltensor_versioned", "struct pto_dlpack_versioned *"), (b"dltensor", "struct pto_dlpack_managed *")):
        if _is_valid(id(capsule), name):
            managed, flags = ffi.cast(kind, _pointer(id(capsule), name)), 0
            if name == b"dltensor_versioned":
                if managed.major != 1:
                    raise BufferError(f"a tensor of DLPack {managed.major}.{managed.minor}, and 1 was asked for")
                flags = managed.flags
            if flags & _PADDED and managed.tensor.bits < 8:
                raise BufferError(f"elements of {managed.tensor.bits} bits with a byte each: here two share one")
            return ffi.addressof(managed.tensor), bool(flags & _READ_ONLY), capsule  # whose end lets the producer go
    raise TypeError(f"the __dlpack__ of a {type(array).__name__} gives no tensor")


@ffi.callback("void(void *)")
def _release(context):
    del _shown[int(ffi.cast("uintptr_t", context))]


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _drop(capsule):
    """The end of a capsule that nobody has taken."""
    if _is_valid(capsule, b"dltensor"):
        managed = ffi.cast("struct pto_dlpack_managed *", _pointer(capsule, b"dltensor"))
        managed.deleter(managed)


def show(tensor, kept):
    """A capsule over a struct pto_tensor *; the consumer keeps `kept` alive."""
    number = next(_numbers)
    out = ffi.new("struct pto_dlpack_managed **")
    status = lib.pto_tensor_to_dlpack(tensor, _release, ffi.cast("void *", number), out)
    if status < 0:
        raise failure(status, "memory that the runtime manages is shown to nobody")
    _shown[number] = kept
    return _new(int(ffi.cast("uintptr_t", out[0])), b"dltensor", ctypes.cast(_drop, ctypes.c_void_p))
