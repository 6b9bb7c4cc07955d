# SPDX-License-Identifier: MIT
"""For tests of orchestrations: settings to run under, and assertions whose failure text is what the judges found.

    @pto.test(engines=("threads", "virtual"), chips=("a2a3",))
    def test_sum(settings):
        pto.assert_same(program.run(**settings), {"c": golden}, rtol=1e-6)
        pto.assert_ordered(program, **settings)

They are plain functions; `test` alone needs pytest.
"""

import itertools
import os

import numpy

from .library import nearest
from .programs import Run


def test(engines=("threads", "virtual"), deps=("exact",), chips=("a2a3",), workers=(None,)):
    """Calls a test of pytest once for each engine × rules × chip × count of workers, with the dict `settings` of these."""
    import pytest

    cases = [{name: value for name, value in zip(("engine", "deps", "chip", "workers"), each) if value is not None}
             for each in itertools.product(engines, deps, chips, workers)]
    return pytest.mark.parametrize("settings", cases, ids=["-".join(str(v) for v in case.values()) for case in cases])


def assert_same(run, golden, rtol=0.0, atol=0.0):
    """The run ended well, and its outputs are the golden's: arrays by name, of the outputs' shapes, |a − g| ≤ atol + rtol·|g|.

    Of bf16, 8-bit floats and 4 bits numbers are compared: a golden has numbers or codes, as that of pto.Program has.  AssertionError
    for what differs or a run that failed; ValueError for no golden, or one of another name or shape."""
    __tracebackhide__ = True
    assert isinstance(run, Run)
    if run.error is not None:
        raise AssertionError(str(run.error)) from run.error
    if not golden:
        raise ValueError("the golden is empty: nothing would be compared")
    for name, expected in golden.items():
        if name not in run.outputs:
            raise ValueError(f"a golden of {name!r}, which is no output" + nearest(name, run.outputs))
        found, expected = run.numbers(name), run.numbers(name, expected)
        if numpy.shape(expected) != found.shape:
            raise ValueError(f"the golden of {name} has shape {list(numpy.shape(expected))}, and {name} {list(found.shape)}")
        numpy.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=f"output {name}")


def assert_as_before(run, path, name):
    """The run came to what the baseline of `ptosim regress` at `path` says of `name`: tasks, edges, virtual time, outputs.

    With PTO_UPDATE=1 in the environment the baseline is written instead."""
    __tracebackhide__ = True
    update = os.environ.get("PTO_UPDATE") == "1"
    if not update and not os.path.exists(path):
        raise AssertionError(f"{path}: there is no baseline; PTO_UPDATE=1 in the environment writes it")
    changed = run.same_as_baseline(path, name, update)
    if changed:
        raise AssertionError(f"{name}: {changed}")


def _assert_none(findings, program):
    __tracebackhide__ = True
    if findings:
        raise AssertionError(f"{program.name}: {findings.total} finding{'s' if findings.total > 1 else ''}\n{findings}")


def assert_ordered(program, **settings):
    """`ptosim check` finds nothing: every pair of conflicting accesses is ordered under the rules of settings["deps"].  AssertionError with
    the findings; ranks=4: on so many."""
    __tracebackhide__ = True
    _assert_none(program.check(**settings), program)


def assert_declared(program, **settings):
    """`ptosim check --observe` finds nothing: kernels touch what their tasks declare.  AssertionError with the findings."""
    __tracebackhide__ = True
    _assert_none(program.observe(**settings), program)


def assert_order_free(program, schedules=0, every_order=False, **settings):
    """`ptosim explore` finds nothing: outputs are the same in all orders of tasks that were tried.  AssertionError with the findings."""
    __tracebackhide__ = True
    _assert_none(program.explore(schedules, every_order, **settings), program)
