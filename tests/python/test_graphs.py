# SPDX-License-Identifier: MIT
"""Contexts, device tensors and graphs from Python, against numpy."""

import gc

import numpy
import pytest

import pto

CONTEXTS = pytest.mark.parametrize("settings", [{"engine": "threads"}, {"engine": "virtual", "chip": "a2a3"},
                                                {"accelerated": False}], ids=["threads", "virtual", "host"])
rng = numpy.random.default_rng(3)


def twice_and_sum(rt, x, y, z):
    between = rt.empty(x.shape)
    rt.submit(pto.kernels.add, x, x, between)
    rt.submit(pto.kernels.add, between, y, z)


@CONTEXTS
def test_writes_dispatches_and_reads_happen_in_order(settings):
    a, b = rng.random((2, 8, 8), numpy.float32)
    with pto.Context(**settings) as device:
        x, y, z = device.put(a), device.put(b), device.empty((8, 8))
        device.dispatch(twice_and_sum, {"x": x, "y": y}, {"z": z})
        x.write(b)
        device.dispatch(twice_and_sum, {"x": x, "y": z}, {"z": y})
        numpy.testing.assert_array_equal(z.read(), a + a + b)
        z.copy_to(x)
        numpy.testing.assert_array_equal(x.read(), z.read())
        numpy.testing.assert_array_equal(y.read(), b + b + (a + a + b))
        counted = device.counters
        assert counted["dispatches"] == 2 and counted["tasks"] == 4 and counted["h2d_bytes"] == 3 * 256
        assert device.info["backend"] in ("npu-threads", "npu-virtual", "host")
        assert (counted["virtual_ps"] > 0) == (device.info["backend"] == "npu-virtual")
        z.free()
        with pytest.raises(pto.errors.ESTALE):
            z.read()


@CONTEXTS
def test_compute_goes_from_arrays_to_arrays(settings):
    a, b = rng.random((2, 4, 4), numpy.float32)
    with pto.Context(**settings) as device:
        out = device.compute(twice_and_sum, {"x": a, "y": b.T}, {"z": ("f32", (4, 4))})
    numpy.testing.assert_array_equal(out["z"], a + a + b.T)


@CONTEXTS
def test_a_failure_is_kept_with_its_cause_until_it_is_cleared(settings):
    def fails(rt, x, y):
        raise LookupError("mine")

    with pto.Context(**settings) as device:
        x, y = device.put(numpy.ones(4, numpy.float32)), device.empty(4)
        device.dispatch(fails, {"x": x}, {"y": y})
        for _ in range(2):
            with pytest.raises(pto.errors.EUSER, match="LookupError: mine") as raised:
                device.sync()
            assert isinstance(raised.value.__cause__, LookupError)
        device.clear_error()
        with pytest.raises(pto.errors.EINVAL):
            y.read()
        y.write(numpy.zeros(4, numpy.float32))
        assert y.read().tolist() == [0] * 4


def test_what_is_not_the_tensor_s_is_refused():
    with pto.Context() as device:
        x = device.empty((2, 3), "i32", writable=False)
        for array, error in ((numpy.zeros((3, 2), numpy.int32), ValueError), (numpy.zeros((2, 3), numpy.float32), TypeError),
                             (numpy.zeros((2, 3), numpy.int32), pto.errors.EINVAL)):
            with pytest.raises(error):
                x.write(array)
        with pytest.raises(pto.errors.EINVAL):
            device.empty((2, 2 ** 61), "f32")
        bits = numpy.array([0x3F80, 0xC000], numpy.uint16)
        assert device.put(bits, "bf16").read().tolist() == bits.tolist()
        assert device.put(numpy.array([0x21, 3], numpy.uint8), "i4", (3,)).read().tolist() == [0x21, 3]


