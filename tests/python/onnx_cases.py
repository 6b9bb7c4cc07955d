# SPDX-License-Identifier: MIT
"""onnx's own cases (libonnx-testdata): `tests/python/onnx_cases.py [PATTERN]` by the Python of `scripts/python onnx`, with PYTHONPATH=python.

Each case has a model, inputs and the outputs that are expected; the tolerance is that of onnx's own runner.  Printed are the
operations with how many of their cases run, each refusal with its cases, and the sums.  Inputs that have to be constants here
are made initialisers of the model and counted apart; where no input is left, numpy computes all of it ("folded").  Exit status 1
where a result is wrong.
"""

import collections
import pathlib
import re
import sys

import numpy
import onnx
from onnx import numpy_helper

import pto
from pto.onnx import Refused

DATA = pathlib.Path("/usr/share/libonnx-testdata/data")
GROUPS = ("node", "simple", "pytorch-operator", "pytorch-converted")
STATES = ("runs", "constants", "folded", "refused", "wrong")
RTOL, ATOL = 1e-3, 1e-7  # onnx/backend/test/loader


def tensors(folder, kind, count):
    for at in range(count):
        tensor = onnx.TensorProto()
        tensor.ParseFromString((folder / f"{kind}_{at}.pb").read_bytes())
        yield numpy_helper.to_array(tensor)


def sizes_of(model, inputs):
    """The sizes that the model names, from its inputs."""
    return {dim.dim_param: extent for each in model.graph.input if each.name in inputs
            for dim, extent in zip(each.type.tensor_type.shape.dim, inputs[each.name].shape) if dim.dim_param}


def behind(model, names):
    """The names, and those of what they are computed of."""
    found, makers = set(names), {name: node for node in model.graph.node for name in node.output}
    left = list(found)
    while left:
        more = set(makers[name].input) - found if (name := left.pop()) in makers else set()
        found |= more
        left += more
    return found


def graph_of(model, inputs):
    """The graph, and whether inputs of the model had to become constants for it."""
    try:
        return pto.from_onnx(model, **sizes_of(model, inputs)), False
    except Refused as refused:
        names = [name for name in behind(model, refused.unknown) if name in inputs]
        if not names:
            raise
        for name in names:
            model.graph.initializer.append(numpy_helper.from_array(inputs[name], name))
        graph, _ = graph_of(model, {name: array for name, array in inputs.items() if name not in names})
        return graph, True


def differences(device, graph, inputs, expected):
    """A sentence an output that is not the expected one."""
    given = {name: inputs[name].astype(numpy.uint8) if inputs[name].dtype == bool else inputs[name] for name in graph.inputs}
    made = graph.compute(device, given)
    for (name, got), wanted in zip(made.items(), expected.values()):
        if wanted.dtype == bool and got.dtype == numpy.uint8 and got.max(initial=0) <= 1:
            got = got.astype(bool)
        if got.dtype != wanted.dtype:
            yield f"{name}: {got.dtype}, expected {wanted.dtype}"
            continue
        try:
            numpy.testing.assert_allclose(got, wanted, RTOL, ATOL)
        except AssertionError as reason:
            yield f"{name}: " + " ".join(str(reason).split())[:160]


def run(device, folder):
    """(one of STATES, sentences)."""
    model = onnx.load(str(folder / "model.onnx"))
    constants = {tensor.name for tensor in model.graph.initializer}
    names = [each.name for each in model.graph.input if each.name not in constants]
    state, wrong = None, []
    for data in sorted(folder.glob("test_data_set_*")):
        try:
            inputs = dict(zip(names, tensors(data, "input", len(names))))
            expected = dict(zip((each.name for each in model.graph.output), tensors(data, "output", len(model.graph.output))))
        except (OSError, ValueError, TypeError):  # a sequence, an optional
            inputs = expected = {}
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        try:
            graph, had_constants = graph_of(copy, inputs)
        except Refused as refused:
            return "refused", refused.reasons
        state = "runs" if not had_constants else "constants" if graph.inputs else "folded"
        if len(expected) != len(graph.outputs):
            wrong.append(f"{len(graph.outputs)} outputs, expected {len(expected)}")
        try:
            wrong += differences(device, graph, inputs, expected)
        except (pto.Error, TypeError, ValueError, KeyError) as reason:
            wrong.append(repr(reason))
        graph.forget(device)
    if state is None:
        return "refused", ["has no data"]
    return ("wrong", wrong) if wrong else (state, [])


def operation_of(folder, group):
    """The operation that a case is about; the group of a case about a model."""
    nodes = onnx.load(str(folder / "model.onnx"), load_external_data=False).graph.node
    return nodes[0].op_type if group == "node" and len(nodes) == 1 else f"({group})" if group != "node" else "(several nodes)"


def judge(pattern=""):
    """Counts by operation and state, names of cases by refusal, and what is wrong."""
    counts, refusals, wrong = collections.defaultdict(collections.Counter), collections.defaultdict(list), []
    with pto.Context(engine="threads", workers=1) as device:
        for group in GROUPS:
            for folder in sorted((DATA / group).iterdir()):
                if not re.search(pattern, folder.name):
                    continue
                state, sentences = run(device, folder)
                counts[operation_of(folder, group)][state] += 1
                if state == "refused":
                    for sentence in sentences:
                        refusals[re.sub(r"^(\w+) '[^']*': ", r"\1: ", sentence)].append(folder.name)
                elif state == "wrong":
                    wrong += [f"{folder.name}: {sentence}" for sentence in sentences]
    return counts, refusals, wrong


def summary(counts):
    total = sum(counts.values(), collections.Counter())
    return (f"{sum(total.values())} cases: {total['runs']} run as they are, {total['constants']} with inputs as constants, "
            f"{total['folded']} folded, {total['refused']} refused, {total['wrong']} wrong")


def main(pattern=""):
    counts, refusals, wrong = judge(pattern)
    print(f"{'operation':<28}" + "".join(f"{state:>10}" for state in STATES))
    for name, row in sorted(counts.items()):
        print(f"{name:<28}" + "".join(f"{row[state] or '':>10}" for state in STATES))
    print("\nrefused, and how many cases say so:")
    for reason, cases in sorted(refusals.items(), key=lambda row: (-len(row[1]), row[0])):
        print(f"{len(cases):>5} {reason}")
    for sentence in wrong:
        print(f"wrong: {sentence}")
    print(summary(counts))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
