/** `tiltyard index` and `jobs`: indexes, and the work that builds them. */

import type { DirectoryNamespace, Job } from "tiltyard";
import { wholeNumber } from "../arguments/lists.js";
import { type CommandCall, nameOfId } from "../call/call.js";
import { type CommandSpec, type OptionSpec, required } from "../call/command.js";
import { printJson, printNote, printTable } from "../output/print.js";
import { workBar } from "../output/progress.js";
import { countText, sizeText, timeText } from "../output/text.js";

const KINDS = [
  ...["BTREE", "BITMAP", "LABEL_LIST", "ZONEMAP", "BLOOMFILTER", "NGRAM", "FTS", "FM"],
  ...["IVF_FLAT", "IVF_SQ", "IVF_PQ", "IVF_RQ", "IVF_HNSW_FLAT", "IVF_HNSW_SQ", "IVF_HNSW_PQ"],
] as const;

const whole = (name: string, text: string): OptionSpec => ({
  flags: `--${name} <count>`,
  text,
  parse: (value) => wholeNumber(`--${name}`, value, 1),
});

/** Waits for a job, and draws its progress. An interrupt cancels the job. */
async function followJob(
  call: CommandCall,
  namespace: DirectoryNamespace,
  jobId: string,
  title: string,
): Promise<Job> {
  const bar = await workBar(call.terminal, title, call.options.progress === false);
  const cancel = () => void namespace.cancelJob({ jobId }).catch(() => undefined);
  call.signal.addEventListener("abort", cancel, { once: true });
  try {
    return await namespace.waitForJob({ jobId, onProgress: (job) => bar.draw(job) });
  } finally {
    call.signal.removeEventListener("abort", cancel);
    bar.end();
  }
}

export const indexCreateCommand: CommandSpec = {
  usage: "index create <table> <column>",
  summary: "Build an index, and wait for it",
  examples: [
    "tiltyard index create orders city",
    "tiltyard index create articles text --type FTS --with-position",
    "tiltyard index create articles vector --type IVF_PQ --distance cosine",
  ],
  options: [
    {
      flags: "-t, --type <kind>",
      text: "kind of the index",
      choices: KINDS,
      byDefault: "BTREE, or IVF_PQ for vectors",
    },
    { flags: "--name <name>", text: "name of the index", byDefault: "<column>_idx" },
    { flags: "--replace", text: "replace an index of the name" },
    { flags: "--distance <kind>", text: "distance of vectors", choices: ["l2", "cosine", "dot", "hamming"] },
    whole("partitions", "partitions of a vector index"),
    whole("sub-vectors", "parts of a vector with a codebook of their own, for PQ"),
    whole("bits", "bits of a code"),
    { flags: "--with-position", text: "store positions of words, which phrases need" },
    { flags: "--language <name>", text: "language of the words" },
    { flags: "--tokenizer <name>", text: "tokenizer of the texts" },
    { flags: "--message <text>", text: "message of the commit" },
  ],
  reads: "branch",
  async run(call, name, columnName) {
    const { options, signal, terminal } = call;
    const table = await call.table(required(name, "the table"));
    const column = required(columnName, "the column");
    const settings = {
      indexType: options.type,
      name: options.name,
      replace: options.replace,
      distanceType: options.distance,
      numPartitions: options.partitions,
      numSubVectors: options.subVectors,
      numBits: options.bits,
      withPosition: options.withPosition,
      language: options.language,
      baseTokenizer: options.tokenizer,
      message: options.message,
      signal,
    };
    const { jobId } = await table.handle.createIndex(column, settings as { readonly indexType: "BTREE" });
    const job = await followJob(call, table.namespace, jobId, `index ${table.name}.${column}`);
    if (job.state !== "Succeeded") throw new Error(`the index was not built: its job was ${job.state}`);
    const indexes = await table.handle.indexes();
    const built = indexes.find(
      ({ indexUuid }) => indexUuid === (job.result as { indexUuid?: string })?.indexUuid,
    );
    if (options.json === true)
      return printJson(terminal, { jobId, ...(built !== undefined && { index: built }) });
    printNote(
      terminal,
      `built ${built?.indexName ?? column} (${built?.indexType ?? "index"}) on ${table.name}`,
    );
  },
};

