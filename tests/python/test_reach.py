# SPDX-License-Identifier: MIT
"""Each public function of the headers is one that the package calls, or docs/python.md says why it is left out; settings by name."""

import fnmatch
import inspect
import pathlib
import re

import numpy
import pytest

import pto
from pto.library import lib

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEFT_OUT = (ROOT / "docs/python.md").read_text().split("## What is left out")[1].split("\n## ")[0]


def functions():
    """Those with PTO_API, and the header of each."""
    found = {}
    for header in (ROOT / "include/pto").glob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        found.update((name, header.name) for name in re.findall(r"PTO_API[^;{]*?\b(pto_\w+)\(", text))
    return found


def test_each_function_is_used_or_left_out_with_its_reason():
    text = "\n".join(path.read_text() for path in (ROOT / "python/pto").glob("*.py"))
    used = set(re.findall(r"\blib\.(pto_\w+)", text)) | {name for name, header in functions().items() if header == "graph_operations.h"}
    left = set(functions()) - used
    patterns = [word for line in LEFT_OUT.split("\n") if line.startswith("| `") for word in re.findall(r"`(pto_[\w*]+)`", line.split("|")[1])]
    assert len(functions()) > 300 and len(patterns) > 20
    assert not [name for name in sorted(left) if not any(fnmatch.fnmatchcase(name, each) for each in patterns)]
    assert not [each for each in patterns if not fnmatch.filter(left, each)], "nothing is left out that way"


def test_the_names_are_those_of_the_library():
    assert not [name for name in functions() if not hasattr(lib, name)]


@pytest.mark.parametrize("word, bits", (("exact", 0), ("pto", 1), ("pto,no-creator-edges", 0x101), ("pto,creator-edges", 1),
                                        ("pto,reduce-implied,no-base-address", 0x2801), ("pto,no-reduce-implied", 1)))
def test_rules_go_by_the_words_of_the_command(word, bits):
    from pto.library import deps_rules
    assert deps_rules(word) == bits


def test_wrong_rules_are_refused():
    for word, sentence in (("exact,creator-edges", "takes no rules"), ("pto,creator", "none of"), ("ptoo", "none of 'exact', 'pto'")):
        with pytest.raises(ValueError, match=sentence):
            pto.Runtime(deps=word)


def test_settings_reach_the_run():
    def times(**settings):
        with pto.Runtime(engine="virtual", chip="a2a3", **settings) as rt:
            return rt.run(lambda rt: [rt.submit(pto.kernels.fill, rt.empty(1 << 18), 1) for _ in range(200)])["virtual_ps"]

    assert times() == times() != times(jitter_ppm=20000, jitter_seed=1) != times(jitter_ppm=20000, jitter_seed=2)
    assert times(jitter_ppm=20000, jitter_seed=1) == times(jitter_ppm=20000, jitter_seed=1)
    with pto.Runtime(ring_window=[64, 32, 16, 16], ring_heap_bytes=[1 << 20] * 4) as rt:
        seen = []
        rt.run(lambda rt: seen.append(rt.scope_stats))
        assert (seen[0]["window"], seen[0]["heap_size_bytes"]) == (64, 1 << 20)


def test_a_version_is_of_a_buffer_s_state():
    def orchestrate(rt, y):
        t = rt.empty(4)
        rt.submit(pto.kernels.fill, t, 1)
        rt.submit(pto.kernels.fill, t.with_version(1), 2)
        with pytest.raises(pto.errors.EINVAL, match="version"):
            rt.submit(pto.kernels.copy, t, y)
        rt.submit(pto.kernels.copy, t.with_version(1), y)

    run = pto.Program(orchestrate, outputs={"y": ("f32", 4)}, golden={"y": [2] * 4}, expects_refusals=True).run()
    assert run.error is None


def test_fuzzy_overlap_is_by_ranges():
    with pto.Runtime() as rt:
        x = rt.tensor(numpy.zeros((4, 4), numpy.float32))
        assert x[:, :2].overlap(x[:, 2:]) == "disjoint" and x[:, :2].with_fuzzy_overlap().overlap(x[:, 2:]) == "partial"


def test_a_builder_says_what_an_operation_takes():
    build = pto.GraphBuilder()
    taken = build.limits("conv2d")
    assert taken["input"] == {"dtypes": ["f32", "fp16"], "ranks": (4, 4), "is_optional": False, "is_list": False}
    assert taken["bias"]["is_optional"] and build.limits("concat")["inputs"]["is_list"]
    for name in dir(build):
        if not name.startswith("_") and "options" in (inspect.getdoc(getattr(build, name)) or ""):
            assert build.limits(name)
    with pytest.raises(AttributeError, match="did you mean 'conv2d'"):
        build.limits("conv2")
    with pto.Context() as device:
        assert pto.GraphBuilder(device).limits("relu")
