/** The deciding credential, the required content of a token, and the challenge for a refused client. */

import { setMaxListeners } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { errors, exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import {
  DirectoryNamespace,
  InternalError,
  InvalidInputError,
  ThrottlingError,
  UnauthenticatedError,
} from "tiltyard";
import {
  type AuthOptions,
  type BearerOptions,
  createRestHandler,
  type PrincipalLookup,
  type RequestLogEntry,
} from "tiltyard/rest";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { Authenticator } from "../../src/rest/auth/auth.js";
import { Refusal } from "../../src/rest/wire/problem.js";
import { makeTempDir } from "../support/tempDir.js";

const ISSUER = "https://issuer.example";
const AUDIENCE = "https://tables.example";
const forever = new AbortController().signal;
setMaxListeners(0, forever);
const minutes = (count: number) => count * 60_000;

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;
let pairs: KeyPair[];
let edwards: KeyPair;

beforeAll(async () => {
  pairs = await Promise.all(Array.from({ length: 10 }, () => generateKeyPair("ES256")));
  edwards = await generateKeyPair("Ed25519");
});

/** Key server with its answer and its number of requests. */
let keyServer: Server;
let published: object | string;
let status: number;
let asked: number;
let bearer: BearerOptions;

beforeEach(async () => {
  status = 200;
  asked = 0;
  published = await keySet([pairs[0]]);
  keyServer = createServer((_, answer) => {
    asked++;
    answer.writeHead(status, { "content-type": "application/json" });
    answer.end(typeof published === "string" ? published : JSON.stringify(published));
  });
  await new Promise<void>((resolve) => keyServer.listen(0, "127.0.0.1", resolve));
  const { port } = keyServer.address() as AddressInfo;
  bearer = { issuer: ISSUER, audience: AUDIENCE, jwksUri: `http://127.0.0.1:${port}/jwks` };
});
afterEach(async () => {
  vi.useRealTimers();
  keyServer.closeAllConnections();
  await new Promise((resolve) => keyServer.close(resolve));
});

async function keySet(from: readonly KeyPair[], names = from.map((_, index) => `key-${index}`)) {
  const keys = await Promise.all(from.map(({ publicKey }) => exportJWK(publicKey)));
  return { keys: keys.map((key, index) => (names[index] === "" ? key : { ...key, kid: names[index] })) };
}

interface TokenForm {
  readonly pair?: KeyPair;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly claims?: JWTPayload;
  readonly without?: readonly string[];
}

function token({ pair = pairs[0], header = {}, claims = {}, without = [] }: TokenForm = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const said: JWTPayload = {
    iss: ISSUER,
    aud: AUDIENCE,
    sub: "alice",
    iat: now,
    exp: now + 86_400,
    ...claims,
  };
  for (const claim of without) delete said[claim];
  return new SignJWT(said)
    .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: "key-0", ...header })
    .sign(pair.privateKey, { crit: { x: true } });
}

const byToken = (authenticator: Authenticator, text: string) =>
  authenticator.byHeaders(new Headers({ authorization: `Bearer ${text}` }), forever);

async function failureOf(promise: Promise<unknown>): Promise<Refusal> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if (!("error" in outcome)) throw new Error(`was not refused: ${inspect(outcome.value)}`);
  return outcome.error as Refusal;
}

