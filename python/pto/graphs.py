# SPDX-License-Identifier: MIT
"""Graphs of operations, as WebNN's: built by calls, run on a context.

    build = pto.GraphBuilder()
    x = build.input("x", "f32", (4, 8))
    graph = build.build({"y": build.relu(build.matmul(x, build.constant(weights)))})
    graph.compute(device, {"x": array})["y"]

Operations are the functions of pto/graph_operations.h without `pto_graph_builder_`, with the options of
pto/graph_options.h by name: build.conv2d(x, filter, padding=(1, 1, 1, 1), input_layout="nhwc").  help(build.conv2d) lists
them.  Numbers, lists, True and False stand as they are; words are those of the specification: "nhwc", "edge", "both".
"""

import html
import pathlib
import shutil
import subprocess
import tempfile

import numpy

from .codes import bytes_of, given
from .devices import arrays, bindings, description
from .library import chars, errors, explained, failure, ffi, lib, nearest, text
from .tensors import dtype_code, dtype_name

_PREFIX = "pto_graph_builder_"
_operand = ffi.typeof("struct pto_graph_operand")
# Words of options: by the option's struct and field, or by the field, what the constants of their enum begin with.
_words = {"input_layout": "LAYOUT", "output_shape_rounding": "ROUNDING", "direction": "DIRECTION", "layout": "LAYOUT",
          "activations": "ACTIVATION", "conv2d.filter_layout": "CONV2D", "conv_transpose2d.filter_layout": "CONV_TRANSPOSE2D",
          "gru.layout": "GRU", "gru_cell.layout": "GRU", "lstm.layout": "LSTM", "lstm_cell.layout": "LSTM",
          "pad.mode": "PADDING", "resample2d.mode": "INTERPOLATION"}
_dtypes = ("data_type", "output_data_type")


class Operand:
    """A value of a graph that is being built.  shape: extents; dtype: the library's name."""

    def __init__(self, builder, c):
        self.c = c
        desc = lib.pto_graph_builder_desc(builder.c, c)
        self.dtype, self.shape = dtype_name(desc.dtype), tuple(desc.shape[0:desc.ndims])

    def __repr__(self):
        return f"<operand {self.dtype}{list(self.shape)}>"


def _number(value):
    if isinstance(value, (int, numpy.integer)):
        kind, field = (lib.PTO_NUMBER_U64, "u64") if value >= 2 ** 63 else (lib.PTO_NUMBER_I64, "i64")
        return {"kind": kind, "value": {field: int(value)}}
    return {"kind": lib.PTO_NUMBER_F64, "value": {"f64": float(value)}}


def _word(struct, field, value):
    """The number that an option's word stands for."""
    if field in _dtypes:
        return dtype_code(value)
    if isinstance(value, bool):
        return lib.PTO_FLAG_YES if value else lib.PTO_FLAG_NO
    if not isinstance(value, str):
        return value
    start = f"PTO_{_words.get(f'{struct}.{field}') or _words.get(field)}_"
    try:
        return getattr(lib, start + value.upper().replace("-", "_"))
    except AttributeError:
        words = [name[len(start):].lower().replace("_", "-") for name in dir(lib) if name.startswith(start)]
        raise errors.EINVAL(f"{field}: {value!r} is none of " + ", ".join(words or ["its numbers"])) from None


def _operands(name, values):
    """Their structs of C; TypeError for what is no operand."""
    for value in values:
        if not isinstance(value, Operand):
            raise TypeError(f"{name} takes operands, and got a {type(value).__name__}; GraphBuilder.constant(array) makes one of an array")
    return [value.c for value in values]


def _options(pointer, given):
    """The options of an operation, and what they borrow."""
    struct = pointer.item.cname[len("struct pto_"):-len("_options")]
    made, kept = ffi.new(pointer), []
    fields = dict(pointer.item.fields)
    for name, value in given.items():
        if name not in fields:
            raise TypeError(f"there is no option {name!r}: {', '.join(fields)}")
        kind = fields[name].type
        if value is None:
            continue
        if name == "label":
            kept.append(chars(value))
            value = kept[-1]
        elif kind is _operand:
            value, = _operands(name, [value])
        elif kind.cname == "struct pto_number":
            value = _number(dtype_code(value) if name in _dtypes else value)
        elif kind.kind == "struct":
            values = [_word(struct, name, each) for each in value]
            if kind.cname != "struct pto_f32_list" and not all(0 <= each < 2 ** 32 for each in values):
                raise errors.EINVAL(f"{name}: {list(value)} has a number that is not within 0 to {2 ** 32 - 1}")
            kept.append(ffi.new("float[]" if kind.cname == "struct pto_f32_list" else "uint32_t[]", values or 1))
            value = {"values": kept[-1], "count": len(values)}
        else:
            value = _word(struct, name, value)
        try:
            setattr(made, name, value)
        except (TypeError, OverflowError):
            raise errors.EINVAL(f"{name}: {given[name]!r} is not within 0 to {2 ** 32 - 1}") from None
    return made, kept


