/** Arrays in columns of texts become texts, as in LanceDB: a client writes lists where its first rows had text. */

import { Field, Schema, Utf8 } from "apache-arrow";
import { connect } from "tiltyard/lancedb";
import { expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";

it("arrays become the texts that LanceDB makes of them", async () => {
  const db = await connect(await makeTempDir());
  const table = await db.createEmptyTable("t", new Schema([new Field("c", new Utf8(), true)]));
  await table.add([{ c: [] }, { c: ["a", "b"] }, { c: 5 }]);
  expect((await table.query().toArray()).map(({ c }) => c)).toEqual(["", "a,b", "5"]);
});
