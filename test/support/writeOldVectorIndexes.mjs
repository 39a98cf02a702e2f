/**
 * Writes one of the tables under test/golden/oldVectorIndexes:
 *
 *     node test/support/writeOldVectorIndexes.mjs <directory> <kind> <metric>
 *
 * `directory` holds node_modules with a release of `@lancedb/lancedb` and the `apache-arrow` that it takes. The table is
 * `<release>_<kind>_<metric>.lance`: rows with an index on `vector`, a few of them deleted later, and some rows that the
 * index does not cover. Rows are the same for each call; what an index trains by chance is not.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [directory, kind, metric] = process.argv.slice(2);
const require = createRequire(join(resolve(directory), "package.json"));
const { connect, Index, makeArrowTable } = require("@lancedb/lancedb");
const { Field, FixedSizeList, Float32, Int32, Schema } = require("apache-arrow");
const manifest = join(resolve(directory), "node_modules/@lancedb/lancedb/package.json");
const release = JSON.parse(readFileSync(manifest, "utf8")).version;

/** Rows, dimensions, and the index of each kind. The graph of `hnswsq` has enough rows to be walked. */
const KINDS = {
  ivfpq: [280, 8, { numPartitions: 3, numSubVectors: 4 }, "ivfPq"],
  ivfpq4: [280, 8, { numPartitions: 3, numSubVectors: 4, numBits: 4 }, "ivfPq"],
  hnswsq: [1050, 2, { numPartitions: 1, m: 3, efConstruction: 20 }, "hnswSq"],
  hnswsq4: [400, 4, { numPartitions: 2, m: 6, efConstruction: 40 }, "hnswSq"],
  hnswpq: [400, 4, { numPartitions: 2, m: 6, efConstruction: 40, numSubVectors: 2 }, "hnswPq"],
};
const [rowCount, dimension, settings, make] = KINDS[kind];

let state = 1;
function random() {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

const item = new Field("item", new Float32(), true);
const schema = new Schema([
  new Field("id", new Int32(), true),
  new Field("vector", new FixedSizeList(dimension, item), true),
]);
const rows = (first, count) =>
  makeArrowTable(
    Array.from({ length: count }, (_, index) => ({
      id: first + index,
      vector: Array.from({ length: dimension }, () => (random() - 0.4) * 4),
    })),
    { schema },
  );

const root = fileURLToPath(new URL("../golden/oldVectorIndexes", import.meta.url));
const database = await connect(root);
const table = await database.createTable(`${release}_${kind}_${metric}`, rows(0, rowCount));
await table.createIndex("vector", { config: Index[make]({ ...settings, distanceType: metric }) });
await table.delete("id % 11 = 3");
await table.add(rows(1000, 12));
