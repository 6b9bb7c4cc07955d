# SPDX-License-Identifier: MIT
"""A plugin of pytest that runs scene tests of the existing runtime here: `pytest -p pto.adopt --platform a2a3sim`.

A scene is a class with an orchestration, kernels, cases, inputs and a comparison.  For each case that the command line
chooses, this plugin makes the inputs, writes them with a manifest (docs/schemas/pto-adopted.json) below build/adopted,
lets `ptosim adopt` build, run and check it, reads the outputs back into the memory of the test's tensors, and calls the
test's own comparison.  It knows nothing of a runtime besides.

It stands in for what only their compiled extension and their device workers can do.  Their own files are used as they
are, from a checkout above the tests; without one the few names that scene files import come from pto.scene.

Environment: PTOSIM, the program (default: the tree's, else the one of PATH); PTO_ADOPT_RECORD, a file that gets a JSON
line a case, and PTO_ADOPT_MODE, "all" (cases of the architecture, marked for whatever, manual or not) or "list" (the
same, not run): `ptosim adopt FOLDER` sets both.  What stands in PTO_ADOPT_OPTIONS is handed on to `ptosim adopt`; with
--no-compute there, large tensors are shapes alone, however large, and nothing is judged.
"""

import contextlib
import ctypes
import enum
import importlib.util
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time
import types

import pytest

import pto.generated
import pto.scene
from pto.generated import Refused

PLATFORMS = {"a2a3sim": ("a2a3", "threads"), "a5sim": ("a5", "threads"),
             "a2a3virtual": ("a2a3", "virtual"), "a5virtual": ("a5", "virtual")}
HARDWARE = ("a2a3", "a5")
SIMULATOR_CLUSTERS = 8  # what their simulator has, for which scenes are written
MOST_INPUT_BYTES = 64 << 20
SMALL_BYTES = 1 << 20  # with --no-compute: larger tensors are shapes alone
MOST_SECONDS = 1800  # of a case, with its compilers

state = types.SimpleNamespace(architecture=None, engine=None, mode=None, scene_module=None, torch=None,
                              root=".", has_compute=True)


# ---- stand-ins ----

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


def _tests_of(words):
    """The words of a command line that are files or folders."""
    return [word for word in words if not word.startswith("-") and pathlib.Path(word.split("::")[0]).exists()]


def _find_checkout(words):
    """The folder above the tests, or the working folder, that holds their simpler_setup."""
    for path in [pathlib.Path(word.split("::")[0]) for word in words] + [pathlib.Path.cwd()]:
        for folder in (path.resolve(), *path.resolve().parents):
            if (folder / "simpler_setup" / "scene_test.py").is_file():
                return folder
    return None


def _use_checkout(folder):
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


def _mend_torch():
    """torch before 2.3 has no unsigned types of 16 and 32 bits, and takes no int32 tensors as indices."""
    torch = state.torch
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


class _Worker:
    """What tests with a test_run of their own get as st_worker: it is handed on to ours, and does nothing else."""


# ---- a case ----

