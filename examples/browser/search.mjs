/** The page: searches the published notes. */

import { DirectoryNamespace } from "tiltyard";
import { httpDisk } from "tiltyard/disks";
import { vectorOf } from "./notes.mjs";

let requests = 0;
const disk = httpDisk(new URL("tables/", document.baseURI), {
  fetch(...call) {
    requests++;
    return fetch(...call);
  },
});
const ns = new DirectoryNamespace({ root: "/", disk });
const table = ns.table("notes");

const form = document.querySelector("form");
const status = document.querySelector("[role=status]");
const list = document.querySelector("ol");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const words = form.elements.words.value;
  const wanted = { limit: 10, columns: ["id", "text"] };
  status.textContent = "Searching …";
  requests = 0;
  const startMs = performance.now();
  try {
    const query =
      event.submitter?.value === "vector"
        ? table.search({ vector: vectorOf(words), ...wanted })
        : table.search({ text: words, ...wanted });
    const rows = await query.toArray();
    list.replaceChildren(
      ...rows.map(({ text }) => Object.assign(document.createElement("li"), { textContent: text })),
    );
    const ms = Math.round(performance.now() - startMs);
    status.textContent = `${rows.length} notes, ${requests} requests, ${ms} ms`;
  } catch (error) {
    status.textContent = error.message;
  }
});
