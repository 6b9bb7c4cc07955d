/* SPDX-License-Identifier: MIT */
/*
 * The task graph: layers from left to right, a box a task.  Of a large graph, a box a kernel, with how many tasks it stands
 * for and, at each arrow, how many edges.
 */

const MOST_TASKS_DRAWN = 300;

/* {nodes: [{name, count, layer, task}], edges: [{from, to, count}]}; a layer is the longest way to the node. */
function taskGraph(run) {
  const {edges, tasks, names} = run, count = names.tasks;
  const layer = new Uint32Array(count);
  for (let i = 0; i < count; i++)
    for (let k = edges.producers.first[i]; k < edges.producers.first[i + 1]; k++)
      layer[i] = Math.max(layer[i], layer[edges.producers.items[k]] + 1);
  const groupOf = new Uint32Array(count), nodes = [], byKey = new Map(), arrows = new Map();
  const isSummary = count > MOST_TASKS_DRAWN;
  for (let i = 0; i < count; i++) {
    const key = isSummary ? tasks.kernel[i] : i;
    if (!byKey.has(key)) {
      byKey.set(key, nodes.length);
      nodes.push({name: names.names[tasks.kernel[i]], count: 0, layer: layer[i], task: i});
    }
    groupOf[i] = byKey.get(key);
    nodes[groupOf[i]].count++;
  }
  for (let i = 0; i < count; i++)
    for (let k = edges.producers.first[i]; k < edges.producers.first[i + 1]; k++) {
      const key = groupOf[edges.producers.items[k]] * nodes.length + groupOf[i];
      arrows.set(key, (arrows.get(key) || 0) + 1);
    }
  if (isSummary) nodes.map((_, i) => i).sort((a, b) => nodes[a].task - nodes[b].task).forEach((n, i) => { nodes[n].layer = i; });
  return {isSummary, nodes, edges: [...arrows].map(([key, edgeCount]) => ({
    from: Math.floor(key / nodes.length), to: key % nodes.length, count: edgeCount}))};
}

function drawGraph(element, graph, run, onSelect) {
  const boxWidth = 120, boxHeight = 26, across = 170, down = 40;
  const inLayer = [];
  graph.nodes.forEach(node => {
    const row = inLayer[node.layer] = (inLayer[node.layer] || 0) + 1;
    node.x = 10 + node.layer * across;
    node.y = 24 + (row - 1) * down + (graph.isSummary ? (node.layer % 3) * down : 0);
  });
  const width = d3.max(graph.nodes, d => d.x) + boxWidth + 20, height = d3.max(graph.nodes, d => d.y) + boxHeight + 60;
  d3.select(element).html("");
  const svg = pictureIn(element, width, height, "task graph");
  svg.append("defs").append("marker").attr("id", "tip").attr("viewBox", "0 0 8 8").attr("refX", 8).attr("refY", 4)
    .attr("markerWidth", 7).attr("markerHeight", 7).attr("orient", "auto").append("path").attr("d", "M0,0L8,4L0,8z")
    .attr("fill", "currentColor");
  const arrow = svg.selectAll("g.edge").data(graph.edges).enter().append("g").attr("class", "edge");
  arrow.append("path").attr("fill", "none").attr("stroke", "currentColor").attr("stroke-opacity", 0.5)
    .attr("marker-end", "url(#tip)").attr("d", d => {
      const from = graph.nodes[d.from], to = graph.nodes[d.to];
      if (d.from === d.to)
        return `M${from.x + 20},${from.y + boxHeight}c0,22 60,22 60,2`;
      const x0 = from.x + boxWidth, y0 = from.y + boxHeight / 2, x1 = to.x, y1 = to.y + boxHeight / 2, bend = (x0 + x1) / 2;
      return to.x > from.x ? `M${x0},${y0}C${bend},${y0} ${bend},${y1} ${x1},${y1}`
                           : `M${from.x + boxWidth / 2},${from.y + boxHeight}C${from.x},${from.y + 70} ${to.x},${to.y + 70} ${to.x + boxWidth / 2},${to.y + boxHeight}`;
    });
  arrow.append("title").text(d => `${graph.nodes[d.from].name} to ${graph.nodes[d.to].name}: ${d.count} ${d.count === 1 ? "edge" : "edges"}`);
  if (graph.isSummary)
    arrow.append("text").attr("text-anchor", "middle")
      .attr("x", d => (graph.nodes[d.from].x + graph.nodes[d.to].x + boxWidth) / 2)
      .attr("y", d => (graph.nodes[d.from].y + graph.nodes[d.to].y + boxHeight) / 2 + (d.from === d.to ? 34 : d.to < d.from ? 40 : 0))
      .text(d => d.count);
  const box = svg.selectAll("g.node").data(graph.nodes).enter().append("g").attr("class", "node")
    .attr("transform", d => `translate(${d.x}, ${d.y})`).style("cursor", "pointer").on("click", d => onSelect(d.task));
  box.append("rect").attr("width", boxWidth).attr("height", boxHeight).attr("rx", 3).style("fill", d => run.colour(d.name))
    .attr("data-task", d => d.task).attr("data-count", d => d.count);
  box.append("text").attr("class", "inside").style("fill", d => inkOn(run.colour(d.name))).attr("x", 6).attr("y", 17)
    .text(d => (graph.isSummary ? `${d.count} × ${d.name}` : `${d.task} ${d.name}`).slice(0, 19));
  box.append("title").text(d => graph.isSummary ? `${d.count} tasks of ${d.name}` : `task ${d.task}: ${d.name}`);
}
