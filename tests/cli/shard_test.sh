#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# --shard and `ptosim merge`: what shards found and merge tells is what one run tells, in text, JSON, JUnit, SARIF and pages, but for
# wall times; lines that do not make one run are refused; what launchers say is taken, and said.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
ptosim=$(realpath "$build/ptosim")
[ -x "$ptosim" ] || { echo "there is no $ptosim"; exit 77; }
. tests/support/holds.sh
unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMI_RANK PMI_SIZE SLURM_PROCID SLURM_NTASKS SLURM_ARRAY_TASK_ID SLURM_ARRAY_TASK_COUNT

# Wall times: seconds of JSON and JUnit, and the column "time" of suite.
timeless() {
  sed -E 's/"(seconds|wall_seconds)": ?[0-9.e-]+/"\1":0/g; s/ time="[0-9.]+"/ time=""/g; s/ +[0-9.]+ (us|ms|s)( +(-|[0-9.]+ us) )/ T\2/' "$1"
}
same() { cmp <(timeless "$1") <(timeless "$2"); }

# make_shards N VERB…: lines of all shards in $work/shard.I; each has to come to its end.
make_shards() {
  local count=$1 i
  shift
  rm -f "$work"/shard.*
  for i in $(seq "$count"); do "$ptosim" "$@" --shard "$i/$count" --json "$work/shard.$i" || return 1; done
}
# as_one EXIT "SHARDS" "WRITES" VERB…: one run and merges end with EXIT, and tell and write the same.
as_one() {
  local want=$1 counts=$2 writes=$3 count write one=() merged=()
  shift 3
  # A page ends in .html; the others may.
  for write in $writes; do one+=("--$write" "$work/one.$write.html") merged+=("--$write" "$work/merged.$write.html"); done
  "$ptosim" "$@" "${one[@]}" >"$work/one" 2>"$work/one.err"
  [ $? = "$want" ] || { cat "$work/one" "$work/one.err"; return 1; }
  for count in $counts; do
    make_shards "$count" "$@" || return 1
    "$ptosim" merge "$work"/shard.* "${merged[@]}" >"$work/merged" 2>"$work/merged.err"
    [ $? = "$want" ] || { cat "$work/merged" "$work/merged.err"; return 1; }
    for write in '' .err ${writes:+$(printf '.%s.html ' $writes)}; do same "$work/one$write" "$work/merged$write" || return 1; done
  done
}

holds 'orders that differ' as_one 1 '1 3 7' 'json junit sarif save report' explore war_reuse --case short --deps pto --schedules 25
holds 'orders that do not' as_one 0 3 json explore vector_example --schedules 5
holds 'fewer orders than shards' as_one 0 7 json explore vector_example --schedules 2 --seed 5
holds 'threads with delays' as_one 0 3 json explore vector_example --schedules 5 --engine threads
late=("$build/planted/planted_windows.so" --case late_zeroing --set bug=1)
[ -f "${late[0]}" ] || { echo "there is no ${late[0]}"; exit 77; }
holds 'ranks of which late ones differ' as_one 1 '1 3 7' 'json junit sarif report' explore "${late[@]}" --schedules 9
holds 'ranks of which none do' as_one 0 3 json explore all_reduce --ranks 4 --schedules 7
cat >"$work/cases.list" <<'END'
vector_example --engine virtual --chip a2a3
bgemm --engine virtual
errors/heap => PTO_EHEAP
inplace_update --deps pto --engine virtual
barriers --engine virtual
errors/user
vector_example --engine virtual
END
holds 'cases without a baseline' as_one 1 '1 3 7' 'json junit report' regress "$work/cases.list" --jobs 2
"$ptosim" regress "$work/cases.list" --update --quiet >/dev/null 2>&1
mv "$work/cases.list.baseline" "$work/base.one"
make_shards 3 regress "$work/cases.list" --update
"$ptosim" merge "$work"/shard.* --quiet >/dev/null 2>&1
holds 'a baseline that merge writes' cmp "$work/base.one" "$work/cases.list.baseline"
sed -i -E '/bgemm/ s/"virtual_ps": [0-9]+/"virtual_ps": 1500000/; /barriers/d' "$work/cases.list.baseline"
holds 'cases of which one is new and one has changed' as_one 1 '1 3 7' 'json junit' regress "$work/cases.list"
holds 'some of the cases' as_one 1 3 json regress "$work/cases.list" --filter 'bgemm|heap'
holds 'rows' as_one 0 '1 3 7' 'json junit' suite vector_example errors/heap spmd_sync_start --engine virtual
holds 'rows of which some are wrong' as_one 1 3 'json junit' suite inplace_update vector_example --engine virtual --deps pto --policy lifo
holds 'numbers of a chip' as_one 0 '1 3 7' 'json report' what-if vector_example --chip tiny --jobs 2
holds 'a program that cannot run there has no shards' leaves_with 2 "$ptosim" what-if no_such --shard 1/2

conformance=$build/tests/tests/conformance/conformance_test
if [ -x "$conformance" ]; then
  "$conformance" tests/conformance/cases >"$work/one"
  for i in 1 2 3; do "$conformance" tests/conformance/cases --shard $i/3 >"$work/cases.$i"; done
  "$ptosim" merge "$work"/cases.[123] >"$work/merged"
  holds 'conformance cases' cmp "$work/one" "$work/merged"
fi

