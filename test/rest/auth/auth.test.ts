/** Admission of callers: tokens of a real authorization server, API keys, and invalid credentials. */

import { inspect } from "node:util";
import { type AuthorizeCall, DirectoryNamespace, InvalidInputError, type Principal } from "tiltyard";
import { createRestHandler, type RestHandler, type RestHandlerOptions, type RestLimits } from "tiltyard/rest";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { ROUTES } from "../../../src/rest/wire/routes.js";
import {
  AUDIENCE,
  type AuthorizationServer,
  makeKeys,
  startAuthorizationServer,
  TOKEN_SECONDS,
} from "../../support/authorizationServer.js";
import {
  NO_TOKENS,
  signAs,
  signedByPublicKey,
  takeApart,
  tamper,
  unsigned,
} from "../../support/forgedTokens.js";
import { post, startRestServer } from "../../support/restServer.js";
import { makeTempDir } from "../../support/tempDir.js";

const KEY = "the-key-of-the-first-client";
const OTHER_KEY = "the-key-of-the-second-client";
const INVALID_TOKEN =
  'Bearer realm="tiltyard", error="invalid_token", error_description="the access token is not valid"';
const MALFORMED_TOKEN = INVALID_TOKEN.replace(
  /description=".*"/,
  'description="authorization: must be Bearer and one token"',
);
const NO_ERROR = 'Bearer realm="tiltyard"';
const KEY_CHALLENGE = 'ApiKey realm="tiltyard"';

let auth: AuthorizationServer;
let namespace: DirectoryNamespace;
let bearer: { issuer: string; audience: string; jwksUri: string };
/** Calls that reached the engine. */
const calls: AuthorizeCall[] = [];
/** Everything that left the handler: answers and log entries as text. */
const told: string[] = [];
/** Credentials that the handler received. */
const credentials = new Set<string>();

beforeAll(async () => {
  auth = await startAuthorizationServer();
  bearer = { issuer: auth.issuer, audience: AUDIENCE, jwksUri: auth.jwksUri };
  namespace = new DirectoryNamespace({
    root: await makeTempDir(),
    durability: "none",
    authorize(call) {
      calls.push(call);
      if (call.context?.deny === "error") throw new Error(`no entry to ${namespace.root}`);
    },
  });
  await namespace.declareTable({ id: ["t"] });
});
beforeEach(() => {
  calls.length = 0;
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(async () => {
  await namespace.close();
  await auth[Symbol.asyncDispose]();
});

const handlerOf = (options: RestHandlerOptions): RestHandler =>
  createRestHandler(namespace, { log: (entry) => told.push(inspect(entry, { depth: 20 })), ...options });
const bearerHandler = (more: object = {}, limits: RestLimits = {}) =>
  handlerOf({ auth: { bearer: { ...bearer, ...more } }, limits });

interface Credentials {
  readonly token?: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly identity?: unknown;
}

async function ask(
  handler: RestHandler,
  { token, key, headers = {}, identity }: Credentials = {},
  body: object = {},
) {
  for (const secret of [token, key, ...Object.values((identity ?? {}) as object)]) {
    if (typeof secret === "string" && secret.length > 8) credentials.add(secret);
  }
  const response = await handler(
    new Request("http://localhost/v1/table/t/exists", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(key === undefined ? {} : { "x-api-key": key }),
        ...headers,
      },
      body: JSON.stringify({ id: ["t"], identity, ...body }),
    }),
  );
  const text = await response.text();
  told.push(`${text}\n${inspect([...response.headers])}`);
  const json = text === "" ? undefined : JSON.parse(text);
  return { status: response.status, challenge: response.headers.get("www-authenticate"), json, response };
}

/** Expects that the request is accepted, and that the engine knows the caller. */
async function expectPrincipal(
  handler: RestHandler,
  credentials: Credentials,
  principal: Partial<Principal>,
) {
  calls.length = 0;
  expect(await ask(handler, credentials)).toMatchObject({ status: 200 });
  expect(calls).toMatchObject([{ operation: "tableExists", principal }]);
}

