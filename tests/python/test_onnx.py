# SPDX-License-Identifier: MIT
"""ONNX files: onnx's own cases, models beside onnxruntime, sizes, refusals, the newer opsets, the command, a picture."""

import json
import os
import pathlib
import re
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
from pto.onnx_operations import operations  # noqa: E402

PAGE = pathlib.Path("docs/from-onnx.md")
PTOSIM = pathlib.Path(os.environ.get("PTO_BUILD_DIR", "build")) / "ptosim"
# Operations without a case in libonnx-testdata 1.12: those below.
HERE = {"AffineGrid", "CenterCropPad", "CumSum", "Einsum", "Gelu", "GlobalLpPool", "GroupNormalization", "LpNormalization", "LpPool", "Mish",
        "ReduceLogSumExp"}


@pytest.fixture(scope="module")
def device():
    with pto.Context(engine="threads", workers=1) as context:
        yield context


def model_of(nodes, inputs, outputs, constants=(), opset=17):
    """inputs: dtype and shape by name; outputs: names."""
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(name, *each) for name, each in inputs.items()],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
                              [numpy_helper.from_array(array, name) for name, array in dict(constants).items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def result(device, node, opset, array, **constants):
    """The first result of one node on one input."""
    model = model_of([node], {"x": (TensorProto.FLOAT, array.shape)}, node.output, constants, opset)
    graph = pto.from_onnx(model)
    made = graph.compute(device, {"x": array})
    graph.forget(device)
    return made[node.output[0]]


# ---- onnx's own cases ----


@pytest.fixture(scope="module")
def judged():
    if not onnx_cases.DATA.exists():
        pytest.skip("no libonnx-testdata: scripts/deps --python")
    return onnx_cases.judge()


def test_no_case_is_wrong(judged):
    assert judged[2] == []


def test_every_operation_has_a_case_that_runs(judged):
    running = {name for name, row in judged[0].items() if row["runs"] or row["constants"]}
    assert set(operations) - running - HERE == set()


def test_the_page_has_their_sum(judged):
    assert onnx_cases.summary(judged[0]) in PAGE.read_text().splitlines()


# ---- beside onnxruntime ----


def test_random_graphs_are_those_of_onnxruntime():
    folder = os.environ.get("PTO_ONNXRUNTIME")
    if not folder:
        pytest.skip("PTO_ONNXRUNTIME names no folder with npm's onnxruntime-node")
    asked = ["models", "1000"] if os.environ.get("PTO_TEST_LONG") else ["25"]
    told = subprocess.run([sys.executable, "tests/python/onnx_peer.py", folder, *asked], capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr


# ---- sizes, constants, refusals ----


def test_sizes_are_numbers_that_the_caller_gives(device):
    model, _ = onnx_models.gpt(layers=1, dim=32, heads=2, vocabulary=50, positions=16, length=5)
    with pytest.raises(Refused, match="--set sequence=N"):
        pto.from_onnx(model)
    with pytest.raises(Refused, match="no input has a size called 'batch'"):
        pto.from_onnx(model, sequence=7, batch=1)
    graph = pto.from_onnx(model, sequence=7)
    assert graph.inputs == {"tokens": ("i64", (1, 7))} and graph.outputs == {"logits": ("f32", (1, 7, 50))}


def test_all_that_is_missing_is_told_at_once():
    nodes = [helper.make_node("Unique", ["x"], ["a"], "first"), helper.make_node("Relu", ["a"], ["b"], "after"),
             helper.make_node("Einsum", ["x"], ["c"], "second", equation="ii->i"),
             helper.make_node("Add", ["b", "c"], ["y"], "sum")]
    with pytest.raises(Refused) as refused:
        pto.from_onnx(model_of(nodes, {"x": (TensorProto.FLOAT, (2, 2)), "z": (TensorProto.DOUBLE, (1,))}, ["y"]))
    assert refused.value.reasons == ["input 'z': double is no dtype of graphs", "Unique 'first': has no counterpart",
                                     "Einsum 'second': a diagonal has no counterpart",
                                     "not judged further, as what it takes is not known: Relu 'after' and 1 more"]


def reasons_of(model, **sizes):
    with pytest.raises(Refused) as refused:
        pto.from_onnx(model, **sizes)
    return refused.value.reasons


def test_nodes_behind_a_refused_one_are_judged_by_their_operation():
    nodes = [helper.make_node("Unique", ["x"], ["u"], "first"), helper.make_node("NonMaxSuppression", ["u", "u"], ["v"], "second"),
             helper.make_node("Inverse", ["v"], ["w"], "third", domain="com.microsoft"), helper.make_node("Neg", ["w"], ["y"], "last")]
    here, there = {"x": (TensorProto.FLOAT, (4,))}, {"x": (TensorProto.FLOAT, ("batch", 4))}
    wanted = ["Unique 'first': has no counterpart", "NonMaxSuppression 'second': has no counterpart",
              "Inverse 'third': the domain 'com.microsoft' has no counterpart",
              "not judged further, as what it takes is not known: Neg 'last'"]
    assert reasons_of(model_of(nodes, here, ["y"])) == wanted
    for node, reason in ((("Gelu", dict(approximate="erf")), "approximate 'erf' has no counterpart"),
                         (("ScatterND", dict(reduction="add")), "reduction 'add' has no counterpart"), (("Cast", dict(to=11)), None)):
        behind = helper.make_node(node[0], ["u", "x", "x"][:3 if node[0] == "ScatterND" else 1], ["y"], "n", **node[1])
        assert reasons_of(model_of([nodes[0], behind], here, ["y"]))[1] == (
            f"{node[0]} 'n': {reason}" if reason else "not judged further, as what it takes is not known: Cast 'n'")
    assert reasons_of(model_of(nodes, there, ["y"])) == ["input 'x' has sizes of no number: --set batch=N", *wanted]


@pytest.mark.parametrize("is_known", (False, True))
def test_the_branches_of_a_refused_if_are_judged_by_their_operations(is_known):
    branches = {f"{name}_branch": helper.make_graph([helper.make_node(op, ["x"], [name], name)], "b", [], [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None)]) for name, op in (("then", "Bernoulli"), ("else", "Neg"))}
    model = model_of([helper.make_node("If", ["c"], ["y"], "either", **branches)],
                     {"x": (TensorProto.FLOAT, (4,)), "c": (TensorProto.BOOL, () if is_known else ("n",))}, ["y"])
    first = "If 'either': the condition is computed by the model" if is_known else "input 'c' has sizes of no number: --set n=N"
    found = reasons_of(model)
    assert found[0].startswith(first) and found[1] == "Bernoulli 'then' in then_branch of If 'either': has no counterpart", found
    assert len(found) == 3 and found[2].startswith("not judged further"), found


def test_a_name_that_no_node_makes_before_it_is_taken_is_told():
    x = {"x": (TensorProto.FLOAT, (4,))}
    later = [helper.make_node("Relu", ["h"], ["y"], "r"), helper.make_node("Neg", ["x"], ["h"], "n")]
    assert reasons_of(model_of(later, x, ["y"])) == ["Relu 'r': it takes 'h', which no node before it makes"]
    assert reasons_of(model_of(later[:1], x, ["y"])) == ["Relu 'r': it takes 'h', which no node before it makes"]
    assert reasons_of(model_of(later[1:], x, ["y"])) == ["output 'y' is made by no node"]
    branch = helper.make_graph([], "empty", [], [helper.make_tensor_value_info("b", TensorProto.FLOAT, None)])
    either = helper.make_node("If", ["c"], ["y"], "either", then_branch=branch, else_branch=branch)
    assert reasons_of(model_of([either], x, ["y"], {"c": numpy.array(True)})) == [
        "If 'either': result 'b' of its graph 'empty' is made by no node"]


@pytest.mark.parametrize("size", ("3", 2.5, [1], -3, 0, True, 2 ** 70))
def test_a_size_is_a_whole_number(size):
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": (TensorProto.FLOAT, ("batch", 4))}, ["y"])
    assert reasons_of(model, batch=size) == [f"size 'batch' is {size!r}: a size is a whole number from 1 to 4294967295"]
    assert pto.from_onnx(model, batch=numpy.int64(3)).outputs == {"y": ("f32", (3, 4))}
    assert "most up to 4294967295" in reasons_of(model, batch=range(1, 2 ** 70))[0]


def test_external_data_lies_beside_the_model(device, tmp_path):
    model, arrays = onnx_models.mobilenet_v2(size=32)
    (tmp_path / "model").mkdir()
    path = tmp_path / "model" / "m.onnx"
    onnx.save(model, str(path), save_as_external_data=True, location="m.data", size_threshold=0)
    outside = onnx.load(str(path), load_external_data=False)
    made = pto.from_onnx(path, batch=1).compute(device, arrays)["probabilities"]
    assert made.shape == (1, 1000) and abs(made.sum() - 1) < 1e-4
    for tensor in outside.graph.initializer:
        next(each for each in tensor.external_data if each.key == "location").value = "../m.data"
    (tmp_path / "model" / "m.data").rename(tmp_path / "m.data")
    onnx.save(outside, str(path))
    with pytest.raises(Refused, match="is not beside the model"):
        pto.from_onnx(path, batch=1)


@pytest.mark.parametrize("equation, shapes", (
    ("ij,jk->ik", ((3, 4), (4, 5))), ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))), ("bhqd,bhkd->bhqk", ((1, 2, 3, 4), (1, 2, 5, 4))),
    ("i,j->ij", ((3,), (4,))), ("ij->ji", ((3, 4),)), ("ij->i", ((3, 4),)), ("ij,ij", ((3, 4), (3, 4))), ("kj,ik", ((4, 5), (3, 4))),
    ("ijk,kl,li->j", ((2, 3, 4), (4, 5), (5, 2))), ("aij,k->ki", ((2, 3, 4), (5,)))))
