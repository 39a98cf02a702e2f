/** Memory of pages of texts goes back to threads when no more rows are cut of it, and no call looks at it. */

import { beforeEach, expect, it } from "vitest";
import type { VariableColumn } from "../../../src/arrow/columns/column.js";
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

const lentTexts = (isByRow: boolean) => new LentTexts(new ScratchMemory(0), pages, isByRow);

/** A batch whose texts are computed at once. */
function computed(column: VariableColumn): void {
  pages.goOn([column]);
  const texts = lentTexts(true);
  texts.decode(column);
  texts.giveBack();
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
  const texts = lentTexts(true);
  pages.goOn([textsIn(pageA)]);
  expect(texts.decode(textsIn(pageA))).toEqual(textsIn(pageA));
  pages.goOn([textsIn(pageB)]);
  expect(givenBack).toEqual([]);
  texts.giveBack();
  expect(givenBack).toEqual([pageA]);
});

it("while a call looks at a copy of its rows, which ends with the call", () => {
  const texts = lentTexts(false);
  pages.goOn([textsIn(pageA, 8)]);
  new Uint8Array(pageA).set([1, 2, 3, 4], 8);
  const { offsets, bytes } = texts.decode(textsIn(pageA, 8)) as VariableColumn;
  expect([...offsets]).toEqual([0, 4]);
  pages.goOn([textsIn(pageB)]);
  expect(givenBack).toEqual([pageA]);
  new Uint8Array(pageA).fill(9);
  expect([...bytes]).toEqual([1, 2, 3, 4]);
  expect(bytes.buffer).toBeInstanceOf(ArrayBuffer);
  texts.giveBack();
  expect(bytes).toHaveLength(0);
});
