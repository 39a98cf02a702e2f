/** A namespace that holds calls whose context has `hold`, before the engine starts them. */

import { DirectoryNamespace } from "tiltyard";
import { withResolvers } from "./deferred.js";
import { makeTempDir } from "./tempDir.js";

export interface HeldNamespace {
  readonly namespace: DirectoryNamespace;
  /** Releases held calls, and all later ones. */
  letGo(): void;
}

export async function makeHeldNamespace(): Promise<HeldNamespace> {
  const { promise: gate, resolve: letGo } = withResolvers();
  const namespace = new DirectoryNamespace({
    root: await makeTempDir(),
    durability: "none",
    authorize: ({ context }) => (context?.hold === undefined ? undefined : gate),
  });
  return { namespace, letGo };
}