def test_constants_and_what_an_orchestration_borrows_last_until_the_dispatch_is_done():
    with pto.Context() as device:
        weights, y = device.constant(numpy.full(1000, 3, numpy.float32)), device.empty(1000)

        def add(rt, y, weights):
            rt.submit(pto.kernels.add, rt.tensor(numpy.full(1000, 4, numpy.float32)), weights, y)

        for _ in range(20):
            device.dispatch(add, {}, {"y": y}, constants=[weights])
            gc.collect()
        assert (y.read() == 7).all()


# ---- graphs ----

@CONTEXTS
def test_a_graph_gives_what_numpy_gives(settings):
    a, w, bias = rng.random((4, 8), numpy.float32), rng.random((8, 3), numpy.float32), rng.random(3, numpy.float32)
    build = pto.GraphBuilder()
    x = build.input("x", "f32", (4, 8))
    summed = build.gemm(x, build.constant(w), c=build.constant(bias), alpha=-1)
    left, right = build.split(build.softmax(summed, axis=1), splits=(2, 2))
    graph = build.build({"y": build.concat(right, left, axis=0), "z": build.relu(summed, label="rectified")})
    assert graph.inputs == {"x": ("f32", (4, 8))} and graph.outputs == {"y": ("f32", (4, 3)), "z": ("f32", (4, 3))}
    expected = bias - a.astype(numpy.float64) @ w
    softmax = numpy.exp(expected) / numpy.exp(expected).sum(1, keepdims=True)
    with pto.Context(**settings) as device:
        out = graph.compute(device, {"x": a})
        numpy.testing.assert_allclose(out["y"], softmax[[2, 3, 0, 1]], rtol=1e-5)
        numpy.testing.assert_allclose(out["z"], numpy.maximum(expected, 0), rtol=1e-5, atol=1e-6)
        x, y, z = device.put(a), device.empty((4, 3)), device.empty((4, 3))
        graph.dispatch(device, {"x": x}, {"y": y, "z": z})
        numpy.testing.assert_array_equal(y.read(), out["y"])
        with pytest.raises(pto.errors.ESTALE):
            graph.fuse(False)
        graph.forget(device)
        graph.fuse(False)
        numpy.testing.assert_allclose(graph.compute(device, {"x": a})["y"], out["y"], rtol=1e-6)


def test_options_take_numbers_lists_flags_and_words():
    build = pto.GraphBuilder()
    x = build.input("x", "f32", (1, 5, 5, 2))
    conv = build.conv2d(x, build.constant(numpy.ones((4, 3, 3, 1), numpy.float32)), groups=2, padding=(1, 1, 1, 1),
                        input_layout="nhwc", filter_layout="ohwi")
    assert conv.shape == (1, 5, 5, 4)
    assert build.reduce_sum(conv, axes=(1, 2), keep_dimensions=True).shape == (1, 1, 1, 4)
    assert build.arg_max(conv, axis=3, output_data_type="i64").dtype == "i64"
    assert build.cast(conv, data_type="fp16").dtype == "fp16"
    assert build.max_pool2d(conv, window_dimensions=(2, 2), strides=(2, 2), layout="nhwc",
                            output_shape_rounding="ceil").shape == (1, 3, 3, 4)
    assert build.resample2d(conv, mode="linear", scales=(2, 3), axes=(1, 2)).shape == (1, 10, 15, 4)
    assert build.pad(conv, beginning_padding=(0, 1, 0, 0), ending_padding=(0, 0, 2, 0), mode="edge").shape == (1, 6, 7, 4)
    assert build.split(conv, splits=(1, 3), axis=3)[1].shape == (1, 5, 5, 3)
    assert build.where(build.greater(x, build.constant(numpy.float32(0.5))), x, build.constant(numpy.float32(0))).shape == x.shape
    sequence = build.gru(build.input("s", "f32", (3, 2, 4)), build.constant(numpy.ones((1, 15, 4), numpy.float32)),
                         build.constant(numpy.ones((1, 15, 5), numpy.float32)), steps=3, hidden_size=5, layout="rzn",
                         activations=("sigmoid", "relu"), return_sequence=True)
    assert [each.shape for each in sequence] == [(1, 2, 5), (3, 1, 2, 5)]
    assert "padding" in build.conv2d.__doc__ and "conv2d" in dir(build)
    for wrong, error in ((lambda: build.conv2d(x, x, layouts="nhwc"), TypeError), (lambda: build.add(x), TypeError),
                         (lambda: build.pad(x, mode="round"), pto.errors.EINVAL),
                         (lambda: build.matmul(x, conv, label="mine"), pto.errors.EINVAL),
                         (lambda: build.no_such_operation(x), AttributeError)):
        with pytest.raises(error):
            wrong()
    assert build.relu(x).shape == x.shape  # a refusal is told once, and the builder goes on


