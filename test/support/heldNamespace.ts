/** A namespace whose calls can be held at the door of the engine: those whose context has `hold`. */

import { DirectoryNamespace } from "tiltyard";
import { makeTempDir } from "./tempDir.js";

export interface HeldNamespace {
  readonly namespace: DirectoryNamespace;
  /** Lets those that are held go on, and all that come later. */
  letGo(): void;
}

export async function makeHeldNamespace(): Promise<HeldNamespace> {
  let letGo = () => {};
  const gate = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const namespace = new DirectoryNamespace({
    root: await makeTempDir(),
    durability: "none",
    authorize: ({ context }) => (context?.hold === undefined ? undefined : gate),
  });
  return { namespace, letGo };
}
