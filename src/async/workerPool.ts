/**
 * Threads that do pure work: a task takes plain data and returns plain data. They start when they are first
 * needed, end after some idle seconds, and keep the process alive only while they work. A closed pool leaves
 * its idle threads to others.
 *
 * All threads run one script, which lies beside the module that starts them (platform/native). It is in the
 * package's bundles of both module formats, and in the output of tsc. Without the script, tasks run in line,
 * in this thread. That happens with `workers: 0`, in TypeScript run as source, after a program's own bundler
 * moved the module, and if the host refuses to start a thread. It happens in pages, too, unless the program
 * starts workers for the pool (webThread.ts). The results are the same.
 *
 * Large input lies in shared memory (bytes/sharedCopy): sending it costs no copy, and it is still there if no
 * thread could start. Output is moved.
 */

import { startThread } from "../platform/native.js";
import type { StartThread, Thread } from "../platform/thread.js";
import { FRESH_MEMORY, type SharedMemory } from "./sharedMemory.js";
import { GREETING, type Reply, type TaskOrder } from "./threadMessages.js";
import { clearTimeout, letProcessEnd, performance, setTimeout } from "./timers.js";
import { canShareMemory } from "./webThread.js";

/** Work that a thread can do. The threads' script finds it by its name. */
export interface Task<Input, Output> {
  readonly name: string;
  run(input: Input): Output;
  /** Returns the memory of an output that nobody else uses; it is moved instead of copied. */
  memoryOf(output: Output): readonly ArrayBuffer[];
}

export interface WorkerPoolOptions {
  /** Maximum number of threads. */
  readonly size: number;
  /** Milliseconds without work after which a thread ends. */
  readonly idleMs?: number;
  /** Makes an error of the failure that a thread reported. */
  readonly errorOf: (failure: unknown) => unknown;
  /** Default: memory that is used once. */
  readonly memory?: SharedMemory;
  /** Starts a thread with the script of this release. Default: as the platform does. */
  readonly start?: StartThread | undefined;
}

/** Receives the messages of a thread. */
interface ThreadOwner {
  receive(message: unknown): void;
  /** Called if the thread ended by itself. */
  lose(reason: unknown): void;
}

/** A thread that changes its owner. */
interface OwnedThread {
  readonly thread: Thread;
  owner: ThreadOwner | null;
}

/**
 * Bytes to process in line before a thread starts: processing them takes as long as compiling a thread's
 * code.
 */
const IN_LINE_BYTES_BEFORE_START = 32 * 1024 * 1024;

/**
 * Threads that closed pools leave to the next ones. A thread costs about 0.2 s of processor time until its
 * code is compiled, and programs open namespaces again and again. A spare thread ends after some seconds, and
 * does not keep the process alive.
 */
class SpareThreads {
  readonly #timers = new Map<OwnedThread, ReturnType<typeof setTimeout>>();
  /** Bytes that were processed in line since a pool lost its last thread. */
  #inLineBytes = 0;

