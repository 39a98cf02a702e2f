/**
 * Authorisation of a call. `authorize` is asked about each object that the call reads, creates, moves or
 * removes. A question names an operation and the id of one object; `authorize` denies it by throwing.
 * docs/security.md lists all questions.
 */

import { untilAborted } from "../async/abort.js";
import type { Visibility } from "../catalog/listing.js";
import { NamespaceError, PermissionDeniedError } from "../errors.js";
import type { Authorize, AuthorizeCall } from "../namespace/options.js";
import type { RequestBase } from "../namespace/request.js";
import { type OperationName, operationRow } from "../operationTable.js";
import { isMainBranch } from "../table/refs/refNames.js";
import { ABSENCES } from "../typedErrors.js";

/** Details of a question besides the operation and the id. */
export type Details = Pick<AuthorizeCall, "branch" | "location">;

/** Members that appear in questions. Each is read once: the engine uses the authorised value. */
const ASKED_MEMBERS = ["branch", "name", "location"] as const;
/** Operations whose `name` is the name of a branch. */
const OF_NAMED_BRANCH: ReadonlySet<string> = new Set(["createTableBranch", "deleteTableBranch"]);

/**
 * Returns the details of a request's question, and a copy of the request in which the authorised members are
 * fixed.
 * @param request unchecked
 * @param id checked id of the request
 * @param others members to add to the copy
 */
export function pinRequest<Request extends RequestBase>(
  operation: string,
  request: Request,
  id: readonly string[],
  others: Readonly<Record<string, unknown>> = {},
): { readonly pinned: Request; readonly details: Details } {
  const members: Record<string, unknown> = { ...others, id };
  for (const member of ASKED_MEMBERS) {
    if (member in request) members[member] = (request as Readonly<Record<string, unknown>>)[member];
  }
  const { branch, name, location } = members as Readonly<Record<string, string | undefined>>;
  return {
    pinned: withMembers(request, members),
    details: {
      branch: OF_NAMED_BRANCH.has(operation) ? name : branch,
      ...(operation === "registerTable" && { location }),
    },
  };
}

/** Returns a request with new values for some members. */
function withMembers<Request extends RequestBase>(
  request: Request,
  members: Readonly<Record<string, unknown>>,
): Request {
  if (isCopied(request)) return { ...request, ...members };
  // The request inherits all other members, because they may be getters of a class.
  const pins = Object.entries(members).map(([member, value]) => [member, { value, enumerable: true }]);
  return Object.create(request, Object.fromEntries(pins));
}

/** True if a copy has all members of an object: a plain object without hidden members. */
const isCopied = (request: object): boolean =>
  Object.getPrototypeOf(request) === Object.prototype &&
  Object.getOwnPropertyNames(request).length === Object.keys(request).length;

/**
 * True if an operation itself asks `authorize` about the tables that it touches, because the request names a
 * job or a transaction. Only `listJobs` may also name a table.
 */
export const asksItself = (name: OperationName, id: readonly string[]): boolean =>
  operationRow(name).namesJob === true && (name !== "listJobs" || id.length === 0);

/** Asks `authorize` on behalf of one call. */
export interface Access {
  /**
   * Asks one question. A granted question is not repeated, so code may ask early and again under a lock.
   * @throws PermissionDeniedError, or an error of the engine that `authorize` throws
   */
  require(operation: string, id: readonly string[], details?: Details): Promise<void>;
  /**
   * Asks the call's own question about a branch that the request names only through a tag.
   * @param branch null for main
   * @throws PermissionDeniedError, or an error of the engine that `authorize` throws
   */
  requireBranch(branch: string | null): Promise<void>;
  /**
   * Returns a filter for listings that keeps the objects about which the question is granted. Null without
   * `authorize`.
   * @throws an error of the engine that `authorize` throws, unless it denies or hides the object
   */
  visibility(operation: "tableExists" | "namespaceExists" | "listJobs"): Visibility;
}

/** Errors by which `authorize` hides an object from listings. */
const HIDING = [PermissionDeniedError, ...ABSENCES];

/** Access without `authorize`: everything is granted. */
export const UNRESTRICTED: Access = {
  require: async () => {},
  requireBranch: async () => {},
  visibility: () => null,
};

/**
 * Returns the access of one call.
 * @param request names the caller; unchecked
 * @param operation the call's own operation
 * @param id id that the call is about
 */
export function accessOf(
  authorize: Authorize | undefined,
  request: RequestBase,
  operation: string,
  id: readonly string[],
): Access {
  if (authorize === undefined) return UNRESTRICTED;
  const { identity, principal, context, signal } = request;
  const granted = new Set<string>();
  const require: Access["require"] = async (questionOperation, objectId, details = {}) => {
    const { branch, location } = details;
    const question = JSON.stringify([questionOperation, objectId, branch, location]);
    if (granted.has(question)) return;
    try {
      const decision = authorize({
        operation: questionOperation,
        // Frozen, so that `authorize` cannot redirect the call.
        id: Object.freeze([...objectId]),
        identity,
        principal,
        context,
        ...(typeof branch !== "string" || isMainBranch(branch) ? {} : { branch }),
        ...(typeof location !== "string" ? {} : { location }),
      });
      await untilAborted(decision, signal);
      granted.add(question);
    } catch (error) {
      if (error instanceof NamespaceError || signal?.aborted) throw error;
      throw new PermissionDeniedError(`${questionOperation} was denied`, { cause: error });
    }
  };
  const visibility: Access["visibility"] = (listingOperation) => async (objectId) => {
    try {
      await require(listingOperation, objectId);
      return true;
    } catch (error) {
      if (HIDING.some((kind) => error instanceof kind)) return false;
      throw error;
    }
  };
  const requireBranch: Access["requireBranch"] = (branch) =>
    require(operation, id, { branch: branch ?? undefined });
  return { require, requireBranch, visibility };
}
