# SPDX-License-Identifier: MIT
"""Recorded tasks: a graph of tasks that is recorded once, and launched as one task, again and again with other memory.

    ninefold = rt.record(orchestrate, pto.input(x), pto.output(y))      # orchestrate(rt, x, y) submits; nothing runs
    ninefold(x, y)                                                      # submits all of it
"""

import sys

from .library import errors, ffi, lib
from .tensors import Mode, Tensor, refuse_peer


def _params(boundary):
    """A C array of parameters.  boundary: (mode, tensor) each."""
    made = ffi.new("struct pto_param[]", max(len(boundary), 1))
    for place, (mode, tensor) in zip(made, boundary):
        refuse_peer("a tensor of the boundary", tensor)
        if tensor.is_read_only and mode.name != "input":
            raise errors.EINVAL("a tensor of the boundary is written, and its array is read-only")
        place.mode, place.value.tensor = mode.value, tensor.c
    return made


def _tensors(what, given):
    for each in given:
        if not isinstance(each, Tensor):
            raise TypeError(f"{what} takes tensors of the runtime, and got a {type(each).__name__}")
    return given


class Recorded:
    """What Orchestrating.record gives; it may be launched in later runs of the runtime, too."""

    def __init__(self, rt, c, modes):
        self.rt, self.c, self.modes = rt, ffi.gc(c, lib.pto_recorded_destroy), modes

    def __call__(self, *tensors, after=(), scalars=None):
        """Launches it; the task stands for all of it, for `after`.

        tensors: the boundary, of the recording's shapes.  scalars: values in place of the recorded ones by (task of the recording,
        scalar of that task), both from 0 on; a float for a scalar of float, else an int.
        """
        if len(tensors) != len(self.modes):
            raise TypeError(f"the boundary has {len(self.modes)} tensors, and got {len(tensors)}")
        params = _params(list(zip(self.modes, _tensors("a launch", tensors))))
        patched = ffi.new("struct pto_recorded_scalar[]", [
            {"task": task, "scalar": scalar, "value": {"f32" if isinstance(value, float) else "i64": value}}
            for (task, scalar), value in (scalars or {}).items()])
        tasks = self.rt.tasks(after)
        launch = ffi.new("struct pto_recorded_launch *", {
            "size": ffi.sizeof("struct pto_recorded_launch"), "params": params, "count": len(tensors),
            "scalars": patched, "scalar_count": len(patched), "after": tasks, "after_count": len(tasks)})
        task = ffi.new("struct pto_task *")
        self.rt.at(sys._getframe(1))
        self.rt.check(lib.pto_submit_recorded(self.rt.c, self.c, launch, task))
        return task[0]


def record(rt, orchestrate, boundary):
    """What orchestrate(rt, *tensors) submits.  boundary: tensors with their modes around them."""
    for each in boundary:
        if not (isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], Mode)):
            raise TypeError("the boundary is tensors with modes: pto.input(x), pto.output(y), pto.inout(z)")
    tensors = _tensors("a boundary", [tensor for _, tensor in boundary])
    rt.check(lib.pto_recorded_begin(rt.c, _params(boundary), len(boundary)))
    out, is_done = ffi.new("struct pto_recorded **"), False
    try:
        orchestrate(rt, *tensors)
        is_done = True
    finally:
        status = lib.pto_recorded_end(rt.c, out)
        if not is_done:
            lib.pto_recorded_destroy(out[0])
    rt.check(status)
    return Recorded(rt, out[0], [mode for mode, _ in boundary])
