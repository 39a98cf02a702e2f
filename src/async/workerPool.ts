/**
 * Threads that do pure work: a task takes plain data and gives plain data, and needs nothing else. They are started when
 * they are first needed, go away when nothing was asked of them for some seconds, and keep the process alive only while
 * they work. Those at rest when a pool is closed serve others for as long (spareThreads.ts).
 *
 * Threads run one script, which lies beside the module that starts them (platform/native): in the bundles of the package,
 * ES modules and CommonJS, and among the modules that tsc wrote. Where there is none, the work is done in line, in this
 * thread: with `workers: 0`, where the package is run as TypeScript (as test runners do), where a program's own bundler
 * has moved it, in browsers, and where the host lets no thread be started. The results are the same.
 *
 * Input is not handed over: what is large in it lies in shared memory (bytes/sharedCopy), which costs no copy when it is
 * sent, and is still there when a thread could not be started. Output is moved.
 */

import { startThread } from "../platform/native.js";
import { type OwnedThread, SpareThreads } from "./spareThreads.js";
import { clearTimeout, letProcessEnd, performance, setTimeout } from "./timers.js";

/** The first message of a thread: that it runs the script of this release. */
export const GREETING = "tiltyard threads 1";

/** Work that a thread can do; the script of the threads knows it by its name. */
export interface Task<Input, Output> {
  readonly name: string;
  /** @param spare memory that the output may be made in; its content is arbitrary */
  run(input: Input, spare?: SharedArrayBuffer): Output;
  /** The memory of an output that nobody else uses, which is moved instead of copied. */
  memoryOf(output: Output): readonly ArrayBuffer[];
  /** Of outputs in shared memory, which may be given back and used for others. Default: there are none. */
  readonly shared?: {
    isFor(input: Input): boolean;
    memoryOf(output: Output): readonly SharedArrayBuffer[];
  };
}

/** What is asked of a thread. */
export interface TaskOrder {
  readonly name: string;
  readonly input: unknown;
  /** Memory that the output may be made in. */
  readonly spare?: SharedArrayBuffer;
}

/** What a thread answers. */
export type Reply = { readonly output: unknown } | { readonly failure: unknown };

/** Memory that threads share, lent for what they are given. */
export interface SharedMemory {
  lend(byteLength: number): Uint8Array<SharedArrayBuffer>;
  /** Once neither the thread nor this one looks at it. */
  giveBack(lent: Uint8Array<SharedArrayBuffer>): void;
}

export interface WorkerPoolOptions {
  /** Most threads. */
  readonly size: number;
  /** Milliseconds without work after which a thread goes away. */
  readonly idleMs?: number;
  /** The error that a failure of a thread stands for. */
  readonly errorOf: (failure: unknown) => unknown;
  /** Default: memory that is used once. */
  readonly memory?: SharedMemory;
}

const IDLE_MS = 5000;
/** Pause after a thread that could not be started; each further one doubles it. */
const FIRST_START_PAUSE_MS = 1000;
const MAX_START_PAUSE_MS = 60_000;
const FRESH_MEMORY: SharedMemory = {
  lend: (byteLength) => new Uint8Array(new SharedArrayBuffer(byteLength)),
  giveBack: () => undefined,
};
/** Pieces of memory that are kept for the next outputs: what is more is left to the garbage collector. */
const MAX_SPARE = 4;
/** Those of this process. */
const spareThreads = new SpareThreads();

