/**
 * Writes of all kinds that several processes make at once in one namespace, and their ledgers, which hold
 * whichever process is killed.
 *
 *   t, n$t   all append, merge, compact and clean up, and update rows to their old values;
 *            the reference appends as well; rows of n$t keep their ids.
 *   h        All append and restore; every version stays; each writer has its tags and a branch.
 *   own<w>   One writer at a time makes, replaces, declares and drops it; n$own<w> lies in a child namespace.
 *   seq<w>   One writer at a time makes sequences of all changes; rows of n$seq<w> have stable ids.
 *   b, n$b   Only batches make versions, of both at once; with them tables n$x<w>-… come and go.
 */

import { Int32, Table, tableToIPC, vectorFromArray } from "apache-arrow";
import fc from "fast-check";
import type { DirectoryNamespace } from "tiltyard";
import { expect } from "vitest";
import { bytesOf, rowChanges } from "../model/changes.js";
import { type Content, Model, outcomeOf } from "../model/model.js";
import { contentAt } from "../model/observed.js";
import type { Drawing } from "../support/drawing.js";
import type { EngineStep } from "../support/engineWorker.js";
import { valuesOf } from "../support/intRows.js";
import { stageDoubled } from "../support/stageVersion.js";
import { Additions, type Entry, History, Possible } from "./ledgers.js";

export interface Write {
  readonly name: string;
  readonly step: EngineStep;
  /** Default: it changes nothing that a ledger has. */
  readonly entry?: Entry;
  /** Error types with which other writers' changes may refuse it. Default none. */
  readonly refusals?: readonly string[];
  /** Makes a write of the same kind to the same table, valid whatever the outcome of this one. */
  readonly next: () => Write | Promise<Write>;
}

export const rowsOf = (...values: number[]): Uint8Array =>
  tableToIPC(new Table({ v: vectorFromArray(values, new Int32()) }));

const OVERTAKEN = ["ConcurrentModification"];
const STABLE = ["n", "t"];
const BATCHED = [["b"], ["n", "b"]] as const;

type OwnState = readonly number[] | "declared" | "absent";

interface BranchState {
  /** Version of h that it was made from. */
  readonly from: number;
  readonly added: readonly number[];
}

/** State that one writer at a time changes. */
interface OwnedState {
  readonly tables: readonly Possible<OwnState>[];
  /** Tags of h, to version. */
  readonly tags: Possible<Readonly<Record<string, number>>>;
  readonly branches: Possible<Readonly<Record<string, BranchState>>>;
  readonly declared: Possible<readonly string[]>;
  /** Sequences of the root, and of n. */
  readonly sequences: readonly Possible<Model>[];
}

/** A batch whose process was killed. */
interface LostBatch {
  readonly version: number;
  readonly declared: string;
}

export class MixedWrites {
  readonly #drawing: Drawing;
  readonly #appended: Readonly<Record<string, Additions>> = { t: new Additions(), n$t: new Additions() };
  readonly #history = new History([0]);
  readonly #ownedStates: readonly OwnedState[];
  readonly #batched = new Set<number>();
  #lostBatches: LostBatch[] = [];
  /** By value: ids of the rows of n$t. */
  readonly #rowIds = new Map<number, bigint>();
  #lastBatch = 1;
  readonly #batchedRoots: string[] = [];
  #lastValue = 0;
  #lastName = 0;

