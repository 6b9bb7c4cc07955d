# SPDX-License-Identifier: MIT
"""ONNX's transforms, determinants, samples and loops, beside numpy and loops written out.  PTO_TEST_LONG: samples beside torch, too."""

import itertools
import os

import numpy
import pytest

import pto

onnx = pytest.importorskip("onnx", reason="no onnx: scripts/deps --python")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from pto.onnx import Refused  # noqa: E402


@pytest.fixture(scope="module")
def device():
    with pto.Context(engine="threads", workers=1) as context:
        yield context


def results(device, nodes, inputs, constants=(), outputs=("y",), opset=17, saved=None):
    """Arrays by name of a model of nodes; of its graph as it is saved, where saved is a path."""
    given = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype) if hasattr(helper, "np_dtype_to_tensor_dtype")
                                           else onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype], array.shape) for name, array in inputs.items()]
    graph = helper.make_graph(nodes, "g", given, [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
                              [numpy_helper.from_array(numpy.asarray(array), name) for name, array in dict(constants).items()])
    made = pto.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))
    if saved:
        made.save(saved)
        made = pto.load_graph(saved)
    found = made.compute(device, inputs)
    made.forget(device)
    return found


def of(seed, *shape):
    return numpy.random.default_rng(seed).standard_normal(shape).astype(numpy.float32)


# ---- transforms ----


@pytest.mark.parametrize("parts, length, more", [each for each in itertools.product((1, 2), (None, 5, 12), ({}, {"inverse": 1}, {"onesided": 1}))
                                                if each[0] == 1 or "onesided" not in each[2]])
def test_dft_is_numpys_fft(device, parts, length, more):
    x = of(1, 2, 9, 3, parts)
    whole = x[..., 0] + (1j * x[..., 1] if parts == 2 else 0)
    for axis, opset in ((1, 17), (2, 17), (-3, 20), (0, 20)):
        at = axis % 4
        node = helper.make_node("DFT", ["x", "n" if length else "", *(["a"] if opset == 20 else [])], ["y"], **more,
                                **({"axis": axis} if opset == 17 else {}))
        made = results(device, [node], {"x": x}, {**({"n": length} if length else {}), **({"a": axis} if opset == 20 else {})}, opset=opset)["y"]
        transform = numpy.fft.ifft if more.get("inverse") else numpy.fft.rfft if more.get("onesided") else numpy.fft.fft
        wanted = transform(whole.real if more.get("onesided") else whole, length, at)
        numpy.testing.assert_allclose(made[..., 0] + 1j * made[..., 1], wanted, 1e-5, 1e-5)


@pytest.mark.parametrize("onesided, has_window", itertools.product((0, 1), (False, True)))
def test_stft_is_numpys_of_each_frame(device, onesided, has_window):
    x, window = of(2, 2, 50, 1), numpy.hanning(16).astype(numpy.float32)
    node = helper.make_node("STFT", ["x", "s", "w" if has_window else "", "n"], ["y"], onesided=onesided)
    made = results(device, [node], {"x": x}, {"s": numpy.int64(7), "w": window, "n": numpy.int64(16)})["y"]
    frames = numpy.stack([x[:, at:at + 16, 0] for at in range(0, 35, 7)], 1) * (window if has_window else 1)
    wanted = (numpy.fft.rfft if onesided else numpy.fft.fft)(frames)
    numpy.testing.assert_allclose(made[..., 0] + 1j * made[..., 1], wanted, 1e-5, 1e-5)


def test_one_side_of_a_complex_signal_is_refused(device):
    with pytest.raises(Refused, match="DFT 'd': one side of a complex signal has no counterpart"):
        results(device, [helper.make_node("DFT", ["x"], ["y"], "d", onesided=1)], {"x": of(0, 1, 4, 2)})


@pytest.mark.parametrize("name, of_numpy", (("HannWindow", numpy.hanning), ("HammingWindow", None), ("BlackmanWindow", numpy.blackman)))
def test_windows_are_numpys(device, name, of_numpy):
    """Numpy's are symmetric; the share of Hamming's is 25 / 46 in ONNX, and 0.54 there."""
    x = of(0, 12)
    nodes = [helper.make_node(name, ["n"], ["w"], periodic=0), helper.make_node("Mul", ["x", "w"], ["y"])]
    turn = 2 * numpy.pi * numpy.arange(12) / 11
    wanted = of_numpy(12) if of_numpy else 25 / 46 - 21 / 46 * numpy.cos(turn)
    numpy.testing.assert_allclose(results(device, nodes, {"x": x}, {"n": numpy.int64(12)})["y"], x * wanted, 1e-5, 1e-6)


# ---- determinants ----


@pytest.mark.parametrize("rows, batch", ((1, ()), (2, (3,)), (3, (2, 2)), (4, (5,)), (6, (2,))))
def test_det_is_numpys(device, rows, batch):
    x = of(rows, *batch, rows, rows)
    made = results(device, [helper.make_node("Det", ["x"], ["y"])], {"x": x})["y"]
    numpy.testing.assert_allclose(made, numpy.linalg.det(x.astype(numpy.float64)), 1e-4, 1e-5)
    assert made.shape == batch


