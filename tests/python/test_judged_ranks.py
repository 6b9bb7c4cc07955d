# SPDX-License-Identifier: MIT
"""Judges of programs on several ranks: planted bugs are found with rank, file and line, clean programs are not accused."""

import numpy
import pytest

import pto
from test_worlds import CHIP, PASS_ON

A = numpy.arange(16, dtype=numpy.float32)
FORGETS = PASS_ON.replace("if (!status) status = pto_core_wait_signal(args, comm, 0, PTO_IF_GE, 1);", "")


def program(orchestrate, golden=None):
    return pto.Program(orchestrate, {"a": A}, {"c": ("f32", 16)}, {} if golden is None else {"c": golden})


def passes(kernel):
    def ring(rt, a, c):
        comm = pto.Communicator(rt, window_bytes=64, signals=1)
        following = (rt.rank + 1) % rt.rank_count
        comm.submit(kernel, a, comm.peer(following, "f32", 16), comm.window("f32", 16), c, comm.id, following)

    return ring


def sums(rt, a, c):
    pto.Collectives(rt, 64).all_reduce(a, c, algorithm="ring")
    rt.submit(pto.kernels.add, c, c, c)


@pytest.mark.parametrize("make", (lambda: sums, lambda: passes(pto.compile(PASS_ON))), ids=("sums", "passes"))
def test_clean_programs_are_not_accused(make):
    clean = program(make())
    pto.assert_ordered(clean, ranks=3, chip=CHIP)
    pto.assert_ordered(clean, ranks=3, chip=CHIP, deps="pto")
    pto.assert_declared(clean, ranks=3, chip=CHIP)
    pto.assert_order_free(clean, schedules=6, ranks=3, chip=CHIP)


def test_a_rank_s_missing_dependency_is_found_with_rank_and_both_lines():
    def racing(rt, a, c):
        with rt.scope(manual=rt.rank == 1):
            t = rt.empty(16, label="between")
            rt.submit(pto.kernels.add, a, a, t)
            rt.submit(pto.kernels.add, t, a, c)

    with pytest.raises(AssertionError) as raised:
        pto.assert_ordered(program(racing), ranks=3, chip=CHIP)
    said, first = str(raised.value), racing.__code__.co_firstlineno + 3
    assert "racing: 1 finding" in said and "RAW: rank 1: task 0 (add)" in said and "between" in said
    assert f"test_judged_ranks.py:{first}" in said and f"test_judged_ranks.py:{first + 1}" in said


def test_a_kernel_that_takes_what_has_not_come_is_found():
    forgets = program(passes(pto.compile(FORGETS)))
    findings = forgets.check(ranks=3, chip=CHIP)
    assert any("the window" in each.sentence and not each.is_note for each in findings), str(findings)
    findings = forgets.explore(schedules=9, ranks=3, chip=CHIP)
    assert findings and "late the outputs are others" in findings[0].sentence
    with pytest.raises(AssertionError, match=r"rank \d is .* late"):
        pto.assert_order_free(forgets, schedules=9, ranks=3, chip=CHIP)


def test_a_rank_that_does_not_come_is_a_finding_of_check():
    def absent(rt, a, c):
        if rt.rank != 1:
            pto.Communicator(rt, 64)

    findings = program(absent).check(ranks=3, chip=CHIP)
    assert findings and "rank 1" in str(findings), str(findings)
    with pytest.raises(pto.errors.EDEADLOCK, match="rank 1"):
        program(absent).explore(ranks=3, chip=CHIP)


@pytest.mark.parametrize("judge", ("check", "observe", "explore"))
def test_what_goes_wrong_on_a_rank_comes_out(judge):
    def raises(rt, a, c):
        if rt.rank == 1:
            raise LookupError("of rank 1")
        pto.Communicator(rt, 64)

    @pto.kernel
    def fails(x: pto.input, y: pto.output):
        raise ZeroDivisionError("in a kernel")

    with pytest.raises(LookupError, match="of rank 1"):
        getattr(program(raises), judge)(ranks=3, chip=CHIP)
    failing = program(lambda rt, a, c: rt.submit(fails, a, c))
    if judge == "check":
        assert "rank 0: task 0: kernel fails failed" in str(failing.check(ranks=2, chip=CHIP))
    else:
        with pytest.raises(pto.errors.EKERNEL, match="in a kernel") as found:
            getattr(failing, judge)(ranks=2, chip=CHIP)
        assert isinstance(found.value.__cause__, ZeroDivisionError)
    with pytest.raises(pto.errors.EINVAL, match="65"):
        getattr(program(sums), judge)(ranks=65, chip=CHIP)


def test_ranks_are_explored_with_the_golden_of_each():
    pto.assert_order_free(program(sums, 6 * A), schedules=3, ranks=3, chip=CHIP)
    with pytest.raises(pto.errors.EINVAL, match=r"c\[1\]"):
        program(sums, A).explore(schedules=3, ranks=3, chip=CHIP)
    assert not program(sums, A).check(ranks=3, chip=CHIP)
    with pytest.raises(ValueError, match="every order"):
        program(sums).explore(every_order=True, ranks=2)
