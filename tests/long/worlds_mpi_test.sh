#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Random programs of several ranks (world/world_random_test.c) in two processes, under each mpirun that is there: 100 000 of them, two
# minutes of an idle machine, with MPICH 3000, or PTO_RANDOM_WORLDS.  The plug-in is built for the launcher, as no other MPI's works:
# MPICH's by mpicc.mpich.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
test=$build/tests/world/world_random_test
[ -x "$test" ] || { echo "there is no $test"; exit 77; }
case $build in *address* | *thread*) echo 'MPI is not instrumented'; exit 77 ;; esac
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# shellcheck source=tests/support/holds.sh
. tests/support/holds.sh

# under NAME COUNT LAUNCHER…: the test beside its plug-in, in two processes.
under() {
  local at=$work/$1
  export PTO_RANDOM_WORLDS=${asked:-$2}
  shift 2
  cp "$test" "$at/" && timeout 7000 "$@" -n 2 "$at/world_random_test" >"$at/text" 2>&1 && [ "$(grep -c 'one of 2 processes' "$at/text")" = 2 ] && return
  tail -20 "$at/text"
  return 1
}
tried=0 asked=${PTO_RANDOM_WORLDS:-}
if command -v mpirun >/dev/null && [ -e "$build/libpto_mpi.so" ]; then
  mkdir "$work/usual" && cp "$build/libpto_mpi.so" "$work/usual/"
  holds 'random programs in two processes' under usual 100000 mpirun --oversubscribe
  tried=1
fi
if command -v mpicc.mpich >/dev/null && command -v mpirun.mpich >/dev/null; then
  mkdir "$work/mpich"
  holds "MPICH's compiler builds the plug-in" make -s "MPI_CC=mpicc.mpich" "B=$work/mpich/build" "$work/mpich/build/libpto_mpi.so"
  cp "$work/mpich/build/libpto_mpi.so" "$work/mpich/"
  holds 'random programs in two processes of MPICH' under mpich 3000 mpirun.mpich
  tried=1
else
  echo 'without MPICH: there is no mpicc.mpich and mpirun.mpich (libmpich-dev, mpich)'
fi
[ $tried = 1 ] || { echo 'there is no MPI (scripts/deps --mpi)'; exit 77; }
holds_total
