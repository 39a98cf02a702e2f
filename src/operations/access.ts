/**
 * Authorisation of a call: for every object that it reads, makes, moves or removes. Each question names an operation
 * and the id of one object; `authorize` denies it by throwing. docs/security.md has the table of all questions.
 */

import { untilAborted } from "../async/abort.js";
import type { Visibility } from "../catalog/listing.js";
import { NamespaceError, PermissionDeniedError } from "../errors.js";
import type { Authorize, AuthorizeCall } from "../namespace/options.js";
import type { RequestBase } from "../namespace/request.js";
import { type OperationName, operationRow } from "../operationTable.js";
import { isMainBranch } from "../table/refs/refs.js";
import { ABSENCES } from "../typedErrors.js";

/** What a question is about besides operation and id. */
export type Details = Pick<AuthorizeCall, "branch" | "location">;

/** Members that a question is about. They are read once, so that what is authorised is what is done. */
const ASKED_MEMBERS = ["branch", "name", "location"] as const;
/** Operations whose `name` is the name of a branch. */
const OF_NAMED_BRANCH: ReadonlySet<string> = new Set(["createTableBranch", "deleteTableBranch"]);

/**
 * Pins the members of a request that are authorised to their values on arrival.
 * @param request unchecked
 * @param id of the request, checked
 */
export function pinRequest<Request extends RequestBase>(
  operation: string,
  request: Request,
  id: readonly string[],
): { readonly pinned: Request; readonly details: Details } {
  const members: Record<string, unknown> = { id };
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

/** The request with other values for some of its members. */
function withMembers<Request extends RequestBase>(
  request: Request,
  members: Readonly<Record<string, unknown>>,
): Request {
  if (isCopied(request)) return { ...request, ...members };
  // What an object of a class hands out by getters stays its own affair.
  const pins = Object.entries(members).map(([member, value]) => [member, { value, enumerable: true }]);
  return Object.create(request, Object.fromEntries(pins));
}

/** Whether a copy has all that an object has: a plain one without members that are hidden, from a log for example. */
const isCopied = (request: object): boolean =>
  Object.getPrototypeOf(request) === Object.prototype &&
  Object.getOwnPropertyNames(request).length === Object.keys(request).length;

/**
 * True if an operation itself asks `authorize` about the tables that it touches, because the request names a job or a
 * transaction. Only `listJobs` may also name a table.
 */
export const asksItself = (name: OperationName, id: readonly string[]): boolean =>
  operationRow(name).namesJob === true && (name !== "listJobs" || id.length === 0);

/** Asks whether a caller may do something. */
export interface Access {
  /**
   * Asks one question. A granted question is not asked again: what is asked early may be asked once more under a lock.
   * @throws PermissionDeniedError, or an error of the engine's classes that `authorize` throws
   */
  require(operation: string, id: readonly string[], details?: Details): Promise<void>;
  /**
   * Asks the question of the call itself about a branch that the request names only through a tag.
   * @param branch null is the main branch
   * @throws PermissionDeniedError, or an error of the engine's classes that `authorize` throws
   */
  requireBranch(branch: string | null): Promise<void>;
  /**
   * Which objects a listing shows: those about which the question is granted; null if there is no `authorize`.
   * @throws an error of the engine's classes that `authorize` throws while it is asked, other than a denial or that
   *   there is no such object
   */
  visibility(operation: "tableExists" | "namespaceExists" | "listJobs"): Visibility;
}

/** Errors that `authorize` throws to hide an object from listings. */
const HIDING = [PermissionDeniedError, ...ABSENCES];

/** For a host without `authorize`. */
export const UNRESTRICTED: Access = {
  require: async () => {},
  requireBranch: async () => {},
  visibility: () => null,
};

/**
 * @param request names the caller; unchecked
 * @param operation the call itself, and the id that it is about
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
  const require: Access["require"] = async (asked, of, details = {}) => {
    const { branch, location } = details;
    const question = JSON.stringify([asked, of, branch, location]);
    if (granted.has(question)) return;
    try {
      const decision = authorize({
        operation: asked,
        // Frozen, so that `authorize` cannot redirect the call.
        id: Object.freeze([...of]),
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
      throw new PermissionDeniedError(`${asked} was denied`, { cause: error });
    }
  };
  const visibility: Access["visibility"] = (asked) => async (of) => {
    try {
      await require(asked, of);
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
