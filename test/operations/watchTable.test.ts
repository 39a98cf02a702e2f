/** Watches tables while this process, another process and the reference commit. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import {
  DirectoryNamespace,
  InvalidInputError,
  ServiceUnavailableError,
  TableBranchNotFoundError,
  TableNotFoundError,
  type TableVersion,
} from "tiltyard";
import { expect } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { it } from "../support/fixtures.js";
import { reference } from "../support/reference.js";
import { post, type RestServer, startRestServer } from "../support/restServer.js";

const id = ["t"];

/** Takes the next versions of a watch. */
async function take(watch: AsyncIterator<TableVersion>, count: number): Promise<number[]> {
  const numbers: number[] = [];
  while (numbers.length < count) {
    const { done, value } = await watch.next();
    if (done === true) break;
    numbers.push(value.version);
  }
  return numbers;
}

/** Starts a watch, and returns once it has begun. */
const startWatch = async (ns: DirectoryNamespace): Promise<AsyncIterator<TableVersion>> =>
  (await ns.watchTable({ id }))[Symbol.asyncIterator]();

it("yields versions that are committed after the call, each once and in order", async ({ root }) => {
  await using ns = new DirectoryNamespace({ root });
  await ns.createTable({ id }, [{ k: 1 }]);
  const table = ns.table("t");
  const iterator = await startWatch(ns);
  for (let k = 2; k < 5; k++) await table.insert([{ k }], { message: `row ${k}` });
  const first = await iterator.next();
  expect(first.value).toMatchObject({ version: 2, operation: "Append", message: "row 2", rowsAdded: 1 });
  expect(await take(iterator, 2)).toEqual([3, 4]);
  const next = iterator.next();
  await table.delete("k = 1");
  expect((await next).value).toMatchObject({ version: 5, operation: "Delete", rowsRemoved: 1 });
  await iterator.return?.();
});

it("goes on after a version that the caller has seen", async ({ root }) => {
  await using ns = new DirectoryNamespace({ root });
  await ns.createTable({ id }, [{ k: 1 }]);
  const table = ns.table("t");
  for (let k = 2; k < 6; k++) await table.insert([{ k }]);
  const iterator = table.watch({ from: 2 })[Symbol.asyncIterator]();
  expect(await take(iterator, 3)).toEqual([3, 4, 5]);
  await iterator.return?.();
  await expect(table.watch({ from: 6 })[Symbol.asyncIterator]().next()).rejects.toThrow(InvalidInputError);
  for (const from of [-1, 1.5, "2"]) {
    const refused = table
      .watch({ from: from as number })
      [Symbol.asyncIterator]()
      .next();
    await expect(refused).rejects.toThrow(InvalidInputError);
  }
  await expect(ns.watchTable({ id: ["none"] })).rejects.toThrow(TableNotFoundError);
  expect(() => ns.table("t", { version: 1 }).watch()).toThrow();
});

it("sees the commits of another process and of the reference", async ({ root }) => {
  await using ns = new DirectoryNamespace({ root });
  await ns.createTable({ id }, [{ k: 1 }]);
  const iterator = await startWatch(ns);
  const program = `
    const { DirectoryNamespace } = await import("tiltyard");
    const ns = new DirectoryNamespace({ root: ${JSON.stringify(root)} });
    for (let k = 0; k < 5; k++) await ns.insertIntoTable({ id: ["t"] }, [{ k }]);
    await ns.close();`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: "inherit" });
  const exited = once(child, "exit");
  expect(await take(iterator, 5)).toEqual([2, 3, 4, 5, 6]);
  await exited;
  await reference.appendTable(root, "t", tableToIPC(tableFromArrays({ k: Float64Array.of(9) })));
  expect(await take(iterator, 1)).toEqual([7]);
  await iterator.return?.();
});

it("polls where the platform cannot watch, and watches declared tables", async ({ root }) => {
  const disk = new NodeDisk({ durability: "none" });
  Object.defineProperty(disk, "watchDirectory", { value: undefined });
  await using ns = new DirectoryNamespace({ root, disk });
  await ns.declareTable({ id });
  const iterator = await startWatch(ns);
  const first = iterator.next();
  await ns.insertIntoTable({ id }, [{ k: 1 }]);
  expect((await first).value?.version).toBe(1);
  await iterator.return?.();
});

it("a watch that loses every event still sees commits", async ({ root }) => {
  const disk = new NodeDisk({ durability: "none" });
  Object.defineProperty(disk, "watchDirectory", { value: () => () => undefined });
  await using ns = new DirectoryNamespace({ root, disk });
  await ns.createTable({ id }, [{ k: 1 }]);
  const iterator = await startWatch(ns);
  const next = iterator.next();
  await ns.insertIntoTable({ id }, [{ k: 2 }]);
  expect((await next).value?.version).toBe(2);
  await iterator.return?.();
});

it("ends at once if its namespace was closed before the first version was asked for", async ({ root }) => {
  const ns = new DirectoryNamespace({ root });
  await ns.createTable({ id }, [{ k: 1 }]);
  const versions = await ns.watchTable({ id });
  await ns.close();
  await expect(versions[Symbol.asyncIterator]().next()).rejects.toThrow("the namespace is closed");
});