def test_det_of_many_rows_is_refused(device):
    with pytest.raises(Refused, match="Det 'd': 7 rows have no counterpart: 6 at most"):
        results(device, [helper.make_node("Det", ["x"], ["y"], "d")], {"x": of(0, 7, 7)})


# ---- samples ----


@pytest.mark.parametrize("mode, padding, aligned", itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (0, 1)))
def test_grid_sample_is_its_neighbours(device, mode, padding, aligned):
    """Of places one by one; and, as a check of that, torch's, which takes long to load."""
    x, grid = of(3, 2, 3, 4, 5), 1.5 * of(4, 2, 6, 7, 2)

    def mirrored(at, extent):
        low, high = (0, extent - 1) if aligned else (-0.5, extent - 0.5)
        while not low <= at <= high:
            at = 2 * (low if at < low else high) - at
        return at

    def inside(at, extent):
        """The index, and whether there is one."""
        if padding == "zeros":
            return min(max(at, 0), extent - 1), 0 <= at < extent
        return min(max(int(round(mirrored(at, extent))) if padding == "reflection" else at, 0), extent - 1), True

    def shares(at, extent):
        """Indices with weights along an axis."""
        at = (at + 1) / 2 * (extent - 1) if aligned else ((at + 1) * extent - 1) / 2
        if padding == "border" and mode == "bilinear":
            at = min(max(at, 0), extent - 1)
        if padding == "reflection" and mode == "bilinear":
            at = mirrored(at, extent)
        if mode == "nearest":
            return [inside(round(at), extent) + (1,)]
        first = int(numpy.floor(at))
        if mode == "bilinear":
            return [inside(each, extent) + (1 - abs(at - each),) for each in (first, first + 1)]
        made = []
        for each in range(first - 1, first + 3):
            far = abs(at - each)
            weight = 1.25 * far ** 3 - 2.25 * far ** 2 + 1 if far <= 1 else -0.75 * far ** 3 + 3.75 * far ** 2 - 6 * far + 3
            made.append(inside(each, extent) + (weight,))
        return made

    wanted = numpy.zeros((2, 3, 6, 7))
    for n, i, j in numpy.ndindex(2, 6, 7):
        for (y_at, has_y, y_share), (x_at, has_x, x_share) in itertools.product(shares(float(grid[n, i, j, 1]), 4), shares(float(grid[n, i, j, 0]), 5)):
            wanted[n, :, i, j] += x[n, :, y_at, x_at] * (y_share * x_share * has_y * has_x)
    node = helper.make_node("GridSample", ["x", "g"], ["y"], mode=mode, padding_mode=padding, align_corners=aligned)
    made = results(device, [node], {"x": x, "g": grid}, opset=16)["y"]
    numpy.testing.assert_allclose(made, wanted, 1e-4, 1e-5)
    if os.environ.get("PTO_TEST_LONG"):
        torch = pytest.importorskip("torch", reason="no torch to compare with")
        theirs = torch.nn.functional.grid_sample(torch.from_numpy(x), torch.from_numpy(grid), mode, padding, bool(aligned)).numpy()
        numpy.testing.assert_allclose(made, theirs, 1e-4, 1e-5)


def test_a_grid_of_half_precision_finds_all_of_a_large_picture(device):
    """Its places count up to 90 · 100, and halves hold whole numbers up to 2048."""
    x = (numpy.arange(9000) % 2039).astype(numpy.float16).reshape(1, 1, 90, 100)
    grid = numpy.stack(numpy.meshgrid((2 * numpy.arange(100) + 1) / 100 - 1, (2 * numpy.arange(90) + 1) / 90 - 1), -1).astype(numpy.float16)[None]
    made = results(device, [helper.make_node("GridSample", ["x", "g"], ["y"], mode="nearest")], {"x": x, "g": grid}, opset=16)["y"]
    numpy.testing.assert_array_equal(made, x)


@pytest.mark.parametrize("where, ratio", itertools.product(("half_pixel", "output_half_pixel"), (1, 3)))
def test_roi_align_is_its_samples(device, where, ratio):
    x, rois = of(5, 2, 3, 6, 7), numpy.array([[0, 0, 6, 5], [2.5, 1, 4, 9], [-3, -2, 1, 1.2], [3, 3, 3.2, 3.1]], numpy.float32)
    batches, scale, height, width = numpy.array([0, 1, 1, 0]), 0.8, 2, 3
    node = helper.make_node("RoiAlign", ["x", "r", "b"], ["y"], output_height=height, output_width=width, sampling_ratio=ratio,
                            spatial_scale=scale, coordinate_transformation_mode=where)
    made = results(device, [node], {"x": x, "r": rois, "b": batches}, opset=16)["y"]

    def sample(picture, y, x):
        if not (-1 <= y <= 6 and -1 <= x <= 7):
            return numpy.zeros(3)
        y, x = min(max(y, 0), 5), min(max(x, 0), 6)
        top, left = int(y), int(x)
        return sum(picture[:, min(top + i, 5), min(left + j, 6)] * (y - top if i else 1 - y + top) * (x - left if j else 1 - x + left)
                   for i in (0, 1) for j in (0, 1))

    for roi, (left, top, right, bottom) in enumerate(rois.astype(float) * scale - (0.5 if where == "half_pixel" else 0)):
        across, down = right - left, bottom - top
        if where == "output_half_pixel":
            across, down = max(across, 1), max(down, 1)
        for i, j in itertools.product(range(height), range(width)):
            samples = [sample(x[batches[roi]], top + down / height * (i + (a + 0.5) / ratio), left + across / width * (j + (b + 0.5) / ratio))
                       for a in range(ratio) for b in range(ratio)]
            numpy.testing.assert_allclose(made[roi, :, i, j], numpy.mean(samples, 0), 1e-4, 1e-5)


