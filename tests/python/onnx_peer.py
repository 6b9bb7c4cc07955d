# SPDX-License-Identifier: MIT
"""Models against onnxruntime: `tests/python/onnx_peer.py FOLDER [models] [RANDOM_GRAPHS]`.

FOLDER is where `npm install --ignore-scripts onnxruntime-node` was run.  Each output may differ by 1e-4 of its largest
magnitude, as graphs may from the reference (check/session/graph_program.c).  With `models`, MobileNetV2 and the two decoders at
full size too, and how long each takes on two threads.  Exit status 1 where anything differs.
"""

import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import onnx

import onnx_models
import pto

ERROR = 1e-4  # of the largest magnitude
THREADS = 2
ROUNDS = 5


class Peer:
    """The node process; its session is made anew for every model."""

    def __init__(self, folder, threads=THREADS):
        self.threads = threads
        self.process = subprocess.Popen(["node", str(pathlib.Path(__file__).with_name("onnx_peer.js"))], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, "NODE_PATH": str(pathlib.Path(folder).resolve() / "node_modules")})

    def run(self, path, inputs, rounds=1):
        """Arrays by name and milliseconds a round."""
        words = {"float32": "float32", "int64": "int64"}
        given = {name: {"type": words[str(array.dtype)], "dims": list(array.shape),
                        "data": base64.b64encode(numpy.ascontiguousarray(array)).decode()} for name, array in inputs.items()}
        self.process.stdin.write(json.dumps({"model": str(path), "threads": self.threads, "rounds": rounds, "inputs": given}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return {name: numpy.frombuffer(base64.b64decode(each["data"]), each["type"]).reshape(each["dims"])
                for name, each in answer["outputs"].items()}, answer["milliseconds"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def distance(got, wanted):
    """Over the largest magnitude; infinite where shapes or what is not finite differ."""
    if got.shape != wanted.shape or not (numpy.isfinite(got) == numpy.isfinite(wanted)).all():
        return numpy.inf
    is_finite = numpy.isfinite(wanted)
    if not (got[~is_finite] == wanted[~is_finite]).all() and not numpy.isnan(wanted).any():
        return numpy.inf
    got, wanted = got[is_finite].astype(float), wanted[is_finite].astype(float)
    return float(numpy.abs(got - wanted).max(initial=0) / max(numpy.abs(wanted).max(initial=0), 1e-30))


def sizes_of(model, arrays):
    return {dim.dim_param: extent for each in model.graph.input
            for dim, extent in zip(each.type.tensor_type.shape.dim, arrays[each.name].shape) if dim.dim_param}


def timed(graph, device, arrays, rounds):
    """The outputs, and milliseconds a round."""
    took = []
    for _ in range(rounds):
        begin = time.perf_counter()
        made = graph.compute(device, arrays)
        took.append(1e3 * (time.perf_counter() - begin))
    return made, took


def compare(peer, device, path, model, arrays, rounds=1):
    """The largest distance of an output, and milliseconds here and there."""
    graph = pto.from_onnx(path, **sizes_of(model, arrays))
    made, took = timed(graph, device, arrays, rounds)
    graph.forget(device)
    expected, theirs = peer.run(path, arrays, rounds)
    return max(distance(made[name], expected[name]) for name in expected), min(took), min(theirs)


def main(folder, *asked):
    peer, wrong, count = Peer(folder), [], 0
    with tempfile.TemporaryDirectory() as scratch, pto.Context(engine="threads", workers=THREADS, memory_bytes=4 << 30) as device:
        path = pathlib.Path(scratch) / "model.onnx"
        for name in ("mobilenet_v2", "gpt", "llama") if "models" in asked else ():
            model, arrays = getattr(onnx_models, name)()
            onnx.save(model, str(path), save_as_external_data=True, location="model.data", size_threshold=1024)
            worst, ours, theirs = compare(peer, device, path, model, arrays, ROUNDS)
            print(f"{name:<14} {len(model.graph.node)} nodes, largest difference {worst:.2g} of the output, "
                  f"{ours:.2f} ms, onnxruntime {theirs:.2f} ms, {THREADS} threads each", flush=True)
            wrong += [name] * (not worst <= ERROR)
            (path.parent / "model.data").unlink()
            count += 1
        for seed in range(int(asked[-1]) if asked and asked[-1].isdigit() else 0):
            model, arrays = onnx_models.random_graph(seed)
            onnx.save(model, str(path))
            try:
                worst, _, _ = compare(peer, device, path, model, arrays)
            except (pto.Error, RuntimeError) as reason:
                worst = reason
            if not isinstance(worst, float) or not worst <= ERROR:
                wrong.append(f"random graph {seed}")
                print(f"random graph {seed}: {worst}")
            count += 1
    peer.close()
    print(f"{count} models beside onnxruntime, {len(wrong)} differ by more than {ERROR} of an output's largest magnitude")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
