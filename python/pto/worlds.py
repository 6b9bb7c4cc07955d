# SPDX-License-Identifier: MIT
"""Worlds: several chips in one virtual time, each a rank with a runtime of its own.

    pto.World(ranks=4, chip="a2a3").run(orchestrate)    # orchestrate(rt) for each, with rt.rank and rt.rank_count

Ranks meet in communicators, which all ranks of one make in the same order.  Each rank's orchestration has a thread of its own,
and one of them runs at a time.  Kernels that wait for other ranks are C (pto.compile, <pto/remote.h>).
"""

import sys

from .kernel_objects import failed, first_failed
from .library import chars, errors, explained, failure, ffi, interruptible, lib, text
from .runtime import Runtime, _Call
from .tensors import Tensor, dtype_code

_reductions = {name: getattr(lib, "PTO_REDUCE_" + name.upper()) for name in ("sum", "product", "maximum", "minimum")}
_algorithms = {name: getattr(lib, "PTO_ALL_REDUCE_" + name.upper())
               for name in ("one_phase", "two_phase", "ring", "bidirectional_ring")}


class World:
    """ranks: 1 to 64, as many as the [fabric] of the chip holds.  threads: that ranks run on, with the same results.  The other
    settings are those of pto.Runtime, for each rank's; its engine is the virtual one."""

    def __init__(self, ranks, chip="tiny", threads=1, **settings):
        self.ranks, self.chip, self.threads, self.settings = ranks, chip, threads, settings

    def run(self, orchestrate, *arguments):
        """Calls orchestrate(rt, *arguments) for each rank, all from the same time on; the counts of each rank's run in a list.

        An exception that leaves one comes out as it is: the lowest rank's, those of ranks that wait for ever for another last.
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

        failed.clear()
        try:
            for rank in range(self.ranks):
                runtimes.append(Runtime(engine="virtual", chip=self.chip, rank=lib.pto_world_rank(world, rank), **self.settings))
            with interruptible:
                status = lib.pto_world_run(world, main, ffi.NULL)
            raised = sorted((isinstance(runtime.exception, errors.EDEADLOCK), rank) for rank, runtime in enumerate(runtimes)
                            if runtime.exception is not None)
            if raised:
                exception = runtimes[raised[0][1]].exception
                if hasattr(exception, "add_note"):
                    exception.add_note(f"of rank {raised[0][1]}")
                raise exception
            if status < 0:
                raise failure(status, text(lib.pto_world_last_error(world))) from first_failed()
            if failed:  # the cost of a kernel
                raise first_failed()
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
        """What kernels get as a scalar."""
        return self.c.id

    @property
    def place(self):
        """This rank's, from 0 on: what `peer` means."""
        return lib.pto_comm_place(self.rt.c, self.c[0])

    @property
    def size(self):
        return lib.pto_comm_size(self.rt.c, self.c[0])


class Communicator(_OfRanks):
    """Some ranks, each with a window of memory and signals, both zero at first.  Returns when all of them have made theirs."""

    def __init__(self, rt, window_bytes=0, signals=0, ranks=None):
        super().__init__(rt, ranks, lib.pto_comm_create, window_bytes, signals)

    def _tensor(self, place, dtype, shape):
        shape = [shape] if isinstance(shape, int) else list(shape)
        made = lib.pto_comm_peer(self.rt.c, self.c[0], place, dtype_code(dtype), len(shape), shape)
        if made.status < 0:
            self.rt.check(made.status)
        return Tensor(ffi.new("struct pto_tensor *", made))

    def window(self, dtype, shape):
        """The begin of the own window, as a dense tensor."""
        return self._tensor(self.place, dtype, shape)

    def peer(self, place, dtype, shape):
        """The begin of another rank's, for kernels that put (an output) or get (an input): nothing else can touch it."""
        return self._tensor(place, dtype, shape)

    def submit(self, kernel, *values, blocks=1, after=(), label=None, when=None, core=None, **named):
        """Submits this rank's task of a group; parameters as of Runtime.submit.

        What the ranks submit as their n-th of this communicator may wait for each other's signals, and nothing else may.
        """
        call = _Call(self.rt.c, kernel, blocks, label, core, after, False, when)
        call.fill(values, named)
        self.rt.at(sys._getframe(1))
        task = ffi.new("struct pto_task *")
        self.rt.check(lib.pto_submit_group(self.rt.c, self.c[0], call.launch, call.params, call.count, task))
        return task[0]


class Collectives(_OfRanks):
    """Some ranks for collectives of dense tensors of at most max_bytes each; all submit the same ones in the same order.

    `source` and `out` may be the same bytes where both have the same size.
    """

    def __init__(self, rt, max_bytes, ranks=None):
        super().__init__(rt, ranks, lib.pto_comm_create_for_collectives, max_bytes)

    def _submit(self, call, source, out, *arguments):
        if out.is_read_only:
            raise errors.EINVAL("out is written, and its array is read-only")
        self.rt.at(sys._getframe(2))
        self.rt.check(call(self.rt.c, self.c[0], source.c, out.c, *arguments))

    def all_reduce(self, source, out, reduction="sum", algorithm="one_phase"):
        """out = the reduction of all ranks' source: "sum", "product", "maximum", "minimum"; by "one_phase", "two_phase", "ring" or
        "bidirectional_ring"."""
        self._submit(lib.pto_submit_all_reduce, source, out, _reductions[reduction], _algorithms[algorithm])

    def reduce_scatter(self, source, out, reduction="sum"):
        """out = part `place` of the reduction of all ranks' source."""
        self._submit(lib.pto_submit_reduce_scatter, source, out, _reductions[reduction])

    def all_gather(self, source, out):
        """out = all ranks' source, one behind the other."""
        self._submit(lib.pto_submit_all_gather, source, out)

    def broadcast(self, source, out, root=0):
        """out = the source of the rank at place `root`."""
        self._submit(lib.pto_submit_broadcast, source, out, root)

    def all_to_all(self, source, out):
        """Part i of out = part `place` of rank i's source."""
        self._submit(lib.pto_submit_all_to_all, source, out)

    def barrier(self):
        """A task that is done after all ranks have begun theirs: for `after`."""
        task = ffi.new("struct pto_task *")
        self.rt.at(sys._getframe(1))
        self.rt.check(lib.pto_submit_comm_barrier(self.rt.c, self.c[0], task))
        return task[0]
