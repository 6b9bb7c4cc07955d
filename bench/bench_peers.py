# SPDX-License-Identifier: MIT
"""One question: how long does a whole network take here, beside what people would use instead, on as many threads?

`bench_peers.py FOLDER`, where npm has put the peers (scripts/time_peers):
  mobilenet_v2   one picture through an ONNX file, beside onnxruntime; arrays in and out, the graph built and warm before
  110M f32, q8_0 a token of a text of STEPS, with the sizes of stories110M and random weights, beside llama.cpp on the same GGUF
                 file; weights loaded before, the first token counted.  `same_tokens`: how many of the text are llama.cpp's

Both take turns, in blocks, in one run.  `times_peer` is the ratio of the medians.  A peer that is not there is left out with a
sentence.
"""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import pto

sys.path[:0] = ["bench/peers", "tests/python"]
import gguf

IS_QUICK = bool(os.environ.get("PTO_BENCH_QUICK"))
TURNS = 2 if IS_QUICK else 9
PICTURES = 5  # a turn
STEPS = 3 if IS_QUICK else 24
SIZES = dict(dim=768, hidden=2048, layers=12, heads=12, vocabulary=32000, positions=1024)
FIRST_PIECE = 3 + 256  # marks and bytes come before
AIMS = {"onnxruntime": 1.3, "llama.cpp": 1.2}


def print_lines(pattern, peer, ours, theirs, **more):
    """Nanoseconds of both."""
    for system, taken in ((peer, theirs), ("pto", ours)):
        line = {"bench": "peers", "system": system, "pattern": pattern, **more, "runs": len(taken),
                "median": round(statistics.median(taken)), "min": round(min(taken))}
        if system == "pto":
            line.update(peer=peer, times_peer=round(statistics.median(ours) / statistics.median(theirs), 2), times_peer_aim=AIMS[peer])
        print(json.dumps(line), flush=True)


# ---- MobileNetV2 ----

def mobilenet(folder, scratch, threads):
    import onnx
    import onnx_models
    from onnx_peer import Peer, distance, sizes_of, timed

    model, arrays = onnx_models.mobilenet_v2()
    path = scratch / "model.onnx"
    onnx.save(model, str(path))
    graph, peer, ours, theirs = pto.from_onnx(path, **sizes_of(model, arrays)), Peer(folder, threads), [], []
    with pto.Context(engine="threads", workers=threads) as device:
        for turn in range(1 + TURNS):  # the first is not counted
            made, here = timed(graph, device, arrays, PICTURES)
            expected, there = peer.run(path, arrays, 1 + PICTURES)  # the first of a session is slow
            if turn:
                ours += here
                theirs += there[1:]
    peer.close()
    assert distance(made["probabilities"], expected["probabilities"]) < 1e-4
    print_lines("mobilenet_v2", "onnxruntime", [1e6 * each for each in ours], [1e6 * each for each in theirs], workers=threads)


# ---- a language model ----

def text_of_ours(model, threads):
    """Tokens, and nanoseconds a token."""
    said = subprocess.run(["build/ptosim", "run", "llm", "--set", f"model={model}", "--set", f"steps={STEPS}", "--set", "check=false",
                           "--workers", str(threads), "--quiet", "--json", f"{model}.json"], capture_output=True, text=True, check=True)
    figures = json.loads(pathlib.Path(f"{model}.json").read_text())["figures"]
    return [FIRST_PIECE + int(number) for number in re.findall(r"p(\d+)", said.stdout)], 1e9 / figures["tokens_per_second"]


def language_model(folder, scratch, kind, threads):
    model, ours, theirs = scratch / f"{kind}.gguf", [], []
    gguf.write(model, kind, **SIZES)
    with subprocess.Popen(["node", "bench/peers/llama_cpp.mjs", folder, str(model), str(threads), str(STEPS)], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as peer:
        for turn in range(1 + TURNS):
            tokens, here = text_of_ours(model, threads)
            peer.stdin.write("\n")
            peer.stdin.flush()
            there = json.loads(peer.stdout.readline())
            if turn:
                ours.append(here)
                theirs.append(1e6 * there["milliseconds"] / STEPS)
        peer.stdin.close()
    same = sum(a == b for a, b in zip(tokens, there["tokens"]))
    model.unlink()
    print_lines(f"110M {kind}", "llama.cpp", ours, theirs, workers=threads, steps=STEPS, same_tokens=same)


def main(folder):
    modules = pathlib.Path(folder) / "node_modules"
    with tempfile.TemporaryDirectory() as scratch:
        if not (modules / "onnxruntime-node").exists():
            print("onnxruntime-node is not there: no line of mobilenet_v2", file=sys.stderr)
        else:
            try:
                for threads in (1, 2):
                    mobilenet(folder, pathlib.Path(scratch), threads)
            except ImportError as reason:
                print(f"{reason} (scripts/deps --python): no line of mobilenet_v2", file=sys.stderr)
        if not (modules / "node-llama-cpp").exists():
            print("node-llama-cpp is not there: no line of language models", file=sys.stderr)
        else:
            for kind in ("f32", "q8_0"):
                language_model(folder, pathlib.Path(scratch), kind, 1)


main(*sys.argv[1:])
