/**
 * Storage options in answers: what clients that open a table's files themselves pass to their own engine,
 * credentials among them. The host's program decides about them, once the engine has allowed the call and
 * carried it out. No message here contains a value: options are secrets.
 */

import { untilAborted } from "../async/abort.js";
import type { DirectoryNamespace } from "../DirectoryNamespace.js";
import { InternalError, NamespaceError, ServiceUnavailableError } from "../errors.js";
import type { Identity, Principal } from "../namespace/request.js";
import type { Route } from "./wire/route.js";

/** The table whose files a client is about to open or write. */
export interface StorageTable {
  /** Names of the namespaces that the table is in, then its own. */
  readonly id: readonly string[];
  /** Absolute path of the table's directory, or of its branch's; the answer has the same. */
  readonly location: string;
  /** The operation that answers. */
  readonly operation: "describeTable" | "declareTable" | "createTable" | "batchCommitTables";
}

/** The caller, and the credentials that it sent, for exchange with those of a storage. */
export interface StorageIdentity extends Identity {
  /** The caller as `auth` knows it. */
  readonly principal: Principal;
}

/** Texts by their keys; clients hand them to their storage as they are. */
export type StorageOptions = Readonly<Record<string, string>>;

/**
 * Finds the storage options of a table; null or undefined for none. The signal aborts when nobody waits for
 * them any more: the client went away, the request took longer than `requestTimeoutMs`, or the server stops.
 */
export type StorageOptionsHook = (
  table: StorageTable,
  identity: StorageIdentity,
  signal: AbortSignal,
) => StorageOptions | null | undefined | Promise<StorageOptions | null | undefined>;

/** A call that was carried out. */
interface AnsweredCall {
  readonly namespace: DirectoryNamespace;
  readonly operation: Route["operation"];
  /** In the engine's form. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly identity: StorageIdentity;
  readonly signal: AbortSignal;
}

/** The parts of requests and results that matter here. */
interface Asked {
  readonly id?: readonly string[];
  readonly vendCredentials?: boolean;
}
interface Located {
  readonly location: string;
}

/**
 * Returns the engine's answer with the storage options of the tables that it tells of, unless the caller
 * wants none, or may not describe them.
 * @throws InternalError if the hook fails, or returns anything but an object of texts;
 *   ServiceUnavailableError if it throws one; the signal's reason once it is aborted
 */
export async function withStorageOptions(
  hook: StorageOptionsHook,
  call: AnsweredCall,
  answer: unknown,
): Promise<unknown> {
  const { operation, request } = call;
  switch (operation) {
    case "describeTable":
    case "declareTable":
    case "createTable":
      return vended(hook, call, operation, request as Asked, answer as Located);
    case "batchCommitTables": {
      const parts = request.operations as readonly { readonly declareTable?: Asked }[];
      const { results, ...rest } = answer as {
        readonly results: readonly { readonly declareTable?: Located }[];
      };
      const vendedResults: object[] = [];
      for (const [index, result] of results.entries()) {
        const { declareTable } = result;
        if (declareTable === undefined) {
          vendedResults.push(result);
          continue;
        }
        const asked = parts[index].declareTable ?? {};
        const vendedTable = await vended(hook, call, operation, asked, declareTable);
        vendedResults.push({ ...result, declareTable: vendedTable });
      }
      return { ...rest, results: vendedResults };
    }
    default:
      return answer;
  }
}

async function vended(
  hook: StorageOptionsHook,
  call: AnsweredCall,
  operation: StorageTable["operation"],
  { id = [], vendCredentials }: Asked,
  answer: Located,
): Promise<Located> {
  if (vendCredentials === false) return answer;
  if (operation !== "describeTable" && !(await mayDescribe(call, id))) return answer;
  const { identity, signal } = call;
  const { location } = answer;
  const table = { id: [...id], location, operation };
  const storageOptions = await untilAborted(ask(hook, table, identity, signal), signal);
  return storageOptions === null ? answer : ({ ...answer, storageOptions } as Located);
}

/**
 * True if the caller may describe a table: who may only create one gets no options for that of somebody else.
 */
async function mayDescribe(
  { namespace, identity, signal }: AnsweredCall,
  id: readonly string[],
): Promise<boolean> {
  const { principal, ...credentials } = identity;
  try {
    await namespace.describeTable({ id, identity: credentials, principal, signal });
    return true;
  } catch (error) {
    if (error instanceof NamespaceError && error.status < 500) return false;
    throw error;
  }
}

async function ask(
  hook: StorageOptionsHook,
  table: StorageTable,
  identity: StorageIdentity,
  signal: AbortSignal,
): Promise<StorageOptions | null> {
  try {
    const options = await hook(table, identity, signal);
    if (options === undefined || options === null) return null;
    // A map or a list of headers has its texts elsewhere than in its members.
    if (typeof options === "object" && !(Symbol.iterator in options)) {
      const entries = Object.entries(options);
      if (entries.every(([, value]) => typeof value === "string")) return Object.fromEntries(entries);
    }
  } catch (cause) {
    if (cause instanceof ServiceUnavailableError) {
      throw new ServiceUnavailableError("the storage options of the table are not available", { cause });
    }
    throw new InternalError("storageOptions: the function failed", { cause });
  }
  throw new InternalError("storageOptions: the function returned something else than an object of texts");
}
