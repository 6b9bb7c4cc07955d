# SPDX-License-Identifier: MIT
"""All one-chip scenes of a checkout of the existing runtime, on threads and in virtual time: `make adopt-test`.

    python3 -m pto.adopt_test PTOSIM CHECKOUT [PLATFORM…]

Prints a line a case that is not verified, with its reason, then a table; and compares task graphs with the counts of
$PTO_ADOPT_DATA/graphs.csv, which come from that runtime's own simulator at 8 clusters.  Where DUMPS is set it is a
folder of that runtime's own deps.json instead, and graphs are compared edge by edge: CLASS_CASE_DATE_TIME/deps.json as
in its outputs/, for both architectures, or below a folder a2a3 or a5 for one; of several the last by name counts.  The
last line counts.  Exit status 0 where at least 99 of 100 are verified and all graphs are equal.
"""

import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PLATFORMS = ("a2a3sim", "a5sim", "a2a3virtual", "a5virtual")
FOLDERS = ("examples", "tests/st")


def commit_of(folder):
    answer = subprocess.run(["git", "-C", folder, "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                            check=False)
    return answer.stdout.strip() or "no commit"


def run(ptosim, checkout, platform):
    cases = []
    for folder in FOLDERS:
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch) / "cases.json"
            code = subprocess.run([ptosim, "adopt", str(checkout / folder), "--platform", platform, "--quiet", "--json",
                                   str(path)], check=False).returncode
            if not path.is_file():
                sys.exit(f"adopt-test: {ptosim} adopt {folder} left with {code}")
            cases += json.loads(path.read_text(encoding="utf-8"))["cases"]
    return [case for case in cases if not case.get("left_out")], [case for case in cases if case.get("left_out")]


def is_verified(case):
    return case["verdict"] in ("verified", "by luck")


def expected_graphs():
    data = os.environ.get("PTO_ADOPT_DATA")
    path = pathlib.Path(data, "graphs.csv") if data else None
    if not path or not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {(row["scene_file"], row["class"], row["case"], row["chip"]): row for row in csv.DictReader(file)}


def compare_graphs(cases, expected):
    """How many are compared, and equal; prints the others."""
    compared = equal = 0
    for case in cases:
        row = expected.get((case["scene"], case["class"], case["case"], case["architecture"]))
        if not row or "tasks" not in case:
            continue
        compared += 1
        counts = (int(row["tasks"]), int(row["edges"]))
        if (case["tasks"], case["edges"]) == counts:
            equal += 1
            continue
        print(f"graph      {case['architecture']}  {case['name']}: {case['tasks']} tasks, {case['edges']} edges instead "
              f"of {counts[0]} and {counts[1]}")
    return compared, equal


def find_dumps(folder):
    """The deps.json of a case, by its label and architecture; None: of both."""
    dumps = {}
    for path in sorted(pathlib.Path(folder).rglob("deps.json")):
        label = re.sub(r"_\d{8}_\d{6}$", "", path.parent.name)
        above = path.relative_to(folder).parts
        dumps[label, next((name for name in ("a2a3", "a5") if name in above), None)] = path
    return dumps


def dump_of(case, dumps):
    label = re.sub(r"[^A-Za-z0-9._-]", "_", f"{case['class']}_{case['case']}")
    return dumps.get((label, case["architecture"])) or dumps.get((label, None))


def differences(ptosim, dump, manifest):
    """The edges that only the dump or only our program has, as sentences; the program runs once, in virtual time."""
    with tempfile.TemporaryDirectory() as scratch:
        capture, result = pathlib.Path(scratch, "capture.json"), pathlib.Path(scratch, "diff.json")
        steps = ([ptosim, "import", str(dump), "-o", str(capture)],
                 [ptosim, "diff", str(capture), manifest, "--quiet", "--json", str(result)])
        for step in steps:
            done = subprocess.run(step, capture_output=True, text=True, check=False)
            if done.returncode > 1:
                return [done.stderr.strip() or f"{step[1]} left with {done.returncode}"]
        return [finding["sentence"] for finding in json.loads(result.read_text(encoding="utf-8"))["findings"]]


def compare_dumps(ptosim, cases, dumps):
    """How many are compared and equal, each case of an architecture once; prints what differs."""
    seen, equal = set(), 0
    for case in cases:
        key = (case["scene"], case["class"], case["case"], case["architecture"])
        dump = dump_of(case, dumps)
        if not dump or key in seen or not case["built"]:
            continue
        seen.add(key)
        found = differences(ptosim, dump, case["manifest"])
        equal += not found
        for line in [f"graph      {case['architecture']}  {case['name']}: other edges than {dump}"] * bool(found):
            print(line, *(f"    {sentence}" for sentence in found[:4]), sep="\n")
    return len(seen), equal


def main():
    ptosim, checkout = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    isa = os.environ.get("PTO_ISA", "")
    print(f"adopt-test: {checkout.name} {commit_of(checkout)}, pto-isa {commit_of(isa)}")
    expected, everything, table = expected_graphs(), [], []
    for platform in sys.argv[3:] or PLATFORMS:
        cases, left_out = run(ptosim, checkout, platform)
        for case in cases:
            if case["verdict"] != "verified":
                said = [case.get("reason"), *(case.get("findings") or [])]
                print(f"{case['verdict']:9}  {platform:11}  {case['scene']} {case['name']}", flush=True)
                for line in filter(None, said[:4]):
                    print(f"    {line}", flush=True)
        table.append((platform, cases, left_out))
        everything += cases
    dumps = find_dumps(os.environ["DUMPS"]) if os.environ.get("DUMPS") else None
    compared, equal = compare_graphs(everything, expected) if dumps is None else compare_dumps(ptosim, everything, dumps)
    print(f"{'platform':11}  {'cases':>5}  {'built':>5}  {'run':>5}  {'verified':>8}  {'by luck':>7}  {'left out':>8}"
          f"  {'seconds':>8}")
    for platform, cases, left_out in table:
        print(f"{platform:11}  {len(cases):5}  {sum(c['built'] for c in cases):5}  {sum(c['run'] for c in cases):5}  "
              f"{sum(map(is_verified, cases)):8}  {sum(c['verdict'] == 'by luck' for c in cases):7}  {len(left_out):8}"
              f"  {sum(c.get('seconds', 0) for c in cases):8.0f}")
    verified = sum(map(is_verified, everything))
    if not expected and dumps is None:
        print("adopt-test: PTO_ADOPT_DATA names no folder with graphs.csv: no graph is compared")
    print(f"adopt: {len(everything)} cases, {sum(c['built'] for c in everything)} built, "
          f"{sum(c['run'] for c in everything)} run, {verified} verified, {equal} of {compared} graphs equal")
    return 0 if everything and 100 * verified >= 99 * len(everything) and equal == compared else 1


if __name__ == "__main__":
    sys.exit(main())
