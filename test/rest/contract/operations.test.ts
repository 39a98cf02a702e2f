/** The twelve operations of the interface document: one test on the wire for each sentence. */

import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Int64, Table, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import { afterAll, beforeAll, describe, expect } from "vitest";
import {
  type Contract,
  indexableRows,
  nestedRows,
  openContract,
  rowsOf,
  sentencesOf,
  tableRootOf,
} from "../../support/contract.js";
import { stageDoubled } from "../../support/stageVersion.js";

const sentence = sentencesOf("operations");
let wire: Contract;
beforeAll(async () => {
  wire = await openContract();
});
afterAll(() => wire[Symbol.asyncDispose]());

const invalid = (member: string) => ({
  status: 400,
  json: { code: 13, detail: expect.stringMatching(new RegExp(`^${member}\\b`)) },
});
const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const latest = async (table: string, more: object = {}) =>
  (await wire.done(`/v1/table/${table}/version/describe`, more)).version;
/** Enough rows for an index with codebooks. */
const INDEXED_ROWS = 300;

async function stage(table: string, more: object = {}) {
  const { manifest_path, version } = await latest(table, more);
  return { version: version + 1, manifest_path: await stageDoubled(tableRootOf(manifest_path), version + 1) };
}

describe("Create a table version", () => {
  const path = (table: string) => `/v1/table/${table}/version/create`;

  sentence("creates a version entry with put-if-not-exists semantics", async () => {
    const table = await wire.table();
    await wire.done(path(table), await stage(table));
    expect(await wire.read(table)).toEqual([1, 2, 3, 1, 2, 3]);
    expect((await latest(table)).version).toBe(2);
  });
  sentence("it fails with 409 Conflict when the version already exists", async () => {
    const table = await wire.table();
    const [staged, loser] = [await stage(table), await stage(table)];
    await wire.done(path(table), staged);
    const published = await latest(table);
    const answer = await wire.post(path(table), loser);
    expect(answer).toMatchObject({ status: 409, json: { code: 14, type: "/errors/conflict" } });
    expect(await latest(table)).toEqual(published);
    // The same manifest is not accepted twice.
    expect(await wire.post(path(table), staged)).toMatchObject({ status: 409, json: { code: 14 } });
  });
  sentence("body: version is the number to create, an integer >= 0", async () => {
    const table = await wire.table();
    const staged = await stage(table);
    for (const version of [-1, 1.5, "2", 2 ** 53, undefined, null]) {
      expect(await wire.post(path(table), { ...staged, version })).toMatchObject(invalid("version"));
    }
  });
  sentence("body: manifest_path is the path of the manifest file", async () => {
    const table = await wire.table();
    const staged = await stage(table);
    for (const manifest_path of ["", undefined, 1]) {
      expect(await wire.post(path(table), { ...staged, manifest_path })).toMatchObject(
        invalid("manifest_path"),
      );
    }
    const absent = { ...staged, manifest_path: `${staged.manifest_path}x` };
    expect(await wire.post(path(table), absent)).toMatchObject({ status: 400, json: { code: 13 } });
    await wire.done(path(table), staged);
  });
  sentence("body: manifest_size is in bytes, >= 0", async () => {
    const table = await wire.table();
    const staged = await stage(table);
    const { size } = await stat(staged.manifest_path);
    for (const manifest_size of [-1, 0.5, "1"]) {
      expect(await wire.post(path(table), { ...staged, manifest_size })).toMatchObject(
        invalid("manifest_size"),
      );
    }
    expect((await wire.post(path(table), { ...staged, manifest_size: size + 1 })).status).toBe(400);
    await wire.done(path(table), { ...staged, manifest_size: size });
  });
  sentence("body: e_tag and metadata are optional, and are in the record afterwards", async () => {
    const table = await wire.table();
    const record = { e_tag: '"abc"', metadata: { Some_Key: "value", "": "empty" } };
    const { version } = await wire.done(path(table), { ...(await stage(table)), ...record });
    expect(version).toMatchObject(record);
    expect(await latest(table)).toMatchObject(record);
    const without = await wire.done(path(table), await stage(table));
    expect(without.version).not.toHaveProperty("metadata");
  });
  sentence("body: branch is optional", async () => {
    const table = await wire.table();
    await wire.done(`/v1/table/${table}/branches/create`, { name: "b" });
    const branch = "b";
    const { version } = await wire.done(path(table), { ...(await stage(table, { branch })), branch });
    expect(version.version).toBe(2);
    expect((await latest(table, { branch })).version).toBe(2);
    expect((await latest(table)).version).toBe(1);
    const missing = await wire.post(path(table), { ...(await stage(table)), branch: "none" });
    expect(missing).toMatchObject({ status: 404, json: { code: 22 } });
  });
  sentence("body: naming_scheme is V1 or V2", async () => {
    const table = await wire.table();
    const staged = await stage(table);
    for (const naming_scheme of ["V3", "", 2]) {
      expect(await wire.post(path(table), { ...staged, naming_scheme })).toMatchObject(
        invalid("naming_scheme"),
      );
    }
    await wire.done(path(table), { ...staged, naming_scheme: "V2" });
  });
  sentence("response: transaction_id and the table version record", async () => {
    const table = await wire.table();
    const staged = await stage(table);
    const json = await wire.done(path(table), staged);
    expect(json).toEqual({
      transaction_id: uuid,
      version: {
        version: staged.version,
        manifest_path: expect.any(String),
        manifest_size: expect.any(Number),
        timestamp_millis: expect.any(Number),
      },
    });
  });
});

