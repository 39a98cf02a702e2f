/**
 * Commits a change that was planned on an old version over a later change of either engine. A refused change
 * has no effect; otherwise both engines read the same rows.
 */

import { join } from "node:path";
import { DirectoryNamespace } from "tiltyard";
import { connect, type Table } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { Field } from "../../src/format/file.js";
import {
  DataFragment,
  Delete,
  type IndexMetadata,
  Merge,
  Overwrite,
  Project,
  Rewrite,
  type Transaction,
  Update,
  UpdateConfig,
  UpdateMap,
} from "../../src/format/table.js";
import { type ConflictVerdict, TransactionConflictError } from "../../src/table/commit/conflictError.js";
import { newTransaction } from "../../src/table/commit/transaction.js";
import { hasStableRowIds } from "../../src/table/versions/flags.js";
import type { ManifestFile } from "../../src/table/versions/manifest.js";
import { indicesOf } from "../../src/table/versions/versionContent.js";
import { someOf } from "../support/effort.js";
import { errorOf } from "../support/outcomes.js";
import { makeTempDir } from "../support/tempDir.js";
import { commitPlannedOn, latestFile, openEnvironment } from "../table/support.js";

interface Fixture {
  readonly uri: string;
  readonly root: string;
  /** Version from which both writers start: three fragments of 20 rows. */
  readonly base: ManifestFile;
  /** Indexes on disk that no version names any more. */
  readonly indices: ReadonlyMap<string, IndexMetadata>;
}

/** A change as our transaction, and as a call on a handle of the reference. */
interface Change {
  readonly ours: (fixture: Fixture) => Transaction;
  readonly reference: ((table: Table) => Promise<unknown>) | null;
  /** The reference may plan it again by itself. */
  readonly isRepeated?: boolean;
}

const rows = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ id: from + index, name: `row ${from + index}` }));

/** Existing rows as new ones: several fragments may name one data file. */
const again = ({ base }: Fixture): DataFragment =>
  DataFragment.create({ ...base.manifest.fragments[0], ...NO_IDS, id: 0, deletionFile: undefined });

/** Existing rows in a new fragment, with their ids. */
const movedAway = ({ base }: Fixture, id = 0): DataFragment =>
  DataFragment.create({ ...base.manifest.fragments[0], id, deletionFile: undefined });

/** The commit assigns ids to rows without ids. */
const NO_IDS = {
  inlineRowIds: undefined,
  inlineLastUpdatedAtVersions: undefined,
  inlineCreatedAtVersions: undefined,
};

const metadataOf = (fieldId: number) =>
  UpdateConfig.create({
    fieldMetadataUpdates: [
      { fieldId, update: UpdateMap.create({ updateEntries: [{ key: "from", value: "here" }] }) },
    ],
  });

const createIndex = (name: string): Change["ours"] => {
  return (fixture) => {
    const index = fixture.indices.get(name);
    if (index === undefined) throw new Error(`no index ${name}`);
    return newTransaction(fixture.base.manifest.version, "createIndex", {
      newIndices: [index],
      removedIndices: [],
    });
  };
};

const versionOf = ({ base }: Fixture): number => base.manifest.version;

