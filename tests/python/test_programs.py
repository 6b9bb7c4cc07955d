# SPDX-License-Identifier: MIT
"""Programs and their judges from Python: bugs are found with file and line, clean ones are not accused."""

import gc
import json

import numpy
import pytest

import pto

A = numpy.arange(64, dtype=numpy.float32).reshape(8, 8)


def twice_and_once(rt, a, c):
    t = rt.empty((8, 8), label="twice")
    rt.submit(pto.kernels.add, a, a, t)
    rt.submit(pto.kernels.add, t, a, c)


def program(orchestrate, golden=3 * A, **settings):
    return pto.Program(orchestrate, {"a": A}, {"c": ("f32", (8, 8))}, {"c": golden}, **settings)


@pto.test(deps=("exact", "pto"))
def test_a_clean_program(settings):
    clean = program(twice_and_once)
    run = clean.run(**settings)
    pto.assert_same(run, {"c": 3 * A})
    pto.assert_ordered(clean, **settings)
    assert run.result["tasks"] == 2 and run.result["verified"] is True
    if settings["engine"] == "virtual":
        assert run.result["virtual_us"] > 0
        assert run.result["stats"]["verdict"]


def test_judges_of_a_clean_program():
    pto.assert_declared(program(twice_and_once))
    pto.assert_order_free(program(twice_and_once))


def test_a_wrong_output_is_an_error_of_the_run():
    run = program(twice_and_once, golden=3 * A + 1).run()
    assert "c[0,0]" in str(run.error)
    with pytest.raises(AssertionError, match=r"c\[0,0\]"):
        pto.assert_same(run, {"c": 3 * A})


def test_a_missing_dependency_is_found_with_both_lines():
    def orchestrate(rt, a, c):
        with rt.scope(manual=True):
            t = rt.empty((8, 8), label="between")
            rt.submit(pto.kernels.add, a, a, t)
            rt.submit(pto.kernels.add, t, a, c)

    with pytest.raises(AssertionError) as raised:
        pto.assert_ordered(program(orchestrate), engine="virtual")
    text = str(raised.value)
    first = orchestrate.__code__.co_firstlineno + 3
    assert "RAW" in text and "between" in text
    assert f"test_programs.py:{first}" in text and f"test_programs.py:{first + 1}" in text
    with pytest.raises(AssertionError):
        pto.assert_order_free(program(orchestrate))


def test_findings_as_text_are_ten_and_how_many_more():
    def orchestrate(rt, a, c):
        with rt.scope(manual=True):
            for row in range(8):
                t = rt.empty((8,))
                rt.submit(pto.kernels.add, a[row], a[row], t)
                rt.submit(pto.kernels.add, t, a[row], c[row])
                rt.submit(pto.kernels.add, t, a[row], c[row])

    findings = program(orchestrate).check(engine="virtual")
    assert len(findings) == findings.total == 24
    assert str(findings).count("RAW: ") + str(findings).count("WAW: ") == 10 and str(findings).endswith("… and 14 more")


def test_a_kernel_that_leaves_bytes_unwritten_is_found():
    @pto.kernel()
    def half(x: pto.input, y: pto.output):
        y[:4] = x[:4]

    def orchestrate(rt, a, c):
        rt.submit(half, a, c)

    with pytest.raises(AssertionError, match="not written"):
        pto.assert_declared(program(orchestrate))


def test_it_is_found_on_each_of_several_ranks():
    @pto.kernel()
    def half(x: pto.input, y: pto.output):
        y[:4] = x[:4]

    def orchestrate(rt, a, c):
        rt.submit(half, a, c)

    found = [finding for finding in program(orchestrate).observe(ranks=3) if not finding.is_note]
    assert sorted(finding.sentence[:11] for finding in found) == ["rank 0 task", "rank 1 task", "rank 2 task"]
    assert not program(twice_and_once).observe(ranks=2)


def test_exceptions_come_out_of_judges_and_are_the_cause_of_a_failed_run():
    def orchestrate(rt, a, c):
        raise LookupError("mine")

    failing = program(orchestrate)
    assert isinstance(failing.run().error.__cause__, LookupError)
    for judge in (failing.check, failing.observe, failing.explore):
        with pytest.raises(LookupError, match="mine"):
            judge()


def test_an_output_with_contents_is_read_and_written():
    start = numpy.full(4, 2, numpy.int32)

    def orchestrate(rt, total):
        rt.submit(pto.kernels.add, total, total, total)

    run = pto.Program(orchestrate, outputs={"total": start}).run()
    assert run.outputs["total"].tolist() == [4] * 4 and start.tolist() == [2] * 4