describe("Describe a table version", () => {
  const path = (table: string) => `/v1/table/${table}/version/describe`;

  sentence("response: the version record with manifest path and metadata", async () => {
    const table = await wire.table();
    await wire.done(`/v1/table/${table}/version/create`, { ...(await stage(table)), metadata: { k: "v" } });
    const { version } = await wire.done(path(table), { version: 2 });
    expect(version).toMatchObject({ version: 2, metadata: { k: "v" } });
    expect(await readFile(version.manifest_path)).toHaveLength(version.manifest_size);
  });
  sentence("body: version is the version to describe, an integer >= 0", async () => {
    const table = await wire.table();
    await wire.done(`/v1/table/${table}/insert`, rowsOf(4));
    for (const version of [1, 2]) expect((await latest(table, { version })).version).toBe(version);
    for (const version of [0, 3]) {
      expect(await wire.post(path(table), { version })).toMatchObject({ status: 404, json: { code: 11 } });
    }
    for (const version of [-1, 0.5, "1"]) {
      expect(await wire.post(path(table), { version })).toMatchObject(invalid("version"));
    }
  });
  sentence("body: id is the table identifier, branch is optional", async () => {
    const table = await wire.table();
    await wire.done(`/v1/table/${table}/branches/create`, { name: "b" });
    await wire.done(`/v1/table/${table}/insert?branch=b`, rowsOf(4));
    const { version } = await latest(table, { id: [table], branch: "b" });
    expect(version).toBe(2);
    for (const branch of ["", "main", null]) expect((await latest(table, { branch })).version).toBe(1);
  });
});

describe("Get index statistics", () => {
  const path = (table: string) => `/v1/table/${table}/index/some_index/stats`;

  sentence("path parameter index_name is the name of the index", async () => {
    const answer = await wire.post(path(await wire.table()), {});
    expect(answer).toMatchObject({ status: 404, json: { code: 6 } });
    expect(answer.json.detail).toContain("some_index");
  });
  sentence(
    "body: version is optional, the table version to read statistics for, an integer >= 0",
    async () => {
      const table = await wire.table();
      expect(await wire.post(path(table), { version: 1 })).toMatchObject({ status: 404, json: { code: 6 } });
      expect(await wire.post(path(table), { version: 9 })).toMatchObject({ status: 404, json: { code: 11 } });
      expect(await wire.post(path(table), { version: -1 })).toMatchObject(invalid("version"));
    },
  );
  sentence("body: branch and index_name", async () => {
    const table = await wire.table();
    const body = { index_name: "some_index", branch: "main" };
    expect(await wire.post(path(table), body)).toMatchObject({ status: 404, json: { code: 6 } });
    expect(await wire.post(path(table), { branch: "none" })).toMatchObject({
      status: 404,
      json: { code: 22 },
    });
    for (const index_name of ["another", "", 1]) {
      expect(await wire.post(path(table), { index_name })).toMatchObject(invalid("index_name"));
    }
  });
});

describe("Get table statistics", () => {
  sentence("response: the table statistics record", async () => {
    const table = await wire.table();
    await wire.done(`/v1/table/${table}/insert`, rowsOf(4));
    const stats = await wire.done(`/v1/table/${table}/stats`, { id: [table] });
    const lengths = { min: 1, max: 3, mean: 2, p25: 1, p50: 3, p75: 3, p99: 3 };
    expect(stats).toEqual({
      total_bytes: expect.any(Number),
      num_rows: 4,
      num_indices: 0,
      fragment_stats: { num_fragments: 2, num_small_fragments: 2, lengths },
    });
  });
  sentence("body: branch is optional", async () => {
    const table = await wire.table();
    await wire.done(`/v1/table/${table}/branches/create`, { name: "b" });
    await wire.done(`/v1/table/${table}/insert?branch=b`, rowsOf(4, 5));
    expect(await wire.done(`/v1/table/${table}/stats`, { branch: "b" })).toMatchObject({ num_rows: 5 });
    expect(await wire.done(`/v1/table/${table}/stats`, {})).toMatchObject({ num_rows: 3 });
  });
});

