# SPDX-License-Identifier: MIT
"""Worlds: several chips in one virtual time, each a rank with a runtime of its own.

    pto.World(ranks=4, chip="a2a3").run(orchestrate)    # orchestrate(rt) for each, with rt.rank and rt.rank_count

Ranks meet in communicators, which all ranks of one make in the same order.  Each rank's orchestration has a thread of its own,
and one of them runs at a time.  Kernels that wait for other ranks are C (pto.compile, <pto/remote.h>).
"""

import sys

from .kernel_objects import blamed, failure_behind, forget_failures
from .library import chars, chosen, errors, explained, failure, ffi, interruptible, lib, text, waited
from .runtime import Runtime, _Call
from .tensors import PeerTensor, Tensor, dtype_code, extents, refuse_peer

_reductions = {name: getattr(lib, "PTO_REDUCE_" + name.upper()) for name in ("sum", "product", "maximum", "minimum")}
_algorithms = {name: getattr(lib, "PTO_ALL_REDUCE_" + name.upper())
               for name in ("one_phase", "two_phase", "ring", "bidirectional_ring")}


class World:
    """ranks: 1 to 64, as many as the [fabric] of the chip holds.  threads: that ranks run on, with the same results.  The other
    settings are those of pto.Runtime, for each rank's; its engine is the virtual one."""

    def __init__(self, ranks, chip="tiny", threads=1, **settings):
        if ranks < 1:
            raise ValueError(f"ranks is {ranks}: a world has 1 or more")
        self.ranks, self.chip, self.threads, self.settings = ranks, chip, threads, {"engine": "virtual", **settings}

    def run(self, orchestrate, *arguments):
        """Calls orchestrate(rt, *arguments) for each rank, all from the same time on; the counts of each rank's run in a list.

        An exception that leaves one comes out as it is, pto.Error where the run fails: the lowest rank's, those of ranks that wait for ever for another last.
        """
        chip, out = chars(self.chip), ffi.new("struct pto_world **")
        explained(lib.pto_world_create, ffi.new("struct pto_world_config *", {
            "size": ffi.sizeof("struct pto_world_config"), "ranks": self.ranks, "chip": chip, "threads": self.threads,
            "rank_threads": True}), out)
        world, runtimes = ffi.gc(out[0], lib.pto_world_destroy), []

        @ffi.callback("int(struct pto_rank *, void *)", error=lib.PTO_EUSER)
        def main(rank, _):
            runtime = runtimes[lib.pto_rank_index(rank)]
            status = runtime.run_once(orchestrate, arguments)
            if status < 0:
                lib.pto_rank_set_error(rank, lib.pto_last_error(runtime.c))
            return status

        forget_failures()
        try:
            for rank in range(self.ranks):
                runtimes.append(Runtime(chip=self.chip, rank=lib.pto_world_rank(world, rank), **self.settings))
            with interruptible:
                status = waited(lib.pto_world_run, world, main, ffi.NULL)
            threads = [runtime.thread for runtime in runtimes]
            raised = sorted((isinstance(runtime.exception, errors.EDEADLOCK), rank) for rank, runtime in enumerate(runtimes)
                            if runtime.exception is not None)
            if raised:
                exception = blamed(runtimes[raised[0][1]].exception, *threads)
                if hasattr(exception, "add_note"):
                    exception.add_note(f"of rank {raised[0][1]}")
                raise exception
            if status < 0:
                error = failure(status, text(lib.pto_world_last_error(world)))
                raise error from failure_behind(str(error), *threads)
            cause = failure_behind(None, *threads)
            if cause is not None:  # of the cost of a kernel
                raise cause
            return [runtime.stats for runtime in runtimes]
        finally:
            for runtime in runtimes:
                runtime.close()
            ffi.release(world)


class _OfRanks:
    """rt: the runtime of the calling rank.  ranks: which are in it, in order; None for all of the world."""

    def __init__(self, rt, ranks, create, *sizes):
        self.rt, self.c = rt, ffi.new("struct pto_comm *")
        listed, count = (ffi.NULL, 0) if ranks is None else (list(ranks), len(ranks))
        rt.check(create(rt.c, listed, count, *sizes, self.c))

    @property
    def id(self):
        """The number that kernels get as a scalar."""
        return self.c.id

    @property
    def place(self):
        """This rank's, from 0 on: what `peer` means."""
        return lib.pto_comm_place(self.rt.c, self.c[0])

    @property
    def size(self):
        """How many ranks are in it."""
        return lib.pto_comm_size(self.rt.c, self.c[0])


class Communicator(_OfRanks):
    """Some ranks, each with a window of memory and signals, both zero at first.  Returns when all of them have made theirs.

    errors.EINVAL where this rank is not among them or sizes differ, errors.EDEADLOCK where one does not come, errors.ENOTSUP where the
    chip is alone."""

    def __init__(self, rt, window_bytes=0, signals=0, ranks=None):
        super().__init__(rt, ranks, lib.pto_comm_create, window_bytes, signals)

    def _tensor(self, place, dtype, shape):
        shape = extents(shape)
        made = lib.pto_comm_peer(self.rt.c, self.c[0], place, dtype_code(dtype), len(shape), shape)
        if made.status < 0:
            self.rt.check(made.status)
        return (Tensor if place == self.place else PeerTensor)(ffi.new("struct pto_tensor *", made))

    def window(self, dtype, shape):
        """The begin of the own window, as a dense Tensor.  errors.EINVAL where it does not fit the window."""
        return self._tensor(self.place, dtype, shape)

    def peer(self, place, dtype, shape):
        """The begin of another rank's, a Tensor for remote kernels that put (an output) or get (an input): others are refused.
        errors.EINVAL where it does not fit the window, or there is no such rank."""
        return self._tensor(place, dtype, shape)

    def submit(self, kernel, *values, blocks=1, after=(), label=None, when=None, core=None, **named):
        """Submits this rank's task of a group; parameters as of Runtime.submit.

        What the ranks submit as their n-th of this communicator may wait for each other's signals, and nothing else may.
        Returns the task; raises as Runtime.submit.
        """
        call = _Call(self.rt.c, kernel, blocks, label, core, after, False, when)
        call.fill(values, named)
        self.rt.at(sys._getframe(1))
        task = ffi.new("struct pto_task *")
        self.rt.check(lib.pto_submit_group(self.rt.c, self.c[0], call.launch, call.params, call.count, task))
        return task[0]


