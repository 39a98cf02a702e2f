/** Tables of data format versions, and with ways to store columns, that this build does not know: typed errors. */

import { Int32, Table, tableToIPC, vectorFromArray } from "apache-arrow";
import { CorruptFileError, DirectoryNamespace, UnsupportedError } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

let root: string;
let namespace: DirectoryNamespace;
const rows = new Table({ i: vectorFromArray([1, 2, null], new Int32()) });

beforeAll(async () => {
  root = await makeTempDir();
  namespace = new DirectoryNamespace({ root, durability: "none" });
});
afterAll(() => namespace.close());

async function failure(work: Promise<unknown>): Promise<UnsupportedError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(UnsupportedError);
  expect(error).not.toBeInstanceOf(CorruptFileError);
  return error as UnsupportedError;
}

describe.each([
  ["0.1", /version 0\.1: the legacy format; rewrite the table with a current LanceDB release/],
  ["2.3", /version 2\.3: newer than this release.*data storage version 2\.2/],
])("a table of version %s", (version, says) => {
  it("is refused by reads and writes, and told what it is", async () => {
    const name = `v${version.replace(".", "_")}`;
    await reference.createTable(root, name, tableToIPC(rows), { dataStorageVersion: version });
    const table = namespace.table([name]);
    expect((await failure(table.scan().toArrow())).message).toMatch(says);
    expect((await failure(table.take([0]))).message).toMatch(says);
    expect((await failure(namespace.insertIntoTable({ id: [name] }, rows))).message).toMatch(says);
    expect(await reference.countRows(root, name)).toBe(3);
  });
});
