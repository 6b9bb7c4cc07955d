# SPDX-License-Identifier: MIT
"""A case of a scene: its inputs made and written with a manifest (docs/schemas/pto-adopted.json) below build/adopted, run by
`ptosim adopt`, its outputs read back into the memory of the test's tensors, and judged by the test's own comparison.

`state` says what cases are run under; the plugin (pto.adopt) fills it before the first.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import types

from pto.generated import Refused

SIMULATOR_CLUSTERS = 8  # what their simulator has, for which scenes are written
MOST_INPUT_BYTES = 64 << 20
SMALL_BYTES = 1 << 20  # with --no-compute: larger tensors are shapes alone
MOST_SECONDS = 1800  # of a case, with its compilers

state = types.SimpleNamespace(architecture=None, engine=None, mode=None, scene_module=None, torch=None,
                              root=".", has_compute=True)


class TooLarge(Exception):
    """Inputs for which there is no room."""


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


def _make_args(scene, case):
    with _limited_memory() if state.has_compute else _shapes_alone():
        return scene.generate_args(case.get("params", {}))


def _specs(args):
    tensors = [spec for spec in args.specs if isinstance(spec.value, state.torch.Tensor)]
    scalars = [spec for spec in args.specs if not isinstance(spec.value, state.torch.Tensor)]
    return tensors, scalars


def _bytes_of(tensor):
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()) if tensor.numel() else b""


def scene_place(scene):
    path = sys.modules[type(scene).__module__].__file__
    return os.path.relpath(path, state.root)


def safe(text):
    return re.sub(r"[^A-Za-z0-9._-]", "_", text)


def _directions(scene, tensors):
    signature = list(scene.CALLABLE["orchestration"].get("signature", []))
    signature = [direction for direction in signature if direction.name != "SCALAR"]
    if len(signature) < len(tensors):
        raise Refused(f"{scene_place(scene)}: {type(scene).__name__}: generate_args gives {len(tensors)} tensors, the "
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
            raise Refused(f"{scene_place(scene)}: {type(scene).__name__}: tensor {spec.name} is {value.dtype}"
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
        "scene": scene_place(scene), "architecture": state.architecture, "mode": type(scene)._st_runtime,
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


def case_folder(place, name):
    """Of the case, empty."""
    root = pathlib.Path(os.environ.get("PTO_ADOPTED", "build/adopted")) / "cases"
    folder = root / safe(os.path.splitext(place)[0].lstrip("./")) / safe(f"{name}-{state.architecture}-{state.engine}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def run_manifest(manifest, folder, rounds, record, outputs=()):
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
    folder = case_folder(scene_place(scene), f"{type(scene).__name__}-{case['name']}")
    manifest = _describe(scene, case, args, folder)
    outputs = [item["name"] for item in manifest["tensors"]
               if state.has_compute and item["direction"] != "in" and 0 not in item["shape"]]
    run_manifest(manifest, folder, rounds, record, outputs)
    for number, name in enumerate(outputs):
        _load(folder / f"output{number}.npy", getattr(args, name))
    for item in pathlib.Path(folder).glob("*.npy"):
        item.unlink()
    return [item["name"] for item in manifest["tensors"] if item["direction"] != "in"]


def _judge(scene, case, args, golden, outputs):
    scene.compare_outputs(args, golden, outputs, case.get("params", {}))


def adopt(scene, case, request, record):
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
            raise Refused(f"{scene_place(scene)}: {type(scene).__name__} has no compute_golden, expected one or "
                          "SKIP_GOLDEN")
        golden = args.clone()
        scene.compute_golden(golden, params)
    outputs = _run(scene, case, args, option("--rounds", default=1), record)
    if not skips_golden:
        record["verified"] = False
        _judge(scene, case, args, golden, outputs)
        record["verified"] = True


def write_record(record):
    path = os.environ.get("PTO_ADOPT_RECORD")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
