/** Random changes of a namespace: each as calls on any engine, and as a change of the model. */

import { Int32, Table, tableToIPC, vectorFromArray } from "apache-arrow";
import fc from "fast-check";
import type { DirectoryNamespace } from "tiltyard";
import type { EngineStep } from "../support/engineWorker.js";
import { stageDoubled } from "../support/stageVersion.js";
import { isStableAt, type Model } from "./model.js";

export interface Call {
  readonly method: keyof DirectoryNamespace & string;
  readonly request: object;
  /** Values of the column `v`, for methods that take rows. */
  readonly rows?: readonly number[];
}

export interface Change {
  readonly name: string;
  /** Consecutive calls; a refused call ends them. */
  readonly calls: readonly Call[];
  readonly model: (model: Model) => void;
  /** Part of the change that others may see before its end; absent: none. */
  readonly halfway?: (model: Model) => void;
}

export const bytesOf = (rows: readonly number[]): Uint8Array =>
  tableToIPC(new Table({ v: vectorFromArray(rows.length === 0 ? [] : rows, new Int32()) }));

/** Makes a step of any process from a call, and stages the manifests that it needs. */
export async function stepOf(ns: DirectoryNamespace, call: Call): Promise<EngineStep> {
  const request = await withStaged(ns, call.request);
  return [call.method, request, call.rows && bytesOf(call.rows)];
}

export async function perform(ns: DirectoryNamespace, { calls }: Pick<Change, "calls">): Promise<void> {
  for (const call of calls) {
    const [, request, payload] = await stepOf(ns, call);
    const method = ns[call.method] as (request: object, data?: Uint8Array) => Promise<unknown>;
    await method.call(ns, request, payload);
  }
}

interface VersionPart {
  readonly id: string[];
  readonly version: number;
}

interface StagingRequest {
  readonly manifestPath?: string;
  readonly operations?: readonly { readonly createTableVersion?: VersionPart }[];
}

async function withStaged(ns: DirectoryNamespace, request: StagingRequest): Promise<object> {
  if (request.manifestPath !== undefined) return staged(ns, request as VersionPart);
  if (request.operations === undefined) return request;
  const operations = [];
  for (const operation of request.operations) {
    const part = operation.createTableVersion;
    operations.push(part === undefined ? operation : { createTableVersion: await staged(ns, part) });
  }
  return { operations };
}

const staged = async (ns: DirectoryNamespace, part: VersionPart) => ({
  ...part,
  manifestPath: await stage(ns, part),
});

/** Returns the path of a staged manifest; an empty one if there is no table. */
async function stage(ns: DirectoryNamespace, { id, version }: VersionPart): Promise<string> {
  const described = await ns.describeTable({ id }).catch(() => null);
  if (described === null || described.isOnlyDeclared) return "nowhere";
  return stageDoubled(described.location as string, version);
}

/** Few names, so that changes collide. */
const namespacePath = fc.constantFrom(["n"], ["n", "m"], ["o"]);
export const tableId = fc.constantFrom(
  ["t"],
  ["t"],
  ["u"],
  ["n", "t"],
  ["n", "t"],
  ["n", "m", "t"],
  ["o", "t"],
);
/** Mostly ids without a table. */
export const newId = fc.constantFrom(["u"], ["d"], ["n", "d"], ["n", "d"], ["n", "m", "d"], ["n", "t"]);
const rows = fc.array(fc.integer({ min: -9, max: 9 }), { maxLength: 3 });
/** Limit below which rows change; usually some do. */
const limit = fc.constantFrom(-9, -3, 0, 2, 4, 20);
const column = fc.constantFrom("w", "x");
/** Mostly few versions, as tables have. */
const version = fc.constantFrom(1, 1, 2, 2, 3, 4, 5);
const newVersion = fc.integer({ min: 2, max: 9 });
export const branch = fc.constantFrom("main", "main", "main", "dev", "dev/x");
const otherBranch = fc.constantFrom("dev", "dev/x", "late");
const tag = fc.constantFrom("v1", "v2");
export const onMain = (name: string) => (name === "main" ? undefined : name);

type Id = readonly string[];

const change = (
  method: Call["method"],
  request: object,
  model: Change["model"],
  values?: readonly number[],
): Change => ({
  name: `${method}(${JSON.stringify(request)}${values === undefined ? "" : `, [${values}]`})`,
  calls: [{ method, request, rows: values }],
  model,
});

const createNamespace = (id: Id, existOk: boolean) =>
  change("createNamespace", { id, mode: existOk ? "ExistOk" : "Create" }, (model) =>
    model.createNamespace(id, existOk),
  );

