/* SPDX-License-Identifier: MIT */
/* The page: what each section shows, and what a click does. */

const RESULT = documentOf("result") || {}; /* of --json */
/* Of a page of one run: that, and its timeline. */
const run = NAMES ? new Run("", RESULT) : null;
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
                 ["tasks", about.tasks], ["edges", about.edges], ["ranks", about.ranks],
                 ["makespan", about.virtual_us === undefined || about.virtual_us === null ? null
                   : timeText(about.virtual_us) + (about.h2d_bytes === undefined ? ""
                     : `, ${about.h2d_bytes || about.d2h_bytes || about.d2d_bytes ? "with" : "without"} transfers`)],
                 ["result", about.verified === true ? "verified" : about.verified === false ? "WRONG" : null],
                 ["records that did not fit", NAMES && NAMES.dropped_records || null]];
  d3.select("#facts").selectAll("div").data(facts.filter(d => d[1] !== null && d[1] !== undefined)).enter().append("div")
    .each(function ([name, value]) {
      d3.select(this).append("dt").text(name);
      d3.select(this).append("dd").text(value);
    });
}

/* ---- memory ---- */

/* Of managed buffers, from the first span of a task that uses it to the last, with both tasks: largest first. */
function buffersOf() {
  const buffers = new Map(), begin = new Float64Array(NAMES.tasks).fill(Infinity);
  for (let i = run.firstCall; i < run.spans.count; i++) {
    const task = run.spans.task[i];
    if (task >= 0 && task < NAMES.tasks) begin[task] = Math.min(begin[task], run.spans.begin[i]);
  }
  run.tensors.forEach((tensors, task) => {
    const span = run.lastSpanOf(task);
    for (const tensor of tensors) {
      if (!tensor.isManaged || span < 0) continue;
      const buffer = buffers.get(tensor.buffer) ||
        {buffer: tensor.buffer, name: run.bufferText(tensor.buffer), bytes: tensor.bytes, begin: Infinity, end: 0};
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
    lanes.forEach(lane => lane.timeline.draw());
  });
  await drawParts();
  drawResult();
  let chart = null;
  const several = documentOf("ranks") ? runsOfRanks(documentOf("ranks")) : ["a", "b"].filter(side => documentOf(`${side}-names`))
    .map(side => [laneName(side), new Run(`${side}-`, documentOf(`${side}-result`))]);
  if (several.length) document.querySelector("main").prepend(document.getElementById("lanes"));
  const isDrawn = await drawLanes(run ? [["", run]] : several, (begin, end) => { if (chart) chart.show(begin, end); });
  if (!isDrawn || !run) {
    for (const id of ["memory", "tasks-graph"]) section(id, false);
    document.documentElement.dataset.ready = "all";
    return;
  }
  timeline = lanes[0].timeline;
  const samples = await readSamples();
  if (section("memory", samples.count > 0))
    chart = new SampleChart(document.querySelector("#memory .chart"), samples, run, () => timeline.width, goTo);
  await new Promise(requestAnimationFrame);
  await run.loadGraph();
  if (section("tasks-graph", NAMES.tasks > 0))
    drawGraph(document.querySelector("#tasks-graph .chart"), taskGraph(run), run, goTo);
  if (chart && NAMES.tasks <= 20000) {
    await run.loadTensors();
    chart.buffers = buffersOf();
    chart.show(...chart.view);
  }
  document.documentElement.dataset.ready = "all";
}

/* What the document says, without the blocks. */
function drawResult() {
  const stats = RESULT.stats || {}, makespan = stats.makespan_us;
  if (stats.verdict) {
    const {bound_by, of, share, us, activity, activity_us, gains} = stats.verdict;
    const whole = of === "the critical path" ? "the run" : `the time of ${of}`;
    d3.select("#verdict").text(`Bound by ${bound_by}: ${percentText(share)} of ${whole}, ${timeText(us)}` +
      (activity ? `, the largest part ${wordsOf(activity)}, ${timeText(activity_us)}` : ""));
    const item = d3.select("#advice").selectAll("li").data(gains).enter().append("li")
      .text(d => `${d.what} in half the time: the run takes ${d.is_run ? "" : "about "}${timeText(d.makespan_us)}, ${timeText(d.us)} less`);
    item.filter(d => d.chip_set).append("code").text(d => d.command || `--chip-set ${d.chip_set}`);
    if (gains.length) d3.select("#advice-hint").text((gains.every(d => d.is_run) ? "Each was run, without computing; its command runs it whole." :
      `About: with the order of events held; ${gains.some(d => d.command) ? "each command" : "ptosim run with each option"} runs it.`) + " ptosim what-if PROGRAM runs every part and every number of the chip so." +
      (stats.verdict.not_run ? ` Could not be run, without computing: ${stats.verdict.not_run.count} of ${stats.verdict.not_run.of} (${stats.verdict.not_run.why}).` : ""));
  }
  if (!stats.verdict && NAMES && !NAMES.virtual)
    d3.select("#verdict").text(`Took ${timeText(makespan)} on this machine's threads; --engine virtual tells what bounds it on the chip`);
  if (RESULT.error) d3.select("#verdict").text(RESULT.error);
  const found = documentOf("found"), verdict = d3.select("#verdict");
  if (found && found.finding_count) {
    const lost = found.findings_lost && "Memory ran out: there are more than are told here";
    verdict.text([found.finding_count === 1 ? "1 finding" : `${found.finding_count} findings`, lost, verdict.text()].filter(Boolean).join(". "));
    d3.select("main").node().prepend(document.getElementById("findings"));
  }
  drawAccounts(stats.accounts || [], makespan);
  drawKernels(stats.kernels || [], stats);
  drawGroups("nodes", RESULT.node_times, d => d.name);
  drawGroups("labels", RESULT.label_times, d => d.label);
  drawPath(stats.path, makespan);
  drawChip(stats.chip_keys);
  drawFindings(found);
}

/* What the chip's file says, which --chip-set changes. */
function drawChip(keys) {
  if (!section("chip", keys && keys.length > 0)) return;
  drawTable(document.querySelector("#chip table"), [
    {name: "key", value: d => d.key}, {name: "value", value: d => isNaN(d.value) ? d.value : +d.value, text: d => d.value},
    {name: "unit", value: d => d.unit, isText: true}, {name: "how known", value: d => d.tag || "", isText: true},
    {name: "source", value: d => d.source, isText: true}
  ], keys, 1000);
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

const wordsOf = activity => ACTIVITIES[activity] || activity;

const sharesOf = makespan => us => `${Math.round(100 * us / makespan)} %`;

/* A resource of several cores is drawn as the mean of them, so that each row is as long as the run. */
function drawAccounts(accounts, makespan) {
  if (!section("accounts", accounts.length > 0)) return;
  const rows = accounts.map(account => ({
    name: account.count > 1 ? `${account.count} ${account.resource}` : account.resource,
    parts: Object.entries(account.us).map(([activity, us]) => ({
      name: wordsOf(activity), activity, us: us / account.count, sum: us }))
  }));
  drawBars(document.querySelector("#accounts .chart"), rows, makespan, sharesOf(makespan));
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
  const split = ["compute_us", "memory_us", "contention_us", "links_us", "ranks_us", "cores_us"].filter((key, i) => isThere(key) && (i < 3 || kernels.some(d => d[key]))).map(key => ({
    name: key.replace("_us", ""), value: d => d[key] / (d.total_us || 1), text: d => percentText(d[key] / (d.total_us || 1))}));
  const number = (name, key, text) => ({name, value: d => d[key], text: d => d[key] === null ? "" : text(d[key])});
  const digits = count => d => d3.format(",")(d >= 1000 ? Math.round(d) : +d.toPrecision(count));
  const roof = !isThere("roof_share") ? [] : [
    number("bytes", "bytes", bytesText), number("operations", "operations", d => d3.format(".4~s")(d)),
    number("ops/byte", "intensity", digits(3)), number("Gop/s", "gops", digits(4)), number("GB/s", "gbps", digits(4)),
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
    {name: "what", value: d => d.kernel ? `${GROUPS[d.group]}, ${d.kernel}` : GROUPS[d.group]},
    {name: "tasks", value: d => d.first_task,
     text: d => d.first_task === null ? "" : d.first_task === d.last_task ? d.first_task : `${d.first_task} to ${d.last_task}`,
     pick: d => d.first_task === null ? null : () => goTo(d.first_task)}
  ], path.steps);
}

/* Links and points without an address are clicked by keys, too, as a <button> is by itself. */
document.addEventListener("keydown", event => {
  if (event.target.getAttribute("role") !== "button" || !["Enter", " "].includes(event.key)) return;
  event.preventDefault();
  event.target.dispatchEvent(new MouseEvent("click", {bubbles: true}));
});

draw().catch(error => {
  document.documentElement.dataset.ready = "failed";
  d3.select("#verdict").text(`This page cannot be drawn: ${error.message}`);
  console.error(error);
});
