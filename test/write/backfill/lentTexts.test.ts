/** Memory of pages of texts goes back to threads when no more rows are cut of it, and no call looks at it. */

import { beforeEach, expect, it } from "vitest";
import type { VariableColumn } from "../../../src/arrow/columns/column.js";
import { ScratchMemory } from "../../../src/io/memory/scratch.js";
import { LentTexts, TextPages } from "../../../src/write/backfill/lentTexts.js";

const textsIn = (memory: ArrayBuffer): VariableColumn => ({
  kind: "variable",
  length: 1,
  validity: null,
  offsets: Int32Array.of(0, 4),
  bytes: new Uint8Array(memory, 0, 4),
});

const [pageA, pageB] = [new ArrayBuffer(64), new ArrayBuffer(64)];
let givenBack: ArrayBufferLike[];
let pages: TextPages;
beforeEach(() => {
  givenBack = [];
  const isMoved = (memory: ArrayBufferLike) => memory === pageA || memory === pageB;
  pages = new TextPages({
    isMoved,
    giveBack(memory) {
      if (isMoved(memory)) givenBack.push(memory);
    },
  });
});

/** A batch whose texts are computed at once. */
function computed(column: VariableColumn): void {
  pages.goOn([column]);
  const texts = new LentTexts(new ScratchMemory(0), pages);
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
