/** Memory of pages of texts goes back to threads when no more rows are cut of it, and no call looks at it. */

import { Utf8, Vector } from "apache-arrow";
import { beforeEach, expect, it } from "vitest";
import type { VariableColumn } from "../../../src/arrow/columns/column.js";
import { dataFromColumn } from "../../../src/arrow/exchange/data.js";
import { ScratchMemory } from "../../../src/io/memory/scratch.js";
import { LentTexts, TextPages } from "../../../src/write/backfill/lentTexts.js";

const textsIn = (memory: ArrayBufferLike, start = 0): VariableColumn => ({
  kind: "variable",
  length: 1,
  validity: null,
  offsets: Int32Array.of(start, start + 4),
  bytes: new Uint8Array(memory, 0, start + 4),
});

const [pageA, pageB] = [new SharedArrayBuffer(64), new SharedArrayBuffer(64)];
let givenBack: ArrayBufferLike[];
let pages: TextPages;
beforeEach(() => {
  givenBack = [];
  pages = new TextPages({ giveBack: (memory) => void givenBack.push(memory) });
});

const lentTexts = () => new LentTexts(new ScratchMemory(0), pages);

/** A vector of one text in a page, as a call of a function gets it. */
function vectorOf(texts: LentTexts, memory: ArrayBufferLike, start: number): Vector<Utf8> {
  const column = texts.rowsOf(texts.decode(textsIn(memory, start)));
  const vector = new Vector([dataFromColumn(new Utf8(), column)]) as Vector<Utf8>;
  texts.hideMemory(vector, column, texts.directReads());
  return vector;
}

/** A batch whose texts are computed at once. */
function computed(column: VariableColumn): void {
  pages.goOn([column]);
  const texts = lentTexts();
  texts.decode(column);
  texts.release();
}

it("after the last of its rows", () => {
  computed(textsIn(pageA));
  computed(textsIn(pageA));
  expect(givenBack).toEqual([]);
  computed(textsIn(pageB));
  expect(givenBack).toEqual([pageA]);
});

it("not after rows that are a copy: more may be cut of the page", () => {
  computed(textsIn(pageA));
  computed(textsIn(new ArrayBuffer(8)));
  computed(textsIn(pageA));
  computed(textsIn(pageB));
  expect(givenBack).toEqual([]);
});

it("not while a call reads single texts of it", () => {
  const texts = lentTexts();
  pages.goOn([textsIn(pageA)]);
  expect(texts.decode(textsIn(pageA))).toEqual(textsIn(pageA));
  pages.goOn([textsIn(pageB)]);
  expect(givenBack).toEqual([]);
  const reads = texts.directReads();
  expect(reads.mayBe).toBe(true);
  texts.release();
  expect(reads.mayBe).toBe(false);
  expect(givenBack).toEqual([pageA]);
});

it("and what a call sees of them are copies of its own rows, which end with the call", () => {
  new Uint8Array(pageA).set([97, 98, 99, 100], 8);
  const [texts, others] = [lentTexts(), lentTexts()];
  pages.goOn([textsIn(pageA, 8)]);
  const [seen, unseen] = [vectorOf(texts, pageA, 8), vectorOf(others, pageA, 8)];
  expect([...seen.data[0].valueOffsets]).toEqual([0, 4]);
  const { values } = seen.data[0];
  expect(values.buffer).toBeInstanceOf(ArrayBuffer);
  expect(seen.slice(0, 1).get(0)).toBe("abcd");
  expect(seen.data[0].values).toBe(values);
  texts.release();
  others.release();
  expect(values).toHaveLength(0);
  expect(() => seen.get(0)).toThrow(TypeError);
  expect(() => unseen.get(0)).toThrow(TypeError);
  expect(() => unseen.data[0].values).toThrow("gone once the call has ended");
});

