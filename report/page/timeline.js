/* SPDX-License-Identifier: MIT */
/*
 * The swimlane: a row a track, drawn on a canvas.  Zoom with the wheel, pan by dragging, select by a click.
 *
 * Levels of detail: level 0 of a track has its spans, each next one an item for eight of the one before, with the time in
 * which they were busy.  What is drawn is the finest level whose items are about a pixel wide, so that a picture costs what
 * its pixels cost, whatever the number of spans.
 */

const LEVEL = 8;
const ROW = 18, LABEL_WIDTH = 150, AXIS_HEIGHT = 24;

/* Levels above 0 of one track.  name: of the item's longest span.  isIdle, by name: waiting is no time that it is busy. */
function levelsOf(spans, from, to, isIdle) {
  const levels = [{begin: spans.begin.subarray(from, to), end: spans.end.subarray(from, to),
                   name: spans.name.subarray(from, to), busy: null}];
  for (let below = levels[0]; below.begin.length > LEVEL; below = levels[levels.length - 1]) {
    const count = Math.ceil(below.begin.length / LEVEL);
    const level = {begin: new Float64Array(count), end: new Float64Array(count), name: new Uint16Array(count),
                   busy: new Float64Array(count)};
    for (let i = 0; i < count; i++) {
      const first = i * LEVEL, last = Math.min(first + LEVEL, below.begin.length);
      let longest = -1;
      level.begin[i] = below.begin[first];
      for (let k = first; k < last; k++) {
        const busy = below.busy ? below.busy[k] : isIdle[below.name[k]] ? 0 : below.end[k] - below.begin[k];
        level.busy[i] += busy;
        level.end[i] = Math.max(level.end[i], below.end[k]);
        if (busy > longest) {
          longest = busy;
          level.name[i] = below.name[k];
        }
      }
    }
    levels.push(level);
  }
  return levels;
}

class Timeline {
  /* options: {run, end, onSelect(span), onView(begin, end)}; end: of the axis, not before the run's */
  constructor(element, options) {
    this.run = options.run;
    this.end = options.end;
    this.peers = []; /* timelines that show the same time */
    this.options = options;
    this.tracks = [];
    const {spans} = this.run, isIdle = this.run.names.names.map(isWaiting);
    for (let track = 0; track + 1 < spans.first.length; track++)
      if (spans.first[track] < spans.first[track + 1])
        this.tracks.push({track, name: this.run.names.tracks[track],
                          levels: levelsOf(spans, spans.first[track], spans.first[track + 1], isIdle)});
    this.element = d3.select(element);
    this.canvas = this.element.append("canvas").attr("tabindex", 0).attr("role", "img")
      .attr("aria-label", "timeline of all cores");
    this.colours = this.run.names.names.map(this.run.colour);
    this.height = AXIS_HEIGHT + ROW * this.tracks.length + 4;
    this.selected = -1;
    this.matches = null;
    this.showsPath = true;
    this.zoom = d3.zoom().scaleExtent([1, 1e9]).filter(() => !d3.event.button && (d3.event.type !== "wheel" || d3.event.ctrlKey)).on("zoom", () => {
      this.draw();
      for (const peer of this.peers) peer.follow(d3.zoomTransform(this.canvas.node()));
    });
    this.canvas.call(this.zoom)
      .on("click", () => this.click(d3.event))
      .on("mousemove", () => this.hover(d3.event))
      .on("mouseleave", () => this.tip.style("display", "none"))
      .on("keydown", () => this.key(d3.event));
    this.tip = this.element.append("div").attr("class", "tip").style("display", "none");
    this.resize();
  }

  /* Spans for which `matches` says so stay as they are, others fade; null: none fades.  How many match. */
  mark(matches) {
    const {spans} = this.run;
    let count = 0;
    this.matches = matches;
    this.tracks.forEach(track => track.hits = null);
    if (matches) for (const track of this.tracks) {
      const from = spans.first[track.track];
      track.hits = track.levels.map(level => new Uint8Array(level.begin.length));
      for (let i = 0; i < track.hits[0].length; i++) count += track.hits[0][i] = matches(from + i) ? 1 : 0;
      for (let depth = 1; depth < track.hits.length; depth++)
        track.hits[depth - 1].forEach((hit, i) => { track.hits[depth][Math.floor(i / LEVEL)] |= hit; });
    }
    this.draw();
    return count;
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.width = Math.max(300, this.element.node().clientWidth);
    this.canvas.attr("width", this.width * ratio).attr("height", this.height * ratio)
      .style("width", `${this.width}px`).style("height", `${this.height}px`);
    this.base = d3.scaleLinear().domain([0, this.end]).range([LABEL_WIDTH, this.width]);
    this.zoom.extent([[LABEL_WIDTH, 0], [this.width, this.height]])
      .translateExtent([[LABEL_WIDTH, 0], [this.width, this.height]]);
    this.draw();
  }

