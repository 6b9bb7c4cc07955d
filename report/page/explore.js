/* SPDX-License-Identifier: MIT */
/* `ptosim explore`: which orders were tried, which of them differ, and what is enough to make one do so. */

PARTS.push({
  id: "explore",
  title: "Orders",
  name: d => `${d.program}, in many orders`,
  verdict(d) {
    const runs = d.schedules + d.thread_runs, what = d.thread_runs || d.ranks ? "runs with delays" : d.all ? "orders" : "schedules";
    const told = d.all ? d.all.orders : runs;
    if (d.error) return d.error;
    if (d.ranks) return d.differing ? `The result depends on which rank is late: ${d.differing} of ${runs} ${what} differ`
      : `No delay of a rank changes the result: ${runs} ${what}`;
    if (d.differing) return `The result depends on the order: ${d.differing} of ${runs} ${what} differ from the sequential run`;
    return `No order differs from the sequential run: ${told} ${what}` +
      (d.all ? d.all.is_complete ? ", which are all that may matter" : ` of at least ${d.all.at_least}` : "");
  },
  draw(element, d) {
    const box = d3.select(element), facts = d.ranks ? [
      ["ranks", d.ranks], ["tasks", d.tasks], ["runs with delays", d.schedules], ["differ", d.differing], ["seed", d.seed]] : [
      ["schedules", d.schedules], ["distinct orders", d.distinct_orders], ["decisions", d.decisions],
      ["runs on threads", d.thread_runs], ["differ", d.differing], ["seed", d.seed], ["kernel calls", d.calls]];
    const fact = box.append("dl").selectAll("div").data(facts).enter().append("div");
    fact.append("dt").text(([name]) => name);
    fact.append("dd").text(([, value]) => value);
    box.append("h3").text("Findings");
    drawFindingList(box.append("ol").attr("id", "explore-findings").node(), d.findings);
    if (d.differences.length) {
      box.append("h3").text("Schedules that differ, shrunk");
      box.append("p").attr("class", "hint").text("Of all that a schedule decides, holding this is enough for the wrong result. " +
        "`--replay NAME` with the same options runs it again.");
      drawTable(box.append("div").attr("class", "chart").append("table").attr("id", "differences").node(), [
        {name: "schedule", value: row => row.schedule}, {name: "enough is", isText: true, value: row => row.holds.join("; ")},
        {name: "holds before", value: row => row.decisions}, {name: "left", value: row => row.holds.length}
      ], d.differences);
    }
    drawSchedules(box, d);
  }
});

/* How many schedules each strategy made. */
function drawSchedules(box, d) {
  const strategies = Object.entries(d.strategies).map(([name, count]) => ({name, count}));
  if (!strategies.length) return;
  box.append("h3").text("Schedules by strategy");
  drawTable(box.append("table").attr("id", "strategies").node(), [
    {name: "strategy", value: row => row.name}, {name: "schedules", value: row => row.count}
  ], strategies);
}
