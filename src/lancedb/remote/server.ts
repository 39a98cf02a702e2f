/** Connections to LanceDB's servers and to servers with Tiltyard's handler (`db://`). */

import { isError } from "../../bytes/anyRealm.js";
import { connectDialect, type ServerConnection } from "../../client/restNamespace.js";
import { failure, notSupported, translated } from "../failures.js";
import { type HeaderProvider, OAuthHeaderProvider } from "../header.js";
import type { ClientConfig, ConnectionOptions } from "../native.js";
import { oauthHeaders } from "./oauthTokens.js";
import { remoteDialect } from "./remoteDialect.js";

type Headers = Record<string, string>;

/** A source of headers: a provider, or a function. */
export type HeaderSource = HeaderProvider | (() => Headers) | (() => Promise<Headers>);

/** Release of LanceDB's client that requests name, unless the program chooses a name. */
const USER_AGENT = "LanceDB-Node-Client/0.39.0";
/** Statuses after which LanceDB's client tries again. */
const RETRIED_STATUSES = [429, 500, 502, 503];

/** A server and its address, for texts. */
export interface Server {
  readonly connection: ServerConnection;
  readonly host: string;
}

/**
 * Connects to the database that an address such as `db://name` or `db://name/prefix` names.
 * @throws Error as LanceDB's client does, for options that are missing or not there
 */
export function connectServer(
  uri: string,
  options: Partial<ConnectionOptions>,
  headerProvider: HeaderSource | undefined,
): Server {
  const [, database = "", prefix = ""] = /^db:\/\/([^/]*)\/?(.*)$/i.exec(uri) ?? [];
  if (database === "") throw failure(`Invalid input, Invalid database URL (missing host) '${uri}'`);
  const { region = "us-east-1", hostOverride, oauthConfig, clientConfig = {} } = options;
  const apiKey = options.apiKey ?? environment("LANCEDB_API_KEY");
  if (apiKey === undefined && oauthConfig == null) {
    throw failure("Invalid input, An api_key or oauth_config is required when connecting to LanceDb Cloud");
  }
  if (clientConfig.tlsConfig != null) {
    throw notSupported("tlsConfig is not there: set NODE_EXTRA_CA_CERTS, or put a proxy before the server");
  }
  const host = hostOverride ?? `https://${database}.${region}.api.lancedb.com`;
  const fixed: Headers = {
    "user-agent": clientConfig.userAgent ?? USER_AGENT,
    "x-lancedb-database": database,
    ...(prefix !== "" && { "x-lancedb-database-prefix": prefix }),
    ...(apiKey !== undefined && oauthConfig == null && { "x-api-key": apiKey }),
    ...userHeader(clientConfig),
    ...inLowerCase(clientConfig.extraHeaders ?? {}),
  };
  const token = oauthConfig == null ? undefined : oauthHeaders(oauthConfig, (url, init) => fetch(url, init));
  const headers = async (): Promise<Headers> => ({
    "x-request-id": crypto.randomUUID(),
    ...fixed,
    ...(await token?.()),
    ...inLowerCase(await providedHeaders(headerProvider)),
  });
  const { retryConfig = {}, timeoutConfig = {}, idDelimiter } = clientConfig;
  const readTimeout = timeoutConfig.timeout ?? timeoutConfig.readTimeout ?? 300;
  try {
    const connection = connectDialect(
      {
        uri: host,
        headers,
        delimiter: idDelimiter,
        timeoutMs: Math.max(1, Math.round(readTimeout * 1000)),
        retry: {
          retries: retryConfig.retries ?? 3,
          delayMs: Math.round((retryConfig.backoffFactor ?? 0.25) * 1000),
        },
      },
      remoteDialect(retryConfig.statuses ?? RETRIED_STATUSES),
    );
    return { connection, host };
  } catch (error) {
    throw translated(error);
  }
}

/** Returns the header with the identifier of the user. */
function userHeader({ userId }: ClientConfig): Headers {
  const keyName = environment("LANCEDB_USER_ID_ENV_KEY");
  const user =
    userId ?? environment("LANCEDB_USER_ID") ?? (keyName === undefined ? undefined : environment(keyName));
  return user === undefined ? {} : { "x-lancedb-user-id": user };
}

/** Asks a source of headers. */
async function providedHeaders(source: HeaderSource | undefined): Promise<Headers> {
  if (source == null) return {};
  try {
    if (source instanceof OAuthHeaderProvider) return await source.freshHeaders();
    return typeof source === "function" ? await source() : await source.getHeaders();
  } catch (error) {
    const reason = isError(error) ? error.message : String(error);
    throw failure(`Runtime error: JavaScript get_headers failed: GenericFailure, ${reason}`, error);
  }
}

const inLowerCase = (headers: Headers): Headers =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** Returns a variable of the environment; undefined where there is none, or if it is empty. */
const environment = (name: string): string | undefined => globalThis.process?.env?.[name] || undefined;
