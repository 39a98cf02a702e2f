/**
 * UpdateFieldMetadata keeps its promises, and random changes by three engines equal a model of nested maps.
 */

import { Field, Int32, List, Map_, Schema, Struct, Table, Utf8 } from "apache-arrow";
import fc from "fast-check";
import {
  DirectoryNamespace,
  formatFieldPath,
  InvalidInputError,
  type NamespaceError,
  TableBranchNotFoundError,
  TableColumnNotFoundError,
} from "tiltyard";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { RUN_SEED, runsOf } from "../support/effort.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const id = ["t"];
const ENTRY = new Struct([new Field("key", new Utf8(), false), new Field("value", new Int32(), true)]);
const SCHEMA = new Schema([
  new Field("id", new Int32(), false),
  new Field(
    "st",
    new Struct([
      new Field(
        "b.c",
        new Struct([new Field("x`y", new Int32(), true), new Field("id", new Utf8(), true)]),
        true,
      ),
      new Field(" é", new Utf8(), true),
      new Field("__proto__", new Int32(), true),
      new Field("constructor", new Int32(), true),
      new Field("`", new Int32(), true),
    ]),
    true,
  ),
  new Field("v", new List(new Field("item", new Struct([new Field("a", new Int32(), true)]), true)), true),
  new Field("m", new Map_(new Field("entries", ENTRY, false) as ConstructorParameters<typeof Map_>[0]), true),
]);

function pathsOf(fields: readonly Field[], above: readonly string[] = []): string[][] {
  return fields.flatMap((field) => {
    const path = [...above, field.name];
    return [path, ...pathsOf((field.type.children ?? []) as Field[], path)];
  });
}
const PATHS = pathsOf(SCHEMA.fields);

/** True if the test runs over HTTP, where members with the name of an object's prototype are refused. */
const overHttp = "overHttp" in DirectoryNamespace;

let root: string;
let namespace: DirectoryNamespace;
beforeEach(async () => {
  root = await makeTempDir();
  namespace = new DirectoryNamespace({ root, durability: "none" });
  await namespace.createTable({ id }, new Table(SCHEMA));
});
afterEach(() => namespace.close());

type Update = { path: string; metadata: Record<string, string | null>; replace?: boolean };
const update = (...updates: Update[]) => namespace.updateFieldMetadata({ id, updates });
async function metadataOf(ns: DirectoryNamespace, path: string, branch?: string): Promise<unknown> {
  const schema = await ns.table(id, { branch }).schema();
  return Object.fromEntries(metadataByPath(schema)[path]);
}
function metadataByPath(schema: Schema): Record<string, Map<string, string>> {
  const byPath: Record<string, Map<string, string>> = Object.create(null);
  const visit = (fields: readonly Field[], above: readonly string[]) => {
    for (const field of fields) {
      const path = [...above, field.name];
      byPath[formatFieldPath(path)] = field.metadata;
      visit((field.type.children ?? []) as Field[], path);
    }
  };
  visit(schema.fields, []);
  return byPath;
}

describe("each entry targets one field by path", () => {
  it("an update merges pairs into the field's metadata", async () => {
    await update({ path: "id", metadata: { a: "1", b: "2" } });
    const { fields } = await update({ path: "id", metadata: { b: "3", c: "4" } });
    expect(fields).toEqual({ id: { a: "1", b: "3", c: "4" } });
    expect(await metadataOf(namespace, "id")).toEqual({ a: "1", b: "3", c: "4" });
  });

  it("replace: true replaces the field's metadata", async () => {
    await update({ path: "id", metadata: { a: "1", b: "2" } });
    const { fields } = await update({ path: "id", metadata: { c: "4" }, replace: true });
    expect(fields).toEqual({ id: { c: "4" } });
    expect((await update({ path: "id", metadata: {}, replace: true })).fields).toEqual({ id: {} });
    expect(await metadataOf(namespace, "id")).toEqual({});
  });

  it("an update accepts any number of pairs", async () => {
    const pairs = Array.from({ length: 130_000 }, (_, index) => [String(index), ""]);
    await update({ path: "id", metadata: Object.fromEntries(pairs) });
    expect((await update({ path: "id", metadata: { c: "4" }, replace: true })).fields).toEqual({
      id: { c: "4" },
    });
  });

  it("replace: false equals null and absent", async () => {
    for (const replace of [false, null, undefined]) {
      await update({ path: "id", metadata: { [String(replace)]: "" }, replace: replace as never });
    }
    expect(await metadataOf(namespace, "id")).toEqual({ false: "", null: "", undefined: "" });
  });

  it("a null value deletes the key in both modes, even a missing one", async () => {
    await update({ path: "id", metadata: { a: "1", b: "2" } });
    expect((await update({ path: "id", metadata: { a: null, none: null } })).fields).toEqual({
      id: { b: "2" },
    });
    const { fields } = await update({ path: "id", metadata: { b: null, c: "3" }, replace: true });
    expect(fields).toEqual({ id: { c: "3" } });
  });

  it("an update changes no other field", async () => {
    await update({ path: "st", metadata: { a: "1" } });
    await update({ path: "st.`b.c`.id", metadata: { a: "2" } });
    const all = metadataByPath(await namespace.table(id).schema());
    for (const [path, metadata] of Object.entries(all)) {
      const expected = path === "st" ? { a: "1" } : path === "st.`b.c`.id" ? { a: "2" } : {};
      expect(Object.fromEntries(metadata), path).toEqual(expected);
    }
  });
});

