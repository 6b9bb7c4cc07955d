#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Every model at its full size on the a2a3: each node is what the reference makes of the operands that the chip had, on threads and
# in virtual time, and both engines give the same bytes.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
. tests/support/holds.sh

# Keeps the run's JSON; exit status 0 where no element of any node is beyond tolerance.
is_the_reference() { # MODEL ENGINE
  "$build/ptosim" graph --model "$1" --run --compare reference --engine "$2" --chip a2a3 --json "$work/$1.$2" --quiet &&
    grep -q '"diverging_elements":0,' "$work/$1.$2"
}
digest_of() { grep -o '"output_digest":"[0-9a-f]*"' "$work/$1.$2"; }
are_the_same() { # MODEL
  [ -n "$(digest_of "$1" threads)" ] && [ "$(digest_of "$1" threads)" = "$(digest_of "$1" virtual)" ]
}

models=$("$build/ptosim" list models | awk '/^[a-z]/ { print $1 }')
there_are_models() { [ -n "$models" ]; }
holds 'there are models' there_are_models
for model in $models; do
  holds "$model on threads is the reference" is_the_reference "$model" threads
  holds "$model in virtual time is the reference" is_the_reference "$model" virtual
  holds "$model gives the same bytes on both" are_the_same "$model"
done
holds_total
