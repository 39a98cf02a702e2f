/** Compares three-valued logic with a plain evaluator over all combinations. */

import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { parseType } from "../../../src/arrow/types/type.js";
import { runSync } from "../../../src/async/eventLoop.js";
import { bindFilter } from "../../../src/expression/expression.js";
import { columnOfScalars } from "../../../src/expression/values/scalars.js";
import { BOOL } from "../../../src/expression/values/types.js";
import { loadFunctions } from "../../support/loadFunctions.js";

beforeAll(loadFunctions);

type Truth = boolean | null;
interface Sample {
  readonly text: string;
  readonly value: (row: readonly Truth[]) => Truth;
}

const NAMES = ["a", "b", "c"];
const VALUES: readonly Truth[] = [true, false, null];
const ROWS = VALUES.flatMap((a) => VALUES.flatMap((b) => VALUES.map((c) => [a, b, c])));

const and = (left: Truth, right: Truth): Truth =>
  left === false || right === false ? false : left === null || right === null ? null : true;
const not = (value: Truth): Truth => (value === null ? null : !value);
const or = (left: Truth, right: Truth): Truth => not(and(not(left), not(right)));
const equal = (left: Truth, right: Truth): Truth => (left === null || right === null ? null : left === right);

const { tree } = fc.letrec<{ tree: Sample; leaf: Sample }>((tie) => ({
  leaf: fc.oneof(
    fc.constantFrom(...NAMES.map((name, index): Sample => ({ text: name, value: (row) => row[index] }))),
    fc.constantFrom(...VALUES.map((value): Sample => ({ text: String(value), value: () => value }))),
  ),
  tree: fc.oneof(
    { maxDepth: 4, depthIdentifier: "tree" },
    tie("leaf"),
    fc.array(tie("tree"), { minLength: 2, maxLength: 5 }).map(
      (parts): Sample => ({
        text: `(${parts.map(({ text }) => text).join(" and ")})`,
        value: (row) => parts.map(({ value }) => value(row)).reduce(and),
      }),
    ),
    fc.array(tie("tree"), { minLength: 2, maxLength: 5 }).map(
      (parts): Sample => ({
        text: `(${parts.map(({ text }) => text).join(" or ")})`,
        value: (row) => parts.map(({ value }) => value(row)).reduce(or),
      }),
    ),
    tie("tree").map(
      ({ text, value }): Sample => ({ text: `(not ${text})`, value: (row) => not(value(row)) }),
    ),
    fc.tuple(tie("tree"), fc.constantFrom(true, false, null), fc.boolean()).map(
      ([{ text, value }, what, isNegated]): Sample => ({
        text: `(${text} is ${isNegated ? "not " : ""}${what === null ? "unknown" : what})`,
        value: (row) => (value(row) === what) !== isNegated,
      }),
    ),
    fc.tuple(tie("tree"), tie("tree"), fc.boolean()).map(
      ([left, right, isNegated]): Sample => ({
        text: `(${left.text} is ${isNegated ? "not " : ""}distinct from ${right.text})`,
        value: (row) => (left.value(row) !== right.value(row)) !== isNegated,
      }),
    ),
    fc.tuple(tie("tree"), tie("tree")).map(
      ([left, right]): Sample => ({
        text: `(${left.text} = ${right.text})`,
        value: (row) => equal(left.value(row), right.value(row)),
      }),
    ),
    fc.tuple(tie("tree"), fc.array(tie("tree"), { minLength: 1, maxLength: 3 }), fc.boolean()).map(
      ([one, items, isNegated]): Sample => ({
        text: `(${one.text} ${isNegated ? "not " : ""}in (${items.map(({ text }) => text).join()}))`,
        value: (row) => {
          const truth = items.map(({ value }) => equal(one.value(row), value(row))).reduce(or);
          return isNegated ? not(truth) : truth;
        },
      }),
    ),
    fc.tuple(tie("tree"), tie("tree"), tie("tree")).map(
      ([when, then, otherwise]): Sample => ({
        text: `(case when ${when.text} then ${then.text} else ${otherwise.text} end)`,
        value: (row) => (when.value(row) === true ? then.value(row) : otherwise.value(row)),
      }),
    ),
    fc.array(tie("tree"), { minLength: 1, maxLength: 3 }).map(
      (parts): Sample => ({
        text: `coalesce(${parts.map(({ text }) => text).join()})`,
        value: (row) => parts.map(({ value }) => value(row)).find((value) => value !== null) ?? null,
      }),
    ),
  ),
}));

it("three-valued logic agrees with the plain evaluator", () => {
  const columns = new Map(
    NAMES.map((name, index) => [
      name,
      columnOfScalars(
        BOOL,
        ROWS.map((row) => row[index]),
      ),
    ]),
  );
  const fields = NAMES.map((name) => ({ name, type: parseType("bool"), children: [] }));
  fc.assert(
    fc.property(tree, ({ text, value }) => {
      const filter = runSync(bindFilter(`${text} or false`, {}, fields, "filter"));
      const inputs = filter.paths.map(
        ([name]) => columns.get(name) as NonNullable<ReturnType<typeof columns.get>>,
      );
      const rows = runSync(filter.select(inputs, ROWS.length));
      const expected = ROWS.flatMap((row, index) => (value(row) === true ? [index] : []));
      expect(rows === null ? ROWS.map((_, index) => index) : Array.from(rows), text).toEqual(expected);
    }),
    { numRuns: 3000 },
  );
});
