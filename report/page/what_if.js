/* SPDX-License-Identifier: MIT */
/* `ptosim what-if`: what halving and doubling each number of the chip does, and curves over clusters and window. */

const largestChange = (key, plain) => Math.max(...[key.half, key.twice].map(run => Math.abs((run.virtual_us ?? plain) - plain)));

PARTS.push({
  id: "what_if",
  title: "What if",
  name: d => `${d.program}${d.case ? `, case ${d.case}` : ""} on ${d.what_if ? d.what_if.chip : "a chip"}`,
  verdict: d => {
    if (!d.what_if) return d.error || "the run failed";
    const {virtual_us: plain, numbers} = d.what_if, first = numbers.find(key => largestChange(key, plain) > 0);
    return `${timeText(plain)} on the chip; ` + (first ? `what changes it most: ${first.key}` : "no number of the chip changes it");
  },
  draw(element, d) {
    if (!d.what_if) return;
    const {virtual_us: plain, numbers, curves} = d.what_if, box = d3.select(element);
    const changed = numbers.filter(key => largestChange(key, plain) > 0 || key.half.error || key.twice.error);
    box.append("h3").text("Each part of the run in half the time, the largest effect first");
    drawTable(box.append("div").attr("class", "chart").append("table").attr("id", "what-if-parts").node(), [
      {name: "part", value: row => row.what},
      {name: "takes", value: row => row.virtual_us ?? 0, text: row => row.virtual_us === null ? row.error
        : `${timeText(row.virtual_us)} (${d3.format("+.2f")(100 * (row.virtual_us / plain - 1))} %)`},
      {name: "ptosim run with --chip-set", value: row => row.chip_set, isText: true}
    ], d.what_if.parts.filter(row => row.virtual_us !== plain));
    const side = (name, key) => ({name, value: row => row[key].virtual_us ?? 0,
      text: row => row[key].virtual_us === null ? row[key].error
        : `${timeText(row[key].virtual_us)} (${d3.format("+.2f")(100 * (row[key].virtual_us / plain - 1))} %)`});
    box.append("h3").text("Each number of the chip halved and doubled, the largest effect first");
    drawTable(box.append("div").attr("class", "chart").append("table").attr("id", "what-if-numbers").node(), [
      {name: "number", value: row => row.key}, {name: "is", value: row => row.value, text: row => `${row.value} ${row.unit}`},
      side("half of it", "half"), side("twice as much", "twice"),
      {name: "elasticity", value: row => row.elasticity ?? 0, text: row => row.elasticity === null ? "-" : d3.format("+.3f")(row.elasticity)}
    ], changed, 1000);
    const same = numbers.filter(key => !changed.includes(key)).map(key => key.key);
    if (same.length) box.append("p").text(`Without effect: ${same.join(", ")}.`);
    drawCurve(box, "clusters", "Clusters", curves.clusters);
    drawCurve(box, "window", "Slots of a task ring", curves.window);
  }
});

/* Times from 0, so that a height is a time; values are powers of two but the last. */
function drawCurve(box, id, title, runs) {
  const points = runs.filter(run => run.virtual_us !== null);
  if (points.length < 2) return;
  const width = 640, height = 240, left = 76, right = width - 16, bottom = height - 30, top = 12;
  box.append("h3").text(title);
  const svg = pictureIn(box.append("div").attr("class", "chart").attr("id", `what-if-${id}`).node(), width, height, title);
  const x = d3.scaleLog().base(2).domain(d3.extent(points, run => run.value)).range([left, right]);
  const y = d3.scaleLinear().domain([0, d3.max(points, run => run.virtual_us)]).range([bottom, top]);
  svg.append("g").attr("class", "axis").attr("transform", `translate(0, ${bottom})`)
    .call(d3.axisBottom(x).tickValues(points.map(run => run.value)).tickFormat(d => d));
  svg.append("g").attr("class", "axis").attr("transform", `translate(${left}, 0)`).call(d3.axisLeft(y).ticks(5).tickFormat(timeText));
  svg.append("path").attr("fill", "none").attr("stroke", "currentColor")
    .attr("d", d3.line().x(run => x(run.value)).y(run => y(run.virtual_us))(points));
  svg.selectAll("circle").data(points).enter().append("circle").attr("r", 4).attr("fill", "currentColor")
    .attr("cx", run => x(run.value)).attr("cy", run => y(run.virtual_us))
    .append("title").text(run => `${run.value}: ${timeText(run.virtual_us)}`);
}
