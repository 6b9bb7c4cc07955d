/* SPDX-License-Identifier: MIT */
/* The page: what each section shows, and what a click does.  `run` has what the blocks say; RESULT is the document of --json. */

const RESULT = documentOf("result") || {};

/* Spans from here on are calls on cores. */
const firstCall = spans => spans.first[NAMES.first_core];

/* The whole of it, for the parts. */
const run = {
  spans: null, tasks: null, edges: null, tensors: null, path: null, end: 1,
  colour: colourOf,
  spansByTask: null,
  /* The span of a task that ends last; -1: it has none. */
  lastSpanOf(task) {
    if (!this.lastSpan) {
      this.lastSpan = new Int32Array(NAMES.tasks).fill(-1);
            for (let i = firstCall(this.spans); i < this.spans.count; i++) {
        const t = this.spans.task[i];
        if (t >= 0 && t < NAMES.tasks && (this.lastSpan[t] < 0 || this.spans.end[i] > this.spans.end[this.lastSpan[t]]))
          this.lastSpan[t] = i;
      }
    }
    return this.lastSpan[task];
  }
};
let timeline = null;

function section(id, isThere) {
  const element = document.getElementById(id);
  element.classList.toggle("empty", !isThere);
  if (isThere && !element.querySelector("h2")) {
    d3.select(element).insert("h2", ":first-child").text(element.dataset.title);
    d3.select("nav").html("").selectAll("a").data([...document.querySelectorAll("section")].filter(s => s.querySelector("h2")))
      .enter().append("a").attr("href", s => `#${s.id}`).text(s => s.dataset.title);
  }
  return isThere ? d3.select(element) : null;
}

function drawHead() {
  const part = headPart(), about = part ? documentOfPart() : RESULT;
  const name = part ? part.name(about) : RESULT.program || NAMES.program;
  d3.select("#title").text([name, about.case && `case ${about.case}`].filter(Boolean).join(", "));
  document.title = `${name}: report`;
  const facts = [["chip", about.chip], ["engine", about.engine], ["dependencies", about.deps], ["workers", about.workers],
                 ["tasks", about.tasks], ["edges", about.edges],
                 ["makespan", RESULT.virtual_us === undefined || RESULT.virtual_us === null ? null : timeText(RESULT.virtual_us)],
                 ["result", RESULT.verified === true ? "verified" : RESULT.verified === false ? "WRONG" : null],
                 ["records that did not fit", NAMES && NAMES.dropped_records || null]];
  d3.select("#facts").selectAll("div").data(facts.filter(d => d[1] !== null && d[1] !== undefined)).enter().append("div")
    .each(function ([name, value]) {
      d3.select(this).append("dt").text(name);
      d3.select(this).append("dd").text(value);
    });
}

/* ---- a task ---- */

const bufferText = number => NAMES.buffer_labels[number] || `buffer ${number}`;
const taskText = task => `task ${task} ${NAMES.names[run.tasks.kernel[task]]}`;

/* span: what is selected; -1: nothing, or a task that no core ran. */
async function showTask(span, task = span < 0 ? -1 : run.spans.task[span]) {
  const box = d3.select("#task").html("");
  if (span < 0 && task < 0) {
    box.append("p").text("Click a span to see its task.");
    return;
  }
  const {spans} = run;
  box.append("h3").text(NAMES.names[span < 0 ? run.tasks.kernel[task] : spans.name[span]]);
  const list = box.append("ul");
  const say = text => list.append("li").text(text);
  if (span < 0) say("no core ran it");
  else say(`${unitsText(spans.begin[span])} to ${unitsText(spans.end[span])}: ${unitsText(spans.end[span] - spans.begin[span])}`);
  if (task < 0 || task >= NAMES.tasks) return;
  say(`task ${task}${run.tasks.blocks[task] > 1 && span >= 0 ? `, block ${spans.block[span]} of ${run.tasks.blocks[task]}` : ""}`);
  if (NAMES.labels && NAMES.labels[task]) say(`label ${NAMES.labels[task]}`);
  if (NAMES.nodes) say(`node ${NAMES.nodes[task]}`);
  if (NAMES.places[run.tasks.place[task]]) say(`submitted at ${NAMES.places[run.tasks.place[task]]}`);
  await loadGraph();
  if (timeline.selected !== span) return;
  timeline.draw();
  sayWaits(list, task);
  sayNeighbours(box, "producers", run.edges.producers, task);
  sayNeighbours(box, "consumers", run.edges.consumers, task);
  if (!run.tensors) run.tensors = await readTensors(NAMES.tasks, NAMES);
  if (timeline.selected !== span) return;
  box.append("h3").text("tensors");
  box.append("ul").selectAll("li").data(run.tensors[task]).enter().append("li").text(t =>
    `${t.isPredicate ? "predicate" : t.mode} ${t.dtype} ${t.shape.join("×") || "scalar"}, ${bufferText(t.buffer)} of ${bytesText(t.bytes)}` +
    `${t.offset ? `, from element ${t.offset}` : ""}`);
}

