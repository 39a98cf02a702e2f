/**
 * The engine against a model of plain maps: after every change, made by one of two engines on one directory, the other
 * one sees what the model says, or the change was refused with the error the model says and changed nothing. Now and
 * then both engines are opened anew.
 */

import { Int32, Table, vectorFromArray } from "apache-arrow";
import fc from "fast-check";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";
import { Model, ModelError, type State, type TableState } from "./model.js";

const RUNS = Number(process.env.MODEL_RUNS ?? 80);
const MAX_COMMANDS = 30;

const rowsOf = (rows: readonly number[]) =>
  new Table({ v: vectorFromArray(rows.length === 0 ? [] : rows, new Int32()) });

/** Two engines on one directory. */
class Engines {
  readonly #root: string;
  readonly #engines: DirectoryNamespace[] = [];

  constructor(root: string) {
    this.#root = root;
    this.#open();
  }

  #open(): void {
    for (const index of [0, 1]) {
      this.#engines[index] = new DirectoryNamespace({ root: this.#root, durability: "none" });
    }
  }

  at(index: number): DirectoryNamespace {
    return this.#engines[index];
  }

  async reopen(): Promise<void> {
    await this.close();
    this.#open();
  }

  async close(): Promise<void> {
    for (const engine of this.#engines) await engine.close();
  }
}

async function stateOf(ns: DirectoryNamespace): Promise<State> {
  const namespaces: string[] = [];
  const visit = async (path: string[]): Promise<void> => {
    for (const name of (await ns.listNamespaces({ id: path })).namespaces) {
      namespaces.push([...path, name].join("$"));
      await visit([...path, name]);
    }
  };
  await visit([]);
  const tables: Record<string, TableState> = {};
  for (const key of [...(await ns.listAllTables()).tables].sort()) {
    tables[key] = await tableStateOf(ns, key.split("$"));
  }
  return { namespaces: namespaces.sort(), tables };
}

async function tableStateOf(ns: DirectoryNamespace, id: string[]): Promise<TableState> {
  const branches: Record<string, Record<string, number[]>> = { main: await historyOf(ns, id) };
  for (const branch of Object.keys((await ns.listTableBranches({ id })).branches)) {
    branches[branch] = await historyOf(ns, id, branch);
  }
  const listed = (await ns.listTableTags({ id })).tags;
  const tags = Object.entries(listed).map(([tag, { branch = "main", version }]) => [
    tag,
    { branch, version },
  ]);
  return { branches, tags: Object.fromEntries(tags) };
}

async function historyOf(
  ns: DirectoryNamespace,
  id: string[],
  branch?: string,
): Promise<Record<string, number[]>> {
  const history: Record<string, number[]> = {};
  if ((await ns.describeTable({ id })).isOnlyDeclared) return history;
  for (const { version } of (await ns.listTableVersions({ id, branch })).versions) {
    const rows = await (await ns.queryTable({ id, branch, version })).toArrow();
    history[version] = Array.from(rows.getChild("v") ?? [], Number);
  }
  return history;
}

/** One change: what it is to the engine, and what to the model. */
interface Change {
  readonly name: string;
  readonly engine: (ns: DirectoryNamespace) => Promise<unknown>;
  readonly model: (model: Model) => void;
}

class Step implements fc.AsyncCommand<Model, Engines> {
  readonly #change: Change;
  readonly #by: number;

  constructor(change: Change, by: number) {
    this.#change = change;
    this.#by = by;
  }

  check(): boolean {
    return true;
  }

