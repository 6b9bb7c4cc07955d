# SPDX-License-Identifier: MIT
"""Runtimes: orchestrations in Python that submit tasks.

    with pto.Runtime(engine="virtual", chip="a2a3") as rt:
        rt.run(orchestration)          # orchestration(rt)

A call that is refused raises pto.Error and the run goes on where the orchestration catches it; an exception that leaves the
orchestration ends the run, and comes out of run() as it is.
"""

import contextlib
import math
import operator
import struct
import sys
import threading
import weakref

import numpy

from .kernel_objects import Kernel, blamed, failure_behind, forget_failures, sentence_of
from .library import Closable, chars, chosen, config, errors, failure, ffi, fields, interruptible, lib, orchestrating, text
from .recorded import record
from .tensors import Mode, Tensor, dtype_code, extents, numpy_dtype, of_array, refuse_peer

_compares = {"==": lib.PTO_IF_EQ, "!=": lib.PTO_IF_NE, "<": lib.PTO_IF_LT, "<=": lib.PTO_IF_LE, ">": lib.PTO_IF_GT,
             ">=": lib.PTO_IF_GE}
_writes = 2  # a bit of modes
_places = {}  # struct pto_place by file and line: one each, as long as the process
_labels = {}  # C strings, the same


# A struct pto_param as two words: mode and type of scalar, and the address or the scalar.
assert ffi.sizeof("struct pto_param") == 16 and ffi.offsetof("struct pto_param", "scalar_type") == 4
assert ffi.offsetof("struct pto_param", "value") == 8
_submit = lib.pto_submit_from
_task = ffi.typeof("struct pto_task")
_missing = object()  # in place of a parameter that is not given


_ranges = {lib.PTO_SCALAR_I64: (-2 ** 63, 2 ** 63 - 1), lib.PTO_SCALAR_U64: (0, 2 ** 64 - 1)}


def _scalar_bits(kind, value):
    if kind == lib.PTO_SCALAR_F32:
        return int.from_bytes(struct.pack("<f", value), "little")
    value, (least, most) = operator.index(value), _ranges[kind]
    if not least <= value <= most:
        raise OverflowError(f"not within {least} to {most}")
    return value & 0xFFFFFFFFFFFFFFFF


def _label(words):
    if words is None:
        return ffi.NULL
    if words not in _labels:
        _labels[words] = chars(words)
    return _labels[words]


def _place(frame):
    """The struct pto_place of a frame's line."""
    key = frame.f_code.co_filename, frame.f_lineno
    if key not in _places:
        file = chars(key[0])
        _places[key] = ffi.new("struct pto_place *", {"file": file, "line": key[1]}), file
    return _places[key][0]


def _check_call(kernel, blocks, core):
    """TypeError or ValueError for what is no kernel, no count of blocks, no core."""
    for each in kernel if isinstance(kernel, tuple) else [kernel]:
        if not (isinstance(each, Kernel) or each is None and isinstance(kernel, tuple)):
            raise TypeError(f"{each!r} is no kernel: those are pto.kernels.NAME, pto.compile(source), and functions below @pto.kernel(…)")
    if isinstance(kernel, tuple) and (len(kernel) != 3 or not any(kernel)):
        raise TypeError(f"the kernels of a task on several cores are (aic, aiv0, aiv1), not {kernel}")
    if blocks < 1:
        raise ValueError(f"blocks is {blocks}: a task has 1 or more")
    if core is not None:
        chosen("core", core, {"aic": 0, "aiv": 1})


def _tasks(after):
    """A C array of the tasks that come before."""
    after = list(after) if isinstance(after, (list, tuple, set)) else [after]
    if not all(isinstance(each, ffi.CData) and ffi.typeof(each) is _task for each in after):
        raise TypeError("`after` is a list of tasks, which submit() returns")
    return ffi.new("struct pto_task[]", after)


def _predicate(when):
    if not (isinstance(when, tuple) and len(when) == 3 and isinstance(when[0], Tensor)):
        raise TypeError('`when` is (tensor, "==", value)')
    refuse_peer("the tensor of `when`", when[0])
    return when


