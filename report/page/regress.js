/* SPDX-License-Identifier: MIT */
/* `ptosim regress`: a row a case, those that are not as the baseline has them first, the largest change first. */

/* By how much a case takes longer than in the baseline; null: one of both is not known. */
const changeOf = d => d.virtual_us === null || d.baseline_virtual_us === null || d.baseline_virtual_us === 0
  ? null : d.virtual_us / d.baseline_virtual_us - 1;

const REGRESS_VERDICTS = ["failed", "changed", "new", "not run", "same"];

PARTS.push({
  id: "regress",
  title: "Cases",
  name: d => `${d.list}, compared with ${d.baseline || "no baseline"}`,
  verdict(d) {
    const {failed, changed, not_run, same} = d.counts, fresh = d.counts["new"];
    const slower = d.results.filter(row => row.verdict === "changed" && changeOf(row) > 0).length;
    const faster = d.results.filter(row => row.verdict === "changed" && changeOf(row) < 0).length;
    const parts = [[failed, "failed"], [changed, `changed (${slower} slower, ${faster} faster)`], [fresh, "new"], [not_run, "not run"]]
      .filter(([count]) => count).map(([count, what]) => `${count} ${what}`);
    const all = d.results.length;
    return parts.length ? `${parts.join(", ")}; ${same} of ${all} cases are ${d.baseline ? "as in the baseline" : "right"}`
                        : `All ${all} cases are ${d.baseline ? "as in the baseline" : "right"}`;
  },
  draw(element, d) {
    const rows = d.results.slice().sort((a, b) =>
      REGRESS_VERDICTS.indexOf(a.verdict) - REGRESS_VERDICTS.indexOf(b.verdict) ||
      Math.abs(changeOf(b) || 0) - Math.abs(changeOf(a) || 0));
    const time = key => ({value: row => row[key], text: row => row[key] === null ? "" : timeText(row[key])});
    drawTable(d3.select(element).append("div").attr("class", "chart").append("table").attr("id", "cases").node(), [
      {name: "case", value: row => row.case}, {name: "verdict", isText: true, value: row => row.verdict},
      {name: "change", value: changeOf, text: row => changeOf(row) === null ? "" : `${d3.format("+.2f")(100 * changeOf(row))} %`},
      {name: "on the chip", ...time("virtual_us")}, {name: "in the baseline", ...time("baseline_virtual_us")},
      {name: "tasks", value: row => row.tasks}, {name: "took", value: row => row.seconds, text: row => timeText(row.seconds * 1e6)},
      {name: "why", isText: true, value: row => row.sentence || ""}
    ], rows, 1000);
  }
});