interface Job {
  readonly order: TaskOrder;
  /** The shared memory of an output; null where it has none. */
  readonly sharedOf: ((output: unknown) => readonly SharedArrayBuffer[]) | null;
  readonly inLine: () => unknown;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface Member {
  readonly owned: OwnedThread;
  /** Whether it has said that it runs the right script. */
  isReady: boolean;
  job: Job | null;
  idle: ReturnType<typeof setTimeout> | null;
}

export class WorkerPool {
  /** For the inputs of tasks. */
  readonly memory: SharedMemory;
  readonly #size: number;
  readonly #idleMs: number;
  readonly #errorOf: WorkerPoolOptions["errorOf"];
  readonly #members = new Set<Member>();
  readonly #waiting: Job[] = [];
  /** Memory of outputs that may be given back. */
  readonly #lent = new WeakSet<ArrayBufferLike>();
  readonly #spare: SharedArrayBuffer[] = [];
  /** Earliest time of `performance.now()` at which a thread may be started; infinite where there can be none. */
  #startAfterMs = Number.NEGATIVE_INFINITY;
  /** Threads in a row that ended before they were ready. */
  #failedStarts = 0;

  constructor({ size, idleMs = IDLE_MS, errorOf, memory = FRESH_MEMORY }: WorkerPoolOptions) {
    this.memory = memory;
    this.#size = size;
    this.#idleMs = idleMs;
    this.#errorOf = errorOf;
  }

  /** Most threads that work at a time; 0 where the work is done in line. */
  get size(): number {
    return this.#mayStart() ? this.#size : 0;
  }

  #mayStart(): boolean {
    return performance.now() >= this.#startAfterMs;
  }

  /** The host may have no descriptors or memory for a thread at the moment. The work is done in line meanwhile. */
  #pauseStarts(): void {
    const pauseMs = Math.min(FIRST_START_PAUSE_MS * 2 ** this.#failedStarts, MAX_START_PAUSE_MS);
    this.#failedStarts++;
    this.#startAfterMs = Math.max(this.#startAfterMs, performance.now() + pauseMs);
  }

  /** Threads there are at the moment. */
  get threadCount(): number {
    return this.#members.size;
  }

  /**
   * Whether a thread pays for a task among many: where none runs, only once this pool and those before it were asked about
   * as many bytes as to make up for its start.
   * @param byteCount of the input
   */
  isWorth(byteCount: number): boolean {
    if (this.size === 0) return false;
    return this.threadCount > 0 || spareThreads.isWorth(byteCount);
  }

  /** Does a task. Rejects with what it throws; with an error of this thread where the other one dies. */
  run<Input, Output>(task: Task<Input, Output>, input: Input): Promise<Output> {
    const inLine = () => task.run(input);
    if (this.size === 0) return new Promise((resolve) => resolve(inLine()));
    return new Promise<Output>((resolve, reject) => {
      const order = { name: task.name, input };
      const { shared } = task;
      const sharedOf = shared?.isFor(input) === true ? (shared.memoryOf as Job["sharedOf"]) : null;
      this.#waiting.push({ order, sharedOf, inLine, resolve: resolve as Job["resolve"], reject });
      this.#assign();
    });
  }

