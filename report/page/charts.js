/* SPDX-License-Identifier: MIT */
/* Bars, lines and tables.  Each bar and each number of a table is one of the documents in the page; none is made up here. */

/* A picture of this size, which shrinks where paper is narrower. */
const pictureIn = (element, width, height, what) => d3.select(element).append("svg").attr("width", width).attr("height", height)
  .attr("viewBox", `0 0 ${width} ${height}`).attr("role", "img").attr("aria-label", what);

/* As much of a text as has room, by the font of all pictures; "" where that tells nothing. */
const ruler = document.createElement("canvas").getContext("2d");
ruler.font = "11px system-ui, sans-serif";
function cutText(text, room) {
  if (ruler.measureText(text).width <= room) return text;
  let length = text.length - 1;
  while (length >= 3 && ruler.measureText(`${text.slice(0, length)}…`).width > room) length--;
  return length < 3 ? "" : `${text.slice(0, length).trimEnd()}…`;
}

/* Rows of stacked bars on one scale.  rows: [{name, parts: [{name, activity, us}]}]; each bar's width is its time.
 * tickText: of the axis, of a time; of shares a percentage, since nothing of a bar says when. */
function drawBars(element, rows, total, tickText = timeText) {
  const width = Math.max(500, element.clientWidth || 900), left = 150, height = 24;
  const x = d3.scaleLinear().domain([0, total]).range([left, width - 24]);
  d3.select(element).html("");
  const svg = pictureIn(element, width, rows.length * height + 28, "time of each resource by activity");
  svg.append("g").attr("class", "axis").attr("transform", `translate(0, ${rows.length * height + 4})`)
    .call(d3.axisBottom(x).tickValues(tickText === timeText ? null : d3.range(0, 11).map(i => i * total / 10)).ticks(8).tickFormat(tickText));
  const row = svg.selectAll("g.row").data(rows).enter().append("g").attr("class", "row")
    .attr("transform", (_, i) => `translate(0, ${i * height})`);
  row.append("text").attr("x", left - 8).attr("y", 15).attr("text-anchor", "end").text(d => d.name);
  const part = row.selectAll("g.part").data(d => {
    let at = 0;
    return d.parts.filter(p => p.us > 0).map(p => ({...p, resource: d.name, from: at, to: at += p.us}));
  }).enter().append("g").attr("class", "part");
  part.append("rect").attr("class", "bar").attr("x", d => x(d.from)).attr("y", 2).attr("height", height - 5)
    .attr("width", d => x(d.to) - x(d.from)).style("fill", d => colourOf(d.name))
    .attr("data-resource", d => d.resource).attr("data-activity", d => d.activity).attr("data-us", d => d.us)
    .append("title").text(d => `${d.resource}: ${d.name} ${timeText(d.us)}, ${percentText(d.us / total)}`);
  part.append("text").attr("class", "inside").style("fill", d => inkOn(colourOf(d.name))).attr("x", d => x(d.from) + 4)
    .attr("y", 15).text(d => cutText(d.name, x(d.to) - x(d.from) - 7));
  return x;
}

/* columns: [{name, value(row), text(row), pick(row), isText}].  A click on a head sorts by it; pick makes the cell a link;
 * what isText is set left. */
function drawTable(element, columns, rows, most = 200) {
  const table = d3.select(element).html("");
  const body = () => {
    table.select("tbody").remove();
    table.append("tbody").selectAll("tr").data(rows.slice(0, most)).enter().append("tr").selectAll("td")
      .data(row => columns.map(column => ({column, row}))).enter().append("td").classed("text", d => d.column.isText)
      .each(function ({column, row}) {
        const text = (column.text || column.value)(row);
        if (column.pick && column.pick(row)) d3.select(this).append("a").attr("role", "button").attr("tabindex", 0).text(text)
          .on("click", () => column.pick(row)());
        else this.textContent = text;
      });
  };
  table.append("thead").append("tr").selectAll("th").data(columns).enter().append("th").attr("scope", "col")
    .classed("text", d => d.isText)
    .append("button").attr("type", "button").text(d => d.name).on("click", column => {
      column.isUp = !column.isUp;
      rows = rows.slice().sort((a, b) => (column.isUp ? -1 : 1) * d3.ascending(column.value(a), column.value(b)));
      body();
    });
  body();
  if (rows.length > most) table.append("caption").style("caption-side", "bottom").text(`${most} of ${rows.length} rows`);
}

const CHUNK = 64; /* samples */

/* The least and the most of each chunk. */
function chunksOf(values) {
  const count = Math.ceil(values.length / CHUNK), low = new Float64Array(count).fill(Infinity),
        high = new Float64Array(count).fill(-Infinity);
  for (let i = 0; i < values.length; i++) {
    const chunk = Math.floor(i / CHUNK);
    low[chunk] = Math.min(low[chunk], values[i]);
    high[chunk] = Math.max(high[chunk], values[i]);
  }
  return {low, high};
}

