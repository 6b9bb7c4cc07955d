# SPDX-License-Identifier: MIT
"""Programs in the layout that pypto writes: orchestration/, kernels/{aic,aiv}/ and kernel_config.py, as manifests.

kernel_config.py says all but what the arguments are: generated orchestrations take tensors of any shape, and data is not
part of the folder.  That is in arguments.json beside it, in the form that manifests have them: {"tensors": [{"name",
"dtype", "shape"}], "scalars": [{"name", "bits"}]}, "bytes" and "golden" where there are files.  Tensors without bytes
begin as zeros; directions are the signature's; without a golden nothing is judged.

Nothing here runs a program.  What is not as it should be is a Refused, whose sentence names the file.
"""

import importlib.util
import json
import pathlib

CONFIG = "kernel_config.py"
ARGUMENTS = "arguments.json"


class Refused(Exception):
    """Something that cannot be adopted; the sentence names its file."""


def _load(path):
    spec = importlib.util.spec_from_file_location(f"pto_generated_{abs(hash(str(path)))}", path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as reason:
        raise Refused(f"{path}: {type(reason).__name__}: {reason}") from reason
    for name in ("RUNTIME_CONFIG", "ORCHESTRATION", "KERNELS"):
        if not hasattr(module, name):
            raise Refused(f"{path}: there is no {name}, expected RUNTIME_CONFIG, ORCHESTRATION and KERNELS")
    return module


def _arguments(folder):
    path = folder / ARGUMENTS
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return path, list(found["tensors"]), list(found.get("scalars", []))
    except FileNotFoundError:
        raise Refused(f"{path}: there is no such file, expected the shapes of arguments, which {CONFIG} has not: "
                      '{"tensors": [{"name", "dtype", "shape"}], "scalars": [{"name", "bits"}]}') from None
    except (ValueError, KeyError, TypeError) as reason:
        raise Refused(f"{path}: {reason}, expected an object with \"tensors\"") from reason


def _tensors(path, tensors, signature):
    directions = [direction.name.lower() for direction in signature if direction.name != "SCALAR"]
    if signature and len(directions) != len(tensors):
        raise Refused(f"{path}: {len(tensors)} tensors, expected the {len(directions)} of ORCHESTRATION's signature")
    found = []
    for number, tensor in enumerate(tensors):
        item = {"direction": directions[number] if directions else "inout", **tensor}
        item.update({key: str((path.parent / item[key]).resolve()) for key in ("bytes", "golden") if key in item})
        found.append(item)
    return found


def manifest(config, architecture, clusters):
    """Of the folder whose kernel_config.py this is."""
    folder = pathlib.Path(config).resolve().parent
    module = _load(pathlib.Path(config))
    orchestration = module.ORCHESTRATION
    path, tensors, scalars = _arguments(folder)
    items = _tensors(path, tensors, orchestration.get("signature", []))
    kernels = [{"func_id": kernel["func_id"], "core": kernel["core_type"], "name": kernel["name"],
                "source": str(kernel["source"]), "includes": list(map(str, kernel.get("extra_include_dirs", [])))}
               for kernel in module.KERNELS]
    return {"format": "pto-adopted", "version": 1, "name": f"{folder.name}/{pathlib.Path(orchestration['source']).stem}",
            "scene": str(config), "architecture": architecture,
            "mode": module.RUNTIME_CONFIG.get("runtime", "tensormap_and_ringbuffer"),
            "judge": "golden" if any("golden" in item for item in items) else "none",
            "orchestration": {"source": str(orchestration["source"]), "entry": orchestration["function_name"]},
            "kernels": kernels, "tensors": items, "scalars": scalars, "clusters": clusters}
