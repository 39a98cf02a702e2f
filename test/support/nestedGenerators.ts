/** Nested Arrow tables from a description: nesting, nulls at each level, lengths of lists. */

import * as arrow from "apache-arrow";
import * as fc from "fast-check";
import { layoutOf } from "../../src/arrow/types/layouts.js";
import {
  makeColumn,
  NULL_PATTERNS,
  type NullPattern,
  Random,
  SHAPES,
  type Shape,
  TYPE_NAMES,
  TYPES,
  type TypeName,
  tableInBatches,
} from "./generators.js";

/** Items per list: a few, none, none in most lists, hundreds. */
export const LIST_LENGTHS = ["short", "empty", "mostlyEmpty", "long"] as const;
export type ListLength = (typeof LIST_LENGTHS)[number];

export type NestedSpec =
  | { kind: "leaf"; type: TypeName | "dictionary" | "null"; shape: Shape; nulls: NullPattern }
  | { kind: "list" | "largeList"; item: NestedSpec; nulls: NullPattern; lengths: ListLength }
  | { kind: "map"; key: NestedSpec; value: NestedSpec; nulls: NullPattern; lengths: ListLength }
  | { kind: "sizedList"; item: NestedSpec; nulls: NullPattern; dimension: number }
  | { kind: "struct"; members: NestedSpec[]; nulls: NullPattern; packed?: boolean };

export interface NestedTableSpec {
  columns: NestedSpec[];
  rowCount: number;
  seed: number;
  /** Rows of each batch but the last; default: one batch. */
  batchRows?: number;
}

/** Shorthands for specs. */
export const leaf = (
  type: TypeName | "dictionary" | "null",
  nulls: NullPattern = "none",
  shape: Shape = "random",
): NestedSpec => ({ kind: "leaf", type, shape, nulls });
export const list = (
  item: NestedSpec,
  nulls: NullPattern = "none",
  lengths: ListLength = "short",
): NestedSpec => ({ kind: "list", item, nulls, lengths });
export const struct = (members: NestedSpec[], nulls: NullPattern = "none"): NestedSpec => ({
  kind: "struct",
  members,
  nulls,
});
/** Members have no nulls: packed structs cannot store them. */
export const packed = (members: NestedSpec[], nulls: NullPattern = "none"): NestedSpec => ({
  kind: "struct",
  members: members.map((member) => ({ ...member, nulls: "none" }) as NestedSpec),
  nulls,
  packed: true,
});
export const empty = (nulls: NullPattern = "none"): NestedSpec => struct([], nulls);
/** A fixed-size list of structs. */
export const sized = (item: NestedSpec, nulls: NullPattern = "none", dimension = 3): NestedSpec => ({
  kind: "sizedList",
  item,
  nulls,
  dimension,
});
export const map = (
  value: NestedSpec,
  nulls: NullPattern = "none",
  lengths: ListLength = "short",
): NestedSpec => ({ kind: "map", key: leaf("utf8"), value, nulls, lengths });

/** Dictionary types per column: each dictionary needs an id of its own. */
const dictionaryTypes = new WeakMap<NestedSpec, arrow.Dictionary>();

function dictionaryType(spec: NestedSpec): arrow.Dictionary {
  const cached = dictionaryTypes.get(spec);
  if (cached !== undefined) return cached;
  const type = new arrow.Dictionary(new arrow.Utf8(), new arrow.Int16(), null, false);
  dictionaryTypes.set(spec, type);
  return type;
}

function typeOf(spec: NestedSpec): arrow.DataType {
  switch (spec.kind) {
    case "leaf":
      return spec.type === "dictionary"
        ? dictionaryType(spec)
        : spec.type === "null"
          ? new arrow.Null()
          : TYPES[spec.type];
    case "list":
      return new arrow.List(fieldOf("item", spec.item));
    case "largeList":
      return new arrow.LargeList(fieldOf("item", spec.item));
    case "map": {
      const entries = new arrow.Struct([fieldOf("key", spec.key), fieldOf("value", spec.value)]);
      return new arrow.Map_(
        new arrow.Field("entries", entries, false) as ConstructorParameters<typeof arrow.Map_>[0],
      );
    }
    case "sizedList":
      return new arrow.FixedSizeList(spec.dimension, fieldOf("item", spec.item));
    case "struct":
      return new arrow.Struct(spec.members.map((member, index) => fieldOf(`m${index}`, member)));
  }
}

const PACKED = new Map([["lance-encoding:packed", "true"]]);

