# SPDX-License-Identifier: MIT
"""Sizes of an ONNX model that stay open: range(1, 9) for a size makes a graph for each of its values (docs/graph.md).

The model is converted with the largest sizes, and again with some smaller ones of each.  What then differs has to be a number
that is a size, or a product of some, or a constant of which a smaller size has the begin, as of positions and causal masks.
These become open; of anything else the model is refused.  So each value that was tried gives what a conversion for it gives, and what
such a conversion refuses is refused when the graph is bound.
"""

import itertools
import math

import numpy

from .graphs import GraphBuilder, Operand
from .library import Error


class Depends(Exception):
    """What cannot stay open: the sentence says of which node."""


class _Note:
    """A call of a builder: what it is, the numbers that sizes may decide by option, of a constant the array."""

    def __init__(self, kind, label, rest, numbers, array=None):
        self.kind, self.label, self.rest, self.numbers, self.array = kind, label, rest, numbers, array

    def __str__(self):
        return f"{self.kind} {self.label!r}"


def _whole(value):
    """The whole numbers of an option, or None."""
    many = list(value) if isinstance(value, (list, tuple)) else [value]
    is_whole = all(isinstance(each, (int, numpy.integer)) and not isinstance(each, bool) for each in many)
    return [int(each) for each in many] if is_whole else None


class Noting(GraphBuilder):
    """A builder that notes what is asked of it, and names sizes as it goes: plan has (option, item, name) by the call's number."""

    def __init__(self, plan=()):
        super().__init__()
        self.notes, self._plan, self._kept, self._numbers = [], dict(plan), [], {}

    def _noted(self, made, kind, label, rest, numbers, array=None):
        places = self._plan.get(len(self.notes), ())
        self.notes.append(_Note(kind, label, rest, numbers, array))
        results = made if isinstance(made, tuple) else (made,)
        if array is not None and places:
            results = made, = GraphBuilder.__getattr__(self, "slice")(made, starts=[0] * array.ndim, sizes=array.shape),
        for option, item, name in places:
            self.size(results[0], item, name, option)
        for place, each in enumerate(results):
            self._kept.append(each)
            self._numbers[id(each)] = len(self.notes), place
        return made

    def input(self, name, dtype, shape):
        return self._noted(super().input(name, dtype, shape), "input", name, numpy.dtype(dtype).str, {None: list(shape)})

    def constant(self, array, dtype=None, shape=None):
        made, array = super().constant(array, dtype, shape), numpy.asarray(array)
        return self._noted(made, "constant", "", dtype or array.dtype.str, {"sizes": list(array.shape)}, array)

    def __getattr__(self, name):
        operation = super().__getattr__(name)

        def noted(*operands, label="", **options):
            rest, numbers = [self._numbers[id(each)] for each in operands], {}
            for option, value in options.items():
                whole = None if isinstance(value, (str, float)) or value is None else _whole(value)
                if whole is not None:
                    first, *others = option.split("_")
                    numbers[first + "".join(map(str.capitalize, others))] = whole
                else:
                    rest.append((option, self._numbers[id(value)] if isinstance(value, Operand) else value))
            return self._noted(operation(*operands, label=label, **options), name, label, rest, numbers)

        return noted


def _user(notes, number):
    """Who takes a constant first."""
    return next((str(each) for each in notes[number:] if isinstance(each.rest, list)
                 and any((number, 0) in (taken, taken[-1]) for taken in each.rest)), "an output")


def _compare(base, notes, named):
    """Refuses what differs in more than numbers, and constants that are no begin of the larger ones."""
    for number, (most, here) in enumerate(itertools.zip_longest(base, notes), 1):
        if most is None or here is None or (most.kind, most.label, most.rest) != (here.kind, here.label, here.rest) or (
                {option: len(each) for option, each in most.numbers.items()} != {option: len(each) for option, each in here.numbers.items()}):
            raise Depends(f"{most or here}: what becomes of it is another with {named}")
        if most.array is not None and not numpy.array_equal(
                most.array[tuple(slice(extent) for extent in here.array.shape)], here.array, equal_nan=here.array.dtype.kind == "f"):
            raise Depends(f"{_user(base, number)}: a constant of it is another with {named}")


def _name(values, tried):
    """The name of a number that is `values` where sizes are `tried`."""
    names = list(tried[0])
    for count in range(1, len(names) + 1):
        for chosen in itertools.combinations(names, count):
            products = [math.prod(sizes[name] for name in chosen) for sizes in tried]
            factor = values[0] // products[0]
            if factor and all(value == factor * product for value, product in zip(values, products)):
                return "*".join([*([str(factor)] if factor > 1 else []), *chosen])
    return None


def plan(noted, most):
    """What is to be named, by the call's number, and the sizes for which the model is refused.  noted: a function from sizes to the
    notes of a conversion with them; most: the largest by name."""
    tried, base, refused = [dict(most)], noted(most), []
    numbers = [[each.numbers for each in base]]
    for name, value in most.items():
        for smaller in sorted({1, 2, value // 2, value - 1} - {0, value}, reverse=True):
            sizes = {**most, name: smaller}
            try:
                notes = noted(sizes)
            except Error as reason:
                if smaller == value - 1:
                    raise Depends(f"{reason} (with {name} = {smaller})") from None
                refused.append(sizes)
                continue
            _compare(base, notes, f"{name} = {smaller}")
            tried.append(sizes)
            numbers.append([each.numbers for each in notes])
    made = {}
    for at, note in enumerate(base):
        for option, whole in note.numbers.items():
            for item in range(len(whole)):
                values = [each[at][option][item] for each in numbers]
                if len(set(values)) > 1:
                    name = _name(values, tried)
                    if name is None:
                        raise Depends(f"{note}: its {option or 'shape'} is {values[0]}, and with smaller sizes no part of it")
                    made.setdefault(at, []).append((option, item, name))
    return made, refused


def opened(convert, sizes):
    """The graph of a model.  convert(sizes, builder) puts it into a builder and gives the outputs; sizes: numbers, and ranges from
    1 on for those that stay open."""
    most = {name: value[-1] for name, value in sizes.items() if isinstance(value, range)}
    fixed = {name: value for name, value in sizes.items() if name not in most}

    def noted(open_sizes):
        builder = Noting()
        convert({**fixed, **open_sizes}, builder)
        return builder.notes

    places, refused = plan(noted, most)
    build = Noting(places)
    graph = build.build(convert({**fixed, **most}, build))
    for sizes in refused:
        try:
            graph.bind(**sizes)
        except Error:
            continue
        raise Depends(f"with {', '.join(f'{name} = {value}' for name, value in sizes.items())} the model is refused, and the graph is not")
    return graph