class _Call:
    """How a kernel is submitted: the struct pto_launch, and an array of parameters whose modes are the kernel's; of both the
    struct pto_submission."""

    def __init__(self, rt, kernel, blocks, label, core, after=(), sync_start=False, when=None):
        _check_call(kernel, blocks, core)
        self.launch = launch = ffi.new("struct pto_launch *", {
            "size": ffi.sizeof("struct pto_launch"), "block_count": blocks, "sync_start": sync_start, "label": _label(label)})
        self.is_remote = any(each.c.flags & lib.PTO_KERNEL_REMOTE for each in (kernel if isinstance(kernel, tuple) else [kernel]) if each)
        if isinstance(kernel, tuple):
            launch.aic, launch.aiv0, launch.aiv1 = (ffi.NULL if each is None else each.c for each in kernel)
            kernel = next(each for each in kernel if each is not None)
        elif kernel.is_cube or core == "aic":
            launch.aic = kernel.c
        else:
            launch.aiv0 = kernel.c
        if after:
            self.tasks = _tasks(after)
            launch.after, launch.after_count = self.tasks, len(self.tasks)
        if when is not None:
            self.flag, compare, launch.predicate.value = _predicate(when)
            launch.predicate.tensor, launch.predicate.compare = self.flag.c, chosen("the comparison of `when`", compare, _compares)
        self.kernel, self.count = kernel, len(kernel.params)
        self.params = ffi.new("struct pto_param[]", max(self.count, 1))
        self.submission = ffi.new("struct pto_submission *", {"rt": rt, "launch": launch, "params": self.params, "count": self.count})
        self.words = ffi.cast("uint64_t *", self.params)
        self.slots = [(2 * place + 1, not scalar and bool(mode & _writes and mode != lib.PTO_HOLD), scalar)
                      for place, (_, mode, scalar) in enumerate(kernel.params)]
        self.code = self.lasti = None  # where it was submitted last
        self._put_modes()

    def at(self, frame):
        """Tells where the next submits of it are made: the line of a frame."""
        self.code, self.lasti = frame.f_code, frame.f_lasti
        self.submission.place = _place(frame)

    def _put_modes(self):
        for place, (_, mode, scalar) in enumerate(self.kernel.params):
            self.words[2 * place] = lib.PTO_SCALAR | scalar << 32 if scalar else mode
        self.has_modes = True

    def fill(self, values, named):
        """Writes the parameters."""
        if named:
            values = self._in_order(values, named)
        if len(values) != self.count:
            raise TypeError(f"{self.kernel!r} got {len(values)} parameters")
        if not self.has_modes:
            self._put_modes()
        words = self.words
        for value, (at, writes, scalar) in zip(values, self.slots):
            if scalar:
                try:
                    words[at] = _scalar_bits(scalar, value)
                except (TypeError, ValueError, OverflowError, struct.error) as reason:
                    raise self._no_scalar(at, scalar, value, reason) from None
            elif type(value) is Tensor and not (writes and value.is_read_only):
                words[at] = value.address
            else:
                self._put_other(at, value)

    def _no_scalar(self, at, scalar, value, reason):
        said = f"{self.kernel.name}: {self.kernel.params[at // 2][0]} is {value!r}"
        if scalar == lib.PTO_SCALAR_F32:
            return TypeError(f"{said}, and not a number of 32 bits")
        if isinstance(reason, OverflowError):
            return OverflowError(f"{said}, {reason}")
        return TypeError(f"{said}, and not a whole number")

    def _put_other(self, at, value):
        """A tensor with a mode around it; and what is refused."""
        name, kernel_mode, _ = self.kernel.params[at // 2]
        mode = kernel_mode
        if type(value) is tuple and len(value) == 2 and isinstance(value[0], Mode):
            mode, value = value[0].value, value[1]
            self.has_modes = False
        if not isinstance(value, Tensor):
            raise TypeError(f"{self.kernel.name}: {name} is a {type(value).__name__}, not a tensor of the runtime; Runtime.tensor(array) makes one")
        if value.is_read_only and any(each & _writes and each != lib.PTO_HOLD for each in (mode, kernel_mode)):
            raise errors.EINVAL(f"{self.kernel.name}: {name} is written, and its array is read-only")
        if not self.is_remote:
            refuse_peer(f"{self.kernel.name}: {name}", value)
        self.words[at - 1], self.words[at] = mode, value.address

    def _in_order(self, values, named):
        values = list(values) + [_missing] * (self.count - len(values))
        for name, value in named.items():
            place = self.kernel.place.get(name)
            if place is None or values[place] is not _missing:
                raise TypeError(f"{self.kernel!r} has no further parameter {name!r}")
            values[place] = value
        for (name, _, _), value in zip(self.kernel.params, values):
            if value is _missing:
                raise TypeError(f"{self.kernel!r} got no parameter {name!r}")
        return values


def _check_index(tensor, index):
    if len(index) != tensor.c.ndims or any(each < 0 for each in index):
        raise IndexError(f"{list(index)} is no element of {tensor!r}")


class Orchestrating(Closable):
    """What an orchestration does with a runtime, whoever made it.  `c` is the struct pto_runtime *, until over()."""

    _gone = "the orchestration is over"

    def __init__(self, c):
        self.c = c
        self._calls = {}  # by kernel, blocks, label and core
        self._prepared = weakref.WeakSet()  # the others
        self._held = []  # tensors of arrays, as long as they may be registered
        self.exception = None
        self.thread = None  # of the orchestration, where it was called

    def check(self, status):
        """Raises the exception of a status below 0, with the runtime's sentence: pto.Error."""
        if status < 0:
            raise failure(status, text(lib.pto_last_error(self.c)))

    def at(self, frame):
        """Tells where the next calls are made, but for submits: the line of a frame."""
        lib.pto_call_from(self.c, _place(frame))

    @property
    def rank(self):
        """Which of rank_count ranks this is; 0 of 1 where the chip is alone (pto.World)."""
        return lib.pto_runtime_rank(self.c)

    @property
    def rank_count(self):
        """How many ranks there are; 1 where the chip is alone."""
        return lib.pto_runtime_rank_count(self.c)

    # ---- tensors ----

    def tensor(self, array, dtype=None, label=None, shape=None):
        """A numpy array, or what has __dlpack__ or a buffer, as a tensor: its memory, strides kept.

        dtype: where numpy has none (bf16 in an array of uint16).  shape: of elements of 4 bits, two in each byte of the array.  The array is kept alive until the run ends; of a
        tensor that is made outside a run, until the runtime is destroyed.  A read-only one is refused as an output.
        """
        made = of_array(self.c, array, dtype, shape)
        self._held.append(made)
        if label is not None:
            lib.pto_buffer_label(self.c, made.c.buffer, _label(label))
        return made

    def empty(self, shape, dtype="f32", label=None):
        """A Tensor of a buffer that gets its memory when a task first writes it.  errors.EINVAL for what is no shape."""
        shape, code = extents(shape), dtype_code(dtype)
        size_bytes = (lib.pto_dtype_bits(code) * math.prod(shape) + 7) // 8
        if size_bytes >= 2 ** 64:
            raise errors.EINVAL(f"a tensor of shape {shape} has {size_bytes} bytes, more than {2 ** 64 - 1}")
        buffer = lib.pto_create_buffer(self.c, size_bytes)
        if label is not None:
            lib.pto_buffer_label(self.c, buffer, _label(label))
        return Tensor(ffi.new("struct pto_tensor *", lib.pto_managed_tensor(self.c, buffer, code, len(shape), shape)))

    def read(self, tensor, *index):
        """One element, once its writers are done: a number of numpy (of bf16 its code).  IndexError for what is no element; what the run
        failed with."""
        refuse_peer("a tensor that is read", tensor)
        _check_index(tensor, index)
        value = numpy.zeros((), numpy_dtype(tensor.c.dtype))
        self.at(sys._getframe(1))
        self.check(lib.pto_read_element(self.c, tensor.c, list(index), ffi.cast("void *", value.ctypes.data)))
        return value[()]

    def write(self, tensor, index, value):
        """Writes one element, once writers and readers are done.  IndexError for what is no element, errors.EINVAL for a read-only array."""
        refuse_peer("a tensor that is written", tensor)
        if tensor.is_read_only:
            raise errors.EINVAL("a tensor is written, and its array is read-only")
        value = numpy.array(value, numpy_dtype(tensor.c.dtype))
        index = [index] if isinstance(index, int) else list(index)
        _check_index(tensor, index)
        self.at(sys._getframe(1))
        self.check(lib.pto_write_element(self.c, tensor.c, index, ffi.cast("void *", value.ctypes.data)))

    # ---- tasks ----

    def submit(self, kernel, *values, blocks=1, after=(), label=None, sync_start=False, when=None, core=None, **named):
        """Submits a task; returns a handle of it, for `after`.

        kernel: one, or (aic, aiv0, aiv1) with None for a core that has nothing to do.  values, named: its parameters in
        their order, or by name; tensors, and numbers for scalars.  What the task does to a tensor is what the kernel's list
        says, or what stands around it: pto.inout(t).  blocks: copies with their block_index.  after: tasks that come before.
        when: (tensor, "==", value), a predicate.  core: "aic" or "aiv", of a kernel that runs on both.  TypeError and
        ValueError for what is no kernel, tensor or number; errors.EINVAL for what the kernel refuses, errors.ESTALE for what is over,
        errors.EFIT for what no core can hold.
        """
        call = self._calls.get((kernel, blocks, label, core))
        if after or sync_start or when is not None:
            call = _Call(self.c, kernel, blocks, label, core, after, sync_start, when)
        elif call is None:
            call = self._calls[kernel, blocks, label, core] = _Call(self.c, kernel, blocks, label, core)
        call.fill(values, named)
        frame = sys._getframe(1)
        if frame.f_lasti != call.lasti or frame.f_code is not call.code:
            call.at(frame)
        task = _submit(call.submission)
        if not task.generation:
            self.check(call.submission.status)
        return task

    def prepare(self, kernel, *values, blocks=1, after=(), label=None, sync_start=False, when=None, core=None, **named):
        """The same as a function without parameters, which submits the task each time it is called.

        Findings name the line of this call.  Raises as submit, here and at each call.
        """
        call = _Call(self.c, kernel, blocks, label, core, after, sync_start, when)
        call.fill(values, named)
        call.at(sys._getframe(1))
        submission = call.submission
        self._prepared.add(call)

        def submit(_kept=(call, values, named)):
            task = _submit(submission)
            if not task.generation:
                self.check(submission.status)
            return task
        return submit

    def record(self, orchestrate, *boundary):
        """Records the tasks that orchestrate(rt, *tensors) submits, none of which runs: a function of tensors that launches them as
        one task, Recorded.  boundary: the tensors, which have memory, as pto.input(x), pto.output(y), pto.inout(z).  Of others it
        may use those that it makes with empty().  errors.EINVAL for what a recording cannot have, errors.EFIT for too many tasks."""
        self.at(sys._getframe(1))
        return record(self, orchestrate, boundary)

    def allocate(self, *tensors):
        """Gives tensors of empty() their memory now, as the boundary of a launch needs.  errors.EHEAP where there is no room."""
        refuse_peer("a tensor that is allocated", *tensors)
        made = ffi.new("struct pto_tensor[]", [each.c[0] for each in tensors])
        self.at(sys._getframe(1))
        self.check(lib.pto_alloc_tensors(self.c, made, len(tensors), ffi.NULL))

    tasks = staticmethod(_tasks)

    def barrier(self, *after):
        """A task without a kernel that is done when all of `after` are: its handle.  errors.ESTALE for one that is over."""
        task = ffi.new("struct pto_task *")
        self.at(sys._getframe(1))
        tasks = _tasks(after)
        self.check(lib.pto_submit_barrier(self.c, tasks, len(tasks), task))
        return task[0]

    @contextlib.contextmanager
    def scope(self, manual=False, label=None):
        """Owns the tasks submitted in it, within `with`.  In a manual scope explicit dependencies alone order its tasks.  errors.EINVAL for
        an automatic scope in a manual one, and beyond 64 deep."""
        self.at(sys._getframe(3))
        self.check(lib.pto_scope_begin(self.c, lib.PTO_SCOPE_MANUAL if manual else lib.PTO_SCOPE_AUTO))
        if label is not None:
            lib.pto_scope_label(self.c, _label(label))
        try:
            yield
        except GeneratorExit:  # entered, left by nobody, and collected some time: the run has said so
            raise
        except BaseException:
            lib.pto_scope_end(self.c)  # whoever catches it is behind the scope; what this says is not the reason
            raise
        self.check(lib.pto_scope_end(self.c))

    def poll(self):
        """Between two looks at memory that a task will change: takes in what has completed, and lets the machine go on.  A second one
        in a row with all tasks done is errors.EDEADLOCK."""
        self.at(sys._getframe(1))
        self.check(lib.pto_poll(self.c))

    @property
    def scope_stats(self):
        """Counts of the innermost scope: depth, ring, tasks, heap_bytes, window_used, …: the fields of struct pto_scope_stats."""
        made = ffi.new("struct pto_scope_stats *", {"size": ffi.sizeof("struct pto_scope_stats")})
        lib.pto_scope_statistics(self.c, made)
        return fields(made)

    def cores(self, kind="aiv"):
        """How many cores of a kind the chip has: "aic", "aiv" or "cluster"; ValueError for another."""
        return lib.pto_core_count(self.c, chosen("kind", kind, {"aic": lib.PTO_AIC, "aiv": lib.PTO_AIV, "cluster": lib.PTO_CLUSTER}))

    # ---- for what calls an orchestration ----

    def called(self, orchestration, *arguments):
        """Calls it within a run; the status for the library.  An exception is kept."""
        try:
            self.thread = threading.get_ident()
            orchestrating.add(self)
            forget_failures()
            orchestration(self, *arguments)
            return lib.PTO_OK
        except BaseException as exception:
            self.exception = exception
            return lib.pto_report_error(self.c, chars(sentence_of(exception)))
        finally:
            orchestrating.discard(self)

    def excepted(self, _, exception, __):
        """Keeps an exception, of Ctrl-C, that left a callback of cffi itself."""
        self.exception = exception

    def over(self):
        """Whoever kept it gets errors.ESTALE from here on.  The arrays stay alive as long as this does: tasks go on."""
        del self.c
        self._forget_calls()

    def _forget_calls(self):
        self._calls.clear()
        for call in self._prepared:
            call.submission.rt = ffi.NULL

    def _destroy(self, _):
        """The runtime is its maker's."""


class Runtime(Orchestrating):
    """A runtime on a chip of its own, until close(), or until nothing refers to it.

    Settings are the fields of struct pto_config: engine "threads" or "virtual", chip, workers, deps "exact" or "pto",
    policy, window, heap_bytes, clusters, poison, …  TypeError for another name or kind; pto.Error where there is no such chip or memory.
    """

    _gone, _is_running = "the runtime is closed", False

    def __init__(self, **settings):
        made, kept = config(**settings)
        out = ffi.new("struct pto_runtime **")
        sentence = ffi.new("char[]", 1024)
        status = lib.pto_runtime_create_explained(made, out, sentence, 1024)
        if status < 0:
            raise failure(status, text(sentence))
        super().__init__(out[0])
        self._own(out[0])

    def _refuse_close(self):
        if self._is_running:
            raise errors.EINVAL("a run is going on in this runtime")

    def _destroy(self, c):
        self._forget_calls()
        lib.pto_runtime_destroy(c)
        self._held.clear()

    def run_once(self, orchestration, arguments):
        """The status of a run; self.exception is what left the orchestration.  errors.EINVAL while one goes on."""
        @ffi.callback("int(struct pto_runtime *, void *)", error=lib.PTO_EUSER, onerror=self.excepted)
        def called(_, __):
            return self.called(orchestration, *arguments)

        if self._is_running:
            raise errors.EINVAL("a run is going on in this runtime")
        self.exception, before, self._is_running = None, len(self._held), True
        try:
            return lib.pto_run(self.c, called, ffi.NULL)
        finally:
            self._is_running = False
            del self._held[before:]

    def run(self, orchestration, *arguments):
        """Calls orchestration(rt, *arguments), waits for all that it submitted, and returns the counts of the run, stats.

        Raises what leaves the orchestration, pto.Error where the run fails, with what a kernel raised as its cause; KeyboardInterrupt."""
        forget_failures()
        with interruptible:
            status = self.run_once(orchestration, arguments)
        if self.exception is not None:
            raise blamed(self.exception)
        if status < 0:
            error = failure(status, text(lib.pto_last_error(self.c)))
            raise error from failure_behind(str(error))
        cause = failure_behind(None)
        if cause is not None:  # of the cost of a kernel
            raise cause
        return self.stats

    @property
    def stats(self):
        """Counts of the last run: tasks, edges, wall_ns, virtual_ps, …: the fields of struct pto_stats."""
        made = ffi.new("struct pto_stats *", {"size": ffi.sizeof("struct pto_stats")})
        lib.pto_runtime_stats(self.c, made)
        return fields(made)
