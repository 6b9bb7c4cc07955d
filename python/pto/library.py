# SPDX-License-Identifier: MIT
"""The shared libraries, and errors.

`lib` has every function of include/pto, `ffi` its types.  A status below zero is an exception: pto.Error, and of it one
class a status, errors.EINVAL for PTO_EINVAL, with the sentence that the library gives.
"""

import ctypes
import difflib
import os
import pathlib
import sys
import threading
import types
import weakref

MAJOR = 0
SENTENCE_BYTES = 1024

# Where this package stands: the `lib` of an installed prefix, or the tree, whose folder build (PTO_BUILD_DIR) has the libraries
# and the declarations.  Installed by pip it stands in neither, and the loader finds the libraries.
_here = pathlib.Path(__file__).resolve()
_build = _here.parents[2] / os.environ.get("PTO_BUILD_DIR", "build")
try:
    from _pto import ffi
except ImportError:
    sys.path.append(str(_build / "python"))
    from _pto import ffi


def _open():
    folder = next((f"{each}/" for each in (_here.parents[3], _build) if (each / f"libptotools.so.{MAJOR}").exists()), "")
    # The first stays open for the second, which needs it; both for threads of contexts that outlive the interpreter.
    flags = ffi.RTLD_NOW | ffi.RTLD_GLOBAL | ffi.RTLD_NODELETE
    try:
        return [ffi.dlopen(f"{folder}{name}.so.{MAJOR}", flags) for name in ("libpto", "libptotools")]
    except OSError as reason:
        raise ImportError(f"{reason}; LD_LIBRARY_PATH names the lib of a prefix that make install filled") from None


_libraries = _open()
lib = _libraries[-1]
version = ffi.string(lib.pto_version()).decode()


def _refusal():
    """Why this package cannot use this library; None where it can.  Within a major version functions stay and structs grow
    (pto/version.h): the library may be newer, and not older, nor another build of the same version that lacks a function."""
    ours = lib.PTO_PYTHON_MAJOR, lib.PTO_PYTHON_MINOR, lib.PTO_PYTHON_PATCH
    theirs = tuple(int(number) for number in version.split("."))
    if theirs[0] != ours[0] or theirs < ours:
        return f"and libpto.so is {version}, which it cannot use: it takes {ours[0]}.*, from its own version on"
    try:
        for name in dir(lib):
            getattr(lib, name)
    except (AttributeError, ffi.error) as missing:
        return f"and of libraries of {version} something is missing: {missing}"
    return None


_why_not = _refusal()
if _why_not:
    raise ImportError(f"pto is of version {lib.PTO_PYTHON_MAJOR}.{lib.PTO_PYTHON_MINOR}.{lib.PTO_PYTHON_PATCH}, {_why_not}")


class Error(Exception):
    """A call was refused, or a run failed.  `status` is that of pto/status.h."""
    status = None


errors = types.SimpleNamespace()
_by_status = {}
for _name, _status in ((n, s) for n, s in ffi.typeof("enum pto_status").relements.items() if s):
    _meaning = ffi.string(lib.pto_strerror(_status)).decode()
    _class = type(_name[len("PTO_"):], (Error,), {"status": _status, "__doc__": _meaning, "__module__": __name__})
    setattr(errors, _class.__name__, _class)
    _by_status[_status] = _class


def text(chars):
    """A C string as str; None for NULL."""
    return None if chars == ffi.NULL else ffi.string(chars).decode(errors="replace")


def failure(status, sentence):
    """The exception for a status."""
    return _by_status.get(status, Error)(sentence or text(lib.pto_strerror(status)))


def explained(call, *arguments):
    """Calls a function that ends with (…, sentence, sentence_size); raises what it says."""
    sentence = ffi.new("char[]", SENTENCE_BYTES)
    status = call(*arguments, sentence, SENTENCE_BYTES)
    if status < 0:
        raise failure(status, text(sentence))


def chars(words):
    """A str as a C string that lives as long as the object."""
    return ffi.NULL if words is None else ffi.new("char[]", words.encode(errors="backslashreplace"))


def nearest(word, words):
    """The end of a sentence about a word that is none of these."""
    found = difflib.get_close_matches(str(word), list(words), 1)
    return f"; did you mean {found[0]!r}?" if found else ""


def chosen(what, word, table):
    """What a word stands for; ValueError where it is none of the table's."""
    if word not in table:
        raise ValueError(f"{what} is {word!r}, and none of {', '.join(map(repr, table))}")
    return table[word]


class Closable:
    """What has an object of C in `c` until close(), or until nothing refers to it; each use of it after that is errors.ESTALE.

    A subclass has _destroy(c), and _refuse_close(), which raises while the object is in use.  A process that is forked off has
    none: their threads are not there.
    """

    _gone = "it is closed"
    _living = weakref.WeakSet()

    def _own(self, c):
        self.c = c
        Closable._living.add(self)

    def _refuse_close(self):
        pass

    def close(self):
        """Ends it; nothing where that has happened.  errors.EINVAL or EDEADLOCK while it is in use."""
        if not self.is_closed:
            self._refuse_close()
            self._destroy(vars(self).pop("c"))

    def __del__(self, is_ending=sys.is_finalizing):
        if not is_ending() and not self.is_closed:
            self._destroy(vars(self).pop("c"))

    def __getattr__(self, name):
        if name == "c":
            raise errors.ESTALE(self._gone)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def is_closed(self):
        """Whether close() has ended it."""
        return "c" not in vars(self)


