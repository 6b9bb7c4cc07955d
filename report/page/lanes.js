/* SPDX-License-Identifier: MIT */
/*
 * The runs of the page as swimlanes: one, or the two of compare under each other on one axis of time.  The controls above
 * are for all of them; the panel beside tells of the task that is selected in one.
 */

/* {name, run, timeline} of each; name: "" where there is one. */
const lanes = [];

/* A run: what its blocks say, each read when it is first needed.  prefix: of the ids of its blocks. */
class Run {
  constructor(prefix, result) {
    this.prefix = prefix;
    this.names = documentOf(`${prefix}names`);
    this.result = result || {};
    this.colour = colourOf;
    this.spans = this.tasks = this.edges = this.tensors = this.path = null;
    this.end = 1;
  }

  /* Whether there is anything to draw. */
  async open() {
    this.spans = await readSpans(this.prefix);
    if (!this.spans || !this.spans.count) return false;
    for (const end of this.spans.end) this.end = Math.max(this.end, end);
    this.path = this.stepsOnTracks(this.result.stats && this.result.stats.path);
    return true;
  }
  async loadTasks() {
    if (!this.tasks) this.tasks = await readTasks(this.prefix, this.names.tasks);
  }
  async loadGraph() {
    if (!this.edges) this.edges = await readEdges(this.prefix, this.names.tasks);
  }
  async loadTensors() {
    if (!this.tensors) this.tensors = await readTensors(this.prefix, this.names);
  }

  /* Spans from here on are calls on cores. */
  get firstCall() { return this.spans.first[this.names.first_core]; }

  /* The span of a task that ends last; -1: it has none. */
  lastSpanOf(task) {
    if (!this.lastSpan) {
      const {spans} = this;
      this.lastSpan = new Int32Array(this.names.tasks).fill(-1);
      for (let i = this.firstCall; i < spans.count; i++) {
        const t = spans.task[i];
        if (t >= 0 && t < this.names.tasks && (this.lastSpan[t] < 0 || spans.end[i] > spans.end[this.lastSpan[t]])) this.lastSpan[t] = i;
      }
    }
    return this.lastSpan[task];
  }

  /* The critical path as the timeline draws it: [{track, begin, end}]. */
  stepsOnTracks(path) {
    if (!path) return null;
    const units = this.names.units_per_us;
    const trackOf = resource => this.names.tracks.findIndex(name => name === resource || name.startsWith(`${resource} `));
    return path.steps.map(step => ({track: trackOf(step.resource), begin: step.begin_us * units, end: step.end_us * units}));
  }

  timeText(units) { return timeText(units / this.names.units_per_us); }
  taskText(task) { return `task ${task} ${this.names.names[this.tasks.kernel[task]]}`; }
  bufferText(number) { return this.names.buffer_labels[number] || `buffer ${number}`; }
}

/* ---- a task ---- */

/* span: what is selected; -1: nothing, or a task that no core ran. */
async function showTask(lane, span, task = span < 0 ? -1 : lane.run.spans.task[span]) {
  const {run, timeline} = lane, {spans, tasks, names} = run, box = d3.select("#task").html("");
  for (const other of lanes) if (other !== lane) other.timeline.selectNone();
  if (span < 0 && task < 0) {
    box.append("p").text("Click a span to see its task.");
    return;
  }
  const title = names.names[span < 0 ? tasks.kernel[task] : spans.name[span]];
  box.append("h3").text(lane.name ? `${lane.name}: ${title}` : title);
  const list = box.append("ul");
  const say = text => list.append("li").text(text);
  if (span < 0) say("no core ran it");
  else say(`${run.timeText(spans.begin[span])} to ${run.timeText(spans.end[span])}: ${run.timeText(spans.end[span] - spans.begin[span])}`);
  if (task < 0 || task >= names.tasks) return;
  say(`task ${task}${tasks.blocks[task] > 1 && span >= 0 ? `, block ${spans.block[span]} of ${tasks.blocks[task]}` : ""}`);
  if (names.labels && names.labels[task]) say(`label ${names.labels[task]}`);
  if (names.nodes) say(`node ${names.nodes[task]}`);
  if (names.places[tasks.place[task]]) say(`submitted at ${names.places[tasks.place[task]]}`);
  await run.loadGraph();
  if (timeline.selected !== span) return;
  timeline.draw();
  sayWaits(run, list, task);
  sayNeighbours(lane, box, "producers", run.edges.producers, task);
  sayNeighbours(lane, box, "consumers", run.edges.consumers, task);
  await run.loadTensors();
  if (timeline.selected !== span) return;
  box.append("h3").text("tensors");
  box.append("ul").selectAll("li").data(run.tensors[task]).enter().append("li").text(t =>
    `${t.isPredicate ? "predicate" : t.mode} ${t.dtype} ${t.shape.join("×") || "scalar"}, ${run.bufferText(t.buffer)} of ${bytesText(t.bytes)}` +
    `${t.offset ? `, from element ${t.offset}` : ""}`);
}