it("a vector that somebody writes to, or gives other bytes, has these", () => {
  new Uint8Array(pageA).set([97, 98, 99, 100], 8);
  const texts = lentTexts();
  pages.goOn([textsIn(pageA, 8)]);
  const [written, replaced] = [vectorOf(texts, pageA, 8), vectorOf(texts, pageA, 8)];
  written.set(0, "wxyz");
  (replaced.data[0] as { values: Uint8Array }).values = new TextEncoder().encode("1234");
  expect([written.get(0), replaced.get(0)]).toEqual(["wxyz", "1234"]);
  expect([...new Uint8Array(pageA, 8, 4)]).toEqual([97, 98, 99, 100]);
});

it("behind a copy lies nothing of others", () => {
  const scratch = new ScratchMemory(2 ** 20);
  const used = scratch.lend(2 ** 16);
  used.fill(7);
  scratch.giveBack(used);
  const texts = new LentTexts(scratch, pages);
  pages.goOn([textsIn(pageA, 8)]);
  const { values } = vectorOf(texts, pageA, 8).data[0];
  expect(values.buffer.byteLength).toBe(2 ** 16);
  expect(new Uint8Array(values.buffer, 4).every((byte) => byte === 0)).toBe(true);
});

it("of what is kept, vectors stay as they are, and the page is used again", () => {
  new Uint8Array(pageA).set([97, 98, 99, 100], 8);
  const texts = lentTexts();
  pages.goOn([textsIn(pageA, 8)]);
  const vector = vectorOf(texts, pageA, 8);
  texts.keep();
  pages.goOn([textsIn(pageB)]);
  expect(givenBack).toEqual([pageA]);
  new Uint8Array(pageA).fill(120);
  expect(vector.get(0)).toBe("abcd");
});

it("never where values may lie in it", () => {
  const texts = lentTexts();
  pages.goOn([textsIn(pageA)]);
  texts.decode(textsIn(pageA));
  texts.abandon();
  computed(textsIn(pageA));
  computed(textsIn(pageB));
  expect(givenBack).toEqual([]);
});

/** A column whose texts lie in memory that is lent for a call, as they do after they are decoded. */
const codedColumn = (text: string): VariableColumn => {
  const codes = new TextEncoder().encode(text);
  return {
    ...{ kind: "variable", length: 1, validity: null },
    offsets: Int32Array.of(0, codes.length),
    bytes: codes,
    lazy: {
      kind: "codes",
      codes,
      offsets: Int32Array.of(0, codes.length),
      decode: (offsets: Int32Array, given: Uint8Array, allocate: (byteLength: number) => Uint8Array) => {
        const bytes = allocate(given.length);
        bytes.set(given);
        return { offsets, bytes };
      },
    },
  } as unknown as VariableColumn;
};

/** Memory that tells what came back, and what of it was moved since it was lent. */
function watchedMemory() {
  const lent: ArrayBuffer[] = [];
  const back: ArrayBuffer[] = [];
  const lender = {
    lend: (byteLength: number) => {
      const bytes = new Uint8Array(byteLength);
      lent.push(bytes.buffer);
      return bytes;
    },
    giveBack: ({ buffer }: Uint8Array<ArrayBuffer>) => void back.push(buffer),
  };
  return { lender, lent, back };
}

it("texts decoded for a call stay out of sight, and their memory goes back without being moved", () => {
  const { lender, lent, back } = watchedMemory();
  const [texts, others] = [new LentTexts(lender, pages), new LentTexts(lender, pages)];
  const vectorIn = (call: LentTexts) => {
    const column = call.rowsOf(call.decode(codedColumn("abcd"))) as VariableColumn;
    const vector = new Vector([dataFromColumn(new Utf8(), column)]) as Vector<Utf8>;
    call.hideMemory(vector, column, call.directReads());
    return vector;
  };
  const unseen = vectorIn(texts);
  texts.release();
  expect(back).toEqual(lent);
  expect(() => unseen.get(0)).toThrow("gone once the call has ended");
  const seen = vectorIn(others);
  const { values } = seen.data[0];
  expect(values.buffer).not.toBe(lent[1]);
  expect(seen.get(0)).toBe("abcd");
  others.release();
  expect(values).toHaveLength(0);
  expect(back).toHaveLength(3);
  expect(back).toContain(lent[1]);
  expect(back).not.toContain(lent[2]);
});
