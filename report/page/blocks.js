/* SPDX-License-Identifier: MIT */
/* Blocks of the page (report/page/columns.h), opened when they are asked for. */

function documentOf(id) {
  const element = document.getElementById(id);
  return element ? JSON.parse(element.textContent) : null;
}

/* The columns of a block, as readers of numbers; null where the page has no such block.  Ids of blocks begin with the
 * prefix of their run: none, or a- and b- of the two of compare. */
async function openBlock(id) {
  const element = document.getElementById(id);
  if (!element) return null;
  const text = atob(element.textContent);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const view = new DataView(bytes.buffer);
  const columns = [];
  for (let at = 0; at < bytes.length;) {
    const length = view.getUint32(at, true);
    columns.push(new Column(bytes.subarray(at + 4, at + 4 + length)));
    at += 4 + length;
  }
  return columns;
}

class Column {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  get isAtEnd() { return this.at >= this.bytes.length; }
  /* Above 2^53 the last digits are lost: no time or size of a run is that long. */
  next() {
    let byte = this.bytes[this.at++], value = byte & 127;
    for (let scale = 128; byte >= 128; scale *= 128) {
      byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
    }
    return value;
  }
  nextSigned() {
    const value = this.next();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
  /* How many numbers are left. */
  count() {
    let count = 0;
    for (let i = this.at; i < this.bytes.length; i++) count += this.bytes[i] < 128;
    return count;
  }
}

/* Lets the browser answer its user, where that was not so for a while. */
let lastBreath = performance.now();
async function breathe() {
  if (performance.now() - lastBreath < 30) return;
  await new Promise(done => setTimeout(done));
  lastBreath = performance.now();
}

/* What tracks consist of, begin, end and name of each, and of each track its first one (tracks.length + 1 numbers).
 * readMore(list, i, isFirst): the rest of it, isFirst of its track. */
async function readTracks([counts, gaps, lengths, names], more, readMore) {
  const first = [0];
  while (!counts.isAtEnd) first.push(first[first.length - 1] + counts.next());
  const count = first[first.length - 1];
  const list = {first, count, begin: new Float64Array(count), end: new Float64Array(count), name: new Uint16Array(count), ...more(count)};
  for (let track = 0; track + 1 < first.length; track++) {
    let time = 0;
    for (let i = first[track]; i < first[track + 1]; i++) {
      list.begin[i] = time + gaps.nextSigned();
      time = list.end[i] = list.begin[i] + lengths.next();
      list.name[i] = names.next();
      readMore(list, i, i === first[track]);
    }
    await breathe();
  }
  return list;
}

/* Items of many spans, with the time in which they were busy; null where the page has no timeline. */
async function readOverview(prefix) {
  const block = await openBlock(`${prefix}overview`);
  return block && readTracks(block, count => ({busy: new Float64Array(count)}), (items, i) => { items.busy[i] = block[4].next(); });
}

async function readSpans(prefix) {
  const block = await openBlock(`${prefix}timeline`), [tasks, blocks] = block.slice(4);
  let task = 0;
  return readTracks(block, count => ({task: new Int32Array(count), block: new Uint32Array(count)}), (spans, i, isFirst) => {
    spans.task[i] = (task = (isFirst ? 0 : task) + tasks.nextSigned()) - 1;
    spans.block[i] = blocks.next();
  });
}

async function readTasks(prefix, count) {
  const [kernels, submitted, places, blocks, scopes] = await openBlock(`${prefix}tasks`);
  const tasks = {
    kernel: new Uint16Array(count), submitted: new Float64Array(count), place: new Uint32Array(count),
    blocks: new Uint32Array(count), scope: new Uint32Array(count)
  };
  let time = 0, scope = 0;
  for (let i = 0; i < count; i++) {
    tasks.kernel[i] = kernels.next();
    tasks.submitted[i] = time += submitted.nextSigned();
    tasks.place[i] = places.next();
    tasks.blocks[i] = blocks.next();
    tasks.scope[i] = scope += scopes.nextSigned();
  }
  return tasks;
}

/* A list for each task, all in one array: items of task i are items[first[i] … first[i + 1]]. */
function reversed(first, items, count) {
  const back = new Uint32Array(count + 1);
  for (const item of items) back[item + 1]++;
  for (let i = 0; i < count; i++) back[i + 1] += back[i];
  const at = back.slice(), users = new Uint32Array(items.length);
  for (let i = 0; i < count; i++)
    for (let k = first[i]; k < first[i + 1]; k++) users[at[items[k]]++] = i;
  return {first: back, items: users};
}

async function readEdges(prefix, count) {
  const [producers, back, reasons] = await openBlock(`${prefix}edges`);
  const edgeCount = back.count();
  const first = new Uint32Array(count + 1), items = new Uint32Array(edgeCount), bits = new Uint8Array(edgeCount);
  for (let i = 0, at = 0; i < count; i++) {
    first[i + 1] = first[i] + producers.next();
    for (; at < first[i + 1]; at++) {
      items[at] = i - back.next();
      bits[at] = reasons.next();
    }
  }
  return {count: edgeCount, producers: {first, items}, reasons: bits, consumers: reversed(first, items, count)};
}

/* One array of parameters a task. */
async function readTensors(prefix, names) {
  const [params, modes, buffers, dtypes, ranks, sizes, offsets, bytes] = await openBlock(`${prefix}tensors`);
  const count = names.tasks, tensors = new Array(count);
  let buffer = 0;
  for (let i = 0; i < count; i++) {
    tensors[i] = new Array(params.next());
    for (let k = 0; k < tensors[i].length; k++) {
      const mode = modes.next(), shape = [];
      buffer += buffers.nextSigned();
      const dtype = names.dtypes[dtypes.next()];
      for (let rank = ranks.next(); rank > 0; rank--) shape.push(sizes.next());
      const offset = offsets.next(), size = bytes.next();
      tensors[i][k] = {
        mode: names.modes[mode >> 1], isPredicate: mode % 2 === 1, buffer, dtype, shape, offset,
        bytes: Math.floor(size / 2), isManaged: size % 2 === 1
      };
    }
  }
  return tensors;
}

async function readSamples() {
  const [times, ready, flights, windows, heaps] = await openBlock("samples");
  const count = times.count();
  const samples = {
    count, time: new Float64Array(count), ready: new Float64Array(count), inFlight: new Float64Array(count),
    window: new Float64Array(count), heap: new Float64Array(count)
  };
  let time = 0, heap = 0;
  for (let i = 0; i < count; i++) {
    samples.time[i] = time += times.next();
    samples.ready[i] = ready.next();
    samples.inFlight[i] = flights.next();
    samples.window[i] = windows.next();
    samples.heap[i] = heap += heaps.nextSigned();
  }
  return samples;
}

/* ---- words for numbers ---- */

const NAMES = documentOf("names");

function timeText(us) {
  const size = Math.abs(us);
  if (size === 0) return "0";
  if (size < 1) return `${+(us * 1e3).toPrecision(4)} ns`;
  if (size < 1e3) return `${+us.toPrecision(4)} µs`;
  if (size < 1e6) return `${+(us / 1e3).toPrecision(4)} ms`;
  return `${+(us / 1e6).toPrecision(4)} s`;
}

function bytesText(bytes) {
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]])
    if (bytes >= size) return `${+(bytes / size).toPrecision(4)} ${unit}`;
  return `${bytes} B`;
}
const percentText = share => `${(100 * share).toFixed(1)} %`;

