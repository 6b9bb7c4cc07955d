# SPDX-License-Identifier: MIT
"""dtypes that numpy has not, wherever arrays are taken: as codes with their dtype, and by DLPack; and how they are compared."""

import numpy
import pytest

import pto
from test_dlpack import Versioned

VALUES = numpy.float32([[0, 1, -2, 0.5], [4, 1.5, 6, -0.0]])
WHOLE = numpy.float32([[0, 1, 2, 3, 4], [7, 6, 5, 0, 1]])
CODED = [("bf16", VALUES, (4, 16)), ("f8e4m3fn", VALUES, (10, 8)), ("f8e5m2", VALUES, (12, 8)), ("f8e8m0fnu", 2 ** WHOLE, (14, 8)),
         ("i4", WHOLE, (0, 4)), ("u4", WHOLE, (1, 4)), ("f4e2m1fn", VALUES, (17, 4))]
each_dtype = pytest.mark.parametrize("dtype, values, dlpack", CODED, ids=[each[0] for each in CODED])


def forms(dtype, values, dlpack):
    """Ways to say an array of codes, and the shape that each has."""
    codes = pto.encode(values, dtype)
    yield (codes, dtype, values.shape), values
    if not dtype.endswith(("4", "4e2m1fn")):
        yield (codes, dtype), values
        yield (numpy.asfortranarray(codes), dtype), values
    yield Versioned(codes, values.size, *dlpack), values.reshape(-1)


@each_dtype
def test_programs_take_codes_and_dlpack(dtype, values, dlpack):
    def orchestrate(rt, x, y, z):
        assert x.dtype == y.dtype == dtype and x.shape == y.shape == z.shape
        rt.submit(pto.kernels.copy, x, y)
        rt.submit(pto.kernels.cast, y, z)

    for form, numbers in forms(dtype, values, dlpack):
        for golden in (numbers, form, pto.encode(numbers, dtype)):
            program = pto.Program(orchestrate, {"x": form}, {"y": (dtype, numbers.shape), "z": ("f32", numbers.shape)},
                                  {"y": golden, "z": numbers})
            run = program.run(engine="virtual")
            assert run.error is None and run.result["verified"] is True
            pto.assert_same(run, {"y": golden, "z": numbers})
            numpy.testing.assert_array_equal(run.numbers("y"), numbers)
            assert (run.outputs["y"] == pto.encode(numbers, dtype)).all()


@each_dtype
def test_an_output_with_contents_is_codes_too(dtype, values, dlpack):
    for form, numbers in forms(dtype, values, dlpack):
        run = pto.Program(lambda rt, y: None, outputs={"y": form}).run()
        numpy.testing.assert_array_equal(run.numbers("y"), numbers)


@each_dtype
def test_wrong_codes_are_found(dtype, values, dlpack):
    def orchestrate(rt, x, y):
        rt.submit(pto.kernels.copy, x, y)

    wrong = values.copy()
    wrong[1, 2] = 2
    for golden in (wrong, pto.encode(wrong, dtype), (pto.encode(wrong, dtype), dtype, wrong.shape)):
        inputs, outputs = {"x": (pto.encode(values, dtype), dtype, values.shape)}, {"y": (dtype, values.shape)}
        assert "y[1,2]" in str(pto.Program(orchestrate, inputs, outputs, {"y": golden}).run().error)
        run = pto.Program(orchestrate, inputs, outputs).run()
        with pytest.raises(AssertionError, match="output y"):
            pto.assert_same(run, {"y": golden})
        pto.assert_same(run, {"y": golden}, atol=float(abs(values[1, 2] - 2)))


@each_dtype
def test_devices_and_graphs_take_codes_and_dlpack(dtype, values, dlpack):
    codes = pto.encode(values, dtype)
    with pto.Context() as device:
        for form, numbers in forms(dtype, values, dlpack):
            for array, said in ((form, ()), (form[0], form[1:])) if isinstance(form, tuple) else ((form, ()), (form, (dtype, numbers.shape))):
                put = device.put(array, *said)
                assert (put.dtype, put.shape) == (dtype, numbers.shape) and (put.read() == codes.reshape(put.read().shape)).all()
                put.write(form)
                kept, there = device.constant(array, *said), device.empty(numbers.shape, dtype)
                device.dispatch(lambda rt, y, x: rt.submit(pto.kernels.copy, x, y), {}, {"y": there}, constants=[kept])
                assert (there.read() == put.read()).all()
            result = device.compute(lambda rt, x, y: rt.submit(pto.kernels.cast, x, y), {"x": form}, {"y": ("f32", numbers.shape)})
            numpy.testing.assert_array_equal(result["y"], numbers)


