/**
 * Functions that Node.js has natively, and other runtimes have in another form or not at all. All code
 * outside `io/` and the Node side of `rest/` takes them from here. Bundles for browsers have portable.ts in
 * place of this file; both export the same names.
 */

import { isAscii as nativeIsAscii, isUtf8 as nativeIsUtf8 } from "node:buffer";
import { setMaxListeners } from "node:events";
import os from "node:os";
import path from "node:path";
import { performance } from "node:perf_hooks";
// Imported as an object: test runners replace its members.
import timers from "node:timers";
import { fileURLToPath, pathToFileURL } from "node:url";
// Imported as an object: bundlers would import each function by name, and some releases lack some.
import zlib from "node:zlib";
import { nodeCrypto, nodeThreads } from "./builtin.js";
import { importNodeModule, onShortageOfDescriptors } from "./modules.js";
import type { Thread } from "./thread.js";

export const { basename, dirname, isAbsolute, join, relative, resolve, sep } = path;

/** @throws TypeError if the URL does not name a path on this machine */
export const fileUrlToPath = (url: string): string => fileURLToPath(url);

/** Returns the `file:` URL of an absolute path. */
export const pathToFileUrl = (absolutePath: string): string => pathToFileURL(absolutePath).href;

/** Returns the real function of a timer's name, because a test runner's fake would stop the engine. */
function real<Name extends "setTimeout" | "clearTimeout" | "setInterval" | "clearInterval" | "setImmediate">(
  name: Name,
): (typeof timers)[Name] {
  const current = timers[name];
  // Fakes of sinon, which Jest and Vitest use too, keep the real function.
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

/** Milliseconds since the machine was started, sleep included; some systems round it to seconds. */
export const uptimeMs = (): number => os.uptime() * 1000;

/** True on Windows, where files and directories in use resist renames. */
export const isWindows = (): boolean => process.platform === "win32";

/** Home directory of the user; null in runtimes that have none. */
export const homeDirectory = (): string | null => os.homedir();

const setImmediate = real("setImmediate");

/** Calls back at the next turn of the event loop, after timers and sockets. */
export const nextTurn = (callback: () => void): void => void setImmediate(callback);

/** Loads a module with its first use (modules.ts). */
export const importModule = importNodeModule;

/** Registers a function that closes idle files if an import finds too few descriptors. */
export const relieveImports = onShortageOfDescriptors;

/** Keeps Node.js from warning of a leak when many concurrent calls listen to one signal. */
export const allowManyListeners = (signal: AbortSignal): void => setMaxListeners(0, signal);

/** True if both arrays hold the same bytes. Many times as fast as a loop. */
export const isSameBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

export const isAscii = (bytes: Uint8Array): boolean => nativeIsAscii(bytes);

/**
 * Returns a function that decodes the UTF-8 text between two offsets of `bytes`, a byte order mark included.
 * Twice as fast as TextDecoder for short texts.
 */
export function textReader(bytes: Uint8Array): (start: number, end: number) => string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return (start, end) => buffer.toString("utf8", start, end);
}

/** Memory with arbitrary content, for callers that write all of it: zeros would take as long again. */
export const unfilledBytes = (byteLength: number): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.allocUnsafeSlow(byteLength).buffer);

export const isUtf8 = (bytes: Uint8Array): boolean => nativeIsUtf8(bytes);

/** CRC-32 from zlib; `seed` is the checksum so far. Null before Node 20.15, which lacks it. */
export const nativeCrc32: ((bytes: Uint8Array, seed: number) => number) | null =
  typeof zlib.crc32 === "function" ? (bytes, seed) => zlib.crc32(bytes, seed) : null;

export type HashName = "md5" | "sha224" | "sha256" | "sha384" | "sha512";

/** Hash of bytes that come piece by piece. */
export interface PieceHash {
  update(bytes: Uint8Array): void;
  digest(): Uint8Array;
}

/** Begins a hash. Null if the runtime cannot compute hashes synchronously. */
export const startHash: ((name: HashName) => PieceHash) | null = (name) => {
  const hash = nodeCrypto().createHash(name);
  return {
    update: (bytes) => {
      hash.update(bytes);
    },
    digest: () => new Uint8Array(hash.digest()),
  };
};

