/**
 * Compiles WebAssembly kernels: modules with one function and a memory. Only the hottest loops are kernels,
 * and each has a form in plain TypeScript, for runtimes that do not compile WebAssembly, and as a reference
 * for tests.
 *
 *     module   magic, version, sections (id, length, content): types, functions, memory, exports, code
 */

import { isSharedMemory } from "../sharedCopy.js";
import { KernelCode } from "./kernelCode.js";
import { type Instructions, unsigned } from "./values.js";

export interface Kernel {
  run(...parameters: number[]): void;
  /** A shared memory has another buffer after it grows. */
  readonly memory: ArrayBuffer;
}

/**
 * Compiles a kernel.
 * @param memory its size in pages of 64 KiB, or a memory that several kernels share and whose owner lets it
 * grow
 * @returns null if the runtime does not compile WebAssembly
 */
export function kernel(
  memory: number | WebAssembly.Memory,
  write: (code: KernelCode) => void,
): Kernel | null {
  if (typeof WebAssembly !== "object") return null;
  const isOwner = typeof memory === "number";
  let exports: WebAssembly.Exports;
  try {
    const module = new WebAssembly.Module(encodeModule(memory, write));
    exports = new WebAssembly.Instance(module, isOwner ? {} : { m: { m: memory } }).exports;
  } catch {
    // The embedder forbids compiling, or there is not enough memory. The plain form needs neither.
    return null;
  }
  return {
    run: exports["run"] as (...parameters: number[]) => void,
    memory: (isOwner ? (exports["memory"] as WebAssembly.Memory) : memory).buffer,
  };
}

/** Selects the kernel or the plain form. Only tests and benchmarks set it. */
export interface KernelSwitch {
  /** False: callers use the plain form although there is a kernel. */
  isOn: boolean;
}

/** A kernel with the views of its memory, which is made at its first use. */
export class KernelUse<Made> implements KernelSwitch {
  #made: Made | null | undefined;
  isOn = true;

  /** @param make returns null if the runtime has no kernels */
  constructor(private readonly make: () => Made | null) {}

  /** @param open makes the views of the memory */
  static of<Made>(compile: () => Kernel | null, open: (kernel: Kernel) => Made): KernelUse<Made> {
    return new KernelUse(() => {
      const compiled = compile();
      return compiled && open(compiled);
    });
  }

  /** Null if callers must use the plain form. */
  get(): Made | null {
    if (!this.isOn) return null;
    if (this.#made === undefined) this.#made = this.make();
    return this.#made;
  }
}

/** Maximum number of pages of a memory. */
export const MAX_PAGES = 65_536;
const I32 = 0x7f;

function encodeModule(
  memory: number | WebAssembly.Memory,
  write: (code: KernelCode) => void,
): Uint8Array<ArrayBuffer> {
  const code = new KernelCode();
  write(code);
  const { parameterCount, body } = code.encode();
  const bodyBytes = flatten([body]);
  const section = (id: number, content: readonly Instructions[]): Instructions => {
    const bytes = flatten(content);
    return [id, unsigned(bytes.length), bytes];
  };
  const name = (text: string): Instructions => [text.length, [...text].map((letter) => letter.charCodeAt(0))];
  const memorySections =
    typeof memory === "number"
      ? [section(3, [1, 0]), section(5, [1, 0, unsigned(memory)])]
      : [section(2, [1, name("m"), name("m"), 2, limitsOf(memory)]), section(3, [1, 0])];
  return Uint8Array.from(
    flatten([
      [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      section(1, [1, 0x60, unsigned(parameterCount), new Array(parameterCount).fill(I32), 0]),
      memorySections,
      section(7, [2, name("memory"), 2, 0, name("run"), 0, 0]),
      section(10, [1, unsigned(bodyBytes.length), bodyBytes]),
    ]),
  );
}

/** The limits that the module demands: none, except that a memory of several threads must have a maximum. */
const limitsOf = ({ buffer }: WebAssembly.Memory): Instructions =>
  isSharedMemory(buffer) ? [3, 1, unsigned(MAX_PAGES)] : [0, 1];

/**
 * Flattens all levels into one array. The engine's `flat` is faster than a loop here, which runs once for
 * each kernel and would stay interpreted.
 */
const flatten = (instructions: readonly Instructions[]): number[] =>
  (instructions as readonly unknown[]).flat(Number.POSITIVE_INFINITY) as number[];