def _forked():
    for each in Closable._living:
        if not each.is_closed:
            del each.c
            each._gone = f"the {type(each).__name__.lower()} is of the process that this one was forked from"


os.register_at_fork(after_in_child=_forked)


def fields(made):
    """The fields of a struct, or of a pointer to one, as a dict without `size`: what stays when the struct goes."""
    kind = ffi.typeof(made)
    found = {name: getattr(made, name) for name, _ in (kind.item if kind.kind == "pointer" else kind).fields if name != "size"}
    return {name: tuple(value) if isinstance(value, ffi.CData) and ffi.typeof(value).kind == "array" else value
            for name, value in found.items()}


class _Interruptible:
    """Within it Ctrl-C ends runs, with PTO_EINTERRUPTED; KeyboardInterrupt is Python's own, which comes right after."""

    def __enter__(self):
        return lib.pto_tools_interrupts_begin()

    def __exit__(self, *_):
        lib.pto_tools_interrupts_end()


_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
interruptible = _Interruptible()
orchestrating = set()  # whose orchestration is called now: `thread` of each


def waited(call, *arguments):
    """Calls C that waits for orchestrations of Python on other threads: on a thread of its own, as Ctrl-C is for one that runs
    Python.  What it raises here is raised in the orchestrations too, which perhaps submit nothing, and ends them first."""
    if threading.current_thread() is not threading.main_thread():
        return call(*arguments)
    result, raised, done = [], None, threading.Event()  # not join(), which forgets the thread where it is interrupted

    def called():
        try:
            result.append(call(*arguments))
        finally:
            done.set()

    threading.Thread(target=called).start()
    told = set()
    while not done.is_set():
        try:
            done.wait(None if raised is None else 0.05)  # a rank may begin its own when another one's ends
        except BaseException as exception:
            raised = exception
        for each in set() if raised is None else orchestrating - told:
            told.add(each)
            _raise_in(ctypes.c_ulong(each.thread), ctypes.py_object(KeyboardInterrupt))
    if raised is not None:
        raise raised
    return result[0]


with interruptible as _stop:
    pass


_switches = {name[len("PTO_DEPS_SWITCH_"):].lower().replace("_", "-"): bit
             for name, bit in ffi.typeof("enum pto_deps_switch").relements.items()}
_off_in_pto = {"reduce-implied"}


def deps_rules(word):
    """The rules that words stand for, as of `--deps`: "exact", "pto", "pto,no-creator-edges"; a number of the C interface as it is.
    ValueError for other words."""
    if not isinstance(word, str):
        return word
    first, *rules = word.split(",")
    made = chosen("deps", first, {"exact": lib.PTO_DEPS_EXACT, "pto": lib.PTO_DEPS_PTO})
    if rules and made == lib.PTO_DEPS_EXACT:
        raise ValueError(f"deps is {word!r}: exact takes no rules")
    for rule in rules:
        is_on = not rule.startswith("no-")
        name = rule if is_on else rule[len("no-"):]
        bit = chosen("a rule of deps", name, _switches)
        made = made | bit if is_on == (name in _off_in_pto) else made & ~bit
    return made


@ffi.callback("void(void *, const char *)")
def _timed_out(_, sentence):
    print(f"pto: {text(sentence)}", file=sys.stderr, flush=True)
    os._exit(1)


def config(record=0, **settings):
    """A struct pto_config, and what it borrows.  Names are those of its fields; deps also "exact" and "pto".

    timeout_ms: a kernel that takes longer ends the process, with a sentence, as nothing else can end it.
    """
    made = ffi.new("struct pto_config *", {"size": ffi.sizeof("struct pto_config"), "record": record, "stop": _stop})
    kinds = {name: field.type for name, field in ffi.typeof("struct pto_config").fields}
    ours = {"size", "record", "stop", "on_timeout", "on_timeout_context", "meter", "context_watch", "values", "made_chip", "rank"}
    kept = []
    for name, value in settings.items():
        if name not in kinds:
            raise TypeError(f"there is no setting {name!r}: {', '.join(sorted(set(kinds) - ours))}")
        if value is None:
            continue
        if name == "deps":
            value = deps_rules(value)
        if isinstance(value, str):
            kept.append(chars(value))
            value = kept[-1]
        try:
            setattr(made, name, value)
        except (TypeError, OverflowError):
            raise TypeError(f"setting {name} is {settings[name]!r}, and not of {kinds[name].cname}") from None
    if made.timeout_ms:
        made.on_timeout = _timed_out
    return made, kept
