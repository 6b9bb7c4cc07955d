#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `make deb` makes packages of which lintian says nothing, and which work where nothing else is: they are installed in a clean
# root, and what docs/examples/ci does in an image of its own for a repository with programs is done there.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ "$build" = build ] || { echo 'packages are made of the plain build'; exit 77; }
for command in dh lintian fakeroot dpkg-buildpackage; do
  command -v $command >/dev/null || { echo "$command is not installed: scripts/deps --deb brings it"; exit 77; }
done
. tests/support/holds.sh
. tests/support/clean_root.sh
root=$work/root example=docs/examples/ci

holds 'make deb makes packages, and lintian is content' make deb
version=$(sed -n 's/.*PTO_VERSION "\(.*\)"/\1/p' include/pto/version.h)
mkdir "$work/packages" && cp "$build"/deb/*.deb "$work/packages"
holds 'there are three' bash -c '[ $# = 3 ]' - "$work"/packages/*.deb
for package in libpto0 libpto-dev ptosim; do
  [ "$(dpkg-deb -f "$work/packages/${package}_${version}"_*.deb Maintainer)" = "$(git log -1 --format='%an <%ae>')" ]
  holds "the maintainer of $package is the author of the last commit" test $? = 0
done
clean_root_is_possible || { holds_total; exit; }

# Their dependencies, and what the Dockerfile installs besides.
mapfile -t needed < <(for deb in "$work"/packages/*.deb; do dpkg-deb -f "$deb" Depends; done | tr , '\n' | sed 's/^ *//; s/ .*//' |
  grep -v '^libpto' | sort -u)
read -ra of_image < <(sed -n 's/.*--no-install-recommends \(.*\) \/packages.*/\1/p' $example/Dockerfile)
clean_root "$root" "${needed[@]}" "${of_image[@]}"
cp -r "$work/packages" "$root/packages"
holds 'the root is clean' bash -c "! test -e '$root/usr/bin/ptosim' && ! test -e '$root/usr/include/jansson.h'"
holds 'dpkg installs them there' in_root "$root" sh -c 'dpkg -i /packages/*.deb'
holds 'and says that they are installed' in_root "$root" dpkg --verify libpto0 libpto-dev ptosim

holds 'ptosim runs a program' in_root "$root" ptosim run bgemm --engine virtual --chip a2a3 --quiet
holds 'and a chip file that is installed' in_root "$root" ptosim run bgemm --engine virtual --chip /usr/share/pto/chips/a2a3.ini --quiet
holds 'help names a page that is there' in_root "$root" sh -c 'test -e "$(ptosim --help | sed -n "s/ has every verb.*//p")"'
holds 'man pages are there' test -e "$root/usr/share/man/man1/ptosim-run.1.gz"

# The steps of the workflow, in a repository with one program.
mkdir -p "$root/repository/programs"
cp orchestration/basics/vector_example.c "$root/repository/programs/mine.c"
printf '%s\n' './programs/mine.so --engine virtual' >"$root/repository/cases.list"
sed -n 's/^ *- run: //p' $example/workflow.yml >"$work/steps"
holds 'the workflow has steps' test "$(wc -l <"$work/steps")" = 3
while read -r step; do
  holds "step: $step" in_root "$root" sh -c "cd /repository && $step"
done <"$work/steps"
holds 'its results are JUnit' grep -q '<testcase classname="./programs/mine.so"' "$root/repository/results.xml"
holds 'dpkg takes them away again' in_root "$root" dpkg -P ptosim libpto-dev libpto0
holds 'and nothing of them is left' bash -c "! find '$root/usr' -path '*/pto*' -o -path '*/libpto*' | grep ."

holds_total
