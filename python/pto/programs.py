# SPDX-License-Identifier: MIT
"""Programs: an orchestration with its inputs and its golden, run and judged as `ptosim` does.

    program = pto.Program(orchestrate, inputs={"a": a, "b": b}, outputs={"c": ("f32", (64, 64))}, golden={"c": a @ b})
    run = program.run(engine="virtual", chip="a2a3")
    run.outputs["c"], run.result["virtual_us"], program.check()

orchestrate(rt, a, b, c) gets a tensor an array, in the order of inputs and outputs.
"""

import functools
import html
import json
import pathlib
import tempfile

import numpy

from .codes import bytes_of, given, is_described, numbers
from .kernel_objects import blamed, failure_behind, forget_failures
from .library import Error, chars, config, deps_rules, errors, explained, failure, ffi, interruptible, lib, text, waited
from .runtime import Orchestrating
from .tensors import GOES_WITH_THE_RUN, Tensor, dtype_code, dtype_name, extents, like

_calls = dict(ffi.typeof("struct pto_program").fields)
_TRACKS = "process_name", "thread_name"  # of a trace
SHOWN = 10  # findings as text
_NONE = 2 ** 64 - 1  # of a finding: no task, no parameter


class Finding:
    """kind; sentence, which ends with the remedy; remedy or None; is_note; tasks and params, numbers in submission order; decided,
    how: "all orders", "this order" or "sampled"."""

    def __init__(self, c):
        self.kind, self.sentence, self.remedy, self.is_note = text(c.kind), text(c.sentence), text(c.remedy), c.is_note
        self.decided = text(c.decided)
        self.tasks = tuple(n for n in c.tasks if n != _NONE)
        self.params = tuple(n for n in c.params if n != _NONE)

    def __str__(self):
        return f"{self.kind}: {self.sentence} [{self.decided}]"

    def __repr__(self):
        return f"<{self.kind}: {self.sentence}>"


class Findings(list):
    """Findings of a judge, notes too; false where there is none that counts.  total: those that count, kept or not."""

    def __init__(self, c):
        with_size = ffi.new("struct pto_found *", {"size": ffi.sizeof("struct pto_found")})
        for index in range(lib.pto_findings_count(c)):
            lib.pto_findings_at(c, index, with_size)
            self.append(Finding(with_size))
        self.total = lib.pto_findings_total(c)
        lib.pto_findings_destroy(c)

    def __bool__(self):
        return self.total > 0

    def __str__(self):
        left = [f"… and {len(self) - SHOWN} more"] if len(self) > SHOWN else []
        return "\n".join([*map(str, self[:SHOWN]), *left]) or "no findings"

    def rows(self):
        """A dict a finding, as pandas.DataFrame takes them."""
        return [dict(vars(each)) for each in self]

    def _repr_pretty_(self, printer, _):
        printer.text(str(self))


