/** Declared inputs of computed columns. */

import { expect, it } from "vitest";
import { changedInput, declarationMetadata, outdatedFields } from "../../src/schema/computedFields.js";
import type { TableField } from "../../src/schema/schema.js";

const PLAIN = { type: { kind: "int", bits: 32, signed: true }, nullable: true, metadata: new Map() } as const;
const plain = (id: number, name: string): TableField => ({ ...PLAIN, id, name, children: [] });
const computed = (id: number, name: string, inputs: readonly string[]): TableField => ({
  ...plain(id, name),
  metadata: declarationMetadata({ kind: "function", udfName: "f", udfVersion: "1", inputs }),
});

/** A struct of structs that counts requests for members. */
function countedStruct(depth: number, members: number): { field: TableField; asked(): number } {
  let asked = 0;
  let id = 100;
  const counted = (level: number): TableField => {
    const inside = Array.from({ length: members }, (_, member) => plain(id++, `m${member}`));
    const children = level === depth ? inside : [...inside, counted(level + 1)];
    const field = { ...plain(id++, "st"), type: { kind: "struct" } as const };
    const get = () => {
      asked++;
      return children;
    };
    return Object.defineProperty(field, "children", { get, enumerable: true });
  };
  return { field: counted(1), asked: () => asked };
}

it("inputs are compared once, however many columns are computed from them and however often these name them", () => {
  const { field, asked } = countedStruct(20, 10);
  const paths = Array.from({ length: 20 }, (_, depth) =>
    Array(depth + 1)
      .fill("st")
      .join("."),
  );
  const inputs = Array.from({ length: 5000 }, (_, index) => paths[index % paths.length]);
  const columns = [computed(1, "a", inputs), computed(2, "b", inputs), computed(3, "c", ["`st`", "st"])];
  const fields = [...columns, field];
  expect(changedInput(columns, fields, fields)).toBeNull();
  // On the path to each field, before and after, and once within each struct.
  expect(asked()).toBeLessThan(3 * (2 * paths.length * paths.length));
});

it("columns that are computed from each other become outdated once, in any order", () => {
  const chain = Array.from({ length: 2000 }, (_, id) =>
    computed(id, `c${id}`, [`c${id + 1}`, `c${id + 1}.x`]),
  );
  const round = [...chain, computed(2000, "c2000", ["a", "c0"]), plain(3000, "a"), plain(3001, "b")];
  expect(outdatedFields(round, new Set(["a"]))).toEqual(round.slice(0, 2001));
  expect(outdatedFields(round, new Set(["a", "c1000"]))).toEqual([
    ...round.slice(0, 1000),
    ...round.slice(1001, 2001),
  ]);
  expect(outdatedFields(round, new Set(["b"]))).toEqual([]);
});
