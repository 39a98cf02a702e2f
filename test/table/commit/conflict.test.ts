import { describe, expect, it } from "vitest";
import { Field } from "../../../src/format/file.js";
import {
  Append,
  Clone,
  CreateIndex,
  DataFile,
  DataFragment,
  DataReplacement,
  Delete,
  IndexMetadata,
  Merge,
  Overwrite,
  Project,
  ReserveFragments,
  Restore,
  Rewrite,
  Transaction,
  Update,
  UpdateBases,
  UpdateConfig,
  UpdateMap,
  UpdateMemWalState,
} from "../../../src/format/table.js";
import { checkConflict as verdictOn } from "../../../src/table/commit/conflict.js";
import { newTransaction, type OperationKind } from "../../../src/table/commit/transaction.js";

const fragment = (id: number, fields: number[] = [0]) =>
  DataFragment.create({ id, files: [DataFile.create({ fields })] });
const field = (id: number, nullable: boolean, parentId = -1) =>
  Field.create({ id, nullable, parentId, logicalType: "int32" });

const checkConflict = (mine: Transaction, committed: Transaction, ...schema: Field[]) =>
  verdictOn(mine, committed, () => schema);

/** Bitmap of the single fragment 1, or of fragment 2. */
const roaring = (id: number) => Uint8Array.of(0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, id, 0);
const index = (name: string, covered: number, fieldId = 0) =>
  IndexMetadata.create({ name, fields: [fieldId], fragmentBitmap: roaring(covered) });

const of = <Kind extends OperationKind>(kind: Kind, value: NonNullable<Transaction[Kind]>): Transaction =>
  newTransaction(1, kind, value);
const updates = (...keys: string[]) =>
  UpdateMap.create({ updateEntries: keys.map((key) => ({ key, value: "x" })) });
const configOf = (...keys: string[]) =>
  of("updateConfig", UpdateConfig.create({ configUpdates: updates(...keys) }));
const rewriteOf = (id: number) =>
  of(
    "rewrite",
    Rewrite.create({ groups: [{ oldFragments: [fragment(id)], newFragments: [fragment(id + 100)] }] }),
  );
const replacementOf = (fragmentId: number, fieldId: number) =>
  of(
    "dataReplacement",
    DataReplacement.create({
      replacements: [{ fragmentId, newFile: DataFile.create({ fields: [fieldId] }) }],
    }),
  );

/** One operation of each kind, all touching fragment 1, field 0, index `a` and the key `k`. */
const touching1 = {
  append: of("append", Append.create({ fragments: [fragment(0)] })),
  delete: of("delete", Delete.create({ updatedFragments: [fragment(1)] })),
  update: of("update", Update.create({ updatedFragments: [fragment(1)], newFragments: [fragment(0)] })),
  overwrite: of("overwrite", Overwrite.create({ configUpsertValues: new Map([["k", "v"]]) })),
  createIndex: of("createIndex", CreateIndex.create({ newIndices: [index("a", 1)] })),
  rewrite: rewriteOf(1),
  merge: of("merge", Merge.create({ fragments: [fragment(1)], schema: [field(0, true)] })),
  project: of("project", Project.create({ schema: [field(0, true)], preservesNullability: true })),
  restore: of("restore", Restore.create({ version: 1 })),
  reserveFragments: of("reserveFragments", ReserveFragments.create({ numFragments: 2 })),
  updateConfig: configOf("k"),
  dataReplacement: replacementOf(1, 0),
};

/** Operations of the same kinds that touch something else, if possible. */
const touching2 = {
  ...touching1,
  delete: of("delete", Delete.create({ deletedFragmentIds: [2] })),
  update: of("update", Update.create({ removedFragmentIds: [2], newFragments: [fragment(0)] })),
  overwrite: of("overwrite", Overwrite.create()),
  createIndex: of("createIndex", CreateIndex.create({ newIndices: [index("b", 2, 7)] })),
  rewrite: rewriteOf(2),
  updateConfig: configOf("other"),
  dataReplacement: replacementOf(2, 7),
};

type Row = Record<keyof typeof touching1, string>;
const COLUMNS: (keyof typeof touching1)[] = [
  "append",
  "delete",
  "update",
  "overwrite",
  "createIndex",
  "rewrite",
  "merge",
  "project",
  "restore",
  "reserveFragments",
  "updateConfig",
  "dataReplacement",
];
const row = (text: string): Row =>
  Object.fromEntries(
    text
      .trim()
      .split(/\s+/)
      .map((cell, column) => [COLUMNS[column], cell]),
  ) as Row;
const VERDICTS: Record<string, string> = { ok: "ok", R: "retryable", X: "incompatible" };

