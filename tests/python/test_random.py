# SPDX-License-Identifier: MIT
"""Random views and programs against numpy, by the strategies that users have.  PTO_TEST_LONG: 10 000 programs."""

import os

import numpy
import pytest

hypothesis = pytest.importorskip("hypothesis", reason="no hypothesis: scripts/deps --python")
from hypothesis import given, settings, strategies as st

import pto

EXAMPLES = 10_000 if os.environ.get("PTO_TEST_LONG") else 200
QUIET = dict(deadline=None, database=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck))
RULES = [{"engine": "threads", "deps": "exact", "window": 64}, {"engine": "virtual", "deps": "exact", "window": 64},
         {"engine": "threads", "deps": "pto"}, {"engine": "virtual", "deps": "pto", "chip": "a2a3"}]


@settings(max_examples=EXAMPLES, **QUIET)
@given(pto.strategies.programs(), st.sampled_from(RULES))
def test_random_programs_give_what_numpy_gives(program, rules):
    if rules["deps"] == "exact" or not program.check(**rules):  # what the existing runtime's rules leave open, check finds
        pto.assert_same(program.run(**rules), program.golden)


@settings(max_examples=EXAMPLES // 10, **QUIET)
@given(pto.strategies.programs())
def test_random_programs_are_ordered_by_the_exact_rules_whatever_happens(program):
    pto.assert_ordered(program)
    pto.assert_order_free(program, schedules=3)


@settings(max_examples=EXAMPLES // 2, **QUIET)
@given(st.data(), st.sampled_from(("threads", "virtual")))
def test_views_are_numpy_s(data, engine):
    """The kernel sees what numpy's view has, and writes where it writes."""
    array = data.draw(pto.strategies.arrays(("int16", "float32")))
    key = data.draw(pto.strategies.views(array.shape))
    seen = []

    @pto.kernel()
    def look(x: pto.input):
        seen.append(x.copy())

    @pto.kernel()
    def negate(x: pto.inout):
        x[...] = -x

    def orchestrate(rt):
        tensor = rt.tensor(array)[key]
        assert tensor.shape == expected[key].shape
        rt.submit(look, tensor)
        rt.submit(negate, tensor)

    expected = array.copy()
    expected[key] *= -1
    before = array[key].copy()
    with pto.Runtime(engine=engine) as rt:
        rt.run(orchestrate)
    numpy.testing.assert_array_equal(seen[0], before)
    numpy.testing.assert_array_equal(array, expected)


def test_a_program_that_is_wrong_shrinks_to_its_cause():
    def wrong(program):
        def maximum_is_minimum(step):
            return ("minimum", *step[1:]) if step[0] == "maximum" else step

        program.steps = [maximum_is_minimum(step) for step in program.steps]
        pto.assert_same(program.run(), program.golden)

    found = hypothesis.find(pto.strategies.programs(), lambda program: not holds(wrong, program),
                            settings=settings(max_examples=300, **QUIET))
    assert len(found.steps) <= 2 and "maximum" in repr(found)


def holds(check, program):
    try:
        check(program)
        return True
    except AssertionError:
        return False
