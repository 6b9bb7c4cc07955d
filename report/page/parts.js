/* SPDX-License-Identifier: MIT */
/*
 * Parts of the page that are of one document each, for what is not of a run alone: a script pushes
 *
 *   PARTS.push({id, title, head, draw});
 *
 * id: of the document, `{id: "what_if", …}` draws <script id="what_if">; where the page has none, the part is not there.
 * title: of its section.  head(document): of the whole page, where no run is in it.  draw(element, document): draws into
 * the section's element; may return a promise.  Charts and tables are those of charts.js.
 *
 * Sections of parts stand first, in the order of page_files.c.
 */
const PARTS = [];

/* What a page without a run is called. */
function headOfParts() {
  const part = PARTS.find(part => documentOf(part.id));
  return part ? part.head(documentOf(part.id)) : "";
}

async function drawParts() {
  const before = document.querySelector("main").firstElementChild;
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
