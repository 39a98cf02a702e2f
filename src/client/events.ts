/** Reads server-sent events, whose lines end with a line feed. */

import { malformedAnswer } from "./problems.js";

/** An event with a name; comments and unnamed events are left out. */
export interface ServerEvent {
  readonly name: string;
  readonly data: string;
}

/**
 * Yields the events of a stream.
 * @param maxBytes limit of one event
 * @throws InternalError for a longer event, and for text that is not UTF-8
 */
export async function* readEvents(
  pieces: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<ServerEvent, void, undefined> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  /** Pieces of the line that has not ended. */
  let parts: string[] = [];
  let event = new EventLines();
  let length = 0;
  for await (const piece of pieces) {
    const text = decoded(decoder, piece);
    length += text.length;
    if (length > maxBytes) throw malformedAnswer(`an event has more than ${maxBytes} characters`);
    parts.push(text);
    // Only a piece with a line end is searched, because a long line may come in many pieces.
    if (!text.includes("\n")) continue;
    const lines = parts.join("").split("\n");
    parts = [lines.pop() ?? ""];
    for (const line of lines) {
      if (!event.add(line.replace(/\r$/, ""))) continue;
      const { name, data } = event;
      event = new EventLines();
      if (data.length > 0) yield { name, data: data.join("\n") };
      length = parts[0].length;
    }
  }
}

function decoded(decoder: TextDecoder, piece: Uint8Array): string {
  try {
    return decoder.decode(piece, { stream: true });
  } catch {
    throw malformedAnswer("the events are not UTF-8");
  }
}

/** Lines of one event. */
class EventLines {
  name = "";
  readonly data: string[] = [];

  /** Adds a line; true if it ends the event. */
  add(line: string): boolean {
    if (line === "") return true;
    const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (field === "event") this.name = value;
    else if (field === "data") this.data.push(value);
    return false;
  }
}