describe("Create an index", () => {
  const path = (table: string) => `/v1/table/${table}/create_index`;
  const body = { column: "v", index_type: "BTREE" };

  sentence("column is required, of at least one character, and a field path", async () => {
    const table = await wire.table();
    for (const column of [undefined, "", 1, null]) {
      expect(await wire.post(path(table), { ...body, column })).toMatchObject(invalid("column"));
    }
  });
  sentence("index_type is required", async () => {
    const table = await wire.table();
    for (const index_type of [undefined, "", 1]) {
      expect(await wire.post(path(table), { ...body, index_type })).toMatchObject(invalid("index_type"));
    }
  });
  sentence(
    "index_type is for example BTREE, BITMAP, LABEL_LIST, IVF_FLAT, IVF_PQ, IVF_HNSW_SQ, FTS",
    async () => {
      const table = await wire.table();
      const vector = ["IVF_FLAT", "IVF_PQ", "IVF_HNSW_SQ"];
      // The type is known, but the column is unsuitable.
      for (const index_type of ["LABEL_LIST", "FTS", ...vector]) {
        expect(await wire.post(path(table), { ...body, index_type }), index_type).toMatchObject(
          invalid("column"),
        );
      }
      for (const index_type of ["BTREE", "BITMAP", "btree"]) {
        const secondTable = await wire.table();
        expect(await wire.done(path(secondTable), { ...body, index_type }), index_type).toEqual({
          transaction_id: expect.any(String),
          job_id: expect.any(String),
        });
      }
      expect(await wire.post(path(table), { ...body, index_type: "TREE" })).toMatchObject(
        invalid("index_type"),
      );
      const ofScalars = `/v1/table/${table}/create_scalar_index`;
      for (const index_type of vector) {
        expect(await wire.post(ofScalars, { ...body, index_type })).toMatchObject(invalid("index_type"));
      }
      expect((await wire.post(ofScalars, body)).status).toBe(200);
    },
  );
  sentence(
    "vector indexes (for example IVF_FLAT, IVF_HNSW_SQ, IVF_PQ) and scalar indexes (for example BTREE, BITMAP, LABEL_LIST, FTS) are supported",
    async () => {
      const table = await wire.table(indexableRows(INDEXED_ROWS));
      const columns = {
        ...{ IVF_FLAT: "x", IVF_HNSW_SQ: "x", IVF_PQ: "x", BTREE: "v", BITMAP: "v" },
        ...{ LABEL_LIST: "labels", FTS: "s" },
      };
      for (const [index_type, column] of Object.entries(columns)) {
        const { job_id } = await wire.done(path(table), { column, index_type, name: index_type });
        const ended = await wire.done(`/v1/job/${job_id}/wait`, {});
        expect(ended, index_type).toMatchObject({ state: "Succeeded", done: INDEXED_ROWS });
        expect(await wire.done(`/v1/table/${table}/index/${index_type}/stats`, {})).toEqual({
          index_type,
          ...(column === "x" && { distance_type: "l2" }),
          num_indexed_rows: INDEXED_ROWS,
          num_unindexed_rows: 0,
          num_indices: 1,
        });
      }
      const { indexes } = await wire.done(`/v1/table/${table}/index/list`, {});
      expect(indexes.map(({ index_type }: { index_type: string }) => index_type).sort()).toEqual(
        Object.keys(columns).sort(),
      );
    },
  );
  sentence(
    "the build is asynchronous: progress is observed with ListTableIndices and DescribeTableIndexStats",
    async () => {
      const table = await wire.table();
      await wire.done(path(table), body);
      await expect
        .poll(async () => (await wire.done(`/v1/table/${table}/index/list`, {})).indexes)
        .toMatchObject([{ index_name: "v_idx", num_indexed_rows: 3, num_unindexed_rows: 0 }]);
      await wire.done(`/v1/table/${table}/insert`, rowsOf(4));
      expect(await wire.done(`/v1/table/${table}/index/v_idx/stats`, {})).toMatchObject({
        num_indexed_rows: 3,
        num_unindexed_rows: 1,
      });
    },
  );
  sentence("distance_type is for example l2, cosine, dot", async () => {
    const table = await wire.table();
    for (const [name, distance_type] of ["l2", "cosine", "dot", "L2"].entries()) {
      expect((await wire.post(path(table), { ...body, distance_type, name: `${name}` })).status).toBe(200);
    }
    const answer = await wire.post(path(table), { ...body, distance_type: "far" });
    expect(answer).toMatchObject(invalid("distance_type"));
  });
  sentence("name, distance_type, base_tokenizer, language are optional texts", async () => {
    const table = await wire.table();
    for (const member of ["name", "distance_type", "base_tokenizer", "language"]) {
      expect(await wire.post(path(table), { ...body, [member]: 1 })).toMatchObject(invalid(member));
    }
  });
  sentence(
    "with_position, lower_case, stem, remove_stop_words, ascii_folding are optional booleans",
    async () => {
      const table = await wire.table();
      for (const member of ["with_position", "lower_case", "stem", "remove_stop_words", "ascii_folding"]) {
        expect(await wire.post(path(table), { ...body, [member]: "true" })).toMatchObject(invalid(member));
      }
    },
  );
  sentence("max_token_length is optional and >= 0", async () => {
    const table = await wire.table();
    for (const max_token_length of [-1, 1.5, "1"]) {
      expect(await wire.post(path(table), { ...body, max_token_length })).toMatchObject(
        invalid("max_token_length"),
      );
    }
  });
  sentence("a valid request starts a job, whose index has the statistics of its table", async () => {
    const table = await wire.table();
    const all = {
      ...{ ...body, id: [table], branch: "main", name: "n", distance_type: "l2", with_position: true },
      ...{ base_tokenizer: "simple", language: "English", max_token_length: 0, lower_case: true },
      ...{ stem: true, remove_stop_words: false, ascii_folding: true },
    };
    for (const [name, valid] of [["v_idx", body] as const, ["n", all] as const]) {
      const { transaction_id, job_id } = await wire.done(path(table), valid);
      await wire.done(`/v1/job/${job_id}/wait`, {});
      const described = await wire.done(`/v1/transaction/${table}$${transaction_id}/describe`, {});
      expect(described).toMatchObject({ status: "Succeeded" });
      expect(await wire.done(`/v1/table/${table}/index/${name}/stats`, {})).toEqual({
        index_type: "BTREE",
        num_indexed_rows: 3,
        num_unindexed_rows: 0,
        num_indices: 1,
      });
    }
    expect(await wire.post(path(table), body)).toMatchObject({ status: 409, json: { code: 7 } });
    const { indexes } = await wire.done(`/v1/table/${table}/index/list`, {});
    expect(indexes).toMatchObject([
      { index_name: "n", columns: ["v"], status: "SUCCEEDED", index_type: "BTREE" },
      { index_name: "v_idx", columns: ["v"], status: "SUCCEEDED", index_type: "BTREE" },
    ]);
    await wire.done(`/v1/table/${table}/index/n/drop`, {});
    expect(await wire.post(`/v1/table/${table}/index/n/stats`, {})).toMatchObject({
      status: 404,
      json: { code: 6 },
    });
  });
  sentence("an invalid or unresolved column path returns InvalidInput or TableColumnNotFound", async () => {
    const table = await wire.table(nestedRows());
    for (const column of ["a.`b", "a..b", ".", "a."]) {
      expect(await wire.post(path(table), { ...body, column })).toMatchObject({
        status: 400,
        json: { code: 13 },
      });
    }
    for (const column of ["none", "b", "a.c.d", "V"]) {
      expect(await wire.post(path(table), { ...body, column })).toMatchObject({
        status: 404,
        json: { code: 12 },
      });
    }
  });
});