  /**
   * Gives shared memory of an output back, once nobody looks at it: it may then be used for another. Nothing happens where no
   * thread put an output there.
   */
  giveBack(memory: ArrayBufferLike): void {
    if (!this.#lent.delete(memory) || this.#spare.length === MAX_SPARE) return;
    this.#spare.push(memory as SharedArrayBuffer);
  }

  /**
   * Ends the threads that are at work, and leaves others to the next pool. What is under way, or comes later, is done in line.
   * @returns whether no thread was at work: one that was may still write into shared memory for a moment
   */
  close(): boolean {
    let isQuiet = true;
    this.#startAfterMs = Number.POSITIVE_INFINITY;
    this.#spare.length = 0;
    for (const member of [...this.#members]) {
      const { job, isReady, owned } = member;
      if (job === null && isReady) {
        this.#forget(member);
        spareThreads.leave(owned, this.#idleMs);
        continue;
      }
      this.#remove(member);
      if (job === null) continue;
      isQuiet = false;
      this.#waiting.unshift(job);
    }
    this.#doInLine();
    return isQuiet;
  }

  #assign(): void {
    while (this.#waiting.length > 0) {
      const member = this.#idleMember() ?? this.#start();
      if (member === null) {
        if (!this.#mayStart()) this.#doInLine();
        return;
      }
      const job = this.#waiting.shift();
      if (job !== undefined) this.#give(member, job);
    }
  }

  #idleMember(): Member | null {
    for (const member of this.#members) if (member.job === null) return member;
    return null;
  }

  #start(): Member | null {
    if (!this.#mayStart() || this.#members.size >= this.#size) return null;
    const spare = spareThreads.take();
    let owned: OwnedThread | null;
    try {
      owned = spare ?? startOwned();
    } catch {
      this.#pauseStarts();
      return null;
    }
    if (owned === null) {
      // There is no script, or the runtime has no threads.
      if (this.#members.size === 0) this.#startAfterMs = Number.POSITIVE_INFINITY;
      return null;
    }
    const member: Member = { owned, isReady: spare !== null, job: null, idle: null };
    owned.owner = {
      receive: (message) => this.#receive(member, message),
      lose: (reason) => this.#lose(member, reason),
    };
    this.#members.add(member);
    return member;
  }

  #give(member: Member, job: Job): void {
    if (member.idle !== null) clearTimeout(member.idle);
    member.idle = null;
    member.job = job;
    member.owned.thread.keepsAlive(true);
    const spare = job.sharedOf === null ? undefined : this.#spare.pop();
    try {
      member.owned.thread.post(spare === undefined ? job.order : { ...job.order, spare });
    } catch {
      // Something in it can't be sent to a thread.
      member.job = null;
      this.#rest(member);
      recoverInTurn(job);
    }
  }

  #receive(member: Member, message: unknown): void {
    if (!member.isReady) {
      member.isReady = message === GREETING;
      if (member.isReady) this.#failedStarts = 0;
      else this.#lose(member, new Error("the threads run another script than the engine's"));
      return;
    }
    const { job } = member;
    member.job = null;
    this.#rest(member);
    const reply = message as Reply;
    if (job !== null) {
      if ("failure" in reply) job.reject(this.#errorOf(reply.failure));
      else {
        for (const memory of job.sharedOf?.(reply.output) ?? []) this.#lent.add(memory);
        job.resolve(reply.output);
      }
    }
    this.#assign();
  }

  #rest(member: Member): void {
    member.owned.thread.keepsAlive(false);
    const idle = setTimeout(() => this.#remove(member), this.#idleMs);
    // Nobody has to wait for it.
    letProcessEnd(idle);
    member.idle = idle;
  }

  /** A thread has ended by itself. After one that never began, no other is started for a while. */
  #lose(member: Member, reason: unknown): void {
    if (!this.#members.has(member)) return;
    const { job, isReady } = member;
    this.#remove(member);
    if (!isReady) this.#pauseStarts();
    if (job !== null) {
      if (isReady) job.reject(this.#errorOf(reason));
      else recoverInTurn(job);
    }
    this.#assign();
  }

  #remove(member: Member): void {
    this.#forget(member);
    if (this.#members.size === 0) spareThreads.countAnew();
    member.owned.owner = null;
    member.owned.thread.end();
  }

  #forget(member: Member): void {
    if (member.idle !== null) clearTimeout(member.idle);
    member.idle = null;
    member.job = null;
    this.#members.delete(member);
  }

  #doInLine(): void {
    for (const job of this.#waiting.splice(0)) recoverInTurn(job);
  }
}

/**
 * A thread without an owner yet; null where there can be none.
 * @throws the platform's error where the host forbids threads, or has no room for one
 */
function startOwned(): OwnedThread | null {
  let owned: OwnedThread | null = null;
  const thread = startThread(
    (message) => owned?.owner?.receive(message),
    (reason) => owned?.owner?.lose(reason),
  );
  if (thread !== null) owned = { thread, owner: null };
  return owned;
}

function recoverInTurn({ inLine, resolve, reject }: Job): void {
  try {
    resolve(inLine());
  } catch (error) {
    reject(error);
  }
}
