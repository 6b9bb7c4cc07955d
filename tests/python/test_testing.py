# SPDX-License-Identifier: MIT
"""The assertions for tests, as users meet them: pytest runs a file, and what it prints names the bug with file and line."""

import os
import subprocess
import sys

import pytest

import pto

FILE = '''
import numpy
import pto

A = numpy.arange(64, dtype=numpy.float32).reshape(8, 8)


def ordered(rt, a, c):
    t = rt.empty((8, 8), label="between")
    rt.submit(pto.kernels.add, a, a, t)
    rt.submit(pto.kernels.add, t, a, c)


def missing(rt, a, c):
    with rt.scope(manual=True):
        t = rt.empty((8, 8), label="between")
        rt.submit(pto.kernels.add, a, a, t)
        rt.submit(pto.kernels.add, t, a, c)


@pto.kernel()
def half(x: pto.input, y: pto.output):
    y[:4] = 3 * x[:4]


def undeclared(rt, a, c):
    rt.submit(half, a, c)


def program(orchestrate):
    return pto.Program(orchestrate, {"a": A}, {"c": ("f32", (8, 8))}, {"c": 3 * A})


@pto.test(engines=("threads", "virtual"), deps=("exact", "pto"), chips=("a2a3", "tiny"), workers=(1, 2))
def test_ordered(settings):
    pto.assert_same(program(ordered).run(**settings), {"c": 3 * A}, rtol=1e-6)
    pto.assert_ordered(program(ordered), **settings)


@pto.test()
def test_check(settings):
    pto.assert_ordered(program(missing), **settings)


def test_explore():
    pto.assert_order_free(program(missing), schedules=40)


def test_observe():
    pto.assert_declared(program(undeclared))


def test_golden():
    pto.assert_same(program(ordered).run(), {"c": 3 * A + 0.5}, atol=0.25)


def test_baseline():
    pto.assert_as_before(program(ordered).run(engine="virtual", chip=CHIP), "baseline.json", "sum")
'''


def ran(folder, *arguments, chip="a2a3", **environment):
    """What pytest prints of the file, and the file's lines."""
    (folder / "test_planted.py").write_text(f"CHIP = {chip!r}\n{FILE}")
    said = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", *arguments],
                          cwd=folder, env={**os.environ, "PYTHONPATH": os.path.abspath("python"), **environment},
                          capture_output=True, text=True)
    return said.stdout


def line(sentence):
    """Numbers of the lines of the file that are so."""
    return [number for number, each in enumerate(FILE.split("\n"), 2) if each.strip() == sentence]


def test_a_planted_missing_dependency_and_others_are_found_through_pytest(tmp_path):
    said = ran(tmp_path, PTO_UPDATE="1")
    assert "5 failed, 17 passed" in said
    writes, reads = line("rt.submit(pto.kernels.add, a, a, t)")[1], line("rt.submit(pto.kernels.add, t, a, c)")[1]
    assert "RAW: task 0 (add) param 2 writes buffer 3 (between)" in said
    assert f"submitted at test_planted.py:{writes} and test_planted.py:{reads}" in said  # of check
    assert f"submitted at test_planted.py:{reads} and test_planted.py:{writes}" in said  # of explore: in this order
    assert "add `after` task 0 to task 1" in said
    assert "array c (buffer 2) (elements [" in said
    assert f"which param 1 y (output) declares; submitted at test_planted.py:{line('rt.submit(half, a, c)')[0]}" in said
    assert "Mismatched elements: 64 / 64" in said and "output c" in said


def test_a_baseline_is_written_once_and_then_holds(tmp_path):
    assert "1 failed" in ran(tmp_path, "-k", "baseline")
    assert "1 passed" in ran(tmp_path, "-k", "baseline", PTO_UPDATE="1")
    assert "1 passed" in ran(tmp_path, "-k", "baseline")
    assert "us on the chip instead of" in ran(tmp_path, "-k", "baseline", chip="a2a3,submit=1")


def test_a_baseline_that_is_not_there_says_how_it_is_written(tmp_path):
    with pytest.raises(AssertionError, match="there is no baseline; PTO_UPDATE=1"):
        pto.assert_as_before(None, tmp_path / "none.json", "any")


def test_a_golden_that_would_compare_nothing_or_another_shape_is_refused():
    run = pto.Program(lambda rt, c: rt.submit(pto.kernels.fill, c, 1), outputs={"c": ("f32", (2, 2))}).run()
    pto.assert_same(run, {"c": [[1, 1], [1, 1]]})
    for golden, sentence in (({"c": 1.0}, r"the golden of c has shape \[\], and c \[2, 2\]"),
                             ({"c": [[1, 1]]}, r"the golden of c has shape \[1, 2\], and c \[2, 2\]"),
                             ({}, "the golden is empty"), ({"cc": 1.0}, "a golden of 'cc', which is no output; did you mean 'c'")):
        with pytest.raises(ValueError, match=sentence):
            pto.assert_same(run, golden)


def test_settings_are_every_combination(tmp_path):
    said = ran(tmp_path, "-k", "test_ordered", "--collect-only")
    assert said.count("test_planted.py::test_ordered[") == 16
    assert "test_ordered[virtual-pto-tiny-2]" in said
