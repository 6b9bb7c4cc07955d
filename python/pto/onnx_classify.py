# SPDX-License-Identifier: MIT
"""From a picture to an answer: `python3 -m pto.onnx_classify MODEL.onnx PICTURE LABELS.txt [--set NAME=N]…` prints the five
likeliest labels.  --set is for sizes without a number, but the batch, which is 1 then.

The model has one input, [batch, 3, height, width], as image classifiers of ImageNet are trained: the middle of the picture, its
shorter side 256 for 224 pixels, RGB less the mean of ImageNet over its deviation.  LABELS has a label a line, in the order of the
model's output, which may be probabilities or what a softmax takes.  Needs onnx and PIL (python3-pil).
"""

import pathlib
import sys

import numpy
from PIL import Image

from .devices import Context
from .library import Error
from .onnx import from_onnx, read, sizes_of

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
WHOLE = 256 / 224  # of the shorter side to what is cut out


def picture(path, height, width):
    """A picture as the model's input, [1, 3, height, width]."""
    image = Image.open(path).convert("RGB")
    scale = WHOLE * max(height / image.height, width / image.width)
    image = image.resize((round(image.width * scale), round(image.height * scale)), Image.BILINEAR)
    left, top = (image.width - width) // 2, (image.height - height) // 2
    pixels = numpy.asarray(image.crop((left, top, left + width, top + height)), numpy.float32) / 255
    pixels = (pixels - numpy.float32(MEAN)) / numpy.float32(DEVIATION)
    return numpy.ascontiguousarray(pixels.transpose(2, 0, 1)[None])


def shares(scores):
    """Probabilities as they are; anything else through a softmax."""
    if scores.min() >= 0 and abs(scores.sum() - 1) < 1e-3:
        return scores
    powers = numpy.exp(scores - scores.max())
    return powers / powers.sum()


def classify(model, path, labels, sizes):
    """The labels with their probabilities, the likeliest first.  sizes: as of from_onnx."""
    for given in model.graph.input[:1]:
        for batch in given.type.tensor_type.shape.dim[:1]:
            if not batch.HasField("dim_value"):
                sizes = {batch.dim_param or f"{given.name}.0": 1, **sizes}
    graph = from_onnx(model, **sizes)
    shapes = [shape for _, shape in graph.inputs.values()]
    if len(shapes) != 1 or len(shapes[0]) != 4 or shapes[0][:2] != (1, 3):
        raise ValueError(f"the model takes {', '.join(map(str, shapes))}, and no picture of (1, 3, height, width)")
    (name, (_, shape)), = graph.inputs.items()
    with Context(engine="threads") as device:
        scores, = graph.compute(device, {name: picture(path, *shape[2:])}).values()
    found = shares(scores.reshape(-1))
    if len(found) != len(labels):
        raise ValueError(f"the model tells {len(found)} classes apart, and there are {len(labels)} labels")
    return [(labels[at], float(found[at])) for at in numpy.argsort(-found)]


def main(arguments):
    options = arguments[3:]
    if len(arguments) < 3 or len(options) % 2 or any(word != "--set" for word in options[::2]):
        sys.exit("usage: python3 -m pto.onnx_classify MODEL.onnx PICTURE LABELS.txt [--set NAME=N]…")
    path, image, labels = arguments[:3]
    try:
        model = read(path)
        found = classify(model, image, pathlib.Path(labels).read_text().splitlines(), sizes_of(options[1::2]))
    except (OSError, ValueError, Error) as reason:
        sys.exit(f"onnx_classify: {reason}")
    for label, share in found[:5]:
        print(f"{share:8.2%}  {label}")
    if any((each.key, each.value) == ("weights", "random") for each in model.metadata_props):
        print("the weights are random: the answer means nothing")


if __name__ == "__main__":
    main(sys.argv[1:])