def test_einsum_is_numpys(device, equation, shapes):
    random = numpy.random.default_rng(3)
    arrays = {f"x{place}": random.standard_normal(shape, numpy.float32) for place, shape in enumerate(shapes)}
    model = model_of([helper.make_node("Einsum", list(arrays), ["y"], equation=equation)],
                     {name: (TensorProto.FLOAT, array.shape) for name, array in arrays.items()}, ["y"])
    graph = pto.from_onnx(model)
    made = graph.compute(device, arrays)["y"]
    graph.forget(device)
    numpy.testing.assert_allclose(made, numpy.einsum(equation, *arrays.values()), rtol=1e-5, atol=1e-5)


def test_an_if_of_a_constant_is_one_of_its_branches(device):
    def branch(*nodes):
        return helper.make_graph(list(nodes), "b", [], [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)])

    branches = {"then_branch": branch(helper.make_node("Relu", ["x"], ["a"])),
                "else_branch": branch(helper.make_node("Neg", ["x"], ["n"]), helper.make_node("Exp", ["n"], ["e"]))}
    nodes = [helper.make_node("If", ["which"], ["c"], **branches), helper.make_node("Abs", ["c"], ["y"])]
    x = numpy.linspace(-1, 1, 6, dtype=numpy.float32)
    for which, expected in ((True, numpy.maximum(x, 0)), (False, numpy.exp(-x))):
        graph = pto.from_onnx(model_of(nodes, {"x": (TensorProto.FLOAT, (6,))}, ["y"], {"which": numpy.array(which)}))
        numpy.testing.assert_allclose(graph.compute(device, {"x": x})["y"], expected, rtol=1e-6)
        graph.forget(device)
    with pytest.raises(Refused, match="the condition is computed by the model"):
        pto.from_onnx(model_of(nodes, {"x": (TensorProto.FLOAT, (6,)), "which": (TensorProto.BOOL, ())}, ["y"]))