/** Expects a refusal without a call of the engine. */
async function expectRefused(handler: RestHandler, credentials: Credentials, challenge: string) {
  const answer = await ask(handler, credentials);
  expect(answer).toMatchObject({
    status: 401,
    challenge,
    json: { code: 16, status: 401, type: "/errors/unauthorized-request", instance: "/v1/table/t/exists" },
  });
  expect(calls).toEqual([]);
}

/** Expects a refusal of a token in the header and in the body. */
async function expectNoToken(handler: RestHandler, token: string) {
  await expectRefused(handler, { token }, INVALID_TOKEN);
  await expectRefused(handler, { identity: { auth_token: token } }, INVALID_TOKEN);
}

describe("an access token", () => {
  it("a token of the authorization server admits its subject, with its claims", async () => {
    const handler = bearerHandler();
    for (const alg of ["RS256", "ES256"] as const) {
      const token = await auth.accessToken({ alg });
      const principal = { subject: "robot", method: "bearer", claims: takeApart(token).claims };
      await expectPrincipal(handler, { token }, principal);
      await expectPrincipal(handler, { headers: { authorization: `bearer ${token}` } }, principal);
      await expectPrincipal(handler, { headers: { Authorization: `BEARER   ${token}` } }, principal);
      await expectPrincipal(handler, { identity: { auth_token: token } }, principal);
    }
    expect(auth.keyReads).toBe(1);
  });

  it("each configured audience accepts a token, over HTTP too", async () => {
    const token = await auth.accessToken({ audience: "https://second.example/" });
    const audience = [AUDIENCE, "https://second.example/"];
    await using server = await startRestServer(namespace, { auth: { bearer: { ...bearer, audience } } });
    const authorization = `Bearer ${token}`;
    expect((await post(server, "/v1/table/t/exists", {}, { authorization })).status).toBe(200);
    const refused = await post(server, "/v1/table/t/exists", {}, { authorization: `${authorization}x` });
    expect(refused).toMatchObject({ status: 401, json: { code: 16 } });
  });

  it("an expired token is refused", async () => {
    const handler = bearerHandler();
    const token = await auth.accessToken();
    await expectPrincipal(handler, { token }, { subject: "robot" });
    calls.length = 0;
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + (TOKEN_SECONDS + 6) * 1000);
    await expectNoToken(handler, token);
  });

  it("a token for another audience is refused", async () => {
    await expectNoToken(bearerHandler(), await auth.accessToken({ audience: "https://other.example/" }));
  });

  it("a token of another issuer with the same keys is refused", async () => {
    await using twin = await startAuthorizationServer({ keys: auth.privateKeys });
    await expectNoToken(bearerHandler(), await twin.accessToken());
  });

  it("a token of a server that pretends to be the issuer is refused", async () => {
    await using impostor = await startAuthorizationServer({ issuer: auth.issuer });
    const token = await impostor.accessToken();
    expect(takeApart(token).claims).toMatchObject({ iss: auth.issuer, aud: AUDIENCE });
    await expectNoToken(bearerHandler(), token);
  });

  it("a token that another key signed under a published name is refused", async () => {
    const { claims } = takeApart(await auth.accessToken());
    const handler = bearerHandler();
    for (const [index, key] of (await makeKeys()).entries()) {
      await expectNoToken(handler, await signAs(claims, key, { kid: auth.privateKeys[index].kid }));
      // The token's header has its own URL of the key.
      const { kty, n, e, crv, x, y } = key;
      await expectNoToken(
        handler,
        await signAs(claims, key, { jwk: { kty, n, e, crv, x, y }, kid: undefined }),
      );
      await expectNoToken(handler, await signAs(claims, key, { jku: `${auth.issuer}/elsewhere` }));
    }
  });

  it("an unsigned token is refused, whatever its header", async () => {
    const handler = bearerHandler();
    for (const token of Object.values(unsigned(await auth.accessToken())))
      await expectNoToken(handler, token);
  });

  it("a token signed by HMAC with the public key is refused", async () => {
    const handler = bearerHandler();
    const forged = Object.values(signedByPublicKey(await auth.accessToken(), auth.privateKeys[0]));
    expect(forged).toHaveLength(16);
    for (const token of forged) await expectNoToken(handler, token);
  });

  it("a changed token is refused", async () => {
    const handler = bearerHandler();
    const token = await auth.accessToken();
    const elliptic = await auth.accessToken({ alg: "ES256" });
    const [head, body, signature] = token.split(".");
    const flipped = Buffer.from(signature, "base64url");
    flipped[flipped.length >> 1] ^= 1;
    const kidOf = (index: number) => auth.privateKeys[index].kid;
    for (const forged of [
      tamper(token, { claims: { sub: "admin" } }),
      tamper(token, { claims: { exp: 4e9 } }),
      tamper(token, { header: { alg: "RS512" } }),
      tamper(token, { header: { alg: "PS256" } }),
      tamper(token, { header: { kid: kidOf(1) } }),
      tamper(elliptic, { header: { kid: kidOf(0) } }),
      tamper(elliptic, { header: { alg: "ES384" } }),
      `${head}.${body}.${flipped.toString("base64url")}`,
      `${head}.${body}.${signature.slice(0, -4)}`,
      `${head}.${body}.`,
      // Such a signature matches every message if nobody checks for zeros.
      `${elliptic.split(".", 2).join(".")}.${Buffer.alloc(64).toString("base64url")}`,
    ]) {
      await expectNoToken(handler, forged);
    }
  });

  it("a token with a missing or invalid claim is refused", async () => {
    const handler = bearerHandler();
    const { claims } = takeApart(await auth.accessToken());
    const [key] = auth.privateKeys;
    await expectPrincipal(handler, { token: await signAs(claims, key) }, { subject: "robot" });
    calls.length = 0;
    const soon = Math.floor(Date.now() / 1000) + 60;
    for (const changed of [
      ...["iss", "aud", "exp"].map((claim) => ({ [claim]: undefined })),
      { sub: undefined, client_id: undefined },
      { cnf: { jkt: "of-its-sender" } },
      ...["", 7, { a: 1 }, null].map((sub) => ({ sub: sub as string })),
      ...["never", null].map((exp) => ({ exp: exp as unknown as number })),
      { iss: [auth.issuer] as unknown as string },
      { aud: [] },
      { nbf: soon },
    ]) {
      await expectNoToken(handler, await signAs({ ...claims, ...changed }, key));
    }
    // A token of a client that acts for itself.
    const clientToken = await signAs({ ...claims, sub: undefined, client_id: "a-client" }, key);
    await expectPrincipal(handler, { token: clientToken }, { subject: "a-client" });
  });

  it("a token with a critical extension is refused", async () => {
    const { claims } = takeApart(await auth.accessToken());
    const head = { alg: "RS256", kid: auth.privateKeys[0].kid, crit: ["rules"], rules: 1 };
    const token = tamper(await signAs(claims, auth.privateKeys[0]), { header: head });
    await expectNoToken(bearerHandler(), token);
  });

  it("a text that is not a token is refused", async () => {
    const handler = bearerHandler();
    for (const token of Object.values(NO_TOKENS)) await expectNoToken(handler, token);
    await expectRefused(handler, { identity: { auth_token: "käse.käse.käse" } }, INVALID_TOKEN);
    for (const authorization of ["Bearer", "Bearer a b", "Bearer a, Bearer b"]) {
      await expectRefused(handler, { headers: { authorization } }, MALFORMED_TOKEN);
    }
  });

  it("a token of a megabyte is refused: an unread body, or too large headers", async () => {
    const handler = bearerHandler();
    const token = tamper(await auth.accessToken(), { claims: { long: "x".repeat(2 ** 20) } });
    const roomy = bearerHandler({}, { maxUnauthenticatedJsonBytes: 2 ** 21 });
    await expectRefused(roomy, { identity: { auth_token: token } }, INVALID_TOKEN);
    expect(await ask(handler, { identity: { auth_token: token } })).toMatchObject({ status: 413 });
    expect(await ask(handler, { token })).toMatchObject({ status: 431, json: { code: 13 } });
    expect(calls).toEqual([]);
  });

  it("tokens with an unknown key name cause one read of the keys", async () => {
    const handler = bearerHandler();
    const { claims } = takeApart(await auth.accessToken());
    const before = auth.keyReads;
    for (let count = 0; count < 20; count++) {
      await expectNoToken(handler, await signAs(claims, auth.privateKeys[0], { kid: `kid-${count}` }));
    }
    expect(auth.keyReads - before).toBe(1);
  });

  it("a token without a key name is tried with each suitable key", async () => {
    const { claims } = takeApart(await auth.accessToken());
    const token = await signAs(claims, auth.privateKeys[0], { kid: undefined });
    await expectPrincipal(bearerHandler(), { token }, { subject: "robot" });
    const others = await makeKeys();
    await using many = await startAuthorizationServer({ keys: [...others, ...auth.privateKeys] });
    await expectPrincipal(bearerHandler({ jwksUri: many.jwksUri }), { token }, { subject: "robot" });
    calls.length = 0;
    await using foreign = await startAuthorizationServer({ keys: [...others, ...(await makeKeys())] });
    await expectNoToken(bearerHandler({ jwksUri: foreign.jwksUri }), token);
  });

  it("a token of recently replaced keys is accepted, and one of the old keys is refused", async () => {
    await using rotating = await startAuthorizationServer();
    const handler = bearerHandler({ issuer: rotating.issuer, jwksUri: rotating.jwksUri });
    const before = await rotating.accessToken();
    await expectPrincipal(handler, { token: before }, { subject: "robot" });
    await rotating.rotateKeys();
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 11_000);
    await expectPrincipal(handler, { token: await rotating.accessToken() }, { subject: "robot" });
    calls.length = 0;
    await expectNoToken(handler, before);
    expect(rotating.keyReads).toBe(2);
  });

  it("an ID token is refused", async () => {
    await expectNoToken(bearerHandler(), await auth.idToken());
    // The worst case: the audience is the client itself.
    const audience = "robot";
    await expectNoToken(bearerHandler({ audience }), await auth.idToken("a-nonce"));
    const strict = bearerHandler({ audience, tokenType: "application/at+jwt" });
    await expectNoToken(strict, await auth.idToken());
    await expectPrincipal(strict, { token: await auth.accessToken({ audience }) }, { subject: "robot" });
    calls.length = 0;
    const { claims } = takeApart(await auth.accessToken());
    const [key] = auth.privateKeys;
    for (const typ of ["logout+jwt", "secevent+jwt", "dpop+jwt", 7, null]) {
      await expectNoToken(bearerHandler(), await signAs(claims, key, { typ }));
    }
    for (const typ of ["JWT", "jwt", "AT+JWT", "application/at+jwt", undefined]) {
      await expectPrincipal(
        bearerHandler(),
        { token: await signAs(claims, key, { typ }) },
        { subject: "robot" },
      );
    }
  });

  it("a token of an unconfigured algorithm is refused", async () => {
    const handler = bearerHandler({ algorithms: ["ES256"] });
    await expectPrincipal(handler, { token: await auth.accessToken({ alg: "ES256" }) }, { subject: "robot" });
    calls.length = 0;
    await expectNoToken(handler, await auth.accessToken());
  });
});

