# SPDX-License-Identifier: MIT
"""Runtimes, tensors and kernels from Python, against numpy."""

import gc
import re
import weakref

import numpy
import pytest

import pto

ENGINES = pto.test()
rng = numpy.random.default_rng(7)


@pto.kernel(cost=lambda x, y, factor: {"bytes_in": x.nbytes, "bytes_out": y.nbytes, "vector_elems": x.nbytes // 4})
def scale(x: pto.input, y: pto.output, factor: float):
    y[...] = x * factor


ADD_ONE = """
#include <pto/pto.h>
static int run(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[0];
  for (uint64_t i = 0; i < x->shape[0]; i++) ((int32_t *)x->addr)[i * x->strides[0]] += (int32_t)args->scalars[0].i64;
  return 0;
}
static const struct pto_kernel_param params[] = {{"x", PTO_INOUT, .max_rank = 1}, {"by", PTO_SCALAR, .scalar = PTO_SCALAR_I64}};
const struct pto_kernel add_to = {"add_to", PTO_AIV, .params = params, .param_count = 2, .run = run};
"""


@ENGINES
def test_a_chain_of_kernels_of_three_kinds(settings):
    a = rng.random((8, 8), numpy.float32)
    b = numpy.zeros((8, 8), numpy.float32)
    counts = numpy.arange(10, dtype=numpy.int32)
    add_to = pto.compile(ADD_ONE)

    def orchestrate(rt):
        x, y = rt.tensor(a), rt.tensor(b)
        between = rt.empty((8, 8))
        rt.submit(scale, x, between, 2.0)
        rt.submit(pto.kernels.add, a=between, b=x, y=y)
        rt.submit(add_to, rt.tensor(counts)[1::3], by=100)
        assert rt.read(y, 3, 2) == a[3, 2] * numpy.float32(2) + a[3, 2]

    with pto.Runtime(**settings) as rt:
        stats = rt.run(orchestrate)
    numpy.testing.assert_array_equal(b, a * numpy.float32(2) + a)
    numpy.testing.assert_array_equal(counts, [0, 101, 2, 3, 104, 5, 6, 107, 8, 9])
    assert (stats["tasks"], stats["edges"]) == (3, 1)
    assert (stats["virtual_ps"] > 0) == (settings["engine"] == "virtual")


@ENGINES
def test_an_orchestration_polls_until_a_task_has_written(settings):
    flag = numpy.zeros(4, numpy.int32)

    def orchestrate(rt):
        with rt.scope():
            rt.submit(pto.kernels.fill_int, rt.tensor(flag), 7)
            stats = rt.scope_stats
            assert (stats["depth"], stats["tasks"]) == (1, 1) and stats["window"] >= 4
            while flag[0] != 7:
                rt.poll()
        with pytest.raises(pto.errors.EDEADLOCK):
            for _ in range(10):  # in which the scope's task is taken in
                rt.poll()
        raise LookupError("as far as here")

    with pto.Runtime(**settings) as rt, pytest.raises(LookupError):
        rt.run(orchestrate)


def test_bytes_of_tensors_overlap_as_numpys_do():
    with pto.Runtime() as rt:
        x = rt.tensor(numpy.zeros((8, 8), numpy.float32))
        for a, b, said in ((x, x, "equal"), (x, x[2], "covers"), (x[2], x, "covered"), (x[:4], x[4:], "disjoint"),
                           (x[:, ::2], x[:, 1::2], "disjoint"), (x[:5], x[4:], "partial")):
            assert a.overlap(b) == said


def test_codes_are_what_the_library_rounds_to():
    values = numpy.float32([[0, -1, 1 + 2**-8, 1 + 3 * 2**-8], [3e38, 500, 0.3, -numpy.inf]])
    bits = values.view(numpy.uint32)
    nearest = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)
    assert (pto.encode(values, "bf16") == nearest).all() and pto.encode(values.T, "bf16").shape == (4, 2)
    every = numpy.arange(2**16, dtype=numpy.uint16)
    numpy.testing.assert_array_equal(pto.decode(every, "bf16"), (every.astype(numpy.uint32) << 16).view(numpy.float32))
    for dtype in ("f8e4m3fn", "f8e5m2", "f8e8m0fnu"):
        codes = numpy.arange(256, dtype=numpy.uint8)
        numbers = pto.decode(codes, dtype)
        assert numbers.dtype == numpy.float32 and (pto.encode(numbers, dtype) == codes)[numpy.isfinite(numbers)].all()
    assert pto.encode([], "bf16").tolist() == [] and pto.encode(1.0, "f8e4m3fn").tolist() == 0x38


def test_every_dtype_of_numpy_goes_both_ways():
    for name in ("float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool"):
        array = (rng.random(16) * 100).astype(name)

        def orchestrate(rt):
            assert rt.read(rt.tensor(array), 5) == array[5]
            rt.write(rt.tensor(array), 6, array[7])

        with pto.Runtime() as rt:
            rt.run(orchestrate)
        assert array[6] == array[7]


def test_refusals_are_exceptions_with_the_library_s_sentence_and_the_run_goes_on():
    array = numpy.zeros(4, numpy.float32)
    said = []

    def orchestrate(rt):
        x = rt.tensor(array)
        for submit in (lambda: rt.submit(pto.kernels.add, x, x, x[:2]), lambda: rt.submit(pto.kernels.add, x, x),
                       lambda: rt.submit(pto.kernels.add, x, x, z=x), lambda: rt.submit(pto.kernels.add, x, x, 3)):
            with pytest.raises((pto.errors.EINVAL, TypeError)) as raised:
                submit()
            said.append(str(raised.value))
        rt.submit(pto.kernels.fill, x, 5)

    with pto.Runtime() as rt:
        assert rt.run(orchestrate)["tasks"] == 1
    assert "add" in said[0] and "2" in said[0]
    assert array.tolist() == [5, 5, 5, 5]


def test_a_read_only_array_is_no_output():
    array = numpy.zeros(4, numpy.float32)
    array.flags.writeable = False

    def orchestrate(rt):
        with pytest.raises(pto.errors.EINVAL, match="read-only"):
            rt.submit(pto.kernels.fill, rt.tensor(array), 1)
        rt.submit(pto.kernels.add, rt.tensor(array), rt.tensor(array), rt.empty(4))

    with pto.Runtime() as rt:
        rt.run(orchestrate)


def test_what_leaves_the_orchestration_comes_out_of_run():
    class Mine(Exception):
        pass

    def orchestrate(rt):
        raise Mine("as it is")

    with pto.Runtime() as rt:
        with pytest.raises(Mine, match="as it is"):
            rt.run(orchestrate)
        assert rt.run(lambda rt: None)["tasks"] == 0


@ENGINES
def test_an_exception_of_a_kernel_ends_the_run_and_is_the_cause(settings):
    @pto.kernel()
    def fails(y: pto.output):
        raise ZeroDivisionError("in a kernel")

    with pto.Runtime(**settings) as rt:
        with pytest.raises(pto.errors.EKERNEL, match="ZeroDivisionError: in a kernel") as raised:
            rt.run(lambda rt: rt.submit(fails, rt.empty(4)))
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_arrays_stay_alive_for_the_run_and_no_longer():
    seen = []

    def orchestrate(rt):
        for value in range(20):
            array = numpy.full(1000, value, numpy.float32)
            seen.append(weakref.ref(array))
            rt.submit(pto.kernels.add, rt.tensor(array), total, total)
            del array
            value % 4 or gc.collect()
        assert all(each() is not None for each in seen)

    result = numpy.zeros(1000, numpy.float32)
    with pto.Runtime() as rt:
        total = rt.tensor(result)
        rt.run(orchestrate)
        gc.collect()
        assert all(each() is None for each in seen)
        seen.clear()
        rt.run(orchestrate)  # a tensor made outside a run lasts for the next
    assert (result == 2 * sum(range(20))).all()


@ENGINES
def test_blocks_after_scopes_and_predicates(settings):
    out = numpy.zeros(8, numpy.int32)
    flag = numpy.array([1], numpy.int32)

    @pto.kernel()
    def blocks(x: pto.inout, core):
        x[core.block_index] = core.block_index + core.block_count

    def orchestrate(rt):
        x = rt.tensor(out)
        with rt.scope(manual=True, label="by hand"):
            first = rt.submit(blocks, x, blocks=8, label="first")
            rt.submit(pto.kernels.add, x, x, x, after=[first])
        rt.submit(pto.kernels.add, x, x, x, when=(rt.tensor(flag), "==", 0))
        rt.barrier(rt.submit(pto.kernels.add, x, x, x, when=(rt.tensor(flag), ">=", 1)))
        assert rt.cores("cluster") > 0

    with pto.Runtime(**settings) as rt:
        rt.run(orchestrate)
    assert out.tolist() == [4 * (i + 8) for i in range(8)]


def test_c_that_does_not_compile_says_why():
    with pytest.raises(pto.Error, match="no_such_thing"):
        pto.compile("#include <pto/pto.h>\nconst struct pto_kernel k = {no_such_thing};")
    with pytest.raises(pto.Error, match="defines no"):
        pto.compile("int x;")


def test_c_is_compiled_by_the_compiler_of_the_library_or_by_what_the_environment_says(monkeypatch):
    empty = "#include <pto/pto.h>\nconst struct pto_kernel k = {.name = COMPILER};"
    monkeypatch.setenv("CC", 'cc -DCOMPILER="said"')
    assert "said" in repr(pto.compile(empty))
    monkeypatch.setenv("CC", "no_such_cc")
    with pytest.raises(pto.Error, match=r"no compiler no_such_cc: No such file or directory; \$CC says which"):
        pto.compile(empty)
    monkeypatch.delenv("CC")
    assert pto.compile(empty, flags=['-DCOMPILER="own"']) is not None


def test_settings_that_do_not_exist_are_named():
    with pytest.raises(TypeError, match="windows"):
        pto.Runtime(windows=3)
    with pytest.raises(pto.errors.ESYSTEM, match="a2a4"):
        pto.Runtime(chip="a2a4")


@ENGINES
def test_an_exception_that_is_caught_leaves_its_scopes(settings):
    total = numpy.zeros(4, numpy.float32)

    def orchestrate(rt):
        one, x = rt.tensor(numpy.ones(4, numpy.float32)), rt.tensor(total)
        for error in (pto.errors.EINVAL, KeyError):
            with pytest.raises(error):
                with rt.scope(label="left"):
                    kept = rt.empty(4)
                    with rt.scope(manual=True):
                        rt.submit(pto.kernels.add, one, x, x)
                        if error is KeyError:
                            raise KeyError("mine")
                        rt.submit(pto.kernels.add, one, x, x[:2])
        with pytest.raises(pto.errors.ESTALE, match="after its scope has ended"):
            rt.submit(pto.kernels.fill, kept, 1)
        rt.submit(pto.kernels.add, one, x, x)  # of no manual scope: behind the others

    with pto.Runtime(**settings) as rt:
        assert rt.run(orchestrate)["tasks"] == 3
    assert (total == 3).all()


def test_words_of_an_exception_that_are_no_text_are_told_all_the_same():
    class Speechless(Exception):
        def __str__(self):
            raise ValueError("no words")

    for exception, sentence in ((ValueError("a\ud800b é %s"), r"ValueError: a\\ud800b é %s"), (Speechless(), "Speechless")):
        @pto.kernel()
        def fails(y: pto.output):
            raise exception

        def orchestrate(rt):
            raise exception

        with pto.Runtime() as rt:
            with pytest.raises(pto.errors.EKERNEL, match=sentence) as raised:
                rt.run(lambda rt: rt.submit(fails, rt.empty(4)))
            assert raised.value.__cause__ is exception
            with pytest.raises(type(exception)) as raised:
                rt.run(orchestrate)
            assert raised.value is exception


@ENGINES
def test_a_prepared_submit_is_the_same_submit(settings):
    total = numpy.zeros(16, numpy.float32)

    def orchestrate(rt):
        one = rt.tensor(numpy.ones(16, numpy.float32))
        add = rt.prepare(pto.kernels.add, a=one, b=(x := rt.tensor(total)), y=x, label="more")
        gc.collect()
        for _ in range(20):
            add()
        rt.submit(pto.kernels.add, x, x, x, after=[add()])

    with pto.Runtime(**settings) as rt:
        assert rt.run(orchestrate)["tasks"] == 22
    assert (total == 42).all()


def test_findings_name_the_line_of_prepare_and_of_the_submits_around_its_calls():
    def racing(rt, x):
        first = rt.prepare(pto.kernels.relu, x, x)
        with rt.scope(manual=True):
            rt.submit(pto.kernels.relu, x, x)
            first()
            rt.submit(pto.kernels.relu, x, x)

    line = racing.__code__.co_firstlineno
    found = pto.Program(racing, outputs={"x": numpy.zeros(16, numpy.float32)}).check()
    named = {tuple(sorted(int(at) - line for at in re.findall(r"\.py:(\d+)", str(each)))) for each in found}
    assert named == {(1, 3), (1, 5), (3, 5)}


def test_a_prepared_submit_that_is_refused_raises_each_time():
    def orchestrate(rt):
        x, y, z = (rt.tensor(numpy.zeros((size, 4), numpy.float32)) for size in (4, 2, 4))
        add = rt.prepare(pto.kernels.add, x, y, z)
        for _ in range(2):
            with pytest.raises(pto.errors.EINVAL, match=r"shapes \[2,4\] and \[4,4\] differ"):
                add()
        with pytest.raises(pto.errors.EINVAL, match="differ"):
            rt.submit(pto.kernels.add, x, y, z)

    with pto.Runtime() as rt:
        assert rt.run(orchestrate)["tasks"] == 0


def test_scalars_keep_their_bits():
    seen = []

    @pto.kernel()
    def look(y: pto.output, x: float, n: int):
        seen.append((x, n))

    values = [(0.1, -1), (-numpy.inf, 2 ** 63 - 1), (1e30, -2 ** 63), (3, 0)]
    with pto.Runtime() as rt:
        rt.run(lambda rt: [rt.submit(look, rt.empty(1), x, n) and rt.barrier() for x, n in values])
    assert sorted(seen) == sorted((float(numpy.float32(x)), n) for x, n in values)
