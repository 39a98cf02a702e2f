/** Texts of 100 kB to 1 MB, such as mails and pages of the web: written, and scanned. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { BenchCase, Side, Size } from "../case.js";
import type { BenchRows } from "../data.js";
import { openReference, openTiltyard, referenceTable, tiltyardTable } from "../sides.js";
import { textOf } from "../textData.js";

const TEXTS: Readonly<Record<Size, number>> = { small: 4, large: 100 };
const [LEAST_BYTES, MOST_BYTES] = [100_000, 1_000_000];
/** Bytes of sentences of which all texts are parts. */
const SOURCE_BYTES = 4_000_000;

/** Texts of growing length, each from another place of the same sentences. */
function largeTexts(size: Size): BenchRows {
  const count = TEXTS[size];
  const lengths = Array.from(
    { length: count },
    (_, row) => LEAST_BYTES + Math.floor(((MOST_BYTES - LEAST_BYTES) * row) / (count - 1)),
  );
  const offsets = new Int32Array(count + 1);
  for (const [row, length] of lengths.entries()) offsets[row + 1] = offsets[row] + length;
  const source = sentences();
  const bytes = new Uint8Array(offsets[count]);
  for (const [row, length] of lengths.entries()) {
    const start = (row * 7_919_000) % (SOURCE_BYTES - length);
    bytes.set(source.subarray(start, start + length), offsets[row]);
  }
  return { rowCount: count, columns: [{ kind: "utf8", name: "text", offsets, bytes }] };
}

function sentences(): Uint8Array {
  const parts: string[] = [];
  for (let id = 0, length = 0; length < SOURCE_BYTES; id++) {
    const text = `${textOf(id)} `;
    length += text.length;
    parts.push(text);
  }
  return new TextEncoder().encode(parts.join("")).subarray(0, SOURCE_BYTES);
}

const lengthOf = ({ columns: [column] }: BenchRows): number =>
  column.kind === "utf8" ? column.bytes.length : 0;

const creation: BenchCase = {
  area: "write",
  name: "create: 100 texts of 100 kB to 1 MB",
  rounds: { small: 2, large: 9 },
  collectFirst: true,
  async prepare(directory, size) {
    const rows = largeTexts(size);
    const [ours, theirs] = [join(directory, "ours"), join(directory, "reference")];
    const ns = openTiltyard(ours);
    const reference = await openReference(theirs);
    const side = (name: Side["name"], root: string, run: () => Promise<unknown>): Side => ({
      name,
      reset: () => rm(join(root, "t.lance"), { recursive: true, force: true }),
      async run() {
        await run();
      },
    });
    return {
      work: { amount: rows.rowCount, unit: "rows" },
      bytes: lengthOf(rows),
      sides: [
        side("tiltyard", ours, () => ns.createTable({ id: ["t"] }, tiltyardTable(rows))),
        side("reference", theirs, () => reference.createTable("t", referenceTable(rows))),
      ],
      async close() {
        await ns.close();
        reference.close();
      },
    };
  },
};

const scan: BenchCase = {
  area: "read",
  name: "scan of 100 texts of 100 kB to 1 MB, written by the reference",
  rounds: { small: 2, large: 9 },
  collectFirst: true,
  async prepare(directory, size) {
    const rows = largeTexts(size);
    const reference = await openReference(directory);
    const table = await reference.createTable("t", referenceTable(rows));
    const ns = openTiltyard(directory);
    const check = (numRows: number): void => {
      if (numRows !== rows.rowCount) throw new Error(`${numRows} rows`);
    };
    return {
      work: { amount: rows.rowCount, unit: "rows" },
      bytes: lengthOf(rows),
      sides: [
        {
          name: "tiltyard",
          async run() {
            check((await (await ns.queryTable({ id: ["t"] })).toArrow()).numRows);
          },
        },
        {
          name: "reference",
          async run() {
            check((await table.query().toArrow()).numRows);
          },
        },
      ],
      async close() {
        await ns.close();
        reference.close();
      },
    };
  },
};

export const largeTextCases: readonly BenchCase[] = [creation, scan];