describe("an unavailable authorization server", () => {
  const kid = "broken";
  const unreadable: Record<string, Parameters<AuthorizationServer["answerKeysBy"]>[0]> = {
    "it breaks connections off": (request) => request.socket.destroy(),
    "it fails": (_, response) => response.writeHead(500).end(),
    "it sends elsewhere": (_, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
    "it answers in HTML": (_, response) => response.writeHead(200).end("<html>"),
    "it answers with bytes": (_, response) => response.writeHead(200).end(new Uint8Array(9).fill(255)),
    "it answers with nothing": (_, response) => response.writeHead(200).end(),
    "it answers with no set": (_, response) => response.end(JSON.stringify({ keys: "none" })),
    "it answers with keys that are none": (_, response) => response.end(JSON.stringify({ keys: [1, null] })),
    "its keys are damaged": (_, response) =>
      response.end(
        JSON.stringify({ keys: [{ kty: "RSA", kid, alg: "RS256", use: "sig", n: "AQ", e: "AQAB" }] }),
      ),
    "it publishes its private key": (_, response) =>
      response.end(JSON.stringify({ keys: [{ ...auth.privateKeys[0], kid }] })),
  };
  const UNAVAILABLE = { status: 503, json: { code: 17, type: "/errors/service-unavailable" } };

  for (const [name, answer] of Object.entries(unreadable)) {
    it(`no token is called wrong if ${name}, and later all tokens are checked`, async () => {
      const { claims } = takeApart(await auth.accessToken());
      const token = await signAs(claims, auth.privateKeys[0], { kid });
      const handler = bearerHandler();
      auth.answerKeysBy(answer);
      const refused = await ask(handler, { token });
      auth.answerKeysBy(null);
      expect(refused).toMatchObject({ ...UNAVAILABLE, challenge: null });
      expect(refused.response.headers.get("retry-after")).toBe("5");
      expect(calls).toEqual([]);
      vi.useFakeTimers({ toFake: ["Date"] });
      vi.setSystemTime(Date.now() + 11_000);
      await expectPrincipal(handler, { token: await auth.accessToken() }, { subject: "robot" });
    });
  }

  it("a server that does not listen is unavailable", async () => {
    const gone = await startAuthorizationServer({ issuer: auth.issuer, keys: auth.privateKeys });
    await gone[Symbol.asyncDispose]();
    const token = await auth.accessToken();
    expect(await ask(bearerHandler({ jwksUri: gone.jwksUri }), { token })).toMatchObject(UNAVAILABLE);
  });

  it("a server that answers too slowly, or without an end, is unavailable", async () => {
    let written = 0;
    const answers: Parameters<AuthorizationServer["answerKeysBy"]>[0][] = [
      () => undefined,
      (_, response) => {
        response.write("{");
        const timer = setInterval(() => response.write(" "), 50);
        response.once("close", () => clearInterval(timer));
      },
      (_, response) => {
        const piece = Buffer.alloc(2 ** 16, " ");
        const more = () => {
          do written += piece.length;
          while (response.write(piece) && written < 2 ** 28);
        };
        response.on("drain", more);
        more();
      },
    ];
    const token = await auth.accessToken();
    const outcomes = await Promise.all(
      answers.map(async (answer) => {
        const slow = await startAuthorizationServer({ issuer: auth.issuer, keys: auth.privateKeys });
        slow.answerKeysBy(answer);
        const handler = bearerHandler({ jwksUri: slow.jwksUri });
        expect(await ask(handler, { token })).toMatchObject(UNAVAILABLE);
        slow.answerKeysBy(null);
        return { handler, slow };
      }),
    );
    expect(written).toBeLessThan(2 ** 24);
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 6_000);
    for (const { handler, slow } of outcomes) {
      expect(await ask(handler, { token })).toMatchObject({ status: 200 });
      await slow[Symbol.asyncDispose]();
    }
  });

  it("the earlier keys stay in use", async () => {
    const handler = bearerHandler();
    await expectPrincipal(handler, { token: await auth.accessToken() }, { subject: "robot" });
    auth.answerKeysBy((request) => request.socket.destroy());
    await expectPrincipal(handler, { token: await auth.accessToken() }, { subject: "robot" });
    auth.answerKeysBy(null);
  });
});