def _result_count(name, given):
    """Of the operations with several."""
    if name == "split":
        splits = given["splits"]
        return len(splits) if len(splits) > 1 or given.get("has_sizes") else splits[0]
    return (1 if name == "gru" else 2) + bool(given.get("return_sequence"))


def _limits(operation, context):
    word = operation.replace("_", "")
    name = next(each for each in map(lib.pto_graph_operation_name, range(lib.pto_graph_operation_count())) if text(each).lower() == word)
    made = ffi.new("struct pto_graph_limit[]", 16)
    count = lib.pto_graph_operation_limits(context, name, made, len(made))
    return {text(each.name): {"dtypes": [dtype_name(code) for code in range(lib.PTO_DTYPE_COUNT) if each.dtypes >> code & 1],
                              "ranks": (each.min_rank, each.max_rank), "is_optional": each.is_optional, "is_list": each.is_list}
            for each in made[0:count]}


def _option(struct, field, kind):
    """What an option takes."""
    start = f"PTO_{_words.get(f'{struct}.{field}') or _words.get(field)}_"
    words = [repr(name[len(start):].lower().replace("_", "-")) for name in dir(lib) if name.startswith(start)]
    what = ("text" if field == "label" else "an operand" if kind is _operand else "a dtype" if field in _dtypes else
            "a number" if kind.cname in ("struct pto_number", "float", "double") else "numbers" if kind.cname == "struct pto_f32_list" else
            " or ".join(words) if words and kind.kind != "struct" else "a list of " + ", ".join(words) if words else
            "whole numbers" if kind.kind == "struct" else "a whole number, True or False")
    return f"    {field}: {what}"


def _told(name, options, is_one):
    """The docstring of an operation: what it takes, returns and raises."""
    def said(limit):
        least, most = limit["ranks"]
        dtypes = "a dtype that goes with the others" if len(limit["dtypes"]) == lib.PTO_DTYPE_COUNT else ", ".join(limit["dtypes"])
        return f"{dtypes}, of rank {least}" + f" to {most}" * (most > least)

    operands = [f"    {operand}: {said(limit)}"
                + ", one or more" * limit["is_list"] + ", an option" * limit["is_optional"]
                for operand, limit in _limits(name, ffi.NULL).items()]
    struct = options.cname[len("struct pto_"):-len("_options")]
    return "\n".join([f"Operation {name} of the specification: returns {'an Operand' if is_one else 'a tuple of Operands'}, whose dtype and "
                      "shape are known at once.", "Operands, as values, in this order:", *operands, "Options, by name:",
                      *(_option(struct, field, each.type) for field, each in options.fields),
                      "pto.errors.EINVAL says what does not fit; TypeError for what is no operand, and no option."])