def _tensor_names():
    torch = state.torch
    names = {torch.float32: "f32", torch.float16: "fp16", torch.bfloat16: "bf16", torch.int64: "i64",
             torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool"}
    more = {"uint16": "u16", "uint32": "u32", "float8_e4m3fn": "fp8e4m3fn", "float8_e8m0fnu": "fp8e8m0",
            "float4_e2m1fn_x2": "fp4e2m1"}
    names.update({getattr(torch, name): ours for name, ours in more.items() if hasattr(torch, name)})
    return names


def _scalar_bits(value):
    """The 64 bits that their runtime hands on: floats as single precision, all zero-extended."""
    if isinstance(value, float):
        value = ctypes.c_float(value)
    if isinstance(value, (ctypes.c_float, ctypes.c_double)):
        return int.from_bytes(bytes(value), "little")
    return int(getattr(value, "value", value)) & (1 << 64) - 1


def _largest(value):
    """Ring sizes are a number, or a list by ring."""
    return max(value) if isinstance(value, (list, tuple)) else value or 0


FACTORIES = ("empty", "zeros", "ones", "full", "rand", "randn", "randint")


def _bytes_asked(words, named):
    """What a call of a factory will make, at least, where its words say so."""
    size = named.get("size")
    if size is None:
        size = next((word for word in words if isinstance(word, (tuple, list))), None)
    if size is None:
        size = words if len(words) > 1 or not words or isinstance(words[0], int) else ()
    count = 1
    for extent in size:
        if not isinstance(extent, int):
            return 0
        count *= extent
    dtype = named.get("dtype") or state.torch.get_default_dtype()
    return count * state.torch.tensor((), dtype=dtype).element_size()


@contextlib.contextmanager
def _limited_memory():
    """Ends with TooLarge before the memory is filled of tensors that are three times as large as inputs may be."""
    torch = state.torch
    before = {name: getattr(torch, name) for name in FACTORIES}
    made = 0

    def limited(make):
        def call(*words, **named):
            nonlocal made
            made += _bytes_asked(words, named)
            if made > 3 * MOST_INPUT_BYTES:
                raise TooLarge("inputs are larger than 64 MiB")
            return make(*words, **named)
        return call
    for name, make in before.items():
        setattr(torch, name, limited(make))
    try:
        yield
    finally:
        for name, make in before.items():
            setattr(torch, name, make)


def _shapes_alone():
    """Large tensors have no memory, and so has what is computed from them."""
    torch = state.torch

    def has_none(value):
        if isinstance(value, (tuple, list)):
            return any(map(has_none, value))
        return isinstance(value, torch.Tensor) and value.is_meta

    def without(value):
        if isinstance(value, (tuple, list)):
            return type(value)(map(without, value))
        return value.to("meta") if isinstance(value, torch.Tensor) else value

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, words=(), named=None):
            named = dict(named or {})
            if getattr(function, "__name__", "") in FACTORIES and _bytes_asked(words, named) > SMALL_BYTES:
                named["device"] = "meta"
                named.pop("generator", None)
            elif has_none(words) or has_none(tuple(named.values())):
                words, named = without(tuple(words)), {name: without(value) for name, value in named.items()}
                named.pop("generator", None)
            return function(*words, **named)
    return Mode()


class TooLarge(Exception):
    pass


def _make_args(scene, case):
    with _limited_memory() if state.has_compute else _shapes_alone():
        return scene.generate_args(case.get("params", {}))


def _specs(args):
    tensors = [spec for spec in args.specs if isinstance(spec.value, state.torch.Tensor)]
    scalars = [spec for spec in args.specs if not isinstance(spec.value, state.torch.Tensor)]
    return tensors, scalars


def _bytes_of(tensor):
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()) if tensor.numel() else b""


def _scene_place(scene):
    path = sys.modules[type(scene).__module__].__file__
    return os.path.relpath(path, state.root)


def _safe(text):
    return re.sub(r"[^A-Za-z0-9._-]", "_", text)


def _directions(scene, tensors):
    signature = list(scene.CALLABLE["orchestration"].get("signature", []))
    signature = [direction for direction in signature if direction.name != "SCALAR"]
    if len(signature) < len(tensors):
        raise Refused(f"{_scene_place(scene)}: {type(scene).__name__}: generate_args gives {len(tensors)} tensors, the "
                      f"orchestration's signature expects {len(signature)}")
    return {spec.name: {"IN": "in", "OUT": "out", "INOUT": "inout"}[direction.name]
            for spec, direction in zip(tensors, signature)}


def _describe(scene, case, args, folder):
    """The manifest, having written the bytes of its tensors."""
    tensors, scalars = _specs(args)
    directions, dtypes = _directions(scene, tensors), _tensor_names()
    items = []
    for number, spec in enumerate(tensors):
        value = spec.value
        if not value.is_contiguous() or value.dtype not in dtypes:
            raise Refused(f"{_scene_place(scene)}: {type(scene).__name__}: tensor {spec.name} is {value.dtype}"
                          f"{'' if value.is_contiguous() else ' and not contiguous'}, which no argument can be")
        item = {"name": spec.name, "direction": directions[spec.name], "dtype": dtypes[value.dtype],
                "shape": list(value.shape) or [1]}
        if not value.is_meta:
            (folder / f"tensor{number}.bin").write_bytes(_bytes_of(value))
            item["bytes"] = f"tensor{number}.bin"
        items.append(item)
    orchestration = scene.CALLABLE["orchestration"]
    rings = case.get("config", {}).get("runtime_env", {})
    return {
        "format": "pto-adopted", "version": 1, "name": f"{type(scene).__name__}/{case['name']}",
        "scene": _scene_place(scene), "architecture": state.architecture, "mode": type(scene)._st_runtime,
        "judge": "test",
        "orchestration": {"source": os.path.abspath(orchestration["source"]), "entry": orchestration["function_name"]},
        "kernels": [{"func_id": kernel["func_id"], "core": kernel["core_type"],
                     "name": kernel.get("name") or pathlib.Path(kernel["source"]).stem,
                     "source": os.path.abspath(kernel["source"]),
                     "includes": [os.path.expandvars(str(d)) for d in kernel.get("extra_include_dirs", [])]}
                    for kernel in scene.CALLABLE.get("incores", [])],
        "tensors": items,
        "scalars": [{"name": spec.name, "bits": f"0x{_scalar_bits(spec.value):x}"} for spec in scalars],
        "clusters": SIMULATOR_CLUSTERS,
        "window": _largest(rings.get("ring_task_window")), "heap_bytes": _largest(rings.get("ring_heap")),
        "list_chunks": _largest(rings.get("ring_dep_pool")),
    }


