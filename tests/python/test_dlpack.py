# SPDX-License-Identifier: MIT
"""Arrays from and to other libraries by DLPack, with numpy as the peer, and a producer of version 1 written here."""

import ctypes
import gc
import weakref

import numpy
import pytest

import pto

rng = numpy.random.default_rng(11)


class Other:
    """An array of another library, which has DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self):
        return self.array.__dlpack__()


class Versioned:
    """A producer of DLPack 1: a vector of any type code and width over bytes."""

    class Struct(ctypes.Structure):
        _fields_ = [("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                    ("flags", ctypes.c_uint64), ("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2),
                    ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                    ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]

    def __init__(self, array, count, code, bits, read_only=False, device=1, padded=False, major=1):
        self.array, self.shape = array, (ctypes.c_int64 * 1)(count)
        self.struct = self.Struct((major, 0), None, None, int(read_only) | 4 * padded, array.ctypes.data, (device, 0), 1, code, bits, 1,
                                  self.shape, None, 0)

    def __dlpack__(self, max_version=None):
        assert max_version == (1, 0)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.struct), b"dltensor_versioned", None)


@pto.test()
def test_arrays_of_others_are_borrowed_with_their_strides(settings):
    a, y = rng.random((6, 8), numpy.float32), numpy.zeros((3, 6), numpy.float32)

    def orchestrate(rt):
        x = rt.tensor(Other(a.T[1::3]))
        assert x.shape == (3, 6) and x.strides == (3, 8)
        rt.submit(pto.kernels.add, x, x, rt.tensor(Other(y)))

    with pto.Runtime(**settings) as rt:
        rt.run(orchestrate)
    numpy.testing.assert_array_equal(y, 2 * a.T[1::3])


def test_every_dtype_of_numpy_comes_and_goes():
    with pto.Runtime() as rt:
        for name in ("float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"):
            array = (rng.random((3, 4)) * 100).astype(name)
            there = rt.tensor(Other(array))
            assert there.dtype == rt.tensor(array).dtype
            back = numpy.from_dlpack(there[1:, ::2])
            assert back.dtype == array.dtype and back.strides == array[1:, ::2].strides
            numpy.testing.assert_array_equal(back, array[1:, ::2])
            array[1, 2] = 7
            assert back[0, 1] == 7


def test_what_numpy_lacks_comes_with_its_dtype():
    seen = []

    @pto.kernel()
    def look(x: pto.input):
        seen.append(x.copy())

    bits = numpy.array([0x3F80, 0xC000, 0x7F80, 0], numpy.uint16)
    with pto.Runtime() as rt:
        x = rt.tensor(Versioned(bits, 4, 4, 16))
        assert x.dtype == "bf16"
        rt.run(lambda rt: rt.submit(look, x))
        assert seen[0].tolist() == bits.tolist()
        assert rt.tensor(Versioned(numpy.zeros(3, numpy.uint8), 5, 0, 4)).dtype == "i4"
        assert rt.tensor(Versioned(numpy.zeros(3, numpy.uint8), 5, 1, 4)).dtype == "u4"
        assert rt.tensor(Versioned(numpy.zeros(3, numpy.uint8), 3, 6, 8)).dtype == "bool"
        for code, width, name in ((10, 8, "f8e4m3fn"), (12, 8, "f8e5m2"), (14, 8, "f8e8m0fnu"), (17, 4, "f4e2m1fn")):
            assert rt.tensor(Versioned(numpy.zeros(3, numpy.uint8), 3, code, width)).dtype == name


def test_bf16_goes_to_torch_and_back():
    torch = pytest.importorskip("torch", reason="no torch: scripts/deps --adopt")
    source, result = torch.arange(8, dtype=torch.bfloat16), torch.zeros(4, dtype=torch.bfloat16)
    with pto.Runtime() as rt:
        x, y = rt.tensor(source[::2]), rt.tensor(result)
        assert (x.dtype, x.strides) == ("bf16", (2,))
        rt.run(lambda rt: rt.submit(pto.kernels.add, x, x, y))
        assert result.tolist() == [0, 4, 8, 12]
        back = torch.from_dlpack(x)
        assert back.dtype == torch.bfloat16 and back.tolist() == [0, 2, 4, 6]
        back[1] = 7
        assert source.tolist() == [0, 1, 7, 3, 4, 5, 6, 7]


def test_a_small_float_is_an_array_of_its_codes():
    values = numpy.array([0.3, -500, 1.0625, numpy.nan], numpy.float32)
    codes = numpy.zeros(4, numpy.uint8)
    with pto.Runtime() as rt:
        y = rt.tensor(codes, "float8_e4m3fn")
        assert y.dtype == "f8e4m3fn"
        rt.run(lambda rt: rt.submit(pto.kernels.cast, rt.tensor(values), y))
    assert codes.tolist() == [0x2A, 0xFE, 0x38, 0x7F]  # 0.3125, -448, 1, NaN


def test_what_is_read_only_elsewhere_is_no_output():
    array = numpy.zeros(4, numpy.float32)

    def orchestrate(rt):
        fixed = rt.tensor(Versioned(array, 4, 2, 32, read_only=True))
        with pytest.raises(pto.errors.EINVAL, match="read-only"):
            rt.submit(pto.kernels.fill, fixed, 1)
        rt.submit(pto.kernels.add, fixed, fixed, rt.tensor(Versioned(array, 4, 2, 32)))
        with pytest.raises(BufferError):
            numpy.from_dlpack(fixed)

    with pto.Runtime() as rt:
        rt.run(orchestrate)


def test_both_sides_keep_alive_what_they_look_at():
    array = numpy.arange(1000.0, dtype=numpy.float32)
    gone = weakref.finalize(array, lambda: None)
    with pto.Runtime() as rt:
        there = rt.tensor(Other(array))
        del array
        gc.collect()
        assert gone.alive
        again = numpy.from_dlpack(there)
        there.__dlpack__()  # taken by nobody
        del there
    gc.collect()
    assert gone.alive and again[999] == 999
    del again
    gc.collect()
    assert not gone.alive


def test_what_cannot_be_taken_says_why():
    array = numpy.zeros(4, numpy.float32)
    with pto.Runtime() as rt:
        for wrong, sentence in ((Versioned(array, 4, 2, 32, device=2), "device type 2"),
                                (Versioned(array, 2, 5, 64), "type code 5, 64 bits"),
                                (Other(array[::-1]), "stride of -1")):
            with pytest.raises(pto.errors.EINVAL, match=sentence):
                rt.tensor(wrong)
        with pytest.raises(TypeError, match="f32"):
            rt.tensor(Other(array), "i32")
        for wrong, sentence in ((Versioned(array, 4, 0, 4, padded=True), "elements of 4 bits with a byte each"),
                                (Versioned(array, 4, 2, 32, major=2), r"a tensor of DLPack 2\.0, and 1 was asked for")):
            with pytest.raises(BufferError, match=sentence):
                rt.tensor(wrong)
        assert rt.tensor(Versioned(array, 4, 2, 32, padded=True)).dtype == "f32"
        for asked in ({"copy": True}, {"dl_device": (2, 0)}):
            with pytest.raises(BufferError, match="not a copy, and of no other device"):
                rt.tensor(array).__dlpack__(**asked)

        def managed(rt):
            with pytest.raises(pto.errors.EINVAL, match="manages"):
                numpy.from_dlpack(rt.empty(4))

        rt.run(managed)


def test_memory_that_goes_with_a_run_is_shown_to_nobody():
    kept = []

    def orchestrate(rt, x):
        kept.extend((x, x[1:]))
        with pytest.raises(BufferError, match="the memory goes with the run"):
            numpy.from_dlpack(x)
        rt.submit(pto.kernels.fill, x, 1)

    assert pto.Program(orchestrate, outputs={"x": ("f32", 4)}).run().error is None
    with pto.Context() as device:
        device.dispatch(orchestrate, {}, {"x": device.empty(4)})
        device.sync()
    assert len(kept) == 4
    for each in kept:
        with pytest.raises(BufferError, match="the memory goes with the run"):
            numpy.from_dlpack(each)