/** Verdicts if both touch the same. Columns: App Del Upd Over Idx Rewr Merge Proj Rest Resv Conf Repl. */
const SAME: Record<string, Row> = {
  append: row("           ok ok ok X  ok ok ok ok X  ok ok ok"),
  delete: row("           ok R  R  X  ok R  R  ok X  ok ok R"),
  update: row("           ok R  R  X  ok R  R  ok X  ok ok R"),
  overwrite: row("        ok ok ok R  ok ok ok ok ok ok X  ok"),
  createIndex: row("      ok ok ok X  R  R  ok ok X  ok ok R"),
  rewrite: row("          ok R  R  X  R  R  R  ok X  ok ok R"),
  merge: row("            R  R  R  X  ok R  R  X  X  ok ok R"),
  project: row("          ok ok ok X  ok ok R  R  X  ok ok ok"),
  restore: row("          ok ok ok ok ok ok ok ok ok ok ok ok"),
  reserveFragments: row(" ok ok ok X  ok ok ok ok X  ok ok ok"),
  updateConfig: row("     ok ok ok X  ok ok R  ok ok ok X  ok"),
  dataReplacement: row("  ok ok ok X  R  R  ok ok X  ok ok R"),
};

/** Verdicts if they touch different things. */
const DIFFERENT: Record<string, Row> = {
  append: row("           ok ok ok X  ok ok ok ok X  ok ok ok"),
  delete: row("           ok ok ok X  ok ok R  ok X  ok ok ok"),
  update: row("           ok ok ok X  ok ok R  ok X  ok ok ok"),
  overwrite: row("        ok ok ok R  ok ok ok ok ok ok ok ok"),
  createIndex: row("      ok ok ok X  ok ok ok ok X  ok ok ok"),
  rewrite: row("          ok ok ok X  ok ok R  ok X  ok ok ok"),
  merge: row("            R  R  R  X  ok R  R  X  X  ok ok R"),
  project: row("          ok ok ok X  ok ok R  R  X  ok ok ok"),
  restore: row("          ok ok ok ok ok ok ok ok ok ok ok ok"),
  reserveFragments: row(" ok ok ok X  ok ok ok ok X  ok ok ok"),
  updateConfig: row("     ok ok ok ok ok ok R  ok ok ok ok ok"),
  dataReplacement: row("  ok ok ok X  ok ok ok ok X  ok ok ok"),
};

const cells = (table: Record<string, Row>) =>
  Object.entries(table).flatMap(([mine, columns]) =>
    Object.entries(columns).map(([committed, cell]) => [mine, committed, VERDICTS[cell]] as const),
  );

describe("transactions that touch the same objects", () => {
  it.each(cells(SAME))("%s over %s: %s", (mine, committed, verdict) => {
    const kinds = touching1 as Record<string, Transaction>;
    expect(checkConflict(kinds[mine], kinds[committed])).toBe(verdict);
  });
});

describe("transactions that touch different objects", () => {
  it.each(cells(DIFFERENT))("%s over %s: %s", (mine, committed, verdict) => {
    const a = (touching1 as Record<string, Transaction>)[mine];
    expect(checkConflict(a, (touching2 as Record<string, Transaction>)[committed])).toBe(verdict);
  });
});

describe("an index on a list whose files name only the items", () => {
  const schema = [field(0, true), field(1, true, 0), field(2, true), field(3, true, 2)];
  const create = of("createIndex", CreateIndex.create({ newIndices: [index("a", 1)] }));

  it.each([
    ["the items", 1, "retryable"],
    ["the items of another list", 3, "ok"],
  ])("conflicts with other values of %s", (_, id, verdict) => {
    const replacing = replacementOf(1, id);
    const inPlace = of("update", Update.create({ updatedFragments: [fragment(1)], fieldsModified: [id] }));
    expect(checkConflict(create, replacing, ...schema)).toBe(verdict);
    expect(checkConflict(replacing, create, ...schema)).toBe(verdict);
    expect(checkConflict(create, inPlace, ...schema)).toBe(verdict);
  });

  it("conflicts with other values of a part", () => {
    const onItems = of("createIndex", CreateIndex.create({ newIndices: [index("a", 1, 1)] }));
    expect(checkConflict(onItems, replacementOf(1, 0), ...schema)).toBe("retryable");
    expect(checkConflict(onItems, replacementOf(1, 2), ...schema)).toBe("ok");
  });
});

describe("an append", () => {
  const append = touching1.append;
  const merge = (...schema: Field[]) => of("merge", Merge.create({ schema }));

  it("must be planned again if a NOT NULL column was added that it lacks", () => {
    expect(checkConflict(append, merge(field(0, false), field(1, true)))).toBe("ok");
    expect(checkConflict(append, merge(field(0, false), field(1, false)))).toBe("retryable");
  });

  it("may lack a NOT NULL leaf below a nullable struct", () => {
    expect(checkConflict(append, merge(field(0, true), field(1, true), field(2, false, 1)))).toBe("ok");
    expect(checkConflict(append, merge(field(0, true), field(1, false), field(2, false, 1)))).toBe(
      "retryable",
    );
  });

  it("must be planned again if nullability was tightened", () => {
    expect(checkConflict(append, of("project", Project.create({ schema: [field(0, false)] })))).toBe(
      "retryable",
    );
  });
});

