# SPDX-License-Identifier: MIT
"""Graphs from ONNX files.

    graph = pto.from_onnx("model.onnx", batch=1)

Shapes become numbers: sizes that the file names are keywords here (--set NAME=VALUE of `ptosim graph model.onnx`, which runs
this module), or stay open, as batch=range(1, 9) (--set batch=1..8; onnx_open).  What a model computes of shapes and constants is computed here, by numpy; the rest becomes calls of a
GraphBuilder, by the table of onnx_operations.  A model that is refused says so once, with each node that has no counterpart: those
behind a refused one, whose shapes are not known, are judged by their operation and by the attributes that are refused whatever the
shapes are.
"""

import collections
import pathlib
import sys

import numpy
import onnx

from .graphs import GraphBuilder
from .library import Error, errors
from .onnx_fold import folds
from .onnx_loops import loop, scan
from .onnx_open import Depends, opened
from .onnx_operations import operations
from .onnx_values import Call, Refusal, Unjudged, Unknown, Value, dtype_word, numpy_dtype, value_of

OPSETS = range(1, 22)
MOST = 2 ** 32 - 1  # of a size, as pto/graph.h has it
FAILURES = Error, TypeError, ValueError, LookupError, ArithmeticError  # of a translation
_bodies = {"Loop": loop, "Scan": scan}


class Refused(errors.EINVAL):
    """A model that does not become a graph.  reasons: a sentence each.  unknown: inputs that would have to be constants."""

    def __init__(self, reasons, unknown=()):
        super().__init__("; ".join(reasons))
        self.reasons, self.unknown = list(reasons), sorted(unknown)


def read(path):
    """The model of a file, with its external data, which lies beside or below the file."""
    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception as reason:
        if type(reason).__name__ == "DecodeError":  # of whichever protobuf onnx has
            raise Refused([f"{path} is no ONNX file"]) from None
        raise
    folder = pathlib.Path(path).resolve().parent
    for tensor in onnx.external_data_helper._get_all_tensors(model):
        for entry in tensor.external_data:
            if entry.key == "location" and folder not in (folder / entry.value).resolve().parents:
                raise Refused([f"tensor {tensor.name!r}: its data in {entry.value!r} is not beside the model"])
    onnx.load_external_data_for_model(model, str(folder))
    return model


def _called(node):
    return f"{node.op_type} {node.name or next((name for name in node.output if name), '')!r}"


def _refuse_operation(node):
    """Refuses a node that has no counterpart, whatever its inputs are."""
    if node.domain not in ("", "ai.onnx"):
        raise Refusal(f"the domain {node.domain!r} has no counterpart")
    if node.op_type != "If" and not any(node.op_type in each for each in (_bodies, folds, operations)):
        raise Refusal("has no counterpart")


