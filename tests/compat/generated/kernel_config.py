# SPDX-License-Identifier: MIT
"""A program in the layout that pypto writes, by hand: run by tests/compat/generated_test.sh."""

from pathlib import Path

from simpler.task_interface import ArgDirection as _D

_ROOT_DIR = Path(__file__).parent

RUNTIME_CONFIG = {
    "runtime": "tensormap_and_ringbuffer",
    "aicpu_thread_num": 0,
}

ORCHESTRATION = {
    "source": str(_ROOT_DIR / "orchestration" / "blend.cpp"),
    "function_name": "aicpu_orchestration_entry",
    "signature": [_D.IN, _D.IN, _D.OUT],
}

KERNELS = [
    {"func_id": 0, "name": "scale", "source": str(_ROOT_DIR / "kernels" / "aic" / "scale.cpp"), "core_type": "aic",
     "signature": [_D.IN, _D.INOUT]},
    {"func_id": 1, "name": "add", "source": str(_ROOT_DIR / "kernels" / "aiv" / "add.cpp"), "core_type": "aiv",
     "signature": [_D.IN, _D.IN, _D.OUT]},
]
