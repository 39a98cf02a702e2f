/** Levels of graphs from older LanceDB releases begin where Lance 12 expects them. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import type { Column } from "../../../../src/arrow/columns/column.js";
import { integerWords, LIST_TYPE, UINT32 } from "../../../../src/indexes/indexColumns.js";
import { OpenIndexFile } from "../../../../src/indexes/indexFile.js";
import { GraphFiles } from "../../../../src/indexes/vector/graph/graphFiles.js";
import { filesIn } from "../../indexDirectory.js";

const GOLDEN = fileURLToPath(new URL("../../../golden/oldVectorIndexes", import.meta.url));

function listOf(column: Column, row: number): number[] {
  if (column.kind !== "list") throw new Error(`a column of ${column.kind}`);
  const [start, end] = [Number(column.offsets[row]), Number(column.offsets[row + 1])];
  return [...integerWords(column.items, "a list").subarray(start, end)];
}

it.each([
  "0.14.1_hnswsq4_l2",
  "0.37.1_hnswsq_l2",
])("the graph of %s has the levels that its file tells", async (table) => {
  const indices = join(GOLDEN, `${table}.lance/_indices`);
  const files = filesIn(join(indices, readdirSync(indices)[0]));
  const file = await OpenIndexFile.open(files, "index.idx", [
    { name: "__vector_id", type: UINT32 },
    { name: "__neighbors", type: LIST_TYPE, item: UINT32 },
  ]);
  const ids = integerWords(await file.column("__vector_id"), file.path);
  const lists = await file.column("__neighbors");
  const offsets = (JSON.parse(file.text("lance:hnsw") ?? "") as string[]).map(
    (text) => (JSON.parse(text) as { level_offsets: number[] }).level_offsets,
  );
  // Each level above 0 holds the entry point besides the counted rows.
  const starts = new Float64Array(offsets.length + 1);
  for (const [partition, partitionOffsets] of offsets.entries()) {
    starts[partition + 1] = starts[partition] + (partitionOffsets.at(-1) ?? 0) + partitionOffsets.length - 2;
  }
  const graphs = await GraphFiles.open(files, "index.idx", starts, (partition) => offsets[partition][1]);
  let shifted = 0;
  for (const [partition, partitionOffsets] of offsets.entries()) {
    const rowCount = partitionOffsets[1];
    const graph = await graphs.graph(partition, rowCount, undefined);
    const whole = [graph, graph.upperLevels()];
    expect(graph.levelCount).toBe(partitionOffsets.length - 1);
    const range = { start: 0, end: 0 };
    for (let level = 0; level < graph.levelCount; level++) {
      const expected = new Map<number, number[]>();
      for (let row = partitionOffsets[level]; row < partitionOffsets[level + 1]; row++) {
        const fileRow = starts[partition] + row;
        if (row > partitionOffsets[level] && ids[fileRow] < ids[fileRow - 1]) shifted++;
        expected.set(ids[fileRow], listOf(lists, fileRow));
      }
      for (const each of level === 0 ? [graph] : whole) {
        for (let row = 0; row < rowCount; row++) {
          each.range(level, row, range);
          expect([...each.targets.subarray(range.start, range.end)]).toEqual(expected.get(row) ?? []);
        }
      }
    }
  }
  expect(shifted).toBeGreaterThan(0);
  await files.close();
});
