/** Calls through a client and its server. */

import { serve } from "../support/clientNamespace.js";
import { describe, expect, it } from "../support/fixtures.js";

describe("a client", () => {
  it("creates a table, adds rows and reads them", async ({ ns }) => {
    const client = serve(ns);
    await client.createTable({ id: "t" }, [{ id: 1, name: "ash" }]);
    await client.insertIntoTable({ id: ["t"] }, [{ id: 2, name: "elm" }]);
    expect(await client.table("t").scan().toArray()).toEqual([
      { id: 1, name: "ash" },
      { id: 2, name: "elm" },
    ]);
    await client.close();
  });
});
