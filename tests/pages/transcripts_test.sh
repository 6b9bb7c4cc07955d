#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What pages show of a command ("$ build/ptosim …", and lines behind it) is what it prints today, in this order, times in virtual
# time too.  A page leaves wall times out, and the ends of long lines, with "…".  Commands of which nothing is shown are not run, nor
# those that need a file from outside.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(realpath "${PTO_BUILD_DIR:-build}")
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
command -v python3 >/dev/null || { echo 'no python3 to read pages with'; exit 77; }
# Without debug information there are no lines to show, and compilers differ in which of its lines a call in several is.
about=$("$build/ptosim" --version)
[[ $about == *libdw* ]] || { echo 'no libdw, which places in a source are from'; exit 77; }
[[ $about == *"compiler   gcc "* ]] || { echo 'pages show lines as gcc gives them'; exit 77; }
. tests/support/holds.sh

pages='cli-check cli-graph finding-bugs exploring-orders parameters several-chips lowering training one-task waiting-cores'
for page in $pages; do cp "docs/$page.md" "$work"; done
ln -s "$build" "$work/build"
cd "$work" || exit 1
cat >judge.py <<'END'
import re, subprocess, sys

def transcripts(text):
    for block in re.findall(r"^```\n(.*?)^```$", text, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *shown = part.rstrip("\n").split("\n")
            if command.startswith("build/ptosim ") and "file=" not in command and any(shown): yield command, shown

count = 0
for command, shown in transcripts(open(sys.argv[1]).read()):
    run = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    count += 1
    if "not compared" in run.stdout: continue  # a sanitizer watches memory in the place of --observe
    printed, at = [line.rstrip() for line in run.stdout.split("\n")], 0
    for line in filter(None, map(str.rstrip, shown)):
        if line == "…": continue
        fits = line[:-1].rstrip() if line.endswith("…") else None
        found = [i for i in range(at, len(printed)) if printed[i] == line or fits and printed[i].startswith(fits)]
        if not found: sys.exit(f"{command}\nprints no\n{line}\nbut\n{run.stdout}")
        at = found[0] + 1
sys.exit(0 if count else "nothing is shown there")
END
for page in $pages; do holds "what docs/$page.md shows is printed" python3 judge.py "$page.md"; done
holds_total