describe("an API key", () => {
  it("a key of a list admits its caller, from the header and from the body", async () => {
    const handler = handlerOf({ auth: { apiKeys: [KEY, OTHER_KEY] } });
    await expectPrincipal(handler, { key: KEY }, { subject: "api-key-0", method: "apiKey" });
    await expectPrincipal(handler, { key: OTHER_KEY }, { subject: "api-key-1" });
    await expectPrincipal(handler, { identity: { api_key: OTHER_KEY } }, { subject: "api-key-1" });
  });

  it("a wrong or empty key is refused, even beside a right one", async () => {
    const handler = handlerOf({ auth: { apiKeys: [KEY, OTHER_KEY] } });
    for (const key of ["", " ", "x", KEY.slice(1), `${KEY}x`, KEY.toUpperCase(), `${KEY}, ${OTHER_KEY}`]) {
      await expectRefused(handler, { key }, KEY_CHALLENGE);
      await expectRefused(handler, { identity: { api_key: key } }, KEY_CHALLENGE);
      await expectRefused(handler, { key, identity: { api_key: KEY } }, KEY_CHALLENGE);
    }
    await expectRefused(handler, {}, KEY_CHALLENGE);
    await expectRefused(handler, { identity: { api_key: null, auth_token: null } }, KEY_CHALLENGE);
    await expectRefused(handler, { identity: "none" }, KEY_CHALLENGE);
  });

  it("a function looks up the key", async () => {
    const asked: string[] = [];
    const apiKeys = async (key: string) => {
      asked.push(key);
      return key === KEY ? { subject: "a-team", method: "vault" } : null;
    };
    const handler = handlerOf({ auth: { apiKeys } });
    await expectPrincipal(handler, { key: KEY }, { subject: "a-team", method: "vault" });
    calls.length = 0;
    await expectRefused(handler, { key: OTHER_KEY }, KEY_CHALLENGE);
    expect(asked).toEqual([KEY, OTHER_KEY]);
    await expectRefused(handler, { key: "" }, KEY_CHALLENGE);
    expect(asked).toHaveLength(2);
  });

  it("a function that returns a boolean admits nobody", async () => {
    await expectRefused(
      handlerOf({ auth: { apiKeys: () => undefined as unknown as null } }),
      { key: KEY },
      KEY_CHALLENGE,
    );
    for (const value of [true, false, 0, "yes", {}, [], { subject: "" }, { subject: 7 }]) {
      const handler = handlerOf({ auth: { apiKeys: () => value as unknown as null } });
      expect(await ask(handler, { key: KEY })).toMatchObject({ status: 500, json: { code: 18 } });
    }
    expect(calls).toEqual([]);
  });

  it("a failing lookup is an internal error without details", async () => {
    const failing = [
      () => {
        throw new Error("password of the database: hunter2");
      },
      async () => {
        throw "hunter2";
      },
    ];
    for (const apiKeys of failing) {
      for (const credentials of [{ key: KEY }, { identity: { api_key: KEY } }]) {
        const { json, status } = await ask(handlerOf({ auth: { apiKeys } }), credentials);
        expect(status).toBe(500);
        expect(json).toMatchObject({ code: 18, type: "/errors/server-error" });
        expect(JSON.stringify(json)).not.toContain("hunter2");
      }
    }
    expect(calls).toEqual([]);
  });

  it("a slow lookup ends with the request", async () => {
    const limits = { requestTimeoutMs: 20 };
    const handler = handlerOf({ auth: { apiKeys: () => new Promise<null>(() => undefined) }, limits });
    expect(await ask(handler, { key: KEY })).toMatchObject({ status: 503, json: { code: 17 } });
    expect(handler.counters.inFlight).toBe(0);
  });
});

