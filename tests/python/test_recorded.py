# SPDX-License-Identifier: MIT
"""Recorded tasks from Python: launches are what the same submits are, and what cannot be is refused."""

import numpy
import pytest

import pto

A = numpy.arange(24, dtype=numpy.float32).reshape(4, 6)


def scaled_sum(rt, x, y, z):
    t = rt.empty(x.shape)
    rt.submit(pto.kernels.mul_scalar, x, t, 2)
    rt.submit(pto.kernels.add, t, y, z)


@pytest.mark.parametrize("engine", ("threads", "virtual"))
def test_launches_are_what_the_same_submits_are(engine):
    """In this run and in a later one of the runtime, on views, with a scalar of one launch."""
    made, arrays = [], [numpy.zeros((4, 6), numpy.float32) for _ in range(4)]

    def first(rt):
        x, y, *outs = (rt.tensor(each) for each in (A, A + 1, *arrays))
        made.append(rt.record(scaled_sum, pto.input(x), pto.input(y), pto.output(outs[0])))
        task = made[0](x, y, outs[0])
        made[0](outs[0], y, outs[1], after=[task])
        made[0](x, y, outs[2], scalars={(0, 0): 5.0})

    with pto.Runtime(engine=engine) as rt:
        rt.run(first)
        rt.run(lambda rt: made[0](rt.tensor(A), rt.tensor(A), rt.tensor(arrays[3])))
    once = 2 * A + A + 1
    for array, wanted in zip(arrays, (once, 2 * once + A + 1, 5 * A + A + 1, 3 * A)):
        numpy.testing.assert_array_equal(array, wanted)


def test_what_a_recording_cannot_have_is_refused_and_the_run_goes_on():
    out = numpy.zeros((4, 6), numpy.float32)
    frozen = A.copy()
    frozen.flags.writeable = False

    def orchestrate(rt):
        x, y, z = rt.tensor(A), rt.tensor(A), rt.tensor(out)
        boundary = pto.input(x), pto.input(y), pto.output(z)
        with pytest.raises(TypeError, match="tensors with modes"):
            rt.record(scaled_sum, x, y, z)
        with pytest.raises(TypeError, match="a boundary takes tensors of the runtime, and got a ndarray"):
            rt.record(scaled_sum, pto.input(A))
        with pytest.raises(pto.errors.EINVAL, match="its array is read-only"):
            rt.record(scaled_sum, pto.output(rt.tensor(frozen)))
        with pytest.raises(LookupError, match="mine"):
            rt.record(lambda rt, *tensors: (scaled_sum(rt, *tensors), {}["mine"]), *boundary)
        with pytest.raises(pto.errors.EINVAL, match="boundary"):
            rt.record(lambda rt, *tensors: rt.submit(pto.kernels.fill, rt.tensor(out.copy()), 1), *boundary)
        with pytest.raises(pto.errors.EINVAL, match="read_element: not between"):
            rt.record(lambda rt, *tensors: rt.read(x, 0, 0), *boundary)
        recorded = rt.record(scaled_sum, *boundary)
        with pytest.raises(TypeError, match="the boundary has 3 tensors, and got 2"):
            recorded(x, y)
        with pytest.raises(pto.errors.EINVAL):
            recorded(x, y, z[:2])
        recorded(x, y, z)

    with pto.Runtime() as rt:
        rt.run(orchestrate)
    numpy.testing.assert_array_equal(out, 3 * A)


def test_a_launch_is_judged_with_its_lines():
    def racing(rt, a, c):
        recorded = rt.record(lambda rt, x, y: rt.submit(pto.kernels.copy, x, y), pto.input(a), pto.output(c))
        with rt.scope(manual=True):
            recorded(a, c)
            recorded(a, c)

    findings = pto.Program(racing, {"a": A}, {"c": ("f32", (4, 6))}).check()
    assert {each.kind for each in findings} == {"WAW"} and "test_recorded.py:" in str(findings)
