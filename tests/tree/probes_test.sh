#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The static probes stand in the notes of the library and of ptosim, where tracers look for them, each with its arguments
# (runtime/base/probe.h).  Skips in builds without sys/sdt.h.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -f "$build/libpto.so" ] || { echo "there is no $build/libpto.so"; exit 77; }
command -v readelf >/dev/null || { echo "readelf is not installed"; exit 77; }
grep -q 'PTO_HAVE_SDT=1' "$build/config.mk" || { echo "$build was made without sys/sdt.h"; exit 77; }
# shellcheck source=tests/support/holds.sh
. tests/support/holds.sh

# The notes as lines "provider name arguments".
notes() {
  readelf -nW "$1" | awk '/Provider: / { provider = $NF } $1 == "Name:" { name = $2 }
    $1 == "Arguments:" { sub(/^ *Arguments: */, ""); print provider, name, $0 }'
}
has_probe() { # FILE NAME ARGUMENT-COUNT
  notes "$1" | awk -v name="$2" -v count="$3" '$1 == "pto" && $2 == name { seen = 1; if (gsub(/@/, "@") != count) wrong = 1 }
    END { exit !(seen && !wrong) }'
}
# As the comment of the header has them: a line "name  arguments with commas between them".
listed() { sed -nE 's/^ \*   ([a-z_]+) +(.*)$/\1 \2/p' runtime/base/probe.h; }
for file in libpto.so ptosim; do
  while read -r name arguments; do
    commas=${arguments//[^,]/}
    holds "$file has the probe $name" has_probe "$build/$file" "$name" $((${#commas} + 1))
  done < <(listed)
  has_no_other() { [ -z "$(notes "$build/$file" | awk '$1 == "pto" { print $2 }' | sort -u | grep -vxF "$(listed | cut -d' ' -f1)")" ]; }
  holds "$file has no probe that the header does not name" has_no_other
done
lists_eight() { [ "$(listed | wc -l)" = 8 ]; }
holds 'the header names eight probes' lists_eight
holds_total