@pytest.mark.parametrize("group, shape", ((1, (2, 4, 6, 5)), (4, (1, 4, 9))))
def test_a_batch_normalization_goes_into_a_convolution_that_nothing_else_takes(device, tmp_path, group, shape):
    random = numpy.random.default_rng(1)
    constants = {"w": random.standard_normal((8, 4 // group, *[3] * (len(shape) - 2)), numpy.float32),
                 **{name: random.standard_normal(8, numpy.float32) for name in ("b", "scale", "bias", "mean")},
                 "variance": random.random(8, numpy.float32)}
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], group=group),
             helper.make_node("BatchNormalization", ["c", "scale", "bias", "mean", "variance"], ["y"], epsilon=1e-3)]
    x, made, operations_of = random.standard_normal(shape, numpy.float32), [], []
    for outputs in (["y"], ["y", "c"]):
        graph = pto.from_onnx(model_of(nodes, {"x": (TensorProto.FLOAT, shape)}, outputs, constants))
        graph.save(tmp_path / "g.json")
        operations_of.append({each["op"] for each in json.loads((tmp_path / "g.json").read_text())["nodes"]} - {"squeeze", "unsqueeze"})
        made.append(graph.compute(device, {"x": x})["y"])
        graph.forget(device)
    assert operations_of == [{"conv2d"}, {"conv2d", "batchNormalization"}]
    numpy.testing.assert_allclose(made[0], made[1], rtol=1e-5, atol=1e-5)


def test_what_is_no_model_is_refused(tmp_path):
    (tmp_path / "x.onnx").write_bytes(b"\xff" * 40)
    with pytest.raises(Refused, match="is no ONNX file"):
        pto.from_onnx(tmp_path / "x.onnx")
    with pytest.raises(Refused, match="opset 22 is none of 1 to 21"):
        pto.from_onnx(model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": (TensorProto.FLOAT, (1,))}, ["y"], opset=22))


# ---- what newer opsets have ----


def test_opsets_18_to_21(device):
    x = numpy.random.default_rng(0).standard_normal((2, 5, 4), numpy.float32)

    def same(node, opset, wanted, **constants):
        numpy.testing.assert_allclose(result(device, node, opset, x, **constants), wanted, 1e-5, 1e-6)
    axes = numpy.array([1])
    same(helper.make_node("ReduceMax", ["x", "a"], ["y"], keepdims=0), 18, x.max(1), a=axes)
    same(helper.make_node("ReduceMax", ["x", "a"], ["y"], noop_with_empty_axes=1), 18, x, a=axes[:0])
    same(helper.make_node("Pad", ["x", "p", "", "a"], ["y"]), 18, numpy.pad(x, ((0, 0), (1, 2), (0, 0))), p=numpy.array([1, 2]), a=axes)
    same(helper.make_node("Split", ["x"], ["y", "z"], axis=1, num_outputs=2), 18, x[:, :3])
    same(helper.make_node("Reshape", ["x", "s"], ["y"], allowzero=0), 19, x.reshape(2, -1), s=numpy.array([0, -1]))
    half = numpy.vectorize(__import__("math").erf)(x / numpy.sqrt(2))
    same(helper.make_node("Gelu", ["x"], ["y"]), 20, x * (1 + half) / 2)
    inner = numpy.tanh(numpy.sqrt(2 / numpy.pi) * (x + 0.044715 * x ** 3))
    same(helper.make_node("Gelu", ["x"], ["y"], approximate="tanh"), 20, x * (1 + inner) / 2)


def test_normalizations_and_grids_of_newer_opsets(device):
    x = numpy.random.default_rng(0).standard_normal((2, 6, 4, 3), numpy.float32)

    def same(wanted, opset, name, inputs=("x",), array=x, **more):
        constants = {key: value for key, value in more.items() if isinstance(value, numpy.ndarray)}
        node = helper.make_node(name, [*inputs, *constants], ["y"], **{key: value for key, value in more.items() if key not in constants})
        made = result(device, node, opset, array, **constants)
        assert made.shape == wanted.shape
        numpy.testing.assert_allclose(made, wanted, 1e-5, 1e-6)

    same(x * numpy.tanh(numpy.log1p(numpy.exp(x))), 18, "Mish")
    rows = x.reshape(2, 3, -1).astype(float)
    normal = (rows - rows.mean(2, keepdims=True)) / numpy.sqrt(rows.var(2, keepdims=True) + 1e-5)
    scale, bias = numpy.float32([1, 2, -3]), numpy.float32([0.5, 0, 1])
    same((normal * scale[:, None] + bias[:, None]).reshape(x.shape), 18, "GroupNormalization", num_groups=3, scale=scale, bias=bias)
    scale, bias = numpy.arange(6, dtype=numpy.float32), numpy.ones(6, numpy.float32)
    same(normal.reshape(x.shape) * scale[:, None, None] + bias[:, None, None], 21, "GroupNormalization", num_groups=3, scale=scale, bias=bias)
    same(x / abs(x).sum(1, keepdims=True), 13, "LpNormalization", axis=1, p=1)
    same(x / numpy.sqrt((x ** 2).sum(-1, keepdims=True)), 13, "LpNormalization")
    same(numpy.sqrt((x ** 2).sum((2, 3), keepdims=True)), 13, "GlobalLpPool")
    same(numpy.pad(x, ((0, 0), (1, 2), (0, 0), (4, 5)), mode="wrap"), 19, "Pad", pads=numpy.array([0, 1, 0, 4, 0, 2, 0, 5]), mode="wrap")
    wider = numpy.zeros((2, 3, 7, 3), numpy.float32)
    wider[:, :, 1:5] = x[:, 1:4]
    same(wider, 18, "CenterCropPad", shape=numpy.array([3, 7]), axes=[1, -2])
    theta = numpy.random.default_rng(1).standard_normal((2, 2, 3), numpy.float32)
    for aligned in (0, 1):
        down, across = (numpy.linspace(-1, 1, n) if aligned else (numpy.arange(n) + 0.5) * 2 / n - 1 for n in (4, 5))
        places = [[[theta[n] @ [here, there, 1] for here in across] for there in down] for n in range(2)]
        same(numpy.array(places), 20, "AffineGrid", array=theta, size=numpy.array([2, 3, 4, 5]), align_corners=aligned)


@pytest.mark.parametrize("shape, kernel, more", (((2, 3, 7, 6), (3, 2), dict(pads=[1, 0, 1, 1], strides=[2, 1])), ((1, 2, 8), (3,), dict(dilations=[2], pads=[1, 2])),
                                                 ((1, 2, 5, 5), (2, 2), dict(strides=[2, 2], ceil_mode=1)), ((1, 2, 4, 3, 5), (2, 2, 3), {})))
def test_the_indices_of_a_pool_are_where_its_results_are(device, shape, kernel, more):
    x = numpy.random.default_rng(0).permutation(numpy.prod(shape)).reshape(shape).astype(numpy.float32)
    made = [pto.from_onnx(model_of([helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=kernel, storage_order=order, **more)],
                                   {"x": (TensorProto.FLOAT, shape)}, ["y", "i"])).compute(device, {"x": x}) for order in (0, 1)]
    values, indices = made[0]["y"], made[0]["i"]
    numpy.testing.assert_array_equal(x.reshape(-1)[indices], values)
    places = numpy.unravel_index(indices, shape)
    columns = numpy.ravel_multi_index(places[:1:-1], shape[:1:-1]) + (places[0] * shape[1] + places[1]) * numpy.prod(shape[2:])
    numpy.testing.assert_array_equal(made[1]["i"], columns)


