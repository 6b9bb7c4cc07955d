/* SPDX-License-Identifier: MIT */
/* `ptosim compare`: both sides as bars under each other on one scale, and tables, the largest change first. */

/* A time is a number in virtual time; on threads a range, of which the median counts. */
const medianOf = time => typeof time === "number" ? time : time.median_us;
const rangeText = time => typeof time === "number" ? timeText(time)
  : `${timeText(time.median_us)} (${timeText(time.low_us)} to ${timeText(time.high_us)})`;

/* A bar for each side, of the same parts in the same order; rows that have no time on a side leave nothing in its bar. */
const sidesOf = (rows, prefix = "") => ["a", "b"].map(side => ({
  name: `${side.toUpperCase()}${prefix}`,
  parts: rows.map(row => ({name: row.name, activity: `${side} ${row.name}`, us: medianOf(row[side])}))
}));

function drawSides(section, title, rows) {
  const chart = section.append("div").attr("class", "chart");
  section.insert("h3", () => chart.node()).text(title);
  drawBars(chart.node(), rows, d3.max(rows, row => d3.sum(row.parts, part => part.us)));
}

function drawChanges(section, id, title, rows) {
  if (rows.length === 0) return;
  const time = (name, key) => ({name, value: row => medianOf(row[key]), text: row => rangeText(row[key])});
  const calls = rows.some(row => row.a_calls !== undefined)
    ? [{name: "calls A", value: row => row.a_calls ?? ""}, {name: "calls B", value: row => row.b_calls ?? ""}] : [];
  section.append("h3").text(title);
  drawTable(section.append("div").attr("class", "chart").append("table").attr("id", id).node(), [
    {name: "", value: row => row.name}, time("A", "a"), time("B", "b"),
    {name: "change", value: row => row.change_us, text: row => timeText(row.change_us)},
    {name: "%", value: row => row.change_percent,
     text: row => row.change_percent === null ? "" : d3.format("+.2f")(row.change_percent)},
    ...calls, {name: "differs", isText: true, value: row => row.differs ? "yes" : "no"}
  ], rows);
}

function drawCompared(section, c) {
  const path = c.path.length ? c.path : [c.makespan];
  drawSides(section, c.path.length ? "Critical path" : "Makespan", sidesOf(path));
  drawSides(section, "Busy, cores of a kind summed", c.resources.flatMap(row => sidesOf([row], ` ${row.name}`)));
  drawChanges(section, "compared-kernels", "Kernels", c.kernels);
  drawChanges(section, "compared-path", "Activities of the critical path", c.path);
  drawChanges(section, "compared-resources", "Resources", c.resources);
}

function drawBaselines(section, b) {
  const time = (name, key) => ({name, value: row => row[key], text: row => row[key] === null ? "" : timeText(row[key])});
  drawTable(section.append("div").attr("class", "chart").append("table").attr("id", "compared-cases").node(), [
    {name: "case", value: row => row.case}, time("A", "a_virtual_us"), time("B", "b_virtual_us"),
    {name: "what changed", isText: true, value: row => row.sentence}
  ], b.changed, 1000);
}

PARTS.push({
  id: "compare",
  title: "What changed",
  name: d => d.comparison ? [...new Set(d.comparison.runs.map(run => run.program))].join(" and ") : "Two baselines",
  verdict: d => d.error || (d.comparison ? d.comparison.verdict
    : `${d.baselines.changed.length} cases changed, ${d.baselines.same} are the same`),
  draw(element, d) {
    const section = d3.select(element);
    for (const side of ["a", "b"]) section.append("p").attr("class", `of-${side}`).text(`${side.toUpperCase()}: ${d[side]}`);
    if (d.comparison) drawCompared(section, d.comparison);
    if (d.baselines) drawBaselines(section, d.baselines);
  }
});