# ---- loops ----


def body(nodes, inputs, outputs):
    def info(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
    return helper.make_graph(nodes, "body", [info(name) for name in inputs], [info(name) for name in outputs])


@pytest.mark.parametrize("back", (0, 1))
def test_a_scan_is_a_recurrent_layer(device, back, tmp_path):
    """It takes weights of the model around it, and its own initialiser."""
    x, h, w, r = of(1, 6, 2, 3), of(2, 2, 4), of(3, 3, 4), of(4, 4, 4)
    inside = body([helper.make_node("MatMul", ["x_t", "w"], ["a"]), helper.make_node("MatMul", ["h_in", "r"], ["b"]),
                   helper.make_node("Add", ["a", "b"], ["c"]), helper.make_node("Tanh", ["c"], ["h_out"]),
                   helper.make_node("Mul", ["h_out", "two"], ["scan"])], ["h_in", "x_t"], ["h_out", "scan"])
    inside.initializer.append(numpy_helper.from_array(numpy.float32(2), "two"))
    node = helper.make_node("Scan", ["h", "x"], ["last", "y"], body=inside, num_scan_inputs=1, scan_input_directions=[back],
                            scan_output_directions=[back], scan_output_axes=[1])
    made = results(device, [node], {"x": x, "h": h}, {"w": w, "r": r}, ("last", "y"), 16, tmp_path / "scan.json")
    state, wanted = h, numpy.empty((2, 6, 4), numpy.float32)
    for step in reversed(range(6)) if back else range(6):
        state = numpy.tanh(x[step] @ w + state @ r)
        wanted[:, step] = 2 * state
    numpy.testing.assert_allclose(made["last"], state, 1e-5, 1e-6)
    numpy.testing.assert_allclose(made["y"], wanted, 1e-5, 1e-6)


def test_a_loop_ends_by_its_count_or_its_condition(device):
    inside = body([helper.make_node("Add", ["s_in", "x"], ["s_out"]), helper.make_node("Less", ["i", "last"], ["go_on"]),
                   helper.make_node("Exp", ["s_out"], ["e"])], ["i", "go", "s_in"], ["go_on", "s_out", "e"])
    x, start = of(1, 3) / 10, numpy.zeros(3, numpy.float32)
    node = helper.make_node("Loop", ["count", "", "start"], ["s", "y"], "sums", body=inside)
    for count, last, rounds in ((5, 99, 5), (9, 2, 3)):  # round i asks for another one while i < last
        made = results(device, [node], {"x": x, "start": start}, {"count": numpy.int64(count), "last": numpy.int64(last)}, ("s", "y"), 16)
        sums = numpy.cumsum(numpy.tile(x, (rounds, 1)), 0)
        numpy.testing.assert_allclose(made["s"], sums[-1], 1e-5)
        numpy.testing.assert_allclose(made["y"], numpy.exp(sums), 1e-5)


def test_a_loop_that_is_not_known_is_refused_once(device):
    inside = body([helper.make_node("Foo", ["s_in"], ["s_out"], "inner"), helper.make_node("Identity", ["go"], ["go_on"])],
                  ["i", "go", "s_in"], ["go_on", "s_out"])
    node = helper.make_node("Loop", ["count", "", "x"], ["y"], "round", body=inside)
    with pytest.raises(Refused) as refused:
        results(device, [node], {"x": of(0, 3)}, {"count": numpy.int64(5)})
    assert refused.value.reasons == ["Foo 'inner': has no counterpart"]
    with pytest.raises(Refused, match="Loop 'round': the count of rounds is computed by the model"):
        results(device, [node], {"x": of(0, 3), "count": numpy.array(5)})
    endless = helper.make_node("Loop", ["", "", "x"], ["y"], "round", body=body(
        [helper.make_node("Abs", ["s_in"], ["s_out"]), helper.make_node("Identity", ["go"], ["go_on"])], ["i", "go", "s_in"], ["go_on", "s_out"]))
    with pytest.raises(Refused, match="more than 1000 rounds have no counterpart"):
        results(device, [endless], {"x": of(0, 3)})