def test_refusals_name_operation_and_label():
    build = pto.GraphBuilder()
    with pytest.raises(pto.errors.EINVAL, match="^add .*mine"):
        build.add(build.input("a", "f32", (2, 3)), build.input("b", "f32", (2, 4)), label="mine")


def test_open_sizes_are_bound_or_said_by_tensors():
    build = pto.GraphBuilder()
    x = build.input("x", "f32", (8, 4))
    y = build.reshape(x, new_shape=[8, 2, 2])
    build.size(x, 0, "batch")
    with pytest.raises(pto.errors.EINVAL, match="set_size: newShape of reshape has 3 items, and no item 3"):
        build.size(y, 3, "batch", "newShape")
    build.size(y, 0, "batch", "newShape")
    graph = build.build({"y": build.relu(y)})
    assert graph.sizes == {"batch": 8} and graph.outputs == {"y": ("f32", (8, 2, 2))}
    with pytest.raises(pto.errors.EINVAL, match='size "batch" is 9, not 1 to 8'):
        graph.bind(batch=9)
    bound = graph.bind(batch=3)
    assert bound.sizes == {} and bound.outputs == {"y": ("f32", (3, 2, 2))}
    a = numpy.arange(-6, 6, dtype=numpy.float32).reshape(3, 4)
    with pto.Context() as device:
        numpy.testing.assert_array_equal(bound.compute(device, {"x": a})["y"], a.clip(0).reshape(3, 2, 2))
        here, there = device.put(a), device.empty((3, 2, 2))
        graph.dispatch(device, {"x": here}, {"y": there})
        numpy.testing.assert_array_equal(there.read(), a.clip(0).reshape(3, 2, 2))


def test_a_file_gives_the_same_graph(tmp_path):
    build = pto.GraphBuilder()
    x = build.input("x", "f32", (3, 3))
    w = build.constant(rng.random((3, 3), numpy.float32))
    build.name(w, "weights")
    graph = build.build({"y": build.sigmoid(build.matmul(x, w))})
    with pytest.raises(pto.errors.ESTALE):
        build.relu(x)
    graph.save(tmp_path / "graph.json")
    again = pto.load_graph(tmp_path / "graph.json")
    a = rng.random((3, 3), numpy.float32)
    with pto.Context() as device:
        numpy.testing.assert_array_equal(again.compute(device, {"x": a})["y"], graph.compute(device, {"x": a})["y"])
        with pytest.raises(ValueError):
            graph.compute(device, {"x": a[:2]})
        with pytest.raises(pto.errors.EINVAL, match="x"):
            graph.compute(device, {})
    assert "weights" in (tmp_path / "graph.json").read_text()
    assert "weights" in graph._repr_html_()
    with pytest.raises(pto.Error, match="no-such"):
        pto.load_graph(tmp_path / "no-such.json")


def test_graphs_and_contexts_may_go_in_any_order():
    for first in range(2):
        device = pto.Context(engine="virtual")
        build = pto.GraphBuilder(device)
        weights = device.constant(numpy.ones(4, numpy.float32))
        graph = build.build({"y": build.add(build.input("x", "f32", (4,)), build.constant_tensor(weights))})
        x, y = device.put(numpy.ones(4, numpy.float32)), device.empty(4)
        graph.dispatch(device, {"x": x}, {"y": y})
        if first:
            del graph, build
        gc.collect()
        assert y.read().tolist() == [2] * 4
        device.close()
        gc.collect()
