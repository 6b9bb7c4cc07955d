# SPDX-License-Identifier: MIT
"""What scene files import of the existing runtime's packages, for places where there is no checkout of it.

Names and behaviour are those that scene files see; the rest of those packages is not here.  install() puts the modules
`simpler_setup` and `simpler.task_interface` into sys.modules; with a checkout pto.adopt uses that instead.
"""

import copy
import enum
import inspect
import pathlib
import sys
import types


class ArgDirection(enum.IntEnum):
    SCALAR = 0
    IN = 1
    OUT = 2
    INOUT = 3


class TensorArg:
    def __init__(self, name, value):
        self.name, self.value = name, value


class Scalar(TensorArg):
    """A value of 64 bits: a number, or one of ctypes."""


class TaskArgsBuilder:
    """Arguments in order, tensors before scalars, which can be read by name."""

    def __init__(self, *specs):
        self._specs = []
        self._data = {}
        for spec in specs:
            self._add(spec)

    def _add(self, spec):
        if spec.name in self._data or hasattr(type(self), spec.name):
            raise ValueError(f"argument {spec.name!r}: the name is taken")
        if not isinstance(spec, Scalar) and self._specs and isinstance(self._specs[-1], Scalar):
            raise ValueError(f"argument {spec.name!r}: a tensor behind a scalar")
        self._specs.append(spec)
        self._data[spec.name] = spec.value

    def add_tensor(self, name, value):
        self._add(TensorArg(name, value))

    def add_scalar(self, name, value):
        self._add(Scalar(name, value))

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._data:
            raise AttributeError(f"there is no argument {name!r}")
        return self._data[name]

    @property
    def specs(self):
        return self._specs

    def tensor_names(self):
        return [spec.name for spec in self._specs if not isinstance(spec, Scalar)]

    def clone(self):
        return TaskArgsBuilder(*(type(spec)(spec.name, spec.value.clone() if hasattr(spec.value, "clone") else
                                            copy.copy(spec.value)) for spec in self._specs))


def _complete(entry, folder):
    """Paths of a source or a kernel count from the folder of the scene file."""
    entry = dict(entry)
    if "source" in entry:
        entry["source"] = str(folder / entry["source"])
    if entry.get("extra_include_dirs"):
        entry["extra_include_dirs"] = [str(folder / d) for d in entry["extra_include_dirs"]]
    return entry


def scene_test(level, runtime):
    def decorate(cls):
        folder = pathlib.Path(inspect.getfile(cls)).resolve().parent
        cls._st_level, cls._st_runtime = level, runtime
        if "orchestration" in cls.CALLABLE and level == 2:
            cls.CALLABLE = dict(cls.CALLABLE, orchestration=_complete(cls.CALLABLE["orchestration"], folder),
                                incores=[_complete(kernel, folder) for kernel in cls.CALLABLE.get("incores", [])])
        return cls
    return decorate


class SceneTestCase:
    CALLABLE = {}
    CASES = []
    RTOL = ATOL = 1e-5
    SKIP_GOLDEN = False

    def generate_args(self, params):
        raise NotImplementedError

    def compute_golden(self, args, params):
        raise NotImplementedError

    def compare_outputs(self, test_args, golden_args, output_names, params):
        import torch
        for name in output_names:
            actual, golden = getattr(test_args, name), getattr(golden_args, name)
            if not torch.allclose(actual, golden, rtol=self.RTOL, atol=self.ATOL):
                most = (actual.double() - golden.double()).abs().max().item()
                raise AssertionError(f"output {name}: {most:g} from its golden (rtol {self.RTOL:g}, atol {self.ATOL:g})")

    def test_run(self, st_platform, st_worker, request):
        raise NotImplementedError("pto.adopt runs it")


def install():
    setup, simpler, interface = (types.ModuleType(name) for name in
                                 ("simpler_setup", "simpler", "simpler.task_interface"))
    for name in (TensorArg, Scalar, TaskArgsBuilder, SceneTestCase, scene_test):
        setattr(setup, name.__name__, name)
    interface.ArgDirection = ArgDirection
    simpler.task_interface = interface
    sys.modules.update({module.__name__: module for module in (setup, simpler, interface)})
