/**
 * The reference implementation as an oracle. Only this package imports it (and the apache-arrow release it
 * accepts); what crosses the border is Arrow IPC bytes or plain JSON. Rows go to and from the native layer as the
 * bytes they are, so that no JavaScript conversion can change a type, a null or a NaN on the way.
 *
 * Every call opens a connection of its own: what it sees is what lies on disk.
 */

import { connect } from "@lancedb/lancedb";
import { tableFromIPC } from "apache-arrow";
import { toIpcFile, toIpcStream } from "./ipc.js";

async function withConnection(uri, use) {
  const connection = await connect(uri, { readConsistencyInterval: 0 });
  try {
    return await use(connection);
  } finally {
    connection.close();
  }
}

/** Runs `use` on the native table, on a branch and at a version if these are given. */
function withTable(uri, name, options, use) {
  return withConnection(uri, async (connection) => {
    const table = await connection.openTable(name, [], { branch: options.branch, version: options.version });
    if (options.tag !== undefined) await table.checkout(options.tag);
    try {
      return await use(table.inner, table);
    } finally {
      table.close();
    }
  });
}

function storageOptions(options) {
  const result = {};
  if (options.dataStorageVersion !== undefined) {
    result["new_table_data_storage_version"] = options.dataStorageVersion;
  }
  if (options.v1Paths !== undefined) {
    result["new_table_enable_v2_manifest_paths"] = String(!options.v1Paths);
  }
  if (options.stableRowIds !== undefined) {
    result["new_table_enable_stable_row_ids"] = String(options.stableRowIds);
  }
  return result;
}

export function createTable(uri, name, ipc, options = {}) {
  return withConnection(uri, async (connection) => {
    const mode = options.mode ?? "create";
    const table = await connection.inner.createTable(name, toIpcFile(ipc), mode, [], storageOptions(options));
    return { version: await table.version() };
  });
}

export function appendTable(uri, name, ipc, options = {}) {
  return withTable(uri, name, options, (table) => table.add(toIpcFile(ipc), "append"));
}

export function overwriteTable(uri, name, ipc, options = {}) {
  return withTable(uri, name, options, (table) => table.add(toIpcFile(ipc), "overwrite"));
}

export function restoreTable(uri, name, version, options = {}) {
  return withTable(uri, name, { ...options, version }, async (table) => {
    await table.restore();
    return { version: await table.version() };
  });
}

export function dropTable(uri, name) {
  return withConnection(uri, (connection) => connection.dropTable(name));
}

export function deleteRows(uri, name, predicate, options = {}) {
  return withTable(uri, name, options, async (table) => ({
    version: (await table.delete(predicate)).version,
  }));
}

export function updateRows(uri, name, assignments, where, options = {}) {
  return withTable(uri, name, options, async (table) => ({
    version: (await table.update(where, Object.entries(assignments))).version,
  }));
}

/** Updates the rows whose `on` is in the rows given, and adds the others. */
export function upsertRows(uri, name, on, ipc, options = {}) {
  return withTable(uri, name, options, async (_, table) => {
    const merge = table.mergeInsert(on).whenMatchedUpdateAll().whenNotMatchedInsertAll();
    return { version: (await merge.execute(tableFromIPC(ipc))).version };
  });
}

/** Adds columns that are all null; `ipc` is of their schema. */
export function addNullColumns(uri, name, ipc, options = {}) {
  return withTable(uri, name, options, async (table) => ({
    version: (await table.addColumnsWithSchema(toIpcFile(ipc))).version,
  }));
}

export function addColumns(uri, name, expressions, options = {}) {
  const transforms = Object.entries(expressions).map(([column, valueSql]) => ({ name: column, valueSql }));
  return withTable(uri, name, options, async (table) => ({
    version: (await table.addColumns(transforms)).version,
  }));
}

export function alterColumns(uri, name, alterations, options = {}) {
  const native = alterations.map((alteration) => ({
    ...alteration,
    dataType: alteration.dataType === undefined ? undefined : JSON.stringify(alteration.dataType),
  }));
  return withTable(uri, name, options, async (table) => ({
    version: (await table.alterColumns(native)).version,
  }));
}

export function dropColumns(uri, name, columns, options = {}) {
  return withTable(uri, name, options, async (table) => ({
    version: (await table.dropColumns(columns)).version,
  }));
}

export function updateFieldMetadata(uri, name, updates, options = {}) {
  return withTable(uri, name, options, async (table) => ({
    version: (await table.updateFieldMetadata(updates)).version,
  }));
}

export function readTable(uri, name, options = {}) {
  return withTable(uri, name, options, async (table) => {
    const query = table.query();
    if (options.columns !== undefined) query.selectColumns(options.columns);
    if (options.filter !== undefined) query.onlyIf(options.filter);
    if (options.limit !== undefined) query.limit(options.limit);
    if (options.offset !== undefined) query.offset(options.offset);
    if (options.withRowId === true) query.withRowId();
    const files = [];
    const batches = await query.execute();
    for (let file = await batches.next(); file; file = await batches.next()) files.push(file);
    if (files.length === 0) files.push(await query.outputSchema());
    return toIpcStream(files);
  });
}

