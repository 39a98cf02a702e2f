/** What `authorize` was asked about is what is done. */

import { makeVector, Table } from "apache-arrow";
import { type AuthorizeCall, DirectoryNamespace, PermissionDeniedError } from "tiltyard";
import { afterEach, beforeEach, expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";

const rows = new Table({ v: makeVector(Int32Array.of(42)) });
let root: string;
let owner: DirectoryNamespace;

beforeEach(async () => {
  root = await makeTempDir();
  owner = new DirectoryNamespace({ root, durability: "none" });
  await owner.createTable({ id: ["secret"] }, rows);
});
afterEach(() => owner.close());

const denySecret = async ({ id }: AuthorizeCall): Promise<void> => {
  await new Promise((resolve) => setTimeout(resolve, 1));
  if (id[0] === "secret") throw new Error("not for you");
};

it("an id that changes after the call was made is not looked at again", async () => {
  const guarded = new DirectoryNamespace({ root, authorize: denySecret });
  const id = ["open"];
  const call = guarded.countTableRows({ id });
  id[0] = "secret";
  await expect(call).rejects.toMatchObject({ type: "TableNotFound" });
  let reads = 0;
  const request = {
    get id() {
      return [reads++ === 0 ? "open" : "secret"];
    },
  };
  await expect(guarded.countTableRows(request)).rejects.toMatchObject({ type: "TableNotFound" });
  await expect(guarded.countTableRows({ id: ["secret"] })).rejects.toBeInstanceOf(PermissionDeniedError);
  await guarded.close();
});

it("who authorises cannot send the call elsewhere", async () => {
  const calls: AuthorizeCall[] = [];
  const guarded = new DirectoryNamespace({
    root,
    authorize(call) {
      calls.push(call);
      (call.id as string[])[0] = "secret";
    },
  });
  await expect(guarded.dropTable({ id: ["open"], identity: { apiKey: "k" } })).rejects.toMatchObject({
    type: "PermissionDenied",
  });
  expect(calls).toEqual([{ operation: "dropTable", id: ["open"], identity: { apiKey: "k" } }]);
  await owner.tableExists({ id: ["secret"] });
  await guarded.close();
});

it("members of a request may be inherited", async () => {
  class Request {
    readonly id = ["secret"];
    get mode(): string {
      return "overwrite";
    }
  }
  await owner.insertIntoTable(new Request(), rows);
  expect(await owner.countTableRows(new Request())).toBe(1);
});