class GraphBuilder:
    """Builds one graph.  context: whose limits hold and whose constant tensors may be used; without it, for any.

    Dtype and shape of a result are known at once.  A call that is refused raises, and the builder goes on.
    """

    def __init__(self, context=None):
        out = ffi.new("struct pto_graph_builder **")
        status = lib.pto_graph_builder_create(ffi.NULL if context is None else context.c, out)
        if status < 0:
            raise failure(status, None)
        self.c = ffi.gc(out[0], lib.pto_graph_builder_destroy)
        self._context = context

    def _check(self, status):
        if status < 0:
            sentence = text(lib.pto_graph_builder_error(self.c))
            lib.pto_graph_builder_clear_error(self.c)
            raise failure(status, sentence)

    def _made(self, c):
        self._check(lib.pto_graph_builder_status(self.c))
        return Operand(self, c)

    def input(self, name, dtype, shape):
        """An input of the graph, an Operand of this dtype and shape.  errors.EINVAL for a name that is empty or taken."""
        return self._made(lib.pto_graph_builder_input(self.c, chars(name), description("struct pto_graph_desc *", dtype, shape)))

    def constant(self, array, dtype=None, shape=None):
        """A constant of an array, or of what has DLPack, which is copied: an Operand.  dtype and shape: of an array of codes
        (bf16, 4 bits).  TypeError or ValueError where it is something else; errors.EINVAL for a dtype that graphs have not."""
        dtype, shape, elements = given(array, dtype, shape)
        data = bytes_of(elements)
        return self._made(lib.pto_graph_builder_constant(self.c, description("struct pto_graph_desc *", dtype, shape),
                                                         ffi.from_buffer(data), data.nbytes))

    def constant_tensor(self, tensor):
        """A tensor of Context.constant of the builder's context, which outlives the graph: an Operand.  errors.EINVAL for another's."""
        return self._made(lib.pto_graph_builder_constant_tensor(self.c, tensor.c))

    def name(self, operand, name):
        """Names a constant or result, for files, pictures and explanations.  errors.EINVAL for a name that is empty or taken."""
        self._check(lib.pto_graph_builder_set_name(self.c, operand.c, chars(name)))

    def size(self, operand, item, name, option=None):
        """Leaves a size open: dimension `item` of an input, or item `item` of an option ("newShape") of the operation that
        gave the operand.  The number that stands there is the most that it may be.  errors.EINVAL where there is no such item."""
        self._check(lib.pto_graph_builder_set_size(self.c, operand.c, ffi.NULL if option is None else chars(option), item,
                                                   chars(name)))

    def limits(self, operation):
        """What operands an operation takes, by name: a dict of dtypes, ranks (least and most), is_optional, is_list; on the context's
        device where the builder has one.  AttributeError where there is no such operation."""
        if operation not in _operations:
            raise AttributeError(f"there is no operation {operation!r}" + nearest(operation, _operations))
        return _limits(operation, ffi.NULL if self._context is None else self._context.c)

    def build(self, outputs):
        """The Graph that computes these operands, by name.  After it each call of the builder raises errors.ESTALE."""
        names = [chars(name) for name in outputs]
        listed = ffi.new("struct pto_graph_output[]", [{"name": name, "operand": operand.c}
                                                       for name, operand in zip(names, outputs.values())])
        out = ffi.new("struct pto_graph **")
        self._check(lib.pto_graph_builder_build(self.c, listed, len(names), out))
        return Graph(out[0], self._context)

    # ---- operations ----

    def __dir__(self):
        return sorted({*super().__dir__(), *_operations})

    def __getattr__(self, name):
        if name not in _operations:
            raise AttributeError(f"there is no operation {name!r}" + nearest(name, _operations))
        call = getattr(lib, _PREFIX + name)
        types = ffi.typeof(call).args
        at = next(place for place, each in enumerate(types) if each.cname.endswith("options *"))
        count = at - 1  # operands, or 2 of concat: a list and its length

        def operation(*operands, **options):
            made, kept = _options(types[at], options)
            if name == "concat":
                listed = ffi.new("struct pto_graph_operand[]", _operands(name, operands))
                return self._made(call(self.c, listed, len(operands), made))
            if len(operands) != count:
                raise TypeError(f"{name} takes {count} operand{'s' * (count > 1)}, and got {len(operands)}")
            given = _operands(name, operands)
            if at == len(types) - 1:
                return self._made(call(self.c, *given, made))
            results = ffi.new("struct pto_graph_operand[]", _result_count(name, options))
            self._check(call(self.c, *given, made, results, len(results)))
            del kept
            return tuple(Operand(self, ffi.new("struct pto_graph_operand *", each)[0]) for each in results)

        operation.__name__ = name
        operation.__doc__ = _told(name, types[at].item, at == len(types) - 1)
        return operation


_operations = {name[len(_PREFIX):] for name in dir(lib) if name.startswith(_PREFIX)
               and any(each.cname.endswith("options *") for each in ffi.typeof(getattr(lib, name)).args)}