describe("field paths", () => {
  it.each(
    PATHS.map((segments) => [formatFieldPath(segments)]),
  )("the path %s names its field", async (path) => {
    const { fields } = await update({ path, metadata: { k: "v" } });
    expect(Object.entries(fields)).toEqual([[path, { k: "v" }]]);
    expect(await metadataOf(namespace, path)).toEqual({ k: "v" });
  });

  it("the answer has canonical paths for all spellings", async () => {
    const { fields } = await update(
      { path: "`id`", metadata: { a: "1" } },
      { path: "`st`.`b.c`.`id`", metadata: { a: "2" } },
      { path: "`v`.item.`a`", metadata: { a: "3" } },
      { path: "st.````", metadata: { a: "4" } },
    );
    expect(fields).toEqual({
      id: { a: "1" },
      "st.`b.c`.id": { a: "2" },
      "v.item.a": { a: "3" },
      "st.````": { a: "4" },
    });
  });

  it("a single name is that of a top-level field only", async () => {
    await update({ path: "id", metadata: { which: "top" } });
    expect(await metadataOf(namespace, "st.`b.c`.id")).toEqual({});
    await expect(update({ path: "a", metadata: {} })).rejects.toBeInstanceOf(TableColumnNotFoundError);
  });

  it.each([
    ["st.b.c", "st.b.c"],
    ["`st.b.c`", "`st.b.c`"],
    ["ST", "ST"],
    ["`v`.Item", "v.Item"],
    ["id.x", "id.x"],
  ])("%s leads nowhere, and the error says so canonically", async (path, canonical) => {
    const before = await directorySnapshot(root);
    const failure = update({ path: "id", metadata: { a: "1" } }, { path, metadata: {} });
    await expect(failure).rejects.toBeInstanceOf(TableColumnNotFoundError);
    await expect(failure).rejects.toThrow(canonical);
    expect(await directorySnapshot(root)).toEqual(before);
  });

  const malformedPaths = [
    ["id..x", 3],
    ["id.", 3],
    [".id", 0],
    ["i`d", 1],
    ["st.`b.c", 3],
    ["`st`b", 4],
  ] as const;
  it.each(malformedPaths)("%s is malformed at %i", async (path, position) => {
    const before = await directorySnapshot(root);
    const failure = update({ path: "id", metadata: { a: "1" } }, { path, metadata: {} });
    await expect(failure).rejects.toBeInstanceOf(InvalidInputError);
    await expect(failure).rejects.toThrow(`at position ${position}`);
    expect(await directorySnapshot(root)).toEqual(before);
  });
});

it("metadata does not turn text into JSON, which no engine could read", async () => {
  const before = await directorySnapshot(root);
  const failure = update({ path: "st. é", metadata: { "ARROW:extension:name": "arrow.json" } });
  await expect(failure).rejects.toBeInstanceOf(InvalidInputError);
  expect(await directorySnapshot(root)).toEqual(before);
  await update({ path: "st. é", metadata: { "ARROW:extension:name": "mine" } });
  expect(await metadataOf(namespace, "st. é")).toEqual({ "ARROW:extension:name": "mine" });
});

