# SPDX-License-Identifier: MIT
"""Contexts, which stand for one device each, and tensors in that device's memory.

    with pto.Context(engine="virtual", chip="a2a3") as device:
        x, y = device.put(array), device.empty((64, 64))
        device.dispatch(orchestrate, {"x": x}, {"y": y})     # orchestrate(rt, x, y)
        y.read()

write, dispatch, copy and free queue and return; read and sync wait.  A failure while something runs is kept: each later
call raises it, until clear_error().
"""

import threading

import numpy

from .codes import bytes_of, given
from .kernel_objects import blamed, failure_behind
from .library import Closable, Error, chars, config, errors, failure, ffi, fields, interruptible, lib, text, waited
from .runtime import Orchestrating, _label
from .tensors import GOES_WITH_THE_RUN, Tensor, dtype_code, dtype_name, extents, like

_calls = dict(ffi.typeof("struct pto_device_program").fields)


def description(kind, dtype, shape):
    """A struct of a C call that has a dtype and a shape."""
    shape = extents(shape)
    made = ffi.new(kind, {"dtype": dtype_code(dtype), "ndims": len(shape)})
    made.shape[0:len(shape)] = shape
    return made


def operands(values):
    """(dtype, shape) by name as a C array of struct pto_operand, and what it borrows."""
    made, kept = ffi.new("struct pto_operand[]", max(len(values), 1)), []
    for place, (name, (dtype, shape)) in zip(made, values.items()):
        shape = extents(shape)
        kept.append(chars(name))
        place.name, place.dtype, place.ndims = kept[-1], dtype_code(dtype), len(shape)
        place.shape[0:len(shape)] = shape
    return made, kept


class DeviceTensor:
    """A dense tensor in a context's memory; its context makes it.  shape: extents; dtype: the library's name.

    It lives until free(), or until its context is closed; after that each use is pto.errors.ESTALE.
    """

    def __init__(self, context, c, code, shape):
        self.context, self.c, self.dtype, self.shape = context, c, dtype_name(code), shape

    def __repr__(self):
        return f"<device tensor {self.dtype}{list(self.shape)}>"

    def write(self, array):
        """Copies an array of this dtype and shape, or what has DLPack, to the device, in the order of calls.  TypeError or
        ValueError for another dtype or shape; errors.EINVAL where it is not writable."""
        data = bytes_of(given(array, self.dtype, self.shape)[2])
        self.context._check(lib.pto_device_tensor_write(self.context.c, self.c, ffi.from_buffer(data), data.nbytes))

    def read(self):
        """Waits for what was asked of the tensor so far; its elements as a new array.  4-bit elements: packed bytes.
        errors.EINVAL where it is not readable, or nothing has written it since a failure."""
        array = like(self.dtype, self.shape)
        data = ffi.from_buffer(bytes_of(array))
        self.context._wait(lib.pto_device_tensor_read, self.c, data, array.nbytes)
        return array

    def copy_to(self, other):
        """Copies it into another tensor on the device.  errors.EINVAL for another dtype or shape."""
        self.context._check(lib.pto_device_tensor_copy(self.context.c, self.c, other.c))

    def free(self):
        """Gives the memory back once what is queued is done; each use of it after that is errors.ESTALE."""
        self.context._check(lib.pto_device_tensor_destroy(self.context.c, self.c))


