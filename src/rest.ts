/**
 * The HTTP interface of the engine: a fetch-style handler for the operations of the namespace spec.
 *
 * @module tiltyard/rest
 */

export type { Principal } from "./namespace/request.js";
export type { ApiKeyOptions } from "./rest/auth/apiKeys.js";
export type { AuthOptions, PrincipalLookup } from "./rest/auth/auth.js";
export type { BearerOptions } from "./rest/auth/bearer.js";
export {
  createRestHandler,
  type RequestLogEntry,
  type RestHandler,
  type RestHandlerOptions,
} from "./rest/handler.js";
export type { RestCounters } from "./rest/http/counters.js";
export { type FetchHandler, toNodeListener } from "./rest/http/nodeListener.js";
export { attachProblemAnswers } from "./rest/http/nodeProblems.js";
export type { RestLimits } from "./rest/limits.js";
export type {
  StorageIdentity,
  StorageOptions,
  StorageOptionsHook,
  StorageTable,
} from "./rest/storageOptions.js";
export type { Problem } from "./rest/wire/problem.js";