export function takeRows(uri, name, offsets, options = {}) {
  return withTable(uri, name, options, async (table) => {
    const query = table.takeOffsets(offsets);
    if (options.columns !== undefined) query.selectColumns(options.columns);
    const files = [];
    const batches = await query.execute();
    for (let file = await batches.next(); file; file = await batches.next()) files.push(file);
    if (files.length === 0) files.push(await query.outputSchema());
    return toIpcStream(files);
  });
}

export function fetchBlobs(uri, name, column, options = {}) {
  return withTable(uri, name, options, async (table) => {
    const query = table.query();
    query.selectColumns([]);
    query.withRowId();
    const rowIds = [];
    const batches = await query.execute();
    for (let file = await batches.next(); file; file = await batches.next()) {
      rowIds.push(...tableFromIPC(file).getChild("_rowid"));
    }
    const values = await table.fetchBlobs(column, rowIds);
    return values.map((value) => (value ? new Uint8Array(value) : null));
  });
}

export function countRows(uri, name, filter, options = {}) {
  return withTable(uri, name, options, (table) => table.countRows(filter));
}

export function tableVersion(uri, name, options = {}) {
  return withTable(uri, name, options, (table) => table.version());
}

export function listVersions(uri, name, options = {}) {
  return withTable(uri, name, options, async (table) =>
    (await table.listVersions()).map((entry) => ({
      version: entry.version,
      timestampMillis: entry.timestamp / 1000,
      metadata: { ...entry.metadata },
    })),
  );
}

export function listTables(uri) {
  return withConnection(uri, (connection) => connection.tableNames());
}

export function tableStats(uri, name, options = {}) {
  return withTable(uri, name, options, async (table) => {
    const stats = await table.stats();
    return {
      ...stats,
      fragmentStats: { ...stats.fragmentStats, lengths: { ...stats.fragmentStats.lengths } },
    };
  });
}

export function schemaIpc(uri, name, options = {}) {
  return withTable(uri, name, options, async (table) => toIpcStream([await table.schema()]));
}

function fieldJson(field) {
  return {
    name: field.name,
    type: field.type.toString(),
    nullable: field.nullable,
    metadata: Object.fromEntries(field.metadata),
    children: (field.type.children ?? []).map(fieldJson),
  };
}

export async function schemaJson(uri, name, options = {}) {
  const { schema } = tableFromIPC(await schemaIpc(uri, name, options));
  return { fields: schema.fields.map(fieldJson), metadata: Object.fromEntries(schema.metadata) };
}

export function usesV2ManifestPaths(uri, name) {
  return withTable(uri, name, {}, (table) => table.usesV2ManifestPaths());
}

/**
 * Compacts, and removes versions committed before the time given (in milliseconds since the epoch; 7 days ago by
 * default).
 */
export function optimizeTable(uri, name, options = {}) {
  return withTable(uri, name, options, async (table) => {
    const { compaction, prune } = await table.optimize(options.before, options.deleteUnverified);
    return { compaction: { ...compaction }, prune: { ...prune } };
  });
}

export function createBranch(uri, name, branch, options = {}) {
  return withTable(uri, name, {}, async (table) => {
    await (await table.branches()).create(branch, options.fromBranch, options.fromVersion);
  });
}

export function listBranches(uri, name) {
  return withTable(uri, name, {}, async (table) => {
    const branches = await (await table.branches()).list();
    return Object.fromEntries(
      Object.entries(branches).map(([branch, contents]) => [
        branch,
        {
          parentBranch: contents.parentBranch ?? null,
          parentVersion: contents.parentVersion,
          manifestSize: contents.manifestSize,
        },
      ]),
    );
  });
}

export function cloneTable(uri, name, sourceUri) {
  return withConnection(uri, async (connection) => {
    (await connection.cloneTable(name, sourceUri)).close();
  });
}

export function deleteBranch(uri, name, branch) {
  return withTable(uri, name, {}, async (table) => {
    await (await table.branches()).delete(branch);
  });
}

export function createTag(uri, name, tag, version, options = {}) {
  return withTable(uri, name, options, async (table) => {
    await (await table.tags()).create(tag, version);
  });
}

export function updateTag(uri, name, tag, version, options = {}) {
  return withTable(uri, name, options, async (table) => {
    await (await table.tags()).update(tag, version);
  });
}

export function deleteTag(uri, name, tag) {
  return withTable(uri, name, {}, async (table) => {
    await (await table.tags()).delete(tag);
  });
}

export function tagVersion(uri, name, tag) {
  return withTable(uri, name, {}, async (table) => (await table.tags()).getVersion(tag));
}

export function listTags(uri, name) {
  return withTable(uri, name, {}, async (table) => {
    const tags = await (await table.tags()).list();
    return Object.fromEntries(
      Object.entries(tags).map(([tag, contents]) => [
        tag,
        { version: contents.version, manifestSize: contents.manifestSize },
      ]),
    );
  });
}

export { catalogStep } from "./catalog.js";
