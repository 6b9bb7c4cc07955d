#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# ptosim built for aarch64 gives the same results as the one of this machine: each case of the regress list, run under qemu, has the
# same status, counts, virtual time, and digests of outputs and timeline.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build} cross=build-aarch64-plain
[ "$build" = build ] || { echo 'compared with the plain build'; exit 77; }
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
compiler=$(command -v aarch64-linux-gnu-gcc) && command -v qemu-aarch64 >/dev/null && [ -e /usr/lib/aarch64-linux-gnu/libjansson.so ] ||
  { echo 'no compiler or libraries for aarch64, or no qemu: scripts/deps --cross brings them'; exit 77; }
. tests/support/holds.sh

# CC may say ccache in front.
cc=${CC:-cc}
make CC="${cc%"${cc##* }"}$(basename "$compiler")" PLAIN=1 $cross/ptosim programs >"$work/built" 2>&1 || { tail "$work/built"; exit 1; }
holds 'it is a program for aarch64' bash -c "readelf -h $cross/ptosim | grep -q AArch64"

told() { # COMMAND…: what of a run's JSON does not depend on the machine.
  "$@" --quiet --json - 2>/dev/null | tail -n 1 |
    grep -oE '"(status|tasks|edges|virtual_us|output_digest|trace_digest|exact_outputs|verified|end_error|exit)":("[^"]*"|[^,}]*)'
}
equal() {
  local words
  read -ra words <<<"${1%%=>*}"
  [ "${words[0]}" = graph ] || words=(run "${words[@]}")
  told "$build/ptosim" "${words[@]}" >"$work/here"
  told qemu-aarch64 $cross/ptosim "${words[@]}" >"$work/there"
  [ -s "$work/here" ] && diff "$work/here" "$work/there"
}
while read -r line; do
  holds "the same: $line" equal "$line"
done < <(grep -v '^ *#' tests/regress/examples.list | grep .)

holds_total
