/* SPDX-License-Identifier: MIT */
/* `ptosim run --ranks`: what bounds all ranks, where the time of each went, and what went between them. */

const linkText = d => d.to === null ? `rank ${d.rank}` : `rank ${d.rank} -> rank ${d.to}`;

/* A lane a rank, with its stretches of the critical path, and one of links: [name, run] of each. */
function runsOfRanks(d) {
  const stepsOf = rank => d.path ? {path: {steps: d.path.steps.filter(step => step.rank === rank)}} : {};
  const runs = d.results.map((result, rank) => [`rank ${rank}`, new Run(`r${rank}-`, {...result, stats: stepsOf(rank)})]);
  return [...runs, ["links", new Run(`r${d.ranks}-`)]].filter(([, run]) => run.names);
}

PARTS.push({
  id: "ranks",
  title: "Ranks",
  name: d => `${d.program}, on ${d.ranks} ranks`,
  verdict: d => d.error || (d.path ? `Bound by ${d.path.bound_by}: ${percentText(d.path.share)} of the run, the largest part ` +
    `${linkText(d.path.most)}, ${timeText(d.path.most.us)}` : ""),
  draw(element, d) {
    const box = d3.select(element), chart = id => box.append("div").attr("class", "chart").attr("id", id).node();
    const table = (title, id, columns, rows) => {
      if (!rows.length) return;
      box.append("h3").text(title);
      drawTable(box.append("div").attr("class", "chart").append("table").attr("id", id).node(), columns, rows);
    };
    const time = (name, value) => ({name, value, text: row => timeText(value(row))});
    if (d.path) {
      box.append("h3").text("The critical path over all ranks");
      drawBars(chart("ranks-path"), [{name: "by activity", parts: Object.entries(d.path.us).map(([activity, us]) => ({name: wordsOf(activity), activity, us}))},
        {name: "by rank and link", parts: d.path.on.map(part => ({name: linkText(part), activity: linkText(part), us: part.us}))}], d.path.makespan_us);
    }
    const accounts = d.results.flatMap((result, rank) => ((result.stats || {}).accounts || [])
      .filter(account => account.used && account.kind !== "scheduler").map(account => ({
        name: `${rank}: ${account.resource}`, parts: Object.entries(account.us).map(([activity, us]) => ({name: wordsOf(activity), activity, us: us / account.count}))})));
    if (accounts.length) {
      box.append("h3").text("Where the time of each rank went");
      drawBars(chart("ranks-accounts"), accounts, d.virtual_us);
    }
    table("Ranks", "ranks-results", [
      {name: "rank", value: row => row.rank}, {name: "tasks", value: row => row.tasks}, {name: "edges", value: row => row.edges},
      time("makespan", row => row.virtual_us), {name: "on the critical path", value: row => row.path, text: row => timeText(row.path)},
      {name: "result", value: row => row.verified === true ? "verified" : row.verified === false ? "WRONG" : row.status}
    ], d.results.map((result, rank) => ({...result, rank, path: d3.sum(d.path ? d.path.on : [], part => part.rank === rank && part.to === null ? part.us : 0)})));
    table("Links", "ranks-links", [
      {name: "link", isText: true, value: row => row.link}, {name: "messages", value: row => row.messages},
      {name: "bytes", value: row => row.bytes, text: row => bytesText(row.bytes)}, time("busy", row => row.busy_us)
    ], (d.links || []).slice().sort((a, b) => b.bytes - a.bytes));
    if (!d.comm_stats) return;
    const number = (name, key) => ({name, value: row => row[key], text: row => row[key] === null ? "" : d3.format(".2f")(row[key])});
    table("Collectives and groups", "ranks-calls", [
      {name: "comm", value: row => row.comm}, {name: "kernel", isText: true, value: row => row.kernel}, {name: "calls", value: row => row.calls},
      {name: "bytes", value: row => row.bytes, text: row => bytesText(row.bytes)}, time("mean", row => row.total_us / (row.calls || 1)),
      time("mean skew", row => row.total_skew_us / (row.calls || 1)), number("algbw GB/s", "algbw_gbps"), number("busbw GB/s", "busbw_gbps")
    ], d.comm_stats.comms.flatMap((comm, i) => comm.calls.map(call => ({...call, comm: i}))));
    table("Who waited for whom", "ranks-waits", [
      {name: "rank", value: row => row.rank}, {name: "for rank", value: row => row.peer}, {name: "times", value: row => row.count}, time("time", row => row.us)
    ], d.comm_stats.waits);
  }
});
