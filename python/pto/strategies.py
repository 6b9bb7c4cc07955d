# SPDX-License-Identifier: MIT
"""Strategies of hypothesis: arrays, views and programs, which shrink to small ones where a test fails.

    @hypothesis.given(pto.strategies.programs())
    def test(program):
        pto.assert_same(program.run(engine="virtual"), program.golden)
        pto.assert_ordered(program)
"""

import functools

import numpy
from hypothesis import strategies as st

from .kernel_objects import kernels
from .programs import Program

_operations = {"add": numpy.add, "sub": numpy.subtract, "mul": numpy.multiply, "maximum": numpy.maximum,
               "minimum": numpy.minimum}


@st.composite
def arrays(draw, dtypes=("float32", "int32", "int16", "uint8"), max_dims=4, max_side=5):
    """Arrays of numpy with small whole numbers, dense or with strides of their own, never empty."""
    shape = draw(st.lists(st.integers(1, max_side), min_size=1, max_size=max_dims))
    steps = [draw(st.sampled_from((1, 1, 2))) for _ in shape]
    whole = numpy.arange(numpy.prod([n * step for n, step in zip(shape, steps)])) % 101
    whole = whole.astype(draw(st.sampled_from(dtypes))).reshape([n * step for n, step in zip(shape, steps)])
    return whole[tuple(slice(None, None, step) for step in steps)].transpose(draw(st.permutations(range(len(shape)))))


@st.composite
def views(draw, shape, min_dims=1):
    """Keys for tensors and arrays of this shape: slices that go forward and are not empty, and indices, which drop theirs.

    At least min_dims dimensions are left."""
    key = []
    for left, extent in zip(range(len(shape), 0, -1), shape):
        if sum(isinstance(each, slice) for each in key) + left > min_dims and draw(st.integers(0, 4)) == 4:
            key.append(draw(st.integers(-extent, extent - 1)))
        else:
            start = draw(st.integers(0, extent - 1))
            key.append(slice(start, draw(st.integers(start + 1, extent)), draw(st.sampled_from((1, 1, 2, 3)))))
    return tuple(key)


@functools.lru_cache(maxsize=None)
def _slices(sides, extent):
    """All that take so many of a side's indices."""
    return [slice(start, start + (extent - 1) * step + 1, step) for step in (1, 2) for start in range(sides)
            if start + (extent - 1) * step < sides]


def _boxes(draw, sides, count):
    """Keys of `count` views of one shape, of square arrays."""
    shape = [draw(st.integers(1, max(1, sides // 2))) for _ in range(2)]
    return [tuple(draw(st.sampled_from(_slices(sides, extent))) for extent in shape) for _ in range(count)]


def _written(key):
    return ", ".join(f"{each.start}:{each.stop}" + f":{each.step}" * (each.step > 1) for each in key)


class RandomProgram(Program):
    """A program whose steps can be read: its golden is what numpy gives one step after the other."""

    def __init__(self, steps, arrays, golden, **settings):
        super().__init__(self._run, outputs=arrays, golden=golden, name="random", **settings)
        self.steps = steps

    def __repr__(self):
        return "\n".join(["a program of", *(f"    {step[-1]}" for step in self.steps)])

    def _run(self, rt, *tensors):
        self._submit(rt, dict(zip((name for name, *_ in self.arrays), tensors)), iter(self.steps))

    def _submit(self, rt, tensors, steps):
        for kind, *operands, _ in steps:
            if kind == "begin":
                with rt.scope():
                    self._submit(rt, tensors, steps)
            elif kind == "end":
                return
            elif kind == "fill":
                (array, key), value = operands
                rt.submit(kernels.fill_int, tensors[array][key], value)
            else:
                a, b, y = (tensors[array][key] for array, key in operands[:3])
                between = rt.empty(y.shape, y.dtype)  # an output may not overlap an input in part
                rt.submit(getattr(kernels, kind), a, b, between)
                when = operands[3] and (tensors[operands[3][0]][operands[3][1]], ">=", 0)
                rt.submit(kernels.copy, between, y, when=when)


@st.composite
def programs(draw, max_steps=12, sides=6, count=3, **settings):
    """Programs of up to max_steps steps over `count` square arrays of int32: elementwise kernels on views that overlap in all
    ways, with temporaries, nested scopes and predicates.  settings: as of pto.Program."""
    names = "abcdefgh"[:count]
    start = {name: (numpy.arange(sides * sides, dtype=numpy.int32) + place).reshape(sides, sides) % 7 - 3
             for place, name in enumerate(names)}
    golden = {name: array.copy() for name, array in start.items()}
    steps, depth = [], 0
    for _ in range(draw(st.integers(1, max_steps))):
        kind = draw(st.sampled_from((*_operations, "fill", "begin", "end")))
        if kind == "begin" or (kind == "end" and depth):
            depth += 1 if kind == "begin" else -1
            steps.append((kind, kind))
        elif kind == "fill":
            array, [key], value = draw(st.sampled_from(names)), _boxes(draw, sides, 1), draw(st.integers(-3, 3))
            golden[array][key] = value
            steps.append((kind, (array, key), value, f"{array}[{_written(key)}] = {value}"))
        elif kind != "end":
            chosen = [draw(st.sampled_from(names)) for _ in range(3)]
            a, b, y = operands = list(zip(chosen, _boxes(draw, sides, 3)))
            flag = None
            if draw(st.integers(0, 4)) == 4:
                at = draw(st.integers(0, sides - 1))
                other = draw(st.sampled_from([name for name in names if name != y[0]]))  # a flag that the task writes is refused
                flag = other, (slice(at, at + 1, 1),) * 2
            if flag is None or golden[flag[0]][flag[1]][0, 0] >= 0:
                with numpy.errstate(over="ignore"):
                    golden[y[0]][y[1]] = _operations[kind](golden[a[0]][a[1]], golden[b[0]][b[1]])
            written = [f"{array}[{_written(key)}]" for array, key in operands]
            steps.append((kind, *operands, flag, f"{written[2]} = {kind}({written[0]}, {written[1]})"
                          + (f" if {flag[0]}[{_written(flag[1])}] >= 0" if flag else "")))
    steps += [("end", "end")] * depth
    return RandomProgram(steps, start, golden, **settings)