describe("a token", () => {
  it("a token identifies its subject, with its other claims", async () => {
    const principal = await byToken(
      new Authenticator({ bearer }),
      await token({ claims: { scope: "read" } }),
    );
    expect(principal).toMatchObject({ subject: "alice", method: "bearer", claims: { scope: "read" } });
  });

  const types = ["at+jwt", "AT+JWT", "application/at+jwt", "JWT", undefined];
  it.each(types)("may be of the type %s", async (typ) => {
    const principal = await byToken(new Authenticator({ bearer }), await token({ header: { typ } }));
    expect(principal).toMatchObject({ subject: "alice" });
  });

  it("a token of a client that acts for itself identifies the client", async () => {
    const text = await token({ claims: { client_id: "robot" }, without: ["sub"] });
    expect(await byToken(new Authenticator({ bearer }), text)).toMatchObject({ subject: "robot" });
  });

  const wrong: Readonly<Record<string, TokenForm>> = {
    "of another type": { header: { typ: "dpop+jwt" } },
    "of a type that is no text": { header: { typ: 1 } },
    "of an empty subject": { claims: { sub: "", client_id: "robot" } },
    "of a subject that is no text": { claims: { sub: 7 as unknown as string, client_id: "robot" } },
    "of no subject": { without: ["sub"] },
    "of a client that is no text": { claims: { client_id: {} }, without: ["sub"] },
    "bound to its sender's key": { claims: { cnf: { jkt: "x" } } },
    "bound to something unknown": { claims: { cnf: null } },
    "of another issuer": { claims: { iss: `${ISSUER}/` } },
    "for another audience": { claims: { aud: ["x", "y"] } },
    "that is over": { claims: { exp: Math.floor(Date.now() / 1000) - 60 } },
    "without an end": { without: ["exp"] },
    "that is not valid yet": { claims: { nbf: Math.floor(Date.now() / 1000) + 600 } },
    "of an unknown key": { header: { kid: "key-9" } },
    "with extensions that nobody knows": { header: { crit: ["x"], x: 1 } },
  };
  it.each(Object.entries(wrong))("a token is invalid: %s", async (_, form) => {
    const text = await token(form);
    const refusal = await failureOf(byToken(new Authenticator({ bearer }), text));
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({ status: 401, message: "the access token is not valid" });
    expect(refusal.headers["www-authenticate"]).toBe(
      'Bearer realm="tiltyard", error="invalid_token", error_description="the access token is not valid"',
    );
    expect(refusal.cause).toBeInstanceOf(Error);
    const logged = inspect(refusal, { depth: 20, showHidden: true });
    for (const part of [text, ...text.split(".").filter(({ length }) => length > 20)]) {
      expect(logged).not.toContain(part);
    }
  });

  it("an unsigned token, and one signed with another key, are invalid", async () => {
    const authenticator = new Authenticator({ bearer });
    const forged = await token({ pair: pairs[1] });
    expect((await failureOf(byToken(authenticator, forged))).cause).toBeInstanceOf(
      errors.JWSSignatureVerificationFailed,
    );
    expect(await failureOf(byToken(authenticator, unsigned()))).toMatchObject({ status: 401 });
    expect(await failureOf(byToken(authenticator, "no.token.at-all"))).toMatchObject({ status: 401 });
  });

  it("Ed25519 is accepted under its own name and its family's", async () => {
    published = await keySet([edwards]);
    const authenticator = new Authenticator({ bearer });
    for (const alg of ["Ed25519", "EdDSA"]) {
      const text = await token({ pair: edwards, header: { alg } });
      expect(await byToken(authenticator, text)).toMatchObject({ subject: "alice" });
    }
    const pinned = new Authenticator({ bearer: { ...bearer, algorithms: ["ES256"] } });
    const text = await token({ pair: edwards, header: { alg: "EdDSA" } });
    expect(await failureOf(byToken(pinned, text))).toMatchObject({ status: 401 });
  });

  it("a token without a key name is tried with up to eight suitable keys", async () => {
    published = await keySet(
      pairs,
      pairs.map(() => ""),
    );
    const authenticator = new Authenticator({ bearer });
    const unnamed = (pair: KeyPair) => token({ pair, header: { kid: undefined } });
    expect(await byToken(authenticator, await unnamed(pairs[0]))).toMatchObject({ subject: "alice" });
    expect(await byToken(authenticator, await unnamed(pairs[7]))).toMatchObject({ subject: "alice" });
    const ninth = await failureOf(byToken(authenticator, await unnamed(pairs[8])));
    expect(ninth).toMatchObject({ status: 401 });
    expect(ninth.cause).toBeInstanceOf(errors.JWKSMultipleMatchingKeys);
    const late = await token({ pair: pairs[2], header: { kid: undefined }, claims: { exp: 1 } });
    expect((await failureOf(byToken(authenticator, late))).cause).toBeInstanceOf(errors.JWTExpired);
    expect(asked).toBe(1);
  });
});