const dropNamespace = (id: Id, cascade: boolean) =>
  change("dropNamespace", { id, behavior: cascade ? "Cascade" : "Restrict" }, (model) =>
    model.dropNamespace(id, cascade),
  );

const declareTable = (id: Id) => change("declareTable", { id }, (model) => model.declareTable(id));

const createTable = (id: Id, mode: string, values: number[]) => {
  const request = { id, mode, stableRowIds: isStableAt(id) };
  return change("createTable", request, (model) => model.createTable(id, mode, values), values);
};

const deregisterTable = (id: Id) => change("deregisterTable", { id }, (model) => model.deregisterTable(id));

const registerTable = (name: string) =>
  change("registerTable", { id: [name], location: `${name}.lance` }, (model) => model.registerTable(name));

const dropTable = (id: Id) => change("dropTable", { id }, (model) => model.dropTable(id));

const renameTable = (id: Id, newId: Id) => {
  const request = { id, newTableName: newId[newId.length - 1], newNamespaceId: newId.slice(0, -1) };
  return change("renameTable", request, (model) => model.renameTable(id, newId));
};

const insert = (id: Id, on: string, mode: "Append" | "Overwrite", values: number[]) => {
  const isOverwrite = mode === "Overwrite";
  const request = { id, branch: onMain(on), mode };
  return change("insertIntoTable", request, (model) => model.insert(id, on, isOverwrite, values), values);
};

const deleteRows = (id: Id, on: string, below: number) =>
  change("deleteFromTable", { id, branch: onMain(on), predicate: `v < ${below}` }, (model) =>
    model.changeRows(id, on, below, null),
  );

const updateRows = (id: Id, on: string, below: number, increment: number) => {
  const updates = [["v", `v + ${increment}`]];
  const request = { id, branch: onMain(on), predicate: `v < ${below}`, updates };
  return change("updateTable", request, (model) => model.changeRows(id, on, below, increment));
};

const mergeRows = (id: Id, on: string, values: readonly number[]) => {
  const upsert = { on: "v", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true };
  const request = { id, branch: onMain(on), ...upsert };
  return change("mergeInsertIntoTable", request, (model) => model.mergeRows(id, on, values), values);
};

const addColumn = (id: Id, on: string, name: string) => {
  const request = { id, branch: onMain(on), newColumns: [{ name, expression: "v * 2" }] };
  return change("alterTableAddColumns", request, (model) => model.addColumn(id, on, name));
};

const dropColumn = (id: Id, on: string, name: string) =>
  change("alterTableDropColumns", { id, branch: onMain(on), columns: [name] }, (model) =>
    model.dropColumn(id, on, name),
  );

const renameColumn = (id: Id, on: string, from: string, to: string) => {
  const request = { id, branch: onMain(on), alterations: [{ path: from, rename: to }] };
  return change("alterTableAlterColumns", request, (model) => model.renameColumn(id, on, from, to));
};

const restore = (id: Id, on: string, to: number) =>
  change("restoreTable", { id, branch: onMain(on), version: to }, (model) => model.restore(id, on, to));

const createBranch = (id: Id, name: string, from: string, index: number | undefined) => {
  const request = { id, name, fromBranch: onMain(from), fromVersion: index };
  return change("createTableBranch", request, (model) => model.createBranch(id, name, from, index));
};

const deleteBranch = (id: Id, name: string) =>
  change("deleteTableBranch", { id, name }, (model) => model.deleteBranch(id, name));

const createTag = (id: Id, name: string, on: string, index: number) =>
  change("createTableTag", { id, tag: name, branch: onMain(on), version: index }, (model) =>
    model.createTag(id, name, on, index),
  );

const updateTag = (id: Id, name: string, on: string, index: number) =>
  change("updateTableTag", { id, tag: name, branch: onMain(on), version: index }, (model) =>
    model.updateTag(id, name, on, index),
  );

const deleteTag = (id: Id, name: string) =>
  change("deleteTableTag", { id, tag: name }, (model) => model.deleteTag(id, name));

const updateMetadata = (id: Id, on: string, key: string, value: string | null, replace: boolean) => {
  const metadata = { [key]: value };
  const request = { id, branch: onMain(on), updates: [{ path: "v", metadata, replace }] };
  return change("updateFieldMetadata", request, (model) => model.updateMetadata(id, on, metadata, replace));
};

/** Makes a change of two calls; others may see the first one alone. */
const inTurn = (first: Change, second: Change): Change => ({
  name: `${first.name}, ${second.name}`,
  calls: [...first.calls, ...second.calls],
  model: (model) => {
    first.model(model);
    second.model(model);
  },
  halfway: first.model,
});