def _ptosim():
    tree = pathlib.Path(__file__).resolve().parents[2] / "build" / "ptosim"
    found = os.environ.get("PTOSIM") or (str(tree) if tree.is_file() else shutil.which("ptosim"))
    if not found:
        raise Refused("there is no ptosim: PTOSIM can name it")
    return found


def _load(path, tensor):
    """The elements of a .npy file into the memory of the tensor."""
    data = path.read_bytes()
    begin = 10 + int.from_bytes(data[8:10], "little")
    if len(data) - begin != tensor.numel() * tensor.element_size():
        raise Refused(f"{path}: {len(data) - begin} bytes of elements, expected {tensor.numel() * tensor.element_size()}")
    ctypes.memmove(tensor.data_ptr(), data[begin:], len(data) - begin)


def _case_folder(place, name):
    """Of the case, empty."""
    root = pathlib.Path(os.environ.get("PTO_ADOPTED", "build/adopted")) / "cases"
    folder = root / _safe(os.path.splitext(place)[0].lstrip("./")) / _safe(f"{name}-{state.architecture}-{state.engine}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _run_manifest(manifest, folder, rounds, record, outputs=()):
    """Lets `ptosim adopt` run it, with these outputs in the folder as output0.npy and so on.  Its report."""
    path = folder / "manifest.json"
    path.write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    record["manifest"] = str(path)
    command = [_ptosim(), "adopt", str(path), "--engine", state.engine, "--rounds", str(rounds), "--quiet",
               "--json", str(folder / "report.json"), *shlex.split(os.environ.get("PTO_ADOPT_OPTIONS", ""))]
    for number, name in enumerate(outputs):
        command += ["--output", f"{name}={folder}/output{number}.npy"]
    try:
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                             check=False, timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"it did not end within {MOST_SECONDS} s") from None
    report = folder / "report.json"
    result = json.loads(report.read_text(encoding="utf-8"))["cases"][0] if report.is_file() else {}
    record.update({key: value for key, value in result.items() if key not in ("name", "scene", "verified", "seconds")})
    if not result.get("run"):
        said = result.get("reason") or run.stderr.strip()[-2000:] or f"ptosim left with {run.returncode}"
        raise AssertionError(said.replace("ptosim: ", "", 1))
    return result


def _run(scene, case, args, rounds, record):
    """Runs the case; outputs are in the memory of its tensors.  The names of all that are."""
    folder = _case_folder(_scene_place(scene), f"{type(scene).__name__}-{case['name']}")
    manifest = _describe(scene, case, args, folder)
    outputs = [item["name"] for item in manifest["tensors"]
               if state.has_compute and item["direction"] != "in" and 0 not in item["shape"]]
    _run_manifest(manifest, folder, rounds, record, outputs)
    for number, name in enumerate(outputs):
        _load(folder / f"output{number}.npy", getattr(args, name))
    for item in pathlib.Path(folder).glob("*.npy"):
        item.unlink()
    return [item["name"] for item in manifest["tensors"] if item["direction"] != "in"]


def _judge(scene, case, args, golden, outputs):
    scene.compare_outputs(args, golden, outputs, case.get("params", {}))


def _adopt(scene, case, request, record):
    option = request.config.getoption
    params = case.get("params", {})
    args = _make_args(scene, case)
    record["bytes"] = sum(spec.value.numel() * spec.value.element_size() for spec in _specs(args)[0])
    if record["bytes"] > MOST_INPUT_BYTES and state.has_compute:
        raise TooLarge("inputs are larger than 64 MiB")
    if state.mode == "list":
        return
    if not state.has_compute:
        _run(scene, case, args, 1, record)
        return
    skips_golden = option("--skip-golden", default=False) or bool(case.get("skip_golden", scene.SKIP_GOLDEN))
    golden = None
    if not skips_golden:
        if type(scene).compute_golden is state.scene_module.SceneTestCase.compute_golden:
            raise Refused(f"{_scene_place(scene)}: {type(scene).__name__} has no compute_golden, expected one or "
                          "SKIP_GOLDEN")
        golden = args.clone()
        scene.compute_golden(golden, params)
    outputs = _run(scene, case, args, option("--rounds", default=1), record)
    if not skips_golden:
        record["verified"] = False
        _judge(scene, case, args, golden, outputs)
        record["verified"] = True


