/** Rivals: changes to a table while an operation on it is paused, in acknowledged or refused steps. */

import { cp, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { DirectoryNamespace } from "tiltyard";
import { LOCK_NAME } from "../../src/io/lock/lease.js";
import type { EngineStep } from "../support/engineWorker.js";
import { reference } from "../support/reference.js";
import type { RivalEngine } from "../support/rivalEngine.js";
import { stageDoubled } from "../support/stageVersion.js";
import { type Beginning, isRoot, otherRowsOf, rowsOf, type TableId } from "./world.js";

/** Scene of a rival's steps. */
export interface Scene {
  readonly root: string;
  /** Our engine in another process. */
  readonly engine: RivalEngine;
  /** Path that the rival prepared before the case. */
  readonly prepared: string;
}

export interface RivalStep {
  readonly name: string;
  /** Resolves to the answer; rejects if it was refused. */
  take(scene: Scene): Promise<unknown>;
}

export interface Rival {
  readonly name: string;
  /** Kind of the rival; only "ours" waits for locks. */
  readonly by: "ours" | "reference" | "files";
  readonly steps: readonly RivalStep[];
  /** Runs before the case and returns a path. */
  prepare?(root: string): Promise<string>;
}

/** Refusal by our engine. */
export class Refusal extends Error {
  readonly type: string;
  constructor(type: string, message: string) {
    super(`${type}: ${message}`);
    this.type = type;
  }
}

type StepOf = (scene: Scene) => EngineStep;

const ours = (name: string, ...steps: (EngineStep | StepOf)[]): Rival => ({
  name,
  by: "ours",
  steps: steps.map((step) => ({
    name: typeof step === "function" ? name : step[0],
    async take(scene) {
      const outcome = await scene.engine.call(typeof step === "function" ? step(scene) : step);
      if ("ok" in outcome) return outcome.ok;
      throw new Refusal(outcome.type, outcome.message);
    },
  })),
});

const theirs = (name: string, ...takes: ((root: string) => Promise<unknown>)[]): Rival => ({
  name: `reference: ${name}`,
  by: "reference",
  steps: takes.map((take, index) => ({ name: `${name}, ${index}`, take: ({ root }) => take(root) })),
});

/** Makes a rival that changes files directly, without locks. */
const byHand = (name: string, ...takes: ((scene: Scene) => Promise<unknown>)[]): Rival => ({
  name,
  by: "files",
  steps: takes.map((take) => ({ name, take })),
});

const locationOf = async (root: string, id: TableId): Promise<string> => {
  await using ns = new DirectoryNamespace({ root, durability: "none" });
  return (await ns.describeTable({ id })).location;
};

/** Returns the rivals that fit an id's initial state. */
export function rivalsOf(id: TableId, beginning: Beginning): Rival[] {
  switch (beginning) {
    case "table":
      return [...ofRows(id), ...ofTable(id), ...ofPlace(id), ...ofVersions(id), ...referenceOf(id)];
    case "refs":
      return [
        ...ofRows(id),
        ...ofTable(id),
        ...ofVersions(id),
        ...ofRefs(id),
        ...referenceOf(id),
        ...referenceRefs(id),
      ];
    case "declared":
      return [...ofDeclared(id), ...ofPlace(id)];
    case "hidden":
      return ofHidden(id);
    case "absent":
      return ofAbsent(id);
  }
}

const ofRows = (id: TableId): Rival[] => [
  ours("append", ["insertIntoTable", { id }, rowsOf(100)]),
  ours("append twice", ["insertIntoTable", { id }, rowsOf(100)], ["insertIntoTable", { id }, rowsOf(101)]),
  ours("overwrite", ["insertIntoTable", { id, mode: "Overwrite" }, rowsOf(200)]),
  ours("delete rows", ["deleteFromTable", { id, predicate: "v < 2" }]),
  ours("update rows", ["updateTable", { id, predicate: "v < 3", updates: [["v", "v + 1000"]] }]),
  ours("merge rows", [
    "mergeInsertIntoTable",
    { id, on: "v", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true },
    rowsOf(2, 900),
  ]),
  ours("overwrite with other columns", ["createTable", { id, mode: "Overwrite" }, otherRowsOf("x")]),
];

const ofTable = (id: TableId): Rival[] => {
  const cascade: EngineStep = ["dropNamespace", { id: id.slice(0, -1), behavior: "Cascade" }];
  const drop: EngineStep = ["dropTable", { id }];
  const inChild = [
    ours("cascade", cascade),
    ours(
      "cascade and make anew",
      cascade,
      ["createNamespace", { id: id.slice(0, -1) }],
      ["createTable", { id }, rowsOf(300)],
    ),
  ];
  return [
    ours("drop", drop),
    ours("drop and make anew", drop, ["createTable", { id }, rowsOf(300)]),
    ours(
      "drop and make anew up to the same version",
      drop,
      ["createTable", { id }, rowsOf(300)],
      ["insertIntoTable", { id }, rowsOf(301)],
      ["insertIntoTable", { id }, rowsOf(302)],
    ),
    ours(
      "drop and make anew with other columns",
      drop,
      ["createTable", { id }, otherRowsOf("x")],
      ["insertIntoTable", { id }, otherRowsOf("y")],
      ["cleanupTable", { id, olderThanMs: 0 }],
    ),
    ours("drop and declare", drop, ["declareTable", { id }]),
    ours("deregister", ["deregisterTable", { id }]),
    ...(isRoot(id) ? [] : inChild),
  ];
};

const ofPlace = (id: TableId): Rival[] => {
  const away: EngineStep = ["renameTable", { id, newTableName: "away" }];
  return [
    ours("rename away", away),
    ours("rename away and make anew", away, ["createTable", { id }, rowsOf(300)]),
    isRoot(id)
      ? ours("rename into a namespace", [
          "renameTable",
          { id, newTableName: "away", newNamespaceId: ["far"] },
        ])
      : ours("rename into the root", ["renameTable", { id, newTableName: "away", newNamespaceId: [] }]),
  ];
};

const ofVersions = (id: TableId): Rival[] => [
  ours("clean up", ["cleanupTable", { id, olderThanMs: 0 }]),
  ours(
    "append and clean up",
    ["insertIntoTable", { id }, rowsOf(100)],
    ["cleanupTable", { id, olderThanMs: 0 }],
  ),
  ours("restore", ["restoreTable", { id, version: 1 }]),
  ours("optimize", ["optimizeTable", { id }]),
  ours("delete a version", [
    "batchDeleteTableVersions",
    { id, ranges: [{ startVersion: 2, endVersion: 3 }] },
  ]),
  ours("tag", ["createTableTag", { id, tag: "new", version: 1 }]),
  ours("make a branch", ["createTableBranch", { id, name: "new", fromVersion: 2 }]),
  ours("add a column", ["alterTableAddColumns", { id, newColumns: [{ name: "n", expression: "7" }] }]),
  {
    ...ours("publish after a gap", ({ prepared }) => [
      "createTableVersion",
      { id, version: 8, manifestPath: prepared },
    ]),
    prepare: async (root) => stageDoubled(await locationOf(root, id), 8),
  },
  {
    ...byHand("put back as it was", (scene) => putBack(scene)),
    prepare: (root) => putAside(root, id),
  },
];

/** Copies a table's directory, without locks, under a name that encodes its destination. */
async function putAside(root: string, id: TableId): Promise<string> {
  const location = await locationOf(root, id);
  const copy = join(`${root}-aside`, location.slice(root.length));
  await rm(`${root}-aside`, { recursive: true, force: true });
  const filter = (from: string) => basename(from) !== LOCK_NAME;
  await cp(location, copy, { recursive: true, preserveTimestamps: true, filter });
  return location;
}

async function putBack({ root, prepared }: Scene): Promise<void> {
  await rm(prepared, { recursive: true, force: true });
  const copy = join(`${root}-aside`, prepared.slice(root.length));
  await cp(copy, prepared, { recursive: true, preserveTimestamps: true });
}

const ofRefs = (id: TableId): Rival[] => [
  ours("delete a tag", ["deleteTableTag", { id, tag: "v" }]),
  ours(
    "delete a tag and clean up",
    ["deleteTableTag", { id, tag: "v" }],
    ["cleanupTable", { id, olderThanMs: 0 }],
  ),
  ours(
    "delete a tag and make it anew",
    ["deleteTableTag", { id, tag: "v" }],
    ["createTableTag", { id, tag: "v", version: 2 }],
  ),
  ours("move a tag", ["updateTableTag", { id, tag: "v", version: 3 }]),
  ours("tag a version of the branch", ["createTableTag", { id, tag: "new", branch: "dev", version: 3 }]),
  ours("append to the branch", ["insertIntoTable", { id, branch: "dev" }, rowsOf(150)]),
  ours("delete the branch", ["deleteTableBranch", { id, name: "dev" }]),
  ours(
    "delete the branch and make it anew",
    ["deleteTableBranch", { id, name: "dev" }],
    ["createTableBranch", { id, name: "dev", fromVersion: 2 }],
    ["insertIntoTable", { id, branch: "dev" }, rowsOf(350)],
  ),
  ours("make a branch of the branch", ["createTableBranch", { id, name: "new", fromBranch: "dev" }]),
  ours("clean up the branch", ["cleanupTable", { id, branch: "dev", olderThanMs: 0 }]),
  ours("delete the other branch", ["deleteTableBranch", { id, name: "old" }]),
];

const ofDeclared = (id: TableId): Rival[] => [
  ours("append", ["insertIntoTable", { id }, rowsOf(100)]),
  ours("create", ["createTable", { id }, rowsOf(300)]),
  ours("create with other columns", ["createTable", { id }, otherRowsOf("x")]),
  ours("drop", ["dropTable", { id }]),
  ours("drop and declare anew", ["dropTable", { id }], ["declareTable", { id }]),
  ours("drop and create", ["dropTable", { id }], ["createTable", { id }, otherRowsOf("x")]),
  ours("deregister", ["deregisterTable", { id }]),
  ...(isRoot(id) ? [] : [ours("cascade", ["dropNamespace", { id: id.slice(0, -1), behavior: "Cascade" }])]),
];

const ofHidden = (id: TableId): Rival[] => {
  const register: EngineStep = ["registerTable", { id, location: `${id[0]}.lance` }];
  return [
    ours("register", register),
    ours("register and drop", register, ["dropTable", { id }]),
    ours("register, drop and create", register, ["dropTable", { id }], ["createTable", { id }, rowsOf(300)]),
    ours("register and deregister", register, ["deregisterTable", { id }]),
    ours("rename another to it", ["renameTable", { id: ["other"], newTableName: id[0] }]),
  ];
};

const ofAbsent = (id: TableId): Rival[] => {
  const create: EngineStep = ["createTable", { id }, rowsOf(300)];
  const drop: EngineStep = ["dropTable", { id }];
  const namespace = id.slice(0, -1);
  const cascade: EngineStep = ["dropNamespace", { id: namespace, behavior: "Cascade" }];
  return [
    ours("create", create),
    ours(
      "create with other columns, append",
      ["createTable", { id }, otherRowsOf("x")],
      ["insertIntoTable", { id }, otherRowsOf("y")],
    ),
    ours("create and drop", create, drop),
    ours("declare", ["declareTable", { id }]),
    ours("declare and drop", ["declareTable", { id }], drop),
    ours("create a namespace of that name", ["createNamespace", { id }]),
    ours("rename another to it", [
      "renameTable",
      { id: ["other"], newTableName: id[id.length - 1], newNamespaceId: namespace },
    ]),
    ...(isRoot(id)
      ? [theirs("create", (root) => reference.createTable(root, id[0], rowsOf(300)))]
      : [
          ours("cascade", cascade),
          ours("cascade and make the namespace anew", cascade, ["createNamespace", { id: namespace }]),
          theirs("create", (root) => reference.catalogStep(root, "createTable", id, [{ w: "x" }])),
        ]),
  ];
};

const referenceOf = (id: TableId): Rival[] => {
  if (!isRoot(id)) {
    return [
      theirs("append", (root) => reference.catalogStep(root, "addRows", id, [{ v: 100 }])),
      theirs("drop", (root) => reference.catalogStep(root, "dropTable", id)),
      theirs(
        "drop and make anew",
        (root) => reference.catalogStep(root, "dropTable", id),
        (root) => reference.catalogStep(root, "createTable", id, [{ w: "x" }]),
      ),
    ];
  }
  const [name] = id;
  return [
    theirs("append", (root) => reference.appendTable(root, name, rowsOf(100))),
    theirs("overwrite", (root) => reference.overwriteTable(root, name, rowsOf(200))),
    theirs("delete rows", (root) => reference.deleteRows(root, name, "v = 2")),
    theirs("drop", (root) => reference.dropTable(root, name)),
    theirs(
      "drop and make anew",
      (root) => reference.dropTable(root, name),
      (root) => reference.createTable(root, name, otherRowsOf("x")),
      (root) => reference.appendTable(root, name, otherRowsOf("y")),
    ),
    theirs("restore", (root) => reference.restoreTable(root, name, 1)),
    theirs("tag", (root) => reference.createTag(root, name, "new", 1)),
    theirs("make a branch", (root) => reference.createBranch(root, name, "new", { fromVersion: 2 })),
  ];
};

const referenceRefs = (id: TableId): Rival[] => {
  if (!isRoot(id)) return [];
  const [name] = id;
  return [
    theirs("delete a tag", (root) => reference.deleteTag(root, name, "v")),
    theirs("append to the branch", (root) =>
      reference.appendTable(root, name, rowsOf(150), { branch: "dev" }),
    ),
    theirs("delete the branch", (root) => reference.deleteBranch(root, name, "dev")),
    theirs(
      "delete the branch and make it anew",
      (root) => reference.deleteBranch(root, name, "dev"),
      (root) => reference.createBranch(root, name, "dev", { fromVersion: 2 }),
      (root) => reference.appendTable(root, name, rowsOf(350), { branch: "dev" }),
    ),
  ];
};