const CHANGES = {
  append: {
    ours: (fixture) => newTransaction(versionOf(fixture), "append", { fragments: [again(fixture)] }),
    reference: (table) => table.add(rows(100, 20)),
  },
  "delete of rows in fragment 0": {
    ours: (fixture) =>
      newTransaction(versionOf(fixture), "delete", Delete.create({ deletedFragmentIds: [0] })),
    reference: (table) => table.delete("id >= 5 AND id < 10"),
    isRepeated: true,
  },
  "delete of rows in fragment 1": {
    ours: (fixture) =>
      newTransaction(versionOf(fixture), "delete", Delete.create({ deletedFragmentIds: [1] })),
    reference: (table) => table.delete("id >= 25 AND id < 30"),
    isRepeated: true,
  },
  "update of rows in fragment 0": {
    ours: (fixture) =>
      newTransaction(
        versionOf(fixture),
        "update",
        Update.create({ removedFragmentIds: [0], newFragments: [movedAway(fixture)] }),
      ),
    reference: (table) => table.update({ where: "id < 5", values: { name: "changed" } }),
    isRepeated: true,
  },
  "merge that updates rows in fragment 0": {
    ours: (fixture) =>
      newTransaction(
        versionOf(fixture),
        "update",
        Update.create({
          removedFragmentIds: [0],
          newFragments: [movedAway(fixture)],
          fieldsForPreservingFragBitmap: fixture.base.manifest.fields.map(({ id }) => id),
        }),
      ),
    reference: (table) => table.mergeInsert("id").whenMatchedUpdateAll().execute(rows(0, 5)),
    isRepeated: true,
  },
  "merge that adds rows": {
    ours: (fixture) =>
      newTransaction(
        versionOf(fixture),
        "update",
        Update.create({
          newFragments: [again(fixture)],
          fieldsForPreservingFragBitmap: fixture.base.manifest.fields.map(({ id }) => id),
        }),
      ),
    reference: (table) => table.mergeInsert("id").whenNotMatchedInsertAll().execute(rows(100, 20)),
    isRepeated: true,
  },
  overwrite: {
    ours: (fixture) =>
      newTransaction(
        versionOf(fixture),
        "overwrite",
        Overwrite.create({ fragments: [again(fixture)], schema: fixture.base.manifest.fields }),
      ),
    reference: (table) => table.add(rows(0, 3), { mode: "overwrite" }),
  },
  "index on id": { ours: createIndex("id_idx"), reference: (table) => table.createIndex("id") },
  "index on name": { ours: createIndex("name_idx"), reference: (table) => table.createIndex("name") },
  "compaction with fragment 0": {
    ours: (fixture) => {
      const { fragments } = fixture.base.manifest;
      const groups = [{ oldFragments: [fragments[0]], newFragments: [movedAway(fixture, 50)] }];
      return newTransaction(versionOf(fixture), "rewrite", Rewrite.create({ groups }));
    },
    reference: (table) => table.optimize(),
  },
  "added column": {
    ours: (fixture) => {
      const { fragments, fields } = fixture.base.manifest;
      const added = Field.create({ ...fields[1], id: 7, name: "added", metadata: new Map() });
      const schema = [...fields, added];
      const merge = Merge.create({ fragments, schema, preservesNullability: true });
      return newTransaction(versionOf(fixture), "merge", merge);
    },
    reference: (table) => table.addColumns([{ name: "more", valueSql: "CAST(NULL AS STRING)" }]),
  },
  "renamed column": {
    ours: (fixture) => {
      const [id, name, ...rest] = fixture.base.manifest.fields;
      const schema = [id, { ...name, name: "other" }, ...rest];
      return newTransaction(
        versionOf(fixture),
        "project",
        Project.create({ schema, preservesNullability: true }),
      );
    },
    reference: (table) => table.alterColumns([{ path: "name", rename: "other" }]),
  },
  restore: {
    ours: (fixture) => newTransaction(versionOf(fixture), "restore", { version: 2 }),
    reference: async (table) => {
      await table.checkout(2);
      await table.restore();
    },
  },
  // The reference does this only within a compaction.
  "reserved ids": {
    ours: (fixture) => newTransaction(versionOf(fixture), "reserveFragments", { numFragments: 2 }),
    reference: null,
  },
  "metadata of field 0": {
    ours: (fixture) => newTransaction(versionOf(fixture), "updateConfig", metadataOf(0)),
    reference: (table) => table.updateFieldMetadata([{ path: "id", metadata: { from: "there" } }]),
  },
  "metadata of field 1": {
    ours: (fixture) => newTransaction(versionOf(fixture), "updateConfig", metadataOf(1)),
    reference: (table) => table.updateFieldMetadata([{ path: "name", metadata: { from: "there" } }]),
  },
} satisfies Record<string, Change>;

type Name = keyof typeof CHANGES;