def _write_record(record):
    path = os.environ.get("PTO_ADOPT_RECORD")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def _adopt_recorded(scene, case, request):
    """Runs a case and writes its record, however it ends; what it ends with is handed on."""
    record = {"scene": _scene_place(scene), "class": type(scene).__name__, "case": case["name"],
              "name": f"{type(scene).__name__}/{case['name']}",
              "mode": type(scene)._st_runtime, "architecture": state.architecture, "engine": state.engine,
              "built": False, "run": False, "verified": None, "reason": None}
    begin = time.monotonic()
    try:
        _adopt(scene, case, request, record)
    except TooLarge as reason:
        record.update(reason=str(reason), left_out=True)
        pytest.skip(str(reason))
    except BaseException as reason:
        sentence = str(reason).strip().split("\n")[0]
        if not isinstance(reason, (AssertionError, Refused)):
            sentence = f"{_scene_place(scene)}: {type(scene).__name__}: {type(reason).__name__}: {sentence}"
        record["reason"] = sentence or type(reason).__name__
        raise
    finally:
        record["seconds"] = round(time.monotonic() - begin, 3)
        _write_record(record)
    _note_findings(record, request.node)


class _Generated(pytest.Item):
    """The program of a kernel_config.py."""

    def runtest(self):
        place = os.path.relpath(self.path, state.root)
        record = {"scene": place, "class": "", "case": self.name, "name": self.name, "architecture": state.architecture,
                  "engine": state.engine, "built": False, "run": False, "verified": None, "reason": None}
        begin = time.monotonic()
        try:
            manifest = pto.generated.manifest(self.path, state.architecture, SIMULATOR_CLUSTERS)
            record.update(name=manifest["name"], case=manifest["name"], mode=manifest["mode"])
            if state.mode != "list":
                folder = _case_folder(place, _safe(manifest["name"]))
                result = _run_manifest(manifest, folder, self.config.getoption("--rounds", default=1), record)
                record["verified"] = result.get("verified")
                assert record["verified"] is not False, result.get("reason") or "the golden differs"
        except (AssertionError, Refused) as reason:
            record["reason"] = str(reason).strip().split("\n")[0]
            raise
        finally:
            record["seconds"] = round(time.monotonic() - begin, 3)
            _write_record(record)
        _note_findings(record, self)

    def reportinfo(self):
        return self.path, None, self.name


class _GeneratedFile(pytest.File):
    def collect(self):
        yield _Generated.from_parent(self, name=self.path.parent.name, path=self.path)


def pytest_collect_file(file_path, parent):
    """What pypto writes has no test: its kernel_config.py stands for one."""
    if file_path.name == pto.generated.CONFIG and state.architecture:
        return _GeneratedFile.from_parent(parent, path=file_path)
    return None


def _note_findings(record, node):
    for finding in record.get("findings") or []:
        node.add_report_section("call", "ptosim", finding)
        _found.append(f"{record['scene']} {record['class']}/{record['case']}: {finding}")


_found = []


def _is_of_architecture(case):
    return any(platform in case["platforms"] for platform in (state.architecture, f"{state.architecture}sim"))


def _cases_of(scene, request):
    if state.mode:
        return [case for case in scene.CASES if _is_of_architecture(case)]
    if hasattr(scene, "_matching_cases"):
        return scene._matching_cases(f"{state.architecture}sim", request)
    manual = request.config.getoption("--manual")
    chosen = request.config.getoption("--case") or []
    names = [word.split("::", 1) if "::" in word else ["", word] for word in chosen]
    return [case for case in scene.CASES
            if f"{state.architecture}sim" in case["platforms"]
            and (manual == "include" or (manual == "only") == bool(case.get("manual")))
            and (not names or any(cls in ("", type(scene).__name__) and name in ("", case["name"])
                                  for cls, name in names))]


def _test_run(self, st_platform, st_worker, request):
    """In place of SceneTestCase.test_run."""
    if type(self)._st_level != 2:
        pytest.skip("a scene of several chips: these are not adopted")
    cases = _cases_of(self, request)
    if not cases:
        pytest.skip(f"{type(self).__name__} has no case for this platform")
    failure = None
    for case in cases:
        try:
            _adopt_recorded(self, case, request)
        except (AssertionError, Refused) as reason:
            failure = failure or AssertionError(f"{case['name']}: {reason}")
        except pytest.skip.Exception:
            if len(cases) == 1:
                raise
    if failure:
        raise failure


