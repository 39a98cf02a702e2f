/** The page of a diary: its table lies in the private file system of the browser, and stays there. */

import { DirectoryNamespace, defineTable, timestamp, utf8 } from "tiltyard";
import { opfsDisk } from "tiltyard/disks";

const schema = defineTable({ id: utf8(), text: utf8(), written: timestamp("ms") });
const ns = new DirectoryNamespace({ root: "/", disk: opfsDisk({ directory: "diary" }) });
const table = ns.table("notes", { schema });

const status = document.querySelector("[role=status]");
const list = document.querySelector("ul");
const search = document.querySelector("#search");

/** Shows the notes that have the words, the newest first. */
async function show() {
  const words = search.elements.words.value.trim();
  const query = words === "" ? table.scan() : table.search({ text: words, limit: 1000 });
  const notes = await query.toArray({ dates: "number" });
  notes.sort((a, b) => b.written - a.written);
  list.replaceChildren(...notes.map(itemOf));
  const { version } = await table.describe();
  status.textContent = `${notes.length} notes, version ${version}`;
}

function itemOf({ id, text, written }) {
  const remove = Object.assign(document.createElement("button"), { textContent: "Remove" });
  remove.addEventListener("click", () => change(() => table.delete("id = $id", { id })));
  const item = document.createElement("li");
  item.append(`${new Date(written).toLocaleString()}: ${text} `, remove);
  return item;
}

/** Makes a change, and shows the notes after it. */
async function change(step) {
  try {
    await step();
    await show();
  } catch (error) {
    status.textContent = error.message;
  }
}

document.querySelector("#add").addEventListener("submit", (event) => {
  event.preventDefault();
  const { text } = event.target.elements;
  const note = { id: crypto.randomUUID(), text: text.value, written: new Date() };
  text.value = "";
  change(() => table.insert([note]));
});

search.addEventListener("submit", (event) => {
  event.preventDefault();
  change(() => undefined);
});

// Each change made a version, so the version before the latest is the diary before the last change.
document.querySelector("#undo").addEventListener("click", () =>
  change(async () => {
    const { version } = await table.describe();
    if (version > first) await table.restore(version - 1);
  }),
);

/** Creates the table and its index of words on the first visit. Returns the version that undoing ends at. */
async function begin() {
  if (await table.exists()) return (await table.tags()).empty.version;
  await table.create([]);
  await table.waitForJob(await table.createIndex("text", { indexType: "FTS" }));
  const { version } = await table.describe();
  await table.createTag("empty", version);
  return version;
}

const first = await begin();
await change(() => undefined);