def test_what_a_pool_took_is_put_back(device):
    x = numpy.random.default_rng(0).permutation(96).reshape(2, 3, 4, 4).astype(numpy.float32)
    nodes = [helper.make_node("MaxPool", ["x"], ["p", "i"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("MaxUnpool", ["p", "i"], ["y"], kernel_shape=[2, 2], strides=[2, 2])]
    made = pto.from_onnx(model_of(nodes, {"x": (TensorProto.FLOAT, x.shape)}, ["y"])).compute(device, {"x": x})["y"]
    largest = x.reshape(2, 3, 2, 2, 2, 2).max((3, 5)).repeat(2, 2).repeat(2, 3)
    numpy.testing.assert_array_equal(made, numpy.where(x == largest, x, 0))


def test_l2_pool(device):
    x = numpy.arange(16, dtype=numpy.float32).reshape(1, 1, 4, 4)
    made = result(device, helper.make_node("LpPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2], p=2), 17, x)
    numpy.testing.assert_allclose(made, numpy.sqrt((x ** 2).reshape(1, 1, 2, 2, 2, 2).sum((3, 5))), 1e-6)


def test_operations_whose_cases_are_double(device):
    x = numpy.random.default_rng(0).standard_normal((2, 5, 4), numpy.float32)
    made = result(device, helper.make_node("CumSum", ["x", "a"], ["y"], reverse=1), 14, x, a=numpy.array(-2))
    numpy.testing.assert_allclose(made, numpy.cumsum(x[:, ::-1], 1)[:, ::-1], 1e-5, 1e-6)
    made = result(device, helper.make_node("ReduceLogSumExp", ["x"], ["y"], axes=[0, 2], keepdims=0), 13, x)
    numpy.testing.assert_allclose(made, numpy.log(numpy.exp(x).sum((0, 2))), 1e-5, 1e-6)


@pytest.mark.parametrize("name, of, where", (
    ("Sinh", numpy.sinh, (-89, 89)), ("Cosh", numpy.cosh, (-89, 89)), ("Asinh", numpy.arcsinh, (-1.5e38, 1.5e38)),
    ("Acosh", numpy.arccosh, (1, 1.5e38)), ("Atanh", numpy.arctanh, (-1, 1)), ("Atan", numpy.arctan, (-3e38, 3e38)),
    ("Asin", numpy.arcsin, (-1, 1)), ("Acos", numpy.arccos, (-1, 1))))
def test_functions_over_all_of_their_range(device, name, of, where):
    small = numpy.concatenate([numpy.logspace(-6, 0, 300), numpy.linspace(0, 5, 300)])
    x = numpy.concatenate([small, -small, numpy.linspace(*where, 300)]).astype(numpy.float32)
    x = numpy.concatenate([x[(where[0] <= x) & (x <= where[1])], numpy.float32([*where, numpy.nan])])
    made = result(device, helper.make_node(name, ["x"], ["y"]), 13, x)
    with numpy.errstate(divide="ignore"):
        wanted = of(x.astype(numpy.float64)).astype(numpy.float32)
    numpy.testing.assert_allclose(made, wanted, 1e-5, 2e-7 if name == "Acos" else 0)


def test_top_k_takes_equal_and_infinite_ones_once(device):
    x = numpy.array([[1, 3, 3, -numpy.inf, 3], [-numpy.inf, 2, -numpy.inf, -numpy.inf, -numpy.inf]], numpy.float32)
    model = model_of([helper.make_node("TopK", ["x", "k"], ["y", "i"])], {"x": (TensorProto.FLOAT, x.shape)}, ["y", "i"], {"k": numpy.array([4])})
    made = pto.from_onnx(model).compute(device, {"x": x})
    assert made["i"].tolist() == [[1, 2, 4, 0], [1, 0, 2, 3]]
    numpy.testing.assert_array_equal(made["y"], numpy.take_along_axis(x, made["i"], 1))


def test_rnn_both_ways_is_its_sum(device):
    random = numpy.random.default_rng(0)
    w, r, b, h = (random.standard_normal(shape, numpy.float32) / 2 for shape in ((2, 4, 3), (2, 4, 4), (2, 8), (2, 5, 4)))
    x, expected, last = random.standard_normal((6, 5, 3), numpy.float32), numpy.empty((6, 2, 5, 4), numpy.float32), []
    for side, steps in enumerate((range(6), range(5, -1, -1))):
        state = h[side]
        for step in steps:
            state = expected[step, side] = numpy.tanh(x[step] @ w[side].T + state @ r[side].T + b[side, :4] + b[side, 4:])
        last.append(state)
    node = helper.make_node("RNN", ["x", "w", "r", "b", "", "h"], ["y", "l"], direction="bidirectional")
    made = pto.from_onnx(model_of([node], {"x": (TensorProto.FLOAT, x.shape)}, ["y", "l"], dict(w=w, r=r, b=b, h=h))).compute(device, {"x": x})
    numpy.testing.assert_allclose(made["y"], expected, 1e-5, 1e-6)
    numpy.testing.assert_allclose(made["l"], last, 1e-5, 1e-6)


def test_a_dynamically_quantized_product(device):
    """As exporters write it, with a scale a column; and of zeros, whose scale is not 0."""
    random = numpy.random.default_rng(0)
    x, w = random.standard_normal((3, 200), numpy.float32), random.integers(-127, 128, (200, 7), numpy.int8)
    zero = random.integers(-9, 9, 7, numpy.int8)
    nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), helper.make_node("MatMulInteger", ["q", "w", "z", "v"], ["p"]),
             helper.make_node("Cast", ["p"], ["f"], to=TensorProto.FLOAT), helper.make_node("Mul", ["f", "s"], ["y"])]
    graph = pto.from_onnx(model_of(nodes, {"x": (TensorProto.FLOAT, x.shape)}, ["y", "p", "q", "z"], {"w": w, "v": zero}))
    made = graph.compute(device, {"x": x})
    products = (made["q"].astype(int) - int(made["z"])) @ (w.astype(int) - zero)
    assert made["p"].dtype == numpy.int32 and (made["p"] == products).all()
    exact = x @ (w.astype(float) - zero)
    assert abs(made["y"] - exact).max() < abs(exact).max() / 50
    assert (graph.compute(device, {"x": 0 * x})["y"] == 0).all()


def test_a_quantized_convolution_has_a_scale_a_channel(device):
    random = numpy.random.default_rng(0)
    x, w = random.integers(0, 256, (1, 2, 5, 5), numpy.uint8), random.integers(-127, 128, (3, 2, 3, 3), numpy.int8)
    scales, bias = numpy.array([0.01, 0.02, 0.003], numpy.float32), random.integers(-999, 999, 3, numpy.int32)
    constants = {"xs": numpy.float32(0.05), "xz": numpy.uint8(128), "w": w, "ws": scales, "wz": numpy.zeros(3, numpy.int8),
                 "ys": numpy.float32(0.1), "yz": numpy.uint8(100), "b": bias}
    node = helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"], pads=[1, 1, 1, 1])
    made = pto.from_onnx(model_of([node], {"x": (TensorProto.UINT8, x.shape)}, ["y"], constants)).compute(device, {"x": x})["y"]
    wide = numpy.pad(x.astype(int) - 128, ((0, 0), (0, 0), (1, 1), (1, 1)))
    sums = sum(numpy.einsum("nchw,oc->nohw", wide[:, :, i:i + 5, j:j + 5], w[:, :, i, j].astype(int)) for i in range(3) for j in range(3))
    exact = (sums + bias[:, None, None]) * 0.05 * scales[:, None, None] / 0.1 + 100
    assert made.dtype == numpy.uint8 and len(numpy.unique(made)) > 20
    assert abs(made - exact.clip(0, 255)).max() < 0.501


@pytest.mark.parametrize("attributes, group, shape", ((dict(pads=[1, 0, 2, 0, 1, 1], strides=[2, 1, 2]), 1, (2, 4, 5, 6, 7)),
                                                    (dict(dilations=[2, 1, 1]), 2, (1, 4, 6, 4, 4))))
def test_a_convolution_of_three_dimensions_is_numpys(device, attributes, group, shape):
    random = numpy.random.default_rng(0)
    x, w, b = random.standard_normal(shape, numpy.float32), random.standard_normal((6, 4 // group, 3, 2, 3), numpy.float32), numpy.arange(6, dtype=numpy.float32)
    pads, strides, dilations = (attributes.get(*each) for each in (("pads", [0] * 6), ("strides", [1] * 3), ("dilations", [1] * 3)))
    wide = numpy.pad(x, ((0, 0), (0, 0), *zip(pads[:3], pads[3:])))
    reach = [(kernel - 1) * dilation + 1 for kernel, dilation in zip(w.shape[2:], dilations)]
    windows = numpy.lib.stride_tricks.sliding_window_view(wide, reach, (2, 3, 4))
    windows = windows[(..., *(slice(None, None, each) for each in strides), *(slice(None, None, each) for each in dilations))]
    windows = windows.reshape(shape[0], group, 4 // group, *windows.shape[2:])
    wanted = numpy.einsum("ngcdhwxyz,gocxyz->ngodhw", windows, w.reshape(group, 6 // group, *w.shape[1:]))
    wanted = wanted.reshape(shape[0], 6, *wanted.shape[3:]) + b[:, None, None, None]
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], group=group, **attributes)
    numpy.testing.assert_allclose(result(device, node, 13, x, w=w, b=b), wanted, 1e-4, 1e-4)


def test_an_average_of_three_dimensions_leaves_the_padding_out(device):
    x = numpy.arange(60, dtype=numpy.float32).reshape(1, 1, 3, 4, 5)
    made = result(device, helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2, 3, 3], pads=[1, 1, 1, 0, 1, 1], strides=[1, 2, 2]), 11, x)
    for at in numpy.ndindex(made.shape[2:]):
        begins = [each * stride - 1 for each, stride in zip(at, (1, 2, 2))]
        box = tuple(slice(max(begin, 0), begin + size) for begin, size in zip(begins, (2, 3, 3)))
        numpy.testing.assert_allclose(made[0, 0][at], x[0, 0][box].mean(), 1e-6)


def test_resize_of_any_rank_and_what_it_refuses(device):
    x = numpy.random.default_rng(0).standard_normal((3, 4, 5), numpy.float32)
    node = helper.make_node("Resize", ["x", "", "", "s"], ["y"], mode="linear", coordinate_transformation_mode="align_corners")
    made = result(device, node, 13, x, s=numpy.array([5, 7, 2]))
    places = [numpy.linspace(0, extent - 1, size) for extent, size in zip(x.shape, made.shape)]
    wanted = x.astype(float)
    for axis, at in enumerate(places):
        wanted = numpy.apply_along_axis(lambda row: numpy.interp(at, numpy.arange(row.size), row), axis, wanted)
    numpy.testing.assert_allclose(made, wanted, 1e-5, 1e-5)
    for reason, more in (("antialias 1", dict(antialias=1)), ("of no whole size", {})):
        node = helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear", coordinate_transformation_mode="align_corners", **more)
        with pytest.raises(Refused, match=reason):
            result(device, node, 18, x, s=numpy.array([1, 1.3, 1], numpy.float32))


def test_weights_of_4_bits_in_blocks(device):
    codes = numpy.array([[0, 1, 7, -8], [-1, 2, -3, 4]], numpy.int8)
    scales = numpy.array([[0.5, 2], [1, 0.25]], numpy.float32)
    tensor = TensorProto(name="w", dims=codes.shape, data_type=22)
    flat = codes.reshape(-1).astype(numpy.uint8) & 15
    tensor.raw_data = (flat[::2] | flat[1::2] << 4).tobytes()
    nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["f"], axis=1, block_size=2), helper.make_node("Add", ["x", "f"], ["y"])]
    model = model_of(nodes, {"x": (TensorProto.FLOAT, (2, 4))}, ["y"], {"s": scales}, 21)
    model.graph.initializer.append(tensor)
    made = pto.from_onnx(model).compute(device, {"x": numpy.zeros((2, 4), numpy.float32)})["y"]
    numpy.testing.assert_array_equal(made, codes * numpy.repeat(scales, 2, 1))


def test_weights_of_small_floats_become_float32(device):
    codes = {17: [0x38, 0xFE, 0x01], 19: [0x3C, 0xFB, 0x01], 23: [0xF2, 0x01], 24: [127, 130, 126]}
    wanted = {17: [1, -448, 2**-9], 19: [1, -57344, 2**-16], 23: [1, -6, 0.5], 24: [1, 8, 0.5]}
    x = numpy.zeros(3, numpy.float32)
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], {"x": (TensorProto.FLOAT, [3])}, ["y"])
    weights = model.graph.initializer.add(name="w", dims=[3])
    for dtype in codes:
        for raw in (True, False):
            weights.ClearField("raw_data")
            weights.ClearField("int32_data")
            weights.data_type = dtype
            if raw:
                weights.raw_data = bytes(codes[dtype])
            else:
                weights.int32_data.extend(codes[dtype])
            assert pto.from_onnx(model).compute(device, {"x": x})["y"].tolist() == wanted[dtype]
    weights.data_type = 18
    with pytest.raises(Refused, match="initialiser 'w': (element type 18|float8e4m3fnuz) is no dtype of graphs"):
        pto.from_onnx(model)