/* The span of the scheduler that sends a task's first message; null on threads. */
function firstMessage(task) {
  const {spans} = run, sends = NAMES.names.indexOf(NAMES.activities.dispatch);
  let first = -1;
  for (let i = 0; i < firstCall(spans); i++)
    if (spans.task[i] === task && spans.name[i] === sends && (first < 0 || spans.begin[i] < spans.begin[first])) first = i;
  return first < 0 ? null : {begin: spans.begin[first], end: spans.end[first]};
}

/* From its submit to its first span: for its last producer, a scheduler, a core. */
function sayWaits(list, task) {
  const {spans, edges} = run;
  let begin = Infinity, ready = run.tasks.submitted[task], last = -1;
  for (let i = firstCall(spans); i < spans.count; i++) if (spans.task[i] === task) begin = Math.min(begin, spans.begin[i]);
  for (let k = edges.producers.first[task]; k < edges.producers.first[task + 1]; k++) {
    const span = run.lastSpanOf(edges.producers.items[k]);
    if (span >= 0 && spans.end[span] > ready) {
      ready = spans.end[span];
      last = edges.producers.items[k];
    }
  }
  list.append("li").text(`submitted at ${unitsText(run.tasks.submitted[task])}`);
  if (last >= 0) list.append("li").text(`waited ${unitsText(ready - run.tasks.submitted[task])} for task ${last}, its last producer`);
  if (begin === Infinity || begin < ready) return;
  const sent = firstMessage(task);
  if (!sent) list.append("li").text(`waited ${unitsText(begin - ready)} for a core`);
  else {
    if (sent.begin > ready) list.append("li").text(`waited ${unitsText(sent.begin - ready)} for a scheduler`);
    list.append("li").text(`its message took ${unitsText(sent.end - Math.max(ready, sent.begin))}`);
    if (begin > sent.end) list.append("li").text(`waited ${unitsText(begin - sent.end)} for its core, and to start there`);
  }
}

function sayNeighbours(box, title, list, task) {
  const from = list.first[task], to = list.first[task + 1];
  box.append("h3").text(to - from === 1 ? `1 ${title.slice(0, -1)}` : `${to - from} ${title}`);
  box.append("ul").attr("class", title).selectAll("li").data([...list.items.slice(from, Math.min(to, from + 50))]).enter()
    .append("li").append("a").attr("role", "button").attr("tabindex", 0)
    .text(taskText).on("click", d => goTo(d));
  if (to - from > 50) box.append("p").text(`and ${to - from - 50} more`);
}

/* Selects a task's last span and brings it into view. */
function goTo(task) {
  const span = run.lastSpanOf(task);
  if (span < 0) {
    timeline.select(-1);
    showTask(-1, task);
    return;
  }
  const [begin, end] = timeline.scale.domain(), length = run.spans.end[span] - run.spans.begin[span];
  if (run.spans.begin[span] < begin || run.spans.end[span] > end)
    timeline.show(Math.max(0, run.spans.begin[span] - 10 * length), Math.min(run.end, run.spans.end[span] + 10 * length));
  timeline.select(span);
}

async function loadGraph() {
  if (!run.edges) run.edges = await readEdges(NAMES.tasks);
}

/* ---- search ---- */