class MoeDispatch:
    """What Collectives.moe_dispatch leaves for moe_combine; valid within the scope of the dispatch.

    counts: i32 [p, E], rows from each rank to each expert.  order: i32 [T, K], where each row stands among those of its rank.
    task: for `after` of what reads recv_count as a predicate.
    """

    def __init__(self, c):
        self.c, self.task = c, c.dispatch
        self.counts, self.order = (Tensor(ffi.new("struct pto_tensor *", each)) for each in (c.counts, c.order))


class Collectives(_OfRanks):
    """Some ranks for collectives of dense tensors of at most max_bytes each; all submit the same ones in the same order.

    `source` and `out` may be the same bytes where both have the same size.  Where sizes do not fit each other or max_bytes, `out` is
    read-only or a tensor is in the window of another rank, calls raise errors.EINVAL.
    """

    def __init__(self, rt, max_bytes, ranks=None):
        super().__init__(rt, ranks, lib.pto_comm_create_for_collectives, max_bytes)

    def _submit(self, call, source, out, *arguments):
        self._written(out=out)
        refuse_peer("a tensor of a collective", source, out)
        self.rt.at(sys._getframe(2))
        self.rt.check(call(self.rt.c, self.c[0], source.c, out.c, *arguments))

    @staticmethod
    def _written(**tensors):
        for name, tensor in tensors.items():
            if tensor.is_read_only:
                raise errors.EINVAL(f"{name} is written, and its array is read-only")

    def all_reduce(self, source, out, reduction="sum", algorithm="one_phase"):
        """out = the reduction of all ranks' source: "sum", "product", "maximum", "minimum"; by "one_phase", "two_phase", "ring" or
        "bidirectional_ring"."""
        self._submit(lib.pto_submit_all_reduce, source, out, chosen("reduction", reduction, _reductions),
                     chosen("algorithm", algorithm, _algorithms))

    def reduce_scatter(self, source, out, reduction="sum"):
        """out = part `place` of the reduction of all ranks' source."""
        self._submit(lib.pto_submit_reduce_scatter, source, out, chosen("reduction", reduction, _reductions))

    def all_gather(self, source, out):
        """out = all ranks' source, one behind the other."""
        self._submit(lib.pto_submit_all_gather, source, out)

    def broadcast(self, source, out, root=0):
        """out = the source of the rank at place `root`."""
        self._submit(lib.pto_submit_broadcast, source, out, root)

    def all_to_all(self, source, out):
        """Part i of out = part `place` of rank i's source."""
        self._submit(lib.pto_submit_all_to_all, source, out)

    def moe_dispatch(self, x, topk_idx, recv_x, recv_count):
        """Sends rows to experts, of which each of p ranks has E / p, the rank at place i those from i · E / p on.

        x [T, H], of any dtype, and topk_idx, i32 [T, K] of 0 to E − 1: row t goes to the K experts of its line.  They come to
        recv_x [E / p, capacity, H], in order of ranks, tokens and k, and recv_count, i32 [E / p], says how many each expert
        got.  recv_x has been written before, as rows from there on stay what they were.  max_bytes is the largest of recv_x,
        T · K rows and 4 · E + 16.  Returns a MoeDispatch.  Where an expert gets more than its capacity, the run fails with
        errors.EKERNEL on every rank.
        """
        self._written(recv_x=recv_x, recv_count=recv_count)
        refuse_peer("a tensor of a collective", x, topk_idx, recv_x, recv_count)
        made = ffi.new("struct pto_moe_handle *")
        self.rt.at(sys._getframe(1))
        self.rt.check(lib.pto_submit_moe_dispatch(self.rt.c, self.c[0], x.c, topk_idx.c, recv_x.c, recv_count.c, made))
        return MoeDispatch(made)

    def moe_combine(self, y, topk_weights, dispatch, out):
        """out [T, H] = the sum of weight · row in the order of k, in f32, rounded once to out's dtype: f32 or that of y.

        y [E / p, capacity, H], of f32, fp16 or bf16: its rows answer those of recv_x; H may be another.  topk_weights: f32
        [T, K].  dispatch: what moe_dispatch returned.
        """
        self._written(out=out)
        refuse_peer("a tensor of a collective", y, topk_weights, out)
        self.rt.at(sys._getframe(1))
        self.rt.check(lib.pto_submit_moe_combine(self.rt.c, self.c[0], y.c, topk_weights.c, dispatch.c, out.c))

    def barrier(self):
        """A task that is done after all ranks have begun theirs: for `after`."""
        task = ffi.new("struct pto_task *")
        self.rt.at(sys._getframe(1))
        self.rt.check(lib.pto_submit_comm_barrier(self.rt.c, self.c[0], task))
        return task[0]