  /* Shows what a peer does. */
  follow(view) {
    const own = d3.zoomTransform(this.canvas.node());
    if (own.k !== view.k || own.x !== view.x) this.canvas.call(this.zoom.transform, view);
  }

  get scale() { return d3.zoomTransform(this.canvas.node()).rescaleX(this.base); }

  /* Shows [begin, end] of the run's time units. */
  show(begin, end) {
    const factor = (this.width - LABEL_WIDTH) / Math.max(1e-9, this.base(end) - this.base(begin));
    this.canvas.call(this.zoom.transform, d3.zoomIdentity.translate(LABEL_WIDTH - this.base(begin) * factor, 0)
      .scale(factor));
  }

  /* Where a span is drawn: {x, y, width, height} in pixels of the canvas's box. */
  boxOf(span) {
    const {spans} = this.run, x = this.scale;
    const row = this.tracks.findIndex(track => spans.first[track.track] <= span && span < spans.first[track.track + 1]);
    return {x: x(spans.begin[span]), y: AXIS_HEIGHT + ROW * row + 2,
            width: x(spans.end[span]) - x(spans.begin[span]), height: ROW - 4};
  }

  draw() {
    const context = this.canvas.node().getContext("2d");
    const ratio = window.devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
    const x = this.scale, [begin, end] = x.domain();
    this.ink = style.getPropertyValue("--ink");
    this.faint = style.getPropertyValue("--line");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.drawAxis(context, x);
    context.save();
    context.beginPath();
    context.rect(LABEL_WIDTH, 0, this.width - LABEL_WIDTH, this.height);
    context.clip();
    this.tracks.forEach((track, row) => this.drawTrack(context, x, begin, end, track, row));
    if (this.run.path && this.showsPath) this.drawPath(context, begin, end);
    if (this.selected >= 0) this.drawSelected(context);
    context.restore();
    context.fillStyle = this.ink;
    this.tracks.forEach((track, row) => context.fillText(track.name, 4, AXIS_HEIGHT + ROW * row + ROW / 2, LABEL_WIDTH - 8));
    if (this.options.onView) this.options.onView(begin, end);
  }

  drawAxis(context, x) {
    const units = this.run.names.units_per_us;
    const step = d3.tickStep(0, (x.domain()[1] - x.domain()[0]) / units, 8);
    context.fillStyle = this.ink;
    context.strokeStyle = this.faint;
    for (const us of x.ticks(8).length ? d3.ticks(x.domain()[0] / units, x.domain()[1] / units, 8) : []) {
      const at = Math.round(x(us * units)) + 0.5;
      if (at < LABEL_WIDTH) continue;
      context.beginPath();
      context.moveTo(at, AXIS_HEIGHT - 6);
      context.lineTo(at, this.height);
      context.stroke();
      const text = step < 1 ? `${+us.toFixed(6)} µs` : timeText(us), length = context.measureText(text).width;
      context.fillText(text, at + 3 + length <= this.width ? at + 3 : at - 3 - length, AXIS_HEIGHT / 2);
    }
  }

  drawTrack(context, x, begin, end, track, row) {
    const perPixel = (end - begin) / (this.width - LABEL_WIDTH), {levels} = track, y = AXIS_HEIGHT + ROW * row;
    const length = levels[0].end[levels[0].end.length - 1] - levels[0].begin[0];
    let depth = 0;
    while (depth + 1 < levels.length && length / levels[depth].begin.length < 2 * perPixel) depth++;
    const level = levels[depth];
    context.strokeStyle = this.faint;
    context.strokeRect(LABEL_WIDTH, y + 0.5, this.width, ROW - 1);
    const scale = (this.width - LABEL_WIDTH) / (end - begin);
    let colour = null;
    for (let at = d3.bisectLeft(level.end, begin); at < level.begin.length && level.begin[at] <= end; at++) {
      const left = LABEL_WIDTH + (level.begin[at] - begin) * scale, length = level.end[at] - level.begin[at];
      const width = length * scale, name = level.name[at];
      /* An item of several spans is as high as the share of its time in which they were busy. */
      const height = level.busy ? Math.max(1, (ROW - 4) * Math.min(1, level.busy[at] / Math.max(1e-9, length))) : ROW - 4;
      if (this.colours[name] !== colour) context.fillStyle = colour = this.colours[name];
      if (track.hits) context.globalAlpha = track.hits[depth][at] ? 1 : 0.15;
      context.fillRect(left, y + ROW - 2 - height, Math.max(width, 0.5), height);
      if (depth > 0 || width <= 30) continue;
      const from = Math.max(left, LABEL_WIDTH), room = Math.min(left + width, this.width) - from - 6;
      context.fillStyle = inkOn(colour);
      colour = null;
      if (room > 20) context.fillText(cutText(this.run.names.names[name], room), from + 3, y + ROW / 2);
    }
    context.globalAlpha = 1;
  }

