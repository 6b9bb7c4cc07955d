# SPDX-License-Identifier: MIT
"""Scenes of our own, in the form of the existing runtime's: run by tests/compat/adopt_test.sh."""

import ctypes

import torch
from simpler.task_interface import ArgDirection as D
from simpler_setup import Scalar, SceneTestCase, TaskArgsBuilder, TensorArg, scene_test

BOTH = ["a2a3sim", "a2a3", "a5sim", "a5"]
ADD = {"func_id": 0, "source": "add.cpp", "core_type": "aiv", "signature": [D.IN, D.IN, D.OUT]}
SCALE = {"func_id": 1, "source": "scale_kernel.cpp", "core_type": "aiv", "signature": [D.IN, D.OUT]}


class Scaled(SceneTestCase):
    CALLABLE = {
        "orchestration": {"source": "scale.cpp", "function_name": "scale_entry", "signature": [D.IN, D.IN, D.OUT]},
        "incores": [ADD, SCALE],
    }

    def generate_args(self, params):
        n = params["n"]
        return TaskArgsBuilder(TensorArg("a", torch.rand(n)), TensorArg("b", torch.rand(n)),
                               TensorArg("out", torch.full((n,), -1.0)), Scalar("factor", ctypes.c_float(2.5)))

    def compute_golden(self, args, params):
        index = torch.arange(params["n"], dtype=torch.int32)
        args.out[:] = (args.a + args.b)[index] * args.factor.value


@scene_test(level=2, runtime="tensormap_and_ringbuffer")
class TestScale(Scaled):
    CASES = [{"name": "small", "platforms": BOTH, "params": {"n": 64}},
             {"name": "rings", "platforms": BOTH, "params": {"n": 640}, "manual": True,
              "config": {"runtime_env": {"ring_task_window": [64, 16, 16, 16], "ring_heap": 1 << 20}}}]


@scene_test(level=2, runtime="host_build_graph")
class TestScaleHostBuilt(Scaled):
    CASES = [{"name": "small", "platforms": BOTH, "params": {"n": 64}}]


@scene_test(level=2, runtime="tensormap_and_ringbuffer")
class TestOwnComparison(Scaled):
    """Its golden says nothing; outputs are judged by what they are."""
    CASES = [{"name": "small", "platforms": ["a2a3sim"], "params": {"n": 64}}]

    def compute_golden(self, args, params):
        pass

    def compare_outputs(self, test_args, golden_args, output_names, params):
        assert output_names == ["out"]
        assert torch.equal(test_args.out, (test_args.a + test_args.b) * 2.5)


@scene_test(level=2, runtime="tensormap_and_ringbuffer")
class TestOwnRun(Scaled):
    CASES = [{"name": "small", "platforms": ["a2a3sim"], "params": {"n": 64}}]

    def test_run(self, st_platform, st_worker, request):
        assert st_platform == "a2a3sim" and st_worker is not None
        super().test_run(st_platform, st_worker, request)


@scene_test(level=2, runtime="tensormap_and_ringbuffer")
class TestTooLarge(Scaled):
    CASES = [{"name": "large", "platforms": ["a2a3sim"], "params": {"n": 100_000_000},
              "config": {"runtime_env": {"ring_heap": 512 << 20}}}]


@scene_test(level=2, runtime="tensormap_and_ringbuffer")
class TestLuck(SceneTestCase):
    CALLABLE = {
        "orchestration": {"source": "luck.cpp", "function_name": "luck_entry", "signature": [D.IN, D.INOUT, D.OUT]},
        "incores": [ADD],
    }
    CASES = [{"name": "small", "platforms": ["a5sim"], "params": {}}]

    def generate_args(self, params):
        return TaskArgsBuilder(TensorArg("a", torch.ones(16)), TensorArg("b", torch.full((16,), 5.0)),
                               TensorArg("out", torch.zeros(16)))

    def compute_golden(self, args, params):
        args.out[:] = args.a + args.b
        args.b[:] = args.a + args.a