describe("several credentials", () => {
  let handler: RestHandler;
  let token: string;
  beforeAll(async () => {
    handler = handlerOf({ auth: { bearer, apiKeys: [KEY] } });
    token = await auth.accessToken();
  });

  it("headers take precedence over the body", async () => {
    await expectPrincipal(handler, { token, identity: { api_key: KEY } }, { method: "bearer" });
    await expectPrincipal(handler, { key: KEY, identity: { auth_token: token } }, { method: "apiKey" });
    await expectPrincipal(handler, { token, identity: { auth_token: "wrong" } }, { method: "bearer" });
    calls.length = 0;
    await expectRefused(
      handler,
      { token: "wrong", identity: { auth_token: token } },
      `${INVALID_TOKEN}, ${KEY_CHALLENGE}`,
    );
    await expectRefused(
      handler,
      { key: "wrong", identity: { auth_token: token } },
      `${NO_ERROR}, ${KEY_CHALLENGE}`,
    );
  });

  it("a token takes precedence over a key, which does not compensate for a wrong token", async () => {
    await expectPrincipal(handler, { token, key: KEY }, { method: "bearer" });
    await expectPrincipal(handler, { token, key: "wrong" }, { method: "bearer" });
    await expectPrincipal(handler, { identity: { auth_token: token, api_key: KEY } }, { method: "bearer" });
    calls.length = 0;
    await expectRefused(handler, { token: "wrong", key: KEY }, `${INVALID_TOKEN}, ${KEY_CHALLENGE}`);
    await expectRefused(
      handler,
      { identity: { auth_token: "wrong", api_key: KEY } },
      `${INVALID_TOKEN}, ${KEY_CHALLENGE}`,
    );
  });

  it("authorize gets the unverified credentials, headers first", async () => {
    await ask(handler, { key: KEY, identity: { api_key: "of-the-body", auth_token: "of-the-body" } });
    expect(calls).toMatchObject([{ identity: { apiKey: KEY, authToken: "of-the-body" } }]);
  });

  it("another scheme does not count, and its error is not revealed", async () => {
    for (const authorization of ["Basic dTpw", "Bearerx y", "Negotiate", ""]) {
      await expectRefused(handler, { headers: { authorization } }, `${NO_ERROR}, ${KEY_CHALLENGE}`);
      await expectPrincipal(
        handler,
        { headers: { authorization }, identity: { api_key: KEY } },
        { method: "apiKey" },
      );
      calls.length = 0;
    }
  });

  it("unconfigured credentials admit nobody and hide no others", async () => {
    await expectRefused(handlerOf({ auth: { bearer } }), { key: KEY }, NO_ERROR);
    await expectRefused(handlerOf({ auth: { apiKeys: [KEY] } }), { token }, KEY_CHALLENGE);
    const beside = { key: "x", identity: { auth_token: token } };
    await expectPrincipal(handlerOf({ auth: { bearer } }), beside, { method: "bearer" });
    await expectPrincipal(
      handlerOf({ auth: { apiKeys: [KEY] } }),
      { token: "x", key: KEY },
      { method: "apiKey" },
    );
  });
});