function startSearch() {
  const form = document.getElementById("search"), output = form.querySelector("output");
  let last = -1;
  const matcher = text => {
    const number = /^#?\d+$/.test(text) ? +text.replace("#", "") : -1, low = text.toLowerCase();
    const exact = /^"(.*)"$/.exec(text); /* what is in quotes is all of a name */
    const fits = exact ? name => name === exact[1] : name => name.toLowerCase().includes(low);
    const hits = NAMES.names.map(fits);
    const places = NAMES.places.map(fits);
    return span => {
      const task = run.spans.task[span];
      if (number >= 0) return task === number;
      if (hits[run.spans.name[span]]) return true;
      if (task < 0 || task >= NAMES.tasks) return false;
      return places[run.tasks.place[task]] ||
        [NAMES.nodes, NAMES.labels].some(texts => texts && fits(texts[task] || ""));
    };
  };
  form.elements.text.addEventListener("input", () => {
    const text = form.elements.text.value.trim();
    last = -1;
    const count = timeline.mark(text ? matcher(text) : null);
    output.textContent = text ? `${count} spans` : "";
  });
  form.addEventListener("submit", event => {
    event.preventDefault();
    if (!timeline.matches) return;
    for (let step = 1; step <= run.spans.count; step++) {
      const span = (last + step) % run.spans.count;
      if (!timeline.matches(span)) continue;
      last = span;
      const length = run.spans.end[span] - run.spans.begin[span];
      timeline.show(Math.max(0, run.spans.begin[span] - 10 * length), Math.min(run.end, run.spans.end[span] + 10 * length));
      timeline.select(span);
      return;
    }
  });
  d3.selectAll("#search [data-do]").on("click", function () {
    if (this.dataset.do === "all") timeline.show(0, run.end);
    else timeline.canvas.call(timeline.zoom.scaleBy, this.dataset.do === "in" ? 2 : 0.5);
  });
  form.elements.path.addEventListener("change", () => {
    timeline.showsPath = form.elements.path.checked;
    timeline.draw();
  });
}

/* The critical path as the timeline draws it: [{track, begin, end}]. */
function stepsOnTracks(path) {
  if (!path) return null;
  const trackOf = resource => NAMES.tracks.findIndex(name => name === resource || name.startsWith(`${resource} `));
  return path.steps.map(step => ({track: trackOf(step.resource), begin: step.begin_us * NAMES.units_per_us,
                                  end: step.end_us * NAMES.units_per_us}));
}

/* ---- memory ---- */

/* Of managed buffers, from the first span of a task that uses it to the last, with both tasks: largest first. */
function buffersOf() {
  const buffers = new Map(), begin = new Float64Array(NAMES.tasks).fill(Infinity);
  for (let i = firstCall(run.spans); i < run.spans.count; i++) {
    const task = run.spans.task[i];
    if (task >= 0 && task < NAMES.tasks) begin[task] = Math.min(begin[task], run.spans.begin[i]);
  }
  run.tensors.forEach((tensors, task) => {
    const span = run.lastSpanOf(task);
    for (const tensor of tensors) {
      if (!tensor.isManaged || span < 0) continue;
      const buffer = buffers.get(tensor.buffer) ||
        {buffer: tensor.buffer, name: bufferText(tensor.buffer), bytes: tensor.bytes, begin: Infinity, end: 0};
      if (begin[task] < buffer.begin) [buffer.begin, buffer.producer] = [begin[task], task];
      if (run.spans.end[span] > buffer.end) [buffer.end, buffer.consumer] = [run.spans.end[span], task];
      buffers.set(tensor.buffer, buffer);
    }
  });
  return [...buffers.values()].sort((a, b) => b.bytes - a.bytes || a.begin - b.begin);
}

/* ---- all of it ---- */

async function draw() {
  drawHead();
  d3.select("#theme").on("click", () => {
    const root = document.documentElement, isDark = root.dataset.theme ? root.dataset.theme === "dark"
                                                                       : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    if (timeline) timeline.draw();
  });
  await drawParts();
  drawResult();
  run.spans = NAMES ? await readSpans() : null;
  if (!section("lanes", run.spans && run.spans.count > 0)) {
    for (const id of ["memory", "tasks-graph"]) section(id, false);
    document.documentElement.dataset.ready = "all";
    return;
  }
  let chart = null;
  for (const end of run.spans.end) run.end = Math.max(run.end, end);
  run.path = stepsOnTracks(RESULT.stats && RESULT.stats.path);
  d3.selectAll(".of-path").style("display", run.path ? null : "none");
  timeline = new Timeline(document.querySelector("#lanes .chart"), {
    run, onSelect: showTask, onView: (begin, end) => { if (chart) chart.show(begin, end); }});
  performance.mark("first picture");
  await new Promise(requestAnimationFrame);
  run.tasks = await readTasks(NAMES.tasks);
  startSearch();
  window.addEventListener("resize", () => timeline.resize());
  const samples = await readSamples();
  if (section("memory", samples.count > 0))
    chart = new SampleChart(document.querySelector("#memory .chart"), samples, run, () => timeline.width, goTo);
  await new Promise(requestAnimationFrame);
  await loadGraph();
  if (section("tasks-graph", NAMES.tasks > 0))
    drawGraph(document.querySelector("#tasks-graph .chart"), taskGraph(run), run, goTo);
  if (chart && NAMES.tasks <= 20000) {
    run.tensors = run.tensors || await readTensors(NAMES.tasks, NAMES);
    chart.buffers = buffersOf();
    chart.show(...chart.view);
  }
  document.documentElement.dataset.ready = "all";
}