def raw(name, code, dims, data):
    """A tensor of a dtype that onnx 1.12 has no name for."""
    return TensorProto(name=name, dims=dims, data_type=code, raw_data=bytes(data))


@pytest.mark.parametrize("code, low, high", ((None, 0, 255), (2, 0, 255), (3, -128, 127), (21, 0, 15), (22, -8, 7)))
def test_what_is_quantized_has_the_dtype_that_is_asked_for(device, code, low, high):
    x = numpy.linspace(-200, 400, 601, dtype=numpy.float32)
    nodes = [helper.make_node("QuantizeLinear", ["x", "s"], ["q"], **({} if code is None else {"output_dtype": code})),
             helper.make_node("DequantizeLinear", ["q", "s"], ["y"])]
    made = pto.from_onnx(model_of(nodes, {"x": (TensorProto.FLOAT, x.shape)}, ["y"], {"s": numpy.float32(0.5)}, 21)).compute(device, {"x": x})
    numpy.testing.assert_array_equal(made["y"], numpy.clip(numpy.rint(x * 2), low, high) / 2)


def test_weights_of_float8_are_dequantized_when_the_model_is_read(device):
    codes, wanted = [0x38, 0x40, 0xB8, 0x00, 0x01, 0xFE], numpy.float32([1, 2, -1, 0, 2**-9, -448])
    x = numpy.zeros((2, 3), numpy.float32)
    for scales, blocks, shares in ((numpy.float32(0.5), {}, 0.5), (numpy.float32([2, 4]), {"axis": 0}, [[2], [4]]),
                                   (numpy.float32([[2, 4], [8, 16]]), {"block_size": 2}, [[2, 2, 4], [8, 8, 16]])):
        nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["f"], **blocks), helper.make_node("Add", ["x", "f"], ["y"])]
        model = model_of(nodes, {"x": (TensorProto.FLOAT, x.shape)}, ["y"], {"s": scales}, 21)
        model.graph.initializer.append(raw("w", 17, [2, 3], codes))
        numpy.testing.assert_array_equal(pto.from_onnx(model).compute(device, {"x": x})["y"], wanted.reshape(2, 3) * numpy.float32(shares))


