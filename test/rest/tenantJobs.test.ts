/** Jobs and transactions of tenants over HTTP, with the rule that docs/security.md recommends. */

import { DirectoryNamespace } from "tiltyard";
import { createRestHandler } from "tiltyard/rest";
import { expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";

const MISSING = "00000000-0000-4000-8000-000000000000";

it("a tenant sees its own jobs and transactions, and for others the error of an unknown id", async () => {
  const asked: string[] = [];
  const root = await makeTempDir();
  const namespace = new DirectoryNamespace({
    root,
    durability: "none",
    authorize({ operation, id, principal }) {
      asked.push(`${operation} ${id.join("$")}`);
      if (id[0] !== principal?.subject) throw new Error("denied");
    },
  });
  const handler = createRestHandler(namespace, {
    auth: { apiKeys: async (key) => ({ subject: key, method: "apiKey" }) },
    allowedHosts: ["*"],
  });
  const post = async (tenant: string, path: string, body: object = {}) => {
    const answer = await handler(
      new Request(`http://localhost/v1/${path}`, {
        method: "POST",
        headers: { "x-api-key": tenant, "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    );
    return {
      status: answer.status,
      body: (await answer.json().catch(() => null)) as Record<string, unknown>,
    };
  };
  const principalOf = (subject: string) => ({ principal: { subject, method: "apiKey" } });
  for (const tenant of ["ada", "bob"]) {
    await namespace.createNamespace({ id: [tenant], ...principalOf(tenant) });
    await namespace.createTable({ id: [tenant, "t"], ...principalOf(tenant) }, [{ id: 1 }]);
  }
  const built = await post("ada", "table/ada$t/create_index", { column: "id", index_type: "BTREE" });
  const jobId = String(built.body.job_id);
  await post("ada", `job/${jobId}/wait`);
  const { transactionId } = await namespace.insertIntoTable({ id: ["ada", "t"], ...principalOf("ada") }, [
    { id: 2 },
  ]);
  asked.splice(0);
  for (const call of ["wait", "describe", "cancel"]) {
    const answer = await post("ada", `job/${jobId}/${call}`);
    expect(answer, call).toMatchObject({ status: 200, body: { job_id: jobId, table: ["ada", "t"] } });
    const [ofOther, ofNobody] = [
      await post("bob", `job/${jobId}/${call}`),
      await post("bob", `job/${MISSING}/${call}`),
    ];
    expect([ofOther.status, ofNobody.status], call).toEqual([404, 404]);
    expect(ofOther.body.detail).toBe(String(ofNobody.body.detail).replace(MISSING, jobId));
  }
  expect(new Set(asked)).toEqual(
    new Set(["tableExists ada$t", "waitForJob ada$t", "describeJob ada$t", "cancelJob ada$t"]),
  );
  for (const id of [jobId, transactionId as string]) {
    expect((await post("ada", `transaction/${id}/describe`)).status).toBe(200);
    expect((await post("ada", `transaction/ada$t$${id}/describe`)).status).toBe(200);
    const actions = { actions: [{ setStatusAction: { status: "Canceled" } }] };
    for (const [call, body] of [
      ["describe", {}],
      ["alter", actions],
    ] as const) {
      const [ofOther, ofNobody] = [
        await post("bob", `transaction/${id}/${call}`, body),
        await post("bob", `transaction/${MISSING}/${call}`, body),
      ];
      expect([ofOther.status, ofNobody.status], call).toEqual([404, 404]);
      expect(ofOther.body.detail).toBe(String(ofNobody.body.detail).replace(MISSING, id));
      const named = [`ada$t$${id}`, `ada$t$${MISSING}`, `ada$none$${id}`];
      const statuses = await Promise.all(
        named.map((path) => post("bob", `transaction/${path}/${call}`, body)),
      );
      expect(
        statuses.map(({ status }) => status),
        call,
      ).toEqual([403, 403, 403]);
    }
  }
  const listed = async (tenant: string, body: object = {}) =>
    (await post(tenant, "job/list", body)).body.jobs;
  expect(await listed("ada")).toMatchObject([{ job_id: jobId }]);
  const zones = await post("ada", "table/ada$t/create_index", { column: "id", index_type: "ZONEMAP" });
  await post("ada", `job/${zones.body.job_id}/wait`);
  expect(await listed("ada")).toHaveLength(2);
  asked.splice(0);
  expect(await listed("bob")).toEqual([]);
  expect(asked).toEqual(["tableExists ada$t"]);
  expect((await post("bob", "job/list", { id: ["ada", "t"] })).status).toBe(403);
  await namespace.close({ jobs: "wait" });
});