class Context(Closable):
    """One device, until close(), which carries out what is queued, or until nothing refers to it.

    accelerated: False is the host reference, which runs tasks one at a time.  low_power: a quarter of the chip's clusters.
    The end of its `with` block raises a failure that no call has raised; close() does not.
    memory_bytes [1 GiB] and tensor_count [65536]: what it can hold.  The other settings are those of pto.Runtime.
    Raises pto.Error where there is no such chip or memory; what is called after close() raises errors.ESTALE.
    """

    _gone, _inside = "the context is closed", None  # the thread of the orchestration that is called now
    _has_python = False  # whether one was dispatched

    def __init__(self, accelerated=True, low_power=False, memory_bytes=0, tensor_count=0, **settings):
        made, kept = config(**settings)
        options = ffi.new("struct pto_context_options *", {
            "size": ffi.sizeof("struct pto_context_options"), "memory_bytes": memory_bytes, "tensor_count": tensor_count,
            "acceleration": lib.PTO_ACCELERATION_YES if accelerated else lib.PTO_ACCELERATION_NO,
            "power_preference": lib.PTO_POWER_LOW_POWER if low_power else lib.PTO_POWER_DEFAULT, "runtime": made[0]})
        out = ffi.new("struct pto_context **")
        sentence = ffi.new("char[]", 1024)
        status = lib.pto_context_create(options, out, sentence, 1024)
        if status < 0:
            raise failure(status, text(sentence))
        self._queued, self._graphs, self._exception = [], set(), None
        self._told = None  # the sentence of the failure that was raised last
        self._own(out[0])
        del kept

    def _refuse_close(self):
        if self._inside == threading.get_ident():
            raise errors.EDEADLOCK("an orchestration of the context would wait for itself")

    def __exit__(self, kind, *_):
        """Without another exception under way, a failure that no call has raised yet is raised."""
        told = self._told
        try:
            if kind is None and not self.is_closed:
                self.sync()
        except Error as error:
            if str(error) != told:
                raise
        finally:
            self.close()

    def _destroy(self, c):
        """Carries out what is queued, then frees the context and all its tensors."""
        for graph in self._graphs:
            lib.pto_graph_forget(graph.c, c)
        lib.pto_context_destroy(c)
        self._queued.clear()
        self._graphs.clear()

    def _blocked(self, call, *arguments):
        """Calls C that waits for what is queued, perhaps orchestrations of Python."""
        with interruptible:
            return waited(call, self.c, *arguments) if self._has_python else call(self.c, *arguments)

    def close(self):
        """Carries out what is queued, then frees the context and its tensors; nothing where that has happened.  A failure of it is not
        raised.  errors.EDEADLOCK within an orchestration of the context; KeyboardInterrupt."""
        try:
            if not self.is_closed:
                self._refuse_close()
                self._blocked(lib.pto_context_sync)
        finally:
            super().close()

    def _check(self, status):
        if status < 0:
            self._told = text(lib.pto_context_error(self.c))
            error = failure(status, self._told)
            raise error from blamed(self._exception) if self._exception is not None else failure_behind(str(error))

    def _wait(self, call, *arguments):
        self._refuse_close()
        self._check(self._blocked(call, *arguments))

    @property
    def info(self):
        """What came of the hints and what the device can do: backend, chip, clusters, workers, max_rank, …"""
        made = lib.pto_context_info(self.c)
        return {name: text(value) if name in ("backend", "chip") else value for name, value in fields(made).items()}

    @property
    def counters(self):
        """Exact counts of what was carried out: h2d_bytes, dispatches, tasks, live_bytes, virtual_ps, …; sync() first."""
        made = ffi.new("struct pto_context_counters *", {"size": ffi.sizeof("struct pto_context_counters")})
        lib.pto_context_counters(self.c, made)
        return fields(made)

    def sync(self):
        """Waits for everything queued so far.  pto.Error of a failure that is kept, with what a kernel or orchestration raised as its
        cause; KeyboardInterrupt."""
        self._refuse_close()
        done, self._queued = self._queued, []
        self._wait(lib.pto_context_sync)
        del done

    def clear_error(self):
        """Forgets the failure that is kept; the context works again.  errors.ESTALE once it is closed, as of all of its calls."""
        lib.pto_context_clear_error(self.c)
        self._exception = self._told = None

    # ---- tensors ----

    def empty(self, shape, dtype="f32", readable=True, writable=True, label=None):
        """A tensor of zeros.  readable, writable: by the host, with read() and write(); no limit on dispatch.

        label: what sentences, findings and traces say beside its number.  Returns a DeviceTensor; errors.ENOMEM says how much is free."""
        desc = description("struct pto_device_tensor_desc *", dtype, shape)
        desc.flags = readable * lib.PTO_TENSOR_READABLE | writable * lib.PTO_TENSOR_WRITABLE
        desc.label = _label(label)
        return self._tensor(lib.pto_device_tensor_create, desc)

    def put(self, array, dtype=None, shape=None, label=None):
        """A tensor with the elements of an array, or of what has DLPack.  dtype and shape: of an array of codes (bf16, 4 bits).
        Returns a DeviceTensor; TypeError or ValueError where the array is something else, errors.ENOMEM says how much is free."""
        dtype, shape, elements = given(array, dtype, shape)
        made = self.empty(shape, dtype, label=label)
        made.write(elements)
        return made

    def constant(self, array, dtype=None, shape=None):
        """A tensor that keeps these elements: for `constants` of a dispatch and of graphs; the host does not read it.
        Returns a DeviceTensor; TypeError or ValueError where the array is something else."""
        dtype, shape, elements = given(array, dtype, shape)
        desc, data = description("struct pto_device_tensor_desc *", dtype, shape), bytes_of(elements)
        return self._tensor(lib.pto_device_tensor_create_constant, desc, ffi.from_buffer(data), data.nbytes)

    def _tensor(self, create, desc, *data):
        out = ffi.new("struct pto_device_tensor *")
        self._check(create(self.c, desc, *data, out))
        return DeviceTensor(self, out[0], desc.dtype, tuple(desc.shape[0:desc.ndims]))

    # ---- dispatch ----

    def _program(self, orchestrate, inputs, outputs, constants=()):
        """A struct pto_device_program that calls orchestrate(rt, *inputs, *outputs, *constants), and what it borrows.

        inputs, outputs: (dtype, shape) by name."""
        def call(rt, bound):
            runtime = Orchestrating(rt)
            tensors = [Tensor(ffi.new("struct pto_tensor *", each[index]), kept=GOES_WITH_THE_RUN)
                       for each, count in ((bound.inputs, len(inputs)), (bound.outputs, len(outputs)),
                                           (bound.constants, len(constants))) for index in range(count)]
            self._inside = threading.get_ident()
            status = runtime.called(orchestrate, *tensors)
            self._inside = None
            runtime.over()
            kept.append(runtime)  # what it registered, until the dispatch is done
            if runtime.exception is not None and self._exception is None:
                self._exception = runtime.exception
            return status

        self._has_python = True
        listed, names = operands(inputs)
        results, more = operands(outputs)
        handles = ffi.new("struct pto_device_tensor[]", [each.c for each in constants]) if constants else ffi.NULL
        kept = [names, more, listed, results, handles, chars(getattr(orchestrate, "__name__", "orchestration")),
                ffi.callback(_calls["orchestrate"].type, call, error=lib.PTO_EUSER)]
        program = ffi.new("struct pto_device_program *", {
            "name": kept[5], "inputs": listed, "input_count": len(inputs), "outputs": results, "output_count": len(outputs),
            "constants": handles, "constant_count": len(constants), "orchestrate": kept[6]})
        return program, kept

    def dispatch(self, orchestrate, inputs, outputs, constants=(), consumed=()):
        """Queues one run of orchestrate(rt, *inputs, *outputs, *constants), in a scope of its own.

        What it borrows is kept until sync().  inputs, outputs: device tensors by name, in the order of the orchestration's
        parameters.  constants: tensors of constant().  consumed: names of inputs that are given up; they alone may share
        their tensor with an output.  errors.EINVAL for tensors that do not fit; what fails in it is raised by a later call that waits.
        """
        def shapes(tensors):
            return {name: (tensor.dtype, tensor.shape) for name, tensor in tensors.items()}

        program, kept = self._program(orchestrate, shapes(inputs), shapes(outputs), constants)
        made, borrowed = bindings(inputs, outputs, consumed)
        self._check(lib.pto_context_dispatch(self.c, program, made))
        self._queued.append((program, kept))
        del borrowed

    def compute(self, orchestrate, inputs, outputs):
        """Runs orchestrate(rt, *inputs, *outputs) once, from arrays to arrays, and waits: the outputs by name.

        inputs: arrays by name, or what has DLPack; codes as (array, dtype) or (array, dtype, shape).  outputs: (dtype, shape) by name.
        Raises what the run failed with; KeyboardInterrupt.
        """
        taken = {name: given(array) for name, array in inputs.items()}
        program, kept = self._program(orchestrate, {name: each[:2] for name, each in taken.items()}, outputs)
        made, results, borrowed = arrays({name: each[2] for name, each in taken.items()}, outputs)
        self._wait(lib.pto_context_compute, program, made)
        del kept, borrowed
        return results


