# SPDX-License-Identifier: MIT
"""A checkout of the existing runtime: where it is, and what stands in for its compiled extension, so that its Python files are used
as they are.  Nothing here knows of cases or of pytest.
"""

import enum
import importlib
import importlib.util
import os
import pathlib
import re
import sys
import types

import pto.scene


class _DataType(enum.IntEnum):
    """Their codes of dtypes."""
    FLOAT32, FLOAT16, INT32, INT16, INT8, UINT8, BFLOAT16, INT64, UINT64, UINT16, UINT32 = range(11)


class _Number(int):
    """A constant of an extension: a number, or a collection without items."""

    def __iter__(self):
        return iter(())

    def __getitem__(self, key):
        return _Number()

    def __contains__(self, item):
        return False


class _DummyType(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return cls()

    def __iter__(cls):
        return iter(())


class _Dummy(metaclass=_DummyType):
    """Stands for any class, function or object of an extension that is not there."""

    def __init__(self, *unused, **also_unused):
        pass

    def __call__(self, *unused, **also_unused):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Dummy()

    def __int__(self):
        return 0

    __index__ = __int__

    def __iter__(self):
        return iter(())


def _dummy_module(name, **known):
    module = types.ModuleType(name)
    module.__dict__.update(known)

    def find(attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return _Number() if attribute.isupper() else _DummyType(attribute, (_Dummy,), {})
    module.__getattr__ = find
    return module


def _tag_type():
    return enum.IntEnum("TensorArgType", "INPUT OUTPUT INOUT OUTPUT_EXISTING NO_DEP", start=0)


def find(words):
    """The folder above the tests, or the working folder, that holds their simpler_setup."""
    for path in [pathlib.Path(word.split("::")[0]) for word in words] + [pathlib.Path.cwd()]:
        for folder in (path.resolve(), *path.resolve().parents):
            if (folder / "simpler_setup" / "scene_test.py").is_file():
                return folder
    return None


def use(folder):
    sys.path[:0] = [str(folder), str(folder / "python")]
    sys.modules["_task_interface"] = _dummy_module("_task_interface", ArgDirection=pto.scene.ArgDirection,
                                                   TensorArgType=_tag_type(), DataType=_DataType, MAX_TENSOR_DIMS=5,
                                                   DEFAULT_LOG_THRESHOLD=25, __build_commit__="")
    if importlib.util.find_spec("cloudpickle") is None:
        sys.modules["cloudpickle"] = _dummy_module("cloudpickle")
    isa = importlib.import_module("simpler_setup.pto_isa")
    setup = importlib.import_module("simpler_setup")
    scenes = importlib.import_module("simpler_setup.scene_test")

    def isa_root(*unused, **also_unused):
        return os.environ.get("PTO_ISA", "")
    for module in (isa, setup, sys.modules["simpler_setup.scene_test"]):
        module.ensure_pto_isa_root = isa_root  # theirs clones a repository
    return sys.modules["simpler_setup.scene_test"] if scenes else None


def mend(torch):
    """torch before 2.3 has no unsigned types of 16 and 32 bits, and takes no int32 tensors as indices."""
    for name in ("uint16", "uint32"):
        if not hasattr(torch, name):
            setattr(torch, name, f"torch.{name} is not there")
    version = tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])
    if version >= (2, 3):
        return
    narrow = (torch.int32, torch.int16)

    def widen(index):
        if isinstance(index, tuple):
            return tuple(widen(part) for part in index)
        return index.long() if isinstance(index, torch.Tensor) and index.dtype in narrow else index
    get, put = torch.Tensor.__getitem__, torch.Tensor.__setitem__
    torch.Tensor.__getitem__ = lambda self, index: get(self, widen(index))
    torch.Tensor.__setitem__ = lambda self, index, value: put(self, widen(index), value)