/* The span of the scheduler that sends a task's first message; null on threads. */
function firstMessage(run, task) {
  const {spans, names} = run, sends = names.names.indexOf(ACTIVITIES.dispatch);
  let first = -1;
  for (let i = 0; i < run.firstCall; i++)
    if (spans.task[i] === task && spans.name[i] === sends && (first < 0 || spans.begin[i] < spans.begin[first])) first = i;
  return first < 0 ? null : {begin: spans.begin[first], end: spans.end[first]};
}

/* Where the orchestrator's work on a task's submit ends. */
function submitEnd(run, task) {
  const {spans, names} = run;
  const works = ["submit", "params", "lookups", "edges", "allocation"].map(name => names.names.indexOf(ACTIVITIES[name]));
  let end = run.tasks.submitted[task];
  for (let i = 0; i < spans.first[1]; i++)
    if (spans.task[i] === task && works.includes(spans.name[i])) end = Math.max(end, spans.end[i]);
  return end;
}

/* From its submit to its first span: for that, its last producer, a scheduler, a core. */
function sayWaits(run, list, task) {
  const {spans, edges} = run, say = text => list.append("li").text(text);
  const submitted = submitEnd(run, task);
  let begin = Infinity, ready = submitted, last = -1;
  for (let i = run.firstCall; i < spans.count; i++) if (spans.task[i] === task) begin = Math.min(begin, spans.begin[i]);
  for (let k = edges.producers.first[task]; k < edges.producers.first[task + 1]; k++) {
    const span = run.lastSpanOf(edges.producers.items[k]);
    if (span >= 0 && spans.end[span] > ready) {
      ready = spans.end[span];
      last = edges.producers.items[k];
    }
  }
  say(`submitted at ${run.timeText(run.tasks.submitted[task])}, which took ${run.timeText(submitted - run.tasks.submitted[task])}`);
  if (last >= 0) say(`waited ${run.timeText(ready - submitted)} for task ${last}, its last producer`);
  if (begin === Infinity || begin < ready) return;
  const sent = firstMessage(run, task);
  if (!sent) say(`waited ${run.timeText(begin - ready)} for a core`);
  else {
    if (sent.begin > ready) say(`waited ${run.timeText(sent.begin - ready)} for a scheduler`);
    say(`its message took ${run.timeText(sent.end - Math.max(ready, sent.begin))}`);
    if (begin > sent.end) say(`waited ${run.timeText(begin - sent.end)} for its core, and to start there`);
  }
}

function sayNeighbours(lane, box, title, list, task) {
  const from = list.first[task], to = list.first[task + 1];
  box.append("h3").text(to - from === 1 ? `1 ${title.slice(0, -1)}` : `${to - from} ${title}`);
  box.append("ul").attr("class", title).selectAll("li").data([...list.items.slice(from, Math.min(to, from + 50))]).enter()
    .append("li").append("a").attr("role", "button").attr("tabindex", 0)
    .text(d => lane.run.taskText(d)).on("click", d => goTo(d, lane));
  if (to - from > 50) box.append("p").text(`and ${to - from - 50} more`);
}

/* Brings a span into view, with ten of its lengths before and behind it. */
function bringIntoView({run, timeline}, span) {
  const length = run.spans.end[span] - run.spans.begin[span];
  timeline.show(Math.max(0, run.spans.begin[span] - 10 * length), Math.min(timeline.end, run.spans.end[span] + 10 * length));
}

/* Selects a task's last span and brings it into view. */
function goTo(task, lane = lanes[0]) {
  const {run, timeline} = lane, span = run.lastSpanOf(task), [begin, end] = timeline.scale.domain();
  if (span >= 0 && (run.spans.begin[span] < begin || run.spans.end[span] > end)) bringIntoView(lane, span);
  if (span >= 0) timeline.select(span);
  else {
    timeline.selectNone();
    showTask(lane, -1, task);
  }
}

