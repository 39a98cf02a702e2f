/** Runs the calls in the page, on the engine that the page includes. */

import type { CallContext } from "../../calls/context.ts";
import { image } from "../../calls/rowCalls.ts";
import { CALLS, type CallAnswers } from "../../calls.ts";
import { CallError, type CallName, type Transport } from "../calls.ts";
import ProjectionWorker from "../projection.worker.ts?worker&inline";
import type { TableSource } from "./tableSource.ts";

/** Returns a value as it arrives over HTTP, so that the page gets the same from both transports. */
const throughJson = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

/** Makes a transport for the tables of a source. Its calls only read. */
export function inPageTransport({ namespace, title, hint }: TableSource): Transport {
  const contextOf = (signal: AbortSignal | undefined): CallContext => ({
    namespace,
    base: { signal, principal: undefined },
    title,
    isWritable: false,
  });
  return {
    async call<Name extends CallName>(name: Name, request: object, signal: AbortSignal | undefined) {
      try {
        return throughJson(await CALLS[name](contextOf(signal), throughJson(request))) as CallAnswers[Name];
      } catch (error) {
        throw signal?.aborted ? error : callError(error, hint);
      }
    },
    async image(cell, signal) {
      const picture = await image(contextOf(signal), throughJson(cell));
      if (picture === null) throw new CallError("InvalidInput", "The value is not an image.");
      return new Blob([picture.bytes as Uint8Array<ArrayBuffer>], { type: picture.media });
    },
    startProjection: () => new ProjectionWorker(),
  };
}

function callError(error: unknown, hint: string | undefined): CallError {
  const { type, message } = error as { readonly type?: unknown; readonly message?: unknown };
  const text = typeof message === "string" ? message : String(error);
  const isUnavailable = type === "ServiceUnavailable" && hint !== undefined;
  return new CallError(
    typeof type === "string" ? type : "Internal",
    isUnavailable ? `${text}\n${hint}` : text,
  );
}
