/** A disk that counts the calls of another, except looks for links, whose number depends on the time. */

import type { Disk, ReadHandle } from "../../src/io/disk/disk.js";
import { type Verb, withMembers, wrapDisk } from "./wrappedDisk.js";

class Counts {
  #counts = new Map<Verb, number>();
  bytesRead = 0;
  bytesWritten = 0;
  /** In order; `readFile` is one read from 0, and the tail that comes with an opening is one too. */
  reads: { path: string; byteOffset: number; length: number }[] = [];

  count(verb: Verb): number {
    return this.#counts.get(verb) ?? 0;
  }

  get counts(): Partial<Record<Verb, number>> {
    return Object.fromEntries(this.#counts);
  }

  get total(): number {
    let total = 0;
    for (const count of this.#counts.values()) total += count;
    return total;
  }

  reset(): void {
    this.#counts = new Map();
    this.bytesRead = 0;
    this.bytesWritten = 0;
    this.reads = [];
  }

  note(verb: Verb): void {
    if (verb !== "isLink") this.#counts.set(verb, this.count(verb) + 1);
  }

  noteRead(path: string, byteOffset: number, length: number): void {
    this.bytesRead += length;
    this.reads.push({ path, byteOffset, length });
  }
}

export type CountingDisk = Disk & Counts;

export function countingDisk(inner: Disk): CountingDisk {
  const counts = new Counts();
  const disk = wrapDisk(inner, async ({ verb, path, operands, make }) => {
    counts.note(verb);
    if (verb === "read") counts.noteRead(path, operands[0] as number, operands[1] as number);
    if (verb === "write") {
      for (const chunk of operands[0] as Uint8Array[]) counts.bytesWritten += chunk.length;
    }
    const answer = await make();
    if (verb === "readFile" && answer !== null) counts.noteRead(path, 0, (answer as Uint8Array).length);
    if (verb === "overwrite" && answer === true) counts.bytesWritten += (operands[1] as Uint8Array).length;
    if (verb !== "open" || answer === null) return answer;
    const handle = answer as ReadHandle;
    const takeTail = () => {
      const tail = handle.takeTail?.() ?? null;
      if (tail !== null) counts.noteRead(path, handle.size - tail.length, tail.length);
      return tail;
    };
    return withMembers(handle, { takeTail });
  });
  return withMembers(disk, counts);
}
