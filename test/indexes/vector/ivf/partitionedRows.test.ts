/** Compares rows sorted by partition, in memory or partly in a file, with a plain sort. */

import { readdir } from "node:fs/promises";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { FixedColumn } from "../../../../src/arrow/columns/column.js";
import { PartitionedRows } from "../../../../src/indexes/vector/ivf/partitionedRows.js";
import { TemporaryFile } from "../../../../src/io/temporaryFile.js";
import { sharedDirectory } from "../../../support/fixtures.js";
import { disk } from "../../indexDirectory.js";

const directory = sharedDirectory();

const bytesOf = (column: unknown): Uint8Array => (column as FixedColumn).values;

const batches = fc.array(fc.array(fc.nat(9), { maxLength: 60 }), { maxLength: 12 });

it("PartitionedRows sorts by partition and keeps the input order", async () => {
  await fc.assert(
    fc.asyncProperty(
      batches,
      fc.constantFrom(1, 4, 40),
      fc.constantFrom(1, 500, 2 ** 20),
      async (added, codeBytes, kept) => {
        const rows = new PartitionedRows(10, codeBytes, () => TemporaryFile.create(disk, directory), kept);
        const all: { partition: number; id: number }[] = [];
        for (const partitions of added) {
          const ids = BigUint64Array.from(partitions, (_, row) => BigInt(all.length + row));
          for (const partition of partitions) all.push({ partition, id: all.length });
          const codes = Uint8Array.from(
            { length: partitions.length * codeBytes },
            (_, index) => Number(ids[Math.floor(index / codeBytes)]) + (index % codeBytes),
          );
          await rows.add({
            partitions: Uint32Array.from(partitions),
            ids: new Uint8Array(ids.buffer),
            codes,
          });
        }
        const sorted = [...all].sort((a, b) => a.partition - b.partition || a.id - b.id);
        const actualRows: typeof all = [];
        for await (const { values, ids, codes, rowCount } of rows.inOrder()) {
          const partitions = new Uint32Array(bytesOf(values).buffer);
          const numbers = new BigUint64Array(bytesOf(ids).buffer);
          for (let row = 0; row < rowCount; row++) {
            const id = Number(numbers[row]);
            actualRows.push({ partition: partitions[row], id });
            const rowCode = bytesOf(codes).subarray(row * codeBytes, (row + 1) * codeBytes);
            expect([...rowCode]).toEqual(Array.from({ length: codeBytes }, (_, index) => (id + index) % 256));
          }
        }
        expect(actualRows).toEqual(sorted);
        expect([...rows.lengths]).toEqual(
          Array.from(
            { length: 10 },
            (_, number) => all.filter(({ partition }) => partition === number).length,
          ),
        );
        await rows.discard();
      },
    ),
    { numRuns: 40 },
  );
  expect(await readdir(directory)).toEqual([]);
});