def bindings(inputs, outputs, consumed):
    """A struct pto_dispatch_bindings of device tensors by name, and what it borrows."""
    def bound(tensors):
        made = ffi.new("struct pto_binding[]", max(len(tensors), 1))
        for place, (name, tensor) in zip(made, tensors.items()):
            if not isinstance(tensor, DeviceTensor):
                raise TypeError(f"{name} is a {type(tensor).__name__}, not a tensor of a context: Context.put(array) makes one")
            kept.append(chars(name))
            place.name, place.tensor = kept[-1], tensor.c
        kept.append(made)
        return made

    kept = []
    names = [chars(name) for name in consumed]
    listed = ffi.new("char *[]", names)
    made = ffi.new("struct pto_dispatch_bindings *", {
        "inputs": bound(inputs), "input_count": len(inputs), "outputs": bound(outputs), "output_count": len(outputs),
        "consumed": ffi.cast("const char *const *", listed), "consumed_count": len(names)})
    return made, (kept, names, listed)


def arrays(inputs, outputs):
    """A struct pto_compute_arrays, the arrays of outputs by name, and what it borrows.

    inputs: the elements that `given` makes, by name.  outputs: (dtype, shape) by name."""
    def host(data):
        made = ffi.new("struct pto_host_array[]", max(len(data), 1))
        for place, (name, array) in zip(made, data.items()):
            kept.append((chars(name), ffi.from_buffer(bytes_of(array))))
            place.name, place.data, place.size_bytes = kept[-1][0], ffi.cast("void *", kept[-1][1]), array.nbytes
        kept.append(made)
        return made

    kept = []
    results = {name: like(dtype, shape) for name, (dtype, shape) in outputs.items()}
    made = ffi.new("struct pto_compute_arrays *", {"inputs": host(inputs), "input_count": len(inputs),
                                                   "outputs": host(results), "output_count": len(results)})
    return made, results, kept
