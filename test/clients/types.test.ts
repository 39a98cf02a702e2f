/** TypeScript programs that hand objects of the drop-in to LanceDB's clients compile, with the drop-in's types. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { needRegistry } from "../support/registryProject.js";
import { isNative, makeClientProject, writeFiles } from "./support/clientProject.js";

const TSC = join(import.meta.dirname, "../../node_modules/typescript/bin/tsc");
const OPTIONS = {
  target: "ES2022",
  module: "NodeNext",
  strict: true,
  noEmit: true,
  // Clients' own declarations name packages that no program here installs.
  skipLibCheck: true,
  types: [],
  lib: ["ES2023", "DOM"],
};

const PROGRAM = `
import lancedb, { Index, rerankers } from "@lancedb/lancedb";
import type { Connection, ConnectionOptions, CreateTableOptions, Data, IntoVector, Table, VectorQuery } from "@lancedb/lancedb";
import { getRegistry, LanceSchema } from "@lancedb/lancedb/embedding";
import { LanceDB, type LanceDBArgs } from "@langchain/community/vectorstores/lancedb";
import { FakeEmbeddings } from "@langchain/core/utils/testing";
import { LanceVectorStore } from "@mastra/lance";
import { LanceDb } from "@llm-tools/embedjs-lancedb";
import { Field, Float32, type Table as ArrowTable, Utf8 } from "apache-arrow";

const options: Partial<ConnectionOptions> = { readConsistencyInterval: 0 };
const connection: Connection = await lancedb.connect("memory://", options);
const mode: Partial<CreateTableOptions> = { mode: "overwrite" };
const rows: Data = [{ id: "a", vector: [1, 2] }];
const table: Table = await connection.createTable({ name: "t", data: rows, ...mode });
const args: LanceDBArgs = { table, textKey: "text" };
const documents = await new LanceDB(new FakeEmbeddings(), args).similaritySearch("a", 1);
const mastra = await LanceVectorStore.create("/tables", options as ConnectionOptions);
const made: Promise<Table> = mastra.createTable("t", [{ id: "a" }], mode);
const embedded = new LanceDb({ path: "/tables" });

const vector: IntoVector = new Float32Array(2);
const query: VectorQuery = table.query().nearestTo(vector).where("id = 'a'").select(["id"]).limit(1);
const arrow: ArrowTable = await query.rerank(await rerankers.RRFReranker.create()).toArrow();
for await (const batch of query) batch.numRows.toFixed();
await table.createIndex("id", { config: Index.btree(), replace: true });
await table.mergeInsert("id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(rows, { timeoutMs: 1000 });
const schema = LanceSchema({ text: new Field("text", new Utf8()).type, score: new Float32() });
export default [documents, made, embedded, arrow, schema, getRegistry().length()];
`;

it.skipIf(isNative)(
  "programs compile with clients that name LanceDB's types",
  { timeout: 600_000 },
  async (context) => {
    await needRegistry(context);
    const directory = await makeClientProject({
      packages: [
        "@langchain/community@1.1.29",
        "@langchain/core@^1.1.38",
        "@mastra/lance@0.3.6",
        "@llm-tools/embedjs-lancedb@0.1.31",
      ],
      arrow: "18.1.0",
      release: "0.39.0",
    });
    await writeFiles(directory, {
      "program.ts": PROGRAM,
      "tsconfig.json": JSON.stringify({ compilerOptions: OPTIONS }),
    });
    const compiled = promisify(execFile)(process.execPath, [TSC, "-p", directory], { cwd: directory });
    expect(
      await compiled.then(
        ({ stdout }) => stdout,
        ({ stdout }) => stdout,
      ),
    ).toBe("");
  },
);
