/** Lists, structs and maps around every kind of leaf, ours read by the reference and the reference's read by us. */

import { tableFromIPC, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NULL_PATTERNS } from "../support/generators.js";
import {
  LEAF_TYPES,
  LIST_LENGTHS,
  leaf,
  list,
  makeNestedTable,
  map,
  NESTING_NAMES,
  NESTINGS,
  type NestedTableSpec,
  nestedTableSpecs,
  struct,
} from "../support/nestedGenerators.js";
import { compareTables, reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const VERSIONS = ["2.1", "2.2"] as const;
type Version = (typeof VERSIONS)[number];

let root: string;
let namespaces: Record<Version, DirectoryNamespace>;
let tableCount = 0;
const freshName = () => `t${tableCount++}`;

beforeAll(async () => {
  root = await makeTempDir();
  namespaces = {
    "2.1": new DirectoryNamespace({ root, durability: "none", dataStorageVersion: "2.1" }),
    "2.2": new DirectoryNamespace({ root, durability: "none", dataStorageVersion: "2.2" }),
  };
});
afterAll(async () => {
  await Promise.all(Object.values(namespaces).map((namespace) => namespace.close()));
});

/** Reference → us. */
async function writeThere(spec: NestedTableSpec, version: Version): Promise<void> {
  const name = freshName();
  const expected = makeNestedTable(spec);
  await reference.createTable(root, name, tableToIPC(expected), { dataStorageVersion: version });
  compareTables(expected, await namespaces[version].table([name]).scan().toArrow(), { metadata: false });
  await namespaces[version].dropTable({ id: [name] });
}

/** Ours → us, and ours → reference. */
async function writeHere(spec: NestedTableSpec, version: Version): Promise<void> {
  const name = freshName();
  const expected = makeNestedTable(spec);
  const namespace = namespaces[version];
  await namespace.createTable({ id: [name] }, expected);
  compareTables(expected, await namespace.table([name]).scan().toArrow(), { metadata: false });
  compareTables(expected, tableFromIPC(await reference.readTable(root, name)), { metadata: false });
  await namespace.dropTable({ id: [name] });
}

describe.each(VERSIONS)("file version %s", (version) => {
  const nestings = NESTING_NAMES.filter((name) => version !== "2.1" || !name.startsWith("map"));
  describe.each(nestings)("%s", (nesting) => {
    for (const nulls of NULL_PATTERNS) {
      it.each(LIST_LENGTHS)(`nulls: ${nulls}, lists: %s`, async (lengths) => {
        for (const rowCount of [3, 300]) {
          // apache-arrow sends columns of type null in lists with a wrong count of nulls.
          const columns = LEAF_TYPES.filter((type) => type !== "null").map((type) => NESTINGS[nesting](leaf(type, nulls), nulls, lengths));
          const spec = { columns, rowCount, seed: rowCount };
          // The apache-arrow that the reference takes its input from knows no large lists.
          if (nesting !== "largeList") await writeThere(spec, version);
          await writeHere(spec, version);
        }
      });
    }
  });
});
void fc; void list; void map; void struct; void nestedTableSpecs;
