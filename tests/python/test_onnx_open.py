# SPDX-License-Identifier: MIT
"""Sizes of ONNX files that stay open: one conversion gives what a conversion for each value gives, or is refused."""

import collections
import os
import pathlib
import subprocess
import sys

import numpy
import pytest

import pto

onnx = pytest.importorskip("onnx", reason="no onnx: scripts/deps --python")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import onnx_cases  # noqa: E402
import onnx_models  # noqa: E402
from pto.onnx import Refused  # noqa: E402

EVERY = 1 if os.environ.get("PTO_TEST_LONG") else 8  # of onnx's cases
PTOSIM = pathlib.Path(os.environ.get("PTO_BUILD_DIR", "build")) / "ptosim"


@pytest.fixture(scope="module")
def device():
    with pto.Context(engine="threads", workers=1) as context:
        yield context


def case_of(folder):
    """A case with inputs that had to be constants as such: the model, inputs that are left, expected outputs; None without."""
    model = onnx.load(str(folder / "model.onnx"))
    constants = {tensor.name for tensor in model.graph.initializer}
    names = [each.name for each in model.graph.input if each.name not in constants]
    data = folder / "test_data_set_0"
    try:
        inputs = dict(zip(names, onnx_cases.tensors(data, "input", len(names))))
        expected = dict(zip((each.name for each in model.graph.output), onnx_cases.tensors(data, "output", len(model.graph.output))))
        graph, _ = onnx_cases.graph_of(model, inputs)
    except (OSError, ValueError, TypeError, KeyError, Refused):
        return None
    return model, {name: inputs[name] for name in graph.inputs}, expected


def with_open(model, inputs, extent):
    """A copy whose dimensions of that extent are called n."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for each in copy.graph.input:
        for dim in each.type.tensor_type.shape.dim if each.name in inputs else ():
            if dim.dim_value == extent:
                dim.dim_param = "n"
    return copy


def test_cases_of_onnx_are_right_as_half_of_what_their_sizes_may_be(device):
    """Each extent in turn, as the half of the most: the larger conversion has to give the published result."""
    if not onnx_cases.DATA.exists():
        pytest.skip("no libonnx-testdata: scripts/deps --python")
    came, wrong = collections.Counter(), []
    for folder in sorted((onnx_cases.DATA / "node").iterdir())[::EVERY]:
        case = case_of(folder)
        if case is None:
            continue
        model, inputs, expected = case
        for extent in sorted({extent for array in inputs.values() for extent in array.shape if extent > 1}):
            try:
                graph = pto.from_onnx(with_open(model, inputs, extent), n=range(1, 2 * extent + 1)).bind(n=extent)
            except Refused:
                came["refused"] += 1
                continue
            wrong += [f"{folder.name}, {extent}: {each}" for each in onnx_cases.differences(device, graph, inputs, expected)]
            graph.forget(device)
            came["ran"] += 1
    assert wrong == []
    assert came["ran"] > 1500 // EVERY and came["refused"] < 200 // EVERY, came


@pytest.mark.parametrize("name", ("gpt", "llama"))
def test_a_decoder_of_any_length_is_that_of_each_length(device, name):
    """Its positions and its causal mask are constants of the length."""
    more = {"hidden": 48} if name == "llama" else {}
    model, _ = getattr(onnx_models, name)(layers=1, dim=32, heads=2, vocabulary=50, positions=16, length=5, **more)
    graph = pto.from_onnx(model, sequence=range(1, 17))
    assert graph.sizes == {"sequence": 16}
    for length in range(1, 17):
        tokens = numpy.random.default_rng(length).integers(0, 50, (1, length))
        bound, alone = graph.bind(sequence=length), pto.from_onnx(model, sequence=length)
        made, wanted = (each.compute(device, {"tokens": tokens})["logits"] for each in (bound, alone))
        assert made.shape == (1, length, 50) and (made == wanted).all(), length
        bound.forget(device)
        alone.forget(device)


def test_an_image_model_of_any_batch_is_that_of_each_batch(tmp_path):
    model, _ = onnx_models.mobilenet_v2(size=32)
    graph = pto.from_onnx(model, batch=range(1, 9))
    for batch in (1, 2, 5, 8):
        for place, each in enumerate((graph.bind(batch=batch), pto.from_onnx(model, batch=batch))):
            (tmp_path / str(place)).mkdir(exist_ok=True)
            each.save(tmp_path / str(place) / "m.json")
        for file in ("m.json", "m.safetensors"):
            assert (tmp_path / "0" / file).read_bytes() == (tmp_path / "1" / file).read_bytes(), (batch, file)


def of(*nodes, constants=(), shape=("n", "m")):
    """A model of nodes from x to y."""
    graph = helper.make_graph(list(nodes), "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(array, name) for name, array in dict(constants).items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_what_a_product_of_sizes_is_follows_from_its_reshape(device):
    model = of(helper.make_node("Reshape", ["x", "s"], ["r"]), helper.make_node("Exp", ["r"], ["e"]),
               helper.make_node("Shape", ["x"], ["h"]), helper.make_node("Reshape", ["e", "h"], ["y"]), constants={"s": numpy.array([-1])})
    graph = pto.from_onnx(model, n=range(1, 9), m=range(1, 6))
    assert graph.sizes == {"n": 8, "m": 5} and graph.inputs["x"] == ("f32", (8, 5))
    for shape in ((8, 5), (1, 1), (3, 4)):
        x = numpy.linspace(-1, 1, shape[0] * shape[1], dtype=numpy.float32).reshape(shape)
        bound = graph.bind(n=shape[0], m=shape[1])
        numpy.testing.assert_allclose(bound.compute(device, {"x": x})["y"], numpy.exp(x), 1e-6)
        bound.forget(device)


@pytest.mark.parametrize("end", (2 ** 31 - 1, 2 ** 63 - 1))
def test_the_last_place_is_that_of_each_size(device, end):
    """As of a decoder that gives the last token's logits; the second dimension is cut from the front."""
    def model(start):
        return of(helper.make_node("Slice", ["x", "s", "e", "a"], ["y"], "last"),
                  constants={"s": numpy.array([start, 1]), "e": numpy.array([end, 3]), "a": numpy.array([0, -1])}, shape=("n", 4))

    with pytest.raises(Refused, match="'last': what becomes of it is another with n = 1"):  # of which there are no two
        pto.from_onnx(model(-2), n=range(1, 9))
    graph = pto.from_onnx(model(-1), n=range(1, 9))
    for count in (1, 2, 3, 5, 8):
        x = numpy.arange(4 * count, dtype=numpy.float32).reshape(count, 4)
        bound = graph.bind(n=count)
        numpy.testing.assert_array_equal(bound.compute(device, {"x": x})["y"], x[-1:, 1:3])
        bound.forget(device)