const fieldOf = (name: string, spec: NestedSpec): arrow.Field =>
  new arrow.Field(
    name,
    typeOf(spec),
    spec.nulls !== "none" || (spec.kind === "leaf" && spec.type === "null"),
    spec.kind === "struct" && spec.packed === true ? PACKED : undefined,
  );

function validity(
  nulls: NullPattern,
  length: number,
  random: Random,
): { nullCount: number; nullBitmap?: Uint8Array } {
  if (nulls === "none") return { nullCount: 0 };
  const nullBitmap = new Uint8Array((length + 7) >> 3);
  let nullCount = 0;
  for (let row = 0; row < length; row++) {
    if (nulls === "all" || random.below(5) === 0) nullCount++;
    else nullBitmap[row >> 3] |= 1 << (row & 7);
  }
  return nullCount === 0 ? { nullCount } : { nullCount, nullBitmap };
}

function listLength(lengths: ListLength, random: Random): number {
  switch (lengths) {
    case "short":
      return random.below(4);
    case "empty":
      return 0;
    case "mostlyEmpty":
      return random.below(40) === 0 ? random.below(9) : 0;
    case "long":
      return random.below(4) === 0 ? random.below(400) : random.below(3);
  }
}

function makeNested(spec: NestedSpec, length: number, random: Random): arrow.Data {
  const type = typeOf(spec);
  switch (spec.kind) {
    case "leaf":
      if (spec.type === "null") return arrow.makeData({ type: new arrow.Null(), length, nullCount: length });
      if (spec.type === "dictionary") return makeDictionary(spec, length, random);
      return makeColumn({ type: spec.type, shape: spec.shape, nulls: spec.nulls }, length, random.next());
    case "struct": {
      const valid = validity(spec.nulls, length, random);
      const children = spec.members.map((member) => makeNested(member, length, random));
      return arrow.makeData({ type: type as arrow.Struct, length, ...valid, children });
    }
    case "sizedList": {
      const valid = validity(spec.nulls, length, random);
      const child = makeNested(spec.item, length * spec.dimension, random);
      return arrow.makeData({ type: type as arrow.FixedSizeList, length, ...valid, child });
    }
    default: {
      const valid = validity(spec.nulls, length, random);
      const offsets = new Int32Array(length + 1);
      for (let row = 0; row < length; row++)
        offsets[row + 1] = offsets[row] + listLength(spec.lengths, random);
      const count = offsets[length];
      const valueOffsets = spec.kind === "largeList" ? BigInt64Array.from(offsets, BigInt) : offsets;
      const child =
        spec.kind === "map"
          ? arrow.makeData({
              type: type.children[0].type as arrow.Struct,
              length: count,
              nullCount: 0,
              children: [makeNested(spec.key, count, random), makeNested(spec.value, count, random)],
            })
          : makeNested(spec.item, count, random);
      return arrow.makeData({
        type: type as arrow.List,
        length,
        ...valid,
        valueOffsets: valueOffsets as Int32Array,
        child,
      });
    }
  }
}

function makeDictionary(spec: NestedSpec, length: number, random: Random): arrow.Data {
  const words = ["", "a", "bb", "ccc", "dddd"];
  const bytes = new TextEncoder().encode(words.join(""));
  const offsets = Int32Array.from([0, 0, 1, 3, 6, 10]);
  const values = arrow.makeData({
    type: new arrow.Utf8(),
    length: words.length,
    nullCount: 0,
    valueOffsets: offsets,
    data: bytes,
  });
  const data = Int16Array.from({ length }, () => random.below(words.length));
  return arrow.makeData({
    type: dictionaryType(spec),
    length,
    ...validity(spec.nulls, length, random),
    data,
    dictionary: new arrow.Vector([values]),
  });
}

/** @param names of the columns; default: c0, c1 … */
export function makeNestedTable(spec: NestedTableSpec, names?: readonly string[]): arrow.Table {
  const schema = new arrow.Schema(
    spec.columns.map((column, index) => fieldOf(names?.[index] ?? `c${index}`, column)),
  );
  const columns = spec.columns.map((column, index) =>
    makeNested(column, spec.rowCount, new Random(spec.seed + index * 7919)),
  );
  return tableInBatches(schema, columns, spec);
}

/** Leaf types with different encodings. */
export const LEAF_TYPES = [
  "int32",
  "int64",
  "bool",
  "utf8",
  "largeBinary",
  "float64",
  "decimal128",
  "fixedSizeBinary200",
  "vectorFloat32",
  "vectorFloat32NullItems",
  "dictionary",
  "null",
] as const;