describe("Update per-field metadata", () => {
  const path = (table: string) => `/v1/table/${table}/update_field_metadata`;
  const update = (table: string, ...updates: object[]) => wire.done(path(table), { updates });

  sentence("each entry targets one field by path", async () => {
    const table = await wire.table(nestedRows());
    const metadata = { k: "1" };
    const { fields } = await update(table, { path: "v", metadata }, { path: "a.b", metadata: { k: "2" } });
    expect(fields).toEqual({ v: { k: "1" }, "a.b": { k: "2" } });
    const broken = {
      updates: [
        { path: "v", metadata: { k: "3" } },
        { path: "none", metadata },
      ],
    };
    expect(await wire.post(path(table), broken)).toMatchObject({ status: 404, json: { code: 12 } });
    expect((await update(table, { path: "v", metadata: {} })).fields).toEqual({ v: { k: "1" } });
  });
  sentence("its metadata pairs are merged into the field's existing metadata", async () => {
    const table = await wire.table();
    await update(table, { path: "v", metadata: { a: "1", B_c: "2" } });
    const { fields } = await update(table, { path: "v", metadata: { a: "3", d: "" }, replace: false });
    expect(fields).toEqual({ v: { a: "3", B_c: "2", d: "" } });
  });
  sentence("or replace it when replace is true", async () => {
    const table = await wire.table();
    await update(table, { path: "v", metadata: { a: "1", b: "2" } });
    const { fields } = await update(table, { path: "v", metadata: { c: "3" }, replace: true });
    expect(fields).toEqual({ v: { c: "3" } });
  });
  sentence("a null metadata value deletes that key", async () => {
    const table = await wire.table();
    await update(table, { path: "v", metadata: { a: "1", b: "2" } });
    const { fields } = await update(table, { path: "v", metadata: { a: null, none: null } });
    expect(fields).toEqual({ v: { b: "2" } });
  });
  sentence("body: updates is an array of entries; branch is optional", async () => {
    const table = await wire.table();
    for (const updates of [undefined, {}, "v"]) {
      expect(await wire.post(path(table), { updates })).toMatchObject(invalid("updates"));
    }
    const wrong: [object, string][] = [
      [{ metadata: {} }, "path"],
      [{ path: "", metadata: {} }, "path"],
      [{ path: "v" }, "metadata"],
      [{ path: "v", metadata: { a: 1 } }, "metadata.a"],
      [{ path: "v", metadata: {}, replace: "yes" }, "replace"],
    ];
    for (const [entry, member] of wrong) {
      expect(await wire.post(path(table), { updates: [entry] })).toMatchObject(
        invalid(`updates.0.${member}`),
      );
    }
    await wire.done(`/v1/table/${table}/branches/create`, { name: "b" });
    const updates = [{ path: "v", metadata: { k: "of b" } }];
    await wire.done(path(table), { updates, branch: "b" });
    expect((await update(table, { path: "v", metadata: {} })).fields).toEqual({ v: {} });
  });
  sentence("response: version (integer) and fields (object)", async () => {
    const table = await wire.table();
    const json = await update(table, { path: "v", metadata: { a: "1" } });
    expect(json).toEqual({ transaction_id: uuid, version: 2, fields: { v: { a: "1" } } });
  });
});