@pytest.mark.parametrize("dtype, dlpack", (("i4", (0, 4)), ("u4", (1, 4))))
def test_graphs_take_them(dtype, dlpack):
    with pto.Context() as device:
        for form, numbers in forms(dtype, WHOLE, dlpack):
            build, one = pto.GraphBuilder(), (1,) * numbers.ndim
            scale, zero = build.constant(numpy.ones(one, numpy.float32)), build.constant(numpy.zeros(1, numpy.uint8), dtype, one)
            made = {"x": build.input("x", dtype, numbers.shape), "k": build.constant(form)}
            graph = build.build({name: build.dequantize_linear(each, scale, zero) for name, each in made.items()})
            for each in graph.compute(device, {"x": form}).values():
                numpy.testing.assert_array_equal(each, numbers)


@each_dtype
def test_numbers_and_codes_go_both_ways(dtype, values, dlpack):
    codes = pto.encode(values, dtype)
    numpy.testing.assert_array_equal(pto.decode(codes, dtype, values.shape), values)


def test_a_kernel_sees_packed_bytes():
    seen = []

    @pto.kernel(cost=lambda x: seen.append(x.nbytes) or {})
    def look(x: pto.inout):
        seen.append(x.copy())
        x[-1] = 0x12

    codes = numpy.array([0x21, 0x43, 0x05], numpy.uint8)
    with pto.Runtime(engine="virtual") as rt:
        rt.run(lambda rt: rt.submit(look, rt.tensor(codes, "i4", shape=(5,))))
    assert seen[-1].tolist() == [0x21, 0x43, 5] and codes.tolist() == [0x21, 0x43, 0x12] and set(seen[:-1]) == {3}


def test_what_does_not_fit_is_refused():
    four, two = numpy.zeros(4, numpy.uint8), numpy.zeros(2, numpy.uint16)
    with pto.Runtime() as rt:
        for array, dtype, shape in ((four, "i4", None), (four, "i4", (3, 3)), (four, "u4", 9), (two, "bf16", (2,)),
                                    (numpy.zeros(8, numpy.uint8)[::2], "u4", 8)):
            with pytest.raises(ValueError, match="shape"):
                rt.tensor(array, dtype, shape=shape)
        assert rt.tensor(four, "i4", shape=7).shape == (7,)
    with pto.Context() as device:
        for array, refusal, sentence in (((four, "bf16"), TypeError, "an array of uint8 is not one of bf16, which is uint16 here"),
                                         ((two, "bf16", (3,)), ValueError, "an array of shape .2. for bf16.3., which is .3. here"),
                                         ((four, "i4"), ValueError, "two elements a byte"),
                                         (Versioned(four, 4, 17, 8), TypeError, "type code 17 of 8 bits"),
                                         (Versioned(four, 4, 1, 8, device=2), TypeError, "device type 2")):
            with pytest.raises(refusal, match=sentence):
                device.put(array)
            with pytest.raises(refusal, match=sentence):
                pto.Program(lambda rt, x: None, {"x": array})
        with pytest.raises(TypeError, match="a Versioned of i8 is not one of bf16"):
            device.put(Versioned(four, 4, 0, 8), "bf16")
        with pytest.raises(ValueError, match="a Versioned of shape .4. is not of shape .5."):
            device.empty(5, "i8").write(Versioned(four, 4, 0, 8))
    with pytest.raises(ValueError, match="two elements a byte"):
        pto.decode(four, "i4")


def test_torch_s_bf16_is_taken():
    torch = pytest.importorskip("torch", reason="no torch: scripts/deps --adopt")
    x = torch.arange(12, dtype=torch.bfloat16).reshape(3, 4)
    program = pto.Program(lambda rt, x, y: rt.submit(pto.kernels.add, x, x, y), {"x": x[:, ::2]}, {"y": ("bf16", (3, 2))}, {"y": (2 * x)[:, ::2]})
    run = program.run()
    pto.assert_same(run, {"y": (2 * x)[:, ::2]})
    pto.assert_same(run, {"y": 2 * numpy.arange(12).reshape(3, 4)[:, ::2]})
    with pto.Context() as device:
        assert (device.put(x.T).read() == (x.T.contiguous().view(torch.int16).numpy().view(numpy.uint16))).all()
        assert device.put(torch.tensor([True, False])).read().tolist() == [True, False]