/* Colours that the colour-blind tell apart (Okabe and Ito 2008), and lighter ones of the same. */
const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b0a000", "#7a5195",
                 "#5b9bd5", "#f2c14e", "#58c3a3", "#e3aecb", "#1f3a5f", "#a65628", "#4daf4a", "#984ea3"];
const IDLE = "#cfcfca"; /* waiting, in every chart */
const isWaiting = name => /^(wait|nothing to do)/.test(name);
/* A name has its colour in every page: an activity by its place in the list, a kernel by a hash of its name (FNV-1a). */
/* By their names in JSON, their words, in the order of the lists. */
const {activities: ACTIVITIES, groups: GROUPS} = documentOf("words");
const placeOf = new Map(Object.values(ACTIVITIES).map((words, i) => [words, i]));
const spread = place => d3.hcl(place % 360, 50, [48, 62, 76][place % 3]).hex();
function colourOf(name) {
  const place = placeOf.get(name);
  if (isWaiting(name)) return IDLE;
  if (place !== undefined) return PALETTE[place] || spread(137 * place);
  let hash = 0x811c9dc5;
  for (const letter of name) hash = Math.imul(hash ^ letter.codePointAt(0), 0x01000193) >>> 0;
  return spread(hash);
}
/* Black or white, whichever is read better on a colour (WCAG 2.1, relative luminance). */
function inkOn(colour) {
  const {r, g, b} = d3.rgb(colour);
  const [red, green, blue] = [r, g, b].map(c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000" : "#fff";
}
