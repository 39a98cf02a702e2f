/**
 * Finds passages by their topic, among some thousand passages of the documentation and licences in this
 * checkout. Each passage has an embedding, and an index answers the questions. Run it with
 * `npm run retrieval`, or with your own questions: `npm run retrieval -- "who may use this, and how"`. The
 * directory stays for inspection.
 *
 * A stand-in makes the embeddings, so that the example needs no download. It only knows that texts with the
 * same words, or parts of words, are near to each other. Load a real model like this, and pass it to the rest
 * of the program instead:
 *
 *     import { pipeline } from "@huggingface/transformers";
 *     const extract = await pipeline("feature-extraction", "Xenova/all-MiniLM-L6-v2");
 *     const model: Embedder = {
 *       name: "all-MiniLM-L6-v2",
 *       dimension: 384,
 *       async embed(texts) {
 *         const vectors = await extract([...texts], { pooling: "mean", normalize: true });
 *         return vectors.tolist().map((vector: number[]) => Float32Array.from(vector));
 *       },
 *     };
 */

import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { DirectoryNamespace } from "tiltyard";

const ROOT = resolve("retrieval-data");
/** Directory of the texts. Default: the checkout, because this file runs as build/examples/retrieval.js. */
const FROM = process.env.RETRIEVAL_FROM ?? fileURLToPath(new URL("../../", import.meta.url));
const MOST_PASSAGES = Number(process.env.RETRIEVAL_PASSAGES ?? 4000);
const ROWS_AT_ONCE = 1000;

// ------------------------------------------------------------------------------------------- embeddings

interface Embedder {
  readonly name: string;
  readonly dimension: number;
  /** A vector of the length 1 for each text. */
  embed(texts: readonly string[]): Promise<Float32Array[]>;
}

/**
 * A stand-in for a model: words, and groups of four letters, each count in one place that their hash chooses.
 */
const standIn: Embedder = {
  name: "stand-in-words-1",
  dimension: 512,
  async embed(texts) {
    return texts.map((text) => {
      const vector = new Float32Array(this.dimension);
      for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
        // Short words are in every text and say little.
        add(vector, word, Math.min(1, word.length / 8));
        for (let offset = 0; offset + 4 <= word.length; offset++)
          add(vector, word.slice(offset, offset + 4), 0.25);
      }
      const length = Math.hypot(...vector) || 1;
      return vector.map((value) => value / length);
    });
  },
};

function add(vector: Float32Array, part: string, weight: number): void {
  let hash = 0x811c9dc5;
  for (let index = 0; index < part.length; index++)
    hash = Math.imul(hash ^ part.charCodeAt(index), 0x01000193);
  // One bit decides the sign, so that parts that share a place by chance do not add up.
  vector[(hash >>> 1) % vector.length] += (hash & 1) === 0 ? weight : -weight;
}

const embedder: Embedder = standIn;

// --------------------------------------------------------------------------------------------- passages

interface Passage {
  readonly source: string;
  readonly kind: "documentation" | "licence";
  readonly text: string;
}

/** Paragraphs of pages and licences, each once. */
function passagesIn(folder: string, most: number): Passage[] {
  const passages = new Map<string, Passage>();
  const visit = (path: string, depth: number): void => {
    const entries = readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      if (passages.size >= most) return;
      const entryPath = join(path, entry.name);
      if (entry.isDirectory() && depth < 4 && !entry.name.startsWith(".")) visit(entryPath, depth + 1);
      const isLicence = /^licen[cs]e/i.test(entry.name);
      if (!entry.isFile() || (!isLicence && !entry.name.endsWith(".md"))) continue;
      const kind = isLicence ? "licence" : "documentation";
      for (const part of readFileSync(entryPath, "utf8").split(/\r?\n\s*\r?\n/)) {
        const text = part.replace(/\s+/g, " ").trim();
        const isProse = text.length >= 80 && text.length <= 1500 && !/^[`|<]/.test(text);
        if (isProse && passages.size < most && !passages.has(text)) {
          passages.set(text, { source: relative(folder, entryPath), kind, text });
        }
      }
    }
  };
  visit(folder, 0);
  return [...passages.values()];
}

// -------------------------------------------------------------------------------------------- the table

const ns = new DirectoryNamespace({ root: ROOT });
const id = ["passages"];
const passages = passagesIn(FROM, MOST_PASSAGES);
for (let start = 0; start < passages.length; start += ROWS_AT_ONCE) {
  const some = passages.slice(start, start + ROWS_AT_ONCE);
  const vectors = await embedder.embed(some.map(({ text }) => text));
  const rows = some.map((passage, row) => ({ id: start + row, ...passage, vector: vectors[row] }));
  if (start === 0) await ns.createTable({ id, mode: "overwrite" }, rows);
  else await ns.insertIntoTable({ id }, rows);
}
const table = ns.table("passages");
const { jobId } = await table.createIndex("vector", { indexType: "IVF_HNSW_SQ", distanceType: "cosine" });
const { state } = await ns.waitForJob({ jobId });
console.log(`${passages.length} passages, embedded by ${embedder.name}; the index: ${state}.`);

// ---------------------------------------------------------------------------------------- the questions

const asked = process.argv.slice(2);
const questions =
  asked.length > 0 ? asked : ["may I sell copies of the software", "how to install it with npm"];
for (const question of questions) {
  const [vector] = await embedder.embed([question]);
  // The index tells what is near by codes of a byte for each value; the refine factor has distances computed
  // of the vectors.
  const near = await table
    .search({ vector, limit: 3, columns: ["source", "text"], refineFactor: 4 })
    .toArray();
  console.log(`\n${question}?`);
  for (const { source, text, _distance } of near) {
    console.log(`  ${(1 - Number(_distance)).toFixed(2)}  ${source}: ${String(text).slice(0, 70)}…`);
  }
}
const [vector] = await embedder.embed([questions[0]]);
const licences = { vector, limit: 5, columns: ["kind"], filter: "kind = 'licence'" };
const kinds = new Set((await table.search(licences).toArray()).map(({ kind }) => kind));
console.log(`\nFiltered: only of the kind ${[...kinds].join(", ")}.`);

// ----------------------------------------------------------------------------------- how well it works

/** Every so manieth passage is looked for by the second half of its words. */
const step = Math.max(1, Math.floor(passages.length / 100));
let [looked, hits, sameRows, allRows] = [0, 0, 0, 0];
for (let row = 0; row < passages.length; row += step) {
  const words = passages[row].text.split(" ");
  const [half] = await embedder.embed([words.slice(words.length >> 1).join(" ")]);
  const query = { vector: half, limit: 10, columns: ["id"], distanceType: "cosine" as const };
  const byIndex = (await table.search(query).toArray()).map((row) => Number(row.id));
  const exact = await table.search({ ...query, bypassVectorIndex: true }).toArray();
  const nearest = new Set(exact.map((row) => Number(row.id)));
  looked++;
  if (byIndex.includes(row)) hits++;
  sameRows += byIndex.filter((id) => nearest.has(id)).length;
  allRows += nearest.size;
}
const percent = (part: number, all: number): string => `${((100 * part) / all).toFixed(1)} %`;
console.log(
  `Of ${looked} passages, ${percent(hits, looked)} are among the ten nearest to half of their words.`,
);
console.log(`The index finds ${percent(sameRows, allRows)} of the ten nearest that comparing all finds.`);
await ns.close();