function unsigned(): string {
  return new UnsecuredJWT({ iss: ISSUER, aud: AUDIENCE, sub: "alice" }).setExpirationTime("1h").encode();
}

describe("a key server", () => {
  it.each<[string, () => void]>([
    ["answers with an error", () => void (status = 500)],
    ["sends clients elsewhere", () => void (status = 302)],
    ["answers what is no JSON", () => void (published = "<html>")],
    ["answers what are no keys", () => void (published = { keys: 1 })],
    ["answers without end", () => void (published = `{"keys":[],"x":"${"x".repeat(2 ** 20)}"}`)],
    [
      "publishes a broken key",
      () => void (published = { keys: [{ kty: "EC", crv: "P-256", kid: "key-0", x: "AA" }] }),
    ],
  ])("that %s makes it 503, with the reason for the log", async (_, breakIt) => {
    breakIt();
    const refusal = await failureOf(byToken(new Authenticator({ bearer }), await token()));
    expect(refusal).toMatchObject({
      status: 503,
      message: "the authorization server's keys cannot be read",
      headers: { "retry-after": "5" },
    });
    expect((refusal.cause as Error).cause).toBeInstanceOf(Error);
  });

  it("an unavailable server is not asked for each token, and read keys stay valid", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const authenticator = new Authenticator({ bearer });
    const [knownToken, unknownToken] = [
      await token(),
      await token({ pair: pairs[1], header: { kid: "key-1" } }),
    ];
    expect(await byToken(authenticator, knownToken)).toMatchObject({ subject: "alice" });
    // Directly after a read, an unknown key causes no other read.
    expect(await failureOf(byToken(authenticator, unknownToken))).toMatchObject({ status: 401 });
    expect(asked).toBe(1);

    status = 503;
    vi.setSystemTime(Date.now() + minutes(1));
    for (let round = 0; round < 5; round++) {
      const refusal = await failureOf(byToken(authenticator, unknownToken));
      expect(refusal).toMatchObject({ status: 503 });
      expect(inspect(refusal, { depth: 9 })).toContain("Expected 200 OK");
      expect(await byToken(authenticator, knownToken)).toMatchObject({ subject: "alice" });
    }
    expect(asked).toBe(2);
    // Old keys are read again and stay in use.
    for (const age of [11, 30, 600]) {
      vi.setSystemTime(Date.now() + minutes(age - 1));
      const before = asked;
      for (let round = 0; round < 5; round++)
        expect(await byToken(authenticator, knownToken)).toMatchObject({ subject: "alice" });
      await vi.waitFor(() => expect(asked).toBe(before + 1));
    }
    // The keys are not used forever.
    vi.setSystemTime(Date.now() + minutes(120));
    expect(await failureOf(byToken(authenticator, knownToken))).toMatchObject({ status: 503 });

    status = 200;
    published = await keySet([pairs[0], pairs[1]]);
    vi.setSystemTime(Date.now() + minutes(1));
    expect(await byToken(authenticator, unknownToken)).toMatchObject({ subject: "alice" });
    expect(await byToken(authenticator, knownToken)).toMatchObject({ subject: "alice" });
  });

  const clockChanges = [
    ["back", -3_600_000],
    ["ahead", 1000],
    ["back before 1970", -Date.now() - 1e9],
  ] as const;
  it.each(
    clockChanges,
  )("is asked again after the clock was set %s, and a token of a key that may be new waits for it", async (_, byMs) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const authenticator = new Authenticator({ bearer });
    const expiry = { exp: 2 ** 33 };
    const next = (claims: JWTPayload = {}) =>
      token({ pair: pairs[1], header: { kid: "key-1" }, claims: { ...expiry, ...claims } });
    const before = await token({ claims: { ...expiry, iat: -1e10 } });
    expect(await byToken(authenticator, before)).toMatchObject({ subject: "alice" });

    published = await keySet([pairs[1]], ["key-1"]);
    vi.setSystemTime(Date.now() + byMs);
    const waiting = { status: 503, headers: { "retry-after": "5" } };
    const later = { iat: Math.floor(Date.now() / 1000) + 2 };
    expect(await failureOf(byToken(authenticator, await next(later)))).toMatchObject(waiting);
    const unknown = await token({ pair: pairs[2], header: { kid: "?" }, claims: { ...expiry, ...later } });
    expect(await failureOf(byToken(authenticator, unknown))).toMatchObject(waiting);
    expect(asked).toBe(1);

    let sinceMs = 5_001;
    const startMs = performance.now();
    const tick = vi.spyOn(performance, "now").mockImplementation(() => startMs + sinceMs);
    vi.setSystemTime(Date.now() + sinceMs);
    expect(await byToken(authenticator, await next(later))).toMatchObject({ subject: "alice" });
    expect(asked).toBe(2);
    // A withdrawn key is invalid, and so is a token of an unknown key after a read.
    expect(await failureOf(byToken(authenticator, before))).toMatchObject({ status: 401 });
    sinceMs += 5_001;
    vi.setSystemTime(Date.now() + 5_001);
    expect(await failureOf(byToken(authenticator, unknown))).toMatchObject({ status: 401 });
    expect(asked).toBe(3);
    tick.mockRestore();
  });

  it("the server is asked again for a key that was published during the read", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const authenticator = new Authenticator({ bearer });
    const { keys } = await keySet([pairs[0]]);
    const knownToken = await token();
    published = {
      get keys() {
        vi.setSystemTime(Date.now() + 2000);
        return keys;
      },
    };
    expect(await byToken(authenticator, knownToken)).toMatchObject({ subject: "alice" });
    const later = await token({ pair: pairs[1], header: { kid: "key-1" } });
    expect(await failureOf(byToken(authenticator, later))).toMatchObject({ status: 503 });
    published = await keySet(pairs.slice(0, 2));
    vi.setSystemTime(Date.now() + minutes(1));
    expect(await byToken(authenticator, later)).toMatchObject({ subject: "alice" });
  });

  it("withdrawn keys expire even if the clock was set back", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const authenticator = new Authenticator({ bearer });
    const text = await token({ claims: { exp: 2 ** 33 } });
    expect(await byToken(authenticator, text)).toMatchObject({ subject: "alice" });
    published = await keySet([pairs[1]], ["key-1"]);
    vi.setSystemTime(Date.now() - minutes(600));
    const laterMs = performance.now() + minutes(11);
    const tick = vi.spyOn(performance, "now").mockImplementation(() => laterMs);
    expect(await failureOf(byToken(authenticator, text))).toMatchObject({ status: 401 });
    expect(asked).toBe(2);
    tick.mockRestore();
  });

  it("a server that was unavailable from the start is asked again after a pause", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    status = 500;
    const authenticator = new Authenticator({ bearer });
    const text = await token();
    for (let round = 0; round < 5; round++)
      expect(await failureOf(byToken(authenticator, text))).toMatchObject({ status: 503 });
    expect(asked).toBe(1);
    status = 200;
    expect(await failureOf(byToken(authenticator, text))).toMatchObject({ status: 503 });
    vi.setSystemTime(Date.now() + 6_000);
    expect(await byToken(authenticator, text)).toMatchObject({ subject: "alice" });
    expect(asked).toBe(2);
  });

  it("concurrent tokens cause one read, and a withdrawn key is noticed", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const authenticator = new Authenticator({ bearer });
    const text = await token();
    await Promise.all(Array.from({ length: 20 }, () => byToken(authenticator, text)));
    expect(asked).toBe(1);
    published = await keySet([pairs[1]], ["key-1"]);
    expect(await byToken(authenticator, text)).toMatchObject({ subject: "alice" });
    vi.setSystemTime(Date.now() + minutes(11));
    expect(await failureOf(byToken(authenticator, text))).toMatchObject({ status: 401 });
    expect(asked).toBe(2);
  });
});

