import { runAsync } from "../../src/async/eventLoop.js";
import { bindFilter } from "../../src/expression/expression.js";
import { STRING, timestamp } from "../../src/expression/values/types.js";

const FIELDS = [
  { name: "i", type: { kind: "int", bits: 64, signed: true }, children: [] },
  { name: "s", type: STRING, children: [] },
  { name: "t", type: timestamp("us", null), children: [] },
] as const;

/** One filter for each part of expressions that the first such expression loads. */
const FILTERS = [
  "upper('a') = 'A'",
  "-i + 1 = 0",
  "i in (1, 2, 3, 4, 5)",
  "i = 1 or i = 2 or i = 3 or i = 4 or i = 5",
  "s like 'a%' or s like s",
  "cast(i as string) = s",
  "t + interval '1 day' > t",
];

/** Loads all parts of expressions, so that these bind at once. */
export async function loadFunctions(): Promise<void> {
  for (const filter of FILTERS) await runAsync(bindFilter(filter, {}, FIELDS, "filter"));
}