class Importer:
    """One model on its way to a graph.  values: by ONNX name, None where a node that was refused makes it.  unjudged:
    nodes behind a refused one, which nothing but their inputs may still refuse."""

    def __init__(self, model, sizes, build):
        self.build, self.sizes, self.values, self.reasons, self.unknown = build, sizes, {}, [], set()
        self.used, self.names, self.unjudged = set(), set(), []
        self.opset = next((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), 1)
        self.graph = model.graph
        self.uses = collections.Counter(name for node in self.graph.node for name in node.input)
        self.uses.update(each.name for each in self.graph.output)
        if self.opset not in OPSETS:
            self.reasons.append(f"opset {self.opset} is none of {OPSETS.start} to {OPSETS.stop - 1}")

    # ---- inputs and constants ----

    def _initializers(self, graph):
        for tensor in graph.initializer:
            try:
                self.values[tensor.name] = value_of(tensor, tensor.name)
            except TypeError as reason:
                self.reasons.append(f"initialiser {tensor.name!r}: {reason}")
                self.values[tensor.name] = None
        if len(graph.sparse_initializer):
            self.reasons.append("sparse initialisers have no counterpart")

    def _inputs(self):
        self._initializers(self.graph)
        for given in self.graph.input:
            if given.name not in self.values:
                self.values[given.name] = self._input(given)
        for name in sorted(set(self.sizes) - self.used):
            self.reasons.append(f"no input has a size called {name!r}")

    def _input(self, given):
        kind = given.type.tensor_type
        if not given.type.HasField("tensor_type") or not kind.HasField("shape"):
            self.reasons.append(f"input {given.name!r} is no tensor of known rank")
            return None
        shape, missing = [], []
        for place, extent in enumerate(kind.shape.dim):
            name = extent.dim_param or f"{given.name}.{place}"
            if name in self.sizes:
                shape.append(self.sizes[name])
                self.used.add(name)
            elif extent.HasField("dim_value") and extent.dim_value > 0:
                shape.append(extent.dim_value)
            elif extent.HasField("dim_value") and extent.dim_value == 0:
                self.reasons.append(f"input {given.name!r} is empty")
                self.unknown.add(given.name)
                return None
            else:
                missing.append(name)
        if missing:
            self.reasons.append(f"input {given.name!r} has sizes of no number: --set " + " --set ".join(f"{n}=N" for n in missing))
            return None
        try:
            dtype = numpy_dtype(kind.elem_type)
            of = self.build.input(given.name, numpy.uint8 if dtype == bool else dtype, shape)
        except Error as reason:
            self.reasons.append(f"input {given.name!r}: {reason}")
            return None
        except TypeError:
            self.reasons.append(f"input {given.name!r}: {dtype_word(kind.elem_type)} is no dtype of graphs")
            return None
        self.names.add(given.name)
        return Value(of=of, dtype=dtype, name=given.name)

    # ---- nodes ----

    def _node(self, node):
        """The results of a node; Refusal where there are none."""
        _refuse_operation(node)
        call = Call(self, node)
        given = [self.values[name] if name else None for name in node.input]
        if node.op_type == "If":
            return self._branch(call, given[0])
        if node.op_type in _bodies:
            return _bodies[node.op_type](lambda values: self._body(call.attribute("body"), values), call, *given)
        fold = folds.get(node.op_type)
        if fold and (node.op_type in ("Shape", "Size") or all(each is None or each.array is not None for each in given)):
            arrays = given if node.op_type in ("Shape", "Size") else [None if each is None else each.array for each in given]
            made = fold(call, *arrays)
            call.refuse_unread()
            made = made if isinstance(made, (list, tuple)) else [made]
            return [each if isinstance(each, Value) else Value(numpy.asarray(each)) for each in made]
        if node.op_type not in operations:
            raise Refusal("has no counterpart, but of constants", {each.name for each in given if each is not None and each.array is None})
        made = operations[node.op_type](call, *given)
        call.refuse_unread()
        return made if isinstance(made, (list, tuple)) else [made]

    def _branch(self, call, condition):
        """If of a condition that is known: the nodes of one branch, in place."""
        taken = call.known(condition, "the condition").reshape(-1)[0]
        branch = call.attribute("then_branch" if taken else "else_branch")
        self._initializers(branch)
        self._nodes(branch.node)
        return self._results(branch)

    def _body(self, graph, inputs):
        """The outputs of a body of Loop or Scan; what it makes is its own."""
        outer, self.values = self.values, dict(self.values)
        self._initializers(graph)
        self.values.update(zip((each.name for each in graph.input), inputs))
        try:
            self._nodes(graph.node)
            return self._results(graph)
        finally:
            self.values = outer

    def _results(self, graph):
        """Of a branch or a body."""
        absent = [each.name for each in graph.output if each.name not in self.values]
        if absent:
            raise Refusal(f"result {absent[0]!r} of its graph {graph.name!r} is made by no node")
        return [self.values[each.name] for each in graph.output]

    def _refuse(self, node, reason, where=""):
        self.reasons.append(f"{_called(node)}{where}: {reason}")
        self.unknown.update(getattr(reason, "unknown", ()))

    def _behind(self, node, values, where=""):
        """Judges a node of which some inputs are not known, and those of the graphs inside of it.  values: by name, if known."""
        try:
            _refuse_operation(node)
            if node.op_type in operations and node.op_type not in folds:  # numpy may take what a graph has not
                given = [(values.get(name) or Unknown()) if name else None for name in node.input]
                operations[node.op_type](Call(self, node), *given)
            raise Unjudged
        except Refusal as reason:
            self._refuse(node, reason, where)
        except (Unjudged, *FAILURES):
            self.unjudged.append(f"{_called(node)}{where}")
        self._inner(node)

    def _inner(self, node):
        """Judges the graphs inside of a node that are not run."""
        for attribute in node.attribute:
            for each in attribute.g.node:
                self._behind(each, {}, f" in {attribute.name} of {_called(node)}")

    def _nodes(self, nodes):
        for node in nodes:
            if any(name in self.values and self.values[name] is None for name in node.input if name):  # what it needs was refused
                self._behind(node, self.values)
                self.values.update((name, None) for name in node.output)
                continue
            try:
                absent = [name for name in node.input if name and name not in self.values]
                if absent:
                    raise Refusal(f"it takes {absent[0]!r}, which no node before it makes")
                made = self._node(node)
                absent = [name for name in node.output[len(made):] if name]
                if absent:
                    raise Refusal(f"result {absent[0]!r} has no counterpart")
            except (Refusal, *FAILURES) as reason:
                self._refuse(node, reason)
                self._inner(node)
                made = [None] * len(node.output)
            for name, value in zip(node.output, made):
                if name:
                    self.values[name] = value
                    self._name(value, name)

    def _name(self, value, name):
        if value is not None and value.of is not None and value.name is None and name not in self.names:
            self.build.name(value.of, name)
            self.names.add(name)
            value.name = name

    def _outputs(self):
        outputs, taken = {}, set()
        for each in self.graph.output:
            value = self.values.get(each.name)
            if value is None:
                if each.name not in self.values:
                    self.reasons.append(f"output {each.name!r} is made by no node")
                continue
            try:
                of = value.operand(self.build)
                if value.array is not None or id(of) in taken or value.is_input:
                    of = self.build.identity(of, label=each.name)
                taken.add(id(of))
                outputs[each.name] = of
            except (Error, Refusal, TypeError) as reason:
                self.reasons.append(f"output {each.name!r}: {reason}")
        return outputs

    def made(self):
        """The outputs, by name."""
        self._inputs()
        self._nodes(self.graph.node)
        outputs = self._outputs()
        if self.unjudged:
            more = f" and {len(self.unjudged) - 1} more" if len(self.unjudged) > 1 else ""
            self.reasons.append(f"not judged further, as what it takes is not known: {self.unjudged[0]}{more}")
        if self.reasons:
            raise Refused(self.reasons, self.unknown)
        return outputs