describe("Trigger a column backfill", () => {
  const path = (table: string) => `/v1/table/${table}/backfill_column`;
  const virtual = async () => {
    const table = await wire.table();
    const new_columns = [{ name: "c", computed: "v is null" }];
    await wire.done(`/v1/table/${table}/add_columns`, { new_columns });
    return table;
  };
  const accepted = { status: 202, json: { job_id: uuid } };

  sentence("column is required, of at least one character, and a field path", async () => {
    const table = await wire.table();
    for (const column of [undefined, "", 1]) {
      expect(await wire.post(path(table), { column })).toMatchObject(invalid("column"));
    }
  });
  sentence("the column must be a virtual (UDF-backed) column", async () => {
    expect(await wire.post(path(await wire.table()), { column: "v" })).toMatchObject(invalid("column"));
    expect(await wire.post(path(await virtual()), { column: "c" })).toMatchObject(accepted);
  });
  sentence("starts an asynchronous job for the column, whose id is in the response", async () => {
    const functions = {
      tenfold: {
        version: "1",
        inputs: ["v"],
        output: new Int64(),
        row: ({ v }: { v?: unknown }) => 10 * Number(v),
      },
    };
    await using contract = await openContract({}, { functions });
    const table = await contract.table();
    const new_columns = [{ name: "c", virtual_column: { udf_name: "tenfold", input_columns: ["v"] } }];
    await contract.done(`/v1/table/${table}/add_columns`, { new_columns });
    expect(await contract.read(table, {}, "c")).toEqual([null, null, null]);
    const { job_id } = await contract.done(path(table), { column: "c", where: "v > 1", concurrency: 2 });
    expect(await contract.done(`/v1/job/${job_id}/wait`, {})).toMatchObject({ state: "Succeeded" });
    expect(await contract.read(table, {}, "c")).toEqual([null, 20n, 30n]);
  });
  sentence("where, cluster and manifest are optional texts", async () => {
    const table = await virtual();
    for (const member of ["where", "cluster", "manifest"]) {
      expect(await wire.post(path(table), { column: "c", [member]: 1 })).toMatchObject(invalid(member));
      const text = member === "where" ? "v is null" : "x";
      if (member === "cluster") continue;
      expect((await wire.post(path(table), { column: "c", [member]: text })).status).toBe(202);
    }
    // The server must have the cluster.
    expect(await wire.post(path(table), { column: "c", cluster: "x" })).toMatchObject(invalid("cluster"));
    expect((await wire.post(path(table), { column: "c", cluster: null, manifest: null })).status).toBe(202);
  });
  sentence("the tuning members are optional integers, read_version a table version", async () => {
    const table = await virtual();
    const members = [
      ...["concurrency", "intra_applier_concurrency", "min_checkpoint_size", "max_checkpoint_size"],
      ...["batch_checkpoint_flush_interval_seconds", "read_version", "task_size", "num_frags"],
      ...["checkpoint_size", "commit_granularity"],
    ];
    for (const member of members) {
      expect(await wire.post(path(table), { column: "c", [member]: "1" })).toMatchObject(invalid(member));
    }
    const all = Object.fromEntries(members.map((member) => [member, member === "read_version" ? 2 : 1]));
    expect((await wire.post(path(table), { column: "c", ...all })).status).toBe(202);
    expect(await wire.post(path(table), { column: "c", read_version: -1 })).toMatchObject(
      invalid("read_version"),
    );
    expect(await wire.post(path(table), { column: "v", read_version: 99 })).toMatchObject({
      status: 404,
      json: { code: 11 },
    });
    for (const member of members) {
      // The namespace spec allows any number of seconds, and clients send fractions.
      const isAmount = member === "batch_checkpoint_flush_interval_seconds";
      const answer = await wire.post(path(table), { column: "c", [member]: 1.5 });
      expect(answer).toMatchObject(isAmount ? { status: 202 } : invalid(member));
    }
    const early = { batch_checkpoint_flush_interval_seconds: -0.5 };
    expect(await wire.post(path(table), { column: "c", ...early })).toMatchObject(
      invalid(Object.keys(early)[0]),
    );
  });
  sentence("an invalid or unresolved column path returns InvalidInput or TableColumnNotFound", async () => {
    const table = await wire.table();
    expect(await wire.post(path(table), { column: "`v" })).toMatchObject({ status: 400, json: { code: 13 } });
    expect(await wire.post(path(table), { column: "w" })).toMatchObject({ status: 404, json: { code: 12 } });
  });
});

