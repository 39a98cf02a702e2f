/** The engine does what `authorize` was asked about, and nothing else. */

import { join } from "node:path";
import { makeVector, Table } from "apache-arrow";
import {
  type AuthorizeCall,
  DirectoryNamespace,
  NamespaceNotFoundError,
  PermissionDeniedError,
  ServiceUnavailableError,
  TableNotFoundError,
} from "tiltyard";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LIMITS, lacks } from "../support/suite/diskLimits.js";
import { cp, mkdir, pathOfLocation, readFile, rm, writeFile } from "../support/suite/rootFiles.js";
import { makeTempDir } from "../support/tempDir.js";

const rows = new Table({ v: makeVector(Int32Array.of(42)) });
let root: string;
let owner: DirectoryNamespace;

beforeEach(async () => {
  root = await makeTempDir();
  owner = new DirectoryNamespace({ root, durability: "none" });
  await owner.createTable({ id: ["secret"] }, rows);
});
afterEach(() => owner.close());

const denySecret = async ({ id }: AuthorizeCall): Promise<void> => {
  await new Promise((resolve) => setTimeout(resolve, 1));
  if (id[0] === "secret") throw new Error("not for you");
};

it("an id that changes after the call is not read again", async () => {
  await using guarded = new DirectoryNamespace({ root, authorize: denySecret });
  const id = ["open"];
  const call = guarded.countTableRows({ id });
  id[0] = "secret";
  await expect(call).rejects.toMatchObject({ type: "TableNotFound" });
  let reads = 0;
  const request = {
    get id() {
      return [reads++ === 0 ? "open" : "secret"];
    },
  };
  await expect(guarded.countTableRows(request)).rejects.toMatchObject({ type: "TableNotFound" });
  await expect(guarded.countTableRows({ id: ["secret"] })).rejects.toBeInstanceOf(PermissionDeniedError);
});

it("hidden members of a request still count", async () => {
  const request = { id: ["secret"] };
  Object.defineProperty(request, "predicate", { value: "v = 7" });
  expect(await owner.countTableRows(request)).toBe(0);
});

it("authorize can't redirect the call", async () => {
  const calls: AuthorizeCall[] = [];
  await using guarded = new DirectoryNamespace({
    root,
    authorize(call) {
      calls.push(call);
      (call.id as string[])[0] = "secret";
    },
  });
  await expect(guarded.dropTable({ id: ["open"], identity: { apiKey: "k" } })).rejects.toMatchObject({
    type: "PermissionDenied",
  });
  expect(calls).toEqual([{ operation: "dropTable", id: ["open"], identity: { apiKey: "k" } }]);
  await owner.tableExists({ id: ["secret"] });
});

it("members of a request may be inherited", async () => {
  class Request {
    readonly id = ["secret"];
    get mode(): "overwrite" {
      return "overwrite";
    }
  }
  await owner.insertIntoTable(new Request(), rows);
  expect(await owner.countTableRows(new Request())).toBe(1);
});

