/** What every runtime does: tables in memory, the REST handler, and a published table over HTTP. */

import { DirectoryNamespace, defineTable, int64, utf8, vector } from "tiltyard";
import { httpDisk, memoryDisk } from "tiltyard/disks";
import { createRestHandler } from "tiltyard/rest";

/** Rows of tables of the program. */
export const rowsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    id: BigInt(first + index),
    text: ["an ash tree", "an old elm", "the elms of a park", "a birch"][(first + index) % 4],
    vector: [first + index, 1, 0, 0],
  }));

export const SCHEMA = defineTable({ id: int64(), text: utf8(), vector: vector(4) });

const numbers = (rows: readonly object[]): number[] =>
  rows.map((row) => Number((row as { readonly id: bigint }).id));

async function inMemory(): Promise<object> {
  const ns = new DirectoryNamespace({ root: "/", disk: memoryDisk(), jobs: "wait" });
  const table = ns.table("t", { schema: SCHEMA });
  await table.create(rowsFrom(0, 300));
  await table.insert(rowsFrom(300, 20));
  await table.delete("id < 10");
  await table.update({ where: "id = 10", values: { text: "a lime" } });
  await table.waitForJob(await table.createIndex("id", { indexType: "BTREE" }));
  await table.waitForJob(await table.createIndex("text", { indexType: "FTS" }));
  const handler = createRestHandler(ns, { auth: { apiKeys: ["key"] } });
  const ask = async (headers: Record<string, string>) => {
    const request = new Request("https://tables.test/v1/table/t/count_rows", { method: "POST", headers });
    const { status, ...answer } = await handler(request).then(async (response) => ({
      status: response.status,
      text: response.ok ? await response.text() : "",
    }));
    return [status, answer.text];
  };
  const seen = {
    count: await table.countRows(),
    filtered: numbers(await table.scan({ filter: "id > 316" }).toArray()),
    words: numbers(await table.search({ text: "lime" }).toArray()),
    nearest: numbers(await table.search({ vector: [50, 1, 0, 0], limit: 3 }).toArray()),
    asked: await ask({ "x-api-key": "key" }),
    refused: await ask({ "x-api-key": "no key" }),
  };
  await handler.close();
  await ns.close();
  return seen;
}

async function overHttp(url: string): Promise<object> {
  const ns = new DirectoryNamespace({ root: "/", disk: httpDisk(url) });
  const table = ns.table("published");
  const refusal = await table.insert([{ id: 1n }]).catch((error: Error) => error.name);
  const seen = {
    first: numbers(await table.scan({ limit: 1 }).toArray()),
    filtered: numbers(await table.scan({ filter: "id = 1234" }).toArray()),
    words: (await table.search({ text: "birch", limit: 5 }).toArray()).length,
    nearest: numbers(await table.search({ vector: [70, 1, 0, 0], limit: 1 }).toArray()),
    refusal,
  };
  await ns.close();
  return seen;
}

/** @param url address of the published tables */
export const exercise = async (url: string): Promise<object> => ({
  memory: await inMemory(),
  http: await overHttp(url),
});
