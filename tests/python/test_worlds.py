# SPDX-License-Identifier: MIT
"""Worlds of several ranks: collectives against numpy, windows and signals with a C kernel, and what goes wrong on a rank."""

import threading

import numpy
import pytest

import pto

CHIP = "a2a3"
PASS_ON = """
#include <string.h>
#include <pto/remote.h>

/* Puts `from` into the next rank's window, and takes what has come into its own. */
static int pass_on(const struct pto_kernel_args *args) {
  const uint64_t comm = args->scalars[0].u64;
  int status = pto_core_put(args, &args->tensors[1], &args->tensors[0]);
  if (!status) status = pto_core_notify(args, comm, (uint32_t)args->scalars[1].u64, 0, PTO_NOTIFY_ADD, 1);
  if (!status) status = pto_core_wait_signal(args, comm, 0, PTO_IF_GE, 1);
  if (!status) memcpy(args->tensors[3].addr, args->tensors[2].addr, 4 * args->tensors[3].shape[0]);
  return status;
}
static struct pto_cost cost(const struct pto_kernel_args *args) { return (struct pto_cost){.bytes_in = 4 * args->tensors[0].shape[0]}; }
static const struct pto_kernel_param params[] = {{.name = "from", .mode = PTO_INPUT},   {.name = "to", .mode = PTO_OUTPUT},
                                                 {.name = "window", .mode = PTO_INPUT}, {.name = "out", .mode = PTO_OUTPUT},
                                                 {.name = "comm", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64},
                                                 {.name = "peer", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64}};
const struct pto_kernel pass_on_kernel = {.name = "pass_on", .cores = PTO_AIV, .flags = PTO_KERNEL_REMOTE, .params = params,
                                          .param_count = 6, .run = pass_on, .cost = cost};
"""


@pytest.fixture(scope="module")
def pass_on():
    return pto.compile(PASS_ON)


def arrays_of(ranks, elems, seed):
    random = numpy.random.default_rng(seed)
    return [random.integers(-8, 8, elems).astype(numpy.float32) for _ in range(ranks)]


@pytest.mark.parametrize("ranks, threads", ((2, 1), (5, 1), (8, 3)))
@pytest.mark.parametrize("algorithm", ("one_phase", "two_phase", "ring", "bidirectional_ring"))
def test_all_reduce_is_numpys_sum(ranks, threads, algorithm):
    sources, results = arrays_of(ranks, 100, ranks), [numpy.empty(100, numpy.float32) for _ in range(ranks)]

    def reduce(rt):
        pto.Collectives(rt, 400).all_reduce(rt.tensor(sources[rt.rank]), rt.tensor(results[rt.rank]), algorithm=algorithm)

    stats = pto.World(ranks, CHIP, threads).run(reduce)
    for each in results:
        numpy.testing.assert_array_equal(each, sum(sources))
    assert len(stats) == ranks and all(each["tasks"] >= 1 and each["virtual_ps"] > 0 for each in stats)


def test_the_other_collectives_are_what_their_names_say():
    ranks = 4
    sources = arrays_of(ranks, 8, 1)
    found = {name: [numpy.zeros(size, numpy.float32) for _ in range(ranks)]
             for name, size in (("least", 2), ("gathered", 32), ("sent", 8), ("turned", 8))}

    def all_of_them(rt):
        some, mine = pto.Collectives(rt, 128), rt.tensor(sources[rt.rank])
        out = {name: rt.tensor(each[rt.rank]) for name, each in found.items()}
        some.reduce_scatter(mine, out["least"], "minimum")
        some.all_gather(mine, out["gathered"])
        some.broadcast(mine, out["sent"], root=2)
        some.all_to_all(mine, out["turned"])
        rt.submit(pto.kernels.relu, out["sent"], out["sent"], after=[some.barrier()])

    pto.World(ranks, CHIP).run(all_of_them)
    whole = numpy.stack(sources)
    for rank in range(ranks):
        numpy.testing.assert_array_equal(found["least"][rank], whole.min(0)[2 * rank:2 * rank + 2])
        numpy.testing.assert_array_equal(found["gathered"][rank], whole.reshape(-1))
        numpy.testing.assert_array_equal(found["sent"][rank], numpy.maximum(whole[2], 0))
        numpy.testing.assert_array_equal(found["turned"][rank], whole.reshape(4, 4, 2)[:, rank].reshape(-1))


