# SPDX-License-Identifier: MIT
"""The package against libraries of other versions, which are made here with a function or two."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import pto

BUILD = pathlib.Path(os.environ.get("PTO_BUILD_DIR", "build"))
MAJOR, MINOR, PATCH = (int(each) for each in pto.version.split("."))
STUB = """
const char *pto_version(void) { return "%s"; }
"""


def imported(folder, version):
    """What the import says with libraries of that version that have nothing else."""
    (folder / "python").mkdir()
    shutil.copy(BUILD / "python/_pto.py", folder / "python")
    (folder / "stub.c").write_text(STUB % version)
    for name in ("libpto", "libptotools"):
        subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / f"{name}.so.{MAJOR}", folder / "stub.c"], check=True)
    said = subprocess.run([sys.executable, "-c", "import pto.library"], capture_output=True, text=True, env={
        **os.environ, "PTO_BUILD_DIR": str(folder), "PYTHONPATH": f"python:{folder}/python", "LD_PRELOAD": ""})
    return said.stderr


@pytest.mark.parametrize("version", (f"{MAJOR}.{MINOR}.{PATCH - 1}" if PATCH else f"{MAJOR}.{MINOR - 1}.99", f"{MAJOR + 1}.0.0"))
def test_an_older_library_or_one_of_another_major_version_is_refused(tmp_path, version):
    assert f"pto is of version {pto.version}, and libpto.so is {version}, which it cannot use" in imported(tmp_path, version)


@pytest.mark.parametrize("version", (f"{MAJOR}.{MINOR}.{PATCH}", f"{MAJOR}.{MINOR}.{PATCH + 1}", f"{MAJOR}.{MINOR + 1}.0"))
def test_what_a_library_lacks_is_said_whatever_its_version(tmp_path, version):
    said = imported(tmp_path, version)
    assert f"of libraries of {version} something is missing: " in said and "pto_" in said.split("is missing: ")[1]
