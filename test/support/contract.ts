/** A table behind a server, and one test per sentence of the interface document. */

import { basename, dirname } from "node:path";
import * as arrow from "apache-arrow";
import { type AuthorizeCall, DirectoryNamespace, type DirectoryNamespaceOptions } from "tiltyard";
import type { RestHandlerOptions } from "tiltyard/rest";
import { afterAll, expect, it } from "vitest";
import { columnsOf, fieldOf, int32s, listOf, utf8s } from "./arrowColumns.js";
import { type Answer, get, post, startRestServer } from "./restServer.js";
import { makeTempDir } from "./tempDir.js";

export interface Contract extends AsyncDisposable {
  readonly url: string;
  readonly namespace: DirectoryNamespace;
  /** Calls that reached the engine, in order. */
  readonly calls: AuthorizeCall[];
  post(path: string, body?: object | null, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Posts a request that must succeed, and returns its JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever is there
  done(path: string, body?: object | null): Promise<any>;
  /** Creates a table with one version; returns its name. */
  table(rows?: Uint8Array): Promise<string>;
  /** Returns the values of the column `v` or of another one. */
  read(table: string, more?: object, column?: string): Promise<unknown[]>;
}

/** Everybody may call it, except callers whose context has `deny`. */
export async function openContract(
  options: RestHandlerOptions = {},
  engine: Partial<DirectoryNamespaceOptions> = {},
): Promise<Contract> {
  const calls: AuthorizeCall[] = [];
  const namespace = new DirectoryNamespace({
    root: await makeTempDir(),
    durability: "none",
    authorize(call) {
      calls.push(call);
      if (call.context?.deny !== undefined) throw new Error("denied");
    },
    ...engine,
  });
  const server = await startRestServer(namespace, options);
  let tables = 0;
  const contract: Contract = {
    url: server.url,
    namespace,
    calls,
    post: (path, body, headers) => post(server, path, body, headers),
    get: (path, headers) => get(server, path, headers),
    async done(path, body) {
      const { status, json } = await post(server, path, body);
      expect(status, `${path}: ${JSON.stringify(json)}`).toBeLessThan(300);
      return json;
    },
    async table(rows = rowsOf(1, 2, 3)) {
      const name = `t${++tables}`;
      await namespace.createTable({ id: [name] }, rows);
      return name;
    },
    async read(table, more = {}, column = "v") {
      const { bytes, status, json } = await post(server, `/v1/table/${table}/query`, more);
      expect(status, JSON.stringify(json)).toBe(200);
      return Array.from(arrow.tableFromIPC(bytes).getChild(column) ?? []);
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await namespace.close();
    },
  };
  return contract;
}

/** An IPC stream of one column. */
export const rowsOf = (...values: number[]): Uint8Array =>
  arrow.tableToIPC(new arrow.Table({ v: int32s(values) }), "stream");

/** An IPC stream of columns for indexes of all kinds: `v` numbers, `s` texts, `labels` and vectors `x`. */
export function indexableRows(rowCount: number): Uint8Array {
  const rows = Array.from({ length: rowCount }, (_, row) => row);
  const items = fieldOf("item", new arrow.Float32());
  return arrow.tableToIPC(
    new arrow.Table({
      v: int32s(rows),
      s: utf8s(rows.map((row) => `word${row % 7} of ${row}`)),
      labels: columnsOf(listOf(new arrow.Utf8()))(rows.map((row) => [`a${row % 3}`, `b${row % 5}`])),
      x: columnsOf(new arrow.FixedSizeList(8, items))(
        rows.map((row) => Array.from({ length: 8 }, (_, position) => Math.sin(row * (position + 1)))),
      ),
    }),
    "stream",
  );
}

/** An IPC stream with a struct whose members need quotes. */
export function nestedRows(): Uint8Array {
  const members = ["b", "c.d", "e`f"].map((name) => fieldOf(name, new arrow.Utf8()));
  const row = { b: "x", "c.d": "y", "e`f": "z" };
  const columns = { a: arrow.vectorFromArray([row], new arrow.Struct(members)), v: int32s([1]) };
  return arrow.tableToIPC(new arrow.Table(columns), "stream");
}

/** Directory of a table, from the path of one of its manifests. */
export const tableRootOf = (manifestPath: string): string => {
  const versions = dirname(manifestPath);
  expect(basename(versions)).toBe("_versions");
  return dirname(versions);
};

/** Makes tests whose names are shortened sentences of the interface document, and prints how many held. */
export function sentencesOf(part: string) {
  let held = 0;
  afterAll(() => console.log(`${part}: ${held} sentences of the interface document hold`));
  return (text: string, check: () => Promise<unknown>): void => {
    it(text, async () => {
      await check();
      held++;
    });
  };
}