  drawPath(context, begin, end) {
    const x = this.scale, rowOf = new Map(this.tracks.map((track, row) => [track.track, row]));
    context.fillStyle = this.ink;
    for (const step of this.run.path)
      if (rowOf.has(step.track) && step.end >= begin && step.begin <= end)
        context.fillRect(x(step.begin), AXIS_HEIGHT + ROW * rowOf.get(step.track) + ROW - 3,
                         Math.max(1, x(step.end) - x(step.begin)), 3);
  }

  /* The selected span framed, with curves to the first span of its task's producers and consumers. */
  drawSelected(context) {
    const task = this.run.spans.task[this.selected], box = this.boxOf(this.selected);
    context.strokeStyle = this.ink;
    context.lineWidth = 2.5;
    context.strokeRect(box.x, box.y - 1, Math.max(2, box.width), box.height + 2);
    context.lineWidth = 1;
    if (task < 0 || !this.run.edges) return;
    const curve = (from, to) => {
      const middle = (from.x + from.width + to.x) / 2;
      context.beginPath();
      context.moveTo(from.x + from.width, from.y + from.height / 2);
      context.bezierCurveTo(middle, from.y + from.height / 2, middle, to.y + to.height / 2, to.x, to.y + to.height / 2);
      context.stroke();
    };
    const neighbours = (list, draw) => {
      for (let i = list.first[task]; i < list.first[task + 1]; i++) {
        const span = this.run.lastSpanOf(list.items[i]);
        if (span >= 0) draw(this.boxOf(span));
      }
    };
    neighbours(this.run.edges.producers, other => curve(other, box));
    context.setLineDash([4, 3]);
    neighbours(this.run.edges.consumers, other => curve(box, other));
    context.setLineDash([]);
  }

  /* The span at a point of the canvas's box; -1: none. */
  spanAt(px, py) {
    const row = Math.floor((py - AXIS_HEIGHT) / ROW), {spans} = this.run;
    if (row < 0 || row >= this.tracks.length || px < LABEL_WIDTH) return -1;
    const {track, levels} = this.tracks[row], time = this.scale.invert(px), slack = this.scale.invert(px + 2) - time;
    /* On threads calls of a core may overlap; the last one is drawn on top. */
    const last = d3.bisectRight(levels[0].begin, time + slack) - 1;
    for (let at = last; at >= Math.max(0, last - LEVEL); at--)
      if (levels[0].end[at] >= time - slack) return spans.first[track] + at;
    return -1;
  }

  click(event) {
    const [px, py] = d3.mouse(this.canvas.node());
    if (!event.defaultPrevented) this.select(this.spanAt(px, py));
  }

  select(span) {
    this.selected = span;
    this.draw();
    this.options.onSelect(span);
  }

  selectNone() {
    if (this.selected < 0) return;
    this.selected = -1;
    this.draw();
  }

  hover() {
    const [px, py] = d3.mouse(this.canvas.node()), span = this.spanAt(px, py);
    this.tip.style("display", span < 0 ? "none" : "block");
    if (span < 0) return;
    const {spans, names} = this.run, task = spans.task[span];
    this.tip.style("left", `${Math.min(px + 12, this.width - 220)}px`).style("top", `${py + 14}px`)
      .text(`${names.names[spans.name[span]]}${task >= 0 ? ` · task ${task}` : ""} · ${this.run.timeText(spans.end[span] - spans.begin[span])}` +
            ` at ${this.run.timeText(spans.begin[span])}`);
  }

  key(event) {
    const steps = {ArrowLeft: [0.2, 1], ArrowRight: [-0.2, 1], "+": [0, 1.5], "-": [0, 1 / 1.5]}[event.key];
    if (event.key === "Escape") this.select(-1);
    if (event.key === "0") this.show(0, this.end);
    if (!steps) return;
    event.preventDefault();
    if (steps[0]) this.canvas.call(this.zoom.translateBy, steps[0] * this.width / d3.zoomTransform(this.canvas.node()).k, 0);
    else this.canvas.call(this.zoom.scaleBy, steps[1]);
  }
}
