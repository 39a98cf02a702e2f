/** Runs return the same ids as the list, for documents in any order. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runSync } from "../../../src/async/eventLoop.js";
import { DocumentIds, findIdRuns, formatIdRuns, parseIdRuns } from "../../../src/indexes/text/documentIds.js";

const WORD = 2 ** 32;

/** @returns true if runs hold the ids */
function expectIds(ids: readonly number[], asked: Iterable<number>): boolean {
  const words = Uint32Array.from(ids.flatMap((id) => [id % WORD, Math.floor(id / WORD)]));
  const runs = runSync(findIdRuns(words));
  const documentIds = new DocumentIds(words, runs);
  for (const document of asked) {
    documentIds.find(document);
    expect(documentIds.high * WORD + documentIds.low).toBe(ids[document]);
  }
  return runs !== null;
}

describe("document ids", () => {
  const lows = fc.constantFrom(0, 5, 1000, WORD - 90, WORD - 200);
  const run = fc.record({ low: lows, high: fc.nat(3), length: fc.integer({ min: 30, max: 300 }) });

  it("equal the list", () => {
    fc.assert(
      fc.property(fc.array(run, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 60 }), (runs, numbers) => {
        const ids = runs.flatMap(({ low, high, length }) =>
          Array.from({ length }, (_, index) => high * WORD + low + index),
        );
        const asked = ids.length === 0 ? [] : numbers.map((number) => number % ids.length);
        expectIds(ids, [...ids.keys(), ...asked]);
      }),
    );
  });

  it("have runs that survive being formatted and parsed", () => {
    const idRun = fc.record({ low: lows, high: fc.nat(3), length: fc.integer({ min: 70, max: 300 }) });
    fc.assert(
      fc.property(fc.array(idRun, { maxLength: 8 }), (runs) => {
        const ids = runs.flatMap(({ low, high, length }) =>
          Array.from({ length }, (_, index) => high * WORD + low + index),
        );
        const words = Uint32Array.from(ids.flatMap((id) => [id % WORD, Math.floor(id / WORD)]));
        const found = runSync(findIdRuns(words));
        if (found === null) return;
        expect(parseIdRuns(formatIdRuns(found) ?? "", ids.length)).toEqual(found);
      }),
    );
  });

  it.each([
    ["1:0", 10],
    ["0:0,0:5", 10],
    ["0:0,10:5", 10],
    ["0:0,5", 10],
    ["", 10],
    ["0:0", 0],
    ["0:4294967290", 10],
    ["0:18446744073709551616", 10],
    ["0:-1", 10],
    [Array.from({ length: 300 }, (_, index) => `${index}:0`).join(","), 1000],
  ])("are not taken from the text %s of %i documents", (text, count) => {
    expect(parseIdRuns(text, count)).toBeNull();
  });

  it("come from runs if these are long", () => {
    const ids = Array.from({ length: 3000 }, (_, index) => index + 7 * Math.floor(index / 100));
    expect(expectIds(ids, [2999, 0, 99, 100, 201, 77])).toBe(true);
    const short = Array.from({ length: 3000 }, (_, index) => 3 * index);
    expect(expectIds(short, [2999, 0, 77])).toBe(false);
  });
});