export const NESTINGS = {
  list: (item, nulls, lengths) => list(item, nulls, lengths),
  largeList: (item, nulls, lengths) => ({ kind: "largeList", item, nulls, lengths }),
  struct: (item, nulls) => struct([item, leaf("int16", "some")], nulls),
  structWithEmpty: (item) => struct([empty(), item, struct([empty()])]),
  listOfStruct: (item, nulls, lengths) => list(struct([item, leaf("utf8", "some")], nulls), nulls, lengths),
  structOfList: (item, nulls, lengths) => struct([list(item, nulls, lengths), leaf("int32")], nulls),
  listOfList: (item, nulls, lengths) => list(list(item, nulls, lengths), nulls, "short"),
  structOfStruct: (item, nulls) => struct([struct([item], nulls), leaf("bool", "some")], nulls),
  deep: (item, nulls, lengths) =>
    list(
      struct([list(struct([item, list(leaf("int32", nulls), nulls)], nulls), nulls, lengths)], nulls),
      nulls,
    ),
  map: (item, nulls, lengths) => map(item, nulls, lengths),
  mapOfListOfMap: (item, nulls, lengths) => map(list(map(item, nulls), nulls, lengths), nulls),
  packed: (item, nulls) => packed([leaf("int16"), item], nulls),
  listOfPacked: (item, nulls, lengths) => list(packed([item, leaf("int32")], nulls), nulls, lengths),
  structOfPacked: (item, nulls) => struct([packed([item], nulls), leaf("int32", "some")], nulls),
  sizedList: (item, nulls) => sized(struct([item, leaf("utf8", "some")], nulls), nulls),
  structOfSizedList: (item, nulls) =>
    struct([sized(struct([item, sized(struct([leaf("int64", nulls)]), nulls, 2)], nulls), nulls, 2)], nulls),
  sizedListOfPacked: (item, nulls) => sized(packed([item, leaf("float64")], nulls), nulls),
} as const satisfies Record<
  string,
  (item: NestedSpec, nulls: NullPattern, lengths: ListLength) => NestedSpec
>;
export type Nesting = keyof typeof NESTINGS;
export const NESTING_NAMES = Object.keys(NESTINGS) as Nesting[];

/** Lengths of lists that matter to a nesting. */
export const lengthsOf = (nesting: Nesting): readonly ListLength[] =>
  someNode(NESTINGS[nesting](leaf("int32"), "none", "short"), (node) => "lengths" in node)
    ? LIST_LENGTHS
    : ["short"];

/** True if `found` accepts a node of the spec. */
export function someNode(spec: NestedSpec, accepts: (node: NestedSpec) => boolean): boolean {
  if (accepts(spec)) return true;
  switch (spec.kind) {
    case "leaf":
      return false;
    case "struct":
      return spec.members.some((member) => someNode(member, accepts));
    case "map":
      return someNode(spec.key, accepts) || someNode(spec.value, accepts);
    default:
      return someNode(spec.item, accepts);
  }
}

/** Replaces structs by valid ones: 2.0 has no others. */
export function withValidStructs(spec: NestedSpec): NestedSpec {
  switch (spec.kind) {
    case "struct":
      return { ...spec, nulls: "none", members: spec.members.map(withValidStructs) };
    case "list":
    case "largeList":
      return { ...spec, item: withValidStructs(spec.item) };
    default:
      return spec;
  }
}

/** Adds members to structs without any if only 2.0 could store them there. */
export function withPlacedEmptyStructs(spec: NestedSpec, mayBe = true): NestedSpec {
  switch (spec.kind) {
    case "leaf":
      return spec;
    case "struct": {
      if (spec.members.length === 0) return mayBe ? empty() : leaf("int8", spec.nulls);
      const inside = mayBe && spec.nulls === "none";
      return { ...spec, members: spec.members.map((member) => withPlacedEmptyStructs(member, inside)) };
    }
    case "map":
      return { ...spec, value: withPlacedEmptyStructs(spec.value, false) };
    default:
      return { ...spec, item: withPlacedEmptyStructs(spec.item, false) };
  }
}

