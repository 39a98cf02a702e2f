/** Draws the progress of long work as a bar on standard error, if that is a terminal. */

import type { CommandTerminal } from "./terminal.js";
import { countText, sizeText, visibleText } from "./text.js";

/** Progress of work. */
export interface WorkProgress {
  readonly done: number;
  /** Absent while it is unknown. */
  readonly total?: number;
  readonly unit: string;
}

export interface WorkBar {
  draw(progress: WorkProgress): void;
  /** Leaves the bar as it is, and the cursor on the next line. */
  end(): void;
}

const NO_BAR: WorkBar = { draw: () => undefined, end: () => undefined };

const amountText = (amount: number, unit: string): string =>
  unit === "bytes" ? sizeText(amount) : countText(amount);

/** Makes a bar with a name. It draws nothing if standard error is not a terminal. */
export async function workBar({ stderr }: CommandTerminal, name: string, isQuiet = false): Promise<WorkBar> {
  if (stderr.isTTY !== true || isQuiet) return NO_BAR;
  const { default: cli } = await import("cli-progress");
  const format = `${visibleText(name)} {bar} {share} │ {amount}`;
  const stream = stderr as unknown as NodeJS.WriteStream;
  const bar = new cli.SingleBar(
    { format, stream, linewrap: true, fps: 10, hideCursor: true },
    cli.Presets.rect,
  );
  let isBegun = false;
  return {
    draw({ done, total, unit }) {
      const hasTotal = total !== undefined && total > 0;
      const share = hasTotal ? `${Math.floor((100 * Math.min(done, total)) / total)} %` : "";
      const amount = `${amountText(done, unit)}${hasTotal ? ` of ${amountText(total, unit)}` : ""}${
        unit === "bytes" ? "" : ` ${unit}`
      }`;
      const texts = { share, amount };
      if (!isBegun) bar.start(hasTotal ? total : 1, 0, texts);
      isBegun = true;
      bar.setTotal(hasTotal ? total : 1);
      bar.update(hasTotal ? Math.min(done, total) : 0, texts);
    },
    end: () => {
      if (isBegun) bar.stop();
    },
  };
}