/* Lines of samples over time, each on a scale of its own, and buffers below; follows the timeline's view. */
class SampleChart {
  /* Slots and bytes are of the fullest ring, as the document's high waters; a submit may have taken more for a while than
   * the sample behind it says. */
  constructor(element, samples, run, width, onPick) {
    this.element = element;
    this.samples = samples;
    this.run = run;
    this.lines = [
      {name: "window slots in use", values: samples.window, most: run.result.window_high_water, text: d => `${d}`},
      {name: "heap in use", values: samples.heap, most: run.result.heap_high_water_bytes, text: bytesText},
      {name: "ready tasks", values: samples.ready, text: d => `${d}`},
      {name: "kernel calls on cores", values: samples.inFlight, text: d => `${d}`}
    ].map(line => ({...line, ...chunksOf(line.values)}));
    for (const line of this.lines) line.most = Math.max(line.most || 0, d3.max(line.high));
    this.lines = this.lines.filter(line => line.most > 0);
    this.width = width;
    this.onPick = onPick;
    this.buffers = null;
    this.show(0, run.end);
  }

  /* Steps of one line, at most three points a pixel: the least, the most and the last of what falls into it.  Where many
   * samples do, they are taken by chunks. */
  points(line, begin, end, x) {
    const {time, count} = this.samples, points = [], perPixel = (end - begin) / (x.range()[1] - x.range()[0]);
    let i = Math.max(0, d3.bisectRight(time, begin) - 1);
    const last = d3.bisectRight(time, end), step = (last - i) / (x.range()[1] - x.range()[0]) > 2 * CHUNK ? CHUNK : 1;
    let value = i < count ? line.values[i] : 0;
    points.push([x(begin), value]);
    while (i < last) {
      const edge = time[i] + perPixel;
      let low = Infinity, high = -Infinity, at = time[i];
      for (; i < last && time[i] < edge; i += step) {
        const isChunk = step > 1 && i % CHUNK === 0 && i + CHUNK <= last;
        low = Math.min(low, isChunk ? line.low[i / CHUNK] : line.values[i]);
        high = Math.max(high, isChunk ? line.high[i / CHUNK] : line.values[i]);
        if (step > 1 && i % CHUNK) i -= i % CHUNK; /* from here on by whole chunks */
      }
      value = line.values[Math.min(i, count) - 1];
      if (at >= begin) points.push([x(at), low], [x(at), high], [x(at), value]);
    }
    points.push([x(end), value]);
    return points;
  }

  show(begin, end) {
    this.view = [begin, end];
    const width = this.width(), height = 70, left = LABEL_WIDTH, units = this.run.names.units_per_us;
    const x = d3.scaleLinear().domain([begin, end]).range([left, width]);
    d3.select(this.element).html("");
    const svg = pictureIn(this.element, width, this.lines.length * height + 24, "window, heap, ready tasks and calls over time");
    this.lines.forEach((line, i) => {
      const y = d3.scaleLinear().domain([0, line.most || 1]).range([height - 6, 8]);
      const g = svg.append("g").attr("transform", `translate(0, ${i * height})`);
      g.append("text").attr("x", 4).attr("y", 20).text(line.name);
      g.append("text").attr("x", 4).attr("y", 36).text(`most ${line.text(line.most || 0)}`);
      g.append("path").attr("fill", "none").attr("stroke", PALETTE[i]).attr("data-line", line.name).attr("data-most", line.most)
        .attr("d", d3.line().x(d => d[0]).y(d => y(d[1])).curve(d3.curveStepAfter)(this.points(line, begin, end, x)));
    });
    svg.append("g").attr("class", "axis").attr("transform", `translate(0, ${this.lines.length * height})`)
      .call(d3.axisBottom(d3.scaleLinear().domain([begin / units, end / units]).range(x.range()))
        .ticks(8).tickFormat(timeText));
    drawBuffers(document.getElementById("buffers"), this.run, this.buffers || [], x, this.onPick);
  }
}

const MOST_BUFFERS = 60;

/* A row for each of the largest buffers that live in the view, in order of their begin.  A click goes to the producer. */
function drawBuffers(element, run, buffers, x, onPick) {
  const [begin, end] = x.domain(), [left, width] = x.range(), row = 15;
  const living = buffers.filter(d => d.end >= begin && d.begin <= end);
  const bars = living.slice(0, MOST_BUFFERS).sort((a, b) => a.begin - b.begin);
  const box = d3.select(element).html("");
  d3.selectAll("#memory h3, #buffers").style("display", buffers.length ? null : "none");
  if (living.length > MOST_BUFFERS) box.append("p").attr("class", "hint").text(`The ${MOST_BUFFERS} largest of ${living.length}.`);
  const item = pictureIn(element, width, bars.length * row + 4, "buffers from first to last use")
    .selectAll("g").data(bars).enter().append("g").attr("class", "buffer")
    .attr("transform", (_, i) => `translate(0, ${i * row})`).style("cursor", "pointer").on("click", d => onPick(d.producer));
  item.append("text").attr("x", 4).attr("y", 11).text(d => {
    const size = `, ${bytesText(d.bytes)}`;
    return cutText(d.name, left - 10 - ruler.measureText(size).width) + size;
  });
  item.append("rect").attr("x", d => Math.max(left, x(d.begin))).attr("y", 2).attr("height", row - 4)
    .attr("width", d => Math.max(0.5, Math.min(x(d.end), width) - Math.max(left, x(d.begin)))).attr("fill", PALETTE[1])
    .attr("data-buffer", d => d.buffer);
  item.append("title").text(d => `${d.name}, ${bytesText(d.bytes)}: ${run.timeText(d.begin)} to ${run.timeText(d.end)}; ` +
    `first used by ${run.taskText(d.producer)}, last by ${run.taskText(d.consumer)}`);
}