@pytest.mark.parametrize("ranks, tokens", ((2, 6), (4, 5)))
def test_experts_answer_the_rows_of_all_ranks(ranks, tokens):
    experts, width, k = 2 * ranks, 8, 2
    random, capacity = numpy.random.default_rng(ranks), ranks * tokens
    x = random.integers(-8, 8, (ranks, tokens, width)).astype(numpy.float32)
    chosen = numpy.stack([[random.permutation(experts)[:k] for _ in range(tokens)] for _ in range(ranks)]).astype(numpy.int32)
    weights = random.integers(1, 4, (ranks, tokens, k)).astype(numpy.float32)
    out, received = numpy.zeros_like(x), numpy.full((ranks, 2, capacity, width), -1, numpy.float32)
    counts, sent = numpy.zeros((ranks, 2), numpy.int32), numpy.zeros((ranks, experts), numpy.int32)

    @pto.kernel("aiv")
    def answer(rows: pto.input, answers: pto.inout, expert: int):
        answers[...] = (expert + 1) * rows

    @pto.kernel("aiv")
    def copy(given: pto.input, to: pto.output):
        to[...] = given

    def layer(rt):
        some = pto.Collectives(rt, max(4 * 2 * capacity * width, 4 * experts + 16))
        rows, count = rt.tensor(received[rt.rank]), rt.tensor(counts[rt.rank])
        made = some.moe_dispatch(rt.tensor(x[rt.rank]), rt.tensor(chosen[rt.rank]), rows, count)
        assert (made.counts.shape, made.order.shape) == ((ranks, experts), (tokens, k))
        if rt.rank == 0:
            rt.submit(copy, made.counts, rt.tensor(sent), after=[made.task])
        answers = rt.empty(received[0].shape)
        rt.submit(pto.kernels.fill, answers, 0.0)
        for expert in range(2):
            rt.submit(answer, rows[expert], answers[expert], 2 * rt.rank + expert, when=(count[expert:expert + 1], ">", 0),
                      after=[made.task])
        some.moe_combine(answers, rt.tensor(weights[rt.rank]), made, rt.tensor(out[rt.rank]))

    pto.World(ranks, CHIP).run(layer)
    numpy.testing.assert_array_equal(out, ((chosen + 1) * weights).sum(-1, keepdims=True) * x)
    numpy.testing.assert_array_equal(sent, [numpy.bincount(each.reshape(-1), minlength=experts) for each in chosen])
    for expert in range(experts):
        rows = x[numpy.nonzero((chosen == expert).any(-1))]
        place, at = divmod(expert, 2)
        assert counts[place, at] == len(rows)
        numpy.testing.assert_array_equal(received[place, at, :len(rows)], rows)
        assert (received[place, at, len(rows):] == -1).all()


def test_an_expert_that_gets_more_than_its_capacity_fails_on_every_rank():
    x, chosen = numpy.ones((3, 4), numpy.float32), numpy.zeros((3, 1), numpy.int32)
    fixed = numpy.zeros(1, numpy.int32)
    fixed.flags.writeable = False

    def dispatch(rt, count):
        some = pto.Collectives(rt, 128)
        some.moe_dispatch(rt.tensor(x), rt.tensor(chosen), rt.tensor(numpy.zeros((1, 5, 4), numpy.float32)), rt.tensor(count))

    with pytest.raises(pto.errors.EKERNEL, match="expert 0, of place 0, gets 6 rows, and its capacity is 5"):
        pto.World(2, CHIP).run(lambda rt: dispatch(rt, numpy.zeros(1, numpy.int32)))
    with pytest.raises(pto.errors.EINVAL, match="recv_count is written, and its array is read-only"):
        pto.World(2, CHIP).run(lambda rt: dispatch(rt, fixed))


def test_a_c_kernel_puts_into_a_peers_window_between_python_kernels(pass_on):
    @pto.kernel("aiv")
    def scale(x: pto.inout, by: float):
        x *= by

    ranks, threads = 4, set()
    values, results = [numpy.full(16, rank + 1, numpy.float32) for rank in range(ranks)], numpy.zeros((ranks, 16), numpy.float32)

    def ring(rt):
        threads.add(threading.get_ident())
        comm = pto.Communicator(rt, window_bytes=64, signals=1)
        assert (comm.place, comm.size, rt.rank_count) == (rt.rank, ranks, ranks)
        value, result, following = rt.tensor(values[rt.rank]), rt.tensor(results[rt.rank]), (rt.rank + 1) % ranks
        rt.submit(scale, value, 2.0)
        comm.submit(pass_on, value, comm.peer(following, "f32", 16), comm.window("f32", 16), result, comm.id, following)
        rt.submit(scale, result, 10.0)

    first = pto.World(ranks, CHIP).run(ring)
    assert results[:, 15].tolist() == [80.0, 20.0, 40.0, 60.0]
    assert len(threads) == ranks and threading.get_ident() not in threads
    assert [each["virtual_ps"] for each in pto.World(ranks, CHIP, threads=2).run(ring)] == [each["virtual_ps"] for each in first]