describe("Check that a table exists", () => {
  const path = (table: string) => `/v1/table/${table}/exists`;

  sentence("the success response has no body", async () => {
    const { status, bytes, headers } = await wire.post(path(await wire.table()), {});
    expect(status).toBe(200);
    expect(bytes).toHaveLength(0);
    expect(headers.get("content-length")).toBe("0");
  });
  sentence("behaves exactly like DescribeTable otherwise", async () => {
    const table = await wire.table();
    const asked: [string, object][] = [
      [table, {}],
      [table, { version: 1 }],
      [table, { version: 9 }],
      [table, { version: -1 }],
      [table, { version: "1" }],
      [table, { id: ["another"] }],
      [table, { id: "text" }],
      ["none", {}],
      ["none$t", {}],
      ["$", {}],
      ["a$$b", {}],
      ["%ff", {}],
    ];
    for (const [id, body] of asked) {
      const [exists, described] = await Promise.all(
        ["exists", "describe"].map((tail) => wire.post(`/v1/table/${id}/${tail}`, body)),
      );
      const { status, json } = described;
      expect(exists.status, id).toBe(status);
      if (status === 200) continue;
      const instance = json.instance.replace("describe", "exists");
      expect(exists.json).toEqual({ ...json, instance });
    }
  });
  sentence("version is an optional integer >= 0; when absent the latest is resolved", async () => {
    const table = await wire.table();
    await wire.done(path(table), {});
    await wire.done(path(table), { version: 1 });
    await wire.done(path(table), { version: null });
    expect(await wire.post(path(table), { version: 2 })).toMatchObject({ status: 404, json: { code: 11 } });
    for (const version of [-1, 0.5, "1"]) {
      expect(await wire.post(path(table), { version })).toMatchObject(invalid("version"));
    }
  });
  sentence(
    "a table exists if it has data versions, or if a .ns-reserved file is in its directory",
    async () => {
      await wire.done(path(await wire.table()), {});
      const directory = join(wire.namespace.root, "by_hand.lance");
      await mkdir(directory);
      expect(await wire.post(path("by_hand"), {})).toMatchObject({ status: 404, json: { code: 4 } });
      await writeFile(join(directory, ".ns-reserved"), "");
      await wire.done(path("by_hand"), {});
      await wire.done("/v1/table/declared/declare", {});
      expect(await readFile(join(wire.namespace.root, "declared.lance", ".ns-reserved"))).toBeDefined();
      await wire.done(path("declared"), {});
    },
  );
});

