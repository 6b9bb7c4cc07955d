#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# --sarif and --junit: the same list of findings as --json has, one result each, at the same places; and a testcase that is
# right, fails or has an error as the exit status says.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
ptosim=$build/ptosim
[ -x "$ptosim" ] || { echo "there is no $ptosim"; exit 77; }
command -v python3 >/dev/null || { echo 'no python3 to read SARIF and JUnit with'; exit 77; }
. tests/support/holds.sh

# agrees EXIT COMMAND…: its exit status, and that the three files agree.
agrees() {
  local want=$1
  shift
  leaves_with "$want" "$ptosim" "$@" --quiet --json "$work/o.json" --sarif "$work/o.sarif" --junit "$work/o.xml" || return 1
  python3 - "$work" "$want" <<'END'
import json, re, sys, xml.etree.ElementTree as xml
work, want = sys.argv[1], int(sys.argv[2])
report, sarif = json.load(open(work + "/o.json")), json.load(open(work + "/o.sarif"))
suite = xml.parse(work + "/o.xml").getroot()
assert sarif["version"] == "2.1.0" and len(sarif["runs"]) == 1
run = sarif["runs"][0]
rules = run["tool"]["driver"]["rules"]
findings = report.get("findings", [])
assert len(findings) == len(run["results"])
for finding, result in zip(findings, run["results"]):
    assert result["ruleId"] == finding["kind"] == rules[result["ruleIndex"]]["id"]
    assert result["message"]["text"] == finding["sentence"]
    assert (result["level"] == "note") == finding["note"]
    for key in "rule", "remedy": assert result["properties"].get(key) == finding[key]
    for key in "tasks", "params", "kernels", "arrays", "extents": assert result["properties"][key] == finding[key]
    assert result["properties"]["decided"] == finding["decided"]
    assert not finding["rule"] or f": rule {finding['rule']} (" in finding["sentence"]
    shown = [(p["physicalLocation"]["artifactLocation"]["uri"], p["physicalLocation"].get("region", {}).get("startLine"))
             for p in result["locations"] + result["relatedLocations"] if "physicalLocation" in p]
    known = [(p["file"], p["line"]) for place in finding["places"] if place for p in (place, place["callee"]) if p]
    assert sorted(shown) == sorted(known), (shown, known)
    for file, line in known:
        assert line is None or f"{file.split('/')[-1]}:{line}" in finding["sentence"]
    later = finding["places"][1] if finding["tasks"][1] is not None else finding["places"][0]
    if later: assert shown[0] == (later["file"], later["line"])
    names = [n["name"] for p in result["locations"] + result["relatedLocations"] for n in p.get("logicalLocations", [])]
    for side in 0, 1:
        if finding["tasks"][side] is None or not later: continue
        assert f"task {finding['tasks'][side]}" in names and finding["kernels"][side] in names, names
        function = finding["places"][side]["function"]
        assert function is None or function in names
    assert result["locations"][0]["logicalLocations"]
assert run["invocations"][0]["executionSuccessful"] == (want < 2)
cases = suite.findall("testcase")
tags = [child.tag for case in cases for child in case]
assert len(cases) == 1 == int(suite.get("tests"))
assert tags == {0: [], 1: ["failure"]}.get(want, ["error"]), tags
if want == 1: assert findings[0]["sentence"] in cases[0][0].get("message") + cases[0][0].text
END
}
holds 'a clean program' agrees 0 check bgemm
holds 'conflicting accesses' agrees 1 check inplace_update --deps pto
holds 'a rule that looks away' agrees 1 check "$build/planted/planted_pto.so" --case other_base --deps pto
has_rule() { grep -q '"rule":"base-address"' "$work/o.json"; }
holds 'which the finding names' has_rule
holds 'a run that failed' agrees 3 check errors/kernel
holds 'accesses that are watched' agrees 0 check vector_example --observe
has_lines() { grep -q '"file":"orchestration/basics/inplace_update.c","function":"orchestrate","line":[0-9]' "$work/o.json"; }
holds 'orders that differ' agrees 1 explore inplace_update --deps pto --schedules 20
"$ptosim" --version | grep -q libdw && holds 'places have the path from the root of the tree' has_lines
holds 'orders that do not' agrees 0 explore war_reuse --case short --schedules 20
"$ptosim" run bgemm --deps-json "$work/a.json" --quiet
"$ptosim" run bgemm --case 32x64x4 --deps-json "$work/b.json" --quiet
holds 'graphs that differ' agrees 1 diff "$work/a.json" "$work/b.json"
"$ptosim" run vector_example --dump 1 "$work/kept" --quiet
holds 'a task that is run again' agrees 0 task "$work/kept/1"

