# SPDX-License-Identifier: MIT
"""The task runtime and its simulated chip, from Python: docs/python.md.

Names are loaded when they are asked for: the plugin for tests of the existing runtime (pto.adopt) needs no library of ours.
"""

import importlib

_HOMES = {
    "library": ("Error", "errors", "version"),
    "codes": ("decode", "encode"),
    "tensors": ("Tensor", "accumulate", "hold", "inout", "input", "output"),
    "kernel_objects": ("Kernel", "compile", "kernel", "kernels"),
    "runtime": ("Runtime",),
    "devices": ("Context", "DeviceTensor"),
    "graphs": ("Graph", "GraphBuilder", "Operand", "load_graph"),
    "onnx": ("from_onnx",),
    "programs": ("Findings", "Program", "Run"),
    "worlds": ("Collectives", "Communicator", "World"),
    "testing": ("assert_as_before", "assert_declared", "assert_order_free", "assert_ordered", "assert_same", "test"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted([*_HOME, "strategies"])


def __getattr__(name):
    if name == "strategies":  # needs hypothesis
        return importlib.import_module(".strategies", __name__)
    if name not in _HOME:
        raise AttributeError(f"module 'pto' has no attribute {name!r}")
    home = importlib.import_module("." + _HOME[name], __name__)
    for each in _HOMES[_HOME[name]]:
        globals()[each] = getattr(home, each)
    return globals()[name]
