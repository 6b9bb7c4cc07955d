/* SPDX-License-Identifier: MIT */
/*
 * Parts of the page that are of one document each, for what is not of a run alone: a script pushes
 *
 *   PARTS.push({id, title, name, verdict, draw});
 *
 * id: of the document, `{id: "what_if", …}` draws <script id="what_if">; where the page has none, the part is not there.
 * title: of its section.  draw(element, document): draws into the section's element; may return a promise.  Charts and
 * tables are those of charts.js.
 * Where no run is in the page, the first part that is there says what the page's head does: name(document) and
 * verdict(document), a sentence each; chip, engine, deps, tasks and edges of the document are told below them.
 *
 * Sections of parts stand first, in the order of page_files.c.
 */
const PARTS = [];

/* Of a page without a run: the part that heads it, and its document; null: there is a run. */
const headPart = () => NAMES ? undefined : PARTS.find(part => documentOf(part.id));
const documentOfPart = () => headPart() ? documentOf(headPart().id) : null;

async function drawParts() {
  const before = document.querySelector("main").firstElementChild, head = headPart();
  if (head) d3.select("#verdict").text(head.verdict(documentOfPart()));
  for (const part of PARTS) {
    const about = documentOf(part.id);
    if (!about) continue;
    const element = document.createElement("section");
    element.id = `part-${part.id}`;
    element.dataset.title = part.title;
    before.before(element);
    section(element.id, true);
    await part.draw(element, about);
  }
}
