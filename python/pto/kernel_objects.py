# SPDX-License-Identifier: MIT
"""Kernels: the library's by name, C compiled at run time, and Python functions on numpy views for prototypes.

A kernel lives as long as the process, as the library asks.
"""

import atexit
import collections
import ctypes
import inspect
import math
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import traceback

from .library import Error, chars, chosen, ffi, lib, nearest, orchestrating, text
from .tensors import Mode, dtype_code, strided, _dtype_names

_kept = []  # what constants of the library point to


class _Failure:
    """What a Python kernel raised, or its cost.  words: how the library's sentence has it; None, of a cost.  core: that it ran on."""

    SHOWN = 80  # characters of the words that a sentence has, whatever its room

    def __init__(self, exception, kernel=None, words=None, core=None):
        self.exception, self.thread, self.kernel, self.core = exception, threading.get_ident(), kernel, core
        if words is not None:
            words = words.encode(errors="backslashreplace").decode().split("\0")[0][:self.SHOWN]
            words = re.sub("[\x01-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", "?", words)  # as runtime/base/utf8.h has it
        self.words = words

    def is_told(self, sentence):
        return self.words is not None and self.kernel in sentence and self.words in sentence

    def likeness(self, sentence, threads):
        """How well it fits, of several that a sentence tells: on one of the run's threads; on none of another's; on its core."""
        others = {each.thread for each in tuple(orchestrating)} - set(threads)
        return self.thread in threads, self.thread not in others, f" on core {self.core} " in sentence


# Of all runs of the process, the latest last.  A kernel is not told whose run it is in: a failure is that of the run whose
# sentence tells it, or one of whose own threads it was on.  So a run never takes one that its sentence does not tell.
_failures = collections.deque(maxlen=256)


def forget_failures():
    """At the begin of a run or an orchestration: what was raised on this thread before."""
    for each in [each for each in _failures if each.thread == threading.get_ident()]:
        _failures.remove(each)


def failure_behind(sentence, *threads):
    """The exception behind a run that ended with this sentence, or with none, or None.  threads: those of its orchestrations,
    besides the one that asks.  KeyboardInterrupt is raised, whatever the run made of it."""
    threads = (threading.get_ident(), *threads)
    told = [each for each in reversed(_failures) if sentence and each.is_told(sentence)]
    told.sort(key=lambda each: each.likeness(sentence, threads), reverse=True)
    own = [each for each in _failures if each.thread in threads]
    for each in told + own:
        if isinstance(each.exception, KeyboardInterrupt):
            raise each.exception
    return next((each.exception for each in told + own), None)


def blamed(exception, *threads):
    """What left an orchestration, to be raised: behind a refusal, what a kernel raised; before all, its KeyboardInterrupt."""
    cause = failure_behind(str(exception) if isinstance(exception, Error) else None, *threads)
    if isinstance(exception, Error) and cause is not None:
        exception.__cause__ = cause
    return exception


def sentence_of(exception):
    """Its kind and words, as text(…) would have them; of one that cannot say its words the kind alone."""
    try:
        return f"{type(exception).__name__}: {exception}"
    except Exception:
        return type(exception).__name__


def _excepted(_, exception, __):
    """Of a callback: of the cost of a kernel, or of Ctrl-C before the kernel's own lines."""
    _failures.append(_Failure(exception))


_scalar_types = {float: lib.PTO_SCALAR_F32, int: lib.PTO_SCALAR_I64}
_scalar_fields = {lib.PTO_SCALAR_F32: "f32", lib.PTO_SCALAR_I64: "i64", lib.PTO_SCALAR_U64: "u64"}
_calls = dict(ffi.typeof("struct pto_kernel").fields)
_cores = {"aic": lib.PTO_AIC, "aiv": lib.PTO_AIV, "any": lib.PTO_AIC | lib.PTO_AIV}


class Kernel:
    """A kernel of the library's ABI.  name; params: (name, mode, scalar type or 0) of each."""

    def __init__(self, c):
        self.c = c
        self.name = text(c.name)
        self.params = [(text(p.name), p.mode, p.scalar) for p in c.params[0:c.param_count]]
        self.place = {name: index for index, (name, _, _) in enumerate(self.params)}
        self.is_cube = not c.cores & lib.PTO_AIV

    def __repr__(self):
        return f"<kernel {self.name}({', '.join(name for name, _, _ in self.params)})>"


class _General:
    """The library's kernels by name: kernels.add; list(kernels)."""

    def __getattr__(self, name):
        c = lib.pto_kernel_find(name.encode())
        if c == ffi.NULL:
            raise AttributeError(f"there is no kernel {name!r}" + nearest(name, self))
        setattr(self, name, Kernel(c))
        return getattr(self, name)

    def __iter__(self):
        return (text(lib.pto_kernel_at(index).name) for index in range(lib.pto_kernel_count()))


kernels = _General()


# ---- of Python ----

class _Shape:
    """A tensor as a cost function sees it: shape, dtype and the bytes of it."""

    def __init__(self, tensor):
        self.shape = tuple(tensor.shape[0:tensor.ndims])
        self.dtype = _dtype_names[tensor.dtype]
        self.nbytes = (math.prod(self.shape) * lib.pto_dtype_bits(tensor.dtype) + 7) // 8


def _arguments(args, params, made):
    """Those of a Python function: `made(tensor, mode)` of tensors, numbers of scalars."""
    tensor = scalar = 0
    values = []
    for _, mode, scalar_type in params:
        if mode == lib.PTO_SCALAR:
            values.append(getattr(args.scalars[scalar], _scalar_fields[scalar_type]))
            scalar += 1
        else:
            values.append(made(args.tensors[tensor], mode))
            tensor += 1
    return values


