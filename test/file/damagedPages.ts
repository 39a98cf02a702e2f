/** Tests of damaged pages: decoding gives a typed error or a column that is safe to read. */

import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { Column, Layout } from "../../src/arrow/columns/column.js";
import { CorruptFileError, UnsupportedError } from "../../src/errors.js";
import type { PageEncoding } from "../../src/file/container/page.js";
import type { DataFileMetadata } from "../../src/file/container/reader.js";
import { decodePage } from "../../src/file/pages/decodePage.js";
import { loadAllDecoders } from "../../src/file/pages/decoders.js";
import type { ReadHandle } from "../../src/io/disk/disk.js";
import { checkColumn } from "../support/checkColumn.js";
import { readPageBuffers } from "./pageBuffers.js";

await loadAllDecoders();

const ORIGIN = { path: "sample.lance", byteOffset: 64 };

export interface SamplePage {
  readonly name: string;
  readonly layout: Layout;
  readonly encoding: PageEncoding;
  readonly rowCount: number;
  readonly buffers: readonly Uint8Array[];
}

/** Reads the first page of a column. */
export async function samplePage(
  name: string,
  layout: Layout,
  { handle, file }: { handle: ReadHandle; file: DataFileMetadata },
  columnIndex = 0,
): Promise<SamplePage> {
  const [{ layout: encoding, rowCount }] = file.columns[columnIndex].pages;
  const [[buffers]] = await readPageBuffers(handle, file, [{ columnIndex, pageIndexes: [0] }]);
  return { name, layout, encoding, rowCount, buffers };
}

/** Returns false if decoding refuses the page. `check` may be less strict. */
export function decodesSafely(
  { layout, encoding, rowCount, buffers }: SamplePage,
  check: typeof checkColumn = checkColumn,
): boolean {
  let column: Column;
  try {
    column = decodePage(layout, encoding, rowCount, buffers, ORIGIN);
  } catch (error) {
    if (error instanceof CorruptFileError || error instanceof UnsupportedError) return false;
    throw error;
  }
  check(column, layout, rowCount);
  return true;
}

/** Defines the tests; `samples` are made before they run. */
export function testDamagedPages(
  samples: readonly SamplePage[],
  encode: (encoding: PageEncoding) => Uint8Array,
  decode: (bytes: Uint8Array, origin: typeof ORIGIN) => PageEncoding,
): void {
  const pick = fc.nat();

  it("can be read before the damage", () => {
    expect(samples.length).toBeGreaterThan(100);
    for (const sample of samples) expect([sample.name, decodesSafely(sample)]).toEqual([sample.name, true]);
  });

  it("give a typed error or a column when bytes are changed", () => {
    const change = fc.record({ offset: fc.nat(), value: fc.nat(255), nearStart: fc.boolean() });
    fc.assert(
      fc.property(pick, pick, fc.array(change, { minLength: 1, maxLength: 4 }), (which, buffer, changes) => {
        const sample = samples[which % samples.length];
        if (sample.buffers.length === 0) return;
        const buffers = sample.buffers.map((bytes) => bytes.slice());
        const bytes = buffers[buffer % buffers.length];
        if (bytes.length === 0) return;
        for (const { offset, value, nearStart } of changes) {
          bytes[offset % (nearStart ? Math.min(bytes.length, 64) : bytes.length)] ^= value;
        }
        decodesSafely({ ...sample, buffers });
      }),
      { numRuns: 3000 },
    );
  });

  it("give a typed error or a column when cut short or extended", () => {
    fc.assert(
      fc.property(pick, pick, fc.nat(), fc.boolean(), (which, buffer, amount, grow) => {
        const sample = samples[which % samples.length];
        if (sample.buffers.length === 0) return;
        const target = buffer % sample.buffers.length;
        const buffers = sample.buffers.map((bytes, index) => {
          if (index !== target) return bytes;
          if (!grow) return bytes.slice(0, amount % (bytes.length + 1));
          const grown = new Uint8Array(bytes.length + 1 + (amount % 64));
          grown.set(bytes);
          return grown;
        });
        decodesSafely({ ...sample, buffers });
      }),
      { numRuns: 1000 },
    );
  });

  it("give a typed error or a column when a buffer is missing or exchanged", () => {
    for (const sample of samples) {
      const { buffers } = sample;
      const others = buffers.map((missing) => buffers.filter((bytes) => bytes !== missing));
      for (const wrong of [...others, [...buffers].reverse(), []])
        decodesSafely({ ...sample, buffers: wrong });
    }
  });

  it("give a typed error or a column when their description is changed", () => {
    fc.assert(
      fc.property(pick, fc.nat(), fc.integer({ min: 1, max: 255 }), (which, index, value) => {
        const sample = samples[which % samples.length];
        const bytes = encode(sample.encoding).slice();
        // Interesting fields are few and at both ends; most of a symbol table is padding.
        bytes[index % 3 === 0 ? index % bytes.length : index % Math.min(bytes.length, 80)] ^= value;
        let encoding: PageEncoding;
        try {
          encoding = decode(bytes, ORIGIN);
        } catch (error) {
          if (error instanceof CorruptFileError) return;
          throw error;
        }
        decodesSafely({ ...sample, encoding });
      }),
      { numRuns: 4000 },
    );
  });

  it("give a typed error or a column when read as another type", () => {
    for (const [index, { layout }] of samples.entries()) {
      decodesSafely({ ...samples[(index * 7 + 3) % samples.length], layout });
    }
  });
}
