/** A certified OAuth 2.0 server (`oidc-provider`) on the loopback, with replaceable and malformed keys. */

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK } from "jose";

/** Default audience of tokens. */
export const AUDIENCE = "https://tables.example/";
export const TOKEN_SECONDS = 300;

const CLIENT = { id: "robot", secret: "the-robots-secret-of-this-test-0123456789" };
const ID_TOKEN_GRANT = "urn:example:id-token";

export interface AuthorizationServer extends AsyncDisposable {
  readonly issuer: string;
  readonly jwksUri: string;
  /** Private key for each algorithm, with `kid` and `alg`. */
  readonly privateKeys: readonly JWK[];
  readonly keyReads: number;
  accessToken(request?: { readonly audience?: string; readonly alg?: "RS256" | "ES256" }): Promise<string>;
  /** Returns an ID token, whose audience is the client. */
  idToken(nonce?: string): Promise<string>;
  /** Signs by new keys from now on, and publishes only those. */
  rotateKeys(): Promise<void>;
  /** Replaces the answer to requests for keys; null restores the normal one. */
  answerKeysBy(answer: RequestListener | null): void;
}

/** @param options name and signing keys of another server, to imitate it */
export async function startAuthorizationServer(
  options: { readonly issuer?: string; readonly keys?: readonly JWK[] } = {},
): Promise<AuthorizationServer> {
  let listener: RequestListener = (_request, response) => response.writeHead(503).end();
  let keysAnswer: RequestListener | null = null;
  let keyReads = 0;
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    if (request.url === "/jwks") {
      keyReads++;
      if (keysAnswer !== null) return keysAnswer(request, response);
    }
    return listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer = options.issuer ?? origin;
  let keys = options.keys ?? (await makeKeys());
  listener = await providerOf(issuer, keys);

  async function grant(form: Readonly<Record<string, string>>): Promise<Record<string, string>> {
    const answer = await fetch(`${origin}/token`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${CLIENT.id}:${CLIENT.secret}`)}` },
      body: new URLSearchParams(form),
    });
    const json = (await answer.json()) as Record<string, string>;
    if (answer.status !== 200) throw new Error(`the authorization server refused: ${JSON.stringify(json)}`);
    return json;
  }

  return {
    issuer,
    jwksUri: `${origin}/jwks`,
    get privateKeys() {
      return keys;
    },
    get keyReads() {
      return keyReads;
    },
    async accessToken({ audience = AUDIENCE, alg = "RS256" } = {}) {
      const resource = `urn:example:${alg}:${audience}`;
      return (await grant({ grant_type: "client_credentials", resource })).access_token;
    },
    async idToken(nonce = "") {
      return (await grant({ grant_type: ID_TOKEN_GRANT, nonce })).id_token;
    },
    async rotateKeys() {
      keys = await makeKeys();
      listener = await providerOf(issuer, keys);
    },
    answerKeysBy(answer) {
      keysAnswer = answer;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export async function makeKeys(): Promise<JWK[]> {
  return Promise.all(
    ["RS256", "ES256"].map(async (alg) => {
      const { privateKey } = await generateKeyPair(alg, { extractable: true });
      return { ...(await exportJWK(privateKey)), alg, use: "sig", kid: `${alg}-${crypto.randomUUID()}` };
    }),
  );
}

async function providerOf(issuer: string, keys: readonly JWK[]): Promise<RequestListener> {
  const { Provider } = await quietly(() => import("oidc-provider"));
  const provider = await quietly(
    () =>
      new Provider(issuer, {
        jwks: { keys: [...keys] as never[] },
        clients: [
          {
            client_id: CLIENT.id,
            client_secret: CLIENT.secret,
            grant_types: ["client_credentials", ID_TOKEN_GRANT],
            redirect_uris: [],
            response_types: [],
          },
        ],
        features: {
          devInteractions: { enabled: false },
          clientCredentials: { enabled: true },
          resourceIndicators: {
            enabled: true,
            getResourceServerInfo(_context, resource) {
              const [, , alg, ...audience] = resource.split(":");
              return {
                audience: audience.join(":"),
                scope: "",
                accessTokenFormat: "jwt",
                accessTokenTTL: TOKEN_SECONDS,
                jwt: { sign: { alg: alg as "RS256" } },
              };
            },
          },
        },
        ttl: { IdToken: TOKEN_SECONDS, ClientCredentials: TOKEN_SECONDS },
      }),
  );
  provider.registerGrantType(
    ID_TOKEN_GRANT,
    async (context) => {
      const { nonce } = context.oidc.params as { nonce?: string };
      const token = new provider.IdToken({ sub: "a-person" }, { ctx: context } as never);
      Object.assign(token, { scope: "openid" });
      if (nonce !== undefined) token.set("nonce", nonce);
      context.body = { id_token: await token.issue({ use: "idtoken" }) };
    },
    ["nonce"],
  );
  return provider.callback();
}

/** Silences its warnings of the release of Node, and of the store in memory. */
async function quietly<T>(act: () => T | Promise<T>): Promise<T> {
  const { warn } = console;
  console.warn = () => undefined;
  try {
    return await act();
  } finally {
    console.warn = warn;
  }
}