  constructor(writers: number, drawing: Drawing) {
    this.#drawing = drawing;
    this.#ownedStates = Array.from({ length: writers }, (_, writer) => ({
      tables: [new Possible<OwnState>("absent"), new Possible<OwnState>("absent")],
      tags: new Possible({}),
      branches: new Possible<Readonly<Record<string, BranchState>>>({}),
      declared: new Possible<readonly string[]>([]),
      sequences: [false, true].map((isChild) => new Possible(modelOf(sequenceId(writer, isChild)))),
    }));
  }

  async begin(ns: DirectoryNamespace): Promise<void> {
    await ns.createNamespace({ id: ["n"] });
    await ns.createTable({ id: ["t"] }, rowsOf(0));
    await ns.createTable({ id: STABLE, stableRowIds: true }, rowsOf(0));
    for (const ledger of Object.values(this.#appended)) ledger.note(0, true);
    await ns.createTable({ id: ["h"] }, rowsOf(0));
    for (const id of BATCHED) {
      const { location } = await ns.createTable({ id }, rowsOf());
      this.#batchedRoots.push(location);
    }
    this.#batched.add(1);
    for (const writer of this.#ownedStates.keys()) {
      for (const isChild of [false, true]) {
        const id = sequenceId(writer, isChild);
        await ns.createTable({ id, stableRowIds: isChild }, rowsOf(...SEQUENCE_ROWS));
      }
    }
  }

  value(): number {
    return ++this.#lastValue;
  }

  /** Records another process's append to t or n$t. */
  note(table: string, value: number, isAcknowledged: boolean): void {
    this.#appended[table].note(value, isAcknowledged);
  }

  write(writer: number, kind: number): Write | Promise<Write> {
    const shared = () => this.#drawing.of(["t", "n$t"]);
    const kinds: (() => Write | Promise<Write>)[] = [
      () => this.#append("t"),
      () => this.#append("n$t"),
      () => this.#appendToHistory(),
      () => this.#restore(),
      () => this.#optimize(shared()),
      () => this.#cleanUp(shared()),
      () => this.#changeTags(writer),
      () => this.#changeBranches(writer),
      () => this.#changeBranches(writer),
      () => this.#changeOwn(writer, false),
      () => this.#changeOwn(writer, true),
      () => this.#changeRows(shared()),
      () => this.#merge(shared()),
      () => this.#changeSequence(writer, false),
      () => this.#changeSequence(writer, true),
      () => this.#batch(writer),
    ];
    return kinds[kind % kinds.length]();
  }

  // ------------------------------------------------------------------------------------------ shared tables

  #append(table: string): Write {
    const value = this.value();
    return {
      name: `append to ${table}`,
      step: ["insertIntoTable", { id: table.split("$") }, rowsOf(value)],
      entry: this.#appended[table].begin(value),
      next: () => this.#append(table),
    };
  }

  #optimize(table: string): Write {
    return {
      name: `optimize ${table}`,
      step: ["optimizeTable", { id: table.split("$") }],
      refusals: OVERTAKEN,
      next: () => this.#optimize(table),
    };
  }

  /** Moves all rows to another fragment, or deletes none: the values stay. */
  #changeRows(table: string): Write {
    const id = table.split("$");
    const rest = this.#drawing.number(4);
    return {
      name: `change rows of ${table}`,
      step:
        rest === 4
          ? ["deleteFromTable", { id, predicate: "v < 0" }]
          : ["updateTable", { id, predicate: `v % 4 = ${rest}`, updates: [["v", "v"]] }],
      refusals: OVERTAKEN,
      next: () => this.#changeRows(table),
    };
  }

  /** Replaces a row by an equal one, and adds a new one. */
  #merge(table: string): Write {
    const value = this.value();
    const present = this.#appended[table].values;
    const replaced = present.length === 0 ? [] : [this.#drawing.of(present)];
    const request = { on: "v", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true };
    return {
      name: `merge into ${table}`,
      step: ["mergeInsertIntoTable", { id: table.split("$"), ...request }, rowsOf(...replaced, value)],
      entry: this.#appended[table].begin(value),
      refusals: OVERTAKEN,
      next: () => this.#merge(table),
    };
  }

  #cleanUp(table: string): Write {
    return {
      name: `clean up ${table}`,
      step: ["cleanupTable", { id: table.split("$"), olderThanMs: 1000, retainVersions: 3 }],
      refusals: OVERTAKEN,
      next: () => this.#cleanUp(table),
    };
  }

  /** Appends to h. A restore conflicts with it. */
  #appendToHistory(): Write {
    const added = this.value();
    return {
      name: "append to h",
      step: ["insertIntoTable", { id: ["h"] }, rowsOf(added)],
      entry: this.#history.begin({ added }),
      refusals: OVERTAKEN,
      next: () => this.#appendToHistory(),
    };
  }

  #restore(): Write {
    const restored = this.#drawing.of(this.#history.versions);
    return {
      name: "restore h",
      step: ["restoreTable", { id: ["h"], version: restored }],
      entry: this.#history.begin({ restored }),
      refusals: OVERTAKEN,
      next: () => this.#restore(),
    };
  }

  // --------------------------------------------------------------------------------------- a writer's own

  #changeTags(writer: number): Write {
    const present = this.#ownedStates[writer].tags.surely(Object.keys);
    const verb = this.#drawing.of(
      present.length === 0 ? ["create"] : present.length > 3 ? ["delete"] : ["create", "update", "delete"],
    );
    return verb === "create"
      ? this.#createTag(writer)
      : this.#changeTag(writer, this.#drawing.of(present), verb);
  }

  #createTag(writer: number): Write {
    return this.#changeTag(writer, this.#name(writer), "create");
  }

  #changeTag(writer: number, tag: string, verb: string): Write {
    const version = this.#drawing.of(this.#history.versions);
    return {
      name: `${verb} tag`,
      step: [`${verb}TableTag`, verb === "delete" ? { id: ["h"], tag } : { id: ["h"], tag, version }],
      entry: this.#ownedStates[writer].tags.begin(({ [tag]: _, ...others }) =>
        verb === "delete" ? others : { ...others, [tag]: version },
      ),
      next: () => (verb === "update" ? this.#changeTag(writer, tag, verb) : this.#createTag(writer)),
    };
  }

  #changeBranches(writer: number): Write {
    const present = this.#ownedStates[writer].branches.surely(Object.keys);
    const isFew = present.length < 2;
    const verb = this.#drawing.of(
      present.length === 0 ? ["create"] : isFew ? ["create", "append", "append"] : ["append", "delete"],
    );
    if (verb === "create") return this.#createBranch(writer);
    const name = this.#drawing.of(present);
    return verb === "append" ? this.#appendToBranch(writer, name) : this.#deleteBranch(writer, name);
  }

  #createBranch(writer: number): Write {
    const name = this.#name(writer);
    const from = this.#drawing.of(this.#history.versions);
    return {
      name: "create branch",
      step: ["createTableBranch", { id: ["h"], name, fromVersion: from }],
      entry: this.#ownedStates[writer].branches.begin((all) => ({ ...all, [name]: { from, added: [] } })),
      next: () => this.#createBranch(writer),
    };
  }

  #appendToBranch(writer: number, name: string): Write {
    const value = this.value();
    return {
      name: "append to branch",
      step: ["insertIntoTable", { id: ["h"], branch: name }, rowsOf(value)],
      entry: this.#ownedStates[writer].branches.begin(({ [name]: { from, added }, ...others }) => ({
        ...others,
        [name]: { from, added: [...added, value] },
      })),
      next: () => this.#appendToBranch(writer, name),
    };
  }

  #deleteBranch(writer: number, name: string): Write {
    return {
      name: "delete branch",
      step: ["deleteTableBranch", { id: ["h"], name }],
      entry: this.#ownedStates[writer].branches.begin(({ [name]: _, ...others }) => others),
      next: () => this.#createBranch(writer),
    };
  }

  #changeOwn(writer: number, isChild: boolean): Write {
    const table = this.#ownedStates[writer].tables[Number(isChild)];
    const [state] = table.surely((state) => [typeof state === "string" ? state : "there"]);
    const verb = this.#drawing.of(
      state === "absent" ? ["declare", "create"] : state === undefined ? ["create"] : ["create", "drop"],
    );
    if (verb === "create") return this.#createOwn(writer, isChild);
    return {
      name: `${verb} ${isChild ? "child" : "root"} table`,
      step: [`${verb}Table`, { id: ownId(writer, isChild) }],
      entry: table.begin(() => (verb === "drop" ? "absent" : "declared")),
      next: () => this.#createOwn(writer, isChild),
    };
  }

  #createOwn(writer: number, isChild: boolean): Write {
    const value = this.value();
    return {
      name: `create ${isChild ? "child" : "root"} table`,
      step: ["createTable", { id: ownId(writer, isChild), mode: "Overwrite" }, rowsOf(value)],
      entry: this.#ownedStates[writer].tables[Number(isChild)].begin(() => [value]),
      next: () => this.#createOwn(writer, isChild),
    };
  }

  /** Makes the next change of a sequence; the model draws it and predicts its outcome. */
  #changeSequence(writer: number, isChild: boolean): Write {
    const table = this.#ownedStates[writer].sequences[Number(isChild)];
    const arbitrary = rowChanges(sequenceId(writer, isChild), "main");
    const [change] = fc.sample(arbitrary, { numRuns: 1, seed: this.#drawing.number(2 ** 30) });
    const [{ method, request, rows }] = change.calls;
    const { halfway } = change;
    return {
      name: change.name,
      step: [method, request, rows && bytesOf(rows)],
      entry: table.begin(changed(change.model), halfway && changed(halfway)),
      refusals: table.possibly((model) => outcomeOf(() => change.model(model.copy()))),
      next: () => this.#changeSequence(writer, isChild),
    };
  }

  /** Makes a version of each of two tables, creates a table and, at random, drops one. */
  async #batch(writer: number): Promise<Write> {
    const version = ++this.#lastBatch;
    const declared = this.#name(writer);
    const [gone] = this.#ownedStates[writer].declared.surely((names) => names);
    const operations: object[] = [{ declareTable: { id: ["n", declared] } }];
    for (const [index, id] of BATCHED.entries()) {
      const manifestPath = await stageDoubled(this.#batchedRoots[index], version);
      operations.push({ createTableVersion: { id, version, manifestPath } });
    }
    if (gone !== undefined) operations.push({ deregisterTable: { id: ["n", gone] } });
    const names = this.#ownedStates[writer].declared.begin((before) => [
      ...before.filter((name) => name !== gone),
      declared,
    ]);
    return {
      name: "batch",
      step: ["batchCommitTables", { operations }],
      entry: {
        acknowledge: (told) => {
          names.acknowledge(told);
          this.#lostBatches = this.#lostBatches.filter((lost) => lost.version !== version);
          this.#batched.add(version);
        },
        lose: () => {
          names.lose();
          this.#lostBatches.push({ version, declared });
        },
      },
      // A batch with a higher number came first.
      refusals: OVERTAKEN,
      next: () => this.#batch(writer),
    };
  }

  #name(writer: number): string {
    return `w${writer}-${++this.#lastName}`;
  }

  // ------------------------------------------------------------------------------------------------ looking

  /** Compares the engine's view with the ledgers, while no process writes. */
  async verify(ns: DirectoryNamespace, where: string): Promise<void> {
    const rowsAt = async (id: readonly string[], reference: { version?: number; branch?: string } = {}) =>
      valuesOf(await ns.table(id, reference).scan().toArrow());
    const versionsOf = async (id: string[]) =>
      (await ns.listTableVersions({ id })).versions.map(({ version }) => version).sort((a, b) => a - b);

    for (const [table, ledger] of Object.entries(this.#appended)) {
      const id = table.split("$");
      ledger.verify(await rowsAt(id), `${where}: ${table}`);
      const versions = await versionsOf(id);
      for (const version of versions) await rowsAt(id, { version });
      expect(await ns.table(id).version(), where).toBe(versions[versions.length - 1]);
    }

    await this.#settleRowIds(ns, where);
    await this.#history.verify(
      await ns.table(["h"]).version(),
      (version) => rowsAt(["h"], { version }),
      `${where}: h`,
    );
    const { tags } = await ns.listTableTags({ id: ["h"] });
    const branches: Record<string, number[]> = {};
    for (const branch of Object.keys((await ns.listTableBranches({ id: ["h"] })).branches)) {
      branches[branch] = await rowsAt(["h"], { branch });
    }
    const declared = (await ns.listTables({ id: ["n"] })).tables;
    const ofWriter = <T>(all: Readonly<Record<string, T>>, writer: number): Record<string, T> =>
      Object.fromEntries(Object.entries(all).filter(([name]) => name.startsWith(`w${writer}-`)));
    await this.#recoverBatches(new Set(declared), versionsOf, where);
    for (const [writer, owned] of this.#ownedStates.entries()) {
      const versions = Object.fromEntries(Object.entries(tags).map(([tag, { version }]) => [tag, version]));
      owned.tags.verify(ofWriter(versions, writer), (state) => state, `${where}: tags`);
      const shown = (state: Readonly<Record<string, BranchState>>) =>
        Object.fromEntries(
          Object.entries(state).map(([name, { from, added }]) => [
            name,
            [...this.#history.rowsOf(from), ...added],
          ]),
        );
      owned.branches.verify(ofWriter(branches, writer), shown, `${where}: branches`);
      const names = declared.filter((name) => name.startsWith(`w${writer}-`)).sort();
      owned.declared.verify(names, (state) => [...state].sort(), `${where}: tables of batches`);
      for (const isChild of [false, true]) {
        const id = ownId(writer, isChild);
        const seen = await this.#ownState(ns, id);
        owned.tables[Number(isChild)].verify(seen, (state) => state, `${where}: ${id.join("$")}`);
        const sequence = sequenceId(writer, isChild);
        const version = await ns.table(sequence).version();
        owned.sequences[Number(isChild)].verify(
          [version, await contentAt(ns, sequence, version)] as const,
          (model) => latestIn(model, sequence),
          `${where}: ${sequence.join("$")}`,
        );
      }
    }
  }

  /** Checks that each row keeps its unique id, even if it moves. */
  async #settleRowIds(ns: DirectoryNamespace, where: string): Promise<void> {
    const rows = await ns.table(STABLE).scan({ withRowId: true }).toArrow();
    const ids = Array.from(rows.getChild("_rowid") as Iterable<bigint>);
    expect(new Set(ids).size, where).toBe(ids.length);
    for (const [row, value] of valuesOf(rows).entries()) {
      expect(this.#rowIds.get(value) ?? ids[row], `${where}: row ${value}`).toBe(ids[row]);
      this.#rowIds.set(value, ids[row]);
    }
  }

  async #ownState(ns: DirectoryNamespace, id: string[]): Promise<OwnState> {
    const present = (await ns.listTables({ id: id.slice(0, -1) })).tables.includes(id[id.length - 1]);
    if (!present) return "absent";
    if ((await ns.describeTable({ id })).isOnlyDeclared === true) return "declared";
    return valuesOf(await ns.table(id).scan().toArrow());
  }

  async #recoverBatches(
    declared: ReadonlySet<string>,
    versionsOf: (id: string[]) => Promise<number[]>,
    where: string,
  ): Promise<void> {
    for (const { version, declared: name } of this.#lostBatches) {
      if (declared.has(name)) this.#batched.add(version);
    }
    this.#lostBatches = [];
    const expected = [...this.#batched].sort((a, b) => a - b);
    for (const id of BATCHED)
      expect(await versionsOf([...id]), `${where}: ${id.join("$")}`).toEqual(expected);
  }
}

const ownId = (writer: number, isChild: boolean): string[] =>
  isChild ? ["n", `own${writer}`] : [`own${writer}`];

const SEQUENCE_ROWS = [1, 2, 3];
const sequenceId = (writer: number, isChild: boolean): string[] =>
  isChild ? ["n", `seq${writer}`] : [`seq${writer}`];

function modelOf(id: readonly string[]): Model {
  const model = new Model();
  if (id.length > 1) model.createNamespace(id.slice(0, -1), false);
  model.createTable(id, "Create", SEQUENCE_ROWS);
  return model;
}

/** Returns the model after a change; the old one if it is refused. */
const changed =
  (change: (model: Model) => void) =>
  (model: Model): Model => {
    const copy = model.copy();
    return outcomeOf(() => change(copy)) === "done" ? copy : model;
  };

function latestIn(model: Model, id: readonly string[]): readonly [version: number, content: Content] {
  const versions = model.state().tables[id.join("$")].branches.main;
  const latest = Math.max(...Object.keys(versions).map(Number));
  return [latest, versions[latest]];
}
