# SPDX-License-Identifier: MIT
"""A plugin of pytest that runs scene tests of the existing runtime here: `pytest -p pto.adopt --platform a2a3sim`.

A scene is a class with an orchestration, kernels, cases, inputs and a comparison.  For each case that the command line
chooses, this plugin makes the inputs, writes them with a manifest (docs/schemas/pto-adopted.json) below build/adopted,
lets `ptosim adopt` build, run and check it, reads the outputs back into the memory of the test's tensors, and calls the
test's own comparison (pto.adopted).  It knows nothing of a runtime besides.

Their own files are used as they are, from a checkout above the tests (pto.checkout), with stand-ins for what only their compiled
extension and their device workers can do; without one the few names that scene files import come from pto.scene.

Environment: PTOSIM, the program (default: the tree's, else the one of PATH); PTO_ADOPT_RECORD, a file that gets a JSON
line a case, and PTO_ADOPT_MODE, "all" (cases of the architecture, marked for whatever, manual or not) or "list" (the
same, not run): `ptosim adopt FOLDER` sets both.  What stands in PTO_ADOPT_OPTIONS is handed on to `ptosim adopt`; with
--no-compute there, large tensors are shapes alone, however large, and nothing is judged.
"""

import contextlib
import importlib
import os
import pathlib
import shlex
import time

import pytest

import pto.checkout
import pto.generated
import pto.scene
from pto.adopted import SIMULATOR_CLUSTERS, TooLarge, adopt, case_folder, run_manifest, safe, scene_place, state, write_record
from pto.generated import Refused

PLATFORMS = {"a2a3sim": ("a2a3", "threads"), "a5sim": ("a5", "threads"),
             "a2a3virtual": ("a2a3", "virtual"), "a5virtual": ("a5", "virtual")}
HARDWARE = ("a2a3", "a5")


# ---- cases ----

def _adopt_recorded(scene, case, request):
    """Runs a case and writes its record, however it ends; what it ends with is handed on."""
    record = {"scene": scene_place(scene), "class": type(scene).__name__, "case": case["name"],
              "name": f"{type(scene).__name__}/{case['name']}",
              "mode": type(scene)._st_runtime, "architecture": state.architecture, "engine": state.engine,
              "built": False, "run": False, "verified": None, "reason": None}
    begin = time.monotonic()
    try:
        adopt(scene, case, request, record)
    except TooLarge as reason:
        record.update(reason=str(reason), left_out=True)
        pytest.skip(str(reason))
    except BaseException as reason:
        sentence = str(reason).strip().split("\n")[0]
        if not isinstance(reason, (AssertionError, Refused)):
            sentence = f"{scene_place(scene)}: {type(scene).__name__}: {type(reason).__name__}: {sentence}"
        record["reason"] = sentence or type(reason).__name__
        raise
    finally:
        record["seconds"] = round(time.monotonic() - begin, 3)
        write_record(record)
    _note_findings(record, request.node)


class _Generated(pytest.Item):
    """The program of a kernel_config.py."""

    def runtest(self):
        place = os.path.relpath(self.path, state.root)
        record = {"scene": place, "class": "", "case": self.name, "name": self.name, "architecture": state.architecture,
                  "engine": state.engine, "built": False, "run": False, "verified": None, "reason": None}
        begin = time.monotonic()
        try:
            manifest = pto.generated.manifest(self.path, state.architecture, SIMULATOR_CLUSTERS)
            record.update(name=manifest["name"], case=manifest["name"], mode=manifest["mode"])
            if state.mode != "list":
                folder = case_folder(place, safe(manifest["name"]))
                result = run_manifest(manifest, folder, self.config.getoption("--rounds", default=1), record)
                record["verified"] = result.get("verified")
                assert record["verified"] is not False, result.get("reason") or "the golden differs"
        except (AssertionError, Refused) as reason:
            record["reason"] = str(reason).strip().split("\n")[0]
            raise
        finally:
            record["seconds"] = round(time.monotonic() - begin, 3)
            write_record(record)
        _note_findings(record, self)

    def reportinfo(self):
        return self.path, None, self.name


class _GeneratedFile(pytest.File):
    def collect(self):
        yield _Generated.from_parent(self, name=self.path.parent.name, path=self.path)


def pytest_collect_file(file_path, parent):
    """What pypto writes has no test: its kernel_config.py stands for one."""
    if file_path.name == pto.generated.CONFIG and state.architecture:
        return _GeneratedFile.from_parent(parent, path=file_path)
    return None


def _note_findings(record, node):
    for finding in record.get("findings") or []:
        node.add_report_section("call", "ptosim", finding)
        _found.append(f"{record['scene']} {record['class']}/{record['case']}: {finding}")


_found = []


def _is_of_architecture(case):
    return any(platform in case["platforms"] for platform in (state.architecture, f"{state.architecture}sim"))


def _cases_of(scene, request):
    if state.mode:
        return [case for case in scene.CASES if _is_of_architecture(case)]
    if hasattr(scene, "_matching_cases"):
        return scene._matching_cases(f"{state.architecture}sim", request)
    manual = request.config.getoption("--manual")
    chosen = request.config.getoption("--case") or []
    names = [word.split("::", 1) if "::" in word else ["", word] for word in chosen]
    return [case for case in scene.CASES
            if f"{state.architecture}sim" in case["platforms"]
            and (manual == "include" or (manual == "only") == bool(case.get("manual")))
            and (not names or any(cls in ("", type(scene).__name__) and name in ("", case["name"])
                                  for cls, name in names))]


