/* SPDX-License-Identifier: MIT */
/*
 * Kernels under the roofs of one core: operations a byte to the right, operations a second upwards, both by powers of ten.
 * A point is where the document says that the kernel is; its area is its share of the time.
 */

/* Roofs of units that are as high as each other are one line. */
function unitRoofs(roofs) {
  const byHeight = new Map();
  for (const roof of roofs.filter(roof => roof.gops))
    byHeight.set(roof.gops, [...(byHeight.get(roof.gops) || []), roof.name]);
  return [...byHeight].map(([gops, names]) => ({gops, name: names.join(", ")}));
}

/* Powers of ten, and 2 and 5 of each where there are few. */
function ticksOf(scale) {
  const [low, high] = scale.domain(), decades = Math.log10(high / low);
  const digitOf = value => Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9));
  return scale.ticks().filter(value => (decades > 3 ? [1] : [1, 2, 5]).includes(digitOf(value)));
}
/* Of thousand millions a second. */
function rateText(value, unit) {
  const [scale, letter] = value >= 1000 ? [1000, "T"] : value >= 1 ? [1, "G"] : value >= 1e-3 ? [1e-3, "M"] : [1e-6, "k"];
  return `${+(value / scale).toPrecision(3)} ${letter}${unit}`;
}

/* onPick(kernel): a click on its point. */
function drawRoofline(element, stats, onPick) {
  const kernels = stats.kernels.filter(kernel => kernel.intensity > 0 && kernel.gops > 0);
  const units = unitRoofs(stats.roofs), memories = stats.roofs.filter(roof => roof.gbps);
  d3.select(element).html("");
  if (!kernels.length || !memories.length) return;
  const width = 640, height = 340, left = 76, right = width - 16, bottom = height - 44, top = 26;
  const ridges = units.flatMap(unit => memories.map(memory => unit.gops / memory.gbps));
  const xs = [...kernels.map(kernel => kernel.intensity), ...ridges];
  const x = d3.scaleLog().domain([d3.min(xs) / 2, d3.max(xs) * 4]).range([left, right]);
  const ys = [...kernels.map(kernel => kernel.gops), ...units.map(unit => unit.gops)];
  const y = d3.scaleLog().domain([d3.min(ys) / 3, d3.max(ys) * 2]).range([bottom, top]);
  const svg = pictureIn(element, width, height + 18 * memories.length, "kernels under the roofs of a core");
  const axis = (g, make, scale, text) => g.call(make(scale).tickValues(ticksOf(scale)).tickFormat(text));
  axis(svg.append("g").attr("class", "axis").attr("transform", `translate(0, ${bottom})`), d3.axisBottom, x, d => `${+d.toPrecision(3)}`);
  axis(svg.append("g").attr("class", "axis").attr("transform", `translate(${left}, 0)`), d3.axisLeft, y, d => rateText(d, "op/s"));
  svg.append("text").attr("x", right).attr("y", bottom + 34).attr("text-anchor", "end").text("operations a byte");
  svg.append("text").attr("x", 4).attr("y", 12).text("operations a second, of one core");

  const highest = d3.max(units, unit => unit.gops) || y.domain()[1], dashes = [null, "6 3", "2 2", "8 3 2 3"];
  memories.forEach((memory, i) => {
    const from = Math.max(x.domain()[0], y.domain()[0] / memory.gbps), to = Math.min(x.domain()[1], highest / memory.gbps);
    const line = () => svg.append("line").attr("stroke", "currentColor").attr("stroke-dasharray", dashes[i % dashes.length]);
    line().attr("class", "roof").attr("data-roof", memory.name)
      .attr("x1", x(from)).attr("y1", y(from * memory.gbps)).attr("x2", x(to)).attr("y2", y(to * memory.gbps));
    line().attr("x1", left).attr("x2", left + 36).attr("y1", height + 18 * i).attr("y2", height + 18 * i);
    svg.append("text").attr("x", left + 44).attr("y", height + 4 + 18 * i).text(`${memory.name}: ${rateText(memory.gbps, "B/s")}`);
  });
  for (const unit of units) {
    const from = Math.max(x.domain()[0], unit.gops / d3.max(memories, memory => memory.gbps));
    svg.append("line").attr("class", "roof").attr("data-roof", unit.name).attr("stroke", "currentColor")
      .attr("x1", x(from)).attr("x2", right).attr("y1", y(unit.gops)).attr("y2", y(unit.gops));
    svg.append("text").attr("x", right).attr("y", y(unit.gops) - 5).attr("text-anchor", "end")
      .text(`${unit.name}: ${rateText(unit.gops, "op/s")}`);
  }
  drawPoints(svg, kernels, x, y, right, d3.sum(stats.kernels, kernel => kernel.total_us), onPick);
}

/* A name stands beside its point, or above or below that, where nothing else does. */
function drawPoints(svg, kernels, x, y, right, total, onPick) {
  const labels = kernels.map(d => ({x: x(d.intensity) - 8, y: y(d.gops), width: 16, of: d})); /* the points */
  const point = svg.selectAll("g.point").data(kernels).enter().append("g").attr("class", "point").attr("role", "button")
    .attr("tabindex", 0).style("cursor", "pointer").on("click", d => onPick(d.name));
  point.append("circle").attr("cx", d => x(d.intensity)).attr("cy", d => y(d.gops)).attr("r", d => 3 + 11 * Math.sqrt(d.total_us / total))
    .attr("fill", d => colourOf(d.name)).attr("fill-opacity", 0.8).attr("stroke", "currentColor").attr("data-kernel", d => d.name);
  point.append("title").text(d => `${d.name}: ${+d.intensity.toPrecision(3)} operations a byte, ${rateText(d.gops, "op/s")}, ` +
    `${rateText(d.gbps, "B/s")}; ${percentText(d.roof_share)} of what ${d.bound} permits`);
  point.each(function (d) {
    const width = 6.2 * d.name.length, at = x(d.intensity) + 5 + 11 * Math.sqrt(d.total_us / total), isLeft = at + width > right;
    const left = isLeft ? 2 * x(d.intensity) - at - width : at, isFree = box => !labels.some(
      other => other.of !== d && Math.abs(other.y - box.y) < 12 && box.x < other.x + other.width && other.x < box.x + box.width);
    const box = [0, 13, -13, 26].map(down => ({x: left, y: y(d.gops) + down, width})).find(isFree);
    if (!box) return;
    labels.push(box);
    d3.select(this).append("text").attr("x", box.x).attr("y", box.y + 4).text(d.name);
  });
}
