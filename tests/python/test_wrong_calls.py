# SPDX-License-Identifier: MIT
"""Calls that Python alone can see to be wrong: each has a sentence, and none reaches the library."""

import re

import numpy
import pytest

import pto

ones = numpy.ones((8, 8), numpy.float32)


@pto.kernel
def copies(a: pto.input, b: pto.output):
    b[:] = a


def ids():
    return pto.compile("""
#include <pto/pto.h>
static int run(const struct pto_kernel_args *args) { return !args; }
static const struct pto_kernel_param params[] = {{"y", PTO_OUTPUT}, {"id", PTO_SCALAR, .scalar = PTO_SCALAR_U64}};
const struct pto_kernel ids = {"ids", PTO_AIV, .params = params, .param_count = 2, .run = run};
""")


def submits(call):
    """What call(rt, x, y) raises within a run, of an input and an output."""
    def orchestrate(rt):
        call(rt, rt.tensor(ones), rt.tensor(numpy.zeros((8, 8), numpy.float32)))
    with pto.Runtime() as rt:
        rt.run(orchestrate)


@pytest.mark.parametrize("kind, sentence, call", [
    (TypeError, "'add' is no kernel: those are pto.kernels.NAME", lambda rt, x, y: rt.submit("add", x, x, y)),
    (TypeError, r"on several cores are \(aic, aiv0, aiv1\)", lambda rt, x, y: rt.submit((copies, None), x, y)),
    (TypeError, r"b is a ndarray, .* Runtime.tensor\(array\) makes one", lambda rt, x, y: rt.submit(pto.kernels.add, x, ones, y)),
    (TypeError, "`after` is a list of tasks", lambda rt, x, y: rt.submit(copies, x, y, after=[5])),
    (TypeError, "`after` is a list of tasks", lambda rt, x, y: rt.barrier(x)),
    (TypeError, "`when` is", lambda rt, x, y: rt.submit(copies, x, y, when=x)),
    (ValueError, "comparison of `when` is '=', and none of '=='", lambda rt, x, y: rt.submit(copies, x, y, when=(x, "=", 1))),
    (ValueError, "core is 'aix', and none of 'aic', 'aiv'", lambda rt, x, y: rt.submit(copies, x, y, core="aix")),
    (ValueError, "blocks is 0", lambda rt, x, y: rt.submit(copies, x, y, blocks=0)),
    (ValueError, "kind is 'gpu'", lambda rt, x, y: rt.cores("gpu")),
    (TypeError, "fill: value is 'one', and not a number of 32 bits", lambda rt, x, y: rt.submit(pto.kernels.fill, y, "one")),
    (TypeError, "fill_int: value is 2.5, and not a whole number", lambda rt, x, y: rt.submit(pto.kernels.fill_int, y, 2.5)),
    *((OverflowError, f"fill_int: value is {n}, not within -{2 ** 63} to {2 ** 63 - 1}",
       lambda rt, x, y, n=n: rt.submit(pto.kernels.fill_int, y, n)) for n in (2 ** 63, -2 ** 63 - 1, 2 ** 70)),
    (OverflowError, f"ids: id is -1, not within 0 to {2 ** 64 - 1}", lambda rt, x, y: rt.submit(ids(), y, -1)),
    (IndexError, r"\[3\] is no element of", lambda rt, x, y: rt.read(x, 3)),
    (IndexError, r"\[3\] is no element of", lambda rt, x, y: rt.write(x, 3, 1)),
    (IndexError, "is no element of", lambda rt, x, y: rt.read(x, 0, -1)),
    *((IndexError, f"index {re.escape(repr(key))} of dimension 0: whole numbers and slices alone make views",
       lambda rt, x, y, key=key: x[key]) for key in (None, [1, 2], True, numpy.arange(2), 1.5)),
    *((pto.errors.EINVAL, rf"shape \[{n}, 2\] has a number that is not within 0 to {2 ** 64 - 1}", lambda rt, x, y, n=n, call=call: call(rt, x, n))
      for n in (-1, 2 ** 64) for call in (lambda rt, x, n: rt.empty((n, 2)), lambda rt, x, n: x.reshape(n, 2),
                                          lambda rt, x, n: x.broadcast(n, 2), lambda rt, x, n: pto.Context().empty((n, 2)))),
    (pto.errors.EINVAL, rf"shape \[{2 ** 62}\] has {2 ** 64} bytes, more than {2 ** 64 - 1}", lambda rt, x, y: rt.empty(2 ** 62)),
    (TypeError, r"add\(a, b, y\)> got no parameter 'b'", lambda rt, x, y: rt.submit(pto.kernels.add, x, y=y)),
    (TypeError, r"add\(a, b, y\)> has no further parameter 'a'", lambda rt, x, y: rt.submit(pto.kernels.add, x, a=x)),
    (IndexError, r"\[0\] is no order of the dimensions", lambda rt, x, y: x.permute(0)),
    (TypeError, "a list has no memory to borrow", lambda rt, x, y: rt.tensor([1, 2])),
    (TypeError, "a float32 has no memory to borrow", lambda rt, x, y: rt.tensor(numpy.float32(1))),
])
def test_a_wrong_call_of_a_runtime_says_what_is_wrong(kind, sentence, call):
    with pytest.raises(kind, match=sentence):
        submits(call)