def _view(tensor, mode):
    array = strided(tensor.addr, tensor.dtype, tuple(tensor.shape[0:tensor.ndims]), tuple(tensor.strides[0:tensor.ndims]))
    if mode == lib.PTO_INPUT:
        array.flags.writeable = False
    return array


def kernel(core="aiv", *, cost=None, name=None):
    """Makes a kernel of a Python function, for prototypes: about 10 µs a call, one at a time in a process.

    Its parameters are annotated: pto.input, pto.output, pto.inout or pto.accumulate for tensors, which it gets as numpy views
    (inputs read-only), float or int for scalars.  core: "aic", "aiv" or "any".  cost: a function of the same parameters, with
    objects of shape, dtype and nbytes for tensors, which returns a dict of fields of struct pto_cost (bytes_in, bytes_out,
    vector_elems, multiply_adds, …), what a block takes in virtual time; without it each byte is moved once and each output
    element is one vector operation.  A parameter called `core` gets the struct pto_core: block_index, block_count.
    It may not wait.  Views are valid until it returns: keep copies.
    """
    if callable(core):  # @pto.kernel without parentheses
        return kernel()(core)
    cores = chosen("core", core, _cores)

    def made(function):
        params, wants_core = [], False
        for parameter in inspect.signature(function).parameters.values():
            kind = parameter.annotation
            if parameter.name == "core":
                wants_core = True
            elif isinstance(kind, Mode):
                params.append((parameter.name, kind.value, 0))
            elif kind in _scalar_types:
                params.append((parameter.name, lib.PTO_SCALAR, _scalar_types[kind]))
            else:
                raise TypeError(f"{function.__name__}: parameter {parameter.name} is annotated with none of pto.input, "
                                "pto.output, pto.inout, pto.accumulate, float and int")

        def call(args):
            try:
                values = dict(core=args.core) if wants_core else {}
                function(*_arguments(args, params, _view), **values)
                return lib.PTO_OK
            except BaseException as exception:
                traceback.clear_frames(exception.__traceback__)  # views, whose memory goes with the run
                words = sentence_of(exception)
                _failures.append(_Failure(exception, name or function.__name__, words, args.core.index))
                return lib.pto_kernel_error(args, chars("%s"), chars(words))

        def price(args):
            return cost(*_arguments(args, params, lambda tensor, mode: _Shape(tensor)))

        keep = [ffi.new("char[]", (name or function.__name__).encode()),
                ffi.callback(_calls["run"].type, call, error=lib.PTO_EKERNEL, onerror=_excepted)]
        listed = ffi.new("struct pto_kernel_param[]", max(len(params), 1))
        for place, (parameter, mode, scalar) in zip(listed, params):
            keep.append(ffi.new("char[]", parameter.encode()))
            place.name, place.mode, place.scalar = keep[-1], mode, scalar
        made = ffi.new("struct pto_kernel *", {"name": keep[0], "cores": cores, "params": listed,
                                               "param_count": len(params), "run": keep[1]})
        if cost is not None:
            def costs(args):
                values = price(args)
                if isinstance(values.get("dtype"), str):
                    values["dtype"] = dtype_code(values["dtype"])
                return ffi.new("struct pto_cost *", values)[0]
            keep.append(ffi.callback(_calls["cost"].type, costs, onerror=_excepted))
            made.cost = keep[-1]
        _kept.append((keep, listed, made))
        return Kernel(made)

    return made


# ---- of C ----

def _include():
    """The headers beside the library that is loaded."""
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        found = re.search(r"\s(/\S*)/libpto\.so[^/]*$", line)
        if found and (pathlib.Path(found[1]).parent / "include/pto/pto.h").exists():
            return pathlib.Path(found[1]).parent / "include"
    return None


def compile(source, name=None, flags=()):
    """Compiles a C kernel, and returns it: of a file (pathlib.Path), or of text.

    The source defines `const struct pto_kernel NAME`, not static; name: which, where there are several.  The compiler is $CC,
    else the one that built the library.  pto.Error with its words where it fails.
    """
    where = tempfile.mkdtemp(prefix="pto-")
    atexit.register(shutil.rmtree, where, True)
    if isinstance(source, pathlib.Path):
        path, text_ = source, source.read_text()
    else:
        path, text_ = pathlib.Path(where) / "kernel.c", source
        path.write_text(source)
    if name is None:
        names = re.findall(r"^(?:const\s+)?struct\s+pto_kernel\s+(\w+)\s*=", text_, flags=re.M)
        if len(names) != 1:
            raise Error(f"{path.name} defines {len(names)} kernels: say which by name" if names else
                        f"{path.name} defines no `const struct pto_kernel NAME`")
        name = names[0]
    library = pathlib.Path(where) / "kernel.so"
    include = _include()
    command = [*(os.environ.get("CC") or ffi.string(lib.pto_compiler()).decode()).split(), "-std=c17", "-O2", "-g", "-fPIC", "-shared", "-ffp-contract=off",
               *([f"-I{include}"] if include else []), *flags, str(path), "-o", str(library)]
    try:
        said = subprocess.run(command, capture_output=True, text=True)
    except OSError as reason:
        raise Error(f"no compiler {command[0]}: {reason.strerror}; $CC says which") from None
    if said.returncode:
        raise Error(said.stderr.strip())
    loaded = ctypes.CDLL(str(library))
    _kept.append(loaded)
    try:
        address = ctypes.addressof(ctypes.c_char.in_dll(loaded, name))
    except ValueError:
        raise Error(f"{path.name} shows no kernel {name}") from None
    return Kernel(ffi.cast("struct pto_kernel *", address))