def test_constants_are_of_every_dtype_that_initialisers_have(device):
    x = numpy.zeros(4, numpy.float32)
    of_float8 = [helper.make_node("Constant", [], ["w"], value=raw("", 17, [4], [0x38, 0x40, 0xB8, 0])), helper.make_node("Add", ["x", "w"], ["y"])]
    of_4_bits = [helper.make_node("Constant", [], ["w"], value=raw("", 22, [4], [0x21, 0xF8])),
                 helper.make_node("DequantizeLinear", ["w", "s"], ["f"]), helper.make_node("Add", ["x", "f"], ["y"])]
    for nodes, wanted in ((of_float8, [1, 2, -1, 0]), (of_4_bits, [0.5, 1, -4, -0.5])):
        model = model_of(nodes, {"x": (TensorProto.FLOAT, [4])}, ["y"], {"s": numpy.float32(0.5)}, 21)
        assert pto.from_onnx(model).compute(device, {"x": x})["y"].tolist() == wanted


@pytest.mark.parametrize("is_constant", (False, True))
@pytest.mark.parametrize("scale, bias", (((3, 4), (4,)), ((4,), (3, 4)), ((), None), ((3, 1), (1, 3, 4)), ((2, 1, 4), (2, 3, 1)), ((1, 3, 4), ())))
def test_scale_and_bias_of_a_layer_normalization_broadcast(device, scale, bias, is_constant):
    draw = numpy.random.default_rng(5)
    x = draw.standard_normal((2, 3, 4)).astype(numpy.float32)
    rows = {name: draw.standard_normal(shape).astype(numpy.float32) for name, shape in (("s", scale), ("b", bias)) if shape is not None}
    rows = {name: numpy.asarray(each, numpy.float32) for name, each in rows.items()}
    node = helper.make_node("LayerNormalization", ["x", *rows], ["y"], axis=1)
    given = {"x": x} if is_constant else {"x": x, **rows}
    graph = pto.from_onnx(model_of([node], {name: (TensorProto.FLOAT, each.shape) for name, each in given.items()}, ["y"],
                                   rows if is_constant else {}))
    made = graph.compute(device, given)["y"]
    graph.forget(device)
    wide = x.astype(numpy.float64)
    rest = wide - wide.mean((1, 2), keepdims=True)
    wanted = rest / numpy.sqrt((rest ** 2).mean((1, 2), keepdims=True) + 1e-5) * rows["s"] + rows.get("b", 0)
    numpy.testing.assert_allclose(made, wanted, 1e-4, 1e-5)