function showTime(beginUs, endUs) {
  const {run, timeline} = lanes[0], units = run.names.units_per_us, margin = (endUs - beginUs) / 2 + 0.001;
  timeline.show(Math.max(0, (beginUs - margin) * units), Math.min(run.end, (endUs + margin) * units));
  document.getElementById("lanes").scrollIntoView();
}

/* ---- search ---- */

/* Whether a span is what the text says: its kernel, task number, label, node or line. */
function matcherOf({spans, tasks, names}, text) {
  const number = /^#?\d+$/.test(text) ? +text.replace("#", "") : -1, low = text.toLowerCase();
  const exact = /^"(.*)"$/.exec(text); /* what is in quotes is all of a name */
  const fits = exact ? name => name === exact[1] : name => name.toLowerCase().includes(low);
  const hits = names.names.map(fits), places = names.places.map(fits);
  return span => {
    const task = spans.task[span];
    if (number >= 0) return task === number;
    if (hits[spans.name[span]]) return true;
    if (task < 0 || task >= names.tasks) return false;
    return places[tasks.place[task]] || [names.nodes, names.labels].some(texts => texts && fits(texts[task] || ""));
  };
}

/* Goes from the last one found to the next, lane by lane, and round. */
function findNext(last) {
  for (let turn = 0; turn <= lanes.length; turn++) {
    const at = (last.lane + turn) % lanes.length, lane = lanes[at];
    if (!lane.timeline.matches) return last;
    for (let span = turn ? 0 : last.span + 1; span < lane.run.spans.count; span++) {
      if (!lane.timeline.matches(span)) continue;
      bringIntoView(lane, span);
      lane.timeline.select(span);
      return {lane: at, span};
    }
  }
  return last;
}

function startSearch() {
  const form = document.getElementById("search"), output = form.querySelector("output");
  let last = {lane: 0, span: -1};
  form.elements.text.addEventListener("input", () => {
    const text = form.elements.text.value.trim();
    last = {lane: 0, span: -1};
    const count = d3.sum(lanes, ({run, timeline}) => timeline.mark(text ? matcherOf(run, text) : null));
    output.textContent = text ? `${count} spans` : "";
  });
  form.addEventListener("submit", event => {
    event.preventDefault();
    last = findNext(last);
  });
  d3.selectAll("#search [data-do]").on("click", function () {
    const {timeline} = lanes[0];
    if (this.dataset.do === "all") timeline.show(0, timeline.end);
    else timeline.canvas.call(timeline.zoom.scaleBy, this.dataset.do === "in" ? 2 : 0.5);
  });
  form.elements.path.addEventListener("change", () => lanes.forEach(({timeline}) => {
    timeline.showsPath = form.elements.path.checked;
    timeline.draw();
  }));
}

function findText(text) {
  const form = document.getElementById("search");
  form.elements.text.value = text;
  form.elements.text.dispatchEvent(new Event("input"));
  document.getElementById("lanes").scrollIntoView();
}

/* ---- all of it ---- */

/* named: [name, run] of each run.  Those that have no spans are not drawn; whether any is. */
async function drawLanes(named, onView) {
  const there = [];
  for (const [name, run] of named) if (await run.open()) there.push([name, run]);
  if (!section("lanes", there.length > 0)) return false;
  const chart = d3.select("#lanes .chart").classed("several", there.length > 1), end = d3.max(there, ([, run]) => run.end);
  d3.selectAll(".of-path").style("display", there.some(([, run]) => run.path) ? null : "none");
  for (const [name, run] of there) {
    const box = chart.append("div").attr("class", "lane");
    if (name) box.append("h3").text(name);
    const lane = {name: name.split(":")[0], run};
    lanes.push(lane);
    lane.timeline = new Timeline(box.append("div").node(), {run, end, onSelect: span => showTask(lane, span), onView});
  }
  for (const lane of lanes) lane.timeline.peers = lanes.filter(other => other !== lane).map(other => other.timeline);
  performance.mark("first picture");
  await new Promise(requestAnimationFrame);
  for (const lane of lanes) await lane.run.loadTasks();
  startSearch();
  window.addEventListener("resize", () => lanes.forEach(lane => lane.timeline.resize()));
  return true;
}
