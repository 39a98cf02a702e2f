/** A namespace whose process stands still with stale locks while another process acts. */

import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeEach, expect } from "vitest";
import type { Disk } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { ageLocks } from "../pause/world.js";
import type { EngineStep } from "./engineWorker.js";
import { RivalEngine } from "./rivalEngine.js";
import { makeTempDir } from "./tempDir.js";

export interface OverruledStage {
  /** Directory of the running test. */
  readonly root: string;
  /** A disk to be interrupted. */
  readonly disk: Disk;
  open(disk?: Disk): DirectoryNamespace;
  /** Takes steps in another process while this one stands still and all locks look dead. */
  meanwhile(...steps: EngineStep[]): Promise<void>;
}

/** Returns a stage whose tests each have a directory of their own. */
export function overruledStage(): OverruledStage {
  const rival = new RivalEngine();
  let root = "";
  beforeEach(async () => {
    root = await makeTempDir();
  });
  afterAll(() => rival.end());
  return {
    get root() {
      return root;
    },
    disk: new NodeDisk({ durability: "none" }),
    open: (disk) => new DirectoryNamespace({ root, durability: "none", ...(disk && { disk }) }),
    async meanwhile(...steps) {
      await ageLocks(root);
      await rival.open(root);
      for (const step of steps) expect(await rival.call(step)).toHaveProperty("ok");
    },
  };
}
