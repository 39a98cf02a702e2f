/** A small directory held in memory, to be laid out again and again: far cheaper than copying it. */

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export class DirectoryImage {
  /** Relative paths, each behind its parent's. */
  readonly #directories: string[] = [];
  readonly #files: [path: string, bytes: Uint8Array][] = [];

  constructor(directory: string) {
    const take = (below: string): void => {
      this.#directories.push(below);
      for (const entry of readdirSync(join(directory, below), { withFileTypes: true })) {
        const path = join(below, entry.name);
        if (entry.isDirectory()) take(path);
        else this.#files.push([path, readFileSync(join(directory, path))]);
      }
    };
    take("");
  }

  /** Puts it in place of whatever lies there. */
  layOut(directory: string): void {
    rmSync(directory, { recursive: true, force: true });
    for (const path of this.#directories) mkdirSync(join(directory, path));
    for (const [path, bytes] of this.#files) writeFileSync(join(directory, path), bytes);
  }
}
