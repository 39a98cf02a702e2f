/** A mistake in a command line: the message says how to write it right. */
export class CommandMistake extends Error {
  override readonly name = "CommandMistake";
}