class Graph:
    """An immutable graph.  inputs, outputs: (dtype, shape) by name.  In a notebook it is its picture.
    sizes: the most that each open size may be, by name; then the shapes are those of the largest sizes.

    A context that it ran on keeps it, with its constants there, until the context is closed or forget().
    """

    def __init__(self, c, context=None):
        self.c = ffi.gc(c, lib.pto_graph_destroy)
        self._context = context  # whose constant tensors it may read
        self.inputs = self._named(lib.pto_graph_input, lib.pto_graph_input_count(c))
        self.outputs = self._named(lib.pto_graph_output_at, lib.pto_graph_output_count(c))
        open_sizes = (lib.pto_graph_size_at(c, index) for index in range(lib.pto_graph_size_count(c)))
        self.sizes = {text(each.name): each.value for each in open_sizes}

    def _named(self, at, count):
        found = (at(self.c, index) for index in range(count))
        return {text(each.name): (dtype_name(each.dtype), tuple(each.shape[0:each.ndims])) for each in found}

    def __repr__(self):
        def said(values):
            return ", ".join(f"{name} {dtype}{list(shape)}" for name, (dtype, shape) in values.items())
        return f"<graph: {said(self.inputs)} → {said(self.outputs)}>"

    def bind(self, **sizes):
        """The Graph of these sizes, which shares the constants: graph.bind(batch=4).  errors.EINVAL for a size that is unknown, missing, or
        beyond its most."""
        names = [chars(name) for name in sizes]
        given = ffi.new("struct pto_graph_size[]", [{"name": name, "value": value}
                                                    for name, value in zip(names, sizes.values())])
        out = ffi.new("struct pto_graph **")
        explained(lib.pto_graph_bind, self.c, given, len(names), out)
        return Graph(out[0], self._context)

    def dispatch(self, context, inputs, outputs, consumed=()):
        """Queues one run on device tensors, by name.  consumed: as of Context.dispatch.  The shapes of the inputs say what
        open sizes are.  errors.EINVAL for names, dtypes and shapes that do not fit."""
        made, borrowed = bindings(inputs, outputs, consumed)
        context._graphs.add(self)
        context._check(lib.pto_graph_dispatch(self.c, context.c, made))
        del borrowed

    def compute(self, context, inputs):
        """Runs it once, from arrays by name to new arrays by name, and waits.  One with open sizes is bound first.  TypeError or ValueError
        for an array of another dtype or shape; errors.EINVAL for names; what the run failed with."""
        elements = {name: given(array, *self.inputs.get(name, ()))[2] for name, array in inputs.items()}
        made, results, borrowed = arrays(elements, self.outputs)
        context._graphs.add(self)
        context._wait(lambda device: lib.pto_graph_compute(self.c, device, made))
        del borrowed
        return results

    def forget(self, context):
        """Waits for its runs on the context, and gives back what it has there."""
        lib.pto_graph_forget(self.c, context.c)
        context._graphs.discard(self)

    def fuse(self, is_fused):
        """Whether nodes are lowered in groups; they are, unless it is said.  pto.errors.ESTALE once it has run."""
        status = lib.pto_graph_set_fusion(self.c, is_fused)
        if status < 0:
            raise failure(status, "a graph that has run keeps how it was lowered")

    def save(self, path):
        """Writes webnn-graph-json; constants above 64 KiB go beside it, as safetensors.  errors.ESYSTEM where that cannot be written."""
        explained(lib.pto_graph_save, self.c, chars(str(path)), ffi.NULL)

    def save_dot(self, path):
        """Writes its picture for Graphviz.  errors.ESYSTEM where the file cannot be written."""
        explained(lib.pto_graph_save_dot, self.c, chars(str(path)))

    def _repr_html_(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "graph.dot"
            self.save_dot(path)
            if shutil.which("dot") is None:  # Graphviz's
                return f"<p>Install graphviz to see it drawn.</p><pre>{html.escape(path.read_text())}</pre>"
            drawn = subprocess.run(["dot", "-Tsvg", str(path)], capture_output=True, text=True, check=True).stdout
            return drawn[drawn.index("<svg"):]


def load_graph(path, context=None):
    """The Graph of a file of webnn-graph-json, with its constants.  context: as of GraphBuilder.  errors.EINVAL for what the file says,
    errors.ESYSTEM where it cannot be read."""
    out = ffi.new("struct pto_graph **")
    explained(lib.pto_graph_load, ffi.NULL if context is None else context.c, chars(str(path)), ffi.NULL, out)
    return Graph(out[0], context)