describe("a lookup", () => {
  const ways: [string, (lookup: PrincipalLookup) => AuthOptions, Headers][] = [
    ["of tokens", (lookup) => ({ bearer: lookup }), new Headers({ authorization: "Bearer secret" })],
    ["of keys", (lookup) => ({ apiKeys: lookup }), new Headers({ "x-api-key": "secret" })],
  ];
  describe.each(ways)("%s", (_, options, headers) => {
    const ask = (lookup: (credential: string) => unknown, signal = forever) =>
      new Authenticator(options(lookup as PrincipalLookup)).byHeaders(headers, signal);

    it("the lookup returns the principal unchanged", async () => {
      const principal = { subject: "bob", method: "own", claims: { team: 1 } };
      expect(await ask(() => principal)).toBe(principal);
      expect(await ask(async (credential) => ({ subject: credential }))).toEqual({ subject: "secret" });
    });

    it.each([null, undefined])("%s means an invalid credential", async (answer) => {
      expect(await failureOf(ask(() => answer))).toMatchObject({ status: 401 });
    });

    const faulty = [true, false, "bob", 0, {}, { subject: "" }, { subject: 7 }, []];
    it.each(faulty)("that answers %j is at fault", async (answer) => {
      const error = await failureOf(ask(() => answer));
      expect(error).toBeInstanceOf(InternalError);
      expect(inspect(error)).not.toContain("secret");
    });

    it("an error of the lookup is an internal error, unless it is one of the engine", async () => {
      const lookupError = new Error("no database");
      const error = await failureOf(ask(() => Promise.reject(lookupError)));
      expect(error).toBeInstanceOf(InternalError);
      expect(error.cause).toBe(lookupError);
      const resolved = new ThrottlingError("not so fast");
      expect(
        await failureOf(
          ask(() => {
            throw resolved;
          }),
        ),
      ).toBe(resolved);
    });

    it("a hanging lookup ends with the request", async () => {
      const request = new AbortController();
      let fail: (error: Error) => void = () => undefined;
      const hanging = new Promise((_, reject) => {
        fail = reject;
      });
      const answer = ask(() => hanging, request.signal);
      const reason = new Error("the client went away");
      request.abort(reason);
      expect(await failureOf(answer)).toBe(reason);
      // Nobody awaits this error; unhandled, it would end the process.
      fail(new Error("too late"));
      await new Promise((resolve) => setImmediate(resolve));
      expect(await failureOf(ask(() => new Promise(() => undefined), request.signal))).toBe(reason);
    });
  });

  it("a hanging lookup of the body's identity ends with the request", async () => {
    const request = new AbortController();
    const authenticator = new Authenticator({ apiKeys: () => new Promise(() => undefined) });
    const answer = authenticator.byIdentity({ apiKey: "k" }, request.signal);
    request.abort(new Error("over"));
    expect((await failureOf(answer)).message).toBe("over");
  });

  it("the lookup is not called for empty or too long credentials", async () => {
    const lookup = vi.fn(() => ({ subject: "x", method: "x" }));
    const authenticator = new Authenticator({ apiKeys: lookup, bearer: lookup });
    for (const text of ["", "x".repeat(16_385)]) {
      expect(await failureOf(authenticator.byIdentity({ apiKey: text }, forever))).toMatchObject({
        status: 401,
      });
      expect(await failureOf(authenticator.byIdentity({ authToken: text }, forever))).toMatchObject({
        status: 401,
      });
    }
    expect(lookup).not.toHaveBeenCalled();
  });
});

