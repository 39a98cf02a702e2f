/** Answers and job states after failures of the disk. */

import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DirectoryNamespace } from "tiltyard";
import { createRestHandler } from "tiltyard/rest";
import { describe, expect } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { jobDirectory } from "../../src/jobs/jobFiles.js";
import { it } from "../support/fixtures.js";
import { refusingDisk } from "../support/leftBatches.js";

const disk = new NodeDisk({ durability: "none" });

/** Returns a function that posts JSON to a server over a namespace. */
function poster(ns: DirectoryNamespace) {
  const handler = createRestHandler(ns, { auth: { anonymous: true } });
  return async (path: string, body: object = {}): Promise<{ status: number; text: string }> => {
    const headers = { "content-type": "application/json" };
    const request = { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await handler(new Request(`http://localhost${path}`, request));
    return { status: answer.status, text: await answer.text() };
  };
}

describe("a job whose disk fails", () => {
  it.for([
    ["ENOSPC", "ServiceUnavailable"],
    ["EDQUOT", "ServiceUnavailable"],
    ["EMFILE", "ServiceUnavailable"],
    ["EIO", "ServiceUnavailable"],
    ["EACCES", "PermissionDenied"],
    ["ENAMETOOLONG", "InvalidTableState"],
  ])("ends with an error of its kind: %s", async ([code, type], { root }) => {
    const refusing = refusingDisk(disk, (verb, [path = ""]) =>
      verb === "create" && path.includes("_indices") ? code : undefined,
    );
    await using ns = new DirectoryNamespace({ root, disk: refusing, workers: 0 });
    await ns.createTable({ id: ["t"] }, [{ id: 1 }]);
    const { jobId } = await ns.createTableIndex({ id: ["t"], column: "id", indexType: "BTREE" });
    await expect(ns.waitForJob({ jobId })).rejects.toMatchObject({
      type,
      message: expect.stringContaining(code),
    });
    const { error } = await ns.describeJob({ jobId });
    expect(error).toMatchObject({ type });
    expect(error?.message).not.toContain(root);
    const answer = await poster(ns)("/v1/job/list");
    expect([answer.status, answer.text.includes(root)]).toEqual([200, false]);
  });
});

describe("a decided batch that the disk does not let finish", () => {
  it.for(["ENOSPC", "EIO", "EMFILE"])("says over HTTP that it is decided: %s", async (code, { root }) => {
    let isFull = false;
    const refusing = refusingDisk(disk, (verb, [, path = ""]) =>
      isFull && verb === "link" && path.includes("_versions") ? code : undefined,
    );
    await using ns = new DirectoryNamespace({ root, disk: refusing, workers: 0 });
    await ns.createNamespace({ id: ["n"] });
    const post = poster(ns);
    const declarations = ["a", "b"].map((name) => ({ declare_table: { id: ["n", name] } }));
    isFull = true;
    const { status, text } = await post("/v1/table/batch-commit", { operations: declarations });
    expect(status).toBe(503);
    expect(text).toContain("the batch is decided, and the next operation on one of its tables finishes it");
    expect(text).not.toContain(root);
    isFull = false;
    expect([...(await ns.listTables({ id: ["n"] })).tables].sort()).toEqual(["a", "b"]);
  });
});

describe("a hostile record of a job", () => {
  it("a malformed job record does not affect other jobs, and is reported alone", async ({ root }) => {
    await using ns = new DirectoryNamespace({ root, disk, workers: 0 });
    const post = poster(ns);
    const ids: string[] = [];
    for (const name of ["t", "u"]) {
      await ns.createTable({ id: [name] }, [{ id: 1 }]);
      const { jobId } = await ns.createTableIndex({ id: [name], column: "id", indexType: "BTREE" });
      await ns.waitForJob({ jobId });
      ids.push(jobId);
    }
    const deep = "[".repeat(5000) + "]".repeat(5000);
    const [first = ""] = ids;
    await writeFile(
      join(jobDirectory(root, first), "outcome.json"),
      `{"state":"Succeeded","finishedMs":1,"done":1,"result":${deep}}`,
    );
    const loop = crypto.randomUUID();
    await mkdir(jobDirectory(root, loop));
    await symlink("job.json", join(jobDirectory(root, loop), "job.json"));
    const malformed = crypto.randomUUID();
    await mkdir(jobDirectory(root, malformed));
    await writeFile(join(jobDirectory(root, malformed), "job.json"), deep);
    const { status, text } = await post("/v1/job/list");
    expect([status, text.includes(ids[1] ?? "")]).toEqual([200, true]);
    expect((await post(`/v1/job/${first}/describe`)).status).toBe(200);
    await expect(ns.describeJob({ jobId: malformed })).rejects.toMatchObject({ name: "CorruptFileError" });
    await expect(ns.describeJob({ jobId: loop })).rejects.toMatchObject({ code: expect.any(Number) });
  });
});
