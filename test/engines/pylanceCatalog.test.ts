/** The catalog of a directory: what either engine does to namespaces and tables, both see. */

import { basename } from "node:path";
import type { Table } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";
import { MAJORS } from "./support/pylance.js";
import { Python, PythonError } from "./support/python.js";
import { idRows, sortedIdsOf } from "./support/rows.js";

type Id = readonly string[];

/** Content of a namespace: the ids of the rows of each table, null for one that is declared only. */
interface View {
  readonly properties: Readonly<Record<string, string>>;
  readonly tables: Readonly<Record<string, readonly number[] | null>>;
  readonly namespaces: Readonly<Record<string, View>>;
}

interface Catalog {
  createNamespace(id: Id, properties?: Readonly<Record<string, string>>): Promise<unknown>;
  dropNamespace(id: Id): Promise<unknown>;
  declareTable(id: Id): Promise<unknown>;
  createTable(id: Id, ...ids: number[]): Promise<unknown>;
  dropTable(id: Id): Promise<unknown>;
  /** @returns the name of the table's directory */
  deregisterTable(id: Id): Promise<string>;
  registerTable(id: Id, location: string): Promise<unknown>;
  renameTable(id: Id, newTableName: string): Promise<unknown>;
  view(): Promise<View>;
}

function ours(namespace: DirectoryNamespace): Catalog {
  async function view(id: Id): Promise<View> {
    const { tables } = await namespace.listTables({ id });
    const { namespaces } = await namespace.listNamespaces({ id });
    const idsOf = async (name: string) => {
      const table = [...id, name];
      if ((await namespace.describeTable({ id: table })).isOnlyDeclared === true) return null;
      return sortedIdsOf(await namespace.table(table).scan().toArrow());
    };
    const members = async <T>(names: readonly string[], of: (name: string) => Promise<T>) =>
      Object.fromEntries(await Promise.all(names.map(async (name) => [name, await of(name)] as const)));
    return {
      properties: id.length === 0 ? {} : (await namespace.describeNamespace({ id })).properties,
      tables: await members(tables, idsOf),
      namespaces: await members(namespaces, (name) => view([...id, name])),
    };
  }
  return {
    createNamespace: (id, properties) => namespace.createNamespace({ id, properties }),
    dropNamespace: (id) => namespace.dropNamespace({ id }),
    declareTable: (id) => namespace.declareTable({ id }),
    createTable: (id, ...ids) => namespace.createTable({ id }, idRows(...ids)),
    dropTable: (id) => namespace.dropTable({ id }),
    deregisterTable: async (id) => basename((await namespace.deregisterTable({ id })).location),
    registerTable: (id, location) => namespace.registerTable({ id, location }),
    renameTable: (id, newTableName) => namespace.renameTable({ id, newTableName }),
    view: () => view([]),
  };
}

function theirs(python: Python, root: string): Catalog {
  const ask = <Answer>(operation: string, request: object, ...table: Table[]) =>
    python.call<Answer>("ask", root, operation, request, ...table);
  return {
    createNamespace: (id, properties) => ask("create_namespace", { id, properties }),
    dropNamespace: (id) => ask("drop_namespace", { id }),
    declareTable: (id) => ask("declare_table", { id }),
    createTable: (id, ...ids) => ask("create_table", { id }, idRows(...ids)),
    dropTable: (id) => ask("drop_table", { id }),
    async deregisterTable(id) {
      const { location } = await ask<{ location: string }>("describe_table", { id });
      await ask("deregister_table", { id });
      return basename(location);
    },
    registerTable: (id, location) => ask("register_table", { id, location }),
    renameTable: (id, new_table_name) => ask("rename_table", { id, new_table_name }),
    view: () => python.call<View>("view", root),
  };
}

interface Step {
  readonly what: string;
  act(catalog: Catalog, noted: Map<string, string>): Promise<unknown>;
}

const step = (what: string, act: Step["act"]): Step => ({ what, act });

const UNUSUAL = [
  "ünï cødé",
  "two words",
  "dots.and-dashes_",
  "percent%20",
  'quoted "so"',
  "smile 🙂",
] as const;