/* What the document says, without the blocks. */
function drawResult() {
  const stats = RESULT.stats || {}, makespan = stats.makespan_us;
  if (stats.verdict) {
    const {bound_by, share, us, gains} = stats.verdict;
    d3.select("#verdict").text(`Bound by ${bound_by}: ${percentText(share)} of the run, ${timeText(us)}`);
    d3.select("#advice").selectAll("li").data(gains).enter().append("li")
      .text(d => `${d.what} in half the time: the run takes about ${timeText(d.makespan_us)}, ${timeText(d.us)} less`);
  }
  if (!stats.verdict && NAMES && !NAMES.virtual)
    d3.select("#verdict").text(`Took ${timeText(makespan)} on this machine's threads; --engine virtual tells what bounds it on the chip`);
  if (RESULT.error) d3.select("#verdict").text(RESULT.error);
  const found = documentOf("found"), verdict = d3.select("#verdict");
  if (found && found.finding_count) {
    verdict.text([found.finding_count === 1 ? "1 finding" : `${found.finding_count} findings`, verdict.text()].filter(Boolean).join(". "));
    d3.select("main").node().prepend(document.getElementById("findings"));
  }
  drawAccounts(stats.accounts || [], makespan);
  drawKernels(stats.kernels || [], stats);
  drawGroups("nodes", RESULT.node_times, d => d.name);
  drawGroups("labels", RESULT.label_times, d => d.label);
  drawPath(stats.path, makespan);
  drawFindings(found);
}

function drawFindings(found) {
  if (section("findings", found)) drawFindingList(document.querySelector("#findings ol"), found.findings);
}

/* The sentence of each, with links to its tasks where a run is in the page. */
function drawFindingList(element, findings) {
  if (!findings.length) d3.select(element.parentNode).append("p").text("Nothing was found.");
  const item = d3.select(element).selectAll("li").data(findings).enter().append("li");
  item.append("strong").text(d => `${d.kind}: `);
  item.append("span").text(d => `${d.sentence}${d.more ? ` (and ${d.more} more like it)` : ""} `);
  if (!NAMES) return;
  item.each(function (d) {
    d3.select(this).selectAll("a").data(d.tasks.filter(task => task !== null)).enter().append("a").attr("role", "button")
      .attr("tabindex", 0).text(task => ` task ${task}`).on("click", task => {
        goTo(task);
        document.getElementById("lanes").scrollIntoView();
      });
  });
}

const wordsOf = activity => (NAMES && NAMES.activities && NAMES.activities[activity]) || activity;

/* A resource of several cores is drawn as the mean of them, so that each row is as long as the run. */
function drawAccounts(accounts, makespan) {
  if (!section("accounts", accounts.length > 0)) return;
  const rows = accounts.map(account => ({
    name: account.count > 1 ? `${account.count} ${account.resource}` : account.resource,
    parts: Object.entries(account.us).map(([activity, us]) => ({
      name: wordsOf(activity), activity, us: us / account.count, sum: us }))
  }));
  drawBars(document.querySelector("#accounts .chart"), rows, makespan);
  drawTable(document.querySelector("#accounts table"), [
    {name: "resource", value: d => d.resource}, {name: "activity", value: d => d.name},
    {name: "time", value: d => d.sum, text: d => timeText(d.sum)},
    {name: "share", value: d => d.us / makespan, text: d => percentText(d.us / makespan)}
  ], rows.flatMap(row => row.parts.filter(d => d.us > 0).map(d => ({...d, resource: row.name}))));
}