def test_a_scale_that_does_not_broadcast_is_refused():
    node = helper.make_node("LayerNormalization", ["x", "s"], ["y"], "n")
    for shape in ((3,), (2, 1, 1, 4), (5, 3, 4)):
        model = model_of([node], {"x": (TensorProto.FLOAT, (2, 3, 4))}, ["y"], {"s": numpy.ones(shape, numpy.float32)})
        assert reasons_of(model) == [f"LayerNormalization 'n': scale of shape {shape} does not broadcast to (2, 3, 4)"]


@pytest.mark.parametrize("node, opset, sentence", (
    (dict(op_type="Cast", inputs=["x"], to=17), 19, "Cast 'n': float8e4m3fn is no dtype of graphs"),
    (dict(op_type="Cast", inputs=["x"], to=11), 19, "Cast 'n': double is no dtype of graphs"),
    (dict(op_type="CastLike", inputs=["x", "f8"]), 19, "CastLike 'n': float8e5m2 is no dtype of graphs"),
    (dict(op_type="QuantizeLinear", inputs=["x", "s", "f8"]), 19, "QuantizeLinear 'n': float8e5m2 is no dtype of graphs"),
    (dict(op_type="QuantizeLinear", inputs=["x", "s"], output_dtype=23), 21, "QuantizeLinear 'n': float4e2m1 is no dtype of graphs"),
    (dict(op_type="QuantizeLinear", inputs=["x", "s"], output_dtype=5), 21, "QuantizeLinear 'n': int16 is no dtype of graphs"),
    (dict(op_type="QuantizeLinear", inputs=["x", "s", "i8"], output_dtype=2), 21, "QuantizeLinear 'n': output_dtype is uint8, and the zero"),
    (dict(op_type="Add", inputs=["x", "row"], broadcast=1, axis=0), 6, "Add 'n': attribute axis has no counterpart"),
    (dict(op_type="Relu", inputs=["x"], slope=0.5), 13, "Relu 'n': attribute slope has no counterpart"),
))
def test_what_would_be_another_result_is_refused_by_the_node_s_name(node, opset, sentence):
    node = dict(node)
    made = helper.make_node(node.pop("op_type"), node.pop("inputs"), ["y"], "n", **node)
    constants = {"s": numpy.float32(0.5), "i8": numpy.int8(0), "row": numpy.ones(2, numpy.float32)}
    model = model_of([made], {"x": (TensorProto.FLOAT, [2, 2])}, ["y"], constants, opset)
    model.graph.initializer.append(raw("f8", 19, [], [0]))
    with pytest.raises(Refused, match=sentence):
        pto.from_onnx(model)
    of_float8 = model_of([made], {"x": (17, [2, 2])}, ["y"], constants, opset)
    with pytest.raises(Refused, match="input 'x': float8e4m3fn is no dtype of graphs"):
        pto.from_onnx(of_float8)