# ---- pytest ----

def _add_missing(parser):
    """Options of their conftest, where there is none."""
    for name, kind in (("--platform", {}), ("--case", {"action": "append"}),
                       ("--manual", {"choices": ("exclude", "include", "only"), "default": "exclude"}),
                       ("--rounds", {"type": int, "default": 1}),
                       ("--skip-golden", {"action": "store_true", "default": False})):
        with contextlib.suppress(ValueError):
            parser.addoption(name, **kind)


@pytest.hookimpl(hookwrapper=True)
def pytest_load_initial_conftests(early_config, parser, args):
    try:
        state.torch = importlib.import_module("torch")
    except ImportError as reason:
        raise pytest.UsageError(f"pto.adopt: scene tests want torch: {reason}") from reason
    _mend_torch()
    tests = _tests_of(args)
    if tests:  # behind "--platform NAME", which nobody knows yet, pytest finds none, nor their conftest.py
        early_config.known_args_namespace.file_or_dir = tests
    checkout = _find_checkout(tests)
    if checkout:
        state.root = checkout
        state.scene_module = _use_checkout(checkout)
    else:
        pto.scene.install()
        state.scene_module = pto.scene
    state.scene_module.SceneTestCase.test_run = _test_run
    yield
    _add_missing(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    platform = config.getoption("--platform", default=None)
    if platform in HARDWARE:
        raise pytest.UsageError(f"--platform {platform} means hardware, which is not here: {platform}sim runs on threads, "
                                f"{platform}virtual in virtual time")
    if platform is not None and platform not in PLATFORMS:
        raise pytest.UsageError(f"--platform {platform}: expected one of {', '.join(PLATFORMS)}")
    state.mode = os.environ.get("PTO_ADOPT_MODE") or None
    state.has_compute = "--no-compute" not in shlex.split(os.environ.get("PTO_ADOPT_OPTIONS", ""))
    if platform:
        state.architecture, state.engine = PLATFORMS[platform]
        config.option.platform = f"{state.architecture}sim"  # what scenes are marked with


def _is_case_of_a_scene(item):
    cls = getattr(item, "cls", None) or object
    return (issubclass(cls, state.scene_module.SceneTestCase) and getattr(cls, "_st_level", 0) == 2
            and item.name == "test_run" and any(map(_is_of_architecture, cls.CASES)))


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    everything = list(items)
    yield
    if state.mode:  # theirs chooses by mark
        items[:] = [item for item in everything if isinstance(item, _Generated) or _is_case_of_a_scene(item)]


def pytest_runtest_logreport(report):
    """A case whose fixtures fail has no record of its own."""
    if report.failed and report.when == "setup" and state.mode:
        lines = [line.strip() for line in str(report.longrepr).splitlines() if line.startswith("E ")]
        _write_record({"scene": report.nodeid.split("::")[0], "name": "/".join(report.nodeid.split("::")[1:]),
                       "architecture": state.architecture, "engine": state.engine, "built": False, "run": False,
                       "verified": None,
                       "reason": f"the test cannot be set up: {lines[0][1:].strip()[:150] if lines else 'no reason is given'}"})


def pytest_collectreport(report):
    if report.failed and state.mode:
        lines = [line for line in str(report.longrepr).splitlines() if line.startswith("E ")]
        _write_record({"scene": report.nodeid, "name": report.nodeid, "architecture": state.architecture,
                       "engine": state.engine, "left_out": True,
                       "reason": f"the file cannot be read: {lines[-1][1:].strip()[:150] if lines else 'no reason is given'}"})


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    """Here one process can run all: theirs starts one for each runtime."""
    from _pytest import main
    return main.pytest_runtestloop(session)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef, request):
    if fixturedef.argname not in ("st_worker", "_l2_worker_pool"):
        return None
    worker = _Worker() if fixturedef.argname == "st_worker" else {}
    fixturedef.cached_result = (worker, fixturedef.cache_key(request), None)
    return worker


@pytest.fixture(scope="session")
def st_platform():
    if not state.architecture:
        pytest.skip("--platform names none")
    return f"{state.architecture}sim"


@pytest.fixture()
def st_worker():
    return _Worker()


def pytest_terminal_summary(terminalreporter):
    if _found:
        terminalreporter.section("right by luck")
        for line in _found:
            terminalreporter.line(line)