const SCRIPT: readonly Step[] = [
  step("creates a table of the root", (catalog) => catalog.createTable(["first"], 1, 2)),
  step("creates a namespace with properties", (catalog) =>
    catalog.createNamespace(["team"], { owner: "ann", note: 'with "quotes" and ü' }),
  ),
  step("creates a nested namespace", (catalog) => catalog.createNamespace(["team", "deep"])),
  step("creates a third level", (catalog) => catalog.createNamespace(["team", "deep", "deeper"], { k: "v" })),
  step("creates a table in a namespace", (catalog) => catalog.createTable(["team", "events"], 3)),
  step("creates a table in the third level", (catalog) =>
    catalog.createTable(["team", "deep", "deeper", "events"], 4, 5),
  ),
  step("declares a table in a namespace", (catalog) => catalog.declareTable(["team", "later"])),
  step("declares a table of the root", (catalog) => catalog.declareTable(["rootLater"])),
  step("creates what is declared", (catalog) => catalog.createTable(["team", "later"], 6)),
  step("creates what is declared in the root", (catalog) => catalog.createTable(["rootLater"], 7)),
  ...UNUSUAL.flatMap((name) => [
    step(`creates a namespace named ${name}`, (catalog) => catalog.createNamespace([name], { name })),
    step(`creates a table named ${name}`, (catalog) => catalog.createTable([name, name], name.length)),
  ]),
  step("deregisters a table of a namespace", async (catalog, noted) =>
    noted.set("events", await catalog.deregisterTable(["team", "events"])),
  ),
  step("registers it in another namespace", (catalog, noted) =>
    catalog.registerTable(["team", "deep", "again"], noted.get("events") as string),
  ),
  step("deregisters a table of the root", (catalog) => catalog.deregisterTable(["first"])),
  step("drops a table of the root", (catalog) => catalog.dropTable(["rootLater"])),
  step("creates a table of that name again", (catalog) => catalog.createTable(["rootLater"], 8)),
  step("drops a table in the third level", (catalog) =>
    catalog.dropTable(["team", "deep", "deeper", "events"]),
  ),
  step("drops the third level", (catalog) => catalog.dropNamespace(["team", "deep", "deeper"])),
  step("drops a table named two words", (catalog) => catalog.dropTable(["two words", "two words"])),
  step("drops a namespace named two words", (catalog) => catalog.dropNamespace(["two words"])),
];

/** Requests that both engines refuse, by the names of the errors. */
const REFUSALS: readonly (readonly [string, Step["act"]])[] = [
  ["NamespaceAlreadyExistsError", (catalog) => catalog.createNamespace(["team"])],
  ["NamespaceNotFoundError", (catalog) => catalog.createNamespace(["nowhere", "below"])],
  ["NamespaceNotFoundError", (catalog) => catalog.dropNamespace(["nowhere"])],
  ["NamespaceNotEmptyError", (catalog) => catalog.dropNamespace(["team"])],
  ["TableAlreadyExistsError", (catalog) => catalog.createTable(["team", "events"], 1)],
  ["TableAlreadyExistsError", (catalog) => catalog.createTable(["first"], 1)],
  ["TableNotFoundError", (catalog) => catalog.deregisterTable(["team", "nowhere"])],
];

describe.each(MAJORS)("pylance %i", (major) => {
  let python: Python;
  beforeAll(async () => {
    python = await Python.start(`pylance${major}`, "pylance_catalog");
  });
  afterAll(() => python[Symbol.asyncDispose]());

  async function openBoth(): Promise<{ here: Catalog; there: Catalog } & AsyncDisposable> {
    const root = await makeTempDir();
    const namespace = new DirectoryNamespace({ root, durability: "none" });
    return {
      here: ours(namespace),
      there: theirs(python, root),
      [Symbol.asyncDispose]: () => namespace.close(),
    };
  }

  it.each(["we", "pylance"] as const)("takes turns with us on one catalog: %s begins", async (beginner) => {
    await using both = await openBoth();
    const turns = beginner === "we" ? [both.here, both.there] : [both.there, both.here];
    const noted = new Map<string, string>();
    for (const [index, { what, act }] of SCRIPT.entries()) {
      await act(turns[index % 2], noted).catch((cause: Error) => {
        throw new Error(`step ${index}, ${what}: ${cause.message.slice(0, 1000)}`, { cause });
      });
      // After a step of each engine.
      if (index % 2 === 0) continue;
      expect(await both.there.view(), `step ${index}, ${what}`).toEqual(await both.here.view());
    }
    const { namespaces } = await both.here.view();
    expect(Object.keys(namespaces)).toHaveLength(UNUSUAL.length);
    expect(namespaces.team).toEqual({
      properties: { owner: "ann", note: 'with "quotes" and ü' },
      tables: { later: [6] },
      namespaces: { deep: { properties: {}, tables: { again: [3] }, namespaces: {} } },
    });
  });

  it("finds tables that we renamed, and renames none itself", async () => {
    await using both = await openBoth();
    await both.there.createNamespace(["team"]);
    await both.there.createTable(["team", "events"], 1);
    await both.there.createTable(["first"], 2);
    await both.here.renameTable(["team", "events"], "renamed");
    await both.here.renameTable(["first"], "renamed");
    const view = await both.there.view();
    expect(view).toEqual(await both.here.view());
    expect(view.tables).toEqual({ renamed: [2] });
    expect(view.namespaces.team.tables).toEqual({ renamed: [1] });
    await expect(both.there.renameTable(["first"], "again")).rejects.toThrow("not implemented");
  });

  it("refuses what we refuse, with the same errors", async () => {
    await using both = await openBoth();
    await both.here.createNamespace(["team"]);
    await both.there.createTable(["team", "events"], 1);
    await both.here.createTable(["first"], 2);
    const before = await both.here.view();
    const nameOf = (failure: unknown): string =>
      failure instanceof PythonError ? failure.type : (failure as Error).name;
    for (const [error, act] of REFUSALS) {
      for (const [engine, catalog] of Object.entries(both)) {
        const refused = await act(catalog, new Map()).then(() => "none", nameOf);
        expect(refused, `${engine}: ${act}`).toBe(error);
      }
    }
    expect(await both.there.view()).toEqual(before);
  });
});
