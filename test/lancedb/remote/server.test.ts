/** Connections to servers: addresses, credentials, errors and jobs. */

import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { connect, connectNamespace, OAuthFlowType, OAuthHeaderProvider } from "tiltyard/lancedb";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectServer } from "../../../src/lancedb/remote/server.js";

const SECRET = "a-secret-of-the-client";

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const tables =
  (seen: (string | undefined)[], header = "authorization"): RequestListener =>
  (request, response) => {
    seen.push(request.headers[header] as string | undefined);
    response.end('{"tables": []}');
  };

describe("connecting", () => {
  it("addresses name the host as in LanceDB", async () => {
    const at = async (options: object, uri = "db://dev") => (await connect(uri, options)).display();
    expect(await at({ apiKey: "k" })).toBe("RemoteDatabase(host=https://dev.us-east-1.api.lancedb.com)");
    expect(await at({ apiKey: "k", region: "eu" })).toBe(
      "RemoteDatabase(host=https://dev.eu.api.lancedb.com)",
    );
    await expect(at({ apiKey: "k" }, "db://")).rejects.toThrow("missing host");
    await expect(at({})).rejects.toThrow("An api_key or oauth_config is required");
    await expect(at({ apiKey: "k", hostOverride: "ftp://x" })).rejects.toThrow("must begin with http://");
    await expect(at({ apiKey: "k", clientConfig: { tlsConfig: {} } })).rejects.toThrow(
      "tlsConfig is not there",
    );
  });

  it("a namespace on a server gets its headers and delimiter", async () => {
    const seen: (string | undefined)[] = [];
    const uri = await listening(tables(seen, "x-a"));
    const db = await connectNamespace("rest", { uri, headers: { "x-a": "b" } });
    expect(await db.tableNames()).toEqual([]);
    const named = { uri, "headers.x-a": "c", delimiter: ":" };
    expect(await (await connectNamespace("rest", named as never)).tableNames()).toEqual([]);
    expect(seen).toEqual(["b", "c"]);
    await expect(connectNamespace("rest", {} as never)).rejects.toThrow("Missing required property 'uri'");
  });
});

describe("paths", () => {
  it("another delimiter changes the path of no operation", async () => {
    const paths: (string | undefined)[] = [];
    const { namespace } = connectServer(
      "db://dev",
      {
        apiKey: "k",
        clientConfig: { idDelimiter: "." },
        hostOverride: await listening(({ url }, response) => {
          paths.push(url);
          response.writeHead(404).end();
        }),
      },
      undefined,
    ).connection;
    await expect(namespace.tableExists({ id: ["n", "t"] })).rejects.toThrow();
    await expect(namespace.takeTableRows({ id: ["n", "t"], offsets: [1] })).rejects.toThrow();
    expect(paths).toEqual(["/v1/table/n.t/describe/?delimiter=.", "/v1/table/n.t/query/?delimiter=."]);
  });
});

describe("tokens", () => {
  it("client credentials fetch a token once, and again when it ends", async () => {
    const seen: (string | undefined)[] = [];
    const requests: string[] = [];
    const host = await listening(tables(seen));
    const issuerUrl = await listening(async (request, response) => {
      if (request.url?.endsWith("openid-configuration")) {
        return response.end(JSON.stringify({ token_endpoint: `http://${request.headers.host}/token` }));
      }
      let body = "";
      for await (const piece of request) body += piece;
      requests.push(body);
      const expires_in = requests.length === 1 ? 100 : 3600;
      return response.end(JSON.stringify({ access_token: `token-${requests.length}`, expires_in }));
    });
    const oauthConfig = { issuerUrl, clientId: "c", scopes: ["a", "b"], clientSecret: SECRET };
    const db = await connect("db://dev", { hostOverride: host, oauthConfig });
    for (let call = 0; call < 3; call++) await db.tableNames();
    expect(seen).toEqual(["Bearer token-1", "Bearer token-2", "Bearer token-2"]);
    expect(Object.fromEntries(new URLSearchParams(requests[0]))).toEqual({
      ...{ grant_type: "client_credentials", client_id: "c", client_secret: SECRET, scope: "a b" },
    });
  });

  it.each([
    ["an issuer that fails", 500, "{}"],
    ["an issuer that sends a page", 200, "<html>"],
    ["an issuer without an endpoint", 200, "{}"],
  ])("%s fails the call without the secret", async (_, status, text) => {
    const issuerUrl = await listening((__, response) => void response.writeHead(status).end(text));
    const oauthConfig = { issuerUrl, clientId: "c", scopes: ["s"], clientSecret: SECRET };
    const db = await connect("db://dev", { hostOverride: "http://127.0.0.1:1", oauthConfig });
    const error: Error = await db.tableNames().catch((thrown) => thrown);
    expect(error.message).toMatch(/^Runtime error: /);
    expect(String(error.stack)).not.toContain(SECRET);
  });

  it("credentials that are not complete are refused", async () => {
    const oauthConfig = { issuerUrl: "http://x", clientId: "c", scopes: ["s"] };
    const at = (more: object) => connect("db://dev", { oauthConfig: { ...oauthConfig, ...more } });
    await expect(at({})).rejects.toThrow("client_secret is required");
    const flow = OAuthFlowType.AzureManagedIdentity;
    await expect(at({ flow, scopes: ["a", "b"] })).rejects.toThrow("exactly one scope");
    await expect(at({ flow: "other" })).rejects.toThrow("Unknown OAuth flow");
  });

  it("a token that lasts less than the buffer is fetched once for each request", async () => {
    const seen: (string | undefined)[] = [];
    const hostOverride = await listening(tables(seen));
    let fetches = 0;
    const provider = new OAuthHeaderProvider(() => ({ accessToken: `t${++fetches}`, expiresIn: 60 }));
    const db = await connect("db://dev", { apiKey: "k", hostOverride }, undefined, provider);
    for (let call = 0; call < 2; call++) await db.tableNames();
    expect(seen).toEqual(["Bearer t1", "Bearer t2"]);
    expect(fetches).toBe(2);
  });

  it("an endless answer of an issuer is given up at the limit", async () => {
    let hasEnded = false;
    const issuerUrl = await listening((_, response) => {
      response.on("close", () => {
        hasEnded = true;
      });
      const more = () => {
        while (!hasEnded && response.write(" ".repeat(65_536)));
        response.once("drain", more);
      };
      more();
    });
    const oauthConfig = { issuerUrl, clientId: "c", scopes: ["s"], clientSecret: SECRET };
    const db = await connect("db://dev", { hostOverride: "http://127.0.0.1:1", oauthConfig });
    await expect(db.tableNames()).rejects.toThrow("more than 1048576 bytes");
  });

  it("a provider of tokens is asked before the first request", async () => {
    const seen: (string | undefined)[] = [];
    const hostOverride = await listening(tables(seen));
    const provider = new OAuthHeaderProvider(async () => ({ accessToken: "t" }));
    const db = await connect("db://dev", { apiKey: "k", hostOverride }, undefined, provider);
    await db.tableNames();
    expect(seen).toEqual(["Bearer t"]);
  });

  it("the error of a provider fails the call with its text", async () => {
    const provider = () => {
      throw new Error("no token today");
    };
    const db = await connect(
      "db://dev",
      { apiKey: "k", hostOverride: "http://127.0.0.1:1" },
      undefined,
      provider,
    );
    await expect(db.tableNames()).rejects.toThrow("get_headers failed: GenericFailure, no token today");
  });
});