/** True if files of a version can hold such columns. 2.0 also lacks null structs. */
export function existsIn(version: "2.0" | "2.1" | "2.2", spec: NestedSpec): boolean {
  const isEmpty = (node: NestedSpec) => node.kind === "struct" && node.members.length === 0;
  return !someNode(spec, (node) => {
    if (version !== "2.0" && node.kind !== "struct" && !isEmpty(node) && someNode(node, isEmpty)) return true;
    if (node.kind === "map" || node.kind === "sizedList") return version !== "2.2";
    return node.kind === "struct" && node.packed === true && !node.members.every(canBePacked(version));
  });
}

const canBePacked =
  (version: "2.0" | "2.1" | "2.2") =>
  (member: NestedSpec): boolean => {
    if (member.kind !== "leaf" || member.type === "null" || member.type === "dictionary") return false;
    const { kind } = layoutOf(TYPES[member.type], "");
    switch (kind) {
      case "fixed":
        return true;
      case "variable":
        return version === "2.2";
      case "fixedSizeList":
        return version !== "2.1" && (version === "2.2" || !member.type.endsWith("NullItems"));
      default:
        return false;
    }
  };

export function nestedTableSpecs({
  maps = true,
  sizedLists = maps,
  emptyStructs = "none",
  maxRows = 400,
  types = [...TYPE_NAMES, "dictionary", "null"],
}: {
  maps?: boolean;
  /** Fixed-size lists of structs: the format allows them in structs, not in lists, and no lists within. */
  sizedLists?: boolean;
  /** Structs without members: "placed" only where all versions have them. */
  emptyStructs?: "none" | "placed" | "anywhere";
  maxRows?: number;
  types?: readonly (TypeName | "dictionary" | "null")[];
} = {}): fc.Arbitrary<NestedTableSpec> {
  const nulls = fc.constantFrom(...NULL_PATTERNS, "some" as const);
  const lengths = fc.constantFrom(...LIST_LENGTHS, "short" as const, "short" as const);
  const leaves = fc.record({
    kind: fc.constant("leaf" as const),
    type: fc.constantFrom(...types),
    shape: fc.constantFrom(...SHAPES.filter((shape) => shape !== "long")),
    nulls,
  });
  const packedStructs = fc
    .record({
      members: fc.array(fc.constantFrom(...types.filter((type) => canBePacked("2.1")(leaf(type)))), {
        minLength: 1,
        maxLength: 3,
      }),
      nulls,
    })
    .map((spec) =>
      packed(
        spec.members.map((type) => leaf(type)),
        spec.nulls,
      ),
    );
  const { node, flat } = fc.letrec<{ node: NestedSpec; flat: NestedSpec; flatStruct: NestedSpec }>((tie) => ({
    flat: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      leaves,
      tie("flatStruct"),
      fc.record({
        kind: fc.constant("sizedList" as const),
        item: tie("flatStruct"),
        nulls,
        dimension: fc.integer({ min: 1, max: 5 }),
      }),
    ) as fc.Arbitrary<NestedSpec>,
    flatStruct: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      packedStructs,
      fc.record({
        kind: fc.constant("struct" as const),
        members: fc.array(tie("flat"), { minLength: 1, maxLength: 3 }),
        nulls,
      }),
    ) as fc.Arbitrary<NestedSpec>,
    node: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      leaves,
      packedStructs,
      ...(emptyStructs === "none" ? [] : [nulls.map(empty)]),
      fc.record({
        kind: fc.constantFrom("list" as const, "largeList" as const),
        item: tie("node"),
        nulls,
        lengths,
      }),
      fc.record({
        kind: fc.constant("struct" as const),
        members: fc.array(tie("node"), { minLength: 1, maxLength: 3 }),
        nulls,
      }),
      ...(maps
        ? [
            fc.record({
              kind: fc.constant("map" as const),
              key: fc.constant(leaf("utf8")),
              value: tie("node"),
              nulls,
              lengths: fc.constantFrom("short" as const, "mostlyEmpty" as const),
            }),
          ]
        : []),
    ) as fc.Arbitrary<NestedSpec>,
  }));
  const specs = fc.record({
    // The reference reads fixed-size lists of structs only alone, so they are rare.
    columns: fc.array(
      sizedLists ? fc.oneof({ weight: 8, arbitrary: node }, { weight: 1, arbitrary: flat }) : node,
      { minLength: 1, maxLength: 3 },
    ),
    rowCount: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: maxRows })),
    seed: fc.nat(),
    batchRows: fc.option(fc.integer({ min: 7, max: 200 }), { nil: undefined }),
  });
  if (emptyStructs !== "placed") return specs;
  return specs.map((spec) => ({
    ...spec,
    columns: spec.columns.map((column) => withPlacedEmptyStructs(column)),
  }));
}
