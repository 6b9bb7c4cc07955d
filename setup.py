# SPDX-License-Identifier: MIT
"""The Python package, for pip: `pip install --no-build-isolation --no-deps .`, with python3-cffi, a compiler, and the libraries
where the loader finds them (make install)."""

import pathlib
import re

from setuptools import setup

BUILD = pathlib.Path(__file__).parent / "build"  # what is made on the way lies there, and not among the sources
BUILD.mkdir(exist_ok=True)
VERSION = re.search(r'#define PTO_VERSION "(.*)"', (pathlib.Path(__file__).parent / "include/pto/version.h").read_text())[1]
setup(name="pto", version=VERSION, description="The PTO task runtime and its simulated chip", license="MIT",
      packages=["pto"], package_dir={"": "python"}, cffi_modules=["python/pto_declarations.py:builder"],
      install_requires=["cffi", "numpy"], options={"egg_info": {"egg_base": "build"}})