describe("errors", () => {
  it("a server without codes gets the sentences of LanceDB's client", async () => {
    const hostOverride = await listening((request, response) => {
      if (request.url?.includes("/none/")) return void response.writeHead(404).end("gone");
      return void response.writeHead(400).end(`{"error": "no ${request.headers["x-api-key"]}"}`);
    });
    const db = await connect("db://dev", { apiKey: SECRET, hostOverride });
    await expect(db.openTable("none")).rejects.toThrow("Table 'none' was not found");
    const error: Error = await db.tableNames().catch((thrown) => thrown);
    expect(error.message).toMatch(/^Http error: \(request_id=[0-9a-f-]{36}\) 400 Bad Request: /);
    expect(error.message).not.toContain(SECRET);
  });

  it("a status line that repeats the key does not get it into messages", async () => {
    const hostOverride = await listening((request, response) =>
      response.writeHead(400, `bad ${request.headers["x-api-key"]}`).end("no"),
    );
    const db = await connect("db://dev", { apiKey: SECRET, hostOverride });
    const error: Error = await db.tableNames().catch((thrown) => thrown);
    expect(error.message).toContain("400 bad …: no");
    expect(error.message).not.toContain(SECRET);
  });
});

describe("jobs", () => {
  it("tokens that come in a circle end the list", async () => {
    let pages = 0;
    const hostOverride = await listening((_, response) =>
      response.end(JSON.stringify({ jobs: [], page_token: `${++pages % 3}` })),
    );
    const db = await connect("db://dev", { apiKey: "k", hostOverride });
    expect(await db.listJobs()).toEqual([]);
    expect(pages).toBe(4);
  });

  it("jobs of all pages are listed, and a repeated token ends the list", async () => {
    const hostOverride = await listening((_, response) => {
      const jobs = [{ job_id: "j", table: "n$t", job_type: "x", state: "done", created_at_millis: 1 }];
      response.end(JSON.stringify({ jobs, page_token: "same" }));
    });
    const db = await connect("db://dev", { apiKey: "k", hostOverride });
    const job = { jobId: "j", table: "t", jobType: "x", state: "finished", createdAtMillis: 1 };
    expect(await db.listJobs()).toEqual([job, job]);
  });

  it("a failed job tells why", async () => {
    const failure = { phase: "execute", message: "worker died", retryable: true };
    const described = {
      job_id: "j",
      job_type: "x",
      job_state: "FAILED",
      creation_ms: 5,
      spec: { a: 1 },
      failure,
    };
    const hostOverride = await listening((request, response) =>
      request.url?.startsWith("/v1/jobs/") && !request.url.endsWith("cancel")
        ? void response.end(JSON.stringify(described))
        : void response.writeHead(404).end("no such job"),
    );
    const db = await connect("db://dev", { apiKey: "k", hostOverride });
    const job = await db.openJob("j");
    expect([job.id, job.state, job.jobType, job.creationMs, job.spec, job.failure]).toEqual([
      ...["j", "failed", "x", 5, { a: 1 }, failure],
    ]);
    await expect(job.wait()).rejects.toThrow("Job j failed: worker died (in execute)");
    expect(await db.cancelJob("j")).toBe(false);
  });
});
