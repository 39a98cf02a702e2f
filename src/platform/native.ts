/**
 * Functions that Node.js has natively, and other runtimes have in another form or not at all. All code outside `io/`
 * and the Node side of `rest/` takes them from here. What is bundled for browsers has portable.ts in place of this file:
 * both export the same names.
 */

import { isAscii as nativeIsAscii, isUtf8 as nativeIsUtf8 } from "node:buffer";
import { setMaxListeners } from "node:events";
import os from "node:os";
import path from "node:path";
import { performance } from "node:perf_hooks";
// As one object, too: test runners replace its members.
import timers from "node:timers";
// As one object: of a namespace, bundlers make imports of the functions by name, and not every release has all of them.
import zlib from "node:zlib";
import { nodeCrypto, nodeThreads } from "./builtin.js";
import { importNodeModule, onShortageOfDescriptors } from "./modules.js";
import type { Thread } from "./thread.js";

/** Paths of the platform. */
export const { basename, dirname, isAbsolute, join, relative, resolve, sep } = path;

/**
 * The function that a name of the host's timers had before a test runner put a fake in its place: a fake waits until the test
 * moves its clock, and the engine's work would wait with it.
 */
function real<Name extends "setTimeout" | "clearTimeout" | "setInterval" | "clearInterval" | "setImmediate">(
  name: Name,
): (typeof timers)[Name] {
  const current = timers[name];
  // Fakes of sinon, which Jest and Vitest use too, keep what they replace.
  const { clock } = current as { readonly clock?: Readonly<Record<string, unknown>> };
  const replaced = clock?.[`_${name}`];
  return typeof replaced === "function" ? (replaced as (typeof timers)[Name]) : current;
}

/** Timers and the clock of the host, as they were when the package was loaded. */
export const hostTimers = {
  setTimeout: real("setTimeout"),
  clearTimeout: real("clearTimeout"),
  setInterval: real("setInterval"),
  clearInterval: real("clearInterval"),
  performance: performance as { now(): number },
};

/** Milliseconds since the machine was started, sleep included; rounded, on some systems to seconds. */
export const uptimeMs = (): number => os.uptime() * 1000;

const setImmediate = real("setImmediate");

/** Calls back at the next turn of the event loop, after timers and sockets. */
export const nextTurn = (callback: () => void): void => void setImmediate(callback);

/** Loads a module with its first use; see modules.ts. */
export const importModule = importNodeModule;

/** Registers what closes idle files where an import finds too few descriptors. */
export const relieveImports = onShortageOfDescriptors;

/** Keeps Node.js from warning of a leak where many calls that are under way at a time listen to one signal. */
export const allowManyListeners = (signal: AbortSignal): void => setMaxListeners(0, signal);

/** Many times as fast as a loop. */
export const isSameBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

export const isAscii = (bytes: Uint8Array): boolean => nativeIsAscii(bytes);

/** What `toString` of buffers calls once it knows what it was asked for; undocumented. */
const { latin1Slice } = Buffer.prototype as {
  readonly latin1Slice?: (this: Buffer, start: number, end: number) => string;
};

/** Reads texts among bytes that are all ASCII, by where they begin and end. Null if only a decoder can do so. */
export const asciiTexts: ((bytes: Uint8Array) => (start: number, end: number) => string) | null = (bytes) => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return latin1Slice === undefined
    ? (start, end) => buffer.toString("latin1", start, end)
    : (start, end) => latin1Slice.call(buffer, start, end);
};

/**
 * Memory with any content, for what is written from its beginning to its end: filling it with zeros first takes about as long as
 * the writing.
 */
export const unfilledBytes = (byteLength: number): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.allocUnsafeSlow(byteLength).buffer);

export const isUtf8 = (bytes: Uint8Array): boolean => nativeIsUtf8(bytes);

/** CRC-32 from zlib; `seed` is the checksum of the preceding bytes. Null if the runtime has none: before Node 20.15. */
export const nativeCrc32: ((bytes: Uint8Array, seed: number) => number) | null =
  typeof zlib.crc32 === "function" ? (bytes, seed) => zlib.crc32(bytes, seed) : null;

export type HashName = "md5" | "sha224" | "sha256" | "sha384" | "sha512";