describe("anonymous callers", () => {
  const anonymous = true;

  it("anonymous callers are admitted if configured, even with unchecked credentials", async () => {
    const principal = { subject: "anonymous", method: "anonymous" };
    const handler = handlerOf({ auth: { anonymous } });
    await expectPrincipal(handler, {}, principal);
    await expectPrincipal(handler, { key: "any" }, principal);
    await expectPrincipal(handler, { headers: { authorization: "Basic dTpw" } }, principal);
    await expectPrincipal(handler, { identity: { auth_token: "any" } }, principal);
    await expectPrincipal(handlerOf({ auth: { anonymous, apiKeys: [KEY] } }), {}, principal);
  });

  it("anonymous access does not admit wrong credentials", async () => {
    const handler = handlerOf({ auth: { anonymous, apiKeys: [KEY], bearer } });
    await expectPrincipal(handler, { key: KEY }, { subject: "api-key-0" });
    calls.length = 0;
    await expectRefused(handler, { key: "wrong" }, `${NO_ERROR}, ${KEY_CHALLENGE}`);
    await expectRefused(handler, { token: "wrong" }, `${INVALID_TOKEN}, ${KEY_CHALLENGE}`);
    await expectRefused(handler, { identity: { api_key: "wrong" } }, `${NO_ERROR}, ${KEY_CHALLENGE}`);
  });
});