describe("everything that a call touches is asked about", () => {
  let asked: string[];
  let denied: ReadonlySet<string>;
  let guarded: DirectoryNamespace;

  const shown = ({ operation, id, branch, location }: AuthorizeCall): string =>
    [operation, id.join("/"), branch, location].filter((part) => part !== undefined).join(" ");

  beforeEach(async () => {
    asked = [];
    denied = new Set();
    guarded = new DirectoryNamespace({
      root,
      durability: "none",
      authorize(call) {
        asked.push(shown(call));
        if (denied.has(shown(call))) throw new Error("not for you");
      },
    });
    await owner.createNamespace({ id: ["a"] });
    await owner.createNamespace({ id: ["a", "inner"] });
    await owner.createNamespace({ id: ["b"] });
    await owner.createTable({ id: ["a", "t"] }, rows);
    await owner.createTable({ id: ["a", "inner", "u"] }, rows);
  });
  afterEach(() => guarded.close());

  const refused = (call: Promise<unknown>) => expect(call).rejects.toBeInstanceOf(PermissionDeniedError);

  it("a rename asks about both ids", async () => {
    const rename = () =>
      guarded.renameTable({ id: ["a", "t"], newNamespaceId: ["b"], newTableName: "taken" });
    denied = new Set(["renameTable b/taken"]);
    await refused(rename());
    await owner.tableExists({ id: ["a", "t"] });
    denied = new Set();
    asked = [];
    await rename();
    expect(asked).toEqual(["renameTable a/t", "renameTable b/taken"]);
  });

  it("a cascade asks about each namespace and table", async () => {
    const drop = () => guarded.dropNamespace({ id: ["a"], behavior: "Cascade" });
    for (const question of ["dropTable a/inner/u", "dropNamespace a/inner"]) {
      denied = new Set([question]);
      await refused(drop());
      expect(await owner.countTableRows({ id: ["a", "t"] })).toBe(1);
      expect(await owner.countTableRows({ id: ["a", "inner", "u"] })).toBe(1);
    }
    denied = new Set();
    asked = [];
    await drop();
    expect(asked.sort()).toEqual([
      "dropNamespace a",
      "dropNamespace a/inner",
      "dropTable a/inner/u",
      "dropTable a/t",
    ]);
  });

  it("a cascade asks about a table that appears meanwhile", async () => {
    denied = new Set(["dropTable a/late"]);
    let isMade = false;
    await using slow = new DirectoryNamespace({
      root,
      durability: "none",
      async authorize(call) {
        if (shown(call) === "dropTable a/t" && !isMade) {
          isMade = true;
          await owner.createTable({ id: ["a", "late"] }, rows);
        }
        if (denied.has(shown(call))) throw new Error("not for you");
      },
    });
    await refused(slow.dropNamespace({ id: ["a"], behavior: "Cascade" }));
    expect(await owner.countTableRows({ id: ["a", "late"] })).toBe(1);
    expect(await owner.countTableRows({ id: ["a", "t"] })).toBe(1);
  });

  it("a registration asks about the directory and its previous owner", async () => {
    const { location } = await owner.deregisterTable({ id: ["a", "t"] });
    const directory = pathOfLocation(location!).slice(root.length + 1);
    const register = () => guarded.registerTable({ id: ["b", "mine"], location: directory });
    denied = new Set([`registerTable a/t ${directory}`]);
    await refused(register());
    await expect(owner.tableExists({ id: ["b", "mine"] })).rejects.toMatchObject({ type: "TableNotFound" });
    denied = new Set([`registerTable b/mine ${directory}`]);
    await refused(register());
    denied = new Set();
    asked = [];
    await register();
    expect(asked).toEqual([`registerTable b/mine ${directory}`, `registerTable a/t ${directory}`]);
    expect(await owner.countTableRows({ id: ["b", "mine"] })).toBe(1);
  });

  it("a registration asks about an owner that appears meanwhile", async () => {
    const { location } = await owner.deregisterTable({ id: ["a", "t"] });
    const directory = pathOfLocation(location!).slice(root.length + 1);
    denied = new Set([`registerTable b/theirs ${directory}`]);
    let isTaken = false;
    await using slow = new DirectoryNamespace({
      root,
      durability: "none",
      async authorize(call) {
        if (shown(call) === `registerTable a/t ${directory}` && !isTaken) {
          isTaken = true;
          await owner.registerTable({ id: ["b", "theirs"], location: directory });
          await owner.deregisterTable({ id: ["b", "theirs"] });
        }
        if (denied.has(shown(call))) throw new Error("not for you");
      },
    });
    await refused(slow.registerTable({ id: ["b", "mine"], location: directory }));
    await expect(owner.tableExists({ id: ["b", "mine"] })).rejects.toMatchObject({ type: "TableNotFound" });
  });

  it.each([
    ["that another engine took the id from", false],
    ["that was registered at a place of another name", true],
  ])("a registration of a table %s, about whose it was", async (_name, isForeign) => {
    let id = ["a", "t"];
    if (isForeign) {
      const { location } = await owner.describeTable({ id });
      await cp(pathOfLocation(location!), join(root, "imports", "x"), { recursive: true });
      id = ["a", "imported"];
      await owner.registerTable({ id, location: "imports/x" });
    }
    const { location } = await owner.deregisterTable({ id });
    if (!isForeign) await rm(join(pathOfLocation(location!), ".tiltyard-deregistered.json"));
    const directory = pathOfLocation(location!).slice(root.length + 1);
    denied = new Set([`registerTable ${id.join("/")} ${directory}`]);
    await refused(guarded.registerTable({ id: ["b", "mine"], location: directory }));
  });

  it.for([
    "a batch",
    "another registration",
  ])("a registration of what %s took the id from, about whose it was", async (by, { skip }) => {
    skip(by === "a batch" && lacks("rename"), LIMITS.rename);
    // The directory's name shows the original id.
    await owner.renameTable({ id: ["a", "t"], newNamespaceId: ["b"], newTableName: "t" });
    const id = ["b", "t"];
    const { location } = await owner.describeTable({ id });
    if (by === "a batch") await owner.batchCommitTables({ operations: [{ deregisterTable: { id } }] });
    else {
      const second = await owner.deregisterTable({ id: ["a", "inner", "u"] });
      const directory = pathOfLocation(second.location).slice(root.length + 1);
      await owner.registerTable({ id, location: directory, mode: "Overwrite" });
    }
    const path = pathOfLocation(location!).slice(root.length + 1);
    denied = new Set([`registerTable b/t ${path}`]);
    await refused(guarded.registerTable({ id: ["a", "mine"], location: path }));
  });

  it.each([
    "registered",
    "renamed",
  ])("a registration of a table that was %s since, about the last id", async (how) => {
    const { location } = await owner.deregisterTable({ id: ["a", "t"] });
    const directory = pathOfLocation(location!).slice(root.length + 1);
    await owner.registerTable({ id: how === "renamed" ? ["a", "u"] : ["b", "u"], location: directory });
    if (how === "renamed") {
      await owner.renameTable({ id: ["a", "u"], newNamespaceId: ["b"], newTableName: "u" });
    }
    const path = join(pathOfLocation(location!), ".tiltyard-deregistered.json");
    const note = await readFile(path);
    await owner.deregisterTable({ id: ["b", "u"] });
    // Another engine writes no owner file.
    await writeFile(path, note);
    denied = new Set([`registerTable b/u ${directory}`]);
    await refused(guarded.registerTable({ id: ["a", "mine"], location: directory }));
  });

  it("a registration of a table without an owner asks about the root", async () => {
    const long = "n".repeat(130);
    for (const name of ["my_t", "my t", long]) {
      await owner.createTable({ id: ["a", name] }, rows);
      const { location } = await owner.deregisterTable({ id: ["a", name] });
      const directory = pathOfLocation(location!).slice(root.length + 1);
      await rm(join(pathOfLocation(location!), ".tiltyard-deregistered.json"));
      denied = new Set([`registerTable  ${directory}`]);
      await refused(guarded.registerTable({ id: ["b", "mine"], location: directory }));
      await writeFile(join(pathOfLocation(location!), ".tiltyard-deregistered.json"), "{");
      await refused(guarded.registerTable({ id: ["b", "mine"], location: directory }));
    }
  });

  it("a new branch asks about the branch and its source", async () => {
    await owner.createTableBranch({ id: ["a", "t"], name: "dev" });
    await owner.createTableTag({ id: ["a", "t"], tag: "of-dev", version: 1, branch: "dev" });
    for (const source of [{ fromBranch: "dev" }, { fromTag: "of-dev" }]) {
      denied = new Set(["createTableBranch a/t dev"]);
      await refused(guarded.createTableBranch({ id: ["a", "t"], name: "copy", ...source }));
    }
    denied = new Set(["createTableBranch a/t copy"]);
    await refused(guarded.createTableBranch({ id: ["a", "t"], name: "copy" }));
    denied = new Set(["deleteTableBranch a/t dev"]);
    await refused(guarded.deleteTableBranch({ id: ["a", "t"], name: "dev" }));
    denied = new Set(["queryTable a/t dev"]);
    await refused(guarded.queryTable({ id: ["a", "t"], branch: "dev" }));
  });

  it("a read of a tag asks about the branch of the tag", async () => {
    const id = ["a", "t"];
    await owner.createTableBranch({ id, name: "dev" });
    await owner.createTableTag({ id, tag: "v", version: 1, branch: "dev" });
    const rowOffsets = [0];
    const calls: [operation: string, call: () => Promise<unknown>][] = [
      ["queryTable", () => guarded.queryTable({ id, tag: "v" })],
      ["queryTable", () => guarded.takeRows({ id, tag: "v", rowOffsets })],
      ["queryTable", () => guarded.takeBlobs({ id, tag: "v", rowOffsets, column: "v" })],
      ["countTableRows", () => guarded.countTableRows({ id, tag: "v" })],
      ["describeTable", () => guarded.describeTable({ id, tag: "v" })],
      ["tableExists", () => guarded.tableExists({ id, tag: "v" })],
      ["getTableStats", () => guarded.getTableStats({ id, tag: "v" })],
      ["getTableTagVersion", () => guarded.getTableTagVersion({ id, tag: "v" })],
      ["updateTableTag", () => guarded.updateTableTag({ id, tag: "v", version: 1 })],
      ["deleteTableTag", () => guarded.deleteTableTag({ id, tag: "v" })],
    ];
    for (const [operation, call] of calls) {
      denied = new Set([`${operation} a/t dev`]);
      await refused(call());
    }
    expect(await owner.getTableTagVersion({ id, tag: "v" })).toEqual({ version: 1, branch: "dev" });
    denied = new Set();
    expect(await guarded.countTableRows({ id, tag: "v" })).toBe(1);
  });

  it.each([
    "updateTableTag",
    "deleteTableTag",
  ] as const)("%s, about where the tag is by then", async (operation) => {
    const id = ["a", "t"];
    await owner.createTableBranch({ id, name: "dev" });
    await owner.createTableBranch({ id, name: "other" });
    await owner.createTableTag({ id, tag: "v", version: 1, branch: "other" });
    await using slow = new DirectoryNamespace({
      root,
      durability: "none",
      async authorize({ branch }) {
        // The lock is not taken yet.
        if (branch === "other") {
          await owner.updateTableTag({ id, tag: "v", version: 1, branch: "dev" });
        }
        if (branch === "dev") throw new Error("not for you");
      },
    });
    const request = { id, tag: "v" };
    await refused(
      operation === "deleteTableTag"
        ? slow.deleteTableTag(request)
        : slow[operation]({ ...request, version: 1 }),
    );
    expect(await owner.getTableTagVersion({ id, tag: "v" })).toEqual({ version: 1, branch: "dev" });
  });

  it("a transaction asks about its branch", async () => {
    const id = ["a", "t"];
    await owner.createTableBranch({ id, name: "dev" });
    const { transactionId } = await owner.insertIntoTable({ id, branch: "dev" }, rows);
    denied = new Set(["describeTransaction a/t dev"]);
    await refused(guarded.describeTransaction({ id: [transactionId] }));
    await refused(guarded.describeTransaction({ id: [...id, transactionId] }));
    const main = await owner.insertIntoTable({ id }, rows);
    await guarded.describeTransaction({ id: [main.transactionId] });
  });

  it.skipIf(lacks("rename"))(
    "the first version of a branch asks about the source of its manifest",
    async () => {
      const id = ["a", "t"];
      await owner.createTableBranch({ id, name: "dev" });
      await owner.insertIntoTable({ id, branch: "dev" }, rows);
      await owner.createTableBranch({ id, name: "mine", fromBranch: "dev" });
      const { location } = await owner.describeTable({ id, branch: "mine" });
      const { version } = await owner.describeTableVersion({ id, branch: "mine" });
      const manifest = await readFile(pathOfLocation(version.manifestPath));
      await owner.deleteTableBranch({ id, name: "mine" });
      await mkdir(join(pathOfLocation(location!), "_staging"), { recursive: true });
      await writeFile(join(pathOfLocation(location!), "_staging", "x.manifest"), manifest);
      const request = {
        id,
        branch: "mine",
        version: version.version,
        manifestPath: "_staging/x.manifest",
        unregisteredBranch: true,
      };
      denied = new Set(["createTableBranch a/t dev"]);
      await refused(guarded.createTableVersion(request));
      await refused(guarded.batchCreateTableVersions({ entries: [request] }));
      await refused(guarded.batchCommitTables({ operations: [{ createTableVersion: request }] }));
      denied = new Set();
      asked = [];
      await guarded.createTableVersion(request);
      expect(asked).toEqual(["createTableVersion a/t mine", "createTableBranch a/t dev"]);
    },
  );

  it("a branch that changes after the call is not read again", async () => {
    await owner.createTableBranch({ id: ["a", "t"], name: "dev" });
    denied = new Set(["insertIntoTable a/t dev"]);
    let reads = 0;
    const request = {
      id: ["a", "t"],
      get branch() {
        return reads++ === 0 ? undefined : "dev";
      },
    };
    await guarded.insertIntoTable(request, rows);
    expect(await owner.countTableRows({ id: ["a", "t"] })).toBe(2);
    expect(await owner.countTableRows({ id: ["a", "t"], branch: "dev" })).toBe(1);
  });

  it("a batch asks about each part", async () => {
    denied = new Set(["deregisterTable a/t"]);
    const operations = [{ declareTable: { id: ["b", "new"] } }, { deregisterTable: { id: ["a", "t"] } }];
    await refused(guarded.batchCommitTables({ operations }));
    await expect(owner.tableExists({ id: ["b", "new"] })).rejects.toMatchObject({ type: "TableNotFound" });
  });

  it("listings ask about each name, omit denied names, and keep pages full", async () => {
    for (const name of ["p", "q", "r"]) await owner.createTable({ id: ["a", name] }, rows);
    denied = new Set([
      ...["tableExists a/p", "tableExists a/t", "tableExists secret"],
      ...["namespaceExists b", "namespaceExists a/inner"],
    ]);
    expect(await guarded.listTables({ id: ["a"] })).toEqual({ tables: ["q", "r"] });
    expect(await guarded.listTables({ id: ["a"], limit: 1 })).toEqual({ tables: ["q"], pageToken: "q" });
    expect(await guarded.listTables({ id: ["a"], limit: 1, pageToken: "q" })).toEqual({ tables: ["r"] });
    expect(await guarded.listTables()).toEqual({ tables: [] });
    expect(await guarded.listAllTables()).toEqual({ tables: ["a$inner$u", "a$q", "a$r"] });
    expect(await guarded.listNamespaces()).toEqual({ namespaces: ["a"] });
    expect(await guarded.listNamespaces({ id: ["a"] })).toEqual({ namespaces: [] });
  });

  it("a call of a handle has the handle's caller", async () => {
    const principal = { subject: "s", method: "test" };
    const identity = { apiKey: "k" };
    const context = { c: "d" };
    const calls: AuthorizeCall[] = [];
    await using listening = new DirectoryNamespace({
      root,
      durability: "none",
      authorize: (call) => void calls.push(call),
    });
    const id = ["a", "t"];
    const table = listening.table(id, { principal, identity, context });
    await table.insert(rows);
    await table.scan().toArrow();
    await table.tags();
    await table.branches();
    await table.versions();
    await owner.createTableTag({ id, tag: "v", version: 1 });
    await listening.table(id, { tag: "v", principal, identity, context }).versions();
    expect(calls.map(({ operation }) => operation)).toEqual([
      ...["insertIntoTable", "queryTable", "listTableTags", "listTableBranches", "listTableVersions"],
      ...["getTableTagVersion", "listTableVersions"],
    ]);
    for (const call of calls) expect(call).toMatchObject({ id, principal, identity, context });
  });

  it("listings omit objects that authorize reports as missing", async () => {
    await using hiding = new DirectoryNamespace({
      root,
      authorize({ operation, id }) {
        if (operation === "tableExists" && id[1] === "t") throw new TableNotFoundError("no such table");
        if (operation === "namespaceExists") throw new NamespaceNotFoundError("no such namespace");
      },
    });
    expect(await hiding.listTables({ id: ["a"] })).toEqual({ tables: [] });
    expect(await hiding.listNamespaces({ id: ["a"] })).toEqual({ namespaces: [] });
  });

  it("listings fail if authorize fails, and do not show less", async () => {
    await using failing = new DirectoryNamespace({
      root,
      authorize({ operation }) {
        if (operation === "tableExists") throw new ServiceUnavailableError("the directory of users is down");
      },
    });
    await expect(failing.listTables({ id: ["a"] })).rejects.toBeInstanceOf(ServiceUnavailableError);
  });
});
