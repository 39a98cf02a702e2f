/**
 * Functions that Node.js has natively, and other runtimes have in another form or not at all. All code outside `io/`
 * and the Node side of `rest/` takes them from here. Bundlers for browsers replace this file with portable.ts, as
 * `browser` in package.json says: both export the same names.
 */

import { isAscii as nativeIsAscii, isUtf8 as nativeIsUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import path from "node:path";
import * as zlib from "node:zlib";

/** Paths of the platform. */
export const { basename, dirname, isAbsolute, join, relative, resolve, sep } = path;

/** Calls back at the next turn of the event loop, after timers and sockets. */
export const nextTurn = (callback: () => void): void => void setImmediate(callback);

/** Many times as fast as a loop. */
export const isSameBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

export const isAscii = (bytes: Uint8Array): boolean => nativeIsAscii(bytes);

export const isUtf8 = (bytes: Uint8Array): boolean => nativeIsUtf8(bytes);

/** CRC-32 from zlib; `seed` is the checksum of the preceding bytes. Null if the runtime has none: before Node 20.15. */
export const nativeCrc32: ((bytes: Uint8Array, seed: number) => number) | null =
  typeof zlib.crc32 === "function" ? (bytes, seed) => zlib.crc32(bytes, seed) : null;

export type HashName = "md5" | "sha224" | "sha256" | "sha384" | "sha512";

/** The hash of some bytes. Null if the runtime has none that is computed at once. */
export const hashBytes: ((name: HashName, bytes: Uint8Array) => Uint8Array) | null = (name, bytes) =>
  new Uint8Array(createHash(name).update(bytes).digest());

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
