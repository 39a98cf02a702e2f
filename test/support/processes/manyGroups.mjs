/**
 * Groups a table and reports the most memory the process ever had resident while it did. Arguments: root, number of groups.
 * Every group has two rows, half a table apart. With `text` as the third argument the keys are texts.
 */

import { tableFromArrays, Utf8, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { peakBytes } from "./peakMemory.mjs";

const [root, groups, kind] = process.argv.slice(2);
const groupCount = Number(groups);
const PART = 250_000;
const namespace = new DirectoryNamespace({ root, durability: "none" });

function* parts() {
  for (let first = 0; first < 2 * groupCount; first += PART) {
    const count = Math.min(PART, 2 * groupCount - first);
    const numbers = BigInt64Array.from({ length: count }, (_, row) => BigInt((first + row) % groupCount));
    const keys =
      kind === "text"
        ? vectorFromArray(
            Array.from(numbers, (key) => `key ${key}`),
            new Utf8(),
          )
        : numbers;
    const values = Float64Array.from({ length: count }, (_, row) => first + row);
    yield* tableFromArrays({ key: keys, value: values }).batches;
  }
}

await namespace.createTable({ id: ["t"] }, parts());
const result = namespace.table("t").aggregate({
  groupBy: ["key"],
  values: { n: "count(*)", total: "sum(value)", low: "min(value)" },
});
let rows = 0;
let wrong = 0;
for await (const batch of result) {
  const counts = batch.getChild("n").toArray();
  const totals = batch.getChild("total").toArray();
  const lows = batch.getChild("low").toArray();
  for (let row = 0; row < batch.numRows; row++) {
    if (counts[row] !== 2n || totals[row] !== 2 * lows[row] + groupCount) wrong++;
  }
  rows += batch.numRows;
}
await namespace.close();
process.send({ rows, wrong, peakRss: peakBytes() });
