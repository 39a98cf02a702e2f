/** Errors offer only kinds of indexes that this release builds. */

import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { messageOf } from "../../../src/errors.js";
import { kindOfName } from "../../../src/indexes/kinds/kinds.js";
import { vectorKindOfName } from "../../../src/indexes/vector/ivf/vectorKinds.js";
import { makeTempDir } from "../../support/tempDir.js";

it("errors about index types offer built kinds only, and name kinds that are not built", async () => {
  await using namespace = new DirectoryNamespace({ root: await makeTempDir(), durability: "none" });
  const rows = [{ id: 1, text: "a", vector: new Float32Array(8) }];
  const table = namespace.table("t");
  await namespace.createTable({ id: ["t"] }, rows);
  const refusals = [
    () => table.createIndex("id", { indexType: "NONSENSE" as never }),
    () => namespace.createTableScalarIndex({ id: ["t"], column: "id", indexType: "NONSENSE" as never }),
    () => table.createIndex("id", { indexType: "FTS" }),
    () => table.createIndex("text", { indexType: "LABEL_LIST" }),
    () => table.createIndex("text", { indexType: "IVF_PQ" }),
    () => table.createIndex("vector", { indexType: "BTREE" }),
  ];
  for (const refusal of refusals) {
    const message = messageOf(await refusal().catch((error: unknown) => error));
    const [, listed = ""] = /(?:must be one of|it can have) (.*?)(?:, not|$)/.exec(message) ?? [];
    const names = listed.split(", ");
    expect(names.length, message).toBeGreaterThan(1);
    for (const name of names) expect(kindOfName(name) ?? vectorKindOfName(name), name).not.toBeNull();
  }
});