  async run(model: Model, engines: Engines): Promise<void> {
    const wanted = outcomeOf(() => this.#change.model(model));
    const got = await this.#change.engine(engines.at(this.#by)).then(
      () => "done",
      (error: unknown) => {
        if (!(error instanceof NamespaceError)) throw error;
        return error.type;
      },
    );
    expect(got, this.toString()).toBe(wanted);
    expect(await stateOf(engines.at(1 - this.#by)), this.toString()).toEqual(model.state());
  }

  toString(): string {
    return `${this.#change.name} by ${this.#by}`;
  }
}

function outcomeOf(run: () => void): string {
  try {
    run();
    return "done";
  } catch (error) {
    if (error instanceof ModelError) return error.type;
    throw error;
  }
}

class Reopen implements fc.AsyncCommand<Model, Engines> {
  check(): boolean {
    return true;
  }
  async run(model: Model, engines: Engines): Promise<void> {
    await engines.reopen();
    for (const index of [0, 1]) expect(await stateOf(engines.at(index))).toEqual(model.state());
  }
  toString(): string {
    return "reopen";
  }
}

// -------------------------------------------------------------------------------------------- arbitraries

/** Few names, so that changes meet. */
const namespacePath = fc.constantFrom(["n"], ["n", "m"], ["o"]);
const tableId = fc.constantFrom(["t"], ["t"], ["u"], ["n", "t"], ["n", "t"], ["n", "m", "t"], ["o", "t"]);
const rows = fc.array(fc.integer({ min: -9, max: 9 }), { maxLength: 3 });
const version = fc.integer({ min: 1, max: 5 });
const branch = fc.constantFrom("main", "main", "main", "dev", "dev/x");
const otherBranch = fc.constantFrom("dev", "dev/x", "late");
const tag = fc.constantFrom("v1", "v2");
const onMain = (name: string) => (name === "main" ? undefined : name);

const createNamespace = (id: readonly string[], existOk: boolean): Change => ({
  name: `createNamespace(${id}, ${existOk})`,
  engine: (ns) => ns.createNamespace({ id, mode: existOk ? "ExistOk" : "Create" }),
  model: (model) => model.createNamespace(id, existOk),
});

const dropNamespace = (id: readonly string[], cascade: boolean): Change => ({
  name: `dropNamespace(${id}, ${cascade})`,
  engine: (ns) => ns.dropNamespace({ id, behavior: cascade ? "Cascade" : "Restrict" }),
  model: (model) => model.dropNamespace(id, cascade),
});

const declareTable = (id: readonly string[]): Change => ({
  name: `declareTable(${id})`,
  engine: (ns) => ns.declareTable({ id }),
  model: (model) => model.declareTable(id),
});

const createTable = (id: readonly string[], mode: string, values: number[]): Change => ({
  name: `createTable(${id}, ${mode}, [${values}])`,
  engine: (ns) => ns.createTable({ id, mode }, rowsOf(values)),
  model: (model) => model.createTable(id, mode, values),
});

const dropTable = (id: readonly string[]): Change => ({
  name: `dropTable(${id})`,
  engine: (ns) => ns.dropTable({ id }),
  model: (model) => model.dropTable(id),
});

const renameTable = (id: readonly string[], newId: readonly string[]): Change => ({
  name: `renameTable(${id}, ${newId})`,
  engine: (ns) =>
    ns.renameTable({ id, newTableName: newId[newId.length - 1], newNamespaceId: newId.slice(0, -1) }),
  model: (model) => model.renameTable(id, newId),
});

const insert = (
  id: readonly string[],
  on: string,
  mode: "Append" | "Overwrite",
  values: number[],
): Change => ({
  name: `insertIntoTable(${id}, ${on}, ${mode}, [${values}])`,
  engine: (ns) => ns.insertIntoTable({ id, branch: onMain(on), mode }, rowsOf(values)),
  model: (model) => model.insert(id, on, mode === "Overwrite", values),
});

const restore = (id: readonly string[], on: string, to: number): Change => ({
  name: `restoreTable(${id}, ${on}, ${to})`,
  engine: (ns) => ns.restoreTable({ id, branch: onMain(on), version: to }),
  model: (model) => model.restore(id, on, to),
});

const createBranch = (id: readonly string[], name: string, from: string, at: number | undefined): Change => ({
  name: `createTableBranch(${id}, ${name}, ${from}, ${at})`,
  engine: (ns) => ns.createTableBranch({ id, name, fromBranch: onMain(from), fromVersion: at }),
  model: (model) => model.createBranch(id, name, from, at),
});

const deleteBranch = (id: readonly string[], name: string): Change => ({
  name: `deleteTableBranch(${id}, ${name})`,
  engine: (ns) => ns.deleteTableBranch({ id, name }),
  model: (model) => model.deleteBranch(id, name),
});

const createTag = (id: readonly string[], name: string, on: string, at: number): Change => ({
  name: `createTableTag(${id}, ${name}, ${on}, ${at})`,
  engine: (ns) => ns.createTableTag({ id, tag: name, branch: onMain(on), version: at }),
  model: (model) => model.createTag(id, name, on, at),
});

const updateTag = (id: readonly string[], name: string, on: string, at: number): Change => ({
  name: `updateTableTag(${id}, ${name}, ${on}, ${at})`,
  engine: (ns) => ns.updateTableTag({ id, tag: name, branch: onMain(on), version: at }),
  model: (model) => model.updateTag(id, name, on, at),
});

const deleteTag = (id: readonly string[], name: string): Change => ({
  name: `deleteTableTag(${id}, ${name})`,
  engine: (ns) => ns.deleteTableTag({ id, tag: name }),
  model: (model) => model.deleteTag(id, name),
});

/** Each with how often it is chosen; what removes most comes seldom. */
const changes: readonly (readonly [weight: number, fc.Arbitrary<Change>])[] = [
  [1, fc.tuple(namespacePath, fc.boolean()).map((args) => createNamespace(...args))],
  [1, fc.tuple(namespacePath, fc.boolean()).map((args) => dropNamespace(...args))],
  [1, tableId.map(declareTable)],
  [
    2,
    fc
      .tuple(tableId, fc.constantFrom("Create", "ExistOk", "Overwrite"), rows)
      .map((args) => createTable(...args)),
  ],
  [1, tableId.map(dropTable)],
  [2, fc.tuple(tableId, tableId).map((args) => renameTable(...args))],
  [
    5,
    fc
      .tuple(tableId, branch, fc.constantFrom("Append" as const, "Overwrite" as const), rows)
      .map((args) => insert(...args)),
  ],
  [3, fc.tuple(tableId, branch, version).map((args) => restore(...args))],
  [
    3,
    fc
      .tuple(tableId, otherBranch, branch, fc.option(version, { nil: undefined }))
      .map((args) => createBranch(...args)),
  ],
  [2, fc.tuple(tableId, otherBranch).map((args) => deleteBranch(...args))],
  [3, fc.tuple(tableId, tag, branch, version).map((args) => createTag(...args))],
  [2, fc.tuple(tableId, tag, branch, version).map((args) => updateTag(...args))],
  [1, fc.tuple(tableId, tag).map((args) => deleteTag(...args))],
];

/** What every run begins with, so that most changes find something. */
const beginning: readonly Change[] = [
  createNamespace(["n"], false),
  createNamespace(["n", "m"], false),
  createTable(["t"], "Create", [1]),
  insert(["t"], "main", "Append", [2]),
  createTable(["n", "t"], "Create", [3]),
  createTable(["n", "m", "t"], "Create", []),
  createTag(["n", "t"], "v1", "main", 1),
  createBranch(["t"], "dev", "main", 1),
];

const commands = [
  ...changes.flatMap(([weight, change]) =>
    new Array(weight).fill(fc.tuple(change, fc.nat(1)).map(([each, by]) => new Step(each, by))),
  ),
  fc.constant(new Reopen()),
];

it("does what the model does, whichever engine is asked", { timeout: 3_600_000 }, async () => {
  const seed = Number(process.env.FC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
  console.log(`model: seed ${seed}, ${RUNS} runs`);
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: MAX_COMMANDS, size: "max" }), async (steps) => {
      const engines = new Engines(await makeTempDir());
      try {
        const model = new Model();
        for (const change of beginning) {
          change.model(model);
          await change.engine(engines.at(0));
        }
        await fc.asyncModelRun(() => ({ model, real: engines }), steps);
      } finally {
        await engines.close();
      }
    }),
    { seed, numRuns: RUNS },
  );
});