describe("no configuration", () => {
  it("every route refuses, and neither body nor engine is used", async () => {
    const untouched = new Proxy({ root: "/nowhere" } as DirectoryNamespace, {
      get(target, member) {
        if (member === "root") return target.root;
        const touched = () => {
          throw new Error(`${String(member)} was touched`);
        };
        // Reading this member is allowed.
        if (member === "then") return undefined;
        return member === "queryTable" ? touched : touched();
      },
    });
    const targets = ROUTES.flatMap(({ methods, path }) =>
      methods.map((method) => [method, path.replaceAll(/\{\w+\}/g, "x")]),
    );
    targets.push(["GET", "/openapi.json"], ["POST", "/v1/no/such/route"], ["DELETE", "/v1/table/x/drop"]);
    for (const auth of [undefined, {}, { anonymous: false }]) {
      const handler = createRestHandler(untouched, { auth });
      for (const [method, path] of targets) {
        let pulled = false;
        const body = new ReadableStream(
          {
            pull(controller) {
              pulled = true;
              controller.close();
            },
          },
          { highWaterMark: 0 },
        );
        const hasBody = method !== "GET";
        const response = await handler(
          new Request(`http://localhost${path}`, {
            method,
            ...(hasBody ? { body, duplex: "half" } : {}),
          } as RequestInit),
        );
        expect(response.status, `${method} ${path}`).toBe(401);
        expect(response.headers.get("www-authenticate")).toBe(KEY_CHALLENGE);
        expect(await response.json()).toMatchObject({ code: 16, status: 401, instance: path });
        expect(pulled).toBe(false);
      }
    }
  });

  it("invalid options are refused", () => {
    const wrong: object[] = [
      { anonymous: 1 },
      { anonymous: "true" },
      { apiKeys: [] },
      { apiKeys: [""] },
      { apiKeys: [KEY, 7] },
      { apiKeys: KEY },
      { bearer: {} },
      { bearer: { ...bearer, issuer: "" } },
      { bearer: { ...bearer, audience: [] } },
      { bearer: { ...bearer, audience: "" } },
      { bearer: { ...bearer, jwksUri: "keys" } },
      { bearer: { ...bearer, jwksUri: "http://keys.example/jwks" } },
      { bearer: { ...bearer, jwksUri: "file:///etc/keys" } },
      { bearer: { ...bearer, algorithms: [] } },
      { bearer: { ...bearer, algorithms: ["none"] } },
      { bearer: { ...bearer, algorithms: ["RS256", "HS256"] } },
      { bearer: { ...bearer, tokenType: "" } },
    ];
    for (const auth of wrong) {
      expect(() => createRestHandler(namespace, { auth }), inspect(auth)).toThrow(InvalidInputError);
    }
  });
});

