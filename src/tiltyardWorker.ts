/** The script of the threads (async/workerPool): does the tasks that it is asked for, one after the other. */

import { GREETING, type Reply, type TaskOrder } from "./async/threadMessages.js";
import type { Task } from "./async/workerPool.js";
import { UnsupportedError } from "./errors.js";
import { loadAllDecoders } from "./file/pages/decoders.js";
import { loadAllEncoders } from "./file/pages/encoders.js";
import { DECODE_PAGE } from "./file/pages/pageDecoding.js";
import { ENCODE_PAGES } from "./file/writing/pageEncoding.js";
import { ENCODE_POSTINGS } from "./indexes/text/postingEncoder.js";
import { ENCODE_VECTORS } from "./indexes/vector/codes/encoders.js";
import { ASSIGN_VECTORS } from "./indexes/vector/codes/kmeans.js";
import { GROW_GRAPH } from "./indexes/vector/graph/graphGrowth.js";
import { answerMessages } from "./platform/native.js";
import { failureOf } from "./typedErrors.js";

// biome-ignore lint/suspicious/noExplicitAny: a task is given what it was asked for with
type AnyTask = Task<any, any>;

const TASKS: ReadonlyMap<string, AnyTask> = new Map(
  [ENCODE_PAGES, DECODE_PAGE, ASSIGN_VECTORS, ENCODE_VECTORS, GROW_GRAPH, ENCODE_POSTINGS].map(
    (task: AnyTask) => [task.name, task],
  ),
);

await Promise.all([loadAllDecoders(), loadAllEncoders()]);

answerMessages(GREETING, (message) => {
  const { name, input } = message as TaskOrder;
  const answer = (reply: Reply, moved: readonly ArrayBuffer[] = []) => ({ reply, moved });
  try {
    const task = TASKS.get(name);
    if (task === undefined) throw new UnsupportedError(`threads know no task ${name}`);
    const output: unknown = task.run(input);
    return answer({ output }, task.memoryOf(output));
  } catch (error) {
    return answer({ failure: failureOf(error) });
  }
});