function drawKernels(kernels, stats) {
  if (!section("kernels", kernels.length > 0)) return;
  const total = d3.sum(kernels, d => d.total_us), time = (name, value) => ({name, value, text: d => timeText(value(d))});
  const isThere = key => typeof kernels[0][key] === "number";
  const split = ["compute_us", "memory_us", "contention_us"].filter(isThere).map(key => ({
    name: key.replace("_us", ""), value: d => d[key] / (d.total_us || 1), text: d => percentText(d[key] / (d.total_us || 1))}));
  const number = (name, key, text) => ({name, value: d => d[key], text: d => d[key] === null ? "" : text(d[key])});
  const digits = d => d3.format(",")(+d.toPrecision(3));
  const roof = !isThere("roof_share") ? [] : [
    number("bytes", "bytes", bytesText), number("operations", "operations", d => d3.format(".4~s")(d)),
    number("ops/byte", "intensity", digits), number("Gop/s", "gops", digits), number("GB/s", "gbps", digits),
    number("of roof", "roof_share", percentText), {name: "roof", value: d => d.bound || ""}];
  const pick = name => findText(`"${name}"`);
  drawTable(document.querySelector("#kernels table"), [
    {name: "kernel", value: d => d.name, pick: d => () => pick(d.name)}, {name: "calls", value: d => d.calls},
    {name: "share", value: d => d.total_us / total, text: d => percentText(d.total_us / total)},
    time("total", d => d.total_us), time("mean", d => d.total_us / d.calls), time("longest", d => d.longest_us), ...split, ...roof
  ], kernels);
  drawRoofline(document.getElementById("roofline"), stats, pick);
  d3.selectAll("#kernels h3, .of-roofline").style("display", document.querySelector("#roofline svg") ? null : "none");
}

/* What tasks of one node or label took on cores. */
function drawGroups(id, groups, nameOf) {
  if (!section(id, groups && groups.length > 0)) return;
  const total = d3.sum(groups, d => d.seconds), time = value => timeText(value * 1e6);
  drawTable(document.querySelector(`#${id} table`), [
    {name: id.slice(0, -1), value: d => nameOf(d) || "(none)", pick: d => nameOf(d) && (() => findText(`"${nameOf(d)}"`))},
    {name: "calls", value: d => d.calls}, {name: "share", value: d => d.seconds / total, text: d => percentText(d.seconds / total)},
    {name: "total", value: d => d.seconds, text: d => time(d.seconds)},
    {name: "mean", value: d => d.seconds / d.calls, text: d => time(d.seconds / d.calls)}
  ], groups, 20);
}

function drawPath(path, makespan) {
  if (!section("path", path && path.steps.length > 0)) return;
  drawBars(document.querySelector("#path .chart"), [{name: "critical path", parts: Object.entries(path.us).map(
    ([activity, us]) => ({name: wordsOf(activity), activity, us }))}], makespan);
  drawTable(document.querySelector("#path table"), [
    {name: "begin", value: d => d.begin_us, text: d => timeText(d.begin_us),
     pick: d => () => showTime(d.begin_us, d.end_us)},
    {name: "takes", value: d => d.end_us - d.begin_us, text: d => timeText(d.end_us - d.begin_us)},
    {name: "on", value: d => d.resource},
    {name: "what", value: d => d.kernel ? `${wordsOf(d.activity)}, ${d.kernel}` : wordsOf(d.activity)},
    {name: "tasks", value: d => d.first_task,
     text: d => d.first_task === null ? "" : d.first_task === d.last_task ? d.first_task : `${d.first_task} to ${d.last_task}`,
     pick: d => d.first_task === null ? null : () => goTo(d.first_task)}
  ], path.steps);
}

function showTime(beginUs, endUs) {
  const units = NAMES.units_per_us, margin = (endUs - beginUs) / 2 + 0.001;
  timeline.show(Math.max(0, (beginUs - margin) * units), Math.min(run.end, (endUs + margin) * units));
  document.getElementById("lanes").scrollIntoView();
}

function findText(text) {
  const form = document.getElementById("search");
  form.elements.text.value = text;
  form.elements.text.dispatchEvent(new Event("input"));
  document.getElementById("lanes").scrollIntoView();
}

draw().catch(error => {
  document.documentElement.dataset.ready = "failed";
  d3.select("#verdict").text(`This page cannot be drawn: ${error.message}`);
  console.error(error);
});
