/**
 * Another program replaces directories below the root by links to another root with the same tables, before
 * any step of an operation. Nothing in the other root may change.
 */

import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { Int32, Table, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { NamespaceError } from "../../src/errors.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { strideOf } from "../support/effort.js";
import { sharedDirectory } from "../support/fixtures.js";
import { type ConfinementHooks, hookedConfinement } from "../support/hookedConfinement.js";
import { errorOf } from "../support/outcomes.js";
import { makeTempDir } from "../support/tempDir.js";

const STRIDE = strideOf("SWAP_STRIDE", 4);

let means: "descriptors" | "looks" = "descriptors";
let hooks: ConfinementHooks = {};

vi.mock(import("../../src/io/disk/localConfinement.js"), async (original) => {
  const module = await original();
  return {
    ...module,
    confinedTo: (places) =>
      hookedConfinement(module.confinedTo(places, means === "looks" ? "looks" : undefined), {
        before: (directory) => hooks.before?.(directory),
        between: (directory) => hooks.between?.(directory),
      }),
  };
});

const id = ["t"];
const rows = (...values: number[]) =>
  new Table({ id: vectorFromArray(values, new Int32()), w: vectorFromArray(values, new Int32()) });

/** Template of the namespace for each round. */
const template = sharedDirectory();

beforeAll(async () => {
  await using ns = new DirectoryNamespace({ root: template, durability: "none", workers: 0 });
  await ns.createNamespace({ id: ["n"] });
  await ns.createTable({ id: ["n", "t"] }, rows(1));
  await ns.createTable({ id: ["u"] }, rows(1));
  await ns.createTable({ id }, rows(1, 2, 3));
  await ns.createTableTag({ id, tag: "first", version: 1 });
  await ns.insertIntoTable({ id }, rows(4, 5, 6));
  await ns.createTableBranch({ id, name: "dev" });
  await ns.insertIntoTable({ id, branch: "dev" }, rows(7));
  const { jobId } = await ns.createTableIndex({ id, column: "id", indexType: "BTREE" });
  await ns.waitForJob({ jobId });
  await ns.deleteFromTable({ id, predicate: "id = 2" });
});

type Run = (ns: DirectoryNamespace) => Promise<unknown>;

const OPERATIONS: [name: string, run: Run][] = [
  ["insertIntoTable", (ns) => ns.insertIntoTable({ id }, rows(8))],
  ["insertIntoTable, into a branch", (ns) => ns.insertIntoTable({ id, branch: "dev" }, rows(8))],
  ["deleteFromTable", (ns) => ns.deleteFromTable({ id, predicate: "id = 3" })],
  ["updateTable", (ns) => ns.updateTable({ id, updates: [["w", "w + 1"]], predicate: "id = 3" })],
  [
    "mergeInsertIntoTable",
    (ns) => ns.mergeInsertIntoTable({ id, on: "id", whenNotMatchedInsertAll: true }, rows(3, 9)),
  ],
  ["cleanupTable", (ns) => ns.cleanupTable({ id, olderThanMs: 0 })],
  ["optimizeTable", (ns) => ns.optimizeTable({ id })],
  ["createTableTag", (ns) => ns.createTableTag({ id, tag: "second", version: 2 })],
  ["deleteTableTag", (ns) => ns.deleteTableTag({ id, tag: "first" })],
  ["createTableBranch", (ns) => ns.createTableBranch({ id, name: "deep/er" })],
  ["deleteTableBranch", (ns) => ns.deleteTableBranch({ id, name: "dev" })],
  ["restoreTable", (ns) => ns.restoreTable({ id, version: 1 })],
  [
    "createTableIndex",
    async (ns) => {
      const { jobId } = await ns.createTableIndex({ id, column: "w", indexType: "BITMAP" });
      await ns.waitForJob({ jobId });
    },
  ],
  ["createTable", (ns) => ns.createTable({ id: ["n", "new"] }, rows(1))],
  ["dropTable", (ns) => ns.dropTable({ id })],
  ["dropNamespace", (ns) => ns.dropNamespace({ id: ["n"], behavior: "Cascade" })],
  ["renameTable", (ns) => ns.renameTable({ id: ["u"], newTableName: "v" })],
];

const TABLE = ["data", "_versions", "_transactions", "_deletions", "_indices", "_refs", "tree", ".tiltyard"];

const VICTIMS: [name: string, paths: (root: string) => string[]][] = [
  ["the directories of a table", () => TABLE.map((name) => join("t.lance", name))],
  [
    "those of its branch and refs",
    () =>
      ["tree/dev/_versions", "tree/dev/data", "_refs/tags", "_refs/branches"].map((name) =>
        join("t.lance", name),
      ),
  ],
  [
    "all directories of the root",
    (root) =>
      readdirSync(root, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name),
  ],
  [
    "the locks and what is removed",
    (root) => [
      ...[".", "t.lance", "__manifest"].map((name) => join(name, ".tiltyard.lock")),
      ...readdirSync(root)
        .filter((name) => name.startsWith(".tiltyard-drop"))
        .flatMap((name) => TABLE.map((each) => join(name, each))),
    ],
  ],
];

function swap(root: string, outside: string, paths: readonly string[]): void {
  for (const path of paths) {
    const directory = join(root, path);
    if (!lstatSync(directory, { throwIfNoEntry: false })?.isDirectory()) continue;
    // A file below a new link is outside the root, and the engine did not put it there.
    if (
      path
        .split(/[\\/]/)
        .some((_, index, parts) => lstatSync(join(root, ...parts.slice(0, index + 1))).isSymbolicLink())
    )
      continue;
    renameSync(directory, `${directory}.moved`);
    const twin = join(outside, path);
    symlinkSync(existsSync(twin) ? twin : join(outside, "t.lance"), directory);
  }
}

const everything = async (directory: string) => [
  await directorySnapshot(directory),
  readdirSync(directory, { recursive: true }).sort(),
];

// Windows does not rename a directory with an open file.
describe.runIf(process.platform !== "win32")("links in place of directories", () => {
  let base: string;
  beforeEach(async () => {
    base = await makeTempDir();
  });

  describe.each(["descriptors", "looks"] as const)("by %s", (chosen) => {
    it.each(
      OPERATIONS.flatMap(([name, run], operation) =>
        VICTIMS.map(([victims, paths], index) => [name, victims, run, paths, operation + index] as const),
      ),
    )("%s touches nothing outside where %s are replaced meanwhile", async (_name, _victims, run, paths, offset) => {
      means = chosen;
      const [root, outside] = [join(base, "root"), join(base, "outside")];
      cpSync(template, outside, { recursive: true, preserveTimestamps: true });
      const before = await everything(outside);
      for (let turn = 1 + (offset % STRIDE); ; turn += STRIDE) {
        rmSync(root, { recursive: true, force: true });
        mkdirSync(root);
        cpSync(template, root, { recursive: true, preserveTimestamps: true });
        let calls = 0;
        const step = () => {
          if (++calls === turn) swap(root, outside, paths(root));
        };
        hooks = chosen === "looks" ? { before: step } : { between: step };
        const ns = new DirectoryNamespace({ root, durability: "none", workers: 0, lock: { retries: 0 } });
        const failure = await errorOf(run(ns));
        await ns.close();
        hooks = {};
        expect(await everything(outside)).toEqual(before);
        // The operation is complete if the directories stayed unchanged.
        expect(failure).toEqual(calls < turn ? null : failure && expect.any(NamespaceError));
        if (calls < turn) break;
      }
    });
  });
});
