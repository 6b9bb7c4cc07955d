# SPDX-License-Identifier: MIT
"""Each public name says what it is, and what raises says what; those of operations are made of what the library knows."""

import inspect
import re

import pytest

import pto

# What is too plain to fail, or says it with its class.
QUIET = {"Kernel", "Operand", "Findings", "Error", "encode", "kernels", "errors", "version", "test", "kernel", "accumulate", "hold", "inout",
         "input", "output", "Run", "Graph", "GraphBuilder", "Context.info", "Context.counters", "Findings.rows", "Graph.forget", "Run.diff",
         "Run.timeline", "Runtime.stats", "Runtime.scope_stats", "Runtime.rank", "Runtime.rank_count", "Tensor", "Tensor.shape", "Tensor.strides",
         "Tensor.dtype", "Tensor.T", "Tensor.overlap", "Tensor.with_fuzzy_overlap", "World", "DeviceTensor.dtype", "assert_as_before"}


def members(made):
    for each in made.__mro__[:-1]:
        for name, member in vars(each).items():
            if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, (property, staticmethod))):
                yield name, member


def public():
    for name in pto.__all__:
        if name not in ("strategies", "errors", "version"):
            made = getattr(pto, name)
            yield name, made
            if inspect.isclass(made):
                yield from ((f"{name}.{member}", each) for member, each in members(made))


@pytest.mark.parametrize("name, made", [pytest.param(*each, id=each[0]) for each in public()])
def test_a_public_name_says_what_it_is(name, made):
    said = made.__func__.__doc__ if isinstance(made, staticmethod) else (type(made) if type(made).__module__.startswith("pto") else made).__doc__
    assert said and len(said) > 12, f"{name} says nothing"
    assert not said.isupper()


def test_what_can_fail_says_how():
    errors = r"errors\.E|Error\b|raises as|Raises"
    quiet = [name for name, made in public() if not re.search(errors, inspect.getdoc(made) or "")]
    of_classes = {name for name in quiet if "." in name and re.search(errors, inspect.getdoc(getattr(pto, name.split(".")[0])) or "")}
    internal = {name for name in quiet if name.split(".")[-1] in (
        "at", "check", "called", "excepted", "over", "tasks", "id", "place", "size", "is_closed", "rank", "rank_count", "scope_stats", "stats")
        and name not in ("Program.check",)}
    assert not sorted(set(quiet) - of_classes - internal - QUIET)


def test_an_operation_says_what_it_takes_returns_and_raises():
    build = pto.GraphBuilder()
    operations = [name for name in dir(build) if not name.startswith("_") and name not in dict(members(pto.GraphBuilder)) and name != "c"]
    assert len(operations) > 80
    for name in operations:
        said = inspect.getdoc(getattr(build, name))
        assert "returns a" in said and "of rank " in said and "label: text" in said and "pto.errors.EINVAL" in said, said
        assert all(f"    {operand}: " in said for operand in build.limits(name)), said
    said = inspect.getdoc(build.conv2d)
    for line in ("input: f32, fp16, of rank 4", "bias: a dtype that goes with the others, of rank 1, an option", "input_layout: 'nchw' or 'nhwc'",
                 "strides: whole numbers", "groups: a number"):
        assert line in said, said
    assert "returns a tuple of Operands" in inspect.getdoc(build.split) and "min_value: a number" in inspect.getdoc(build.clamp)
    assert "inputs: " in inspect.getdoc(build.concat) and "one or more" in inspect.getdoc(build.concat)