@pytest.mark.parametrize("kind, sentence, call", [
    (AttributeError, "there is no kernel 'matmull'; did you mean 'matmul'", lambda: pto.kernels.matmull),
    (ValueError, "core is 'gpu', and none of 'aic', 'aiv', 'any'", lambda: pto.kernel("gpu")),
    (ValueError, "deps is 'none', and none of 'exact', 'pto'", lambda: pto.Runtime(deps="none")),
    (TypeError, "setting workers is 'two', and not of uint32_t", lambda: pto.Runtime(workers="two")),
    (ValueError, r"the golden of y has shape \[4\], and y \[8\]",
     lambda: pto.Program(copies, outputs={"y": ("f32", 8)}, golden={"y": numpy.zeros(4)})),
    (ValueError, "a golden of x, which is no output", lambda: pto.Program(copies, {"x": ones}, {"y": ("f32", 8)}, {"x": ones})),
    (ValueError, "ranks is 0: a world has 1 or more", lambda: pto.World(ranks=0)),
    (pto.errors.EINVAL, "several ranks are for engine virtual: on threads they have no common time",
     lambda: pto.World(ranks=2, engine="threads").run(submits)),
    (ValueError, "reduction is 'mean', and none of 'sum'",
     lambda: pto.World(2).run(lambda rt: pto.Collectives(rt, 64).all_reduce(rt.tensor(ones), rt.tensor(ones), "mean"))),
])
def test_a_wrong_name_or_golden_is_told(kind, sentence, call):
    with pytest.raises(kind, match=sentence):
        call()


@pytest.mark.parametrize("kind, sentence, call", [
    (AttributeError, "there is no operation 'relux'; did you mean 'relu'", lambda build, x: build.relux(x)),
    (TypeError, r"relu takes operands, and got a ndarray; GraphBuilder.constant\(array\) makes one", lambda build, x: build.relu(ones)),
    (TypeError, "c takes operands, and got a int", lambda build, x: build.gemm(x, x, c=1)),
    (TypeError, "relu takes 1 operand, and got 2", lambda build, x: build.relu(x, x)),
    (pto.errors.EINVAL, "axis: -1 is not within 0 to 4294967295", lambda build, x: build.softmax(x, axis=-1)),
    (pto.errors.EINVAL, r"beginning_padding: \[0, -1\] has a number that is not within",
     lambda build, x: build.pad(x, beginning_padding=[0, -1], ending_padding=[0, 0])),
    (pto.errors.EINVAL, "mode: 'cubic' is none of linear, nearest-neighbor",
     lambda build, x: build.resample2d(build.reshape(x, new_shape=(1, 1, 8, 8)), mode="cubic")),
])
def test_a_wrong_call_of_a_builder_says_what_is_wrong_and_the_builder_goes_on(kind, sentence, call):
    build = pto.GraphBuilder()
    x = build.input("x", "f32", (8, 8))
    with pytest.raises(kind, match=sentence):
        call(build, x)
    build.build({"y": build.relu(x)})


def test_what_is_closed_is_stale():
    with pto.Context() as device:
        x = device.put(ones)
        with pytest.raises(TypeError, match="x is a ndarray, not a tensor of a context"):
            device.dispatch(submits, {"x": ones}, {})
    for call in (x.read, lambda: x.write(ones), lambda: device.put(ones), device.sync):
        with pytest.raises(pto.errors.ESTALE, match="the context is closed"):
            call()
    device.close()
    with pto.Runtime() as rt:
        pass
    with pytest.raises(pto.errors.ESTALE, match="the runtime is closed"):
        rt.run(submits)


def test_counts_stay_when_the_next_run_is_over():
    with pto.Runtime() as rt:
        stats = rt.run(lambda rt: rt.submit(copies, rt.tensor(ones), rt.empty((8, 8))))
    assert isinstance(stats["ring_window_high_water"], tuple) and len(stats["ring_window_high_water"]) == 4
    assert stats["ring_window_high_water"][0] == 1


@pytest.mark.parametrize("array", (numpy.frombuffer(bytes(16), numpy.float32), numpy.broadcast_to(numpy.float32(1), 4)))
def test_a_read_only_array_is_not_written(array):
    before = array.tobytes()
    for call in (lambda rt, x: rt.write(x, 0, 7), lambda rt, x: rt.submit(pto.kernels.fill, pto.hold(x), 7),
                 lambda rt, x: rt.submit(pto.kernels.fill, pto.hold(x[:2]), 7)):
        with pytest.raises(pto.errors.EINVAL, match="is written, and its array is read-only"):
            with pto.Runtime() as rt:
                rt.run(lambda rt: call(rt, rt.tensor(array)))
    assert array.tobytes() == before