def _test_run(self, st_platform, st_worker, request):
    """In place of SceneTestCase.test_run."""
    if type(self)._st_level != 2:
        pytest.skip("a scene of several chips: these are not adopted")
    cases = _cases_of(self, request)
    if not cases:
        pytest.skip(f"{type(self).__name__} has no case for this platform")
    failure = None
    for case in cases:
        try:
            _adopt_recorded(self, case, request)
        except (AssertionError, Refused) as reason:
            failure = failure or AssertionError(f"{case['name']}: {reason}")
        except pytest.skip.Exception:
            if len(cases) == 1:
                raise
    if failure:
        raise failure


# ---- pytest ----

def _tests_of(words):
    """The words of a command line that are files or folders."""
    return [word for word in words if not word.startswith("-") and pathlib.Path(word.split("::")[0]).exists()]


class _Worker:
    """What tests with a test_run of their own get as st_worker: it is handed on to ours, and does nothing else."""


def _add_missing(parser):
    """Options of their conftest, where there is none."""
    for name, kind in (("--platform", {}), ("--case", {"action": "append"}),
                       ("--manual", {"choices": ("exclude", "include", "only"), "default": "exclude"}),
                       ("--rounds", {"type": int, "default": 1}),
                       ("--skip-golden", {"action": "store_true", "default": False})):
        with contextlib.suppress(ValueError):
            parser.addoption(name, **kind)


@pytest.hookimpl(hookwrapper=True)
def pytest_load_initial_conftests(early_config, parser, args):
    try:
        state.torch = importlib.import_module("torch")
    except ImportError as reason:
        raise pytest.UsageError(f"pto.adopt: scene tests want torch: {reason}") from reason
    pto.checkout.mend(state.torch)
    tests = _tests_of(args)
    if tests:  # behind "--platform NAME", which nobody knows yet, pytest finds none, nor their conftest.py
        early_config.known_args_namespace.file_or_dir = tests
    checkout = pto.checkout.find(tests)
    if checkout:
        state.root = checkout
        state.scene_module = pto.checkout.use(checkout)
    else:
        pto.scene.install()
        state.scene_module = pto.scene
    state.scene_module.SceneTestCase.test_run = _test_run
    yield
    _add_missing(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    platform = config.getoption("--platform", default=None)
    if platform in HARDWARE:
        raise pytest.UsageError(f"--platform {platform} means hardware, which is not here: {platform}sim runs on threads, "
                                f"{platform}virtual in virtual time")
    if platform is not None and platform not in PLATFORMS:
        raise pytest.UsageError(f"--platform {platform}: expected one of {', '.join(PLATFORMS)}")
    state.mode = os.environ.get("PTO_ADOPT_MODE") or None
    state.has_compute = "--no-compute" not in shlex.split(os.environ.get("PTO_ADOPT_OPTIONS", ""))
    if platform:
        state.architecture, state.engine = PLATFORMS[platform]
        config.option.platform = f"{state.architecture}sim"  # what scenes are marked with


def _is_case_of_a_scene(item):
    cls = getattr(item, "cls", None) or object
    return (issubclass(cls, state.scene_module.SceneTestCase) and getattr(cls, "_st_level", 0) == 2
            and item.name == "test_run" and any(map(_is_of_architecture, cls.CASES)))


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    everything = list(items)
    yield
    if state.mode:  # theirs chooses by mark
        items[:] = [item for item in everything if isinstance(item, _Generated) or _is_case_of_a_scene(item)]


def pytest_runtest_logreport(report):
    """A case whose fixtures fail has no record of its own."""
    if report.failed and report.when == "setup" and state.mode:
        lines = [line.strip() for line in str(report.longrepr).splitlines() if line.startswith("E ")]
        write_record({"scene": report.nodeid.split("::")[0], "name": "/".join(report.nodeid.split("::")[1:]),
                       "architecture": state.architecture, "engine": state.engine, "built": False, "run": False,
                       "verified": None,
                       "reason": f"the test cannot be set up: {lines[0][1:].strip()[:150] if lines else 'no reason is given'}"})


def pytest_collectreport(report):
    if report.failed and state.mode:
        lines = [line for line in str(report.longrepr).splitlines() if line.startswith("E ")]
        write_record({"scene": report.nodeid, "name": report.nodeid, "architecture": state.architecture,
                       "engine": state.engine, "left_out": True,
                       "reason": f"the file cannot be read: {lines[-1][1:].strip()[:150] if lines else 'no reason is given'}"})


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    """Here one process can run all: theirs starts one for each runtime."""
    from _pytest import main
    return main.pytest_runtestloop(session)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef, request):
    if fixturedef.argname not in ("st_worker", "_l2_worker_pool"):
        return None
    worker = _Worker() if fixturedef.argname == "st_worker" else {}
    fixturedef.cached_result = (worker, fixturedef.cache_key(request), None)
    return worker


@pytest.fixture(scope="session")
def st_platform():
    if not state.architecture:
        pytest.skip("--platform names none")
    return f"{state.architecture}sim"


@pytest.fixture()
def st_worker():
    return _Worker()


def pytest_terminal_summary(terminalreporter):
    if _found:
        terminalreporter.section("right by luck")
        for line in _found:
            terminalreporter.line(line)
