/**
 * Storage options in answers. Clients that open a table's files themselves pass them to their own engine.
 * They may contain credentials. The host's program provides them after the engine has allowed and carried out
 * the call. No message contains a value, because options are secrets.
 */

import { untilAborted } from "../async/abort.js";
import type { DirectoryNamespace } from "../DirectoryNamespace.js";
import { InternalError, NamespaceError, ServiceUnavailableError } from "../errors.js";
import type { Identity, Principal } from "../namespace/request.js";
import type { OperationName } from "../operationTable.js";

/** A table whose files a client is about to open or write. */
export interface StorageTable {
  /** Path of the table: its namespaces, then its name. */
  readonly id: readonly string[];
  /** Absolute path of the table's or branch's directory, as in the answer. */
  readonly location: string;
  /** Operation whose answer gets the options. */
  readonly operation: "describeTable" | "declareTable" | "createTable" | "batchCommitTables";
}

/** The caller, and its credentials, which the host may exchange for credentials of a storage. */
export interface StorageIdentity extends Identity {
  /** The caller after verification by `auth`. */
  readonly principal: Principal;
}

/** Storage options by name. Clients pass them to their storage unchanged. */
export type StorageOptions = Readonly<Record<string, string>>;

/**
 * Returns the storage options of a table; null or undefined for none. The signal aborts if the client leaves,
 * the request takes longer than `requestTimeoutMs`, or the server stops.
 */
export type StorageOptionsHook = (
  table: StorageTable,
  identity: StorageIdentity,
  signal: AbortSignal,
) => StorageOptions | null | undefined | Promise<StorageOptions | null | undefined>;

/** A call that the engine has carried out. */
interface AnsweredCall {
  readonly namespace: DirectoryNamespace;
  readonly operation: OperationName;
  /** Request in the engine's form. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly identity: StorageIdentity;
  readonly signal: AbortSignal;
}

/** Members of requests and results that matter here. */
interface Asked {
  readonly id?: readonly string[];
  readonly vendCredentials?: boolean;
}
interface Located {
  readonly location: string;
}

/**
 * Returns the engine's answer with the storage options of its tables, unless the caller wants none or may not
 * describe them.
 * @throws InternalError if the hook fails or returns anything except an object of strings;
 *   ServiceUnavailableError if the hook throws one; the reason of an aborted signal
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
        const declaration = parts[index].declareTable ?? {};
        const vendedTable = await vended(hook, call, operation, declaration, declareTable);
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

/** True if the caller may describe a table. Others get no options for an existing one. */
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
    // The entries of a Map or of Headers are not members.
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
  throw new InternalError("storageOptions: the function returned a value that is not an object of strings");
}