class Run:
    """What came of a run.  result: the object of `ptosim run --json`; outputs: arrays by name; error: None, or the exception
    of a run that failed, or of outputs that are wrong.  In a notebook it is the page of `ptosim run --report`."""

    def __init__(self, session, keep, outputs, error):
        self._session, self._keep, self.outputs, self.error = session, keep, outputs, error
        self.result = json.loads(self._written(lib.pto_session_write_result, session))

    def __repr__(self):
        return f"<run: {'well' if self.error is None else self.error}, {self.result.get('tasks')} tasks>"

    def numbers(self, name, array=None):
        """An output as numbers: the array, or what its codes stand for (bf16, 8 and 4 bits); or another array in its place.  KeyError for
        no output."""
        return numbers(self.outputs[name] if array is None else array, *self._keep[0].outputs[name])

    @staticmethod
    def _written(write, *arguments, name="written"):
        """The text that a call of the library writes to a file."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            explained(write, *arguments, chars(str(path)))
            return path.read_text()

    def export(self, name, path):
        """Writes a file of the run: "trace", "dot", "deps-json", "waits-dot", or "report", a page for a browser.  errors.EINVAL for another
        name, errors.ENOTSUP where nothing was recorded for it, errors.ESYSTEM where it cannot be written."""
        explained(lib.pto_session_export, self._session, chars(name), chars(str(path)))

    def _report(self, make, *arguments):
        """The JSON of what the library reports."""
        out = ffi.new("struct pto_report **")
        explained(make, *arguments, out)
        report = ffi.gc(out[0], lib.pto_report_destroy)
        try:
            return json.loads(self._written(lib.pto_report_write, report))
        finally:
            ffi.release(report)

    def why(self, first, second, rules=None):
        """Why one task comes after the other, or why nothing orders them: the object of `ptosim why --json`.  The tasks are numbers
        in submission order; rules: "exact" or "pto" [both].  errors.EINVAL where there is no such task."""
        request = ffi.new("struct pto_why_request *", {
            "size": ffi.sizeof("struct pto_why_request"), "tasks": [first, second], "has_rules": rules is not None,
            "rules": deps_rules(rules) if rules is not None else 0})
        return self._report(lib.pto_session_why, self._session, request)

    def diff(self, other):
        """What differs between the graphs of two runs, this one's first: the object of `ptosim diff --json`."""
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / f"{which}.json" for which in "ab"]
            for run, path in zip((self, other), paths):
                run.export("deps-json", path)
            return self._report(lib.pto_tools_diff, *(chars(str(path)) for path in paths))

    def timeline(self):
        """What the run did when, a dict a span, as pandas.DataFrame takes them: track ("cluster 0", "AIV0 (core 1)"), name, category,
        ts and dur in microseconds, and what else `--trace` says of it (task, label, …)."""
        events = json.loads(self._written(lib.pto_session_export, self._session, chars("trace"), name="t.json"))["traceEvents"]
        names = {(each["name"], each["pid"], each["tid"]): each["args"]["name"] for each in events if each["name"] in _TRACKS}
        return [{"track": (names.get(("process_name", each["pid"], 0)), names.get(("thread_name", each["pid"], each["tid"]))),
                 "name": each["name"], "category": each["cat"], "ts": each["ts"], "dur": each["dur"], **each.get("args", {})}
                for each in events if each["ph"] == "X"]

    def _repr_html_(self):
        page = self._written(lib.pto_session_export, self._session, chars("report"))
        return f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: 800px; border: 0"></iframe>'

    def same_as_baseline(self, path, name, update=False):
        """Whether the run came to what the baseline of `ptosim regress` at `path` says of `name`: "" or what changed.

        update: puts it there instead, and makes the file where it is missing.  errors.ESYSTEM where it cannot be read or written."""
        out = ffi.new("struct pto_baseline **")
        explained(lib.pto_baseline_open, chars(str(path)), update, out)
        baseline = ffi.gc(out[0], lib.pto_baseline_close)
        if update:
            explained(lib.pto_baseline_put, baseline, chars(name), self._session)
            explained(lib.pto_baseline_write, baseline, chars(str(path)))
            return ""
        try:
            explained(lib.pto_baseline_compare, baseline, chars(name), self._session)
            return ""
        except (errors.EINVAL, errors.ENOTSUP) as changed:
            return str(changed)


