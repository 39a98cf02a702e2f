/** Callers of untyped languages write null for absent members, and null must have the same meaning. */

import { makeVector, Table } from "apache-arrow";
import { expect, it } from "../support/fixtures.js";

const absent = null as unknown as undefined;

it("null equals an absent option", async ({ ns }) => {
  const id = ["t"];
  const rows = new Table({ v: makeVector(Int32Array.of(1, 2, 3)) });
  await ns.createTable({ id, mode: absent, properties: absent, signal: absent }, rows);
  const query = { id, k: absent, branch: absent, tag: absent, version: absent, columns: absent };
  expect((await (await ns.queryTable({ ...query, limit: 2 })).toArrow()).numRows).toBe(2);
  const handle = ns.table(id, { version: absent, branch: absent, tag: absent });
  expect(await handle.insert(rows)).toMatchObject({ version: 2 });
  await expect(ns.describeTable({ id, tag: "x", branch: absent })).rejects.toMatchObject({
    type: "TableTagNotFound",
  });
  expect(() => ns.table(id, { tag: "x", version: absent, branch: absent })).not.toThrow();
});
