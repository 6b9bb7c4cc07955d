# SPDX-License-Identifier: MIT
"""All one-chip scenes of a checkout of the existing runtime, on threads and in virtual time: `make adopt-test`.

    python3 -m pto.adopt_test PTOSIM CHECKOUT [PLATFORM…]

Prints a line a case that is not verified, with its reason, then a table; and compares task graphs with the counts of
$PTO_ADOPT_DATA/graphs.csv, which come from that runtime's own simulator at 8 clusters.  The last line counts.  Leaves
with 0 where at least 99 of 100 are verified and all graphs are equal.
"""

import csv
import json
import os
import pathlib
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
    compared, equal = compare_graphs(everything, expected)
    print(f"{'platform':11}  {'cases':>5}  {'built':>5}  {'run':>5}  {'verified':>8}  {'by luck':>7}  {'left out':>8}"
          f"  {'seconds':>8}")
    for platform, cases, left_out in table:
        print(f"{platform:11}  {len(cases):5}  {sum(c['built'] for c in cases):5}  {sum(c['run'] for c in cases):5}  "
              f"{sum(map(is_verified, cases)):8}  {sum(c['verdict'] == 'by luck' for c in cases):7}  {len(left_out):8}"
              f"  {sum(c.get('seconds', 0) for c in cases):8.0f}")
    verified = sum(map(is_verified, everything))
    if not expected:
        print("adopt-test: PTO_ADOPT_DATA names no folder with graphs.csv: no graph is compared")
    print(f"adopt: {len(everything)} cases, {sum(c['built'] for c in everything)} built, "
          f"{sum(c['run'] for c in everything)} run, {verified} verified, {equal} of {compared} graphs equal")
    return 0 if everything and 100 * verified >= 99 * len(everything) and equal == compared else 1


if __name__ == "__main__":
    sys.exit(main())
