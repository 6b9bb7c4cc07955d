# SPDX-License-Identifier: MIT
"""Writes a Llama-style decoder with random weights as a GGUF file, f32 or q8_0 (docs/model-files.md has the keys)."""

import struct

import numpy

ALIGNMENT = 32
Q8_0_BLOCK = 32  # elements that share a scale
_F32, _Q8_0 = 0, 8  # types of tensors
_types = {int: 4, float: 6, str: 8}  # of values: u32, f32, string
_ARRAY, _I32 = 9, 5
_NORMAL, _CONTROL, _BYTE = 1, 3, 6  # of tokens


def _text(words):
    data = words.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value):
    return {int: lambda: struct.pack("<I", value), float: lambda: struct.pack("<f", value), str: lambda: _text(value)}[type(value)]()


def _pair(key, value):
    if isinstance(value, list):
        kind = _I32 if isinstance(value[0], int) else _types[type(value[0])]
        return _text(key) + struct.pack("<IIQ", _ARRAY, kind, len(value)) + b"".join(map(_value, value))
    return _text(key) + struct.pack("<I", _types[type(value)]) + _value(value)


def _q8_0(matrix):
    blocks = matrix.reshape(-1, Q8_0_BLOCK)
    scales = (numpy.abs(blocks).max(1) / 127).astype(numpy.float16)
    inverse = numpy.divide(1, scales, where=scales > 0, out=numpy.zeros_like(scales, numpy.float32), dtype=numpy.float32)
    made = numpy.empty(len(blocks), [("scale", "<f2"), ("codes", "i1", Q8_0_BLOCK)])
    made["scale"] = scales
    made["codes"] = numpy.rint(blocks * inverse[:, None])
    return made


def write(path, kind, dim, hidden, layers, heads, vocabulary, positions, seed=7):
    """kind: "f32", or "q8_0" for matrices.  Tokens after marks and bytes are pieces without a meaning, and no mark is ever the
    likeliest, so that a text has all its tokens."""
    random = numpy.random.default_rng(seed)
    marks = ["<unk>", "<s>", "</s>"]
    codes = [f"<0x{number:02X}>" for number in range(256)]
    pieces = [f"p{number}" for number in range(vocabulary - len(marks) - len(codes))]
    kinds = [_CONTROL] * len(marks) + [_BYTE] * len(codes) + [_NORMAL] * len(pieces)
    keys = {"general.architecture": "llama", "general.name": "random", "llama.embedding_length": dim,
            "llama.feed_forward_length": hidden, "llama.block_count": layers, "llama.context_length": positions,
            "llama.attention.head_count": heads, "llama.attention.head_count_kv": heads, "llama.vocab_size": vocabulary,
            "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.dimension_count": dim // heads,
            "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": marks + codes + pieces,
            "tokenizer.ggml.scores": [0.0] * vocabulary, "tokenizer.ggml.token_type": kinds,
            "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2, "general.alignment": ALIGNMENT}
    shapes = {"token_embd": (vocabulary, dim), "output_norm": (dim,)}
    for layer in range(layers):
        for name, shape in (("attn_norm", (dim,)), ("attn_q", (dim, dim)), ("attn_k", (dim, dim)), ("attn_v", (dim, dim)),
                            ("attn_output", (dim, dim)), ("ffn_norm", (dim,)), ("ffn_gate", (hidden, dim)),
                            ("ffn_up", (hidden, dim)), ("ffn_down", (dim, hidden))):
            shapes[f"blk.{layer}.{name}"] = shape
    infos, at = b"", 0
    for name, shape in shapes.items():
        is_coded = kind == "q8_0" and len(shape) == 2
        infos += _text(name + ".weight") + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *reversed(shape))
        infos += struct.pack("<IQ", _Q8_0 if is_coded else _F32, at)
        count = int(numpy.prod(shape))
        at += -(-(count // Q8_0_BLOCK * 34 if is_coded else 4 * count) // ALIGNMENT) * ALIGNMENT
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(keys)) + b"".join(_pair(*each) for each in keys.items()) + infos
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT))
        for shape in shapes.values():
            weights = random.random(shape, numpy.float32) * numpy.float32(0.1) - numpy.float32(0.05)
            if shape[0] == vocabulary:
                weights[:len(marks)] *= 1e-3
            data = (_q8_0(weights) if kind == "q8_0" and len(shape) == 2 else weights).tobytes()
            file.write(data + bytes(-len(data) % ALIGNMENT))
