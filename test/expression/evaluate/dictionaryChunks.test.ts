/** Conditions on dictionary indices in chunks of a page give the results of their values. */

import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { Column, DictionaryColumn } from "../../../src/arrow/columns/column.js";
import { parseType } from "../../../src/arrow/types/type.js";
import { runSync } from "../../../src/async/eventLoop.js";
import { CorruptFileError } from "../../../src/errors.js";
import { bindFilter } from "../../../src/expression/expression.js";
import { columnOfScalars } from "../../../src/expression/values/scalars.js";
import { STRING } from "../../../src/expression/values/types.js";
import { decodePage } from "../../../src/file/pages/decodePage.js";
import { encodePages } from "../../../src/file/pages/encodePage.js";
import { loadAllEncoders } from "../../../src/file/pages/encoders.js";
import { loadFunctions } from "../../support/loadFunctions.js";

await loadAllEncoders();

beforeAll(loadFunctions);

const ORIGIN = { path: "t.lance", byteOffset: 0 };
const LAYOUT = { kind: "variable", offsetBits: 32, text: true } as const;
const FIELD = { name: "w", type: parseType("string"), children: [] };
const ROWS = 3001;

/** Returns the column in the form of a page with a dictionary. */
function stored(column: Column, isPlain: boolean): DictionaryColumn {
  const metadata = new Map([
    ["lance-encoding:dict-size-ratio", "1"],
    ["lance-encoding:rle-threshold", "0"],
    ...(isPlain ? ([["lance-encoding:compression", "none"]] as const) : []),
  ]);
  const options = { version: "2.1", nullable: column.kind !== "null", path: "w", metadata } as const;
  const [page] = runSync(encodePages(LAYOUT, [column], column.length, options));
  const buffers = page.buffers.map((parts) => Uint8Array.from(Buffer.concat(parts)));
  const allocate = (byteLength: number) => new Uint8Array(byteLength);
  const read = decodePage(LAYOUT, page.encoding, column.length, buffers, ORIGIN, {
    allocate,
    keepsDictionary: true,
  });
  if (read.kind !== "dictionary") throw new Error(read.kind);
  return read;
}

const wordsOf = (count: number, every: number, hasNulls: boolean): (string | null)[] =>
  Array.from({ length: ROWS }, (_, row) =>
    hasNulls && row % 11 === 3 ? null : `word ${((row * 7919) >>> (every % 5)) % count} of those`,
  );

function selected(filter: string, column: Column): number[] {
  const bound = runSync(bindFilter(filter, {}, [FIELD], "filter"));
  return Array.from(runSync(bound.select([column], column.length)) ?? Array.from({ length: ROWS }).keys());
}

describe("dictionary indices in chunks", () => {
  it("select the same rows as the values", () => {
    let inPlace = 0;
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 70 }),
        fc.nat({ max: 9 }),
        fc.boolean(),
        fc.boolean(),
        fc.constantFrom("=", "!=", "<", ">=", "like", "not like", "in", "not in"),
        fc.nat(),
        (count, every, hasNulls, isPlain, operator, picked) => {
          const words = wordsOf(count, every, hasNulls);
          const word = words[picked % ROWS] ?? "word 1 of those";
          const wanted =
            operator === "in" || operator === "not in"
              ? `('${word}', 'another', 'word 2 of those')`
              : operator.endsWith("like")
                ? `'${word.slice(0, 6)}%'`
                : `'${word}'`;
          const column = columnOfScalars(STRING, words);
          const dictionary = stored(column, isPlain);
          if (dictionary.indices.lazy !== undefined) inPlace++;
          const filter = `w ${operator} ${wanted}`;
          expect(selected(filter, dictionary), filter).toEqual(selected(filter, column));
        },
      ),
    );
    expect(inPlace).toBeGreaterThan(50);
  });

  it("are refused if they lie outside their dictionary", () => {
    const column = stored(columnOfScalars(STRING, wordsOf(40, 0, false)), false);
    const chunks = column.indices.lazy;
    if (chunks?.kind !== "chunks") throw new Error("no chunks");
    expect(selected("w = 'word 7 of those'", column)).not.toEqual([]);
    chunks.bytes.fill(0xff, chunks.starts[1] + 200, chunks.starts[1] + 210);
    for (const word of ["word 7 of those", "none"]) {
      expect(() => selected(`w = '${word}'`, column)).toThrow(CorruptFileError);
    }
  });

  it("may be anything for nulls", () => {
    const words = wordsOf(40, 0, true);
    const plain = columnOfScalars(STRING, words);
    const column = stored(plain, true);
    expect(selected("w = 'word 7 of those'", column)).toEqual(selected("w = 'word 7 of those'", plain));
  });
});
