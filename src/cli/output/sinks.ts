/** Streams that writers of files write to standard output with. */

import { Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { CommandTerminal } from "./terminal.js";
import { visibleJson, visibleLines } from "./text.js";

/** Changes a piece of text on its way to standard output. */
type TextChange = (text: string) => string;

/** Returns a stream that writes to standard output and never closes it. */
export function standardOutput({ stdout }: CommandTerminal, change?: TextChange): Writable {
  const decoder = new StringDecoder("utf8");
  const forward = (piece: string | Uint8Array, done: (error?: Error | null) => void): void => {
    if (piece.length === 0) done();
    else stdout.write(piece, done);
  };
  return new Writable({
    write(chunk: Buffer, _, done) {
      forward(change === undefined ? chunk : change(decoder.write(chunk)), done);
    },
    final(done) {
      forward(change === undefined ? "" : change(decoder.end()), done);
    },
  });
}

/** Change of CSV: on a terminal, characters that it would obey are escaped. */
export const csvChange = ({ stdout }: CommandTerminal): TextChange | undefined =>
  stdout.isTTY === true ? visibleLines : undefined;

/** Change of JSON lines: they have no character that a terminal would obey. */
export const jsonLinesChange: TextChange = visibleJson;

/** Returns a change that makes JSON lines the items of an array. Its ends are written by the caller. */
export function arrayChange(): TextChange {
  let isFirst = true;
  let held = "";
  return (text) => {
    const whole = held + text;
    const end = whole.lastIndexOf("\n");
    held = whole.slice(end + 1);
    if (end < 0) return "";
    const items = visibleJson(whole.slice(0, end)).replaceAll("\n", ",\n  ");
    const separator = isFirst ? "\n  " : ",\n  ";
    isFirst = false;
    return separator + items;
  };
}
