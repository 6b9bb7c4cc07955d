# SPDX-License-Identifier: MIT
"""What the package pto knows of the C interface: the headers of include/pto, as cffi reads them.

Nothing is restated.  The C preprocessor takes the headers together, this module drops what only a compiler needs, and cffi
writes the module _pto, which the package imports: `python3 python/pto_declarations.py FOLDER` (make does), or setup.py.
At run time there is neither a compiler nor a parser.  tests/python/python_test.sh has the same text compiled against
the headers.

`pto_python_constants` holds what the headers have as macros alone.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import cffi

ROOT = pathlib.Path(__file__).resolve().parents[1]
INCLUDES = "#include <pto/pto.h>\n#include <pto/graph.h>\n#include <pto/tools.h>\n#include <pto/collectives.h>\n" \
    "#include <pto/operation.h>\n#include <pto/remote.h>\n"
CONSTANTS = """enum pto_python_constants {
  PTO_PYTHON_ABI = PTO_PROGRAM_ABI,
  PTO_PYTHON_MAJOR = PTO_VERSION_MAJOR,
  PTO_PYTHON_MINOR = PTO_VERSION_MINOR,
  PTO_PYTHON_PATCH = PTO_VERSION_PATCH,
  PTO_PYTHON_MAX_PARAMS = PTO_MAX_PARAMS,
  PTO_PYTHON_MAX_DIMS = PTO_MAX_DIMS,
  PTO_PYTHON_KEY_BYTES = PTO_KERNEL_KEY_SIZE
};
"""


def declarations(include=ROOT / "include"):
    """The text of the headers in `include` without comments, attributes, inline functions and the system's own."""
    with tempfile.TemporaryDirectory() as system:
        for name in ("stdbool.h", "stddef.h", "stdint.h", "stdio.h"):
            (pathlib.Path(system) / name).touch()
        command = [*os.environ.get("CC", "cc").split(), "-E", "-P", "-nostdinc", "-I", system, "-I", str(include), "-x", "c", "-"]
        text = subprocess.run(command, input=INCLUDES + CONSTANTS, capture_output=True, text=True, check=True).stdout
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", text)
    text = re.sub(r"^static inline .*?(?:\{[^\n]*\}$|^\}$)", "", text, flags=re.M | re.S)
    return re.sub(r"^extern [^{]*?;$", "", text, flags=re.M)  # what a program file shows, and no library


def builder(module="_pto", source=None):
    """cffi's builder of the module: of ABI mode, or of API mode where there is C source to compile it with."""
    ffi = cffi.FFI()
    ffi.cdef(declarations())
    if source is None:
        ffi.set_source(module, None)
    else:
        ffi.set_source(module, source, include_dirs=[str(ROOT / "include")], libraries=["ptotools", "pto"])
    return ffi


if __name__ == "__main__":
    builder().emit_python_code(str(pathlib.Path(sys.argv[1]) / "_pto.py"))