describe("several entries", () => {
  it("several entries create one version, and the answer has all their fields", async () => {
    const { version, fields, transactionId } = await update(
      { path: "id", metadata: { a: "1" } },
      { path: "v.item", metadata: { b: "2" } },
    );
    expect(version).toBe(2);
    expect(transactionId).toMatch(/^[0-9a-f-]{36}$/);
    expect(fields).toEqual({ id: { a: "1" }, "v.item": { b: "2" } });
    expect(await namespace.table(id).version()).toBe(2);
  });

  it("entries for one field apply in order", async () => {
    const { fields, version } = await update(
      { path: "id", metadata: { a: "1", b: "1", c: "1" } },
      { path: "`id`", metadata: { a: "2", b: null } },
      { path: "id", metadata: { d: "3" } },
    );
    expect({ fields, version }).toEqual({ fields: { id: { a: "2", c: "1", d: "3" } }, version: 2 });
    const replaced = await update(
      { path: "id", metadata: { e: "4" } },
      { path: "id", metadata: { f: "5", g: null }, replace: true },
      { path: "id", metadata: { h: "6" } },
    );
    expect(replaced.fields).toEqual({ id: { f: "5", h: "6" } });
    expect(await metadataOf(namespace, "id")).toEqual({ f: "5", h: "6" });
  });

  it("an empty list and entries without pairs create versions too", async () => {
    expect(await update()).toMatchObject({ version: 2, fields: {} });
    expect(await update({ path: "id", metadata: {} })).toMatchObject({ version: 3, fields: { id: {} } });
  });
});

it.skipIf(overHttp)("keys and values may be any text", async () => {
  const metadata = Object.fromEntries([
    ["", "empty key"],
    ["empty value", ""],
    ["__proto__", "a key like others"],
    ["constructor", "another"],
    ["é.`$ \u0000\n", "\u{1f600}".repeat(1000)],
  ]);
  const { fields } = await update({ path: "st.__proto__", metadata });
  expect(Object.keys(fields)).toEqual(["st.__proto__"]);
  expect(Object.entries(fields["st.__proto__"]).sort()).toEqual(Object.entries(metadata).sort());
  expect(Object.entries((await metadataOf(namespace, "st.__proto__")) as object).sort()).toEqual(
    Object.entries(metadata).sort(),
  );
  const [, st] = (await reference.schemaJson(root, "t")).fields;
  const there = st.children.find((child) => child.name === "__proto__");
  expect(Object.entries(there?.metadata ?? {}).sort()).toEqual(Object.entries(metadata).sort());
});

it("text with a lone surrogate is refused, because it would change on disk", async () => {
  const before = await directorySnapshot(root);
  for (const [key, value] of [
    ["\ud800", "a"],
    ["a", "\udc00"],
  ]) {
    const metadata = { [key]: value };
    await expect(update({ path: "id", metadata })).rejects.toBeInstanceOf(InvalidInputError);
    const schema = namespace.updateTableSchemaMetadata({ id, metadata });
    await expect(schema).rejects.toBeInstanceOf(InvalidInputError);
  }
  expect(await directorySnapshot(root)).toEqual(before);
});

it("the default branch is main", async () => {
  await namespace.createTableBranch({ id, name: "dev" });
  await namespace.updateFieldMetadata({
    id,
    branch: "dev",
    updates: [{ path: "id", metadata: { on: "dev" } }],
  });
  await namespace.updateFieldMetadata({
    id,
    branch: "main",
    updates: [{ path: "id", metadata: { on: "main" } }],
  });
  expect(await metadataOf(namespace, "id", "dev")).toEqual({ on: "dev" });
  expect(await metadataOf(namespace, "id")).toEqual({ on: "main" });
  const absent = namespace.updateFieldMetadata({ id, branch: "none", updates: [] });
  await expect(absent).rejects.toBeInstanceOf(TableBranchNotFoundError);
});

