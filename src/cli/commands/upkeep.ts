/** `tiltyard optimize` and `cleanup`. */

import { durationMillis, wholeNumber } from "../arguments/lists.js";
import { type CommandSpec, required } from "../call/command.js";
import { printJson, printNote } from "../output/print.js";
import { workBar } from "../output/progress.js";
import { countOf, sizeText } from "../output/text.js";

const DRY_RUN = { flags: "--dry-run", text: "only tell what would be done" };

export const optimizeCommand: CommandSpec = {
  usage: "optimize <table>",
  summary: "Merge small fragments, drop deleted rows, and bring indexes up to date",
  examples: ["tiltyard optimize orders", "tiltyard optimize orders --dry-run"],
  options: [
    DRY_RUN,
    {
      flags: "--target-rows <count>",
      text: "minimum number of rows of a fragment",
      byDefault: "1048576",
      parse: (text) => wholeNumber("--target-rows", text, 1),
    },
    { flags: "--message <text>", text: "message of the commit" },
  ],
  reads: "branch",
  async run(call, name) {
    const { options, signal, terminal } = call;
    const table = await call.table(required(name, "the table"));
    const isDry = options.dryRun === true;
    const bar = await workBar(terminal, `optimize ${table.name}`, options.progress === false || isDry);
    try {
      const result = await table.handle.optimize({
        dryRun: isDry,
        targetRowsPerFragment: options.targetRows as number | undefined,
        message: options.message as string | undefined,
        onProgress: (progress) => bar.draw(progress),
        signal,
      });
      bar.end();
      if (options.json === true) return printJson(terminal, { dryRun: isDry, ...result });
      if (!("fragmentsRemoved" in result)) return;
      const { fragmentsRemoved, fragmentsAdded, indexesUpdated, version } = result;
      const would = isDry ? "would merge" : "merged";
      const text = `${would} ${countOf(fragmentsRemoved, "fragment")} into ${fragmentsAdded}`;
      const updated = `${isDry ? "would update" : "updated"} ${countOf(indexesUpdated, "index", "indexes")}`;
      printNote(terminal, `${text}, ${updated}; version ${version}`);
    } finally {
      bar.end();
    }
  },
};

export const cleanupCommand: CommandSpec = {
  usage: "cleanup <table>",
  summary: "Remove old versions, and files that no version needs",
  examples: ["tiltyard cleanup orders --older-than 30d --dry-run", "tiltyard cleanup orders --keep 10"],
  options: [
    DRY_RUN,
    {
      flags: "--older-than <duration>",
      text: "minimum age of removed versions, such as 12h or 30d",
      byDefault: "7d",
      parse: (text) => durationMillis("--older-than", text),
    },
    {
      flags: "--keep <count>",
      text: "newest versions to keep",
      byDefault: "1",
      parse: (text) => wholeNumber("--keep", text, 1),
    },
    { flags: "--unverified", text: "also remove young files that no version names, if nobody writes" },
  ],
  reads: "branch",
  async run(call, name) {
    const { options, signal, terminal } = call;
    const table = await call.table(required(name, "the table"));
    const isDry = options.dryRun === true;
    const bar = await workBar(terminal, `cleanup ${table.name}`, options.progress === false || isDry);
    try {
      const result = await table.handle.cleanup({
        dryRun: isDry,
        olderThanMs: options.olderThan as number | undefined,
        retainVersions: options.keep as number | undefined,
        deleteUnverified: options.unverified as boolean | undefined,
        onProgress: (progress) => bar.draw(progress),
        signal,
      });
      bar.end();
      if (options.json === true) return printJson(terminal, { dryRun: isDry, ...result });
      if (!("versionsRemoved" in result)) return;
      const { versionsRemoved, filesRemoved, bytesRemoved } = result;
      const what = `${countOf(versionsRemoved, "version")} and ${countOf(filesRemoved, "file")}`;
      printNote(terminal, `${isDry ? "would remove" : "removed"} ${what}, ${sizeText(bytesRemoved)}`);
    } finally {
      bar.end();
    }
  },
};
