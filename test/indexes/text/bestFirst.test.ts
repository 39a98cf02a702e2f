import { expect, it } from "vitest";
import { BestFirst } from "../../../src/indexes/text/bestFirst.js";

it.each([1, 10, 300])("BestFirst finds the best %i of many documents with few checks", (wanted) => {
  const count = 20_000;
  const scoreOf = (document: number): number => (Math.imul(document + 1, 2_654_435_761) >>> 20) / 4096;
  const isFound = (document: number): boolean => document % 7 === 3;
  const kept: number[] = [];
  let looks = 0;
  const sink = {
    get threshold() {
      return kept.length < wanted ? Number.NEGATIVE_INFINITY : kept[wanted - 1];
    },
  };
  const best = new BestFirst(sink, 0, 1024, (document, score) => {
    looks++;
    expect(score).toBe(scoreOf(document));
    if (!isFound(document)) return;
    kept.push(score);
    kept.sort((a, b) => b - a);
    if (kept.length > wanted) kept.pop();
  });
  for (let document = 0; document < count; document++) {
    const score = scoreOf(document);
    if (score >= best.threshold) best.add(document, score);
  }
  best.finish();
  const all = Array.from({ length: count }, (_, document) => document).filter(isFound);
  expect(kept).toEqual(
    all
      .map(scoreOf)
      .sort((a, b) => b - a)
      .slice(0, wanted),
  );
  expect(looks).toBeLessThan(count / 2);
});
