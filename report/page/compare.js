/* SPDX-License-Identifier: MIT */
/* `ptosim compare`: two runs under each other, and what of them changed, the largest change first; or two baselines. */

/* A time of a row: exact in virtual time, else the median of the repeats. */
const medianOf = time => typeof time === "number" ? time : time.median_us;
const medianText = time => timeText(medianOf(time));
const changeText = value => `${value < 0 ? "−" : "+"}${timeText(Math.abs(value))}`;

/* Above the swimlane of a side. */
function laneName(side) {
  const {a, b, comparison} = documentOf("compare"), many = comparison ? comparison.runs.map(run => run.count) : [1, 1];
  return `${side.toUpperCase()}: ${side === "a" ? a : b}${many["ab".indexOf(side)] > 1 ? ", the first run" : ""}`;
}

PARTS.push({
  id: "compare",
  title: "What changed",
  name: d => `A: ${d.a}; B: ${d.b}`,
  verdict: d => d.error || (d.comparison ? d.comparison.verdict
    : `${d.baselines.changed.length} cases changed, ${d.baselines.same} are the same`),
  draw(element, d) {
    const box = d3.select(element);
    if (d.baselines) drawChangedCases(box, d.baselines.changed);
    if (!d.comparison) return;
    if (!documentOf("a-names"))
      box.append("p").attr("class", "hint").text("Results of --json have no timeline. Two programs, or two pages of run --stats --report, have one each.");
    const {runs, makespan, path, kernels, accounts, alike_tasks} = d.comparison, rows = [];
    runs.forEach((run, i) => {
      const side = "ab"[i], parts = path.map(row => ({name: row.name, activity: row.name, us: medianOf(row[side])}));
      rows.push({name: "AB"[i], parts: parts.length ? parts : [{name: "makespan", activity: "makespan", us: medianOf(makespan[side])}]});
    });
    box.append("h3").text(path.length ? "The critical paths" : "Makespans");
    drawBars(box.append("div").attr("class", "chart").attr("id", "compare-bars").node(), rows,
             Math.max(medianOf(makespan.a), medianOf(makespan.b)));
    const tables = [["path", "By activity on the critical path", path], ["kernels", "By kernel", kernels],
                    ["accounts", "By resource and activity, all of a kind together", accounts],
                    ["tasks", "By tasks that are alike, on cores", alike_tasks]];
    /* The one with the cause first. */
    tables.sort(([a], [b]) => (b === d.comparison.cause_table) - (a === d.comparison.cause_table));
    for (const [id, title, table] of tables) drawChanges(box, `compare-${id}`, title, table);
  }
});

const placeText = row => row.a_place && row.b_place && row.a_place !== row.b_place
  ? `${row.b_place}, in A ${row.a_place}` : row.b_place || row.a_place || "";

/* Rows as the document has them: the largest change first.  What is the same in both fades. */
function drawChanges(box, id, title, rows) {
  if (!rows.length) return;
  box.append("h3").text(title);
  const counts = ["calls", "tasks"].filter(what => rows[0][`a_${what}`] !== undefined)
    .flatMap(what => ["a", "b"].map(side => ({name: `${what} of ${side.toUpperCase()}`, value: row => row[`${side}_${what}`]})));
  const texts = id !== "compare-tasks" ? [] : [
    {name: "label", isText: true, value: row => row.label || ""}, {name: "submitted at", isText: true, value: placeText},
    {name: "tensors", isText: true, value: row => row.tensors || ""}];
  drawTable(box.append("div").attr("class", "chart").append("table").attr("id", id).node(), [
    {name: "", value: row => row.name}, {name: "A", value: row => medianOf(row.a), text: row => medianText(row.a)},
    {name: "B", value: row => medianOf(row.b), text: row => medianText(row.b)},
    {name: "change", value: row => row.change_us, text: row => row.differs ? changeText(row.change_us)
      : row.change_low_us === null ? "the same" : "not told apart"},
    ...(rows[0].change_low_us === null ? [] : [
      {name: "which is from … to …", value: row => row.change_low_us, text: row => `${changeText(row.change_low_us)} to ${changeText(row.change_high_us)}`}]),
    {name: "in percent", value: row => row.change_percent,
     text: row => row.differs && row.change_percent !== null ? `${d3.format("+.2f")(row.change_percent)} %` : ""},
    ...counts, ...texts
  ], rows);
}

function drawChangedCases(box, changed) {
  if (!changed.length) return;
  const time = key => ({value: row => row[key], text: row => row[key] === null ? "" : timeText(row[key])});
  drawTable(box.append("div").attr("class", "chart").append("table").attr("id", "compare-cases").node(), [
    {name: "case", value: row => row.case}, {name: "in A", ...time("a_virtual_us")}, {name: "in B", ...time("b_virtual_us")},
    {name: "what", isText: true, value: row => row.sentence}
  ], changed, 1000);
}
