/** A function that takes five milliseconds a row, and logs who computes which rows. */

import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Int64 } from "apache-arrow";

export const functions = {
  double: {
    version: "1",
    inputs: ["n"],
    output: new Int64(),
    async batch({ n }, { signal }) {
      const numbers = [...n];
      const { TILTYARD_LOG } = process.env;
      // Functions may print to where a worker reports.
      if (process.env.TILTYARD_RUN !== undefined) process.stdout.write(`tiltyard: ${numbers.length} rows, `);
      await sleep(5 * numbers.length, undefined, { signal });
      if (TILTYARD_LOG !== undefined) {
        appendFileSync(TILTYARD_LOG, `${process.pid} ${process.ppid} ${numbers.join(",")}\n`);
      }
      return numbers.map((each) => BigInt(each) * 2n);
    },
  },
};
