/** Exports of native.ts for runtimes other than Node.js, such as browsers. Paths have forward slashes. */

// By name: of a module as an object, bundlers include all, such as the patterns of file names.
import { basename, dirname, isAbsolute, join, relative, resolve } from "pathe";
import type { StartThread } from "./thread.js";

export { basename, dirname, isAbsolute, join, relative, resolve };

/** @throws TypeError if the text is not a URL */
export const fileUrlToPath = (url: string): string => decodeURIComponent(new URL(url).pathname);

export const pathToFileUrl = (absolutePath: string): string =>
  `file://${absolutePath.split("/").map(encodeURIComponent).join("/")}`;

export const sep: "/" | "\\" = "/";

const { setTimeout, clearTimeout, setInterval, clearInterval, performance } = globalThis;

export const hostTimers = {
  setTimeout,
  clearTimeout,
  setInterval,
  clearInterval,
  performance: performance as { now(): number },
};

export const uptimeMs = (): number => performance.now();

/** Browsers have no file system of Windows. */
export const isWindows = (): boolean => false;

/** Home directory of the user: there is none. */
export const homeDirectory = (): string | null => null;

const callbacks: (() => void)[] = [];
// A channel, because timers wait for milliseconds. Made on first use: open ones keep some runtimes alive.
let channel: MessageChannel | null = null;

export function nextTurn(callback: () => void): void {
  // Vercel's edge runtime has no channels.
  if (typeof MessageChannel === "undefined") return void setTimeout(callback, 0);
  if (channel === null) {
    channel = new MessageChannel();
    channel.port1.onmessage = () => callbacks.shift()?.();
  }
  callbacks.push(callback);
  channel.port2.postMessage(null);
}

/** Browsers retry a module that they could not load. */
export const importModule = <Module>(load: () => Promise<Module>): Promise<Module> => load();

export const relieveImports = (_relieve: () => void): void => undefined;

export const allowManyListeners = (_signal: AbortSignal): void => undefined;

export function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
}

export const isAscii = (bytes: Uint8Array): boolean => bytes.every((byte) => byte < 0x80);

export function textReader(bytes: Uint8Array): (start: number, end: number) => string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  // Browsers refuse to decode shared memory.
  const isShared = Object.prototype.toString.call(bytes.buffer) === "[object SharedArrayBuffer]";
  return (start, end) => decoder.decode(isShared ? bytes.slice(start, end) : bytes.subarray(start, end));
}

export const unfilledBytes = (byteLength: number): Uint8Array<ArrayBuffer> => new Uint8Array(byteLength);

export function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    // The bytes are not UTF-8.
    return false;
  }
}

export const nativeCrc32: ((bytes: Uint8Array, seed: number) => number) | null = null;

export const compressZstd: ((bytes: Uint8Array, level: number | null) => Uint8Array) | null = null;

export const decompressZstd: ((frame: Uint8Array, maxBytes: number) => Uint8Array | null) | null = null;
export const inflate: ((codec: "gzip" | "brotli", bytes: Uint8Array, maxBytes: number) => Uint8Array) | null =
  null;

/** The runtime starts no threads by itself, so one processor is used. */
export const processorCount = (): number => 1;

export const startThread: StartThread = () => null;

/** Runs in a Web Worker: sends a first message, then answers each message. */
export function answerMessages(
  greeting: unknown,
  answer: (message: unknown) => { readonly reply: unknown; readonly moved: readonly ArrayBuffer[] },
): void {
  const scope = globalThis as unknown as {
    onmessage: (event: { readonly data: unknown }) => void;
    postMessage(message: unknown, moved?: readonly ArrayBuffer[]): void;
  };
  scope.onmessage = ({ data }) => {
    const { reply, moved } = answer(data);
    try {
      scope.postMessage(reply, moved);
    } catch {
      // Some memory can't be moved, such as that of WebAssembly: it is copied.
      scope.postMessage(reply);
    }
  };
  scope.postMessage(greeting);
}

export interface PieceHash {
  update(bytes: Uint8Array): void;
  digest(): Uint8Array;
}

export type HashName = "md5" | "sha224" | "sha256" | "sha384" | "sha512";

/** Browsers compute hashes asynchronously only. */
export const startHash: ((name: HashName) => PieceHash) | null = null;

export const hashAtOnce: ((name: HashName, bytes: Uint8Array) => Uint8Array) | null = null;