def _check_size(name, value):
    if isinstance(value, range):
        if value[:1] != range(1, 2) or value.step != 1 or value[-1] > MOST:
            raise Refused([f"size {name!r} is {value}: a size that stays open is range(1, most + 1), most up to {MOST}"])
    elif not isinstance(value, (int, numpy.integer)) or isinstance(value, bool) or not 1 <= value <= MOST:
        raise Refused([f"size {name!r} is {value!r}: a size is a whole number from 1 to {MOST}"])


def _graph(model, sizes):
    for name, value in sizes.items():
        _check_size(name, value)
    if any(isinstance(value, range) for value in sizes.values()):
        return opened(lambda numbers, build: Importer(model, numbers, build).made(), sizes)
    build = GraphBuilder()
    return build.build(Importer(model, sizes, build).made())


def from_onnx(model, **sizes):
    """The graph of an ONNX file, or of a ModelProto.  sizes: numbers for the sizes that it names, as batch=1, or range(1, 9) for one
    that stays open, from 1 to 8; a size without a name is INPUT.DIMENSION, given as **{"x.0": 1}.  bool is uint8, 0 or 1.
    Raises Refused, with all that is missing."""
    try:
        return _graph(model if isinstance(model, onnx.ModelProto) else read(model), sizes)
    except Depends as reason:
        raise Refused([str(reason)]) from None
    except Refused:
        raise
    except Error as reason:  # of the builder, about all of it
        raise Refused([str(reason)]) from None
    except (OSError, onnx.checker.ValidationError) as reason:
        raise Refused([str(reason)]) from None


def _size(word):
    """3, or 1..8 of a size that stays open."""
    first, dots, most = word.partition("..")
    return range(int(first), int(most) + 1) if dots else int(word)


def sizes_of(words):
    """The sizes of words NAME=SIZE."""
    try:
        return {name: _size(value) for name, _, value in (each.partition("=") for each in words)}
    except ValueError:
        raise Refused([f"{' '.join(words)}: sizes are whole numbers, or 1..MOST where they stay open"]) from None


def main(arguments):
    """MODEL.onnx GRAPH.json [NAME=SIZE…]: writes the graph, its weights beside it.  What is refused goes to stderr, a line each."""
    source, target, *given = arguments
    try:
        from_onnx(source, **sizes_of(given)).save(target)
    except Refused as refused:
        print("\n".join(refused.reasons), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
