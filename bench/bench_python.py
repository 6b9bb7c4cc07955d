# SPDX-License-Identifier: MIT
"""What a submit of three tensors costs from Python, its kernel, which does nothing, included: by the package (`submit`, and what
`prepare` made), by a bare call of cffi, and beside these by ctypes and pybind11 with parameters built in Python.

make bench BENCH=python runs it.  pybind11 needs a C++ compiler and its header (scripts/deps --bench).  The ways take turns, in short rounds, so that what else runs on the machine meets all alike.
"""

import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time

import numpy

import pto
from pto.library import ffi, lib
from pto.runtime import _Call

SUBMITS = 200
ROUNDS = 7 if os.environ.get("PTO_BENCH_QUICK") else 200
NOTHING = """
#include <pto/pto.h>
static int run(const struct pto_kernel_args *args) { return (int)(args->tensors == 0); }
static const struct pto_kernel_param params[] = {{"a", PTO_INPUT}, {"b", PTO_INPUT}, {"y", PTO_OUTPUT}};
const struct pto_kernel nothing = {"nothing", PTO_AIV, .params = params, .param_count = 3, .run = run};
"""
PYBIND11 = """
#include <pto/pto.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
static int submit(uintptr_t rt, uintptr_t launch, const std::vector<std::pair<uint32_t, uintptr_t>> &given) {
  pto_param params[PTO_MAX_PARAMS];
  for (size_t i = 0; i < given.size(); i++)
    params[i] = pto_param_tensor(given[i].first, reinterpret_cast<const pto_tensor *>(given[i].second));
  pybind11::gil_scoped_release release;
  pto_task task;
  return pto_submit(reinterpret_cast<pto_runtime *>(rt), reinterpret_cast<const pto_launch *>(launch), params,
                    static_cast<uint32_t>(given.size()), &task);
}
PYBIND11_MODULE(submitting, m) { m.def("submit", &submit); }
"""


class Param(ctypes.Structure):
    _fields_ = [("mode", ctypes.c_uint32), ("scalar_type", ctypes.c_uint32), ("tensor", ctypes.c_void_p)]


class Task(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint64), ("generation", ctypes.c_uint64)]


def loaded():
    """The path of libpto.so in this process."""
    return next(line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines() if "/libpto.so" in line)


def by_pybind11(folder):
    """The module's submit; None, with a sentence, where it cannot be compiled."""
    (folder / "submitting.cpp").write_text(PYBIND11)
    command = [*os.environ.get("CXX", "c++").split(), "-O2", "-shared", "-fPIC", "-std=c++17", "-Iinclude",
               "-I" + sysconfig.get_path("include"), str(folder / "submitting.cpp"), loaded(),
               "-o", str(folder / ("submitting" + sysconfig.get_config_var("EXT_SUFFIX")))]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        print("pybind11: not compiled (scripts/deps --bench, python3-dev)", file=sys.stderr)
        return None
    sys.path.insert(0, str(folder))
    import submitting
    return submitting.submit


def ways(rt, kernel, tensors, pybind11):
    """A function without parameters by name, which submits once."""
    call = _Call(rt.c, kernel, 1, None, None)
    call.fill(tensors, {})
    prepared, task = rt.prepare(kernel, *tensors), ffi.new("struct pto_task *")
    number = {name: int(ffi.cast("uintptr_t", each)) for name, each in (("rt", rt.c), ("launch", call.launch))}
    submit = ctypes.CDLL(loaded()).pto_submit
    submit.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(Param), ctypes.c_uint32, ctypes.POINTER(Task)
    modes = [mode for _, mode, _ in kernel.params]

    def ctypes_built():
        params = (Param * 3)()
        for param, mode, tensor in zip(params, modes, tensors):
            param.mode, param.tensor = mode, tensor.address
        submitted = Task()
        assert submit(number["rt"], number["launch"], params, 3, ctypes.byref(submitted)) == 0

    def pybind11_built():
        assert pybind11(number["rt"], number["launch"], [(m, t.address) for m, t in zip(modes, tensors)]) == 0

    found = {"submit": lambda: rt.submit(kernel, *tensors), "prepare": prepared,
             "cffi-call": lambda: lib.pto_submit(rt.c, call.launch, call.params, 3, task), "ctypes": ctypes_built}
    return {**found, "pybind11": pybind11_built} if pybind11 else found


def measure(rt, kernel, pybind11, times):
    tensors = [rt.tensor(numpy.zeros(16, numpy.float32)) for _ in range(3)]
    each = ways(rt, kernel, tensors, pybind11)
    for _ in range(ROUNDS):
        for name, submit in each.items():
            with rt.scope():
                begun = time.perf_counter_ns()
                for _ in range(SUBMITS):
                    submit()
                times.setdefault(name, []).append((time.perf_counter_ns() - begun) / SUBMITS)


def main():
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        pybind11 = by_pybind11(pathlib.Path(folder))
        with pto.Runtime(engine="threads", workers=1) as rt:
            rt.run(measure, pto.compile(NOTHING), pybind11, times)
    for name, taken in times.items():
        print(json.dumps({"bench": "python", "system": name, "runs": len(taken), "unit": "ns a submit",
                          "median": round(statistics.median(taken)), "min": round(min(taken))}))


main()
