# SPDX-License-Identifier: MIT
"""Each status of the library as its exception with the library's sentence, and Ctrl-C wherever it may come."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy
import pytest

import pto

SLOW = """
#include <pto/pto.h>
#include <time.h>
static int run(const struct pto_kernel_args *args) {
  struct timespec pause = {.tv_sec = args->scalars[0].i64 / 1000, .tv_nsec = args->scalars[0].i64 % 1000 * 1000000};
  while (nanosleep(&pause, &pause)) continue;
  *(float *)args->tensors[0].addr += 1;
  return 0;
}
static const struct pto_kernel_param params[] = {{"x", PTO_INOUT}, {"ms", PTO_SCALAR, .scalar = PTO_SCALAR_I64}};
const struct pto_kernel slow = {"slow", PTO_AIV, .params = params, .param_count = 2, .run = run};
"""
WAITING = """
#include <pto/pto.h>
static int pop(const struct pto_kernel_args *args) {
  int32_t word;
  return pto_core_pop(args, %s, &word, sizeof word);
}
static const struct pto_kernel_param params[] = {{"x", PTO_INOUT}};
const struct pto_kernel waits = {"waits", %s, .params = params, .param_count = 1, .flags = PTO_KERNEL_WAITS, .run = pop};
"""


def marks(rt, count, extent=16):
    for _ in range(count):
        rt.submit(pto.kernels.fill, rt.empty(extent), 1)


def nested(rt):
    with rt.scope():
        marks(rt, 4)
        nested(rt)


def stale(rt):
    with rt.scope():
        kept = rt.empty(4)
        rt.submit(pto.kernels.fill, kept, 1)
    rt.submit(pto.kernels.add, kept, kept, rt.empty(4))


def tiles(rt):
    z = rt.tensor(numpy.zeros((256, 16), numpy.float32))
    for row in range(256):
        rt.submit(pto.kernels.fill, z[row], 1)


def waits(rt):
    x = rt.tensor(numpy.zeros(4, numpy.float32))
    rt.submit((pto.compile(WAITING % ("PTO_ROLE_AIV0", "PTO_AIC")), pto.compile(WAITING % ("PTO_ROLE_AIC", "PTO_AIV")), None), x)


def raises(rt):
    raise_in_kernel = pto.kernel()(fails)
    rt.submit(raise_in_kernel, rt.empty(4))


def fails(x: pto.output):
    raise ValueError("no number")


def fits(rt):
    together = pto.kernel()(fails)
    rt.submit(together, rt.empty(4), blocks=rt.cores() + 1, sync_start=True)


def shapes(rt):
    x, y = (rt.tensor(numpy.zeros((extent, 4), numpy.float32)) for extent in (4, 3))
    rt.submit(pto.kernels.add, x, x, y)


def user(rt):
    raise LookupError("mine")


@pytest.mark.parametrize("name, sentence, orchestrate, settings", [
    ("EINVAL", r"add: shapes \[4,4\] and \[3,4\] differ", shapes, {}),
    ("ESTALE", "buffer 1 is used after its scope has ended", stale, {}),
    ("EFIT", "fails: .* blocks", fits, {}),
    ("ESCOPE", "scope", lambda rt: marks(rt, 16), {"window": 16}),
    ("EHEAP", "heap", lambda rt: marks(rt, 1, 32768), {"heap_bytes": 65536}),
    ("EWINDOW", "window", nested, {"window": 16}),
    ("ECAPACITY", "region map", tiles, {"map_entries": 64}),
    ("EDEADLOCK", "wait", waits, {"engine": "virtual"}),
    ("EDEADLOCK", "wait", waits, {"engine": "threads"}),
    ("EKERNEL", "kernel fails failed .*ValueError: no number", raises, {}),
    ("ESYSTEM", "no-such-chip", None, {"chip": "no-such-chip"}),
])
def test_a_status_is_its_exception_with_the_library_s_sentence(name, sentence, orchestrate, settings):
    expected = getattr(pto.errors, name)
    with pytest.raises(expected, match=sentence) as raised:
        with pto.Runtime(**settings) as rt:
            rt.run(orchestrate)
    assert raised.value.status == expected.status


def test_what_an_orchestration_raises_is_the_status_of_a_context():
    with pto.Context() as device:
        device.dispatch(lambda rt, x: user(rt), {}, {"x": device.empty(1)})
        with pytest.raises(pto.errors.EUSER, match="LookupError: mine"):
            device.sync()


def test_the_end_of_a_context_s_block_raises_a_failure_that_no_call_has_raised():
    def leaves(*calls, orchestrate=lambda rt, x: user(rt)):
        with pto.Context() as device:
            device.dispatch(orchestrate, {}, {"x": device.empty(4)})
            for call in calls:
                call(device)

    def catches(device):
        with pytest.raises(pto.errors.EUSER, match="LookupError: mine"):
            device.sync()

    with pytest.raises(pto.errors.EUSER, match="LookupError: mine") as found:
        leaves()
    assert isinstance(found.value.__cause__, LookupError)
    with pytest.raises(pto.errors.EKERNEL, match="ValueError: no number"):
        leaves(orchestrate=lambda rt, x: rt.submit(pto.kernel()(fails), x))
    with pytest.raises(ZeroDivisionError):
        leaves(lambda device: 1 / 0)
    leaves(catches)
    leaves(catches, pto.Context.clear_error)
    leaves(pto.Context.close)


@pytest.mark.parametrize("words", ("no number", "two\nlines", "a\0b", "\ud800 \u2028 é", "long " * 1000, ""))
def test_a_failure_of_a_context_has_what_its_kernel_raised_as_cause(words):
    """On a thread that is not the caller's."""
    @pto.kernel
    def raises(x: pto.output):
        raise ValueError(words)

    def twice(rt, x):
        rt.submit(raises, x)
        with pytest.raises(pto.errors.EKERNEL):
            rt.read(x, 0)
        with pytest.raises(pto.errors.EKERNEL) as found:
            rt.submit(raises, x)
        raise found.value

    for orchestrate in (lambda rt, x: rt.submit(raises, x), twice):
        with pto.Context() as device:
            device.dispatch(orchestrate, {}, {"x": device.empty(4)})
            with pytest.raises(pto.Error) as found:
                device.sync()
        cause = found.value.__cause__
        while isinstance(cause, pto.Error):
            cause = cause.__cause__
        assert isinstance(cause, ValueError) and str(cause) == words


