/**
 * Writes one of the tables under test/golden/oldIndexes:
 *
 *     node test/support/writeOldIndexes.mjs <directory> <kind>
 *
 * `directory` holds node_modules with a release of `@lancedb/lancedb`; `kind` is `btree` or `fts`. The table is
 * `<release>_<kind>.lance`: rows with an index on `value` or, with positions, on `text`; a few of them deleted later, and
 * some rows that the index does not cover. Rows are the same for each call.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [directory, kind] = process.argv.slice(2);
const require = createRequire(join(resolve(directory), "package.json"));
const { connect, Index } = require("@lancedb/lancedb");
const manifest = join(resolve(directory), "node_modules/@lancedb/lancedb/package.json");
const release = JSON.parse(readFileSync(manifest, "utf8")).version;

const WORDS = ["apple", "Bananas", "cherry", "running", "the", "of", "naïve", "Straße", "easily"];
/** A word is in more than one block of documents, and one document has it in more than one block of positions. */
const textOf = (id) =>
  id === 7
    ? `${"apple of ".repeat(150)}end`
    : id % 19 === 4
      ? ""
      : `${Array.from({ length: 2 + (id % 5) }, (_, at) => WORDS[(id * 7 + at * at * 5) % 9]).join(" ")} apple w${id % 30}`;
const rowOf = (id) =>
  kind === "fts"
    ? { id, text: textOf(id) }
    : { id, value: id % 13 === 5 ? null : ((id * 37) % 97) - 40, word: id % 11 === 2 ? null : `k${id % 50}` };
const rows = (first, count) => Array.from({ length: count }, (_, at) => rowOf(first + at));

const root = fileURLToPath(new URL("../golden/oldIndexes", import.meta.url));
const database = await connect(root);
const table = await database.createTable(`${release}_${kind}`, rows(0, 260));
if (kind === "fts") await table.createIndex("text", { config: Index.fts({ withPosition: true }) });
else for (const column of ["value", "word"]) await table.createIndex(column, { config: Index.btree() });
await table.delete("id % 23 = 3");
await table.add(rows(1000, 40));
