/** Faults of the network, and servers that answer wrongly on purpose. */

import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Table, tableFromArrays, tableToIPC, vectorFromArray } from "apache-arrow";
import { connectRest, NamespaceError, type RestNamespace, type RestOptions } from "tiltyard/client";
import { describe, expect, it, onTestFinished } from "../support/fixtures.js";

const SECRET = "s3cr3t-key-1234567890";

/** Starts a server with a listener, and a client of it that retries at once. */
async function against(
  listener: RequestListener,
  options: Partial<RestOptions> = {},
): Promise<RestNamespace> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return connectRest({
    uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    headers: { "x-api-key": SECRET, authorization: `Bearer ${SECRET}` },
    retry: { retries: 2, delayMs: 1 },
    ...options,
  });
}

const json = (response: ServerResponse, value: unknown, status = 200, headers = {}): void =>
  void response
    .writeHead(status, { "content-type": "application/json", ...headers })
    .end(JSON.stringify(value));
const problem = (response: ServerResponse, status: number, code: number, headers = {}): void =>
  json(response, { status, code, detail: "no" }, status, headers);

/** Returns the error of a call, which is typed, names its operation and has no secret. */
async function errorOf(call: Promise<unknown>): Promise<NamespaceError> {
  const error = await call.then(
    (answer) => expect.fail(`succeeded with ${JSON.stringify(answer)}`),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(NamespaceError);
  const typed = error as NamespaceError;
  expect(typed.operation).toBeDefined();
  for (let each: unknown = typed; each instanceof Error; each = each.cause) {
    expect(`${each.message} ${JSON.stringify(each)} ${each.stack}`).not.toContain(SECRET);
  }
  return typed;
}

const ipc = (rows = 3): Uint8Array =>
  tableToIPC(tableFromArrays({ id: Float64Array.from({ length: rows }, (_, row) => row) }), "stream");

describe("retries", () => {
  it("a read is repeated after 503 and obeys Retry-After", async () => {
    let requests = 0;
    const ns = await against((_, response) =>
      ++requests < 3 ? problem(response, 503, 17, { "retry-after": "0" }) : json(response, { tables: ["t"] }),
    );
    expect(await ns.listTables({})).toEqual({ tables: ["t"] });
    expect(requests).toBe(3);
  });

  it.each([502, 503, 504, 500])("a change is sent once if the server answers %d", async (status) => {
    let requests = 0;
    const ns = await against((_, response) => {
      requests++;
      response.writeHead(status).end("<html>proxy</html>");
    });
    const { type } = await errorOf(ns.dropTable({ id: "t" }));
    expect(type).toBe(status === 500 ? "Internal" : "ServiceUnavailable");
    expect(requests).toBe(1);
  });

  it("rows are sent again after 429, because the server did nothing", async () => {
    const bodies: number[] = [];
    const ns = await against(async (request, response) => {
      let bytes = 0;
      for await (const piece of request) bytes += piece.length;
      bodies.push(bytes);
      if (bodies.length === 1) problem(response, 429, 21);
      else json(response, { transaction_id: "x", version: 2, num_inserted_rows: 3 });
    });
    expect(await ns.insertIntoTable({ id: "t" }, ipc())).toMatchObject({ version: 2 });
    expect(bodies).toHaveLength(2);
    expect(bodies[1]).toBe(bodies[0]);
  });

  it("the wait that the server asks for is refused beyond the longest one", async () => {
    let requests = 0;
    const ns = await against((_, response) => {
      requests++;
      problem(response, 429, 21, { "retry-after": "3600" });
    });
    expect((await errorOf(ns.listTables({}))).type).toBe("Throttling");
    expect(requests).toBe(1);
  });

  it("a JSON answer that breaks off is asked for again", async () => {
    let requests = 0;
    const ns = await against((_, response) => {
      if (++requests > 1) return json(response, { tables: [] });
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write('{"tables": [');
      setTimeout(() => response.destroy(), 10);
    });
    expect(await ns.listTables({})).toEqual({ tables: [] });
  });

  it("a server that cannot be reached is reported after the retries", async () => {
    const ns = connectRest({ uri: "http://127.0.0.1:1", retry: { retries: 1, delayMs: 1 } });
    const error = await errorOf(ns.listTables({}));
    expect(error).toMatchObject({ type: "ServiceUnavailable", operation: "listTables" });
    expect(error.message).toMatch(/^the request failed: /);
  });
});

describe("time", () => {
  it("a server that does not answer is given up after the timeout, and asked once", async () => {
    let requests = 0;
    const ns = await against(() => void requests++, { timeoutMs: 50 });
    const error = await errorOf(ns.listTables({}));
    expect(error.message).toBe("the server did not begin its answer within 50 ms");
    expect(requests).toBe(1);
  });

  it("an answer that stops in the middle is given up", async () => {
    const ns = await against(
      (_, response) => void response.writeHead(200, { "content-type": "application/json" }).write("{"),
      { idleTimeoutMs: 50 },
    );
    expect((await errorOf(ns.listTables({}))).message).toMatch(
      /sent nothing more of its answer within 50 ms/,
    );
  });

  it("a signal ends a request, a retry and the reading of rows", async () => {
    const hanging = await against(() => {});
    const reason = new Error("enough");
    const controller = new AbortController();
    const call = errorOf(hanging.listTables({ signal: controller.signal }));
    controller.abort(reason);
    expect(await call).toMatchObject({ name: "AbortError", cause: reason });

    const busy = await against((_, response) => problem(response, 503, 17), {
      retry: { retries: 9, delayMs: 60_000, maxDelayMs: 60_000 },
    });
    expect((await errorOf(busy.listTables({ signal: AbortSignal.timeout(50) }))).name).toBe("AbortError");

    const slow = await against((_, response) => {
      response.writeHead(200);
      response.write(ipc().subarray(0, 400));
    });
    const reading = new AbortController();
    const result = slow.queryTable({ id: "t", signal: reading.signal });
    setTimeout(() => reading.abort(), 50);
    expect((await errorOf(result.then((rows) => rows.toArray()))).name).toBe("AbortError");
  });
});

describe("headers", () => {
  it("a signal ends the wait for a function that returns no headers", async () => {
    const ns = await against(() => {}, { headers: () => new Promise<never>(() => {}) });
    expect((await errorOf(ns.listTables({ signal: AbortSignal.timeout(50) }))).name).toBe("AbortError");
  });
});

describe("watches", () => {
  it("a page in place of events is an error", async () => {
    const ns = await against((request, response) => {
      if (!request.url?.includes("/watch")) return json(response, { versions: [] });
      response.writeHead(200, { "content-type": "text/html" }).end("<html>login</html>");
    });
    expect((await errorOf(ns.watchTable({ id: "t" }))).message).toMatch(/it is not a stream of events/);
  });

  it("a watch that nobody iterates gives its connection back", { timeout: 15_000 }, async () => {
    let release = (): void => {};
    const closed = new Promise<void>((resolve) => {
      release = resolve;
    });
    let connections = 0;
    const ns = await against((request, response) => {
      if (!request.url?.includes("/watch")) return json(response, { versions: [] });
      response.writeHead(200, { "content-type": "text/event-stream" }).write(":\n\n");
      if (++connections === 1) return void response.once("close", release);
      response.write(`event: error\ndata: {"code": 4, "detail": "gone"}\n\n`);
    });
    const versions = await ns.watchTable({ id: "t" });
    await closed;
    expect((await errorOf(versions[Symbol.asyncIterator]().next())).message).toBe("gone");
    expect(connections).toBe(2);
  });
});

describe("jobs", () => {
  it("a server that answers a wait too early is asked again after a pause", async () => {
    let requests = 0;
    const running = { job_id: "j", kind: "index", table: ["t"], state: "Running", done: 0, unit: "rows" };
    const ns = await against((_, response) => {
      requests++;
      json(response, { ...running, created_at: "2026-01-02T03:04:05.678Z" });
    });
    const beganMs = performance.now();
    await ns.waitForJob({ jobId: "j", timeoutMs: 400 });
    expect(performance.now() - beganMs).toBeGreaterThan(390);
    expect(requests).toBeLessThan(10);
  });
});

describe("rows that arrive", () => {
  it("rows by offsets are given up at the first one too many", async () => {
    let sent = 0;
    const bytes = ipc(3);
    const headLength =
      tableToIPC(new Table(tableFromArrays({ id: new Float64Array(3) }).schema), "stream").length - 8;
    const batch = bytes.subarray(headLength, bytes.length - 8);
    const ns = await against((_, response) => {
      response.writeHead(200);
      response.write(bytes.subarray(0, headLength));
      const more = () => {
        if (sent++ > 200) return void response.end(bytes.subarray(bytes.length - 8));
        response.write(batch, () => setImmediate(more));
      };
      more();
    });
    const error = await errorOf(ns.takeRows({ id: "t", rowOffsets: [0, 1] }));
    expect(error.message).toBe("the server's answer is malformed: it has more than 2 rows");
    expect(sent).toBeLessThan(200);
  });

  it("a column that is named after the credentials does not get them into messages", async () => {
    const table = new Table({ [SECRET]: vectorFromArray(["ash", "elm"]) });
    const bytes = tableToIPC(table, "stream");
    const ns = await against((_, response) => void response.end(bytes));
    // Offsets of texts that lead beyond the values.
    const offsets = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(
      Uint8Array.of(0, 0, 0, 0, 3, 0, 0, 0, 6, 0, 0, 0),
    );
    bytes[offsets + 8] = 99;
    const result = await ns.queryTable({ id: "t" });
    expect((await errorOf(result.toArray())).message).toMatch(/^the server's answer is malformed: .*…/);
  });

  it("a stream that breaks off is an error after the batches before it", async () => {
    const bytes = ipc(1000);
    const ns = await against((_, response) => {
      response.writeHead(200);
      response.write(bytes.subarray(0, bytes.length - 2000));
      setTimeout(() => response.destroy(), 10);
    });
    const result = await ns.queryTable({ id: "t" });
    expect((await errorOf(result.toArray())).type).toBe("ServiceUnavailable");
  });

  it("a stream that ends too early is an error, even if the server ended it", async () => {
    const bytes = ipc(1000);
    const ns = await against((_, response) => void response.end(bytes.subarray(0, bytes.length - 2000)));
    const result = await ns.queryTable({ id: "t" });
    expect((await errorOf(result.toArray())).message).toMatch(/^the server's answer is malformed: /);
  });

  it.each([
    ["no bytes", new Uint8Array(0)],
    ["JSON", new TextEncoder().encode('[{"id": 1}]')],
    ["zeros", new Uint8Array(1000)],
    ["a length of 2 GiB", Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 2, 3)],
  ])("%s in place of rows is an error", async (_, bytes) => {
    const ns = await against((__, response) => void response.end(bytes));
    expect((await errorOf(ns.queryTable({ id: "t" }))).type).toBe("Internal");
  });

  it("flipped bytes never lead to anything but rows or a typed error", { timeout: 60_000 }, async () => {
    const names = vectorFromArray(["ash", "elm", null, "oak"]);
    const bytes = tableToIPC(new Table({ names, id: vectorFromArray([1, 2, 3, 4]) }), "stream");
    let sent = bytes;
    const ns = await against((_, response) => void response.end(sent), { retry: { retries: 0 } });
    for (let offset = 0; offset < bytes.length; offset += 5) {
      sent = bytes.slice();
      sent[offset] ^= 0xff;
      try {
        await (await ns.queryTable({ id: "t" })).toArray();
      } catch (error) {
        expect(error).toBeInstanceOf(NamespaceError);
      }
    }
  });

  it("a batch beyond the limit is refused before it is in memory", async () => {
    const ns = await against((_, response) => void response.end(ipc(10_000)), { maxBatchBytes: 1000 });
    const error = await errorOf(ns.queryTable({ id: "t" }).then((result) => result.toArray()));
    expect(error.message).toMatch(/^the server's answer is malformed: .*1000/);
  });
});

describe("JSON that arrives", () => {
  it.each([
    ["an array", [1]],
    ["a number in place of a list", { tables: 7 }],
    ["numbers in place of texts", { tables: [1, 2] }],
    ["a text", "tables"],
  ])("%s is an error that names what is wrong", async (_, answer) => {
    const ns = await against((__, response) => json(response, answer));
    expect((await errorOf(ns.listTables({}))).message).toMatch(/^the server's answer is malformed: /);
  });

  it("keys of maps that repeat the credentials do not get them into messages", async () => {
    const ns = await against((_, response) => json(response, { properties: { [SECRET]: 7 } }));
    const error = await errorOf(ns.describeNamespace({ id: "n" }));
    expect(error.message).toMatch(/^the server's answer is malformed: properties\.…: /);
  });

  it("unknown members are left out, and absent and null members are absent", async () => {
    const ns = await against((_, response) =>
      json(response, { tables: ["t"], page_token: null, future: 1, __proto__: { x: 1 } }),
    );
    expect(await ns.listTables({})).toStrictEqual({ tables: ["t"] });
  });

  it("a page of a proxy is an error without its text", async () => {
    const ns = await against((_, response) => void response.end("<html>login</html>"));
    expect((await errorOf(ns.listTables({}))).message).toBe(
      "the server's answer is malformed: it is not JSON",
    );
  });

  it("an endless answer is given up at the limit", async () => {
    const ns = await against(
      (_, response) => {
        response.writeHead(200);
        const more = () => {
          while (response.write(" ".repeat(65_536)));
          response.once("drain", more);
        };
        more();
      },
      { maxJsonBytes: 2 ** 20 },
    );
    expect((await errorOf(ns.listTables({}))).message).toMatch(/more than 1048576 bytes/);
  });

  it("nesting beyond the stack is a typed error", async () => {
    const deep = `{"tables": ${"[".repeat(200_000)}${"]".repeat(200_000)}}`;
    const ns = await against((_, response) => void response.end(deep));
    expect((await errorOf(ns.listTables({}))).type).toBe("Internal");
  });
});

describe("errors of the server", () => {
  it("a code decides the class, and a status without a code", async () => {
    const statuses: [number, unknown, string][] = [
      [404, { code: 4, detail: "table t does not exist" }, "TableNotFound"],
      [404, { code: 11, error: "no version" }, "TableVersionNotFound"],
      [418, { code: 13 }, "InvalidInput"],
      [401, {}, "Unauthenticated"],
      [403, "no", "PermissionDenied"],
      [404, {}, "Unsupported"],
      [400, { code: 999 }, "InvalidInput"],
      [500, null, "Internal"],
    ];
    for (const [status, body, type] of statuses) {
      const ns = await against((_, response) => json(response, body, status));
      expect(await errorOf(ns.dropTable({ id: "t" }))).toMatchObject({ type, operation: "dropTable" });
    }
  });

  it("a server that repeats the credentials does not get them into messages", async () => {
    const ns = await against((request, response) =>
      json(response, { code: 16, detail: `bad key ${request.headers["x-api-key"]}` }, 401),
    );
    expect((await errorOf(ns.listTables({}))).message).toBe("bad key …");
  });

  it("a long text of the server is cut", async () => {
    const ns = await against((_, response) => json(response, { code: 13, detail: "x".repeat(100_000) }, 400));
    expect((await errorOf(ns.listTables({}))).message.length).toBeLessThan(2100);
  });

  it("a redirect is not followed, because the credentials would go along", async () => {
    const paths: string[] = [];
    const ns = await against((request, response) => {
      paths.push(request.url ?? "");
      response.writeHead(307, { location: "/elsewhere" }).end();
    });
    expect((await errorOf(ns.listTables({}))).message).toMatch(/redirect/);
    expect(paths).toHaveLength(1);
  });
});

describe("ids in paths", () => {
  it("names keep their characters, and steps of paths are refused", async () => {
    const paths: string[] = [];
    const ns = await against((request, response) => {
      paths.push(request.url ?? "");
      json(response, { tables: [] });
    });
    await ns.listTables({ id: ["ä b", "c+d?e#f%"] });
    expect(paths).toEqual(["/v1/namespace/%C3%A4%20b%24c%2Bd%3Fe%23f%25/table/list"]);
    for (const id of [["."], [".."], ["a$b"], [""], ["\ud800"]]) {
      expect((await errorOf(ns.listTables({ id }))).type).toBe("InvalidInput");
    }
    for (const indexName of [".", "..", ""]) {
      expect((await errorOf(ns.dropTableIndex({ id: "t", indexName }))).type).toBe("InvalidInput");
    }
    expect(paths).toHaveLength(1);
  });

  it("another delimiter joins the names, and is sent along", async () => {
    const paths: string[] = [];
    const ns = await against(
      (request, response) => {
        paths.push(request.url ?? "");
        json(response, { tables: [] });
      },
      { delimiter: "::" },
    );
    await ns.listTables({ id: ["a", "b"] });
    await ns.listTables({});
    expect(paths).toEqual([
      "/v1/namespace/a%3A%3Ab/table/list?delimiter=%3A%3A",
      "/v1/namespace/%3A%3A/table/list?delimiter=%3A%3A",
    ]);
  });
});