/** Hashes a few bytes; Node has a quick function for that from 20.12 on. Null if {@link startHash} is. */
export const hashAtOnce: ((name: HashName, bytes: Uint8Array) => Uint8Array) | null = (name, bytes) => {
  const { hash, createHash } = nodeCrypto();
  return typeof hash === "function"
    ? hash(name, bytes, "buffer")
    : new Uint8Array(createHash(name).update(bytes).digest());
};

/** Encodes a Zstandard frame; null as `level` is the encoder's default. Null before Node 22.15. */
export const compressZstd: ((bytes: Uint8Array, level: number | null) => Uint8Array) | null =
  typeof zlib.zstdCompressSync === "function"
    ? (bytes, level) =>
        zlib.zstdCompressSync(bytes, {
          // With room for all of the frame, it is encoded into one piece.
          chunkSize: bytes.length + (bytes.length >> 8) + 512,
          params: level === null ? undefined : { [zlib.constants.ZSTD_c_compressionLevel]: level },
        })
    : null;

/** Log of the largest window for which {@link decompressZstd} makes memory. */
const ZSTD_WINDOW_LOG = 23;

/**
 * Decodes a Zstandard frame of at most `maxBytes` of content; null for any frame that it refuses: a malformed
 * one, or one with a large window. Null before Node 22.15.
 */
export const decompressZstd: ((frame: Uint8Array, maxBytes: number) => Uint8Array | null) | null =
  typeof zlib.zstdDecompressSync === "function"
    ? (frame, maxBytes) => {
        try {
          return zlib.zstdDecompressSync(frame, {
            maxOutputLength: Math.max(maxBytes, 1),
            // With room for more than the content, it is decoded into one piece.
            chunkSize: Math.max(maxBytes + 1, 64),
            params: { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG },
          });
        } catch {
          // The caller decodes the frame itself, and tells what is wrong with it.
          return null;
        }
      }
    : null;

/** Inflates gzip or Brotli; fails for more than `maxBytes`. Null without either. */
export const inflate: ((codec: "gzip" | "brotli", bytes: Uint8Array, maxBytes: number) => Uint8Array) | null =
  (codec, bytes, maxBytes) => {
    const options = { maxOutputLength: maxBytes };
    return codec === "gzip" ? zlib.gunzipSync(bytes, options) : zlib.brotliDecompressSync(bytes, options);
  };

/** Name of the threads' script, without its extension. */
const SCRIPT = "tiltyardWorker";

/**
 * URL of the threads' script, which lies beside the module that holds this code. The bundles and the modules
 * of tsc both have it. Null if this module runs as TypeScript, which threads cannot, or is part of a foreign
 * bundle without a URL.
 */
function threadScript(): URL | null {
  const url: string | undefined = import.meta.url;
  if (url === undefined || url === "" || url.endsWith(".ts")) return null;
  // No `new URL(path, url)`: bundlers would look for the file of that path.
  const directory = url.slice(0, url.lastIndexOf("/"));
  if (url.endsWith("/platform/native.js")) return new URL(`${directory}/../${SCRIPT}.js`);
  // Both module formats of the package share one script.
  return new URL(url.endsWith(".cjs") ? `${directory}/../esm/${SCRIPT}.js` : `${directory}/${SCRIPT}.js`);
}

export const processorCount = (): number => os.availableParallelism();

/** Starts a thread of the package; returns null if none can start. `onEnd` reports a missing script. */
export function startThread(
  onMessage: (message: unknown) => void,
  onEnd: (reason: unknown) => void,
): Thread | null {
  const script = threadScript();
  if (script === null) return null;
  const { Worker } = nodeThreads();
  // The host's command-line options, such as loaders, are not for this script.
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

/** Runs in a thread: sends a first message, then answers each message. */
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
      // Some memory can't be moved, such as that of WebAssembly: it is copied.
      parentPort?.postMessage(reply);
    }
  });
}