const recreateTable = (id: Id, values: number[]) => inTurn(dropTable(id), createTable(id, "Create", values));

const recreateBranch = (id: Id, name: string, from: string, index: number | undefined) =>
  inTurn(deleteBranch(id, name), createBranch(id, name, from, index));

const createVersion = (id: Id, version: number) =>
  change("createTableVersion", { id, version, manifestPath: "" }, (model) =>
    model.batch({ created: [{ id, version }], deleted: [], declared: [], deregistered: [] }),
  );

const deleteVersions = (id: Id, on: string, from: number, to: number) => {
  const request = { id, branch: onMain(on), ranges: [{ startVersion: from, endVersion: to }] };
  return change("batchDeleteTableVersions", request, (model) => model.deleteVersions(id, on, from, to));
};

const cleanUp = (id: Id, on: string, retainVersions: number, errorIfTagged: boolean) => {
  const request = { id, branch: onMain(on), olderThanMs: 0, retainVersions, errorIfTagged };
  return change("cleanupTable", request, (model) => model.cleanUp(id, on, retainVersions, errorIfTagged));
};

const optimize = (id: Id, on: string): Change => ({
  ...change("optimizeTable", { id, branch: onMain(on) }, (model) => model.optimize(id, on, true)),
  halfway: (model) => model.optimize(id, on, false),
});

/** Makes a batch of new versions, deleted versions, and two ids that come or go. */
const batch = (
  ids: readonly Id[],
  version: number,
  shrunk: Id | null,
  declared: Id,
  deregistered: Id | null,
): Change => {
  const usedKeys = new Set([keyOf(declared)]);
  const isFirst = (id: Id) => !usedKeys.has(keyOf(id)) && usedKeys.add(keyOf(id)) !== undefined;
  const gone = deregistered !== null && isFirst(deregistered) ? [deregistered] : [];
  const changing = new Set(usedKeys);
  const created = ids.filter(isFirst).map((id) => ({ id, version }));
  const deleted =
    shrunk === null || changing.has(keyOf(shrunk)) ? [] : [{ id: shrunk, branch: "main", from: 1, to: 2 }];
  const operations = [
    ...created.map((part) => ({ createTableVersion: { ...part, manifestPath: "" } })),
    ...deleted.map(({ id, from, to }) => ({
      deleteTableVersions: { id, ranges: [{ startVersion: from, endVersion: to }] },
    })),
    { declareTable: { id: declared } },
    ...gone.map((id) => ({ deregisterTable: { id } })),
  ];
  return change("batchCommitTables", { operations }, (model) =>
    model.batch({ created, deleted, declared: [declared], deregistered: gone }),
  );
};

const keyOf = (id: Id) => id.join("$");

