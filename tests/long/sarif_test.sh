#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The validator of SARIF's own makers has no error to tell of --sarif.  It is fetched by npm, and skipped where that cannot be.
set -u
cd "$(dirname "$0")/../.." || exit 1
ptosim=${PTO_BUILD_DIR:-build}/ptosim
[ -x "$ptosim" ] || { echo "there is no $ptosim"; exit 77; }
. tests/support/holds.sh
validator=$work/node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool
command -v npm >/dev/null && timeout 300 npm install --silent --prefix "$work" @microsoft/sarif-multitool >/dev/null 2>&1
chmod u+x "$validator" 2>/dev/null && "$validator" --version >/dev/null 2>&1 || { echo 'npm brought no sarif-multitool that runs'; exit 77; }

valid() {
  "$ptosim" "$@" --quiet --sarif "$work/o.sarif" >/dev/null 2>&1
  "$validator" validate "$work/o.sarif" --level Error >"$work/said" 2>&1
  cat "$work/said"
  grep -q 'completed successfully' "$work/said" && ! grep -q ': error ' "$work/said"
}
holds 'a clean program' valid check bgemm
holds 'conflicting accesses' valid check inplace_update --deps pto
holds 'a run that failed' valid check errors/kernel
holds 'a submit that was refused' valid run "${PTO_BUILD_DIR:-build}/planted/planted_names.so" --set mistake=refused
holds 'orders that differ' valid explore inplace_update --deps pto --schedules 20
cp "$work/o.sarif" "$work/broken.sarif" && sed -i 's/"ruleIndex":[0-9]*/"ruleIndex":99/' "$work/broken.sarif"
holds 'and it would see a mistake' bash -c "'$validator' validate '$work/broken.sarif' --level Error | grep -q ': error '"

holds_total
