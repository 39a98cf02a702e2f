/**
 * Stands for the modules of the local file system in bundles for runtimes that have none, such as browsers.
 * A namespace there needs the option `disk`.
 */

import { InvalidInputError } from "../../errors.js";
import type { Confinement } from "./confinement.js";
import type { ScratchDirectory } from "./disk.js";

const none = (): never => {
  throw new InvalidInputError(
    "disk: this runtime has no local file system, so the namespace needs this option; tiltyard/disks has some",
  );
};

export class NodeDisk {
  constructor() {
    none();
  }
}

export const temporaryDirectory = (): ScratchDirectory | undefined => undefined;

/** Called before the disk, and used only by it. */
export const confinedTo = (): Confinement | null => null;
export const UNCONFINED: Confinement | null = null;

export const realPathOrNull = async (path: string): Promise<string | null> => path;
export const realPathNow = (path: string): string | null => path;

export const HeldLock: typeof NodeDisk = NodeDisk;
export const statOrUndefined = none;
export const freeUnlessHeld = none;
export const lookAtLock = none;
