/** Opens what the writers of files take: a path, or a stream of bytes. */

import { untilAborted } from "../async/abort.js";
import { tagOf } from "../bytes/anyRealm.js";
import { InvalidInputError, messageOf, NamespaceError } from "../errors.js";
import { createLocalFile } from "../io/localFiles.js";
import { shortly } from "../optionMembers.js";
import { filePathOf } from "./byteSource.js";
import { fileError } from "./fileErrors.js";

/** The part of a Writable of Node.js that is used. */
export interface NodeWritable {
  write(chunk: Uint8Array, callback: (error?: Error | null) => void): boolean;
  end(callback: () => void): unknown;
  destroy(error?: Error): unknown;
  once(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
}

/**
 * A file to write: its path or `file:` URL, a WritableStream, or a Writable of Node.js. An older file of a
 * path keeps its name and content until the new one is complete.
 */
export type FileTarget = string | URL | WritableStream<Uint8Array> | NodeWritable;

/** A file that is being written. */
export interface ByteSink {
  /** Resolves when the target takes more bytes. */
  write(bytes: Uint8Array): Promise<void>;
  /** Resolves when the file is complete. */
  close(): Promise<void>;
  /** Gives the file up. */
  abort(reason: unknown): Promise<void>;
}

/**
 * Opens a target, calls `write` with it, and closes it. After a failure, an older file of a path is
 * unchanged, and a stream is destroyed.
 * @param name name of the writer, for messages
 */
export async function writeTo<Result>(
  target: unknown,
  name: string,
  signal: AbortSignal | undefined,
  write: (sink: ByteSink) => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted();
  const sink = await openSink(target, name, signal);
  try {
    const result = await write(sink);
    signal?.throwIfAborted();
    await sink.close();
    return result;
  } catch (error) {
    await sink.abort(error).catch(() => undefined);
    throw error;
  }
}

async function openSink(target: unknown, name: string, signal: AbortSignal | undefined): Promise<ByteSink> {
  const path = filePathOf(target, name);
  if (path !== null) return pathSink(path, name);
  const { getWriter, write, once, end } = (target ?? {}) as Record<string, unknown>;
  if (typeof getWriter === "function") return webSink(target as WritableStream<Uint8Array>, name, signal);
  if ([write, once, end].every((method) => typeof method === "function")) {
    return nodeSink(target as NodeWritable, name, signal);
  }
  throw new InvalidInputError(`${name}: the target must be a path or a stream, not ${shortly(target)}`);
}

async function pathSink(path: string, name: string): Promise<ByteSink> {
  const run = async (step: () => Promise<void>): Promise<void> => {
    try {
      await step();
    } catch (error) {
      throw fileError(error, path, name);
    }
  };
  let file: Awaited<ReturnType<typeof createLocalFile>> | undefined;
  await run(async () => {
    file = await createLocalFile(path);
  });
  const writer = file as Awaited<ReturnType<typeof createLocalFile>>;
  return {
    write: (bytes) => run(() => writer.write(bytes)),
    close: () => run(() => writer.publish()),
    abort: () => writer.discard(),
  };
}

function streamFailed(error: unknown, name: string): unknown {
  if (error instanceof NamespaceError) return error;
  return new InvalidInputError(`${name}: the stream failed: ${messageOf(error)}`, { cause: error });
}

function webSink(
  stream: WritableStream<Uint8Array>,
  name: string,
  signal: AbortSignal | undefined,
): ByteSink {
  if (stream.locked) throw new InvalidInputError(`${name}: another writer has locked the stream`);
  const writer = stream.getWriter();
  // The calls below report the stream's failure.
  writer.closed.catch(() => undefined);
  const run = async (step: () => Promise<void>): Promise<void> => {
    try {
      await untilAborted(step(), signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw streamFailed(error, name);
    }
  };
  return {
    write: (bytes) =>
      run(async () => {
        await writer.ready;
        await writer.write(bytes);
      }),
    close: () => run(() => writer.close()),
    // A stream that is busy with a write finishes it before it aborts.
    abort: (reason) => untilAborted(writer.abort(reason), signal),
  };
}

function nodeSink(stream: NodeWritable, name: string, signal: AbortSignal | undefined): ByteSink {
  /** Calls a method that reports by its callback or by an event. */
  const run = async (start: (finish: (error?: Error | null) => void) => void): Promise<void> => {
    let fail: (error: Error) => void = () => undefined;
    const finished = new Promise<void>((resolve, reject) => {
      fail = reject;
      stream.once("error", reject);
      start((error) => (error ? reject(error) : resolve()));
    });
    try {
      await untilAborted(finished, signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw streamFailed(error, name);
    } finally {
      stream.removeListener("error", fail);
    }
  };
  // Standard output stays open, as in `pipeline` of Node.js.
  const isStandard = [1, 2].includes((stream as { readonly fd?: number }).fd ?? -1);
  return {
    write: (bytes) => run((finish) => void stream.write(bytes, finish)),
    close: async () => {
      if (!isStandard) await run((finish) => void stream.end(finish));
    },
    async abort(reason) {
      if (isStandard) return;
      stream.once("error", () => undefined);
      stream.destroy(["Error", "DOMException"].includes(tagOf(reason)) ? (reason as Error) : undefined);
    },
  };
}