has_refusal() { # of a run: where the submit was that it went on without
  leaves_with 1 "$ptosim" run "$build/planted/planted_names.so" --set mistake=refused --quiet --sarif "$work/o.sarif" --junit "$work/o.xml" &&
    python3 - "$work" "$(grep -n 'HERE: refused' tests/planted/planted_names.c | cut -d: -f1)" <<'END'
import json, sys
result, = json.load(open(sys.argv[1] + "/o.sarif"))["runs"][0]["results"]
assert result["ruleId"] == "refused" and "wrong type" in result["message"]["text"] + open(sys.argv[1] + "/o.xml").read()
region = result["locations"][0]["physicalLocation"].get("region")
assert region is None or region["startLine"] == int(sys.argv[2]), region
END
}
holds 'a run has the submit that was refused' has_refusal

case_of() { "$ptosim" "${@:2}" --junit "$work/o.xml" >/dev/null 2>&1; grep -c "<$1" "$work/o.xml" | grep -qx "${count:-1}"; }
holds 'run has a testcase' case_of testcase run vector_example
holds 'a run that fails has an error' case_of error run errors/kernel
holds 'op has a testcase' case_of 'testcase classname="exp"' op test exp
holds 'predict has a testcase' case_of 'testcase classname="vector_example" name="predict vector_example" time="0.000"/>' predict vector_example --runs 2
holds 'a prediction of a run that fails has an error' case_of error predict errors/user --runs 2
changes() { case_of 'failure type="wrong" message="B takes .* us less' compare "vector_example --engine virtual --chip a2a3" "vector_example --engine virtual --chip a2a3,submit=1"; }
holds 'compare has a failure where something changed' changes
count=4 holds 'suite has one a row' case_of testcase suite vector_example errors/kernel war_reuse --engine virtual

refused() { leaves_with 2 "$@" && [ ! -s "$work/none" ]; }
holds 'a verb that finds nothing has no --sarif' refused "$ptosim" perf vector_example --sarif "$work/none"
why_not() { leaves_with 2 "$ptosim" "${@:2}" && [[ $("$ptosim" "${@:2}" 2>&1) = *"$1" ]]; }
holds 'which the refusal says' why_not 'does not take --sarif: it finds nothing that has a place in a source file' compare a b --sarif x
holds 'a verb that judges nothing says so' why_not 'does not take --junit: it judges nothing' what-if bgemm --junit x
holds 'a file that cannot be written is refused first' refused "$ptosim" check bgemm --sarif /nonexistent/x --json "$work/none"
alone() { "$ptosim" check bgemm --sarif - 2>/dev/null | python3 -c 'import json, sys; json.load(sys.stdin)'; }
holds 'on standard output it stands alone' alone


# Each verb has --json, --junit and --sarif, but for these.
lacks_of() {
  case $1 in
    list | calibrate) echo json junit sarif ;;                             # text to read; a chip file
    why | perf | import | what-if) echo junit sarif ;;                               # tell, and judge nothing
    op | suite | predict | validate | adopt | compare | regress) echo sarif ;; # judge runs: nothing found has a place
  esac
}
has_all_but() {
  local verb=$1 option lacks
  lacks=" $(lacks_of "$verb") "
  "$ptosim" "$verb" --help >"$work/help" || return 1
  for option in json junit sarif; do
    case $lacks in
      *" $option "*) ! grep -q "^ *--$option FILE" "$work/help" ;;
      *) grep -q "^ *--$option FILE" "$work/help" ;;
    esac || { echo "--$option"; return 1; }
  done
}
verbs=$("$ptosim" --help | sed -n 's/^  ptosim \([a-z-]*\) .*/\1/p')
holds 'there are verbs' test "$(wc -w <<<"$verbs")" -ge 19
for verb in $verbs; do holds "$verb writes for other tools" has_all_but "$verb"; done

# A name that ends with .gz: the same bytes, compressed; a build without zlib says so, and leaves nothing.
"$ptosim" run bgemm --engine virtual --quiet --trace "$work/t.json" --dot "$work/t.dot"
same() { zcat "$1.gz" | cmp - "$1"; }
if "$ptosim" --version | grep -q zlib; then
  holds 'compressed files are written' "$ptosim" run bgemm --engine virtual --quiet --trace "$work/t.json.gz" --dot "$work/t.dot.gz"
  holds 'the trace is the same' same "$work/t.json"
  holds 'the picture is the same' same "$work/t.dot"
  holds 'and smaller' test "$(stat -c %s "$work/t.json.gz")" -lt $(($(stat -c %s "$work/t.json") / 4))
else
  refuses() { leaves_with 2 "$ptosim" run bgemm --trace "$work/t.json.gz" && grep -q 'no zlib' "$work/out" && [ ! -e "$work/t.json.gz" ]; }
  holds 'compressed files are refused' refuses
fi
holds_total