describe("Restore a table to a version", () => {
  const path = (table: string) => `/v1/table/${table}/restore`;

  sentence("the version to restore to is required, an integer >= 0", async () => {
    const table = await wire.table();
    await wire.done(`/v1/table/${table}/insert?mode=overwrite`, rowsOf(9));
    for (const version of [undefined, null, -1, 0.5, "1"]) {
      expect(await wire.post(path(table), { version })).toMatchObject(invalid("version"));
    }
    expect(await wire.post(path(table), { version: 7 })).toMatchObject({ status: 404, json: { code: 11 } });
    await wire.done(path(table), { version: 1 });
    expect(await wire.read(table)).toEqual([1, 2, 3]);
    // The later versions stay.
    expect(await wire.read(table, { version: 2 })).toEqual([9]);
  });
  sentence("branch is optional", async () => {
    const table = await wire.table();
    await wire.done(`/v1/table/${table}/branches/create`, { name: "b" });
    await wire.done(`/v1/table/${table}/insert?branch=b`, rowsOf(4));
    await wire.done(path(table), { version: 1, branch: "b" });
    expect(await wire.read(table, { branch: "b" })).toEqual([1, 2, 3]);
    expect((await latest(table, { branch: "b" })).version).toBe(3);
    expect((await latest(table)).version).toBe(1);
  });
  sentence("response: transaction_id", async () => {
    const table = await wire.table();
    expect(await wire.done(path(table), { version: 1 })).toEqual({ transaction_id: uuid, version: 2 });
  });
});

describe("List branches", () => {
  const path = (table: string) => `/v1/table/${table}/branches/list`;
  const withBranches = async (...names: string[]) => {
    const table = await wire.table();
    for (const name of names) await wire.done(`/v1/table/${table}/branches/create`, { name });
    return table;
  };

  sentence("no request body", async () => {
    const table = await withBranches("b");
    for (const body of [undefined, null, {}]) {
      expect(Object.keys((await wire.done(path(table), body)).branches)).toEqual(["b"]);
    }
  });
  sentence("response: a map of branch name to branch contents, and page_token", async () => {
    const table = await withBranches("b", "a/c");
    const before = Math.floor(Date.now() / 1000);
    const json = await wire.done(path(table));
    const contents = {
      parentVersion: 1,
      createAt: expect.any(Number),
      manifestSize: expect.any(Number),
    };
    expect(json).toEqual({ branches: { "a/c": contents, b: contents } });
    expect(json.branches.b.createAt).toBeGreaterThan(before - 100);
  });
  sentence("limit is an inclusive upper bound of the number of results", async () => {
    const table = await withBranches("a", "b", "c");
    for (const [limit, count] of [
      [1, 1],
      [2, 2],
      [3, 3],
      [4, 3],
    ]) {
      expect(Object.keys((await wire.done(`${path(table)}?limit=${limit}`)).branches)).toHaveLength(count);
    }
    for (const limit of ["0", "-1", "x", "1.5", ""]) {
      expect(await wire.post(`${path(table)}?limit=${limit}`)).toMatchObject(invalid("limit"));
    }
  });
  sentence("when not all items fit in one response, it carries a page token", async () => {
    const table = await withBranches("a", "b", "c");
    expect((await wire.done(`${path(table)}?limit=2`)).page_token).toEqual(expect.any(String));
  });
  sentence("the token of each response is sent as page_token in the next request", async () => {
    const names = ["a", "b", "c", "d", "e/f+g"].map((name) => name.replace("+", "-"));
    const table = await withBranches(...names);
    const listed: string[] = [];
    let token = "";
    let pages = 0;
    do {
      const query = `limit=2&page_token=${encodeURIComponent(token)}`;
      const { branches, page_token } = await wire.done(`${path(table)}?${query}`);
      listed.push(...Object.keys(branches));
      token = page_token ?? "";
      pages++;
    } while (token !== "");
    expect(listed).toEqual(names);
    expect(pages).toBe(3);
  });
  sentence("a null, missing or empty page_token marks the end of the listing", async () => {
    const table = await withBranches("a", "b");
    for (const query of ["", "?limit=2", "?limit=9", "?page_token=a", "?page_token=zzz"]) {
      expect((await wire.done(path(table) + query)).page_token ?? "").toBe("");
    }
  });
  sentence("delimiter is an optional query parameter", async () => {
    const table = await withBranches("a");
    expect(Object.keys((await wire.done(`${path(table)}?delimiter=.`)).branches)).toEqual(["a"]);
  });
});

