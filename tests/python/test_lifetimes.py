# SPDX-License-Identifier: MIT
"""How long things live: what is closed while it is used, kept when it is over, left to the collector, or forked off."""

import gc
import os
import signal
import threading
import time
import weakref

import numpy
import pytest

import pto


def marks(rt, count=1):
    for _ in range(count):
        rt.submit(pto.kernels.fill, rt.empty(16), 1)


def test_a_runtime_is_not_closed_within_its_run_or_beside_it():
    begun, closed, said = threading.Event(), threading.Event(), []

    def close(rt):
        for each in (rt.close, lambda: rt.run(marks)):
            with pytest.raises(pto.errors.EINVAL, match="a run is going on in this runtime"):
                each()
        marks(rt)

    def beside():
        begun.wait(20)
        try:
            rt.close()
        except pto.Error as error:
            said.append(error)
        closed.set()

    def waits(rt):
        begun.set()
        assert closed.wait(20)

    with pto.Runtime() as rt:
        assert rt.run(close)["tasks"] == 1
        thread = threading.Thread(target=beside)
        thread.start()
        rt.run(waits)
        thread.join()
    assert isinstance(said[0], pto.errors.EINVAL)
    with pytest.raises(pto.errors.EINVAL, match="a run is going on"):
        pto.World(2).run(lambda rt: rt.close())


def test_what_is_no_longer_referred_to_is_given_back():
    def count():
        return len(os.listdir("/proc/self/task"))

    before, seen = count(), []
    for _ in range(5):
        rt = pto.Runtime(workers=2)
        rt.run(marks)
        seen.append(weakref.ref(rt))
        device = pto.Context(memory_bytes=1 << 20)
        x = device.empty(16)
        device.dispatch(lambda rt, x: marks(rt) or rt.submit(pto.kernels.fill, x, 1), {}, {"x": x})  # a circle of references
        seen.append(weakref.ref(device))
    del rt, device, x
    ends = time.monotonic() + 60
    while time.monotonic() < ends and (count() > before or any(each() is not None for each in seen)):
        gc.collect()
        time.sleep(0.01)  # the last dispatch may still refer to its context
    assert all(each() is None for each in seen) and count() <= before  # threads of tests before this one may end meanwhile


def test_an_orchestration_that_is_over_is_stale():
    kept = []

    def keeps(rt, x):
        kept.append(rt)
        rt.submit(pto.kernels.fill, x, 1)

    program = pto.Program(keeps, outputs={"x": ("f32", 16)})
    assert not program.check() and program.run().error is None
    with pto.Context() as device:
        device.dispatch(keeps, {}, {"x": device.empty(16)})
        device.sync()
        assert len(kept) == 3
        for rt in kept:
            for call in (marks, lambda rt: rt.tensor(numpy.zeros(3, numpy.float32)), lambda rt: rt.rank):
                with pytest.raises(pto.errors.ESTALE, match="the orchestration is over"):
                    call(rt)


def test_what_was_prepared_or_submitted_is_stale_once_the_runtime_is_closed():
    prepared = []

    def orchestrate(rt):
        x = rt.tensor(numpy.zeros(4, numpy.float32))
        prepared.append((rt.prepare(pto.kernels.fill, x, 1), x))
        rt.submit(pto.kernels.fill, x, 1)

    with pto.Runtime() as rt:
        rt.run(orchestrate)
        with pytest.raises(pto.errors.EINVAL, match="not within a run"):
            prepared[0][0]()
    assert pto.Program(orchestrate).run().error is None
    for (call, x), sentence in zip(prepared, ("the runtime is closed", "the orchestration is over")):
        for again in (call, lambda: rt.submit(pto.kernels.fill, x, 1)):
            with pytest.raises(pto.errors.ESTALE, match=sentence):
                again()
            sentence = "the runtime is closed"


def test_another_thread_does_not_submit():
    said = []

    def submits(rt):
        for call in (lambda: marks(rt), rt.prepare(pto.kernels.fill, rt.empty(4), 1)):
            try:
                call()
            except pto.Error as error:
                said.append(error)

    def orchestrate(rt):
        thread = threading.Thread(target=submits, args=(rt,))
        thread.start()
        thread.join()
        marks(rt)

    with pto.Runtime() as rt:
        assert rt.run(orchestrate)["tasks"] == 1
    assert [type(each) for each in said] == [pto.errors.EINVAL] * 2 and "by another thread" in str(said[0])


def test_arrays_that_a_program_s_orchestration_made_stay_alive_for_the_run():
    def adds(rt, total):
        for _ in range(100):
            rt.submit(pto.kernels.add, rt.tensor(numpy.ones(100_000, numpy.float32)), total, total)

    program = pto.Program(adds, outputs={"total": numpy.zeros(100_000, numpy.float32)}, golden={"total": numpy.full(100_000, 100.0)})
    for _ in range(3):
        assert program.run(engine="threads", workers=1, window=1024).error is None
    assert not program.check(engine="threads", window=1024)


def test_an_orchestration_of_a_context_does_not_wait_for_itself():
    with pto.Context() as device:
        x = device.empty(16)
        for waits in (x.read, device.sync, device.close):
            device.dispatch(lambda rt, _: waits(), {}, {"x": x})
            with pytest.raises(pto.errors.EUSER, match="EDEADLOCK: an orchestration of the context would wait for itself"):
                device.sync()
            device.clear_error()
        device.dispatch(lambda rt, x: rt.submit(pto.kernels.fill, x, 7), {}, {"x": x})
        assert (x.read() == 7).all()


def test_a_process_that_is_forked_off_has_runtimes_of_its_own():
    rt, device = pto.Runtime(), pto.Context()
    rt.run(marks)
    x = device.empty(16)
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # what waits for threads that are not there
        status = 1
        try:
            for call in (lambda: rt.run(marks), device.sync, x.read, lambda: device.put(numpy.zeros(3, numpy.float32))):
                with pytest.raises(pto.errors.ESTALE, match="is of the process that this one was forked from"):
                    call()
            rt.close()
            del rt, device, x, call
            gc.collect()
            status = 0 if pto.Runtime().run(lambda rt: marks(rt, 3))["tasks"] == 3 else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert rt.run(marks)["tasks"] == 1 and (x.read() == 0).all()
    rt.close()
    device.close()


def test_a_context_that_is_asked_to_wait_within_its_orchestration_keeps_what_runs():
    def orchestrate(rt, x):
        for wait in (device.sync, x_there.read, device.close):
            with pytest.raises(pto.errors.EDEADLOCK):
                wait()
            gc.collect()
        rt.submit(pto.kernels.fill, x, 3)

    with pto.Context(engine="virtual") as device:
        x_there = device.empty(4)
        device.dispatch(orchestrate, {}, {"x": x_there})
        assert x_there.read().tolist() == [3] * 4