def test_a_communicator_of_some_ranks_has_their_places(pass_on):
    values, results = [numpy.full(4, rank, numpy.float32) for rank in range(4)], numpy.zeros((4, 4), numpy.float32)

    def of_pairs(rt):
        comm = pto.Communicator(rt, 64, 1, ranks=[3, 1] if rt.rank % 2 else [0, 2])
        comm.submit(pass_on, rt.tensor(values[rt.rank]), comm.peer(1 - comm.place, "f32", 4), comm.window("f32", 4),
                    rt.tensor(results[rt.rank]), comm.id, 1 - comm.place)

    pto.World(4, CHIP).run(of_pairs)
    assert results[:, 3].tolist() == [2.0, 3.0, 0.0, 1.0]


def test_an_exception_of_one_rank_comes_out_and_ends_all():
    seen = []

    def orchestrate(rt):
        if rt.rank == 2:
            raise KeyError("of rank 2")
        try:
            pto.Communicator(rt)
        except pto.Error as error:
            seen.append(error)
            raise

    with pytest.raises(KeyError, match="of rank 2") as caught:
        pto.World(4, CHIP).run(orchestrate)
    assert getattr(caught.value, "__notes__", ["of rank 2"]) == ["of rank 2"]  # before Python 3.11 there are no notes
    assert len(seen) == 3 and all("rank 2" in str(each) for each in seen)


def test_what_waits_for_ever_is_told(pass_on):
    def alone(rt):
        comm = pto.Communicator(rt, 64, 1)
        x, y = (rt.tensor(numpy.zeros(4, numpy.float32)) for _ in range(2))
        if rt.rank == 0:
            comm.submit(pass_on, x, comm.peer(1, "f32", 4), comm.window("f32", 4), y, comm.id, 1)

    with pytest.raises(pto.errors.EDEADLOCK, match=r"rank 0 task 0 \(pass_on\).* rank 1 has not submitted its task of group 0"):
        pto.World(2, CHIP).run(alone)


def test_an_exception_of_a_python_kernel_is_the_cause():
    @pto.kernel("aiv")
    def fails(x: pto.inout):
        raise ZeroDivisionError("in a kernel")

    def orchestrate(rt):
        rt.submit(fails, rt.tensor(numpy.zeros(4, numpy.float32)))

    with pytest.raises(pto.errors.EKERNEL, match="rank 0: .*in a kernel") as caught:
        pto.World(2, CHIP).run(orchestrate)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_wrong_calls_are_refused_with_the_librarys_sentence():
    fixed = numpy.zeros(4, numpy.float32)
    fixed.flags.writeable = False

    def beyond(rt):
        pto.Communicator(rt, 8).window("f32", 4)

    def into_what_is_fixed(rt):
        pto.Collectives(rt, 16).all_reduce(rt.tensor(numpy.zeros(4, numpy.float32)), rt.tensor(fixed))

    for orchestrate, words in ((beyond, "16 bytes asked of comm 0, whose windows have 8"), (into_what_is_fixed, "read-only"),
                               (lambda rt: pto.Communicator(rt, ranks=[7, 0, 1]), "rank 7, the world has 2")):
        with pytest.raises(pto.errors.EINVAL, match=words):
            pto.World(2, CHIP).run(orchestrate)
    with pytest.raises(pto.errors.EINVAL, match="65"):
        pto.World(65, CHIP).run(beyond)
    with pto.Runtime() as rt, pytest.raises(pto.errors.ENOTSUP, match="the chip is alone"):
        rt.run(pto.Communicator)


@pto.kernel
def counts_up(x: pto.inout):
    x += 1


@pytest.mark.parametrize("what, call", [
    ("counts_up: x", lambda rt, c, p, own: c.submit(counts_up, p)),
    ("add: y", lambda rt, c, p, own: rt.submit(pto.kernels.add, own, own, p[:2])),
    ("add: a", lambda rt, c, p, own: rt.submit(pto.kernels.add, p, own, own)),
    ("fill: y", lambda rt, c, p, own: rt.submit(pto.kernels.fill, pto.hold(p), 1)),
    ("a tensor that is read", lambda rt, c, p, own: rt.read(p, 0)),
    ("a tensor that is written", lambda rt, c, p, own: rt.write(p, 0, 1)),
    ("the tensor of `when`", lambda rt, c, p, own: rt.submit(pto.kernels.fill, own, 1, when=(p, "==", 0))),
    ("a tensor of a collective", lambda rt, c, p, own: pto.Collectives(rt, 64).all_reduce(p, own)),
    ("a tensor of the boundary", lambda rt, c, p, own: rt.record(lambda rt, x: None, pto.input(p))),
])
def test_the_window_of_another_rank_is_for_remote_kernels_alone(what, call):
    def orchestrate(rt):
        c = pto.Communicator(rt, 64, 2)
        own = c.window("f32", 4)
        rt.submit(pto.kernels.fill, c.peer(rt.rank, "f32", 4), 1)
        call(rt, c, c.peer(1 - rt.rank, "f32", 4), own[:2] if what == "add: y" else own)

    with pytest.raises(pto.errors.EINVAL, match=f"^{what} is in the window of another rank, which kernels that declare PTO_KERNEL_REMOTE"):
        pto.World(2).run(orchestrate)