const KEYS = { apiKeys: ["k"] };
const TOKENS = {
  bearer: (text: string) => (text === "t" ? { subject: "token", method: "own" } : null),
};
const BEARER_CHALLENGE = 'Bearer realm="tiltyard"';
const KEY_CHALLENGE = 'ApiKey realm="tiltyard"';
const bad = (description: string) =>
  `${BEARER_CHALLENGE}, error="invalid_token", error_description="${description}"`;
const BAD_TOKEN = bad("the access token is not valid");

type HeaderMap = Readonly<Record<string, string>>;
type Identity = { readonly apiKey?: string; readonly authToken?: string };
/** The last member is the expected subject or challenge. */
type Case = readonly [
  name: string,
  auth: AuthOptions,
  headers: HeaderMap,
  body: Identity | undefined,
  gives: string,
];

describe("the first credential of a configured kind", () => {
  const both = { ...KEYS, ...TOKENS };
  const open = { anonymous: true };
  const key = (text: string) => ({ "x-api-key": text });
  const bearer = (text: string) => ({ authorization: `Bearer ${text}` });
  const MALFORMED = bad("authorization: must be Bearer and one token");
  const BOTH_CHALLENGES = `${BEARER_CHALLENGE}, ${KEY_CHALLENGE}`;
  const BAD_TOKEN_OR_KEY = `${BAD_TOKEN}, ${KEY_CHALLENGE}`;
  const cases: Case[] = [
    ["a key", KEYS, key("k"), undefined, "api-key-0"],
    ["a token, in any case", TOKENS, { authorization: "bEARER   t" }, undefined, "token"],
    ["the token before the key", both, { ...bearer("t"), ...key("k") }, undefined, "token"],
    ["a wrong token before a right key", both, { ...bearer("x"), ...key("k") }, undefined, BAD_TOKEN_OR_KEY],
    ["a wrong key before a right token in the body", both, key("x"), { authToken: "t" }, BOTH_CHALLENGES],
    ["the body's token before its key", both, {}, { authToken: "t", apiKey: "x" }, "token"],
    ["the body's wrong token before its key", both, {}, { authToken: "x", apiKey: "k" }, BAD_TOKEN_OR_KEY],
    [
      "a key beside a token that nobody checks",
      KEYS,
      { ...bearer("x"), ...key("k") },
      undefined,
      "api-key-0",
    ],
    [
      "a key beside another scheme",
      both,
      { authorization: "Basic eDp4", ...key("k") },
      undefined,
      "api-key-0",
    ],
    ["the body's token beside a key that nobody checks", TOKENS, key("x"), { authToken: "t" }, "token"],
    [
      "the body's key beside a token that nobody checks",
      ...([KEYS, bearer("x"), { authToken: "x", apiKey: "k" }, "api-key-0"] as const),
    ],
    ["nothing", both, {}, undefined, BOTH_CHALLENGES],
    ["nothing, where tokens are", TOKENS, {}, undefined, BEARER_CHALLENGE],
    ["nothing, where keys are", KEYS, {}, undefined, KEY_CHALLENGE],
    ["nothing, where nobody is let in", {}, {}, undefined, KEY_CHALLENGE],
    ["only a key that nobody checks", TOKENS, key("k"), undefined, BEARER_CHALLENGE],
    ["only a token that nobody checks", KEYS, bearer("t"), undefined, KEY_CHALLENGE],
    ["only another scheme", TOKENS, { authorization: "Basic eDp4" }, undefined, BEARER_CHALLENGE],
    [
      "only a scheme with a similar name",
      TOKENS,
      { authorization: "Bearerish t" },
      undefined,
      BEARER_CHALLENGE,
    ],
    ["a scheme without a token", TOKENS, { authorization: "Bearer" }, undefined, MALFORMED],
    ["two tokens", TOKENS, bearer("t, Bearer t"), undefined, MALFORMED],
    ["a wrong key", KEYS, key("K"), undefined, KEY_CHALLENGE],
    ["an empty key", { ...KEYS, ...open }, key(""), undefined, KEY_CHALLENGE],
    ["everybody: nothing", open, {}, undefined, "anonymous"],
    [
      "everybody: credentials that nobody checks",
      ...([open, { ...bearer("x"), ...key("x") }, { authToken: "x", apiKey: "x" }, "anonymous"] as const),
    ],
    ["everybody: no credentials where some are checked", { ...both, ...open }, {}, undefined, "anonymous"],
    [
      "everybody: another scheme",
      { ...both, ...open },
      { authorization: "Basic eDp4" },
      undefined,
      "anonymous",
    ],
    ["everybody: a token that nobody checks", { ...KEYS, ...open }, bearer("t"), undefined, "anonymous"],
    [
      "everybody: a wrong key behind a token that nobody checks",
      ...([{ ...KEYS, ...open }, { ...bearer("t"), ...key("x") }, undefined, KEY_CHALLENGE] as const),
    ],
    ["everybody: a wrong token", { ...TOKENS, ...open }, bearer("x"), undefined, BAD_TOKEN],
    [
      "everybody: the body's right token behind a key that nobody checks",
      ...([{ ...TOKENS, ...open }, key("x"), { authToken: "t" }, "token"] as const),
    ],
    ["everybody: the body's wrong key", { ...KEYS, ...open }, {}, { apiKey: "x" }, KEY_CHALLENGE],
  ];
  it.each(cases)("the first credential decides: %s", async (_, auth, headers, body, gives) => {
    const authenticator = new Authenticator(auth);
    const answer = (async () =>
      (await authenticator.byHeaders(new Headers(headers), forever)) ??
      (await authenticator.byIdentity(body, forever)))();
    if (!gives.includes("realm=")) {
      expect(await answer).toMatchObject({ subject: gives });
      return;
    }
    const refusal = await failureOf(answer);
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({ status: 401, headers: { "www-authenticate": gives } });
  });

  it("the challenge lists the accepted schemes", async () => {
    expect((await failureOf(new Authenticator(both).byIdentity(undefined, forever))).message).toBe(
      "credentials are needed: a bearer token or an API key",
    );
  });
});