describe("a known caller without permission", () => {
  it("the answer is 403, and authorize got all details", async () => {
    const handler = handlerOf({ auth: { apiKeys: [KEY] } });
    const answer = await ask(handler, { key: KEY }, { context: { deny: "error" } });
    expect(answer).toMatchObject({
      status: 403,
      challenge: null,
      json: {
        code: 15,
        type: "/errors/forbidden-request",
        detail: "tableExists was denied",
        instance: "/v1/table/t/exists",
      },
    });
    expect(answer.json.detail).not.toContain(namespace.root);
    expect(calls).toEqual([
      {
        operation: "tableExists",
        id: ["t"],
        identity: { apiKey: KEY, authToken: undefined },
        principal: { subject: "api-key-0", method: "apiKey" },
        context: { deny: "error" },
      },
    ]);
  });

  it("authorize is asked before anything else, for unsupported operations too", async () => {
    const handler = handlerOf({ auth: { apiKeys: [KEY] } });
    for (const [path, body] of [
      ["/v1/table/none/drop", {}],
      ["/v1/table/t/create_index", { column: "c", index_type: "BTREE" }],
    ] as const) {
      const request = new Request(`http://localhost${path}`, {
        method: "POST",
        headers: { "x-api-key": KEY, "content-type": "application/json" },
        body: JSON.stringify({ ...body, context: { deny: "error" } }),
      });
      expect((await handler(request)).status, path).toBe(403);
    }
  });
});

it("no answer and no log ever contains a credential", () => {
  expect(credentials.size).toBeGreaterThan(100);
  expect(told.length).toBeGreaterThan(500);
  const everything = told.join("\n");
  for (const secret of credentials) {
    expect(everything.includes(secret), secret.slice(0, 20)).toBe(false);
    const signature = secret.split(".")[2] ?? "";
    if (signature.length > 20) expect(everything.includes(signature)).toBe(false);
  }
});
