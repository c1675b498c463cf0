/** Turns failures of the store into the fault of an authentication that cannot be decided. */
import { Fault } from '#src/contract/fault.ts';
import { LateAnswer } from '#src/platform/db/answer-in-time.ts';
import { faultOf } from '#src/platform/http/error-boundary.ts';

/** An unavailable store becomes a 503, which clients may retry. Every other error is a defect and stays as it is. */
export const orFault = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    if (error instanceof LateAnswer) throw cannotCheck(error);
    const fault = faultOf(error);
    throw fault.code === 'OVERLOADED' ? cannotCheck(error) : fault;
  }
};

export const cannotCheck = (cause: unknown): Fault =>
  new Fault('OVERLOADED', 'Credentials cannot be checked right now; try again shortly', {
    headers: { 'retry-after': '2' },
    cause,
  });