describe("options", () => {
  const uri = "https://issuer.example/jwks";
  const good = { issuer: ISSUER, audience: AUDIENCE, jwksUri: uri };
  const wrong: [member: string, auth: unknown][] = [
    ["auth", null],
    ["auth", []],
    ["auth", "anonymous"],
    ["auth.apikeys", { apikeys: ["k"] }],
    ["auth.anonymous", { anonymous: "false" }],
    ["auth.anonymous", { anonymous: null }],
    ["auth.apiKeys", { apiKeys: "key" }],
    ["auth.apiKeys", { apiKeys: [] }],
    ["auth.apiKeys[0]", { apiKeys: [""] }],
    ["auth.apiKeys[0]", { apiKeys: [undefined] }],
    ["auth.apiKeys[1]", { apiKeys: ["k", " k"] }],
    ["auth.apiKeys[0]", { apiKeys: ["k\t"] }],
    ["auth.apiKeys[0]", { apiKeys: ["k\n"] }],
    ["auth.apiKeys[0]", { apiKeys: ["k\r\nx: y"] }],
    ["auth.apiKeys[0]", { apiKeys: ["k\u0000k"] }],
    ["auth.apiKeys[0]", { apiKeys: ["k\u007fk"] }],
    ["auth.apiKeys[0]", { apiKeys: ["schlüssel €"] }],
    ["auth.apiKeys[0]", { apiKeys: ["x".repeat(16_385)] }],
    ["auth.bearer", { bearer: "token" }],
    ["auth.bearer", { bearer: [] }],
    ["auth.bearer.jwksURI", { bearer: { ...good, jwksURI: uri } }],
    ["auth.bearer.issuer", { bearer: { ...good, issuer: undefined } }],
    ["auth.bearer.audience", { bearer: { ...good, audience: undefined } }],
    ["auth.bearer.audience", { bearer: { ...good, audience: 7 } }],
    ["auth.bearer.audience", { bearer: { ...good, audience: [] } }],
    ["auth.bearer.audience", { bearer: { ...good, audience: ["a", ""] } }],
    ["auth.bearer.audience", { bearer: { ...good, audience: { 0: "a" } } }],
    ["auth.bearer.algorithms", { bearer: { ...good, algorithms: "ES256" } }],
    ["auth.bearer.algorithms", { bearer: { ...good, algorithms: [] } }],
    ["auth.bearer.algorithms", { bearer: { ...good, algorithms: ["ES256", "HS256"] } }],
    ["auth.bearer.algorithms", { bearer: { ...good, algorithms: ["none"] } }],
    ["auth.bearer.algorithms", { bearer: { ...good, algorithms: [7] } }],
    ["auth.bearer.tokenType", { bearer: { ...good, tokenType: 7 } }],
    ["auth.bearer.jwksUri", { bearer: { ...good, jwksUri: "/jwks" } }],
    ["auth.bearer.jwksUri", { bearer: { ...good, jwksUri: "http://issuer.example/jwks" } }],
    ["auth.bearer.jwksUri", { bearer: { ...good, jwksUri: "https://u:p@issuer.example/jwks" } }],
    ["auth.bearer.jwksUri", { bearer: { ...good, jwksUri: "https://u@issuer.example/jwks" } }],
    ["auth.bearer.jwksUri", { bearer: { ...good, jwksUri: "file:///jwks" } }],
  ];
  it.each(wrong)("%s is refused, case %#", (member, auth) => {
    const make = () => new Authenticator(auth as AuthOptions);
    expect(make).toThrow(InvalidInputError);
    expect(make).toThrow(`${member}: `);
  });

  it("valid options are copied", async () => {
    const apiKeys = ["k", 'with blanks, and "quotes"', "schlüssel"];
    const authenticator = new Authenticator({ apiKeys, bearer: good, anonymous: false });
    apiKeys.push("later");
    for (const [index, key] of apiKeys.entries()) {
      const answer = authenticator.byHeaders(new Headers({ "x-api-key": key }), forever);
      if (key === "later") expect(await failureOf(answer)).toMatchObject({ status: 401 });
      else expect(await answer).toEqual({ subject: `api-key-${index}`, method: "apiKey" });
    }
  });
});