/** A hash of bytes that come piece by piece. */
export interface PieceHash {
  update(bytes: Uint8Array): void;
  digest(): Uint8Array;
}

/** Begins a hash. Null if the runtime has none that is computed at once. */
export const startHash: ((name: HashName) => PieceHash) | null = (name) => {
  const hash = nodeCrypto().createHash(name);
  return {
    update: (bytes) => {
      hash.update(bytes);
    },
    digest: () => new Uint8Array(hash.digest()),
  };
};

/** Hashes a few bytes. Node has a quick function for that from 20.12 on. Null as {@link startHash} is. */
export const hashAtOnce: ((name: HashName, bytes: Uint8Array) => Uint8Array) | null = (name, bytes) => {
  const { hash, createHash } = nodeCrypto();
  return typeof hash === "function"
    ? hash(name, bytes, "buffer")
    : new Uint8Array(createHash(name).update(bytes).digest());
};

/**
 * Encodes a Zstandard frame; `level` null for the encoder's default. Null if the runtime has no encoder: before Node
 * 22.15.
 */
export const compressZstd: ((bytes: Uint8Array, level: number | null) => Uint8Array) | null =
  typeof zlib.zstdCompressSync === "function"
    ? (bytes, level) =>
        zlib.zstdCompressSync(bytes, {
          params: level === null ? undefined : { [zlib.constants.ZSTD_c_compressionLevel]: level },
        })
    : null;

/** A function that stems words in lower case of a language, null where that is not known. Null if the runtime has none. */
export const loadStemmer: ((language: string) => Promise<((word: string) => string) | null>) | null = async (
  language,
) => (await importNodeModule(() => import("./stemmers.js"))).snowballStemmer(language);

/** Name of the script of the threads, without its extension. */
const SCRIPT = "tiltyardWorker";

/**
 * The script of the package's threads, beside the module that this one is part of, or that module's twin: the bundles have
 * it under one name, and so have the modules that they are made of. Null where this module is run as TypeScript, from which no thread can
 * be started, or is part of somebody else's bundle in a form that has no URL.
 */
function threadScript(): URL | null {
  const own: string | undefined = import.meta.url;
  if (own === undefined || own === "" || own.endsWith(".ts")) return null;
  // Not by `new URL(path, own)`: bundlers take such a path for a file that they have to find.
  const directory = own.slice(0, own.lastIndexOf("/"));
  if (own.endsWith("/platform/native.js")) return new URL(`${directory}/../${SCRIPT}.js`);
  // Both forms of the package have one script.
  return new URL(own.endsWith(".cjs") ? `${directory}/../esm/${SCRIPT}.js` : `${directory}/${SCRIPT}.js`);
}

/** Processors that this process may use. */
export const processorCount = (): number => os.availableParallelism();

/** Starts a thread of the package; null where there can be none. That the script is missing is told by `onEnd`. */
export function startThread(
  onMessage: (message: unknown) => void,
  onEnd: (reason: unknown) => void,
): Thread | null {
  const script = threadScript();
  if (script === null) return null;
  const { Worker } = nodeThreads();
  // Options of the host's own command line, such as loaders, are not for this script.
  const worker = new Worker(script, { execArgv: [], name: "tiltyard" });
  worker.on("message", onMessage);
  worker.on("messageerror", onEnd);
  worker.on("error", onEnd);
  worker.on("exit", (code) => onEnd(new Error(`the thread ended with code ${code}`)));
  return {
    post: (message, moved = []) => worker.postMessage(message, moved),
    keepsAlive: (isBusy) => (isBusy ? worker.ref() : worker.unref()),
    end: () => void worker.terminate(),
  };
}

/** In a thread: sends what is to be said at first, then answers each message. */
export function answerMessages(
  greeting: unknown,
  answer: (message: unknown) => { readonly reply: unknown; readonly moved: readonly ArrayBuffer[] },
): void {
  const { parentPort } = nodeThreads();
  parentPort?.postMessage(greeting);
  parentPort?.on("message", (message: unknown) => {
    const { reply, moved } = answer(message);
    try {
      parentPort?.postMessage(reply, moved);
    } catch {
      // Some of the memory can't be moved, such as that of WebAssembly: it is copied.
      parentPort?.postMessage(reply);
    }
  });
}