/** My change, the change that commits first, and the outcome. */
const CELLS: readonly (readonly [mine: Name, rival: Name, verdict: ConflictVerdict])[] = [
  ["append", "append", "ok"],
  ["append", "delete of rows in fragment 0", "ok"],
  ["append", "update of rows in fragment 0", "ok"],
  ["append", "overwrite", "incompatible"],
  ["append", "compaction with fragment 0", "ok"],
  ["append", "added column", "ok"],
  ["append", "renamed column", "ok"],
  ["append", "restore", "incompatible"],
  ["append", "reserved ids", "ok"],
  ["append", "metadata of field 0", "ok"],
  ["delete of rows in fragment 0", "append", "ok"],
  ["delete of rows in fragment 0", "delete of rows in fragment 0", "retryable"],
  ["delete of rows in fragment 0", "delete of rows in fragment 1", "ok"],
  ["delete of rows in fragment 0", "update of rows in fragment 0", "retryable"],
  ["delete of rows in fragment 0", "overwrite", "incompatible"],
  ["delete of rows in fragment 0", "compaction with fragment 0", "retryable"],
  ["delete of rows in fragment 0", "added column", "retryable"],
  ["update of rows in fragment 0", "append", "ok"],
  ["update of rows in fragment 0", "delete of rows in fragment 0", "retryable"],
  ["update of rows in fragment 0", "delete of rows in fragment 1", "ok"],
  ["update of rows in fragment 0", "overwrite", "incompatible"],
  ["update of rows in fragment 0", "compaction with fragment 0", "retryable"],
  ["update of rows in fragment 0", "added column", "retryable"],
  ["delete of rows in fragment 0", "index on id", "ok"],
  ["delete of rows in fragment 0", "renamed column", "ok"],
  ["delete of rows in fragment 0", "restore", "incompatible"],
  ["delete of rows in fragment 0", "metadata of field 0", "ok"],
  ["update of rows in fragment 0", "update of rows in fragment 0", "retryable"],
  ["update of rows in fragment 0", "index on id", "ok"],
  ["update of rows in fragment 0", "renamed column", "ok"],
  ["update of rows in fragment 0", "restore", "incompatible"],
  ["update of rows in fragment 0", "reserved ids", "ok"],
  ["overwrite", "append", "ok"],
  ["overwrite", "delete of rows in fragment 0", "ok"],
  ["overwrite", "overwrite", "retryable"],
  ["overwrite", "index on id", "ok"],
  ["overwrite", "metadata of field 0", "ok"],
  ["index on id", "append", "ok"],
  ["index on id", "delete of rows in fragment 0", "ok"],
  ["index on id", "overwrite", "incompatible"],
  ["index on id", "index on name", "ok"],
  ["index on id", "index on id", "retryable"],
  ["index on id", "compaction with fragment 0", "retryable"],
  ["compaction with fragment 0", "append", "ok"],
  ["compaction with fragment 0", "delete of rows in fragment 0", "retryable"],
  ["compaction with fragment 0", "compaction with fragment 0", "retryable"],
  ["added column", "append", "retryable"],
  ["added column", "delete of rows in fragment 0", "retryable"],
  ["added column", "overwrite", "incompatible"],
  ["added column", "index on id", "ok"],
  ["added column", "added column", "retryable"],
  ["added column", "renamed column", "incompatible"],
  ["renamed column", "append", "ok"],
  ["renamed column", "delete of rows in fragment 0", "ok"],
  ["renamed column", "added column", "retryable"],
  ["renamed column", "renamed column", "retryable"],
  ["restore", "append", "ok"],
  ["restore", "overwrite", "ok"],
  ["restore", "restore", "ok"],
  ["reserved ids", "overwrite", "incompatible"],
  ["metadata of field 0", "append", "ok"],
  ["metadata of field 0", "overwrite", "incompatible"],
  ["metadata of field 0", "added column", "retryable"],
  ["metadata of field 0", "renamed column", "ok"],
  ["metadata of field 0", "metadata of field 0", "incompatible"],
  ["metadata of field 0", "metadata of field 1", "ok"],
  ["merge that updates rows in fragment 0", "append", "ok"],
  ["merge that updates rows in fragment 0", "delete of rows in fragment 0", "retryable"],
  ["merge that updates rows in fragment 0", "delete of rows in fragment 1", "ok"],
  ["merge that updates rows in fragment 0", "update of rows in fragment 0", "retryable"],
  ["merge that updates rows in fragment 0", "merge that updates rows in fragment 0", "retryable"],
  ["merge that updates rows in fragment 0", "merge that adds rows", "ok"],
  ["merge that updates rows in fragment 0", "overwrite", "incompatible"],
  ["merge that updates rows in fragment 0", "compaction with fragment 0", "retryable"],
  ["merge that updates rows in fragment 0", "added column", "retryable"],
  ["merge that updates rows in fragment 0", "renamed column", "ok"],
  ["merge that updates rows in fragment 0", "index on id", "ok"],
  ["merge that updates rows in fragment 0", "restore", "incompatible"],
  ["merge that updates rows in fragment 0", "reserved ids", "ok"],
  ["merge that updates rows in fragment 0", "metadata of field 0", "ok"],
  ["merge that adds rows", "append", "ok"],
  ["merge that adds rows", "delete of rows in fragment 0", "ok"],
  ["merge that adds rows", "update of rows in fragment 0", "ok"],
  ["merge that adds rows", "merge that updates rows in fragment 0", "ok"],
  ["merge that adds rows", "overwrite", "incompatible"],
  ["merge that adds rows", "compaction with fragment 0", "ok"],
  ["merge that adds rows", "added column", "retryable"],
  ["merge that adds rows", "restore", "incompatible"],
  ["append", "merge that updates rows in fragment 0", "ok"],
  ["delete of rows in fragment 0", "merge that updates rows in fragment 0", "retryable"],
  ["delete of rows in fragment 1", "merge that updates rows in fragment 0", "ok"],
  ["delete of rows in fragment 0", "merge that adds rows", "ok"],
  ["update of rows in fragment 0", "merge that updates rows in fragment 0", "retryable"],
  ["update of rows in fragment 0", "merge that adds rows", "ok"],
  ["overwrite", "merge that updates rows in fragment 0", "ok"],
  ["compaction with fragment 0", "merge that updates rows in fragment 0", "retryable"],
  ["index on id", "merge that updates rows in fragment 0", "ok"],
  ["added column", "merge that updates rows in fragment 0", "retryable"],
  ["added column", "merge that adds rows", "retryable"],
  ["renamed column", "merge that updates rows in fragment 0", "ok"],
  ["restore", "merge that updates rows in fragment 0", "ok"],
  ["metadata of field 0", "merge that updates rows in fragment 0", "ok"],
];