# ---- lines that do not make one run ----
refuses() { # SENTENCE COMMAND…
  local sentence=$1
  shift
  leaves_with 2 "$@" && grep -qF -- "$sentence" "$work/out"
}
make_shards 3 explore war_reuse --case short --schedules 10
holds 'a shard that is missing' refuses 'item 1 of 10 is missing: no file has shard 2/3' "$ptosim" merge "$work"/shard.[13]
holds 'a shard that is there twice' refuses 'shard 1/3 is there twice' "$ptosim" merge "$work"/shard.[123] "$work/shard.1"
head -n 3 "$work/shard.2" >"$work/short"
holds 'a shard that was ended' refuses 'item 7 of 10 is missing: shard 2/3' "$ptosim" merge "$work"/shard.[13] "$work/short"
sed -n '2p' "$work/shard.2" | cat "$work/shard.2" - >"$work/twice"
holds 'an item that has two lines' refuses 'item 1 is there twice' "$ptosim" merge "$work"/shard.[13] "$work/twice"
"$ptosim" explore vector_example --schedules 10 --shard 2/3 --json "$work/other"
holds 'a shard of another program' refuses 'of ptosim explore vector_example' "$ptosim" merge "$work"/shard.[13] "$work/other"
sed 's/"build":"[^"]*"/"build":"0.0.9 1234"/' "$work/shard.2" >"$work/other"
holds 'a shard of another version' refuses 'of build "0.0.9 1234", and' "$ptosim" merge "$work"/shard.[13] "$work/other"
sed -i 's/"build":"[^"]*"/"build":"0.0.9 1234"/' "$work"/shard.?
holds 'all shards of another version' refuses 'of ptosim 0.0.9 1234, and this is' "$ptosim" merge "$work"/shard.?
make_shards 2 regress "$work/cases.list"
echo vector_example >>"$work/cases.list"
holds 'a list that has changed since' refuses 'of a list of 7 items, and now it has 8' "$ptosim" merge "$work"/shard.?
sed -i '1s/$/ --seed 2/; $d' "$work/cases.list"
holds 'a case that has changed since' refuses 'what is run has changed since' "$ptosim" merge "$work"/shard.?
sed -i '1s/ --seed 2$//' "$work/cases.list"
for i in 1 2; do sed 's/"command":\["regress",/"command":["run",/' "$work/shard.$i" >"$work/other.$i"; done
holds 'a verb without shards' refuses '"run" is no verb that has shards' "$ptosim" merge "$work"/other.?
for i in 1 2; do sed 's/"result":{.*/"result":{}}/' "$work/shard.$i" >"$work/other.$i"; done
holds 'lines without results' leaves_with 3 "$ptosim" merge "$work"/other.?
make_shards 2 explore vector_example --schedules 4
holds 'what was run cannot be changed' refuses '"--deps=pto" is no option that says where results go' "$ptosim" merge "$work"/shard.? --deps pto
holds 'merge has no shards' refuses 'merge: --shard' "$ptosim" merge "$work"/shard.? --shard 1/2
holds 'merge without files' refuses 'which lines' "$ptosim" merge --json x
holds 'a file that is not there' refuses 'No such file' "$ptosim" merge "$work/none"

# ---- options ----
for bad in 0/2 3/2 2 x/y 1/0; do holds "$bad is no share" refuses "\"$bad\" is no I/N" "$ptosim" explore vector_example --shard $bad; done
for writes in report sarif junit save; do
  holds "a shard has no --$writes" refuses "--$writes is for \`ptosim merge\`" "$ptosim" explore vector_example --shard 1/2 --$writes "$work/x"
done
holds 'all orders have no shards' refuses '--all has no shards' "$ptosim" explore vector_example --shard 1/2 --all
holds 'one schedule has none' refuses '--replay has no shards' "$ptosim" explore vector_example --shard 1/2 --replay newest
has_shards() { "$ptosim" "$1" --help | grep -q '^  --shard I/N'; }
has_none() { ! has_shards "$1"; }
for verb in $("$ptosim" --help | sed -n 's/^  ptosim \([a-z-]*\) .*/\1/p'); do
  case $verb in
    explore | regress | suite | what-if) holds "$verb has --shard" has_shards "$verb" ;;
    *) holds "$verb has no --shard" has_none "$verb" ;;
  esac
done

# ---- launchers ----
said() { # SHARD VARIABLE…: said in the first line, and taken
  local shard=$1
  shift
  env "$@" "$ptosim" explore vector_example --schedules 6 >"$work/out" 2>"$work/err" || return 1
  cat "$work/err"
  head -n 1 "$work/err" | grep -q "shard $shard, as ${1%%=*} says: [123] of 6 items" && head -n 1 "$work/out" | grep -q "\"from\":\"${1%%=*}\""
}
holds 'OpenMPI' said 2/3 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3
holds 'PMI' said 1/2 PMI_RANK=0 PMI_SIZE=2
holds 'Slurm' said 4/4 SLURM_PROCID=3 SLURM_NTASKS=4
holds 'an array of Slurm' said 3/3 SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=5
holds 'variables that are none' refuses 'OMPI_COMM_WORLD_RANK=5 and OMPI_COMM_WORLD_SIZE=3' \
  env OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=3 "$ptosim" explore vector_example
alone() { env "$@" 2>&1 | grep -q '^vector_example, rules exact: .* 0 differ'; }
holds 'one process of one is no shard' alone SLURM_PROCID=0 SLURM_NTASKS=1 "$ptosim" explore vector_example --schedules 3
of_rank() { OMPI_COMM_WORLD_RANK=$1 OMPI_COMM_WORLD_SIZE=3 "$ptosim" explore war_reuse --case short --deps pto --schedules 25 2>/dev/null; }
{ of_rank 0 & of_rank 1 & of_rank 2 & wait; } | cat >"$work/mixed"
"$ptosim" explore war_reuse --case short --deps pto --schedules 25 >"$work/one"
"$ptosim" merge "$work/mixed" >"$work/merged"
holds 'lines of all ranks in one file' cmp "$work/one" "$work/merged"

holds_total