describe("behind the handler", () => {
  const request = (headers: Readonly<Record<string, string>>) =>
    new Request("http://localhost/v1/namespace/$/list", { headers });

  it("the log has details that the client does not get", async () => {
    const log: RequestLogEntry[] = [];
    await using namespace = new DirectoryNamespace({ root: await makeTempDir() });
    const lookup = () => Promise.reject(new Error("no database at /secret"));
    const handler = createRestHandler(namespace, {
      auth: { bearer, apiKeys: lookup },
      log: (entry) => log.push(entry),
    });
    const answers = [
      await handler(request({ authorization: `Bearer ${await token({ claims: { exp: 1 } })}` })),
      await handler(request({ "x-api-key": "k" })),
    ];
    expect(answers.map((answer) => answer.status)).toEqual([401, 500]);
    for (const answer of answers) expect(await answer.text()).not.toMatch(/exp|secret|database/);
    expect(log.map(({ error }) => (error as Error).cause)).toMatchObject([
      { code: "ERR_JWT_EXPIRED" },
      { message: "no database at /secret" },
    ]);
  });

  it("authorize may request another caller, and the answer has a challenge", async () => {
    const authorize = () => {
      throw new UnauthenticatedError("not with this key");
    };
    await using namespace = new DirectoryNamespace({ root: await makeTempDir(), authorize });
    const handler = createRestHandler(namespace, { auth: KEYS });
    const answer = await handler(request({ "x-api-key": "k" }));
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toBe(KEY_CHALLENGE);
    expect(await answer.json()).toMatchObject({ code: 16, detail: "not with this key" });
  });

  it("a hanging lookup ends with the request's time limit", async () => {
    await using namespace = new DirectoryNamespace({ root: await makeTempDir() });
    const handler = createRestHandler(namespace, {
      auth: { apiKeys: () => new Promise(() => undefined) },
      limits: { requestTimeoutMs: 20 },
    });
    // The handler's own timer keeps no process alive.
    const stayAlive = setInterval(() => undefined, 1000);
    const answer = await handler(request({ "x-api-key": "k" }));
    clearInterval(stayAlive);
    expect(answer.status).toBe(503);
    expect(handler.counters.inFlight).toBe(0);
  });
});