# ---- the command, the page, a picture ----


def ptosim(*words):
    told = subprocess.run([PTOSIM, *map(str, words)], capture_output=True, text=True, env={**os.environ, "PYTHON": sys.executable})
    return told.returncode, told.stdout + told.stderr


def test_ptosim_takes_an_onnx_file(tmp_path):
    model, _ = onnx_models.llama(layers=1, dim=32, heads=2, hidden=48, vocabulary=50, positions=16, length=5)
    path = tmp_path / "small.onnx"
    onnx.save(model, str(path))
    code, text = ptosim("graph", path, "--set", "sequence=5", "--run", "--compare", "reference")
    assert code == 0 and "within tolerance" in text, text
    code, text = ptosim("run", path, "--set", "sequence=5", "--set", "compare=reference")
    assert code == 0 and "verified" in text, text
    code, text = ptosim("check", path, "--set", "sequence=5")
    assert code == 0 and "0 findings" in text, text
    code, text = ptosim("graph", path)
    assert code == 2 and "input 'tokens' has sizes of no number: --set sequence=N" in text, text
    code, text = ptosim("graph", path, "--set", "sequence=-3")
    assert code == 2 and "size 'sequence' is -3: a size is a whole number" in text and "Traceback" not in text, text
    path.write_text("no model")
    assert ptosim("graph", path)[0] == 2


def test_ptosim_tells_of_all_refused_nodes(tmp_path):
    path, names = tmp_path / "many.onnx", [f"/model/layers.{at}/self_attn/Bernoulli" for at in range(60)]
    onnx.save(model_of([helper.make_node("Bernoulli", ["x"], [f"y{at}"], name) for at, name in enumerate(names)],
                       {"x": (TensorProto.FLOAT, (4,))}, ["y0"]), str(path))
    code, text = ptosim("graph", path)
    *lines, last = text.splitlines()
    assert code == 2 and lines == [f"Bernoulli '{name}': has no counterpart" for name in names], text
    assert last == f"ptosim: graph: {path}: standard error has 60 lines about it; the first: {lines[0]}"


def test_the_table_of_the_page_is_that_of_the_module():
    rows = [line.split(" | ")[0].strip("| ") for line in PAGE.read_text().splitlines() if re.match(r"\| [A-Z]", line)]
    named = {name for row in rows for name in re.findall(r"\b[A-Z][A-Za-z0-9]+", re.sub(r"\(.*?\)", "", row))}
    assert named - {"ONNX"} == set(operations)


def test_from_a_picture_to_labels(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="no PIL: scripts/deps --python")
    model, _ = onnx_models.mobilenet_v2(size=96)
    onnx.save(model, str(tmp_path / "m.onnx"))
    pixels = numpy.random.default_rng(1).integers(0, 256, (120, 160, 3), numpy.uint8)
    image.fromarray(pixels).save(tmp_path / "picture.png")
    (tmp_path / "labels.txt").write_text("".join(f"label {at}\n" for at in range(1000)))
    words = [sys.executable, "-m", "pto.onnx_classify", *(tmp_path / name for name in ("m.onnx", "picture.png", "labels.txt"))]
    told = subprocess.run(words, capture_output=True, text=True)
    lines = told.stdout.splitlines()
    assert len(lines) == 6 and lines[-1] == "the weights are random: the answer means nothing", told.stdout + told.stderr
    shares = [float(line.split("%")[0]) for line in lines[:5]]
    assert shares == sorted(shares, reverse=True) and all("label " in line for line in lines[:5])
    (tmp_path / "labels.txt").write_text("one\n")
    said = [subprocess.run(each, capture_output=True, text=True) for each in (words, words[:4], [*words[:3], words[4], *words[4:]])]
    for each, sentence in zip(said, ("there are 1 labels", "usage: ", "is no ONNX file")):
        assert each.returncode == 1 and "Traceback" not in each.stderr and sentence in each.stderr.splitlines()[-1], each


@pytest.mark.parametrize("named", (("batch", 3, "height", "width"), (None, 3, None, None)))
def test_sizes_of_a_picture_s_model_are_set(tmp_path, named):
    image = pytest.importorskip("PIL.Image", reason="no PIL: scripts/deps --python")
    nodes = [helper.make_node("GlobalAveragePool", ["image"], ["p"]), helper.make_node("Flatten", ["p"], ["y"])]
    onnx.save(model_of(nodes, {"image": (TensorProto.FLOAT, named)}, ["y"]), str(tmp_path / "m.onnx"))
    image.new("RGB", (40, 30), (255, 0, 0)).save(tmp_path / "picture.png")
    (tmp_path / "labels.txt").write_text("red\ngreen\nblue\n")
    words = [sys.executable, "-m", "pto.onnx_classify", *(tmp_path / name for name in ("m.onnx", "picture.png", "labels.txt"))]
    height, width = (name or f"image.{at}" for at, name in enumerate(named[2:], 2))
    told = subprocess.run(words, capture_output=True, text=True)
    assert told.returncode == 1 and f"sizes of no number: --set {height}=N --set {width}=N" in told.stderr, told.stderr
    told = subprocess.run([*words, "--set", f"{height}=16", "--set", f"{width}=24"], capture_output=True, text=True)
    assert told.returncode == 0 and told.stdout.splitlines()[0].endswith("  red"), told.stdout + told.stderr
    for more in (["--set"], ["height=16"], ["--set", "height=x"]):
        told = subprocess.run([*words, *more], capture_output=True, text=True)
        assert told.returncode == 1 and "Traceback" not in told.stderr, told.stderr
