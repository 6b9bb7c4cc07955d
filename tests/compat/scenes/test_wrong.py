# SPDX-License-Identifier: MIT
"""Scenes with a mistake each: what is said of them is in tests/compat/adopt_test.sh."""

import torch
from simpler.task_interface import ArgDirection as D
from simpler_setup import SceneTestCase, TaskArgsBuilder, TensorArg, scene_test
from test_scenes import ADD, SCALE, Scaled

ONE = [{"name": "one", "platforms": ["a2a3sim"], "params": {"n": 16}}]


@scene_test(level=2, runtime="tensormap_and_ringbuffer")
class TestWrongGolden(Scaled):
    CASES = ONE

    def compute_golden(self, args, params):
        args.out[:] = 1


@scene_test(level=2, runtime="tensormap_and_ringbuffer")
class TestNoGolden(SceneTestCase):
    CALLABLE = dict(Scaled.CALLABLE)
    CASES = ONE
    generate_args = Scaled.generate_args


@scene_test(level=2, runtime="tensormap_and_ringbuffer")
class TestNoKernel(Scaled):
    CALLABLE = dict(Scaled.CALLABLE, incores=[ADD])
    CASES = ONE


@scene_test(level=2, runtime="tensormap_and_ringbuffer")
class TestFewSignatures(Scaled):
    CALLABLE = dict(Scaled.CALLABLE, orchestration={"source": "scale.cpp", "function_name": "scale_entry",
                                                    "signature": [D.IN, D.IN]})
    CASES = ONE


@scene_test(level=2, runtime="tensormap_and_ringbuffer")
class TestFewArguments(Scaled):
    CASES = ONE

    def generate_args(self, params):
        return TaskArgsBuilder(TensorArg("a", torch.ones(16)), TensorArg("out", torch.ones(16)))

    def compute_golden(self, args, params):
        pass


@scene_test(level=2, runtime="tensormap_and_ringbuffer")
class TestNoSource(Scaled):
    CALLABLE = dict(Scaled.CALLABLE, incores=[ADD, dict(SCALE, source="nowhere.cpp")])
    CASES = ONE


@scene_test(level=2, runtime="tensormap_and_ringbuffer")
class TestNoEntry(Scaled):
    CALLABLE = dict(Scaled.CALLABLE, orchestration={"source": "scale.cpp", "function_name": "other_entry",
                                                    "signature": [D.IN, D.IN, D.OUT]})
    CASES = ONE