def test_a_run_exports_what_the_command_does(tmp_path):
    run = program(twice_and_once).run(engine="virtual", chip="a2a3")
    run.export("trace", tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    run.export("dot", tmp_path / "graph.dot")
    assert "digraph" in (tmp_path / "graph.dot").read_text()
    with pytest.raises(pto.errors.EINVAL):
        run.export("nothing", tmp_path / "none")


def test_timelines_and_findings_are_rows_of_a_table():
    def racing(rt, a, c):
        with rt.scope(manual=True):
            t = rt.empty((8, 8))
            rt.submit(pto.kernels.add, a, a, t)
            rt.submit(pto.kernels.add, t, a, c)

    run = program(twice_and_once).run(engine="virtual", chip="a2a3")
    spans = [row for row in run.timeline() if row["category"] == "kernel"]
    assert {row["task"] for row in spans} == {0, 1} and all(row["dur"] > 0 and row["name"] == "add" for row in spans)
    assert all(row["track"][0].startswith("cluster") and "AIV" in row["track"][1] for row in spans)
    assert {row["on"] for row in run.timeline() if row["category"] == "path"} >= {"orchestrator"}
    last = max(row["ts"] + row["dur"] for row in spans)
    assert 0 < last <= run.result["virtual_us"]
    findings = program(racing).check(engine="virtual")
    row, = findings.rows()
    assert (row["kind"], row["tasks"], row["params"], row["is_note"]) == ("RAW", (0, 1), (2, 0), False)
    assert repr(findings[0]).startswith("<RAW: task 0 (add) param 2 writes")


def test_a_run_says_why_and_how_it_differs_from_another():
    def other(rt, a, c):
        t = rt.empty((8, 8), label="twice")
        rt.submit(pto.kernels.add, a, a, t)
        rt.submit(pto.kernels.add, a, a, c)
        rt.submit(pto.kernels.add, t, c, c)

    one, two = program(twice_and_once).run(), program(other).run()
    why = one.why(0, 1)
    assert why["format"] == "pto-why" and [each["answer"] for each in why["rules"]] == ["edge", "edge"]
    assert why["rules"][0]["links"][0]["reasons"][0]["kind"] == "RAW"
    assert [(each["deps"], each["answer"]) for each in two.why(1, 0, rules="exact")["rules"]] == [("exact", "none")]
    assert one.diff(program(twice_and_once).run())["finding_count"] == 0
    found = one.diff(two)
    assert (found["format"], found["tasks_only_a"], found["tasks_only_b"], found["edges_only_a"]) == ("pto-diff", 0, 1, 1)
    assert "task 2 (add) is only in B" in [each["sentence"] for each in found["findings"]]
    with pytest.raises(pto.errors.EINVAL, match="there is no task 7: the program's are 0 to 1"):
        one.why(0, 7)


def test_in_a_notebook_a_run_is_its_page():
    run = program(twice_and_once).run(engine="virtual", chip="a2a3")
    try:
        page = run._repr_html_()
    except pto.errors.ESYSTEM as refused:  # a build without the library that draws
        assert "deps --report" in str(refused)
        return
    assert page.startswith("<iframe srcdoc=") and "bound" in page


def test_a_baseline_is_made_and_holds_until_something_changes(tmp_path, monkeypatch):
    path = tmp_path / "baseline.json"
    virtual = {"engine": "virtual", "chip": "a2a3"}
    monkeypatch.setenv("PTO_UPDATE", "1")
    pto.assert_as_before(program(twice_and_once).run(**virtual), path, "sum")
    monkeypatch.delenv("PTO_UPDATE")
    pto.assert_as_before(program(twice_and_once).run(**virtual), path, "sum")
    with pytest.raises(AssertionError, match="sum: .* us on the chip instead of"):
        pto.assert_as_before(program(twice_and_once).run(engine="virtual", chip="a2a3,submit=1"), path, "sum")
    with pytest.raises(AssertionError, match="not in the baseline"):
        pto.assert_as_before(program(twice_and_once).run(**virtual), path, "other")


def test_runs_outlive_what_made_them():
    runs = [program(twice_and_once).run(engine="virtual") for _ in range(3)]
    gc.collect()
    assert len({run.result["trace_digest"] for run in runs}) == 1


@pytest.mark.parametrize("engine", ("threads", "virtual"))
def test_a_timeline_is_of_every_run(engine):
    def refused(rt, a, c):
        raise LookupError("before any task")

    assert [row for row in program(twice_and_once).run(engine=engine).timeline() if row["name"] == "add"]
    assert not [row for row in program(refused).run(engine=engine).timeline() if row["name"] == "add"]