/** Weight and generator of each change; changes that remove most have low weights. */
export const changes: readonly (readonly [weight: number, fc.Arbitrary<Change>])[] = [
  [1, fc.tuple(namespacePath, fc.boolean()).map((args) => createNamespace(...args))],
  [1, fc.tuple(namespacePath, fc.boolean()).map((args) => dropNamespace(...args))],
  [1, fc.oneof(tableId, newId).map(declareTable)],
  [
    2,
    fc
      .tuple(tableId, fc.constantFrom("Create", "ExistOk", "Overwrite"), rows)
      .map((args) => createTable(...args)),
  ],
  [1, tableId.map(dropTable)],
  [2, fc.tuple(tableId, rows).map((args) => recreateTable(...args))],
  [1, tableId.map(deregisterTable)],
  [1, fc.constantFrom("t", "d", "d").map(registerTable)],
  [2, fc.tuple(tableId, fc.oneof(tableId, newId)).map((args) => renameTable(...args))],
  [
    5,
    fc
      .tuple(tableId, branch, fc.constantFrom("Append" as const, "Overwrite" as const), rows)
      .map((args) => insert(...args)),
  ],
  [3, fc.tuple(tableId, branch, limit).map((args) => deleteRows(...args))],
  [3, fc.tuple(tableId, branch, limit, fc.constantFrom(1, 5, 0)).map((args) => updateRows(...args))],
  [3, fc.tuple(tableId, branch, rows).map((args) => mergeRows(...args))],
  [4, fc.tuple(tableId, branch, column).map((args) => addColumn(...args))],
  [3, fc.tuple(tableId, branch, column).map((args) => dropColumn(...args))],
  [3, fc.tuple(tableId, branch, column, column).map((args) => renameColumn(...args))],
  [3, fc.tuple(tableId, branch, version).map((args) => restore(...args))],
  [
    2,
    fc
      .tuple(tableId, branch, fc.constantFrom("a", "b"), fc.constantFrom("1", "2", null), fc.boolean())
      .map((args) => updateMetadata(...args)),
  ],
  [
    3,
    fc
      .tuple(
        fc.array(tableId, { maxLength: 2 }),
        newVersion,
        fc.option(tableId, { freq: 2 }),
        newId,
        fc.option(tableId, { freq: 2 }),
      )
      .map((args) => batch(...args)),
  ],
  [1, fc.tuple(tableId, newVersion).map((args) => createVersion(...args))],
  [
    2,
    fc
      .tuple(tableId, branch, version, fc.constantFrom(1, 2, 3, -1))
      .map(([id, on, from, count]) => deleteVersions(id, on, from, count === -1 ? -1 : from + count)),
  ],
  [2, fc.tuple(tableId, branch).map((args) => optimize(...args))],
  [
    2,
    fc.tuple(tableId, branch, fc.integer({ min: 1, max: 3 }), fc.boolean()).map((args) => cleanUp(...args)),
  ],
  [
    3,
    fc
      .tuple(tableId, otherBranch, branch, fc.option(version, { nil: undefined }))
      .map((args) => createBranch(...args)),
  ],
  [2, fc.tuple(tableId, otherBranch).map((args) => deleteBranch(...args))],
  [
    2,
    fc
      .tuple(tableId, otherBranch, branch, fc.option(version, { nil: undefined }))
      .map((args) => recreateBranch(...args)),
  ],
  [3, fc.tuple(tableId, tag, branch, version).map((args) => createTag(...args))],
  [2, fc.tuple(tableId, tag, branch, version).map((args) => updateTag(...args))],
  [1, fc.tuple(tableId, tag).map((args) => deleteTag(...args))],
];

const mostlyAppend = fc.constantFrom(
  "Append" as const,
  "Append" as const,
  "Append" as const,
  "Overwrite" as const,
);

/** Generates changes of the rows and columns of one branch, for long sequences. */
export const rowChanges = (id: Id, on: string): fc.Arbitrary<Change> =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.tuple(mostlyAppend, rows).map((args) => insert(id, on, ...args)),
    },
    { weight: 4, arbitrary: limit.map((below) => deleteRows(id, on, below)) },
    {
      weight: 4,
      arbitrary: fc.tuple(limit, fc.constantFrom(1, 5, 0)).map((args) => updateRows(id, on, ...args)),
    },
    { weight: 4, arbitrary: rows.map((values) => mergeRows(id, on, values)) },
    { weight: 3, arbitrary: fc.constant(optimize(id, on)) },
    { weight: 3, arbitrary: column.map((name) => addColumn(id, on, name)) },
    { weight: 1, arbitrary: column.map((name) => dropColumn(id, on, name)) },
    { weight: 2, arbitrary: fc.tuple(column, column).map((names) => renameColumn(id, on, ...names)) },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 12 }).map((to) => restore(id, on, to)) },
  );

/** Start of every run, so that most changes find a target. */
export const beginning: readonly Change[] = [
  createNamespace(["n"], false),
  createNamespace(["n", "m"], false),
  createTable(["t"], "Create", [1]),
  insert(["t"], "main", "Append", [2]),
  createTable(["n", "t"], "Create", [3]),
  addColumn(["n", "t"], "main", "w"),
  createTable(["n", "m", "t"], "Create", []),
  createTable(["d"], "Create", [4]),
  deregisterTable(["d"]),
  createTag(["n", "t"], "v1", "main", 1),
  createTag(["t"], "v2", "main", 2),
  createBranch(["t"], "dev", "main", 1),
  createBranch(["t"], "dev/x", "dev", undefined),
  createBranch(["n", "t"], "dev", "main", undefined),
  addColumn(["t"], "main", "x"),
];

/** Tables and branches for sequences of row changes. The second table has stable row ids. */
export const rowLines: readonly (readonly [id: Id, branch: string])[] = [
  [["t"], "main"],
  [["n", "t"], "main"],
  [["n", "t"], "main"],
  [["n", "t"], "dev"],
];

export const rowBeginning: readonly Change[] = [
  createNamespace(["n"], false),
  createTable(["t"], "Create", [1, 2, 3]),
  createTable(["n", "t"], "Create", [-4, 0, 4]),
  insert(["n", "t"], "main", "Append", [5, 6]),
  createBranch(["n", "t"], "dev", "main", undefined),
];
