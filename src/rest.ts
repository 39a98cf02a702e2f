/**
 * The HTTP face of the engine: a fetch-style handler for the operations of the namespace interface.
 *
 * @module tiltyard/rest
 */

export type { Principal } from "./namespace.js";
export type { ApiKeyOptions } from "./rest/apiKeys.js";
export type { AuthOptions, PrincipalLookup } from "./rest/auth.js";
export type { BearerOptions } from "./rest/bearer.js";
export type { RestCounters } from "./rest/counters.js";
export {
  createRestHandler,
  type RequestLogEntry,
  type RestHandler,
  type RestHandlerOptions,
  type RestLimits,
} from "./rest/handler.js";
export { type FetchHandler, toNodeListener } from "./rest/nodeListener.js";
export { attachProblemAnswers } from "./rest/nodeProblems.js";
export type { Problem } from "./rest/problem.js";