it("ends when the signal aborts, the namespace closes, or the table goes", async ({ root }) => {
  const ns = new DirectoryNamespace({ root });
  await ns.createTable({ id }, [{ k: 1 }]);
  await ns.createTableBranch({ id, name: "dev" });
  const table = ns.table("t");
  const stop = new AbortController();
  const aborted = table.watch({ signal: stop.signal })[Symbol.asyncIterator]().next();
  const dropped = table.watch()[Symbol.asyncIterator]().next();
  const deleted = ns.table("t", { branch: "dev" }).watch()[Symbol.asyncIterator]().next();
  const all = Promise.allSettled([aborted, dropped, deleted]);
  await ns.describeTable({ id });
  stop.abort(new Error("enough"));
  await expect(aborted).rejects.toThrow(ServiceUnavailableError);
  await table.deleteBranch("dev");
  await expect(deleted).rejects.toThrow(TableBranchNotFoundError);
  await table.drop();
  await expect(dropped).rejects.toThrow(TableNotFoundError);
  await all;
  await ns.createTable({ id }, [{ k: 1 }]);
  const closed = table.watch()[Symbol.asyncIterator]().next();
  const settled = Promise.allSettled([closed]);
  await ns.describeTable({ id });
  await ns.close();
  await expect(closed).rejects.toThrow(ServiceUnavailableError);
  await settled;
});

it("ends a pending read when the iterator returns", async ({ root }) => {
  await using ns = new DirectoryNamespace({ root });
  await ns.createTable({ id }, [{ k: 1 }]);
  for (const watch of [await ns.watchTable({ id }), ns.table("t").watch()]) {
    const iterator = watch[Symbol.asyncIterator]();
    const pending = iterator.next();
    await ns.describeTable({ id });
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined });
    expect(await pending).toEqual({ done: true, value: undefined });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  }
  const absent = ns.table("none").watch()[Symbol.asyncIterator]();
  expect(await absent.return?.()).toEqual({ done: true, value: undefined });
});

it("a table that replaced the watched one ends the watch", async ({ root }) => {
  await using ns = new DirectoryNamespace({ root });
  await ns.createTable({ id }, [{ k: 1 }]);
  const iterator = await startWatch(ns);
  await ns.dropTable({ id });
  await ns.createTable({ id }, [{ k: 1 }]);
  await ns.insertIntoTable({ id }, [{ k: 2 }]);
  await expect(iterator.next()).rejects.toThrow(TableNotFoundError);
});

it("a watch does not keep the process alive", async ({ root }) => {
  await using ns = new DirectoryNamespace({ root });
  await ns.createTable({ id }, [{ k: 1 }]);
  const program = `
    const { DirectoryNamespace } = await import("tiltyard");
    const ns = new DirectoryNamespace({ root: ${JSON.stringify(root)} });
    const watched = ns.table("t").watch()[Symbol.asyncIterator]();
    watched.next();
    await ns.describeTable({ id: ["t"] });
    console.log("waiting");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program]);
  const code = await new Promise((resolve) => child.once("exit", resolve));
  // 13: the program ended while it waited, which is what a pending read without a reason to live means.
  expect([0, 13]).toContain(code);
});

/** Reads events until there are some, and returns them as objects. */
async function events(server: RestServer, path: string, count: number, headers = {}): Promise<object[]> {
  const stop = new AbortController();
  const answer = await fetch(server.url + path, { headers, signal: stop.signal });
  expect(answer.headers.get("content-type")).toBe("text/event-stream");
  const reader = (answer.body as ReadableStream<Uint8Array<ArrayBuffer>>)
    .pipeThrough(new TextDecoderStream())
    .getReader();
  let text = "";
  const complete = () =>
    text
      .split("\n\n")
      .slice(0, -1)
      .filter((event) => !event.startsWith(":"));
  while (complete().length < count) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
  }
  stop.abort();
  await reader.cancel().catch(() => undefined);
  return complete().map((event) =>
    Object.fromEntries(
      event.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
    ),
  );
}

it("streams server-sent events, and resumes after the last one", async ({ root }) => {
  await using ns = new DirectoryNamespace({ root });
  await ns.createTable({ id }, [{ k: 1 }]);
  await using server = await startRestServer(ns);
  for (let k = 2; k < 5; k++) await ns.insertIntoTable({ id, message: "more" }, [{ k }]);
  const path = "/v1/table/t/watch";
  const resumed = await events(server, path, 2, { "last-event-id": "2" });
  expect(resumed).toMatchObject([
    { id: "3", event: "version" },
    { id: "4", event: "version" },
  ]);
  const data = JSON.parse((resumed[0] as { data: string }).data);
  expect(data).toMatchObject({ version: 3, operation: "Append", message: "more", rows_added: 1 });
  expect(await events(server, `${path}?from=3`, 1)).toMatchObject([{ id: "4" }]);
  const gone = events(server, path, 1);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await post(server, "/v1/table/t/drop", {});
  const [error] = await gone;
  expect(error).toMatchObject({ event: "error" });
  expect(JSON.parse((error as { data: string }).data)).toMatchObject({ status: 404, code: 4 });
  expect((await fetch(server.url + path)).status).toBe(404);
  expect((await fetch(server.url + path, { headers: { "last-event-id": "x" } })).status).toBe(400);
});