def test_a_device_tensor_is_told_with_its_label():
    with pto.Context() as device:
        device.empty(1)
        halo = device.empty(1, readable=False, label="halo")
        with pytest.raises(pto.errors.EINVAL, match=r"read: tensor 2 \(halo\) is not readable"):
            halo.read()


def test_memory_that_is_not_there_is_said():
    with pto.Context(memory_bytes=1 << 20) as device:
        with pytest.raises(pto.errors.ENOMEM, match="free"):
            device.empty((1 << 20,), "f32")


def test_what_has_no_result_is_not_supported():
    build = pto.GraphBuilder()
    filters = build.constant(numpy.ones((3, 1, 1, 1), numpy.float32))
    with pytest.raises(pto.errors.ENOTSUP, match="groups"):
        build.build({"y": build.conv_transpose2d(build.input("x", "f32", (1, 3, 4, 4)), filters, groups=2)})


def alone(lines, after=()):
    """What an interpreter of its own does with these lines: status, errors.  after: seconds at which it gets a SIGINT."""
    child = subprocess.Popen([sys.executable, "-c", f"import numpy, pto\nSLOW = {SLOW!r}\n{lines}"], stderr=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    for seconds in after:
        time.sleep(seconds)
        child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=60)[1]
    return child.returncode, said


STUCK = """
slow = pto.compile(SLOW)
def stuck(rt):
    x = rt.tensor(numpy.zeros(4, numpy.float32))
    print("ready", flush=True)
    rt.submit(slow, x, 50000)
pto.Runtime(workers=1, timeout_ms={}).run(stuck)
"""


def test_a_kernel_that_outlives_the_time_out_ends_the_process():
    status, said = alone(STUCK.format(300))
    assert status == 1 and "pto: " in said and "slow" in said


# ---- Ctrl-C ----

def sleeps(rt, x):
    for _ in range(1000):
        rt.submit(slow, x, 10)


def in_a_runtime():
    with pto.Runtime() as rt:
        rt.run(lambda rt: sleeps(rt, rt.tensor(numpy.zeros(4, numpy.float32))))


