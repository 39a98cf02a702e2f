/** `tiltyard tag` and `branch`: names of versions, and lines of them. */

import type { TableHandle } from "tiltyard";
import { optionItems, wholeNumber } from "../arguments/lists.js";
import type { CommandCall } from "../call/call.js";
import { type CommandSpec, required } from "../call/command.js";
import { printJson, printNote, printTable } from "../output/print.js";
import { countOf, timeText } from "../output/text.js";

const done = ({ options, terminal }: CommandCall, value: object, text: string): void =>
  options.json === true ? printJson(terminal, value) : printNote(terminal, text);

const MESSAGE = { flags: "--message <text>", text: "message of the commit" };

export const tagListCommand: CommandSpec = {
  usage: "tag list <table>",
  summary: "List the tags of a table",
  examples: ["tiltyard tag list orders"],
  async run(call, name) {
    const { handle } = await call.table(required(name, "the table"));
    const tags = Object.entries(await handle.tags({ signal: call.signal })).map(([tag, content]) => ({
      tag,
      version: content.version,
      branch: content.branch ?? "main",
    }));
    if (call.options.json === true) return printJson(call.terminal, { tags });
    if (tags.length === 0) return printNote(call.terminal, "no tags");
    const columns = [{ name: "tag" }, { name: "version", isNumber: true }, { name: "branch" }];
    printTable(
      call.terminal,
      columns,
      tags.map(({ tag, version, branch }) => [tag, version, branch]),
    );
  },
};

/** Returns the version that a tag shall name: the given one, or the latest. */
async function versionToTag(handle: TableHandle, text: string | undefined, signal: AbortSignal) {
  return text === undefined ? handle.version({ signal }) : wholeNumber("the version", text, 0);
}

export const tagCreateCommand: CommandSpec = {
  usage: "tag create <table> <tag> [version]",
  summary: "Give a version a name; default: the latest version",
  examples: ["tiltyard tag create orders before-import", "tiltyard tag create orders v1 3"],
  options: [{ flags: "--move", text: "move the tag if it exists" }],
  reads: "branch",
  async run(call, name, tagName, text) {
    const { handle } = await call.table(required(name, "the table"));
    const tag = required(tagName, "the tag");
    const version = await versionToTag(handle, text, call.signal);
    const exists = call.options.move === true && tag in (await handle.tags({ signal: call.signal }));
    if (exists) await handle.updateTag(tag, version, { signal: call.signal });
    else await handle.createTag(tag, version, { signal: call.signal });
    done(call, { tag, version }, `${tag} names version ${version}`);
  },
};

export const tagDeleteCommand: CommandSpec = {
  usage: "tag delete <table> <tag>",
  summary: "Delete a tag; its version stays",
  examples: ["tiltyard tag delete orders v1"],
  async run(call, name, tagName) {
    const { handle } = await call.table(required(name, "the table"));
    const tag = required(tagName, "the tag");
    await handle.deleteTag(tag, { signal: call.signal });
    done(call, { deleted: tag }, `deleted the tag ${tag}`);
  },
};

export const branchListCommand: CommandSpec = {
  usage: "branch list <table>",
  summary: "List the branches of a table",
  examples: ["tiltyard branch list orders"],
  async run(call, name) {
    const { handle } = await call.table(required(name, "the table"));
    const branches = Object.entries(await handle.branches({ signal: call.signal })).map(
      ([branch, content]) => ({
        branch,
        parent: content.parentBranch ?? "main",
        fromVersion: content.parentVersion,
        createdAt: new Date(content.createAt * 1000).toISOString(),
      }),
    );
    if (call.options.json === true) return printJson(call.terminal, { branches });
    if (branches.length === 0) return printNote(call.terminal, "no branches besides main");
    printTable(
      call.terminal,
      [{ name: "branch" }, { name: "from" }, { name: "version", isNumber: true }, { name: "created" }],
      branches.map(({ branch, parent, fromVersion, createdAt }) => [
        branch,
        parent,
        fromVersion,
        timeText(Date.parse(createdAt)),
      ]),
    );
  },
};

export const branchCreateCommand: CommandSpec = {
  usage: "branch create <table> <branch>",
  summary: "Make a branch of the version that the options name, without copying rows",
  examples: ["tiltyard branch create orders trial", "tiltyard branch create orders old --version 3"],
  options: [MESSAGE],
  reads: "version",
  async run(call, name, branchName) {
    const { handle } = await call.table(required(name, "the table"));
    const branch = required(branchName, "the branch");
    const message = call.options.message as string | undefined;
    await handle.createBranch(branch, undefined, { message, signal: call.signal });
    done(call, { branch }, `made the branch ${branch}`);
  },
};

export const branchDeleteCommand: CommandSpec = {
  usage: "branch delete <table> <branch>",
  summary: "Delete a branch with its versions",
  examples: ["tiltyard branch delete orders trial"],
  async run(call, name, branchName) {
    const { handle } = await call.table(required(name, "the table"));
    const branch = required(branchName, "the branch");
    await handle.deleteBranch(branch, { signal: call.signal });
    done(call, { deleted: branch }, `deleted the branch ${branch}`);
  },
};

export const branchMergeCommand: CommandSpec = {
  usage: "branch merge <table> <branch>",
  summary: "Take over the rows that a branch added, changed and deleted",
  examples: ["tiltyard branch merge orders trial --on id --conflicts theirs"],
  options: [
    { flags: "--on <columns>", text: "columns that identify a row; default: stable row ids" },
    {
      flags: "--conflicts <fate>",
      text: "fate of rows that both changed",
      choices: ["fail", "ours", "theirs"],
      byDefault: "fail",
    },
    MESSAGE,
  ],
  reads: "branch",
  async run(call, name, branchName) {
    const { options, signal } = call;
    const { handle } = await call.table(required(name, "the table"));
    const branch = required(branchName, "the branch");
    const merged = await handle.mergeBranch(branch, {
      on: options.on === undefined ? undefined : optionItems("--on", options.on as string),
      conflicts: options.conflicts as "fail" | undefined,
      message: options.message as string | undefined,
      signal,
    });
    const { numInsertedRows, numUpdatedRows, numDeletedRows, version } = merged;
    const text = `${countOf(numInsertedRows, "row")} added, ${numUpdatedRows} changed, ${numDeletedRows} deleted`;
    done(call, merged, `${text}; version ${version}`);
  },
};
