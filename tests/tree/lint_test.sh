#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Every rule of `make lint` sees the violation that it is there for.
exec "$(dirname "$0")/../../scripts/lint_self_test"