class Program:
    """A program made of Python.

    inputs: arrays by name, copied at each run; codes as (array, dtype) or (array, dtype, shape), or what has DLPack.  outputs: by
    name a (dtype, shape), or an array, as inputs are, with what is in it before.  golden: arrays by name, what outputs are
    compared with as numbers, |a − g| ≤ atol + rtol·|g|, of the output's shape, or its codes.  Settings as of pto.Runtime.
    TypeError or ValueError for what is no array of tensors, ValueError for a golden of no output or another shape.
    """

    def __init__(self, orchestrate, inputs=None, outputs=None, golden=None, rtol=0.0, atol=0.0, name=None, expects_refusals=False,
                 **settings):
        self.orchestrate, self.settings = orchestrate, settings
        self.name = name or getattr(orchestrate, "__name__", "program")
        self.arrays = [(each, lib.PTO_ARRAY_INPUT, *given(array)[:2], array) for each, array in (inputs or {}).items()]
        self.arrays += [(each, *self._output(array)) for each, array in (outputs or {}).items()]
        self.outputs = {each: (dtype, shape) for each, role, dtype, shape, _ in self.arrays if role != lib.PTO_ARRAY_INPUT}
        self.exception, self.golden = None, {}
        for each, array in (golden or {}).items():
            if each not in self.outputs:
                raise ValueError(f"{self.name}: a golden of {each}, which is no output")
            self.golden[each], shape = numpy.asarray(numbers(array, *self.outputs[each])), self.outputs[each][1]
            if self.golden[each].shape != shape:
                raise ValueError(f"{self.name}: the golden of {each} has shape {list(self.golden[each].shape)}, and {each} {list(shape)}")
        self._keep = [chars(self.name)]
        self._c = ffi.new("struct pto_program *", {
            "abi": lib.PTO_PYTHON_ABI, "name": self._keep[0], "summary": self._keep[0], "rtol": rtol, "atol": atol,
            "expects_refusals": expects_refusals, "prepare": self._callback("prepare", self._prepare),
            "orchestrate": self._callback("orchestrate", self._orchestrate)})
        if self.golden:
            self._c.expect = self._callback("expect", self._expect)

    @staticmethod
    def _output(array):
        """Role, dtype, shape and array."""
        if isinstance(array, tuple) and not is_described(array):
            return lib.PTO_ARRAY_OUTPUT, dtype_name(dtype_code(array[0])), tuple(extents(array[1])), None
        return lib.PTO_ARRAY_INOUT, *given(array)[:2], array

    def _callback(self, name, function):
        def call(*arguments):
            try:
                return function(*arguments)
            except BaseException as exception:
                self.exception = exception
                return lib.PTO_EUSER
        def excepted(_, exception, __):  # of Ctrl-C, before call's own lines
            self.exception = exception

        self._keep.append(ffi.callback(_calls[name].type, call, error=lib.PTO_EUSER, onerror=excepted))
        return self._keep[-1]

    # ---- what the library calls ----

    def _prepare(self, run):
        for name, role, dtype, shape, array in self.arrays:
            made = lib.pto_program_array(run, chars(name), role, dtype_code(dtype), len(shape), shape)
            if made == ffi.NULL:
                return lib.PTO_EINVAL
            if array is not None:
                ffi.memmove(made.data, bytes_of(given(array, dtype, shape)[2]), made.size_bytes)
        return lib.PTO_OK

    def _orchestrate(self, rt, run):
        runtime = Orchestrating(rt)
        tensors = [Tensor(ffi.new("struct pto_tensor *", lib.pto_array_tensor(rt, lib.pto_program_find(run, chars(name)))),
                          kept=GOES_WITH_THE_RUN)
                   for name, *_ in self.arrays]
        status = runtime.called(self.orchestrate, *tensors)
        self._last[runtime.rank] = runtime  # whose arrays the tasks use after this
        raised = [each.exception for each in self._last.values() if each.exception is not None]
        self.exception = min(raised, key=lambda each: isinstance(each, errors.EDEADLOCK), default=None)
        runtime.over()
        return status

    def _expect(self, run):
        for name, array in self.golden.items():
            found = lib.pto_program_find(run, chars(name))
            golden = lib.pto_array_golden(run, found)
            ffi.memmove(golden, numpy.ascontiguousarray(array, numpy.float64), 8 * found.numel)
        return lib.PTO_OK

    # ---- running and judging ----

    def _options(self, record=0, settings=None):
        made, kept = config(record, **{**self.settings, **(settings or {})})
        options = ffi.new("struct pto_session_options *", {"size": ffi.sizeof("struct pto_session_options"), "made": self._c,
                                                           "config": made, "has_deps": True})
        self.exception, self._last = None, {}
        forget_failures()
        return options, (made, kept)

    def _raised(self, error):
        """The exception of Python behind a failure; None where there is none.  KeyboardInterrupt is raised."""
        if isinstance(self.exception, KeyboardInterrupt):
            raise self.exception
        return failure_behind(str(error)) if self.exception is None else blamed(self.exception)

    def _session(self, options):
        out = ffi.new("struct pto_session **")
        try:
            explained(lib.pto_session_open, options, out)
        except Error:
            if self.exception is not None:
                raise self.exception from None
            raise
        return ffi.gc(out[0], lib.pto_session_close)

    def run(self, **settings):
        """Runs it once and compares outputs with the golden: a Run, also of a run that failed, whose `error` says so.
        Settings as of Runtime.  pto.Error where it cannot begin; KeyboardInterrupt."""
        options, keep = self._options(lib.PTO_RECORD_GRAPH | lib.PTO_RECORD_TIMELINE | lib.PTO_RECORD_SEGMENTS, settings)
        session = self._session(options)
        with interruptible:
            status = lib.pto_session_run(session)
            if status >= 0:
                status = lib.pto_session_verify(session)
        error = None
        if status < 0:
            error = failure(status, text(lib.pto_session_error(session)))
            error.__cause__ = self._raised(error)
        else:
            explained(lib.pto_session_account, session)
        outputs = {name: self._array(session, name, *described) for name, described in self.outputs.items()}
        return Run(session, (self, options, keep), outputs, error)

    @staticmethod
    def _array(session, name, dtype, shape):
        size = ffi.new("uint64_t *")
        data = lib.pto_session_array(session, chars(name), size)
        array = like(dtype, shape)
        ffi.memmove(ffi.from_buffer(bytes_of(array)), data, size[0])
        return array

    def check(self, deps="exact", ranks=0, **settings):
        """Pairs of conflicting accesses that nothing orders under these rules, "exact" or "pto": Findings.

        ranks: so many call the orchestration, with rt.rank, in virtual time [one chip]; of these also accesses of two ranks to a
        window, collectives that differ, and what waits for ever.  Raises what leaves an orchestration, and pto.Error where the run fails
        and there is no finding."""
        settings = {"deps": deps, **settings}
        if ranks:
            return self._judged(lambda options, *rest: waited(lib.pto_tools_check_ranks, options, ranks, *rest), settings)
        options, keep = self._options(lib.PTO_RECORD_GRAPH, settings)
        session = self._session(options)
        try:
            with interruptible:
                status = lib.pto_session_run(session)
            if self.exception is not None:
                raise blamed(self.exception)
            out = ffi.new("struct pto_findings **")
            explained(lib.pto_session_check, session, options.config.deps, out)
            findings = Findings(out[0])
            if status < 0 and not findings:
                error = failure(status, text(lib.pto_session_error(session)))
                raise error from self._raised(error)
            return findings
        finally:
            ffi.release(session)
            del keep

    def _judged(self, judge, settings):
        options, keep = self._options(0, settings)
        out, error = ffi.new("struct pto_findings **"), None
        try:
            with interruptible:
                explained(judge, options, out)
        except Error as reason:
            error = reason
        findings = None if out[0] == ffi.NULL else Findings(out[0])
        del keep
        waits = isinstance(self.exception, errors.EDEADLOCK) and findings  # which say why
        if self.exception is not None and not waits and (error is not None or isinstance(self.exception, KeyboardInterrupt)):
            raise blamed(self.exception)
        if error is not None and not findings:
            raise error from self._raised(error)
        return findings

    def observe(self, ranks=0, **settings):
        """What kernels touch and their tasks do not declare, on so many ranks, in virtual time [one chip]: Findings.

        Raises as check."""
        request = ffi.new("struct pto_observe_request *", {"size": ffi.sizeof("struct pto_observe_request"), "ranks": ranks})
        observe = functools.partial(waited, lib.pto_tools_observe) if ranks else lib.pto_tools_observe
        return self._judged(lambda options, *rest: observe(options, request, *rest), settings)

    def explore(self, schedules=0, every_order=False, ranks=0, **settings):
        """Where outputs depend on the order of tasks, in so many orders [200], or in each that may matter: Findings.

        ranks: instead, where they depend on how late a rank is, in so many runs; a golden is that of each rank.
        Raises as check, and errors.EINVAL where the outputs of the first run are wrong."""
        if ranks and every_order:
            raise ValueError("every order is one of a chip's tasks: of ranks, some are late")
        if ranks:
            return self._judged(lambda options, *rest: waited(lib.pto_tools_explore_ranks, options, ranks, schedules, *rest), settings)
        request = ffi.new("struct pto_explore_request *", {"size": ffi.sizeof("struct pto_explore_request"),
                                                           "schedules": schedules, "is_all": every_order})
        return self._judged(lambda options, *rest: lib.pto_tools_explore(options, request, *rest), settings)