const KEYS = ["a", "b", "", ...(overHttp ? [] : ["__proto__"]), "constructor", "é.`x"];
const PATH_TEXT = fc.tuple(fc.constantFrom(...PATHS), fc.boolean()).map(([segments, quoted]) => {
  const text = quoted
    ? segments.map((name) => `\`${name.replaceAll("`", "``")}\``).join(".")
    : formatFieldPath(segments);
  return { text, path: formatFieldPath(segments) };
});
const BAD = fc.constantFrom(
  { text: "id.", type: "InvalidInput" },
  { text: "st.`b.c", type: "InvalidInput" },
  { text: "nope", type: "TableColumnNotFound" },
  { text: "st.b.c", type: "TableColumnNotFound" },
);
const PAIRS = fc.array(
  fc.tuple(fc.constantFrom(...KEYS), fc.option(fc.string({ unit: "grapheme", maxLength: 4 }))),
  { maxLength: 4 },
);
const ENTRY_UPDATE = fc.record({ target: PATH_TEXT, pairs: PAIRS, replace: fc.option(fc.boolean()) });
const CALL = fc.record({
  by: fc.constantFrom("ours", "another", "reference"),
  updates: fc.array(ENTRY_UPDATE, { maxLength: 4 }),
  bad: fc.option(fc.tuple(BAD, fc.nat(4)), { freq: 4 }),
});

const uniqueBy = <T>(list: readonly T[], keyOf: (entry: T) => string): T[] =>
  Array.from(new Map(list.map((entry) => [keyOf(entry), entry])).values());

it("random changes by either engine give the metadata of the model", async () => {
  const seed = RUN_SEED;
  console.info(`field metadata: seed ${seed}`);
  await using another = new DirectoryNamespace({ root, durability: "none" });
  let version = 1;
  const model = new Map(PATHS.map((segments) => [formatFieldPath(segments), new Map<string, string>()]));
  await fc.assert(
    fc.asyncProperty(fc.array(CALL, { minLength: 1, maxLength: 6 }), async (calls) => {
      for (const { by, updates: all, bad } of calls) {
        // The reference only applies the last of several entries for one field.
        const entries = by === "reference" ? uniqueBy(all, ({ target }) => target.path) : all;
        const updates: Update[] = entries.map(({ target, pairs, replace }) => ({
          path: target.text,
          metadata: Object.fromEntries(pairs),
          replace: replace ?? undefined,
        }));
        if (bad !== null && by !== "reference") {
          updates.splice(bad[1], 0, { path: bad[0].text, metadata: { a: "1" } });
          const engine = by === "ours" ? namespace : another;
          const failure = await engine.updateFieldMetadata({ id, updates }).then(
            () => null,
            (error: NamespaceError) => error.type,
          );
          expect(failure).toBe(bad[0].type);
        } else {
          const named = new Set<string>();
          for (const { target, pairs, replace } of entries) {
            named.add(target.path);
            const metadata = replace === true ? new Map<string, string>() : new Map(model.get(target.path));
            for (const [key, value] of Object.entries(Object.fromEntries(pairs))) {
              if (value === null) metadata.delete(key);
              else metadata.set(key, value as string);
            }
            model.set(target.path, metadata);
          }
          version++;
          if (by === "reference") {
            expect(await reference.updateFieldMetadata(root, "t", updates)).toEqual({ version });
          } else {
            const answer = await (by === "ours" ? namespace : another).updateFieldMetadata({ id, updates });
            expect(answer.version).toBe(version);
            expect(
              new Map(
                Object.entries(answer.fields).map(([path, pairs]) => [path, new Map(Object.entries(pairs))]),
              ),
            ).toEqual(new Map(Array.from(named, (path) => [path, model.get(path)])));
          }
        }
        for (const engine of [namespace, another]) {
          const seen = metadataByPath(await engine.table(id).schema());
          expect(new Map(Object.entries(seen))).toEqual(model);
        }
      }
      const seen = new Map<string, Map<string, string>>();
      const visit = (fields: Awaited<ReturnType<typeof reference.schemaJson>>["fields"], above: string[]) => {
        for (const { name, metadata, children } of fields) {
          seen.set(formatFieldPath([...above, name]), new Map(Object.entries(metadata)));
          visit(children, [...above, name]);
        }
      };
      visit((await reference.schemaJson(root, "t")).fields, []);
      // The reference shows no metadata of a map's entries as a whole.
      seen.set("m.entries", new Map(model.get("m.entries")));
      expect(seen).toEqual(model);
    }),
    // All runs change one table, so a shorter run does not reproduce a failure.
    { numRuns: runsOf("METADATA_RUNS", 40), seed, endOnFailure: true },
  );
});