describe("an update", () => {
  it("must be planned again if nullability was tightened and it wrote rows", () => {
    const tightened = of("project", Project.create({ schema: [field(0, false)] }));
    expect(checkConflict(touching1.update, tightened)).toBe("retryable");
    expect(checkConflict(of("update", Update.create({ removedFragmentIds: [1] })), tightened)).toBe("ok");
    expect(checkConflict(touching1.delete, tightened)).toBe("ok");
  });
});

describe("config updates", () => {
  const metadata = (init: Parameters<typeof UpdateConfig.create>[0]) =>
    of("updateConfig", UpdateConfig.create(init));

  it("conflict if one replaces the whole map", () => {
    const replacing = metadata({ configUpdates: UpdateMap.create({ replace: true }) });
    expect(checkConflict(replacing, configOf("k"))).toBe("incompatible");
    expect(checkConflict(replacing, metadata({ tableMetadataUpdates: updates("k") }))).toBe("ok");
  });

  it("conflict on schema metadata whatever the keys, on table metadata by key", () => {
    const schema = (key: string) => metadata({ schemaMetadataUpdates: updates(key) });
    const table = (key: string) => metadata({ tableMetadataUpdates: updates(key) });
    expect(checkConflict(schema("a"), schema("b"))).toBe("incompatible");
    expect(checkConflict(table("a"), table("b"))).toBe("ok");
    expect(checkConflict(table("a"), table("a"))).toBe("incompatible");
  });

  it("conflict on the same field whatever the keys", () => {
    const on = (fieldId: number, key: string) =>
      metadata({ fieldMetadataUpdates: [{ fieldId, update: updates(key) }] });
    expect(checkConflict(on(1, "a"), on(1, "b"))).toBe("incompatible");
    expect(checkConflict(on(1, "a"), on(2, "a"))).toBe("ok");
  });

  it("of metadata are lost over an overwrite", () => {
    const overwrite = touching2.overwrite;
    expect(checkConflict(metadata({ schemaMetadataUpdates: updates("a") }), overwrite)).toBe("incompatible");
    expect(checkConflict(metadata({ configUpdates: updates("a") }), overwrite)).toBe("ok");
  });

  it("in unknown forms conflict with each other", () => {
    const old = of("updateConfig", { ...UpdateConfig.create(), unknown: Uint8Array.of(0x0a, 0) });
    expect(checkConflict(configOf("k"), old)).toBe("incompatible");
    expect(checkConflict(touching1.overwrite, old)).toBe("incompatible");
  });
});

describe("indexes", () => {
  it("without a bitmap may cover any fragment", () => {
    const blind = of(
      "createIndex",
      CreateIndex.create({ newIndices: [IndexMetadata.create({ name: "c" })] }),
    );
    expect(checkConflict(blind, touching1.rewrite)).toBe("retryable");
  });

  it("conflict by the name of a dropped one", () => {
    const drop = of("createIndex", CreateIndex.create({ removedIndices: [index("a", 1)] }));
    expect(checkConflict(drop, touching1.createIndex)).toBe("retryable");
    expect(checkConflict(drop, touching2.createIndex)).toBe("ok");
  });
});

describe("other operations", () => {
  const clone = of("clone", Clone.create());
  const bases = of("updateBases", UpdateBases.create());
  const wal = of("updateMemWalState", UpdateMemWalState.create());
  const unknown = Transaction.create({ uuid: "u" });
  const all = Object.entries(touching1);

  it.each(all)("%s: clones and base paths conflict with nothing", (_kind, transaction) => {
    for (const neutral of [clone, bases]) {
      expect(checkConflict(transaction, neutral)).toBe("ok");
      expect(checkConflict(neutral, transaction)).toBe("ok");
    }
  });

  it.each(all)("%s: an unknown operation conflicts with everything but a restore", (kind, transaction) => {
    expect(checkConflict(transaction, unknown)).toBe(kind === "restore" ? "ok" : "incompatible");
    expect(checkConflict(unknown, transaction)).toBe("incompatible");
  });

  it("on rows and schema conflict with a change of the write-ahead log", () => {
    for (const kind of ["append", "delete", "update", "overwrite", "merge", "project"] as const) {
      expect(checkConflict(touching1[kind], wal)).toBe("incompatible");
      expect(checkConflict(wal, touching1[kind])).toBe("incompatible");
    }
    expect(checkConflict(touching1.createIndex, wal)).toBe("ok");
    expect(checkConflict(touching1.restore, wal)).toBe("ok");
    expect(checkConflict(wal, wal)).toBe("retryable");
  });
});