def in_a_context():
    with pto.Context() as device:
        x = device.empty(4)
        device.dispatch(sleeps, {}, {"x": x})
        x.read()


def program():
    return pto.Program(sleeps, outputs={"x": numpy.zeros(4, numpy.float32)})


def in_a_python_kernel():
    @pto.kernel()
    def forever(x: pto.inout):
        while True:
            time.sleep(0.01)

    with pto.Runtime(workers=1) as rt:
        rt.run(lambda rt: rt.submit(forever, rt.tensor(numpy.zeros(4, numpy.float32))))


def in_an_orchestration():
    def forever(rt):
        while True:
            marks(rt, 1)
            with rt.scope():
                time.sleep(0.001)

    with pto.Runtime() as rt:
        rt.run(forever)


def in_a_world():
    pto.World(3, "a2a3").run(lambda rt: sleeps(rt, rt.tensor(numpy.zeros(4, numpy.float32))))


def for_ever(*_):
    """A loop of Python that never submits."""
    while True:
        time.sleep(0.001)


def in_a_rank_s_loop():
    def orchestrate(rt):
        pto.Communicator(rt)
        if rt.rank != 1:
            for_ever()
        pto.Communicator(rt)

    pto.World(3, "a2a3").run(orchestrate)


def in_the_loop_of_a_dispatch(engine):
    with pto.Context(engine=engine) as device:
        device.dispatch(for_ever, {}, {"x": device.empty(4)})
        device.sync()


def as_a_context_closes(orchestrate, engine):
    device = pto.Context(engine=engine)
    device.dispatch(orchestrate, {}, {"x": device.empty(4)})
    try:
        device.close()
    finally:
        assert device.is_closed


loops = {"rank's loop": in_a_rank_s_loop, "alone": lambda: pto.Runtime().run(for_ever),
         "judged rank's loop": lambda: pto.Program(for_ever).check(ranks=2),
         "compute": lambda: pto.Context().compute(for_ever, {}, {"x": ("f32", 4)}),
         **{f"dispatch {engine}": lambda engine=engine: in_the_loop_of_a_dispatch(engine) for engine in ("threads", "virtual")},
         **{f"close {each.__name__} {engine}": lambda each=each, engine=engine: as_a_context_closes(each, engine)
            for engine in ("threads", "virtual") for each in (sleeps, for_ever)}}


@pytest.mark.parametrize("wait", [*loops.values(), in_a_runtime, in_a_world, in_a_context, lambda: program().run(), lambda: program().check(),
                                  lambda: program().explore(), lambda: program().observe(), in_a_python_kernel,
                                  in_an_orchestration, lambda: program().check(ranks=2), lambda: program().explore(ranks=2)],
                         ids=[*loops, "runtime", "world", "context", "run", "check", "explore", "observe", "kernel", "orchestration",
                              "check-ranks", "explore-ranks"])
def test_ctrl_c_ends_what_is_waited_for_and_the_next_run_goes_well(wait):
    global slow
    slow = pto.compile(SLOW)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        wait()
    assert time.monotonic() - begun < 5  # all of it takes ten
    timer.join()
    with pto.Runtime() as rt:
        assert rt.run(lambda rt: marks(rt, 3))["tasks"] == 3


@pytest.mark.parametrize("run", (lambda orchestrate: pto.Runtime().run(orchestrate), lambda orchestrate: pto.World(2).run(orchestrate),
                                 lambda orchestrate: pto.Program(orchestrate).run(), lambda orchestrate: pto.Program(orchestrate).check()))
def test_what_a_kernel_raised_is_told_where_the_orchestration_meets_its_status(run):
    """As Ctrl-C does in a kernel that runs within a submit."""
    def until(exception):
        @pto.kernel
        def raises(x: pto.inout):
            raise exception

        def orchestrate(rt):
            x = rt.tensor(numpy.zeros(4, numpy.float32))
            rt.submit(raises, x)
            rt.read(x, 0)

        return orchestrate

    with pytest.raises(KeyboardInterrupt):
        run(until(KeyboardInterrupt()))
    try:
        found = run(until(LookupError("mine"))).error
    except pto.errors.EKERNEL as error:
        found = error
    assert "LookupError: mine" in str(found)
    causes = [found.__cause__, found.__cause__ and found.__cause__.__cause__]
    assert any(isinstance(cause, LookupError) for cause in causes), causes


