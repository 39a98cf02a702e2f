/** Draws the progress of a job as a bar on a terminal. */

import { lazyModule } from "../../async/lazy.js";
import type { Job } from "../../namespace/jobs.js";

/** Part of a terminal that a bar needs. */
export type Terminal = NodeJS.WriteStream;

export interface ProgressBar {
  draw(job: Job): void;
  /** Leaves the bar as it is, and the cursor on the next line. */
  end(): void;
}

const cliProgress = lazyModule(() => import("cli-progress"));

/**
 * Makes a bar on standard error.
 * @param stream terminal to draw on; default: standard error of the process
 * @returns null if nobody would see it: the stream is no terminal
 */
export async function progressBar(
  stream: Terminal | undefined = globalThis.process?.stderr,
): Promise<ProgressBar | null> {
  if (stream?.isTTY !== true) return null;
  const { default: cli } = await cliProgress.get();
  const format = "{kind} {table} {bar} {percentage} % │ {value} of {total} {unit} │ {rate}{left}";
  const bar = new cli.SingleBar({ format, stream, linewrap: true, fps: 5 }, cli.Presets.shades_classic);
  let isBegun = false;
  return {
    draw(job) {
      const { kind, table, unit, done, total, rate, state, estimatedEnd } = job;
      const leftMs = estimatedEnd === undefined ? 0 : Date.parse(estimatedEnd) - Date.now();
      const texts = {
        ...{
          kind,
          unit,
          table: table.join("."),
          rate: rate === undefined ? state : `${Math.round(rate)} a second`,
        },
        left: leftMs > 0 ? ` │ ${Math.ceil(leftMs / 1000)} s left` : "",
      };
      // Without a total, the bar stays empty.
      const most = Math.max(total ?? 0, 1);
      if (!isBegun) bar.start(most, 0, texts);
      isBegun = true;
      bar.setTotal(most);
      bar.update(total === undefined ? 0 : Math.min(done, most), texts);
    },
    end: () => {
      if (isBegun) bar.stop();
    },
  };
}