export const indexListCommand: CommandSpec = {
  usage: "index list <table>",
  summary: "List indexes, with the rows that each covers and does not cover",
  examples: ["tiltyard index list orders"],
  reads: "version",
  async run(call, name) {
    const { handle } = await call.table(required(name, "the table"));
    const indexes = await handle.indexes({ signal: call.signal });
    if (call.options.json === true) return printJson(call.terminal, { indexes });
    if (indexes.length === 0) return printNote(call.terminal, "no indexes");
    const numbers = ["indexed", "unindexed", "size", "segments"].map((column) => ({
      name: column,
      isNumber: true,
    }));
    printTable(
      call.terminal,
      [{ name: "index" }, { name: "columns" }, { name: "type" }, ...numbers, { name: "created" }],
      indexes.map((index) => [
        index.indexName,
        index.columns.join(", "),
        index.indexType,
        countText(index.numIndexedRows ?? 0),
        countText(index.numUnindexedRows ?? 0),
        index.sizeBytes === undefined ? "" : sizeText(index.sizeBytes),
        index.numSegments,
        index.createdAt === undefined ? "" : timeText(Date.parse(index.createdAt)),
      ]),
    );
    const stale = indexes.filter(({ numUnindexedRows = 0 }) => numUnindexedRows > 0);
    if (stale.length > 0) {
      printNote(
        call.terminal,
        `queries scan the unindexed rows; "tiltyard optimize" adds them to the indexes`,
      );
    }
  },
};

export const indexDropCommand: CommandSpec = {
  usage: "index drop <table> <index>",
  summary: "Drop an index by its name; older versions keep it",
  examples: ["tiltyard index drop orders city_idx"],
  reads: "branch",
  async run(call, name, indexName) {
    const { handle } = await call.table(required(name, "the table"));
    const index = required(indexName, "the index");
    const { version } = await handle.dropIndex(index, { signal: call.signal });
    if (call.options.json === true) return printJson(call.terminal, { dropped: index, version });
    printNote(call.terminal, `dropped ${index}; version ${version}`);
  },
};

const STATES = ["Queued", "Running", "Succeeded", "Failed", "Cancelled"] as const;
const isOver = ({ state }: Job): boolean => state !== "Queued" && state !== "Running";

export const jobsCommand: CommandSpec = {
  usage: "jobs [table]",
  summary: "List jobs of all tables or of one, with their progress",
  examples: ["tiltyard jobs", "tiltyard jobs orders --watch", "tiltyard jobs --state Failed"],
  options: [
    { flags: "--state <state>", text: "state of the jobs", choices: STATES },
    { flags: "--watch", text: "follow the jobs that run until they end" },
    { flags: "--cancel <job>", text: "cancel a job by its id" },
  ],
  async run(call, name) {
    const { options, signal, terminal } = call;
    const namespace = await call.namespace();
    if (options.cancel !== undefined) {
      const job = await namespace.cancelJob({ jobId: options.cancel as string, signal });
      if (options.json === true) return printJson(terminal, { job });
      return printNote(terminal, `${job.kind} of ${nameOfId(job.table)}: ${job.state}`);
    }
    const id = name === undefined ? undefined : (await call.table(name)).id;
    const state = options.state as Job["state"] | undefined;
    const list = async () => (await namespace.listJobs({ id, state, signal })).jobs;
    let jobs = await list();
    if (options.watch === true) {
      for (const job of jobs.filter((each) => !isOver(each))) {
        const title = `${job.kind} ${nameOfId(job.table)}`;
        const bar = await workBar(terminal, title, options.progress === false);
        try {
          await namespace.waitForJob({ jobId: job.jobId, signal, onProgress: (each) => bar.draw(each) });
        } catch (error) {
          // The list below tells why a job failed.
          if (signal.aborted) throw error;
        } finally {
          bar.end();
        }
      }
      jobs = await list();
    }
    if (options.json === true) return printJson(terminal, { jobs });
    if (jobs.length === 0) return printNote(terminal, "no jobs");
    printTable(
      terminal,
      [
        ...["job", "kind", "table", "state"].map((column) => ({ name: column })),
        { name: "done", isNumber: true },
        { name: "started" },
        { name: "error" },
      ],
      jobs.map((job) => [
        job.jobId,
        job.kind,
        nameOfId(job.table) + (job.branch === undefined ? "" : `:${job.branch}`),
        job.isInterrupted === true ? `${job.state} (interrupted)` : job.state,
        `${countText(job.done)}${job.total === undefined ? "" : ` of ${countText(job.total)}`} ${job.unit}`,
        timeText(Date.parse(job.startedAt ?? job.createdAt)),
        job.error?.message,
      ]),
    );
  },
};
