/** WaitForJob: waits for a job's end and reports its progress. Not in the namespace spec. */

import { lazyModule } from "../../async/lazy.js";
import { InvalidInputError } from "../../errors.js";
import type { Job } from "../../namespace/jobs.js";
import { findJob } from "../jobAccess.js";
import type { OperationBody } from "../operation.js";
import { optionalCallback, optionalCount } from "../request.js";

export const waitForJob: OperationBody<"waitForJob"> = async (context, request, access) => {
  const timeoutMs = optionalCount(request.timeoutMs, "timeoutMs");
  const onProgress = optionalCallback(request.onProgress, "onProgress");
  const { progress, signal } = request;
  if (progress !== undefined && progress !== "bar") {
    throw new InvalidInputError(`progress: must be "bar", not ${JSON.stringify(progress)?.slice(0, 100)}`);
  }
  const { jobId } = await findJob(context, request.jobId, "waitForJob", access);
  const jobs = await context.jobs.get();
  const bar = progress === "bar" ? await (await drawing.get()).progressBar() : null;
  const tell = (job: Job): unknown => {
    bar?.draw(job);
    return onProgress?.(job);
  };
  try {
    const job = await jobs.wait({ jobId, timeoutMs, onProgress: tell, signal });
    bar?.draw(job);
    return job;
  } finally {
    bar?.end();
  }
};

const drawing = lazyModule(() => import("./progressBar.js"));