async function makeFixture(hasStableIds: boolean): Promise<Fixture> {
  const uri = await makeTempDir();
  const connection = await connect(uri);
  const storageOptions = { new_table_enable_stable_row_ids: String(hasStableIds) };
  const table = await connection.createTable("t", rows(0, 20), { storageOptions });
  await table.add(rows(20, 20));
  await table.add(rows(40, 20));
  await table.createIndex("id");
  await table.createIndex("name");
  const root = join(uri, "t.lance");
  const indexed = await latestFile(root);
  await table.dropIndex("id_idx");
  await table.dropIndex("name_idx");
  connection.close();
  const indices = new Map(indicesOf(indexed).map((index) => [index.name, index]));
  const base = await latestFile(root);
  expect(hasStableRowIds(base.manifest)).toBe(hasStableIds);
  return { uri, root, base, indices };
}

const commitOurs = (fixture: Fixture, change: Change) =>
  commitPlannedOn(openEnvironment(), fixture.root, change.ours(fixture));

async function withHandle<T>(fixture: Fixture, work: (table: Table) => Promise<T>): Promise<T> {
  const connection = await connect(fixture.uri);
  try {
    return await work(await connection.openTable("t"));
  } finally {
    connection.close();
  }
}

interface Row {
  readonly id: unknown;
  readonly name: unknown;
  readonly _rowid: unknown;
}

async function expectAgreement({ uri }: Fixture): Promise<void> {
  const namespace = new DirectoryNamespace({ root: uri });
  const ours = await (await namespace.queryTable({ id: ["t"], withRowId: true })).toArrow();
  await namespace.close();
  const connection = await connect(uri);
  const table = await connection.openTable("t");
  const theirs = await table.query().withRowId().toArray();
  connection.close();
  expect(ours.numRows).toBe(theirs.length);
  expect(ours.schema.names).toEqual(
    theirs.length === 0 ? ours.schema.names : Object.keys(theirs[0].toJSON()),
  );
  const shown = (list: readonly Row[]): string[] =>
    list.map(({ id, name, _rowid }) => `${id} ${name} ${_rowid}`).sort();
  expect(shown(ours.toArray())).toEqual(shown(theirs));
}

async function expectVerdict(fixture: Fixture, mine: Change, verdict: ConflictVerdict): Promise<void> {
  const before = (await latestFile(fixture.root)).manifest.version;
  const attempt = commitOurs(fixture, mine);
  if (verdict === "ok") {
    expect((await attempt).version).toBe(before + 1);
  } else {
    const error = await errorOf(attempt);
    expect(error).toBeInstanceOf(TransactionConflictError);
    expect((error as TransactionConflictError).verdict).toBe(verdict);
    expect((await latestFile(fixture.root)).manifest.version).toBe(before);
  }
  await expectAgreement(fixture);
}

const TABLES = [
  { title: "", hasStableIds: false, cells: CELLS },
  { title: ", rows with stable ids", hasStableIds: true, cells: someOf(CELLS, 3) },
] as const;

describe.each(TABLES)("a change$title", ({ hasStableIds, cells }) => {
  describe.each(cells)("%s over %s: %s", (mineName, otherName, verdict) => {
    cell(CHANGES[mineName], CHANGES[otherName], verdict, () => makeFixture(hasStableIds));
  });
});

function cell(mine: Change, rival: Change, verdict: ConflictVerdict, make: () => Promise<Fixture>): void {
  it("ours over ours", async () => {
    const fixture = await make();
    await commitOurs(fixture, rival);
    await expectVerdict(fixture, mine, verdict);
  });

  it.skipIf(rival.reference === null)("ours over the reference's", async () => {
    const fixture = await make();
    await withHandle(fixture, async (table) => rival.reference?.(table));
    await expectVerdict(fixture, mine, verdict);
  });

  it.skipIf(mine.reference === null)("the reference's over ours", async () => {
    const fixture = await make();
    const outcome = await withHandle(fixture, async (table) => {
      await commitOurs(fixture, rival);
      return mine.reference?.(table).then(
        () => "committed",
        (error: Error) => error.message,
      );
    });
    if (verdict === "ok" || (verdict === "retryable" && mine.isRepeated)) expect(outcome).toBe("committed");
    else expect(outcome).toMatch(verdict === "retryable" ? /[Rr]etryable|preempted/ : /incompatible/);
    await expectAgreement(fixture);
  });
}