def test_what_depends_on_a_size_is_refused_by_name():
    shape = helper.make_node("Shape", ["x"], ["h"], start=0, end=1)
    as_float = helper.make_node("Cast", ["h"], ["f"], to=TensorProto.FLOAT)

    def says(sentence, *nodes, n=range(1, 9), **more):
        with pytest.raises(Refused, match=sentence):
            pto.from_onnx(of(*nodes, **more), n=n, m=3)

    says("div 'mean': a constant of it is another with n = 7", shape, as_float, helper.make_node("Div", ["x", "f"], ["y"], "mean"))
    branches = {name: helper.make_graph([helper.make_node(op, ["x"], [name])], "b", [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)])
                for name, op in (("then_branch", "Relu"), ("else_branch", "Neg"))}
    says("'.*': what becomes of it is another with n = 1", shape, helper.make_node("Less", ["h", "two"], ["l"]),
         helper.make_node("If", ["l"], ["y"], "short", **branches), constants={"two": numpy.array([2])})
    says("slice 'inner': its sizes is 6, and with smaller sizes no part of it",
         helper.make_node("Slice", ["x", "s", "e", "a"], ["y"], "inner"),
         constants={"s": numpy.array([1]), "e": numpy.array([-1]), "a": numpy.array([0])})
    says("size 'n' is range.0, 9.: a size that stays open is range.1, most . 1.", helper.make_node("Relu", ["x"], ["y"]), n=range(0, 9))
    # What fits large sizes alone is refused with the others when it is bound.
    graph = pto.from_onnx(of(helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3]), shape=(1, 1, "n", 5)), n=range(1, 9))
    assert graph.bind(n=3).outputs == {"y": ("f32", (1, 1, 1, 3))}
    with pytest.raises(pto.errors.EINVAL, match="with n = 2"):
        graph.bind(n=2)


def test_the_command_keeps_sizes_open(tmp_path):
    model, _ = onnx_models.mobilenet_v2(size=32)
    onnx.save(model, str(tmp_path / "m.onnx"))

    def ptosim(*words):
        told = subprocess.run([PTOSIM, *map(str, words)], capture_output=True, text=True, env={**os.environ, "PYTHON": sys.executable})
        return told.returncode, told.stdout + told.stderr

    code, text = ptosim("graph", tmp_path / "m.onnx", "--set", "batch=1..4", "--save", tmp_path / "m.json")
    assert code == 0 and "sizes      batch                            1 to 4" in text, text
    code, text = ptosim("graph", tmp_path / "m.json", "--set", "batch=3", "--run")
    assert code == 0 and "float32 [3, 1000]" in text, text
    code, text = ptosim("graph", tmp_path / "m.onnx", "--set", "batch=1..4", "--run")
    assert code == 2 and '"batch=1..4" is not NAME=NUMBER' in text, text
    assert "sizes are whole numbers, or 1..MOST" in ptosim("graph", tmp_path / "m.onnx", "--set", "batch=1..x")[1]