describe("Delete a branch", () => {
  const path = (table: string) => `/v1/table/${table}/branches/delete`;

  sentence("body: name is required, the name of the branch to delete", async () => {
    const table = await wire.table();
    for (const name of ["a", "b"]) await wire.done(`/v1/table/${table}/branches/create`, { name });
    for (const name of [undefined, "", 1]) {
      expect(await wire.post(path(table), { name })).toMatchObject(invalid("name"));
    }
    await wire.done(path(table), { id: [table], name: "a" });
    expect(Object.keys((await wire.done(`/v1/table/${table}/branches/list`)).branches)).toEqual(["b"]);
    expect(await wire.post(path(table), { name: "a" })).toMatchObject({ status: 404, json: { code: 22 } });
    expect(await wire.post(path(table), { name: "main" })).toMatchObject({ status: 400, json: { code: 13 } });
  });
  sentence("response: transaction_id, which is optional", async () => {
    const table = await wire.table();
    await wire.done(`/v1/table/${table}/branches/create`, { name: "a" });
    const { transaction_id = "" } = await wire.done(path(table), { name: "a" });
    expect(transaction_id).toBeTypeOf("string");
  });
});

describe("Insert records", () => {
  const path = (table: string) => `/v1/table/${table}/insert`;

  sentence("the body is an Arrow IPC stream of the records, of its content type", async () => {
    const table = await wire.table();
    await wire.done(path(table), rowsOf(4, 5));
    expect(await wire.read(table)).toEqual([1, 2, 3, 4, 5]);
    for (const bytes of [new Uint8Array(0), new TextEncoder().encode("no rows"), rowsOf(6).subarray(0, 50)]) {
      expect(await wire.post(path(table), bytes)).toMatchObject({ status: 400, json: { code: 13 } });
    }
    expect(await wire.read(table)).toHaveLength(5);
  });
  sentence("there is no JSON body", async () => {
    expect(await wire.post(path(await wire.table()), { id: ["t"] })).toMatchObject({
      status: 400,
      json: { code: 13, detail: expect.stringContaining("a JSON array of objects") },
    });
  });
  sentence("query: branch is optional; main branch when absent", async () => {
    const table = await wire.table();
    await wire.done(`/v1/table/${table}/branches/create`, { name: "a/b" });
    await wire.done(`${path(table)}?branch=a%2Fb`, rowsOf(4));
    await wire.done(path(table), rowsOf(5));
    expect(await wire.read(table)).toEqual([1, 2, 3, 5]);
    expect(await wire.read(table, { branch: "a/b" })).toEqual([1, 2, 3, 4]);
  });
  sentence("query: mode Append (default) adds to the existing data", async () => {
    const table = await wire.table();
    for (const mode of ["", "?mode=Append", "?mode=append", "?mode=APPEND"])
      await wire.done(path(table) + mode, rowsOf(4));
    expect(await wire.read(table)).toEqual([1, 2, 3, 4, 4, 4, 4]);
  });
  sentence("query: mode Overwrite removes all data in the table and then inserts", async () => {
    for (const mode of ["Overwrite", "overwrite", "OVERWRITE", "oVerwrite"]) {
      const table = await wire.table();
      await wire.done(`${path(table)}?mode=${mode}`, rowsOf(4));
      expect(await wire.read(table)).toEqual([4]);
    }
  });
  sentence("mode has no other values", async () => {
    const table = await wire.table();
    for (const mode of ["", "replace", "over_write", "create"]) {
      expect(await wire.post(`${path(table)}?mode=${mode}`, rowsOf(4))).toMatchObject(invalid("mode"));
    }
  });
  sentence(
    "for a table that is declared but not created, the insert creates the table with the data",
    async () => {
      const texts = tableToIPC(new Table({ s: vectorFromArray(["x"], new Utf8()) }), "stream");
      for (const mode of ["", "?mode=append", "?mode=overwrite"]) {
        const table = `declared_${mode.slice(6)}`;
        await wire.done(`/v1/table/${table}/declare`, {});
        expect(await wire.done(path(table) + mode, texts)).toMatchObject({ version: 1 });
        expect(await wire.read(table, {}, "s")).toEqual(["x"]);
      }
    },
  );
  sentence("response: transaction_id", async () => {
    const json = await wire.done(path(await wire.table()), rowsOf(4));
    expect(json).toEqual({ transaction_id: uuid, version: 2, num_inserted_rows: 1 });
  });
  sentence("records that do not fit the table are refused, and nothing is inserted", async () => {
    const table = await wire.table();
    const texts = tableToIPC(new Table({ v: vectorFromArray(["x"], new Utf8()) }), "stream");
    const answer = await wire.post(path(table), texts);
    expect(answer).toMatchObject({ status: 400, json: { code: 20, detail: expect.stringContaining("v") } });
    expect(await wire.read(table)).toEqual([1, 2, 3]);
  });
});