  /** Takes over an idle thread. */
  leave(owned: OwnedThread, idleMs: number): void {
    owned.owner = { receive: () => undefined, lose: () => this.#forget(owned) };
    const timer = setTimeout(() => {
      this.#forget(owned);
      owned.thread.end();
    }, idleMs);
    // A spare thread must not keep the process alive.
    letProcessEnd(timer);
    this.#timers.set(owned, timer);
  }

  /** Returns a thread for a new owner; null if no spare thread is left. */
  take(): OwnedThread | null {
    for (const owned of this.#timers.keys()) {
      this.#forget(owned);
      return owned;
    }
    return null;
  }

  /** True if a pool without threads should start one for this many more bytes. */
  isWorth(byteCount: number): boolean {
    if (this.#timers.size > 0) return true;
    this.#inLineBytes += byteCount;
    return this.#inLineBytes >= IN_LINE_BYTES_BEFORE_START;
  }

  /** Starts counting again after a pool has lost its last thread. */
  countAnew(): void {
    this.#inLineBytes = 0;
  }

  #forget(owned: OwnedThread): void {
    clearTimeout(this.#timers.get(owned));
    this.#timers.delete(owned);
    owned.owner = null;
  }
}

const IDLE_MS = 5000;
/** Pause after a failure to start a thread; each further failure doubles it. */
const FIRST_START_PAUSE_MS = 1000;
const MAX_START_PAUSE_MS = 60_000;
const spareThreads = new SpareThreads();

interface Job {
  readonly order: TaskOrder;
  readonly inLine: () => unknown;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface Member {
  readonly owned: OwnedThread;
  /** True after the thread's greeting. */
  isReady: boolean;
  job: Job | null;
  idle: ReturnType<typeof setTimeout> | null;
}

export class WorkerPool {
  readonly memory: SharedMemory;
  readonly #size: number;
  readonly #idleMs: number;
  readonly #errorOf: WorkerPoolOptions["errorOf"];
  readonly #startThread: StartThread;
  readonly #members = new Set<Member>();
  readonly #waiting: Job[] = [];
  /** Earliest `performance.now()` at which a thread may start; infinite if there can be none. */
  #startAfterMs = Number.NEGATIVE_INFINITY;
  /** Number of threads in a row that ended before they were ready. */
  #failedStarts = 0;

  constructor({ size, idleMs = IDLE_MS, errorOf, memory = FRESH_MEMORY, start }: WorkerPoolOptions) {
    this.memory = memory;
    // Without shared memory, all input would be copied to each thread.
    this.#size = canShareMemory() ? size : 0;
    this.#startThread = start ?? startThread;
    this.#idleMs = idleMs;
    this.#errorOf = errorOf;
  }

  /** Maximum number of threads that work at a time; 0 if tasks run in line. */
  get size(): number {
    return this.#mayStart() ? this.#size : 0;
  }

  #mayStart(): boolean {
    return performance.now() >= this.#startAfterMs;
  }

  /** Pauses starts: the host may lack descriptors or memory for a thread. Tasks run in line meanwhile. */
  #pauseStarts(): void {
    const pauseMs = Math.min(FIRST_START_PAUSE_MS * 2 ** this.#failedStarts, MAX_START_PAUSE_MS);
    this.#failedStarts++;
    this.#startAfterMs = Math.max(this.#startAfterMs, performance.now() + pauseMs);
  }

  /** Current number of threads. */
  get threadCount(): number {
    return this.#members.size;
  }

  /**
   * True if a thread would finish many such tasks sooner than this thread. If no thread runs, tasks so far
   * must have had enough bytes to make up for a start.
   * @param byteCount of the input
   */
  isWorth(byteCount: number): boolean {
    if (this.size === 0) return false;
    return this.threadCount > 0 || spareThreads.isWorth(byteCount);
  }

  /** Number of threads that work now. */
  get busyCount(): number {
    let count = 0;
    for (const { job } of this.#members) if (job !== null) count++;
    return count;
  }

  /** Runs a task. Rejects with the task's error, or with one of this thread if the other thread dies. */
  run<Input, Output>(task: Task<Input, Output>, input: Input): Promise<Output> {
    const inLine = () => task.run(input);
    if (this.size === 0) return new Promise((resolve) => resolve(inLine()));
    return new Promise<Output>((resolve, reject) => {
      const order = { name: task.name, input };
      this.#waiting.push({ order, inLine, resolve: resolve as Job["resolve"], reject });
      this.#assign();
    });
  }

  /**
   * Ends the working threads, and leaves idle ones to the next pool. Unfinished and later tasks run in line.
   * @returns true if no thread was working; one that was may still write into shared memory for a moment
   */
  close(): boolean {
    let isQuiet = true;
    this.#startAfterMs = Number.POSITIVE_INFINITY;
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
      owned = spare ?? startOwned(this.#startThread);
    } catch {
      this.#pauseStarts();
      return null;
    }
    if (owned === null) {
      // The script is missing, or the runtime has no threads.
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
    try {
      member.owned.thread.post(job.order);
    } catch {
      // The input has a part that can't be sent to a thread.
      member.job = null;
      this.#rest(member);
      runInLine(job);
    }
  }

  #receive(member: Member, message: unknown): void {
    if (!member.isReady) {
      member.isReady = message === GREETING;
      if (member.isReady) this.#failedStarts = 0;
      else this.#lose(member, new Error("the thread runs the script of another release"));
      return;
    }
    const { job } = member;
    member.job = null;
    this.#rest(member);
    const reply = message as Reply;
    if (job !== null) {
      if ("failure" in reply) job.reject(this.#errorOf(reply.failure));
      else job.resolve(reply.output);
    }
    this.#assign();
  }

  #rest(member: Member): void {
    member.owned.thread.keepsAlive(false);
    const idle = setTimeout(() => this.#remove(member), this.#idleMs);
    // An idle thread must not keep the process alive.
    letProcessEnd(idle);
    member.idle = idle;
  }

  /** Handles a thread that ended by itself. If it never was ready, no other thread starts for a while. */
  #lose(member: Member, reason: unknown): void {
    if (!this.#members.has(member)) return;
    const { job, isReady } = member;
    this.#remove(member);
    if (!isReady) this.#pauseStarts();
    if (job !== null) {
      if (isReady) job.reject(this.#errorOf(reason));
      else runInLine(job);
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
    for (const job of this.#waiting.splice(0)) runInLine(job);
  }
}

/**
 * Starts a thread without an owner; returns null if the runtime has none.
 * @throws the platform's error if the host forbids threads or has no room for one
 */
function startOwned(start: StartThread): OwnedThread | null {
  let owned: OwnedThread | null = null;
  const thread = start(
    (message) => owned?.owner?.receive(message),
    (reason) => owned?.owner?.lose(reason),
  );
  if (thread !== null) owned = { thread, owner: null };
  return owned;
}

function runInLine({ inLine, resolve, reject }: Job): void {
  try {
    resolve(inLine());
  } catch (error) {
    reject(error);
  }
}
