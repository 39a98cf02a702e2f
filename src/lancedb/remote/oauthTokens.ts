/** Tokens of an OAuth server for connections, fetched when they are needed and again before they expire. */

import { readText } from "../../client/transport.js";
import { failure } from "../failures.js";
import { OAuthHeaderProvider, type TokenResponse } from "../header.js";
import type { OAuthConfig } from "../native.js";

/** Address of the service that gives tokens to machines in Azure. */
const IMDS = "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01";
/** Maximum milliseconds of a request for a token. */
const TIMEOUT_MS = 30_000;
/** Maximum bytes of an answer. */
const MAX_BYTES = 2 ** 20;

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * Returns a source of the header with a token.
 * @throws Error for credentials that are not complete
 */
export function oauthHeaders(config: OAuthConfig, send: Fetch): () => Promise<Record<string, string>> {
  const fetchToken = tokenFetcher(config, send);
  const provider = new OAuthHeaderProvider(fetchToken, config.refreshBufferSecs ?? 300);
  return () => provider.freshHeaders();
}

function tokenFetcher(config: OAuthConfig, send: Fetch): () => Promise<TokenResponse> {
  const { flow = "client_credentials", clientSecret, scopes } = config;
  if (flow === "azure_managed_identity") {
    const [scope] = scopes;
    if (scopes.length !== 1 || scope === undefined) {
      throw failure("Invalid input, exactly one scope is required for AzureManagedIdentity flow");
    }
    return () => identityToken(config, scope, send);
  }
  if (flow !== "client_credentials") throw failure(`Invalid input, Unknown OAuth flow '${flow}'`);
  if (!clientSecret) throw failure("Invalid input, client_secret is required for ClientCredentials flow");
  let endpoint: Promise<string> | undefined;
  return async () => {
    endpoint ??= discoveredEndpoint(config.issuerUrl, send);
    try {
      return await clientToken(config, await endpoint, send);
    } catch (error) {
      endpoint = undefined;
      throw error;
    }
  };
}

/** Returns the address of tokens, from the issuer's description of itself. */
async function discoveredEndpoint(issuerUrl: string, send: Fetch): Promise<string> {
  const url = `${issuerUrl.replace(/\/+$/, "")}/.well-known/openid-configuration`;
  const { token_endpoint } = await jsonOf("OIDC discovery", url, { method: "GET" }, send);
  if (typeof token_endpoint !== "string") {
    throw failure("Runtime error: Failed to parse OIDC discovery document: it has no token_endpoint");
  }
  return token_endpoint;
}

async function clientToken(config: OAuthConfig, endpoint: string, send: Fetch): Promise<TokenResponse> {
  const body = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: config.clientId,
    client_secret: config.clientSecret ?? "",
    scope: config.scopes.join(" "),
  });
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return tokenOf(
    await jsonOf("OAuth token request", endpoint, { method: "POST", headers, body: String(body) }, send),
  );
}

async function identityToken(config: OAuthConfig, scope: string, send: Fetch): Promise<TokenResponse> {
  const resource = scope.replace(/\/\.default$/, "");
  const { managedIdentityClientId: client } = config;
  const query = new URLSearchParams({ resource, ...(client !== undefined && { client_id: client }) });
  const init = { method: "GET", headers: { metadata: "true" } };
  return tokenOf(await jsonOf("Azure managed identity request", `${IMDS}&${query}`, init, send));
}

function tokenOf({ access_token, expires_in }: Readonly<Record<string, unknown>>): TokenResponse {
  if (typeof access_token !== "string")
    throw failure("Runtime error: the token response has no access_token");
  const seconds = Number(expires_in);
  return {
    accessToken: access_token,
    ...(expires_in != null && seconds >= 0 && { expiresIn: seconds }),
  };
}

/** Sends a request. Errors leave the body of an answer out, which may have secrets. */
async function jsonOf(
  what: string,
  url: string,
  init: RequestInit,
  send: Fetch,
): Promise<Readonly<Record<string, unknown>>> {
  let response: Response;
  let text = "";
  try {
    response = await send(url, { ...init, redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!response.ok) await response.body?.cancel();
    else if (response.body !== null) text = await readText(response.body, MAX_BYTES);
  } catch (error) {
    throw failure(`Runtime error: ${what} failed: ${(error as Error).message}`);
  }
  if (!response.ok) throw failure(`Runtime error: ${what} failed with status ${response.status}`);
  try {
    const json: unknown = JSON.parse(text);
    if (typeof json === "object" && json !== null) return json as Readonly<Record<string, unknown>>;
  } catch {
    // The text is no JSON or too long: it gets the error of JSON that is not an object.
  }
  throw failure(`Runtime error: Failed to parse the answer of the ${what}`);
}