def in_a_thread(call):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


@pytest.mark.parametrize("engine", ("threads", "virtual"))
def test_what_a_kernel_raised_is_of_its_own_run_alone(engine):
    """Another run fails, and one goes well, while this one is under way."""
    @pto.kernel
    def fails_as(x: pto.inout, number: int):
        raise ValueError(f"of run {number}")

    def fails_in(number, then=lambda: None):
        def run(rt):
            x = rt.tensor(numpy.zeros(4, numpy.float32))
            rt.submit(fails_as, x, number)
            with pytest.raises(pto.errors.EKERNEL):
                rt.read(x, 0)
            then()

        with pytest.raises(pto.errors.EKERNEL) as found:
            with pto.Runtime(engine=engine, workers=2) as rt:
                rt.run(run)
        causes[number] = repr(found.value.__cause__)

    def goes_well(within=lambda: None):
        with pto.Runtime(engine=engine) as rt:
            assert rt.run(lambda rt: (marks(rt, 1), within()))["tasks"] == 1

    def beside_the_others():
        in_a_thread(goes_well)
        in_a_thread(lambda: fails_in(2))

    causes = {}
    fails_in(1, beside_the_others)
    goes_well(lambda: in_a_thread(lambda: fails_in(3)))
    assert causes == {number: f"ValueError('of run {number}')" for number in (1, 2, 3)}


@pytest.mark.parametrize("settings", ({"engine": "virtual"}, {"engine": "threads", "workers": 1}), ids=("virtual", "threads"))
def test_two_runs_at_once_whose_kernels_say_the_same_have_their_own(settings):
    both, causes = threading.Barrier(2), {}

    class Numbered(ValueError):
        pass

    @pto.kernel
    def says_the_same(x: pto.inout, number: int):
        raised = Numbered("the same")
        raised.number = number
        raise raised

    def fails(number):
        def run(rt):
            x = rt.tensor(numpy.zeros(4, numpy.float32))
            rt.submit(says_the_same, x, number)
            with pytest.raises(pto.errors.EKERNEL):
                rt.read(x, 0)
            both.wait()

        with pytest.raises(pto.errors.EKERNEL) as found:
            with pto.Runtime(**settings) as rt:
                rt.run(run)
        causes[number] = found.value.__cause__.number

    threads = [threading.Thread(target=fails, args=(number,)) for number in (1, 2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert causes == {1: 1, 2: 2}


@pytest.mark.parametrize("judge, settings", [("observe", {}), ("observe", {"ranks": 2}), ("check", {}), ("explore", {})])
def test_a_judge_of_a_program_whose_kernel_fails_raises(judge, settings):
    program = pto.Program(lambda rt, x: rt.submit(pto.kernel()(fails), x), outputs={"x": ("f32", 4)})
    with pytest.raises(pto.errors.EKERNEL, match="ValueError: no number") as found:
        getattr(program, judge)(**settings)
    assert isinstance(found.value.__cause__, ValueError)
    with pytest.raises(pto.errors.EKERNEL, match="ValueError: no number"):
        pto.assert_declared(program)


def test_a_second_ctrl_c_ends_a_process_whose_kernel_does_not_return():
    status, _ = alone(STUCK.format(0), after=(0.1, 2.2))
    assert status == -signal.SIGINT


def test_ctrl_c_of_another_thread_s_run_is_its_status():
    found = []

    def other():
        try:
            with pto.Runtime() as rt:
                rt.run(begins_and_sleeps)
        except pto.Error as error:
            found.append(error)
        ended.set()

    def begins_and_sleeps(rt):
        begun.set()
        sleeps(rt, rt.tensor(numpy.zeros(4, numpy.float32)))

    global slow
    slow, begun, ended = pto.compile(SLOW), threading.Event(), threading.Event()
    threading.Thread(target=other).start()
    assert begun.wait(60)
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        ended.wait(20)
    assert ended.wait(20)
    assert isinstance(found[0], pto.errors.EINTERRUPTED) and "interrupted after" in str(found[0])
