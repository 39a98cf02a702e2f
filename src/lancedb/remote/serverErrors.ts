/** Errors of LanceDB's servers: typed by code or status, with the texts of its client. */

import type { RefusedRequest } from "../../client/clientDialect.js";
import { errorOfAnswer, withoutSecrets } from "../../client/problems.js";
import { InternalError, type NamespaceError, ServiceUnavailableError } from "../../errors.js";
import { errorOfFailure } from "../../typedErrors.js";

/** Text that LanceDB's client gives to an error. */
const texts = new WeakMap<object, string>();

/** Returns the text of a server's error as LanceDB's client has it; undefined for other errors. */
export const serverText = (error: unknown): string | undefined =>
  typeof error === "object" && error !== null ? texts.get(error) : undefined;

/** Errors of answers with status 404 and without a code. */
const missingPaths = new WeakSet<object>();

/** True for the error of a server without codes about something that is not there. */
export const isMissingPath = (error: unknown): boolean => missingPaths.has(error as object);

/** Returns the error of an answer. Servers without codes tell a missing and an existing table by status. */
export function errorOfServer(refused: RefusedRequest, secrets: readonly string[]): NamespaceError {
  const { status, statusText, text, json, route, requestHeaders } = refused;
  const hasCode = typeof (json as { code?: unknown } | null | undefined)?.code === "number";
  const isTable = route.startsWith("/v1/table/{id}");
  const body = withoutSecrets(text, secrets);
  const error =
    !hasCode && status === 404 && isTable
      ? errorOfFailure({ type: "TableNotFound", message: `the table was not found: ${body}` })
      : !hasCode && status === 400 && route.endsWith("/create") && /already exists/.test(text)
        ? errorOfFailure({ type: "TableAlreadyExists", message: body })
        : errorOfAnswer({ ...refused, json: json ?? { message: body } }, secrets);
  if (!hasCode && status === 404) missingPaths.add(error);
  // Tiltyard's errors have codes: the drop-in's sentences say more about them than their JSON.
  if (hasCode) return error;
  const reason = `${status} ${withoutSecrets(statusText, secrets) || NAMES[status] || ""}: ${body}`;
  const id = requestHeaders["x-request-id"];
  texts.set(error, `Http error: (request_id=${id}) ${reason}\n\nCaused by: ${reason}`);
  return error;
}

const NAMES: Readonly<Record<number, string>> = { 429: "Too Many Requests", 500: "Internal Server Error" };

/** Returns the error after the last attempt, which says how often the client tried again. */
export function afterRetries(error: NamespaceError, attempts: number): NamespaceError {
  const cause = serverText(error) ?? error.message;
  const [, id = crypto.randomUUID()] = /request_id=([^)]*)\)/.exec(cause) ?? [];
  const last =
    error instanceof InternalError
      ? new InternalError(error.message, { cause: error })
      : new ServiceUnavailableError(error.message, { cause: error });
  const count = `${attempts}/${attempts}`;
  texts.set(last, `Hit retry limit for request_id=${id} (request_failures=${count})\n\nCaused by: ${cause}`);
  return last;
}
